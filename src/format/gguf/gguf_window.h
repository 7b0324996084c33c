/* SPDX-License-Identifier: MIT
 *
 * The directory of a GGUF file, whose length stands nowhere, seen through windows: pieces of
 * memory that begin at a whole record and hold as many bytes as a few large reads bring. Records
 * point into their window, which the model keeps; nothing moves, nothing is copied twice but the
 * record at a border. A source that lies in memory is one window without a copy. */
#ifndef TARE_FORMAT_GGUF_GGUF_WINDOW_H
#define TARE_FORMAT_GGUF_GGUF_WINDOW_H

#include "base/cursor.h"
#include "model/catalog.h"

typedef struct tare_gguf_window {
    tare_model *m;
    const tare_reader *reader;
    tare_cursor c;   /* more_follows: the file goes on behind the window */
    uint8_t *memory; /* NULL: the source's own */
    size_t size;
    uint64_t skipped; /* bytes that were passed over unread */
    bool discards;    /* nothing points into the windows: the model does not keep them */
} tare_gguf_window;

/* Reads the beginning of a file of the model. */
tare_status tare_gguf_window_begin(tare_gguf_window *w, tare_model *m, uint32_t file,
                                   tare_error *err);
/* The record at `start` runs on behind the window: the next window begins there, and is longer
 * than what the last one had of it. Clears the cursor's failure. LIMIT: the directory is longer
 * than limits.metadata_bytes. */
tare_status tare_gguf_window_extend(tare_gguf_window *w, uint64_t start, tare_error *err);
/* Passes over n bytes of the file, which are there, without reading those behind the window. */
tare_status tare_gguf_window_skip(tare_gguf_window *w, uint64_t n, tare_error *err);
/* Where a byte of the window lies in the file. */
uint64_t tare_gguf_window_place(const tare_gguf_window *w, const void *p);
/* Gives the last window to the model. */
tare_status tare_gguf_window_end(tare_gguf_window *w, tare_error *err);
/* After a failure, or after the end. */
void tare_gguf_window_free(tare_gguf_window *w);

#endif
