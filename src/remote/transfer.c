/* SPDX-License-Identifier: MIT
 *
 * The session's thread: a queue of requests, as many concurrent exchanges as options allow, and when
 * they are tried again. */
#include "remote/transfer.h"

#include <time.h>

#include "base/arith.h"
#include "base/os_system.h"

#define LIMIT_MOST   900   /* s: waits for a limit of requests, together */
#define BACKOFF_MOST 30000 /* ms */
#define POLL_MS      100   /* how often the caller is asked whether to go on */
#define IDLE_MS      60000

struct tare_fetcher {
    tare_transport *transport;
    pthread_t thread;
    tare_transfer *queued, *running;
    size_t n_running;
    uint64_t next_poll;
    bool is_stopping;
};

static uint64_t now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void list_push(tare_transfer **list, tare_transfer *t) {
    while (*list) list = &(*list)->next;
    t->next = NULL;
    *list = t;
}

static void list_take(tare_transfer **list, const tare_transfer *t) {
    while (*list != t) list = &(*list)->next;
    *list = t->next;
}

/* ---- one transfer ---------------------------------------------------------------------------- */

void tare_transfer_queue(tare_transfer *t, uint64_t wait_ms) {
    t->start_at = now_ms() + wait_ms;
    list_push(&t->remote->fetcher->queued, t);
    tare_transport_wake(t->remote->fetcher->transport);
}

bool tare_transfer_start(tare_transfer *t) {
    t->exchange.owner = t;
    return tare_transport_start(t->remote->fetcher->transport, &t->exchange);
}

const char *tare_transfer_retry(tare_transfer *t, const char *what) {
    const tare_remote_options *o = &t->remote->options;
    const uint32_t asked = tare_response_wait(&t->response, (int64_t)time(NULL));
    if (asked == UINT32_MAX) return "the server asks to come back later than can be waited for";
    uint64_t wait = (uint64_t)asked * 1000;
    if (t->response.limit_seconds && t->limit_wait + asked <= LIMIT_MOST) {
        t->limit_wait += asked;
    } else {
        if (t->tries == o->retries) return what;
        const uint64_t backoff = (uint64_t)o->backoff_ms << (t->tries < 16 ? t->tries : 16);
        wait = tare_max_u64(wait, tare_min_u64(backoff, BACKOFF_MOST));
        t->tries++;
    }
    t->remote->counts.retries++;
    tare_transfer_queue(t, wait);
    return NULL;
}

/* ---- the loop -------------------------------------------------------------------------------- */

static void start_one(struct tare_fetcher *e, tare_transfer *t) {
    list_take(&e->queued, t);
    t->response = (tare_response){.status = 0};
    tare_remote *r = t->remote;
    if (!t->kind->start(t)) return; /* it may be freed by now */
    r->counts.requests++;
    list_push(&e->running, t);
    e->n_running++;
}

static void start_all(tare_remote *r) {
    struct tare_fetcher *e = r->fetcher;
    uint64_t now = now_ms();
    for (tare_transfer *t = e->queued, *next; t && e->n_running < r->options.connections;
         t = next) {
        next = t->next;
        if (t->start_at <= now && (!t->kind->may_start || t->kind->may_start(t, e->running)))
            start_one(e, t);
    }
}

static void stop_running(struct tare_fetcher *e, tare_transfer *t) {
    tare_transport_release(e->transport, &t->exchange);
    list_take(&e->running, t);
    e->n_running--;
}

/* Cancels what is no longer waited for; at the end, everything. */
static void drop(tare_remote *r, bool is_cancelled, bool all) {
    struct tare_fetcher *e = r->fetcher;
    for (tare_transfer *t = e->running, *next; t; t = next) {
        next = t->next;
        if (!all && !t->kind->is_unwanted(t, is_cancelled)) continue;
        stop_running(e, t);
        t->kind->cancel(t);
    }
    for (tare_transfer *t = e->queued, *next; t; t = next) {
        next = t->next;
        if (!all && !t->kind->is_unwanted(t, is_cancelled)) continue;
        list_take(&e->queued, t);
        t->kind->cancel(t);
    }
}

/* Asks the caller whether to go on, now and then; the lock is given up meanwhile. */
static bool is_cancelled(tare_remote *r) {
    struct tare_fetcher *e = r->fetcher;
    uint64_t now = now_ms(), bytes = r->counts.bytes;
    if (!r->options.context->progress || (!e->queued && !e->running) || now < e->next_poll)
        return false;
    e->next_poll = now + POLL_MS;
    pthread_mutex_unlock(&r->blocks->mutex);
    bool stops = r->options.context->progress(r->options.context->progress_ctx, bytes, 0);
    pthread_mutex_lock(&r->blocks->mutex);
    return stops;
}

static int wait_ms(const struct tare_fetcher *e) {
    if (e->running) return POLL_MS;
    uint64_t now = now_ms(), wait = IDLE_MS;
    for (const tare_transfer *t = e->queued; t; t = t->next)
        wait = tare_min_u64(wait, t->start_at > now ? t->start_at - now : 0);
    return (int)(e->queued ? tare_min_u64(wait, POLL_MS) : wait);
}

static void *run(void *ctx) {
    tare_remote *r = ctx;
    struct tare_fetcher *e = r->fetcher;
    pthread_mutex_lock(&r->blocks->mutex);
    while (!e->is_stopping) {
        drop(r, is_cancelled(r), false);
        start_all(r);
        int wait = wait_ms(e);
        pthread_mutex_unlock(&r->blocks->mutex);
        tare_exchange *x = tare_transport_step(e->transport, wait);
        pthread_mutex_lock(&r->blocks->mutex);
        if (!x) continue;
        tare_transfer *t = x->owner;
        list_take(&e->running, t);
        e->n_running--;
        if (t->response.status == 0 && x->http_status > 0)
            t->response.status = (unsigned)x->http_status;
        tare_exchange over = *x; /* judging may free the transfer, and needs the redirection */
        t->kind->judge(t);
        tare_transport_release(e->transport, &over);
    }
    drop(r, true, true);
    pthread_mutex_unlock(&r->blocks->mutex);
    return NULL;
}

/* ---- for the rest of the session ------------------------------------------------------------- */

tare_status tare_fetcher_start(tare_remote *r, tare_error *err) {
    if (r->fetcher) return TARE_OK;
    struct tare_fetcher *e = tare_alloc(r->options.context->allocator, sizeof *e);
    if (!e) return tare_fail(err, TARE_ERR_NOMEM, "transfers");
    *e = (struct tare_fetcher){.transport = NULL};
    tare_status status = tare_transport_new(&e->transport, &r->options, err);
    if (status == TARE_OK) {
        r->fetcher = e;
        if (tare_thread_start(&r->fetcher->thread, run, r) != 0) {
            r->fetcher = NULL;
            status = tare_fail(err, TARE_ERR_NOMEM, "a thread for transfers");
        }
    }
    if (status != TARE_OK) {
        tare_transport_free(e->transport);
        tare_free(r->options.context->allocator, e, sizeof *e);
    }
    return status;
}

void tare_fetcher_stop(tare_remote *r) {
    struct tare_fetcher *e = r->fetcher;
    if (!e) return;
    pthread_mutex_lock(&r->blocks->mutex);
    e->is_stopping = true;
    tare_transport_wake(e->transport);
    pthread_mutex_unlock(&r->blocks->mutex);
    pthread_join(e->thread, NULL);
    tare_transport_free(e->transport);
    tare_free(r->options.context->allocator, e, sizeof *e);
    r->fetcher = NULL;
}

void tare_fetcher_wake(tare_remote *r) {
    tare_transport_wake(r->fetcher->transport);
}
