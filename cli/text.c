/* SPDX-License-Identifier: MIT
 *
 * Foreign text on a terminal: escaped, measured, cut; shapes and metadata values in words. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

#include <tare/experimental/unpack.h>

/* The code point at `at` (well-formed UTF-8, as tare_str_escape leaves it) and its bytes. */
static uint32_t code_point(const unsigned char *at, size_t *n_bytes) {
    if (at[0] < 0xE0) {
        *n_bytes = at[0] < 0x80 ? 1 : 2;
        return at[0] < 0x80 ? at[0] : (at[0] & 0x1Fu) << 6 | (at[1] & 0x3Fu);
    }
    if (at[0] < 0xF0) {
        *n_bytes = 3;
        return (at[0] & 0x0Fu) << 12 | (at[1] & 0x3Fu) << 6 | (at[2] & 0x3Fu);
    }
    *n_bytes = 4;
    return (at[0] & 0x07u) << 18 | (at[1] & 0x3Fu) << 12 | (at[2] & 0x3Fu) << 6 | (at[3] & 0x3Fu);
}

/* What terminals give a character two columns or none, by the ranges that matter in names and
 * vocabularies (Unicode East Asian Width W and F, combining marks, joiners, variation selectors).
 */
static size_t columns_of(uint32_t c) {
    static const struct {
        uint32_t first, last;
        uint8_t columns;
    } ranges[] = {
        {0x0300, 0x036F, 0},   {0x1100, 0x115F, 2},   {0x200B, 0x200F, 0},   {0x20D0, 0x20F0, 0},
        {0x2E80, 0x303E, 2},   {0x3041, 0xA4CF, 2},   {0xAC00, 0xD7A3, 2},   {0xF900, 0xFAFF, 2},
        {0xFE00, 0xFE0F, 0},   {0xFE30, 0xFE6F, 2},   {0xFF00, 0xFF60, 2},   {0xFFE0, 0xFFE6, 2},
        {0x1F300, 0x1F64F, 2}, {0x1F900, 0x1F9FF, 2}, {0x20000, 0x3FFFD, 2},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        if (c >= ranges[i].first && c <= ranges[i].last) return ranges[i].columns;
    }
    return 1;
}

size_t cli_width(const char *text) {
    size_t width = 0, n_bytes;
    for (const unsigned char *at = (const unsigned char *)text; *at; at += n_bytes) {
        width += columns_of(code_point(at, &n_bytes));
    }
    return width;
}

void cli_cut(char *text, size_t limit) {
    size_t width = 0, n_bytes;
    unsigned char *keep = (unsigned char *)text; /* where three dots still fit */
    for (unsigned char *at = keep; *at; at += n_bytes) {
        if (width + 3 <= limit) keep = at;
        width += columns_of(code_point(at, &n_bytes));
        if (width > limit) {
            strcpy((char *)keep, limit >= 3 ? "..." : "");
            return;
        }
    }
}

char *cli_escape(tare_str text, bool quote, size_t limit) {
    /* Of a long text only what can be shown is escaped; a character has at most 4 bytes. */
    size_t room = limit ? limit * 4 + 4 : 0;
    if (room && text.len > room) text.len = room;
    size_t size = tare_str_escape(NULL, 0, text, quote) + 1;
    char *out = cli_alloc(size, 1);
    tare_str_escape(out, size, text, quote);
    if (limit) cli_cut(out, limit);
    return out;
}

char *cli_escape_path(const char *path) {
    return cli_escape((tare_str){path, strlen(path)}, false, 0);
}

char *cli_shape_text(const tare_tensor *tensor) {
    char text[TARE_MAX_DIMS * 22 + 3] = "[";
    size_t n = 1;
    for (uint32_t i = 0; i < tensor->n_dims; i++) {
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%" PRIu64, i ? ", " : "",
                              tensor->dims[i]);
    }
    text[n++] = ']';
    return cli_copy(text, n);
}

cli_number cli_type_text(const tare_tensor *tensor) {
    cli_number out;
    if (tensor->encoding->id == TARE_ENCODING_UNKNOWN) {
        snprintf(out.text, sizeof out.text, "unknown(%" PRIu32 ")", tensor->native_type);
    } else {
        snprintf(out.text, sizeof out.text, "%s", tensor->encoding->name);
    }
    return out;
}

const char *cli_value_type_name(tare_value_type type) {
    static const char *const names[] = {
        [TARE_VALUE_U8] = "u8",       [TARE_VALUE_I8] = "i8",     [TARE_VALUE_U16] = "u16",
        [TARE_VALUE_I16] = "i16",     [TARE_VALUE_U32] = "u32",   [TARE_VALUE_I32] = "i32",
        [TARE_VALUE_F32] = "f32",     [TARE_VALUE_BOOL] = "bool", [TARE_VALUE_STRING] = "string",
        [TARE_VALUE_ARRAY] = "array", [TARE_VALUE_U64] = "u64",   [TARE_VALUE_I64] = "i64",
        [TARE_VALUE_F64] = "f64",
    };
    return (size_t)type < sizeof names / sizeof *names ? names[type] : "unknown";
}

char *cli_value_type_text(const tare_value *value) {
    char text[64];
    int n = value->type == TARE_VALUE_ARRAY
                ? snprintf(text, sizeof text, "%s[%" PRIu64 "]",
                           cli_value_type_name(value->as.a.type), value->as.a.count)
                : snprintf(text, sizeof text, "%s", cli_value_type_name(value->type));
    return cli_copy(text, (size_t)n);
}

/* A growing line of text. */
typedef struct line {
    char *text;
    size_t n, room;
    size_t limit; /* columns wanted at most; 0: any number */
} line;

static void line_add(line *l, const char *text) {
    size_t n = strlen(text);
    if (l->n + n + 1 > l->room) {
        l->room = (l->n + n + 1) * 2;
        l->text = cli_grow(l->text, l->room, 1);
    }
    memcpy(l->text + l->n, text, n + 1);
    l->n += n;
}

static void line_add_value(line *l, const tare_value *value, bool quote);

/* Elements until the limit is reached; then "..." stands for the rest. */
static void line_add_array(line *l, const tare_array *array) {
    tare_array_walk walk;
    tare_value element;
    line_add(l, "[");
    tare_array_begin(&walk, array);
    for (uint64_t i = 0; tare_array_next(&element, &walk); i++) {
        if (i) line_add(l, ", ");
        if (l->limit && l->n + 8 > l->limit) {
            line_add(l, "...");
            break;
        }
        line_add_value(l, &element, true);
    }
    line_add(l, "]");
}

static void line_add_value(line *l, const tare_value *value, bool quote) {
    cli_number number;
    switch (value->type) {
    case TARE_VALUE_I8:
    case TARE_VALUE_I16:
    case TARE_VALUE_I32:
    case TARE_VALUE_I64:
        snprintf(number.text, sizeof number.text, "%" PRId64, value->as.i);
        break;
    case TARE_VALUE_F32:
        number = cli_real32_text(value->as.f);
        break;
    case TARE_VALUE_F64:
        number = cli_real_text(value->as.f);
        break;
    case TARE_VALUE_STRING: {
        char *safe = cli_escape(value->as.s, quote, l->limit);
        if (quote) line_add(l, "\"");
        line_add(l, safe);
        if (quote) line_add(l, "\"");
        free(safe);
        return;
    }
    case TARE_VALUE_ARRAY:
        line_add_array(l, &value->as.a);
        return;
    case TARE_VALUE_BOOL:
        if (value->as.u <= 1) {
            line_add(l, value->as.u ? "true" : "false");
            return;
        }
        /* fall through */
    case TARE_VALUE_U8:
    case TARE_VALUE_U16:
    case TARE_VALUE_U32:
    case TARE_VALUE_U64:
        snprintf(number.text, sizeof number.text, "%" PRIu64, value->as.u);
        break;
    }
    line_add(l, number.text);
}

char *cli_value_text(const tare_value *value, size_t limit) {
    line l = {.limit = limit};
    line_add(&l, "");
    line_add_value(&l, value, false);
    return l.text;
}

/* ---- formats --------------------------------------------------------------------------------- */

/* "gguf v3", after what is there. */
static void add_format(cli_format *f, const char *name, uint32_t version) {
    size_t n = strlen(f->text);
    snprintf(f->text + n, sizeof f->text - n, version ? "%s v%" PRIu32 : "%s", name, version);
}

cli_format cli_format_text(const tare_model *model) {
    cli_format f = {{0}};
    tare_container_info c = tare_container_info_default();
    const tare_model_summary *sum = tare_model_summarize(model);
    if (!tare_model_container(&c, model)) {
        add_format(&f, sum->format, sum->version);
        return f;
    }
    snprintf(f.text, sizeof f.text, "%s %" PRIu32 ".%" PRIu32 "%s", sum->format, c.major_version,
             c.minor_version, c.format ? " holding " : "");
    if (c.format) add_format(&f, c.format, c.format_version);
    return f;
}

uint64_t cli_file_bytes(const tare_model *model) {
    tare_container_info c = tare_container_info_default();
    return tare_model_container(&c, model) ? c.packed_bytes
                                           : tare_model_summarize(model)->file_bytes;
}
