/* SPDX-License-Identifier: MIT
 *
 * A caller's function that reads many ranges at once, as a reader. */
#ifndef TARE_FORMAT_BATCHED_H
#define TARE_FORMAT_BATCHED_H

#include <tare/model.h>

#include "base/file_blocks.h"
#include "base/reader.h"

/* What the function is called with. */
typedef struct tare_batched_source {
    tare_read_many_fn read_many;
    void *ctx;
    uint64_t size;
    const char *name; /* of the reader */
} tare_batched_source;

/* Files of a model share *blocks, which is made where it is NULL: the caller releases it. */
tare_status tare_batched_open(tare_reader *out, tare_blocks **blocks,
                              const tare_batched_source *source, const tare_allocator *allocator,
                              tare_error *err);
#endif
