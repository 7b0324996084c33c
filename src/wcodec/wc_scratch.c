/* SPDX-License-Identifier: MIT
 *
 * Memory of one thread of the codec. */
#include <zstd.h>

#include "base/os_system.h"
#include "wcodec/wc_segment.h"

void tare_wc_scratch_init(tare_wc_scratch *s, const tare_allocator *allocator) {
    *s = (tare_wc_scratch){.allocator = allocator};
}

void tare_wc_scratch_free(tare_wc_scratch *s) {
    for (unsigned i = 0; i < sizeof s->blocks / sizeof s->blocks[0]; i++)
        tare_free(s->allocator, s->blocks[i], s->sizes[i]);
    ZSTD_freeDCtx(s->zstd);
    tare_wc_scratch_init(s, s->allocator);
}

void *tare_wc_scratch_take(tare_wc_scratch *s, tare_wc_block i, size_t size) {
    if (s->blocks[i] && s->sizes[i] >= size) return s->blocks[i];
    tare_free(s->allocator, s->blocks[i], s->sizes[i]);
    s->sizes[i] = size;
    s->blocks[i] = tare_alloc(s->allocator, size);
    if (s->blocks[i]) tare_pages_to_fill(s->blocks[i], size);
    return s->blocks[i];
}
