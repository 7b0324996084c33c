/* SPDX-License-Identifier: MIT
 *
 * Values from text: strings as they are, everything else as JSON, parsed by the existing reader of
 * typed metadata. */
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/json.h"
#include "base/str.h"
#include "ops/edit/edit_state.h"

/* ---- types ----------------------------------------------------------------------------------- */

/* Names that other programs have for them. */
static const struct {
    const char *name;
    tare_value_type type;
} aliases[] = {
    {"str", TARE_VALUE_STRING},  {"uint8", TARE_VALUE_U8},    {"int8", TARE_VALUE_I8},
    {"uint16", TARE_VALUE_U16},  {"int16", TARE_VALUE_I16},   {"uint32", TARE_VALUE_U32},
    {"int32", TARE_VALUE_I32},   {"uint64", TARE_VALUE_U64},  {"int64", TARE_VALUE_I64},
    {"float32", TARE_VALUE_F32}, {"float64", TARE_VALUE_F64},
};

static bool find_type(tare_value_type *out, tare_str name) {
    for (uint32_t t = TARE_VALUE_U8; t <= TARE_VALUE_F64; t++) {
        *out = (tare_value_type)t;
        if (*out != TARE_VALUE_ARRAY && tare_str_is(name, tare_value_type_name(*out))) return true;
    }
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++) {
        *out = aliases[i].type;
        if (tare_str_is(name, aliases[i].name)) return true;
    }
    return false;
}

/* A type as text asks for it: that of a value, or, with "[]", of an array's elements. */
typedef struct wanted {
    tare_value_type type;
    bool is_array;
} wanted;

static tare_status parse_type(wanted *out, const char *type, tare_error *err) {
    tare_str name = tare_str_of(type);
    out->is_array = tare_str_ends(name, TARE_STR("[]"));
    if (out->is_array) name.len -= 2;
    if (find_type(&out->type, name)) return TARE_OK;
    return tare_fail(err, TARE_ERR_ARG,
                     "no such type of a value: u8 i8 u16 i16 u32 i32 u64 i64 f32 f64 bool string, "
                     "and these with [] for arrays");
}

/* ---- guessing -------------------------------------------------------------------------------- */

static tare_value_type type_of_number(const tare_json_value *v) {
    uint64_t u;
    int64_t i;
    if (tare_json_u64(v, &u)) return u <= UINT32_MAX ? TARE_VALUE_U32 : TARE_VALUE_U64;
    if (tare_json_i64(v, &i)) return i >= INT32_MIN ? TARE_VALUE_I32 : TARE_VALUE_I64;
    return TARE_VALUE_F32;
}

static tare_value_type type_of_scalar(const tare_json_value *v) {
    switch (v->type) {
    case TARE_JSON_TRUE:
    case TARE_JSON_FALSE:
        return TARE_VALUE_BOOL;
    case TARE_JSON_NUMBER:
        return type_of_number(v);
    default:
        return TARE_VALUE_STRING;
    }
}

/* A common type for two elements: integers widen, and become floats if the other is a float. */
static tare_value_type join(tare_value_type a, tare_value_type b) {
    const bool has_real = a == TARE_VALUE_F32 || b == TARE_VALUE_F32;
    if (a == b) return a;
    if (a == TARE_VALUE_STRING || b == TARE_VALUE_STRING) return TARE_VALUE_STRING;
    if (has_real) return TARE_VALUE_F32;
    return TARE_VALUE_I64;
}

/* Guesses the type of a text; a string if it is not JSON. */
static wanted guess(tare_str text) {
    tare_json j;
    tare_json_value v;
    wanted w = {.type = TARE_VALUE_STRING};
    tare_json_init(&j, text, 0, TARE_JSON_MAX_DEPTH);
    const tare_json_type first = tare_json_begin(&j, &v);
    wanted found = {.type = type_of_scalar(&v), .is_array = first == TARE_JSON_ARRAY};
    if (first == TARE_JSON_ARRAY)
        for (size_t n = 0; tare_json_next(&j, &v) != TARE_JSON_END; n++) {
            if (v.type == TARE_JSON_ARRAY || v.type == TARE_JSON_OBJECT) return w;
            found.type = n ? join(found.type, type_of_scalar(&v)) : type_of_scalar(&v);
        }
    else if (first == TARE_JSON_OBJECT || first == TARE_JSON_STRING)
        return w;
    if (found.is_array && found.type == TARE_VALUE_U32) found.type = TARE_VALUE_I32;
    return tare_json_finish(&j) ? found : w;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Whether a text is one JSON value and nothing else. */
static bool is_json(tare_str text) {
    tare_json j;
    tare_json_value v;
    tare_json_init(&j, text, 0, TARE_JSON_MAX_DEPTH);
    return tare_json_begin(&j, &v) != TARE_JSON_END && tare_json_skip(&j, &v, NULL) &&
           tare_json_finish(&j);
}

/* What a value of a type looks like. */
static const char *const forms[] = {
    [TARE_VALUE_U8] = "not a u8: a whole number from 0 to 255",
    [TARE_VALUE_I8] = "not an i8: a whole number from -128 to 127",
    [TARE_VALUE_U16] = "not a u16: a whole number from 0 to 65535",
    [TARE_VALUE_I16] = "not an i16: a whole number from -32768 to 32767",
    [TARE_VALUE_U32] = "not a u32: a whole number from 0 to 4294967295",
    [TARE_VALUE_I32] = "not an i32: a whole number from -2147483648 to 2147483647",
    [TARE_VALUE_U64] = "not a u64: a whole number from 0 to 18446744073709551615",
    [TARE_VALUE_I64] =
        "not an i64: a whole number from -9223372036854775808 to 9223372036854775807",
    [TARE_VALUE_F32] = "not an f32: a number, as 1.5 or 1e-6",
    [TARE_VALUE_F64] = "not an f64: a number, as 1.5 or 1e-6",
    [TARE_VALUE_BOOL] = "not a bool: true or false",
    [TARE_VALUE_STRING] = "not strings in JSON: [\"a\", \"b\"]",
};

static tare_status not_of_type(tare_str text, wanted w, tare_error *err) {
    const bool is_array = w.is_array && w.type != TARE_VALUE_STRING;
    tare_fail(err, TARE_ERR_ARG, forms[w.type]);
    if (!err) return TARE_ERR_ARG;
    char shown[32];
    if (tare_str_escape(shown, sizeof shown, text, true) >= sizeof shown)
        memcpy(shown + sizeof shown - 4, "...", 4);
    tare_error_detail(err, "\"%s\"%s", shown, is_array ? ", a list in JSON as [1,2]" : "");
    return TARE_ERR_ARG;
}

/* Files hold bytes other than 0 and 1 as bools, and their JSON numbers: nobody asks for one. */
static bool is_bool(const tare_value *v) {
    tare_array_walk walk;
    tare_value element;
    if (v->type != TARE_VALUE_ARRAY) return v->as.u <= 1;
    tare_array_begin(&walk, &v->as.a);
    while (tare_array_next(&element, &walk))
        if (element.as.u > 1) return false;
    return true;
}

static tare_status read_json(tare_value *out, tare_str text, wanted w, tare_arena *arena,
                             const tare_limits *limits, tare_error *err) {
    const char *name = tare_value_type_name(w.type);
    tare_metadata *entries = NULL;
    size_t n = 0;
    tare_buffer b;
    tare_error why;
    if (!is_json(text)) return not_of_type(text, w, err);
    tare_buffer_init(&b, arena->allocator);
    tare_buffer_printf(&b, "[{\"key\":\"k\",\"type\":\"%s\",\"value\":",
                       w.is_array ? tare_value_type_name(TARE_VALUE_ARRAY) : name);
    if (w.is_array) tare_buffer_printf(&b, "{\"of\":\"%s\",\"items\":", name);
    tare_buffer_put_str(&b, text);
    tare_buffer_put_text(&b, w.is_array ? "}}]" : "}]");
    tare_str all; /* what is read may be borrowed */
    tare_status status = tare_buffer_text(&all, &b, arena, err);
    tare_buffer_free(&b);
    if (status != TARE_OK) return status;
    status = tare_metadata_from_json(&entries, &n, all, arena, limits, &why);
    if (status == TARE_ERR_CORRUPT || (status == TARE_OK && n != 1))
        return not_of_type(text, w, err);
    if (status != TARE_OK) return tare_fail(err, status, why.what);
    if (w.type == TARE_VALUE_BOOL && !is_bool(&entries[0].value)) return not_of_type(text, w, err);
    *out = entries[0].value;
    return TARE_OK;
}

tare_status tare_edit_value(tare_value *out, tare_str text, const char *type, const tare_value *old,
                            tare_arena *arena, const tare_limits *limits, tare_error *err) {
    wanted w;
    if (type) {
        TARE_TRY(parse_type(&w, type, err));
    } else if (old) {
        w = (wanted){old->type, old->type == TARE_VALUE_ARRAY};
        if (w.is_array) w.type = old->as.a.type;
    } else {
        w = guess(text);
    }
    if (w.is_array && w.type == TARE_VALUE_ARRAY)
        return tare_fail(err, TARE_ERR_ARG, "arrays of arrays are left alone");
    if (w.is_array || w.type != TARE_VALUE_STRING)
        return read_json(out, text, w, arena, limits, err);
    *out = (tare_value){.type = TARE_VALUE_STRING, .as.s = tare_arena_str(arena, text)};
    return out->as.s.ptr ? TARE_OK : tare_fail(err, TARE_ERR_NOMEM, "value");
}

/* ---- other types ----------------------------------------------------------------------------- */

/* A scalar as text; a string in quotes where it is an element. */
static void put_scalar(tare_buffer *b, const tare_value *v, bool is_element) {
    switch (v->type) {
    case TARE_VALUE_STRING:
        if (is_element)
            tare_buffer_put_json(b, v->as.s);
        else
            tare_buffer_put_str(b, v->as.s);
        break;
    case TARE_VALUE_BOOL:
        tare_buffer_put_text(b, v->as.u ? "true" : "false");
        break;
    case TARE_VALUE_F32:
        tare_buffer_printf(b, "%.9g", v->as.f);
        break;
    case TARE_VALUE_F64:
        tare_buffer_printf(b, "%.17g", v->as.f);
        break;
    case TARE_VALUE_I8:
    case TARE_VALUE_I16:
    case TARE_VALUE_I32:
    case TARE_VALUE_I64:
        tare_buffer_printf(b, "%lld", (long long)v->as.i);
        break;
    default:
        tare_buffer_printf(b, "%llu", (unsigned long long)v->as.u);
    }
}

tare_status tare_edit_retype(tare_value *out, const tare_value *old, const char *type,
                             tare_arena *arena, const tare_limits *limits, tare_error *err) {
    tare_buffer b;
    tare_buffer_init(&b, arena->allocator);
    if (old->type == TARE_VALUE_ARRAY) {
        tare_array_walk walk;
        tare_value element;
        tare_array_begin(&walk, &old->as.a);
        tare_buffer_put_u8(&b, '[');
        for (size_t i = 0; tare_array_next(&element, &walk); i++) {
            if (i) tare_buffer_put_u8(&b, ',');
            put_scalar(&b, &element, true);
        }
        tare_buffer_put_u8(&b, ']');
    } else {
        put_scalar(&b, old, false);
    }
    tare_status status = tare_buffer_status(&b, err);
    if (status == TARE_OK)
        status = tare_edit_value(out, (tare_str){(const char *)b.data, b.size}, type, NULL, arena,
                                 limits, err);
    tare_buffer_free(&b);
    return status;
}
