/* SPDX-License-Identifier: MIT
 *
 * Memory that runs out: an allocator whose n-th call fails, and which knows what is in use. */
#ifndef TARE_TESTS_UNIT_SCARCE_MEMORY_H
#define TARE_TESTS_UNIT_SCARCE_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include <tare/base.h>

typedef struct scarce_memory {
    _Atomic long left;     /* calls until the one that fails */
    bool is_out_for_good;  /* so do all after it */
    _Atomic size_t in_use; /* bytes */
} scarce_memory;

static inline bool scarce_fails(scarce_memory *s) {
    const long left = s->left--;
    return left == 0 || (left < 0 && s->is_out_for_good);
}

static inline void *scarce_alloc(void *ctx, size_t size) {
    scarce_memory *s = ctx;
    if (scarce_fails(s)) return NULL;
    s->in_use += size;
    return malloc(size);
}

static inline void *scarce_resize(void *ctx, void *ptr, size_t old_size, size_t new_size) {
    scarce_memory *s = ctx;
    if (scarce_fails(s)) return NULL;
    s->in_use += new_size - old_size;
    return realloc(ptr, new_size);
}

static inline void scarce_free(void *ctx, void *ptr, size_t size) {
    scarce_memory *s = ctx;
    s->in_use -= size;
    free(ptr);
}

static inline tare_allocator scarce_allocator(scarce_memory *s) {
    return (tare_allocator){s, scarce_alloc, scarce_resize, scarce_free};
}

#endif
