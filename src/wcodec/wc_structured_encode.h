/* SPDX-License-Identifier: MIT
 *
 * Encoding STRUCTURED segments. */
#ifndef TARE_WCODEC_STRUCTURED_ENCODE_H
#define TARE_WCODEC_STRUCTURED_ENCODE_H

#include "wcodec/wc_encode.h"
#include "wcodec/wc_structured.h"

enum {
    TARE_WC_ALL_CONTEXTS = TARE_WC_SIDE_CONTEXTS + TARE_WC_MAX_MAGNITUDE * TARE_WC_PLANE_CONTEXTS,
    TARE_WC_PADDING = 0xffff, /* takes the place of a context */
};

/* A segment as symbols of contexts and raw bits: what tallies count and encoders put. */
typedef struct tare_wc_sketch {
    uint8_t shape, magnitude_bits;
    bool is_signed;
    uint32_t width;
    uint32_t n_symbols; /* a multiple of 64 */
    uint8_t *symbols;
    uint16_t *contexts; /* TARE_WC_PADDING: padding, table of the one before, any symbol */
    uint64_t n_raw;     /* bits */
    uint8_t *raw;
} tare_wc_sketch;

/* The best predictors and transforms of a segment's tiles. False: it has no such form (tiles that
 * do not fit, coefficients too large), or memory is out, as *status says. Memory is the scratch's,
 * until the next sketch. */
bool tare_wc_sketch_init(tare_wc_sketch *sketch, uint8_t value_bits, const tare_wc_options *options,
                         uint8_t shape, uint32_t width, const uint8_t *bytes, uint32_t n_bytes,
                         tare_wc_scratch *scratch, tare_status *status);
/* ERR_ARG: limits with bits that have no meaning. */
tare_status tare_wc_limits_check(const tare_tile_limits *limits, tare_error *err);
/* Whether a set of limits has element i. */
static inline bool tare_wc_limits_allow(uint32_t set, unsigned i) {
    return !set || (set >> i & 1);
}
void tare_wc_sketch_count(uint64_t counts[TARE_WC_ALL_CONTEXTS][16], const tare_wc_sketch *sketch);
/* The minimum cost of the sketch, in units of 2^-16 bits. */
uint64_t tare_wc_sketch_cost(const tare_wc_sketch *sketch);

/* As tare_wc_direct_encode; false also where a symbol is in no table. `inverses` are those of the
 * head's tables of 16 symbols. */
bool tare_wc_structured_encode(uint8_t *dst, uint32_t *size, tare_wc_segment *s,
                               const tare_wc_head *head, const tare_wc_inverse *inverses,
                               const tare_wc_sketch *sketch, uint32_t n_bytes,
                               tare_wc_scratch *scratch, tare_status *status);

#endif
