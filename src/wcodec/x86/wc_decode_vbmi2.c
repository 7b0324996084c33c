/* SPDX-License-Identifier: MIT
 *
 * DIRECT segments for AVX-512 with VBMI and VBMI2: 64 lanes at a time, up to 4 segments side by
 * side, whose chains of operations hide each other's latency.
 *
 * A state is held as two vectors of 16 bits, its upper and its lower half: the lower half is the
 * slot, the upper the quotient, so nothing is shifted or narrowed. One vector of each holds the
 * lanes A, one the lanes B; their bytes are interleaved to look up all 64 at once. */
#include "wcodec/x86/wc_emit_avx512.h"
#include "wcodec/x86/wc_x86.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))

enum { SIDE_BY_SIDE = 4, WORDS_A_BLOCK = WC_BLOCK / 2, ODD = 1 };
enum { THR, ALIAS, FREQ_LOW, FREQ_HIGH, ADJ_LOW, ADJ_HIGH, ROWS };

/* States of both streams' lanes, and the next words. */
typedef struct lanes {
    __m512i high[2], low[2];
    const uint8_t *words[2];
} lanes;

/* A job under way. */
typedef struct strand {
    lanes lanes;
    __m512i rows[ROWS]; /* of *table: aligned, as those in the head need not be */
    __m512i symbols[WC_BLOCK_STEPS];
    const tare_wc_table *table;
    const uint8_t *ends[2];
    tare_wc_job *job;
    uint32_t p; /* a multiple of WC_BLOCK until the last steps */
} strand;

/* ---- one step -------------------------------------------------------------------------------- */

/* Bytes of even places from a, those of odd places from b. */
static ALWAYS_INLINE __m512i interleave(__m512i a, __m512i b) {
    return _mm512_mask_blend_epi8(UINT64_C(0xaaaaaaaaaaaaaaaa), a, b);
}

/* x = freq * high + r; where the result is below 65536, the next word comes in. */
static ALWAYS_INLINE void renew(lanes *l, unsigned stream, __m512i freq, __m512i r) {
    __m512i low = _mm512_add_epi16(_mm512_mullo_epi16(l->high[stream], freq), r);
    __m512i high = _mm512_mulhi_epu16(l->high[stream], freq);
    __mmask32 carry = _mm512_cmplt_epu16_mask(low, r);
    high = _mm512_mask_sub_epi16(high, carry, high, _mm512_set1_epi16(-1));
    __mmask32 is_short = _mm512_testn_epi16_mask(high, high);
    __m512i words = _mm512_loadu_si512(l->words[stream]);
    l->high[stream] = _mm512_mask_mov_epi16(high, is_short, low);
    l->low[stream] = _mm512_mask_expand_epi16(low, is_short, words);
    l->words[stream] += 2 * (size_t)_mm_popcnt_u32(is_short);
}

static ALWAYS_INLINE __m512i step(lanes *l, const __m512i *rows, const int log2) {
    const __m512i in_alphabet = _mm512_set1_epi8((char)((1 << log2) - 1));
    __m512i a = l->low[0], b = l->low[ODD];
    __m512i lower = interleave(a, _mm512_slli_epi16(b, 8));
    __m512i upper = interleave(_mm512_srli_epi16(a, 8), b);
    __m512i thr = _mm512_permutexvar_epi8(lower, rows[THR]);
    __mmask64 is_alias = _mm512_cmpge_epu8_mask(upper, thr);
    __m512i symbol = _mm512_and_si512(lower, in_alphabet);
    symbol = _mm512_mask_permutexvar_epi8(symbol, is_alias, lower, rows[ALIAS]);
    __m512i f0 = _mm512_permutexvar_epi8(symbol, rows[FREQ_LOW]);
    __m512i f1 = _mm512_permutexvar_epi8(symbol, rows[FREQ_HIGH]);
    __m512i adj0 = _mm512_maskz_permutexvar_epi8(is_alias, lower, rows[ADJ_LOW]);
    __m512i adj1 = _mm512_maskz_permutexvar_epi8(is_alias, lower, rows[ADJ_HIGH]);
    __m512i adj = interleave(adj0, _mm512_slli_epi16(adj1, 8));
    renew(l, 0, interleave(f0, _mm512_slli_epi16(f1, 8)),
          _mm512_add_epi16(_mm512_srli_epi16(a, log2), adj));
    adj = interleave(_mm512_srli_epi16(adj0, 8), adj1);
    renew(l, ODD, interleave(_mm512_srli_epi16(f0, 8), f1),
          _mm512_add_epi16(_mm512_srli_epi16(b, log2), adj));
    return symbol;
}

/* ---- a job's beginning and end --------------------------------------------------------------- */

static void begin(strand *s, tare_wc_job *job) {
    uint16_t halves[4][TARE_WC_LANES / 2];
    for (unsigned i = 0; i < TARE_WC_LANES; i++) {
        halves[i % 2][i / 2] = (uint16_t)(job->lanes.x[i] >> 16);
        halves[2 + i % 2][i / 2] = (uint16_t)job->lanes.x[i];
    }
    for (unsigned i = 0; i < 2; i++) {
        s->lanes.high[i] = _mm512_loadu_si512(halves[i]);
        s->lanes.low[i] = _mm512_loadu_si512(halves[2 + i]);
        s->lanes.words[i] = job->lanes.words[i];
        s->ends[i] = job->lanes.words[i] + 2 * (size_t)job->lanes.left[i];
    }
    s->job = job;
    s->table = NULL;
    s->p = 0;
}

static uint32_t words_left(const strand *s, unsigned stream) {
    return (uint32_t)(s->ends[stream] - s->lanes.words[stream]) / 2;
}

static void give_back_lanes(const strand *s) {
    uint16_t halves[4][TARE_WC_LANES / 2];
    tare_wc_lanes *l = &s->job->lanes;
    for (unsigned i = 0; i < 2; i++) {
        _mm512_storeu_si512(halves[i], s->lanes.high[i]);
        _mm512_storeu_si512(halves[2 + i], s->lanes.low[i]);
        l->words[i] = s->lanes.words[i];
        l->left[i] = words_left(s, i);
    }
    for (unsigned i = 0; i < TARE_WC_LANES; i++)
        l->x[i] = (uint32_t)halves[i % 2][i / 2] << 16 | halves[2 + i % 2][i / 2];
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static ALWAYS_INLINE void choose_table(strand *s) {
    const tare_wc_job *job = s->job;
    const tare_wc_table *t = job->tables;
    if (job->classes) t += job->classes[s->p / TARE_WC_CLASS_RUN];
    if (t == s->table) return;
    const uint8_t *const rows[ROWS] = {t->thr,       t->alias,   t->freq_low,
                                       t->freq_high, t->adj_low, t->adj_high};
    for (unsigned r = 0; r < ROWS; r++) s->rows[r] = _mm512_loadu_si512(rows[r]);
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
    lanes l[SIDE_BY_SIDE];
    for (unsigned i = 0; i < n; i++) l[i] = strands[i]->lanes;
    while (n_blocks--) {
        for (unsigned i = 0; i < n; i++) choose_table(strands[i]);
        for (unsigned j = 0; j < WC_BLOCK_STEPS; j++)
            for (unsigned i = 0; i < n; i++)
                strands[i]->symbols[j] = step(&l[i], strands[i]->rows, log2);
        for (unsigned i = 0; i < n; i++) {
            emit_block(strands[i]->job, strands[i]->p, strands[i]->symbols);
            strands[i]->p += WC_BLOCK;
        }
    }
    for (unsigned i = 0; i < n; i++) strands[i]->lanes = l[i];
}

#define RUN(N)                                                                                     \
    static void run_##N(strand *const *strands, uint32_t n_blocks, unsigned log2) {                \
        if (log2 == 4)                                                                             \
            run(strands, N, n_blocks, 4);                                                          \
        else                                                                                       \
            run(strands, N, n_blocks, 6);                                                          \
    }
RUN(1)
RUN(2)
RUN(3)
RUN(4)

/* All blocks that need no care: again and again those that all strands can decode. */
static void run_blocks(strand *strands, unsigned n, unsigned log2) {
    static void (*const run_n[])(strand *const *, uint32_t, unsigned) = {run_1, run_2, run_3,
                                                                         run_4};
    for (;;) {
        strand *ready[SIDE_BY_SIDE];
        uint32_t n_blocks = UINT32_MAX;
        unsigned m = 0;
        for (unsigned i = 0; i < n; i++) {
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
static bool step_with_care(strand *s, __m512i *symbols) {
    lanes l = s->lanes;
    *symbols = s->table->log2_alphabet == 4 ? step(&l, s->rows, 4) : step(&l, s->rows, 6);
    for (unsigned i = 0; i < 2; i++)
        if (l.words[i] > s->ends[i]) return false;
    s->lanes = l;
    return true;
}

static void emit_last(strand *s, uint32_t p, uint32_t end) {
    uint8_t symbols[WC_BLOCK];
    uint64_t n_values = tare_wc_values_of(s->job->item, s->job->n_bytes);
    if (end - p == WC_BLOCK && end <= n_values) {
        emit_block(s->job, p, s->symbols);
        return;
    }
    memcpy(symbols, s->symbols, sizeof symbols);
    for (uint32_t i = 0; p + i < end; i += TARE_WC_LANES)
        tare_wc_emit_c(s->job, p + i, symbols + i);
}

static void finish(strand *s) {
    uint32_t n = s->job->n_positions;
    bool has_run_out = false;
    while (s->p < n && !has_run_out) {
        uint32_t first = s->p;
        uint32_t end = n - first < WC_BLOCK ? n : first + WC_BLOCK;
        choose_table(s);
        for (unsigned j = 0; s->p < end && !has_run_out; j++) {
            has_run_out = !step_with_care(s, &s->symbols[j]);
            if (!has_run_out) s->p += TARE_WC_LANES;
        }
        emit_last(s, first, s->p);
    }
    give_back_lanes(s);
    if (has_run_out) s->job->lanes.has_run_out = true;
}

static void decode(tare_wc_job *jobs, unsigned n_jobs) {
    strand strands[SIDE_BY_SIDE];
    for (unsigned i = 0; i < n_jobs; i++) begin(&strands[i], &jobs[i]);
    run_blocks(strands, n_jobs, 6);
    run_blocks(strands, n_jobs, 4);
    for (unsigned i = 0; i < n_jobs; i++) finish(&strands[i]);
}

void tare_wc_kernels_use_decode_vbmi2(tare_wc_kernels *k) {
    k->decode = decode;
}
