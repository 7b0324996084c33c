/* SPDX-License-Identifier: MIT
 *
 * Units of joined planes for AVX-512 with VBMI, up to 64 values at a time. Between a value and its
 * high bits lie a permutation of bytes and one of bits inside bytes: a multishift rotates each byte
 * as needed; bits of the next byte that come along are masked out. */
#include <immintrin.h>

#include "wcodec/x86/wc_sixes_avx512.h"
#include "wcodec/x86/wc_x86.h"

enum {
    STEP = 64,
    MOST_STEPS = 4,
    MOST_LOG2 = 8,
    MOST_PIECES = 8, /* high bits of values in a byte */
};

/* The parameters common to all units. */
typedef struct joiner {
    unsigned n_steps, bits, n_pieces; /* steps in a unit; high bits of a value; pieces in a byte */
    size_t low_step, plane_step;      /* bytes of a step */
    __mmask64 low, high, plane;       /* bytes that a step has, high ones: a unit */
    __m512i tops;                     /* the high bits of each value */
    __m512i spread, shifts;           /* six bytes to eight; values to their bytes */
} joiner;

static __mmask64 first_of(size_t n) {
    return n < 64 ? (UINT64_C(1) << n) - 1 : ~UINT64_C(0);
}

static void begin(joiner *w, const tare_wc_join *join) {
    unsigned n = 1u << join->log2_values;
    w->n_steps = n > STEP ? n / STEP : 1;
    w->bits = join->high_bits;
    w->n_pieces = 8u / w->bits;
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

/* ---- to the plane ---------------------------------------------------------------------------- */

static void join(uint8_t *plane, const uint8_t *low, const uint8_t *high, size_t n_units,
                 size_t stride, const tare_wc_join *shape) {
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

/* ---- from the plane -------------------------------------------------------------------------- */

/* The values of a step, a byte each; their nibbles are stored. */
static ALWAYS_INLINE __m512i take_values(const joiner *w, uint8_t *low, const uint8_t *plane) {
    __m512i v = _mm512_maskz_loadu_epi8(w->plane, plane);
    v = _mm512_multishift_epi64_epi8(w->shifts, _mm512_permutexvar_epi8(w->spread, v));
    const __m512i nibbles = _mm512_set1_epi8(15), pair = _mm512_set1_epi16(1 | 16 << 8);
    __m512i bytes = _mm512_maddubs_epi16(_mm512_and_si512(v, nibbles), pair);
    _mm256_mask_storeu_epi8(low, (__mmask32)w->low, _mm512_cvtepi16_epi8(bytes));
    return v;
}

/* Units with at most 64 high bits: each is a test of a byte. */
typedef struct short_units {
    __m512i froms, bits;
} short_units;

/* Others: where the pieces of high bytes come from. */
typedef struct long_units {
    __m512i froms[MOST_PIECES], bys[MOST_PIECES], keep[MOST_PIECES];
} long_units;

typedef struct separator {
    joiner w;
    union {
        short_units few;
        long_units many;
    };
} separator;
_Static_assert(sizeof(separator) <= sizeof((tare_wc_separator *)0)->room, "a separator");

static void prepare_short(separator *s, const uint16_t *places, unsigned n_values) {
    uint8_t from[STEP] = {0}, bit[STEP] = {0};
    for (unsigned v = 0; v < n_values; v++)
        for (unsigned b = 0; b < s->w.bits; b++) {
            from[places[v] * s->w.bits + b] = (uint8_t)v;
            bit[places[v] * s->w.bits + b] = (uint8_t)(1u << (TARE_WC_JOIN_LOW_BITS + b));
        }
    s->few.froms = _mm512_loadu_si512(from);
    s->few.bits = _mm512_loadu_si512(bit);
}

static void prepare_long(separator *s, const uint16_t *places, unsigned n_values) {
    uint8_t from[MOST_PIECES][STEP] = {{0}}, by[MOST_PIECES][STEP] = {{0}};
    const unsigned bits = s->w.bits, n_pieces = s->w.n_pieces;
    for (unsigned v = 0; v < n_values; v++) {
        unsigned byte = places[v] / n_pieces, piece = places[v] % n_pieces;
        from[piece][byte] = (uint8_t)(v % STEP);
        by[piece][byte] = turn(byte, v / STEP * bits, piece * bits);
    }
    for (unsigned c = 0; c < n_pieces; c++) {
        s->many.froms[c] = _mm512_loadu_si512(from[c]);
        s->many.bys[c] = _mm512_loadu_si512(by[c]);
        s->many.keep[c] = _mm512_set1_epi8((char)(((1u << bits) - 1) << c * bits));
    }
}

static bool is_short(const tare_wc_join *shape) {
    return (unsigned)shape->high_bits << shape->log2_values <= STEP;
}

static void prepare(tare_wc_separator *out, const tare_wc_join *shape) {
    uint16_t places[TARE_WC_JOIN_VALUES];
    separator *s = (separator *)(void *)out->room;
    if (shape->log2_values > MOST_LOG2) {
        tare_wc_prepare_c(out, shape);
        return;
    }
    out->join = *shape;
    begin(&s->w, shape);
    tare_wc_join_places(places, shape);
    if (is_short(shape))
        prepare_short(s, places, 1u << shape->log2_values);
    else
        prepare_long(s, places, 1u << shape->log2_values);
}

static void separate_short(const separator *s, uint8_t *low, uint8_t *high, const uint8_t *plane,
                           size_t n_units, size_t stride) {
    const joiner *w = &s->w;
    for (; n_units; n_units--, low += stride, high += stride, plane += w->plane_step) {
        __m512i v = _mm512_permutexvar_epi8(s->few.froms, take_values(w, low, plane));
        long long all = (long long)_mm512_test_epi8_mask(v, s->few.bits);
        _mm_mask_storeu_epi8(high, (__mmask16)w->high, _mm_cvtsi64_si128(all));
    }
}

/* High bits of the steps are laid beside each other, those of step k from bit k * bits on, and each
 * byte of high bits takes its pieces from there. Numbers of steps and pieces are known where this
 * is called. */
static ALWAYS_INLINE void separate_long(const separator *s, uint8_t *low, uint8_t *high,
                                        const uint8_t *plane, size_t n_units, size_t stride,
                                        const unsigned n_steps, const unsigned n_pieces) {
    const joiner *w = &s->w;
    const long_units *p = &s->many;
    const unsigned bits = 8 / n_pieces;
    for (; n_units; n_units--, low += stride, high += stride) {
        __m512i tops = _mm512_setzero_si512();
        for (unsigned k = 0; k < n_steps; k++, plane += w->plane_step) {
            __m512i v = take_values(w, low + k * w->low_step, plane);
            v = _mm512_srli_epi16(_mm512_and_si512(v, w->tops), TARE_WC_JOIN_LOW_BITS);
            v = _mm512_sll_epi16(v, _mm_cvtsi32_si128((int)(k * bits)));
            tops = _mm512_or_si512(tops, v);
        }
        __m512i all = _mm512_setzero_si512();
        for (unsigned c = 0; c < n_pieces; c++) {
            __m512i piece =
                _mm512_multishift_epi64_epi8(p->bys[c], _mm512_permutexvar_epi8(p->froms[c], tops));
            all = _mm512_or_si512(all, _mm512_and_si512(piece, p->keep[c]));
        }
        _mm512_mask_storeu_epi8(high, w->high, all);
    }
}

static void separate(uint8_t *low, uint8_t *high, const uint8_t *plane, size_t n_units,
                     size_t stride, const tare_wc_separator *by) {
    const separator *s = (const separator *)(const void *)by->room;
    if (by->join.log2_values > MOST_LOG2)
        tare_wc_separate_c(low, high, plane, n_units, stride, by);
    else if (is_short(&by->join))
        separate_short(s, low, high, plane, n_units, stride);
    else if (s->w.n_steps == 4 && s->w.bits == 2)
        separate_long(s, low, high, plane, n_units, stride, 4, 4);
    else if (s->w.n_steps == 4)
        separate_long(s, low, high, plane, n_units, stride, 4, 8);
    else
        separate_long(s, low, high, plane, n_units, stride, s->w.n_steps, s->w.n_pieces);
}

void tare_wc_kernels_use_join_vbmi2(tare_wc_kernels *k) {
    k->join = join;
    k->prepare = prepare;
    k->separate = separate;
}
