/* SPDX-License-Identifier: MIT
 *
 * Typed values and the lazy arrays among them: walking, comparing, packing. The stored form is
 * GGUF's; an array was checked when its file was opened, and is still walked within its bounds
 * only, since a mapped file may change underneath. */
#include "model/value.h"
#include "base/arith.h"
#include "base/bytes.h"
#include "base/str.h"
#include "model/catalog.h"

size_t tare_value_type_size(uint32_t type) {
    static const uint8_t sizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    return type < sizeof sizes ? sizes[type] : 0;
}

const char *tare_value_type_name(tare_value_type type) {
    static const char *const names[] = {"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                        "bool", "string", "array", "u64", "i64", "f64"};
    return (unsigned)type < sizeof names / sizeof *names ? names[type] : "unknown";
}

/* ---- single numbers -------------------------------------------------------------------------- */

/* A NaN is widened and narrowed by hand: the hardware would set the quiet bit of a signalling one,
 * and metadata must come out unchanged. */
double tare_value_f32_widen(uint32_t bits) {
    if ((bits & 0x7fffffff) <= 0x7f800000) return (double)tare_f32_of_bits(bits);
    uint64_t wide = (uint64_t)(bits & 0x80000000) << 32 | UINT64_C(0x7ff) << 52 |
                    (uint64_t)(bits & 0x7fffff) << 29;
    return tare_f64_of_bits(wide);
}

uint32_t tare_value_f32_narrow(double value) {
    uint64_t wide = tare_f64_bits(value);
    if ((wide & INT64_MAX) <= UINT64_C(0x7ff) << 52) return tare_f32_bits((float)value);
    uint32_t fraction = (uint32_t)(wide >> 29) & 0x7fffff;
    return (uint32_t)(wide >> 32 & 0x80000000) | 0x7f800000 | (fraction ? fraction : 0x400000);
}

void tare_value_load(tare_value *out, tare_value_type type, const uint8_t *p, bool is_big_endian) {
    uint64_t v = 0;
    switch (tare_value_type_size(type)) {
    case 1:
        v = *p;
        break;
    case 2:
        v = tare_load_u16(p, is_big_endian);
        break;
    case 4:
        v = tare_load_u32(p, is_big_endian);
        break;
    case 8:
        v = tare_load_u64(p, is_big_endian);
        break;
    default:
        break;
    }
    *out = (tare_value){.type = type};
    switch (type) {
    case TARE_VALUE_I8:
        out->as.i = (int8_t)v;
        break;
    case TARE_VALUE_I16:
        out->as.i = (int16_t)v;
        break;
    case TARE_VALUE_I32:
        out->as.i = (int32_t)v;
        break;
    case TARE_VALUE_I64:
        out->as.i = (int64_t)v;
        break;
    case TARE_VALUE_F32:
        out->as.f = tare_value_f32_widen((uint32_t)v);
        break;
    case TARE_VALUE_F64:
        out->as.f = tare_f64_of_bits(v);
        break;
    default:
        out->as.u = v;
        break;
    }
}

/* The bits of a number of fixed size, as they are stored. */
static uint64_t number_bits(const tare_value *v) {
    switch (v->type) {
    case TARE_VALUE_I8:
    case TARE_VALUE_I16:
    case TARE_VALUE_I32:
    case TARE_VALUE_I64:
        return (uint64_t)v->as.i;
    case TARE_VALUE_F32:
        return tare_value_f32_narrow(v->as.f);
    case TARE_VALUE_F64:
        return tare_f64_bits(v->as.f);
    default:
        return v->as.u;
    }
}

bool tare_value_u64(uint64_t *out, const tare_value *value) {
    switch (value->type) {
    case TARE_VALUE_U8:
    case TARE_VALUE_U16:
    case TARE_VALUE_U32:
    case TARE_VALUE_U64:
    case TARE_VALUE_BOOL:
        *out = value->as.u;
        return true;
    case TARE_VALUE_I8:
    case TARE_VALUE_I16:
    case TARE_VALUE_I32:
    case TARE_VALUE_I64:
        *out = (uint64_t)value->as.i;
        return value->as.i >= 0;
    default:
        return false;
    }
}

bool tare_value_f64(double *out, const tare_value *value) {
    switch (value->type) {
    case TARE_VALUE_F32:
    case TARE_VALUE_F64:
        *out = value->as.f;
        return true;
    case TARE_VALUE_I8:
    case TARE_VALUE_I16:
    case TARE_VALUE_I32:
    case TARE_VALUE_I64:
        *out = (double)value->as.i;
        return true;
    case TARE_VALUE_STRING:
    case TARE_VALUE_ARRAY:
        return false;
    default:
        *out = (double)value->as.u;
        return true;
    }
}

/* ---- arrays ---------------------------------------------------------------------------------- */

/* A length or count at *pos of an array; moves on. */
static bool take_length(const tare_array *a, uint64_t *pos, uint64_t *out) {
    size_t size = a->has_short_lengths ? 4 : 8;
    if (a->size_bytes - *pos < size) return false;
    const uint8_t *p = a->bytes + *pos;
    *out = a->has_short_lengths ? tare_load_u32(p, a->is_big_endian)
                                : tare_load_u64(p, a->is_big_endian);
    *pos += size;
    return true;
}

static bool take_string(const tare_array *a, uint64_t *pos, tare_str *out) {
    uint64_t length;
    if (!take_length(a, pos, &length) || length > a->size_bytes - *pos) return false;
    *out = (tare_str){(const char *)a->bytes + *pos, (size_t)length};
    *pos += length;
    /* Version 1 of GGUF counts a NUL at the end of a string, where it has one, as part of it. */
    if (a->has_short_lengths && out->len && out->ptr[out->len - 1] == 0) out->len--;
    return true;
}

/* A nested array at *pos: its head is read, then its elements are measured. */
static bool take_array(const tare_array *a, uint64_t *pos, tare_array *out) {
    uint64_t bytes;
    if (a->size_bytes - *pos < 4) return false;
    uint32_t type = tare_load_u32(a->bytes + *pos, a->is_big_endian);
    *pos += 4;
    *out = *a;
    out->type = (tare_value_type)type;
    if (!take_length(a, pos, &out->count)) return false;
    out->bytes = a->bytes + *pos;
    out->size_bytes = a->size_bytes - *pos;
    size_t size = tare_value_type_size(type);
    if (size) {
        if (!tare_mul_u64(out->count, size, &bytes) || bytes > out->size_bytes) return false;
    } else {
        tare_str s;
        tare_array inner;
        bytes = 0;
        for (uint64_t i = 0; i < out->count; i++)
            if (!(type == TARE_VALUE_STRING ? take_string(out, &bytes, &s)
                                            : take_array(out, &bytes, &inner)))
                return false;
    }
    out->size_bytes = bytes;
    *pos += bytes;
    return true;
}

void tare_array_begin(tare_array_walk *walk, const tare_array *array) {
    *walk = (tare_array_walk){.array = *array};
}

bool tare_array_next(tare_value *out, tare_array_walk *walk) {
    const tare_array *a = &walk->array;
    if (walk->index >= a->count) return false;
    walk->index++;
    *out = (tare_value){.type = a->type};
    if (a->type == TARE_VALUE_STRING) return take_string(a, &walk->position, &out->as.s);
    if (a->type == TARE_VALUE_ARRAY) return take_array(a, &walk->position, &out->as.a);
    size_t size = tare_value_type_size(a->type);
    if (size == 0 || a->size_bytes - walk->position < size) return false;
    tare_value_load(out, a->type, a->bytes + walk->position, a->is_big_endian);
    walk->position += size;
    return true;
}

bool tare_array_is_packed(const tare_array *a, bool is_big_endian) {
    size_t size = tare_value_type_size(a->type);
    if (size == 1) return true;
    return a->is_big_endian == is_big_endian && (size || !a->has_short_lengths);
}

static bool equal_arrays(const tare_array *a, const tare_array *b) {
    if (a->type != b->type || a->count != b->count) return false;
    if (tare_array_is_packed(a, false) == tare_array_is_packed(b, false) &&
        tare_array_is_packed(a, true) == tare_array_is_packed(b, true) &&
        tare_array_is_packed(a, a->is_big_endian))
        return a->size_bytes == b->size_bytes &&
               (a->size_bytes == 0 || memcmp(a->bytes, b->bytes, (size_t)a->size_bytes) == 0);
    tare_array_walk walk_a, walk_b;
    tare_value va, vb;
    tare_array_begin(&walk_a, a);
    tare_array_begin(&walk_b, b);
    while (tare_array_next(&va, &walk_a))
        if (!tare_array_next(&vb, &walk_b) || !tare_value_equal(&va, &vb)) return false;
    return true;
}

bool tare_value_equal(const tare_value *a, const tare_value *b) {
    if (a->type != b->type) return false;
    if (a->type == TARE_VALUE_STRING) return tare_str_equal(a->as.s, b->as.s);
    if (a->type == TARE_VALUE_ARRAY) return equal_arrays(&a->as.a, &b->as.a);
    return number_bits(a) == number_bits(b);
}

/* ---- packing --------------------------------------------------------------------------------- */

static void pack_number(tare_buffer *out, const tare_value *value, bool is_big_endian) {
    uint64_t bits = number_bits(value);
    size_t size = tare_value_type_size(value->type);
    uint8_t *p = tare_buffer_extend(out, size);
    if (!p) return;
    if (size == 1)
        *p = (uint8_t)bits;
    else if (size == 2)
        tare_store_u16(p, (uint16_t)bits, is_big_endian);
    else if (size == 4)
        tare_store_u32(p, (uint32_t)bits, is_big_endian);
    else
        tare_store_u64(p, bits, is_big_endian);
}

void tare_value_pack(tare_buffer *out, const tare_value *value, bool is_big_endian) {
    if (value->type == TARE_VALUE_STRING) {
        tare_buffer_put_u64(out, value->as.s.len, is_big_endian);
        tare_buffer_put_str(out, value->as.s);
    } else if (value->type == TARE_VALUE_ARRAY) {
        const tare_array *a = &value->as.a;
        tare_buffer_put_u32(out, a->type, is_big_endian);
        tare_buffer_put_u64(out, a->count, is_big_endian);
        if (tare_array_is_packed(a, is_big_endian)) {
            tare_buffer_put(out, a->bytes, (size_t)a->size_bytes);
            return;
        }
        tare_array_walk walk;
        tare_value element;
        tare_array_begin(&walk, a);
        while (tare_array_next(&element, &walk)) tare_value_pack(out, &element, is_big_endian);
    } else {
        pack_number(out, value, is_big_endian);
    }
}

tare_str tare_catalog_get_str(const tare_catalog *c, const char *key) {
    for (size_t i = 0; i < c->n_metadata; i++)
        if (c->metadata[i].space == TARE_KEYS_MODEL && tare_str_is(c->metadata[i].key, key) &&
            c->metadata[i].value.type == TARE_VALUE_STRING)
            return c->metadata[i].value.as.s;
    return (tare_str){"", 0};
}

tare_status tare_metadata_take_text(tare_metadata *out, tare_str key, tare_buffer *text,
                                    const char *what, tare_arena *arena, tare_error *err) {
    tare_status status = tare_buffer_status(text, err);
    if (status == TARE_OK) {
        tare_str kept = tare_arena_str(arena, (tare_str){(const char *)text->data, text->size});
        *out = (tare_metadata){.key = key,
                               .value = {.type = TARE_VALUE_STRING, .as.s = kept},
                               .space = TARE_KEYS_MODEL,
                               .offset = TARE_NO_OFFSET};
        if (!kept.ptr) status = tare_fail(err, TARE_ERR_NOMEM, what);
    }
    tare_buffer_free(text);
    return status;
}
