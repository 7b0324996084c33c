/* SPDX-License-Identifier: MIT
 *
 * Whether tensors have the shapes that llama.cpp's loader asks for: sizes by the keys, vectors beside the
 * matrices that they belong to. */
#include <stdio.h>

#include "base/arith.h"
#include "base/str.h"
#include "llama/loader.h"
#include "llama/size_rules.h"
#include "llama/tensor_names.h"

static bool no(tare_error *why, tare_str name, const char *what) {
    tare_fail(why, TARE_ERR_UNSUPPORTED, what);
    tare_error_item(why, TARE_ITEM_TENSOR, -1, name);
    return false;
}

#define B(x) "blk.#." x ".weight "

/* ---- sizes by keys --------------------------------------------------------------------------- */

typedef tare_llama_numbers sized;

/* Whether a size differs because a key is missing, which then is what is named. */
static bool is_of_missing(const sized *s, const tare_tensor *t, tare_error *why) {
    char key[160];
    if (!s->missing[0]) return false;
    snprintf(key, sizeof key, "%.*s.%s", (int)tare_min_u64(s->architecture.len, 64),
             s->architecture.ptr, s->missing);
    tare_fail(why, TARE_ERR_UNSUPPORTED, "it is missing");
    tare_error_item(why, TARE_ITEM_KEY, -1, tare_str_of(key));
    tare_error_detail(why, "%.*s has a size by it", (int)tare_min_u64(t->name.len, 64),
                      t->name.ptr);
    return true;
}

/* "enc.blk.3.attn_q.weight" -> "blk.#.attn_q.weight" and 3: both sides have the same sizes. */
static const char *stem_of(char *text, size_t size, uint64_t *block, tare_str name) {
    bool is_in_block;
    tare_llama_stem(text, size, block, &is_in_block, name);
    return is_in_block ? text + strlen(tare_llama_side_of(tare_str_of(text))) : text;
}

/* Its shape is what the keys say. */
static bool has_shape(const sized *s, const tare_tensor *t, tare_error *why) {
    char text[128];
    uint64_t block, count, factor;
    const char *stem = stem_of(text, sizeof text, &block, t->name);
    for (const tare_llama_size_rule *r = tare_llama_size_rules; r->tensors; r++) {
        s->missing[0] = '\0';
        if (!tare_llama_size_applies(r, stem, s->architecture) || t->n_dims <= r->dim ||
            !tare_llama_size_expected(&count, &factor, r, block, tare_llama_loader_number, s))
            continue;
        const uint64_t is = t->dims[t->n_dims - 1 - r->dim];
        if (tare_llama_size_is(r, count, factor, is, s->architecture)) continue;
        if (is_of_missing(s, t, why)) return false;
        no(why, t->name, "its shape is not what the keys say");
        tare_llama_size_differs(why, r, tare_str_of(r->key), count, factor, is);
        return false;
    }
    return true;
}

static const tare_tensor *beside(const sized *s, tare_str name, const char *word);

/* Whether it is none of the sizes that a rule allows; *sum: the last of them. */
static bool is_other_size(uint64_t *sum, const sized *s, const tare_llama_loader_size *r,
                          uint64_t block, uint64_t is) {
    for (const char *keys = r->sum; *keys;)
        if (!tare_llama_size_sum(sum, &keys, block, tare_llama_loader_number, s) || *sum == is)
            return false;
    return true;
}

/* So is what the loader alone has a size for. */
static bool has_loader_size(const sized *s, const tare_tensor *t, tare_error *why) {
    char text[128];
    uint64_t block, sum;
    const char *stem = stem_of(text, sizeof text, &block, t->name);
    for (const tare_llama_loader_size *r = tare_llama_loader_sizes; r->sum; r++) {
        const uint64_t is = t->n_dims > r->dim ? t->dims[t->n_dims - 1 - r->dim] : 1;
        s->missing[0] = '\0';
        if (!tare_llama_is_among(s->architecture, r->only) ||
            !tare_llama_is_one_of(tare_str_of(stem), r->tensors) ||
            (r->beside && !beside(s, t->name, r->beside)) || !is_other_size(&sum, s, r, block, is))
            continue;
        if (is_of_missing(s, t, why)) return false;
        no(why, t->name, "its shape is not what the keys say");
        tare_error_detail(why, "the shape has %llu, not %llu: %s", (unsigned long long)is,
                          (unsigned long long)sum, r->sum);
        return false;
    }
    return true;
}

/* How many dimensions a tensor has that are more than 1, where its suffix does not tell. */
static const struct {
    uint32_t n;
    const char *archs, *stems;
} ranks[] = {
    {4, NULL, B("time_mix_lerp_fused")},
    {3, "rwkv6 rwkv6qwen2", B("time_mix_w2")},
    {3, NULL, B("attn_k_b") B("attn_v_b") B("ssm_conv1d_q") B("ssm_conv1d_k") B("ssm_conv1d_v")},
    {3, NULL, "altup_proj.weight altup_unembd_proj.weight"},
    {2, "chameleon command-r plamo2 stablelm talkie",
     B("attn_q_norm") B("attn_k_norm") "blk.#.attn_q_norm.bias blk.#.attn_k_norm.bias"},
    {2, TARE_LLAMA_MAMBA_2, B("ssm_norm") "blk.#.ssm_d"},
    {2, TARE_LLAMA_MAMBA_2 " bailingmoe3 jamba kimi-linear mamba", "blk.#.ssm_a"},
    {2, NULL, "blk.#.ffn_gate_exps.bias blk.#.ffn_up_exps.bias blk.#.ffn_down_exps.bias"},
    {1, NULL, B("ffn_norm_exps") B("attn_sinks") B("attn_norm_2") B("ffn_gate_inp_shexp")},
    {1, NULL, B("layer_output_scale") B("attn_res_score") B("ffn_res_score")},
    {1, NULL, B("hc_attn_base") B("hc_attn_scale") B("hc_ffn_base") B("hc_ffn_scale")},
    {1, NULL, B("time_mix_decay") B("time_mix_lerp_x") B("time_mix_ln") B("time_mix_w0")},
    {1, NULL, B("time_mix_a0") B("time_mix_v0") B("time_mix_k_a") B("time_mix_k_k")},
    {1, NULL, B("time_mix_r_k") B("channel_mix_lerp_k") B("channel_mix_lerp_r")},
    {1, NULL, B("altup_correct_scale") "output_hc_base.weight output_hc_scale.weight"},
    {1, NULL, "output_res_score.weight hrm.z_l_init blk.#.exp_probs_b blk.#.ssm_a blk.#.ssm_d"},
};

static uint32_t rank_of(tare_str stem, tare_str architecture) {
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++)
        if (tare_llama_is_one_of(stem, ranks[i].stems) &&
            tare_llama_is_among(architecture, ranks[i].archs))
            return ranks[i].n;
    if (tare_str_ends(stem, TARE_STR("exps.weight")) || tare_str_ends(stem, TARE_STR(".lora_a")) ||
        tare_str_ends(stem, TARE_STR(".lora_b")))
        return 3;
    const bool is_vector =
        tare_str_ends(stem, TARE_STR(".bias")) || tare_str_ends(stem, TARE_STR("norm.weight")) ||
        tare_str_ends(stem, TARE_STR("norm")) || tare_str_ends(stem, TARE_STR("scale"));
    if (!is_vector && !tare_str_ends(stem, TARE_STR(".weight"))) return TARE_MAX_DIMS;
    return is_vector ? 1 : 2;
}

static bool has_rank(const sized *s, const tare_tensor *t, tare_error *why) {
    char text[128];
    uint64_t block;
    uint32_t n = t->n_dims;
    const char *stem = stem_of(text, sizeof text, &block, t->name);
    while (n > 1 && t->dims[t->n_dims - n] == 1) n--;
    if (n <= rank_of(tare_str_of(stem), s->architecture)) return true;
    return no(why, t->name, "it has more dimensions than llama.cpp's tensor of this name");
}

/* Factors of rotary positions: one for each pair of what turns of a head, or of all of it. */
static bool has_factors(const sized *s, const tare_tensor *t, tare_error *why) {
    static const char names[] =
        "rope_factors_long.weight rope_factors_short.weight rope_freqs.weight";
    const char *key =
        tare_str_is(s->architecture, "gemma4") ? "attention.key_length" : "rope.dimension_count";
    uint64_t turned;
    if (!tare_llama_is_one_of(t->name, names) ||
        !tare_llama_loader_number(&turned, s, key, TARE_LLAMA_OF_MODEL) ||
        t->n_elements == turned / 2)
        return true;
    no(why, t->name, "it needs a factor for every two rotated elements of a head");
    tare_error_detail(why, "%llu for %llu", (unsigned long long)t->n_elements,
                      (unsigned long long)turned);
    return false;
}

/* ---- vectors beside matrices ------------------------------------------------------------------- */

/* The tensor "blk.3.WORD.weight" in the block of another one. */
static const tare_tensor *beside(const sized *s, tare_str name, const char *word) {
    char other[160];
    size_t lead = name.len, n_dots = 0;
    while (lead > 0 && (name.ptr[lead - 1] != '.' || ++n_dots < 2)) lead--;
    snprintf(other, sizeof other, "%.*s%s.weight", (int)tare_min_u64(lead, 64), name.ptr, word);
    const int64_t i = tare_model_find_tensor(s->gguf, tare_str_of(other));
    return i < 0 ? NULL : &s->gguf->catalog.tensors[i];
}

static bool has_elements(const tare_tensor *t, uint64_t wanted, tare_error *why) {
    if (t->n_elements == wanted) return true;
    no(why, t->name, "it needs an element for each row of its matrix");
    tare_error_detail(why, "%llu for %llu", (unsigned long long)t->n_elements,
                      (unsigned long long)wanted);
    return false;
}

/* A bias has an element for each row of its weight, or for each of its norm. */
static bool has_bias_of_weight(const sized *s, const tare_tensor *t, tare_error *why) {
    const tare_str end = TARE_STR(".bias");
    char name[160];
    if (!tare_str_ends(t->name, end)) return true;
    snprintf(name, sizeof name, "%.*s.weight", (int)tare_min_u64(t->name.len - end.len, 128),
             t->name.ptr);
    const int64_t i = tare_model_find_tensor(s->gguf, tare_str_of(name));
    const tare_tensor *weight = i < 0 ? NULL : &s->gguf->catalog.tensors[i];
    const bool is_of_norm = weight && (weight->n_dims == 1 || weight->n_elements == t->n_elements);
    return !weight || has_elements(t, is_of_norm ? weight->n_elements : weight->n_rows, why);
}

/* A norm of queries or keys is one of a head; here of all of them. */
static const char joint_norms[] = "jina-bert-v2 minimax-m2 mpt olmo2 olmoe";

static bool has_norm_of_heads(const sized *s, const tare_tensor *t, tare_error *why) {
    static const struct {
        const char *stem, *matrix, *heads;
    } norms[] = {{"blk.#.attn_q_norm.weight", "attn_q", "attention.head_count"},
                 {"blk.#.attn_k_norm.weight", "attn_k", "attention.head_count_kv"}};
    char stem[128];
    uint64_t block, heads;
    bool is_in_block;
    tare_llama_stem(stem, sizeof stem, &block, &is_in_block, t->name);
    for (size_t i = 0; i < 2; i++) {
        if (strcmp(stem, norms[i].stem) != 0 || t->n_dims != 1) continue;
        const tare_tensor *matrix = beside(s, t->name, norms[i].matrix);
        if (!matrix || !t->n_elements ||
            !tare_llama_loader_number(&heads, s, norms[i].heads, block))
            return true;
        if (i == 0 && tare_llama_is_one_of(s->architecture, TARE_LLAMA_GATED_QUERIES)) heads *= 2;
        if (tare_llama_is_one_of(s->architecture, joint_norms)) heads = 1;
        return !heads || has_elements(t, matrix->n_rows / heads, why);
    }
    return true;
}

bool tare_llama_shapes_load(const tare_model *gguf, tare_str architecture, tare_error *why) {
    char missing[TARE_LLAMA_MOST_KEY] = "";
    const sized s = {gguf, architecture, missing};
    const tare_catalog *c = &gguf->catalog;
    for (size_t i = 0; i < c->n_tensors; i++) {
        const tare_tensor *t = &c->tensors[i];
        if (!has_factors(&s, t, why)) return false;
        if (tare_llama_is_one_of(architecture, TARE_LLAMA_OTHER_BLOCKS)) continue;
        if (!has_rank(&s, t, why) || !has_shape(&s, t, why) || !has_loader_size(&s, t, why) ||
            !has_bias_of_weight(&s, t, why) || !has_norm_of_heads(&s, t, why))
            return false;
    }
    return true;
}
