/* SPDX-License-Identifier: MIT
 *
 * ggml's IQ1, IQ2 and IQ3 formats: superblocks of 256 elements in which groups of 8 (or 4) elements
 * are entries of a codebook (codebooks.c), stored along with signs and small factors. Seven stored
 * signs imply the eighth, which makes the number of minus signs even. */
#include "encoding/blocks.h"
#include "encoding/codebooks.h"

static inline float sign_of(uint32_t signs, size_t j) {
    return signs >> j & 1 ? -1.0f : 1.0f;
}

/* Eight elements of an IQ2 entry. */
static inline void entry_iq2(float *y, uint32_t entry, uint32_t signs, float d) {
    for (size_t j = 0; j < 8; j++)
        y[j] = d * (float)tare_levels_iq2[entry >> 2 * j & 3] * sign_of(signs, j);
}

/* Four elements of an IQ3 entry. */
static inline void entry_iq3(float *y, uint32_t entry, const int8_t *level, uint32_t signs,
                             float d) {
    for (size_t j = 0; j < 4; j++) y[j] = d * (float)level[entry >> 3 * j & 7] * sign_of(signs, j);
}

/* Eight elements of an IQ1 entry, all moved by delta. */
static inline void entry_iq1(float *y, uint32_t entry, float delta, float d) {
    for (size_t j = 0; j < 8; j++) y[j] = d * ((float)tare_levels_iq1[entry >> 2 * j & 3] + delta);
}
#define IQ1_DELTA 0.125f

/* For 32 elements: four entries of 8 bits; four times 7 signs and a factor of 4 bits in a u32. */
static void block_iq2_xxs(float *y, const uint8_t *block) {
    float d = tare_load_f16(block);
    for (size_t g = 0; g < 8; g++, y += 32) {
        const uint8_t *entries = block + 2 + g * 8;
        uint32_t rest = tare_load_le32(entries + 4);
        float factor = d * (0.5f + (float)(rest >> 28)) * 0.25f;
        for (size_t l = 0; l < 4; l++)
            entry_iq2(y + 8 * l, tare_iq2_xxs_points[entries[l]],
                      tare_iq_signs(rest >> 7 * l & 127), factor);
    }
}

/* The factor of 16 elements, two to a byte. */
static inline float factor_iq2(float d, uint8_t scales, size_t l) {
    return d * (0.5f + (float)(scales >> l / 2 * 4 & 15)) * 0.25f;
}

/* A u16 for 8 elements: an entry of 9 bits and 7 signs. */
static void block_iq2_xs(float *y, const uint8_t *block) {
    const uint8_t *scales = block + 66;
    float d = tare_load_f16(block);
    for (size_t g = 0; g < 8; g++) {
        for (size_t l = 0; l < 4; l++, y += 8) {
            uint32_t code = tare_load_le16(block + 2 + g * 8 + l * 2);
            entry_iq2(y, tare_iq2_xs_points[code & 511], tare_iq_signs(code >> 9),
                      factor_iq2(d, scales[g], l));
        }
    }
}

/* An entry of 10 bits, the upper two of four entries in a byte, and 8 signs for 8 elements. */
static void block_iq2_s(float *y, const uint8_t *block) {
    const uint8_t *qs = block + 2, *signs = block + 34, *qh = block + 66, *scales = block + 74;
    float d = tare_load_f16(block);
    for (size_t g = 0; g < 8; g++) {
        for (size_t l = 0; l < 4; l++, y += 8) {
            uint32_t entry = qs[g * 4 + l] | (qh[g] >> 2 * l & 3u) << 8;
            entry_iq2(y, tare_iq2_s_points[entry], signs[g * 4 + l], factor_iq2(d, scales[g], l));
        }
    }
}

/* For 32 elements: eight entries of 8 bits; four times 7 signs and a factor of 4 bits in a u32. */
static void block_iq3_xxs(float *y, const uint8_t *block) {
    float d = tare_load_f16(block);
    for (size_t g = 0; g < 8; g++) {
        const uint8_t *entries = block + 2 + g * 8;
        uint32_t rest = tare_load_le32(block + 66 + g * 4);
        float factor = d * (0.5f + (float)(rest >> 28)) * 0.5f;
        for (size_t l = 0; l < 8; l++, y += 4) {
            uint32_t eight = tare_iq_signs(rest >> l / 2 * 7 & 127), signs = eight >> l % 2 * 4;
            entry_iq3(y, tare_iq3_xxs_points[entries[l]], tare_levels_iq3_xxs, signs, factor);
        }
    }
}

/* For 32 elements: eight entries of 9 bits, 32 signs, a factor of 4 bits. */
static void block_iq3_s(float *y, const uint8_t *block) {
    const uint8_t *qs = block + 2, *qh = block + 66, *signs = block + 74, *scales = block + 106;
    float d = tare_load_f16(block);
    for (size_t g = 0; g < 8; g++) {
        float factor = d * (float)(1 + 2 * (scales[g / 2] >> g % 2 * 4 & 15));
        for (size_t l = 0; l < 8; l++, y += 4) {
            uint32_t entry = qs[g * 8 + l] | (qh[g] >> l & 1u) << 8;
            uint32_t sign = (uint32_t)signs[g * 4 + l / 2] >> l % 2 * 4;
            entry_iq3(y, tare_iq3_s_points[entry], tare_levels_iq3_s, sign, factor);
        }
    }
}

/* For 32 elements a u16: the upper 3 bits of four entries, a factor of 3 bits, the sign of delta.
 */
static void block_iq1_s(float *y, const uint8_t *block) {
    const uint8_t *qs = block + 2;
    float d = tare_load_f16(block);
    for (size_t g = 0; g < 8; g++) {
        uint32_t qh = tare_load_le16(block + 34 + g * 2);
        float factor = d * (float)(2 * (qh >> 12 & 7) + 1);
        float delta = qh & 0x8000 ? -IQ1_DELTA : IQ1_DELTA;
        for (size_t l = 0; l < 4; l++, y += 8)
            entry_iq1(y, tare_iq1_points[qs[g * 4 + l] | (qh >> 3 * l & 7) << 8], delta, factor);
    }
}

/* For 8 elements a nibble: the upper 3 bits of the entry and the sign of delta. The four u16 of
 * scales hold four factors of 3 bits each, and in their top nibbles the f16 factor of them all. */
static void block_iq1_m(float *y, const uint8_t *block) {
    const uint8_t *qs = block, *qh = block + 32;
    uint32_t scales[4], d_bits = 0;
    for (size_t i = 0; i < 4; i++) {
        scales[i] = tare_load_le16(block + 48 + i * 2);
        d_bits |= scales[i] >> 12 << 4 * i;
    }
    float d = tare_f32_of_f16((uint16_t)d_bits);
    for (size_t l = 0; l < 32; l++, y += 8) {
        float factor = d * (float)(2 * (scales[l / 8] >> l % 8 / 2 * 3 & 7) + 1);
        uint32_t high = (uint32_t)qh[l / 2] >> l % 2 * 4;
        float delta = high & 8 ? -IQ1_DELTA : IQ1_DELTA;
        entry_iq1(y, tare_iq1_points[qs[l] | (high & 7) << 8], delta, factor);
    }
}

TARE_DEFINE_DECODE(iq2_xxs, 256, 66)
TARE_DEFINE_DECODE(iq2_xs, 256, 74)
TARE_DEFINE_DECODE(iq2_s, 256, 82)
TARE_DEFINE_DECODE(iq3_xxs, 256, 98)
TARE_DEFINE_DECODE(iq3_s, 256, 110)
TARE_DEFINE_DECODE(iq1_s, 256, 50)
TARE_DEFINE_DECODE(iq1_m, 256, 56)

void tare_kernels_init_iquants(tare_kernels *k) {
    k->decode[TARE_ENCODING_IQ2_XXS] = decode_iq2_xxs;
    k->decode[TARE_ENCODING_IQ2_XS] = decode_iq2_xs;
    k->decode[TARE_ENCODING_IQ2_S] = decode_iq2_s;
    k->decode[TARE_ENCODING_IQ3_XXS] = decode_iq3_xxs;
    k->decode[TARE_ENCODING_IQ3_S] = decode_iq3_s;
    k->decode[TARE_ENCODING_IQ1_S] = decode_iq1_s;
    k->decode[TARE_ENCODING_IQ1_M] = decode_iq1_m;
}
