/* SPDX-License-Identifier: MIT
 *
 * Decoding segments: the modes that need no model of numbers, and who decodes the others. */
#include "wcodec/wc_segment.h"

#include <zstd.h>

#include "base/hash.h"
#include "wcodec/wc_direct.h"
#include "wcodec/wc_head.h"
#include "wcodec/wc_reference.h"
#include "wcodec/wc_scales.h"
#include "wcodec/wc_structured.h"

enum { SIDE_BY_SIDE = 4 };

static tare_status refuse(const tare_wc_piece *piece, uint64_t at, tare_error *err,
                          const char *what) {
    return tare_fail_at(err, TARE_ERR_CORRUPT, piece->offset + at, what);
}

static tare_status read_header(tare_wc_segment *s, const tare_wc_piece *piece, tare_error *err) {
    tare_cursor c;
    tare_cursor_init(&c, piece->bytes, piece->present, piece->offset);
    TARE_TRY(tare_wc_segment_read(s, &c, err));
    if (piece->stored % TARE_WC_UNIT || piece->stored > tare_wc_max_stored(piece->n_bytes))
        return refuse(piece, 0, err, "segment: its size is not one that its bytes can have");
    if (s->predictor == TARE_WC_REF_SCALED && piece->head->shape.item != 8)
        return refuse(piece, 1, err, "segment: only 8-bit values are predicted by scale");
    return TARE_OK;
}

static tare_status check_reference(const tare_wc_segment *s, const tare_wc_piece *piece,
                                   tare_error *err) {
    if (s->predictor && !piece->reference)
        return tare_fail_at(err, TARE_ERR_ARG, piece->offset, "segment: needs the base model");
    if (s->predictor == TARE_WC_REF_SCALED && !piece->reference->own_scales)
        return refuse(piece, 1, err, "segment: predicted by scale in a plane without scales");
    return TARE_OK;
}

/* ---- RAW, CONSTANT, ZSTD --------------------------------------------------------------------- */

/* The stored size must be what the mode needs, its padding 0. */
static tare_status check_end(const tare_wc_piece *piece, uint64_t end, tare_error *err) {
    if (end > piece->stored || piece->stored - end >= TARE_WC_UNIT)
        return refuse(piece, 0, err, "segment: its parts do not add up to its size");
    if (!tare_wc_is_zero(piece->bytes + end, (size_t)(piece->stored - end)))
        return refuse(piece, end, err, "segment: padding is not 0");
    return TARE_OK;
}

static tare_status decode_raw(const tare_wc_piece *piece, tare_error *err) {
    TARE_TRY(check_end(piece, TARE_WC_SEGMENT_HEADER + (uint64_t)piece->n_bytes, err));
    memcpy(piece->dst, piece->bytes + TARE_WC_SEGMENT_HEADER, piece->n_bytes);
    return TARE_OK;
}

static tare_status decode_constant(const tare_wc_piece *piece, const tare_wc_segment *s,
                                   tare_error *err) {
    uint8_t item = piece->head->shape.item;
    unsigned width = item == 16 ? 2 : item == 6 ? 3 : 1;
    TARE_TRY(check_end(piece, TARE_WC_SEGMENT_HEADER, err));
    if (!tare_wc_is_zero(s->pattern + width, 4 - width))
        return refuse(piece, 28, err, "segment: the pattern is longer than a value");
    for (uint32_t i = 0; i < piece->n_bytes; i++) piece->dst[i] = s->pattern[i % width];
    return TARE_OK;
}

static tare_status decode_zstd(const tare_wc_piece *piece, const tare_wc_segment *s,
                               tare_wc_scratch *scratch, tare_error *err) {
    const uint8_t *frame = piece->bytes + TARE_WC_SEGMENT_HEADER;
    TARE_TRY(check_end(piece, TARE_WC_SEGMENT_HEADER + (uint64_t)s->size_a, err));
    if (!scratch->zstd) scratch->zstd = ZSTD_createDCtx();
    if (!scratch->zstd) return tare_fail(err, TARE_ERR_NOMEM, "zstd");
    size_t frame_size = ZSTD_findFrameCompressedSize(frame, s->size_a);
    /* The library may know frames older than RFC 8878, too. */
    bool is_frame = s->size_a >= 4 && tare_load_le32(frame) == ZSTD_MAGICNUMBER;
    if (!is_frame || ZSTD_isError(frame_size) || frame_size != s->size_a)
        return refuse(piece, TARE_WC_SEGMENT_HEADER, err, "segment: not one zstd frame");
    size_t n = ZSTD_decompressDCtx(scratch->zstd, piece->dst, piece->n_bytes, frame, s->size_a);
    if (ZSTD_isError(n) || n != piece->n_bytes)
        return refuse(piece, TARE_WC_SEGMENT_HEADER, err, "segment: the zstd frame is damaged");
    return TARE_OK;
}

/* ---- one segment ----------------------------------------------------------------------------- */

/* What stands between a mode's values and the plane's bytes: their layout, predictor, CRC. */
static tare_status finish(const tare_wc_piece *piece, const tare_wc_segment *s, bool is_coarse,
                          tare_error *err) {
    const tare_wc_shape *shape = &piece->head->shape;
    if (shape->is_big_endian && s->mode == TARE_CODED_DIRECT)
        for (uint32_t i = 0; i < piece->n_bytes; i += 2)
            tare_store_u16(piece->dst + i, tare_load_le16(piece->dst + i), true);
    if (shape->is_scales && s->mode >= TARE_CODED_DIRECT)
        tare_wc_scales_pack(piece->dst, piece->n_bytes);
    if (s->predictor)
        tare_wc_reference_add(piece->dst, piece->n_bytes, shape, piece->reference,
                              (tare_wc_predictor)s->predictor);
    if (!is_coarse && tare_crc32(0, piece->dst, piece->n_bytes) != s->crc)
        return tare_fail_at(err, TARE_ERR_CHECKSUM, piece->offset,
                            "segment: CRC-32 is not that of what it decodes to");
    return TARE_OK;
}

static tare_status decode_alone(const tare_wc_piece *piece, const tare_wc_segment *s,
                                tare_wc_scratch *scratch, tare_error *err) {
    if (piece->present < piece->stored)
        return tare_fail_at(err, TARE_ERR_TRUNCATED, piece->offset,
                            "segment: not all of it was read");
    switch ((tare_coded_mode)s->mode) {
    case TARE_CODED_RAW:
        TARE_TRY(decode_raw(piece, err));
        break;
    case TARE_CODED_CONSTANT:
        TARE_TRY(decode_constant(piece, s, err));
        break;
    case TARE_CODED_ZSTD:
        TARE_TRY(decode_zstd(piece, s, scratch, err));
        break;
    default:
        TARE_TRY(tare_wc_structured_decode(piece, s, scratch, err));
        break;
    }
    return finish(piece, s, false, err);
}

/* ---- several --------------------------------------------------------------------------------- */

/* DIRECT segments that wait for the kernel. */
typedef struct batch {
    unsigned n, index[SIDE_BY_SIDE];
    tare_wc_segment segments[SIDE_BY_SIDE];
    tare_wc_direct parts[SIDE_BY_SIDE];
    tare_wc_job jobs[SIDE_BY_SIDE];
    uint8_t *classes; /* room for those of all */
} batch;

static tare_status flush(batch *b, tare_wc_piece *pieces, unsigned *failed, tare_error *err) {
    unsigned n = b->n;
    b->n = 0;
    tare_wc_kernels_get()->decode(b->jobs, n);
    for (unsigned i = 0; i < n; i++) {
        const tare_wc_piece *piece = &pieces[b->index[i]];
        bool is_coarse = b->parts[i].n_read < b->parts[i].n_groups;
        *failed = b->index[i];
        TARE_TRY(tare_wc_direct_end(&b->jobs[i], &b->parts[i], &b->segments[i], piece, err));
        TARE_TRY(finish(piece, &b->segments[i], is_coarse, err));
    }
    return TARE_OK;
}

/* The end of the part of a DIRECT segment that is read. */
static uint32_t read_end(const tare_wc_direct *d) {
    if (!d->n_read) return tare_wc_align(d->end);
    unsigned last = d->n_read - 1;
    return d->groups[last] + tare_wc_group_bytes(d->widths[last], d->n_positions);
}

static tare_status begin_direct(batch *b, tare_wc_piece *piece, const tare_wc_segment *s,
                                unsigned groups, tare_error *err) {
    unsigned i = b->n;
    enum { CLASSES = TARE_WC_MAX_VALUES / TARE_WC_CLASS_RUN };
    b->segments[i] = *s;
    TARE_TRY(tare_wc_direct_parts(&b->parts[i], s, piece, groups, err));
    if (piece->present < read_end(&b->parts[i]))
        return tare_fail_at(err, TARE_ERR_TRUNCATED, piece->offset,
                            "segment: not all of it was read");
    return tare_wc_direct_begin(&b->jobs[i], &b->parts[i], s, piece,
                                b->classes + (size_t)i * CLASSES, err);
}

tare_status tare_wc_decode(tare_wc_piece *pieces, unsigned n, unsigned groups,
                           tare_wc_scratch *scratch, unsigned *failed, tare_error *err) {
    batch b = {.n = 0};
    b.classes = tare_wc_scratch_take(scratch, TARE_WC_DECODE_CLASSES,
                                     SIDE_BY_SIDE * (TARE_WC_MAX_VALUES / TARE_WC_CLASS_RUN));
    if (!b.classes) return tare_fail(err, TARE_ERR_NOMEM, "segment");
    for (unsigned i = 0; i < n; i++) {
        tare_wc_segment s;
        *failed = i;
        TARE_TRY(read_header(&s, &pieces[i], err));
        TARE_TRY(check_reference(&s, &pieces[i], err));
        if (s.mode != TARE_CODED_DIRECT) {
            TARE_TRY(decode_alone(&pieces[i], &s, scratch, err));
            continue;
        }
        TARE_TRY(begin_direct(&b, &pieces[i], &s, groups, err));
        b.index[b.n++] = i;
        if (b.n == SIDE_BY_SIDE) TARE_TRY(flush(&b, pieces, failed, err));
    }
    return b.n ? flush(&b, pieces, failed, err) : TARE_OK;
}

tare_status tare_wc_coarse_bytes(uint32_t *n, const tare_wc_piece *piece, unsigned groups,
                                 tare_error *err) {
    tare_wc_segment s;
    tare_wc_direct d;
    *n = piece->stored;
    TARE_TRY(read_header(&s, piece, err));
    if (s.mode != TARE_CODED_DIRECT || s.predictor) return TARE_OK;
    TARE_TRY(tare_wc_direct_parts(&d, &s, piece, groups, err));
    *n = read_end(&d);
    return TARE_OK;
}
