/* SPDX-License-Identifier: MIT
 *
 * Jobs under way in kernels that decode DIRECT segments: beginning, blocks that need no care, the
 * last steps. A file of one instruction set defines first
 *
 *     lanes        states of both streams' lanes, in vectors, and the next words
 *     rows         the byte rows of a table
 *     load_halves  lanes from the halves of states: upper A, upper B, lower A, lower B
 *     store_halves the reverse
 *     load_rows    rows from a table
 *     step         64 symbols
 *     maker        what all blocks of a job need to make values
 *     maker_of     a job's maker
 *     emit_...     values of WC_BLOCK positions from their symbols, for each width
 */
#ifndef TARE_WCODEC_STRANDS_H
#define TARE_WCODEC_STRANDS_H

#include "wcodec/x86/wc_block.h"

enum { MAX_STRANDS = 4, WORDS_A_BLOCK = WC_BLOCK / 2 };

typedef struct strand {
    lanes lanes;
    rows rows; /* of *table: aligned, as those in the head need not be */
    _Alignas(64) uint8_t symbols[WC_BLOCK];
    maker maker;
    const tare_wc_table *table;
    const uint8_t *ends[2];
    tare_wc_job *job;
    uint32_t p; /* a multiple of WC_BLOCK until the last steps */
} strand;

/* Blocks of strands of one alphabet. */
typedef void run_function(strand *const *strands, uint32_t n_blocks, unsigned log2);

/* ---- a job's beginning and end --------------------------------------------------------------- */

static void begin(strand *s, tare_wc_job *job) {
    uint16_t halves[4][TARE_WC_LANES / 2];
    for (unsigned i = 0; i < TARE_WC_LANES; i++) {
        halves[i % 2][i / 2] = (uint16_t)(job->lanes.x[i] >> 16);
        halves[2 + i % 2][i / 2] = (uint16_t)job->lanes.x[i];
    }
    load_halves(&s->lanes, halves);
    for (unsigned i = 0; i < 2; i++) {
        s->lanes.words[i] = job->lanes.words[i];
        s->ends[i] = job->lanes.words[i] + 2 * (size_t)job->lanes.left[i];
    }
    s->job = job;
    s->maker = maker_of(job);
    s->table = NULL;
    s->p = 0;
}

static uint32_t words_left(const strand *s, unsigned stream) {
    return (uint32_t)(s->ends[stream] - s->lanes.words[stream]) / 2;
}

static void give_back_lanes(const strand *s) {
    uint16_t halves[4][TARE_WC_LANES / 2];
    tare_wc_lanes *l = &s->job->lanes;
    store_halves(halves, &s->lanes);
    for (unsigned i = 0; i < 2; i++) {
        l->words[i] = s->lanes.words[i];
        l->left[i] = words_left(s, i);
    }
    for (unsigned i = 0; i < TARE_WC_LANES; i++)
        l->x[i] = (uint32_t)halves[i % 2][i / 2] << 16 | halves[2 + i % 2][i / 2];
}

/* ---- a block's values ------------------------------------------------------------------------ */

static ALWAYS_INLINE void fetch(const uint8_t *from, uint64_t at, uint64_t n) {
    for (uint64_t i = 0; i < n; i += 64) /* by number: where it points need not exist */
        _mm_prefetch((const char *)((uintptr_t)from + at + i), _MM_HINT_T0);
}

/* Asks for memory that later blocks will read and write: strands side by side have more streams
 * than processors follow by themselves. From memory up to 14 % more bytes a second of 8-bit values
 * and up to 38 % of 16-bit ones, in a core's cache 3 to 13 % fewer. */
static ALWAYS_INLINE void fetch_ahead(const tare_wc_job *job, uint32_t p) {
    enum { DST_AHEAD = 2048, GROUPS_AHEAD = 1024 };
    fetch(job->dst, tare_wc_bytes_of(job->item, p) + DST_AHEAD, WC_BLOCK / 8 * job->item);
    for (unsigned g = 0; g < job->n_groups; g++)
        fetch(job->groups[g], (uint64_t)p / 8 * job->widths[g] + GROUPS_AHEAD,
              WC_BLOCK / 8 * job->widths[g]);
}

static inline void emit_block(const strand *s, uint32_t p) {
    const uint8_t *symbols = s->symbols;
    tare_wc_job *job = s->job;
    fetch_ahead(job, p);
    if (job->rule->trellis)
        emit_trellis(job, &s->maker, p, symbols);
    else if (job->item == 4)
        emit_nibbles(job, p, symbols);
    else if (job->item == 6)
        emit_sixes(job, p, symbols);
    else if (job->item == 16)
        emit_words(job, &s->maker, p, symbols);
    else if (!is_plain(job))
        emit_bytes(job, &s->maker, p, symbols);
    else if (job->widths[0] == 4)
        emit_plain(job, p, symbols, 4, TARE_WC_PLAIN);
    else if (job->widths[0] == 1)
        emit_plain(job, p, symbols, 1, TARE_WC_PLAIN);
    else if (job->rule->form == TARE_WC_PLAIN)
        emit_plain(job, p, symbols, 2, TARE_WC_PLAIN);
    else
        emit_plain(job, p, symbols, 2, TARE_WC_EDGE);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static ALWAYS_INLINE void choose_table(strand *s) {
    const tare_wc_job *job = s->job;
    const tare_wc_table *t = job->tables;
    if (job->classes) t += job->classes[s->p / TARE_WC_CLASS_RUN];
    if (t == s->table) return;
    load_rows(&s->rows, t);
    s->table = t;
}

/* Blocks that have all their values and cannot run out of words. */
static uint32_t whole_blocks(const strand *s) {
    uint64_t n_values = tare_wc_values_of(s->job->item, s->job->n_bytes);
    uint32_t n = s->p >= n_values ? 0 : (uint32_t)((n_values - s->p) / WC_BLOCK);
    for (unsigned i = 0; i < 2; i++) {
        uint32_t by_words = words_left(s, i) / WORDS_A_BLOCK;
        if (by_words < n) n = by_words;
    }
    return n;
}

static ALWAYS_INLINE void run(strand *const *strands, const unsigned n, uint32_t n_blocks,
                              const int log2) {
    lanes l[MAX_STRANDS];
    for (unsigned i = 0; i < n; i++) l[i] = strands[i]->lanes;
    while (n_blocks--) {
        for (unsigned i = 0; i < n; i++) choose_table(strands[i]);
        for (unsigned j = 0; j < WC_BLOCK_STEPS; j++)
            for (unsigned i = 0; i < n; i++)
                step(strands[i]->symbols + j * TARE_WC_LANES, &l[i], &strands[i]->rows, log2);
        for (unsigned i = 0; i < n; i++) {
            emit_block(strands[i], strands[i]->p);
            strands[i]->p += WC_BLOCK;
        }
    }
    for (unsigned i = 0; i < n; i++) strands[i]->lanes = l[i];
}

/* All blocks that need no care: again and again those that all strands can decode. */
static void run_blocks(strand *strands, unsigned n, unsigned log2, run_function *const *run_n,
                       unsigned n_at_once) {
    for (;;) {
        strand *ready[MAX_STRANDS];
        uint32_t n_blocks = UINT32_MAX;
        unsigned m = 0;
        for (unsigned i = 0; i < n && m < n_at_once; i++) {
            uint32_t blocks = whole_blocks(&strands[i]);
            if (!blocks || strands[i].job->tables->log2_alphabet != log2) continue;
            ready[m++] = &strands[i];
            if (blocks < n_blocks) n_blocks = blocks;
        }
        if (!m) return;
        run_n[m - 1](ready, n_blocks, log2);
    }
}

/* ---- the last steps -------------------------------------------------------------------------- */

/* False: there are too few words; nothing has changed. */
static bool step_with_care(strand *s, uint8_t *symbols) {
    lanes l = s->lanes;
    if (s->table->log2_alphabet == 4)
        step(symbols, &l, &s->rows, 4);
    else
        step(symbols, &l, &s->rows, 6);
    for (unsigned i = 0; i < 2; i++)
        if (l.words[i] > s->ends[i]) return false;
    s->lanes = l;
    return true;
}

static void emit_last(strand *s, uint32_t p, uint32_t end) {
    uint64_t n_values = tare_wc_values_of(s->job->item, s->job->n_bytes);
    if (end - p == WC_BLOCK && end <= n_values) {
        emit_block(s, p);
        return;
    }
    for (uint32_t i = 0; p + i < end; i += TARE_WC_LANES)
        tare_wc_emit_c(s->job, p + i, s->symbols + i);
}

static void finish(strand *s) {
    uint32_t n = s->job->n_positions;
    bool has_run_out = false;
    while (s->p < n && !has_run_out) {
        uint32_t first = s->p;
        uint32_t end = n - first < WC_BLOCK ? n : first + WC_BLOCK;
        choose_table(s);
        for (unsigned j = 0; s->p < end && !has_run_out; j++) {
            has_run_out = !step_with_care(s, s->symbols + j * TARE_WC_LANES);
            if (!has_run_out) s->p += TARE_WC_LANES;
        }
        emit_last(s, first, s->p);
    }
    give_back_lanes(s);
    if (has_run_out) s->job->lanes.has_run_out = true;
}

/* run_n[i] runs i + 1 strands, up to n_at_once. */
static void decode_jobs(tare_wc_job *jobs, unsigned n, run_function *const *run_n,
                        unsigned n_at_once) {
    strand strands[MAX_STRANDS];
    for (unsigned i = 0; i < n; i++) begin(&strands[i], &jobs[i]);
    run_blocks(strands, n, 6, run_n, n_at_once);
    run_blocks(strands, n, 4, run_n, n_at_once);
    for (unsigned i = 0; i < n; i++) finish(&strands[i]);
}

#endif
