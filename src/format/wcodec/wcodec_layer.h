/* SPDX-License-Identifier: MIT
 *
 * Layers of a .wcodec between regions, which are bytes as a file has them, and planes, which the
 * codec works on (docs/wcodec.md, 4.2 and 5). Memory is bounded by segments. */
#ifndef TARE_FORMAT_WCODEC_WCODEC_LAYER_H
#define TARE_FORMAT_WCODEC_WCODEC_LAYER_H

#include "base/cache.h"
#include "base/reader.h"
#include "format/wcodec/wcodec_index.h"
#include "wcodec/wc_encode.h"

/* Where the bytes of a layer's regions are to be had: region i from byte starts[i] of reader i. */
typedef struct tare_wcodec_source {
    const tare_reader *readers[TARE_WCODEC_MAX_REGIONS];
    uint64_t starts[TARE_WCODEC_MAX_REGIONS];
} tare_wcodec_source;

enum { TARE_WCODEC_PLACES = 64 };
#define TARE_WCODEC_ALL_SEGMENTS UINT64_MAX

/* What is told while layers are read, by any thread. */
typedef struct tare_wcodec_watch {
    /* A segment (or, where the head is damaged, all of a plane) cannot be decoded and is taken as
     * zeros. NULL: the first fault ends the reading. */
    void (*lost)(void *ctx, uint64_t layer, unsigned plane, uint64_t segment,
                 const tare_error *fault);
    /* Some segment of the layer was read in part. May be NULL. */
    void (*coarse)(void *ctx, uint64_t layer);
    void *ctx;
} tare_wcodec_watch;

/* A layer that is read. */
typedef struct tare_wcodec_opened {
    const tare_reader *file;
    const tare_wcodec_layer *layer;
    const tare_wcodec_source *base; /* NULL: layers that need one are refused */
    tare_wc_head *heads[TARE_WCODEC_MAX_PLANES];
    uint64_t *places[TARE_WCODEC_MAX_PLANES]; /* of every 64th segment, in the file */
    unsigned groups;                          /* of bypass bits; TARE_WC_ALL_GROUPS: all */
    tare_cache *cache;              /* of segments of which only a part was asked for; NULL: none */
    uint64_t number;                /* of the layer, in the cache and for the watch */
    const tare_wcodec_watch *watch; /* NULL: nobody wants to know */
} tare_wcodec_opened;

/* Reads the heads of the planes, into the arena. base, groups and cache are the caller's to set. */
tare_status tare_wcodec_open_layer(tare_wcodec_opened *out, const tare_reader *file,
                                   const tare_wcodec_layer *layer, tare_arena *arena,
                                   tare_error *err);
/* Where decoded bytes belong: bytes offset .. offset + n - 1 of a region; n 0: dst takes a plane's
 * bytes from `offset` on. */
typedef struct tare_wcodec_window {
    uint8_t *dst;
    uint64_t offset, n;
} tare_wcodec_window;

/* Bytes first .. end - 1 of a plane, into the part of them that the window shows. */
tare_status tare_wcodec_read_plane(const tare_wcodec_window *to, const tare_wcodec_opened *opened,
                                   unsigned plane, uint64_t first, uint64_t end,
                                   tare_wc_scratch *scratch, tare_error *err);
/* Which bytes of a plane a window on its region needs. */
void tare_wcodec_plane_span(uint64_t *first, uint64_t *end, const tare_wcodec_plane *plane,
                            const tare_wcodec_window *window);
/* As tare_wcodec_open_layer, for a layer that is watched, under a number: a damaged head loses its
 * plane alone. */
tare_status tare_wcodec_open_watched(tare_wcodec_opened *out, const tare_reader *file,
                                     const tare_wcodec_layer *layer, uint64_t number,
                                     const tare_wcodec_watch *watch, tare_arena *arena,
                                     tare_error *err);
/* Whether a fault is one of the data, which others need not have. */
bool tare_wcodec_is_loss(tare_status status);
/* Bytes offset .. offset + n - 1 of a region; decodes the segments they lie in, and no others. Up
 * to four are decoded side by side, and straight into dst where a plane is all of its region. */
tare_status tare_wcodec_read_region(uint8_t *dst, const tare_wcodec_opened *opened, unsigned region,
                                    uint64_t offset, size_t n, tare_wc_scratch *scratch,
                                    tare_error *err);
/* Compares the layer's CRC with its heads and the CRCs in its segments; decodes nothing. */
tare_status tare_wcodec_check_layer(const tare_wcodec_opened *opened, tare_error *err);

#endif
