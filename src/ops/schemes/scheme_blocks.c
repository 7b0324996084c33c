/* SPDX-License-Identifier: MIT
 *
 * The bytes of packed weights: blocks of rows are encoded when one of their parts is read, and kept
 * for a while, because the other parts are read next. */
#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "base/bytes.h"
#include "encoding/kernels.h"
#include "ops/schemes/scheme_model.h"

#define BLOCK_BYTES ((uint64_t)1 << 20) /* of floats that are encoded at once */

/* ---- layout ------------------------------------------------------------------------------------ */

static uint32_t type_bytes(tare_encoding_id type) {
    return tare_encoding_get(type)->planes[0].unit_bytes;
}

tare_encoding_id tare_scheme_type_of(const tare_packed_weight *w, const tare_written_part *p) {
    const bool is_scale = p->kind == TARE_WRITTEN_SCALES || p->kind == TARE_WRITTEN_OFFSETS;
    return p->type ? p->type : is_scale ? w->scale : w->type;
}

static uint64_t line_of(const tare_packed_weight *w, const tare_written_part *p) {
    const uint64_t word = type_bytes(tare_scheme_type_of(w, p));
    switch (p->kind) {
    case TARE_WRITTEN_CODES:
        return (w->cols * w->scheme.writer->bits + 8 * word - 1) / (8 * word) * word;
    case TARE_WRITTEN_NUMBERS:
        return w->cols * word;
    default:
        return w->n_groups * word;
    }
}

static uint64_t rows_of(const tare_packed_weight *w, tare_written_kind kind) {
    const tare_writer *writer = w->scheme.writer;
    return kind == TARE_WRITTEN_ZEROS                          ? 32 / writer->bits
           : kind == TARE_WRITTEN_SCALES && writer->block_rows ? writer->block_rows
                                                               : 1;
}

static bool is_in_blocks(tare_written_kind kind) {
    return kind != TARE_WRITTEN_SHAPE && kind != TARE_WRITTEN_INPUT && kind != TARE_WRITTEN_NOTE &&
           !tare_written_is_factor(kind);
}

void tare_scheme_lay_out(tare_packed_weight *w, tare_stored_part *parts) {
    static const tare_written_part numbers = {"", TARE_WRITTEN_NUMBERS, TARE_ENCODING_UNKNOWN};
    const tare_writer *writer = w->scheme.writer;
    const uint64_t together = writer && writer->block_rows ? writer->block_rows : 32;
    const uint64_t rows = BLOCK_BYTES / (w->cols * sizeof(float) + 1);
    w->block_rows = tare_max_u64(rows / together * together, together);
    w->block_bytes = 0;
    for (size_t i = 0; i < w->n_parts; i++) {
        const tare_written_part *from = writer ? &writer->parts[i] : &numbers;
        tare_stored_part *p = &parts[i];
        p->kind = from->kind;
        p->at = w->block_bytes;
        if (!is_in_blocks(p->kind)) continue;
        p->line = line_of(w, from);
        p->rows = rows_of(w, p->kind);
        w->block_bytes += (size_t)((w->block_rows + p->rows - 1) / p->rows * p->line);
    }
}

/* ---- codes into bytes -------------------------------------------------------------------------- */

/* Codes of a row, `bits` each, the first in the lowest bits; the line is zero before. */
static void put_codes(uint8_t *line, const uint8_t *codes, uint64_t n, uint32_t bits) {
    uint32_t held = 0, n_held = 0;
    if (bits == 8) {
        memcpy(line, codes, (size_t)n);
        return;
    }
    for (; bits == 4 && n >= 2; n -= 2, codes += 2) *line++ = (uint8_t)(codes[0] | codes[1] << 4);
    for (uint64_t i = 0; i < n; i++) {
        held |= (uint32_t)codes[i] << n_held;
        n_held += bits;
        for (; n_held >= 8; n_held -= 8, held >>= 8) *line++ = (uint8_t)held;
    }
    if (n_held) *line = (uint8_t)held;
}

static void put_scale(uint8_t *out, uint32_t bits, uint32_t n_bytes) {
    if (n_bytes == 4)
        tare_store_le32(out, bits);
    else if (n_bytes == 2)
        tare_store_le16(out, (uint16_t)bits);
    else
        *out = (uint8_t)bits;
}

/* ---- encoding a block -------------------------------------------------------------------------- */

typedef struct encoding {
    const tare_packed_weight *w;
    const tare_stored_part *parts;
    uint8_t *out;
    uint64_t first, n; /* rows */
    const float *values;
    float factor;
    tare_group_form form;
    uint8_t *codes; /* of all rows */
    float *tile;    /* numbers of a group of several rows, and their weights */
    uint8_t *tile_codes;
    float *room;
} encoding;

static const tare_stored_part *part_of(const encoding *e, tare_written_kind kind) {
    for (size_t i = 0; i < e->w->n_parts; i++)
        if (e->parts[i].kind == kind) return &e->parts[i];
    return NULL;
}

static void put_group(const encoding *e, uint64_t row, uint64_t group, const tare_group *found) {
    const tare_stored_part *scales = part_of(e, TARE_WRITTEN_SCALES),
                           *offsets = part_of(e, TARE_WRITTEN_OFFSETS),
                           *zeros = part_of(e, TARE_WRITTEN_ZEROS);
    if (!scales) return;
    const uint32_t width = (uint32_t)(scales->line / e->w->n_groups), bits = e->form.bits;
    const uint64_t line = row / scales->rows;
    put_scale(e->out + scales->at + line * scales->line + group * width, found->scale, width);
    if (offsets)
        put_scale(e->out + offsets->at + row * offsets->line + group * width, found->offset, width);
    if (!zeros) return;
    uint8_t *word = e->out + zeros->at + row / zeros->rows * zeros->line + group * 4;
    tare_store_le32(word, tare_load_le32(word) | (uint32_t)found->zero
                                                     << (uint32_t)(row % zeros->rows) * bits);
}

static tare_status refuse(tare_error *err) {
    return tare_fail(err, TARE_ERR_UNSUPPORTED,
                     "NaN, Inf, or numbers beyond what the scheme's scales hold");
}

static tare_status encode_rows(const encoding *e, tare_error *err) {
    const tare_packed_weight *w = e->w;
    for (uint64_t r = 0; r < e->n; r++)
        for (uint64_t g = 0; g < w->n_groups; g++) {
            const uint64_t at = r * w->cols + g * w->group;
            const float *importance = w->importance ? w->importance + g * w->group : NULL;
            tare_group found;
            if (!tare_group_encode(e->codes + at, &found, e->values + at, importance,
                                   (size_t)w->group, &e->form, e->factor, e->room))
                return refuse(err);
            put_group(e, r, g, &found);
        }
    return TARE_OK;
}

/* A square of rows and columns under one scale. */
static tare_status encode_tile(const encoding *e, uint64_t row, uint64_t n_rows, uint64_t group,
                               tare_error *err) {
    const tare_packed_weight *w = e->w;
    const uint64_t from = group * w->group, n = tare_min_u64(w->group, w->cols - from);
    float *weights = e->tile + w->scheme.writer->block_rows * w->group;
    tare_group found;
    for (uint64_t r = 0; r < n_rows; r++) {
        memcpy(e->tile + r * n, e->values + (row + r) * w->cols + from,
               (size_t)n * sizeof *e->tile);
        if (w->importance)
            memcpy(weights + r * n, w->importance + from, (size_t)n * sizeof *weights);
    }
    if (!tare_group_encode(e->tile_codes, &found, e->tile, w->importance ? weights : NULL,
                           (size_t)(n_rows * n), &e->form, e->factor, e->room))
        return refuse(err);
    for (uint64_t r = 0; r < n_rows; r++)
        memcpy(e->codes + (row + r) * w->cols + from, e->tile_codes + r * n, (size_t)n);
    put_group(e, row, group, &found);
    return TARE_OK;
}

static tare_status encode_tiles(const encoding *e, tare_error *err) {
    const uint64_t rows = e->w->scheme.writer->block_rows;
    for (uint64_t r = 0; r < e->n; r += rows)
        for (uint64_t g = 0; g < e->w->n_groups; g++)
            TARE_TRY(encode_tile(e, r, tare_min_u64(rows, e->n - r), g, err));
    return TARE_OK;
}

/* Codes and scales that are there already. */
static tare_status repack(const encoding *e, const tare_scheme_work *work, tare_error *err) {
    const tare_packed_weight *w = e->w;
    const uint64_t rows = w->scheme.writer->block_rows ? w->scheme.writer->block_rows : 1;
    size_t size;
    if (!tare_size_of_u64(e->n * w->n_groups * sizeof(tare_group), &size))
        return tare_fail(err, TARE_ERR_LIMIT, "packed weight");
    tare_group *groups = tare_alloc(work->allocator, size);
    if (!groups) return tare_fail(err, TARE_ERR_NOMEM, "packed weight");
    const tare_status status = tare_scheme_repack(e->codes, groups, work, w, e->first, e->n, err);
    for (uint64_t r = 0; status == TARE_OK && r < e->n; r += rows)
        for (uint64_t g = 0; g < w->n_groups; g++) put_group(e, r, g, &groups[r * w->n_groups + g]);
    tare_free(work->allocator, groups, size);
    return status;
}

/* Codes that are stored as integers with a sign. */
static void make_signed(uint8_t *codes, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) codes[i] ^= 0x80;
}

static void put_all_codes(const encoding *e) {
    const tare_stored_part *codes = part_of(e, TARE_WRITTEN_CODES);
    const uint64_t cols = e->w->cols;
    if (e->w->scheme.writer->parts[0].type == TARE_ENCODING_I8) make_signed(e->codes, e->n * cols);
    for (uint64_t r = 0; r < e->n; r++)
        put_codes(e->out + codes->at + r * codes->line, e->codes + r * cols, cols, e->form.bits);
}

/* From 1.75 on, which is half a unit below 2 of E2M1; MLX clips nothing: above 1.5, and 1.75 of E4M3. */
static uint32_t carry_of(const tare_writer *w) {
    if (w->family != TARE_WRITER_MLX) return UINT32_C(0x200000);
    return w->kind == TARE_GROUP_E2M1 ? UINT32_C(0x3fffff) : UINT32_C(0x1fffff);
}

static tare_status encode(encoding *e, const tare_scheme_work *work, tare_error *err) {
    const tare_allocator *allocator = work->allocator;
    const tare_packed_weight *w = e->w;
    const tare_writer *writer = w->scheme.writer;
    const size_t n_tile = (size_t)(writer->block_rows * w->group);
    const size_t n_room = tare_group_room(n_tile ? n_tile : (size_t)w->group);
    const size_t n_floats = n_room + 2 * n_tile;
    const size_t size = n_floats * sizeof(float) + n_tile + (size_t)(e->n * w->cols);
    float *memory = tare_alloc(allocator, size);
    if (!memory) return tare_fail(err, TARE_ERR_NOMEM, "packed weight");
    e->room = memory;
    e->tile = memory + n_room;
    e->tile_codes = (uint8_t *)(memory + n_floats);
    e->codes = e->tile_codes + n_tile;
    e->form = (tare_group_form){.kind = writer->kind,
                                .bits = writer->bits,
                                .scale = w->scale,
                                .numbers = w->type,
                                .carry = carry_of(writer),
                                .has_one_zero = writer->family == TARE_WRITER_MLX,
                                .ties_to_zero = writer->family == TARE_WRITER_MLX,
                                .is_plain = w->scheme.is_plain,
                                .is_scaled = tare_writer_has_one_scale(writer),
                                .multiplies = tare_writer_has(writer, TARE_WRITTEN_MULTIPLIER)};
    const tare_status status = w->held.kind ? repack(e, work, err)
                               : n_tile     ? encode_tiles(e, err)
                                            : encode_rows(e, err);
    if (status == TARE_OK) put_all_codes(e);
    tare_free(allocator, memory, size);
    return status;
}

static tare_status round_numbers(const encoding *e, tare_error *err) {
    const tare_encoding *type = tare_encoding_get(e->w->type);
    const size_t n = (size_t)(e->n * e->w->cols);
    /* what rounds to Inf */
    const float end = type->id == TARE_ENCODING_F16    ? 65520
                      : type->id == TARE_ENCODING_BF16 ? 0x1.ffp127f
                                                       : INFINITY;
    for (size_t i = 0; i < n; i++)
        if (!(fabsf(e->values[i]) < end))
            return tare_fail(err, TARE_ERR_UNSUPPORTED,
                             "NaN, Inf, or numbers beyond the type of the model, which config.json "
                             "names");
    tare_round_floats(e->out, type->id, e->values, n);
    const tare_rows_mut rows = {.planes = {e->out}, .n_rows = 1, .cols = n};
    if (TARE_HOST_IS_BIG_ENDIAN) tare_swap_rows(&rows, type);
    return TARE_OK;
}

/* ---- the factor of weights that share one ------------------------------------------------------ */

/* The largest magnitude among rows. */
static tare_status largest_of(float *largest, const tare_scheme_work *work,
                              const tare_packed_weight *w, tare_error *err) {
    const uint64_t n = w->n_rows * w->cols, at_once = BLOCK_BYTES / sizeof(float);
    float *values = tare_alloc(work->allocator, BLOCK_BYTES);
    tare_status status = values ? TARE_OK : tare_fail(err, TARE_ERR_NOMEM, "packed weight");
    for (uint64_t at = 0; status == TARE_OK && at < n; at += at_once) {
        const uint64_t take = tare_min_u64(at_once, n - at);
        status = tare_tensor_values_f32(values, work->in, w->tensor, w->first_row * w->cols + at,
                                        take, err);
        for (uint64_t i = 0; status == TARE_OK && i < take; i++)
            if (fabsf(values[i]) > *largest) *largest = fabsf(values[i]);
    }
    tare_free(work->allocator, values, BLOCK_BYTES);
    return status;
}

/* Scales are FP8: the largest one is 448, of a group whose largest number is 6. A power of two, so that
 * decoded weights are exact in BF16; compressed-tensors' has the type of the numbers, ModelOpt's is F32. */
static float factor_of(float largest, const tare_packed_weight *w) {
    const bool multiplies = tare_writer_has(w->scheme.writer, TARE_WRITTEN_MULTIPLIER);
    const float ideal = 448.0f * 6 / largest;
    int exponent;
    if (!(largest > 0)) return 1;
    if (w->scheme.is_plain && multiplies) return largest / (448.0f * 6);
    if (w->scheme.is_plain)
        return tare_group_rounded(448.0f * 6 * tare_group_rounded(1 / largest, w->type), w->type);
    frexpf(ideal, &exponent);
    return !(ideal < INFINITY) ? ideal : ldexpf(1, multiplies ? 1 - exponent : exponent - 1);
}

/* Scales that are tried: an octave, where numbers between the codes repeat with the next one. */
enum { N_TRIED = 16 };

/* The error of all numbers of a weight under each of them. */
static tare_status add_errors(double *errors, const float *scales, const tare_scheme_work *work,
                              const tare_packed_weight *w, tare_error *err) {
    const uint64_t n = w->n_rows * w->cols, at_once = BLOCK_BYTES / sizeof(float);
    float *values = tare_alloc(work->allocator, 2 * BLOCK_BYTES);
    if (!values) return tare_fail(err, TARE_ERR_NOMEM, "packed weight");
    float *weights = values + at_once, most = 0;
    for (uint64_t i = 0; w->importance && i < w->cols; i++) most = fmaxf(most, w->importance[i]);
    tare_status status = TARE_OK;
    for (uint64_t at = 0; status == TARE_OK && at < n; at += at_once) {
        const uint64_t take = tare_min_u64(at_once, n - at);
        memset(values, 0, 2 * BLOCK_BYTES);
        status = tare_tensor_values_f32(values, work->in, w->tensor, w->first_row * w->cols + at,
                                        take, err);
        for (uint64_t i = 0; i < take; i++)
            weights[i] = most > 0 ? w->importance[(at + i) % w->cols] / most + 1e-4f : 1;
        for (int k = 0; status == TARE_OK && k < N_TRIED; k++)
            errors[k] +=
                (double)tare_kernels_get()->fit_e4m3(values, weights, (size_t)at_once, scales[k]);
    }
    tare_free(work->allocator, values, 2 * BLOCK_BYTES);
    return status;
}

static tare_status best_scale(float *out, const tare_scheme_work *work, const tare_packed_weight *w,
                              float largest, tare_error *err) {
    float scales[N_TRIED];
    double errors[N_TRIED] = {0};
    int best = 0;
    *out = largest > 0 ? largest / 448 : 1;
    if (w->scheme.is_plain || largest < 1e-15f) return TARE_OK;
    for (int i = 0; i < N_TRIED; i++) scales[i] = *out * (i ? exp2f(((float)i - 3) / N_TRIED) : 1);
    TARE_TRY(add_errors(errors, scales, work, w, err));
    for (int i = 1; i < N_TRIED; i++)
        if (errors[i] < errors[best]) best = i;
    *out = scales[best];
    return TARE_OK;
}

static tare_status make_factor(float *out, const tare_scheme_work *work, size_t set,
                               tare_error *err) {
    float largest = 0;
    if (work->weights[set].held.kind) {
        *out = work->weights[set].factor;
        return TARE_OK;
    }
    for (size_t i = set; i != SIZE_MAX; i = work->weights[i].next_in_set)
        TARE_TRY(largest_of(&largest, work, &work->weights[i], err));
    if (!(largest < 1e18f)) return refuse(err);
    if (tare_writer_has_one_scale(work->weights[set].scheme.writer))
        return best_scale(out, work, &work->weights[set], largest, err);
    *out = factor_of(largest, &work->weights[set]);
    const bool is_in_range = *out > 0 && *out < INFINITY;
    return is_in_range ? TARE_OK : refuse(err);
}

static tare_status find_factor(float *out, tare_scheme_work *work, const tare_packed_weight *w,
                               tare_error *err) {
    tare_cached *entry;
    *out = 1;
    if (!w->scheme.writer || !tare_writer_has_factor(w->scheme.writer)) return TARE_OK;
    switch (tare_cache_take(&entry, work->factors, (tare_cache_key){w->set, 0}, true)) {
    case TARE_CACHE_HELD:
        break;
    case TARE_CACHE_TO_MAKE: {
        float *factor = tare_alloc(work->allocator, sizeof *factor);
        const tare_status status = factor ? make_factor(factor, work, w->set, err)
                                          : tare_fail(err, TARE_ERR_NOMEM, "packed weight");
        if (status != TARE_OK) {
            tare_free(work->allocator, factor, sizeof *factor);
            tare_cache_fail(work->factors, entry);
            return status;
        }
        tare_cache_fill(work->factors, entry, factor, sizeof *factor);
        break;
    }
    default:
        return tare_fail(err, TARE_ERR_NOMEM, "packed weight");
    }
    memcpy(out, entry->value, sizeof *out);
    tare_cache_release(work->factors, entry);
    return TARE_OK;
}

/* ---- reading ----------------------------------------------------------------------------------- */

static tare_status fill_block(uint8_t *out, const tare_scheme_work *work,
                              const tare_packed_weight *w, uint64_t block, float factor,
                              tare_error *err) {
    encoding e = {.w = w,
                  .parts = &work->parts[w->first_part],
                  .out = out,
                  .first = block * w->block_rows,
                  .factor = factor};
    size_t size;
    e.n = tare_min_u64(w->block_rows, w->n_rows - e.first);
    if (!tare_size_of_u64(e.n * w->cols * sizeof(float), &size))
        return tare_fail(err, TARE_ERR_LIMIT, "packed weight");
    float *values = tare_alloc(work->allocator, size);
    if (!values) return tare_fail(err, TARE_ERR_NOMEM, "packed weight");
    tare_status status = TARE_OK;
    if (!w->held.kind)
        status = tare_tensor_values_f32(values, work->in, w->tensor,
                                        (w->first_row + e.first) * w->cols, e.n * w->cols, err);
    e.values = values;
    memset(out, 0, w->block_bytes);
    if (status == TARE_OK && w->scheme.writer)
        status = encode(&e, work, err);
    else if (status == TARE_OK)
        status = round_numbers(&e, err);
    if (status != TARE_OK)
        tare_error_item(err, TARE_ITEM_TENSOR, (int64_t)w->tensor,
                        work->in->catalog.tensors[w->tensor].name);
    tare_free(work->allocator, values, size);
    return status;
}

/* Takes a block, encoded. */
static tare_status take_block(tare_cached **out, tare_scheme_work *work, const tare_stored_part *p,
                              uint64_t block, tare_error *err) {
    const tare_packed_weight *w = &work->weights[p->weight];
    float factor;
    TARE_TRY(find_factor(&factor, work, w, err));
    const tare_cache_state state =
        tare_cache_take(out, work->blocks, (tare_cache_key){p->weight, block}, true);
    if (state == TARE_CACHE_HELD) return TARE_OK;
    if (state != TARE_CACHE_TO_MAKE) return tare_fail(err, TARE_ERR_NOMEM, "packed weight");
    uint8_t *value = tare_alloc(work->allocator, w->block_bytes);
    const tare_status status = value ? fill_block(value, work, w, block, factor, err)
                                     : tare_fail(err, TARE_ERR_NOMEM, "packed weight");
    if (status == TARE_OK) {
        tare_cache_fill(work->blocks, *out, value, w->block_bytes);
        return TARE_OK;
    }
    tare_free(work->allocator, value, w->block_bytes);
    tare_cache_fail(work->blocks, *out);
    return status;
}

/* Parts that say something of the whole weight. */
static tare_status read_constant(uint8_t *out, tare_scheme_work *work, const tare_stored_part *p,
                                 uint64_t from, size_t n, tare_error *err) {
    const tare_packed_weight *w = &work->weights[p->weight];
    uint8_t bytes[TARE_NOTE_ROOM];
    float factor;
    if (p->kind == TARE_WRITTEN_NOTE) {
        tare_writer_note((char *)bytes, sizeof bytes, w->scheme.writer);
    } else if (p->kind == TARE_WRITTEN_SHAPE) {
        tare_store_le64(bytes, w->n_rows);
        tare_store_le64(bytes + 8, w->cols);
    } else {
        TARE_TRY(find_factor(&factor, work, w, err));
        tare_store_le32(bytes, tare_f32_bits(p->kind == TARE_WRITTEN_INPUT ? w->input : factor));
    }
    memcpy(out, bytes + from, n);
    return TARE_OK;
}

tare_status tare_scheme_part_bytes(uint8_t *out, tare_scheme_work *work, const tare_stored_part *p,
                                   uint64_t from, size_t n, tare_error *err) {
    if (!is_in_blocks(p->kind)) return read_constant(out, work, p, from, n, err);
    const uint64_t block_size = work->weights[p->weight].block_rows / p->rows * p->line;
    while (n > 0) {
        const uint64_t at = from % block_size;
        const size_t take = (size_t)tare_min_u64(n, block_size - at);
        tare_cached *entry;
        TARE_TRY(take_block(&entry, work, p, from / block_size, err));
        memcpy(out, (const uint8_t *)entry->value + p->at + at, take);
        tare_cache_release(work->blocks, entry);
        out += take;
        from += take;
        n -= take;
    }
    return TARE_OK;
}
