/* SPDX-License-Identifier: MIT
 *
 * Guards against: untrusted table bytes whose derived frequencies do not have the right sum, our
 * own tables that do not derive to what they were built from, lanes that do not round-trip, reads
 * beyond the end of the words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "wc_random.h"
#include "wcodec/wc_kernels.h"

static tare_status read_table(tare_wc_table *t, uint8_t alphabet, const uint8_t *bytes) {
    tare_cursor c;
    tare_error err;
    tare_cursor_init(&c, bytes, 2u * alphabet, 0);
    return tare_wc_table_read(t, alphabet, &c, &err);
}

static uint32_t sum_of(const tare_wc_table *t) {
    uint32_t sum = 0;
    for (unsigned i = 0; i < t->alphabet; i++) sum += t->freq[i];
    return sum;
}

/* Random bytes, some of them skewed: every one with aliases in the alphabet is a table. */
static void any_bytes_are_a_table(void **state) {
    (void)state;
    uint64_t seed = 1;
    unsigned n_read = 0;
    for (unsigned round = 0; round < 2000; round++) {
        uint8_t alphabet = round % 2 ? 64 : 16, bytes[128];
        for (unsigned i = 0; i < alphabet; i++) {
            uint64_t x = wc_random(&seed);
            bytes[i] = (uint8_t)(round % 3 ? x : x & 1 ? 0 : 255);
            bytes[alphabet + i] = (uint8_t)((x >> 8) % (round % 5 ? alphabet : 3));
        }
        tare_wc_table t;
        tare_status status = read_table(&t, alphabet, bytes);
        if (status != TARE_OK) continue;
        n_read++;
        assert_int_equal(sum_of(&t), 65536);
        static tare_wc_inverse inverse;
        tare_wc_inverse_build(&inverse, &t);
        for (unsigned s = 0; s < alphabet; s++) { /* each rank of a symbol has a slot of it */
            for (uint32_t rank = 0; rank < t.freq[s]; rank += 1 + rank / 7) {
                uint32_t slot = tare_wc_slot(&inverse, (uint8_t)s, rank);
                const tare_wc_half *half =
                    &t.half[slot & (alphabet - 1u)][slot >> 8 >= t.thr[slot & (alphabet - 1u)]];
                assert_int_equal(half->symbol, s);
                assert_int_equal((slot >> t.log2_alphabet) + (uint32_t)half->adj, rank);
            }
        }
    }
    assert_true(n_read > 1900);
}

static void bad_tables_are_refused(void **state) {
    (void)state;
    tare_wc_table t;
    uint8_t bytes[128] = {0}; /* all slots of all buckets alias symbol 0 */
    assert_int_equal(read_table(&t, 64, bytes), TARE_ERR_CORRUPT);
    bytes[127] = 64;
    assert_int_equal(read_table(&t, 64, bytes), TARE_ERR_CORRUPT);
    bytes[127] = 63;
    assert_int_equal(read_table(&t, 64, bytes), TARE_OK);
    assert_int_equal(t.freq[63], 1024);
}

static void built_tables_fit_their_counts(void **state) {
    (void)state;
    uint64_t seed = 2;
    for (unsigned round = 0; round < 500; round++) {
        uint8_t alphabet = round % 2 ? 64 : 16, bytes[128];
        uint64_t counts[64] = {0}, limit = 1 + wc_random(&seed) % (round % 3 ? 1000 : 3);
        for (unsigned i = 0; i < alphabet; i++) counts[i] = wc_random(&seed) % limit;
        counts[round % alphabet] += round % 7 ? 1 : UINT64_C(1) << 45;
        tare_wc_table t, again;
        tare_wc_table_build(&t, alphabet, counts);
        assert_int_equal(sum_of(&t), 65536);
        for (unsigned i = 0; i < alphabet; i++)
            if (counts[i]) assert_true(t.freq[i] > 0);
        tare_wc_table_write(bytes, &t);
        assert_int_equal(read_table(&again, alphabet, bytes), TARE_OK);
        assert_memory_equal(t.freq, again.freq, sizeof t.freq);
        assert_memory_equal(t.thr, again.thr, sizeof t.thr);
        assert_memory_equal(t.alias, again.alias, sizeof t.alias);
        assert_true(tare_wc_table_cost(&t, counts) >= tare_wc_entropy(counts, alphabet) / 2);
    }
}

static void logarithms_are_exact_where_they_can_be(void **state) {
    (void)state;
    for (unsigned i = 0; i < 64; i++) assert_int_equal(tare_wc_log2(UINT64_C(1) << i), i << 16);
    assert_int_equal(tare_wc_log2(3), 103872); /* 1.5849625 * 65536 = 103872.1 */
    assert_int_equal(tare_wc_log2(UINT64_MAX), (64u << 16) - 1);
}

enum { N = 64 * 40 };

/* Encodes N symbols of a table; gives the words and their numbers, states in front. */
static uint8_t *encode(uint32_t n_words[2], const tare_wc_table *t, const uint8_t *symbols) {
    static tare_wc_inverse inverse;
    static uint8_t room[2][2 * N + 2 * TARE_WC_SPARE_WORDS], out[TARE_WC_STATES + 4 * N + 64];
    tare_wc_inverse_build(&inverse, t);
    tare_wc_put_job job = {.symbols = symbols, .inverses = &inverse, .n_positions = N};
    tare_wc_put_init(&job.put, room[0] + sizeof room[0], room[1] + sizeof room[1]);
    tare_wc_encode_c(&job, 1);
    for (unsigned s = 0; s < 2; s++) n_words[s] = tare_wc_put_words(&job.put, s);
    tare_wc_put_write(&job.put, out);
    return out;
}

static void lanes_give_back_what_was_put(void **state) {
    (void)state;
    uint64_t seed = 3;
    for (unsigned round = 0; round < 60; round++) {
        uint8_t alphabet = round % 2 ? 64 : 16, symbols[N], got[TARE_WC_LANES];
        uint64_t counts[64] = {0};
        unsigned used = 1 + (unsigned)(wc_random(&seed) % alphabet);
        for (unsigned i = 0; i < N; i++) {
            symbols[i] = (uint8_t)(wc_random(&seed) % (1 + wc_random(&seed) % used));
            counts[symbols[i]]++;
        }
        tare_wc_table t;
        tare_wc_table_build(&t, alphabet, counts);
        uint32_t n_words[2];
        const uint8_t *states = encode(n_words, &t, symbols);
        tare_wc_lanes lanes;
        tare_wc_lanes_init(&lanes, states, n_words[0], n_words[1]);
        assert_true(tare_wc_lanes_can_begin(&lanes));
        for (unsigned i = 0; i < N; i += TARE_WC_LANES) {
            tare_wc_step_c(got, &lanes, &t);
            assert_memory_equal(got, symbols + i, TARE_WC_LANES);
        }
        assert_true(tare_wc_lanes_have_ended(&lanes));
        if (!n_words[1]) continue;
        tare_wc_lanes_init(&lanes, states, n_words[0], n_words[1] - 1);
        for (unsigned i = 0; i < N; i += TARE_WC_LANES) tare_wc_step_c(got, &lanes, &t);
        assert_true(lanes.has_run_out);
        assert_false(tare_wc_lanes_have_ended(&lanes));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_bytes_are_a_table),
        cmocka_unit_test(bad_tables_are_refused),
        cmocka_unit_test(built_tables_fit_their_counts),
        cmocka_unit_test(logarithms_are_exact_where_they_can_be),
        cmocka_unit_test(lanes_give_back_what_was_put),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
