/* SPDX-License-Identifier: MIT
 *
 * A layer consists of regions, which are bytes as a file has them, and streams, which are cut from
 * the units of a region (docs/wcodec.md, 4.2, calls them planes) and which the codec works on. */
#ifndef TARE_WCODEC_LAYER_WC_STREAM_H
#define TARE_WCODEC_LAYER_WC_STREAM_H

#include "base/arith.h"
#include "wcodec/wc_format.h"
#include "wcodec/wc_join.h"

enum {
    TARE_WC_LAYER_ALIGN = 128, /* a layer's data is padded to a multiple of it */
    TARE_WC_MAX_STREAMS = 32,
    TARE_WC_MAX_REGIONS = 4,
    TARE_WC_NO_SCALES = 255,
    TARE_WC_STREAM_RECORD = 28, /* bytes of its record, up to the join or the sizes of segments */
};

typedef struct tare_wc_stream {
    tare_wc_shape shape;
    uint8_t region;
    uint8_t scale_stream; /* TARE_WC_NO_SCALES: none */
    uint8_t scale_form;
    uint32_t values_per_scale;
    uint32_t stride, offset, width; /* bytes of a unit of the region */
    uint32_t high_offset; /* of the high bits of a joined stream, whose low ones those are */
    tare_wc_join join;    /* high_bits 0: none */
    uint32_t head_bytes;
    uint64_t n_bytes;  /* of the stream; follows from the region */
    uint64_t position; /* of the head in the file; follows from the sizes before it */
    uint64_t n_segments;
    uint32_t *sizes; /* stored, of each segment, in units of 64 bytes */
    /* The CRC-32 that each segment states, and that of the head: which ones belong here. NULL:
     * not known, as in files before version 1.2. */
    uint32_t *crcs;
    uint32_t head_crc;
} tare_wc_stream;

typedef struct tare_wc_layer {
    uint8_t n_regions, n_streams;
    bool has_base;     /* segments may refer to the same layer of a base model */
    bool is_predicted; /* while it is written: a segment does */
    uint32_t crc;
    uint64_t offset, size; /* of its data in the file */
    uint64_t region_bytes[TARE_WC_MAX_REGIONS];
    tare_wc_stream *streams;
} tare_wc_layer;

/* Whether the cut of stream i of a layer is valid, and whether the streams of each region cover its
 * units, each byte once. `at`: of the record, for errors; TARE_NO_OFFSET: there is none. */
tare_status tare_wc_check_stream(const tare_wc_layer *layer, unsigned i, uint64_t at,
                                 tare_error *err);
tare_status tare_wc_check_cover(const tare_wc_layer *layer, uint64_t at, tare_error *err);

/* Bytes of the stream for a unit of its region, and for all of a region. */
static inline uint64_t tare_wc_unit_bytes(const tare_wc_stream *p) {
    return p->join.high_bits ? (uint64_t)p->width / 2 * 3 : p->width;
}
static inline uint64_t tare_wc_stream_bytes(const tare_wc_stream *p, uint64_t region_bytes) {
    return region_bytes / p->stride * tare_wc_unit_bytes(p);
}
/* Bits that values use; 0: all value_bits. */
static inline uint8_t tare_wc_value_bits(const tare_wc_stream *p) {
    return p->join.high_bits ? (uint8_t)(TARE_WC_JOIN_LOW_BITS + p->join.high_bits) : 0;
}
/* Decoded bytes of a segment, the last one being shorter. */
static inline uint32_t tare_wc_segment_bytes(const tare_wc_stream *p, uint64_t segment) {
    uint64_t whole = tare_wc_whole_bytes(&p->shape);
    return (uint32_t)tare_min_u64(whole, p->n_bytes - segment * whole);
}
/* Whether it is known which segments are the layer's. */
static inline bool tare_wc_is_bound(const tare_wc_layer *l) {
    for (unsigned i = 0; i < l->n_streams; i++)
        if (l->streams[i].n_segments && !l->streams[i].crcs) return false;
    return true;
}

#endif
