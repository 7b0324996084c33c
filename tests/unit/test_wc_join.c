/* SPDX-License-Identifier: MIT
 *
 * Guards against: joined planes whose values are not those of the specification, for a layout of a
 * number format or any permutation; kernels that differ from the scalar reference at some CPU
 * level, or touch bytes around their own; high bits that are no permutation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cpu.h"
#include "wc_random.h"
#include "wcodec/wc_kernels.h"

enum { ROUNDS = 300, MAX_UNITS = 9, FENCE = 0x5a };

/* Those of the formats: docs/wcodec.md, 12. */
static const tare_coded_join known[] = {
    {0, 1, 5, {4, 0, 1, 2, 3}},
    {0, 2, 7, {0, 2, 3, 4, 5, 6, 1}},
    {0, 2, 4, {1, 2, 3, 0}},
    {0, 1, 8, {0, 3, 4, 5, 6, 7, 1, 2}},
    {0, 2, 8, {1, 2, 3, 4, 5, 6, 0, 7}},
    {0, 2, 3, {0, 1, 2}},
};
enum { N_KNOWN = sizeof known / sizeof *known };

static unsigned below(unsigned n, uint64_t *seed) {
    return (unsigned)(wc_random(seed) % n);
}

static tare_coded_join random_join(uint64_t *seed) {
    tare_coded_join w = {.high_bits = (uint8_t)(1 + below(2, seed))};
    w.log2_values = (uint8_t)(TARE_WC_MIN_JOIN + below(8, seed));
    for (uint8_t i = 0; i < w.log2_values; i++) {
        unsigned j = below(i + 1u, seed);
        w.place[i] = w.place[j];
        w.place[j] = i;
    }
    return w;
}

static unsigned bits_at(const uint8_t *bytes, size_t at, unsigned n) {
    unsigned v = 0;
    for (unsigned i = 0; i < n; i++) v |= (unsigned)(bytes[(at + i) / 8] >> (at + i) % 8 & 1) << i;
    return v;
}

/* Value v of a unit, as the specification says it. */
static unsigned value_of(const tare_coded_join *w, const uint8_t *low, const uint8_t *high,
                         unsigned v) {
    unsigned number = 0;
    for (unsigned i = 0; i < w->log2_values; i++) number |= (v >> i & 1) << w->place[i];
    return bits_at(low, 4 * (size_t)v, 4) |
           bits_at(high, (size_t)w->high_bits * number, w->high_bits) << 4;
}

/* A region of units with two runs in it, in any order, something between and around them. */
typedef struct subject {
    tare_coded_join join;
    size_t n, stride, low, high, n_low, n_high, unit, n_region, n_plane;
    uint8_t *region, *plane;
} subject;

static void begin(subject *s, const tare_coded_join *w, size_t n, uint64_t *seed) {
    *s = (subject){.join = *w, .n = n};
    s->n_low = tare_wc_join_low_bytes(w);
    s->n_high = tare_wc_join_high_bytes(w);
    s->unit = tare_wc_join_unit_bytes(w);
    bool is_low_first = below(2, seed);
    size_t first = below(5, seed), between = below(3, seed) * below(20, seed);
    s->low = is_low_first ? first : first + s->n_high + between;
    s->high = is_low_first ? first + s->n_low + between : first;
    s->stride = first + s->n_low + between + s->n_high + below(5, seed);
    /* The last unit ends with its last run, where a sanitizer sees what is touched after it. */
    size_t end = is_low_first ? s->high + s->n_high : s->low + s->n_low;
    s->n_region = n ? (n - 1) * s->stride + end : 0;
    s->n_plane = n * s->unit;
    s->region = malloc(s->n_region ? s->n_region : 1);
    s->plane = malloc(s->n_plane ? s->n_plane : 1);
    assert_true(s->region && s->plane);
    for (size_t i = 0; i < s->n_region; i++) s->region[i] = (uint8_t)wc_random(seed);
}

static void drop(subject *s) {
    free(s->region);
    free(s->plane);
}

static void values_are_those_of_the_specification(const subject *s) {
    for (size_t u = 0; u < s->n; u++)
        for (unsigned v = 0; v < 1u << s->join.log2_values; v++)
            assert_int_equal(bits_at(s->plane + u * s->unit, 6 * (size_t)v, 6),
                             value_of(&s->join, s->region + u * s->stride + s->low,
                                      s->region + u * s->stride + s->high, v));
}

/* There and back at a CPU level. */
static void check_level(subject *s, unsigned cpu, uint64_t *seed) {
    tare_wc_kernels k;
    tare_wc_kernels_init(&k, cpu);
    k.join(s->plane, s->region + s->low, s->region + s->high, s->n, s->stride, &s->join);
    values_are_those_of_the_specification(s);
    uint8_t *back = malloc(s->n_region ? s->n_region : 1);
    assert_non_null(back);
    memset(back, FENCE, s->n_region);
    /* What a value of 5 bits has beyond them is without influence. */
    if (s->join.high_bits == 1 && below(2, seed))
        for (size_t i = 0; i < s->n_plane; i++)
            s->plane[i] = (uint8_t)(s->plane[i] | (i % 3 == 0 ? 0x20 : i % 3 == 1 ? 0x08 : 0x82));
    tare_wc_separator separator;
    k.prepare(&separator, &s->join);
    k.separate(back + s->low, back + s->high, s->plane, s->n, s->stride, &separator);
    for (size_t i = 0; i < s->n_region; i++) {
        size_t at = i % s->stride;
        bool is_own =
            (at >= s->low && at - s->low < s->n_low) || (at >= s->high && at - s->high < s->n_high);
        assert_int_equal(back[i], is_own ? s->region[i] : FENCE);
    }
    free(back);
}

static void every_layout_comes_back(void **state) {
    (void)state;
    const unsigned all = tare_cpu_mask_detect();
    uint64_t seed = 7;
    for (unsigned round = 0; round < ROUNDS; round++) {
        tare_coded_join w = round % 2 ? known[round / 2 % N_KNOWN] : random_join(&seed);
        subject s;
        assert_true(tare_wc_join_is_good(&w));
        begin(&s, &w, round < 4 ? round : 1 + below(MAX_UNITS, &seed), &seed);
        check_level(&s, TARE_CPU_NONE, &seed);
        for (unsigned mask = TARE_CPU_AVX2; mask <= all; mask = mask << 1 | 1)
            check_level(&s, mask, &seed);
        drop(&s);
    }
}

static void other_joins_are_refused(void **state) {
    (void)state;
    static const tare_coded_join bad[] = {
        {0, 0, 3, {0, 1, 2}}, {0, 3, 3, {0, 1, 2}}, {0, 4, 3, {0, 1, 2}},
        {0, 1, 2, {0, 1}},    {0, 1, 11, {0}},      {0, 1, 255, {0}},
        {0, 2, 3, {0, 1, 1}}, {0, 2, 3, {0, 1, 3}}, {0, 2, 3, {0, 255, 1}},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(tare_wc_join_is_good(&bad[i]));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_layout_comes_back),
        cmocka_unit_test(other_joins_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
