/* SPDX-License-Identifier: MIT
 *
 * Better encoders of the formats whose codes stand for fixed levels around zero: one scale a block
 * (q1_0, q2_0, q4_0, q5_0, q8_0, tq1_0, tq2_0, iq4_nl, mxfp4, MCF's q8 and q4), one for each 16
 * (nvfp4), or whole-numbered scales under one f16 (q3_K, q6_K, iq4_xs, MCF's k6, k4, k3 and k2). */
#include <math.h>

#include "encoding/best.h"
#include "encoding/bitpack.h"
#include "encoding/float16.h"
#include "encoding/iq.h"
#include "encoding/kquant.h"
#include "encoding/levels.h"
#include "encoding/mcf_blocks.h"

typedef struct level_form {
    tare_levels levels;
    tare_walk walk;
} level_form;

/* Scales above the one that just reaches the largest number are worth trying: with few numbers some
 * coarser levels happen to meet them well. A walk with weights ends only on the clipping error: one
 * scale may happen to fit the few numbers of large weight, and a better one may still come later.
 * q8_0, tq2_0 and MCF's types leave out the level that their reference encoders never write. */
static const level_form form_q4 = {{.low = -8, .high = 7}, {8, 1.5f, 1.036f, INFINITY, 96}};
static const level_form form_q5 = {{.low = -16, .high = 15}, {16, 1.5f, 1.018f, INFINITY, 128}};
static const level_form form_q8 = {{.low = -127, .high = 127}, {127, 1.3f, 1.004f, INFINITY, 128}};
static const level_form form_q2 = {{.low = -1, .high = 2}, {2, 1.5f, 1.06f, INFINITY, 64}};
static const level_form form_ternary = {{.low = -1, .high = 1}, {1, 1.3f, 1.08f, INFINITY, 48}};
static const level_form form_q3 = {{.low = -4, .high = 3}, {4, 1.5f, 1.06f, INFINITY, 64}};
static const level_form form_q6 = {{.low = -32, .high = 31}, {32, 1.5f, 1.015f, INFINITY, 128}};
static const level_form form_mcf3 = {{.low = -3, .high = 3}, {3, 1.3f, 1.06f, INFINITY, 64}};
static const level_form form_mcf4 = {{.low = -7, .high = 7}, {7, 1.5f, 1.036f, INFINITY, 96}};
static const level_form form_mcf6 = {{.low = -31, .high = 31}, {31, 1.5f, 1.015f, INFINITY, 128}};
/* The codes are the signs, regardless of the scale. */
static const level_form form_q1 = {{.low = -1, .high = 1, 1, {0}, {2}}, {1, 1, 1, INFINITY, 1}};
static const level_form form_iq4 = {
    {.low = -127,
     .high = 113,
     15,
     {-115.5f, -93.5f, -74, -57, -42, -28.5f, -16, -4.5f, 7, 19, 31.5f, 45.5f, 61, 79, 101},
     {23, 21, 18, 16, 14, 13, 12, 11, 12, 12, 13, 15, 16, 20, 24}},
    {127, 1.5f, 1.036f, INFINITY, 96}};
static const level_form form_fp4 = {TARE_LEVELS_FP4, {12, 1.3f, 1.03f, INFINITY, 96}};
/* The code of each of these, ascending. */
static const uint8_t fp4_codes[15] = {15, 14, 13, 12, 11, 10, 9, 0, 1, 2, 3, 4, 5, 6, 7};

/* Part j of n elements. */
static tare_part part_of(const tare_best_block *b, size_t j, size_t n, const level_form *form) {
    return (tare_part){.x = b->x + j * n,
                       .weights = b->weights + j * n,
                       .n = n,
                       .fit = tare_fit_levels,
                       .form = &form->levels,
                       .walk = form->walk,
                       .has_sign = -form->levels.low != form->levels.high};
}

static void codes_of(uint8_t *codes, const tare_part *p, float scale) {
    tare_levels_codes(codes, p->x, p->n, scale, p->form);
}

/* ---- one scale ------------------------------------------------------------------------------- */

/* Codes and f16 scale of a block of n elements. */
static void search_f16(uint8_t *codes, uint8_t *d, const tare_best_block *b, size_t n,
                       const level_form *form) {
    tare_part part = part_of(b, 0, n, form);
    tare_stored found = tare_search_stored(&part, &tare_scale_f16);
    tare_store_le16(d, (uint16_t)(found.code | (found.scale < 0 ? 0x8000u : 0)));
    codes_of(codes, &part, found.scale);
}

static void improve_q4_0(uint8_t *y, const tare_best_block *b) {
    uint8_t codes[32];
    search_f16(codes, y, b, 32, &form_q4);
    tare_pack_halves(y + 2, codes, 16);
}

static void improve_q5_0(uint8_t *y, const tare_best_block *b) {
    uint8_t codes[32];
    search_f16(codes, y, b, 32, &form_q5);
    tare_pack_halves(y + 6, codes, 16);
    tare_pack_fifth_bits(y + 2, codes);
}

static void improve_q8_0(uint8_t *y, const tare_best_block *b) {
    uint8_t codes[32];
    search_f16(codes, y, b, 32, &form_q8);
    for (int i = 0; i < 32; i++) y[2 + i] = (uint8_t)(codes[i] - 127);
}

static void improve_q1_0(uint8_t *y, const tare_best_block *b) {
    uint8_t codes[128];
    search_f16(codes, y, b, 128, &form_q1);
    tare_pack_run(y + 2, codes, 128, 1);
}

static void improve_q2_0(uint8_t *y, const tare_best_block *b) {
    uint8_t codes[64];
    search_f16(codes, y, b, 64, &form_q2);
    tare_pack_run(y + 2, codes, 64, 2);
}

static void improve_tq1_0(uint8_t *y, const tare_best_block *b) {
    uint8_t codes[256];
    search_f16(codes, y + 52, b, 256, &form_ternary);
    tare_pack_tq1_0(y, codes);
}

static void improve_tq2_0(uint8_t *y, const tare_best_block *b) {
    uint8_t codes[256];
    search_f16(codes, y + 64, b, 256, &form_ternary);
    tare_pack_2bit(y, codes);
}

static void improve_iq4_nl(uint8_t *y, const tare_best_block *b) {
    uint8_t codes[32];
    search_f16(codes, y, b, 32, &form_iq4);
    tare_pack_halves(y + IQ4_NL_QS, codes, 16);
}

/* Codes of E2M1 and the scale's code. */
static uint8_t search_fp4(uint8_t *qs, const tare_best_block *b, size_t j, size_t n,
                          const tare_scale_kind *kind) {
    uint8_t codes[32];
    tare_part part = part_of(b, j, n, &form_fp4);
    tare_stored found = tare_search_stored(&part, kind);
    codes_of(codes, &part, found.scale);
    for (size_t i = 0; i < n; i++) codes[i] = fp4_codes[codes[i]];
    tare_pack_halves(qs, codes, (int)n / 2);
    return (uint8_t)found.code;
}

static void improve_mxfp4(uint8_t *y, const tare_best_block *b) {
    y[0] = search_fp4(y + 1, b, 0, 32, &tare_scale_half_e8m0);
}

static void improve_nvfp4(uint8_t *y, const tare_best_block *b) {
    for (size_t s = 0; s < 4; s++)
        y[s] = search_fp4(y + 4 + 8 * s, b, s, 16, &tare_scale_half_ue4m3);
}

/* ---- scales under an f16 --------------------------------------------------------------------- */

/* Codes of the parts, n elements each, indexes of scales and the f16 of them all. */
static tare_super_found search_super(uint8_t *codes, const tare_best_block *b, size_t n,
                                     const tare_super *super, const level_form *form) {
    tare_part parts[TARE_MOST_PARTS];
    for (int j = 0; j < super->n_parts; j++) parts[j] = part_of(b, (size_t)j, n, form);
    tare_super_found found = tare_search_super(parts, super);
    for (int j = 0; j < super->n_parts; j++)
        codes_of(codes + (size_t)j * n, &parts[j], found.scales[j]);
    return found;
}

static void improve_q3_k(uint8_t *y, const tare_best_block *b) {
    static const tare_super super = {16, -32, 1, 64, 1, true, 4, 6};
    uint8_t codes[256];
    tare_super_found found = search_super(codes, b, 16, &super, &form_q3);
    tare_store_le16(y + Q3_K_D, found.d);
    tare_pack_q3_scales(y + Q3_K_SCALES, found.index);
    tare_pack_bits(y + Q3_K_HMASK, codes, 2);
    for (int i = 0; i < 256; i++) codes[i] &= 3;
    tare_pack_2bit(y + Q3_K_QS, codes);
}

static void improve_q6_k(uint8_t *y, const tare_best_block *b) {
    static const tare_super super = {16, -128, 1, 256, 1, true, 4, 6};
    uint8_t codes[256];
    tare_super_found found = search_super(codes, b, 16, &super, &form_q6);
    tare_store_le16(y + Q6_K_D, found.d);
    for (int j = 0; j < 16; j++) y[Q6_K_SCALES + j] = (uint8_t)(found.index[j] - 128);
    tare_pack_q6_k(y + Q6_K_QL, y + Q6_K_QH, codes);
}

static void improve_iq4_xs(uint8_t *y, const tare_best_block *b) {
    static const tare_super super = {8, -32, 1, 64, 1, true, 4, 6};
    uint8_t codes[256];
    tare_super_found found = search_super(codes, b, 32, &super, &form_iq4);
    tare_store_le16(y, found.d);
    tare_pack_iq4_scales(y + IQ4_XS_LOW, y + IQ4_XS_HIGH, found.index);
    for (int j = 0; j < 8; j++) tare_pack_halves(y + IQ4_XS_QS + 16 * j, codes + 32 * j, 16);
}

/* ---- MCF ------------------------------------------------------------------------------------- */

static void put_mcf_codes(uint8_t *dst, const uint8_t *codes, int bits) {
    int8_t q[TARE_MCF_BLOCK];
    for (int i = 0; i < TARE_MCF_BLOCK; i++) q[i] = (int8_t)(codes[i] - tare_mcf_top(bits));
    tare_mcf_pack(dst, q, bits);
}

static void search_mcf_block(uint8_t *const *planes, const tare_best_block *b, int bits,
                             const level_form *form) {
    uint8_t codes[TARE_MCF_BLOCK];
    search_f16(codes, planes[0], b, TARE_MCF_BLOCK, form);
    put_mcf_codes(planes[1], codes, bits);
}

static void search_mcf_super(uint8_t *const *planes, const tare_best_block *b, int bits,
                             const level_form *form) {
    int n_parts = (int)tare_mcf_n_blocks(b->n);
    const tare_super super = {n_parts, 0, 1, TARE_MCF_MAX_SUB + 1, 1 / 32.0f, false, 4, 6};
    uint8_t codes[TARE_MCF_SUPER];
    tare_super_found found = search_super(codes, b, TARE_MCF_BLOCK, &super, form);
    tare_store_le16(planes[0], found.d);
    for (int j = 0; j < n_parts; j++) {
        planes[1][j] = found.index[j];
        put_mcf_codes(planes[2] + j * 4 * bits, codes + j * TARE_MCF_BLOCK, bits);
    }
}

#define DEFINE_MCF(name, NAME, search, bits, form)                                                 \
    static void improve_##name(uint8_t *const *planes, const tare_best_block *b) {                 \
        search(planes, b, bits, &form);                                                            \
    }                                                                                              \
    TARE_DEFINE_BEST_PLANES(name, NAME, improve_##name)

DEFINE_MCF(q8, Q8, search_mcf_block, 8, form_q8)
DEFINE_MCF(q4, Q4, search_mcf_block, 4, form_mcf4)
DEFINE_MCF(k6, K6, search_mcf_super, 6, form_mcf6)
DEFINE_MCF(k4, K4, search_mcf_super, 4, form_mcf4)
DEFINE_MCF(k3, K3, search_mcf_super, 3, form_mcf3)
DEFINE_MCF(k2, K2, search_mcf_super, 2, form_ternary)

/* ---- the table ------------------------------------------------------------------------------- */

TARE_DEFINE_BEST(q1_0, Q1_0)
TARE_DEFINE_BEST(q2_0, Q2_0)
TARE_DEFINE_BEST(q4_0, Q4_0)
TARE_DEFINE_BEST(q5_0, Q5_0)
TARE_DEFINE_BEST(q8_0, Q8_0)
TARE_DEFINE_BEST(tq1_0, TQ1_0)
TARE_DEFINE_BEST(tq2_0, TQ2_0)
TARE_DEFINE_BEST(iq4_nl, IQ4_NL)
TARE_DEFINE_BEST(mxfp4, MXFP4)
TARE_DEFINE_BEST(nvfp4, NVFP4)
TARE_DEFINE_BEST(q3_k, Q3_K)
TARE_DEFINE_BEST(q6_k, Q6_K)
TARE_DEFINE_BEST(iq4_xs, IQ4_XS)

void tare_kernels_init_best_levels(tare_kernels *k) {
    k->encode_best[TARE_ENCODING_Q1_0] = encode_best_q1_0;
    k->encode_best[TARE_ENCODING_Q2_0] = encode_best_q2_0;
    k->encode_best[TARE_ENCODING_Q4_0] = encode_best_q4_0;
    k->encode_best[TARE_ENCODING_Q5_0] = encode_best_q5_0;
    k->encode_best[TARE_ENCODING_Q8_0] = encode_best_q8_0;
    k->encode_best[TARE_ENCODING_TQ1_0] = encode_best_tq1_0;
    k->encode_best[TARE_ENCODING_TQ2_0] = encode_best_tq2_0;
    k->encode_best[TARE_ENCODING_IQ4_NL] = encode_best_iq4_nl;
    k->encode_best[TARE_ENCODING_MXFP4] = encode_best_mxfp4;
    k->encode_best[TARE_ENCODING_NVFP4] = encode_best_nvfp4;
    k->encode_best[TARE_ENCODING_Q3_K] = encode_best_q3_k;
    k->encode_best[TARE_ENCODING_Q6_K] = encode_best_q6_k;
    k->encode_best[TARE_ENCODING_IQ4_XS] = encode_best_iq4_xs;
    k->encode_best[TARE_ENCODING_Q8] = encode_best_q8;
    k->encode_best[TARE_ENCODING_Q4] = encode_best_q4;
    k->encode_best[TARE_ENCODING_K6] = encode_best_k6;
    k->encode_best[TARE_ENCODING_K4] = encode_best_k4;
    k->encode_best[TARE_ENCODING_K3] = encode_best_k3;
    k->encode_best[TARE_ENCODING_K2] = encode_best_k2;
}
