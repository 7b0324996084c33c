/* SPDX-License-Identifier: MIT
 *
 * Schemes of whole numbers that lie row by row: compressed-tensors, bytes, ModelOpt, BitNet, Gemma,
 * MLX, torchao, bitsandbytes. All sizes are checked here, so that reading rows needs no checks. */
#include "base/arith.h"
#include "base/bytes.h"
#include "base/str.h"
#include "quantized/block_scales.h"

static bool is_words(const tare_weight *w, const tare_weight_search *s, tare_part_kind kind) {
    return tare_weight_part_is(w, s, kind, TARE_ENCODING_I32) ||
           tare_weight_part_is(w, s, kind, TARE_ENCODING_U32);
}

static bool is_float(const tare_tensor *t) {
    return t->encoding->kind == TARE_KIND_FLOAT && t->encoding->block == 1;
}

/* A number for each scale, of whatever type. */
static bool are_zeros(const tare_tensor *zeros, const tare_tensor *scales) {
    return zeros->n_elements == scales->n_elements &&
           (is_float(zeros) || zeros->encoding->kind == TARE_KIND_INTEGER);
}

/* ---- compressed-tensors ------------------------------------------------------------------------ */

/* weight_shape: as many whole numbers as the codes have dimensions. */
static tare_status read_shape(tare_weight *w, const tare_weight_search *s, tare_error *err) {
    const tare_tensor *t = tare_weight_part(w, s, TARE_PART_STATE);
    const tare_tensor *codes = tare_weight_part(w, s, TARE_PART_CODES);
    const tare_encoding_id id = t->encoding->id;
    uint8_t bytes[8 * TARE_MAX_DIMS];
    w->n_dims = codes->n_dims;
    if (t->n_elements != w->n_dims || w->n_dims < 2 ||
        (id != TARE_ENCODING_I64 && id != TARE_ENCODING_I32))
        return tare_weight_misfit(w, s, TARE_PART_STATE, err);
    const size_t width = id == TARE_ENCODING_I64 ? 8 : 4;
    TARE_TRY(tare_weight_bytes(bytes, w, s->m, TARE_PART_STATE, 0, w->n_dims * width, err));
    for (size_t d = 0; d < w->n_dims; d++) {
        w->dims[d] = width == 8 ? tare_load_le64(bytes + 8 * d) : tare_load_le32(bytes + 4 * d);
        if (d + 1 < w->n_dims ? w->dims[d] != codes->dims[d] || w->dims[d] == 0
                              : w->dims[d] - 1 >= UINT64_C(1) << 40)
            return tare_weight_misfit(w, s, TARE_PART_STATE, err);
    }
    return TARE_OK;
}

static bool has_width(uint64_t bits, uint64_t cols, uint64_t words) {
    return tare_ceil_div_u64(cols * bits, 32) == words;
}

typedef enum layout {
    LAYOUT_UNKNOWN,
    LAYOUT_LOOSE, /* before 0.20: codes of 3, 5, 6 and 7 bits do not cross the borders of words */
    LAYOUT_DENSE
} layout;

/* The layout of words that the release which wrote the file has, by quantization_config.version. */
static layout stated_layout(const tare_weight_search *s) {
    const tare_str version =
        tare_json_node_text(tare_weight_setting_at(&s->settings, "version", TARE_SETTING_TEXT));
    uint32_t release[2] = {0, 0};
    size_t at = 0;
    for (size_t k = 0; k < 2; k++) {
        const size_t first = at;
        for (; at < version.len && version.ptr[at] >= '0' && version.ptr[at] <= '9'; at++)
            if (release[k] < 1000) release[k] = release[k] * 10 + (uint32_t)(version.ptr[at] - '0');
        if (at == first || (k == 0 && (at == version.len || version.ptr[at++] != '.')))
            return LAYOUT_UNKNOWN;
    }
    return release[0] > 0 || release[1] >= 20 ? LAYOUT_DENSE : LAYOUT_LOOSE;
}

/* A way to read the words of a row. */
typedef struct reading {
    uint32_t bits, per_word; /* codes of a word, where these leave bits of it free; else 0 */
} reading;

/* Those that fit and give other numbers. */
typedef struct readings {
    layout stated;
    uint64_t cols, words;
    reading list[16]; /* two for each number of bits from 2 to 8 */
    size_t n;
} readings;

static void add_readings(readings *r, uint64_t bits) {
    if (bits < 2 || bits > 8) return;
    const reading dense = {(uint32_t)bits, 0}, loose = {(uint32_t)bits, (uint32_t)(32 / bits)};
    const bool is_dense = has_width(bits, r->cols, r->words);
    const bool is_loose = 32 % bits && tare_ceil_div_u64(r->cols, 32 / bits) == r->words;
    const bool is_same = is_dense && is_loose && r->words == 1;
    for (size_t i = 0; i < r->n; i++)
        if (r->list[i].bits == bits) return; /* another group of the settings has the same */
    if (is_dense && (!is_loose || r->stated != LAYOUT_LOOSE)) r->list[r->n++] = dense;
    if (is_loose && !is_same && (!is_dense || r->stated != LAYOUT_DENSE)) r->list[r->n++] = loose;
}

/* The readings with the bits that the weight's group of the settings states, else any group; where they
 * state none, with any. */
static void find_readings(readings *r, const tare_weight_search *s, const tare_weight_group *own) {
    bool is_stated = false;
    for (size_t i = 0; i < s->modules.n_groups; i++) {
        const tare_weight_group *g = &s->modules.groups[i];
        if ((own && g != own) || !g->has_bits) continue;
        is_stated = true;
        add_readings(r, g->bits);
    }
    for (uint64_t bits = 2; bits <= 8 && !is_stated; bits++) add_readings(r, bits);
}

/* Bits of a word that its codes leave free. */
static uint32_t free_bits(const reading *r) {
    const uint32_t used = r->per_word ? r->per_word * r->bits : 32;
    return used == 32 ? 0 : ~(uint32_t)0 << used;
}

/* Drops readings by which bits would be free that are not: of the first words, which are enough where
 * codes are of any use. */
static tare_status drop_readings(readings *r, const tare_weight *w, const tare_weight_search *s,
                                 tare_error *err) {
    const tare_tensor *codes = tare_weight_part(w, s, TARE_PART_CODES);
    uint8_t bytes[4 * 256];
    uint32_t set = 0;
    size_t n_kept = 0;
    const size_t n = (size_t)tare_min_u64(codes->n_elements, sizeof bytes / 4);
    TARE_TRY(tare_weight_bytes(bytes, w, s->m, TARE_PART_CODES, 0, 4 * n, err));
    for (size_t i = 0; i < n; i++) set |= tare_load_le32(bytes + 4 * i);
    for (size_t i = 0; i < r->n; i++)
        if (!(set & free_bits(&r->list[i]))) r->list[n_kept++] = r->list[i];
    r->n = n_kept;
    return TARE_OK;
}

/* Codes are never guessed: the same words are other numbers by another reading. */
static tare_status refuse_open(const tare_weight *w, const tare_weight_search *s, const readings *r,
                               tare_error *err) {
    for (size_t i = 1; i < r->n; i++)
        if (r->list[i].bits != r->list[0].bits)
            return tare_weight_refuse(
                w, s,
                "compressed-tensors: its words may hold codes of more than one number of bits: "
                "state it as num_bits of weights in quantization_config.config_groups of "
                "config.json",
                err);
    return tare_weight_refuse(
        w, s,
        "compressed-tensors: its words may hold codes that cross their borders (written by 0.20 or "
        "later) or codes that leave bits of each word free (before 0.20), which are other numbers: "
        "set quantization_config.version in config.json to the release that wrote it",
        err);
}

/* Sets the bits of a code and of what is free in a word. */
static tare_status read_words(tare_weight *w, const tare_weight_search *s, uint64_t words,
                              tare_error *err) {
    readings r = {.stated = stated_layout(s), .cols = w->dims[w->n_dims - 1], .words = words};
    const tare_weight_group *own = NULL;
    find_readings(&r, s, NULL);
    if (r.n > 1) TARE_TRY(tare_weight_group_of(&own, &s->modules, w->stem, err));
    if (own) {
        r.n = 0;
        find_readings(&r, s, own);
    }
    if (r.n > 1) TARE_TRY(drop_readings(&r, w, s, err));
    if (r.n > 1) return refuse_open(w, s, &r, err);
    if (r.n == 0 || (r.list[0].per_word && tare_weight_part(w, s, TARE_PART_ZEROS)))
        return tare_weight_refuse(w, s,
                                  "compressed-tensors: codes of this width are not decoded, nor "
                                  "zero points that leave bits of their words free",
                                  err);
    w->bits = r.list[0].bits;
    w->per_word = r.list[0].per_word;
    return TARE_OK;
}

/* Zero points that the settings ask for: in the weight's group, else in all, or in any. */
static bool wants_zeros(const tare_weight_search *s, const tare_weight_group *own, bool in_any) {
    size_t n_with = 0, n_without = 0;
    for (size_t i = 0; i < s->modules.n_groups; i++) {
        const tare_weight_group *g = &s->modules.groups[i];
        if (own && g != own) continue;
        if (g->has_zeros)
            n_with++;
        else
            n_without++;
    }
    return n_with > 0 && (in_any || n_without == 0);
}

/* Whether groups are of columns in another order, as the weight's group of the settings says, else any. */
static bool is_in_other_order(const tare_weight_search *s, const tare_weight_group *own) {
    for (size_t i = 0; i < s->modules.n_groups && !own; i++)
        if (s->modules.groups[i].is_ordered) return true;
    return own && own->is_ordered;
}

tare_status tare_weight_check_zeros(const tare_weight *w, const tare_weight_search *s,
                                    tare_error *err) {
    const tare_weight_group *own;
    if (w->parts[TARE_PART_ZEROS] >= 0 || !wants_zeros(s, NULL, true)) return TARE_OK;
    TARE_TRY(tare_weight_group_of(&own, &s->modules, w->stem, err));
    if (!wants_zeros(s, own, false)) return TARE_OK;
    return tare_weight_refuse(
        w, s, "the settings say that its codes have zero points (symmetric), and there are none",
        err);
}

static bool is_uneven(const tare_weight_group *g, uint64_t cols, uint64_t groups) {
    return g->group && cols % g->group && tare_ceil_div_u64(cols, g->group) == groups;
}

/* The columns of a group, where the settings of the weight state a number that leaves fewer for the last
 * one; else 0. */
static tare_status uneven_group(uint64_t *out, const tare_weight *w, const tare_weight_search *s,
                                uint64_t groups, tare_error *err) {
    const uint64_t cols = w->dims[w->n_dims - 1];
    const tare_weight_group *own = NULL;
    *out = 0;
    for (size_t i = 0; i < s->modules.n_groups && !own; i++)
        if (is_uneven(&s->modules.groups[i], cols, groups)) own = &s->modules.groups[i];
    if (!own) return TARE_OK;
    TARE_TRY(tare_weight_group_of(&own, &s->modules, w->stem, err));
    if (!own) return tare_weight_misfit(w, s, TARE_PART_SCALES, err);
    if (is_uneven(own, cols, groups)) *out = own->group;
    return TARE_OK;
}

/* Scales of groups of columns, or one for all. */
static tare_status lay_packed(tare_weight *w, const tare_weight_search *s, tare_error *err) {
    const tare_tensor *codes = tare_weight_part(w, s, TARE_PART_CODES);
    const tare_tensor *scales = tare_weight_part(w, s, TARE_PART_SCALES);
    const uint64_t groups = codes->n_rows ? scales->n_elements / codes->n_rows : 0;
    uint64_t length;
    bool is_laid;
    if (scales->n_elements == 1 && w->n_dims == 2) {
        TARE_TRY(tare_weight_lay_scales(&is_laid, w, s, scales, err));
        if (is_laid) return TARE_OK;
    }
    if (groups == 0 || scales->n_elements % codes->n_rows)
        return tare_weight_misfit(w, s, TARE_PART_SCALES, err);
    TARE_TRY(uneven_group(&length, w, s, groups, err));
    if (length)
        tare_weight_lay_parts(w, groups, length);
    else if (!tare_weight_lay_groups(w, w->dims[w->n_dims - 2], groups))
        return tare_weight_misfit(w, s, TARE_PART_SCALES, err);
    return TARE_OK;
}

/* Zero points: codes down the rows, or, before compressed-tensors 0.10, signed bytes beside the scales. */
static tare_status fit_packed_zeros(tare_weight *w, const tare_weight_search *s, tare_error *err) {
    const tare_tensor *zeros = tare_weight_part(w, s, TARE_PART_ZEROS);
    const uint64_t rows = w->dims[w->n_dims - 2];
    w->formula = zeros ? TARE_FORMULA_CENTRED : TARE_FORMULA_SCALED;
    w->middle = (float)(1u << (w->bits - 1));
    if (!zeros) return tare_weight_check_zeros(w, s, err);
    if (zeros->encoding->id == TARE_ENCODING_I8 &&
        are_zeros(zeros, tare_weight_part(w, s, TARE_PART_SCALES)))
        return TARE_OK;
    w->middle = 0;
    w->zero_order = TARE_ZEROS_DOWN;
    if (w->n_dims > 2 || w->block_rows > 1 || !is_words(w, s, TARE_PART_ZEROS) ||
        zeros->n_elements != tare_ceil_div_u64(rows * w->bits, 32) * w->n_groups)
        return tare_weight_misfit(w, s, TARE_PART_ZEROS, err);
    return TARE_OK;
}

TARE_SCHEME_FITS(packed) {
    const tare_tensor *codes = tare_weight_part(w, s, TARE_PART_CODES);
    const tare_tensor *scales = tare_weight_part(w, s, TARE_PART_SCALES);
    const tare_tensor *index = tare_weight_part(w, s, TARE_PART_INDEX);
    if (!is_words(w, s, TARE_PART_CODES)) return TARE_OK;
    TARE_TRY(read_shape(w, s, err));
    TARE_TRY(read_words(w, s, codes->cols, err));
    if (!is_float(scales)) return tare_weight_misfit(w, s, TARE_PART_SCALES, err);
    TARE_TRY(lay_packed(w, s, err));
    TARE_TRY(fit_packed_zeros(w, s, err));
    if (index && (!tare_weight_is_index(index) || index->n_elements != w->dims[w->n_dims - 1]))
        return tare_weight_misfit(w, s, TARE_PART_INDEX, err);
    const bool is_ordered = !index && w->n_groups > 1 && is_in_other_order(s, NULL);
    const tare_weight_group *own = NULL;
    if (is_ordered) TARE_TRY(tare_weight_group_of(&own, &s->modules, w->stem, err));
    if (is_ordered && is_in_other_order(s, own))
        return tare_weight_refuse(w, s,
                                  "compressed-tensors: groups are of columns in another order "
                                  "(actorder), and weight_g_idx is missing",
                                  err);
    w->line = codes->cols * 4;
    w->value = TARE_VALUE_WHOLE;
    return TARE_OK;
}

/* ---- bytes ------------------------------------------------------------------------------------- */

TARE_SCHEME_FITS(scaled_bytes) {
    const tare_tensor *codes = tare_weight_part(w, s, TARE_PART_CODES);
    const tare_tensor *scales = tare_weight_part(w, s, TARE_PART_SCALES);
    const tare_tensor *zeros = tare_weight_part(w, s, TARE_PART_ZEROS);
    if (codes->encoding->id != TARE_ENCODING_I8 || codes->n_dims < 2 || !is_float(scales) ||
        scales->encoding->id == TARE_ENCODING_F8_E8M0)
        return TARE_OK;
    /* others have codes of 4 bits beside scales of this name */
    if (tare_str_ends(scales->name, TARE_STR("_scale_inv")) &&
        !tare_str_is(s->settings.method, "blockwise_int8"))
        return TARE_OK;
    tare_weight_shape_of(w, codes, 1);
    /* Quanto's scales that lie across are of columns */
    bool is_laid;
    const bool is_by_column = tare_str_ends(codes->name, TARE_STR("._data")) && codes->n_rows > 1 &&
                              scales->n_elements > 1 && scales->n_rows == 1;
    TARE_TRY(tare_weight_lay_scales(&is_laid, w, s, scales, err));
    if (is_by_column || !is_laid) return tare_weight_misfit(w, s, TARE_PART_SCALES, err);
    if (zeros && !are_zeros(zeros, scales)) return tare_weight_misfit(w, s, TARE_PART_ZEROS, err);
    TARE_TRY(tare_weight_check_zeros(w, s, err));
    w->bits = 8;
    w->line = codes->cols;
    w->value = TARE_VALUE_SIGNED;
    w->formula = zeros ? TARE_FORMULA_CENTRED : TARE_FORMULA_SCALED;
    return TARE_OK;
}

/* TensorFlow Lite: a factor for all, or for each of the first dimension's parts. */
TARE_SCHEME_FITS(lite) {
    const tare_tensor *codes = tare_weight_part(w, s, TARE_PART_CODES);
    const tare_tensor *scales = tare_weight_part(w, s, TARE_PART_SCALES);
    const tare_tensor *zeros = tare_weight_part(w, s, TARE_PART_ZEROS);
    const bool is_signed = codes->encoding->id == TARE_ENCODING_I8;
    if ((!is_signed && codes->encoding->id != TARE_ENCODING_U8) || codes->n_dims < 2 ||
        !codes->n_elements || !is_float(scales))
        return TARE_OK;
    if (scales->n_elements != 1 && scales->n_elements != codes->dims[0])
        return tare_weight_misfit(w, s, TARE_PART_SCALES, err);
    if (zeros &&
        (zeros->n_elements != scales->n_elements || zeros->encoding->id != TARE_ENCODING_I64))
        return tare_weight_misfit(w, s, TARE_PART_ZEROS, err);
    tare_weight_shape_of(w, codes, 1);
    w->matrix_rows = codes->n_rows;
    w->block_rows = codes->n_rows / scales->n_elements;
    w->n_groups = w->scale_line = 1;
    w->group = w->line = codes->cols;
    w->bits = 8;
    w->value = is_signed ? TARE_VALUE_SIGNED : TARE_VALUE_WHOLE;
    w->formula = zeros ? TARE_FORMULA_CENTRED : TARE_FORMULA_SCALED;
    return TARE_OK;
}

/* bitsandbytes: a factor a row, 127 times the step. */
TARE_SCHEME_FITS(flat8) {
    const tare_tensor *codes = tare_weight_part(w, s, TARE_PART_CODES);
    const tare_tensor *scales = tare_weight_part(w, s, TARE_PART_SCALES);
    const tare_tensor *state = tare_weight_part(w, s, TARE_PART_STATE);
    uint8_t order = 0;
    if (codes->encoding->id != TARE_ENCODING_I8 || codes->n_dims != 2) return TARE_OK;
    if (scales->n_elements != codes->dims[0] || !is_float(scales))
        return tare_weight_misfit(w, s, TARE_PART_SCALES, err);
    if (state && state->n_elements == 1 && state->encoding->id == TARE_ENCODING_U8)
        TARE_TRY(tare_weight_bytes(&order, w, s->m, TARE_PART_STATE, 0, 1, err));
    if (order != 0)
        return tare_weight_refuse(
            w, s, "bitsandbytes: codes in the order of a kernel (weight_format) are not decoded",
            err);
    tare_weight_shape_of(w, codes, 1);
    tare_weight_lay_groups(w, codes->dims[0], 1);
    w->bits = 8;
    w->line = codes->cols;
    w->value = TARE_VALUE_SIGNED;
    w->constant = 7.874015718698502e-3f;
    return TARE_OK;
}

/* ---- codes that share bytes -------------------------------------------------------------------- */

/* ModelOpt's int4: two rows a byte, signed. */
TARE_SCHEME_FITS(two_rows) {
    const tare_tensor *codes = tare_weight_part(w, s, TARE_PART_CODES);
    const tare_tensor *scales = tare_weight_part(w, s, TARE_PART_SCALES);
    const tare_tensor *columns = tare_weight_part(w, s, TARE_PART_COLUMNS);
    static const char *const makers[] = {"modelopt", "modelopt_fp4", "modelopt_mixed", NULL};
    if (!tare_weight_is_of(&s->settings, makers) || codes->encoding->id != TARE_ENCODING_U8 ||
        codes->n_dims != 2 || scales->n_dims != 2 || scales->dims[0] != 2 * codes->dims[0] ||
        !is_float(scales) || scales->encoding->id == TARE_ENCODING_F8_E8M0)
        return TARE_OK;
    tare_weight_shape_of(w, codes, 1);
    w->dims[0] *= 2;
    if (!tare_weight_lay_groups(w, scales->dims[0], scales->dims[1]))
        return tare_weight_misfit(w, s, TARE_PART_SCALES, err);
    if (columns && (columns->n_elements != codes->cols || !is_float(columns)))
        return tare_weight_misfit(w, s, TARE_PART_COLUMNS, err);
    w->order = TARE_ORDER_TWO_ROWS;
    w->bits = 4;
    w->value = TARE_VALUE_SIGNED;
    return TARE_OK;
}

/* BitNet: four rows a quarter of the weight apart in each byte. */
TARE_SCHEME_FITS(ternary) {
    const tare_tensor *codes = tare_weight_part(w, s, TARE_PART_CODES);
    const tare_tensor *scales = tare_weight_part(w, s, TARE_PART_SCALES);
    static const char *const makers[] = {"bitnet", NULL};
    static const char *const classes[] = {"autobitlinear", "bitlinear", NULL};
    if (!tare_weight_is_of(&s->settings, makers) || codes->encoding->id != TARE_ENCODING_U8 ||
        codes->n_dims != 2 || scales->n_elements != 1 || !is_float(scales))
        return TARE_OK;
    if (codes->dims[0] > UINT64_C(1) << 40) return tare_weight_misfit(w, s, TARE_PART_CODES, err);
    tare_weight_shape_of(w, codes, 1);
    w->dims[0] *= 4;
    w->block_rows = w->matrix_rows = w->dims[0];
    w->n_groups = w->scale_line = 1;
    w->group = codes->cols;
    w->order = TARE_ORDER_LAYERS;
    w->word_bytes = 1;
    w->n_layers = 4;
    w->bits = 2;
    w->value = TARE_VALUE_WHOLE;
    w->middle = 1;
    w->is_assumed = !s->settings.config;
    w->formula = tare_weight_setting_word(&s->settings, "linear_class", classes) == 0
                     ? TARE_FORMULA_SCALED
                     : TARE_FORMULA_DIVIDED;
    return TARE_OK;
}

/* A factor a row, and codes of 2 or 4 bits: the settings say which. */
TARE_SCHEME_FITS(gemma) {
    const tare_tensor *codes = tare_weight_part(w, s, TARE_PART_CODES);
    const tare_tensor *scales = tare_weight_part(w, s, TARE_PART_SCALES);
    static const char *const makers[] = {"gemma", NULL};
    bool is_laid;
    uint64_t bits;
    if (!tare_weight_is_of(&s->settings, makers) || codes->encoding->id != TARE_ENCODING_U8 ||
        codes->n_dims != 2 || !is_float(scales) || scales->n_dims == 0 ||
        scales->dims[0] != codes->dims[0] || scales->encoding->id == TARE_ENCODING_F8_E8M0)
        return TARE_OK;
    TARE_TRY(tare_weight_gemma_bits(&bits, s, w, err));
    if (bits != 2 && bits != 4)
        return tare_weight_refuse(w, s,
                                  "gemma: the settings do not say that its codes have 2 or 4 bits "
                                  "(num_bits)",
                                  err);
    tare_weight_shape_of(w, codes, 8 / bits);
    TARE_TRY(tare_weight_lay_scales(&is_laid, w, s, scales, err));
    if (!is_laid) return tare_weight_misfit(w, s, TARE_PART_SCALES, err);
    w->line = codes->cols;
    w->bits = (uint32_t)bits;
    w->value = TARE_VALUE_WHOLE;
    w->middle = (float)(1u << (bits - 1));
    return TARE_OK;
}

/* torchao's Int4Tensor: signed, scales and what is added lie by group. */
TARE_SCHEME_FITS(torchao4) {
    const tare_tensor *codes = tare_weight_part(w, s, TARE_PART_CODES);
    const tare_tensor *scales = tare_weight_part(w, s, TARE_PART_SCALES);
    const tare_tensor *zeros = tare_weight_part(w, s, TARE_PART_ZEROS);
    if (codes->encoding->id != TARE_ENCODING_U8 || codes->n_dims != 2 || scales->n_dims != 2 ||
        !is_float(scales))
        return TARE_OK;
    tare_weight_shape_of(w, codes, 2);
    if (!tare_weight_lay_groups(w, scales->dims[1], scales->dims[0]) ||
        zeros->n_elements != scales->n_elements || !is_float(zeros))
        return tare_weight_misfit(w, s, TARE_PART_SCALES, err);
    w->line = codes->cols;
    w->bits = 4;
    w->value = TARE_VALUE_SIGNED;
    w->scale_order = TARE_SCALES_BY_GROUP;
    w->formula = TARE_FORMULA_RAISED;
    return TARE_OK;
}

/* ComfyUI's awq_w4a16: the same, of codes around 8. */
TARE_SCHEME_FITS(comfy4) {
    const tare_tensor *codes = tare_weight_part(w, s, TARE_PART_CODES);
    const tare_tensor *scales = tare_weight_part(w, s, TARE_PART_SCALES);
    const tare_tensor *zeros = tare_weight_part(w, s, TARE_PART_ZEROS);
    tare_comfy_note comfy;
    TARE_TRY(tare_weight_comfy(&comfy, s, w->stem, err));
    if (!tare_str_is(comfy.format, "awq_w4a16")) return TARE_OK;
    if ((codes->encoding->id != TARE_ENCODING_I8 && codes->encoding->id != TARE_ENCODING_U8) ||
        codes->n_dims != 2)
        return tare_weight_misfit(w, s, TARE_PART_CODES, err);
    tare_weight_shape_of(w, codes, 2);
    if (scales->n_dims != 2 || !is_float(scales) || !is_float(zeros) ||
        zeros->n_elements != scales->n_elements ||
        !tare_weight_lay_groups(w, scales->dims[1], scales->dims[0]))
        return tare_weight_misfit(w, s, TARE_PART_SCALES, err);
    w->line = codes->cols;
    w->bits = 4;
    w->value = TARE_VALUE_WHOLE;
    w->middle = 8;
    w->scale_order = TARE_SCALES_BY_GROUP;
    w->formula = TARE_FORMULA_RAISED;
    return TARE_OK;
}

/* ---- MLX --------------------------------------------------------------------------------------- */

static const uint64_t mlx_groups[] = {32, 64, 128}, mlx_bits[] = {2, 3, 4, 5, 6, 8};

static bool is_mlx(uint64_t group, uint64_t words, uint64_t groups) {
    for (size_t i = 0; i < 6; i++)
        if (group * mlx_bits[i] * groups == words * 32) return true;
    return false;
}

/* The columns that share a scale: as the settings say, or the only number that the shapes allow. */
static uint64_t mlx_group(const tare_weight *w, const tare_weight_search *s, uint64_t words,
                          uint64_t groups) {
    const uint64_t said = tare_weight_mlx_setting(&s->settings, w->stem, "group_size");
    uint64_t found = 0;
    if (said) return is_mlx(said, words, groups) ? said : 0;
    for (size_t i = 0; i < 3; i++) {
        if (!is_mlx(mlx_groups[i], words, groups)) continue;
        if (found) return 0;
        found = mlx_groups[i];
    }
    return found;
}

TARE_SCHEME_FITS(mlx) {
    const tare_tensor *codes = tare_weight_part(w, s, TARE_PART_CODES);
    const tare_tensor *scales = tare_weight_part(w, s, TARE_PART_SCALES);
    const tare_tensor *biases = tare_weight_part(w, s, TARE_PART_ZEROS);
    if (!is_words(w, s, TARE_PART_CODES)) return TARE_OK;
    if (!is_float(scales) || codes->n_dims < 2 || codes->n_rows != scales->n_rows ||
        codes->cols > UINT64_C(1) << 40 || scales->cols == 0)
        return tare_weight_misfit(w, s, TARE_PART_SCALES, err);
    if (biases->n_elements != scales->n_elements || !is_float(biases))
        return tare_weight_misfit(w, s, TARE_PART_ZEROS, err);
    const uint64_t group = mlx_group(w, s, codes->cols, scales->cols);
    if (!group)
        return tare_weight_refuse(w, s,
                                  "mlx: its shapes allow several group sizes, and no settings say "
                                  "which one it is, or none of these",
                                  err);
    tare_weight_shape_of(w, codes, 1);
    w->dims[w->n_dims - 1] = group * scales->cols;
    tare_weight_lay_groups(w, w->dims[w->n_dims - 2], scales->cols);
    w->bits = (uint32_t)(codes->cols * 32 / w->dims[w->n_dims - 1]);
    const uint64_t bits = tare_weight_mlx_setting(&s->settings, w->stem, "bits");
    tare_weight_is_mlx_mode(&s->settings, w->stem, "affine");
    if (bits && bits != w->bits)
        tare_weight_setting_wrong(&s->settings, "bits",
                                  "with this group_size the codes have another number of bits");
    w->line = codes->cols * 4;
    w->value = TARE_VALUE_WHOLE;
    w->formula = TARE_FORMULA_RAISED;
    return TARE_OK;
}
