/* SPDX-License-Identifier: MIT
 *
 * Units of joined planes for AVX2, 32 values at a time. Bytes are looked up in tables of 16, and
 * most formats need one or two of these; a bit is moved by testing whether it is set. */
#include <immintrin.h>

#include "wcodec/x86/wc_sixes_avx2.h"
#include "wcodec/x86/wc_x86.h"

enum {
    STEP = 32,
    LEAST_LOG2 = 4,
    MOST_LOG2 = 8,
    TABLES = 4,
    MOST_STEPS = 8,
    MOST_PIECES = 8, /* high bits of values in a byte */
    MOST_OUTS = 2,   /* vectors of the high bytes of a unit */
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

static bool is_ours(const tare_wc_join *w) {
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

/* ---- to the plane ---------------------------------------------------------------------------- */

/* n high bytes, 2 to 64, as tables. */
static ALWAYS_INLINE void load_tables(__m256i tables[TABLES], const uint8_t *high, size_t n) {
    if (n < 16) {
        tables[0] = _mm256_broadcastq_epi64(load_few(high, n));
        return;
    }
    for (unsigned t = 0; t < TABLES && (t == 0 || 16 * t < n); t++)
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
                 size_t stride, const tare_wc_join *shape) {
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

/* ---- from the plane -------------------------------------------------------------------------- */

/* 32 values from 24 bytes, or half of that. */
static ALWAYS_INLINE __m256i load_values(const uint8_t *plane, bool is_half) {
    __m128i first, last = _mm_setzero_si128(); /* the latter's begin at its byte 4 */
    if (is_half) {
        first = _mm_unpacklo_epi64(load_few(plane, 8), load_few(plane + 8, 4));
    } else {
        first = _mm_loadu_si128((const __m128i *)(const void *)plane);
        last = _mm_loadu_si128((const __m128i *)(const void *)(plane + 8));
    }
    __m256i x = _mm256_inserti128_si256(_mm256_castsi128_si256(first), last, 1);
    const __m256i four = _mm256_setr_epi8(0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1, //
                                          4, 5, 6, -1, 7, 8, 9, -1, 10, 11, 12, -1, 13, 14, 15, -1);
    x = _mm256_shuffle_epi8(x, four);
    __m256i a = _mm256_and_si256(x, _mm256_set1_epi32(0x3f));
    __m256i b = _mm256_and_si256(_mm256_slli_epi32(x, 2), _mm256_set1_epi32(0x3f00));
    __m256i c = _mm256_and_si256(_mm256_slli_epi32(x, 4), _mm256_set1_epi32(0x3f0000));
    __m256i d = _mm256_and_si256(_mm256_slli_epi32(x, 6), _mm256_set1_epi32(0x3f000000));
    return _mm256_or_si256(_mm256_or_si256(a, b), _mm256_or_si256(c, d));
}

static ALWAYS_INLINE void store_low(uint8_t *low, __m256i v, bool is_half) {
    v = _mm256_and_si256(v, _mm256_set1_epi8(15));
    v = _mm256_maddubs_epi16(v, _mm256_set1_epi16(1 | 16 << 8));
    v = _mm256_permute4x64_epi64(_mm256_packus_epi16(v, v), 0x08);
    if (is_half)
        _mm_storel_epi64((__m128i *)(void *)low, _mm256_castsi256_si128(v));
    else
        _mm_storeu_si128((__m128i *)(void *)low, _mm256_castsi256_si128(v));
}

/* Where high bytes come from. Units of one step: each high bit is a test of a byte. */
typedef union separator {
    look_up few[MOST_OUTS];
    look_up many[MOST_OUTS][MOST_PIECES];
} separator;
_Static_assert(sizeof(separator) <= sizeof((tare_wc_separator *)0)->room, "a separator");

static bool is_short(const tare_wc_join *shape) {
    return 1u << shape->log2_values <= STEP;
}

static void prepare_short(separator *s, const tare_wc_join *shape, const uint16_t *numbers) {
    places p[MOST_OUTS];
    for (unsigned o = 0; o < MOST_OUTS; o++) no_places(&p[o]);
    for (unsigned v = 0; v < 1u << shape->log2_values; v++)
        for (unsigned b = 0; b < shape->high_bits; b++) {
            unsigned to = numbers[v] * shape->high_bits + b;
            set_place(&p[to / STEP], to % STEP, v, TARE_WC_JOIN_LOW_BITS + b);
        }
    for (unsigned o = 0; o < MOST_OUTS; o++) finish(&s->few[o], &p[o]);
}

static void prepare_long(separator *s, const tare_wc_join *shape, const uint16_t *numbers) {
    places p[MOST_OUTS][MOST_PIECES];
    const unsigned bits = shape->high_bits, n_pieces = 8 / bits;
    const unsigned n_outs = tare_wc_join_high_bytes(shape) > STEP ? MOST_OUTS : 1;
    for (unsigned c = 0; c < n_pieces; c++)
        for (unsigned o = 0; o < n_outs; o++) no_places(&p[o][c]);
    for (unsigned v = 0; v < 1u << shape->log2_values; v++) {
        unsigned byte = numbers[v] / n_pieces, at = v / STEP * bits;
        set_place(&p[byte / STEP][numbers[v] % n_pieces], byte % STEP, at / 8 * STEP + v % STEP,
                  at % 8);
    }
    for (unsigned c = 0; c < n_pieces; c++)
        for (unsigned o = 0; o < n_outs; o++) finish(&s->many[o][c], &p[o][c]);
}

static void prepare(tare_wc_separator *out, const tare_wc_join *shape) {
    uint16_t numbers[TARE_WC_JOIN_VALUES];
    separator *s = (separator *)(void *)out->room;
    if (!is_ours(shape)) {
        tare_wc_prepare_c(out, shape);
        return;
    }
    out->join = *shape;
    tare_wc_join_places(numbers, shape);
    if (is_short(shape))
        prepare_short(s, shape, numbers);
    else
        prepare_long(s, shape, numbers);
}

static void separate_short(uint8_t *low, uint8_t *high, const uint8_t *plane, size_t n_units,
                           size_t stride, const tare_wc_join *shape, const look_up *outs) {
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

/* High bits of the steps are laid beside each other in one or two vectors: of step k from bit
 * k * bits on. Two tables each. */
static void separate_long(uint8_t *low, uint8_t *high, const uint8_t *plane, size_t n_units,
                          size_t stride, const tare_wc_join *shape,
                          const look_up outs[MOST_OUTS][MOST_PIECES]) {
    const size_t n_high = tare_wc_join_high_bytes(shape);
    const unsigned bits = shape->high_bits, n_pieces = 8 / bits;
    const unsigned n_steps = (1u << shape->log2_values) / STEP,
                   n_outs = n_high > STEP ? MOST_OUTS : 1;
    for (; n_units; n_units--, low += stride, high += stride) {
        __m256i tops[MOST_OUTS] = {_mm256_setzero_si256(), _mm256_setzero_si256()}, tables[TABLES];
        for (unsigned k = 0; k < n_steps; k++, plane += STEP / 4 * 3) {
            __m256i v = load_values(plane, false);
            store_low(low + k * (STEP / 2), v, false);
            v = _mm256_and_si256(v, _mm256_set1_epi8((char)(((1u << bits) - 1) << 4)));
            v = _mm256_srli_epi16(v, TARE_WC_JOIN_LOW_BITS);
            v = _mm256_sll_epi16(v, _mm_cvtsi32_si128((int)(k * bits % 8)));
            tops[k * bits / 8] = _mm256_or_si256(tops[k * bits / 8], v);
        }
        for (unsigned t = 0; t < TABLES; t += 2) {
            tables[t] = _mm256_permute4x64_epi64(tops[t / 2], 0x44);
            tables[t + 1] = _mm256_permute4x64_epi64(tops[t / 2], 0xee);
        }
        for (unsigned o = 0; o < n_outs; o++) {
            __m256i all = _mm256_setzero_si256();
            for (unsigned c = 0; c < n_pieces; c++)
                all = _mm256_or_si256(all, pieces(&outs[o][c], tables, c * bits, bits == 2));
            store_first(high + o * STEP, all, n_high);
        }
    }
}

static void separate(uint8_t *low, uint8_t *high, const uint8_t *plane, size_t n_units,
                     size_t stride, const tare_wc_separator *by) {
    const separator *s = (const separator *)(const void *)by->room;
    if (!is_ours(&by->join))
        tare_wc_separate_c(low, high, plane, n_units, stride, by);
    else if (is_short(&by->join))
        separate_short(low, high, plane, n_units, stride, &by->join, s->few);
    else
        separate_long(low, high, plane, n_units, stride, &by->join, s->many);
}

void tare_wc_kernels_use_join_avx2(tare_wc_kernels *k) {
    k->join = join;
    k->prepare = prepare;
    k->separate = separate;
}
