/* SPDX-License-Identifier: MIT
 *
 * Rows to f32 and back: what callers may ask for is checked here, once, so that the row functions
 * need not. */
#include "base/arith.h"
#include "base/pool.h"
#include "base/status.h"
#include "encoding/kernels.h"
#include "encoding/patch.h"

bool tare_encoding_can_decode(const tare_encoding *encoding) {
    return tare_kernels_get()->decode[encoding->id] != NULL;
}

bool tare_encoding_can_encode(const tare_encoding *encoding) {
    const tare_kernels *k = tare_kernels_get();
    return k->encode[encoding->id] || k->encode_weighted[encoding->id];
}

bool tare_encoding_needs_importance(const tare_encoding *encoding) {
    const tare_kernels *k = tare_kernels_get();
    return !k->encode[encoding->id] && k->encode_weighted[encoding->id];
}

/* Whole blocks, and a number of floats that memory can hold. */
static tare_status check_shape(const tare_encoding *encoding, uint64_t n_rows, uint64_t cols,
                               tare_error *err) {
    uint64_t n, bytes;
    if (!encoding->is_edge_padded && cols % encoding->block != 0)
        return tare_fail(err, TARE_ERR_ARG, "row is not a whole number of blocks");
    if (!tare_mul_u64(n_rows, cols, &n) || !tare_mul_u64(n, sizeof(double), &bytes) ||
        bytes > SIZE_MAX)
        return tare_fail(err, TARE_ERR_ARG, "more rows than memory can hold");
    return TARE_OK;
}

tare_status tare_decode_rows(float *dst, const tare_encoding *encoding, const tare_rows *src,
                             tare_error *err) {
    TARE_REQUIRE(encoding && src, err);
    tare_decode_fn decode = tare_kernels_get()->decode[encoding->id];
    if (!decode) return tare_fail(err, TARE_ERR_UNSUPPORTED, "type cannot be decoded");
    TARE_TRY(check_shape(encoding, src->n_rows, src->cols, err));
    if (src->n_rows == 0 || src->cols == 0) return TARE_OK;
    TARE_REQUIRE(dst && src->planes[0], err);
    decode(dst, src);
    return TARE_OK;
}

/* What was asked for beside the numbers, for types that have a choice: one number has one best
 * value, whatever is asked for. */
static tare_status choose_special(tare_encode_fn *out, tare_encoding_id id,
                                  const tare_encode_params *params, tare_error *err) {
    const tare_kernels *k = tare_kernels_get();
    const char *what = NULL;
    if (params->compat != TARE_COMPAT_NONE) {
        *out = params->compat == TARE_COMPAT_MANTLE ? k->encode_mantle[id] : NULL;
        what = "type has no encoder of that program";
        if (params->quality != TARE_QUALITY_DEFAULT)
            return tare_fail(err, TARE_ERR_ARG, "quality and compatibility exclude each other");
    } else if (params->quality == TARE_QUALITY_BEST) {
        *out = k->encode_best[id];
        what = "type has no better encoder";
    } else if (params->has_clip) {
        *out = k->encode_clipped[id];
        what = "type takes no bounds for its values";
    }
    if (params->has_clip && !(params->clip_min <= params->clip_max))
        return tare_fail(err, TARE_ERR_ARG, "bounds of values: the smallest is above the largest");
    if (params->has_clip && !k->encode_clipped[id]) *out = NULL;
    return *out ? TARE_OK : tare_fail(err, TARE_ERR_UNSUPPORTED, what);
}

static tare_status choose_encoder(tare_encode_fn *out, const tare_encoding *encoding,
                                  const tare_encode_params *params, tare_error *err) {
    const tare_kernels *k = tare_kernels_get();
    *out = k->encode[encoding->id];
    if (params->importance && k->encode_weighted[encoding->id])
        *out = k->encode_weighted[encoding->id];
    if (!*out && k->encode_weighted[encoding->id])
        return tare_fail_code(err, TARE_ERR_UNSUPPORTED, TARE_CODE_NEEDS_IMPORTANCE,
                              "type needs an importance matrix");
    if (!*out) return tare_fail(err, TARE_ERR_UNSUPPORTED, "type cannot be encoded");
    return encoding->kind == TARE_KIND_BLOCK ? choose_special(out, encoding->id, params, err)
                                             : TARE_OK;
}

/* Elements that are encoded between two looks at whether to stop: some milliseconds of the slowest
 * encoder, so much that a look costs nothing. */
#define ENCODED_AT_ONCE ((uint64_t)1 << 14)

/* Cuts what is to be encoded. Where nothing belongs to a row it is one long row, cut between
 * blocks; else some rows at a time. What has one scale for the tensor, or units that run on across
 * rows, stays in one piece: these encoders are fast. */
static tare_patch first_part(const tare_encoding *e, const tare_rows_mut *rows, bool is_weighted) {
    tare_patch p = {.n_rows = rows->n_rows, .n_cols = rows->cols, .row_length = rows->cols};
    if (e->kind != TARE_KIND_BLOCK || e->is_bit_packed ||
        tare_encoding_has_scope(e, TARE_PLANE_TENSOR))
        return p;
    if (!is_weighted && tare_encoding_is_linear(e, rows->cols)) {
        const uint64_t step = tare_encoding_step(e);
        p.row_length = rows->n_rows * rows->cols;
        p.n_rows = 1;
        p.n_cols = tare_min_u64(tare_max_u64(ENCODED_AT_ONCE / step, 1) * step, p.row_length);
    } else {
        p.n_rows = tare_min_u64(tare_max_u64(ENCODED_AT_ONCE / rows->cols, 1), rows->n_rows);
    }
    return p;
}

static tare_status encode_parts(tare_encode_fn encode, const tare_rows_mut *dst,
                                const tare_encoding *encoding, const float *src,
                                const tare_encode_params *params, tare_error *err) {
    const uint64_t n = dst->n_rows * dst->cols;
    tare_patch at = first_part(encoding, dst, params->importance != NULL);
    const uint64_t step = at.n_rows * at.n_cols;
    for (uint64_t done = 0; done < n; done += step) {
        const uint64_t left = tare_min_u64(step, n - done);
        TARE_TRY(tare_run_check(err));
        at.row = done / at.row_length;
        at.col = done % at.row_length;
        if (at.n_rows > 1)
            at.n_rows = left / at.n_cols;
        else
            at.n_cols = left;
        tare_rows_mut part = {.n_rows = at.n_rows, .cols = at.n_cols};
        for (uint32_t p = 0; p < encoding->n_planes; p++) {
            uint64_t offset, size;
            tare_patch_range(&at, encoding, p, &offset, &size);
            part.planes[p] = dst->planes[p] ? dst->planes[p] + offset : NULL;
        }
        encode(&part, src + done, params);
    }
    return TARE_OK;
}

tare_status tare_encode_rows(const tare_rows_mut *dst, const tare_encoding *encoding,
                             const float *src, const tare_encode_params *params, tare_error *err) {
    static const tare_encode_params plain = {.quality = TARE_QUALITY_DEFAULT};
    TARE_REQUIRE(encoding && dst, err);
    if (!params) params = &plain;
    tare_encode_fn encode;
    TARE_TRY(choose_encoder(&encode, encoding, params, err));
    TARE_TRY(check_shape(encoding, dst->n_rows, dst->cols, err));
    if (dst->n_rows == 0 || dst->cols == 0) return TARE_OK;
    TARE_REQUIRE(src && dst->planes[0], err);
    if (!tare_encoding_fills_bytes(encoding, dst->n_rows * dst->cols))
        return tare_fail(err, TARE_ERR_ARG, "packed elements do not fill whole bytes");
    return encode_parts(encode, dst, encoding, src, params, err);
}
