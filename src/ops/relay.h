/* SPDX-License-Identifier: MIT
 *
 * Writing by whoever is free to. A system lets one thread at a time write into a file; threads that
 * would wait for each other there leave what they have to the one that is writing and go on. */
#ifndef TARE_OPS_RELAY_H
#define TARE_OPS_RELAY_H

#include "base/alloc.h"

typedef struct tare_relay_piece {
    uint8_t *bytes; /* a buffer of the relay */
    size_t n;
    uint32_t file;
    uint64_t offset;
} tare_relay_piece;

/* Called by one thread at a time, for pieces in the order they were put. */
typedef tare_status (*tare_relay_write)(void *ctx, const tare_relay_piece *piece, tare_error *err);

typedef struct tare_relay tare_relay;

/* For so many threads; each holds at most one buffer. */
tare_status tare_relay_new(tare_relay **out, unsigned threads, size_t buffer_size,
                           tare_relay_write write, void *ctx, const tare_allocator *allocator,
                           tare_error *err);
void tare_relay_free(tare_relay *relay); /* NULL is fine */
/* A buffer; waits for one where writing is what takes long. NULL when memory is out. */
uint8_t *tare_relay_take(tare_relay *relay);
/* The buffer is not needed after all. */
void tare_relay_give(tare_relay *relay, uint8_t *buffer);
/* Hands a piece over, and writes all that is there if nobody else is writing. A failure is told
 * once, and may be that of another thread's piece; what is put behind it is dropped. When no put is
 * running, nothing is left to be written. */
tare_status tare_relay_put(tare_relay *relay, const tare_relay_piece *piece, tare_error *err);

#endif
