/* SPDX-License-Identifier: MIT
 *
 * Writing in turns. The system lets only one thread at a time write to a file. A thread that would
 * have to wait keeps its data and goes on, and writes it later: data in another core's cache takes
 * longer to write, and to overwrite afterwards, than that in its own. */
#ifndef TARE_OPS_PACKING_WRITE_TURNS_H
#define TARE_OPS_PACKING_WRITE_TURNS_H

#include "base/alloc.h"

typedef struct tare_write_piece {
    uint8_t *bytes; /* a buffer of the thread */
    size_t n;
    uint32_t file;
    uint64_t offset;
} tare_write_piece;

/* Called by one thread at a time, for its pieces in the order they were put. */
typedef tare_status (*tare_write_piece_fn)(void *ctx, const tare_write_piece *piece,
                                           tare_error *err);

typedef struct tare_write_turns tare_write_turns;

/* For threads 0..threads-1, each of which fills one buffer at a time. */
tare_status tare_write_turns_new(tare_write_turns **out, unsigned threads, size_t buffer_size,
                                 tare_write_piece_fn write, void *ctx,
                                 const tare_allocator *allocator, tare_error *err);
void tare_write_turns_free(tare_write_turns *turns); /* NULL is fine */
/* The buffer that a thread is to fill; the same until it is put. */
uint8_t *tare_write_turns_buffer(tare_write_turns *turns, unsigned thread);
/* Hands over the piece in that buffer. It is written at once if no other thread is writing; else it
 * is kept, or waits if too much is. What is put after a failure is dropped. */
tare_status tare_write_turns_put(tare_write_turns *turns, unsigned thread,
                                 const tare_write_piece *piece, tare_error *err);
/* Writes what is kept, when no thread puts any more. */
tare_status tare_write_turns_finish(tare_write_turns *turns, tare_error *err);

#endif
