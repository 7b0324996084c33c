/* SPDX-License-Identifier: MIT
 *
 * Header, index and footer of a .wcodec (docs/wcodec.md, 2 to 4), read and written. */
#ifndef TARE_FORMAT_WCODEC_WCODEC_INDEX_H
#define TARE_FORMAT_WCODEC_WCODEC_INDEX_H

#include "base/buffer.h"
#include "base/cursor.h"
#include "format/wcodec/wcodec_derivation.h"
#include "format/wcodec/wcodec_entry.h"
#include "wcodec/layer/wc_stream.h"

enum {
    TARE_WCODEC_HEADER = 128,
    TARE_WCODEC_FOOTER = 32,
};

/* What minor versions brought. */
enum {
    TARE_WCODEC_ENTRIES = 1, /* of files */
    TARE_WCODEC_CRCS,        /* of segments, in the records of layers */
    TARE_WCODEC_DERIVED,     /* layers */
    TARE_WCODEC_PIECES,      /* of which those are made */
    TARE_WCODEC_PACKED       /* records of layers; divisors of importance */
};

typedef enum tare_wcodec_kind {
    TARE_WCODEC_TENSOR = 0,
    TARE_WCODEC_BYTES = 1,
    TARE_WCODEC_METADATA = 2,
    TARE_WCODEC_RESOURCE = 3,
    TARE_WCODEC_KIND_COUNT
} tare_wcodec_kind; /* as tare_layer_kind */

typedef struct tare_wcodec_layer {
    tare_str name; /* first, for the index of names */
    uint8_t kind;  /* tare_wcodec_kind */
    uint8_t n_dims;
    uint8_t base; /* 0: none, else 1 + its number */
    bool is_big_endian;
    uint64_t dims[8]; /* outermost first */
    tare_str encoding;
    tare_wc_layer coded; /* its data */
    tare_wcodec_derivation derived;
} tare_wcodec_layer;

typedef struct tare_wcodec_index {
    uint16_t minor; /* version of the format; the major one is 1 */
    uint8_t digest[32];
    uint8_t base_quant, tile_rows, tile_cols;
    uint8_t files_form; /* 0 none, 1 one file, 2 a directory */
    uint32_t zstd_version;
    uint32_t n_layers, n_bases, n_files;
    tare_wcodec_layer *layers;
    tare_packed_base *bases;
    tare_packed_file *files;
    /* When it is written: the records of all files, as they were written before; ptr NULL: they are made of
     * `files`. */
    tare_str file_records;
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

/* The location of the index, from the first 128 bytes of a file of `file_size` bytes. */
tare_status tare_wcodec_find_index(uint64_t *offset, uint64_t *size,
                                   const uint8_t header[TARE_WCODEC_HEADER], uint64_t file_size,
                                   const tare_limits *limits, tare_error *err);
/* The directory, from the header and the `size` bytes of index and the footer after it, read from
 * `offset`. Everything lies in the arena; strings are copies. */
tare_status tare_wcodec_index_read(tare_wcodec_index *out, const uint8_t header[TARE_WCODEC_HEADER],
                                   const uint8_t *bytes, uint64_t offset, uint64_t size,
                                   const tare_limits *limits, tare_arena *arena, tare_error *err);
/* As much of the directory as there is, unchecked by its CRC: `n` bytes of an index of `size`, or
 * fewer. `header` NULL: it cannot be used. Layers and bases must be whole; file records that cannot
 * be read are left out, and counted in *n_lost. */
tare_status tare_wcodec_index_salvage(tare_wcodec_index *out, uint32_t *n_lost,
                                      const uint8_t *header, const uint8_t *bytes, uint64_t offset,
                                      uint64_t n, const tare_limits *limits, tare_arena *arena,
                                      tare_error *err);
/* Appends index and footer for layers whose data fills the file up to `offset`, and fills the
 * header. n_bytes and n_segments of streams are taken as they are. */
void tare_wcodec_index_write(tare_buffer *out, uint8_t header[TARE_WCODEC_HEADER],
                             const tare_wcodec_index *index, uint64_t offset);
/* Appends the records of its files. */
void tare_wcodec_files_write(tare_buffer *out, const tare_wcodec_index *index);

#endif
