/* SPDX-License-Identifier: MIT
 *
 * ggml's numbers of tensor types (enum ggml_type, as of 43 types) and ours. */
#include "format/gguf/gguf_types.h"

/* Indexed by ggml's number; UNKNOWN stands for types that were removed. */
static const uint8_t types[] = {
    [0] = TARE_ENCODING_F32,     [1] = TARE_ENCODING_F16,      [2] = TARE_ENCODING_Q4_0,
    [3] = TARE_ENCODING_Q4_1,    [6] = TARE_ENCODING_Q5_0,     [7] = TARE_ENCODING_Q5_1,
    [8] = TARE_ENCODING_Q8_0,    [9] = TARE_ENCODING_Q8_1,     [10] = TARE_ENCODING_Q2_K,
    [11] = TARE_ENCODING_Q3_K,   [12] = TARE_ENCODING_Q4_K,    [13] = TARE_ENCODING_Q5_K,
    [14] = TARE_ENCODING_Q6_K,   [15] = TARE_ENCODING_Q8_K,    [16] = TARE_ENCODING_IQ2_XXS,
    [17] = TARE_ENCODING_IQ2_XS, [18] = TARE_ENCODING_IQ3_XXS, [19] = TARE_ENCODING_IQ1_S,
    [20] = TARE_ENCODING_IQ4_NL, [21] = TARE_ENCODING_IQ3_S,   [22] = TARE_ENCODING_IQ2_S,
    [23] = TARE_ENCODING_IQ4_XS, [24] = TARE_ENCODING_I8,      [25] = TARE_ENCODING_I16,
    [26] = TARE_ENCODING_I32,    [27] = TARE_ENCODING_I64,     [28] = TARE_ENCODING_F64,
    [29] = TARE_ENCODING_IQ1_M,  [30] = TARE_ENCODING_BF16,    [34] = TARE_ENCODING_TQ1_0,
    [35] = TARE_ENCODING_TQ2_0,  [39] = TARE_ENCODING_MXFP4,   [40] = TARE_ENCODING_NVFP4,
    [41] = TARE_ENCODING_Q1_0,   [42] = TARE_ENCODING_Q2_0,
};

#define N_TYPES (sizeof types / sizeof *types)

const tare_encoding *tare_gguf_type_encoding(uint32_t type) {
    if (type >= N_TYPES || types[type] == TARE_ENCODING_UNKNOWN) return NULL;
    return tare_encoding_get((tare_encoding_id)types[type]);
}

bool tare_gguf_type_of(const tare_encoding *encoding, uint32_t *type) {
    if (encoding->id == TARE_ENCODING_UNKNOWN) return false;
    for (uint32_t i = 0; i < N_TYPES; i++) {
        if (types[i] != encoding->id) continue;
        *type = i;
        return true;
    }
    return false;
}

const char *tare_gguf_type_removed(uint32_t type) {
    switch (type) {
    case 4:
    case 5:
        return "Q4_2 and Q4_3 were removed from ggml: make the file anew from the original model";
    case 31:
    case 32:
    case 33:
        return "Q4_0 repacked for one processor was removed from files: use the Q4_0 file, which "
               "is repacked when it is loaded";
    case 36:
        return "IQ4_NL repacked for one processor was removed from files (use the IQ4_NL file); "
               "BitNet files use this number for their I2_S, which only their own tools read";
    case 37:
    case 38:
        return "IQ4_NL repacked for one processor was removed from files: use the IQ4_NL file";
    default:
        return NULL;
    }
}

const char *tare_gguf_type_elsewhere(uint32_t type) {
    static const struct {
        uint32_t type;
        const char *name;
    } names[] = {
        {97, "Q8_0_X4"}, {98, "Q8_1_X4"}, {99, "Q8_2_X4"}, {133, "Q6_0"},    {134, "IQ1_BN"},
        {135, "IQ2_BN"}, {137, "IQ2_K"},  {138, "IQ3_K"},  {139, "IQ4_K"},   {140, "IQ5_K"},
        {141, "IQ6_K"},  {144, "IQ4_KS"}, {145, "IQ2_KS"}, {146, "IQ4_KSS"}, {152, "IQ5_KS"},
        {153, "IQ2_KT"}, {154, "IQ3_KT"}, {155, "IQ4_KT"}, {156, "IQ3_KS"},  {157, "IQ2_KL"},
        {158, "IQ1_KT"},
    };
    for (uint32_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].type == type) return names[i].name;
    if ((type >= 202 && type <= 233) || (type >= 335 && type <= 399)) return "row-interleaved type";
    return NULL;
}
