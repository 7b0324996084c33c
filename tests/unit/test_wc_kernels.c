/* SPDX-License-Identifier: MIT
 *
 * Guards against: kernels of the codec that give other values, other states or other ends than the
 * scalar reference, or touch memory around theirs, at any CPU level, for some width, rule, length,
 * number of words, of bypass groups or of jobs side by side; another CRC. Any states and words
 * decode to something, so none of them has to be encoded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cpu.h"
#include "base/hash.h"
#include "wc_random.h"
#include "wcodec/wc_kernels.h"

enum { MAX_POSITIONS = 1 << 14, N_TABLES = 3, FENCE = 0x5a, ROUNDS = 300 };

static tare_wc_table tables[2][N_TABLES]; /* of 64 symbols, of 16 */

/* Memory of one job: parts that end where a sanitizer sees what is read after them. */
typedef struct memory {
    tare_wc_rule rule;
    uint8_t *states, *groups[TARE_WC_BYPASS_GROUPS], *classes, *dst;
} memory;

static uint8_t *random_bytes(size_t n, uint64_t *seed) {
    uint8_t *p = malloc(n ? n : 1);
    assert_non_null(p);
    for (size_t i = 0; i < n; i++) p[i] = (uint8_t)wc_random(seed);
    return p;
}

static unsigned below(unsigned n, uint64_t *seed) {
    return (unsigned)(wc_random(seed) % n);
}

/* Counts that fall steeply, gently or not at all. */
static void make_tables(uint64_t *seed) {
    for (unsigned a = 0; a < 2; a++) {
        for (unsigned t = 0; t < N_TABLES; t++) {
            uint64_t counts[64];
            for (unsigned i = 0; i < 64; i++)
                counts[i] = (UINT64_C(1) << 40 >> i * t / 2) + wc_random(seed) % 1000;
            tare_wc_table_build(&tables[a][t], a ? 16 : 64, counts);
        }
    }
}

static void make_rule(tare_wc_rule *rule, uint8_t value_bits, uint64_t *seed) {
    *rule = (tare_wc_rule){0};
    if (value_bits >= 8) {
        rule->k = (uint8_t)below(value_bits, seed);
        rule->form = rule->k && below(2, seed) ? TARE_CODED_SIGN : TARE_CODED_PLAIN;
        rule->has_map = below(2, seed);
    }
    if (value_bits == 8 && below(4, seed) == 0)
        *rule = (tare_wc_rule){.form = TARE_CODED_EDGE, .k = 2};
    if (value_bits == 8 && below(4, seed) == 0)
        *rule = (tare_wc_rule){.trellis = below(2, seed) ? 8 : 32};
    const unsigned mask = (1u << (value_bits - rule->k)) - 1;
    const bool is_row = !rule->has_map || (mask >= 63 && below(2, seed)); /* kernels add then */
    const unsigned first = rule->has_map && is_row ? below(mask - 62, seed) : 0;
    for (unsigned i = 0; i < 64; i++)
        rule->map[i] = (uint16_t)((is_row ? first + i : wc_random(seed)) & mask);
}

static void make_groups(tare_wc_job *job, memory *m, uint64_t *seed) {
    unsigned n = tare_wc_group_widths(job->widths, m->rule.k), missing = m->rule.k;
    bool is_whole = m->rule.form == TARE_CODED_EDGE || below(3, seed);
    job->n_groups = (uint8_t)(is_whole ? n : below(n + 1, seed));
    for (unsigned g = 0; g < job->n_groups; g++) {
        m->groups[g] = random_bytes(tare_wc_group_bytes(job->widths[g], job->n_positions), seed);
        job->groups[g] = m->groups[g];
        missing -= job->widths[g];
    }
    if (missing) job->fill = (uint16_t)(1u << (missing - 1));
}

static uint32_t n_dst(const tare_wc_job *job) {
    return job->n_bytes + 1;
}

/* `like`: a job whose values are made in the same way; NULL: in any. */
static void make_job(tare_wc_job *job, memory *m, const tare_wc_job *like, uint64_t *seed) {
    static const uint8_t items[] = {4, 6, 8, 16};
    uint8_t value_bits = like ? like->value_bits : items[below(4, seed)];
    uint32_t unit = value_bits == 16 ? 2 : value_bits == 6 ? 3 : 1;
    uint32_t n_max = (uint32_t)tare_wc_bytes_of(value_bits, below(4, seed) ? MAX_POSITIONS : 700);
    *m = (memory){0};
    if (like)
        m->rule = *like->rule;
    else
        make_rule(&m->rule, value_bits, seed);
    *job = (tare_wc_job){.rule = &m->rule, .value_bits = value_bits};
    job->n_bytes = (below(n_max, seed) / unit + 1) * unit;
    job->n_positions = tare_wc_positions(value_bits, job->n_bytes);
    job->tables = tables[value_bits == 4];
    job->n_tables = N_TABLES;
    for (unsigned i = 0; m->rule.trellis && i < TARE_WC_LANES; i++)
        job->trellis[i] = (uint8_t)below(m->rule.trellis, seed);
    if (below(2, seed)) {
        uint32_t n = (job->n_positions + TARE_WC_CLASS_RUN - 1) / TARE_WC_CLASS_RUN;
        job->classes = m->classes = random_bytes(n, seed);
        for (uint32_t i = 0; i < n; i++) m->classes[i] %= N_TABLES;
    }
    make_groups(job, m, seed);
    /* Enough words for most jobs, too few for some. */
    uint32_t n_words = below(4, seed) ? job->n_positions / 2 : below(job->n_positions, seed) / 4;
    uint32_t n_a = n_words, n_b = below(2, seed) ? n_words : n_words / 2 + 60;
    size_t size = TARE_WC_STATES + 2 * ((size_t)n_a + n_b);
    m->states = random_bytes(size + TARE_WC_READ_AHEAD, seed);
    for (unsigned i = 0; i < TARE_WC_LANES; i++) m->states[4 * i + 2] |= 1;
    tare_wc_lanes_init(&job->lanes, m->states, n_a, n_b);
    m->dst = malloc(n_dst(job));
    assert_non_null(m->dst);
}

static void free_memory(memory *m) {
    for (unsigned g = 0; g < TARE_WC_BYPASS_GROUPS; g++) free(m->groups[g]);
    free(m->states);
    free(m->classes);
    free(m->dst);
}

/* Decodes copies of the jobs into their memories' dst. */
static void decode(const tare_wc_kernels *k, tare_wc_job *got, const tare_wc_job *jobs,
                   const memory *memories, unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        got[i] = jobs[i];
        got[i].dst = memories[i].dst;
        memset(got[i].dst, FENCE, n_dst(&jobs[i]));
    }
    k->decode(got, n);
}

static void compare(const tare_wc_job *got, const uint8_t *dst, const tare_wc_job *expected,
                    unsigned mask) {
    const tare_wc_lanes *a = &got->lanes, *b = &expected->lanes;
    assert_int_equal(got->dst[got->n_bytes], FENCE);
    assert_int_equal(a->has_run_out, b->has_run_out);
    if (b->has_run_out) return;
    for (uint32_t i = 0; i < got->n_bytes; i++)
        if (got->dst[i] != dst[i])
            fail_msg("level %u, value_bits %u, k %u, form %u: byte %u of %u", mask, got->value_bits,
                     got->rule->k, got->rule->form, i, got->n_bytes);
    assert_memory_equal(a->x, b->x, sizeof a->x);
    assert_memory_equal(got->trellis, expected->trellis, sizeof got->trellis);
    for (unsigned s = 0; s < 2; s++) {
        assert_ptr_equal(a->words[s], b->words[s]);
        assert_int_equal(a->left[s], b->left[s]);
    }
}

static void every_level_decodes_as_the_reference(void **state) {
    (void)state;
    const unsigned all = tare_cpu_mask_detect();
    uint64_t seed = 11;
    unsigned n_whole = 0, n_jobs = 0, n_trellis = 0;
    make_tables(&seed);
    for (unsigned round = 0; round < ROUNDS; round++) {
        tare_wc_job jobs[4], expected[4], got[4];
        memory memories[4];
        uint8_t *copies[4];
        tare_wc_kernels k;
        unsigned n = below(2, &seed) ? 4 : 1 + below(4, &seed);
        bool are_alike = below(2, &seed); /* as the segments of a plane */
        for (unsigned i = 0; i < n; i++)
            make_job(&jobs[i], &memories[i], i && are_alike ? &jobs[0] : NULL, &seed);
        tare_wc_kernels_init(&k, TARE_CPU_NONE);
        decode(&k, expected, jobs, memories, n);
        for (unsigned i = 0; i < n; i++) {
            copies[i] = malloc(n_dst(&jobs[i]));
            assert_non_null(copies[i]);
            memcpy(copies[i], memories[i].dst, n_dst(&jobs[i]));
            n_whole += !expected[i].lanes.has_run_out;
            n_jobs++;
            n_trellis += jobs[i].rule->trellis != 0;
        }
        for (unsigned mask = TARE_CPU_AVX2; mask <= all; mask = mask << 1 | 1) {
            tare_wc_kernels_init(&k, mask);
            decode(&k, got, jobs, memories, n);
            for (unsigned i = 0; i < n; i++) compare(&got[i], copies[i], &expected[i], mask);
        }
        for (unsigned i = 0; i < n; i++) {
            free_memory(&memories[i]);
            free(copies[i]);
        }
    }
    assert_true(n_whole > n_jobs / 2 && n_whole < n_jobs); /* both ends were met */
    assert_true(n_trellis > n_jobs / 40);
}

/* Any length up to several folded runs, in two parts. */
static void every_level_has_the_crc(void **state) {
    enum { MOST = 1500 };
    uint64_t seed = 7;
    tare_wc_kernels k;
    (void)state;
    for (unsigned n = 0; n <= MOST; n++) {
        const unsigned first = below(n + 1, &seed);
        uint8_t *bytes = random_bytes(n, &seed);
        const uint32_t expected = tare_crc32(0, bytes, n);
        for (unsigned mask = TARE_CPU_AVX2, all = tare_cpu_mask_detect(); mask <= all;
             mask = mask << 1 | 1) {
            tare_wc_kernels_init(&k, mask);
            assert_int_equal(k.crc32(k.crc32(0, bytes, first), bytes + first, n - first), expected);
        }
        free(bytes);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_level_decodes_as_the_reference),
                                       cmocka_unit_test(every_level_has_the_crc)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
