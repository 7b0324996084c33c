/* SPDX-License-Identifier: MIT
 *
 * Biases that llama.cpp's loader asks for. A model whose linear layers have none computes the same with
 * zeros; a model that has lost one of them, or that of a norm, is none such. */
#include <stdio.h>

#include "base/arith.h"
#include "base/str.h"
#include "llama/mapping.h"
#include "llama/needed.h"
#include "llama/size_rules.h"

#define WITH_BIASES "bloom codeshell gpt2 gptneox jais jais2 phi2 starcoder starcoder2 "
/* Tensors, and the architectures where a bias must stand beside the weight. */
static const struct {
    const char *words, *archs;
} rows[] = {
    {"attn_norm output_norm", WITH_BIASES "falcon nemotron orion phimoe rwkv6 rwkv7 stablelm"},
    {"ffn_norm",
     "bloom codeshell gpt2 gptneox jais jais2 nemotron orion phimoe starcoder starcoder2"},
    {"attn_output", WITH_BIASES "gpt-oss jina-bert-v2 pangu-embedded phimoe"},
    {"attn_qkv", "bloom gpt2 gptneox jais qwen starcoder"},
    {"ffn_down", WITH_BIASES "jina-bert-v2"},
    {"ffn_up", WITH_BIASES},
    {"ffn_gate", "jais"},
    {"ffn_gate_inp ffn_gate_exps ffn_down_exps ffn_up_exps", "gpt-oss"},
    {"output", "phi2 phimoe"},
    {"token_embd_norm",
     "bert bloom jina-bert-v2 jina-bert-v3 nomic-bert nomic-bert-moe rwkv6 rwkv7"},
    {"attn_output_norm layer_output_norm",
     "bert jina-bert-v2 jina-bert-v3 nomic-bert nomic-bert-moe"},
    {"attn_norm_2 time_mix_ln", "rwkv6 rwkv7"},
    {"ssm_conv1d", "falcon-h1 granitehybrid jamba mamba mamba2 nemotron_h nemotron_h_moe"},
};

bool tare_llama_needs_bias(const char *architecture, tare_str word) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (tare_llama_is_one_of(word, rows[i].words))
            return tare_llama_is_one_of(tare_str_of(architecture), rows[i].archs);
    return false;
}

/* "attn_q" of "blk.3.attn_q.weight"; empty: it is no weight. */
static tare_str word_of(char *stem, size_t size, tare_str name) {
    uint64_t block;
    bool is_in_block;
    if (!tare_str_ends(name, TARE_STR(".weight"))) return TARE_STR("");
    name.len -= 7;
    tare_llama_stem(stem, size, &block, &is_in_block, name);
    return tare_str_of(is_in_block ? stem + strlen("blk.#.") : stem);
}

/* Whether the model has a bias of this word, in any block. */
static bool has_any(const tare_llama_mapping *m, tare_str word) {
    char end[96];
    snprintf(end, sizeof end, ".%.*s.bias", (int)word.len, word.ptr);
    for (size_t i = 0; i < m->n_targets; i++)
        if (!m->targets[i]->bytes && (tare_str_ends(m->targets[i]->name, tare_str_of(end)) ||
                                      tare_str_is(m->targets[i]->name, end + 1)))
            return true;
    return false;
}

/* Biases that config.json speaks of are lost; those of a class without them are zeros. */
static tare_status check_lost(const tare_llama_mapping *m, tare_str word, tare_error *err) {
#define SAYS_SO "use_bias | bias | attention_bias | false, 1, 0)"
    double has_biases;
    const bool is_ffn = tare_str_starts(word, TARE_STR("ffn_"));
    if (!tare_str_starts(word, TARE_STR("attn_")) && !is_ffn) return TARE_OK;
    TARE_TRY(tare_llama_number(&has_biases, m, is_ffn ? "if(mlp_bias | " SAYS_SO : "if(" SAYS_SO, 0,
                               err));
    if (!(has_biases > 0)) return TARE_OK;
    tare_fail(err, TARE_ERR_CORRUPT, "config.json says that there are biases: these are missing");
    tare_error_detail(err, "%.*s.bias", (int)tare_min_u64(word.len, 60), word.ptr);
    return TARE_ERR_CORRUPT;
}

/* Zeros for each row of a weight, of all experts, where its bias is not there. */
static tare_status add_beside(tare_llama_mapping *m, const tare_llama_target *weight,
                              tare_error *err) {
    char text[160];
    const tare_str word = word_of(text, sizeof text, weight->name);
    if (!word.len || tare_str_ends(word, TARE_STR("norm")) ||
        !tare_llama_needs_bias(m->arch->name, word) || has_any(m, word))
        return TARE_OK;
    TARE_TRY(check_lost(m, word, err));
    snprintf(text, sizeof text, "%.*s.bias", (int)weight->name.len - 7, weight->name.ptr);
    const tare_str name = tare_arena_str(&m->out->arena, tare_str_of(text));
    if (!name.ptr) return tare_fail(err, TARE_ERR_NOMEM, "biases");
    const size_t experts = weight->n_dims == 3 ? (size_t)weight->dims[0] : 0;
    const size_t n = (size_t)weight->dims[experts ? 1 : 0];
    float *zeros = TARE_NEW_ARRAY(&m->out->arena, float, (experts ? experts : 1) * n);
    if (!zeros) return tare_fail(err, TARE_ERR_NOMEM, "biases");
    const uint64_t dims[] = {experts, n};
    return experts ? tare_llama_generate_shaped(m, name.ptr, zeros, dims, 2, err)
                   : tare_llama_generate(m, name.ptr, zeros, n, err);
}

/* What the choice of experts adds to their scores, where config.json says that it adds nothing. */
static tare_status add_choice(tare_llama_mapping *m, const tare_llama_target *router,
                              tare_error *err) {
    static const char archs[] = "afmoe glm4moe kimi-linear laguna lfm2moe minimax-m2 minimax-m3";
    char text[160];
    double has_choice;
    if (!tare_str_is(word_of(text, sizeof text, router->name), "ffn_gate_inp") ||
        !tare_llama_is_one_of(tare_str_of(m->arch->name), archs) ||
        has_any(m, TARE_STR("exp_probs_b")))
        return TARE_OK;
    TARE_TRY(tare_llama_number(&has_choice, m,
                               "if(use_expert_bias | use_routing_bias | true, 1, 0)", 1, err));
    if (has_choice > 0) return TARE_OK;
    snprintf(text, sizeof text, "%.*sexp_probs_b.bias",
             (int)(router->name.len - TARE_STR("ffn_gate_inp.weight").len), router->name.ptr);
    const tare_str name = tare_arena_str(&m->out->arena, tare_str_of(text));
    float *zeros = TARE_NEW_ARRAY(&m->out->arena, float, (size_t)router->dims[0]);
    if (!name.ptr || !zeros) return tare_fail(err, TARE_ERR_NOMEM, "biases");
    return tare_llama_generate(m, name.ptr, zeros, (size_t)router->dims[0], err);
}

tare_status tare_llama_add_biases(tare_llama_mapping *m, tare_error *err) {
    for (size_t i = m->n_targets; i-- > 0 && !m->is_rehearsal;) {
        TARE_TRY(add_beside(m, m->targets[i], err));
        TARE_TRY(add_choice(m, m->targets[i], err));
    }
    return TARE_OK;
}
