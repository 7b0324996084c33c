/* SPDX-License-Identifier: MIT
 *
 * The counts of the first pass over a stream. */
#ifndef TARE_WCODEC_TALLY_H
#define TARE_WCODEC_TALLY_H

#include "wcodec/wc_encode.h"
#include "wcodec/wc_structured_encode.h"

enum { TARE_WC_GROUPS = 64, TARE_WC_PREDICTIONS = 2 /* none, from the base */ };

struct tare_wc_tally {
    tare_wc_shape shape;
    tare_wc_options options;
    const tare_allocator *allocator;
    bool has_base;
    uint32_t n_kinds; /* of values: 2^value_bits, or 64 steps of a trellis */
    uint64_t n_values;
    uint64_t *counts[TARE_WC_PREDICTIONS]; /* of each value (difference) */
    uint64_t *groups;                      /* TARE_WC_GROUPS rows of n_kinds; NULL: no classes */
    uint64_t (*contexts)[16];              /* TARE_WC_ALL_CONTEXTS; NULL: no tiles */
    uint8_t magnitude_bits;                /* the most a sketch had; with n_sketches 0: none */
    uint64_t n_sketches;
};

/* The stream's bytes as the second pass codes them: in little-endian order, and with `predictor` as
 * differences. Returns `bytes` if nothing changes. NULL: memory is out. */
const uint8_t *tare_wc_prepare(const uint8_t *bytes, uint32_t n_bytes, const tare_wc_shape *shape,
                               const tare_wc_reference *reference, tare_coded_predictor predictor,
                               tare_wc_scratch *scratch);
/* How a reference is used: by scale where there are scales. */
static inline tare_coded_predictor tare_wc_predictor_of(const tare_wc_reference *reference) {
    return !reference              ? TARE_CODED_NO_PREDICTOR
           : reference->own_scales ? TARE_CODED_REF_SCALED
                                   : TARE_CODED_REF;
}
/* The sketch of a segment, if it looks promising (or is forced); false: none. */
bool tare_wc_promising_sketch(tare_wc_sketch *sketch, const tare_wc_shape *shape,
                              const tare_wc_options *options, const uint8_t *bytes,
                              uint32_t n_bytes, tare_wc_scratch *scratch, tare_status *status);

#endif
