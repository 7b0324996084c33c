/* SPDX-License-Identifier: MIT
 *
 * MCF's types with a scale for 32 elements: what the scalar reference and the kernels share. q8 and
 * q4 have an f16 scale a block; k6, k4, k3 and k2 an f16 scale for eight blocks of a row (a super)
 * and six bits for each block, in 32nds of it. Codes are signed, two's complement, packed from the
 * lowest bit up; the most negative one is not used. MCF specification, "Quantization (v1.0)". */
#ifndef TARE_ENCODING_MCF_BLOCKS_H
#define TARE_ENCODING_MCF_BLOCKS_H

#include "encoding/float16.h"
#include "encoding/scalar.h"

enum {
    TARE_MCF_BLOCK = 32,
    TARE_MCF_BLOCKS = 8, /* of a super */
    TARE_MCF_SUPER = TARE_MCF_BLOCK * TARE_MCF_BLOCKS,
    TARE_MCF_MAX_SUB = 63,
};

/* A row's planes. */
typedef struct tare_mcf_row {
    uint8_t *supers; /* NULL: scales */
    uint8_t *scales; /* f16 a block, or the six bits a block */
    uint8_t *codes;
} tare_mcf_row;

/* Largest code of so many bits. */
static inline int tare_mcf_top(int bits) {
    return (1 << (bits - 1)) - 1;
}

static inline uint64_t tare_mcf_n_blocks(uint64_t cols) {
    return cols / TARE_MCF_BLOCK + (cols % TARE_MCF_BLOCK != 0);
}
static inline uint64_t tare_mcf_n_supers(uint64_t cols) {
    return cols / TARE_MCF_SUPER + (cols % TARE_MCF_SUPER != 0);
}

/* 32 codes of `bits` bits in 4 * bits bytes. */
void tare_mcf_pack(uint8_t *dst, const int8_t codes[TARE_MCF_BLOCK], int bits);
void tare_mcf_unpack(int8_t codes[TARE_MCF_BLOCK], const uint8_t *src, int bits);

/* Half away from zero, clamped to [-top, top]; NaN gives 0. */
static inline int8_t tare_mcf_code(float x, float scale, int top) {
    float t = roundf(x / scale);
    if (!(t == t)) return 0;
    return (int8_t)(t < (float)-top ? -top : t > (float)top ? top : (int)t);
}
/* The six bits of a block: its scale in 32nds of the super as stored. */
static inline uint8_t tare_mcf_sub(float scale, float super) {
    if (!(scale > 0)) return 0;
    float t = roundf(32.0f * scale / super);
    return (uint8_t)(t >= 1 ? t < TARE_MCF_MAX_SUB ? (int)t : TARE_MCF_MAX_SUB : 1);
}
static inline float tare_mcf_scale(float super, uint8_t sub) {
    return super * ((float)(sub & 63) / 32.0f);
}

/* The public implementation's conversion truncates the fraction; subnormal results become 0. */
static inline uint16_t tare_mcf_cut_f16(float f) {
    uint32_t bits = tare_f32_bits(f);
    if (bits < UINT32_C(0x38800000)) return 0;
    if (bits >= UINT32_C(0x47800000)) return 0x7c00;
    return (uint16_t)((bits - UINT32_C(0x38000000)) >> 13);
}

/* Row r of some rows. */
tare_mcf_row tare_mcf_row_at(const tare_rows_mut *rows, uint64_t r, int bits, bool has_supers);

/* int8 and int4 (mcf_int.c). */
typedef struct tare_mcf_bounds {
    float min, max;
} tare_mcf_bounds;
/* What the codes of a whole tensor mean: x = scale * (code - zero). */
typedef struct tare_mcf_grid {
    float scale, zero;
    float min, max; /* numbers are held to these */
    int low, top;   /* codes */
} tare_mcf_grid;
/* The default's for some bounds; for those of the caller, else of n numbers. */
tare_mcf_grid tare_mcf_int_grid_of(tare_mcf_bounds b, int bits, bool has_zero);
tare_mcf_grid tare_mcf_int_grid(const float *src, size_t n, const tare_encode_params *params,
                                int bits, bool has_zero);
int tare_mcf_int_code(const tare_mcf_grid *g, float v);
/* Stores scale and zero; returns where codes go. */
uint8_t *tare_mcf_int_begin(const tare_rows_mut *dst, const tare_mcf_grid *g, bool has_zero);
void tare_mcf_int_put(const tare_rows_mut *dst, const float *src, const tare_mcf_grid *g, int bits,
                      bool has_zero);
/* X(name, ID, bits, has_zero) */
#define TARE_MCF_INTS(X)                                                                           \
    X(int8, MCF_INT8, 8, false)                                                                    \
    X(int4, MCF_INT4, 4, false)                                                                    \
    X(int8_zero, MCF_INT8_ZERO, 8, true)                                                           \
    X(int4_zero, MCF_INT4_ZERO, 4, true)

/* X(name, ID, bits, has_supers) */
#define TARE_MCF_TYPES(X)                                                                          \
    X(q8, Q8, 8, false)                                                                            \
    X(q4, Q4, 4, false)                                                                            \
    X(k6, K6, 6, true)                                                                             \
    X(k4, K4, 4, true)                                                                             \
    X(k3, K3, 3, true)                                                                             \
    X(k2, K2, 2, true)

#define TARE_MCF_DECLARE(name, ID, bits, has_supers)                                               \
    void tare_encode_##name##_c(const tare_rows_mut *dst, const float *src,                        \
                                const tare_encode_params *params);                                 \
    void tare_mantle_##name##_c(const tare_rows_mut *dst, const float *src,                        \
                                const tare_encode_params *params);
TARE_MCF_TYPES(TARE_MCF_DECLARE)
#undef TARE_MCF_DECLARE

#endif
