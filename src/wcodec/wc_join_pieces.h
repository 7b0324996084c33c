/* SPDX-License-Identifier: MIT
 *
 * How kernels put the high bits of a unit of a joined stream together: the values of a unit come in
 * steps, a byte each; high bits of steps that end up in the same bytes are collected in one vector of
 * bytes, beside each other as they will be, and each byte of high bits is made of one such byte or of
 * a few, each shifted. */
#ifndef TARE_WCODEC_JOIN_PIECES_H
#define TARE_WCODEC_JOIN_PIECES_H

#include "wcodec/wc_join.h"

enum {
    TARE_WC_PIECES_LOG2 = 8,  /* of the values of a unit, at most */
    TARE_WC_PIECES_STEPS = 8, /* of 32 values; half as many of 64 */
    TARE_WC_PIECES = 8,       /* of a byte */
    TARE_WC_PIECES_BYTES = 64,
};

typedef struct tare_wc_join_pieces {
    unsigned n_tops, n_pieces;         /* vectors; pieces of each byte */
    uint8_t top[TARE_WC_PIECES_STEPS]; /* the vector of a step, */
    uint8_t at[TARE_WC_PIECES_STEPS];  /* and where its bits are in bytes */
    uint8_t shift[TARE_WC_PIECES];     /* of a piece, upwards; none of the first one */
    uint8_t from[TARE_WC_PIECES]
                [TARE_WC_PIECES_BYTES]; /* byte of all vectors, by byte of high bits */
} tare_wc_join_pieces;

/* log2 of how many vectors there are, for steps of 2^log2_step values. */
unsigned tare_wc_join_tops_log2(const tare_coded_join *join, unsigned log2_step);
/* 2^log2_step to 2^TARE_WC_PIECES_LOG2 values, 256 bytes in all vectors at most. */
void tare_wc_join_pieces_of(tare_wc_join_pieces *out, const tare_coded_join *join,
                            unsigned log2_step);

#endif
