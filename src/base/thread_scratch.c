/* SPDX-License-Identifier: MIT
 *
 * Slots of memory for each thread of a run. */
#include "base/thread_scratch.h"

#include "base/arith.h"

uint8_t *tare_scratch_get(tare_scratch *s, int slot, uint64_t size) {
    size_t wanted;
    if (size <= s->size[slot] && s->bytes[slot]) return s->bytes[slot];
    if (!tare_size_of_u64(size, &wanted)) return NULL;
    tare_free(s->allocator, s->bytes[slot], s->size[slot]);
    s->bytes[slot] = tare_alloc(s->allocator, wanted);
    s->size[slot] = s->bytes[slot] ? wanted : 0;
    return s->bytes[slot];
}

tare_scratch *tare_scratch_new(unsigned threads, const tare_allocator *allocator) {
    tare_scratch *s = tare_alloc(allocator, threads * sizeof *s);
    for (unsigned i = 0; s && i < threads; i++) s[i] = (tare_scratch){.allocator = allocator};
    return s;
}

void tare_scratch_delete(tare_scratch *scratch, unsigned threads, const tare_allocator *allocator) {
    if (!scratch) return;
    for (unsigned t = 0; t < threads; t++)
        for (int i = 0; i < TARE_SCRATCH_SLOTS; i++)
            tare_free(allocator, scratch[t].bytes[i], scratch[t].size[i]);
    tare_free(allocator, scratch, threads * sizeof *scratch);
}
