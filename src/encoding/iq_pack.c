/* SPDX-License-Identifier: MIT
 *
 * Super-blocks of the IQ1, IQ2 and IQ3 formats, byte by byte. Layouts: iq.h. For an empty block
 * ggml stores zeros, except that iq2_s and iq3_s keep its points and signs, iq1_s its points, and
 * iq1_m its points without their shifts. */
#include <string.h>

#include "base/bytes.h"
#include "encoding/iq_pack.h"

void tare_pack_iq2_xxs(uint8_t *y, const tare_iq_codes *c) {
    memset(y, 0, IQ2_XXS_BYTES);
    tare_store_le16(y, c->d);
    if (c->is_empty) return;
    for (int j = 0; j < 8; j++) {
        uint32_t points = 0, signs = (uint32_t)c->scales[j] << 28;
        for (int k = 0; k < 4; k++) {
            points |= (uint32_t)c->points[4 * j + k] << 8 * k;
            signs |= (uint32_t)c->signs[4 * j + k] << 7 * k;
        }
        tare_store_le32(y + IQ2_XXS_QS + 8 * j, points);
        tare_store_le32(y + IQ2_XXS_QS + 8 * j + 4, signs);
    }
}

static void pack_nibbles(uint8_t *out, const uint8_t *values, int n) {
    for (int i = 0; i < n; i += 2) out[i / 2] = (uint8_t)(values[i] | values[i + 1] << 4);
}

void tare_pack_iq2_xs(uint8_t *y, const tare_iq_codes *c) {
    memset(y, 0, IQ2_XS_BYTES);
    tare_store_le16(y, c->d);
    if (c->is_empty) return;
    for (int k = 0; k < 32; k++)
        tare_store_le16(y + IQ2_XS_QS + 2 * k, (uint16_t)(c->points[k] | c->signs[k] << 9));
    pack_nibbles(y + IQ2_XS_SCALES, c->scales, 16);
}

void tare_pack_iq2_s(uint8_t *y, const tare_iq_codes *c) {
    tare_store_le16(y, c->d);
    memset(y + IQ2_S_QH, 0, 8);
    for (int k = 0; k < 32; k++) {
        y[IQ2_S_QS + k] = (uint8_t)c->points[k];
        y[IQ2_S_SIGNS + k] = c->signs[k];
        y[IQ2_S_QH + k / 4] |= (uint8_t)(c->points[k] >> 8 << 2 * (k % 4));
    }
    pack_nibbles(y + IQ2_S_SCALES, c->scales, 16);
}

void tare_pack_iq3_xxs(uint8_t *y, const tare_iq_codes *c) {
    memset(y, 0, IQ3_XXS_BYTES);
    tare_store_le16(y, c->d);
    if (c->is_empty) return;
    for (int k = 0; k < 64; k++) y[IQ3_XXS_QS + k] = (uint8_t)c->points[k];
    for (int j = 0; j < 8; j++) {
        uint32_t signs = (uint32_t)c->scales[j] << 28;
        for (int k = 0; k < 4; k++) signs |= (uint32_t)c->signs[4 * j + k] << 7 * k;
        tare_store_le32(y + IQ3_XXS_SIGNS + 4 * j, signs);
    }
}

void tare_pack_iq3_s(uint8_t *y, const tare_iq_codes *c) {
    tare_store_le16(y, c->d);
    memset(y + IQ3_S_QH, 0, 8);
    for (int k = 0; k < 64; k++) {
        y[IQ3_S_QS + k] = (uint8_t)c->points[k];
        y[IQ3_S_QH + k / 8] |= (uint8_t)(c->points[k] >> 8 << k % 8);
    }
    memcpy(y + IQ3_S_SIGNS, c->signs, 32);
    pack_nibbles(y + IQ3_S_SCALES, c->scales, 8);
}

void tare_pack_iq1_s(uint8_t *y, const tare_iq_codes *c) {
    tare_store_le16(y, c->d);
    for (int j = 0; j < 8; j++) {
        uint32_t high = 0;
        for (int k = 0; k < 4; k++) {
            y[IQ1_S_QS + 4 * j + k] = (uint8_t)c->points[4 * j + k];
            high |= (uint32_t)(c->points[4 * j + k] >> 8) << 3 * k;
        }
        if (!c->is_empty) high |= (uint32_t)(c->scales[j] | c->signs[j] << 3) << 12;
        tare_store_le16(y + IQ1_S_QH + 2 * j, (uint16_t)high);
    }
}

void tare_pack_iq1_m(uint8_t *y, const tare_iq_codes *c) {
    uint32_t scales[4] = {0};
    for (int k = 0; k < 32; k++) y[IQ1_M_QS + k] = (uint8_t)c->points[k];
    for (int j = 0; j < 16; j++) {
        uint32_t high = c->points[2 * j] >> 8 | (uint32_t)(c->points[2 * j + 1] >> 8) << 4;
        if (!c->is_empty)
            high |= (uint32_t)c->signs[2 * j] << 3 | (uint32_t)c->signs[2 * j + 1] << 7;
        y[IQ1_M_QH + j] = (uint8_t)high;
        scales[j / 4] |= (uint32_t)c->scales[j] << 3 * (j % 4);
    }
    for (int j = 0; j < 4; j++)
        tare_store_le16(y + IQ1_M_SCALES + 2 * j,
                        (uint16_t)(scales[j] | (uint32_t)(c->d >> 4 * j & 15) << 12));
}
