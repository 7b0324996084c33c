/* SPDX-License-Identifier: MIT
 *
 * The scalar reference of the codec's kernels. */
#include "wcodec/wc_kernels.h"

#include "wcodec/wc_edge.h"
#include "wcodec/wc_trellis.h"

/* One symbol of a lane that cannot run out of words: no branch depends on what is decoded. */
static inline const uint8_t *take_inside(uint8_t *symbol, uint32_t *state, const uint8_t *word,
                                         const tare_wc_table *t, unsigned mask, unsigned log2) {
    uint32_t x = *state, b = x & mask, place = x >> 8 & 0xff;
    const tare_wc_half *half = &t->half[b][place >= t->thr[b]];
    uint32_t r = ((x & 0xffff) >> log2) + (uint32_t)half->adj;
    x = half->freq * (x >> 16) + r;
    uint32_t is_short = (uint32_t)(((uint64_t)x - 0x10000) >> 32); /* all ones, or 0 */
    uint32_t longer = x << 16 | tare_load_le16(word);
    *state = x ^ ((x ^ longer) & is_short);
    *symbol = (uint8_t)half->symbol;
    return word + (is_short & 2);
}

static inline void step_inside(uint8_t *restrict symbols, tare_wc_lanes *restrict l,
                               const tare_wc_table *restrict t, unsigned log2) {
    const uint8_t *a = l->words[0], *b = l->words[1];
    const unsigned mask = (1u << log2) - 1;
    for (unsigned i = 0; i < TARE_WC_LANES; i += 2) {
        a = take_inside(symbols + i, &l->x[i], a, t, mask, log2);
        b = take_inside(symbols + i + 1, &l->x[i + 1], b, t, mask, log2);
    }
    l->left[0] -= (uint32_t)(a - l->words[0]) / 2;
    l->left[1] -= (uint32_t)(b - l->words[1]) / 2;
    l->words[0] = a;
    l->words[1] = b;
}

void tare_wc_step_c(uint8_t symbols[TARE_WC_LANES], tare_wc_lanes *l, const tare_wc_table *t) {
    if (l->left[0] > TARE_WC_LANES / 2 && l->left[1] > TARE_WC_LANES / 2) {
        if (t->log2_alphabet == 6)
            step_inside(symbols, l, t, 6);
        else
            step_inside(symbols, l, t, 4);
        return;
    }
    for (unsigned i = 0; i < TARE_WC_LANES; i++) symbols[i] = tare_wc_lanes_take(l, i, t);
}

/* ---- values ---------------------------------------------------------------------------------- */

static void emit_nibbles(const tare_wc_job *job, uint32_t p, const uint8_t *symbols) {
    uint32_t at = p / 128 * 64;
    uint32_t n = job->n_bytes - at < 64 ? job->n_bytes - at : 64;
    if (at >= job->n_bytes) return;
    uint8_t *dst = job->dst + (at - job->gone);
    if (p % 128 == 0)
        for (uint32_t i = 0; i < n; i++) dst[i] = symbols[i];
    else
        for (uint32_t i = 0; i < n; i++) dst[i] = (uint8_t)(dst[i] | symbols[i] << 4);
}

static void emit_sixes(const tare_wc_job *job, uint32_t p, const uint8_t *symbols) {
    for (uint32_t i = 0; i < 64; i += 4) {
        uint32_t at = (p + i) / 4 * 3;
        if (at >= job->n_bytes) return;
        uint32_t v = symbols[i] | (uint32_t)symbols[i + 1] << 6 | (uint32_t)symbols[i + 2] << 12 |
                     (uint32_t)symbols[i + 3] << 18;
        uint8_t *dst = job->dst + (at - job->gone);
        dst[0] = (uint8_t)v;
        dst[1] = (uint8_t)(v >> 8);
        dst[2] = (uint8_t)(v >> 16);
    }
}

/* The bypass bits of 64 positions. */
static void take_bypass(uint16_t low[64], const tare_wc_job *job, uint32_t p) {
    unsigned place = job->rule->k;
    for (unsigned i = 0; i < 64; i++) low[i] = job->fill;
    for (unsigned g = 0; g < job->n_groups; g++) {
        unsigned shift, mask = (1u << job->widths[g]) - 1;
        const uint8_t *bytes = job->groups[g] + tare_wc_group_at(job->widths[g], p, &shift);
        place -= job->widths[g];
        for (unsigned i = 0; i < 64; i++)
            low[i] = (uint16_t)(low[i] | (bytes[i] >> shift & mask) << place);
    }
}

/* All bits of a byte are the symbol and one group. */
static void emit_plain(const tare_wc_job *job, uint32_t p, const uint8_t *symbols, uint32_t n) {
    unsigned shift, k = job->rule->k, mask = (1u << k) - 1;
    const uint8_t *bytes = job->groups[0] + tare_wc_group_at(k, p, &shift);
    uint8_t *restrict dst = job->dst + (p - job->gone);
    for (uint32_t i = 0; i < n; i++)
        dst[i] = (uint8_t)((unsigned)symbols[i] << k | (bytes[i] >> shift & mask));
}

static void emit_numbers(const tare_wc_job *job, uint32_t p, const uint8_t *symbols) {
    const tare_wc_rule *rule = job->rule;
    unsigned width = job->value_bits / 8, k = rule->k;
    uint32_t left = job->n_bytes / width;
    if (p >= left) return;
    uint32_t n = left - p < 64 ? left - p : 64;
    if (width == 1 && rule->form == TARE_CODED_PLAIN && !rule->has_map && job->n_groups == 1 &&
        k == job->widths[0]) {
        emit_plain(job, p, symbols, n);
        return;
    }
    uint16_t low[64];
    uint8_t *dst = job->dst + (p * width - job->gone);
    take_bypass(low, job, p);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t top = rule->map[symbols[i]], v = top << k | low[i];
        if (rule->form == TARE_CODED_SIGN)
            v = (uint32_t)(low[i] >> (k - 1)) << (job->value_bits - 1) | top << (k - 1) |
                (low[i] & ((1u << (k - 1)) - 1));
        if (width == 1)
            dst[i] = (uint8_t)v;
        else
            tare_store_le16(dst + 2 * i, (uint16_t)v);
    }
    for (uint32_t i = 0; rule->form == TARE_CODED_EDGE && i < n; i++)
        dst[i] = tare_wc_edge_value(dst[i]);
}

static void emit_trellis(tare_wc_job *job, uint32_t p, const uint8_t *symbols) {
    for (uint32_t i = 0; i < TARE_WC_LANES; i++) {
        uint8_t t = job->trellis[i];
        if (p + i < job->n_bytes)
            job->dst[p + i - job->gone] = tare_wc_trellis_value(t, symbols[i]);
        job->trellis[i] = tare_wc_trellis_next(job->rule->trellis, t, symbols[i] & 1);
    }
}

void tare_wc_emit_c(tare_wc_job *job, uint32_t p, const uint8_t symbols[TARE_WC_LANES]) {
    if (job->rule->trellis)
        emit_trellis(job, p, symbols);
    else if (job->value_bits == 4)
        emit_nibbles(job, p, symbols);
    else if (job->value_bits == 6)
        emit_sixes(job, p, symbols);
    else
        emit_numbers(job, p, symbols);
}

void tare_wc_decode_c(tare_wc_job *jobs, unsigned n_jobs) {
    for (unsigned j = 0; j < n_jobs; j++) {
        tare_wc_job *job = &jobs[j];
        for (uint32_t p = 0; p < job->n_positions; p += TARE_WC_LANES) {
            unsigned class = job->classes ? job->classes[p / TARE_WC_CLASS_RUN] : 0;
            uint8_t symbols[TARE_WC_LANES];
            if (job->ready && p % TARE_WC_READY == 0 && p) job->ready(job, p);
            tare_wc_step_c(symbols, &job->lanes, &job->tables[class]);
            tare_wc_emit_c(job, p, symbols);
        }
    }
}

/* ---- encoding -------------------------------------------------------------------------------- */

/* Steps from the last to the first; words are stored through pointers that nothing aliases. */
static void put_steps(tare_wc_put *restrict put, const uint8_t *restrict symbols, uint32_t n,
                      const tare_wc_inverse *restrict v) {
    uint8_t *a = put->words[0], *b = put->words[1];
    for (symbols += n; n; n -= TARE_WC_LANES) {
        symbols -= TARE_WC_LANES;
        for (unsigned i = TARE_WC_LANES; i; i -= 2) {
            b = tare_wc_put_one(&put->x[i - 1], b, symbols[i - 1], v);
            a = tare_wc_put_one(&put->x[i - 2], a, symbols[i - 2], v);
        }
    }
    put->words[0] = a;
    put->words[1] = b;
}

void tare_wc_encode_c(tare_wc_put_job *jobs, unsigned n_jobs) {
    for (tare_wc_put_job *job = jobs; job < jobs + n_jobs; job++) {
        for (uint32_t end = job->n_positions; end;) {
            uint32_t run = (end - 1) / TARE_WC_CLASS_RUN, first = run * TARE_WC_CLASS_RUN;
            unsigned class = job->classes ? job->classes[run] : 0;
            put_steps(&job->put, job->symbols + first, end - first, &job->inverses[class]);
            end = first;
        }
    }
}

/* Four rows of counters: a repeated byte does not wait for its own counter. */
void tare_wc_count_bytes_c(uint64_t counts[256], const uint8_t *bytes, size_t n) {
    enum { RUN = 1 << 30 }; /* no 32-bit counter overflows */
    while (n) {
        uint32_t rows[4][256] = {{0}};
        size_t run = n < RUN ? n : RUN, i = 0;
        for (; i + 4 <= run; i += 4)
            for (unsigned r = 0; r < 4; r++) rows[r][bytes[i + r]]++;
        for (; i < run; i++) rows[0][bytes[i]]++;
        for (unsigned v = 0; v < 256; v++)
            counts[v] += (uint64_t)rows[0][v] + rows[1][v] + rows[2][v] + rows[3][v];
        bytes += run;
        n -= run;
    }
}
