/* SPDX-License-Identifier: MIT
 *
 * Memory: the caller's allocator or malloc; an arena for data that lives as long as a model or
 * plan. */
#ifndef TARE_BASE_ALLOC_H
#define TARE_BASE_ALLOC_H

#include "base/status.h"

/* malloc, realloc, free. */
extern const tare_allocator tare_malloc_allocator;

/* NULL means malloc. NULL is returned when memory is out; new memory is not cleared. */
void *tare_alloc(const tare_allocator *a, size_t size);
void *tare_resize(const tare_allocator *a, void *ptr, size_t old_size, size_t new_size);
void tare_free(const tare_allocator *a, void *ptr, size_t size);

/* Grows an array to hold at least n items: *items, *capacity are replaced, capacity at least
 * doubles. False when memory is out (the old array stays) or the size overflows. */
bool tare_grow(const tare_allocator *a, void **items, size_t *capacity, size_t n, size_t item_size);

typedef struct tare_arena_block tare_arena_block;

/* Bump allocation; everything goes at once. One thread at a time. */
typedef struct tare_arena {
    const tare_allocator *allocator;
    tare_arena_block *blocks;
    size_t used, size; /* of the newest block */
    size_t next_size;
} tare_arena;

void tare_arena_init(tare_arena *arena, const tare_allocator *allocator);
void tare_arena_free(tare_arena *arena);
/* Cleared memory, aligned for any type; NULL when memory is out. size 0 gives a valid pointer. */
void *tare_arena_take(tare_arena *arena, size_t size);
/* n * item_size, checked. */
void *tare_arena_array(tare_arena *arena, uint64_t n, size_t item_size);
/* A copy, with a NUL after it that is not counted. ptr is NULL when memory is out. */
tare_str tare_arena_str(tare_arena *arena, tare_str text);

#define TARE_NEW(arena, type)          ((type *)tare_arena_take(arena, sizeof(type)))
#define TARE_NEW_ARRAY(arena, type, n) ((type *)tare_arena_array(arena, n, sizeof(type)))

#endif
