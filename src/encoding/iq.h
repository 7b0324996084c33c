/* SPDX-License-Identifier: MIT
 *
 * Byte layouts of the IQ formats' super-blocks of 256 elements (iq4_nl: 32); d is an f16 at byte 0
 * but for iq1_m, whose f16 is spread over its scales. */
#ifndef TARE_ENCODING_IQ_H
#define TARE_ENCODING_IQ_H

enum {
    IQ2_XXS_QS = 2, /* 8 times: four point indexes, then u32: 4 x 7 signs, scale on top */
    IQ2_XXS_BYTES = 66,

    IQ2_XS_QS = 2, /* 32 u16: index 9 bits, signs 7 */
    IQ2_XS_SCALES = 66,
    IQ2_XS_BYTES = 74,

    IQ2_S_QS = 2,
    IQ2_S_SIGNS = 34,
    IQ2_S_QH = 66, /* 2 bits an index */
    IQ2_S_SCALES = 74,
    IQ2_S_BYTES = 82,

    IQ3_XXS_QS = 2,
    IQ3_XXS_SIGNS = 66, /* 8 u32: 4 x 7 signs, scale on top */
    IQ3_XXS_BYTES = 98,

    IQ3_S_QS = 2,
    IQ3_S_QH = 66, /* 1 bit an index */
    IQ3_S_SIGNS = 74,
    IQ3_S_SCALES = 106,
    IQ3_S_BYTES = 110,

    IQ1_S_QS = 2,
    IQ1_S_QH = 34, /* 8 u16: 4 x 3 index bits, scale, sign of the shift on top */
    IQ1_S_BYTES = 50,

    IQ1_M_QS = 0,
    IQ1_M_QH = 32,     /* nibbles: 3 index bits, sign of the shift */
    IQ1_M_SCALES = 48, /* 4 u16: 4 x 3 scale bits, a nibble of d on top */
    IQ1_M_BYTES = 56,

    IQ4_NL_QS = 2,
    IQ4_NL_BYTES = 18,

    IQ4_XS_HIGH = 2, /* u16: upper pairs of eight 6-bit scales, stored + 32 */
    IQ4_XS_LOW = 4,
    IQ4_XS_QS = 8,
    IQ4_XS_BYTES = 136
};

/* Elements of iq1 are -1, 0, 1, all shifted by this up or down. */
#define TARE_IQ1_SHIFT 0.125f

#endif
