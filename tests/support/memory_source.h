/* SPDX-License-Identifier: MIT
 *
 * Bytes in memory as what a model is opened from. */
#ifndef TARE_TESTS_SUPPORT_MEMORY_SOURCE_H
#define TARE_TESTS_SUPPORT_MEMORY_SOURCE_H

#include <tare/model.h>

static inline tare_source memory_source(const void *bytes, uint64_t n) {
    return (tare_source){.size = sizeof(tare_source),
                         .kind = TARE_SOURCE_MEMORY,
                         .memory = bytes,
                         .n_bytes = n,
                         .fd = -1};
}

#endif
