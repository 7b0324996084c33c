/* SPDX-License-Identifier: MIT
 *
 * The searches of the IQ2 and IQ3 encoders: for a scale of a sub-block, and the points of the
 * codebook at it. There is one table for each instruction set; all give the same bytes as the
 * scalar one. */
#ifndef TARE_ENCODING_IQ_SEARCH_H
#define TARE_ENCODING_IQ_SEARCH_H

#include <stdbool.h>

#include "encoding/block_searches.h"
#include "encoding/lattice.h"

/* How the five formats differ. */
typedef struct tare_iq_form {
    tare_lattice_id lattice;
    int sub;     /* elements under one scale: 16 or 32 */
    int n_steps; /* scales tried: -n_steps..n_steps around the start; 15 at most */
    float step;
    float zero_below;      /* a sub-block whose largest value is smaller is empty */
    float sigma_factor;    /* of the mean square, in the weights */
    float flat_weight;     /* without importance: + flat_weight * sigma2 in each weight */
    float stored_factor;   /* of the super-block's scale as it is stored */
    bool has_even_signs;   /* the number of minus signs of eight elements is even */
    bool starts_by_search; /* the first scale comes from a search over plain integers */
    bool refines_all;      /* the last pass takes groups on the codebook too */
    bool skips_empty;      /* an empty sub-block gets no place among points and signs */
} tare_iq_form;

/* Two super-blocks, so that sub-blocks of 32 too fill the lanes of a vector. */
enum { TARE_IQ_CHUNK = 512 };
typedef struct tare_iq_chunk {
    float x[TARE_IQ_CHUNK], importance[TARE_IQ_CHUNK];
    float magnitudes[TARE_IQ_CHUNK]; /* |x|, but minus it where an even number was forced */
    float weights[TARE_IQ_CHUNK], roots[TARE_IQ_CHUNK];
    uint8_t signs[TARE_IQ_CHUNK / 8]; /* a bit an element; bit 7 is implied where signs are even */
} tare_iq_chunk;

/* One sub-block. */
typedef struct tare_iq_sub {
    const float *magnitudes, *weights, *roots;
    uint16_t points[8]; /* found, of each group */
} tare_iq_sub;

typedef struct tare_iq_searches {
    const tare_searches *blocks;
    /* Weights, signs and magnitudes of n elements, a multiple of 8, from `at` on. */
    void (*split)(tare_iq_chunk *c, size_t at, size_t n, bool is_weighted, const tare_iq_form *form,
                  float sigma2);
    /* Walks the scales, then assigns groups again at the best one. `range` is what the highest
     * level should reach; `scale` is unchanged if no step is usable. Returns the scale. */
    float (*search)(tare_iq_sub *b, const tare_iq_form *form, float range, float scale);
    const struct tare_iq_searches *for_odd; /* what to use where numbers are not finite */
} tare_iq_searches;

extern const tare_iq_searches tare_iq_searches_c;

/* The encoders on a table of searches. */
void tare_encode_iq2_xxs(const tare_rows_mut *dst, const float *src,
                         const tare_encode_params *params, const tare_iq_searches *by);
void tare_encode_iq2_xs(const tare_rows_mut *dst, const float *src,
                        const tare_encode_params *params, const tare_iq_searches *by);
void tare_encode_iq2_s(const tare_rows_mut *dst, const float *src, const tare_encode_params *params,
                       const tare_iq_searches *by);
void tare_encode_iq3_xxs(const tare_rows_mut *dst, const float *src,
                         const tare_encode_params *params, const tare_iq_searches *by);
void tare_encode_iq3_s(const tare_rows_mut *dst, const float *src, const tare_encode_params *params,
                       const tare_iq_searches *by);

/* encode_NAME and use_iq_encoders for the table of kernels, on one table of searches. IQ2_XXS and
 * IQ2_XS are for importance only. */
#define TARE_DEFINE_IQ_ENCODER(name, by)                                                           \
    static void encode_##name(const tare_rows_mut *dst, const float *src,                          \
                              const tare_encode_params *params) {                                  \
        tare_encode_##name(dst, src, params, by);                                                  \
    }
#define TARE_DEFINE_IQ_ENCODERS(by)                                                                \
    TARE_DEFINE_IQ_ENCODER(iq2_xxs, by)                                                            \
    TARE_DEFINE_IQ_ENCODER(iq2_xs, by)                                                             \
    TARE_DEFINE_IQ_ENCODER(iq2_s, by)                                                              \
    TARE_DEFINE_IQ_ENCODER(iq3_xxs, by)                                                            \
    TARE_DEFINE_IQ_ENCODER(iq3_s, by)                                                              \
    static void use_iq_encoders(tare_kernels *k) {                                                 \
        k->encode_weighted[TARE_ENCODING_IQ2_XXS] = encode_iq2_xxs;                                \
        k->encode_weighted[TARE_ENCODING_IQ2_XS] = encode_iq2_xs;                                  \
        k->encode[TARE_ENCODING_IQ2_S] = k->encode_weighted[TARE_ENCODING_IQ2_S] = encode_iq2_s;   \
        k->encode[TARE_ENCODING_IQ3_XXS] = encode_iq3_xxs;                                         \
        k->encode_weighted[TARE_ENCODING_IQ3_XXS] = encode_iq3_xxs;                                \
        k->encode[TARE_ENCODING_IQ3_S] = k->encode_weighted[TARE_ENCODING_IQ3_S] = encode_iq3_s;   \
    }

#endif
