/* SPDX-License-Identifier: MIT
 *
 * Layers of a .wcodec between regions, which are bytes as a file has them, and streams, which the
 * codec works on (docs/wcodec.md, 4.2 and 5). Memory is bounded by segments. */
#ifndef TARE_WCODEC_LAYER_WC_LAYER_H
#define TARE_WCODEC_LAYER_WC_LAYER_H

#include "base/cache.h"
#include "base/cursor.h"
#include "base/reader.h"
#include "wcodec/layer/wc_stream.h"
#include "wcodec/layer/wc_watch.h"
#include "wcodec/layer/wc_whole.h"
#include "wcodec/wc_encode.h"

/* The source of the bytes of a layer's regions: region i from byte starts[i] of reader i. */
typedef struct tare_wc_source {
    const tare_reader *readers[TARE_CODED_MAX_REGIONS];
    uint64_t starts[TARE_CODED_MAX_REGIONS];
} tare_wc_source;

enum { TARE_WC_PLACES = 64 };

/* A layer being read. */
typedef struct tare_wc_opened {
    const tare_reader *file;
    const tare_wc_layer *layer;
    const tare_wc_source *base; /* NULL: layers that need one are refused */
    tare_wc_head *heads[TARE_CODED_MAX_STREAMS];
    uint32_t head_crcs[TARE_CODED_MAX_STREAMS];
    uint64_t *places[TARE_CODED_MAX_STREAMS]; /* of every 64th segment, in the file */
    unsigned groups;                          /* of bypass bits; TARE_WC_ALL_GROUPS: all */
    tare_cache *cache;          /* of segments of which only a part was asked for; NULL: none */
    uint64_t number;            /* of the layer, in the cache and for the watch */
    const tare_wc_watch *watch; /* NULL: not reported */
    tare_wc_whole *whole;       /* told of each segment that is decoded; NULL: none */
} tare_wc_opened;

/* Reads the heads of the streams, into the arena. base, groups, cache and whole are the
 * caller's to set. */
tare_status tare_wc_open_layer(tare_wc_opened *out, const tare_reader *file,
                               const tare_wc_layer *layer, tare_arena *arena, tare_error *err);
/* Where a segment is stored, in the file. */
uint64_t tare_wc_segment_position(const tare_wc_opened *opened, unsigned stream, uint64_t segment);
/* Where decoded bytes belong: bytes offset .. offset + n - 1 of a region; n 0: dst takes a stream's
 * bytes from `offset` on. */
typedef struct tare_wc_window {
    uint8_t *dst;
    uint64_t offset, n;
} tare_wc_window;

/* Bytes first .. end - 1 of a stream, into the part of them that the window shows. */
tare_status tare_wc_read_stream(const tare_wc_window *to, const tare_wc_opened *opened,
                                unsigned stream, uint64_t first, uint64_t end,
                                tare_wc_scratch *scratch, tare_error *err);
/* Which bytes of a stream a window on its region needs. */
void tare_wc_stream_span(uint64_t *first, uint64_t *end, const tare_coded_stream *stream,
                         const tare_wc_window *window);
/* As tare_wc_open_layer, for a layer watched under a given number: a damaged head loses only its
 * own stream. */
tare_status tare_wc_open_watched(tare_wc_opened *out, const tare_reader *file,
                                 const tare_wc_layer *layer, uint64_t number,
                                 const tare_wc_watch *watch, tare_arena *arena, tare_error *err);
/* Bytes offset .. offset + n - 1 of a region; decodes the segments they lie in, and no others. Up
 * to four are decoded side by side, and straight into dst where a stream is all of its region. */
tare_status tare_wc_read_region(uint8_t *dst, const tare_wc_opened *opened, unsigned region,
                                uint64_t offset, size_t n, tare_wc_scratch *scratch,
                                tare_error *err);
/* How many bytes of a region are best read at once, starting at a multiple of that: at most `most`,
 * unless four segments of its largest stream have more. */
uint64_t tare_wc_region_step(const tare_wc_layer *layer, unsigned region, uint64_t most);
/* Whether the segment whose header was read is the one that belongs there, if that is known. */
tare_status tare_wc_check_place(const tare_wc_piece *piece, const tare_wc_record *record,
                                uint64_t segment, tare_error *err);
/* Compares the layer's CRC with its heads and the CRCs in its segments; decodes nothing. */
tare_status tare_wc_check_layer(const tare_wc_opened *opened, tare_error *err);

#endif
