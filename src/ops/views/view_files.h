/* SPDX-License-Identifier: MIT
 *
 * Where the files of a view come from: sources, each of which makes pieces of its files. */
#ifndef TARE_OPS_VIEWS_VIEW_FILES_H
#define TARE_OPS_VIEWS_VIEW_FILES_H

#include <tare/experimental/views.h>

#include "base/reader.h"

/* A range of a file that is made at once; at most 64 MiB. */
typedef struct tare_view_piece {
    uint64_t begin, end;
} tare_view_piece;

typedef struct tare_view_source {
    /* The piece around a byte of its file `number`. */
    tare_status (*locate)(tare_view_piece *out, void *ctx, uint32_t number, uint64_t offset,
                          tare_error *err);
    /* Fills n bytes from `offset` on: a piece, or a part of one that failed. From any thread. */
    tare_status (*make)(uint8_t *out, void *ctx, uint32_t number, uint64_t offset, size_t n,
                        tare_error *err);
    /* Bytes that making may keep between calls. May be NULL. */
    void (*limit)(void *ctx, size_t bytes);
    void (*free)(void *ctx);
    void *ctx;
    tare_file_version version; /* of the file that it shows, where that is on a server */
    bool is_plain; /* reading is all there is to it: nothing is kept, nothing is made ahead */
} tare_view_source;

/* Takes the source over, even on failure; *index is what its files are added with. */
tare_status tare_view_add_source(uint32_t *index, tare_view *view, const tare_view_source *source,
                                 tare_error *err);
/* Adds file `number` of a source: `name` is "FOLDER/NAME", or one of them if the other is empty. The
 * strings of *file are copied. */
tare_status tare_view_add_file(tare_view *view, uint32_t source, uint32_t number, tare_str folder,
                               const tare_view_file *file, tare_error *err);
/* "FOLDER/NAME", or one of them if the other is empty, with a NUL; ptr NULL: memory is out. */
tare_str tare_view_join(tare_arena *arena, tare_str folder, tare_str name);
/* Whether there is a file of this name, or a folder that files lie in. Linear in the files. */
bool tare_view_has(const tare_view *view, tare_str name);
size_t tare_view_n_sources(const tare_view *view);
const tare_file_version *tare_view_version(const tare_view *view, size_t source);
const tare_context *tare_view_context(const tare_view *view);
/* For strings of files. */
tare_arena *tare_view_arena(tare_view *view);

/* tare_view_add_packed for the file that a folder holds under `name`, with .wcodec: *is_ours false,
 * with status OK and *why: it has to stay as it is. */
tare_status tare_view_add_found(bool *is_ours, tare_error *why, tare_view *view, const char *path,
                                const char *name, const tare_open_options *options,
                                tare_error *err);

#endif
