/* SPDX-License-Identifier: MIT
 *
 * Encoding LANES units at once, where a unit is a run of elements with its own scale: written on
 * the names of lanes_avx2.h or lanes_avx512.h, which the including file chooses.
 *
 * The extremes of each unit are gathered across vectors until lane b holds those of unit b, so that
 * one or two divisions and one conversion to f16 serve all of them. Groups that a format cannot
 * handle identically in vectors (the references skip a NaN, a tree of maxima does not) are handed
 * to the reference. */
#ifndef TARE_ENCODING_SIMD_ENCODE_GROUPS_H
#define TARE_ENCODING_SIMD_ENCODE_GROUPS_H

#include "encoding/float16.h"
#include "encoding/scalar.h"

INLINE vec max_as_signed(vec a, vec b) {
    return of_bits(max_signed(bits_of(a), bits_of(b)));
}

DEFINE_ACROSS(across_max_signed, max_as_signed)

INLINE block32 load_block(const float *src) {
    block32 b;
    for (int i = 0; i < VECTORS; i++) b.v[i] = load(src + i * LANES);
    return b;
}

/* Lane b: the largest magnitude of unit b. False: there is a NaN. */
INLINE bool sizes_of_group(vec *sizes, const float *src, int unit) {
    vec size[LANES];
    for (int b = 0; b < LANES; b++) {
        ivec largest = all_i(0);
        for (int i = 0; i < unit; i += LANES) {
            ivec bits = bits_of(load(src + b * unit + i));
            largest = max_signed(largest, and_i(bits, all_i(~TARE_F32_SIGN)));
        }
        size[b] = of_bits(largest);
    }
    *sizes = across_max_signed(size);
    return greater_mask(bits_of(*sizes), all_i(TARE_F32_INF)) == 0;
}

/* Half away from zero, after truncation: the float below one half, with the sign of the number, is
 * added. (0.5 itself would carry the float below 0.5 up to 1.) */
INLINE vec half_away(vec t) {
    const ivec sign = all_i(TARE_F32_SIGN), below_half = all_i(UINT32_C(0x3effffff));
    return add(t, of_bits(or_i(and_i(bits_of(t), sign), below_half)));
}
INLINE ivec rounded_away(vec t) {
    return whole_of(half_away(t));
}

enum { LEVEL_STEPS = 7 }; /* between the 8 magnitudes of an E2M1 code */

/* What is known about a group when its codes are written. */
typedef struct group {
    uint16_t d[LANES]; /* the factors as stored, inverted */
    float id[LANES];
    uint16_t m[LANES]; /* offsets */
    float min[LANES];
    uint32_t scales[LANES];          /* bytes in place of d */
    float reach[LEVEL_STEPS][LANES]; /* what a magnitude must exceed to have a code above each */
} group;

INLINE void set_factors(group *g, vec d) {
    store_halves(g->d, d);
    store(g->id, inverse(d));
}
INLINE void set_mins(group *g, vec min) {
    store_halves(g->m, min);
    store(g->min, min);
}

typedef bool (*scan_fn)(group *g, const float *src);
typedef void (*write_fn)(uint8_t *dst, const float *src, const group *g);

enum { AHEAD = 512 }; /* floats before they are scanned: half a page was best, or near it */

/* Prefetches memory that will be read soon; it may be past the end. */
INLINE void fetch_floats(const float *src, size_t at, size_t n) {
    for (size_t i = 0; i < n; i += 16)
        __builtin_prefetch((const char *)((uintptr_t)src + (at + i) * sizeof *src));
}

/* A group is scanned before the one ahead of it is written: the long dependency from a scan's last
 * maximum through two divisions overlaps with the writing, which does not depend on it. */
INLINE void encode_groups(const tare_rows_mut *rows, const float *src, size_t unit,
                          size_t unit_bytes, scan_fn scan, write_fn write, tare_encode_fn scalar) {
    const size_t group_size = LANES * unit;
    size_t n = tare_rows_mut_count(rows), at = 0;
    uint8_t *dst = rows->planes[0];
    group groups[2], *now = groups, *next = groups + 1;
    bool is_plain = n >= group_size && scan(now, src);
    for (; n - at >= group_size; at += group_size, dst += LANES * unit_bytes) {
        fetch_floats(src, at + group_size + AHEAD, group_size);
        bool is_next_plain = n - at >= 2 * group_size && scan(next, src + at + group_size);
        if (__builtin_expect(is_plain, 1))
            write(dst, src + at, now);
        else
            tare_encode_run(scalar, dst, src + at, group_size);
        group *written = now;
        now = next;
        next = written;
        is_plain = is_next_plain;
    }
    if (at < n) tare_encode_run(scalar, dst, src + at, n - at);
}

#endif
