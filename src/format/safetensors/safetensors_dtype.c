/* SPDX-License-Identifier: MIT
 *
 * The number formats of safetensors (README of huggingface/safetensors, and its tensor.rs for the
 * list, which the README does not spell out). */
#include "base/str.h"
#include "encoding/table.h"
#include "format/safetensors/safetensors.h"

static const tare_safetensors_dtype dtypes[] = {
    {"BOOL", TARE_ENCODING_BOOL},
    {"F4", TARE_ENCODING_F4},
    {"F6_E2M3", TARE_ENCODING_F6_E2M3},
    {"F6_E3M2", TARE_ENCODING_F6_E3M2},
    {"U8", TARE_ENCODING_U8},
    {"I8", TARE_ENCODING_I8},
    {"F8_E5M2", TARE_ENCODING_F8_E5M2},
    {"F8_E4M3", TARE_ENCODING_F8_E4M3},
    {"F8_E8M0", TARE_ENCODING_F8_E8M0},
    {"F8_E4M3FNUZ", TARE_ENCODING_F8_E4M3FNUZ},
    {"F8_E5M2FNUZ", TARE_ENCODING_F8_E5M2FNUZ},
    {"I16", TARE_ENCODING_I16},
    {"U16", TARE_ENCODING_U16},
    {"F16", TARE_ENCODING_F16},
    {"BF16", TARE_ENCODING_BF16},
    {"I32", TARE_ENCODING_I32},
    {"U32", TARE_ENCODING_U32},
    {"F32", TARE_ENCODING_F32},
    {"C64", TARE_ENCODING_C64},
    {"F64", TARE_ENCODING_F64},
    {"I64", TARE_ENCODING_I64},
    {"U64", TARE_ENCODING_U64},
};

#define N_DTYPES (sizeof dtypes / sizeof *dtypes)

const tare_safetensors_dtype *tare_safetensors_dtype_find(tare_str name) {
    for (size_t i = 0; i < N_DTYPES; i++) {
        if (tare_str_is(name, dtypes[i].name)) return &dtypes[i];
    }
    return NULL;
}

const tare_safetensors_dtype *tare_safetensors_dtype_of(const tare_encoding *encoding) {
    for (size_t i = 0; i < N_DTYPES; i++) {
        if (encoding->id == dtypes[i].encoding) return &dtypes[i];
    }
    return NULL;
}

static bool has_encoding(const tare_encoding *encoding) {
    return tare_safetensors_dtype_of(encoding) != NULL;
}

/* Names are JSON keys, one of which has a special meaning. */
static bool has_name(tare_str name) {
    return tare_str_is_utf8(name) && !tare_str_is(name, TARE_SAFETENSORS_METADATA);
}

/* The format itself bounds neither rank nor names: these are the library's limits. */
const tare_format_caps tare_safetensors_caps = {
    .has_encoding = has_encoding,
    .has_name = has_name,
    .max_dims = TARE_MAX_DIMS,
    .max_name = 65535,
    .takes_empty_name = true,
    .bytes_type = &tare_encoding_table[TARE_ENCODING_U8],
};
