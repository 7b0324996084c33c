/* SPDX-License-Identifier: MIT
 *
 * Schemes that take a weight as one run of numbers: bitsandbytes' 4 bits, HQQ, Quanto; and what only
 * settings say. */
#include <stdio.h>

#include "base/arith.h"
#include "base/bytes.h"
#include "base/str.h"
#include "quantized/block_scales.h"

#define MOST_STATE 4096 /* bytes of a state, which is JSON */

static bool is_float(const tare_tensor *t) {
    return t->encoding->kind == TARE_KIND_FLOAT && t->encoding->block == 1;
}

/* Product of the dimensions; 0: it is none that can be. */
static uint64_t count_of(const tare_weight *w) {
    uint64_t n = 1;
    for (uint32_t d = 0; d < w->n_dims; d++)
        if (!tare_mul_u64(n, w->dims[d], &n) || n > UINT64_C(1) << 48) return 0;
    return w->n_dims ? n : 0;
}

/* ---- bitsandbytes ------------------------------------------------------------------------------ */

static tare_status read_state(const tare_json_node **out, const tare_weight *w,
                              const tare_weight_search *s, tare_error *err) {
    const tare_tensor *t = tare_weight_part(w, s, TARE_PART_STATE);
    *out = NULL;
    if (!t || t->encoding->id != TARE_ENCODING_U8 || t->n_elements > MOST_STATE)
        return tare_weight_misfit(w, s, t ? TARE_PART_STATE : TARE_PART_SCALES, err);
    char *text = tare_arena_take(s->arena, (size_t)t->n_elements + 1);
    if (!text) return tare_fail(err, TARE_ERR_NOMEM, "packed weights");
    TARE_TRY(tare_weight_bytes(text, w, s->m, TARE_PART_STATE, 0, t->n_elements, err));
    if (tare_json_tree(out, (tare_str){text, (size_t)t->n_elements}, s->arena, NULL) != TARE_OK)
        return tare_weight_misfit(w, s, TARE_PART_STATE, err);
    return TARE_OK;
}

static bool read_dims(tare_weight *w, const tare_json_node *state) {
    const tare_json_node *shape = tare_json_member(state, TARE_STR("shape"));
    for (const tare_json_node *d = shape ? shape->child : NULL; d; d = d->next)
        if (w->n_dims == TARE_MAX_DIMS || !tare_json_node_u64(d, &w->dims[w->n_dims++]))
            return false;
    return count_of(w) > 0;
}

static tare_status fit_nested(tare_weight *w, const tare_weight_search *s,
                              const tare_json_node *state, tare_error *err) {
    const tare_tensor *outer = tare_weight_part(w, s, TARE_PART_OUTER_SCALES);
    const tare_tensor *table = tare_weight_part(w, s, TARE_PART_OUTER_TABLE);
    const tare_json_node *offset = tare_json_member(state, TARE_STR("nested_offset"));
    const tare_json_value v = {.type = TARE_JSON_NUMBER,
                               .raw = offset ? offset->text : TARE_STR("0")};
    double number = 0;
    if (!tare_json_node_u64(tare_json_member(state, TARE_STR("nested_blocksize")),
                            &w->nested_group))
        w->nested_group = 256;
    if (!outer || !table || w->nested_group == 0 || !tare_json_f64(&v, &number) ||
        table->n_elements != 256 ||
        outer->n_elements != tare_ceil_div_u64(tare_weight_part(w, s, TARE_PART_SCALES)->n_elements,
                                               w->nested_group))
        return tare_weight_misfit(w, s, TARE_PART_SCALES, err);
    w->scale_value = TARE_SCALE_NESTED;
    w->nested_offset = (float)number;
    return TARE_OK;
}

TARE_SCHEME_FITS(flat4) {
    const tare_tensor *codes = tare_weight_part(w, s, TARE_PART_CODES);
    const tare_tensor *scales = tare_weight_part(w, s, TARE_PART_SCALES);
    const tare_json_node *state;
    if (codes->encoding->kind == TARE_KIND_FLOAT && codes->encoding->planes[0].unit_bytes == 1)
        return TARE_OK;
    TARE_TRY(read_state(&state, w, s, err));
    if (!read_dims(w, state)) return tare_weight_misfit(w, s, TARE_PART_STATE, err);
    const uint64_t n = count_of(w);
    if (!tare_json_node_u64(tare_json_member(state, TARE_STR("blocksize")), &w->group))
        w->group = 64;
    /* bnb_4bit_quant_storage may give the same bytes another type */
    if (w->group < 2 || w->group % 2 || w->group > UINT64_C(1) << 24 ||
        codes->size_bytes < tare_ceil_div_u64(n, 2) ||
        codes->size_bytes - tare_ceil_div_u64(n, 2) >= codes->encoding->planes[0].unit_bytes ||
        scales->n_elements != tare_ceil_div_u64(n, w->group) ||
        tare_weight_part(w, s, TARE_PART_TABLE)->n_elements != 16)
        return tare_weight_misfit(w, s, TARE_PART_CODES, err);
    w->order = TARE_ORDER_RUN;
    w->scale_order = TARE_SCALES_BY_RUN;
    w->bits = 4;
    w->value = TARE_VALUE_TABLE;
    if (scales->encoding->id == TARE_ENCODING_U8) return fit_nested(w, s, state, err);
    return is_float(scales) ? TARE_OK : tare_weight_misfit(w, s, TARE_PART_SCALES, err);
}

/* ---- HQQ --------------------------------------------------------------------------------------- */

/* A whole number that is a tensor of its own; `otherwise` where there is none. */
static tare_status read_number(uint64_t *out, const tare_weight_search *s, const tare_weight *w,
                               const char *suffix, uint64_t otherwise, tare_error *err) {
    const int64_t i = tare_weight_find(s, w->stem, suffix);
    const tare_tensor *t = i < 0 ? NULL : &s->m->catalog.tensors[i];
    uint8_t bytes[8] = {0};
    *out = otherwise;
    if (!t || t->n_elements != 1 || t->encoding->kind != TARE_KIND_INTEGER || t->size_bytes > 8)
        return TARE_OK;
    TARE_TRY(tare_tensor_read(bytes, s->m, (size_t)i, 0, 0, (size_t)t->size_bytes, err));
    *out = tare_load_le64(bytes);
    return TARE_OK;
}

static tare_status read_hqq_shape(tare_weight *w, const tare_weight_search *s, tare_error *err) {
    const tare_tensor *t = tare_weight_part(w, s, TARE_PART_STATE);
    uint8_t bytes[TARE_MAX_DIMS * 8];
    if (!t)
        return tare_weight_refuse(w, s, "hqq: files without the shape of a weight are not decoded",
                                  err);
    if (t->encoding->id != TARE_ENCODING_I64 || t->n_elements == 0 || t->n_elements > TARE_MAX_DIMS)
        return tare_weight_misfit(w, s, TARE_PART_STATE, err);
    TARE_TRY(tare_weight_bytes(bytes, w, s->m, TARE_PART_STATE, 0, t->n_elements * 8, err));
    w->n_dims = (uint32_t)t->n_elements;
    for (uint32_t d = 0; d < w->n_dims; d++) w->dims[d] = tare_load_le64(bytes + 8 * d);
    return count_of(w) ? TARE_OK : tare_weight_misfit(w, s, TARE_PART_STATE, err);
}

/* A text that is a tensor of its own; empty: there is none, "?": it is no text of this size. */
static tare_status read_text(char *out, size_t size, const tare_weight_search *s,
                             const tare_weight *w, const char *suffix, tare_error *err) {
    const int64_t i = tare_weight_find(s, w->stem, suffix);
    const tare_tensor *t = i < 0 ? NULL : &s->m->catalog.tensors[i];
    snprintf(out, size, "%s", t ? "?" : "");
    if (!t || t->encoding->id != TARE_ENCODING_U8 || t->n_elements >= size) return TARE_OK;
    TARE_TRY(tare_tensor_read(out, s->m, (size_t)i, 0, 0, (size_t)t->n_elements, err));
    out[t->n_elements] = 0;
    return TARE_OK;
}

/* A number beside the codes, else of the settings. */
static tare_status hqq_number(uint64_t *out, const tare_weight_search *s, const tare_weight *w,
                              const char *suffix, uint64_t usual, tare_error *err) {
    char path[64];
    snprintf(path, sizeof path, "quant_config.weight_quant_params%s", suffix);
    if (tare_weight_find(s, w->stem, suffix) < 0)
        usual = tare_weight_setting(&s->settings, path, usual);
    return read_number(out, s, w, suffix, usual, err);
}

/* The room that a code has: packing tells, else the number of bits. 0: neither is known. */
static tare_status hqq_bits(uint64_t *out, const tare_weight_search *s, const tare_weight *w,
                            tare_error *err) {
    static const struct {
        const char *packing;
        uint64_t bits;
    } packings[] = {{"8bit_u8", 8}, {"4bit_u8", 4}, {"3bit_32", 3}, {"2bit_u8", 2}, {"1bit_u8", 1}};
    uint64_t bits;
    char text[16];
    TARE_TRY(read_text(text, sizeof text, s, w, ".packing", err));
    *out = 0;
    for (size_t i = 0; i < sizeof packings / sizeof *packings; i++)
        if (strcmp(text, packings[i].packing) == 0) *out = packings[i].bits;
    if (text[0]) return TARE_OK;
    TARE_TRY(hqq_number(&bits, s, w, ".nbits", 4, err));
    *out = bits == 5 || bits == 6 ? 8 : bits > 8 || bits == 7 ? 0 : bits;
    return TARE_OK;
}

/* Numbers that share a scale: all of a column or a row, where nothing else is said. */
static uint64_t hqq_group(const tare_weight *w, uint64_t said, uint64_t axis, uint64_t n_scales) {
    const uint64_t cols = w->dims[w->n_dims - 1], n = count_of(w);
    if (said) return said;
    return n_scales && n % n_scales == 0 && (n_scales == n / cols || n_scales == cols || axis)
               ? n / n_scales
               : 0;
}

TARE_SCHEME_FITS(hqq) {
    const tare_tensor *codes = tare_weight_part(w, s, TARE_PART_CODES);
    const tare_tensor *scales = tare_weight_part(w, s, TARE_PART_SCALES);
    const tare_tensor *zeros = tare_weight_part(w, s, TARE_PART_ZEROS);
    uint64_t bits, group, axis, nested_scale, nested_zero;
    TARE_TRY(read_hqq_shape(w, s, err));
    TARE_TRY(hqq_bits(&bits, s, w, err));
    TARE_TRY(hqq_number(&group, s, w, ".group_size", 0, err));
    TARE_TRY(hqq_number(&axis, s, w, ".axis", 1, err));
    TARE_TRY(read_number(&nested_scale, s, w, ".quant_scale", 0, err));
    TARE_TRY(read_number(&nested_zero, s, w, ".quant_zero", 0, err));
    if (nested_scale || nested_zero)
        return tare_weight_refuse(w, s, "hqq: scales that are quantized too are not decoded", err);
    if (bits == 0 || axis > 1)
        return tare_weight_refuse(w, s, "hqq: codes of this many bits are not decoded", err);
    const uint64_t n = count_of(w);
    group = hqq_group(w, group, axis, scales->n_elements);
    if (group == 0 || group > n || n % group || scales->n_elements != n / group ||
        zeros->n_elements != n / group || !is_float(scales) || !is_float(zeros))
        return tare_weight_misfit(w, s, TARE_PART_SCALES, err);
    w->bits = (uint32_t)bits;
    w->word_bytes = bits == 3 ? 4 : 1;
    w->n_layers = bits == 3 ? 10 : 8 / bits;
    const uint64_t lines = axis ? n / group : group, length = axis ? group : n / group;
    if (codes->size_bytes != tare_ceil_div_u64(lines, w->n_layers) * length * w->word_bytes)
        return tare_weight_misfit(w, s, TARE_PART_CODES, err);
    w->order = TARE_ORDER_LAYERS;
    w->high_first = true;
    w->value = TARE_VALUE_WHOLE;
    w->scale_order = axis ? TARE_SCALES_BY_RUN : TARE_SCALES_BY_TURN;
    w->group = axis ? group : n / group;
    w->formula = TARE_FORMULA_CENTRED;
    return TARE_OK;
}

/* ---- Quanto ------------------------------------------------------------------------------------ */

/* The numbers of a row that share a scale, as Quanto chooses. */
static uint64_t quanto_group(uint64_t cols) {
    for (uint64_t g = 128; g >= 32 && cols > 128; g -= 32)
        if (cols % g == 0) return g;
    return cols;
}

static bool is_word_of(tare_str word, const char *words) {
    while (*words) {
        const size_t n = strcspn(words, " ");
        if (word.len == n && memcmp(word.ptr, words, n) == 0) return true;
        words += n + (words[n] == ' ');
    }
    return false;
}

/* A width of the model; 0: config.json does not say it. */
static uint64_t width(const tare_weight_search *s, const char *name) {
    const tare_json_node *root = s->settings.root;
    const tare_json_node *text = tare_json_member(root, TARE_STR("text_config"));
    const tare_str key = tare_str_of(name);
    uint64_t n = 0;
    if (!tare_json_node_u64(tare_json_member(text, key), &n) &&
        !tare_json_node_u64(tare_json_member(root, key), &n))
        return 0;
    return n < UINT64_C(1) << 40 ? n : 0;
}

/* The numbers that all heads have together. */
static uint64_t width_of_heads(const tare_weight_search *s) {
    const uint64_t n = width(s, "num_attention_heads"), length = width(s, "head_dim");
    uint64_t all;
    return n && length && tare_mul_u64(n, length, &all) ? all : width(s, "hidden_size");
}

/* The columns of a weight: no file says them, but config.json has the widths of the model. The last
 * word of the module's name tells which one; else there must be only one that fits. 0: unknown. */
static uint64_t quanto_cols(const tare_weight *w, const tare_weight_search *s, uint64_t n,
                            uint64_t group) {
    static const struct {
        const char *ends, *width; /* NULL: that of all heads */
    } modules[] = {
        {"down_proj fc2 w2", "intermediate_size"},
        {"o_proj out_proj wo", NULL},
        {"q_proj k_proj v_proj qkv_proj gate_proj up_proj gate_up_proj fc1 w1 w3 wq wk wv lm_head",
         "hidden_size"},
    };
    tare_str end = w->stem;
    uint64_t found = 0;
    for (size_t i = end.len; i > 0; i--)
        if (end.ptr[i - 1] == '.') {
            end = tare_str_cut(end, i);
            break;
        }
    for (int named = 1; named >= 0; named--)
        for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
            const uint64_t cols = modules[i].width ? width(s, modules[i].width) : width_of_heads(s);
            const bool fits = cols && n % cols == 0 && quanto_group(cols) == group;
            if (named && is_word_of(end, modules[i].ends)) return fits ? cols : 0;
            if (named || !fits || cols == found) continue;
            if (found) return 0;
            found = cols;
        }
    return found;
}

TARE_SCHEME_FITS(quanto4) {
    const tare_tensor *codes = tare_weight_part(w, s, TARE_PART_CODES);
    const tare_tensor *scales = tare_weight_part(w, s, TARE_PART_SCALES);
    const tare_tensor *shifts = tare_weight_part(w, s, TARE_PART_ZEROS);
    if (codes->encoding->id != TARE_ENCODING_U8 || codes->n_dims != 2 || codes->dims[0] == 0 ||
        codes->cols == 0 || codes->dims[0] > UINT64_C(1) << 40)
        return tare_weight_misfit(w, s, TARE_PART_CODES, err);
    const uint64_t lines = scales->n_elements;
    uint64_t layers = tare_ceil_div_u64(lines, codes->dims[0]);
    if (lines < 4 && codes->dims[0] == 1 && tare_weight_setting_is(&s->settings, "weights", "int2"))
        layers = 4; /* fewer lines than there is room for */
    if ((layers != 2 && layers != 4) || !is_float(scales) || shifts->n_elements != lines)
        return tare_weight_misfit(w, s, TARE_PART_SCALES, err);
    const uint64_t n = lines * codes->cols, cols = quanto_cols(w, s, n, codes->cols);
    if (!cols)
        return tare_weight_refuse(w, s,
                                  "quanto: the shape of the weight is not stored, and config.json "
                                  "does not tell it",
                                  err);
    w->n_dims = 2;
    w->dims[0] = n / cols;
    w->dims[1] = cols;
    w->order = TARE_ORDER_LAYERS;
    w->word_bytes = 1;
    w->n_layers = layers;
    w->bits = (uint32_t)(8 / layers);
    w->value = TARE_VALUE_WHOLE;
    w->scale_order = TARE_SCALES_BY_RUN;
    w->group = codes->cols;
    w->formula = is_float(shifts) ? TARE_FORMULA_LOWERED : TARE_FORMULA_CENTRED;
    return TARE_OK;
}

/* ---- Gemma ------------------------------------------------------------------------------------- */

tare_status tare_weight_gemma_bits(uint64_t *out, const tare_weight_search *s, const tare_weight *w,
                                   tare_error *err) {
    const tare_json_node *own;
    *out = tare_weight_setting(&s->settings, "num_bits", 0);
    TARE_TRY(tare_weight_gemma_of(&own, &s->modules, w->stem, err));
    if (own && !tare_json_node_u64(
                   tare_weight_setting_of(&s->settings, own, "num_bits", TARE_SETTING_WHOLE), out))
        *out = 0;
    return TARE_OK;
}
