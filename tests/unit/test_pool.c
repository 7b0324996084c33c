/* SPDX-License-Identifier: MIT
 *
 * Guards against: tasks run twice or never, a failure that is lost or goes on, a stop that is
 * ignored. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/pool.h"

#define N 1000

typedef struct work {
    _Atomic int times[N];
    uint64_t fails_from;
    _Atomic uint64_t done;
} work;

static tare_status task(void *ctx, uint64_t i, unsigned worker, tare_error *err) {
    work *w = ctx;
    (void)worker;
    atomic_fetch_add(&w->times[i], 1);
    atomic_fetch_add(&w->done, 1);
    if (i >= w->fails_from) return tare_fail_at(err, TARE_ERR_CORRUPT, i, "task");
    return TARE_OK;
}

static void each_task_runs_once(void **state) {
    (void)state;
    for (unsigned threads = 1; threads <= 5; threads++) {
        work w = {.fails_from = UINT64_MAX};
        tare_run run = {.context.threads = threads, .n_tasks = N, .task = task, .ctx = &w};
        assert_int_equal(tare_run_parallel(&run, NULL), TARE_OK);
        for (size_t i = 0; i < N; i++) assert_int_equal(w.times[i], 1);
    }
    tare_run nothing = {.task = task};
    assert_int_equal(tare_run_parallel(&nothing, NULL), TARE_OK);
}

static void lowest_failure_is_told(void **state) {
    (void)state;
    for (unsigned threads = 1; threads <= 4; threads++) {
        work w = {.fails_from = 300};
        tare_run run = {.context.threads = threads, .n_tasks = N, .task = task, .ctx = &w};
        tare_error err;
        assert_int_equal(tare_run_parallel(&run, &err), TARE_ERR_CORRUPT);
        assert_int_equal(err.offset, 300);
        assert_string_equal(err.what, "task");
        assert_int_equal(w.times[N - 1], 0);
    }
}

static bool stop_at_once(void *ctx, uint64_t done, uint64_t total) {
    (void)done;
    assert_int_equal(total, N);
    ++*(int *)ctx;
    return true;
}

static void progress_can_stop(void **state) {
    (void)state;
    int calls = 0;
    work w = {.fails_from = UINT64_MAX};
    tare_run run = {.context.threads = 2,
                    .n_tasks = N,
                    .task = task,
                    .ctx = &w,
                    .context.progress = stop_at_once,
                    .context.progress_ctx = &calls,
                    .total = N,
                    .done = &w.done};
    tare_error err;
    assert_int_equal(tare_run_parallel(&run, &err), TARE_ERR_CANCELLED);
    assert_int_equal(calls, 1);
}

/* A pool that runs its bodies one after the other, the last first. */
static void backwards(void *ctx, unsigned n, void (*body)(void *, unsigned), void *body_ctx) {
    *(unsigned *)ctx = n;
    while (n--) body(body_ctx, n);
}

static void a_callers_pool_is_used(void **state) {
    (void)state;
    unsigned asked = 0;
    work w = {.fails_from = UINT64_MAX};
    tare_run run = {.context.threads = 3,
                    .n_tasks = N,
                    .task = task,
                    .ctx = &w,
                    .context.parallel = backwards,
                    .context.parallel_ctx = &asked};
    assert_int_equal(tare_run_parallel(&run, NULL), TARE_OK);
    assert_int_equal(asked, 3);
    for (size_t i = 0; i < N; i++) assert_int_equal(w.times[i], 1);
    w = (work){.fails_from = 300};
    tare_error err;
    assert_int_equal(tare_run_parallel(&run, &err), TARE_ERR_CORRUPT);
    assert_int_equal(err.offset, 300);
    assert_int_equal(w.times[301], 0);
    asked = 0;
    run.n_tasks = 0;
    assert_int_equal(tare_run_parallel(&run, NULL), TARE_OK);
    assert_int_equal(asked, 0); /* nobody is called for nothing */
}

static void thread_count_is_sane(void **state) {
    (void)state;
    assert_in_range(tare_default_threads(), 1, 256);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_task_runs_once),  cmocka_unit_test(lowest_failure_is_told),
        cmocka_unit_test(progress_can_stop),    cmocka_unit_test(a_callers_pool_is_used),
        cmocka_unit_test(thread_count_is_sane),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
