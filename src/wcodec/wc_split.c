/* SPDX-License-Identifier: MIT
 *
 * Values to symbols and bypass bits: the scalar reference of the kernel that begins the encoding
 * of a DIRECT segment. */
#include "wcodec/wc_choose.h"
#include "wcodec/wc_kernels.h"

/* Enters a position's symbol; where it has none, the one that costs least. Returns 1 where there is
 * a value that does not fit. No branch: which symbols a table has is unpredictable. */
static inline uint8_t put(uint8_t *to, const tare_wc_table *t, bool is_value, uint8_t symbol) {
    bool fits = is_value & (symbol < 64) & (t->freq[symbol % 64] != 0);
    uint8_t is_none = (uint8_t)(fits - 1);
    *to = (uint8_t)((symbol & ~is_none) | (t->cheapest & is_none));
    return is_value & !fits;
}

static void split_small(const tare_wc_split_job *job, uint32_t p, const tare_wc_table *t) {
    uint64_t misfits = 0;
    for (uint32_t i = p; i < p + 64; i++) {
        uint32_t v = 0;
        bool is_value = tare_wc_small_value(job->values, job->n_bytes, job->value_bits, i, &v);
        misfits |= (uint64_t)put(job->symbols + (i - job->first), t, is_value, (uint8_t)v)
                   << (i - p);
    }
    job->misfits[p / 64] = misfits;
}

static void put_bypass(const tare_wc_split_job *job, const uint16_t low[64], uint32_t p) {
    uint8_t widths[TARE_WC_BYPASS_GROUPS], *group = job->groups;
    unsigned n = tare_wc_group_widths(widths, job->rule->k), place = job->rule->k;
    for (unsigned g = 0; g < n; g++) {
        unsigned shift, mask = (1u << widths[g]) - 1;
        uint8_t *bytes = group + tare_wc_group_at(widths[g], p, &shift);
        place -= widths[g];
        for (unsigned i = 0; i < 64; i++) {
            unsigned before = shift ? bytes[i] : 0; /* the first step of a block begins it */
            bytes[i] = (uint8_t)(before | (low[i] >> place & mask) << shift);
        }
        group += tare_wc_group_bytes(widths[g], job->n_positions);
    }
}

/* Values of `width` bytes from p on, n of them. */
static inline void split_numbers(const tare_wc_split_job *restrict job, uint32_t p, uint32_t n,
                                 const tare_wc_table *restrict t, const unsigned width) {
    const uint8_t *values = job->values + (size_t)p * width;
    const tare_wc_rule rule = *job->rule;
    uint16_t tops[64], low[64] = {0};
    uint8_t misfits[64], any = 0, *symbols = job->symbols + (p - job->first);
    for (uint32_t i = 0; i < n; i++) { /* apart from lookups, which compilers leave as they are */
        uint32_t bits, v = width == 1 ? values[i] : tare_load_le16(values + 2 * (size_t)i);
        tops[i] = (uint16_t)tare_wc_split(&rule, (uint8_t)(8 * width), v, &bits);
        low[i] = (uint16_t)bits;
    }
    for (uint32_t i = 0; i < n; i++) {
        misfits[i] = put(symbols + i, t, true, job->symbol_of[tops[i]]);
        any |= misfits[i];
    }
    memset(symbols + n, t->cheapest, 64 - n);
    job->misfits[p / 64] = 0;
    for (uint32_t i = 0; any && i < n; i++) job->misfits[p / 64] |= (uint64_t)misfits[i] << i;
    put_bypass(job, low, p);
}

void tare_wc_split_step_c(const tare_wc_split_job *job, uint32_t p) {
    const tare_wc_table *t = job->tables;
    if (job->classes) t += job->classes[p / TARE_WC_CLASS_RUN];
    uint64_t n_values = tare_wc_values_of(job->value_bits, job->n_bytes);
    uint32_t n = n_values < p ? 0 : n_values - p < 64 ? (uint32_t)(n_values - p) : 64;
    if (job->value_bits < 8)
        split_small(job, p, t);
    else if (job->value_bits == 8)
        split_numbers(job, p, n, t, 1);
    else
        split_numbers(job, p, n, t, 2);
}

void tare_wc_split_c(const tare_wc_split_job *job) {
    for (uint32_t p = job->first; p < job->end; p += 64) tare_wc_split_step_c(job, p);
}
