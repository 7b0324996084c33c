/* SPDX-License-Identifier: MIT
 *
 * Schemes of small floats: FP8 with scales of any shape, and microscaling formats. */
#include "base/arith.h"
#include "base/str.h"
#include "quantized/block_scales.h"

static bool is_fp8(const tare_tensor *t) {
    const tare_encoding_id id = t->encoding->id;
    return id == TARE_ENCODING_F8_E4M3 || id == TARE_ENCODING_F8_E5M2 ||
           id == TARE_ENCODING_F8_E4M3FNUZ || id == TARE_ENCODING_F8_E5M2FNUZ;
}

static bool is_float(const tare_tensor *t) {
    return t->encoding->kind == TARE_KIND_FLOAT && t->encoding->block == 1;
}

/* Exponents of two, under their own type or as bytes. */
static bool is_exponents(const tare_tensor *t) {
    return t->encoding->id == TARE_ENCODING_U8 || t->encoding->id == TARE_ENCODING_F8_E8M0;
}

/* Whether scales lie in cuBLAS's tiles, as ComfyUI says with a word and torchao of those that it
 * says it of. *is_comfy: it is ComfyUI. */
static tare_status tiles_of(bool *out, bool *is_comfy, const tare_weight *w,
                            const tare_weight_search *s, const char *format, tare_error *err) {
    tare_comfy_note comfy;
    tare_torchao_note torchao = {.is_tiled = false};
    const tare_tensor *codes = tare_weight_part(w, s, TARE_PART_CODES);
    const tare_tensor *scales = tare_weight_part(w, s, TARE_PART_SCALES);
    TARE_TRY(tare_weight_comfy(&comfy, s, w->stem, err));
    if (tare_str_ends(codes->name, TARE_STR("_qdata")))
        TARE_TRY(tare_weight_torchao(&torchao, s, w->stem, err));
    *is_comfy = comfy.format.len && tare_str_is(comfy.format, format);
    *out = *is_comfy || torchao.is_tiled;
    /* what ComfyUI writes lies in tiles, or does not, by the format alone */
    if (s->settings.layers && !comfy.format.len && scales->n_elements > 1 &&
        (is_exponents(scales) || scales->encoding->id == TARE_ENCODING_F8_E4M3))
        return tare_weight_refuse(w, s,
                                  "the metadata name formats of ComfyUI (_quantization_metadata), "
                                  "and none of this module",
                                  err);
    return TARE_OK;
}

/* ---- FP8 --------------------------------------------------------------------------------------- */

/* Zero points beside floats that scales alone make numbers. */
static tare_status check_zeros(const tare_weight *w, const tare_weight_search *s, tare_error *err) {
    const tare_tensor *zeros = tare_weight_part(w, s, TARE_PART_STATE);
    float v[256];
    if (!zeros) return tare_weight_check_zeros(w, s, err);
    for (uint64_t i = 0; i < zeros->n_elements; i += sizeof v / sizeof *v) {
        const uint64_t n = tare_min_u64(zeros->n_elements - i, sizeof v / sizeof *v);
        TARE_TRY(tare_tensor_values_f32(v, s->m, (size_t)w->parts[TARE_PART_STATE], i, n, err));
        for (uint64_t k = 0; k < n; k++)
            if (v[k] != 0)
                return tare_weight_refuse(w, s, "floats with zero points are not decoded", err);
    }
    return TARE_OK;
}

TARE_SCHEME_FITS(fp8) {
    const tare_tensor *codes = tare_weight_part(w, s, TARE_PART_CODES);
    const tare_tensor *scales = tare_weight_part(w, s, TARE_PART_SCALES);
    bool is_tiled, is_comfy, is_laid;
    if (!is_fp8(codes) || (!is_float(scales) && !is_exponents(scales))) return TARE_OK;
    TARE_TRY(tiles_of(&is_tiled, &is_comfy, w, s, "", err));
    if (is_tiled && !is_comfy) return TARE_OK; /* microscaling */
    tare_weight_shape_of(w, codes, 1);
    TARE_TRY(tare_weight_lay_scales(&is_laid, w, s, scales, err));
    if (!is_laid) {
        w->n_dims = 0; /* not its scale */
        return TARE_OK;
    }
    TARE_TRY(check_zeros(w, s, err));
    w->bits = 8;
    w->value = TARE_VALUE_OF_PART;
    if (scales->encoding->id == TARE_ENCODING_U8) w->scale_value = TARE_SCALE_E8M0;
    if (tare_weight_setting_is(&s->settings, "weight_scale_semantics", "inverse"))
        w->formula = TARE_FORMULA_DIVIDED; /* GPTQModel's */
    return TARE_OK;
}

/* ---- microscaling ------------------------------------------------------------------------------ */

/* Rows of n scales, in cuBLAS's tiles of 128 x 4. */
static bool fits_tiles(const tare_tensor *scales, uint64_t rows, uint64_t n) {
    return scales->n_elements == tare_ceil_div_u64(rows, 128) * 128 * tare_ceil_div_u64(n, 4) * 4;
}

/* Scales of runs of `group` columns. */
static tare_status lay(tare_weight *w, const tare_weight_search *s, const tare_tensor *codes,
                       uint64_t per_byte, uint64_t group, bool is_tiled, tare_error *err) {
    const tare_tensor *scales = tare_weight_part(w, s, TARE_PART_SCALES);
    if (codes->n_dims < 2 || codes->n_elements == 0 || codes->cols > UINT64_C(1) << 40)
        return tare_weight_misfit(w, s, TARE_PART_CODES, err);
    tare_weight_shape_of(w, codes, per_byte);
    const uint64_t cols = codes->cols * per_byte, rows = codes->n_rows;
    w->matrix_rows = w->dims[w->n_dims - 2];
    w->block_rows = 1;
    w->group = group;
    w->n_groups = w->scale_line = cols / group;
    w->line = codes->cols * codes->encoding->planes[0].unit_bytes;
    w->scale_order = is_tiled ? TARE_SCALES_TILED : TARE_SCALES_BY_ROW;
    if (cols % group == 0 && (is_tiled ? w->n_dims == 2 && fits_tiles(scales, rows, w->n_groups)
                                       : scales->n_elements == rows * w->n_groups))
        return TARE_OK;
    return tare_weight_misfit(w, s, TARE_PART_SCALES, err);
}

/* Whether codes of four bits are whole numbers of quarters, as AutoRound says; where it says so of some
 * modules only, that is a fault. */
static bool is_mx_int(const tare_weight_search *s) {
    tare_weight_setting_at(&s->settings, "extra_config", TARE_SETTING_OBJECT); /* else a fault */
    tare_weight_setting_at(&s->settings, "data_type", TARE_SETTING_TEXT);
    if (s->modules.is_mixed)
        tare_weight_setting_wrong(&s->settings, "extra_config",
                                  "data_type: some modules are of mx_int, others not");
    return s->modules.is_mx_int;
}

/* Codes of four bits, two a byte; of six bits, four in three; of eight. */
TARE_SCHEME_FITS(microscale) {
    const tare_tensor *codes = tare_weight_part(w, s, TARE_PART_CODES);
    const tare_tensor *scales = tare_weight_part(w, s, TARE_PART_SCALES);
    const tare_encoding_id id = codes->encoding->id;
    bool is_tiled, is_comfy;
    TARE_TRY(tiles_of(&is_tiled, &is_comfy, w, s, "mxfp8", err));
    if (!is_exponents(scales) || codes->n_dims < 2 || scales->n_elements == 0) return TARE_OK;
    w->scale_value = TARE_SCALE_E8M0;
    if (is_tiled && is_fp8(codes)) {
        w->bits = 8;
        w->value = TARE_VALUE_OF_PART;
        return lay(w, s, codes, 1, 32, true, err);
    }
    if (id != TARE_ENCODING_U8 && id != TARE_ENCODING_I8) return TARE_OK;
    if (!is_tiled && codes->n_elements == scales->n_elements * 24) {
        w->bits = 6;
        w->value = TARE_VALUE_E2M3;
        TARE_TRY(lay(w, s, codes, 1, 24, false, err));
        w->dims[w->n_dims - 1] = codes->cols / 3 * 4;
        w->group = 32;
        return TARE_OK;
    }
    w->bits = 4;
    w->value = is_mx_int(s) ? TARE_VALUE_QUARTERS : TARE_VALUE_E2M1;
    TARE_TRY(lay(w, s, codes, 2, 32, is_tiled && !is_comfy, err));
    if (s->is_for_llama && w->value == TARE_VALUE_E2M1 && w->scale_order == TARE_SCALES_BY_ROW)
        w->encoding = tare_encoding_get(TARE_ENCODING_MXFP4);
    return TARE_OK;
}

TARE_SCHEME_FITS(nvfp4) {
    const tare_tensor *codes = tare_weight_part(w, s, TARE_PART_CODES);
    const tare_tensor *scales = tare_weight_part(w, s, TARE_PART_SCALES);
    const tare_tensor *factor = tare_weight_part(w, s, TARE_PART_FACTOR);
    const tare_tensor *columns = tare_weight_part(w, s, TARE_PART_COLUMNS);
    bool is_tiled, is_comfy;
    if (codes->encoding->id != TARE_ENCODING_U8 || scales->encoding->id != TARE_ENCODING_F8_E4M3)
        return TARE_OK;
    TARE_TRY(tiles_of(&is_tiled, &is_comfy, w, s, "nvfp4", err));
    TARE_TRY(lay(w, s, codes, 2, 16, is_tiled, err));
    if (factor && (!is_float(factor) || (factor->n_elements != 1 &&
                                         factor->n_elements * w->matrix_rows != codes->n_rows)))
        return tare_weight_misfit(w, s, TARE_PART_FACTOR, err);
    if (columns && (columns->n_elements != 2 * codes->cols || !is_float(columns)))
        return tare_weight_misfit(w, s, TARE_PART_COLUMNS, err);
    w->bits = 4;
    w->value = TARE_VALUE_E2M1;
    w->high_first = is_comfy;
    w->scale_value = TARE_SCALE_E4M3;
    w->factor_divides = factor && tare_str_ends(factor->name, TARE_STR("_global_scale"));
    return TARE_OK;
}

/* ModelOpt's experts in one tensor: as they were made, or with the columns of the codes, two a byte, and
 * of the scales as rows, which transformers multiplies by. */
TARE_SCHEME_FITS(nvfp4_experts) {
    const tare_tensor *codes = tare_weight_part(w, s, TARE_PART_CODES);
    const tare_tensor *scales = tare_weight_part(w, s, TARE_PART_SCALES);
    const tare_tensor *factor = tare_weight_part(w, s, TARE_PART_FACTOR);
    if (codes->encoding->id != TARE_ENCODING_U8 || codes->n_dims != 3 || scales->n_dims != 3 ||
        scales->encoding->id != TARE_ENCODING_F8_E4M3 || codes->n_elements == 0)
        return TARE_OK;
    if (scales->dims[1] == codes->dims[1]) return tare_fits_nvfp4(w, s, err);
    if (scales->dims[0] != codes->dims[0] || scales->dims[2] != codes->dims[2] ||
        codes->dims[1] % 8 || scales->dims[1] != codes->dims[1] / 8)
        return tare_weight_misfit(w, s, TARE_PART_SCALES, err);
    if (!is_float(factor) || (factor->n_elements != 1 && factor->n_elements != codes->dims[0]))
        return tare_weight_misfit(w, s, TARE_PART_FACTOR, err);
    tare_weight_shape_of(w, codes, 1);
    w->dims[1] *= 2;
    w->matrix_rows = w->dims[1];
    w->block_rows = 16;
    w->group = 1;
    w->n_groups = w->scale_line = codes->cols;
    w->order = TARE_ORDER_TWO_ROWS;
    w->bits = 4;
    w->value = TARE_VALUE_E2M1;
    w->scale_value = TARE_SCALE_E4M3;
    return TARE_OK;
}

/* GGUF's: one scale for all blocks of a matrix. */
TARE_SCHEME_FITS(nvfp4_blocks) {
    const tare_tensor *codes = tare_weight_part(w, s, TARE_PART_CODES);
    const tare_tensor *scales = tare_weight_part(w, s, TARE_PART_SCALES);
    if (codes->encoding->id != TARE_ENCODING_NVFP4 || codes->n_dims < 2) return TARE_OK;
    tare_weight_shape_of(w, codes, 1);
    w->matrix_rows = w->block_rows = w->dims[w->n_dims - 2];
    w->group = codes->cols;
    w->n_groups = w->scale_line = 1;
    w->value = TARE_VALUE_OF_PART;
    w->bits = 8;
    if (!is_float(scales) || w->matrix_rows == 0 ||
        scales->n_elements * w->matrix_rows != codes->n_rows)
        return tare_weight_misfit(w, s, TARE_PART_SCALES, err);
    return TARE_OK;
}

/* MLX's, which differ in how many words share a scale. */
TARE_SCHEME_FITS(mlx_float) {
    const tare_tensor *codes = tare_weight_part(w, s, TARE_PART_CODES);
    const tare_tensor *scales = tare_weight_part(w, s, TARE_PART_SCALES);
    const tare_tensor *factor = tare_weight_part(w, s, TARE_PART_FACTOR);
    static const struct {
        uint64_t words;
        uint32_t bits;
        uint64_t group;
        tare_code_value value;
        tare_scale_value scale;
        const char *mode;
    } kinds[] = {{4, 4, 32, TARE_VALUE_E2M1, TARE_SCALE_E8M0, "mxfp4"},
                 {8, 8, 32, TARE_VALUE_E4M3, TARE_SCALE_E8M0, "mxfp8"},
                 {2, 4, 16, TARE_VALUE_E2M1, TARE_SCALE_E4M3, "nvfp4"}};
    const tare_encoding_id id = codes->encoding->id;
    if ((id != TARE_ENCODING_U32 && id != TARE_ENCODING_I32) ||
        scales->encoding->id != TARE_ENCODING_U8 || scales->n_elements == 0)
        return TARE_OK;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (codes->n_elements != scales->n_elements * kinds[i].words) continue;
        tare_weight_is_mlx_mode(&s->settings, w->stem, kinds[i].mode);
        w->bits = kinds[i].bits;
        w->value = kinds[i].value;
        w->scale_value = kinds[i].scale;
        TARE_TRY(lay(w, s, codes, 32 / w->bits, kinds[i].group, false, err));
        if (factor &&
            (kinds[i].scale != TARE_SCALE_E4M3 || !is_float(factor) ||
             (factor->n_elements != 1 && factor->n_elements * w->matrix_rows != codes->n_rows)))
            return tare_weight_misfit(w, s, TARE_PART_FACTOR, err);
        w->factor_unit = factor ? 2688 : 0;
        if (s->is_for_llama && kinds[i].words == 4)
            w->encoding = tare_encoding_get(TARE_ENCODING_MXFP4);
        return TARE_OK;
    }
    return tare_weight_misfit(w, s, TARE_PART_SCALES, err);
}

/* ---- gpt-oss ----------------------------------------------------------------------------------- */

/* One weight of each matrix: for llama.cpp the rows of gate and up, which lie in turns, apart. */
static tare_status split(tare_weight *w, tare_weight_search *s, tare_error *err) {
    const tare_str both = TARE_STR("gate_up_proj");
    const bool is_both = tare_str_ends(w->stem, both);
    w->encoding = tare_encoding_get(TARE_ENCODING_MXFP4);
    if (!is_both) return tare_weight_rename(w, s, w->stem, ".weight", err);
    if (w->dims[w->n_dims - 2] % 2) return tare_weight_misfit(w, s, TARE_PART_CODES, err);
    const tare_str stem = {w->stem.ptr, w->stem.len - both.len};
    w->dims[w->n_dims - 2] /= 2;
    w->step = 2;
    tare_weight up = *w;
    up.first = 1;
    TARE_TRY(tare_weight_rename(w, s, stem, "gate_proj.weight", err));
    TARE_TRY(tare_weight_rename(&up, s, stem, "up_proj.weight", err));
    return tare_weight_add_second(s, &up, err);
}

TARE_SCHEME_FITS(gpt_oss) {
    const tare_tensor *codes = tare_weight_part(w, s, TARE_PART_CODES);
    const tare_tensor *scales = tare_weight_part(w, s, TARE_PART_SCALES);
    const uint32_t n = codes->n_dims;
    if (codes->encoding->id != TARE_ENCODING_U8 || !is_exponents(scales)) return TARE_OK;
    if (n < 3 || n > 5 || codes->dims[n - 1] != 16 || codes->dims[n - 2] > UINT64_C(1) << 40 ||
        codes->dims[n - 3] == 0 || scales->n_elements != codes->n_elements / 16)
        return tare_weight_misfit(w, s, TARE_PART_SCALES, err);
    w->n_dims = n - 1;
    memcpy(w->dims, codes->dims, (n - 1) * sizeof *codes->dims);
    w->dims[n - 2] *= 32;
    w->bits = 4;
    w->value = TARE_VALUE_E2M1;
    w->scale_value = TARE_SCALE_E8M0;
    w->matrix_rows = w->dims[n - 3];
    w->block_rows = 1;
    w->group = 32;
    w->n_groups = w->scale_line = codes->dims[n - 2];
    w->line = codes->dims[n - 2] * 16;
    if (s->is_for_llama) return split(w, s, err);
    if (n == 3) return tare_weight_rename(w, s, w->stem, ".weight", err);
    /* transformers has these matrices transposed */
    const uint64_t rows = w->dims[n - 3];
    w->dims[n - 3] = w->dims[n - 2];
    w->dims[n - 2] = rows;
    w->order = TARE_ORDER_TRANSPOSED;
    return TARE_OK;
}
