/* SPDX-License-Identifier: MIT
 *
 * What an encoder chooses from counts: the rule of a stream, the tables of its classes, the tables
 * of its contexts. */
#ifndef TARE_WCODEC_CHOOSE_H
#define TARE_WCODEC_CHOOSE_H

#include "wcodec/wc_rule.h"
#include "wcodec/wc_table.h"

/* Values that occur, and how often. */
typedef struct tare_wc_counts {
    uint32_t n;
    uint16_t *values; /* ascending */
    uint64_t *counts;
} tare_wc_counts;

enum {
    TARE_WC_NO_SYMBOL = 255,
    TARE_WC_MAP_PAD = 3, /* bytes after the last symbol_of that kernels may read */
};

/* A rule and how to code with it. */
typedef struct tare_wc_coder {
    tare_wc_rule rule;
    uint8_t *symbol_of; /* of each top; TARE_WC_NO_SYMBOL: a patch. 2^(value_bits - k) entries, and
                           TARE_WC_MAP_PAD */
    uint64_t cost;      /* of what was counted, in units of 2^-16 bits */
    uint64_t n_patches;
} tare_wc_coder;

/* Whether the tops of a rule with a map are consecutive: symbol 0 is *first, size of them. */
static inline bool tare_wc_rule_window(uint16_t *first, uint16_t *size, const tare_wc_rule *rule) {
    uint16_t n = 1; /* entries ascend; after the last one stands 0 */
    while (n < 64 && rule->map[n] > rule->map[n - 1]) n++;
    *first = rule->map[0];
    *size = n;
    return rule->map[n - 1] - rule->map[0] == n - 1;
}

/* The rule that codes the values in fewest bits; symbol_of comes from the arena. False: memory is
 * out. */
bool tare_wc_choose_rule(tare_wc_coder *out, uint8_t value_bits, const tare_wc_counts *values,
                         tare_arena *arena);
/* Counts of the rule's symbols; a patch counts as the symbol that is used in its place. */
void tare_wc_symbol_counts(uint64_t counts[64], const tare_wc_coder *coder, uint8_t value_bits,
                           const tare_wc_counts *values);

/* Removes symbols so rare that they are not worth a unit of their table: they become patches, with
 * the most frequent symbol in their place. */
void tare_wc_leave_rare(uint64_t *counts, unsigned alphabet, unsigned top_bits);

/* Joins neighbouring groups of counts (n_groups rows of `alphabet`) as long as separate tables do
 * not pay. group_class[i] is what group i belongs to; returns the number of classes (at most 16);
 * 1: classes do not pay. */
unsigned tare_wc_choose_classes(uint8_t *group_class, const uint64_t *counts, unsigned n_groups,
                                uint8_t alphabet);
/* Joins contexts (n rows of 16 counts) until at most max_tables (64 or less) are left and each pays
 * for its bytes. table_of[i] is the table of context i, sums the tables' counts; returns their
 * number, 0: memory is out. */
unsigned tare_wc_choose_contexts(uint8_t *table_of, uint64_t sums[TARE_WC_MAX_TABLES][16],
                                 const uint64_t (*counts)[16], unsigned n, unsigned max_tables,
                                 const tare_allocator *allocator);

#endif
