/* SPDX-License-Identifier: MIT
 *
 * Encoding DIRECT segments, and STRUCTURED ones. */
#ifndef TARE_WCODEC_DIRECT_ENCODE_H
#define TARE_WCODEC_DIRECT_ENCODE_H

#include "wcodec/wc_choose.h"
#include "wcodec/wc_segment.h"

/* How the values of a stream are coded, with one predictor. */
typedef struct tare_wc_direct_scheme {
    tare_wc_coder coder;
    uint8_t rule, first_table, n_classes; /* n_classes 1: no classes */
    const tare_wc_table *tables;          /* of class 0, 1, ... */
    const tare_wc_inverse *inverses;
    uint8_t group_class[64]; /* class of a run of positions with so much in it */
    uint8_t rank_table;      /* the first of two: ranks mostly 0, ranks of any size */
    const tare_wc_inverse *rank_inverses;
} tare_wc_direct_scheme;

/* The magnitude of a run of 256 positions, in quarters of an octave; classes are chosen by it.
 * `bytes` are those of the run, n_bytes of them. Values of 6 bits have classes only as packed
 * scales: scales or minima, depending on the run's number. */
unsigned tare_wc_run_group(const uint8_t *bytes, uint32_t n_bytes, uint8_t value_bits,
                           uint32_t run);
/* Bytes of a run of 256 positions. */
static inline uint32_t tare_wc_run_bytes(uint8_t value_bits) {
    return TARE_WC_CLASS_RUN / 8 * (value_bits < 8 ? value_bits : 8u);
}

/* Counts the symbols that a trellis codes bytes with, and again in the row of 64 of the group of
 * their run (NULL: not wanted); a byte that it cannot reach counts as none. */
void tare_wc_trellis_count(uint64_t counts[64], uint64_t *groups, uint8_t states,
                           const uint8_t *bytes, uint32_t n_bytes);

/* Encodes a segment to dst, which has room for tare_wc_max_stored(n_bytes) bytes, but for its first
 * 32 bytes, which are the caller's. `values` are as tare_wc_prepare makes them. *s gets what the
 * header needs besides mode, predictor and CRC. False: it would be larger than RAW (the contents of
 * dst are then useless), or memory is out, as *status says. */
bool tare_wc_direct_encode(uint8_t *dst, uint32_t *size, tare_wc_segment *s,
                           const tare_wc_direct_scheme *scheme, uint8_t value_bits,
                           const uint8_t *values, uint32_t n_bytes, tare_wc_scratch *scratch,
                           tare_status *status);

#endif
