/* SPDX-License-Identifier: MIT
 *
 * Guards against: kernels that encode giving other symbols, bypass bits, misfits, words or states
 * than the scalar reference, or touching memory around theirs, at any CPU level, for some width,
 * rule, map, table, class or length. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cpu.h"
#include "wc_random.h"
#include "wcodec/wc_choose.h"
#include "wcodec/wc_kernels.h"

enum { MAX_POSITIONS = 1 << 13, N_TABLES = 7, FENCE = 0x5a, ROUNDS = 400 };

static tare_wc_table tables[2][N_TABLES]; /* of 64 symbols, of 16 */
static tare_wc_inverse inverses[2][N_TABLES];

static unsigned below(unsigned n, uint64_t *seed) {
    return (unsigned)(wc_random(seed) % n);
}

static void *room_of(size_t n) {
    void *p = malloc(n ? n : 1);
    assert_non_null(p);
    memset(p, FENCE, n);
    return p;
}

/* Units of the last of 64 symbols that lie in so many other buckets, so close to each other, that
 * pieces (wc_table.h) need two bounds a chunk (t = 5; its own bucket is another symbol's, too), or
 * do not do (t = 6). */
static void set_scattered(uint64_t counts[64], unsigned t) {
    unsigned left = 256 * 64;
    for (unsigned i = 0; i < 63; i++) {
        unsigned units = t == 6 ? (i < 48 ? 255 : 8) : i < 11 ? 216 : i < 31 ? 8 : 256;
        if (t == 5 && i % 62 == 0) units = i ? 512 : 0;
        left -= units;
        counts[i] = (uint64_t)units << 20;
    }
    counts[63] = (uint64_t)left << 20;
}

/* Counts that fall steeply, gently or not at all, with gaps; one symbol that has nearly all. */
static void make_tables(uint64_t *seed) {
    for (unsigned a = 0; a < 2; a++) {
        for (unsigned t = 0; t < N_TABLES; t++) {
            uint64_t counts[64] = {0};
            for (unsigned i = 0; i < 64; i++) {
                if (t == 3 && below(3, seed)) continue;
                counts[i] = (UINT64_C(1) << 40 >> i * (t % 3) / 2) + wc_random(seed) % 1000;
            }
            if (t == 3) counts[below(16, seed)] = 1000;
            if (t == 4) counts[below(16, seed)] = UINT64_C(1) << 60;
            if (t > 4 && !a) set_scattered(counts, t);
            tare_wc_table_build(&tables[a][t], a ? 16 : 64, counts);
            tare_wc_inverse_build(&inverses[a][t], &tables[a][t]);
        }
    }
    assert_int_equal(inverses[0][4].pieces.n_bounds, 1);
    assert_int_equal(inverses[0][5].pieces.n_bounds, 2);
    assert_int_equal(inverses[0][6].pieces.n_bounds, 0);
    assert_true(tables[0][5].thr[63] == 0 && tables[0][5].alias[63] != 63);
}

static uint8_t *make_classes(uint32_t n_positions, uint64_t *seed) {
    uint32_t n = (n_positions + TARE_WC_CLASS_RUN - 1) / TARE_WC_CLASS_RUN;
    if (below(2, seed)) return NULL;
    uint8_t *classes = room_of(n);
    for (uint32_t i = 0; i < n; i++) classes[i] = (uint8_t)below(N_TABLES, seed);
    return classes;
}

static void check_fence(const uint8_t *p, size_t n) {
    for (size_t i = 0; i < n; i++) assert_int_equal(p[i], FENCE);
}

/* ---- split ----------------------------------------------------------------------------------- */

/* What a split writes, with a fence behind each. */
typedef struct results {
    uint8_t *symbols, *groups;
    uint64_t *misfits;
    size_t n_symbols, n_groups, n_misfits;
} results;

static results make_results(const tare_wc_split_job *job) {
    uint8_t widths[TARE_WC_BYPASS_GROUPS];
    unsigned n = tare_wc_group_widths(widths, job->rule->k);
    results r = {.n_symbols = job->n_positions, .n_misfits = job->n_positions / 64};
    for (unsigned g = 0; g < n; g++) r.n_groups += tare_wc_group_bytes(widths[g], job->n_positions);
    r.symbols = room_of(r.n_symbols + 1);
    r.groups = room_of(r.n_groups + 1);
    r.misfits = room_of((r.n_misfits + 1) * sizeof *r.misfits);
    return r;
}

static void free_results(results *r) {
    free(r->symbols);
    free(r->groups);
    free(r->misfits);
}

/* In parts of `part` positions, the last one first. */
static void run_split(const tare_wc_kernels *k, const tare_wc_split_job *job, uint32_t part,
                      const results *r) {
    tare_wc_split_job own = *job;
    own.groups = r->groups;
    own.misfits = r->misfits;
    for (own.end = job->n_positions; own.end; own.end = own.first) {
        own.first = (own.end - 1) / part * part;
        own.symbols = r->symbols + own.first;
        k->split(&own);
    }
    check_fence(r->symbols + r->n_symbols, 1);
    check_fence(r->groups + r->n_groups, 1);
    check_fence((const uint8_t *)(r->misfits + r->n_misfits), sizeof *r->misfits);
}

/* A map of ascending tops, in a row or not; sometimes not all 64 are used. */
static void make_map(tare_wc_rule *rule, uint8_t *symbol_of, unsigned n_tops, uint64_t *seed) {
    unsigned used = below(2, seed) ? 64 : 1 + below(64, seed), step = 1 + below(n_tops / 64, seed);
    unsigned top = below(n_tops - used * step + 1, seed);
    memset(symbol_of, TARE_WC_NO_SYMBOL, n_tops);
    for (unsigned i = 0; i < used; i++, top += step) {
        rule->map[i] = (uint16_t)top;
        symbol_of[top] = (uint8_t)i;
    }
}

static void make_rule(tare_wc_rule *rule, uint8_t *symbol_of, uint8_t value_bits, uint64_t *seed) {
    *rule = (tare_wc_rule){0};
    if (value_bits < 8) return;
    rule->k = (uint8_t)below(value_bits == 8 ? 8 : 12, seed);
    rule->form = rule->k && below(2, seed) ? TARE_CODED_SIGN : TARE_CODED_PLAIN;
    if (value_bits == 8 && below(4, seed) == 0)
        *rule = (tare_wc_rule){.form = TARE_CODED_EDGE, .k = 2};
    unsigned n_tops = 1u << (value_bits - rule->k);
    rule->has_map = n_tops > 64;
    for (unsigned i = 0; i < n_tops && !rule->has_map; i++) symbol_of[i] = (uint8_t)i;
    if (rule->has_map) make_map(rule, symbol_of, n_tops, seed);
}

static uint8_t *make_values(uint32_t n_bytes, uint64_t *seed) {
    uint8_t *values = room_of(n_bytes); /* a sanitizer sees what is read after them */
    unsigned keep = below(3, seed) ? 255 : 15;
    for (uint32_t i = 0; i < n_bytes; i++) values[i] = (uint8_t)(wc_random(seed) & keep);
    return values;
}

static void compare_split(const tare_wc_split_job *job, uint64_t *n_misfits) {
    results expected = make_results(job);
    tare_wc_kernels k;
    tare_wc_kernels_init(&k, TARE_CPU_NONE);
    run_split(&k, job, 1u << 31, &expected);
    for (size_t i = 0; i < expected.n_misfits; i++)
        *n_misfits += (unsigned)__builtin_popcountll(expected.misfits[i]);
    for (unsigned mask = TARE_CPU_AVX2; mask <= tare_cpu_mask_detect(); mask = mask << 1 | 1) {
        results got = make_results(job);
        tare_wc_kernels_init(&k, mask);
        run_split(&k, job, 3 * TARE_WC_SPLIT, &got);
        assert_memory_equal(got.symbols, expected.symbols, got.n_symbols);
        if (got.n_groups) assert_memory_equal(got.groups, expected.groups, got.n_groups);
        assert_memory_equal(got.misfits, expected.misfits, got.n_misfits * sizeof *got.misfits);
        free_results(&got);
    }
    free_results(&expected);
}

static void every_level_splits_as_the_reference(void **state) {
    (void)state;
    static const uint8_t items[] = {4, 6, 8, 16};
    uint64_t seed = 21, n_misfits = 0, n_positions = 0;
    make_tables(&seed);
    for (unsigned round = 0; round < ROUNDS; round++) {
        uint8_t value_bits = items[round % 4],
                *symbol_of = room_of((1u << value_bits) + TARE_WC_MAP_PAD);
        uint32_t unit = value_bits == 16 ? 2 : value_bits == 6 ? 3 : 1;
        uint32_t n_max =
            (uint32_t)tare_wc_bytes_of(value_bits, below(4, &seed) ? MAX_POSITIONS : 700);
        tare_wc_rule rule;
        make_rule(&rule, symbol_of, value_bits, &seed);
        tare_wc_split_job job = {.rule = &rule, .symbol_of = symbol_of, .value_bits = value_bits};
        job.n_bytes = (below(n_max, &seed) / unit + 1) * unit;
        job.n_positions = tare_wc_positions(value_bits, job.n_bytes);
        job.tables = tables[value_bits == 4];
        uint8_t *classes = make_classes(job.n_positions, &seed);
        uint8_t *values = make_values(job.n_bytes, &seed);
        job.classes = classes;
        job.values = values;
        compare_split(&job, &n_misfits);
        n_positions += job.n_positions;
        free(classes);
        free(values);
        free(symbol_of);
    }
    assert_true(n_misfits > n_positions / 100 && n_misfits < n_positions / 2); /* both were met */
}

/* ---- words ----------------------------------------------------------------------------------- */

typedef struct words {
    uint8_t *room; /* two streams, each with spare words in front */
    size_t per_stream;
    tare_wc_put put;
} words;

static words run_put(const tare_wc_kernels *k, const tare_wc_put_job *job,
                     const tare_wc_put *from) {
    words w = {.per_stream = 2 * (job->n_positions / 2 + TARE_WC_SPARE_WORDS), .put = *from};
    w.room = room_of(2 * w.per_stream + 1);
    for (unsigned s = 0; s < 2; s++)
        w.put.words[s] = w.put.ends[s] = w.room + (s + 1) * w.per_stream;
    tare_wc_put_job own = *job;
    own.put = w.put;
    k->encode(&own, 1);
    w.put = own.put;
    check_fence(w.room + 2 * w.per_stream, 1);
    return w;
}

static void compare_words(const words *got, const words *expected) {
    assert_memory_equal(got->put.x, expected->put.x, sizeof got->put.x);
    for (unsigned s = 0; s < 2; s++) {
        size_t n = (size_t)(expected->put.ends[s] - expected->put.words[s]);
        assert_int_equal(got->put.ends[s] - got->put.words[s], n);
        if (n) assert_memory_equal(got->put.words[s], expected->put.words[s], n);
    }
}

/* Symbols that their tables have, the rare ones as often as the others. */
static uint8_t *make_symbols(const tare_wc_put_job *job, unsigned alphabet, uint64_t *seed) {
    uint8_t *symbols = room_of(job->n_positions);
    for (uint32_t p = 0; p < job->n_positions; p++) {
        unsigned class = job->classes ? job->classes[p / TARE_WC_CLASS_RUN] : 0;
        const tare_wc_table *t = job->inverses[class].table;
        do symbols[p] = below(3, seed) ? t->cheapest : (uint8_t)below(alphabet, seed);
        while (!t->freq[symbols[p]]);
    }
    return symbols;
}

static void every_level_puts_the_words_of_the_reference(void **state) {
    (void)state;
    uint64_t seed = 22;
    make_tables(&seed);
    for (unsigned round = 0; round < ROUNDS; round++) {
        unsigned is_small = round % 2;
        tare_wc_put_job job = {.inverses = inverses[is_small] + below(N_TABLES, &seed)};
        job.n_positions = (1 + below(MAX_POSITIONS / 64, &seed)) * 64;
        uint8_t *classes = make_classes(job.n_positions, &seed);
        if (classes) job.inverses = inverses[is_small];
        job.classes = classes;
        uint8_t *symbols = make_symbols(&job, is_small ? 16 : 64, &seed);
        job.symbols = symbols;
        tare_wc_put from; /* states as other symbols leave them */
        for (unsigned i = 0; i < TARE_WC_LANES; i++)
            from.x[i] = (uint32_t)wc_random(&seed) | 0x10000;
        tare_wc_kernels k;
        tare_wc_kernels_init(&k, TARE_CPU_NONE);
        words expected = run_put(&k, &job, &from);
        for (unsigned mask = TARE_CPU_AVX2; mask <= tare_cpu_mask_detect(); mask = mask << 1 | 1) {
            tare_wc_kernels_init(&k, mask);
            words got = run_put(&k, &job, &from);
            compare_words(&got, &expected);
            free(got.room);
        }
        free(expected.room);
        free(classes);
        free(symbols);
    }
}

/* Quotients are the hard part: every frequency, at states around multiples of it. */
static void every_frequency_divides_exactly(void **state) {
    (void)state;
    uint64_t seed = 23;
    for (uint32_t units = 1; units < 256 * 64; units += units < 3000 ? 7 : 97) {
        uint64_t counts[64] = {0};
        tare_wc_table t;
        static tare_wc_inverse v;
        static uint8_t symbols[64];
        tare_wc_kernels k;
        tare_wc_put from = {0};
        counts[0] = units;
        counts[1] = 256 * 64 - units;
        tare_wc_table_build(&t, 64, counts);
        tare_wc_inverse_build(&v, &t);
        uint32_t f = t.freq[0];
        for (unsigned i = 0; i < TARE_WC_LANES; i++) {
            uint64_t q = i % 4 ? wc_random(&seed) % 65536 : 65535;
            from.x[i] = (uint32_t)(q * f + (i & 8 ? f - 1 : i & 16 ? wc_random(&seed) % f : 0));
            from.x[i] |= from.x[i] < 0x10000 ? 0x10000u : 0;
        }
        tare_wc_put_job job = {.inverses = &v, .symbols = symbols, .n_positions = 64};
        tare_wc_kernels_init(&k, TARE_CPU_NONE);
        words expected = run_put(&k, &job, &from);
        for (unsigned i = 0; i < TARE_WC_LANES; i++) {
            uint32_t x = from.x[i] >> (from.x[i] >> 16 >= f ? 16 : 0);
            assert_int_equal(expected.put.x[i], x / f << 16 | tare_wc_slot(&v, 0, x % f));
        }
        for (unsigned mask = TARE_CPU_AVX2; mask <= tare_cpu_mask_detect(); mask = mask << 1 | 1) {
            tare_wc_kernels_init(&k, mask);
            words got = run_put(&k, &job, &from);
            compare_words(&got, &expected);
            free(got.room);
        }
        free(expected.room);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_level_splits_as_the_reference),
        cmocka_unit_test(every_level_puts_the_words_of_the_reference),
        cmocka_unit_test(every_frequency_divides_exactly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
