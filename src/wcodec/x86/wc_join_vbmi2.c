/* SPDX-License-Identifier: MIT
 *
 * Units of joined streams for AVX-512 with VBMI, up to 64 values at a time. Between a value and its
 * high bits lie a permutation of bytes and one of bits inside bytes: a multishift rotates each byte
 * as needed; bits of the next byte that come along are masked out. */
#include <immintrin.h>

#include "wcodec/wc_join_pieces.h"
#include "wcodec/x86/wc_sixes_avx512.h"
#include "wcodec/x86/wc_x86.h"

enum {
    LOG2_STEP = 6,
    STEP = 1 << LOG2_STEP,
    MOST_STEPS = 4,
    MOST_LOG2 = TARE_WC_PIECES_LOG2,
    MOST_TOPS = 2,
};

/* The parameters common to all units. */
typedef struct joiner {
    unsigned n_steps, bits;      /* steps in a unit; high bits of a value */
    size_t low_step, plane_step; /* bytes of a step */
    __mmask64 low, high, plane;  /* bytes that a step has, high ones: a unit */
    __m512i tops;                /* the high bits of each value */
    __m512i spread, shifts;      /* six bytes to eight; values to their bytes */
} joiner;

static __mmask64 first_of(size_t n) {
    return n < 64 ? (UINT64_C(1) << n) - 1 : ~UINT64_C(0);
}

static void begin(joiner *w, const tare_coded_join *join) {
    unsigned n = 1u << join->log2_values;
    w->n_steps = n > STEP ? n / STEP : 1;
    w->bits = join->high_bits;
    w->low_step = n / w->n_steps / 2;
    w->plane_step = w->low_step / 2 * 3;
    w->low = first_of(w->low_step);
    w->high = first_of(tare_wc_join_high_bytes(join));
    w->plane = first_of(w->plane_step);
    w->tops = _mm512_set1_epi8((char)(((1u << w->bits) - 1) << TARE_WC_JOIN_LOW_BITS));
    uint8_t spread[STEP], shifts[STEP];
    for (unsigned i = 0; i < STEP; i++) {
        spread[i] = (uint8_t)(i / 8 * 6 + i % 8);
        shifts[i] = (uint8_t)(i % 8 * 6);
    }
    w->spread = _mm512_loadu_si512(spread);
    w->shifts = _mm512_loadu_si512(shifts);
}

/* Byte `to` of a vector gets bit `from_bit` of some byte, moved to bit `to_bit`. */
static uint8_t turn(unsigned to, unsigned from_bit, unsigned to_bit) {
    return (uint8_t)((to * 8 + from_bit + 64 - to_bit) & 63);
}

/* ---- to the stream --------------------------------------------------------------------------- */

static void join(uint8_t *plane, const uint8_t *low, const uint8_t *high, size_t n_units,
                 size_t stride, const tare_coded_join *shape) {
    uint16_t places[TARE_WC_JOIN_VALUES];
    uint8_t from[MOST_STEPS][STEP] = {{0}}, by[MOST_STEPS][STEP] = {{0}};
    __m512i froms[MOST_STEPS], bys[MOST_STEPS];
    joiner w;
    if (shape->log2_values > MOST_LOG2) {
        tare_wc_join_c(plane, low, high, n_units, stride, shape);
        return;
    }
    begin(&w, shape);
    tare_wc_join_places(places, shape);
    for (unsigned v = 0; v < 1u << shape->log2_values; v++) {
        unsigned bit = places[v] * w.bits;
        from[v / STEP][v % STEP] = (uint8_t)(bit / 8);
        by[v / STEP][v % STEP] = turn(v % STEP, bit % 8, TARE_WC_JOIN_LOW_BITS);
    }
    for (unsigned k = 0; k < MOST_STEPS; k++) {
        froms[k] = _mm512_loadu_si512(from[k]);
        bys[k] = _mm512_loadu_si512(by[k]);
    }
    const __m512i nibbles = _mm512_set1_epi8(15);
    for (; n_units; n_units--, low += stride, high += stride) {
        const __m512i tops = _mm512_maskz_loadu_epi8(w.high, high);
        for (unsigned k = 0; k < w.n_steps; k++, plane += w.plane_step) {
            __m256i bytes = _mm256_maskz_loadu_epi8((__mmask32)w.low, low + k * w.low_step);
            __m512i v = _mm512_cvtepu8_epi16(bytes);
            v = _mm512_and_si512(_mm512_or_si512(v, _mm512_slli_epi16(v, 4)), nibbles);
            __m512i top =
                _mm512_multishift_epi64_epi8(bys[k], _mm512_permutexvar_epi8(froms[k], tops));
            v = _mm512_or_si512(v, _mm512_and_si512(top, w.tops));
            _mm512_mask_storeu_epi8(plane, w.plane, pack_sixes(v));
        }
    }
}

/* ---- from the stream ------------------------------------------------------------------------- */

/* Units with at most 64 high bits: each is a test of a byte. */
typedef struct short_units {
    __m512i froms, bits;
} short_units;

/* Others: the high bits of steps, moved to where they are in bytes of one vector or the other; which
 * bytes of these make the pieces of high bytes. */
typedef struct long_units {
    __m512i moves[MOST_STEPS], keep[MOST_STEPS][MOST_TOPS];
    __m512i froms[TARE_WC_PIECES];
    __m128i shifts[TARE_WC_PIECES];
    unsigned n_pieces;
} long_units;

typedef struct separator {
    joiner w;
    union {
        short_units few;
        long_units many;
    };
} separator;
_Static_assert(sizeof(separator) <= sizeof((tare_wc_separator *)0)->room, "a separator");

static void prepare_short(separator *s, const tare_coded_join *shape) {
    uint16_t places[TARE_WC_JOIN_VALUES];
    uint8_t from[STEP] = {0}, bit[STEP] = {0};
    tare_wc_join_places(places, shape);
    for (unsigned v = 0; v < 1u << shape->log2_values; v++)
        for (unsigned b = 0; b < s->w.bits; b++) {
            from[places[v] * s->w.bits + b] = (uint8_t)v;
            bit[places[v] * s->w.bits + b] = (uint8_t)(1u << (TARE_WC_JOIN_LOW_BITS + b));
        }
    s->few.froms = _mm512_loadu_si512(from);
    s->few.bits = _mm512_loadu_si512(bit);
}

static void prepare_long(separator *s, const tare_coded_join *shape) {
    long_units *many = &s->many;
    tare_wc_join_pieces p;
    tare_wc_join_pieces_of(&p, shape, LOG2_STEP);
    many->n_pieces = p.n_pieces;
    for (unsigned k = 0; k < s->w.n_steps; k++) {
        uint8_t moves[STEP];
        for (unsigned i = 0; i < STEP; i++)
            moves[i] = (uint8_t)((i % 8 * 6 + TARE_WC_JOIN_LOW_BITS + 64 - p.at[k]) & 63);
        many->moves[k] = _mm512_loadu_si512(moves);
        const __m512i keep = _mm512_set1_epi8((char)(((1u << s->w.bits) - 1) << p.at[k]));
        for (unsigned t = 0; t < MOST_TOPS; t++)
            many->keep[k][t] = p.top[k] == t ? keep : _mm512_setzero_si512();
    }
    for (unsigned c = 0; c < p.n_pieces; c++) {
        many->froms[c] = _mm512_loadu_si512(p.from[c]);
        many->shifts[c] = _mm_cvtsi32_si128(p.shift[c]);
    }
}

static bool is_short(const tare_coded_join *shape) {
    return (unsigned)shape->high_bits << shape->log2_values <= STEP;
}

static bool is_separated_here(const tare_coded_join *shape) {
    return shape->log2_values <= MOST_LOG2 &&
           1u << tare_wc_join_tops_log2(shape, LOG2_STEP) <= MOST_TOPS;
}

static void prepare(tare_wc_separator *out, const tare_coded_join *shape) {
    separator *s = (separator *)(void *)out->room;
    if (!is_separated_here(shape)) {
        tare_wc_prepare_c(out, shape);
        return;
    }
    out->join = *shape;
    begin(&s->w, shape);
    if (is_short(shape))
        prepare_short(s, shape);
    else
        prepare_long(s, shape);
}

/* The values of a step as the stream has them, eight to 64 bits. */
static ALWAYS_INLINE __m512i load_eights(const joiner *w, const uint8_t *plane) {
    return _mm512_permutexvar_epi8(w->spread, _mm512_maskz_loadu_epi8(w->plane, plane));
}

/* Their nibbles, two in a byte, in the lower bytes of words. */
static ALWAYS_INLINE __m512i pair_nibbles(__m512i values) {
    return _mm512_maddubs_epi16(_mm512_and_si512(values, _mm512_set1_epi8(15)),
                                _mm512_set1_epi16(1 | 16 << 8));
}

static void separate_short(const separator *s, uint8_t *low, uint8_t *high, const uint8_t *plane,
                           size_t n_units, size_t stride) {
    const joiner w = s->w; /* copies, as what is written cannot change these */
    const short_units p = s->few;
    for (; n_units; n_units--, low += stride, high += stride, plane += w.plane_step) {
        __m512i v = _mm512_multishift_epi64_epi8(w.shifts, load_eights(&w, plane));
        _mm256_mask_storeu_epi8(low, (__mmask32)w.low, _mm512_cvtepi16_epi8(pair_nibbles(v)));
        v = _mm512_permutexvar_epi8(p.froms, v);
        long long all = (long long)_mm512_test_epi8_mask(v, p.bits);
        _mm_mask_storeu_epi8(high, (__mmask16)w.high, _mm_cvtsi64_si128(all));
    }
}

static ALWAYS_INLINE void store_first(uint8_t *to, __m512i bytes, const size_t n) {
    if (n == 64)
        _mm512_storeu_si512(to, bytes);
    else if (n == 32)
        _mm256_storeu_si256((__m256i *)(void *)to, _mm512_castsi512_si256(bytes));
    else
        _mm_storeu_si128((__m128i *)(void *)to, _mm512_castsi512_si128(bytes));
}

/* The nibbles of two steps. */
static ALWAYS_INLINE void store_nibbles(uint8_t *low, __m512i first, __m512i second) {
    uint8_t even[STEP];
    for (unsigned i = 0; i < STEP; i++) even[i] = (uint8_t)(2 * i);
    _mm512_storeu_si512(low, _mm512_permutex2var_epi8(first, _mm512_loadu_si512(even), second));
}

/* Numbers of steps, bits and pieces are known where this is called. */
static ALWAYS_INLINE void separate_long(const separator *s, uint8_t *low, uint8_t *high,
                                        const uint8_t *plane, size_t n_units, size_t stride,
                                        const unsigned n_steps, const unsigned bits,
                                        const unsigned n_pieces) {
    const joiner w = s->w; /* copies, as what is written cannot change these */
    const long_units p = s->many;
    for (; n_units; n_units--, low += stride, high += stride) {
        __m512i tops[MOST_TOPS] = {_mm512_setzero_si512(), _mm512_setzero_si512()};
        __m512i nibbles = _mm512_setzero_si512();
        for (unsigned k = 0; k < n_steps; k++, plane += w.plane_step) {
            const __m512i eights = load_eights(&w, plane), before = nibbles;
            nibbles = pair_nibbles(_mm512_multishift_epi64_epi8(w.shifts, eights));
            if (k % 2) store_nibbles(low + (k - 1) * (STEP / 2), before, nibbles);
            const __m512i top = _mm512_multishift_epi64_epi8(p.moves[k], eights);
            for (unsigned t = 0; t < MOST_TOPS; t++)
                tops[t] = _mm512_ternarylogic_epi32(tops[t], top, p.keep[k][t], 0xf8);
        }
        if (n_steps == 1)
            store_first(low, _mm512_castsi256_si512(_mm512_cvtepi16_epi8(nibbles)), 32);
        __m512i all = _mm512_permutex2var_epi8(tops[0], p.froms[0], tops[1]);
        for (unsigned c = 1; c < n_pieces; c++) {
            __m512i piece = _mm512_permutex2var_epi8(tops[0], p.froms[c], tops[1]);
            all = _mm512_or_si512(all, _mm512_sll_epi16(piece, p.shifts[c]));
        }
        store_first(high, all, STEP / 8 * n_steps * bits);
    }
}

static void separate(uint8_t *low, uint8_t *high, const uint8_t *plane, size_t n_units,
                     size_t stride, const tare_wc_separator *by) {
    const separator *s = (const separator *)(const void *)by->room;
    if (!is_separated_here(&by->join)) {
        tare_wc_separate_c(low, high, plane, n_units, stride, by);
        return;
    }
    if (is_short(&by->join)) {
        separate_short(s, low, high, plane, n_units, stride);
        return;
    }
    switch (s->w.n_steps * 2 + s->w.bits - 1) {
#define CASE(STEPS, BITS)                                                                          \
    case (STEPS)*2 + (BITS)-1:                                                                     \
        if (s->many.n_pieces == 2)                                                                 \
            separate_long(s, low, high, plane, n_units, stride, STEPS, BITS, 2);                   \
        else                                                                                       \
            separate_long(s, low, high, plane, n_units, stride, STEPS, BITS, s->many.n_pieces);    \
        break;
        CASE(1, 2)
        CASE(2, 1)
        CASE(2, 2)
        CASE(4, 1)
        CASE(4, 2)
#undef CASE
    }
}

void tare_wc_kernels_use_join_vbmi2(tare_wc_kernels *k) {
    k->join = join;
    k->prepare = prepare;
    k->separate = separate;
}
