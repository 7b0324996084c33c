/* SPDX-License-Identifier: MIT
 *
 * Decoding segments: the modes that need no model of numbers, and the dispatch to those that do. */
#include "wcodec/wc_segment.h"

#include <zstd.h>

#include "wcodec/wc_finish.h"
#include "wcodec/wc_head.h"
#include "wcodec/wc_parts.h"
#include "wcodec/wc_scales.h"
#include "wcodec/wc_zstd.h"

static tare_status refuse(const tare_wc_piece *piece, uint64_t at, tare_error *err,
                          const char *what) {
    return tare_fail_at(err, TARE_ERR_CORRUPT, piece->offset + at, what);
}

tare_status tare_wc_read_header(tare_wc_piece *piece, tare_error *err) {
    tare_wc_segment *s = &piece->header;
    tare_cursor c;
    if (piece->has_header) return TARE_OK;
    tare_cursor_init(&c, piece->bytes, piece->present, piece->offset);
    TARE_TRY(tare_wc_segment_read(s, &c, err));
    if (piece->stored % TARE_CODED_UNIT || piece->stored > tare_wc_max_stored(piece->n_bytes))
        return refuse(piece, 0, err, "segment: its size does not match its number of bytes");
    if (s->predictor == TARE_CODED_REF_SCALED && piece->head->shape.value_bits != 8)
        return refuse(piece, 1, err, "segment: only 8-bit values are predicted by scale");
    piece->has_header = true;
    return TARE_OK;
}

static tare_status check_reference(const tare_wc_piece *piece, tare_error *err) {
    const tare_wc_segment *s = &piece->header;
    if (s->predictor && !piece->reference)
        return tare_fail_at(err, TARE_ERR_ARG, piece->offset, "segment: needs the base model");
    if (s->predictor == TARE_CODED_REF_SCALED && !piece->reference->own_scales)
        return refuse(piece, 1, err, "segment: predicted by scale in a stream without scales");
    return TARE_OK;
}

/* ---- RAW, CONSTANT, ZSTD --------------------------------------------------------------------- */

/* The stored size must be what the mode needs, its padding 0. */
static tare_status check_end(const tare_wc_piece *piece, uint64_t end, tare_error *err) {
    if (end > piece->stored || piece->stored - end >= TARE_CODED_UNIT)
        return refuse(piece, 0, err, "segment: its parts do not add up to its size");
    return TARE_OK;
}

static tare_status check_padding(const tare_wc_piece *piece, uint64_t end, tare_error *err) {
    TARE_TRY(check_end(piece, end, err));
    if (!tare_wc_is_zero(piece->bytes + end, (size_t)(piece->stored - end)))
        return refuse(piece, end, err, "segment: padding is not 0");
    return TARE_OK;
}

static tare_status decode_raw(const tare_wc_piece *piece, tare_error *err) {
    TARE_TRY(check_padding(piece, TARE_WC_SEGMENT_HEADER + (uint64_t)piece->n_bytes, err));
    memcpy(piece->dst, piece->bytes + TARE_WC_SEGMENT_HEADER, piece->n_bytes);
    return TARE_OK;
}

static unsigned pattern_width(uint8_t value_bits) {
    return value_bits == 16 ? 2 : value_bits == 6 ? 3 : 1;
}

static tare_status check_pattern(const tare_wc_piece *piece, const tare_wc_segment *s,
                                 tare_error *err) {
    unsigned width = pattern_width(piece->head->shape.value_bits);
    return tare_wc_is_zero(s->pattern + width, 4 - width)
               ? TARE_OK
               : refuse(piece, 28, err, "segment: the pattern is longer than a value");
}

static tare_status decode_constant(const tare_wc_piece *piece, const tare_wc_segment *s,
                                   tare_error *err) {
    unsigned width = pattern_width(piece->head->shape.value_bits);
    TARE_TRY(check_padding(piece, TARE_WC_SEGMENT_HEADER, err));
    TARE_TRY(check_pattern(piece, s, err));
    for (uint32_t i = 0; i < width && i < piece->n_bytes; i++) piece->dst[i] = s->pattern[i];
    for (uint32_t n = width, more; n < piece->n_bytes; n += more) { /* as much again */
        more = n < piece->n_bytes - n ? n : piece->n_bytes - n;
        memcpy(piece->dst + n, piece->dst, more);
    }
    return TARE_OK;
}

static tare_status decode_zstd(const tare_wc_piece *piece, const tare_wc_segment *s,
                               tare_wc_scratch *scratch, tare_error *err) {
    const uint8_t *frame = piece->bytes + TARE_WC_SEGMENT_HEADER;
    TARE_TRY(check_padding(piece, TARE_WC_SEGMENT_HEADER + (uint64_t)s->size_a, err));
    if (!scratch->zstd) scratch->zstd = ZSTD_createDCtx();
    if (!scratch->zstd) return tare_fail(err, TARE_ERR_NOMEM, "zstd");
    if (!tare_wc_zstd_is_frame(frame, s->size_a))
        return refuse(piece, TARE_WC_SEGMENT_HEADER, err, "segment: not one zstd frame");
    size_t n = ZSTD_decompressDCtx(scratch->zstd, piece->dst, piece->n_bytes, frame, s->size_a);
    if (ZSTD_isError(n) || n != piece->n_bytes)
        return refuse(piece, TARE_WC_SEGMENT_HEADER, err, "segment: the zstd frame is damaged");
    return TARE_OK;
}

/* ---- one segment ----------------------------------------------------------------------------- */

static tare_status decode_alone(const tare_wc_piece *piece, tare_wc_scratch *scratch,
                                tare_error *err) {
    const tare_wc_segment *s = &piece->header;
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
    if (piece->head->shape.is_scales && s->mode == TARE_CODED_STRUCTURED)
        tare_wc_kernels_get()->pack_scales(piece->dst, piece->n_bytes);
    return tare_wc_finish_whole(piece, false, err);
}

/* ---- several --------------------------------------------------------------------------------- */

/* DIRECT segments that wait for the kernel. */
typedef struct batch {
    unsigned n, index[TARE_WC_SIDE_BY_SIDE];
    tare_wc_direct parts[TARE_WC_SIDE_BY_SIDE];
    tare_wc_job jobs[TARE_WC_SIDE_BY_SIDE];
    tare_wc_finish finishes[TARE_WC_SIDE_BY_SIDE];
    uint8_t *classes; /* room for those of all */
} batch;

static tare_status run(batch *b, unsigned *failed, tare_error *err) {
    if (b->n) tare_wc_kernels_get()->decode(b->jobs, b->n);
    for (unsigned i = 0; i < b->n; i++) {
        *failed = b->index[i];
        TARE_TRY(tare_wc_finish_end(&b->finishes[i], &b->jobs[i], err));
    }
    return TARE_OK;
}

/* The end of the part of a DIRECT segment that is read. */
static uint32_t read_end(const tare_wc_direct *d) {
    if (!d->n_read) return tare_wc_align(d->end);
    unsigned last = d->n_read - 1;
    return d->groups[last] + tare_wc_group_bytes(d->widths[last], d->n_positions);
}

static tare_status begin_direct(batch *b, const tare_wc_piece *piece, unsigned groups,
                                tare_error *err) {
    unsigned i = b->n;
    enum { CLASSES = TARE_WC_MAX_VALUES / TARE_WC_CLASS_RUN };
    TARE_TRY(tare_wc_direct_parts(&b->parts[i], &piece->header, piece, groups, err));
    if (piece->present < read_end(&b->parts[i]))
        return tare_fail_at(err, TARE_ERR_TRUNCATED, piece->offset,
                            "segment: not all of it was read");
    TARE_TRY(tare_wc_direct_begin(&b->jobs[i], &b->parts[i], &piece->header, piece,
                                  b->classes + (size_t)i * CLASSES, err));
    tare_wc_finish_begin(&b->finishes[i], &b->jobs[i], &b->parts[i], piece,
                         b->parts[i].n_read < b->parts[i].n_groups);
    return TARE_OK;
}

tare_status tare_wc_decode(tare_wc_piece *pieces, unsigned n, unsigned groups,
                           tare_wc_scratch *scratch, unsigned *failed, tare_error *err) {
    enum { CLASSES = TARE_WC_SIDE_BY_SIDE * (TARE_WC_MAX_VALUES / TARE_WC_CLASS_RUN) };
    batch b = {.classes = tare_wc_scratch_take(scratch, TARE_WC_DECODE_CLASSES, CLASSES)};
    if (!b.classes) return tare_fail(err, TARE_ERR_NOMEM, "segment");
    for (unsigned i = 0; i < n; i++) {
        *failed = i;
        TARE_TRY(tare_wc_read_header(&pieces[i], err));
        TARE_TRY(check_reference(&pieces[i], err));
        if (pieces[i].header.mode != TARE_CODED_DIRECT) {
            TARE_TRY(decode_alone(&pieces[i], scratch, err));
            continue;
        }
        TARE_TRY(begin_direct(&b, &pieces[i], groups, err));
        b.index[b.n++] = i;
    }
    return run(&b, failed, err);
}

tare_status tare_wc_coarse_bytes(uint32_t *n, tare_wc_piece *piece, unsigned groups,
                                 tare_error *err) {
    tare_wc_direct d;
    *n = piece->stored;
    TARE_TRY(tare_wc_read_header(piece, err));
    if (piece->header.mode != TARE_CODED_DIRECT || piece->header.predictor) return TARE_OK;
    TARE_TRY(tare_wc_direct_parts(&d, &piece->header, piece, groups, err));
    *n = read_end(&d);
    return TARE_OK;
}

/* ---- without decoding ------------------------------------------------------------------------ */

tare_status tare_wc_find_parts(tare_wc_parts *out, const tare_wc_piece *piece, tare_error *err) {
    const tare_wc_segment *s = &piece->header;
    switch ((tare_coded_mode)s->mode) {
    case TARE_CODED_DIRECT:
        return tare_wc_direct_parts(&out->direct, s, piece, TARE_WC_ALL_GROUPS, err);
    case TARE_CODED_STRUCTURED:
        return tare_wc_structured_parts(&out->structured, s, piece, err);
    case TARE_CODED_CONSTANT:
        TARE_TRY(check_pattern(piece, s, err));
        return check_end(piece, TARE_WC_SEGMENT_HEADER, err);
    case TARE_CODED_ZSTD:
        return check_end(piece, TARE_WC_SEGMENT_HEADER + (uint64_t)s->size_a, err);
    default:
        return check_end(piece, TARE_WC_SEGMENT_HEADER + (uint64_t)piece->n_bytes, err);
    }
}
