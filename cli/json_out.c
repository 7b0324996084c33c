/* SPDX-License-Identifier: MIT
 *
 * JSON documents of --json. Every document names its schema, "tare.info/2"; fields may
 * be added within a version, none changes its meaning. Numbers beyond 2^63 - 1 and NaN or Inf,
 * which JSON lacks, are strings. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static tare_json_document *store;

static void free_store(void) {
    tare_json_document_free(store);
}

static tare_json_node *make(tare_json_type type, tare_str text) {
    if (!store) {
        store = cli_checked(tare_json_document_new());
        atexit(free_store);
    }
    return cli_checked(tare_json_document_value(store, type, text));
}

static tare_json_node *make_word(tare_json_type type) {
    return make(type, (tare_str){"", 0});
}

static tare_json_node *make_text(tare_json_type type, const char *text) {
    return make(type, (tare_str){text, strlen(text)});
}

tare_json_node *cli_json_object(void) {
    return make_word(TARE_JSON_OBJECT);
}

tare_json_node *cli_json_array(void) {
    return make_word(TARE_JSON_ARRAY);
}

void cli_json_add(tare_json_node *object, const char *key, tare_json_node *value) {
    cli_checked(tare_json_document_add(store, object, key, value) ? value : NULL);
}

void cli_json_append(tare_json_node *array, tare_json_node *value) {
    cli_json_add(array, NULL, value);
}

static tare_json_node *json_of_text(const char *text) {
    return make_text(TARE_JSON_STRING, text);
}

static tare_json_node *json_of_bool(bool x) {
    return make_word(x ? TARE_JSON_TRUE : TARE_JSON_FALSE);
}

tare_json_node *cli_json_new(const char *schema) {
    tare_json_node *document = cli_json_object();
    cli_json_text(document, "schema", schema);
    return document;
}

tare_json_node *cli_json_number(uint64_t n) {
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, n);
    return make_text(n <= INT64_MAX ? TARE_JSON_NUMBER : TARE_JSON_STRING, text);
}

static tare_json_node *json_of_integer(int64_t n) {
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, n);
    return make_text(TARE_JSON_NUMBER, text);
}

/* With all its digits; how many are printed is said then. */
static tare_json_node *json_of_real(double x) {
    char text[40];
    if (!isfinite(x)) return json_of_text(isnan(x) ? "NaN" : x > 0 ? "Infinity" : "-Infinity");
    snprintf(text, sizeof text, "%.17g", x);
    if (!strpbrk(text, ".e")) strcat(text, ".0");
    return make_text(TARE_JSON_NUMBER, text);
}

/* The text where it is UTF-8, else its escaped form; *is_raw tells. */
static tare_json_node *json_of_str(tare_str text, bool *is_raw) {
    *is_raw = tare_str_is_utf8(text);
    if (*is_raw) return make(TARE_JSON_STRING, text);
    char *safe = cli_escape(text, false, 0);
    tare_json_node *value = json_of_text(safe);
    free(safe);
    return value;
}

void cli_json_u64(tare_json_node *object, const char *key, uint64_t n) {
    cli_json_add(object, key, cli_json_number(n));
}

void cli_json_real(tare_json_node *object, const char *key, double x) {
    cli_json_add(object, key, json_of_real(x));
}

void cli_json_bool(tare_json_node *object, const char *key, bool x) {
    cli_json_add(object, key, json_of_bool(x));
}

void cli_json_text(tare_json_node *object, const char *key, const char *text) {
    if (!text) {
        cli_json_add(object, key, make_word(TARE_JSON_NULL));
    } else {
        cli_json_str(object, key, (tare_str){text, strlen(text)});
    }
}

void cli_json_str(tare_json_node *object, const char *key, tare_str text) {
    bool is_raw;
    cli_json_add(object, key, json_of_str(text, &is_raw));
    if (is_raw) return;
    char *hex = cli_alloc(text.len * 2 + 1, 1), hex_key[64];
    for (size_t i = 0; i < text.len; i++) {
        snprintf(hex + 2 * i, 3, "%02x", (unsigned)(unsigned char)text.ptr[i]);
    }
    snprintf(hex_key, sizeof hex_key, "%s_hex", key);
    cli_json_add(object, hex_key, json_of_text(hex));
    free(hex);
}

static tare_json_node *json_of_array(const tare_array *array, uint64_t max_elements) {
    tare_json_node *out = cli_json_array();
    tare_array_walk walk;
    tare_value element;
    tare_array_begin(&walk, array);
    for (uint64_t i = 0; i < max_elements && tare_array_next(&element, &walk); i++) {
        cli_json_append(out, cli_json_value(&element, max_elements));
    }
    return out;
}

tare_json_node *cli_json_value(const tare_value *value, uint64_t max_elements) {
    bool is_raw;
    switch (value->type) {
    case TARE_VALUE_I8:
    case TARE_VALUE_I16:
    case TARE_VALUE_I32:
    case TARE_VALUE_I64:
        return json_of_integer(value->as.i);
    case TARE_VALUE_F32:
    case TARE_VALUE_F64:
        return json_of_real(value->as.f);
    case TARE_VALUE_STRING:
        return json_of_str(value->as.s, &is_raw);
    case TARE_VALUE_ARRAY:
        return json_of_array(&value->as.a, max_elements);
    case TARE_VALUE_BOOL:
        if (value->as.u <= 1) return json_of_bool(value->as.u == 1);
        break;
    case TARE_VALUE_U8:
    case TARE_VALUE_U16:
    case TARE_VALUE_U32:
    case TARE_VALUE_U64:
        break;
    }
    return cli_json_number(value->as.u);
}

tare_json_node *cli_json_metadata(const tare_metadata *entry, uint64_t max_elements) {
    const tare_value *value = &entry->value;
    tare_json_node *out = cli_json_object();
    cli_json_str(out, "key", entry->key);
    cli_json_text(out, "type", cli_value_type_name(value->type));
    if (value->type == TARE_VALUE_ARRAY) {
        cli_json_text(out, "element_type", cli_value_type_name(value->as.a.type));
        cli_json_u64(out, "element_count", value->as.a.count);
        cli_json_bool(out, "is_shortened", value->as.a.count > max_elements);
    }
    if (value->type == TARE_VALUE_STRING) {
        cli_json_str(out, "value", value->as.s);
    } else {
        cli_json_add(out, "value", cli_json_value(value, max_elements));
    }
    return out;
}

tare_json_node *cli_json_shape(const tare_tensor *tensor) {
    tare_json_node *shape = cli_json_array();
    for (uint32_t i = 0; i < tensor->n_dims; i++) {
        cli_json_append(shape, cli_json_number(tensor->dims[i]));
    }
    return shape;
}

/* A position: only what is known is included. */
static void add_place(tare_json_node *object, uint64_t offset, tare_item_kind kind, int64_t item) {
    if (offset != TARE_NO_OFFSET) cli_json_u64(object, "offset", offset);
    if (kind == TARE_ITEM_NONE) return;
    cli_json_text(object, "item_kind", cli_item_kind(kind));
    if (item >= 0) cli_json_u64(object, "item_index", (uint64_t)item);
}

tare_json_node *cli_json_findings(const tare_report *report) {
    static const char *const levels[] = {"note", "warning", "error"};
    tare_json_node *list = cli_json_array();
    const tare_finding *f;
    for (size_t i = 0; (f = tare_report_at(report, i)) != NULL; i++) {
        tare_json_node *entry = cli_json_object();
        cli_json_text(entry, "level", levels[f->level]);
        cli_json_text(entry, "code", f->code);
        cli_json_text(entry, "status", tare_status_text(f->status));
        if (f->file.len) cli_json_str(entry, "file", f->file);
        add_place(entry, f->offset, f->item_kind, f->item);
        if (f->item_name.len) cli_json_str(entry, "item_name", f->item_name);
        char *text = cli_copy(f->text.len ? f->text.ptr : "", f->text.len);
        cli_spell(text);
        cli_json_str(entry, "text", (tare_str){text, f->text.len});
        free(text);
        cli_json_append(list, entry);
    }
    return list;
}

tare_json_node *cli_json_error(const tare_error *err, const char *path) {
    tare_json_node *document = cli_json_new("tare.error/2");
    cli_json_text(document, "status", tare_status_text(err->status));
    cli_json_u64(document, "exit_code", (uint64_t)cli_exit_code(err->status));
    cli_json_text(document, "file", err->file[0] ? err->file : path);
    add_place(document, err->offset, err->item_kind, err->item);
    if (err->item_name[0]) cli_json_text(document, "item_name", err->item_name);
    if (err->field[0]) cli_json_text(document, "field", err->field);
    if (err->code) cli_json_text(document, "code", err->code);
    char line[1200];
    snprintf(line, sizeof line, "%s%s%s", err->what, err->os_error ? ": " : "",
             err->os_error ? strerror(err->os_error) : "");
    cli_spell(line);
    cli_json_text(document, "text", line);
    cli_error_text(line, sizeof line, err, path);
    cli_json_text(document, "line", line);
    return document;
}

void cli_json_fail(const tare_error *err, const char *path, const tare_report *report) {
    if (!cli.json) return;
    tare_json_node *document = cli_json_error(err, path);
    cli_json_add(document, "findings", cli_json_findings(report));
    cli_json_print(document);
    cli.json = false;
}

static bool is_printed; /* a document, not into a list */

void cli_json_fault(int code, const char *line) {
    const tare_status status = code == CLI_USAGE         ? TARE_ERR_ARG
                               : code == CLI_IO          ? TARE_ERR_IO
                               : code == CLI_UNSUPPORTED ? TARE_ERR_UNSUPPORTED
                               : code == CLI_CANCELLED   ? TARE_ERR_CANCELLED
                                                         : TARE_ERR_CORRUPT;
    if (!cli.json || code == CLI_YES || is_printed) return;
    tare_json_node *document = cli_json_new("tare.error/2");
    cli_json_text(document, "status", tare_status_text(status));
    cli_json_u64(document, "exit_code", (uint64_t)code);
    cli_json_text(document, "text", line);
    cli_json_text(document, "line", line);
    cli_json_print(document);
}

/* What is printed goes into a list of this document; NULL: it is printed by itself. */
static tare_json_node *whole, *list;

void cli_json_begin_list(tare_json_node *document, const char *key) {
    whole = document;
    list = cli_json_array();
    cli_json_add(document, key, list);
}

void cli_json_end_list(void) {
    tare_json_node *document = whole;
    whole = list = NULL;
    if (document) cli_json_print(document);
}

static void put_out(const char *bytes, size_t n, void *ctx) {
    fwrite(bytes, 1, n, ctx);
}

void cli_json_print(tare_json_node *document) {
    static const tare_json_style style = {.indent = 2, .max_digits = 17};
    if (list) {
        cli_json_append(list, document);
        return;
    }
    is_printed = true;
    tare_json_write(document, &style, put_out, stdout);
    fputc('\n', stdout);
}
