/* SPDX-License-Identifier: MIT
 *
 * The searches of scale_search.h over many blocks at once, which is where the encoders of the K
 * formats and of iq4 spend their time. There is one table for each instruction set; the vector
 * tables use one lane per block, because the order of a block's sums is fixed, and give the same
 * bytes as the scalar table. */
#ifndef TARE_ENCODING_BLOCK_SEARCHES_H
#define TARE_ENCODING_BLOCK_SEARCHES_H

#include "encoding/kernels.h"
#include "encoding/scale_search.h"

typedef enum tare_weighing {
    TARE_WEIGH_MAGNITUDE, /* |x| */
    TARE_WEIGH_MEAN,      /* |x| + the root of the block's mean square */
    TARE_WEIGH_SQUARE,    /* x^2 */
    TARE_WEIGH_GIVEN,     /* importance */
    TARE_WEIGH_SPREAD     /* importance * sqrt(sigma2 + x^2) */
} tare_weighing;

/* n blocks of `size` (8, 16 or 32) elements one after the other. All arrays have room for n rounded
 * up to TARE_SEARCH_ROOM blocks and are initialised that far: whole vectors of blocks are searched.
 */
enum { TARE_SEARCH_ROOM = 16 };
typedef struct tare_blocks {
    size_t n;
    int size;
    tare_weighing weighing;
    const float *x;
    const float *importance; /* one an element; GIVEN and SPREAD */
    const float *sigma2;     /* one a block; SPREAD */
    /* What is found: */
    uint8_t *codes;    /* one an element; of with_sign may be NULL */
    float *scales;     /* one a block */
    float *minus_mins; /* affine only */
    float *sums;       /* of a block's weights; SPREAD */
} tare_blocks;

typedef struct tare_searches {
    void (*affine)(const tare_blocks *b, const tare_affine_walk *walk); /* sizes 16, 32 */
    void (*with_sign)(const tare_blocks *b, int top);                   /* sizes 16, 32 */
    void (*moves)(const tare_blocks *b, int top);                       /* size 16, SQUARE */
    void (*without_sign)(const tare_blocks *b, int top);                /* sizes 8, 16, 32, GIVEN */
    void (*levels)(const tare_blocks *b); /* size 32, SQUARE, SPREAD */
    /* Sums of squares of n runs of `size` elements, a multiple of 32, each in order. x may lie at
     * any address; sums has room for n rounded up to TARE_SEARCH_ROOM. */
    void (*squares)(float *sums, const float *x, size_t n, size_t size);
    /* The first value of largest magnitude in each of n runs of 16, 0 if all are 0; NaN is passed
     * over. Room in both as in tare_blocks. */
    void (*peaks)(float *peaks, const float *values, size_t n);
    /* Codes of 256 elements for given scales and minimums: (x + min) / scale between low and high,
     * stored above low. A scale of 0 leaves the existing codes unchanged. */
    void (*recode)(uint8_t *codes, const float *x, const float *scales, const float *mins, int size,
                   int low, int high);
    /* Nibbles of the levels nearest to inverse * x, n blocks of 32: elements l low, l + 16 high. An
     * inverse a block; `stride` bytes from the 16 of a block to those of the next. */
    void (*level_codes)(uint8_t *nibbles, size_t stride, const float *x, const float *inverses,
                        size_t n);
} tare_searches;

extern const tare_searches tare_searches_c;
/* The scalar search of block j. */
void tare_search_affine_of(const tare_blocks *b, size_t j, const tare_affine_walk *walk);
void tare_search_signed_of(const tare_blocks *b, size_t j, int top);
void tare_search_moves_of(const tare_blocks *b, size_t j, int top);
void tare_search_unsigned_of(const tare_blocks *b, size_t j, int top);
void tare_search_levels_of(const tare_blocks *b, size_t j);

/* The encoders of iq4 on a table of searches. */
void tare_encode_iq4_nl(const tare_rows_mut *dst, const float *src,
                        const tare_encode_params *params, const tare_searches *by);
void tare_encode_iq4_xs(const tare_rows_mut *dst, const float *src,
                        const tare_encode_params *params, const tare_searches *by);

/* And those of q4_0 to q5_1 with importance. */
void tare_encode_weighted_q4_0(const tare_rows_mut *dst, const float *src,
                               const tare_encode_params *params, const tare_searches *by);
void tare_encode_weighted_q4_1(const tare_rows_mut *dst, const float *src,
                               const tare_encode_params *params, const tare_searches *by);
void tare_encode_weighted_q5_0(const tare_rows_mut *dst, const float *src,
                               const tare_encode_params *params, const tare_searches *by);
void tare_encode_weighted_q5_1(const tare_rows_mut *dst, const float *src,
                               const tare_encode_params *params, const tare_searches *by);

/* encode_NAME and use_NAME for the table of kernels, on one table of searches. */
#define TARE_DEFINE_SEARCHING_ENCODER(name, id, by)                                                \
    static void encode_##name(const tare_rows_mut *dst, const float *src,                          \
                              const tare_encode_params *params) {                                  \
        tare_encode_##name(dst, src, params, by);                                                  \
    }                                                                                              \
    static void use_##name(tare_kernels *k) {                                                      \
        k->encode[id] = k->encode_weighted[id] = encode_##name;                                    \
    }
#define TARE_DEFINE_IQ4_ENCODERS(by)                                                               \
    TARE_DEFINE_SEARCHING_ENCODER(iq4_nl, TARE_ENCODING_IQ4_NL, by)                                \
    TARE_DEFINE_SEARCHING_ENCODER(iq4_xs, TARE_ENCODING_IQ4_XS, by)                                \
    static void use_iq4_encoders(tare_kernels *k) {                                                \
        use_iq4_nl(k);                                                                             \
        use_iq4_xs(k);                                                                             \
    }
#define TARE_DEFINE_WEIGHTED_ENCODER(name, by)                                                     \
    static void encode_weighted_##name(const tare_rows_mut *dst, const float *src,                 \
                                       const tare_encode_params *params) {                         \
        tare_encode_weighted_##name(dst, src, params, by);                                         \
    }
#define TARE_DEFINE_WEIGHTED_ENCODERS(by)                                                          \
    TARE_DEFINE_WEIGHTED_ENCODER(q4_0, by)                                                         \
    TARE_DEFINE_WEIGHTED_ENCODER(q4_1, by)                                                         \
    TARE_DEFINE_WEIGHTED_ENCODER(q5_0, by)                                                         \
    TARE_DEFINE_WEIGHTED_ENCODER(q5_1, by)                                                         \
    static void use_weighted_encoders(tare_kernels *k) {                                           \
        k->encode_weighted[TARE_ENCODING_Q4_0] = encode_weighted_q4_0;                             \
        k->encode_weighted[TARE_ENCODING_Q4_1] = encode_weighted_q4_1;                             \
        k->encode_weighted[TARE_ENCODING_Q5_0] = encode_weighted_q5_0;                             \
        k->encode_weighted[TARE_ENCODING_Q5_1] = encode_weighted_q5_1;                             \
    }

#endif
