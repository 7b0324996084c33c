/* SPDX-License-Identifier: MIT
 *
 * Rows to f32 and back: what callers may ask for is checked here, once, so that the row functions
 * need not. */
#include "base/arith.h"
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
    encode(dst, src, params);
    return TARE_OK;
}
