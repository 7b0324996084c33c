/* SPDX-License-Identifier: MIT
 *
 * Header, index and footer of a .wcodec (docs/wcodec.md, 2 to 4), read and written. */
#ifndef TARE_FORMAT_WCODEC_WCODEC_INDEX_H
#define TARE_FORMAT_WCODEC_WCODEC_INDEX_H

#include "base/buffer.h"
#include "base/cursor.h"
#include "wcodec/wc_format.h"
#include "wcodec/wc_join.h"

enum {
    TARE_WCODEC_HEADER = 128,
    TARE_WCODEC_FOOTER = 32,
    TARE_WCODEC_ALIGN = 128,
    TARE_WCODEC_MAX_PLANES = 32,
    TARE_WCODEC_MAX_REGIONS = 4,
    TARE_WCODEC_NO_SCALES = 255,
    TARE_WCODEC_PLANE_RECORD = 28, /* bytes, up to the join or the sizes of segments */
};

typedef enum tare_wcodec_kind {
    TARE_WCODEC_TENSOR = 0,
    TARE_WCODEC_BYTES = 1,
    TARE_WCODEC_METADATA = 2,
    TARE_WCODEC_RESOURCE = 3,
    TARE_WCODEC_KIND_COUNT
} tare_wcodec_kind;

typedef struct tare_wcodec_plane {
    tare_wc_shape shape;
    uint8_t region;
    uint8_t scale_plane; /* TARE_WCODEC_NO_SCALES: none */
    uint8_t scale_form;
    uint32_t values_per_scale;
    uint32_t stride, offset, width; /* bytes of a unit of the region */
    uint32_t high_offset; /* of the high bits of a joined plane, whose low ones those are */
    tare_wc_join join;    /* high_bits 0: none */
    uint32_t head_bytes;
    uint64_t n_bytes;  /* of the plane; follows from the region */
    uint64_t position; /* of the head in the file; follows from the sizes before it */
    uint64_t n_segments;
    uint32_t *sizes; /* stored, of each segment, in units of 64 bytes */
} tare_wcodec_plane;

typedef struct tare_wcodec_layer {
    tare_str name; /* first, for the index of names */
    uint8_t kind;  /* tare_wcodec_kind */
    uint8_t n_dims, n_regions, n_planes;
    uint8_t base; /* 0: none, else 1 + its number */
    bool is_big_endian;
    bool is_predicted; /* while it is written: a segment refers to the base */
    uint32_t crc;
    uint64_t offset, size;
    uint64_t dims[8]; /* outermost first */
    uint64_t region_bytes[TARE_WCODEC_MAX_REGIONS];
    tare_str encoding;
    tare_wcodec_plane *planes;
} tare_wcodec_layer;

typedef struct tare_wcodec_base {
    uint8_t digest[32];
    tare_str hint;
} tare_wcodec_base;

typedef struct tare_wcodec_range {
    uint32_t layer;
    uint8_t region;
    uint64_t offset, length;
} tare_wcodec_range;

typedef struct tare_wcodec_file {
    tare_str name;
    uint64_t size;
    uint32_t n_ranges;
    tare_wcodec_range *ranges;
} tare_wcodec_file;

typedef struct tare_wcodec_index {
    uint16_t minor; /* version of the format; the major one is 1 */
    uint8_t digest[32];
    uint8_t base_quant, tile_rows, tile_cols;
    uint8_t files_form; /* 0 none, 1 one file, 2 a directory */
    uint32_t zstd_version;
    uint32_t n_layers, n_bases, n_files;
    tare_wcodec_layer *layers;
    tare_wcodec_base *bases;
    tare_wcodec_file *files;
} tare_wcodec_index;

/* Where the ranges of a file ended so far, by layer and region: what the next one counts from. */
typedef struct tare_wcodec_ends {
    const tare_allocator *allocator;
    size_t n;
    uint64_t *ends;
    uint32_t *files; /* the file that an end is of */
    uint32_t file;   /* count it up before each file */
} tare_wcodec_ends;

bool tare_wcodec_ends_init(tare_wcodec_ends *ends, uint32_t n_layers,
                           const tare_allocator *allocator);
void tare_wcodec_ends_free(tare_wcodec_ends *ends);
/* 0 where the file had no such range yet. */
uint64_t *tare_wcodec_end(tare_wcodec_ends *ends, uint32_t layer, uint8_t region);

/* Where the index lies, from the first 128 bytes of a file of `file_size` bytes. */
tare_status tare_wcodec_find_index(uint64_t *offset, uint64_t *size,
                                   const uint8_t header[TARE_WCODEC_HEADER], uint64_t file_size,
                                   const tare_limits *limits, tare_error *err);
/* The directory, from the header and the `size` bytes of index and the footer behind it, read from
 * `offset`. Everything lies in the arena; strings are copies. */
tare_status tare_wcodec_index_read(tare_wcodec_index *out, const uint8_t header[TARE_WCODEC_HEADER],
                                   const uint8_t *bytes, uint64_t offset, uint64_t size,
                                   const tare_limits *limits, tare_arena *arena, tare_error *err);
/* Whether plane i of a layer is cut as a plane can be, and whether the planes of each region cover
 * its units, each byte once. `at`: of the record, for errors. */
tare_status tare_wcodec_check_plane(const tare_wcodec_layer *layer, unsigned i, uint64_t at,
                                    tare_error *err);
tare_status tare_wcodec_check_cover(const tare_wcodec_layer *layer, uint64_t at, tare_error *err);
/* Appends index and footer for layers whose data fills the file up to `offset`, and fills the
 * header. n_bytes, n_segments of planes are taken as they stand. */
void tare_wcodec_index_write(tare_buffer *out, uint8_t header[TARE_WCODEC_HEADER],
                             const tare_wcodec_index *index, uint64_t offset);
/* Bytes of the plane for a unit of its region, and for all of a region. */
static inline uint64_t tare_wcodec_unit_bytes(const tare_wcodec_plane *p) {
    return p->join.high_bits ? (uint64_t)p->width / 2 * 3 : p->width;
}
/* Bits that values have; 0: all of the item. */
static inline uint8_t tare_wcodec_value_bits(const tare_wcodec_plane *p) {
    return p->join.high_bits ? (uint8_t)(TARE_WC_JOIN_LOW_BITS + p->join.high_bits) : 0;
}
static inline uint64_t tare_wcodec_plane_bytes(const tare_wcodec_plane *p, uint64_t region_bytes) {
    return region_bytes / p->stride * tare_wcodec_unit_bytes(p);
}
/* Bytes of a plane's segment, the last one being shorter. */
uint32_t tare_wcodec_segment_bytes(const tare_wcodec_plane *plane, uint64_t segment);

#endif
