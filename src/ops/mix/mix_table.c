/* SPDX-License-Identifier: MIT
 *
 * The named mixes: llama.cpp's names and numbers. Which type each of them gives to which tensor is
 * in mix_rules.c. */
#include <string.h>

#include "base/str.h"
#include "encoding/table.h"
#include "ops/mix/mix.h"

#define MIX(name, number, type, needs, description)                                                \
    [TARE_MIX_##                                                                                   \
        name] = {#name, number, &tare_encoding_table[TARE_ENCODING_##type], needs, description}

static const tare_mix mixes[] = {
    MIX(F32, 0, F32, false, "32 bits"),
    MIX(F16, 1, F16, false, "16 bits"),
    MIX(Q4_0, 2, Q4_0, false, "4.5 bits, blocks of 32"),
    MIX(Q4_1, 3, Q4_1, false, "5 bits, blocks of 32"),
    MIX(Q8_0, 7, Q8_0, false, "8.5 bits, blocks of 32"),
    MIX(Q5_0, 8, Q5_0, false, "5.5 bits, blocks of 32"),
    MIX(Q5_1, 9, Q5_1, false, "6 bits, blocks of 32"),
    MIX(Q2_K, 10, Q2_K, false, "2.6 bits, attention values and down projections 3.4 or more"),
    MIX(Q3_K_S, 11, Q3_K, false, "3.4 bits"),
    MIX(Q3_K_M, 12, Q3_K, false, "3.4 bits, sensitive tensors 4.5 to 5.5"),
    MIX(Q3_K_L, 13, Q3_K, false, "3.4 bits, sensitive tensors 5.5"),
    MIX(Q4_K_S, 14, Q4_K, false, "4.5 bits, first layers 5.5"),
    MIX(Q4_K_M, 15, Q4_K, false, "4.5 bits, half of the sensitive tensors 6.6"),
    MIX(Q5_K_S, 16, Q5_K, false, "5.5 bits"),
    MIX(Q5_K_M, 17, Q5_K, false, "5.5 bits, half of the sensitive tensors 6.6"),
    MIX(Q6_K, 18, Q6_K, false, "6.6 bits"),
    MIX(IQ2_XXS, 19, IQ2_XXS, true, "2.1 bits, lattice codes"),
    MIX(IQ2_XS, 20, IQ2_XS, true, "2.3 bits, lattice codes"),
    MIX(Q2_K_S, 21, Q2_K, true, "2.6 bits"),
    MIX(IQ3_XS, 22, IQ3_S, true, "3.3 bits, lattice codes"),
    MIX(IQ3_XXS, 23, IQ3_XXS, true, "3.1 bits, lattice codes"),
    MIX(IQ1_S, 24, IQ1_S, true, "1.6 bits, lattice codes"),
    MIX(IQ4_NL, 25, IQ4_NL, false, "4.5 bits, uneven levels, blocks of 32"),
    MIX(IQ3_S, 26, IQ3_S, false, "3.4 bits, lattice codes"),
    MIX(IQ3_M, 27, IQ3_S, false, "3.4 bits, lattice codes, sensitive tensors 4.5"),
    MIX(IQ2_S, 28, IQ2_XS, true, "2.3 bits, lattice codes, sensitive tensors 3.4"),
    MIX(IQ2_M, 29, IQ2_S, true, "2.6 bits, lattice codes, sensitive tensors 3.4"),
    MIX(IQ4_XS, 30, IQ4_XS, false, "4.25 bits, uneven levels"),
    MIX(IQ1_M, 31, IQ1_M, true, "1.75 bits, lattice codes"),
    MIX(BF16, 32, BF16, false, "16 bits, the range of F32"),
    MIX(TQ1_0, 36, TQ1_0, false, "1.7 bits, three levels"),
    MIX(TQ2_0, 37, TQ2_0, false, "2.1 bits, three levels"),
    MIX(MXFP4_MOE, 38, MXFP4, false, "experts 4.25 bits, the rest 8.5"),
    MIX(NVFP4, 39, NVFP4, false, "4.5 bits, FP4 with FP8 scales"),
    MIX(Q1_0, 40, Q1_0, false, "1.1 bits, two levels"),
    MIX(Q2_0, 41, Q2_0, false, "2.25 bits, four levels"),
    [TARE_MIX_COPY] = {"COPY", -1, NULL, false, "all tensors as they are"},
};

_Static_assert(sizeof mixes / sizeof *mixes == TARE_MIX_COUNT, "one row for each mix");

static const struct {
    const char *name;
    tare_mix_id mix;
} aliases[] = {
    {"Q3_K", TARE_MIX_Q3_K_M},
    {"Q4_K", TARE_MIX_Q4_K_M},
    {"Q5_K", TARE_MIX_Q5_K_M},
};

const tare_mix *tare_mix_at(size_t i) {
    return i < TARE_MIX_COUNT ? &mixes[i] : NULL;
}

static char capital(char c) {
    return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

/* Whether `name` in capitals begins with `prefix` in capitals; *rest: what follows. */
static bool begins(const char *name, tare_str prefix, const char **rest) {
    for (size_t i = 0; i < prefix.len; i++)
        if (name[i] == '\0' || capital(name[i]) != capital(prefix.ptr[i])) return false;
    *rest = name + prefix.len;
    return true;
}

static bool is_name(const char *name, tare_str text) {
    const char *rest;
    return begins(name, text, &rest) && *rest == '\0';
}

const tare_mix *tare_mix_of_file_type(uint64_t file_type) {
    for (size_t i = 0; i < TARE_MIX_COUNT; i++)
        if (mixes[i].file_type >= 0 && (uint64_t)mixes[i].file_type == file_type) return &mixes[i];
    return NULL;
}

const tare_mix *tare_mix_find(tare_str name) {
    uint64_t number = 0;
    bool is_number = name.len > 0 && name.len <= 4;
    for (size_t i = 0; i < TARE_MIX_COUNT; i++)
        if (is_name(mixes[i].name, name)) return &mixes[i];
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (is_name(aliases[i].name, name)) return &mixes[aliases[i].mix];
    for (size_t i = 0; is_number && i < name.len; i++) {
        is_number = name.ptr[i] >= '0' && name.ptr[i] <= '9';
        number = number * 10 + (uint64_t)(name.ptr[i] - '0');
    }
    return is_number ? tare_mix_of_file_type(number) : NULL;
}

/* The mix that is called as the type; else its form S, or the one for experts. */
const tare_mix *tare_mix_mostly(const tare_encoding *type) {
    static const char *const endings[] = {"", "_S", "_MOE"};
    for (size_t e = 0; e < sizeof endings / sizeof *endings; e++)
        for (size_t i = 0; i < TARE_MIX_COUNT; i++) {
            const char *rest;
            if (begins(mixes[i].name, tare_str_of(type->name), &rest) &&
                strcmp(rest, endings[e]) == 0)
                return &mixes[i];
        }
    return NULL;
}
