/* SPDX-License-Identifier: MIT
 *
 * Scales of packed weights, and zero points, for some rows: as numbers, from wherever they lie. */
#include <math.h>

#include "base/arith.h"
#include "base/bytes.h"
#include "encoding/kernels.h"
#include "quantized/weight.h"

typedef struct reading {
    tare_weight_scales *s;
    const tare_weight *w;
    const tare_model *stored;
    uint64_t first, n; /* rows */
    uint8_t *bytes;    /* room for a line of codes */
    float *numbers;    /* room for what scales are made of */
    tare_error *err;
} reading;

static tare_status floats_of(float *out, const reading *r, tare_part_kind part, uint64_t from,
                             uint64_t n) {
    return tare_tensor_values_f32(out, r->stored, (size_t)r->w->parts[part], from, n, r->err);
}

static tare_status bytes_of(void *out, const reading *r, tare_part_kind part, uint64_t from,
                            uint64_t n) {
    return tare_weight_bytes(out, r->w, r->stored, part, from, n, r->err);
}

/* ---- single scales ----------------------------------------------------------------------------- */

/* Scales whose bits lie in r->bytes. */
static tare_status from_bits(float *out, const reading *r, uint64_t n) {
    const tare_encoding_id id =
        r->w->scale_value == TARE_SCALE_E8M0 ? TARE_ENCODING_F8_E8M0 : TARE_ENCODING_F8_E4M3;
    const tare_rows rows = {.planes = {r->bytes}, .n_rows = 1, .cols = n};
    return tare_decode_rows(out, tare_encoding_get(id), &rows, r->err);
}

/* Doubly quantized: a code of a table, times the scale of a run, plus what was subtracted from all. */
static tare_status nested(float *out, const reading *r, uint64_t from, uint64_t n) {
    const tare_weight *w = r->w;
    const uint64_t run = from / w->nested_group, last = (from + n - 1) / w->nested_group;
    float *table = r->numbers, *outer = r->numbers + 256;
    TARE_TRY(bytes_of(r->bytes, r, TARE_PART_SCALES, from, n));
    TARE_TRY(floats_of(table, r, TARE_PART_OUTER_TABLE, 0, 256));
    TARE_TRY(floats_of(outer, r, TARE_PART_OUTER_SCALES, run, last - run + 1));
    for (uint64_t i = 0; i < n; i++) {
        const float product = table[r->bytes[i]] * outer[(from + i) / w->nested_group - run];
        out[i] = product + w->nested_offset;
    }
    return TARE_OK;
}

/* Scales [from, from + n) as they are stored. */
static tare_status stored_scales(float *out, const reading *r, uint64_t from, uint64_t n) {
    if (r->w->scale_value == TARE_SCALE_NESTED) return nested(out, r, from, n);
    if (r->w->scale_value == TARE_SCALE_OF_PART)
        return floats_of(out, r, TARE_PART_SCALES, from, n);
    TARE_TRY(bytes_of(r->bytes, r, TARE_PART_SCALES, from, n));
    return from_bits(out, r, n);
}

/* ---- of rows ----------------------------------------------------------------------------------- */

/* The line of scales that a row has. */
static uint64_t line_of(const tare_weight *w, uint64_t row) {
    const uint64_t lines = tare_ceil_div_u64(w->matrix_rows, w->block_rows);
    return row / w->matrix_rows * lines + row % w->matrix_rows / w->block_rows;
}

static tare_status by_row(float *out, const reading *r) {
    const tare_weight *w = r->w;
    uint64_t loaded = UINT64_MAX;
    for (uint64_t i = 0; i < r->n; i++, out += w->n_groups) {
        const uint64_t line = line_of(w, r->first + i);
        if (line == loaded)
            memcpy(out, out - w->n_groups, (size_t)w->n_groups * sizeof *out);
        else
            TARE_TRY(stored_scales(out, r, line * w->scale_line, w->n_groups));
        loaded = line;
    }
    return TARE_OK;
}

/* cuBLAS's order: tiles of 128 rows and 4 columns one after the other; in a tile the rows 32 apart
 * lie side by side. A row's scales are 4 bytes of each tile. */
static tare_status tiled(float *out, const reading *r) {
    const tare_weight *w = r->w;
    const uint64_t n_tiles = tare_ceil_div_u64(w->n_groups, 4);
    for (uint64_t i = 0; i < r->n; i++, out += w->n_groups) {
        const uint64_t row = r->first + i, in = row % 128;
        for (uint64_t t = 0; t < n_tiles; t++) {
            const uint64_t at = (row / 128 * n_tiles + t) * 512 + in % 32 * 16 + in / 32 * 4;
            TARE_TRY(bytes_of(r->bytes + 4 * t, r, TARE_PART_SCALES, at, 4));
        }
        TARE_TRY(from_bits(out, r, w->n_groups));
    }
    return TARE_OK;
}

/* [groups, rows] -> rows of groups. */
static tare_status by_group(float *out, const reading *r, tare_part_kind part) {
    const tare_weight *w = r->w;
    for (uint64_t g = 0; g < w->n_groups; g++) {
        TARE_TRY(floats_of(r->numbers, r, part, g * w->n_rows + r->first, r->n));
        for (uint64_t i = 0; i < r->n; i++) out[i * w->n_groups + g] = r->numbers[i];
    }
    return TARE_OK;
}

/* ---- zero points ------------------------------------------------------------------------------- */

/* Of each group a line of codes along the rows of the weight. */
static tare_status zeros_along(float *out, const reading *r) {
    const tare_weight *w = r->w;
    const uint64_t part_bytes = r->stored->catalog.tensors[w->parts[TARE_PART_ZEROS]].size_bytes;
    const uint64_t line = part_bytes / w->n_groups, begin = r->first / 32 * 32;
    const uint64_t from = begin / 8 * w->bits, at = r->first - begin;
    const uint64_t n_codes = w->is_planar ? tare_ceil_div_u64(at + r->n, 32) * 32 : at + r->n;
    const uint64_t size = tare_min_u64(tare_ceil_div_u64(n_codes * w->bits, 32) * 4, line - from);
    uint8_t *codes = r->bytes + size + 1;
    for (uint64_t g = 0; g < w->n_groups; g++) {
        TARE_TRY(bytes_of(r->bytes, r, TARE_PART_ZEROS, g * line + from, size));
        if (!w->is_planar) tare_weight_unpack(codes, r->bytes, at, r->n, w->bits);
        for (uint64_t i = 0; i < r->n; i++) {
            uint8_t code = codes[i];
            if (w->is_planar) code = tare_weight_planar_code(r->bytes, at + i, w->bits);
            out[i * w->n_groups + g] = (float)(code + w->adds_one);
        }
    }
    return TARE_OK;
}

/* The same, eight rows a word, in AWQ's order; with a sign where the codes have one. */
static tare_status zeros_across(float *out, const reading *r) {
    const tare_weight *w = r->w;
    const uint64_t line = w->n_rows / 8, word = r->first / 8;
    const uint64_t n_words = tare_ceil_div_u64(r->first + r->n, 8) - word;
    for (uint64_t g = 0; g < w->n_groups; g++) {
        TARE_TRY(bytes_of(r->bytes, r, TARE_PART_ZEROS, (g * line + word) * 4, n_words * 4));
        for (uint64_t i = 0; i < r->n; i++) {
            const uint64_t at = r->first + i - word * 8;
            const uint32_t k = w->awq_order ? tare_weight_awq_order[at % 8] : (uint32_t)(at % 8);
            const int32_t code = (int32_t)(tare_load_le32(r->bytes + at / 8 * 4) >> (4 * k) & 15);
            const bool is_negative = w->value == TARE_VALUE_SIGNED && code >= 8;
            out[i * w->n_groups + g] = (float)(is_negative ? code - 16 : code);
        }
    }
    return TARE_OK;
}

/* Of each group a column of words, codes dense down the rows. */
static tare_status zeros_down(float *out, const reading *r) {
    const tare_weight *w = r->w;
    const uint64_t groups = w->n_groups;
    const uint32_t mask = (1u << w->bits) - 1;
    for (uint64_t i = 0; i < r->n; i++) {
        const uint64_t bit = (r->first + i) * w->bits, word = bit / 32, shift = bit % 32;
        const bool is_split = shift + w->bits > 32;
        TARE_TRY(
            bytes_of(r->bytes, r, TARE_PART_ZEROS, word * groups * 4, groups * (is_split ? 8 : 4)));
        for (uint64_t g = 0; g < groups; g++) {
            uint64_t v = tare_load_le32(r->bytes + 4 * g);
            if (is_split) v |= (uint64_t)tare_load_le32(r->bytes + 4 * (groups + g)) << 32;
            *out++ = (float)(v >> shift & mask);
        }
    }
    return TARE_OK;
}

static tare_status zeros_in_row(float *out, const reading *r) {
    const tare_weight *w = r->w;
    const uint64_t line =
        r->stored->catalog.tensors[w->parts[TARE_PART_ZEROS]].size_bytes / w->n_rows;
    uint8_t *codes = r->bytes + line + 1;
    for (uint64_t i = 0; i < r->n; i++) {
        TARE_TRY(bytes_of(r->bytes, r, TARE_PART_ZEROS, (r->first + i) * line, line));
        tare_weight_unpack(codes, r->bytes, 0, w->n_groups, w->bits);
        for (uint64_t g = 0; g < w->n_groups; g++) *out++ = (float)codes[g];
    }
    return TARE_OK;
}

/* Numbers where the scales are. */
static tare_status zeros_like_scales(float *out, const reading *r) {
    const tare_weight *w = r->w;
    if (w->scale_order == TARE_SCALES_BY_GROUP) return by_group(out, r, TARE_PART_ZEROS);
    for (uint64_t i = 0; i < r->n; i++, out += w->n_groups)
        TARE_TRY(floats_of(out, r, TARE_PART_ZEROS, line_of(w, r->first + i) * w->n_groups,
                           w->n_groups));
    return TARE_OK;
}

/* Symmetric weights have the middle of the codes as their zero point, whatever form the settings say
 * that it is stored in: if all of them are that number, stored in either way, it counts. */
static void correct_symmetric(float *zero, const tare_weight *w, uint64_t n) {
    const float middle = (float)(1u << (w->bits - 1));
    const float one = zero[0] - (float)w->adds_one; /* as it is stored */
    if (one != middle && one != middle - 1) return;
    for (uint64_t i = 1; i < n; i++)
        if (zero[i] != zero[0]) return;
    for (uint64_t i = 0; i < n; i++) zero[i] = middle;
}

static tare_status read_zeros(const reading *r) {
    static tare_status (*const orders[])(float *out, const reading *r) = {
        [TARE_ZEROS_LIKE_SCALES] = zeros_like_scales,
        [TARE_ZEROS_DOWN] = zeros_down,
        [TARE_ZEROS_ALONG] = zeros_along,
        [TARE_ZEROS_ACROSS] = zeros_across,
        [TARE_ZEROS_IN_ROW] = zeros_in_row,
    };
    const tare_weight *w = r->w;
    TARE_TRY(orders[w->zero_order](r->s->zero, r));
    if (w->is_symmetric && w->zero_order == TARE_ZEROS_ALONG)
        correct_symmetric(r->s->zero, w, r->n * w->n_groups);
    return TARE_OK;
}

/* ---- runs -------------------------------------------------------------------------------------- */

/* n of the scales in turn, from the one that the first element has on. */
static tare_status of_turn(float *out, const reading *r, tare_part_kind part, uint64_t n) {
    const uint64_t length = r->w->group, begin = r->first * r->w->cols % length;
    const uint64_t here = tare_min_u64(n, length - begin);
    TARE_TRY(floats_of(out, r, part, begin, here));
    return floats_of(out + here, r, part, 0, n - here);
}

/* Scales of the elements of the rows, one for each run of them; or one for each place in a turn. */
static tare_status of_runs(const reading *r, uint64_t n) {
    const tare_weight *w = r->w;
    float *scale = r->s->scale, *zero = r->s->zero;
    if (w->scale_order == TARE_SCALES_BY_TURN) {
        TARE_TRY(of_turn(scale, r, TARE_PART_SCALES, n));
        return zero ? of_turn(zero, r, TARE_PART_ZEROS, n) : TARE_OK;
    }
    const uint64_t from = r->first * w->cols / w->group;
    TARE_TRY(stored_scales(scale, r, from, n));
    return zero ? floats_of(zero, r, TARE_PART_ZEROS, from, n) : TARE_OK;
}

/* How many scales some rows have. */
static uint64_t count(const tare_weight *w, uint64_t first, uint64_t n) {
    if (w->scale_order == TARE_SCALES_BY_TURN) return tare_min_u64(w->group, n * w->cols);
    if (w->scale_order != TARE_SCALES_BY_RUN) return n * w->n_groups;
    return ((first + n) * w->cols - 1) / w->group - first * w->cols / w->group + 1;
}

/* ---- what belongs to all ----------------------------------------------------------------------- */

static tare_status unusable(const reading *r, tare_part_kind kind, const char *why) {
    const int64_t i = r->w->parts[kind];
    return tare_fail_tensor(r->err, TARE_ERR_CORRUPT, &r->stored->catalog.tensors[i], (size_t)i,
                            why);
}

/* The scale of the whole is multiplied into the others, or divides them, before any code. */
static tare_status apply_factor(const reading *r, uint64_t n) {
    const tare_weight *w = r->w;
    float *scale = r->s->scale;
    const bool is_one = r->stored->catalog.tensors[w->parts[TARE_PART_FACTOR]].n_elements == 1;
    for (uint64_t i = 0; i < n;) {
        const uint64_t row = r->first + i / w->n_groups, matrix = row / w->matrix_rows;
        const uint64_t stop =
            tare_min_u64(n, ((matrix + 1) * w->matrix_rows - r->first) * w->n_groups);
        float factor;
        TARE_TRY(floats_of(&factor, r, TARE_PART_FACTOR, is_one ? 0 : matrix, 1));
        if (!isfinite(factor) || (w->factor_divides && factor == 0))
            return unusable(r, TARE_PART_FACTOR, "a factor with which weights are no numbers");
        if (w->factor_unit != 0) factor = factor / w->factor_unit;
        for (; i < stop; i++) scale[i] = w->factor_divides ? scale[i] / factor : scale[i] * factor;
    }
    return TARE_OK;
}

/* Scales of NVFP4 have no sign. */
static tare_status check_signs(const reading *r, uint64_t n) {
    const int64_t part = r->w->parts[TARE_PART_SCALES];
    for (uint64_t i = 0; i < n; i++)
        if (!(r->s->scale[i] >= 0))
            return tare_fail_tensor(r->err, TARE_ERR_CORRUPT, &r->stored->catalog.tensors[part],
                                    (size_t)part, "a scale that is negative or not a number");
    return TARE_OK;
}

/* The group of each column. None but the first group for all of them stands for none said: kernels that
 * know no other order take it so. */
static tare_status read_index(const reading *r) {
    const tare_weight *w = r->w;
    const int64_t part = w->parts[TARE_PART_INDEX];
    const tare_tensor *t = &r->stored->catalog.tensors[part];
    const uint64_t width = t->encoding->planes[0].unit_bytes;
    uint8_t bytes[8 * 256];
    bool has_other = w->n_groups == 1;
    for (uint64_t i = 0, n; i < w->cols; i += n) {
        n = tare_min_u64(w->cols - i, 256);
        TARE_TRY(bytes_of(bytes, r, TARE_PART_INDEX, i * width, n * width));
        for (uint64_t k = 0; k < n; k++) {
            const uint64_t group =
                width == 8 ? tare_load_le64(bytes + 8 * k) : tare_load_le32(bytes + 4 * k);
            if (group >= w->n_groups)
                return tare_fail_tensor(r->err, TARE_ERR_CORRUPT, t, (size_t)part,
                                        "number of a group out of range");
            r->s->group[i + k] = (uint32_t)group;
            has_other = has_other || group;
        }
    }
    if (has_other) return TARE_OK;
    if (w->is_turned)
        return tare_fail_tensor(r->err, TARE_ERR_UNSUPPORTED, t, (size_t)part,
                                "all columns are of group 0, and settings say that groups are of "
                                "columns in another order (desc_act), which is lost");
    r->s->group = NULL;
    return TARE_OK;
}

static tare_status read_columns(const reading *r) {
    const uint64_t n = r->w->cols;
    TARE_TRY(floats_of(r->s->column, r, TARE_PART_COLUMNS, 0, n));
    for (uint64_t i = 0; i < n; i++)
        if (!isfinite(r->s->column[i]))
            return unusable(r, TARE_PART_COLUMNS, "a factor of a column that is not a number");
    return TARE_OK;
}

static tare_status read_all(const reading *r, uint64_t n) {
    const tare_weight *w = r->w;
    if (r->s->group) TARE_TRY(read_index(r));
    if (r->s->column) TARE_TRY(read_columns(r));
    switch (w->scale_order) {
    case TARE_SCALES_BY_RUN:
    case TARE_SCALES_BY_TURN:
        return of_runs(r, n);
    case TARE_SCALES_BY_GROUP:
        TARE_TRY(by_group(r->s->scale, r, TARE_PART_SCALES));
        break;
    case TARE_SCALES_TILED:
        TARE_TRY(tiled(r->s->scale, r));
        break;
    default:
        TARE_TRY(by_row(r->s->scale, r));
    }
    if (w->scale_value == TARE_SCALE_E4M3) TARE_TRY(check_signs(r, n));
    if (w->parts[TARE_PART_FACTOR] >= 0) TARE_TRY(apply_factor(r, n));
    return r->s->zero ? read_zeros(r) : TARE_OK;
}

/* What no number comes of: a scale or zero point that is none, and a scale of 0 that divides. */
static tare_status check_numbers(const reading *r) {
    const tare_weight *w = r->w;
    const tare_weight_scales *s = r->s;
    for (uint64_t i = 0; i < s->n; i++) {
        const bool is_none =
            !isfinite(s->scale[i]) || (w->formula == TARE_FORMULA_DIVIDED && s->scale[i] == 0);
        if (!is_none && !(s->zero && !isfinite(s->zero[i]))) continue;
        const int64_t wanted = w->parts[is_none ? TARE_PART_SCALES : TARE_PART_ZEROS];
        const int64_t part = wanted >= 0 ? wanted : w->parts[TARE_PART_CODES];
        return tare_fail_tensor(r->err, TARE_ERR_CORRUPT, &r->stored->catalog.tensors[part],
                                (size_t)part,
                                is_none ? "a scale with which weights are no numbers"
                                        : "a zero point that is not a number");
    }
    return TARE_OK;
}

/* Floats, then words, then bytes of one piece of memory. */
tare_status tare_weight_scales_read(tare_weight_scales *out, const tare_weight *w,
                                    const tare_model *stored, uint64_t first, uint64_t n,
                                    tare_error *err) {
    const uint64_t n_scales = count(w, first, n), n_lines = tare_max_u64(n, w->n_groups) + 64;
    const bool has_zero = w->parts[TARE_PART_ZEROS] >= 0,
               has_index = w->parts[TARE_PART_INDEX] >= 0,
               has_column = w->parts[TARE_PART_COLUMNS] >= 0;
    const uint64_t n_numbers =
        tare_max_u64(n, w->scale_value == TARE_SCALE_NESTED ? 258 + n_scales : 0);
    const uint64_t n_words =
        n_scales * (1 + has_zero) + w->cols * (has_index + has_column) + n_numbers;
    *out = (tare_weight_scales){.allocator = stored->allocator, .n = n_scales};
    if (n_words > UINT64_C(1) << 40 ||
        !tare_size_of_u64(4 * n_words + 10 * n_lines + n_scales, &out->size))
        return tare_fail(err, TARE_ERR_LIMIT, "packed weight");
    out->memory = tare_alloc(stored->allocator, out->size);
    if (!out->memory) return tare_fail(err, TARE_ERR_NOMEM, "packed weight");
    float *at = out->memory;
    out->scale = at;
    at += n_scales;
    if (has_zero) out->zero = at;
    at += has_zero ? n_scales : 0;
    if (has_index) out->group = (uint32_t *)(void *)at;
    at += has_index ? w->cols : 0;
    if (has_column) out->column = at;
    at += has_column ? w->cols : 0;
    const reading r = {.s = out,
                       .w = w,
                       .stored = stored,
                       .first = first,
                       .n = n,
                       .numbers = at,
                       .bytes = (uint8_t *)(at + n_numbers),
                       .err = err};
    tare_status status = read_all(&r, n_scales);
    if (status == TARE_OK) status = check_numbers(&r);
    if (status != TARE_OK) tare_weight_scales_free(out);
    return status;
}

void tare_weight_scales_free(tare_weight_scales *s) {
    tare_free(s->allocator, s->memory, s->size);
    s->memory = NULL;
}
