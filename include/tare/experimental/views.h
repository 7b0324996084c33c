/* SPDX-License-Identifier: MIT
 *
 * tare/experimental/views.h: files that do not exist, read at any position as if they did: those that a
 * .wcodec was packed from, and those that a conversion would write. Only what is read is computed.
 *
 *     tare_view *view;
 *     status = tare_view_new(&view, NULL, &err);
 *     if (status == TARE_OK) status = tare_view_add_packed(view, "", &source, NULL, &err);
 *     if (status == TARE_OK) status = tare_view_read(buf, view, 0, offset, n, &err);
 *     tare_view_free(view);
 *
 * Threads: files are added by one thread; afterwards any number of threads may read.
 */
#ifndef TARE_EXPERIMENTAL_VIEWS_H
#define TARE_EXPERIMENTAL_VIEWS_H

#include <tare/base.h>
#include <tare/convert.h>
#include <tare/model.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tare_view tare_view;

typedef struct tare_view_options {
    size_t size;
    /* NULL: the defaults. `threads` make what will probably be read next; the report gets what a
     * folder holds that cannot be shown as what it was packed from */
    const tare_context *context;
    uint64_t cache_bytes; /* of computed bytes that are kept, and of what computing them needs; 0:
                             256 MiB, at least 16 MiB. Directories come on top */
    bool no_ahead;        /* compute nothing before it is asked for */
} tare_view_options;

TARE_DECLARE_INIT(tare_view_options)

typedef enum tare_view_kind {
    TARE_VIEW_FILE = 0,
    TARE_VIEW_LINK = 1,   /* to `target`, relative to the folder that it lies in */
    TARE_VIEW_FOLDER = 2, /* an empty one; others follow from the names of files */
} tare_view_kind;

/* What is known of a file before it is read. Strings live as long as the view. */
typedef struct tare_view_file {
    size_t size;
    tare_view_kind kind;
    tare_str name; /* parts are joined by "/"; none is empty, "." or ".." */
    uint64_t n_bytes;
    tare_str target; /* of a link */
    bool is_stated;  /* the rest is known */
    uint16_t mode;   /* permissions, 0..0777 */
    uint32_t nanoseconds;
    int64_t seconds; /* of the time of modification, since 1970 */
} tare_view_file;

TARE_DECLARE_INIT(tare_view_file)

/* Without files. */
TARE_API tare_status tare_view_new(tare_view **out, const tare_view_options *options,
                                   tare_error *err);
TARE_API void tare_view_free(tare_view *view);

/* Adds the files that a .wcodec was packed from. `name`: of the only file (""; as it was called), or
 * of the folder that they lie in (""; at the top). Of `options` bases and n_bases count; they must
 * outlive the view. ERR_ARG: the .wcodec holds no files but a model alone (a conversion of it can be
 * added), two files have one name, or a base is missing. After a failure the view can only be freed. */
TARE_API tare_status tare_view_add_packed(tare_view *view, const char *name,
                                          const tare_source *source,
                                          const tare_open_options *options, tare_error *err);
/* Adds what a conversion would write, byte for byte, under `name`: the file, or a folder of files. The
 * plan must outlive the view, and be made for a path. Without size known in advance (.wcodec) or with
 * digests of what is written (MCF, INFQ): UNSUPPORTED. */
TARE_API tare_status tare_view_add_plan(tare_view *view, const char *name, const tare_plan *plan,
                                        tare_error *err);
/* Adds the files of a folder, each .wcodec as what it was packed from: X.wcodec becomes X, a file (with
 * the suffix that it had, if X has none) or a folder. What holds no files, needs a base, is damaged,
 * or would have the name of another file stays the .wcodec that it is, which is reported
 * ("view.as-is"). Folders within it only if `recursive`. `options` as above. */
TARE_API tare_status tare_view_add_folder(tare_view *view, const char *path, bool recursive,
                                          const tare_open_options *options, tare_error *err);

TARE_API size_t tare_view_count(const tare_view *view);
/* File i; false beyond the end, or where out->size is not set. */
TARE_API bool tare_view_at(tare_view_file *out, const tare_view *view, size_t i);

/* n bytes of file i from byte `offset` on, which are there. What follows is computed meanwhile if the
 * file is read in order. Errors: those of reading and decoding; err->file names the source. A damaged
 * segment fails only what is read of it. */
TARE_API tare_status tare_view_read(void *buf, tare_view *view, size_t i, uint64_t offset, size_t n,
                                    tare_error *err);
/* The same, of which no order is concluded: nothing is computed but what is read. */
TARE_API tare_status tare_view_read_alone(void *buf, tare_view *view, size_t i, uint64_t offset,
                                          size_t n, tare_error *err);
/* The range around a byte that is computed at once, and is therefore cheap to read with it. */
TARE_API void tare_view_grain(uint64_t *begin, uint64_t *end, const tare_view *view, size_t i,
                              uint64_t offset);

#ifdef __cplusplus
}
#endif
#endif
