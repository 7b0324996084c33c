/* SPDX-License-Identifier: MIT */
#include "base/pages.h"

#include <stdint.h>
#include <sys/mman.h>

enum { LARGE = 2 << 20, LEAST = 2 * LARGE };

void tare_pages_to_fill(void *p, size_t n) {
#ifdef MADV_HUGEPAGE
    const size_t before = (size_t)(-(uintptr_t)p % LARGE);
    if (n < LEAST) return;
    /* Small pages work as well. */
    (void)madvise((uint8_t *)p + before, (n - before) / LARGE * LARGE, MADV_HUGEPAGE);
#else
    (void)p, (void)n;
#endif
}
