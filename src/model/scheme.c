/* SPDX-License-Identifier: MIT
 *
 * Packed schemes and companions, by the names tensors have in published checkpoints: codes whose
 * scales lie in tensors of their own. They are identified and copied; codes are never treated as
 * plain integers. FP8 weights are the one case that is decoded with its companion: a tensor of
 * factors, one for each block of the weight. */
#include "base/arith.h"
#include "base/str.h"
#include "model/model_internal.h"

#define MOST_PARTS 7

typedef struct scheme_part {
    const char *suffix; /* instead of the anchor's */
    const char *label;
    bool has_packed_codes;
    bool is_required;
} scheme_part;

/* A scheme is present if a tensor's name ends in the anchor and all required parts exist under the
 * same stem; the first part holds the codes. */
typedef struct scheme {
    const char *anchor;
    bool (*accepts)(const tare_tensor *codes, const tare_tensor *anchor);
    scheme_part parts[MOST_PARTS];
} scheme;

static bool codes_are_integers(const tare_tensor *codes, const tare_tensor *anchor) {
    (void)anchor;
    return codes->encoding->kind == TARE_KIND_INTEGER;
}

/* GPTQ packs along the input dimension, so codes and scales have the same columns; AWQ along the
 * output dimension. */
static bool is_gptq(const tare_tensor *codes, const tare_tensor *scales) {
    return codes->encoding->kind == TARE_KIND_INTEGER && codes->cols == scales->cols;
}

static bool is_awq(const tare_tensor *codes, const tare_tensor *scales) {
    return codes->encoding->kind == TARE_KIND_INTEGER && codes->cols < scales->cols;
}

static bool both_are_u8(const tare_tensor *codes, const tare_tensor *anchor) {
    return codes->encoding->id == TARE_ENCODING_U8 && anchor->encoding->id == TARE_ENCODING_U8;
}

static bool codes_are_words(const tare_tensor *codes, const tare_tensor *anchor) {
    (void)anchor;
    return codes->encoding->id == TARE_ENCODING_U32 || codes->encoding->id == TARE_ENCODING_I32;
}

static const scheme schemes[] = {
    {".scales",
     is_gptq,
     {{".qweight", "gptq codes", true, true},
      {".qzeros", "gptq zero points", true, true},
      {".scales", "gptq scales", false, true},
      {".g_idx", "gptq group index", false, false}}},
    {".scales",
     is_awq,
     {{".qweight", "awq codes", true, true},
      {".qzeros", "awq zero points", true, true},
      {".scales", "awq scales", false, true}}},
    {".weight_scale_2",
     codes_are_integers,
     {{".weight", "nvfp4 codes", true, true},
      {".weight_scale", "nvfp4 block scales", false, true},
      {".weight_scale_2", "nvfp4 tensor scale", false, true},
      {".input_scale", "nvfp4 input scale", false, false}}},
    {".weight_global_scale",
     codes_are_integers,
     {{".weight_packed", "nvfp4 codes", true, true},
      {".weight_scale", "nvfp4 block scales", false, true},
      {".weight_global_scale", "nvfp4 tensor scale", false, true},
      {".input_global_scale", "nvfp4 input scale", false, false}}},
    {".weight_shape",
     codes_are_integers,
     {{".weight_packed", "packed integer codes", true, true},
      {".weight_scale", "packed integer scales", false, true},
      {".weight_shape", "packed integer shape", false, true},
      {".weight_zero_point", "packed integer zero points", true, false},
      {".weight_g_idx", "packed integer group index", false, false}}},
    {"_scales",
     both_are_u8,
     {{"_blocks", "mxfp4 codes", true, true}, {"_scales", "mxfp4 block scales", true, true}}},
    {".absmax",
     codes_are_integers,
     {{"", "bitsandbytes codes", true, true},
      {".absmax", "bitsandbytes scales", true, true},
      {".quant_map", "bitsandbytes code table", false, false},
      {".nested_absmax", "bitsandbytes scales of scales", false, false},
      {".nested_quant_map", "bitsandbytes scale table", false, false},
      {".quant_state.bitsandbytes__nf4", "bitsandbytes state", true, false},
      {".quant_state.bitsandbytes__fp4", "bitsandbytes state", true, false}}},
    {".SCB",
     codes_are_integers,
     {{".weight", "bitsandbytes codes", true, true},
      {".SCB", "bitsandbytes scales", false, true},
      {".weight_format", "bitsandbytes state", true, false}}},
    {".biases",
     codes_are_words,
     {{".weight", "mlx codes", true, true},
      {".scales", "mlx scales", false, true},
      {".biases", "mlx biases", false, true}}},
};

/* ---- lookup ---------------------------------------------------------------------------------- */

/* The tensor named stem + suffix, -1 if there is none. Names longer than the buffer have no
 * scheme: published ones are far shorter. */
static int64_t find_part(const tare_model *m, tare_str stem, const char *suffix) {
    char name[1024];
    size_t n = strlen(suffix);
    if (stem.len + n > sizeof name) return -1;
    memcpy(name, stem.ptr, stem.len);
    memcpy(name + stem.len, suffix, n);
    return tare_model_find_tensor(m, (tare_str){name, stem.len + n});
}

static const tare_tensor_note no_note = {.companion = -1, .serves = -1, .unused = -1};

/* The list of notes is made when the first one is needed. */
static tare_status note(tare_model *m, int64_t tensor, tare_tensor_note n, tare_error *err) {
    size_t count = m->catalog.n_tensors;
    if (!m->notes) {
        m->notes = TARE_NEW_ARRAY(&m->arena, tare_tensor_note, count);
        if (!m->notes) return tare_fail(err, TARE_ERR_NOMEM, "tensor notes");
        for (size_t i = 0; i < count; i++) m->notes[i] = no_note;
    }
    if (!m->notes[tensor].scheme) m->notes[tensor] = n;
    return TARE_OK;
}

static tare_status try_scheme(tare_model *m, const scheme *s, size_t anchor, tare_error *err) {
    const tare_tensor *tensors = m->catalog.tensors;
    tare_str name = tensors[anchor].name;
    tare_str stem = {name.ptr, name.len - strlen(s->anchor)};
    int64_t found[MOST_PARTS];
    for (size_t p = 0; p < MOST_PARTS && s->parts[p].suffix; p++) {
        found[p] = find_part(m, stem, s->parts[p].suffix);
        if (found[p] < 0 && s->parts[p].is_required) return TARE_OK;
    }
    if (!s->accepts(&tensors[found[0]], &tensors[anchor])) return TARE_OK;
    for (size_t p = 0; p < MOST_PARTS && s->parts[p].suffix; p++) {
        if (found[p] < 0) continue;
        /* Scales that are integers are codes themselves (nested quantization). */
        bool is_integer = tensors[found[p]].encoding->kind == TARE_KIND_INTEGER;
        tare_tensor_note n = no_note;
        n.scheme = s->parts[p].label;
        n.has_packed_codes = s->parts[p].has_packed_codes && is_integer;
        TARE_TRY(note(m, found[p], n, err));
    }
    return TARE_OK;
}

/* ---- FP8 with block scales ------------------------------------------------------------------- */

/* How many numbers of a dimension share one factor. Published block sizes are powers of two, nearly
 * always 128; a factor a row or for all of them also occurs. */
static uint64_t block_length(uint64_t n, uint64_t n_scales) {
    if (n_scales == 0 || n_scales > n) return 0;
    if (n_scales == 1) return n;
    if (tare_ceil_div_u64(n, 128) == n_scales) return 128;
    for (uint64_t b = 1; b < n; b *= 2)
        if (tare_ceil_div_u64(n, b) == n_scales) return b;
    uint64_t b = tare_ceil_div_u64(n, n_scales);
    return tare_ceil_div_u64(n, b) == n_scales ? b : 0;
}

bool tare_block_scales_fit(tare_block_scales *out, const tare_tensor *weights,
                           const tare_tensor *scales) {
    uint32_t n = weights->n_dims, leading = n > 2 ? n - 2 : 0;
    *out = (tare_block_scales){.rows = n > 1 ? weights->dims[n - 2] : 1, .n_rows = 1, .n_cols = 1};
    if (scales->n_elements != 1) {
        if (scales->n_dims < leading || scales->n_dims > n) return false;
        for (uint32_t d = 0; d < leading; d++)
            if (scales->dims[d] != weights->dims[d]) return false;
        uint32_t rest = scales->n_dims - leading;
        if (rest > 1) out->n_rows = scales->dims[leading];
        if (rest > 0) out->n_cols = scales->dims[scales->n_dims - 1];
        /* One list of factors belongs to the rows of the matrix, one each. */
        if (rest == 1 && n > 1) {
            if (leading || out->n_cols != out->rows) return false;
            out->n_rows = out->n_cols;
            out->n_cols = 1;
        }
    } else if (leading) {
        return false;
    }
    out->block_rows = block_length(out->rows, out->n_rows);
    out->block_cols = block_length(weights->cols, out->n_cols);
    return out->block_rows && out->block_cols && scales->n_elements;
}

static bool is_fp8(const tare_tensor *t) {
    tare_encoding_id id = t->encoding->id;
    return id == TARE_ENCODING_F8_E4M3 || id == TARE_ENCODING_F8_E5M2 ||
           id == TARE_ENCODING_F8_E4M3FNUZ || id == TARE_ENCODING_F8_E5M2FNUZ;
}

/* How published checkpoints name the scales of a weight NAME, and of a weight STEM.weight: those of
 * DeepSeek and compressed-tensors; of ComfyUI; of DeepSeek's own files; of Mistral. */
static const struct {
    const char *scale, *weight; /* ends of the two names */
} fp8_names[] = {
    {"_scale_inv", ""},           {"_scale", ""},
    {".scale_weight", ".weight"}, {".qscale_weight", ".weight"},
    {".scale", ".weight"},
};

static tare_status try_fp8(tare_model *m, size_t k, size_t i, tare_error *err) {
    const tare_tensor *tensors = m->catalog.tensors;
    const tare_str name = tensors[i].name, stem = {name.ptr, name.len - strlen(fp8_names[k].scale)};
    const int64_t weight = find_part(m, stem, fp8_names[k].weight);
    tare_block_scales shape;
    if (weight < 0 || !is_fp8(&tensors[weight]) || tensors[i].encoding->kind != TARE_KIND_FLOAT ||
        !tare_block_scales_fit(&shape, &tensors[weight], &tensors[i]) ||
        (m->notes && (m->notes[weight].companion >= 0 || m->notes[i].scheme)))
        return TARE_OK;
    tare_tensor_note of_scales = no_note, of_weight = no_note;
    of_scales.scheme = "fp8 block scales";
    of_scales.serves = weight;
    of_weight.scheme = "fp8 with block scales";
    of_weight.companion = (int64_t)i;
    TARE_TRY(note(m, (int64_t)i, of_scales, err));
    return note(m, weight, of_weight, err);
}

/* ---- other scales beside FP8 weights ----------------------------------------------------------- */

static bool is_same_letter(char a, char b) {
    return a == b || (a >= 'A' && a <= 'Z' && a - 'A' + 'a' == b);
}

/* Where a word in small letters begins in a text; text.len: nowhere. */
static size_t find_word(tare_str text, tare_str word) {
    for (size_t i = 0; i + word.len <= text.len; i++) {
        size_t n = 0;
        while (n < word.len && is_same_letter(text.ptr[i + n], word.ptr[n])) n++;
        if (n == word.len) return i;
    }
    return text.len;
}

/* A name without its last part; empty: it has one. */
static tare_str parent_of(tare_str name) {
    while (name.len && name.ptr[name.len - 1] != '.') name.len--;
    if (name.len) name.len--;
    return name;
}

static tare_str last_part(tare_str name) {
    const tare_str parent = parent_of(name);
    return tare_str_cut(name, parent.len ? parent.len + 1 : 0);
}

bool tare_is_activation_scale(tare_str name) {
    static const char *const parts[] = {"input_scale",       "input_global_scale",
                                        "activation_scale",  "activation_scales",
                                        "act_scale",         "qscale_act",
                                        "output_scale",      "q_scale",
                                        "k_scale",           "v_scale",
                                        "kv_scale",          "scale_input",
                                        "input_scale_ub",    "activation_scale_ub",
                                        "prob_output_scale", "output_global_scale"};
    const tare_str part = last_part(name);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (tare_str_is(part, parts[i])) return true;
    return tare_str_ends(part, TARE_STR("_activation_scale"));
}

static int64_t find_fp8(const tare_model *m, tare_str stem, const char *suffix) {
    const int64_t i = find_part(m, stem, suffix);
    return i >= 0 && is_fp8(&m->catalog.tensors[i]) ? i : -1;
}

/* The FP8 weight that a tensor is named like a scale of; -1: there is none. The names are those that
 * people give: X.scales or X.weight.scale or X.weight_quantizer.scale beside X.weight, X_scale
 * beside X or X.weight, X._scale beside X._data, scale_X beside X. */
static int64_t scaled_weight(const tare_model *m, tare_str name) {
    const tare_str word = TARE_STR("scale"), part = last_part(name);
    const size_t at = find_word(part, word);
    if (at == part.len) return -1;
    const tare_str parent = parent_of(name), grandparent = parent_of(parent);
    const bool is_of_parent =
        parent.len && find_word(last_part(parent), TARE_STR("quant")) < last_part(parent).len;
    tare_str head = {name.ptr, (size_t)(part.ptr - name.ptr) + at};
    while (head.len && (head.ptr[head.len - 1] == '_' || head.ptr[head.len - 1] == '.')) head.len--;
    const struct {
        tare_str stem;
        const char *suffix;
    } places[] = {{parent, ".weight"}, {parent, ""},
                  {parent, "._data"},  {head, ""},
                  {head, ".weight"},   {head, "_qdata"},
                  {head, "._data"},    {is_of_parent ? grandparent : TARE_STR(""), ".weight"}};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const int64_t weight =
            places[i].stem.len ? find_fp8(m, places[i].stem, places[i].suffix) : -1;
        if (weight >= 0) return weight;
    }
    return -1;
}

/* What else is beside: scales of activations serve a weight whose own scale is known; any other is
 * one that nothing used. */
static tare_status note_beside(tare_model *m, size_t i, tare_error *err) {
    const tare_tensor *t = &m->catalog.tensors[i];
    if (m->notes && m->notes[i].scheme) return TARE_OK;
    const int64_t weight = scaled_weight(m, t->name);
    if (weight < 0 || weight == (int64_t)i) return TARE_OK;
    tare_tensor_note n = no_note;
    const bool is_known = m->notes && m->notes[weight].companion >= 0;
    if (is_known && tare_is_activation_scale(t->name)) {
        n.scheme = "fp8 activation scale";
        n.serves = weight;
        return note(m, (int64_t)i, n, err);
    }
    TARE_TRY(note(m, (int64_t)i, n, err));
    if (m->notes[weight].unused < 0) m->notes[weight].unused = (int64_t)i;
    return TARE_OK;
}

/* "scaled_fp8" of ComfyUI, once in a model. */
static tare_status note_marker(tare_model *m, size_t i, tare_error *err) {
    const tare_tensor *t = &m->catalog.tensors[i];
    tare_tensor_note n = no_note;
    if (!is_fp8(t) || t->n_elements > 2 || !tare_str_ends(t->name, TARE_STR("scaled_fp8")))
        return TARE_OK;
    n.scheme = "fp8 marker";
    n.is_marker = true;
    return note(m, (int64_t)i, n, err);
}

tare_status tare_tensor_check_scales(const tare_model *m, size_t tensor, tare_error *err) {
    const int64_t unused = m->notes ? m->notes[tensor].unused : -1;
    if (unused < 0) return TARE_OK;
    const tare_tensor *tensors = m->catalog.tensors;
    tare_fail_tensor(err, TARE_ERR_UNSUPPORTED, &tensors[tensor], tensor,
                     "named like the scale of its codes, and not used: they are no numbers without "
                     "it");
    tare_error_detail(err, "%.*s", (int)tare_min_u64(tensors[unused].name.len, 160),
                      tensors[unused].name.ptr);
    return TARE_ERR_UNSUPPORTED;
}

int64_t tare_tensor_serves(const tare_model *m, size_t tensor) {
    return m->notes ? m->notes[tensor].serves : -1;
}

/* ---- all ------------------------------------------------------------------------------------- */

tare_status tare_model_find_schemes(tare_model *m, tare_error *err) {
    const size_t n = m->catalog.n_tensors;
    bool has_fp8 = false;
    for (size_t i = 0; i < n; i++) {
        tare_str name = m->catalog.tensors[i].name;
        has_fp8 = has_fp8 || is_fp8(&m->catalog.tensors[i]);
        for (size_t k = 0; k < sizeof schemes / sizeof *schemes; k++)
            if (tare_str_ends(name, tare_str_of(schemes[k].anchor)))
                TARE_TRY(try_scheme(m, &schemes[k], i, err));
    }
    for (size_t k = 0; has_fp8 && k < sizeof fp8_names / sizeof *fp8_names; k++)
        for (size_t i = 0; i < n; i++)
            if (tare_str_ends(m->catalog.tensors[i].name, tare_str_of(fp8_names[k].scale)))
                TARE_TRY(try_fp8(m, k, i, err));
    for (size_t i = 0; has_fp8 && i < n; i++) TARE_TRY(note_beside(m, i, err));
    for (size_t i = 0; has_fp8 && m->notes && i < n; i++) TARE_TRY(note_marker(m, i, err));
    return TARE_OK;
}
