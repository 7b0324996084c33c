/* SPDX-License-Identifier: MIT
 *
 * A bounded set of values that are costly to make, kept for later requests. Any number of threads
 * may use it; while one of them makes a value, the others wait for it. */
#ifndef TARE_BASE_CACHE_H
#define TARE_BASE_CACHE_H

#include "base/alloc.h"

typedef struct tare_cache_key {
    uint64_t a, b;
} tare_cache_key;

/* A cached value. It stays as long as someone holds it. */
typedef struct tare_cached {
    tare_cache_key key;
    void *value; /* NULL while it is being made */
    size_t cost;
    unsigned n_holders;
    struct tare_cached *next;          /* in its bucket */
    struct tare_cached *older, *newer; /* in the order of use */
    bool is_gone;                      /* making it failed */
} tare_cached;

typedef struct tare_cache tare_cache;

typedef enum tare_cache_state {
    TARE_CACHE_HELD,    /* *out is held by the caller, who releases it */
    TARE_CACHE_TO_MAKE, /* the caller makes *out: tare_cache_fill or tare_cache_fail */
    TARE_CACHE_BUSY,    /* someone else is making it, and the caller did not want to wait */
    TARE_CACHE_NO_MEMORY,
} tare_cache_state;

/* `budget`: the total cost of entries that are kept but not held; the most recently used entry
 * stays even if it costs more. NULL when memory is out. */
tare_cache *tare_cache_new(size_t budget, void (*free_value)(void *ctx, void *value, size_t cost),
                           void *ctx, const tare_allocator *allocator);
void tare_cache_free(tare_cache *cache); /* nothing may be held */
/* Drops what costs more. */
void tare_cache_set_budget(tare_cache *cache, size_t budget);
/* A caller that still has a value to make must not wait: two could wait for each other. */
tare_cache_state tare_cache_take(tare_cached **out, tare_cache *cache, tare_cache_key key,
                                 bool may_wait);
/* The value has been made and is held by the caller. */
void tare_cache_fill(tare_cache *cache, tare_cached *entry, void *value, size_t cost);
/* The value could not be made: the waiting threads try it themselves. */
void tare_cache_fail(tare_cache *cache, tare_cached *entry);
void tare_cache_release(tare_cache *cache, tare_cached *entry);

#endif
