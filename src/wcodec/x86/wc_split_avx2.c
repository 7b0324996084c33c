/* SPDX-License-Identifier: MIT
 *
 * Values to symbols and bypass bits for AVX2: 32 positions at a time. The last positions are left
 * to the scalar reference. */
#include <immintrin.h>

#include "wcodec/wc_choose.h"
#include "wcodec/x86/wc_edge_avx2.h"
#include "wcodec/x86/wc_lookup_avx2.h"
#include "wcodec/x86/wc_x86.h"

/* Bypass bits of one width. */
typedef struct group {
    uint8_t *bytes;
    unsigned width;
    __m128i down; /* shift to the last bits of a value */
    __m256i mask; /* of these, in every value */
} group;

/* The parameters common to all steps of a job. */
typedef struct splitter {
    const tare_wc_split_job *job;
    const tare_wc_table *table;
    row has;      /* of *table: 0 where a symbol has no frequency */
    bool has_all; /* none is 0 */
    group groups[TARE_WC_BYPASS_GROUPS];
    unsigned n_groups;
    __m128i to_top, to_sign; /* shifts: of the top; of the sign to the first bypass bit */
    uint16_t top, keep, sign;
    row map[4];                         /* 8-bit values: symbols of all tops */
    unsigned n_quarters;                /* of map, each of 16; 0: no map */
    bool is_window;                     /* 16-bit values: mapped tops stand in a row */
    uint16_t window_first, window_size; /* of these */
} splitter;

static void begin_groups(splitter *s, const tare_wc_split_job *job) {
    uint8_t widths[TARE_WC_BYPASS_GROUPS], *bytes = job->groups;
    unsigned place = job->rule->k;
    s->n_groups = tare_wc_group_widths(widths, place);
    for (unsigned g = 0; g < s->n_groups; g++) {
        const int mask = (1 << widths[g]) - 1;
        place -= widths[g];
        s->groups[g] = (group){.bytes = bytes,
                               .width = widths[g],
                               .down = _mm_cvtsi32_si128((int)place),
                               .mask = job->value_bits == 16 ? _mm256_set1_epi16((short)mask)
                                                             : _mm256_set1_epi8((char)mask)};
        bytes += tare_wc_group_bytes(widths[g], job->n_positions);
    }
}

static void begin(splitter *s, const tare_wc_split_job *job) {
    const tare_wc_rule *rule = job->rule;
    unsigned k = rule->k, is_sign = rule->form == TARE_CODED_SIGN;
    *s = (splitter){.job = job, .is_window = true, .window_size = 64};
    begin_groups(s, job);
    s->to_top = _mm_cvtsi32_si128((int)(k - is_sign));
    s->to_sign = _mm_cvtsi32_si128((int)(job->value_bits - k));
    s->top = (uint16_t)((1u << (job->value_bits - k)) - 1);
    s->keep = (uint16_t)((1u << (k - is_sign)) - 1);
    s->sign = (uint16_t)(is_sign << (job->value_bits - 1));
    if (!rule->has_map) return;
    s->is_window = tare_wc_rule_window(&s->window_first, &s->window_size, rule);
    if (job->value_bits != 8) return;
    s->n_quarters = (s->top + 1u) / 16;
    for (unsigned i = 0; i < s->n_quarters / 4; i++) s->map[i] = load_row(job->symbol_of + 64 * i);
}

/* Half a step: 32 symbols, at p. `none` is nonzero where there is no symbol; returns the misfits.
 */
static ALWAYS_INLINE uint32_t put_symbols(splitter *s, uint32_t p, __m256i symbols, __m256i none) {
    const tare_wc_split_job *job = s->job;
    const tare_wc_table *t = job->tables + (job->classes ? job->classes[p / WC_BLOCK] : 0);
    if (t != s->table) {
        uint8_t has[64];
        s->has_all = true;
        for (unsigned i = 0; i < 64; i++) {
            has[i] = t->freq_low[i] | t->freq_high[i];
            s->has_all = s->has_all && has[i];
        }
        s->has = load_row(has);
        s->table = t;
    }
    if (!s->has_all) {
        lut_index at = lut_index_of(symbols);
        __m256i is_zero = _mm256_cmpeq_epi8(look_up(&s->has, &at), _mm256_setzero_si256());
        none = _mm256_or_si256(none, is_zero);
    }
    symbols = _mm256_blendv_epi8(symbols, _mm256_set1_epi8((char)t->cheapest), none);
    store_256(job->symbols + (p - job->first), symbols);
    return (uint32_t)_mm256_movemask_epi8(none);
}

/* A step's misfits from those of its halves. */
static inline void put_misfits(const tare_wc_split_job *job, uint32_t p, uint32_t first,
                               uint32_t second) {
    job->misfits[p / TARE_WC_LANES] = first | (uint64_t)second << 32;
}

/* Half a step's bits of a group, in bytes whose other bits are 0. */
static ALWAYS_INLINE void put_bits(const group *g, uint32_t p, __m256i bits) {
    unsigned shift;
    uint32_t in_step = p % TARE_WC_LANES;
    uint8_t *at = g->bytes + tare_wc_group_at(g->width, p - in_step, &shift) + in_step;
    bits = _mm256_sll_epi16(bits, _mm_cvtsi32_si128((int)shift));
    store_256(at, shift ? _mm256_or_si256(bits, load_256(at)) : bits);
}

static ALWAYS_INLINE __m256i low_bits(const group *g, __m256i low) {
    return _mm256_and_si256(_mm256_srl_epi16(low, g->down), g->mask);
}

/* ---- a step of each width --------------------------------------------------------------------- */

/* Two steps: the low nibbles of 64 bytes, then the high ones. */
static ALWAYS_INLINE void split_nibbles(splitter *s, uint32_t p) {
    const __m256i nibble = _mm256_set1_epi8(15), zero = _mm256_setzero_si256();
    const uint8_t *values = s->job->values + p / 2;
    for (int high = 0; high < 2; high++) {
        uint32_t misfits[2];
        for (unsigned h = 0; h < 2; h++) {
            __m256i v = _mm256_srl_epi16(load_256(values + 32 * h), _mm_cvtsi32_si128(4 * high));
            misfits[h] = put_symbols(s, p + 32 * h, _mm256_and_si256(v, nibble), zero);
        }
        put_misfits(s->job, p, misfits[0], misfits[1]);
        p += TARE_WC_LANES;
    }
}

/* Three bytes to four: each value takes its bits. */
static ALWAYS_INLINE void split_sixes(splitter *s, uint32_t p) {
    const __m256i apart = _mm256_setr_epi8(0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1, //
                                           0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1);
    uint32_t misfits[2];
    for (unsigned h = 0; h < 2; h++) {
        const uint8_t *at = s->job->values + p / 4 * 3 + 24 * h;
        __m128i first = _mm_loadu_si128((const __m128i *)(const void *)at);
        __m128i second = _mm_loadu_si128((const __m128i *)(const void *)(at + 12));
        __m256i v = _mm256_inserti128_si256(_mm256_castsi128_si256(first), second, 1);
        v = _mm256_shuffle_epi8(v, apart);
        __m256i a = _mm256_and_si256(v, _mm256_set1_epi32(63));
        __m256i b = _mm256_and_si256(_mm256_slli_epi32(v, 2), _mm256_set1_epi32(63 << 8));
        __m256i c = _mm256_and_si256(_mm256_slli_epi32(v, 4), _mm256_set1_epi32(63 << 16));
        __m256i d = _mm256_and_si256(_mm256_slli_epi32(v, 6), _mm256_set1_epi32(63 << 24));
        v = _mm256_or_si256(_mm256_or_si256(a, b), _mm256_or_si256(c, d));
        misfits[h] = put_symbols(s, p + 32 * h, v, _mm256_setzero_si256());
    }
    put_misfits(s->job, p, misfits[0], misfits[1]);
}

/* Symbols of tops; tops without one get TARE_WC_NO_SYMBOL. As in look_up, each shuffle gives 0 for
 * all but 16 of the bytes. */
static ALWAYS_INLINE __m256i map_bytes(const splitter *s, __m256i top) {
    __m256i symbols = _mm256_setzero_si256();
    for (unsigned i = 0; i < s->n_quarters; i++) {
        __m256i in = _mm256_xor_si256(top, _mm256_set1_epi8((char)(16 * i)));
        in = _mm256_adds_epu8(in, _mm256_set1_epi8(0x70));
        __m256i found = _mm256_shuffle_epi8(s->map[i / 4].quarter[i % 4], in);
        symbols = _mm256_or_si256(symbols, found);
    }
    return symbols;
}

static ALWAYS_INLINE void split_bytes(splitter *s, uint32_t p) {
    const __m256i top_bits = _mm256_set1_epi8((char)s->top);
    const __m256i keep = _mm256_set1_epi8((char)s->keep), sign = _mm256_set1_epi8((char)s->sign);
    uint32_t misfits[2];
    for (unsigned h = 0; h < 2; h++) {
        __m256i v = load_256(s->job->values + p + 32 * h);
        if (s->job->rule->form == TARE_CODED_EDGE) v = edge_slots(v);
        __m256i top = _mm256_and_si256(_mm256_srl_epi16(v, s->to_top), top_bits);
        __m256i low = _mm256_srl_epi16(_mm256_and_si256(v, sign), s->to_sign);
        low = _mm256_or_si256(low, _mm256_and_si256(v, keep));
        __m256i none = _mm256_setzero_si256();
        if (s->n_quarters) {
            top = map_bytes(s, top);
            none = _mm256_cmpgt_epi8(none, top); /* TARE_WC_NO_SYMBOL */
        }
        misfits[h] = put_symbols(s, p + 32 * h, top, none);
        for (const group *g = s->groups; g < s->groups + s->n_groups; g++)
            put_bits(g, p + 32 * h, low_bits(g, low));
    }
    put_misfits(s->job, p, misfits[0], misfits[1]);
}

/* The bytes of 32 words below 256. */
static ALWAYS_INLINE __m256i narrow(__m256i first, __m256i second) {
    return _mm256_permute4x64_epi64(_mm256_packus_epi16(first, second), 0xd8);
}

/* Symbols of 16 tops, and all ones where they have one. */
static ALWAYS_INLINE __m256i map_words(const splitter *s, __m256i top, __m256i *fits) {
    const int *symbol_of = (const int *)(const void *)s->job->symbol_of;
    if (s->is_window) {
        top = _mm256_sub_epi16(top, _mm256_set1_epi16((short)s->window_first));
        __m256i last = _mm256_set1_epi16((short)(s->window_size - 1));
        __m256i symbols = _mm256_min_epu16(top, last);
        *fits = _mm256_cmpeq_epi16(top, symbols);
        return symbols;
    }
    __m256i even = _mm256_and_si256(top, _mm256_set1_epi32(0xffff)), none;
    __m256i odd = _mm256_srli_epi32(top, 16);
    even = _mm256_i32gather_epi32(symbol_of, even, 1);
    odd = _mm256_i32gather_epi32(symbol_of, odd, 1);
    top = _mm256_blend_epi16(even, _mm256_slli_epi32(odd, 16), 0xaa);
    top = _mm256_and_si256(top, _mm256_set1_epi16(0xff));
    none = _mm256_cmpeq_epi16(top, _mm256_set1_epi16(TARE_WC_NO_SYMBOL));
    *fits = _mm256_xor_si256(none, _mm256_set1_epi8(-1));
    return top;
}

static ALWAYS_INLINE void split_words(splitter *s, uint32_t p) {
    const __m256i top_bits = _mm256_set1_epi16((short)s->top);
    const __m256i keep = _mm256_set1_epi16((short)s->keep),
                  sign = _mm256_set1_epi16((short)s->sign);
    uint32_t misfits[2];
    for (unsigned h = 0; h < 2; h++) {
        __m256i symbols[2], fits[2], low[2];
        for (unsigned i = 0; i < 2; i++) {
            __m256i v = load_256(s->job->values + 2 * (size_t)p + 64 * h + 32 * i);
            __m256i top = _mm256_and_si256(_mm256_srl_epi16(v, s->to_top), top_bits);
            low[i] = _mm256_srl_epi16(_mm256_and_si256(v, sign), s->to_sign);
            low[i] = _mm256_or_si256(low[i], _mm256_and_si256(v, keep));
            symbols[i] = map_words(s, top, &fits[i]);
        }
        __m256i none = _mm256_packs_epi16(fits[0], fits[1]);
        none = _mm256_xor_si256(_mm256_permute4x64_epi64(none, 0xd8), _mm256_set1_epi8(-1));
        misfits[h] = put_symbols(s, p + 32 * h, narrow(symbols[0], symbols[1]), none);
        for (const group *g = s->groups; g < s->groups + s->n_groups; g++)
            put_bits(g, p + 32 * h, narrow(low_bits(g, low[0]), low_bits(g, low[1])));
    }
    put_misfits(s->job, p, misfits[0], misfits[1]);
}

/* ---- jobs ------------------------------------------------------------------------------------ */

/* The first position after `from` that a step, which has so many and reads so many bytes, cannot
 * begin at. */
static uint32_t end_of_steps(const tare_wc_split_job *job, uint32_t positions, uint32_t bytes) {
    if (job->n_bytes < bytes) return job->first;
    const uint64_t last = tare_wc_values_of(job->value_bits, job->n_bytes - bytes);
    const uint32_t end = (uint32_t)(last / positions + 1) * positions;
    return end < job->first ? job->first : end > job->end ? job->end : end;
}

#define SPLIT(step, positions, bytes)                                                              \
    for (uint32_t end = end_of_steps(job, positions, bytes); p < end; p += (positions)) step(&s, p)

static void split(const tare_wc_split_job *job) {
    splitter s;
    uint32_t p = job->first;
    begin(&s, job);
    if (job->value_bits == 4)
        SPLIT(split_nibbles, 2 * TARE_WC_LANES, 64);
    else if (job->value_bits == 6)
        SPLIT(split_sixes, TARE_WC_LANES, 52);
    else if (job->value_bits == 8)
        SPLIT(split_bytes, TARE_WC_LANES, 64);
    else
        SPLIT(split_words, TARE_WC_LANES, 128);
    for (; p < job->end; p += TARE_WC_LANES) tare_wc_split_step_c(job, p);
}

void tare_wc_kernels_use_split_avx2(tare_wc_kernels *k) {
    k->split = split;
}
