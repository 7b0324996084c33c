/* SPDX-License-Identifier: MIT
 *
 * Schemes whose codes lie transposed, or interleaved: GPTQ, AWQ, Quark. */
#include "base/arith.h"
#include "base/str.h"
#include "quantized/block_scales.h"

static bool is_float(const tare_tensor *t) {
    return t->encoding->kind == TARE_KIND_FLOAT && t->encoding->block == 1;
}

static bool is_matrix(const tare_tensor *t) {
    return t->n_dims == 2 && t->dims[0] <= UINT64_C(1) << 40 && t->dims[1] <= UINT64_C(1) << 40;
}

/* The bytes of the words that codes lie in; 0: it is no whole number. */
static uint32_t word_of(const tare_tensor *t) {
    return t->encoding->kind == TARE_KIND_INTEGER ? t->encoding->planes[0].unit_bytes : 0;
}

static tare_status set_shape(tare_weight *w, const tare_weight_search *s, uint64_t rows,
                             uint64_t cols, uint64_t groups, tare_error *err) {
    w->n_dims = 2;
    w->dims[0] = rows;
    w->dims[1] = cols;
    w->n_groups = w->scale_line = groups;
    w->block_rows = 1;
    w->matrix_rows = rows;
    w->group = tare_weight_group_length(s, cols, groups);
    w->value = TARE_VALUE_WHOLE;
    w->formula = TARE_FORMULA_CENTRED;
    if (w->group) return TARE_OK;
    if (groups > cols) return tare_weight_misfit(w, s, TARE_PART_SCALES, err);
    return tare_weight_refuse(w, s,
                              "how many columns share a scale is neither stated nor told by the "
                              "shapes (group_size)",
                              err);
}

/* ---- GPTQ -------------------------------------------------------------------------------------- */

/* Forms of GPTQ's codes. */
enum { ZEROS_WHOLE = 0, PLANES, ZEROS_LESS_1, AS_AWQ, UNSTATED };

/* What GPTQModel and AutoGPTQ say: `format` is the newer name of `checkpoint_format`. */
static size_t stated_format(const tare_weight_search *s) {
    static const char *const formats[] = {"gptq_v2", "gptq_p", "gptq", "gemm", NULL};
    const size_t older = tare_weight_setting_word(&s->settings, "checkpoint_format", formats);
    const size_t newer = tare_weight_setting_word(&s->settings, "format", formats);
    if (older != newer && older < UNSTATED && newer < UNSTATED)
        tare_weight_setting_wrong(&s->settings, "format", "checkpoint_format says another one");
    for (size_t i = 0; newer >= UNSTATED && older >= UNSTATED && i < 2; i++) {
        const char *name = i ? "checkpoint_format" : "format";
        const tare_json_node *node = tare_json_member(s->settings.beside, tare_str_of(name));
        const size_t form =
            tare_weight_word(&s->settings, name, tare_json_node_text(node), formats);
        if (form < UNSTATED) return form;
    }
    return newer < UNSTATED ? newer : older;
}

/* Without the kernel that it was made for: "auto_round:gptq:exllamav2". */
static tare_str without_kernel(tare_str word) {
    static const char *const kernels[] = {":exllamav2", ":exllamav1", ":exllama", ":tritonv2",
                                          ":triton",    ":marlin",    ":cuda",    ":qigen"};
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (tare_str_ends(word, tare_str_of(kernels[i])))
            return (tare_str){word.ptr, word.len - strlen(kernels[i])};
    return word;
}

/* What AutoRound says: up to 0.4 in `backend`, which others use for a program that runs the model. */
static size_t stated_packing(const tare_weight_search *s) {
    static const struct {
        const char *word;
        size_t form;
    } packings[] = {
        {"auto_round", ZEROS_WHOLE},
        {"autoround", ZEROS_WHOLE},
        {"auto_round:gptqmodel", ZEROS_WHOLE},
        {"auto", ZEROS_LESS_1},
        {"gptq", ZEROS_LESS_1},
        {"auto_gptq", ZEROS_LESS_1},
        {"auto_round:gptq", ZEROS_LESS_1},
        {"auto_round:auto_gptq", ZEROS_LESS_1},
    };
    static const char *const makers[] = {"auto-round", "autoround", "intel/auto-round"};
    const char *const places[] = {"packing_format", "backend"};
    bool is_auto_round = false;
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++)
        is_auto_round |= tare_str_is(s->settings.method, makers[i]);
    for (size_t k = 0; k < (is_auto_round ? 2u : 1u); k++) {
        const tare_str text =
            tare_json_node_text(tare_weight_setting_at(&s->settings, places[k], TARE_SETTING_TEXT));
        const tare_str word = without_kernel(text);
        static const char *const none[] = {NULL};
        if (text.len == 0) continue;
        for (size_t i = 0; i < sizeof packings / sizeof *packings; i++)
            if (tare_str_is(word, packings[i].word)) return packings[i].form;
        tare_weight_word(&s->settings, places[k], text, none);
        return UNSTATED;
    }
    return UNSTATED;
}

/* The bits of a code by which lines of zero points are whole words, as many as there are, and the codes whole
 * columns; where there are few rows, several numbers may be, of which the settings name one. 0: none
 * is, or it cannot be told. */
static uint64_t gptq_bits(const tare_weight *w, const tare_weight_search *s, uint32_t word) {
    const tare_tensor *codes = tare_weight_part(w, s, TARE_PART_CODES);
    const tare_tensor *zeros = tare_weight_part(w, s, TARE_PART_ZEROS);
    const tare_tensor *index = tare_weight_part(w, s, TARE_PART_INDEX);
    const uint64_t rows = codes->dims[1], in_bits = codes->dims[0] * word * 8;
    const uint64_t stated = tare_weight_setting(&s->settings, "bits", 0);
    uint64_t found = 0;
    size_t n = 0;
    for (uint64_t bits = 2; bits <= 8; bits++) {
        if (tare_ceil_div_u64(rows * bits, word * 8) != zeros->dims[1] || in_bits % bits ||
            (index && index->n_elements != in_bits / bits))
            continue;
        if (bits == stated) return bits;
        found = bits;
        n++;
    }
    return n == 1 ? found : 0;
}

TARE_SCHEME_FITS(gptq) {
    const tare_tensor *codes = tare_weight_part(w, s, TARE_PART_CODES);
    const tare_tensor *scales = tare_weight_part(w, s, TARE_PART_SCALES);
    const tare_tensor *zeros = tare_weight_part(w, s, TARE_PART_ZEROS);
    const tare_tensor *index = tare_weight_part(w, s, TARE_PART_INDEX);
    const uint32_t word = word_of(codes);
    if (!is_matrix(codes) || !is_matrix(scales) || !is_matrix(zeros) || !word ||
        !is_float(scales) || codes->dims[1] != scales->dims[1] || word_of(zeros) != word ||
        tare_str_is(s->settings.method, "awq") ||
        tare_weight_setting_is(&s->settings, "version", "gemv") ||
        tare_weight_setting_is(&s->settings, "version", "gemv_fast"))
        return TARE_OK;
    const uint64_t rows = scales->dims[1];
    if (zeros->dims[0] != scales->dims[0]) return tare_weight_misfit(w, s, TARE_PART_SCALES, err);
    if (rows == 0) return tare_weight_misfit(w, s, TARE_PART_ZEROS, err);
    const uint64_t bits = gptq_bits(w, s, word);
    if (!bits)
        return tare_weight_refuse(
            w, s,
            "gptq: the shapes of qweight, qzeros and scales fit no number of bits from 2 to 8, "
            "or several, of which the settings state none (bits)",
            err);
    w->bits = (uint32_t)bits;
    TARE_TRY(set_shape(w, s, rows, codes->dims[0] * word * 8 / bits, scales->dims[0], err));
    if (index && (!tare_weight_is_index(index) || index->n_elements != w->dims[1]))
        return tare_weight_misfit(w, s, TARE_PART_INDEX, err);
    w->is_turned = w->n_groups > 1 && tare_weight_setting_holds(&s->settings, "desc_act");
    if (!index && w->is_turned)
        return tare_weight_refuse(
            w, s, "gptq: groups are of columns in another order (desc_act), and g_idx is missing",
            err);
    w->order = TARE_ORDER_DOWN;
    w->word_bytes = word;
    w->scale_order = TARE_SCALES_BY_GROUP;
    w->zero_order = TARE_ZEROS_ALONG;
    const size_t format = stated_format(s), packing = stated_packing(s);
    w->is_planar = format == PLANES && bits != 2 && bits != 4 && bits != 8;
    if (w->is_planar && (w->dims[1] % 32 || rows % 32))
        return tare_weight_misfit(w, s, TARE_PART_CODES, err);
    w->adds_one = format > PLANES && packing != ZEROS_WHOLE;
    w->is_assumed = !s->settings.config;
    w->is_symmetric = s->settings.config ? tare_weight_setting_holds(&s->settings, "sym") : true;
    return TARE_OK;
}

/* ---- AWQ --------------------------------------------------------------------------------------- */

/* Eight outputs a word, [columns, rows / 8]. */
static tare_status fit_gemm(tare_weight *w, const tare_weight_search *s, tare_error *err) {
    const tare_tensor *codes = tare_weight_part(w, s, TARE_PART_CODES);
    const tare_tensor *scales = tare_weight_part(w, s, TARE_PART_SCALES);
    const tare_tensor *zeros = tare_weight_part(w, s, TARE_PART_ZEROS);
    const uint64_t rows = scales->dims[1];
    if (codes->dims[1] * 8 != rows || word_of(codes) != 4 || word_of(zeros) != 4 ||
        zeros->dims[0] != scales->dims[0] || zeros->dims[1] != codes->dims[1])
        return tare_weight_misfit(w, s, TARE_PART_CODES, err);
    w->bits = 4;
    TARE_TRY(set_shape(w, s, rows, codes->dims[0], scales->dims[0], err));
    w->order = TARE_ORDER_ACROSS;
    w->awq_order = true;
    w->scale_order = TARE_SCALES_BY_GROUP;
    w->zero_order = TARE_ZEROS_ACROSS;
    return TARE_OK;
}

/* Of scales that are padded, as many as the groups of a row are: the settings say how long one is. */
static uint64_t padded_groups(const tare_weight_search *s, uint64_t cols, uint64_t room) {
    const uint64_t length = tare_weight_stated_group(&s->settings);
    if (length == 0 || length >= cols) return length ? 1 : 0;
    const uint64_t groups = tare_ceil_div_u64(cols, length);
    return groups <= room ? groups : 0;
}

/* Rows of the weight, not interleaved; scales and zero points padded to whole words. */
static tare_status fit_gemv(tare_weight *w, const tare_weight_search *s, tare_error *err) {
    const tare_tensor *codes = tare_weight_part(w, s, TARE_PART_CODES);
    const tare_tensor *scales = tare_weight_part(w, s, TARE_PART_SCALES);
    const tare_tensor *zeros = tare_weight_part(w, s, TARE_PART_ZEROS);
    const uint64_t rows = codes->dims[0], cols = codes->dims[1] * 8;
    if (word_of(codes) != 4 || word_of(zeros) != 4 || scales->dims[0] != rows ||
        zeros->dims[0] != rows || scales->dims[1] != zeros->dims[1] * 8)
        return tare_weight_misfit(w, s, TARE_PART_SCALES, err);
    w->bits = 4;
    TARE_TRY(set_shape(w, s, rows, cols, padded_groups(s, cols, scales->dims[1]), err));
    w->scale_line = scales->dims[1];
    w->line = codes->dims[1] * 4;
    w->zero_order = TARE_ZEROS_IN_ROW;
    return TARE_OK;
}

/* Four rows in turns, zero points multiplied by the scale already. */
static tare_status fit_tiles(tare_weight *w, const tare_weight_search *s, tare_error *err) {
    const tare_tensor *codes = tare_weight_part(w, s, TARE_PART_CODES);
    const tare_tensor *scales = tare_weight_part(w, s, TARE_PART_SCALES);
    const tare_tensor *zeros = tare_weight_part(w, s, TARE_PART_ZEROS);
    const uint64_t rows = codes->dims[0] * 4, cols = codes->dims[1];
    if (scales->dims[1] != rows || zeros->dims[1] != rows || zeros->dims[0] != scales->dims[0] ||
        cols % 64 || !is_float(zeros))
        return tare_weight_misfit(w, s, TARE_PART_SCALES, err);
    w->bits = 4;
    TARE_TRY(set_shape(w, s, rows, cols, padded_groups(s, cols, scales->dims[0]), err));
    w->order = TARE_ORDER_TILES;
    w->scale_order = TARE_SCALES_BY_GROUP;
    w->formula = TARE_FORMULA_RAISED;
    return TARE_OK;
}

TARE_SCHEME_FITS(awq) {
    const tare_tensor *codes = tare_weight_part(w, s, TARE_PART_CODES);
    const tare_tensor *scales = tare_weight_part(w, s, TARE_PART_SCALES);
    const tare_tensor *zeros = tare_weight_part(w, s, TARE_PART_ZEROS);
    static const char *const versions[] = {"gemm",    "gemv", "gemv_fast", "llm-awq",
                                           "exllama", "ipex", NULL};
    if (!word_of(codes) || !is_float(scales)) return TARE_OK;
    tare_weight_setting_word(&s->settings, "version", versions);
    if (!is_matrix(codes) || !is_matrix(scales) || !is_matrix(zeros))
        return tare_weight_misfit(w, s, TARE_PART_SCALES, err);
    if (codes->encoding->id == TARE_ENCODING_I16) return fit_tiles(w, s, err);
    const bool is_gemv = codes->dims[0] == scales->dims[0] && zeros->dims[0] == codes->dims[0] &&
                         scales->dims[1] == zeros->dims[1] * 8 &&
                         codes->dims[1] * 8 != scales->dims[1];
    if (is_gemv || tare_weight_setting_is(&s->settings, "version", "gemv"))
        return fit_gemv(w, s, err);
    return fit_gemm(w, s, err);
}

/* ---- Quark ------------------------------------------------------------------------------------- */

typedef struct quark_types {
    bool is_signed, is_unsigned;
} quark_types;

static void add_quark_type(quark_types *to, const tare_json_node *settings) {
    const tare_json_node *weight = tare_json_member(settings, TARE_STR("weight"));
    const tare_str type = tare_json_node_text(tare_json_member(weight, TARE_STR("dtype")));
    to->is_signed = to->is_signed || tare_str_is(type, "int4");
    to->is_unsigned = to->is_unsigned || tare_str_is(type, "uint4");
}

/* What the codes of the model are, or some of them: other types have no codes in words. */
static quark_types quark_types_of(const tare_weight_search *s) {
    const char *const layers[] = {"layer_quant_config", "layer_type_quant_config"};
    quark_types types = {0};
    add_quark_type(&types, tare_json_member(s->settings.config, TARE_STR("global_quant_config")));
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        const tare_json_node *all = tare_json_member(s->settings.config, tare_str_of(layers[i]));
        for (const tare_json_node *own = all ? all->child : NULL; own; own = own->next)
            add_quark_type(&types, own);
    }
    return types;
}

TARE_SCHEME_FITS(quark) {
    const tare_tensor *codes = tare_weight_part(w, s, TARE_PART_CODES);
    const tare_tensor *scales = tare_weight_part(w, s, TARE_PART_SCALES);
    const tare_tensor *zeros = tare_weight_part(w, s, TARE_PART_ZEROS);
    static const char *const methods[] = {"reorder", "order", NULL};
    if (codes->encoding->id != TARE_ENCODING_I32 || !is_matrix(codes) || !is_float(scales))
        return TARE_OK;
    if (!is_matrix(scales) || !is_matrix(zeros) || word_of(zeros) != 4 ||
        codes->dims[1] * 8 != scales->dims[1] || zeros->dims[0] != scales->dims[0] ||
        zeros->dims[1] != codes->dims[1])
        return tare_weight_misfit(w, s, TARE_PART_SCALES, err);
    const quark_types types = quark_types_of(s);
    if (types.is_signed && types.is_unsigned)
        return tare_weight_refuse(w, s,
                                  "quark: some layers have codes with a sign (int4), others not "
                                  "(uint4)",
                                  err);
    w->bits = 4;
    TARE_TRY(set_shape(w, s, scales->dims[1], codes->dims[0], scales->dims[0], err));
    if (types.is_signed) w->value = TARE_VALUE_SIGNED;
    w->order = TARE_ORDER_ACROSS;
    w->awq_order = tare_weight_setting_word(&s->settings, "export.pack_method", methods) == 0;
    w->scale_order = TARE_SCALES_BY_GROUP;
    w->zero_order = TARE_ZEROS_ACROSS;
    return TARE_OK;
}
