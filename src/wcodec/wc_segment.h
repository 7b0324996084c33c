/* SPDX-License-Identifier: MIT
 *
 * Decoding segments (docs/wcodec.md, 6 to 9): stored bytes in, the stream's bytes out, into the
 * caller's memory. */
#ifndef TARE_WCODEC_SEGMENT_H
#define TARE_WCODEC_SEGMENT_H

#include "wcodec/wc_kernels.h"

/* What the predictors add, for one segment. */
typedef struct tare_wc_reference {
    const uint8_t *bytes; /* the base's bytes of the same values */
    /* REF_SCALED: the scales from that of the segment's first value on, as their stream's bytes */
    const uint8_t *own_scales, *base_scales;
    uint64_t first_value; /* of the segment in its stream */
    uint32_t values_per_scale;
    uint8_t scale_form; /* 1 binary16, 2 bfloat16 */
    bool scales_are_big_endian;
} tare_wc_reference;

/* Takes decoded bytes as they come, `n` of a segment from byte `from` on, in order and each once;
 * the CRC is known only after the last. Runs of 1024 values, but for the last one. */
typedef struct tare_wc_taker {
    void (*take)(void *ctx, const uint8_t *bytes, uint32_t from, uint32_t n);
    void *ctx;
} tare_wc_taker;

/* One segment to decode. */
typedef struct tare_wc_piece {
    const tare_wc_head *head;
    const uint8_t *bytes; /* the stored bytes; TARE_WC_READ_AHEAD more can be read */
    uint32_t stored;      /* their number, a multiple of 64 */
    uint32_t present;     /* how many of them are there; less only for a coarse reading */
    uint64_t offset;      /* in the file, for errors */
    uint8_t *dst;         /* with a taker: room for the bytes */
    uint32_t n_bytes;     /* exactly these are written */
    tare_wc_taker taker;  /* take NULL: all bytes stay at dst */
    tare_wc_destination destination;    /* that the taker writes to */
    const tare_wc_reference *reference; /* NULL: segments that need one are refused */
    tare_wc_segment header;             /* what the first 32 bytes say, once it was read */
    bool has_header;
} tare_wc_piece;

enum { TARE_WC_SIDE_BY_SIDE = 4 }; /* segments that are decoded together */

/* Reads the header, unless that was done, and compares it with the head and the size. At least 32
 * bytes must be present. */
tare_status tare_wc_read_header(tare_wc_piece *piece, tare_error *err);

/* The use of each block of a thread's memory. Blocks in use at the same time are distinct: the
 * encoders of DIRECT and STRUCTURED, which run one after the other, share blocks, and so do
 * encoding and decoding. */
typedef enum tare_wc_block {
    TARE_WC_ENCODE_BEST = 0, /* the smallest form so far */
    TARE_WC_ENCODE_PREPARED, /* the segment as differences, in the order that is encoded */
    TARE_WC_ENCODE_MODE,     /* the first of those that modes share: */
    TARE_WC_DIRECT_SYMBOLS = TARE_WC_ENCODE_MODE,
    TARE_WC_DIRECT_WORDS,
    TARE_WC_DIRECT_GROUPS,
    TARE_WC_DIRECT_PATCHES,
    TARE_WC_DIRECT_CLASSES,
    TARE_WC_SKETCH_MATRIX = TARE_WC_ENCODE_MODE,
    TARE_WC_SKETCH_MAGNITUDES,
    TARE_WC_SKETCH_CONTEXTS,
    TARE_WC_SKETCH_SIDE,
    TARE_WC_SKETCH_SYMBOLS,
    TARE_WC_SKETCH_RAW,
    TARE_WC_SKETCH_WORDS,
    TARE_WC_SKETCH_COSTS,      /* of magnitudes: the same for every segment */
    TARE_WC_BLOCKS,            /* decoding needs fewer: */
    TARE_WC_DECODE_STORED = 0, /* segments of a batch, as stored and to be spread */
    TARE_WC_DECODE_CLASSES,    /* of DIRECT segments side by side */
    TARE_WC_DECODE_MAGNITUDES, /* of a STRUCTURED one */
    TARE_WC_DECODE_MATRIX,
    TARE_WC_DECODE_CONTEXTS,
    TARE_WC_DECODE_NIBBLES,
    TARE_WC_DECODE_SIDE,
    TARE_WC_DECODE_BESIDE, /* streams of a region beside its largest one */
} tare_wc_block;

/* Memory of one thread that decodes or encodes; grows to what the largest segment needs. */
typedef struct tare_wc_scratch {
    const tare_allocator *allocator;
    void *blocks[TARE_WC_BLOCKS];
    size_t sizes[TARE_WC_BLOCKS];
    void *zstd; /* ZSTD_DCtx */
} tare_wc_scratch;

void tare_wc_scratch_init(tare_wc_scratch *s, const tare_allocator *allocator);
void tare_wc_scratch_free(tare_wc_scratch *s);
/* A block of at least `size` bytes, not cleared; NULL when memory is out. Valid until the block is
 * asked for again. */
void *tare_wc_scratch_take(tare_wc_scratch *s, tare_wc_block block, size_t size);

enum { TARE_WC_ALL_GROUPS = TARE_WC_BYPASS_GROUPS };

/* Decodes up to TARE_WC_SIDE_BY_SIDE pieces together. `groups`: of the bypass bits only
 * the first so many groups (then no CRC is checked for segments that this makes coarse).
 * CORRUPT, CHECKSUM, UNSUPPORTED: *failed is the piece; the others' bytes may be written or not.
 * ERR_ARG: a predictor without reference. */
tare_status tare_wc_decode(tare_wc_piece *pieces, unsigned n, unsigned groups,
                           tare_wc_scratch *scratch, unsigned *failed, tare_error *err);

/* How many bytes of a stored segment a coarse reading needs, from its first 32: all of them unless
 * it is DIRECT. */
tare_status tare_wc_coarse_bytes(uint32_t *n, tare_wc_piece *piece, unsigned groups,
                                 tare_error *err);

/* The largest stored size a segment of so many bytes may have. */
static inline uint32_t tare_wc_max_stored(uint32_t n_bytes) {
    return tare_wc_align(TARE_WC_SEGMENT_HEADER + n_bytes);
}

#endif
