/* SPDX-License-Identifier: MIT */
#include "wcodec/wc_finish.h"

#include "wcodec/wc_reference.h"
#include "wcodec/wc_rule.h"
#include "wcodec/wc_scales.h"

enum { WHOLE_UNITS = 1 << TARE_WC_MAX_JOIN }; /* values: of joined streams, and groups of scales */

_Static_assert(WHOLE_UNITS * 3 / 4 % (TARE_WC_SCALES_UNIT * TARE_WC_SCALES_GROUP) == 0, "groups");

/* ---- patches --------------------------------------------------------------------------------- */

static void put_small(uint8_t *dst, uint8_t value_bits, unsigned shift, uint32_t v) {
    uint32_t mask = ((1u << value_bits) - 1) << shift;
    for (v <<= shift; mask; mask >>= 8, v >>= 8, dst++) *dst = (uint8_t)((*dst & ~mask) | v);
}

/* Replaces a top by another one; the bypass bits stay. False: there is no such value. */
static bool put_top(const tare_wc_finish *f, const tare_wc_job *job) {
    const tare_wc_rule *rule = f->rule;
    const uint32_t p = f->patch_at, top = f->patch_top;
    uint8_t value_bits = job->value_bits, *dst = job->dst;
    unsigned shift = 0, width = value_bits / 8u;
    uint32_t at = width ? p * width : tare_wc_small_at(value_bits, p, &shift), low;
    if (at >= job->n_bytes) return false;
    dst += at - job->gone;
    if (!width) {
        put_small(dst, value_bits, shift, top);
    } else if (width == 1) {
        tare_wc_split(rule, value_bits, *dst, &low);
        *dst = (uint8_t)tare_wc_value_of(rule, value_bits, top, low);
    } else {
        tare_wc_split(rule, value_bits, tare_load_le16(dst), &low);
        tare_store_le16(dst, (uint16_t)tare_wc_value_of(rule, value_bits, top, low));
    }
    return true;
}

static void refuse_patch(tare_wc_finish *f, uint64_t at, const char *what) {
    f->fault = what;
    f->fault_at = f->parts->patches + at;
    f->has_patch = false;
}

static void next_patch(tare_wc_finish *f) {
    const uint64_t at = f->bits.at / 8;
    f->has_patch = f->n_patches < f->how.n;
    if (!f->has_patch) return;
    f->n_patches++;
    if (!tare_wc_patches_next(&f->bits, &f->how, f->parts->n_positions, &f->patch_at,
                              &f->patch_top))
        refuse_patch(f, at, "position of a patch: beyond the values, or the patches end inside it");
}

/* Those of positions before `end`. */
static void apply_patches(tare_wc_finish *f, const tare_wc_job *job, uint32_t end) {
    while (f->has_patch && f->patch_at < end) {
        if (put_top(f, job))
            next_patch(f);
        else
            refuse_patch(f, f->bits.at / 8, "position of a patch: beyond the values");
    }
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static void lay_out(uint8_t *bytes, uint32_t n, const tare_wc_shape *shape) {
    for (uint32_t i = 0; shape->is_big_endian && i < n; i += 2)
        tare_store_u16(bytes + i, tare_load_le16(bytes + i), true);
    if (shape->is_scales) tare_wc_kernels_get()->pack_scales(bytes, n);
}

/* Bytes up to `to` become those of the stream; `end`: positions that are decoded. */
static void finish_up_to(tare_wc_finish *f, tare_wc_job *job, uint32_t to) {
    const tare_wc_piece *piece = f->piece;
    uint8_t *bytes = job->dst + (f->n_done - job->gone);
    const uint32_t n = to - f->n_done;
    lay_out(bytes, n, &piece->head->shape);
    if (!piece->header.predictor) {
        if (!f->is_coarse) f->crc = tare_wc_kernels_get()->crc32(f->crc, bytes, n);
        if (piece->taker.take) piece->taker.take(piece->taker.ctx, bytes, f->n_done, n);
    }
    f->n_done = to;
}

/* Finishes what is decoded; bytes that were taken make room for the next. */
static void ready(tare_wc_job *job, uint32_t end) {
    tare_wc_finish *f = job->ready_ctx;
    const uint32_t whole = end / WHOLE_UNITS * WHOLE_UNITS, to = whole / 8 * job->value_bits;
    if (to <= f->n_done) return;
    apply_patches(f, job, whole);
    finish_up_to(f, job, to);
    if (!f->piece->taker.take || f->piece->header.predictor) return;
    memmove(job->dst, job->dst + (to - job->gone), (end - whole) / 8 * job->value_bits);
    job->gone = to;
}

/* ---- beginning and end ----------------------------------------------------------------------- */

void tare_wc_finish_begin(tare_wc_finish *f, tare_wc_job *job, const tare_wc_direct *parts,
                          const tare_wc_piece *piece, bool is_coarse) {
    const tare_wc_segment *s = &piece->header;
    const tare_wc_rule *rule = &piece->head->rules[s->rule];
    *f = (tare_wc_finish){.piece = piece,
                          .parts = parts,
                          .rule = rule,
                          .is_coarse = is_coarse,
                          .how = {.n = s->count,
                                  .rice = s->rice,
                                  .top_bits = (uint8_t)(piece->head->shape.value_bits - rule->k)},
                          .bits = {.bytes = piece->bytes + parts->patches, .n_bytes = s->extent},
                          .patch_at = UINT32_MAX};
    next_patch(f);
    job->ready = ready;
    job->ready_ctx = f;
}

static tare_status check_crc(const tare_wc_piece *piece, uint32_t crc, tare_error *err) {
    if (crc != piece->header.crc)
        return tare_fail_at(err, TARE_ERR_CHECKSUM, piece->offset,
                            "segment: CRC-32 differs from that of the decoded bytes");
    return TARE_OK;
}

tare_status tare_wc_finish_whole(const tare_wc_piece *piece, bool is_coarse, tare_error *err) {
    if (piece->header.predictor)
        tare_wc_reference_add(piece->dst, piece->n_bytes, &piece->head->shape, piece->reference,
                              (tare_coded_predictor)piece->header.predictor);
    if (!is_coarse)
        TARE_TRY(
            check_crc(piece, tare_wc_kernels_get()->crc32(0, piece->dst, piece->n_bytes), err));
    if (piece->taker.take) piece->taker.take(piece->taker.ctx, piece->dst, 0, piece->n_bytes);
    return TARE_OK;
}

tare_status tare_wc_finish_end(tare_wc_finish *f, tare_wc_job *job, tare_error *err) {
    const tare_wc_piece *piece = f->piece;
    TARE_TRY(tare_wc_direct_end(job, f->parts, piece, err));
    apply_patches(f, job, UINT32_MAX);
    if (!f->fault && piece->header.extent && !tare_wc_patches_end(&f->bits))
        refuse_patch(f, f->bits.at / 8, "segment: more bits than patches");
    if (f->fault) return tare_fail_at(err, TARE_ERR_CORRUPT, piece->offset + f->fault_at, f->fault);
    if (f->n_done < piece->n_bytes) finish_up_to(f, job, piece->n_bytes);
    if (piece->header.predictor) return tare_wc_finish_whole(piece, f->is_coarse, err);
    return f->is_coarse ? TARE_OK : check_crc(piece, f->crc, err);
}
