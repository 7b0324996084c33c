/* SPDX-License-Identifier: MIT
 *
 * Typed metadata as JSON, for containers that hold only text. The form:
 *
 *     [{"key": KEY, "type": "u32", "value": 7}, ...]
 *
 * A string or key that is not UTF-8 is written as {"hex": "..."}; so is a float that is not finite,
 * as the bits of its type, big end first. An array is {"of": TYPE, "items": [...]}. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/arith.h"
#include "base/buffer.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/str.h"
#include "model/value.h"

/* ---- writing --------------------------------------------------------------------------------- */

static void put_hex(tare_buffer *out, tare_str bytes) {
    tare_buffer_put_text(out, "{\"hex\":\"");
    for (size_t i = 0; i < bytes.len; i++) {
        char digits[3];
        tare_hex(digits, (const uint8_t *)bytes.ptr + i, 1);
        tare_buffer_put(out, digits, 2);
    }
    tare_buffer_put_text(out, "\"}");
}

static void put_text(tare_buffer *out, tare_str text) {
    if (tare_str_is_utf8(text))
        tare_buffer_put_json(out, text);
    else
        put_hex(out, text);
}

static void put_float(tare_buffer *out, const tare_value *v) {
    bool is_short = v->type == TARE_VALUE_F32;
    if (!isfinite(v->as.f)) {
        uint8_t bits[8];
        if (is_short)
            tare_store_u32(bits, tare_value_f32_narrow(v->as.f), true);
        else
            tare_store_u64(bits, tare_f64_bits(v->as.f), true);
        put_hex(out, (tare_str){(const char *)bits, is_short ? 4 : 8});
        return;
    }
    /* 9 and 17 significant digits tell all floats apart. The locale's decimal point is undone. */
    char text[40];
    snprintf(text, sizeof text, is_short ? "%.9g" : "%.17g", v->as.f);
    for (char *p = text; *p; p++)
        if (!strchr("0123456789+-e", *p)) *p = '.';
    tare_buffer_put_text(out, text);
}

static void put_value(tare_buffer *out, const tare_value *v);

static void put_array(tare_buffer *out, const tare_array *a) {
    tare_array_walk walk;
    tare_value element;
    tare_buffer_printf(out, "{\"of\":\"%s\",\"items\":[", tare_value_type_name(a->type));
    tare_array_begin(&walk, a);
    while (tare_array_next(&element, &walk)) {
        if (walk.index > 1) tare_buffer_put_u8(out, ',');
        put_value(out, &element);
    }
    tare_buffer_put_text(out, "]}");
}

static void put_value(tare_buffer *out, const tare_value *v) {
    switch (v->type) {
    case TARE_VALUE_STRING:
        put_text(out, v->as.s);
        break;
    case TARE_VALUE_ARRAY:
        put_array(out, &v->as.a);
        break;
    case TARE_VALUE_F32:
    case TARE_VALUE_F64:
        put_float(out, v);
        break;
    case TARE_VALUE_I8:
    case TARE_VALUE_I16:
    case TARE_VALUE_I32:
    case TARE_VALUE_I64:
        tare_buffer_printf(out, "%" PRId64, v->as.i);
        break;
    default:
        if (v->type == TARE_VALUE_BOOL && v->as.u < 2)
            tare_buffer_put_text(out, v->as.u ? "true" : "false");
        else
            tare_buffer_printf(out, "%" PRIu64, v->as.u);
    }
}

#define OTHER_SPACE "safetensors" /* the only one beside the model's */

static void put_entry(tare_buffer *out, const tare_metadata *e, bool is_first, bool names_space) {
    tare_buffer_put_text(out, is_first ? "{\"key\":" : ",{\"key\":");
    put_text(out, e->key);
    tare_buffer_printf(out, ",\"type\":\"%s\",\"value\":", tare_value_type_name(e->value.type));
    put_value(out, &e->value);
    if (names_space && e->space != TARE_KEYS_MODEL)
        tare_buffer_put_text(out, ",\"space\":\"" OTHER_SPACE "\"");
    tare_buffer_put_u8(out, '}');
}

void tare_metadata_to_json(tare_buffer *out, const tare_metadata *entries, size_t n,
                           tare_key_space space) {
    bool is_first = true;
    tare_buffer_put_u8(out, '[');
    for (size_t i = 0; i < n; i++) {
        if (entries[i].space != space) continue;
        put_entry(out, &entries[i], is_first, false);
        is_first = false;
    }
    tare_buffer_put_u8(out, ']');
}

void tare_metadata_all_to_json(tare_buffer *out, const tare_metadata *entries, size_t n) {
    tare_buffer_put_u8(out, '[');
    for (size_t i = 0; i < n; i++) put_entry(out, &entries[i], i == 0, true);
    tare_buffer_put_u8(out, ']');
}

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct from_json {
    tare_json j;
    tare_arena *arena;
    const tare_limits *limits;
    tare_metadata *entries;
    size_t n, capacity;
    uint32_t depth; /* of arrays */
} from_json;

static bool bad(from_json *f, uint64_t offset, const char *what) {
    return tare_json_fail(&f->j, TARE_ERR_CORRUPT, offset, what);
}

static bool out_of_memory(from_json *f) {
    return tare_json_fail(&f->j, TARE_ERR_NOMEM, TARE_NO_OFFSET, "metadata");
}

/* The bytes of {"hex": "..."}, whose brace has been read. */
static bool take_hex(from_json *f, tare_str *out) {
    tare_json_value key, v, end;
    tare_json_key(&f->j, &key);
    if (!tare_str_is(key.raw, "\"hex\"") || tare_json_next(&f->j, &v) != TARE_JSON_STRING)
        return bad(f, key.offset, "metadata: \"hex\" and a string were expected");
    size_t digits = v.raw.len - 2;
    uint8_t *bytes = tare_arena_take(f->arena, digits / 2);
    if (!bytes) return out_of_memory(f);
    if (digits % 2 || !tare_unhex(bytes, v.raw.ptr + 1, digits / 2))
        return bad(f, v.offset, "metadata: pairs of hexadecimal digits were expected");
    *out = (tare_str){(const char *)bytes, digits / 2};
    return tare_json_key(&f->j, &end) == TARE_JSON_END ||
           bad(f, end.offset, "metadata: nothing was expected beside \"hex\"");
}

static bool take_text(from_json *f, const tare_json_value *v, tare_str *out) {
    if (v->type == TARE_JSON_OBJECT) return take_hex(f, out);
    if (v->type != TARE_JSON_STRING) return bad(f, v->offset, "metadata: a string was expected");
    *out = tare_json_text(v, f->arena);
    return out->ptr || out_of_memory(f);
}

/* The next member of the object that is open must be this one. */
static bool take_member(from_json *f, const char *name, tare_json_value *v) {
    tare_json_value key;
    tare_json_key(&f->j, &key);
    tare_str text = tare_str_cut(key.raw, 1);
    if (key.type != TARE_JSON_STRING || text.len - 1 != strlen(name) ||
        memcmp(text.ptr, name, text.len - 1) != 0)
        return bad(f, key.offset, "metadata: members key, type, value (or of, items) expected");
    return tare_json_next(&f->j, v) != TARE_JSON_END;
}

static bool take_type(from_json *f, const tare_json_value *v, tare_value_type *out) {
    tare_str text = {v->raw.ptr + 1, v->raw.len - 2};
    for (uint32_t t = TARE_VALUE_U8; v->type == TARE_JSON_STRING && t <= TARE_VALUE_F64; t++) {
        *out = (tare_value_type)t;
        if (tare_str_is(text, tare_value_type_name(*out))) return true;
    }
    return bad(f, v->offset, "metadata: not the name of a value type");
}

static bool take_float(from_json *f, const tare_json_value *v, tare_value *out) {
    tare_str bits;
    size_t size = out->type == TARE_VALUE_F32 ? 4 : 8;
    if (v->type == TARE_JSON_OBJECT) {
        if (!take_hex(f, &bits)) return false;
        if (bits.len != size) return bad(f, v->offset, "metadata: bits of another type");
        tare_value_load(out, out->type, (const uint8_t *)bits.ptr, true);
        return true;
    }
    if (!tare_json_f64(v, &out->as.f)) return bad(f, v->offset, "metadata: a number was expected");
    /* Nine digits, read as a double, round to the float they were printed from. */
    if (size == 4) out->as.f = (double)(float)out->as.f;
    return isfinite(out->as.f) || bad(f, v->offset, "metadata: number out of range for its type");
}

static bool take_integer(from_json *f, const tare_json_value *v, tare_value *out) {
    uint32_t bits = (uint32_t)tare_value_type_size(out->type) * 8;
    bool is_true = v->type == TARE_JSON_TRUE;
    switch (out->type) {
    case TARE_VALUE_I8:
    case TARE_VALUE_I16:
    case TARE_VALUE_I32:
    case TARE_VALUE_I64:
        if (tare_json_i64(v, &out->as.i) && out->as.i >> (bits - 1) == out->as.i >> 63) return true;
        break;
    default:
        if (out->type == TARE_VALUE_BOOL && (is_true || v->type == TARE_JSON_FALSE)) {
            out->as.u = is_true;
            return true;
        }
        if (tare_json_u64(v, &out->as.u) && out->as.u <= UINT64_MAX >> (64 - bits)) return true;
    }
    return bad(f, v->offset, "metadata: a whole number of this type was expected");
}

static bool take_value(from_json *f, const tare_json_value *v, tare_value *out);

/* Elements are packed as they come, in the form arrays have everywhere; the count is the array's
 * own. Nested arrays are packed by their parents a second time: bounded by the nesting. */
static bool take_items(from_json *f, tare_array *a, tare_buffer *packed) {
    tare_json_value v;
    while (tare_json_next(&f->j, &v) != TARE_JSON_END) {
        tare_value element = {.type = a->type};
        if (!take_value(f, &v, &element)) return false;
        tare_value_pack(packed, &element, false);
        if (++a->count > f->limits->array_elements)
            return tare_json_fail(&f->j, TARE_ERR_LIMIT, v.offset, "metadata: array elements");
    }
    if (packed->failed) return out_of_memory(f);
    a->size_bytes = packed->size;
    uint8_t *bytes = tare_arena_take(f->arena, packed->size);
    if (!bytes) return out_of_memory(f);
    if (packed->size) memcpy(bytes, packed->data, packed->size);
    a->bytes = bytes;
    return f->j.err.status == TARE_OK;
}

static bool take_array(from_json *f, const tare_json_value *v, tare_array *a) {
    tare_json_value of, items, end;
    *a = (tare_array){.bytes = NULL};
    if (v->type != TARE_JSON_OBJECT) return bad(f, v->offset, "metadata: an array was expected");
    if (++f->depth > f->limits->nesting)
        return tare_json_fail(&f->j, TARE_ERR_LIMIT, v->offset, "metadata: nesting");
    if (!take_member(f, "of", &of) || !take_type(f, &of, &a->type) ||
        !take_member(f, "items", &items))
        return false;
    if (items.type != TARE_JSON_ARRAY)
        return bad(f, items.offset, "metadata: a list of items was expected");
    tare_buffer packed;
    tare_buffer_init(&packed, f->arena->allocator);
    bool ok = take_items(f, a, &packed);
    tare_buffer_free(&packed);
    f->depth--;
    return ok && (tare_json_key(&f->j, &end) == TARE_JSON_END ||
                  bad(f, end.offset, "metadata: unexpected bytes after the items"));
}

static bool take_value(from_json *f, const tare_json_value *v, tare_value *out) {
    switch (out->type) {
    case TARE_VALUE_STRING:
        return take_text(f, v, &out->as.s);
    case TARE_VALUE_ARRAY:
        return take_array(f, v, &out->as.a);
    case TARE_VALUE_F32:
    case TARE_VALUE_F64:
        return take_float(f, v, out);
    default:
        return take_integer(f, v, out);
    }
}

/* The end of an entry, or the space it is of. */
static bool take_space(from_json *f, tare_metadata *e) {
    tare_json_value key, value, end;
    if (tare_json_key(&f->j, &key) == TARE_JSON_END) return true;
    if (!tare_str_is(key.raw, "\"space\""))
        return bad(f, key.offset, "metadata: unexpected bytes after the value");
    if (tare_json_next(&f->j, &value) != TARE_JSON_STRING ||
        !tare_str_is(value.raw, "\"" OTHER_SPACE "\""))
        return bad(f, value.offset, "metadata: not the name of a space");
    e->space = TARE_KEYS_SAFETENSORS;
    return tare_json_key(&f->j, &end) == TARE_JSON_END ||
           bad(f, end.offset, "metadata: unexpected bytes after the space");
}

static bool take_entry(from_json *f, tare_metadata *e) {
    tare_json_value key, type, value;
    *e = (tare_metadata){.space = TARE_KEYS_MODEL, .offset = TARE_NO_OFFSET};
    return take_member(f, "key", &key) && take_text(f, &key, &e->key) &&
           take_member(f, "type", &type) && take_type(f, &type, &e->value.type) &&
           take_member(f, "value", &value) && take_value(f, &value, &e->value) && take_space(f, e);
}

static bool add_entry(from_json *f, const tare_metadata *e) {
    if (f->n >= f->limits->keys)
        return tare_json_fail(&f->j, TARE_ERR_LIMIT, TARE_NO_OFFSET, "metadata: number of keys");
    if (f->n == f->capacity) {
        size_t capacity = f->n < 16 ? 32 : f->n * 2;
        tare_metadata *more = TARE_NEW_ARRAY(f->arena, tare_metadata, capacity);
        if (!more) return out_of_memory(f);
        if (f->n) memcpy(more, f->entries, f->n * sizeof *more);
        f->entries = more;
        f->capacity = capacity;
    }
    f->entries[f->n++] = *e;
    return true;
}

tare_status tare_metadata_from_json(tare_metadata **entries, size_t *n, tare_str text,
                                    tare_arena *arena, const tare_limits *limits, tare_error *err) {
    from_json f = {.arena = arena,
                   .limits = limits,
                   .entries = *entries,
                   .n = *n,
                   .capacity = *n}; /* the caller's list may be exactly full: never written past */
    tare_json_value v;
    tare_metadata e;
    tare_json_init(&f.j, text, 0, TARE_JSON_MAX_DEPTH);
    if (tare_json_begin(&f.j, &v) != TARE_JSON_ARRAY) {
        bad(&f, 0, "metadata: a list was expected");
    } else {
        while (tare_json_next(&f.j, &v) != TARE_JSON_END) {
            if (v.type != TARE_JSON_OBJECT)
                bad(&f, v.offset, "metadata: an entry was expected");
            else if (take_entry(&f, &e))
                add_entry(&f, &e);
        }
        tare_json_finish(&f.j);
    }
    TARE_TRY(tare_json_status(&f.j, err));
    *entries = f.entries;
    *n = f.n;
    return TARE_OK;
}
