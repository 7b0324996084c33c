/* SPDX-License-Identifier: MIT
 *
 * The caller's allocator or malloc, and the arena. */
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arith.h"

static void *malloc_alloc(void *ctx, size_t size) {
    (void)ctx;
    return malloc(size);
}

static void *malloc_resize(void *ctx, void *ptr, size_t old_size, size_t new_size) {
    (void)ctx, (void)old_size;
    return realloc(ptr, new_size);
}

static void malloc_free(void *ctx, void *ptr, size_t size) {
    (void)ctx, (void)size;
    free(ptr);
}

const tare_allocator tare_malloc_allocator = {NULL, malloc_alloc, malloc_resize, malloc_free};

void *tare_alloc(const tare_allocator *a, size_t size) {
    if (!a) a = &tare_malloc_allocator;
    return a->alloc(a->ctx, size ? size : 1);
}

void *tare_resize(const tare_allocator *a, void *ptr, size_t old_size, size_t new_size) {
    if (!a) a = &tare_malloc_allocator;
    if (!ptr) return tare_alloc(a, new_size);
    return a->resize(a->ctx, ptr, old_size ? old_size : 1, new_size ? new_size : 1);
}

void tare_free(const tare_allocator *a, void *ptr, size_t size) {
    if (!ptr) return;
    if (!a) a = &tare_malloc_allocator;
    a->free(a->ctx, ptr, size ? size : 1);
}

bool tare_grow(const tare_allocator *a, void **items, size_t *capacity, size_t n,
               size_t item_size) {
    if (n <= *capacity) return true;
    size_t wanted = *capacity < 8 ? 8 : *capacity;
    while (wanted < n) {
        if (wanted > SIZE_MAX / 2) return false;
        wanted *= 2;
    }
    uint64_t bytes;
    size_t size;
    if (!tare_mul_u64(wanted, item_size, &bytes) || !tare_size_of_u64(bytes, &size)) return false;
    void *p = tare_resize(a, *items, *capacity * item_size, size);
    if (!p) return false;
    *items = p;
    *capacity = wanted;
    return true;
}

/* ---- arena ----------------------------------------------------------------------------------- */

/* Blocks double from 4 KiB to 1 MiB; an allocation larger than a quarter of the next block gets its
 * own block, so that one large array does not waste the rest of the current one. */
#define FIRST_BLOCK ((size_t)4096)
#define LAST_BLOCK  ((size_t)1 << 20)

struct tare_arena_block {
    tare_arena_block *next;
    size_t size; /* with this header */
    alignas(max_align_t) uint8_t bytes[];
};

void tare_arena_init(tare_arena *arena, const tare_allocator *allocator) {
    *arena = (tare_arena){.allocator = allocator, .next_size = FIRST_BLOCK};
}

void tare_arena_free(tare_arena *arena) {
    tare_arena_block *block = arena->blocks;
    while (block) {
        tare_arena_block *next = block->next;
        tare_free(arena->allocator, block, block->size);
        block = next;
    }
    tare_arena_init(arena, arena->allocator);
}

static tare_arena_block *new_block(tare_arena *arena, size_t size) {
    if (size > SIZE_MAX - sizeof(tare_arena_block)) return NULL;
    size += sizeof(tare_arena_block);
    tare_arena_block *block = tare_alloc(arena->allocator, size);
    if (block) block->size = size;
    return block;
}

void *tare_arena_take(tare_arena *arena, size_t size) {
    const size_t unit = alignof(max_align_t);
    if (size > SIZE_MAX - unit) return NULL;
    size_t rounded = (size + unit - 1) / unit * unit;
    if (rounded == 0) rounded = unit;
    uint8_t *bytes;
    if (arena->blocks && rounded <= arena->size - arena->used) {
        bytes = arena->blocks->bytes + arena->used;
        arena->used += rounded;
    } else if (rounded > arena->next_size / 4) {
        /* A dedicated block is linked after the current one, which stays in use. */
        tare_arena_block *block = new_block(arena, rounded);
        if (!block) return NULL;
        tare_arena_block **at = arena->blocks ? &arena->blocks->next : &arena->blocks;
        block->next = *at;
        *at = block;
        if (block == arena->blocks) arena->used = arena->size = rounded;
        bytes = block->bytes;
    } else {
        tare_arena_block *block = new_block(arena, arena->next_size);
        if (!block) return NULL;
        block->next = arena->blocks;
        arena->blocks = block;
        arena->size = arena->next_size;
        arena->used = rounded;
        if (arena->next_size < LAST_BLOCK) arena->next_size *= 2;
        bytes = block->bytes;
    }
    memset(bytes, 0, size);
    return bytes;
}

void *tare_arena_array(tare_arena *arena, uint64_t n, size_t item_size) {
    uint64_t bytes;
    size_t size;
    if (!tare_mul_u64(n, item_size, &bytes) || !tare_size_of_u64(bytes, &size)) return NULL;
    return tare_arena_take(arena, size);
}

tare_str tare_arena_str(tare_arena *arena, tare_str text) {
    char *p = text.len < SIZE_MAX ? tare_arena_take(arena, text.len + 1) : NULL;
    if (!p) return (tare_str){NULL, 0};
    if (text.len) memcpy(p, text.ptr, text.len);
    return (tare_str){p, text.len};
}
