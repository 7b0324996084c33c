/* SPDX-License-Identifier: MIT
 *
 * Guards against: a frame of zstd that cannot be interrupted, or that is not what ZSTD_compress
 * gives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>
#include <zstd.h>

#include "base/pool.h"
#include "wcodec/wc_zstd.h"

enum { MOST = 3 << 17 };
static uint8_t bytes[MOST], packed[MOST + 4096], whole[MOST + 4096];

/* Words of a vocabulary: matches of all distances. */
static void fill(void) {
    uint64_t state = 1;
    for (size_t i = 0; i < MOST; i += 8) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
        snprintf((char *)bytes + i, MOST - i, "w%06u", (unsigned)(state >> 40) % 50000);
    }
}

static void bytes_are_those_of_one_call(void **state) {
    static const size_t sizes[] = {1, 1000, 1 << 17, (1 << 17) + 1, 1 << 18, MOST - 1, MOST};
    static const int levels[] = {3, 19};
    (void)state;
    for (size_t l = 0; l < 2; l++) {
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            size_t n, one = ZSTD_compress(whole, sizeof whole, bytes, sizes[i], levels[l]);
            assert_int_equal(
                tare_wc_zstd_pack(&n, packed, sizeof packed, bytes, sizes[i], levels[l], NULL),
                TARE_OK);
            assert_int_equal(n, one);
            assert_memory_equal(packed, whole, n);
            /* Exactly its room is enough, a byte less is not. */
            assert_int_equal(tare_wc_zstd_pack(&n, packed, one, bytes, sizes[i], levels[l], NULL),
                             TARE_OK);
            assert_int_equal(n, one);
            assert_int_equal(
                tare_wc_zstd_pack(&n, packed, one - 1, bytes, sizes[i], levels[l], NULL), TARE_OK);
            assert_int_equal(n, 0);
        }
    }
}

/* Asks to stop once the task has begun. */
typedef struct stop {
    tare_cancel *cancel;
    size_t n;
} stop;

static tare_status pack(void *ctx, uint64_t task, unsigned worker, tare_error *err) {
    stop *s = ctx;
    (void)task, (void)worker;
    tare_cancel_request(s->cancel);
    return tare_wc_zstd_pack(&s->n, packed, sizeof packed, bytes, MOST, 19, err);
}

static void stops_between_blocks(void **state) {
    stop s = {.cancel = tare_cancel_new(), .n = 1};
    const tare_run run = {
        .context = {.threads = 1, .cancel = s.cancel}, .n_tasks = 1, .task = pack, .ctx = &s};
    tare_error err;
    (void)state;
    assert_int_equal(tare_run_parallel(&run, &err), TARE_ERR_CANCELLED);
    assert_int_equal(s.n, 0);
    tare_cancel_free(s.cancel);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_those_of_one_call),
        cmocka_unit_test(stops_between_blocks),
    };
    fill();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
