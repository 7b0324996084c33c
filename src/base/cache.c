/* SPDX-License-Identifier: MIT
 *
 * The cache: a hash table, and a list in order of use whose oldest entries are evicted when the
 * budget is spent. One lock guards it; values are made and used without it. */
#include "base/cache.h"

#include <pthread.h>
#include <string.h>

#include "base/fork.h"

enum { N_BUCKETS = 1024 };

struct tare_cache {
    const tare_allocator *allocator;
    void (*free_value)(void *ctx, void *value, size_t cost);
    void *ctx;
    size_t budget, kept;
    tare_process process;
    pthread_mutex_t mutex;
    pthread_cond_t made;
    tare_cached *buckets[N_BUCKETS];
    tare_cached ends; /* of the order of use: ends.newer is the oldest, ends.older the newest */
};

tare_cache *tare_cache_new(size_t budget, void (*free_value)(void *ctx, void *value, size_t cost),
                           void *ctx, const tare_allocator *allocator) {
    tare_cache *c = tare_alloc(allocator, sizeof *c);
    if (!c) return NULL;
    *c = (tare_cache){.allocator = allocator,
                      .free_value = free_value,
                      .ctx = ctx,
                      .budget = budget,
                      .process = tare_process_own()};
    c->ends.older = c->ends.newer = &c->ends;
    if (pthread_mutex_init(&c->mutex, NULL) != 0) {
        tare_free(allocator, c, sizeof *c);
        return NULL;
    }
    if (pthread_cond_init(&c->made, NULL) != 0) {
        pthread_mutex_destroy(&c->mutex);
        tare_free(allocator, c, sizeof *c);
        return NULL;
    }
    return c;
}

/* In a child of fork the entries are forgotten: nobody makes those that were being made. */
static void lock(tare_cache *c) {
    if (tare_process_is_new(&c->process)) {
        pthread_mutex_init(&c->mutex, NULL);
        pthread_cond_init(&c->made, NULL);
        memset(c->buckets, 0, sizeof c->buckets);
        c->ends.older = c->ends.newer = &c->ends;
        c->kept = 0;
        tare_process_renewed(&c->process);
    }
    pthread_mutex_lock(&c->mutex);
}

static tare_cached **bucket_of(tare_cache *c, tare_cache_key key) {
    uint64_t h = (key.a * UINT64_C(0x9e3779b97f4a7c15) ^ key.b) * UINT64_C(0xff51afd7ed558ccd);
    return &c->buckets[h >> 54];
}

static void unlink_use(tare_cached *e) {
    e->older->newer = e->newer;
    e->newer->older = e->older;
}

static void link_newest(tare_cache *c, tare_cached *e) {
    e->newer = &c->ends;
    e->older = c->ends.older;
    e->older->newer = e;
    c->ends.older = e;
}

/* Takes an entry out of its bucket and frees it, with its value. */
static void drop(tare_cache *c, tare_cached *e) {
    tare_cached **at = bucket_of(c, e->key);
    while (*at != e) at = &(*at)->next;
    *at = e->next;
    if (e->value) {
        c->kept -= e->cost;
        c->free_value(c->ctx, e->value, e->cost);
    }
    tare_free(c->allocator, e, sizeof *e);
}

/* Evicts the oldest entries that are not held, up to `end`. */
static void shrink(tare_cache *c, const tare_cached *end) {
    for (tare_cached *e = c->ends.newer, *next; c->kept > c->budget && e != end; e = next) {
        next = e->newer;
        if (e->n_holders) continue;
        unlink_use(e);
        drop(c, e);
    }
}

void tare_cache_free(tare_cache *c) {
    if (!c) return;
    lock(c);
    c->budget = 0;
    shrink(c, &c->ends);
    pthread_mutex_unlock(&c->mutex);
    pthread_cond_destroy(&c->made);
    pthread_mutex_destroy(&c->mutex);
    tare_free(c->allocator, c, sizeof *c);
}

void tare_cache_set_budget(tare_cache *c, size_t budget) {
    lock(c);
    c->budget = budget;
    shrink(c, c->ends.older);
    pthread_mutex_unlock(&c->mutex);
}

static tare_cached *find(tare_cache *c, tare_cache_key key) {
    tare_cached *e = *bucket_of(c, key);
    while (e && (e->key.a != key.a || e->key.b != key.b)) e = e->next;
    return e;
}

static tare_cached *add(tare_cache *c, tare_cache_key key) {
    tare_cached **bucket = bucket_of(c, key), *e = tare_alloc(c->allocator, sizeof *e);
    if (!e) return NULL;
    *e = (tare_cached){.key = key, .n_holders = 1, .next = *bucket};
    *bucket = e;
    link_newest(c, e);
    return e;
}

/* Waits until an entry is made; false if making it failed. The caller holds it. */
static bool wait_for(tare_cache *c, tare_cached *e) {
    while (!e->value && !e->is_gone) pthread_cond_wait(&c->made, &c->mutex);
    return !e->is_gone;
}

/* Releases an entry; the last holder of an entry that could not be made frees it. */
static void let_go(tare_cache *c, tare_cached *e) {
    e->n_holders--;
    if (e->is_gone && e->n_holders == 0) tare_free(c->allocator, e, sizeof *e);
}

tare_cache_state tare_cache_take(tare_cached **out, tare_cache *c, tare_cache_key key,
                                 bool may_wait) {
    tare_cache_state state = TARE_CACHE_HELD;
    tare_cached *e;
    lock(c);
    while ((e = find(c, key)) != NULL) {
        if (!e->value && !may_wait) {
            state = TARE_CACHE_BUSY;
            break;
        }
        e->n_holders++;
        if (wait_for(c, e)) break;
        let_go(c, e);
    }
    if (!e) {
        e = add(c, key);
        state = e ? TARE_CACHE_TO_MAKE : TARE_CACHE_NO_MEMORY;
    } else if (state == TARE_CACHE_HELD) {
        unlink_use(e);
        link_newest(c, e);
    }
    pthread_mutex_unlock(&c->mutex);
    *out = e;
    return state;
}

void tare_cache_fill(tare_cache *c, tare_cached *e, void *value, size_t cost) {
    lock(c);
    e->value = value;
    e->cost = cost;
    c->kept += cost;
    shrink(c, c->ends.older);
    pthread_cond_broadcast(&c->made);
    pthread_mutex_unlock(&c->mutex);
}

void tare_cache_fail(tare_cache *c, tare_cached *e) {
    lock(c);
    tare_cached **at = bucket_of(c, e->key);
    while (*at != e) at = &(*at)->next;
    *at = e->next;
    unlink_use(e);
    e->is_gone = true;
    let_go(c, e);
    pthread_cond_broadcast(&c->made);
    pthread_mutex_unlock(&c->mutex);
}

void tare_cache_release(tare_cache *c, tare_cached *e) {
    lock(c);
    let_go(c, e);
    shrink(c, c->ends.older);
    pthread_mutex_unlock(&c->mutex);
}
