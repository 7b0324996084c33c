/* SPDX-License-Identifier: MIT
 *
 * Units of joined streams for AVX2, 32 values at a time. Bytes are looked up in tables of 16, and
 * most formats need one or two of these; on the way to the stream and in short units a bit is moved
 * by testing whether it is set. */
#include <immintrin.h>

#include "wcodec/wc_join_pieces.h"
#include "wcodec/x86/wc_sixes_avx2.h"
#include "wcodec/x86/wc_x86.h"

enum {
    LOG2_STEP = 5,
    STEP = 1 << LOG2_STEP,
    LEAST_LOG2 = 4,
    MOST_LOG2 = TARE_WC_PIECES_LOG2,
    MOST_TOPS = 4,
    TABLES = 2 * MOST_TOPS,
    MOST_STEPS = TARE_WC_PIECES_STEPS,
    MOST_OUTS = 2, /* vectors of the high bytes of a unit */
    NOWHERE = 0x80,
};

/* 32 bytes from tables of 16, and the bit of each that is wanted. */
typedef struct look_up {
    __m256i from[TABLES], bit;
    uint8_t table[TABLES]; /* those that are asked, */
    unsigned n;            /* in number */
} look_up;

/* The same while it is made, byte by byte. */
typedef struct places {
    uint8_t from[TABLES][STEP], bit[STEP];
} places;

static void no_places(places *p) {
    memset(p->from, NOWHERE, sizeof p->from);
    memset(p->bit, 0, sizeof p->bit);
}

static void set_place(places *p, unsigned i, unsigned byte, unsigned bit) {
    p->from[byte / 16][i] = (uint8_t)(byte % 16);
    p->bit[i] = (uint8_t)(1u << bit);
}

static void finish(look_up *out, const places *p) {
    out->n = 0;
    out->bit = _mm256_loadu_si256((const __m256i *)(const void *)p->bit);
    for (uint8_t t = 0; t < TABLES; t++) {
        __m256i from = _mm256_loadu_si256((const __m256i *)(const void *)p->from[t]);
        if (_mm256_movemask_epi8(from) == -1) continue; /* nowhere */
        out->from[out->n] = from;
        out->table[out->n++] = t;
    }
}

static ALWAYS_INLINE __m256i ask(const look_up *l, const __m256i tables[TABLES]) {
    __m256i bytes = _mm256_shuffle_epi8(tables[l->table[0]], l->from[0]);
    for (unsigned i = 1; i < l->n; i++)
        bytes = _mm256_or_si256(bytes, _mm256_shuffle_epi8(tables[l->table[i]], l->from[i]));
    return bytes;
}

/* Where `bytes` have the bit, `as`. */
static ALWAYS_INLINE __m256i moved(__m256i bytes, __m256i bit, unsigned as) {
    __m256i is_set = _mm256_cmpeq_epi8(_mm256_and_si256(bytes, bit), bit);
    return _mm256_and_si256(is_set, _mm256_set1_epi8((char)as));
}

/* One bit or two of each, to bit `to` and the one above. */
static ALWAYS_INLINE __m256i pieces(const look_up *l, const __m256i tables[TABLES], unsigned to,
                                    bool is_pair) {
    __m256i bytes = ask(l, tables), first = moved(bytes, l->bit, 1u << to);
    if (!is_pair) return first;
    return _mm256_or_si256(first, moved(bytes, _mm256_add_epi8(l->bit, l->bit), 2u << to));
}

static bool is_ours(const tare_coded_join *w) {
    return w->log2_values >= LEAST_LOG2 && w->log2_values <= MOST_LOG2;
}

/* n bytes: 2, 4 or 8. */
static ALWAYS_INLINE __m128i load_few(const uint8_t *bytes, size_t n) {
    uint16_t two;
    int four;
    if (n == 8) return _mm_loadl_epi64((const __m128i *)(const void *)bytes);
    memcpy(&two, bytes, 2);
    if (n == 2) return _mm_cvtsi32_si128(two);
    memcpy(&four, bytes, 4);
    return _mm_cvtsi32_si128(four);
}

static ALWAYS_INLINE void store_four(uint8_t *bytes, int four) {
    memcpy(bytes, &four, 4);
}

/* ---- to the stream --------------------------------------------------------------------------- */

/* n high bytes, 2 to 64, as tables. */
static ALWAYS_INLINE void load_tables(__m256i tables[TABLES], const uint8_t *high, size_t n) {
    if (n < 16) {
        tables[0] = _mm256_broadcastq_epi64(load_few(high, n));
        return;
    }
    for (unsigned t = 0; t == 0 || 16 * t < n; t++)
        tables[t] = _mm256_broadcastsi128_si256(
            _mm_loadu_si128((const __m128i *)(const void *)(high + 16 * t)));
}

/* 32 values in 24 bytes, or half of that. */
static ALWAYS_INLINE void store_values(uint8_t *plane, __m256i v, bool is_half) {
    if (!is_half) {
        store_sixes(plane, v);
        return;
    }
    __m128i first = _mm256_castsi256_si128(pack_sixes(v));
    _mm_storel_epi64((__m128i *)(void *)plane, first);
    store_four(plane + 8, _mm_extract_epi32(first, 2));
}

static void join(uint8_t *plane, const uint8_t *low, const uint8_t *high, size_t n_units,
                 size_t stride, const tare_coded_join *shape) {
    uint16_t numbers[TARE_WC_JOIN_VALUES];
    look_up tops[MOST_STEPS];
    places p;
    if (!is_ours(shape)) {
        tare_wc_join_c(plane, low, high, n_units, stride, shape);
        return;
    }
    const size_t n_high = tare_wc_join_high_bytes(shape);
    const unsigned n = 1u << shape->log2_values, n_steps = (n + STEP - 1) / STEP;
    const unsigned step = n < STEP ? n : STEP;
    const bool is_pair = shape->high_bits == 2, is_half = n < STEP;
    tare_wc_join_places(numbers, shape);
    for (unsigned k = 0; k < n_steps; k++) {
        no_places(&p);
        for (unsigned i = 0; i < step; i++) {
            unsigned bit = numbers[k * STEP + i] * shape->high_bits;
            set_place(&p, i, bit / 8, bit % 8);
        }
        finish(&tops[k], &p);
    }
    const __m256i nibbles = _mm256_set1_epi8(15);
    for (; n_units; n_units--, low += stride, high += stride) {
        __m256i tables[TABLES];
        load_tables(tables, high, n_high);
        for (unsigned k = 0; k < n_steps; k++, plane += step / 4 * 3) {
            const __m128i *from = (const __m128i *)(const void *)(low + k * (STEP / 2));
            __m128i bytes = is_half ? _mm_loadl_epi64(from) : _mm_loadu_si128(from);
            __m256i v = _mm256_cvtepu8_epi16(bytes);
            v = _mm256_and_si256(_mm256_or_si256(v, _mm256_slli_epi16(v, 4)), nibbles);
            __m256i top = pieces(&tops[k], tables, TARE_WC_JOIN_LOW_BITS, is_pair);
            store_values(plane, _mm256_or_si256(v, top), is_half);
        }
    }
}

/* ---- from the stream ------------------------------------------------------------------------- */

/* 32 values from 24 bytes, or half of that: pairs of twelve bits, then each value. */
static ALWAYS_INLINE __m256i load_values(const uint8_t *plane, bool is_half) {
    __m128i first, last = _mm_setzero_si128(); /* the latter's begin at its byte 4 */
    if (is_half) {
        first = _mm_unpacklo_epi64(load_few(plane, 8), load_few(plane + 8, 4));
    } else {
        first = _mm_loadu_si128((const __m128i *)(const void *)plane);
        last = _mm_loadu_si128((const __m128i *)(const void *)(plane + 8));
    }
    __m256i x = _mm256_inserti128_si256(_mm256_castsi128_si256(first), last, 1);
    const __m256i pairs = _mm256_setr_epi8(0, 1, 1, 2, 3, 4, 4, 5, 6, 7, 7, 8, 9, 10, 10, 11, //
                                           4, 5, 5, 6, 7, 8, 8, 9, 10, 11, 11, 12, 13, 14, 14, 15);
    x = _mm256_shuffle_epi8(x, pairs);
    x = _mm256_blend_epi16(_mm256_and_si256(x, _mm256_set1_epi32(0xfff)), _mm256_srli_epi32(x, 4),
                           0xaa);
    const __m256i upper = _mm256_and_si256(x, _mm256_set1_epi16(0xfc0));
    return _mm256_add_epi16(x, _mm256_mullo_epi16(upper, _mm256_set1_epi16(3)));
}

/* Nibbles of values, two in a byte, in words. */
static ALWAYS_INLINE __m256i pair_nibbles(__m256i v) {
    v = _mm256_and_si256(v, _mm256_set1_epi8(15));
    return _mm256_maddubs_epi16(v, _mm256_set1_epi16(1 | 16 << 8));
}

static ALWAYS_INLINE void store_low(uint8_t *low, __m256i v, bool is_half) {
    v = pair_nibbles(v);
    v = _mm256_permute4x64_epi64(_mm256_packus_epi16(v, v), 0x08);
    if (is_half)
        _mm_storel_epi64((__m128i *)(void *)low, _mm256_castsi256_si128(v));
    else
        _mm_storeu_si128((__m128i *)(void *)low, _mm256_castsi256_si128(v));
}

/* Those of two steps. */
static ALWAYS_INLINE void store_two_low(uint8_t *low, __m256i first, __m256i second) {
    __m256i bytes = _mm256_packus_epi16(pair_nibbles(first), pair_nibbles(second));
    _mm256_storeu_si256((__m256i *)(void *)low, _mm256_permute4x64_epi64(bytes, 0xd8));
}

/* Units of several steps: where the bits of a step go, and the bytes that make the pieces of high
 * ones. */
typedef struct long_units {
    __m128i at[MOST_STEPS], shifts[TARE_WC_PIECES];
    uint8_t top[MOST_STEPS];
    unsigned n_tops, n_pieces;
    look_up outs[MOST_OUTS * 4]; /* of an output, its pieces; two outputs have 4 pieces at most */
} long_units;

/* Where high bytes come from. Units of one step: each high bit is a test of a byte. */
typedef union separator {
    look_up few[MOST_OUTS];
    long_units many;
} separator;
_Static_assert(sizeof(separator) <= sizeof((tare_wc_separator *)0)->room, "a separator");

static bool is_short(const tare_coded_join *shape) {
    return 1u << shape->log2_values <= STEP;
}

static bool is_separated_here(const tare_coded_join *shape) {
    return is_ours(shape) && 1u << tare_wc_join_tops_log2(shape, LOG2_STEP) <= MOST_TOPS;
}

static void prepare_short(separator *s, const tare_coded_join *shape) {
    uint16_t numbers[TARE_WC_JOIN_VALUES];
    places p[MOST_OUTS];
    tare_wc_join_places(numbers, shape);
    for (unsigned o = 0; o < MOST_OUTS; o++) no_places(&p[o]);
    for (unsigned v = 0; v < 1u << shape->log2_values; v++)
        for (unsigned b = 0; b < shape->high_bits; b++) {
            unsigned to = numbers[v] * shape->high_bits + b;
            set_place(&p[to / STEP], to % STEP, v, TARE_WC_JOIN_LOW_BITS + b);
        }
    for (unsigned o = 0; o < MOST_OUTS; o++) finish(&s->few[o], &p[o]);
}

static void prepare_long(long_units *s, const tare_coded_join *shape) {
    const unsigned n_high = tare_wc_join_high_bytes(shape);
    tare_wc_join_pieces pieces;
    tare_wc_join_pieces_of(&pieces, shape, LOG2_STEP);
    s->n_tops = pieces.n_tops;
    s->n_pieces = pieces.n_pieces;
    memcpy(s->top, pieces.top, sizeof s->top);
    for (unsigned k = 0; k < MOST_STEPS; k++) s->at[k] = _mm_cvtsi32_si128(pieces.at[k]);
    for (unsigned c = 0; c < pieces.n_pieces; c++) {
        s->shifts[c] = _mm_cvtsi32_si128(pieces.shift[c]);
        for (unsigned o = 0; o * STEP < n_high; o++) {
            places p;
            no_places(&p);
            for (unsigned i = 0; i < STEP && o * STEP + i < n_high; i++)
                set_place(&p, i, pieces.from[c][o * STEP + i], 0);
            finish(&s->outs[o * pieces.n_pieces + c], &p);
        }
    }
}

static void prepare(tare_wc_separator *out, const tare_coded_join *shape) {
    separator *s = (separator *)(void *)out->room;
    if (!is_separated_here(shape)) {
        tare_wc_prepare_c(out, shape);
        return;
    }
    out->join = *shape;
    if (is_short(shape))
        prepare_short(s, shape);
    else
        prepare_long(&s->many, shape);
}

static void separate_short(uint8_t *low, uint8_t *high, const uint8_t *plane, size_t n_units,
                           size_t stride, const tare_coded_join *shape, const look_up *outs) {
    const unsigned n = 1u << shape->log2_values, n_bits = n * shape->high_bits;
    const bool is_half = n < STEP;
    for (; n_units; n_units--, low += stride, high += stride, plane += n / 4 * 3) {
        __m256i v = load_values(plane, is_half), tables[TABLES];
        store_low(low, v, is_half);
        tables[0] = _mm256_permute4x64_epi64(v, 0x44);
        tables[1] = _mm256_permute4x64_epi64(v, 0xee);
        for (unsigned o = 0; o * STEP < n_bits; o++) {
            __m256i is_set = moved(ask(&outs[o], tables), outs[o].bit, 0xff);
            int four = _mm256_movemask_epi8(is_set);
            memcpy(high + o * (STEP / 8), &four, n_bits < STEP ? 2 : 4);
        }
    }
}

/* The first n of 32 bytes: all, or half of them, or 8. */
static ALWAYS_INLINE void store_first(uint8_t *dst, __m256i bytes, size_t n) {
    if (n >= STEP)
        _mm256_storeu_si256((__m256i *)(void *)dst, bytes);
    else if (n == 16)
        _mm_storeu_si128((__m128i *)(void *)dst, _mm256_castsi256_si128(bytes));
    else
        _mm_storel_epi64((__m128i *)(void *)dst, _mm256_castsi256_si128(bytes));
}

/* Adds the high bits of a step's values to those of its vector. */
static ALWAYS_INLINE void take_tops(__m256i tops[MOST_TOPS], const long_units *s, unsigned k,
                                    __m256i values, __m256i mask) {
    __m256i v = _mm256_and_si256(_mm256_srli_epi16(values, TARE_WC_JOIN_LOW_BITS), mask);
    tops[s->top[k]] = _mm256_or_si256(tops[s->top[k]], _mm256_sll_epi16(v, s->at[k]));
}

/* The number of steps is known where this is called. */
static ALWAYS_INLINE void separate_long(uint8_t *low, uint8_t *high, const uint8_t *plane,
                                        size_t n_units, size_t stride, const tare_coded_join *shape,
                                        const long_units *s, const unsigned n_steps) {
    const size_t n_high = tare_wc_join_high_bytes(shape);
    const __m256i mask = _mm256_set1_epi8((char)((1u << shape->high_bits) - 1));
    for (; n_units; n_units--, low += stride, high += stride) {
        __m256i tops[MOST_TOPS] = {_mm256_setzero_si256(), _mm256_setzero_si256(),
                                   _mm256_setzero_si256(), _mm256_setzero_si256()};
        __m256i tables[TABLES];
        for (unsigned k = 0; k < n_steps; k += 2, plane += 2 * STEP / 4 * 3) {
            __m256i first = load_values(plane, false);
            __m256i second = load_values(plane + STEP / 4 * 3, false);
            store_two_low(low + k * (STEP / 2), first, second);
            take_tops(tops, s, k, first, mask);
            take_tops(tops, s, k + 1, second, mask);
        }
        for (unsigned t = 0; t < s->n_tops; t++) {
            tables[2 * t] = _mm256_permute4x64_epi64(tops[t], 0x44);
            tables[2 * t + 1] = _mm256_permute4x64_epi64(tops[t], 0xee);
        }
        for (unsigned o = 0; o * STEP < n_high; o++) {
            const look_up *outs = s->outs + o * s->n_pieces;
            __m256i all = ask(&outs[0], tables);
            for (unsigned c = 1; c < s->n_pieces; c++)
                all = _mm256_or_si256(all, _mm256_sll_epi16(ask(&outs[c], tables), s->shifts[c]));
            store_first(high + o * STEP, all, n_high);
        }
    }
}

static void separate(uint8_t *low, uint8_t *high, const uint8_t *plane, size_t n_units,
                     size_t stride, const tare_wc_separator *by) {
    const separator *s = (const separator *)(const void *)by->room;
    const tare_coded_join *shape = &by->join;
    if (!is_separated_here(shape))
        tare_wc_separate_c(low, high, plane, n_units, stride, by);
    else if (is_short(shape))
        separate_short(low, high, plane, n_units, stride, shape, s->few);
    else if (shape->log2_values == 6)
        separate_long(low, high, plane, n_units, stride, shape, &s->many, 2);
    else if (shape->log2_values == 7)
        separate_long(low, high, plane, n_units, stride, shape, &s->many, 4);
    else
        separate_long(low, high, plane, n_units, stride, shape, &s->many, 8);
}

void tare_wc_kernels_use_join_avx2(tare_wc_kernels *k) {
    k->join = join;
    k->prepare = prepare;
    k->separate = separate;
}
