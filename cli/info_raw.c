/* SPDX-License-Identifier: MIT
 *
 * tare info FILE KEY --raw: one value for a script, without a frame around it. */
#include <stdlib.h>
#include <string.h>

#include "info.h"

/* Bytes of a resource at a time. */
#define PIECE ((size_t)1 << 16)

/* A string from the model is written byte for byte; any other value gets a line. */
static void print_value(const tare_value *value) {
    if (value->type == TARE_VALUE_STRING) {
        cli_put(value->as.s.ptr, value->as.s.len);
        return;
    }
    char *text = cli_value_text(value, 0);
    puts(text);
    free(text);
}

static void print_array(const tare_array *array) {
    tare_array_walk walk;
    tare_value element;
    tare_array_begin(&walk, array);
    while (tare_array_next(&element, &walk)) {
        print_value(&element);
        if (element.type == TARE_VALUE_STRING) fputc('\n', stdout);
    }
}

static int print_resource(const tare_model *model, const char *path, size_t i) {
    const uint64_t size = tare_model_resource(model, i)->size;
    char *bytes = cli_alloc(PIECE, 1);
    tare_error err;
    tare_status status = TARE_OK;
    for (uint64_t at = 0; at < size && status == TARE_OK; at += PIECE) {
        const size_t n = size - at < PIECE ? (size_t)(size - at) : PIECE;
        status = tare_resource_read(bytes, model, i, at, n, &err);
        if (status == TARE_OK) cli_put(bytes, n);
    }
    free(bytes);
    return status == TARE_OK ? CLI_YES : cli_fail(&err, path);
}

static void fail_key(const tare_model *model, const char *path, const char *key) {
    char *safe = cli_escape((tare_str){key, strlen(key)}, true, 0);
    char *safe_path = cli_escape_path(cli_input_name(path)), *guess = info_guess_key(model, key);
    if (guess)
        cli_fail_text(CLI_USAGE, "%s: no key or side file %s; did you mean %s?", safe_path, safe,
                      guess);
    else
        cli_fail_text(CLI_USAGE, "%s: no key or side file %s; tare info -m lists the keys",
                      safe_path, safe);
    free(guess);
    free(safe);
    free(safe_path);
}

int info_print_raw(const tare_model *model, const char *path, const char *key) {
    const tare_str name = {key, strlen(key)};
    int64_t i = tare_model_find_key(model, name);
    if (i >= 0) {
        const tare_value *value = &tare_model_metadata(model, (size_t)i)->value;
        if (value->type == TARE_VALUE_ARRAY)
            print_array(&value->as.a);
        else
            print_value(value);
        return CLI_YES;
    }
    i = tare_model_find_resource(model, name);
    if (i >= 0) return print_resource(model, path, (size_t)i);
    fail_key(model, path, key);
    return CLI_USAGE;
}
