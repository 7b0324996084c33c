/* SPDX-License-Identifier: MIT
 *
 * Values to symbols and bypass bits for AVX-512 with VBMI: 64 positions at a time, the last ones
 * by masks. */
#include <immintrin.h>

#include "wcodec/wc_choose.h"
#include "wcodec/x86/wc_edge_avx512.h"
#include "wcodec/x86/wc_x86.h"

/* The parameters common to all steps of a job. */
typedef struct splitter {
    const tare_wc_split_job *job;
    uint8_t widths[TARE_WC_BYPASS_GROUPS];
    unsigned n_groups;
    __m128i to_top, to_sign; /* shifts: of the top; of the sign to the first bypass bit */
    uint16_t top, keep, sign;
    __m512i map[4];                     /* 8-bit values: symbols of all bytes */
    bool is_window;                     /* 16-bit values: mapped tops stand in a row */
    uint16_t window_first, window_size; /* of these */
} splitter;

static void begin(splitter *s, const tare_wc_split_job *job) {
    const tare_wc_rule *rule = job->rule;
    unsigned k = rule->k, is_sign = rule->form == TARE_CODED_SIGN;
    uint8_t map[256];
    *s = (splitter){.job = job};
    s->n_groups = tare_wc_group_widths(s->widths, k);
    s->to_top = _mm_cvtsi32_si128((int)(k - is_sign));
    s->to_sign = _mm_cvtsi32_si128((int)(job->value_bits - k));
    s->top = (uint16_t)((1u << (job->value_bits - k)) - 1);
    s->keep = (uint16_t)((1u << (k - is_sign)) - 1);
    s->sign = (uint16_t)(is_sign << (job->value_bits - 1));
    if (!rule->has_map) return;
    memset(map, TARE_WC_NO_SYMBOL, sizeof map);
    if (job->value_bits == 8) memcpy(map, job->symbol_of, s->top + 1u);
    for (unsigned i = 0; i < 4; i++) s->map[i] = _mm512_loadu_si512(map + 64 * i);
    s->is_window = tare_wc_rule_window(&s->window_first, &s->window_size, rule);
}

/* The first n of 64. */
static ALWAYS_INLINE __mmask64 first_of(uint32_t n) {
    return n < 64 ? (UINT64_C(1) << n) - 1 : ~UINT64_C(0);
}

/* Symbols of a step; positions in `none` have no symbol. */
static ALWAYS_INLINE void put_symbols(const tare_wc_split_job *job, uint32_t p, __m512i symbols,
                                      __mmask64 none, __mmask64 is_value) {
    const tare_wc_table *t = job->tables + (job->classes ? job->classes[p / WC_BLOCK] : 0);
    __m512i freq = _mm512_or_si512(_mm512_loadu_si512(t->freq_low), //
                                   _mm512_loadu_si512(t->freq_high));
    freq = _mm512_permutexvar_epi8(symbols, freq);
    none = (none | _mm512_testn_epi8_mask(freq, freq)) & is_value;
    symbols = _mm512_mask_mov_epi8(symbols, none | ~is_value, _mm512_set1_epi8((char)t->cheapest));
    _mm512_storeu_si512(job->symbols + (p - job->first), symbols);
    job->misfits[p / TARE_WC_LANES] = none;
}

/* The bits of a group, in bytes whose other bits are 0. The first step of a block begins it. */
static ALWAYS_INLINE void put_bits(uint8_t *group, uint32_t p, unsigned width, __m512i bits) {
    unsigned shift;
    uint8_t *at = group + tare_wc_group_at(width, p, &shift);
    bits = _mm512_sll_epi16(bits, _mm_cvtsi32_si128((int)shift));
    if (shift) bits = _mm512_or_si512(bits, _mm512_loadu_si512(at));
    _mm512_storeu_si512(at, bits);
}

/* ---- items of less than 8 bits --------------------------------------------------------------- */

static void split_nibbles(const tare_wc_split_job *job) {
    const __m512i nibble = _mm512_set1_epi8(15);
    for (uint32_t p = job->first; p < job->end; p += 2 * TARE_WC_LANES) {
        __mmask64 is_value = first_of(job->n_bytes - p / 2);
        __m512i v = _mm512_maskz_loadu_epi8(is_value, job->values + p / 2);
        put_symbols(job, p, _mm512_and_si512(v, nibble), 0, is_value);
        v = _mm512_and_si512(_mm512_srli_epi16(v, 4), nibble);
        put_symbols(job, p + TARE_WC_LANES, v, 0, is_value);
    }
}

/* Eight values are six bytes: these to a quadword, from which each takes its bits. */
static void split_sixes(const tare_wc_split_job *job) {
    uint8_t order[64], shifts[64];
    for (unsigned i = 0; i < 64; i++) {
        order[i] = (uint8_t)(i / 8 * 6 + i % 8);
        shifts[i] = (uint8_t)(i % 8 * 6);
    }
    const __m512i to = _mm512_loadu_si512(order), by = _mm512_loadu_si512(shifts);
    for (uint32_t p = job->first; p < job->end; p += TARE_WC_LANES) {
        uint32_t at = p / 4 * 3, n = job->n_bytes - at < 48 ? job->n_bytes - at : 48;
        __m512i v = _mm512_maskz_loadu_epi8(first_of(n), job->values + at);
        v = _mm512_multishift_epi64_epi8(by, _mm512_permutexvar_epi8(to, v));
        put_symbols(job, p, _mm512_and_si512(v, _mm512_set1_epi8(63)), 0, first_of(n / 3 * 4));
    }
}

/* ---- items of 8 bits ------------------------------------------------------------------------- */

static ALWAYS_INLINE void put_byte_groups(const splitter *s, uint32_t p, __m512i low) {
    uint8_t *group = s->job->groups;
    unsigned place = s->job->rule->k;
    for (unsigned g = 0; g < s->n_groups; g++) {
        unsigned width = s->widths[g];
        place -= width;
        __m512i bits = _mm512_srl_epi16(low, _mm_cvtsi32_si128((int)place));
        put_bits(group, p, width,
                 _mm512_and_si512(bits, _mm512_set1_epi8((char)((1 << width) - 1))));
        group += tare_wc_group_bytes(width, s->job->n_positions);
    }
}

static void split_bytes(const splitter *s) {
    const tare_wc_split_job *job = s->job;
    const __m512i top_bits = _mm512_set1_epi8((char)s->top);
    const __m512i keep = _mm512_set1_epi8((char)s->keep), sign = _mm512_set1_epi8((char)s->sign);
    for (uint32_t p = job->first; p < job->end; p += TARE_WC_LANES) {
        __mmask64 is_value = first_of(job->n_bytes - p), none = 0;
        __m512i v = _mm512_maskz_loadu_epi8(is_value, job->values + p);
        if (job->rule->form == TARE_CODED_EDGE) v = edge_slots(v);
        __m512i symbols = _mm512_and_si512(_mm512_srl_epi16(v, s->to_top), top_bits);
        __m512i low = _mm512_srl_epi16(_mm512_and_si512(v, sign), s->to_sign);
        low = _mm512_or_si512(low, _mm512_and_si512(v, keep));
        if (job->rule->has_map) {
            __mmask64 is_upper = _mm512_movepi8_mask(symbols);
            __m512i upper = _mm512_permutex2var_epi8(s->map[2], symbols, s->map[3]);
            symbols = _mm512_permutex2var_epi8(s->map[0], symbols, s->map[1]);
            symbols = _mm512_mask_mov_epi8(symbols, is_upper, upper);
            none = _mm512_movepi8_mask(symbols); /* TARE_WC_NO_SYMBOL */
        }
        put_symbols(job, p, symbols, none, is_value);
        put_byte_groups(s, p, low);
    }
}

/* ---- items of 16 bits ------------------------------------------------------------------------ */

/* The lower bytes of 64 words. */
static ALWAYS_INLINE __m512i narrow(const __m512i words[2], __m512i order) {
    __m512i mixed = _mm512_mask_blend_epi8(UINT64_C(0xaaaaaaaaaaaaaaaa), words[0],
                                           _mm512_slli_epi16(words[1], 8));
    return _mm512_permutexvar_epi8(order, mixed);
}

/* Symbols of 32 tops, in words whose upper bytes hold anything. */
static ALWAYS_INLINE __m512i map_words(const splitter *s, __m512i top) {
    if (s->is_window) {
        __m512i symbol = _mm512_sub_epi16(top, _mm512_set1_epi16((short)s->window_first));
        __mmask32 is_out =
            _mm512_cmpge_epu16_mask(symbol, _mm512_set1_epi16((short)s->window_size));
        return _mm512_mask_mov_epi16(symbol, is_out, _mm512_set1_epi16(TARE_WC_NO_SYMBOL));
    }
    __m512i even = _mm512_and_si512(top, _mm512_set1_epi32(0xffff));
    __m512i odd = _mm512_srli_epi32(top, 16);
    even = _mm512_i32gather_epi32(even, s->job->symbol_of, 1);
    odd = _mm512_i32gather_epi32(odd, s->job->symbol_of, 1);
    return _mm512_mask_blend_epi16(0xaaaaaaaa, even, _mm512_slli_epi32(odd, 16));
}

static ALWAYS_INLINE void put_word_groups(const splitter *s, uint32_t p, const __m512i low[2],
                                          __m512i order) {
    uint8_t *group = s->job->groups;
    unsigned place = s->job->rule->k;
    for (unsigned g = 0; g < s->n_groups; g++) {
        unsigned width = s->widths[g];
        place -= width;
        const __m128i down = _mm_cvtsi32_si128((int)place);
        const __m512i bits[2] = {_mm512_srl_epi16(low[0], down), _mm512_srl_epi16(low[1], down)};
        put_bits(group, p, width,
                 _mm512_and_si512(narrow(bits, order), _mm512_set1_epi8((char)((1 << width) - 1))));
        group += tare_wc_group_bytes(width, s->job->n_positions);
    }
}

static void split_words(const splitter *s) {
    const tare_wc_split_job *job = s->job;
    const __m512i top_bits = _mm512_set1_epi16((short)s->top);
    const __m512i keep = _mm512_set1_epi16((short)s->keep),
                  sign = _mm512_set1_epi16((short)s->sign);
    uint8_t places[64];
    for (unsigned i = 0; i < 64; i++) places[i] = (uint8_t)(i % 32 * 2 + i / 32);
    const __m512i order = _mm512_loadu_si512(places);
    for (uint32_t p = job->first; p < job->end; p += TARE_WC_LANES) {
        __mmask64 is_value = first_of(job->n_bytes / 2 - p), none = 0;
        __m512i symbols[2], low[2];
        for (unsigned h = 0; h < 2; h++) {
            __m512i v = _mm512_maskz_loadu_epi16((__mmask32)(is_value >> 32 * h),
                                                 job->values + 2 * (size_t)p + 64 * h);
            symbols[h] = _mm512_and_si512(_mm512_srl_epi16(v, s->to_top), top_bits);
            low[h] = _mm512_srl_epi16(_mm512_and_si512(v, sign), s->to_sign);
            low[h] = _mm512_or_si512(low[h], _mm512_and_si512(v, keep));
            if (job->rule->has_map) symbols[h] = map_words(s, symbols[h]);
        }
        __m512i bytes = narrow(symbols, order);
        if (job->rule->has_map) none = _mm512_movepi8_mask(bytes); /* TARE_WC_NO_SYMBOL */
        put_symbols(job, p, bytes, none, is_value);
        put_word_groups(s, p, low, order);
    }
}

static void split(const tare_wc_split_job *job) {
    splitter s;
    if (job->value_bits == 4) {
        split_nibbles(job);
    } else if (job->value_bits == 6) {
        split_sixes(job);
    } else {
        begin(&s, job);
        if (job->value_bits == 8)
            split_bytes(&s);
        else
            split_words(&s);
    }
}

void tare_wc_kernels_use_split_vbmi2(tare_wc_kernels *k) {
    k->split = split;
}
