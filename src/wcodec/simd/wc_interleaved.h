/* SPDX-License-Identifier: MIT
 *
 * Jobs in progress in kernels that decode DIRECT segments: the start, blocks that need no checks,
 * the last steps. A file of one instruction set defines first
 *
 *     lanes        states of both streams' lanes, in vectors, and the next words
 *     rows         the byte rows of a table
 *     load_halves  lanes from the halves of states: upper A, upper B, lower A, lower B
 *     store_halves the reverse
 *     load_rows    rows from a table
 *     step         64 symbols
 *     AT_ONCE      jobs side by side: 1 or 2
 *     NIBBLES_AT_ONCE  those of nibbles: 1 or 4
 *
 * and includes wc_emit.h. */
#ifndef TARE_WCODEC_SIMD_WC_INTERLEAVED_H
#define TARE_WCODEC_SIMD_WC_INTERLEAVED_H

#include "wcodec/simd/wc_emit.h"

enum { MAX_INTERLEAVED = 4, WORDS_A_BLOCK = WC_BLOCK / 2 };

typedef struct interleaved_job {
    lanes lanes;
    rows rows[TARE_WC_MAX_CLASSES]; /* of all tables */
    const rows *now;
    value_tables tables;
    shape shape;
    _Alignas(64) uint8_t symbols[WC_BLOCK];
    const uint8_t *ends[2];
    tare_wc_job *job;
    uint32_t p; /* a multiple of WC_BLOCK until the last steps */
} interleaved_job;

/* Blocks of jobs that all have a shape, or of any shapes but NIBBLES. */
typedef void run_function(interleaved_job *const *jobs, uint32_t n_blocks);

/* ---- a job's beginning and end --------------------------------------------------------------- */

static void begin(interleaved_job *s, tare_wc_job *job) {
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
    s->tables = value_tables_of(job);
    s->shape = shape_of(job);
    for (unsigned i = 0; i < job->n_tables; i++) load_rows(&s->rows[i], &job->tables[i]);
    s->p = 0;
}

static uint32_t words_left(const interleaved_job *s, unsigned stream) {
    return (uint32_t)(s->ends[stream] - s->lanes.words[stream]) / 2;
}

static void give_back_lanes(const interleaved_job *s) {
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

/* ---- blocks ---------------------------------------------------------------------------------- */

static ALWAYS_INLINE void choose_table(interleaved_job *s) {
    const tare_wc_job *job = s->job;
    s->now = &s->rows[job->classes ? job->classes[s->p / TARE_WC_CLASS_RUN] : 0];
}

/* Blocks that have all their values and cannot run out of words. */
static uint32_t whole_blocks(const interleaved_job *s) {
    uint64_t n_values = tare_wc_values_of(s->job->value_bits, s->job->n_bytes);
    uint32_t n = s->p >= n_values ? 0 : (uint32_t)((n_values - s->p) / WC_BLOCK);
    for (unsigned i = 0; i < 2; i++) {
        uint32_t by_words = words_left(s, i) / WORDS_A_BLOCK;
        if (by_words < n) n = by_words;
    }
    return n;
}

/* What steps leave to those that follow: low nibbles until the high ones come, states. */
typedef struct carried {
    symbols nibbles;
    trellis_states states;
} carried;

/* Step j of a block. */
static ALWAYS_INLINE void take_step(interleaved_job *s, lanes *l, const out_cursor *o,
                                    carried *held, const unsigned j, const shape of) {
    symbols now = step(l, s->now, of == NIBBLES ? 4 : 6);
    if (of == ANY_SHAPE)
        store_symbols(s->symbols + j * TARE_WC_LANES, now, 64);
    else if (of == TRELLIS)
        put_trellis(&held->states, o, &s->tables, j, now);
    else if (of != NIBBLES)
        put_step(o, &s->tables, j, now, of);
    else if (j % 2)
        put_nibbles(o, j - 1, held->nibbles, now);
    else
        held->nibbles = now;
}

/* The jobs take turns, so that each one's chain of operations hides the others'. (No loop: the
 * states must stay in registers.) */
static ALWAYS_INLINE void step_interleaved(interleaved_job *const *s, lanes *l, const out_cursor *o,
                                           carried *held, const unsigned n, const unsigned j,
                                           const shape of) {
    take_step(s[0], &l[0], &o[0], &held[0], j, of);
    if (n > 1) take_step(s[1], &l[1], &o[1], &held[1], j, of);
    if (n > 2) take_step(s[2], &l[2], &o[2], &held[2], j, of);
    if (n > 3) take_step(s[3], &l[3], &o[3], &held[3], j, of);
}

/* Words and bypass bits of the blocks to come: four jobs read more runs of memory than processors
 * follow on their own. */
static ALWAYS_INLINE void fetch_ahead(const lanes *l, const out_cursor *o,
                                      const unsigned n_groups) {
    enum { AHEAD = 1024, LINE = 64, LINES = 2 };
    for (unsigned line = 0; line < LINES; line++) {
        const unsigned at = AHEAD + LINE * line;
        for (unsigned i = 0; i < 2; i++) __builtin_prefetch(l->words[i] + at);
        for (unsigned g = 0; g < n_groups; g++) __builtin_prefetch(o->groups[g] + at);
    }
}

static ALWAYS_INLINE void fetch_destination(const tare_wc_destination *d, uint32_t block,
                                            const shape of) {
    enum { LINE = 64 };
    const unsigned lines = of >= WORDS_6 ? 8 : 5; /* the latter also for scales beside bytes */
    if (!d->bytes) return;
    const uint8_t *at = d->bytes + (size_t)block * d->block_bytes;
    for (unsigned line = 0; line < lines; line++) __builtin_prefetch(at + LINE * line, 1);
}

static ALWAYS_INLINE unsigned most_at_once(const shape of) {
    return of == NIBBLES ? NIBBLES_AT_ONCE : AT_ONCE;
}

static ALWAYS_INLINE void run(interleaved_job *const *jobs, const unsigned n, uint32_t n_blocks,
                              const shape of) {
    lanes l[MAX_INTERLEAVED];
    out_cursor o[MAX_INTERLEAVED];
    carried held[MAX_INTERLEAVED];
    for (unsigned i = 0; i < n; i++) {
        l[i] = jobs[i]->lanes;
        held[i].nibbles = zero_symbols();
        if (of == TRELLIS) held[i].states = load_states(jobs[i]->job, &jobs[i]->tables);
    }
    while (n_blocks--) {
        for (unsigned i = 0; i < n; i++) {
            interleaved_job *s = jobs[i];
            choose_table(s);
            if (of != ANY_SHAPE)
                set_cursor(&o[i], s->job, s->p / WC_BLOCK, item_of(of), k_of(of), n_groups_of(of));
            fetch_destination(&s->job->destination, s->p / WC_BLOCK, of);
            fetch_ahead(&l[i], &o[i], of == ANY_SHAPE ? 0 : n_groups_of(of));
        }
        if (n == most_at_once(of)) {
            UNROLL_4 /* j becomes a constant; four copies for fewer jobs would be too much code */
                for (unsigned j = 0; j < WC_BLOCK_STEPS; j++)
                    step_interleaved(jobs, l, o, held, n, j, of);
        } else {
            for (unsigned j = 0; j < WC_BLOCK_STEPS; j++)
                step_interleaved(jobs, l, o, held, n, j, of);
        }
        for (unsigned i = 0; i < n; i++) {
            interleaved_job *s = jobs[i];
            if (of == ANY_SHAPE) put_any_block(s->job, &s->tables, s->p / WC_BLOCK, s->symbols);
            s->p += WC_BLOCK;
        }
    }
    for (unsigned i = 0; i < n; i++) {
        jobs[i]->lanes = l[i];
        if (of == TRELLIS) store_states(jobs[i]->job, &jobs[i]->tables, held[i].states);
    }
}

#define DEFINE_RUN(SHAPE, N)                                                                       \
    static void run_##N##_##SHAPE(interleaved_job *const *jobs, uint32_t n_blocks) {               \
        run(jobs, N, n_blocks, SHAPE);                                                             \
    }
#define NAME_RUN(SHAPE, N) [SHAPE] = run_##N##_##SHAPE,
#define ALL_SHAPES(X, N)                                                                           \
    X(ANY_SHAPE, N)                                                                                \
    X(PLAIN_2, N)                                                                                  \
    X(EDGE_2, N)                                                                                   \
    X(BYTES_0, N)                                                                                  \
    X(BYTES_1, N)                                                                                  \
    X(SIGNED_1, N)                                                                                 \
    X(SIGNED_2, N)                                                                                 \
    X(NIBBLES, N)                                                                                  \
    X(SIXES, N)                                                                                    \
    X(TRELLIS, N)                                                                                  \
    X(WORDS_6, N)                                                                                  \
    X(WORDS_7, N)                                                                                  \
    X(WORDS_8, N)                                                                                  \
    X(WORDS_9, N)                                                                                  \
    X(WORDS_10, N)
ALL_SHAPES(DEFINE_RUN, 1)
#if AT_ONCE == 2
ALL_SHAPES(DEFINE_RUN, 2)
DEFINE_RUN(NIBBLES, 3)
DEFINE_RUN(NIBBLES, 4)
#endif
static run_function *const runs[NIBBLES_AT_ONCE][N_SHAPES] = {
    {ALL_SHAPES(NAME_RUN, 1)},
#if AT_ONCE == 2
    {ALL_SHAPES(NAME_RUN, 2)},
    {NAME_RUN(NIBBLES, 3)},
    {NAME_RUN(NIBBLES, 4)},
#endif
};

/* Jobs of one alphabet; nibbles are alone with theirs. */
static shape common_shape(interleaved_job *const *jobs, unsigned n) {
    for (unsigned i = 1; i < n; i++)
        if (jobs[i]->shape != jobs[0]->shape) return ANY_SHAPE;
    return jobs[0]->shape;
}

enum { READY_BLOCKS = TARE_WC_READY / WC_BLOCK };

static void tell_ready(const interleaved_job *s) {
    if (s->job->ready) s->job->ready(s->job, s->p);
}

/* Those of n jobs that have blocks to decode. */
static unsigned ready_jobs(interleaved_job *ready[MAX_INTERLEAVED], interleaved_job *jobs,
                           unsigned n, unsigned log2) {
    unsigned m = 0;
    for (unsigned i = 0; i < n; i++)
        if (jobs[i].job->tables->log2_alphabet == log2 && whole_blocks(&jobs[i]))
            ready[m++] = &jobs[i];
    return m;
}

/* Of three jobs the two that have the most blocks left begin: so none is left to be decoded alone. */
static void put_shortest_last(interleaved_job *three[3]) {
    for (unsigned i = 0; i < 2; i++) {
        interleaved_job *job = three[i];
        if (whole_blocks(job) >= whole_blocks(three[2])) continue;
        three[i] = three[2];
        three[2] = job;
    }
}

/* All blocks that need no checks: repeatedly as many as all jobs at once can decode. */
static void run_blocks(interleaved_job *jobs, unsigned n, unsigned log2) {
    const unsigned most = most_at_once(log2 == 4 ? NIBBLES : ANY_SHAPE);
    interleaved_job *ready[MAX_INTERLEAVED];
    for (unsigned m; (m = ready_jobs(ready, jobs, n, log2)) > 0;) {
        uint32_t n_blocks = READY_BLOCKS;
        if (most == 2 && m == 3) put_shortest_last(ready);
        if (m > most) m = most;
        for (unsigned i = 0; i < m; i++) {
            const uint32_t blocks = whole_blocks(ready[i]);
            if (blocks < n_blocks) n_blocks = blocks;
        }
        runs[m - 1][common_shape(ready, m)](ready, n_blocks);
        for (unsigned i = 0; i < m; i++) tell_ready(ready[i]);
    }
}

/* ---- the last steps -------------------------------------------------------------------------- */

/* False: there are too few words; nothing has changed. */
static bool step_with_care(interleaved_job *s, uint8_t *to) {
    lanes l = s->lanes;
    if (s->job->tables->log2_alphabet == 4)
        store_symbols(to, step(&l, s->now, 4), 16);
    else
        store_symbols(to, step(&l, s->now, 6), 64);
    for (unsigned i = 0; i < 2; i++)
        if (l.words[i] > s->ends[i]) return false;
    s->lanes = l;
    return true;
}

static void put_last(interleaved_job *s, uint32_t p, uint32_t end) {
    uint64_t n_values = tare_wc_values_of(s->job->value_bits, s->job->n_bytes);
    if (end - p == WC_BLOCK && end <= n_values) {
        put_any_block(s->job, &s->tables, p / WC_BLOCK, s->symbols);
        return;
    }
    for (uint32_t i = 0; p + i < end; i += TARE_WC_LANES)
        tare_wc_emit_c(s->job, p + i, s->symbols + i);
}

static void finish(interleaved_job *s) {
    uint32_t n = s->job->n_positions;
    bool has_run_out = false;
    while (s->p < n && !has_run_out) {
        uint32_t first = s->p;
        uint32_t end = n - first < WC_BLOCK ? n : first + WC_BLOCK;
        choose_table(s);
        if (first % TARE_WC_READY == 0) tell_ready(s);
        for (unsigned j = 0; s->p < end && !has_run_out; j++) {
            has_run_out = !step_with_care(s, s->symbols + j * TARE_WC_LANES);
            if (!has_run_out) s->p += TARE_WC_LANES;
        }
        put_last(s, first, s->p);
    }
    give_back_lanes(s);
    if (has_run_out) s->job->lanes.has_run_out = true;
}

static void decode_jobs(tare_wc_job *jobs, unsigned n) {
    interleaved_job states[MAX_INTERLEAVED];
    for (unsigned i = 0; i < n; i++) begin(&states[i], &jobs[i]);
    run_blocks(states, n, 6);
    run_blocks(states, n, 4);
    for (unsigned i = 0; i < n; i++) finish(&states[i]);
}

#endif
