/* SPDX-License-Identifier: MIT
 *
 * Weights of whole numbers as blocks of ggml that hold the same numbers: the codes in another order,
 * under the same scales in F16. Which blocks can, follows from the bits of the codes, from all scales
 * and from all zero points, which are read for that. Every number is the same as without blocks: a
 * scale of F16 times a code is exact, and where an offset is added, its sum with a product is either
 * exact or rounded in both. */
#include <math.h>

#include "base/arith.h"
#include "encoding/bitpack.h"
#include "encoding/float16.h"
#include "quantized/weight.h"

enum { BLOCK = 32, WIDE_BLOCK = 256, ROWS_AT_ONCE = 64 };

/* What all groups of a weight have in common. */
typedef struct seen {
    float low, high;     /* the numbers that are multiplied by scales */
    bool has_scales;     /* which are F16 */
    bool has_wholes;     /* numbers are those times scales */
    bool has_offsets;    /* numbers are codes times scales, and an offset in F16 */
    bool is_one_per_row; /* group */
} seen;

/* ---- groups ------------------------------------------------------------------------------------ */

/* A group as number = whole * scale, whole = sign * (code - zero); and as code * scale + offset. */
typedef struct form {
    float scale, zero, sign;
    float code_scale, offset;
} form;

static bool is_raised(const tare_weight *w) {
    return w->formula == TARE_FORMULA_RAISED || w->formula == TARE_FORMULA_LOWERED;
}

static form form_of(const tare_weight *w, float scale, float zero) {
    form f = {.scale = scale, .zero = zero, .sign = 1, .code_scale = scale};
    if (w->formula == TARE_FORMULA_DIVIDED) f.scale = f.code_scale = 1 / scale;
    if (!is_raised(w)) {
        f.offset = zero != 0 ? -(zero * scale) : 0;
        return f;
    }
    f.offset = w->formula == TARE_FORMULA_RAISED ? zero : -zero;
    f.zero = scale != 0 ? -f.offset / scale : 0;
    /* what is zero has no sign in a sum */
    if (scale < 0) f.scale = -scale, f.sign = -1;
    return f;
}

static bool is_f16(float v) {
    const float same = tare_f32_of_f16(tare_f16_of_f32(v));
    return same == v && isfinite(v);
}

static void look_at(seen *s, const tare_weight *w, float scale, float zero, float low, float high) {
    const form f = form_of(w, scale, zero);
    const float a = f.sign * (low - f.zero), b = f.sign * (high - f.zero);
    s->has_scales = s->has_scales && is_f16(f.scale);
    s->has_wholes = s->has_wholes && f.zero == rintf(f.zero) && fabsf(f.zero) < 512 &&
                    (!is_raised(w) || -(f.zero * scale) == f.offset);
    s->has_offsets = s->has_offsets && is_f16(f.offset) && (is_raised(w) || scale >= 0);
    s->low = fminf(s->low, fminf(a, b));
    s->high = fmaxf(s->high, fmaxf(a, b));
}

/* The codes as they are read. */
static void range_of(float *low, float *high, const tare_weight *w) {
    const float n = (float)(1u << w->bits);
    *low = w->value == TARE_VALUE_WHOLE ? -w->middle : -n / 2;
    *high = *low + n - 1;
}

/* Whether scales of columns stand at whole blocks. */
static bool are_blocks_whole(const tare_weight *w, const tare_weight_scales *s) {
    for (uint64_t i = 0; s->group && i < w->cols; i++)
        if (s->group[i] != s->group[i / BLOCK * BLOCK]) return false;
    return s->group || w->group % BLOCK == 0 || w->n_groups == 1;
}

static tare_status look(seen *out, const tare_weight *w, const tare_model *stored,
                        tare_error *err) {
    float low, high;
    range_of(&low, &high, w);
    *out = (seen){.has_scales = true,
                  .has_wholes = true,
                  .has_offsets = w->value == TARE_VALUE_WHOLE && w->middle == 0,
                  .is_one_per_row = w->n_groups == 1};
    for (uint64_t first = 0; first < w->n_rows && out->has_scales; first += ROWS_AT_ONCE) {
        tare_weight_scales s;
        const uint64_t n = tare_min_u64(w->n_rows - first, ROWS_AT_ONCE);
        TARE_TRY(tare_weight_scales_read(&s, w, stored, first, n, err));
        out->has_scales = are_blocks_whole(w, &s);
        for (uint64_t i = 0; i < s.n && out->has_scales; i++)
            look_at(out, w, s.scale[i], s.zero ? s.zero[i] : 0, low, high);
        tare_weight_scales_free(&s);
    }
    return TARE_OK;
}

/* ---- which blocks ------------------------------------------------------------------------------ */

/* Whether a weight is made of whole numbers under scales of rows, as far as its form tells. */
static bool is_candidate(const tare_weight *w, const tare_model *stored) {
    const tare_encoding_id codes = stored->catalog.tensors[w->parts[TARE_PART_CODES]].encoding->id;
    const bool is_whole = w->value == TARE_VALUE_WHOLE || w->value == TARE_VALUE_SIGNED ||
                          (w->value == TARE_VALUE_OF_PART && codes == TARE_ENCODING_I8);
    const bool is_by_row =
        w->scale_order == TARE_SCALES_BY_ROW || w->scale_order == TARE_SCALES_BY_GROUP;
    return is_whole && is_by_row && w->encoding->id == TARE_ENCODING_F32 && w->bits &&
           w->bits <= 8 && w->scale_value == TARE_SCALE_OF_PART && w->constant == 0 &&
           w->parts[TARE_PART_COLUMNS] < 0 && w->parts[TARE_PART_FACTOR] < 0 &&
           w->cols % BLOCK == 0 && w->order != TARE_ORDER_TRANSPOSED && w->step <= 1;
}

static tare_encoding_id choose(const seen *s, const tare_weight *w) {
    const bool is_wide = w->cols % WIDE_BLOCK == 0 && s->is_one_per_row;
    if (!s->has_scales) return TARE_ENCODING_F32;
    if (s->has_wholes && is_wide && s->low >= -1 && s->high <= 2) return TARE_ENCODING_TQ2_0;
    if (s->has_wholes && s->low >= -8 && s->high <= 7) return TARE_ENCODING_Q4_0;
    if (s->has_offsets && w->bits <= 4) return TARE_ENCODING_Q4_1;
    if (s->has_wholes && s->low >= -16 && s->high <= 15) return TARE_ENCODING_Q5_0;
    if (s->has_offsets && w->bits <= 5) return TARE_ENCODING_Q5_1;
    if (s->has_wholes && s->low >= -128 && s->high <= 127) return TARE_ENCODING_Q8_0;
    return TARE_ENCODING_F32;
}

bool tare_weight_may_be_whole_blocks(const tare_weight *w, const tare_model *stored) {
    return is_candidate(w, stored);
}

tare_status tare_weight_choose_blocks(tare_weight *w, const tare_model *stored, tare_error *err) {
    seen s;
    if (!is_candidate(w, stored)) return TARE_OK;
    TARE_TRY(look(&s, w, stored, err));
    w->encoding = tare_encoding_get(choose(&s, w));
    return TARE_OK;
}

/* ---- blocks ------------------------------------------------------------------------------------ */

static uint8_t *put_f16(uint8_t *to, float v) {
    tare_store_le16(to, tare_f16_of_f32(v));
    return to + 2;
}

/* Two bits a code, then the scale. */
static uint8_t *put_wide_block(uint8_t *to, const float *codes, const form *f) {
    uint8_t q[WIDE_BLOCK];
    for (int i = 0; i < WIDE_BLOCK; i++) q[i] = (uint8_t)(int)(f->sign * (codes[i] - f->zero) + 1);
    tare_pack_2bit(to, q);
    return put_f16(to + WIDE_BLOCK / 4, f->scale);
}

static uint8_t *put_block(uint8_t *to, tare_encoding_id id, const float *codes, const form *f) {
    const bool has_offset = id == TARE_ENCODING_Q4_1 || id == TARE_ENCODING_Q5_1;
    const bool has_fifth = id == TARE_ENCODING_Q5_0 || id == TARE_ENCODING_Q5_1;
    const float middle = id == TARE_ENCODING_Q4_0 ? 8 : id == TARE_ENCODING_Q5_0 ? 16 : 0;
    uint8_t q[BLOCK];
    for (int i = 0; i < BLOCK; i++)
        q[i] = (uint8_t)(int)(has_offset ? codes[i] : f->sign * (codes[i] - f->zero) + middle);
    to = put_f16(to, has_offset ? f->code_scale : f->scale);
    if (has_offset) to = put_f16(to, f->offset);
    if (has_fifth) {
        tare_pack_fifth_bits(to, q);
        to += BLOCK / 8;
    }
    if (id == TARE_ENCODING_Q8_0) {
        memcpy(to, q, BLOCK);
        return to + BLOCK;
    }
    tare_pack_halves(to, q, BLOCK / 2);
    return to + BLOCK / 2;
}

static uint8_t *put_row(uint8_t *to, const tare_weight *w, const tare_weight_scales *s,
                        uint64_t row, const float *codes) {
    const tare_encoding *e = w->encoding;
    for (uint64_t i = 0; i < w->cols; i += e->block) {
        const uint64_t group = s->group ? s->group[i] : tare_min_u64(i / w->group, w->n_groups - 1);
        const uint64_t at = row * w->n_groups + group;
        const form f = form_of(w, s->scale[at], s->zero ? s->zero[at] : 0);
        to = e->block == WIDE_BLOCK ? put_wide_block(to, codes + i, &f)
                                    : put_block(to, e->id, codes + i, &f);
    }
    return to;
}

tare_status tare_weight_whole_blocks(uint8_t *out, const tare_weight *w, const tare_model *stored,
                                     uint64_t first, uint64_t n, tare_error *err) {
    tare_weight_scales s;
    size_t size;
    if (!tare_size_of_u64(n * w->cols * sizeof(float), &size))
        return tare_fail(err, TARE_ERR_LIMIT, "packed weight");
    float *codes = tare_alloc(stored->allocator, size);
    if (!codes) return tare_fail(err, TARE_ERR_NOMEM, "packed weight");
    tare_status status = tare_weight_codes(codes, w, stored, first, n, err);
    if (status == TARE_OK) status = tare_weight_scales_read(&s, w, stored, first, n, err);
    if (status == TARE_OK) {
        for (uint64_t row = 0; row < n; row++)
            out = put_row(out, w, &s, row, codes + row * w->cols);
        tare_weight_scales_free(&s);
    }
    tare_free(stored->allocator, codes, size);
    return status;
}
