/* SPDX-License-Identifier: MIT
 *
 * Tensors that the class or config.json says a model has, and that llama.cpp runs without: then it computes
 * something else. What it does not run without, its verdict names. */
#include <stdio.h>

#include "base/report.h"
#include "base/str.h"
#include "llama/mapping.h"
#include "llama/size_rules.h"
#include "llama/tower.h"

#define ALWAYS "1"
#define NORMS  "attn_q_norm.weight attn_k_norm.weight"

/* Names of a block: each that has `beside` has these, where the formula is above 0. `beside` NULL: of the model. */
static const struct {
    const char *archs, *words, *beside, *formula, *member;
} rows[] = {
    {"glm4moe", NORMS, "attn_q.weight", "if(use_qk_norm | false, 1, 0)", "use_qk_norm"},
    {"stablelm", NORMS, "attn_q.weight", "if(qk_layernorm | false, 1, 0)", "qk_layernorm"},
    {"stablelm", "ffn_norm.weight", "attn_q.weight", "if(use_parallel_residual | false, 0, 1)",
     "use_parallel_residual"},
    {"falcon", "attn_norm_2.weight", "attn_qkv.weight",
     "if(new_decoder_architecture | false, if(num_ln_in_parallel_attn, "
     "if(num_ln_in_parallel_attn == 2, 1, 0), 1), 0)",
     "new_decoder_architecture"},
    {"step35", NORMS, "attn_q.weight", "if(use_qk_norm | true, 1, 0)", "use_qk_norm"},
    {"step35", "attn_gate.weight", "attn_q.weight", "if(use_head_wise_attn_gate | false, 1, 0)",
     "use_head_wise_attn_gate"},
    {"t5 t5encoder", "ffn_gate.weight", "ffn_up.weight",
     "if(one_of(feed_forward_proj | 'relu', 'gated-gelu gated-silu gated-relu'), 1, 0)",
     "feed_forward_proj"},
    {"gemma4", "attn_v.weight", "attn_k.weight", "if(attention_k_eq_v | false, 0, 1)",
     "attention_k_eq_v"},
    {"gemma4", "ffn_down_exps.scale", "ffn_down_exps.weight", ALWAYS, "enable_moe_block"},
    {"talkie", "attn_output.scale", "attn_output.weight", ALWAYS, "architectures"},
    {"talkie", "ffn_down.scale", "ffn_down.weight", ALWAYS, "architectures"},
    {"grok", "ffn_gate.weight ffn_up.weight", "ffn_down.weight", ALWAYS, "intermediate_size"},
    {"bert nomic-bert nomic-bert-moe jina-bert-v3", "token_types.weight", NULL,
     "if(model_type == 'distilbert', 0, if((type_vocab_size | 0) > 0, 1, 0))", "type_vocab_size"},
};

/* What the blocks of an encoder have, and what stands before and behind them: names, or what they begin with where
 * '*' is behind; of names with '|' between one is enough. `but`: by projector, where other tensors do it. */
static const struct {
    const char *blocks, *words, *but;
} of_towers[] = {
    {"v.blk.#.", "v.blk.#.ln1.weight", NULL},
    {"v.blk.#.", "v.patch_embd.weight|v.patch_embd.weight.1", "deepseekocr2"},
    {"v.blk.#.", "mm.*", "granite4_vision"},
    {"v.blk.#.",
     "v.blk.#.attn_out.weight v.blk.#.ln2.weight v.blk.#.ffn_up.weight v.blk.#.ffn_down.weight "
     "v.blk.#.attn_q.weight|v.blk.#.attn_qkv.weight v.blk.#.attn_k.weight|v.blk.#.attn_qkv.weight "
     "v.blk.#.attn_v.weight|v.blk.#.attn_qkv.weight",
     NULL},
    {"a.blk.#.", "a.conv1d*", "granite_speech qwen3a"},
    {"a.blk.#.", "mm.*", "granite_speech"},
    {"a.blk.#.",
     "a.blk.#.attn_out.weight a.blk.#.ln2.weight a.blk.#.ffn_up.weight a.blk.#.ffn_down.weight "
     "a.blk.#.attn_q.weight|a.blk.#.attn_qkv.weight a.blk.#.attn_k.weight|a.blk.#.attn_qkv.weight "
     "a.blk.#.attn_v.weight|a.blk.#.attn_qkv.weight",
     NULL},
};

static void warn(tare_llama_mapping *m, const char *name, const char *member) {
    tare_finding f = TARE_FINDING(WARNING, TARE_ERR_CORRUPT, "llama.lost");
    f.item_kind = TARE_ITEM_TENSOR;
    f.item_name = tare_arena_str(&m->out->arena, tare_str_of(name));
    f.text = TARE_STR("by config.json the model has this tensor");
    tare_report_addf(m->options->context->report, &f,
                     "it is missing, and by config.json (%s) the model has it: llama.cpp runs "
                     "without it, so results differ",
                     member);
    if (m->out->loss.status == TARE_OK) m->out->loss = f;
}

/* "enc.blk.3." of a tensor named so behind it; false: it is none of these. */
static bool lead_of(char *lead, size_t size, tare_str name, const char *word) {
    char end[96];
    snprintf(end, sizeof end, ".%s", word);
    if (!tare_str_ends(name, tare_str_of(end)) || !tare_llama_contains(name, "blk.")) return false;
    const size_t n = name.len - strlen(word);
    if (n >= size) return false;
    snprintf(lead, size, "%.*s", (int)n, name.ptr);
    return true;
}

static void check_row(tare_llama_mapping *m, size_t row) {
    char name[160], lead[64] = "";
    for (size_t i = 0; i < (rows[row].beside ? m->n_targets : 1); i++) {
        const char *words = rows[row].words;
        if (rows[row].beside && !lead_of(lead, sizeof lead, m->targets[i]->name, rows[row].beside))
            continue;
        for (tare_str w; (w = tare_llama_next_word(&words)).len;) {
            snprintf(name, sizeof name, "%s%.*s", lead, (int)w.len, w.ptr);
            if (!tare_llama_has_target(m, tare_str_of(name))) warn(m, name, rows[row].member);
        }
    }
}

tare_status tare_llama_note_lost(tare_llama_mapping *m, tare_error *err) {
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        double is_there;
        if (!tare_llama_is_one_of(tare_str_of(m->arch->name), rows[row].archs)) continue;
        TARE_TRY(tare_llama_number(&is_there, m, rows[row].formula, 0, err));
        if (is_there > 0) check_row(m, row);
    }
    return TARE_OK;
}

/* ---- encoders -------------------------------------------------------------------------------- */

/* Whether there is a tensor of this name, with '#' in any block, or one that begins so. */
static bool has_like(const tare_llama_mapping *m, tare_str like) {
    const bool is_lead = like.len && like.ptr[like.len - 1] == '*';
    like.len -= is_lead;
    for (size_t i = 0; i < m->n_targets; i++) {
        char stem[160];
        uint64_t block;
        bool is_in_block;
        tare_llama_stem(stem, sizeof stem, &block, &is_in_block, m->targets[i]->name);
        const tare_str name = tare_str_of(stem);
        if (is_lead ? tare_str_starts(name, like) : tare_str_equal(name, like)) return true;
    }
    return false;
}

static bool has_one_of(const tare_llama_mapping *m, tare_str likes) {
    while (likes.len) {
        const char *bar = memchr(likes.ptr, '|', likes.len);
        const tare_str like = {likes.ptr, bar ? (size_t)(bar - likes.ptr) : likes.len};
        if (has_like(m, like)) return true;
        likes = tare_str_cut(likes, like.len + (bar != NULL));
    }
    return false;
}

static void warn_of_tower(tare_llama_mapping *m, tare_str likes) {
    const char *bar = memchr(likes.ptr, '|', likes.len);
    tare_finding f = TARE_FINDING(WARNING, TARE_ERR_CORRUPT, "llama.lost");
    f.item_kind = TARE_ITEM_TENSOR;
    f.item_name = (tare_str){likes.ptr, bar ? (size_t)(bar - likes.ptr) : likes.len};
    f.text = TARE_STR("the encoder has no such tensor, and llama.cpp does not run it without");
    tare_report_add(m->options->context->report, &f);
    if (m->out->loss.status == TARE_OK) m->out->loss = f;
}

/* A bias is beside its weight. */
static void check_pairs(tare_llama_mapping *m) {
    const tare_str end = TARE_STR(".bias");
    char name[160];
    for (size_t i = 0; i < m->n_targets; i++) {
        const tare_str bias = m->targets[i]->name;
        if (!tare_str_ends(bias, end)) continue;
        snprintf(name, sizeof name, "%.*s.weight", (int)(bias.len - end.len), bias.ptr);
        if (!tare_llama_has_target(m, tare_str_of(name)))
            warn_of_tower(m, tare_arena_str(&m->out->arena, tare_str_of(name)));
    }
}

void tare_llama_note_lost_of_tower(tare_llama_mapping *m) {
    const tare_str projector = tare_str_of(m->arch->tower->projector);
    for (size_t row = 0; row < sizeof of_towers / sizeof *of_towers; row++) {
        const char *words = of_towers[row].words;
        char blocks[16];
        snprintf(blocks, sizeof blocks, "%sattn*", of_towers[row].blocks);
        if (!has_like(m, tare_str_of(blocks)) ||
            (of_towers[row].but && tare_llama_is_one_of(projector, of_towers[row].but)))
            continue;
        for (tare_str w; (w = tare_llama_next_word(&words)).len;)
            if (!has_one_of(m, w)) warn_of_tower(m, w);
    }
    if (m->arch->tower->positions && !has_like(m, TARE_STR("v.position_embd.weight")))
        warn_of_tower(m, TARE_STR("v.position_embd.weight"));
    check_pairs(m);
}
