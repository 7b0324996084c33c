/* SPDX-License-Identifier: MIT
 *
 * NumPy's types: the letter of the kind and the bytes of an element, behind the order of bytes; those
 * of ml_dtypes by their names. */
#include "format/numpy_type.h"

#include "base/str.h"

typedef struct row {
    const char *name;
    tare_encoding_id encoding;
    uint8_t bytes, number;
} row;

static const row numbers[] = {
    {"f8", TARE_ENCODING_F64, 8, 8},
    {"f4", TARE_ENCODING_F32, 4, 4},
    {"f2", TARE_ENCODING_F16, 2, 2},
    {"i8", TARE_ENCODING_I64, 8, 8},
    {"i4", TARE_ENCODING_I32, 4, 4},
    {"i2", TARE_ENCODING_I16, 2, 2},
    {"i1", TARE_ENCODING_I8, 1, 1},
    {"u8", TARE_ENCODING_U64, 8, 8},
    {"u4", TARE_ENCODING_U32, 4, 4},
    {"u2", TARE_ENCODING_U16, 2, 2},
    {"u1", TARE_ENCODING_U8, 1, 1},
    {"b1", TARE_ENCODING_BOOL, 1, 1},
    {"c8", TARE_ENCODING_C64, 8, 4},
    {"V2", TARE_ENCODING_BF16, 2, 2},
    {"bfloat16", TARE_ENCODING_BF16, 2, 2},
    {"float8_e4m3fn", TARE_ENCODING_F8_E4M3, 1, 1},
    {"float8_e5m2", TARE_ENCODING_F8_E5M2, 1, 1},
    {"float8_e4m3fnuz", TARE_ENCODING_F8_E4M3FNUZ, 1, 1},
    {"float8_e5m2fnuz", TARE_ENCODING_F8_E5M2FNUZ, 1, 1},
    {"float8_e8m0fnu", TARE_ENCODING_F8_E8M0, 1, 1},
};

/* What is not read, by the letter of its kind. */
static const char *name_kind(char kind) {
    switch (kind) {
    case 'f':
    case 'c':
        return "a NumPy array of numbers that tare has no format for (longdouble, complex128), "
               "or of 8 bits whose meaning the file does not state";
    case 'U':
    case 'S':
    case 'a':
    case 'T':
        return "a NumPy array of texts";
    case 'O':
        return "a NumPy array of Python objects";
    case 'M':
    case 'm':
        return "a NumPy array of dates or times";
    case 'V':
        return "a NumPy array of records, or of bytes whose type is not stated";
    default:
        return "a NumPy array of an unknown type";
    }
}

const char *tare_numpy_type_read(tare_numpy_type *out, tare_str descr) {
    const bool has_order = descr.len && strchr("<>|=", descr.ptr[0]);
    const tare_str name = has_order ? tare_str_cut(descr, 1) : descr;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (!tare_str_is(name, numbers[i].name)) continue;
        *out = (tare_numpy_type){.encoding = numbers[i].encoding,
                                 .bytes = numbers[i].bytes,
                                 .number = numbers[i].number,
                                 .is_big_endian =
                                     has_order && descr.ptr[0] == '>' && numbers[i].number > 1,
                                 .is_guessed = name.ptr[0] == 'V'};
        return NULL;
    }
    return name_kind(name.len ? name.ptr[0] : '\0');
}

bool tare_numpy_has_encoding(tare_encoding_id id) {
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (numbers[i].encoding == id) return true;
    return false;
}
