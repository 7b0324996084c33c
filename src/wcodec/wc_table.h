/* SPDX-License-Identifier: MIT
 *
 * Tables: symbol frequencies as alias buckets (docs/wcodec.md, 5.2). */
#ifndef TARE_WCODEC_TABLE_H
#define TARE_WCODEC_TABLE_H

#include "base/cursor.h"
#include "wcodec/wc_format.h"

enum { TARE_WC_INVERSE = 1 << 14 };

/* What encoding with a table needs: the slot of each rank of each symbol, in units of the table's
 * precision. */
typedef struct tare_wc_inverse {
    const tare_wc_table *table;
    uint32_t start[64];
    uint16_t slot[TARE_WC_INVERSE];
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
static inline uint32_t tare_wc_slot(const tare_wc_inverse *v, uint8_t symbol, uint32_t rank) {
    uint32_t g = 8u - v->table->log2_alphabet; /* low bits of the rank that stand in the slot */
    return v->slot[v->start[symbol] + (rank >> g)] | (rank & ((1u << g) - 1))
                                                         << v->table->log2_alphabet;
}

/* log2(n) in units of 2^-16, rounded down; n >= 1. Integers only: costs are the same everywhere. */
uint32_t tare_wc_log2(uint64_t n);
/* What the table spends on the counts, in units of 2^-16 bits; UINT64_MAX: a symbol it cannot
 * code. */
uint64_t tare_wc_table_cost(const tare_wc_table *t, const uint64_t *counts);
/* What n counts cost at least, in the same units. */
uint64_t tare_wc_entropy(const uint64_t *counts, size_t n);

#endif
