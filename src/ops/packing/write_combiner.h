/* SPDX-License-Identifier: MIT
 *
 * Combined writing. The system lets only one thread at a time write to a file; instead of waiting
 * for each other there, threads hand their data to the one that is writing and go on. */
#ifndef TARE_OPS_PACKING_WRITE_COMBINER_H
#define TARE_OPS_PACKING_WRITE_COMBINER_H

#include "base/alloc.h"

typedef struct tare_write_combiner_piece {
    uint8_t *bytes; /* a buffer of the combiner */
    size_t n;
    uint32_t file;
    uint64_t offset;
} tare_write_combiner_piece;

/* Called by one thread at a time, for pieces in the order they were put. */
typedef tare_status (*tare_write_combiner_write)(void *ctx, const tare_write_combiner_piece *piece,
                                                 tare_error *err);

typedef struct tare_write_combiner tare_write_combiner;

/* For this many threads; each holds at most one buffer. */
tare_status tare_write_combiner_new(tare_write_combiner **out, unsigned threads, size_t buffer_size,
                                    tare_write_combiner_write write, void *ctx,
                                    const tare_allocator *allocator, tare_error *err);
void tare_write_combiner_free(tare_write_combiner *combiner); /* NULL is fine */
/* A buffer; waits for one where writing is what takes long. NULL when memory is out. */
uint8_t *tare_write_combiner_take(tare_write_combiner *combiner);
/* The buffer is not needed after all. */
void tare_write_combiner_give(tare_write_combiner *combiner, uint8_t *buffer);
/* Hands a piece over, and writes all that is there if nobody else is writing. A failure is returned
 * once, and may concern another thread's piece; what is put after it is dropped. When no put is
 * running, nothing is left to be written. */
tare_status tare_write_combiner_put(tare_write_combiner *combiner,
                                    const tare_write_combiner_piece *piece, tare_error *err);

#endif
