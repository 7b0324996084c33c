/* SPDX-License-Identifier: MIT
 *
 * Weights whose codes and scales are those of the scheme already, in another packing: no number
 * changes, and nothing is searched for. Whether it is so, all scales and zero points of a weight
 * tell; with what the scheme adds to a code, codes have to stay in its range, and scales and offsets
 * in a type that has them exactly. */
#include <math.h>

#include "base/arith.h"
#include "base/bytes.h"
#include "ops/schemes/scheme_model.h"
#include "quantized/quantized.h"

#define ROWS_AT_ONCE 32

/* ---- room -------------------------------------------------------------------------------------- */

/* Rows of a weight's codes, with all of their scales. */
typedef struct held {
    tare_codes codes;
    size_t size;
    const tare_allocator *allocator;
} held;

static tare_status hold(held *h, const tare_allocator *allocator, const tare_packed_weight *w,
                        uint64_t rows, bool has_codes, tare_error *err) {
    const uint64_t n = rows * w->held.n_groups, n_codes = has_codes ? rows * w->cols : 0;
    *h = (held){.allocator = allocator};
    if (!tare_size_of_u64(n * 2 * sizeof(float) + n_codes, &h->size))
        return tare_fail(err, TARE_ERR_LIMIT, "packed weight");
    float *memory = tare_alloc(allocator, h->size);
    if (!memory) return tare_fail(err, TARE_ERR_NOMEM, "packed weight");
    h->codes = (tare_codes){.scale = memory,
                            .zero = memory + n,
                            .codes = has_codes ? (uint8_t *)(memory + 2 * n) : NULL};
    return TARE_OK;
}

static void let_go(held *h) {
    tare_free(h->allocator, h->codes.scale, h->size);
}

/* ---- one group --------------------------------------------------------------------------------- */

/* What is added to codes, and the scale, the offset or the zero point of the scheme. */
typedef struct moved {
    float added, scale, offset, zero;
} moved;

static bool is_in(float v, tare_encoding_id type) {
    return isfinite(v) && tare_group_rounded(v, type) == v;
}

/* Whether codes times a scale, and what is added to that, are floats as they are. */
static bool is_short(float scale) {
    return (tare_f32_bits(scale) & 0xff) == 0;
}

/* False: the scheme has no such number. */
static bool move_whole(moved *out, const tare_packed_weight *w, float scale, float zero) {
    const tare_writer *to = w->scheme.writer;
    const bool is_raised = w->held.kind == TARE_CODES_RAISED;
    const float top = (float)((1u << w->held.bits) - 1), end = (float)((1u << to->bits) - 1);
    *out = (moved){.scale = scale};
    if (to->kind == TARE_GROUP_AFFINE) {
        out->offset = is_raised ? zero : 0 - zero * scale;
        return top <= end && (is_raised || is_short(scale));
    }
    if (is_raised) { /* a whole number of scales */
        const float whole = scale != 0 ? -zero / scale : 0;
        if (whole != rintf(whole) || fabsf(whole) > 256 || -(whole * scale) != zero ||
            !is_short(scale))
            return false;
        zero = whole;
    }
    if (zero != rintf(zero)) return false;
    if (to->kind == TARE_GROUP_CENTRED)
        out->zero = zero;
    else
        out->added = (end + 1) / 2 - zero;
    return out->zero >= 0 && out->zero <= end && out->added >= 0 && top + out->added <= end;
}

/* ---- whole weights ----------------------------------------------------------------------------- */

static bool is_whole(tare_codes_kind kind) {
    return kind == TARE_CODES_CENTRED || kind == TARE_CODES_RAISED;
}

/* Whether codes of a kind are those of the scheme, and its groups parts of theirs. */
static bool has_form(const tare_packed_weight *w) {
    const tare_writer *to = w->scheme.writer;
    const tare_codes_form *from = &w->held;
    const uint64_t rows = tare_writer_has_one_scale(to) ? w->n_rows
                          : to->block_rows              ? to->block_rows
                                                        : 1;
    const bool is_same_kind = to->kind == TARE_GROUP_E2M1   ? from->kind == TARE_CODES_E2M1
                              : to->kind == TARE_GROUP_E4M3 ? from->kind == TARE_CODES_E4M3
                                                            : is_whole(from->kind);
    if (!is_same_kind || (to->scale && to->scale != TARE_ENCODING_F32 && to->scale != from->scale))
        return false;
    if (!to->scale && from->scale == TARE_ENCODING_F8_E4M3) return false;
    return from->group % w->group == 0 &&
           (from->block_rows % rows == 0 || from->block_rows >= w->n_rows);
}

/* Which types hold all scales and offsets. */
typedef struct fits {
    bool all, own, f16;
} fits;

static void look_at(fits *f, const tare_packed_weight *w, float scale, float zero) {
    moved m = {.scale = scale};
    if (is_whole(w->held.kind) && !move_whole(&m, w, scale, zero)) f->all = false;
    f->all = f->all && isfinite(m.scale) && isfinite(m.offset);
    if (w->held.scale == TARE_ENCODING_F8_E4M3 && signbit(m.scale)) f->all = false;
    f->own = f->own && is_in(m.scale, w->type) && is_in(m.offset, w->type);
    f->f16 = f->f16 && is_in(m.scale, TARE_ENCODING_F16) && is_in(m.offset, TARE_ENCODING_F16);
}

static tare_status look(fits *f, const tare_scheme_search *s, tare_packed_weight *w,
                        tare_error *err) {
    held h;
    TARE_TRY(hold(&h, s->in->allocator, w, ROWS_AT_ONCE, false, err));
    tare_status status = TARE_OK;
    for (uint64_t first = 0; first < w->n_rows && f->all && status == TARE_OK;
         first += ROWS_AT_ONCE) {
        const uint64_t n = tare_min_u64(ROWS_AT_ONCE, w->n_rows - first);
        status = tare_codes_read(&h.codes, &w->held, s->in, w->tensor, first, n, err);
        for (uint64_t i = 0; status == TARE_OK && i < n * w->held.n_groups && f->all; i++)
            look_at(f, w, h.codes.scale[i], h.codes.zero[i]);
        f->all = f->all && !h.codes.is_turned;
    }
    let_go(&h);
    return status;
}

/* The scale of all codes, where it is the factor. */
static tare_status first_scale(const tare_scheme_search *s, tare_packed_weight *w,
                               tare_error *err) {
    held h;
    TARE_TRY(hold(&h, s->in->allocator, w, 1, false, err));
    const tare_status status = tare_codes_read(&h.codes, &w->held, s->in, w->tensor, 0, 1, err);
    w->factor = h.codes.scale[0];
    let_go(&h);
    return status;
}

/* The factor as the scheme stores it, which may be the reciprocal of the one that is there. */
static tare_status find_factor(const tare_scheme_search *s, tare_packed_weight *w,
                               tare_error *err) {
    const bool multiplies = tare_writer_has(w->scheme.writer, TARE_WRITTEN_MULTIPLIER);
    bool divides;
    int exponent;
    w->factor = w->raised = 1;
    w->is_rounded = false;
    if (tare_writer_has_one_scale(w->scheme.writer)) return first_scale(s, w, err);
    if (!w->held.has_factor) return TARE_OK;
    TARE_TRY(tare_quantized_stored_factor(&w->factor, &divides, s->in, w->tensor, err));
    if (divides != multiplies) return TARE_OK;
    w->is_rounded = fabsf(frexpf(w->factor, &exponent)) != 0.5f;
    w->factor = 1 / w->factor;
    return TARE_OK;
}

tare_status tare_scheme_find_codes(const tare_scheme_search *s, tare_packed_weight *w,
                                   tare_error *err) {
    fits f = {.all = true, .own = true, .f16 = true};
    w->scale = w->scheme.writer->scale ? w->scheme.writer->scale : w->type;
    tare_codes_form_of(&w->held, s->in, w->tensor);
    if (w->scheme.is_plain || !has_form(w)) {
        w->held.kind = TARE_CODES_NONE;
        return TARE_OK;
    }
    TARE_TRY(find_factor(s, w, err));
    const bool has_room = w->factor == 1 || tare_writer_has_factor(w->scheme.writer);
    f.all = has_room && isfinite(w->factor) && w->factor > 0;
    TARE_TRY(look(&f, s, w, err));
    if (!f.all) w->held.kind = TARE_CODES_NONE;
    if (f.all && !w->scheme.writer->scale && !f.own)
        w->scale = f.f16 && w->scheme.writer->family == TARE_WRITER_MLX ? TARE_ENCODING_F16
                                                                        : TARE_ENCODING_F32;
    return TARE_OK;
}

/* ---- weights that share a factor -------------------------------------------------------------------- */

/* Whether E4M3 has all scales of a weight, multiplied. */
static tare_status can_raise(bool *out, const tare_scheme_search *s, const tare_packed_weight *w,
                             tare_error *err) {
    held h;
    tare_status status = TARE_OK;
    *out = true;
    TARE_TRY(hold(&h, s->in->allocator, w, ROWS_AT_ONCE, false, err));
    for (uint64_t first = 0; first < w->n_rows && *out && status == TARE_OK;
         first += ROWS_AT_ONCE) {
        const uint64_t n = tare_min_u64(ROWS_AT_ONCE, w->n_rows - first);
        status = tare_codes_read(&h.codes, &w->held, s->in, w->tensor, first, n, err);
        for (uint64_t i = 0; status == TARE_OK && i < n * w->held.n_groups && *out; i++) {
            const double scale = (double)h.codes.scale[i] * w->raised;
            const uint32_t code = tare_group_bits((float)scale, TARE_ENCODING_F8_E4M3);
            *out = scale <= 448 && tare_group_value(code, TARE_ENCODING_F8_E4M3) == scale;
        }
    }
    let_go(&h);
    return status;
}

/* Whether all of them can have this factor, which they get then. */
static tare_status try_factor(bool *is_exact, tare_scheme_search *s, size_t first, float factor,
                              tare_error *err) {
    const bool multiplies =
        tare_writer_has(s->weights[first].scheme.writer, TARE_WRITTEN_MULTIPLIER);
    *is_exact = true;
    for (size_t i = first; i != SIZE_MAX && *is_exact; i = s->weights[i].next_in_set) {
        tare_packed_weight *w = &s->weights[i];
        const double ratio = multiplies ? (double)w->factor / factor : (double)factor / w->factor;
        w->raised = (float)ratio;
        *is_exact = w->raised == ratio;
        if (*is_exact && ratio != 1) TARE_TRY(can_raise(is_exact, s, w, err));
    }
    for (size_t i = first; i != SIZE_MAX && *is_exact; i = s->weights[i].next_in_set)
        s->weights[i].factor = factor;
    return TARE_OK;
}

tare_status tare_scheme_share_factor(bool *is_exact, tare_scheme_search *s, size_t first,
                                     tare_error *err) {
    *is_exact = false;
    for (size_t i = first; i != SIZE_MAX && !*is_exact; i = s->weights[i].next_in_set)
        TARE_TRY(try_factor(is_exact, s, first, s->weights[i].factor, err));
    return TARE_OK;
}

/* ---- rows -------------------------------------------------------------------------------------- */

tare_status tare_scheme_repack(uint8_t *codes, tare_group *groups, const tare_scheme_work *work,
                               const tare_packed_weight *w, uint64_t first, uint64_t n,
                               tare_error *err) {
    held h;
    TARE_TRY(hold(&h, work->allocator, w, n, true, err));
    const tare_status status =
        tare_codes_read(&h.codes, &w->held, work->in, w->tensor, first, n, err);
    for (uint64_t r = 0; status == TARE_OK && r < n; r++)
        for (uint64_t g = 0; g < w->n_groups; g++) {
            const uint64_t at = g * w->group, from = r * w->held.n_groups + at / w->held.group;
            const uint64_t end = tare_min_u64(at + w->group, w->cols);
            moved m = {.scale = h.codes.scale[from] * w->raised};
            if (is_whole(w->held.kind)) move_whole(&m, w, m.scale, h.codes.zero[from]);
            groups[r * w->n_groups + g] =
                (tare_group){.scale = tare_group_bits(m.scale, w->scale),
                             .offset = tare_group_bits(m.offset, w->scale),
                             .zero = (uint8_t)(int)m.zero};
            for (uint64_t i = r * w->cols + at; i < r * w->cols + end; i++)
                codes[i] = (uint8_t)(h.codes.codes[i] + (int)m.added);
        }
    let_go(&h);
    return status;
}
