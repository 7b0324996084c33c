/* SPDX-License-Identifier: MIT
 *
 * A layer consists of regions, which are bytes as a file has them, and streams, which are cut from
 * the units of a region (docs/wcodec.md, 4.2) and which the codec works on. */
#ifndef TARE_WCODEC_LAYER_WC_STREAM_H
#define TARE_WCODEC_LAYER_WC_STREAM_H

#include <tare/experimental/wcodec.h>

#include "base/arith.h"
#include "wcodec/wc_encode.h"
#include "wcodec/wc_join.h"

enum {
    TARE_WC_LAYER_ALIGN = 128,  /* a layer's data is padded to a multiple of it */
    TARE_WC_STREAM_RECORD = 28, /* bytes of its record, up to the join or the sizes of segments */
};

/* What is noted of the segments of a stream while they are written, or stated by an index. */
typedef struct tare_wc_record {
    uint32_t *sizes; /* those of the stream, while it is written; else NULL */
    /* The CRC-32 that each segment states, and that of the head: which ones belong here. NULL:
     * not known, as in files before version 1.2. */
    uint32_t *crcs;
    uint32_t head_crc;
} tare_wc_record;

/* A stream is what include/tare/experimental/wcodec.h says of it: the cut, with hints for whoever encodes it, and
 * what follows from that. */
typedef struct tare_wc_layer {
    uint8_t n_regions, n_streams;
    bool has_base;     /* segments may refer to the same layer of a base model */
    bool is_predicted; /* while it is written: a segment does */
    uint32_t crc;
    uint64_t offset, size; /* of its data in the file */
    uint64_t region_bytes[TARE_CODED_MAX_REGIONS];
    tare_coded_stream *streams; /* positions count from `offset` */
    tare_wc_record *records;    /* of each */
} tare_wc_layer;

/* Whether the cut of stream i of a layer is valid, and whether the streams of each region cover its
 * units, each byte once. `at`: of the record, for errors; TARE_NO_OFFSET: there is none. */
tare_status tare_wc_check_stream(const tare_wc_layer *layer, unsigned i, uint64_t at,
                                 tare_error *err);
tare_status tare_wc_check_cover(const tare_wc_layer *layer, uint64_t at, tare_error *err);

/* What the codec has to know of a field. */
static inline tare_wc_shape tare_wc_shape_of(const tare_coded_field *f) {
    return (tare_wc_shape){f->value_bits, f->log2_segment, f->is_big_endian, f->is_packed_scales};
}
/* Bits that values use; 0: all value_bits. */
static inline uint8_t tare_wc_used_bits(const tare_coded_field *f) {
    return f->join.high_bits ? (uint8_t)(TARE_WC_JOIN_LOW_BITS + f->join.high_bits) : 0;
}
/* The hints of a field for its encoder, beside what holds for all streams of a layer. */
static inline tare_wc_options tare_wc_options_of(const tare_coded_field *f, tare_wc_options all) {
    all.is_repetitive = f->is_repetitive;
    all.is_signed = f->is_signed;
    all.width = f->row;
    all.mode = (tare_coded_mode)f->mode;
    all.used_bits = tare_wc_used_bits(f);
    all.trellis = f->trellis;
    return all;
}
/* Bytes of the stream for a unit of its region. */
static inline uint64_t tare_wc_unit_bytes(const tare_coded_stream *p) {
    const tare_coded_field *f = &p->field;
    return f->join.high_bits ? (uint64_t)f->width / 2 * 3 : f->width;
}
/* Fills in what follows from the field and the size of its region. */
static inline void tare_wc_measure_stream(tare_coded_stream *p, uint64_t region_bytes) {
    const tare_wc_shape shape = tare_wc_shape_of(&p->field);
    p->n_bytes = region_bytes / p->field.stride * tare_wc_unit_bytes(p);
    p->segment_bytes = tare_wc_whole_bytes(&shape);
    p->n_segments = tare_ceil_div_u64(p->n_bytes, p->segment_bytes);
}
/* Decoded bytes of a segment, the last one being shorter. */
static inline uint32_t tare_wc_segment_bytes(const tare_coded_stream *p, uint64_t segment) {
    return (uint32_t)tare_min_u64(p->segment_bytes, p->n_bytes - segment * p->segment_bytes);
}
/* Whether it is known which segments are the layer's. */
static inline bool tare_wc_is_bound(const tare_wc_layer *l) {
    for (unsigned i = 0; i < l->n_streams; i++)
        if (l->streams[i].n_segments && !l->records[i].crcs) return false;
    return true;
}

#endif
