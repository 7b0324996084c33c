/* SPDX-License-Identifier: MIT
 *
 * Encoders of the block formats with E2M1 codes: mxfp4 (32 elements, a power of two) and nvfp4 (4
 * times 16 elements, each with an unsigned E4M3 scale). Byte for byte what ggml's encoders write.
 */
#include "encoding/bitpack.h"
#include "encoding/blocks.h"
#include "encoding/float16.h"
#include "encoding/levels.h"

enum { MXFP4_BYTES = 17, NVFP4_BYTES = 36 };

/* The level nearest to x; of equally near ones the first, so zero is never negative. */
static uint8_t nearest_level(float x, float scale) {
    uint8_t best = 0;
    float least = fabsf(tare_levels_fp4[0] * scale - x);
    for (uint8_t i = 1; i < 16; i++) {
        float error = fabsf(tare_levels_fp4[i] * scale - x);
        if (error < least) {
            best = i;
            least = error;
        }
    }
    return best;
}

static float largest_magnitude(const float *x, int n) {
    float most = 0;
    for (int i = 0; i < n; i++)
        if (most < fabsf(x[i])) most = fabsf(x[i]);
    return most;
}

static void put_codes(uint8_t *qs, const float *x, int half, float scale) {
    uint8_t codes[32];
    for (int i = 0; i < 2 * half; i++) codes[i] = nearest_level(x[i], scale);
    tare_pack_halves(qs, codes, half);
}

/* floor(log2(a)) as the C library's log2f and floorf give it: log2f rounds to f32, so that just
 * below 2^k it already returns k. That is so while the distance in log2 is less than half the gap
 * between f32 numbers next to k (on the side away from 0 for k < 0, towards it for k > 0). */
static int floor_log2(float a) {
    int k;
    double fraction = frexp((double)a, &k); /* a = fraction * 2^k, fraction in [0.5, 1) */
    if (k == 0) return -1;                  /* next to 0 the numbers lie close enough */
    int gap = ilogb(k > 0 ? k - 0.5 : (double)k) - 23; /* the gap is 2^gap */
    const double ln2 = 0.69314718055994530942;
    return 1 - fraction < ldexp(ln2, gap - 1) ? k : k - 1;
}

static void encode_block_mxfp4(uint8_t *y, const float *x, const float *importance) {
    (void)importance;
    float most = largest_magnitude(x, 32);
    uint8_t e = 0;
    if (most > 0) e = isinf(most) ? 0 : (uint8_t)(floor_log2(most) - 2 + 127);
    y[0] = e;
    put_codes(y + 1, x, 16, tare_half_of_e8m0(e));
}

/* x > 0 to unsigned E4M3, halves up; never its NaN: at most 448. */
static uint8_t ue4m3_of_f32(float x) {
    if (!(x > 0)) return 0;
    if (x > 448) x = 448;
    uint32_t bits = tare_f32_bits(x);
    int exponent = (int)(bits >> 23) - 127 + 7;
    if (exponent <= 0) {
        int mantissa = (int)(x * 512 + 0.5f);
        return (uint8_t)(mantissa > 7 ? 7 : mantissa);
    }
    /* Rounding the mantissa may carry into the exponent, which is what it should do. */
    uint32_t code = ((uint32_t)exponent << 3 | (bits >> 20 & 7)) + (bits >> 19 & 1);
    return exponent >= 15 || code >= 15 << 3 ? 0x7e : (uint8_t)code;
}

static void encode_block_nvfp4(uint8_t *y, const float *x, const float *importance) {
    (void)importance;
    for (int s = 0; s < 4; s++) {
        y[s] = ue4m3_of_f32(largest_magnitude(x + 16 * s, 16) / 6);
        put_codes(y + 4 + 8 * s, x + 16 * s, 8, tare_half_of_ue4m3(y[s]));
    }
}

void tare_encode_mxfp4_c(const tare_rows_mut *dst, const float *src,
                         const tare_encode_params *params) {
    tare_encode_blocks(dst, src, params, 32, MXFP4_BYTES, encode_block_mxfp4);
}

void tare_encode_nvfp4_c(const tare_rows_mut *dst, const float *src,
                         const tare_encode_params *params) {
    tare_encode_blocks(dst, src, params, 64, NVFP4_BYTES, encode_block_nvfp4);
}

void tare_kernels_init_fp4_encode(tare_kernels *k) {
    k->encode[TARE_ENCODING_MXFP4] = tare_encode_mxfp4_c;
    k->encode[TARE_ENCODING_NVFP4] = tare_encode_nvfp4_c;
}
