/* SPDX-License-Identifier: MIT
 *
 * How a layer of a .wcodec is cut into streams: docs/wcodec.md, 12. This follows entirely from an
 * encoding's description, so that no encoding is known by name here. */
#ifndef TARE_WCODEC_LAYER_WC_CUT_H
#define TARE_WCODEC_LAYER_WC_CUT_H

#include <tare/encoding.h>

#include "wcodec/layer/wc_layer.h"

_Static_assert(TARE_CODED_MAX_REGIONS >= TARE_MAX_PLANES, "each plane of an encoding is a region");

/* The effort to spend, and settings for tests. */
typedef struct tare_wc_effort {
    bool is_full;
    tare_coded_mode mode; /* to be used wherever it can */
    uint8_t log2_segment; /* values of a segment; 0: what suits the stream */
    bool is_for_gpu;      /* tensors: shorter segments, without tiles and zstd */
    bool joins_small;     /* values of 5 bits of a small tensor: tare_wc_joining_pays says so */
    bool pairs_codes;     /* of 4 bits: two are a value; tare_wc_pairing_pays says so */
    tare_tile_limits tiles;
    uint8_t trellis;     /* 8 or 32: the codes of tensors are steps of a trellis, whose segments
                             are as long as tare_wc_trellis_log2 says */
    bool has_wide_codes; /* 16-bit integers are codes: numbers, not bytes */
} tare_wc_effort;

#define TARE_WC_EFFORT_FAST                                                                        \
    { .mode = TARE_CODED_SMALLEST }

typedef struct tare_wc_cut {
    uint8_t n_regions, n_streams;
    uint64_t region_bytes[TARE_CODED_MAX_REGIONS];
    tare_coded_stream streams[TARE_CODED_MAX_STREAMS]; /* without what encoding them fills in */
    tare_wc_options how;                               /* what holds for all of them */
} tare_wc_cut;

/* log2 of the longest segments of tensors for GPUs: so short that those of one block of a model keep
 * a GPU busy, for about 0.2 % more. */
uint8_t tare_wc_most_for_gpu(uint8_t value_bits);
/* A tensor whose regions are the planes of its encoding, of so many bytes each, one row after the
 * other, with numbers in the byte order of its file. */
void tare_wc_cut_tensor(tare_wc_cut *out, const tare_encoding *encoding,
                        const uint64_t *plane_bytes, const uint64_t *dims, uint32_t n_dims,
                        bool is_big_endian, const tare_wc_effort *effort);
/* log2 of the values of a segment of trellis steps: whoever finds the steps has to know where the
 * lanes begin anew. */
uint8_t tare_wc_trellis_log2(const tare_wc_effort *effort);
/* Bytes that are not tensors: parts of files, text. */
void tare_wc_cut_bytes(tare_wc_cut *out, uint64_t n_bytes, const tare_wc_effort *effort);
/* Regions as they are: each is a stream of bytes. */
void tare_wc_cut_whole(tare_wc_cut *out, const uint64_t *region_bytes, uint8_t n_regions,
                       const tare_wc_effort *effort);
/* The layer cut so: regions and streams, the latter copied into the arena. */
tare_status tare_wc_apply_cut(tare_wc_layer *layer, const tare_wc_cut *cut, tare_arena *arena,
                              tare_error *err);

#endif
