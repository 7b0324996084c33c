/* SPDX-License-Identifier: MIT
 *
 * Tensors in units that can be taken out of the middle of all of their planes at once. */
#include "ops/bench/bench_sample.h"

#include "base/arith.h"

/* ---- units ----------------------------------------------------------------------------------- */

static bool has_scope(const tare_encoding *e, tare_plane_scope scope) {
    for (unsigned p = 0; p < e->n_planes; p++)
        if (e->planes[p].scope == scope) return true;
    return false;
}

/* Elements that all planes split at. */
static uint64_t common_unit(const tare_encoding *e) {
    uint64_t n = 1;
    for (unsigned p = 0; p < e->n_planes; p++)
        if (e->planes[p].scope == TARE_PLANE_ELEMENTS && e->planes[p].unit)
            n = tare_common_multiple(n, e->planes[p].unit);
    return n;
}

void tare_sampling_init(tare_sampling *s, const tare_model *model, size_t tensor) {
    const tare_tensor *t = tare_model_tensor(model, tensor);
    const tare_encoding *e = t->encoding;
    uint64_t unit = common_unit(e);
    bool has_rows = has_scope(e, TARE_PLANE_ROW);
    bool is_run =
        !has_rows && t->n_elements % unit == 0 && (e->is_bit_packed || t->cols % unit == 0);
    *s = (tare_sampling){.model = model, .t = t, .tensor = tensor, .n_units = 1};
    if (e->kind == TARE_KIND_UNKNOWN || has_scope(e, TARE_PLANE_LIST)) return;
    if (!is_run && e->is_bit_packed) return;
    s->n_units = is_run ? t->n_elements / unit : t->n_rows;
    for (unsigned p = 0; p < e->n_planes; p++) {
        const tare_plane_info *info = &e->planes[p];
        if (info->scope == TARE_PLANE_ELEMENTS)
            s->unit_bytes[p] =
                (is_run ? unit / info->unit : tare_ceil_div_u64(t->cols, info->unit)) *
                info->unit_bytes;
        if (info->scope == TARE_PLANE_ROW) s->unit_bytes[p] = info->unit_bytes;
        s->unit_sum += s->unit_bytes[p];
    }
}

/* ---- pieces ---------------------------------------------------------------------------------- */

static void measure(tare_sample_piece *piece, const tare_sampling *s) {
    piece->bytes = 0;
    for (unsigned p = 0; p < s->t->encoding->n_planes; p++) {
        uint64_t unit = s->unit_bytes[p];
        piece->plane_bytes[p] = unit ? piece->n_runs * piece->n_units * unit : s->t->planes[p].size;
        piece->bytes += piece->plane_bytes[p];
    }
}

/* Units of a run; 0: the sample would be all of the tensor. */
static uint64_t run_units(const tare_sampling *s, uint64_t most) {
    const uint64_t runs = (uint64_t)TARE_SAMPLE_PIECES * TARE_SAMPLE_RUNS;
    if (!s->unit_sum || most >= s->n_units * s->unit_sum) return 0;
    return tare_min_u64(tare_max_u64(most / s->unit_sum / runs, 1), s->n_units / runs);
}

bool tare_sampling_is_partial(const tare_sampling *s, uint64_t most) {
    return run_units(s, most) > 0;
}

/* splitmix64: the same place for the same part of the same tensor, on every machine. */
static uint64_t random_of(uint64_t tensor, uint64_t part) {
    uint64_t z = (tensor << 16 | part) + UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

void tare_sampling_spread(tare_sample_piece *piece, const tare_sampling *s, unsigned which,
                          uint64_t most) {
    const uint64_t part = s->n_units / ((uint64_t)TARE_SAMPLE_PIECES * TARE_SAMPLE_RUNS);
    *piece = (tare_sample_piece){.n_runs = TARE_SAMPLE_RUNS, .n_units = run_units(s, most)};
    for (unsigned r = 0; r < TARE_SAMPLE_RUNS; r++) {
        const uint64_t i = (uint64_t)r * TARE_SAMPLE_PIECES + which;
        piece->first[r] = i * part + random_of(s->tensor, i) % (part - piece->n_units + 1);
    }
    measure(piece, s);
}

uint64_t tare_sampling_next(tare_sample_piece *piece, const tare_sampling *s, uint64_t first,
                            uint64_t most) {
    uint64_t units = s->unit_sum ? tare_max_u64(most / s->unit_sum, 1) : s->n_units;
    *piece = (tare_sample_piece){
        .n_runs = 1, .first = {first}, .n_units = tare_min_u64(units, s->n_units - first)};
    measure(piece, s);
    return first + piece->n_units;
}

tare_status tare_sampling_read(uint8_t *dst, const tare_sampling *s, const tare_sample_piece *piece,
                               tare_error *err) {
    for (unsigned p = 0; p < s->t->encoding->n_planes; p++) {
        uint64_t unit = s->unit_bytes[p];
        size_t n = (size_t)(unit ? piece->n_units * unit : piece->plane_bytes[p]);
        for (unsigned r = 0; r < (unit ? piece->n_runs : 1); r++, dst += n)
            TARE_TRY(tare_tensor_read(dst, s->model, s->tensor, p, piece->first[r] * unit, n, err));
    }
    return TARE_OK;
}
