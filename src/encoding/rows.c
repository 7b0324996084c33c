/* SPDX-License-Identifier: MIT
 *
 * Rows to f32 and back, and to 16 bits by way of f32: callers' requests are checked here, once, so
 * that the row functions need not. */
#include <string.h>

#include "base/arith.h"
#include "base/bytes.h"
#include "base/pool.h"
#include "base/status.h"
#include "encoding/kernels.h"
#include "encoding/slab.h"

TARE_DEFINE_INIT(tare_encode_params)

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

static tare_status check_decode(const tare_encoding *encoding, const tare_rows *src,
                                tare_error *err) {
    if (!tare_encoding_can_decode(encoding))
        return tare_fail(err, TARE_ERR_UNSUPPORTED, "type cannot be decoded");
    return check_shape(encoding, src->n_rows, src->cols, err);
}

static inline uint32_t bits_at(const uint8_t *bytes, size_t i) {
    uint32_t bits;
    memcpy(&bits, bytes + 4 * i, sizeof bits);
    return bits;
}

/* The fewest numbers that a scale or minimum in floating point is for. */
static size_t least_group(const tare_encoding *e) {
    uint32_t least = e->block;
    for (size_t i = 0; i < e->n_fields; i++) {
        const tare_field *f = &e->fields[i];
        const tare_plane_info *p = &e->planes[f->plane];
        const bool is_float = f->type == TARE_FIELD_F16 || f->type == TARE_FIELD_F32 ||
                              f->type == TARE_FIELD_E8M0 || f->type == TARE_FIELD_UE4M3;
        if (is_float && p->scope == TARE_PLANE_ELEMENTS && f->count && p->unit / f->count < least)
            least = p->unit / f->count;
    }
    return least ? least : 1;
}

/* A scale that is NaN, or one of Inf times 0, makes NaN of numbers of its block; of which sign and
 * payload depends on the order of operands, and so on the compiler and the CPU. No number of such a
 * block is finite, so one of each group tells. `numbers`: a caller's floats, which may lie anywhere. */
static void settle_nans(void *numbers, size_t n, size_t cols, const tare_encoding *encoding) {
    enum { AT_ONCE = 1024 };
    const uint32_t inf = UINT32_C(0x7f800000), the_nan = UINT32_C(0x7fc00000);
    uint8_t *bytes = numbers;
    if (encoding->kind != TARE_KIND_BLOCK) return;
    size_t step = least_group(encoding);
    if (cols % step || AT_ONCE % step) step = 1; /* or the last of a row would be passed over */
    for (size_t at = 0; at < n; at += AT_ONCE) {
        const size_t end = n - at < AT_ONCE ? n : at + AT_ONCE;
        uint32_t are_there = 0;
        for (size_t i = at; i < end; i += step) are_there |= (bits_at(bytes, i) & inf) == inf;
        for (size_t i = at; are_there && i < end; i++)
            if ((bits_at(bytes, i) & INT32_MAX) > inf) memcpy(bytes + 4 * i, &the_nan, 4);
    }
}

tare_status tare_decode_rows(float *dst, const tare_encoding *encoding, const tare_rows *src,
                             tare_error *err) {
    TARE_REQUIRE(encoding && src, err);
    TARE_TRY(check_decode(encoding, src, err));
    if (src->n_rows == 0 || src->cols == 0) return TARE_OK;
    TARE_REQUIRE(dst && src->planes[0], err);
    tare_kernels_get()->decode[encoding->id](dst, src);
    settle_nans(dst, (size_t)(src->n_rows * src->cols), (size_t)src->cols, encoding);
    return TARE_OK;
}

/* ---- to 16 bits ------------------------------------------------------------------------------ */

/* The number of floats per step: few enough to stay in the first-level cache. */
#define ROUNDED_AT_ONCE ((size_t)2048)

/* n numbers of 16 bits from the order of files to the machine's, or back. */
static void to_machine_order(void *dst, size_t n) {
    if (TARE_HOST_IS_BIG_ENDIAN) tare_kernels_get()->swap_u16(dst, n);
}

static void round_run(uint8_t *dst, tare_encoding_id as, const float *src, size_t n) {
    tare_rows_mut rows = {{dst}, 1, n};
    tare_kernels_get()->encode[as](&rows, src, NULL);
    to_machine_order(dst, n);
}

static void decode_rounded(uint8_t *dst, tare_encoding_id as, const tare_encoding *encoding,
                           const tare_rows *src) {
    const tare_decode_fn decode = tare_kernels_get()->decode[encoding->id];
    const uint64_t n = src->n_rows * src->cols, step = tare_encoding_step(encoding);
    tare_slab_walk walk = tare_encoding_is_linear(encoding, src->cols)
                              ? tare_slab_walk_begin(1, n, ROUNDED_AT_ONCE, step)
                              : tare_slab_walk_begin(src->n_rows, src->cols, ROUNDED_AT_ONCE, step);
    float values[ROUNDED_AT_ONCE];
    tare_slab at;
    while (tare_slab_walk_next(&at, &walk)) {
        const tare_rows part = tare_slab_rows(&at, encoding, src->planes);
        const size_t n_part = (size_t)(at.n_rows * at.n_cols);
        decode(values, &part);
        settle_nans(values, n_part, (size_t)at.n_cols, encoding);
        round_run(dst, as, values, n_part);
        dst += 2 * n_part;
    }
}

tare_status tare_decode_rows_as(void *dst, tare_encoding_id as, const tare_encoding *encoding,
                                const tare_rows *src, tare_error *err) {
    if (as == TARE_ENCODING_F32) return tare_decode_rows(dst, encoding, src, err);
    TARE_REQUIRE(encoding && src, err);
    if (!tare_float_bytes(as))
        return tare_fail(err, TARE_ERR_ARG, "rows are decoded to f32, f16 or bf16");
    TARE_TRY(check_decode(encoding, src, err));
    const size_t n = (size_t)(src->n_rows * src->cols);
    if (n == 0) return TARE_OK;
    TARE_REQUIRE(dst && src->planes[0], err);
    if (encoding->id == as) {
        memcpy(dst, src->planes[0], 2 * n);
        to_machine_order(dst, n);
    } else if (encoding->id == TARE_ENCODING_F32 && !TARE_HOST_IS_BIG_ENDIAN) {
        round_run(dst, as, (const float *)(const void *)src->planes[0], n);
    } else {
        decode_rounded(dst, as, encoding, src);
    }
    return TARE_OK;
}

void tare_round_floats(void *dst, tare_encoding_id as, const float *src, size_t n) {
    if (as == TARE_ENCODING_F32)
        memcpy(dst, src, n * sizeof *src);
    else
        round_run(dst, as, src, n);
}

/* ---- encoding -------------------------------------------------------------------------------- */

/* Options other than the numbers themselves, for types that have a choice: a plain number has one
 * best value, whatever the options. */
static tare_status choose_special(tare_encode_fn *out, tare_encoding_id id,
                                  const tare_encode_params *params, tare_error *err) {
    const tare_kernels *k = tare_kernels_get();
    const char *what = NULL;
    if (params->compat != TARE_COMPAT_NONE) {
        *out = params->compat == TARE_COMPAT_MANTLE      ? k->encode_mantle[id]
               : params->compat == TARE_COMPAT_GGML_0_21 ? k->encode_older[id]
                                                         : NULL;
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

/* Elements that are encoded between two checks for cancellation: a few milliseconds of the slowest
 * encoder, enough that a check costs nothing. */
#define ENCODED_AT_ONCE ((uint64_t)1 << 14)

/* Splits the input of an encoder. Without per-row data it is one long row, split between blocks;
 * else some rows at a time. Types with one scale for the tensor, or units that continue across
 * rows, stay in one piece: these encoders are fast. */
static tare_slab_walk encoded_parts(const tare_encoding *e, const tare_rows_mut *rows,
                                    bool is_weighted) {
    const uint64_t n = rows->n_rows * rows->cols;
    if (e->kind != TARE_KIND_BLOCK || e->is_bit_packed ||
        tare_encoding_has_scope(e, TARE_PLANE_TENSOR))
        return tare_slab_walk_begin(rows->n_rows, rows->cols, n, rows->cols);
    if (!is_weighted && tare_encoding_is_linear(e, rows->cols))
        return tare_slab_walk_begin(1, n, ENCODED_AT_ONCE, tare_encoding_step(e));
    return tare_slab_walk_begin(rows->n_rows, rows->cols, ENCODED_AT_ONCE, rows->cols);
}

static tare_status encode_parts(tare_encode_fn encode, const tare_rows_mut *dst,
                                const tare_encoding *encoding, const float *src,
                                const tare_encode_params *params, tare_error *err) {
    tare_slab_walk walk = encoded_parts(encoding, dst, params->importance != NULL);
    tare_slab at;
    while (tare_slab_walk_next(&at, &walk)) {
        TARE_TRY(tare_run_check(err));
        tare_rows_mut part = {.n_rows = at.n_rows, .cols = at.n_cols};
        for (uint32_t p = 0; p < encoding->n_planes; p++) {
            uint64_t offset, size;
            tare_slab_range(&at, encoding, p, &offset, &size);
            part.planes[p] = dst->planes[p] ? dst->planes[p] + offset : NULL;
        }
        encode(&part, src, params);
        src += at.n_rows * at.n_cols;
    }
    return TARE_OK;
}

tare_status tare_encode_rows(const tare_rows_mut *dst, const tare_encoding *encoding,
                             const float *src, const tare_encode_params *params, tare_error *err) {
    tare_encode_params own = tare_encode_params_default();
    TARE_REQUIRE(encoding && dst, err);
    TARE_TRY(tare_options_read(&own, sizeof own, params, err));
    tare_encode_fn encode;
    TARE_TRY(choose_encoder(&encode, encoding, &own, err));
    TARE_TRY(check_shape(encoding, dst->n_rows, dst->cols, err));
    if (dst->n_rows == 0 || dst->cols == 0) return TARE_OK;
    TARE_REQUIRE(src && dst->planes[0], err);
    if (!tare_encoding_fills_bytes(encoding, dst->n_rows * dst->cols))
        return tare_fail(err, TARE_ERR_ARG, "packed elements do not fill whole bytes");
    return encode_parts(encode, dst, encoding, src, &own, err);
}
