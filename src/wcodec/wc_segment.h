/* SPDX-License-Identifier: MIT
 *
 * Decoding segments (docs/wcodec.md, 6 to 9): stored bytes in, the plane's bytes out, into the
 * caller's memory. */
#ifndef TARE_WCODEC_SEGMENT_H
#define TARE_WCODEC_SEGMENT_H

#include "wcodec/wc_kernels.h"

/* What the predictors add, for one segment. */
typedef struct tare_wc_reference {
    const uint8_t *bytes; /* the base's bytes of the same values */
    /* REF_SCALED: the scales from that of the segment's first value on, as their plane's bytes */
    const uint8_t *own_scales, *base_scales;
    uint64_t first_value; /* of the segment in its plane */
    uint32_t values_per_scale;
    uint8_t scale_form; /* 1 binary16, 2 bfloat16 */
    bool scales_are_big_endian;
} tare_wc_reference;

/* One segment to decode. */
typedef struct tare_wc_piece {
    const tare_wc_head *head;
    const uint8_t *bytes; /* the stored bytes; TARE_WC_READ_AHEAD more can be read */
    uint32_t stored;      /* their number, a multiple of 64 */
    uint32_t present;     /* how many of them are there; less only for a coarse reading */
    uint64_t offset;      /* in the file, for errors */
    uint8_t *dst;
    uint32_t n_bytes;                   /* exactly these are written */
    const tare_wc_reference *reference; /* NULL: segments that need one are refused */
} tare_wc_piece;

/* Memory of one thread that decodes or encodes; grows to what the largest segment needs. */
typedef struct tare_wc_scratch {
    const tare_allocator *allocator;
    void *blocks[8];
    size_t sizes[8];
    void *zstd; /* ZSTD_DCtx */
} tare_wc_scratch;

void tare_wc_scratch_init(tare_wc_scratch *s, const tare_allocator *allocator);
void tare_wc_scratch_free(tare_wc_scratch *s);
/* Block i (0..7) of at least `size` bytes, not cleared; NULL when memory is out. Valid until the
 * block is asked for again. */
void *tare_wc_scratch_take(tare_wc_scratch *s, unsigned i, size_t size);

enum { TARE_WC_ALL_GROUPS = TARE_WC_BYPASS_GROUPS };

/* Decodes pieces; what they have in common runs side by side. `groups`: of the bypass bits only
 * the first so many groups (then no CRC is checked for segments that this makes coarse).
 * CORRUPT, CHECKSUM, UNSUPPORTED: *failed is the piece; the others' bytes may be written or not.
 * ERR_ARG: a predictor without reference. */
tare_status tare_wc_decode(tare_wc_piece *pieces, unsigned n, unsigned groups,
                           tare_wc_scratch *scratch, unsigned *failed, tare_error *err);

/* How many bytes of a stored segment a coarse reading needs, from its first 32: all of them unless
 * it is DIRECT. */
tare_status tare_wc_coarse_bytes(uint32_t *n, const tare_wc_piece *piece, unsigned groups,
                                 tare_error *err);

/* The largest stored size a segment of so many bytes may have. */
static inline uint32_t tare_wc_max_stored(uint32_t n_bytes) {
    return tare_wc_align(TARE_WC_SEGMENT_HEADER + n_bytes);
}

#endif
