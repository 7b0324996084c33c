/* SPDX-License-Identifier: MIT
 *
 * Single records of a GGUF directory: keys with their values, tensor records. Every count or length
 * is checked against the limits and against what is left of the file before it is used; a record
 * that only runs out of the window is read again in a longer one. */
#include "base/arith.h"
#include "base/str.h"
#include "format/gguf/gguf.h"
#include "model/value.h"

static uint64_t file_left(const tare_gguf_reader *r) {
    return r->w.reader->size - tare_cursor_offset(&r->w.c);
}

/* A count or length: u32 in version 1, u64 since. */
static uint64_t take_length(tare_gguf_reader *r, const char *what) {
    return r->version == 1 ? tare_cursor_u32(&r->w.c, what) : tare_cursor_u64(&r->w.c, what);
}

typedef struct string_words {
    const char *runs_out, *too_long;
} string_words;

static bool take_str(tare_gguf_reader *r, uint64_t most, const string_words *words, tare_str *out) {
    tare_cursor *c = &r->w.c;
    uint64_t at = tare_cursor_offset(c), n = take_length(r, words->runs_out);
    if (!tare_cursor_ok(c)) return false;
    if (n > most) return tare_cursor_fail(c, TARE_ERR_LIMIT, at, words->too_long);
    if (n > file_left(r)) return tare_cursor_fail(c, TARE_ERR_TRUNCATED, at, words->runs_out);
    const uint8_t *p = tare_cursor_take(c, n, words->runs_out);
    if (!p) return false;
    *out = (tare_str){(const char *)p, (size_t)n};
    /* Version 1 counts a NUL at the end of a string, where it has one, as part of it. */
    if (r->version == 1 && n && p[n - 1] == 0) out->len--;
    return true;
}

/* ---- values ---------------------------------------------------------------------------------- */

static const string_words string_value = {"string: the file ends inside it", "string: length"};

static bool take_value_type(tare_gguf_reader *r, const char *runs_out, const char *unknown,
                            tare_value_type *out) {
    uint64_t at = tare_cursor_offset(&r->w.c);
    uint32_t type = tare_cursor_u32(&r->w.c, runs_out);
    if (type > TARE_VALUE_F64) return tare_cursor_fail(&r->w.c, TARE_ERR_CORRUPT, at, unknown);
    *out = (tare_value_type)type;
    return tare_cursor_ok(&r->w.c);
}

/* Type and count of an array, checked against limits and file. */
static bool take_array_head(tare_gguf_reader *r, uint32_t depth, tare_array *out) {
    tare_cursor *c = &r->w.c;
    uint64_t type_at = tare_cursor_offset(c), size;
    *out = (tare_array){.is_big_endian = r->is_big_endian, .has_short_lengths = r->version == 1};
    if (!take_value_type(r, "array element type: the file ends inside it",
                         "array element type: not a known value type", &out->type))
        return false;
    if (out->type == TARE_VALUE_ARRAY && depth >= r->m->limits.nesting)
        return tare_cursor_fail(c, TARE_ERR_LIMIT, type_at, "nesting of arrays");
    uint64_t count_at = tare_cursor_offset(c);
    out->count = take_length(r, "array count: the file ends inside it");
    if (!tare_cursor_ok(c)) return false;
    if (out->count > r->m->limits.array_elements)
        return tare_cursor_fail(c, TARE_ERR_LIMIT, count_at, "array count");
    /* A string is at least its length, an array its head. */
    uint64_t least = tare_value_type_size(out->type), length = r->version == 1 ? 4 : 8;
    if (!least) least = length + (out->type == TARE_VALUE_ARRAY ? 4 : 0);
    if (!tare_mul_u64(out->count, least, &size) || size > file_left(r))
        return tare_cursor_fail(c, TARE_ERR_TRUNCATED, count_at,
                                "array count: the file is too short for it");
    return true;
}

/* The window ended after n strings: others of their length would end about here. */
static void expect_end(tare_gguf_reader *r, const tare_array *a, uint64_t n) {
    uint64_t taken = (uint64_t)(r->w.c.pos - a->bytes), left;
    if (n == 0 || n == a->count || !tare_mul_u64(taken, a->count - n, &left)) return;
    left = left / n + left / n / 16;
    if (left <= file_left(r)) r->w.expected_end = tare_cursor_offset(&r->w.c) + left;
}

static bool take_elements(tare_gguf_reader *r, uint32_t depth, tare_array *a) {
    tare_cursor *c = &r->w.c;
    size_t size = tare_value_type_size(a->type);
    a->bytes = c->pos;
    if (size) {
        tare_cursor_take(c, a->count * size, "array: the file ends inside it");
    } else {
        tare_str s;
        tare_array inner;
        uint64_t i = 0;
        /* A vocabulary is hundreds of thousands of strings: valid ones are skipped quickly. */
        if (a->type == TARE_VALUE_STRING && r->version > 1) {
            i = tare_cursor_skip_strings(c, a->count, UINT64_MAX, &r->string_lengths);
            expect_end(r, a, i);
        }
        if (i < a->count) r->string_lengths = UINT64_MAX;
        for (; i < a->count; i++) {
            bool ok = a->type == TARE_VALUE_STRING ? take_str(r, UINT64_MAX, &string_value, &s)
                                                   : take_array_head(r, depth + 1, &inner) &&
                                                         take_elements(r, depth + 1, &inner);
            if (!ok) return false;
        }
    }
    a->size_bytes = (uint64_t)(c->pos - a->bytes);
    return tare_cursor_ok(c);
}

static bool take_value(tare_gguf_reader *r, tare_value *v) {
    if (v->type == TARE_VALUE_STRING) return take_str(r, UINT64_MAX, &string_value, &v->as.s);
    if (v->type == TARE_VALUE_ARRAY)
        return take_array_head(r, 1, &v->as.a) && take_elements(r, 1, &v->as.a);
    const uint8_t *p =
        tare_cursor_take(&r->w.c, tare_value_type_size(v->type), "value: the file ends inside it");
    if (p) tare_value_load(v, v->type, p, r->is_big_endian);
    return p != NULL;
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* A resource stays in the file: of its array only the head is read here. */
static bool take_resource(tare_gguf_reader *r, tare_gguf_key *out) {
    tare_value *v = &out->entry.value;
    if (!take_array_head(r, 1, &v->as.a)) return false;
    out->is_resource = v->as.a.type == TARE_VALUE_U8;
    out->resource_size = v->as.a.count;
    return out->is_resource || take_elements(r, 1, &v->as.a);
}

bool tare_gguf_take_key(tare_gguf_reader *r, tare_gguf_key *out) {
    static const string_words words = {"key: the file ends inside it", "key: length"};
    tare_cursor *c = &r->w.c;
    tare_metadata *e = &out->entry;
    *out = (tare_gguf_key){.entry.offset = tare_cursor_offset(c)};
    r->string_lengths = 0;
    if (!take_str(r, r->m->limits.name_bytes, &words, &e->key)) return false;
    if (e->key.len == 0) return tare_cursor_fail(c, TARE_ERR_CORRUPT, e->offset, "empty key");
    out->type_at = tare_cursor_offset(c);
    if (!take_value_type(r, "value type: the file ends inside it", "value type: not a known one",
                         &e->value.type))
        return false;
    out->value_at = tare_cursor_offset(c);
    if (e->value.type == TARE_VALUE_ARRAY &&
        tare_str_starts(e->key, TARE_STR(TARE_GGUF_RESOURCE_PREFIX)))
        return take_resource(r, out);
    return take_value(r, &e->value);
}

/* ---- tensor records -------------------------------------------------------------------------- */

bool tare_gguf_take_info(tare_gguf_reader *r, tare_gguf_info *out) {
    static const string_words words = {"tensor name: the file ends inside it",
                                       "tensor name: length"};
    tare_cursor *c = &r->w.c;
    out->at = tare_cursor_offset(c);
    if (!take_str(r, r->m->limits.name_bytes, &words, &out->name)) return false;
    if (out->name.len == 0)
        return tare_cursor_fail(c, TARE_ERR_CORRUPT, out->at, "empty tensor name");
    out->n_dims_at = tare_cursor_offset(c);
    out->n_dims = tare_cursor_u32(c, "number of dimensions: the file ends inside it");
    if (out->n_dims > TARE_MAX_DIMS)
        return tare_cursor_fail(c, TARE_ERR_CORRUPT, out->n_dims_at, "more than 8 dimensions");
    if (out->n_dims > r->m->limits.dims)
        return tare_cursor_fail(c, TARE_ERR_LIMIT, out->n_dims_at, "number of dimensions");
    out->dims_at = tare_cursor_offset(c);
    for (uint32_t d = 0; d < out->n_dims; d++)
        out->dims[d] = take_length(r, "dimension: the file ends inside it");
    out->type_at = tare_cursor_offset(c);
    out->type = tare_cursor_u32(c, "tensor type: the file ends inside it");
    out->relative_at = tare_cursor_offset(c);
    out->relative = tare_cursor_u64(c, "tensor offset: the file ends inside it");
    return tare_cursor_ok(c);
}
