/* SPDX-License-Identifier: MIT
 *
 * Byte layouts of the K formats' super-blocks of 256 elements, for their encoders, decoders and
 * fast paths. */
#ifndef TARE_ENCODING_KQUANT_H
#define TARE_ENCODING_KQUANT_H

#include <stdint.h>

enum {
    Q2_K_SCALES = 0, /* 16 bytes: scale low nibble, minimum high */
    Q2_K_QS = 16,
    Q2_K_D = 80,
    Q2_K_DMIN = 82,
    Q2_K_BYTES = 84,

    Q3_K_HMASK = 0,
    Q3_K_QS = 32,
    Q3_K_SCALES = 96, /* 12 bytes: 16 six-bit values, stored + 32 */
    Q3_K_D = 108,
    Q3_K_BYTES = 110,

    /* q5_K has the head of q4_K. */
    Q4_K_D = 0,
    Q4_K_DMIN = 2,
    Q4_K_SCALES = 4, /* 12 bytes: 8 pairs of six-bit values */
    Q4_K_QS = 16,
    Q4_K_BYTES = 144,
    Q5_K_QH = 16,
    Q5_K_QS = 48,
    Q5_K_BYTES = 176,

    Q6_K_QL = 0,
    Q6_K_QH = 128,
    Q6_K_SCALES = 192, /* 16 signed bytes */
    Q6_K_D = 208,
    Q6_K_BYTES = 210,

    Q8_K_D = 0, /* f32 */
    Q8_K_QS = 4,
    Q8_K_BSUMS = 260,
    Q8_K_BYTES = 292
};

/* Scale and minimum of sub-block j (0..7) of a q4_K or q5_K block. */
static inline void tare_k4_scale_min(const uint8_t *s, int j, uint8_t *scale, uint8_t *min) {
    if (j < 4) {
        *scale = s[j] & 63;
        *min = s[j + 4] & 63;
    } else {
        *scale = (uint8_t)((s[j + 4] & 15) | s[j - 4] >> 6 << 4);
        *min = (uint8_t)(s[j + 4] >> 4 | s[j] >> 6 << 4);
    }
}

#endif
