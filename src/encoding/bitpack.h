/* SPDX-License-Identifier: MIT
 *
 * Codes into the bytes of a block, in the orders of ggml's formats: what the encoders have in
 * common once the codes are chosen. `codes` has one code per byte. */
#ifndef TARE_ENCODING_BITPACK_H
#define TARE_ENCODING_BITPACK_H

#include <string.h>

#include "base/bytes.h"

/* Element i in the low nibble, i + half in the high one. */
static inline void tare_pack_halves(uint8_t *qs, const uint8_t *codes, int half) {
    for (int i = 0; i < half; i++) qs[i] = (uint8_t)((codes[i] & 15) | (codes[i + half] & 15) << 4);
}

/* The fifth bits of 32 codes. Of eight at a time: the product brings bit 8i to bit 56 + i. */
static inline void tare_pack_fifth_bits(uint8_t *qh, const uint8_t *codes) {
    for (int i = 0; i < 4; i++) {
        uint64_t bits = tare_load_le64(codes + 8 * i) >> 4 & UINT64_C(0x0101010101010101);
        qh[i] = (uint8_t)(bits * UINT64_C(0x0102040810204080) >> 56);
    }
}

/* n codes of 1, 2 or 4 bits one after the other, the first lowest. */
static inline void tare_pack_run(uint8_t *qs, const uint8_t *codes, int n, int bits) {
    int each = 8 / bits;
    for (int i = 0; i < n / each; i++) {
        uint32_t byte = 0;
        for (int k = 0; k < each; k++) byte |= (uint32_t)codes[i * each + k] << bits * k;
        qs[i] = (uint8_t)byte;
    }
}

/* Of 256: four 2-bit codes a byte, elements l, l + 32, l + 64, l + 96 of each half. */
static inline void tare_pack_2bit(uint8_t *qs, const uint8_t *codes) {
    for (int h = 0; h < 2; h++)
        for (int l = 0; l < 32; l++) {
            const uint8_t *c = codes + 128 * h + l;
            qs[32 * h + l] = (uint8_t)(c[0] | c[32] << 2 | c[64] << 4 | c[96] << 6);
        }
}

/* Of 256: elements l and l + 32 of each 64 share a byte. */
static inline void tare_pack_quarters(uint8_t *qs, const uint8_t *codes) {
    for (int g = 0; g < 4; g++) tare_pack_halves(qs + 32 * g, codes + 64 * g, 32);
}

/* Of 256: bit `at` of eight codes a byte, elements l, l + 32, ..., l + 224. */
static inline void tare_pack_bits(uint8_t *bits, const uint8_t *codes, int at) {
    uint8_t sum[32] = {0};
    for (int g = 7; g >= 0; g--)
        for (int l = 0; l < 32; l++)
            sum[l] = (uint8_t)((sum[l] + sum[l]) | (codes[32 * g + l] >> at & 1));
    memcpy(bits, sum, 32);
}

/* Up to five ternary codes of elements `step` apart as a fraction of 256, rounded up: multiplying
 * the byte by 3 brings the next one above bit 7. */
static inline uint8_t tare_pack_trits(const uint8_t *codes, int n, int step) {
    uint8_t q = 0;
    for (int i = 0; i < 5; i++) q = (uint8_t)(q * 3u + (i < n ? codes[i * step] : 0u));
    return (uint8_t)((q * 256u + 242) / 243);
}

/* The 256 codes of tq1_0. */
static inline void tare_pack_tq1_0(uint8_t *y, const uint8_t *codes) {
    for (int i = 0; i < 32; i++) y[i] = tare_pack_trits(codes + i, 5, 32);
    for (int i = 0; i < 16; i++) y[32 + i] = tare_pack_trits(codes + 160 + i, 5, 16);
    for (int i = 0; i < 4; i++) y[48 + i] = tare_pack_trits(codes + 240 + i, 4, 4);
}

/* q3_K: sixteen 6-bit values: low nibbles in 8 bytes, high pairs in 4. */
static inline void tare_pack_q3_scales(uint8_t *s, const uint8_t *values) {
    memset(s, 0, 12);
    for (int j = 0; j < 16; j++) {
        s[j % 8] |= (uint8_t)((values[j] & 15) << (j < 8 ? 0 : 4));
        s[8 + j % 4] |= (uint8_t)(values[j] >> 4 << 2 * (j / 4));
    }
}

/* q4_K, q5_K: eight pairs of 6-bit values in 12 bytes; values above 63 (which the reference's
 * weighted search can give) spill as they do in the reference. */
static inline void tare_pack_k4_scales(uint8_t *s, const uint8_t *ls, const uint8_t *lm) {
    for (int j = 0; j < 4; j++) {
        s[j] = ls[j];
        s[j + 4] = lm[j];
    }
    for (int j = 4; j < 8; j++) {
        s[j + 4] = (uint8_t)((ls[j] & 15) | (lm[j] & 15) << 4);
        s[j - 4] |= (uint8_t)(ls[j] >> 4 << 6);
        s[j] |= (uint8_t)(lm[j] >> 4 << 6);
    }
}

/* q6_K: low nibbles, then upper pairs, of each half of 128. */
static inline void tare_pack_q6_k(uint8_t *ql, uint8_t *qh, const uint8_t *codes) {
    for (int h = 0; h < 2; h++)
        for (int l = 0; l < 32; l++) {
            const uint8_t *c = codes + 128 * h + l;
            uint8_t *low = ql + 64 * h + l;
            low[0] = (uint8_t)((c[0] & 15) | (c[64] & 15) << 4);
            low[32] = (uint8_t)((c[32] & 15) | (c[96] & 15) << 4);
            qh[32 * h + l] =
                (uint8_t)(c[0] >> 4 | c[32] >> 4 << 2 | c[64] >> 4 << 4 | c[96] >> 4 << 6);
        }
}

/* iq4_xs: eight 6-bit values, low nibbles in order, upper pairs in a u16. */
static inline void tare_pack_iq4_scales(uint8_t *low, uint8_t *high, const uint8_t *values) {
    uint32_t pairs = 0;
    for (int j = 0; j < 8; j++) pairs |= (uint32_t)(values[j] >> 4) << 2 * j;
    for (int j = 0; j < 4; j++)
        low[j] = (uint8_t)((values[2 * j] & 15) | (values[2 * j + 1] & 15) << 4);
    tare_store_le16(high, (uint16_t)pairs);
}

#endif
