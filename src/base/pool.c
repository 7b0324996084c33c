/* SPDX-License-Identifier: MIT
 *
 * A short-lived group of threads that take numbered tasks in order. Tasks are large (megabytes), so
 * starting new threads for each run costs too little to justify a permanent pool. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "base/os_system.h"
#include "base/pool.h"

#define MOST_THREADS 256 /* more exceed the bandwidth of any memory bus */

typedef struct workers {
    const tare_run *run;
    _Atomic uint64_t next;
    _Atomic bool stop;         /* no more tasks are taken */
    _Atomic bool is_cancelled; /* those that were taken give up, too */
    pthread_mutex_t mutex;     /* guards what follows */
    pthread_cond_t ended;
    unsigned n_running;
    uint64_t failed_task; /* UINT64_MAX: none */
    tare_error err;
    pthread_mutex_t telling; /* held by who calls progress; guards what follows */
    struct timespec told;
} workers;

typedef struct member {
    workers *workers;
    unsigned worker;
} member;

/* The failure of the lowest task wins, so that the report does not depend on timing where the
 * tasks before it have run. */
static void note_failure(workers *c, uint64_t task, tare_status status, const tare_error *err) {
    pthread_mutex_lock(&c->mutex);
    if (task < c->failed_task) {
        c->failed_task = task;
        c->err = *err;
        c->err.status = status;
    }
    pthread_mutex_unlock(&c->mutex);
    atomic_store(&c->stop, true);
}

static void cancel(workers *c) {
    tare_error err = TARE_ERROR_NONE;
    tare_fail(&err, TARE_ERR_CANCELLED, "cancelled");
    note_failure(c, 0, TARE_ERR_CANCELLED, &err);
    atomic_store(&c->is_cancelled, true);
}

static bool is_cancelled(workers *c) {
    if (atomic_load(&c->is_cancelled)) return true;
    if (!c->run->context.cancel || !tare_cancel_is_requested(c->run->context.cancel)) return false;
    cancel(c);
    return true;
}

/* The workers whose task a thread is running, so that it need not be passed down through every layer.
 */
typedef struct seat {
    workers *workers; /* NULL: none */
    bool reports;     /* progress, which is for the caller's thread */
} seat;

/* Of a library that is loaded by a running program glibc keeps this in blocks that each thread makes
 * for itself, and a child that is forked while such threads end frees some of them twice. These few
 * bytes have room in what every thread has from its start. */
#if defined(__GLIBC__)
#define EARLY __attribute__((tls_model("initial-exec")))
#else
#define EARLY
#endif
static _Thread_local seat here EARLY;

static bool run_one(workers *c, unsigned worker, bool reports) {
    if (atomic_load(&c->stop) || is_cancelled(c)) return false;
    uint64_t task = atomic_fetch_add(&c->next, 1);
    if (task >= c->run->n_tasks) return false;
    tare_error err = TARE_ERROR_NONE;
    const seat before = here; /* a task may run tasks of its own */
    here = (seat){c, reports};
    tare_status s = c->run->task(c->run->ctx, task, worker, &err);
    here = before;
    if (s != TARE_OK) note_failure(c, task, s, &err);
    return s == TARE_OK;
}

static void *work(void *arg) {
    member *m = arg;
    workers *c = m->workers;
    while (run_one(c, m->worker, false)) continue;
    pthread_mutex_lock(&c->mutex);
    c->n_running--;
    pthread_cond_signal(&c->ended);
    pthread_mutex_unlock(&c->mutex);
    return NULL;
}

static void report_progress(workers *c) {
    const tare_run *run = c->run;
    if (!run->context.progress || atomic_load(&c->stop)) return;
    uint64_t done = run->done ? atomic_load(run->done) : 0;
    if (run->context.progress(run->context.progress_ctx, done, run->total)) cancel(c);
}

static void wait_for_workers(workers *c) {
    pthread_mutex_lock(&c->mutex);
    while (c->n_running > 0) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 100000000;
        if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
        pthread_cond_timedwait(&c->ended, &c->mutex, &until);
        pthread_mutex_unlock(&c->mutex);
        report_progress(c);
        pthread_mutex_lock(&c->mutex);
    }
    pthread_mutex_unlock(&c->mutex);
}

/* Reports progress if no thread has for a tenth of a second and none is about to. */
static void report_now_and_then(workers *c) {
    struct timespec now;
    if (pthread_mutex_trylock(&c->telling)) return;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if ((now.tv_sec - c->told.tv_sec) * 1000 + (now.tv_nsec - c->told.tv_nsec) / 1000000 >= 100) {
        c->told = now;
        report_progress(c);
    }
    pthread_mutex_unlock(&c->telling);
}

/* A thread that is not ours: it works and reports progress. */
static void work_and_signal(void *arg, unsigned worker) {
    workers *c = arg;
    while (run_one(c, worker, true)) report_now_and_then(c);
}

tare_status tare_run_check(tare_error *err) {
    workers *c = here.workers;
    if (!c) return TARE_OK;
    if (here.reports) report_now_and_then(c);
    return is_cancelled(c) ? tare_fail(err, TARE_ERR_CANCELLED, "cancelled") : TARE_OK;
}

static void run_workers(workers *c, unsigned threads) {
    pthread_t ids[MOST_THREADS];
    member members[MOST_THREADS];
    unsigned started = 0;
    for (unsigned i = 0; threads > 1 && i < threads; i++) {
        members[i] = (member){c, i};
        pthread_mutex_lock(&c->mutex);
        c->n_running++;
        pthread_mutex_unlock(&c->mutex);
        if (pthread_create(&ids[i], NULL, work, &members[i])) {
            pthread_mutex_lock(&c->mutex);
            c->n_running--;
            pthread_mutex_unlock(&c->mutex);
            break;
        }
        started++;
    }
    if (started == 0)
        work_and_signal(c, 0);
    else
        wait_for_workers(c);
    for (unsigned i = 0; i < started; i++) pthread_join(ids[i], NULL);
}

static bool make_locks(workers *c) {
    if (pthread_mutex_init(&c->mutex, NULL)) return false;
    if (pthread_mutex_init(&c->telling, NULL)) {
        pthread_mutex_destroy(&c->mutex);
        return false;
    }
    if (!pthread_cond_init(&c->ended, NULL)) return true;
    pthread_mutex_destroy(&c->telling);
    pthread_mutex_destroy(&c->mutex);
    return false;
}

unsigned tare_run_threads(const tare_run *run) {
    unsigned threads = run->context.threads ? run->context.threads : tare_default_threads();
    if (threads > MOST_THREADS) threads = MOST_THREADS;
    return threads > run->n_tasks ? (unsigned)run->n_tasks : threads;
}

tare_status tare_run_parallel(const tare_run *run, tare_error *err) {
    const unsigned threads = tare_run_threads(run);
    workers c = {.run = run, .failed_task = UINT64_MAX, .err = TARE_ERROR_NONE};
    if (!make_locks(&c)) return tare_fail(err, TARE_ERR_NOMEM, "thread pool");
    clock_gettime(CLOCK_MONOTONIC, &c.told);
    if (run->context.parallel && threads)
        run->context.parallel(run->context.parallel_ctx, threads, work_and_signal, &c);
    else
        run_workers(&c, threads);
    report_progress(&c);
    pthread_cond_destroy(&c.ended);
    pthread_mutex_destroy(&c.telling);
    pthread_mutex_destroy(&c.mutex);
    if (c.failed_task == UINT64_MAX) return TARE_OK;
    if (err) *err = c.err;
    return c.err.status;
}

/* ---- how many threads ------------------------------------------------------------------------ */

unsigned tare_default_threads(void) {
    const unsigned own = tare_processors(), quota = tare_processors_paid();
    unsigned n = own ? own : 1;
    if (quota && n > quota) n = quota;
    return n > MOST_THREADS ? MOST_THREADS : n;
}
