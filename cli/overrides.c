/* SPDX-License-Identifier: MIT
 *
 * Metadata that a command sets: --override-kv KEY=TYPE:VALUE in llama.cpp's form, and the keys by
 * which llama-quantize tells the importance matrix that was used. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static tare_str str_of(const char *text) {
    return (tare_str){text, strlen(text)};
}

static bool fits(tare_value_type type, int64_t n) {
    switch (type) {
    case TARE_VALUE_U8:
        return n >= 0 && n <= UINT8_MAX;
    case TARE_VALUE_U16:
        return n >= 0 && n <= UINT16_MAX;
    case TARE_VALUE_U32:
        return n >= 0 && n <= UINT32_MAX;
    case TARE_VALUE_U64:
        return n >= 0;
    case TARE_VALUE_I8:
        return n >= INT8_MIN && n <= INT8_MAX;
    case TARE_VALUE_I16:
        return n >= INT16_MIN && n <= INT16_MAX;
    case TARE_VALUE_I32:
        return n >= INT32_MIN && n <= INT32_MAX;
    case TARE_VALUE_I64:
        return true;
    default:
        return false;
    }
}

/* A whole number in the type that the key has, if it fits; else u32, which llama.cpp expects of its
 * own keys, or what is wide enough. */
static tare_value whole_number(const tare_model *model, tare_str key, int64_t n) {
    static const tare_value_type by_preference[] = {TARE_VALUE_U32, TARE_VALUE_I32, TARE_VALUE_U64,
                                                    TARE_VALUE_I64};
    int64_t at = tare_model_find_key(model, key);
    const tare_metadata *old = at < 0 ? NULL : tare_model_metadata(model, (size_t)at);
    tare_value v = {.type = old ? old->value.type : TARE_VALUE_U32};
    for (size_t i = 0; !fits(v.type, n); i++) v.type = by_preference[i];
    if (n < 0) {
        v.as.i = n;
    } else {
        v.as.u = (uint64_t)n;
    }
    return v;
}

/* "int:5", "float:0.5", "bool:true", "str:text". */
static bool parse_value(tare_value *out, const tare_model *model, tare_str key, const char *text) {
    const char *value = strchr(text, ':');
    char *end;
    if (!value) return false;
    size_t n = (size_t)(value++ - text);
    errno = 0;
    if (n == 3 && strncmp(text, "int", n) == 0) {
        long long number = strtoll(value, &end, 10);
        *out = whole_number(model, key, number);
        return end != value && *end == '\0' && errno == 0;
    }
    if (n == 5 && strncmp(text, "float", n) == 0) {
        *out = (tare_value){.type = TARE_VALUE_F32, .as.f = (double)strtof(value, &end)};
        return end != value && *end == '\0';
    }
    if (n == 4 && strncmp(text, "bool", n) == 0) {
        *out = (tare_value){.type = TARE_VALUE_BOOL, .as.u = strcmp(value, "true") == 0};
        return strcmp(value, "true") == 0 || strcmp(value, "false") == 0;
    }
    *out = (tare_value){.type = TARE_VALUE_STRING, .as.s = str_of(value)};
    return n == 3 && strncmp(text, "str", n) == 0;
}

static void add(cli_overrides *o, tare_str key, tare_value value) {
    o->items = cli_grow(o->items, o->n + 1, sizeof *o->items);
    o->items[o->n++] = (tare_metadata){.key = key, .value = value, .offset = TARE_NO_OFFSET};
}

bool cli_overrides_parse(cli_overrides *out, const cli_command *command, const tare_model *model,
                         const cli_list *texts) {
    for (size_t i = 0; i < texts->n; i++) {
        const char *text = texts->items[i], *equals = strchr(text, '=');
        tare_value value;
        tare_str key = {text, equals ? (size_t)(equals - text) : 0};
        if (key.len > 0 && parse_value(&value, model, key, equals + 1)) {
            add(out, key, value);
            continue;
        }
        char *safe = cli_escape_path(text);
        cli_usage(command,
                  "--override-kv: \"%s\" is not KEY=int:N, KEY=float:X, KEY=bool:true|false or "
                  "KEY=str:TEXT",
                  safe);
        free(safe);
        return false;
    }
    return true;
}

void cli_overrides_importance(cli_overrides *out, const tare_importance *importance,
                              const char *path) {
    const tare_importance_summary *sum = tare_importance_summarize(importance);
    if (sum->n_entries == 0) return;
    tare_value file = {.type = TARE_VALUE_STRING, .as.s = str_of(path)};
    tare_value dataset = {.type = TARE_VALUE_STRING,
                          .as.s = tare_importance_dataset(importance, 0)};
    tare_value entries = {.type = TARE_VALUE_U32, .as.u = sum->n_entries};
    tare_value chunks = {.type = TARE_VALUE_U32, .as.u = sum->n_chunks};
    add(out, str_of("quantize.imatrix.file"), file);
    if (sum->n_datasets > 0) add(out, str_of("quantize.imatrix.dataset"), dataset);
    add(out, str_of("quantize.imatrix.entries_count"), entries);
    if (fits(TARE_VALUE_U32, (int64_t)sum->n_chunks) && sum->n_chunks > 0)
        add(out, str_of("quantize.imatrix.chunks_count"), chunks);
}
