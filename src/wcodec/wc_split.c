/* SPDX-License-Identifier: MIT
 *
 * Values to symbols and bypass bits: the scalar reference of the kernel that begins the encoding
 * of a DIRECT segment. */
#include "wcodec/wc_choose.h"
#include "wcodec/wc_kernels.h"

/* What stands at position p of a plane of nibbles or sixes; false: padding. */
static bool small_value(const tare_wc_split_job *job, uint32_t p, uint8_t *symbol) {
    if (job->item == 4) {
        uint32_t at = p / 128 * 64 + p % 64;
        if (at >= job->n_bytes) return false;
        *symbol = job->values[at] >> (p % 128 / 64 * 4) & 15;
        return true;
    }
    const uint8_t *three = job->values + p / 4 * 3;
    if (p / 4 * 3 >= job->n_bytes) return false;
    unsigned all = three[0] | (unsigned)three[1] << 8 | (unsigned)three[2] << 16;
    *symbol = (uint8_t)(all >> p % 4 * 6 & 63);
    return true;
}

/* Enters a position's symbol; where it has none, the one that costs least, and a misfit if there
 * is a value. */
static void put(const tare_wc_split_job *job, uint32_t p, const tare_wc_table *t, bool is_value,
                uint8_t symbol) {
    bool fits = is_value && symbol != TARE_WC_NO_SYMBOL && t->freq[symbol];
    job->symbols[p] = fits ? symbol : t->cheapest;
    job->misfits[p / 64] |= (uint64_t)(is_value && !fits) << p % 64;
}

static void split_small(const tare_wc_split_job *job, uint32_t p, const tare_wc_table *t) {
    for (uint32_t i = p; i < p + 64; i++) {
        uint8_t symbol = 0;
        bool is_value = small_value(job, i, &symbol);
        put(job, i, t, is_value, symbol);
    }
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

static void split_numbers(const tare_wc_split_job *job, uint32_t p, const tare_wc_table *t) {
    unsigned width = job->item / 8u;
    uint32_t n = job->n_bytes / width;
    uint16_t low[64] = {0};
    for (uint32_t i = p; i < p + 64; i++) {
        uint32_t bits, v;
        if (i >= n) {
            put(job, i, t, false, 0);
            continue;
        }
        const uint8_t *value = job->values + (size_t)i * width;
        v = width == 1 ? value[0] : tare_load_le16(value);
        put(job, i, t, true, job->symbol_of[tare_wc_split(job->rule, job->item, v, &bits)]);
        low[i - p] = (uint16_t)bits;
    }
    put_bypass(job, low, p);
}

void tare_wc_split_step_c(const tare_wc_split_job *job, uint32_t p) {
    const tare_wc_table *t = job->tables;
    if (job->classes) t += job->classes[p / TARE_WC_CLASS_RUN];
    job->misfits[p / 64] = 0;
    if (job->item < 8)
        split_small(job, p, t);
    else
        split_numbers(job, p, t);
}

void tare_wc_split_c(const tare_wc_split_job *job) {
    for (uint32_t p = 0; p < job->n_positions; p += 64) tare_wc_split_step_c(job, p);
}
