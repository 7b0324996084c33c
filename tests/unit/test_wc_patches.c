/* SPDX-License-Identifier: MIT
 *
 * Guards against: patches that do not round-trip, reads beyond the end of their bits, positions
 * beyond the values, leftover bits, symbols that are coded as patches although a unit of their
 * table is cheaper. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "wc_random.h"
#include "wcodec/wc_choose.h"
#include "wcodec/wc_patches.h"

enum { N_POSITIONS = 1 << 20, MOST = 1000, ROOM = 16 * MOST };

typedef struct string {
    tare_wc_patches how;
    tare_wc_patch patches[MOST];
    uint8_t bytes[ROOM];
    uint32_t n_bytes;
} string;

static void make(string *s, uint32_t n, uint8_t top_bits, uint32_t gap, uint64_t *seed) {
    uint32_t next = 0;
    for (uint32_t i = 0; i < n; i++) {
        s->patches[i].position = next + (uint32_t)(wc_random(seed) % gap);
        s->patches[i].top = (uint16_t)(wc_random(seed) & ((1u << top_bits) - 1));
        next = s->patches[i].position + 1;
    }
    s->how = (tare_wc_patches){n, tare_wc_patches_rice(n, n * gap / 2), top_bits};
    s->n_bytes = tare_wc_patches_size(&s->how, s->patches);
    assert_true(s->n_bytes < ROOM);
    memset(s->bytes, 0xa5, ROOM);
    tare_wc_patches_write(s->bytes, &s->how, s->patches);
    assert_int_equal(s->bytes[s->n_bytes], 0xa5);
}

/* How many patches can be read from that many bytes; each must be the original one. */
static uint32_t read(const string *s, uint32_t n_bytes, uint32_t n_positions, bool *is_end) {
    static uint8_t room[ROOM]; /* what follows the end must not matter */
    memset(room, 0xff, ROOM);
    memcpy(room, s->bytes, n_bytes);
    tare_wc_bits bits = {.bytes = room, .n_bytes = n_bytes};
    uint32_t position = UINT32_MAX, i = 0;
    for (; i < s->how.n; i++) {
        uint16_t top;
        if (!tare_wc_patches_next(&bits, &s->how, n_positions, &position, &top)) break;
        assert_int_equal(position, s->patches[i].position);
        assert_int_equal(top, s->patches[i].top);
    }
    *is_end = tare_wc_patches_end(&bits);
    return i;
}

static void what_is_written_is_read(void **state) {
    (void)state;
    static string s;
    uint64_t seed = 1;
    bool is_end;
    for (uint8_t top_bits = 1; top_bits <= 16; top_bits++)
        for (uint32_t gap = 1; gap <= 1000; gap *= 10) {
            make(&s, MOST, top_bits, gap, &seed);
            assert_int_equal(read(&s, s.n_bytes, N_POSITIONS, &is_end), MOST);
            assert_true(is_end);
            assert_int_equal(read(&s, s.n_bytes, s.patches[MOST - 1].position, &is_end), MOST - 1);
        }
}

/* Rice's code with few bits: distances in unary, longer than any word. */
static void long_runs_are_read(void **state) {
    (void)state;
    static string s;
    bool is_end;
    for (uint32_t i = 0; i < 40; i++) s.patches[i] = (tare_wc_patch){61 * i * i, (uint16_t)i};
    s.how = (tare_wc_patches){.n = 40, .rice = 0, .top_bits = 6};
    s.n_bytes = tare_wc_patches_size(&s.how, s.patches);
    tare_wc_patches_write(s.bytes, &s.how, s.patches);
    assert_int_equal(read(&s, s.n_bytes, N_POSITIONS, &is_end), 40);
    assert_true(is_end);
}

static void a_string_cut_short_is_refused(void **state) {
    (void)state;
    static string s;
    uint64_t seed = 2;
    bool is_end;
    make(&s, 100, 9, 300, &seed);
    for (uint32_t n = 0; n < s.n_bytes; n++) assert_true(read(&s, n, N_POSITIONS, &is_end) < 100);
    s.bytes[s.n_bytes] = 0;
    assert_int_equal(read(&s, s.n_bytes + 1, N_POSITIONS, &is_end), 100);
    assert_false(is_end);
}

/* A distance costs within 0.1 bits of what rare places have to say. */
static void distances_are_short(void **state) {
    (void)state;
    static string s;
    uint64_t seed = 3;
    for (uint32_t mean = 3; mean < 5000; mean += mean / 2) {
        uint32_t n = 0, p = 0;
        for (; n < MOST; p++)
            if (wc_random(&seed) % mean == 0) s.patches[n++] = (tare_wc_patch){p, 0};
        s.how = (tare_wc_patches){n, tare_wc_patches_rice(n, p), 1};
        double q = 1.0 / mean, bits = tare_wc_patches_size(&s.how, s.patches) * 8.0 / n - 1;
        double least =
            (double)tare_wc_log2(mean) / 65536 -
            (1 - q) / q * ((double)tare_wc_log2(mean - 1) - (double)tare_wc_log2(mean)) / 65536;
        assert_true(bits < least + 0.15);
    }
}

static void only_symbols_that_cost_less_are_left(void **state) {
    (void)state;
    for (unsigned alphabet = 16; alphabet <= 64; alphabet += 48) {
        uint64_t counts[64] = {0}, small[64] = {0};
        for (unsigned i = 0; i < alphabet; i++) counts[i] = UINT64_C(1) << (20 - 20 * i / alphabet);
        for (unsigned i = 0; i < alphabet; i++) small[i] = 1 + counts[i] / 65536;
        uint64_t before[64], before_small[64];
        memcpy(before, counts, sizeof counts);
        memcpy(before_small, small, sizeof small);
        tare_wc_leave_rare(counts, alphabet, 6);
        tare_wc_leave_rare(small, alphabet, 6);
        assert_memory_equal(small, before_small, sizeof small); /* a unit is next to nothing */
        assert_int_equal(counts[alphabet - 1], 0);
        uint64_t left = 0;
        for (unsigned i = 1; i < alphabet; i++) {
            assert_true(counts[i] == before[i] || counts[i] == 0);
            left += before[i] - counts[i];
        }
        assert_int_equal(counts[0], before[0] + left);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(long_runs_are_read),
        cmocka_unit_test(a_string_cut_short_is_refused),
        cmocka_unit_test(distances_are_short),
        cmocka_unit_test(only_symbols_that_cost_less_are_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
