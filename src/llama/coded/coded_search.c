/* SPDX-License-Identifier: MIT
 *
 * Which tensors of a model are packed weights: by the names of their parts and by what config.json
 * says of the codes. All sizes are checked here, so that reading rows needs no further checks. */
#include "llama/coded/coded_search.h"

#include <stdio.h>

#include "base/arith.h"
#include "base/bytes.h"
#include "base/json.h"
#include "base/str.h"

#define MOST_STATE 4096 /* bytes of a state of bitsandbytes, which is JSON */

static tare_status fail_tensor(const tare_llama_coded_search *u, size_t i, tare_status status,
                               const char *what, tare_error *err) {
    return tare_fail_tensor(err, status, &u->in->catalog.tensors[i], i, what);
}

static tare_status does_not_fit(const tare_llama_coded_search *u, int64_t i, tare_error *err) {
    return fail_tensor(u, (size_t)i, TARE_ERR_CORRUPT,
                       "its shape does not fit the packed weight it is a part of", err);
}

static const tare_tensor *tensor(const tare_llama_coded_search *u, int64_t i) {
    return &u->in->catalog.tensors[i];
}

static bool is_of(const tare_llama_coded_search *u, int64_t i, tare_encoding_id id) {
    return i >= 0 && tensor(u, i)->encoding->id == id;
}

static bool is_words(const tare_llama_coded_search *u, int64_t i) {
    return is_of(u, i, TARE_ENCODING_U32) || is_of(u, i, TARE_ENCODING_I32);
}

static int64_t find(const tare_llama_coded_search *u, tare_str stem, const char *suffix) {
    char name[1024];
    size_t n = strlen(suffix);
    if (stem.len + n > sizeof name) return -1;
    memcpy(name, stem.ptr, stem.len);
    memcpy(name + stem.len, suffix, n);
    return tare_model_find_tensor(u->in, (tare_str){name, stem.len + n});
}

/* A number of quantization_config; `otherwise` where it has none. */
static uint64_t setting(const tare_llama_coded_search *u, const char *name, uint64_t otherwise) {
    uint64_t n;
    return tare_json_node_u64(tare_json_path(u->settings, tare_str_of(name)), &n) ? n : otherwise;
}

static tare_llama_coded *new_weight(tare_llama_coded_search *u, tare_str stem, const char *suffix,
                                    tare_error *err) {
    if (!tare_grow(u->in->allocator, (void **)&u->weights, &u->capacity, u->n_weights + 1,
                   sizeof *u->weights)) {
        tare_fail(err, TARE_ERR_NOMEM, "packed weights");
        return NULL;
    }
    tare_llama_coded *p = &u->weights[u->n_weights];
    char name[1200];
    *p = (tare_llama_coded){.encoding = tare_encoding_get(TARE_ENCODING_F32), .step = 1};
    for (int i = 0; i < TARE_CODED_PARTS; i++) p->parts[i] = -1;
    size_t n = (size_t)snprintf(name, sizeof name, "%.*s%s", (int)tare_min_u64(stem.len, 1024),
                                stem.ptr, suffix);
    p->name = tare_arena_str(u->arena, (tare_str){name, n});
    if (!p->name.ptr) {
        tare_fail(err, TARE_ERR_NOMEM, "packed weights");
        return NULL;
    }
    return p;
}

/* The weight is complete: its parts are no tensors any more. */
static tare_status finish(tare_llama_coded_search *u, tare_llama_coded *p, const char *scheme,
                          tare_error *err) {
    uint64_t n = 1;
    for (uint32_t d = 0; d < p->n_dims; d++)
        if (p->dims[d] == 0 || !tare_mul_u64(n, p->dims[d], &n) || n > UINT64_C(1) << 48)
            return fail_tensor(u, (size_t)p->parts[TARE_CODED_CODES], TARE_ERR_LIMIT,
                               "number of its elements", err);
    p->cols = p->dims[p->n_dims - 1];
    p->n_rows = n / p->cols;
    for (int i = 0; i < TARE_CODED_PARTS; i++)
        if (p->parts[i] >= 0) u->is_dropped[p->parts[i]] = true;
    u->scheme = scheme;
    u->n_weights++;
    return TARE_OK;
}

/* ---- GPTQ and AWQ ------------------------------------------------------------------------------ */

static bool setting_is(const tare_llama_coded_search *u, const char *name, const char *text) {
    return tare_json_node_is(tare_json_member(u->settings, tare_str_of(name)), text);
}

/* Whether all zero points of a tensor are the same: that one; -1: they differ. */
static tare_status only_zero(int64_t *out, const tare_llama_coded_search *u, int64_t zeros,
                             uint32_t bits, tare_error *err) {
    const uint64_t size = tensor(u, zeros)->size_bytes;
    uint8_t bytes[4096];
    uint32_t word = 0;
    for (uint64_t at = 0; at < size; at += sizeof bytes) {
        const size_t n = (size_t)tare_min_u64(size - at, sizeof bytes);
        TARE_TRY(tare_tensor_read(u->in, (size_t)zeros, 0, at, bytes, n, err));
        if (at == 0) word = tare_load_le32(bytes);
        for (size_t i = 0; i + 4 <= n; i += 4)
            if (tare_load_le32(bytes + i) != word) {
                *out = -1;
                return TARE_OK;
            }
    }
    *out = word & ((1U << bits) - 1);
    for (uint32_t shift = bits; shift < 32; shift += bits)
        if ((word >> shift & ((1U << bits) - 1)) != *out) *out = -1;
    return TARE_OK;
}

/* Whether zero points are stored less 1: as the format says, unless the weights are symmetric, whose
 * zero point is known: the middle of the codes. */
static tare_status read_zero_form(bool *adds_one, tare_llama_coded_search *u, int64_t zeros,
                                  uint32_t bits, tare_error *err) {
    static const char format[] = "checkpoint_format", packing[] = "packing_format";
    const tare_json_node *sym = tare_json_member(u->settings, TARE_STR("sym"));
    const int64_t middle = INT64_C(1) << (bits - 1);
    int64_t zero;
    *adds_one = !setting_is(u, format, "gptq_v2") && !setting_is(u, format, "gptq_p") &&
                !setting_is(u, packing, "auto_round") &&
                !setting_is(u, packing, "auto_round:gptqmodel");
    if (!sym || sym->type != TARE_JSON_TRUE) return TARE_OK;
    TARE_TRY(only_zero(&zero, u, zeros, bits, err));
    if (zero == middle || zero == middle - 1) {
        u->n_contradicted += *adds_one != (zero == middle - 1);
        *adds_one = zero == middle - 1;
    }
    return TARE_OK;
}

static tare_status add_transposed(tare_llama_coded_search *u, tare_str stem, size_t codes,
                                  tare_error *err) {
    tare_llama_coded *p = new_weight(u, stem, ".weight", err);
    if (!p) return TARE_ERR_NOMEM;
    const int64_t zeros = find(u, stem, ".qzeros"), scales = find(u, stem, ".scales");
    if (zeros < 0 || scales < 0 || tensor(u, (int64_t)codes)->n_dims != 2 ||
        tensor(u, scales)->n_dims != 2 || tensor(u, zeros)->n_dims != 2 ||
        !is_of(u, (int64_t)codes, TARE_ENCODING_I32) || !is_of(u, zeros, TARE_ENCODING_I32))
        return fail_tensor(u, codes, TARE_ERR_UNSUPPORTED,
                           "its zero points or scales are missing, or no matrices", err);
    const uint64_t *c = tensor(u, (int64_t)codes)->dims, *s = tensor(u, scales)->dims,
                   *z = tensor(u, zeros)->dims;
    const bool is_gptq = c[1] == s[1];
    p->bits = (uint32_t)setting(u, "bits", setting(u, "w_bit", 4));
    if ((p->bits != 2 && p->bits != 4 && p->bits != 8) || (!is_gptq && p->bits != 4))
        return fail_tensor(u, codes, TARE_ERR_UNSUPPORTED, "codes of this many bits", err);
    const uint64_t per_word = 32 / p->bits;
    p->parts[TARE_CODED_CODES] = (int64_t)codes;
    p->parts[TARE_CODED_SCALES] = scales;
    p->parts[TARE_CODED_ZEROS] = zeros;
    p->n_dims = 2;
    p->dims[0] = s[1];
    p->dims[1] = c[0] < UINT64_C(1) << 40 ? is_gptq ? c[0] * per_word : c[0] : 0;
    p->n_groups = s[0];
    if (z[0] != s[0] || s[1] % per_word || z[1] != s[1] / per_word || s[0] == 0 ||
        s[0] > p->dims[1] || (!is_gptq && c[1] != z[1]))
        return does_not_fit(u, scales, err);
    const int64_t index = is_gptq ? find(u, stem, ".g_idx") : -1;
    if (index >= 0) {
        if (!is_of(u, index, TARE_ENCODING_I32) || tensor(u, index)->n_elements != p->dims[1])
            return does_not_fit(u, index, err);
        p->parts[TARE_CODED_INDEX] = index;
    }
    if (is_gptq) TARE_TRY(read_zero_form(&p->adds_one, u, zeros, p->bits, err));
    p->rows = is_gptq ? tare_llama_read_gptq : tare_llama_read_awq;
    return finish(u, p, is_gptq ? "gptq" : "awq", err);
}

/* ---- compressed-tensors ------------------------------------------------------------------------ */

/* weight_shape: two whole numbers. */
static tare_status read_shape(uint64_t *dims, const tare_llama_coded_search *u, int64_t i,
                              tare_error *err) {
    uint8_t bytes[16];
    const tare_encoding_id id = tensor(u, i)->encoding->id;
    if (tensor(u, i)->n_elements != 2 || (id != TARE_ENCODING_I64 && id != TARE_ENCODING_I32))
        return does_not_fit(u, i, err);
    const size_t width = id == TARE_ENCODING_I64 ? 8 : 4;
    TARE_TRY(tare_tensor_read(u->in, (size_t)i, 0, 0, bytes, 2 * width, err));
    for (size_t d = 0; d < 2; d++)
        dims[d] = width == 8 ? tare_load_le64(bytes + 8 * d) : tare_load_le32(bytes + 4 * d);
    return dims[0] - 1 < UINT64_C(1) << 40 && dims[1] - 1 < UINT64_C(1) << 40
               ? TARE_OK
               : does_not_fit(u, i, err);
}

/* What config_groups says of the weights of its first group. */
static const tare_json_node *group_weights(const tare_llama_coded_search *u) {
    const tare_json_node *groups = tare_json_member(u->settings, TARE_STR("config_groups"));
    return tare_json_member(groups ? groups->child : NULL, TARE_STR("weights"));
}

static tare_status add_packed(tare_llama_coded_search *u, tare_str stem, size_t codes,
                              tare_error *err) {
    tare_llama_coded *p = new_weight(u, stem, ".weight", err);
    if (!p) return TARE_ERR_NOMEM;
    const int64_t shape = find(u, stem, ".weight_shape"), scales = find(u, stem, ".weight_scale");
    const int64_t zeros = find(u, stem, ".weight_zero_point"),
                  index = find(u, stem, ".weight_g_idx");
    uint64_t bits;
    if (scales < 0) return does_not_fit(u, (int64_t)codes, err);
    TARE_TRY(read_shape(p->dims, u, shape, err));
    if (!tare_json_node_u64(tare_json_member(group_weights(u), TARE_STR("num_bits")), &bits))
        bits = 4;
    if (bits != 2 && bits != 4 && bits != 8)
        return fail_tensor(u, codes, TARE_ERR_UNSUPPORTED, "codes of this many bits", err);
    const uint64_t per_word = 32 / bits;
    p->bits = (uint32_t)bits;
    p->n_dims = 2;
    p->n_groups = tensor(u, scales)->n_elements / p->dims[0];
    if (!is_of(u, (int64_t)codes, TARE_ENCODING_I32) || p->n_groups == 0 ||
        p->n_groups > p->dims[1] || tensor(u, scales)->n_elements != p->n_groups * p->dims[0] ||
        tensor(u, (int64_t)codes)->n_elements !=
            p->dims[0] * tare_ceil_div_u64(p->dims[1], per_word))
        return does_not_fit(u, (int64_t)codes, err);
    if (zeros >= 0 &&
        (!is_of(u, zeros, TARE_ENCODING_I32) ||
         tensor(u, zeros)->n_elements != tare_ceil_div_u64(p->dims[0], per_word) * p->n_groups))
        return does_not_fit(u, zeros, err);
    if (index >= 0 &&
        (!is_of(u, index, TARE_ENCODING_I32) || tensor(u, index)->n_elements != p->dims[1]))
        return does_not_fit(u, index, err);
    p->parts[TARE_CODED_CODES] = (int64_t)codes;
    p->parts[TARE_CODED_SCALES] = scales;
    p->parts[TARE_CODED_ZEROS] = zeros;
    p->parts[TARE_CODED_INDEX] = index;
    p->rows = tare_llama_read_packed;
    u->is_dropped[shape] = true;
    return finish(u, p, "compressed-tensors", err);
}

/* Whole numbers of 8 bits with a factor for each row, or for all. */
static tare_status add_scaled(tare_llama_coded_search *u, size_t codes, int64_t scales,
                              bool is_bitsandbytes, tare_error *err) {
    const tare_tensor *t = tensor(u, (int64_t)codes);
    tare_llama_coded *p = new_weight(u, t->name, "", err);
    if (!p) return TARE_ERR_NOMEM;
    if (t->n_dims != 2 ||
        (tensor(u, scales)->n_elements != 1 && tensor(u, scales)->n_elements != t->dims[0]))
        return does_not_fit(u, scales, err);
    p->n_dims = 2;
    memcpy(p->dims, t->dims, 2 * sizeof *t->dims);
    p->parts[TARE_CODED_CODES] = (int64_t)codes;
    p->parts[TARE_CODED_SCALES] = scales;
    p->divides = is_bitsandbytes;
    p->rows = tare_llama_read_scaled;
    return finish(u, p, is_bitsandbytes ? "bitsandbytes" : "compressed-tensors", err);
}

/* ---- bitsandbytes, 4 bits ---------------------------------------------------------------------- */

static tare_status read_state(const tare_json_node **out, const tare_llama_coded_search *u,
                              int64_t i, tare_error *err) {
    const tare_tensor *t = tensor(u, i);
    if (t->encoding->id != TARE_ENCODING_U8 || t->n_elements > MOST_STATE)
        return does_not_fit(u, i, err);
    char *text = tare_arena_take(u->arena, (size_t)t->n_elements + 1);
    if (!text) return tare_fail(err, TARE_ERR_NOMEM, "packed weights");
    TARE_TRY(tare_tensor_read(u->in, (size_t)i, 0, 0, text, (size_t)t->n_elements, err));
    if (tare_json_tree(out, (tare_str){text, (size_t)t->n_elements}, u->arena, NULL) != TARE_OK)
        return fail_tensor(u, (size_t)i, TARE_ERR_CORRUPT, "its bytes are no JSON", err);
    return TARE_OK;
}

static tare_status add_flat4(tare_llama_coded_search *u, tare_str stem, int64_t scales,
                             tare_error *err) {
    const int64_t codes = find(u, stem, ""), table = find(u, stem, ".quant_map");
    int64_t state = find(u, stem, ".quant_state.bitsandbytes__nf4");
    const tare_json_node *root;
    uint64_t n = 1;
    tare_llama_coded *p = new_weight(u, stem, "", err);
    if (!p) return TARE_ERR_NOMEM;
    if (state < 0) state = find(u, stem, ".quant_state.bitsandbytes__fp4");
    if (codes < 0 || table < 0 || state < 0) return does_not_fit(u, scales, err);
    TARE_TRY(read_state(&root, u, state, err));
    const tare_json_node *shape = tare_json_member(root, TARE_STR("shape"));
    for (const tare_json_node *d = shape ? shape->child : NULL; d && p->n_dims < 4; d = d->next)
        if (!tare_json_node_u64(d, &p->dims[p->n_dims++]) || p->dims[p->n_dims - 1] == 0 ||
            !tare_mul_u64(n, p->dims[p->n_dims - 1], &n))
            return does_not_fit(u, state, err);
    if (!tare_json_node_u64(tare_json_member(root, TARE_STR("blocksize")), &p->block))
        p->block = 64;
    if (p->n_dims == 0 || p->block < 2 || p->block % 2 || p->block > UINT64_C(1) << 24 ||
        tensor(u, codes)->n_elements != tare_ceil_div_u64(n, 2) ||
        tensor(u, scales)->n_elements != tare_ceil_div_u64(n, p->block) ||
        tensor(u, table)->n_elements != 16 || !is_of(u, codes, TARE_ENCODING_U8))
        return does_not_fit(u, codes, err);
    p->parts[TARE_CODED_CODES] = codes;
    p->parts[TARE_CODED_SCALES] = scales;
    p->parts[TARE_CODED_TABLE] = table;
    u->is_dropped[state] = true;
    if (is_of(u, scales, TARE_ENCODING_U8)) {
        const int64_t outer = find(u, stem, ".nested_absmax");
        const int64_t outer_table = find(u, stem, ".nested_quant_map");
        const tare_json_node *offset = tare_json_member(root, TARE_STR("nested_offset"));
        double number = 0;
        const tare_json_value v = {.type = TARE_JSON_NUMBER,
                                   .raw = offset ? offset->text : TARE_STR("0")};
        if (!tare_json_node_u64(tare_json_member(root, TARE_STR("nested_blocksize")),
                                &p->nested_block))
            p->nested_block = 256;
        if (outer < 0 || outer_table < 0 || p->nested_block == 0 || !tare_json_f64(&v, &number) ||
            tensor(u, outer_table)->n_elements != 256 ||
            tensor(u, outer)->n_elements !=
                tare_ceil_div_u64(tensor(u, scales)->n_elements, p->nested_block))
            return does_not_fit(u, scales, err);
        p->parts[TARE_CODED_NESTED_SCALES] = outer;
        p->parts[TARE_CODED_NESTED_TABLE] = outer_table;
        p->nested_offset = (float)number;
    }
    p->rows = tare_llama_read_flat4;
    return finish(u, p, "bitsandbytes", err);
}

/* ---- BitNet, NVFP4, MXFP4 ---------------------------------------------------------------------- */

static tare_status add_ternary(tare_llama_coded_search *u, size_t codes, int64_t scales,
                               tare_error *err) {
    const tare_tensor *t = tensor(u, (int64_t)codes);
    tare_llama_coded *p = new_weight(u, t->name, "", err);
    if (!p) return TARE_ERR_NOMEM;
    if (t->n_dims != 2 || t->dims[0] > UINT64_C(1) << 40 || tensor(u, scales)->n_elements != 1)
        return does_not_fit(u, scales, err);
    p->n_dims = 2;
    p->dims[0] = 4 * t->dims[0];
    p->dims[1] = t->dims[1];
    p->parts[TARE_CODED_CODES] = (int64_t)codes;
    p->parts[TARE_CODED_SCALES] = scales;
    p->divides = !setting_is(u, "linear_class", "autobitlinear");
    p->rows = tare_llama_read_ternary;
    return finish(u, p, "bitnet", err);
}

static tare_status add_nvfp4(tare_llama_coded_search *u, tare_str stem, size_t codes,
                             const char *factor_name, tare_error *err) {
    const tare_tensor *t = tensor(u, (int64_t)codes);
    tare_llama_coded *p = new_weight(u, stem, ".weight", err);
    if (!p) return TARE_ERR_NOMEM;
    const int64_t scales = find(u, stem, ".weight_scale"), factor = find(u, stem, factor_name);
    if (t->n_dims != 2 || t->encoding->id != TARE_ENCODING_U8 || t->dims[1] % 8 || scales < 0 ||
        factor < 0 || !is_of(u, scales, TARE_ENCODING_F8_E4M3) ||
        tensor(u, factor)->n_elements != 1 || tensor(u, scales)->n_elements != t->n_elements / 8)
        return does_not_fit(u, (int64_t)codes, err);
    p->n_dims = 2;
    p->dims[0] = t->dims[0];
    p->dims[1] = 2 * t->dims[1];
    p->parts[TARE_CODED_CODES] = (int64_t)codes;
    p->parts[TARE_CODED_SCALES] = scales;
    p->parts[TARE_CODED_FACTOR] = factor;
    p->divides = strcmp(factor_name, ".weight_global_scale") == 0;
    p->rows = tare_llama_read_nvfp4;
    return finish(u, p, "nvfp4", err);
}

/* One weight of the codes' rows first, first + step, ..; gpt-oss has those of gate and up in turns. */
static tare_status add_mxfp4(tare_llama_coded_search *u, tare_str stem, const char *suffix,
                             size_t codes, int64_t scales, uint64_t first, uint64_t step,
                             tare_error *err) {
    const tare_tensor *t = tensor(u, (int64_t)codes);
    tare_llama_coded *p = new_weight(u, stem, suffix, err);
    if (!p) return TARE_ERR_NOMEM;
    const uint32_t n = t->n_dims;
    if (n < 3 || n > 5 || t->dims[n - 1] != 16 || t->dims[n - 2] > UINT64_C(1) << 40 ||
        t->dims[n - 3] == 0 || t->dims[n - 3] % step ||
        tensor(u, scales)->n_elements != t->n_elements / 16)
        return does_not_fit(u, scales, err);
    p->n_dims = n - 1;
    memcpy(p->dims, t->dims, (n - 1) * sizeof *t->dims);
    p->dims[n - 2] *= 32;
    p->dims[n - 3] /= step;
    p->turn = t->dims[n - 3];
    p->first = first;
    p->step = step;
    p->encoding = tare_encoding_get(TARE_ENCODING_MXFP4);
    p->parts[TARE_CODED_CODES] = (int64_t)codes;
    p->parts[TARE_CODED_SCALES] = scales;
    p->rows = tare_llama_read_mxfp4;
    return finish(u, p, "mxfp4", err);
}

/* ---- all of them ------------------------------------------------------------------------------- */

static bool cut(tare_str *stem, const char *suffix) {
    tare_str end = tare_str_of(suffix);
    if (!tare_str_ends(*stem, end)) return false;
    stem->len -= end.len;
    return true;
}

/* Scales of activations or of a cache, and what only describes the codes. */
static bool is_unused(tare_str name) {
    return tare_is_activation_scale(name) || tare_str_ends(name, TARE_STR(".weight_format"));
}

static tare_status find_with_scale(tare_llama_coded_search *u, tare_str stem, size_t scales,
                                   tare_error *err) {
    const int64_t codes = find(u, stem, ".weight");
    if (is_of(u, codes, TARE_ENCODING_I8))
        return add_scaled(u, (size_t)codes, (int64_t)scales, false, err);
    if (!is_of(u, codes, TARE_ENCODING_U8)) return TARE_OK; /* FP8 is decoded with its scales */
    if (find(u, stem, ".weight_scale_2") >= 0)
        return add_nvfp4(u, stem, (size_t)codes, ".weight_scale_2", err);
    return add_ternary(u, (size_t)codes, (int64_t)scales, err);
}

static tare_status find_at(tare_llama_coded_search *u, size_t i, tare_error *err) {
    tare_str stem = tensor(u, (int64_t)i)->name;
    if (is_unused(stem)) u->is_dropped[i] = true;
    if (cut(&stem, ".qweight")) return add_transposed(u, stem, i, err);
    if (cut(&stem, ".weight_packed"))
        return find(u, stem, ".weight_shape") >= 0
                   ? add_packed(u, stem, i, err)
                   : add_nvfp4(u, stem, i, ".weight_global_scale", err);
    if (cut(&stem, ".weight_scale")) return find_with_scale(u, stem, i, err);
    if (cut(&stem, ".SCB")) {
        const int64_t codes = find(u, stem, ".weight");
        if (is_of(u, codes, TARE_ENCODING_I8))
            return add_scaled(u, (size_t)codes, (int64_t)i, true, err);
    }
    if (cut(&stem, ".scales") && is_words(u, find(u, stem, ".weight")))
        return fail_tensor(u, i, TARE_ERR_UNSUPPORTED,
                           "packed as MLX does it, which is not decoded: convert the model that it "
                           "was made of",
                           err);
    if (cut(&stem, ".absmax")) return add_flat4(u, stem, (int64_t)i, err);
    if (!cut(&stem, "_blocks")) return TARE_OK;
    const int64_t scales = find(u, stem, "_scales");
    if (!is_of(u, (int64_t)i, TARE_ENCODING_U8) || !is_of(u, scales, TARE_ENCODING_U8))
        return TARE_OK;
    if (!cut(&stem, "gate_up_proj")) return add_mxfp4(u, stem, ".weight", i, scales, 0, 1, err);
    TARE_TRY(add_mxfp4(u, stem, "gate_proj.weight", i, scales, 0, 2, err));
    return add_mxfp4(u, stem, "up_proj.weight", i, scales, 1, 2, err);
}

tare_status tare_llama_find_coded(tare_llama_coded_search *u, tare_error *err) {
    for (size_t i = 0; i < u->in->catalog.n_tensors; i++) TARE_TRY(find_at(u, i, err));
    return TARE_OK;
}
