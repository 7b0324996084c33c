/* SPDX-License-Identifier: MIT
 *
 * NumPy's arrays, scalars and types in pickles: what numpy.core.multiarray and numpy._core.multiarray
 * rebuild them with (_reconstruct and the state after it, scalar, _frombuffer), and bytes as protocol
 * 2 has them, a text in Latin-1. */
#include "base/arith.h"
#include "base/bytes.h"
#include "base/str.h"
#include "format/numpy_type.h"
#include "format/torch/torch.h"
#include "model/value.h"

enum { LETTERS_MOST = 32 };

static bool is_text(const tare_pickle_value *v) {
    return v && (v->kind == TARE_PICKLE_TEXT || v->kind == TARE_PICKLE_BYTES);
}

/* "core.multiarray" is numpy.core.multiarray and, since NumPy 2, numpy._core.multiarray. */
static bool is_of(const tare_pickle_object *callee, const char *module, const char *name) {
    tare_str of = tare_pickle_module(callee);
    if (!tare_str_is(tare_pickle_name(callee), name) || !tare_str_starts(of, TARE_STR("numpy.")))
        return false;
    of = tare_str_cut(of, strlen("numpy."));
    return tare_str_is(tare_str_starts(of, TARE_STR("_")) ? tare_str_cut(of, 1) : of, module);
}

/* ---- types ----------------------------------------------------------------------------------- */

static bool is_type(const tare_pickle_value *v) {
    const tare_pickle_object *callee = tare_pickle_callee(v);
    return callee && tare_str_is(tare_pickle_module(callee), "numpy") &&
           tare_str_is(tare_pickle_name(callee), "dtype");
}

/* dtype("f4"), whose state has the order of bytes and, third and fourth, what records are made of;
 * of ml_dtypes, its class. The text of .npy files for it; empty: none. */
static tare_str read_letters(char room[LETTERS_MOST], const tare_pickle_value *v) {
    const tare_pickle_value *letters = is_type(v) ? tare_pickle_argument(v, 0) : NULL;
    const tare_pickle_value *state = letters && v->as.object->more && v->as.object->more->has_state
                                         ? &v->as.object->more->state
                                         : NULL;
    const tare_pickle_value *order = tare_pickle_item(state, 1), *of = tare_pickle_item(state, 2),
                            *names = tare_pickle_item(state, 3);
    tare_str text = {"", 0};
    size_t n = 0;
    if (letters && letters->kind == TARE_PICKLE_GLOBAL &&
        tare_str_is(tare_pickle_module(letters->as.object), "ml_dtypes"))
        text = tare_pickle_name(letters->as.object);
    else if (is_text(letters))
        text = letters->as.s;
    if ((of && of->kind != TARE_PICKLE_NONE) || (names && names->kind != TARE_PICKLE_NONE))
        text = TARE_STR("V"); /* records, or arrays in arrays */
    if (!text.len || text.len + 1 > LETTERS_MOST) return (tare_str){"", 0};
    if (is_text(order) && order->as.s.len == 1 && letters->kind != TARE_PICKLE_GLOBAL)
        room[n++] = order->as.s.ptr[0];
    memcpy(room + n, text.ptr, text.len);
    return (tare_str){room, n + text.len};
}

static const char *read_type(tare_numpy_type *out, const tare_pickle_value *v) {
    char room[LETTERS_MOST];
    const char *why = tare_numpy_type_read(out, read_letters(room, v));
    if (!why && out->is_guessed) why = "a NumPy array of bytes whose type is not stated";
    return why;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

/* A text of characters below 256, each of them a byte. False: it has others. */
static bool latin1(uint8_t *out, size_t *n, tare_str text) {
    *n = 0;
    for (size_t i = 0; i < text.len; i++) {
        uint8_t c = (uint8_t)text.ptr[i];
        if (c >= 0x80) {
            if ((c != 0xc2 && c != 0xc3) || ++i == text.len) return false;
            c = (uint8_t)((c & 3) << 6 | ((uint8_t)text.ptr[i] & 0x3f));
        }
        out[(*n)++] = c;
    }
    return true;
}

/* encode(text, "latin1"), bytes() of nothing, bytes(b"..."), bytearray(b"..."). */
static bool bytes_of_call(tare_str *out, tare_torch_file *f, const tare_pickle_value *v) {
    const tare_pickle_object *callee = tare_pickle_callee(v);
    const tare_pickle_value *text = tare_pickle_argument(v, 0);
    if (!callee) return false;
    const tare_str module = tare_pickle_module(callee), name = tare_pickle_name(callee);
    *out = (tare_str){"", 0};
    if (!text)
        return tare_str_ends(module, TARE_STR("builtin__")) || tare_str_is(module, "builtins");
    if (text->kind == TARE_PICKLE_BYTES) *out = text->as.s;
    if (text->kind != TARE_PICKLE_TEXT) return text->kind == TARE_PICKLE_BYTES;
    if (!tare_str_is(module, "_codecs") || !tare_str_is(name, "encode")) return false;
    uint8_t *bytes = tare_arena_take(&f->m->arena, text->as.s.len + 1);
    f->lacks_memory |= !bytes;
    if (!bytes || !latin1(bytes, &out->len, text->as.s)) return false;
    out->ptr = (const char *)bytes;
    return true;
}

bool tare_torch_bytes(tare_str *out, tare_torch_file *f, const tare_pickle_value *v) {
    if (!is_text(v)) return v && v->kind == TARE_PICKLE_CALL && bytes_of_call(out, f, v);
    *out = v->as.s;
    return true;
}

bool tare_torch_is_in_file(uint64_t *offset, const tare_torch_file *f, tare_str bytes) {
    const tare_str text = f->pickle.text;
    const uintptr_t from = (uintptr_t)text.ptr, at = (uintptr_t)bytes.ptr;
    *offset = f->pickle.start + (at - from);
    return at >= from && at - from <= text.len && bytes.len <= text.len - (at - from);
}

/* ---- arrays ---------------------------------------------------------------------------------- */

typedef struct array {
    const tare_pickle_value *shape, *type, *data;
    bool is_fortran;
} array;

static bool is_true(const tare_pickle_value *v) {
    return v && (v->kind == TARE_PICKLE_BOOL || v->kind == TARE_PICKLE_INT) && v->as.i != 0;
}

/* False: v is no array of NumPy. */
static bool find_parts(array *out, const tare_pickle_value *v, const tare_pickle_object *callee) {
    const tare_pickle_more *more = v->as.object->more;
    if (is_of(callee, "core.multiarray", "_reconstruct")) {
        const tare_pickle_value *state = more && more->has_state ? &more->state : NULL;
        const size_t n = tare_pickle_item(state, 4) ? 1 : 0; /* a version, first of five */
        *out = (array){tare_pickle_item(state, n), tare_pickle_item(state, n + 1),
                       tare_pickle_item(state, n + 3), is_true(tare_pickle_item(state, n + 2))};
        return true;
    }
    if (!is_of(callee, "core.numeric", "_frombuffer")) return false;
    const tare_pickle_value *order = tare_pickle_argument(v, 3);
    *out = (array){tare_pickle_argument(v, 2), tare_pickle_argument(v, 1),
                   tare_pickle_argument(v, 0), is_text(order) && tare_str_is(order->as.s, "F")};
    return true;
}

static bool read_shape(tare_strided_tensor *t, const array *a) {
    uint64_t step = 1;
    if (!a->shape || a->shape->kind != TARE_PICKLE_TUPLE ||
        a->shape->as.object->items.n > TARE_MAX_DIMS)
        return false;
    t->n_dims = (uint32_t)a->shape->as.object->items.n;
    for (uint32_t i = 0; i < t->n_dims; i++) {
        const tare_pickle_value *dim = tare_pickle_item(a->shape, i);
        if (dim->kind != TARE_PICKLE_INT || dim->as.i < 0) return false;
        t->dims[i] = (uint64_t)dim->as.i;
    }
    for (uint32_t i = 0; i < t->n_dims; i++) {
        const uint32_t d = a->is_fortran ? i : t->n_dims - 1 - i;
        t->strides[d] = step;
        if (!tare_mul_u64(step, tare_max_u64(t->dims[d], 1), &step)) return false;
    }
    return true;
}

static tare_torch_kind broken(const tare_pickle_value *v, const char *what, tare_error *err) {
    tare_fail_at(err, TARE_ERR_CORRUPT, v->offset, what);
    return TARE_TORCH_BROKEN;
}

static tare_torch_kind no_bytes(const tare_torch_file *f, const tare_pickle_value *v,
                                tare_error *err) {
    if (!f->lacks_memory) return broken(v, "array: it has no bytes", err);
    tare_fail(err, TARE_ERR_NOMEM, "array");
    return TARE_TORCH_BROKEN;
}

tare_torch_kind tare_torch_classify_numpy(tare_strided_tensor *out, const char **why,
                                          tare_torch_file *f, const tare_pickle_value *v,
                                          const tare_pickle_object *callee, tare_error *err) {
    tare_numpy_type type;
    tare_str bytes;
    array a;
    if (!find_parts(&a, v, callee)) return TARE_TORCH_OTHER;
    *why = read_type(&type, a.type);
    if (*why) return TARE_TORCH_UNREAD_ARRAY;
    if (!read_shape(out, &a))
        return broken(v, "array: its shape is not of whole numbers, or of too many", err);
    if (!tare_torch_bytes(&bytes, f, a.data)) return no_bytes(f, v, err);
    out->encoding = tare_encoding_get(type.encoding);
    out->bytes = type.bytes;
    if (type.number > 1 && type.is_big_endian != f->is_big_endian) out->swapped = type.number;
    if (!tare_torch_is_in_file(&out->offset, f, bytes)) {
        out->made = (const uint8_t *)bytes.ptr;
        out->offset = 0;
    }
    if (!tare_strided_measure(out) || out->span != bytes.len)
        return broken(v, "array: not as many bytes as its shape says", err);
    return TARE_TORCH_TENSOR;
}

const tare_pickle_value *tare_torch_numpy_items(const tare_pickle_value *v) {
    array a;
    const tare_pickle_object *callee = tare_pickle_callee(v);
    const bool is_array = callee && find_parts(&a, v, callee);
    return is_array && a.data && a.data->kind == TARE_PICKLE_LIST ? a.data : NULL;
}

/* ---- scalars --------------------------------------------------------------------------------- */

static bool value_type_of(tare_value_type *out, tare_encoding_id id) {
    static const struct {
        tare_encoding_id encoding;
        tare_value_type type;
    } rows[] = {
        {TARE_ENCODING_F64, TARE_VALUE_F64},   {TARE_ENCODING_F32, TARE_VALUE_F32},
        {TARE_ENCODING_I64, TARE_VALUE_I64},   {TARE_ENCODING_I32, TARE_VALUE_I32},
        {TARE_ENCODING_I16, TARE_VALUE_I16},   {TARE_ENCODING_I8, TARE_VALUE_I8},
        {TARE_ENCODING_U64, TARE_VALUE_U64},   {TARE_ENCODING_U32, TARE_VALUE_U32},
        {TARE_ENCODING_U16, TARE_VALUE_U16},   {TARE_ENCODING_U8, TARE_VALUE_U8},
        {TARE_ENCODING_BOOL, TARE_VALUE_BOOL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].encoding == id) {
            *out = rows[i].type;
            return true;
        }
    return false;
}

/* F16 and BF16, which are no types of values. */
static bool read_half(tare_value *out, const tare_numpy_type *type, tare_str bytes) {
    const tare_encoding *e = tare_encoding_get(type->encoding);
    uint8_t in_order[2];
    float value;
    if (type->encoding != TARE_ENCODING_F16 && type->encoding != TARE_ENCODING_BF16) return false;
    memcpy(in_order, bytes.ptr + type->is_big_endian, 1);
    memcpy(in_order + 1, bytes.ptr + !type->is_big_endian, 1);
    const tare_rows one = {.planes = {in_order}, .n_rows = 1, .cols = 1};
    if (tare_decode_rows(&value, e, &one, NULL) != TARE_OK) return false;
    *out = (tare_value){.type = TARE_VALUE_F32, .as.f = (double)value};
    return true;
}

/* str_ and bytes_: code points of 4 bytes, or bytes. */
static bool read_text(tare_value *out, tare_torch_file *f, tare_str letters, tare_str bytes) {
    const bool is_big_endian = letters.len && letters.ptr[0] == '>';
    if (letters.len && strchr("<>|", letters.ptr[0])) letters = tare_str_cut(letters, 1);
    *out = (tare_value){.type = TARE_VALUE_STRING, .as.s = bytes};
    if (tare_str_starts(letters, TARE_STR("S"))) return true;
    if (!tare_str_starts(letters, TARE_STR("U")) || bytes.len % 4) return false;
    char *text = tare_arena_take(&f->scratch, bytes.len + 1);
    f->lacks_memory |= !text;
    if (!text) return false;
    out->as.s = (tare_str){text, 0};
    for (size_t i = 0; i < bytes.len; i += 4) {
        const uint32_t point = tare_load_u32(bytes.ptr + i, is_big_endian);
        if (point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) return false;
        out->as.s.len += tare_utf8_put(text + out->as.s.len, point);
    }
    return true;
}

static bool read_scalar(tare_value *out, tare_torch_file *f, const tare_pickle_value *v) {
    char room[LETTERS_MOST];
    tare_numpy_type type;
    tare_value_type as;
    tare_str bytes;
    if (!tare_torch_bytes(&bytes, f, tare_pickle_argument(v, 1))) return false;
    if (read_type(&type, tare_pickle_argument(v, 0)))
        return read_text(out, f, read_letters(room, tare_pickle_argument(v, 0)), bytes);
    if (bytes.len != type.bytes) return false;
    if (!value_type_of(&as, type.encoding)) return read_half(out, &type, bytes);
    tare_value_load(out, as, (const uint8_t *)bytes.ptr, type.is_big_endian);
    return true;
}

bool tare_torch_numpy_value(tare_value *out, tare_torch_file *f, const tare_pickle_value *v) {
    const tare_pickle_object *callee = tare_pickle_callee(v);
    char room[LETTERS_MOST];
    if (!callee) return false;
    if (is_of(callee, "core.multiarray", "scalar")) return read_scalar(out, f, v);
    if (!is_type(v)) return false;
    const tare_str text = tare_arena_str(&f->scratch, read_letters(room, v));
    *out = (tare_value){.type = TARE_VALUE_STRING, .as.s = text};
    f->lacks_memory |= !text.ptr;
    return text.ptr && text.len;
}
