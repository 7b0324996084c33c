/* SPDX-License-Identifier: MIT
 *
 * The directory of a GGUF file, whose length is not stored anywhere, is read through windows:
 * pieces of memory that begin at a record boundary and hold as many bytes as a few large reads
 * bring. Records point into their window, which the model keeps; nothing moves, and only a record
 * at a border is copied twice. A source that lies in memory is one window without a copy. */
#ifndef TARE_FORMAT_GGUF_GGUF_WINDOW_H
#define TARE_FORMAT_GGUF_GGUF_WINDOW_H

#include "base/cursor.h"
#include "model/catalog.h"

typedef struct tare_gguf_window {
    tare_model *m;
    const tare_reader *reader;
    tare_cursor c;   /* more_follows: the file goes on after the window */
    uint8_t *memory; /* NULL: the source's own */
    size_t size;
    uint64_t skipped;      /* bytes that were passed over unread */
    bool discards;         /* nothing points into the windows: the model does not keep them */
    uint64_t expected_end; /* of the record that runs past the window, if that is known; else 0 */
} tare_gguf_window;

/* Reads the beginning of a file of the model. */
tare_status tare_gguf_window_begin(tare_gguf_window *w, tare_model *m, uint32_t file,
                                   tare_error *err);
/* The record at `start` extends past the window: the next window begins there, and is longer than
 * the part of it in the last one. Clears the cursor's failure. LIMIT: the directory is longer than
 * limits.metadata_bytes. */
tare_status tare_gguf_window_extend(tare_gguf_window *w, uint64_t start, tare_error *err);
/* Skips n bytes of the file, which exist, without reading those past the window. */
tare_status tare_gguf_window_skip(tare_gguf_window *w, uint64_t n, tare_error *err);
/* The file offset of a byte of the window. */
uint64_t tare_gguf_window_place(const tare_gguf_window *w, const void *p);
/* Gives the last window to the model. */
tare_status tare_gguf_window_end(tare_gguf_window *w, tare_error *err);
/* After a failure, or after the end. */
void tare_gguf_window_free(tare_gguf_window *w);

#endif
