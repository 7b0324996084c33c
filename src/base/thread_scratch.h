/* SPDX-License-Identifier: MIT
 *
 * Memory that a run's threads reuse: each thread has a few slots, which grow. */
#ifndef TARE_BASE_THREAD_SCRATCH_H
#define TARE_BASE_THREAD_SCRATCH_H

#include "base/alloc.h"

enum { TARE_SCRATCH_SLOTS = 8 };

/* Memory of one thread; each slot grows as needed. */
typedef struct tare_scratch {
    const tare_allocator *allocator;
    uint8_t *bytes[TARE_SCRATCH_SLOTS];
    size_t size[TARE_SCRATCH_SLOTS];
} tare_scratch;

/* The slot's memory, at least `size` bytes; its contents are lost. NULL when out of memory. */
uint8_t *tare_scratch_get(tare_scratch *s, int slot, uint64_t size);
/* One for each thread of a run, empty; NULL when memory is out. */
tare_scratch *tare_scratch_new(unsigned threads, const tare_allocator *allocator);
void tare_scratch_delete(tare_scratch *scratch, unsigned threads, const tare_allocator *allocator);

#endif
