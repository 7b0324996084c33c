/* SPDX-License-Identifier: MIT
 *
 * Tables: symbol frequencies as alias buckets (docs/wcodec.md, 5.2). */
#ifndef TARE_WCODEC_TABLE_H
#define TARE_WCODEC_TABLE_H

#include "base/cursor.h"
#include "wcodec/wc_format.h"

enum {
    TARE_WC_INVERSE = 1 << 14,
    TARE_WC_INVERSE_PAD = 2, /* entries on either side that gathers of four bytes may touch */
};

/* Where the slots of a symbol's ranks lie, without a list of all of them: in pieces, runs of units
 * in one bucket. The first `last` + 1 units of a symbol are in its own bucket (last is -1 for
 * none), the others in the pieces that buckets give it as their alias. These are cut into chunks of
 * 2^log2 units, no more than 128 for all symbols, in each of which at most n_bounds (1 or 2) new
 * pieces begin. The chunks of a symbol are numbered downwards from end - 1: `piece` is what the
 * chunk begins with, less those of the n_bounds that it lacks, and the next one begins where last -
 * unit, modulo 256, is `bound` or less. Unit and base make the place in the bucket. */
typedef struct tare_wc_pieces {
    uint8_t n_bounds; /* 0: there would be too many chunks */
    uint8_t last_low[64], last_high[64], log2[64], end[64];
    uint8_t piece[128], bound[2][128];
    uint8_t bucket[64], base[64];
} tare_wc_pieces;

/* What encoding with a table needs: the slot of each rank of each symbol, in units of the table's
 * precision, and numbers to divide by a symbol's frequency f with. A state x is below f * 2^16.
 *
 * In whole units u = f >> g and y = x >> g < u * 2^16 the quotient is y * reciprocal >> 31 + log2,
 * exactly: with reciprocal = 2^(31 + log2) / u + e, e < 1, and 2^log2 <= u < 2^14 the product is
 * too large by y * e < u * 2^16 < 2^(31 + log2), less than what the next multiple of 1 / u is away.
 *
 * Vector kernels have 16-bit products only. With 2^16 / f = whole + part / 2^16 + d, d < 2^-16, of
 * the halves of x
 *
 *     high * whole + (high * part >> 16) + (low * whole >> 16)
 *
 * is the quotient or up to 3 below it: each of the two roundings loses less than 1, and so do
 * high * d and low * (part / 2^16 + d) / 2^16.
 *
 * Those that convert y to a float multiply it by `inverse`, which is 1 / u less 2^-21 of it. Rounding
 * y, the inverse and the product changes the result by 2^-24 each: it is never above the exact
 * quotient, and less than 2^16 * 11 * 2^-24 < 1 below it; truncated it is the quotient or 1 less. */
typedef struct tare_wc_divisor {
    float inverse;
    uint16_t units, start;
} tare_wc_divisor;

typedef struct tare_wc_inverse {
    const tare_wc_table *table;
    tare_wc_divisor divisor[64];
    uint32_t start[64];
    uint32_t reciprocal[64];
    uint8_t log2[64];
    uint8_t whole_low[64], whole_high[64], part_low[64], part_high[64];
    tare_wc_pieces pieces;
    uint16_t slot[TARE_WC_INVERSE + 2 * TARE_WC_INVERSE_PAD];
} tare_wc_inverse;

/* 2 * alphabet bytes, which follow in the cursor. Fails where an alias is beyond the alphabet or
 * a symbol has all slots. */
tare_status tare_wc_table_read(tare_wc_table *t, uint8_t alphabet, tare_cursor *c, tare_error *err);
/* Writes the 2 * alphabet bytes. */
void tare_wc_table_write(uint8_t *bytes, const tare_wc_table *t);
/* The table that codes `counts` (alphabet numbers, not all 0) in fewest bits, each symbol that
 * occurs having at least one unit. */
void tare_wc_table_build(tare_wc_table *t, uint8_t alphabet, const uint64_t *counts);
void tare_wc_inverse_build(tare_wc_inverse *inverse, const tare_wc_table *t);
/* Its part; *pieces is all 0. */
void tare_wc_pieces_build(tare_wc_pieces *pieces, const tare_wc_table *t);
static inline uint32_t tare_wc_slot(const tare_wc_inverse *v, uint8_t symbol, uint32_t rank) {
    uint32_t g = 8u - v->table->log2_alphabet; /* low bits of the rank that stand in the slot */
    return v->slot[TARE_WC_INVERSE_PAD + v->start[symbol] + (rank >> g)] |
           (rank & ((1u << g) - 1)) << v->table->log2_alphabet;
}

/* log2(n) in units of 2^-16, rounded down; n >= 1. Integers only: costs are the same everywhere. */
uint32_t tare_wc_log2(uint64_t n);
/* The cost of the counts with this table, in units of 2^-16 bits; UINT64_MAX if it cannot code some
 * symbol. */
uint64_t tare_wc_table_cost(const tare_wc_table *t, const uint64_t *counts);
/* The minimum cost of n counts, in the same units. */
uint64_t tare_wc_entropy(const uint64_t *counts, size_t n);

#endif
