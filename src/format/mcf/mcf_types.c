/* SPDX-License-Identifier: MIT
 *
 * MCF's numbers and names: number formats, sections that are files of a Hugging Face directory. */
#include <stdio.h>

#include "base/str.h"
#include "encoding/table.h"
#include "format/mcf/mcf.h"

/* ---- number formats -------------------------------------------------------------------------- */

static const struct {
    uint32_t dtype;
    tare_encoding_id encoding;
    bool has_zero;
} types[] = {
    {1, TARE_ENCODING_F32, false},         {2, TARE_ENCODING_F16, false},
    {3, TARE_ENCODING_BF16, false},        {4, TARE_ENCODING_F64, false},
    {5, TARE_ENCODING_I8, false},          {6, TARE_ENCODING_U8, false},
    {7, TARE_ENCODING_I16, false},         {8, TARE_ENCODING_U16, false},
    {9, TARE_ENCODING_I32, false},         {10, TARE_ENCODING_U32, false},
    {11, TARE_ENCODING_I64, false},        {12, TARE_ENCODING_U64, false},
    {0x10, TARE_ENCODING_MCF_INT8, false}, {0x10, TARE_ENCODING_MCF_INT8_ZERO, true},
    {0x11, TARE_ENCODING_MCF_INT4, false}, {0x11, TARE_ENCODING_MCF_INT4_ZERO, true},
    {0x20, TARE_ENCODING_Q8, false},       {0x21, TARE_ENCODING_Q4, false},
    {0x30, TARE_ENCODING_K6, false},       {0x31, TARE_ENCODING_K4, false},
    {0x32, TARE_ENCODING_K3, false},       {0x33, TARE_ENCODING_K2, false},
};
#define N_TYPES (sizeof types / sizeof *types)

const tare_encoding *tare_mcf_encoding_of(uint32_t dtype, bool has_zero) {
    for (size_t i = 0; i < N_TYPES; i++)
        if (types[i].dtype == dtype && types[i].has_zero == has_zero)
            return tare_encoding_get(types[i].encoding);
    return NULL;
}

bool tare_mcf_dtype_of(const tare_encoding *encoding, uint32_t *dtype) {
    for (size_t i = 0; i < N_TYPES; i++) {
        if (types[i].encoding != encoding->id) continue;
        *dtype = types[i].dtype;
        return true;
    }
    return false;
}

void tare_mcf_block_sizes(uint32_t dtype, uint16_t *block, uint16_t *super) {
    *block = tare_mcf_is_block(dtype) ? 32 : 0;
    *super = dtype >= 0x30 && tare_mcf_is_block(dtype) ? 256 : 0;
}

static bool has_encoding(const tare_encoding *encoding) {
    uint32_t dtype;
    return tare_mcf_dtype_of(encoding, &dtype);
}

/* Blocks and supers are parts of matrix rows; everything else may have any rank. */
static uint32_t rank_of(const tare_encoding *encoding) {
    uint32_t dtype;
    return tare_mcf_dtype_of(encoding, &dtype) && tare_mcf_is_block(dtype) ? 2 : 0;
}

/* The format bounds neither rank nor names: these are the library's limits. */
const tare_format_caps tare_mcf_caps = {
    .has_encoding = has_encoding,
    .rank_of = rank_of,
    .lacks_empty = true,
    .lacks_odd = true,
    .max_dims = TARE_MAX_DIMS,
    .max_name = 65535,
    .bytes_type = &tare_encoding_table[TARE_ENCODING_U8],
};

/* ---- sections that are files ----------------------------------------------------------------- */

static const char *const resources[] = {"config.json",    "generation_config.json",
                                        "tokenizer.json", "tokenizer_config.json",
                                        "vocab.json",     "merges.txt"};
#define N_RESOURCES (sizeof resources / sizeof *resources)

const char *tare_mcf_resource_name(uint32_t type) {
    uint32_t i = type - TARE_MCF_RESOURCES;
    return i < N_RESOURCES ? resources[i] : NULL;
}

uint32_t tare_mcf_resource_type(tare_str name) {
    for (uint32_t i = 0; i < N_RESOURCES; i++)
        if (tare_str_is(name, resources[i])) return TARE_MCF_RESOURCES + i;
    return 0;
}

bool tare_mcf_is_own(uint32_t type) {
    return (type >= TARE_MCF_MODEL_INFO && type <= TARE_MCF_TENSOR_DATA) ||
           type == TARE_MCF_FILES || type == TARE_MCF_METADATA;
}

size_t tare_mcf_section_name(char *buf, size_t size, uint32_t type, uint32_t version) {
    return (size_t)snprintf(buf, size, "mcf-section-%08x-%08x", type, version);
}

bool tare_mcf_section_of_name(tare_str name, uint32_t *type, uint32_t *version) {
    char text[64], again[64];
    if (name.len >= sizeof text) return false;
    memcpy(text, name.ptr, name.len);
    text[name.len] = '\0';
    if (sscanf(text, "mcf-section-%8x-%8x", type, version) != 2) return false;
    if (tare_mcf_is_own(*type) || (tare_mcf_resource_name(*type) && *version == 1)) return false;
    tare_mcf_section_name(again, sizeof again, *type, *version);
    return strcmp(text, again) == 0;
}
