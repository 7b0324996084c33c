/* SPDX-License-Identifier: MIT
 *
 * Tensors that the class or config.json says a model has, and that llama.cpp runs without: then it computes
 * something else. What it does not run without, its verdict names. */
#include <stdio.h>

#include "base/report.h"
#include "base/str.h"
#include "llama/mapping.h"
#include "llama/size_rules.h"

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
