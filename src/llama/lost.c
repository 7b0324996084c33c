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
/* What is added to the scores before experts are chosen; these classes have it wherever the scores are sigmoids. */
#define CHOICE   "exp_probs_b.bias"
#define CHOOSERS "deepseek2 deepseek32 dots1 exaone-moe glm-dsa mimo2"

/* Whose layers that predict more tokens have a last norm of their own. */
#define PREDICTORS                                                                                 \
    "deepseek32 dots3note exaone-moe exaone4 glm-dsa glm4 glm4moe glm5-next hy_v3 "                \
    "nemotron_h_moe qwen35 qwen35moe step35"
/* Classes whose matrices have biases, and what says that others have them or not. */
#define BIASED_SINCE_GPT "bloom codeshell gpt2 jais starcoder"
#define BIASED_QKV       "bert dream jais2 phi2 qwen2 qwen2moe qwen2vl rwkv6qwen2"
#define BY_ATTENTION                                                                               \
    "apertus cohere2 gemma gemma2 gemma3 glm4 glm4moe granite llama olmo2 olmoe phimoe qwen3 "     \
    "qwen3moe smollm3"
#define SAID_OR_SO "if(attention_bias | qkv_bias | (model_type == 'kormo') == false, 1, 0)"
#define IF_SAID    "if(attention_bias | false, 1, 0)"
#define BIAS(stem, archs, formula, member)                                                         \
    { archs, stem ".bias", stem ".weight", formula, member }
#define BIASES_QKV(archs, formula, member)                                                         \
    BIAS("attn_q", archs, formula, member), BIAS("attn_k", archs, formula, member),                \
        BIAS("attn_v", archs, formula, member)

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
    {CHOOSERS, CHOICE, "ffn_gate_inp.weight",
     "if(score_function == 'sigmoid', if((topk_method | 'noaux_tc') == 'noaux_tc', 1, 0), 0)",
     "scoring_func"},
    {"hy_v4", CHOICE, "ffn_gate_inp.weight", ALWAYS, "architectures"},
    {"hy_v3", "exp_probs_b", "ffn_gate_inp.weight",
     "if(moe_router_enable_expert_bias | true, 1, 0)", "moe_router_enable_expert_bias"},
    {"bailingmoe2", CHOICE, "ffn_gate_inp.weight",
     "if(moe_router_enable_expert_bias | false, 1, 0)", "moe_router_enable_expert_bias"},
    {"step35", CHOICE, "ffn_gate_inp.weight", "if(use_moe_router_bias | false, 1, 0)",
     "use_moe_router_bias"},
    {"t5 t5encoder", "ffn_gate.weight", "ffn_up.weight",
     "if(one_of(feed_forward_proj | 'relu', 'gated-gelu gated-silu gated-relu'), 1, 0)",
     "feed_forward_proj"},
    {"gemma4", "attn_v.weight", "attn_k.weight", "if(attention_k_eq_v | false, 0, 1)",
     "attention_k_eq_v"},
    {PREDICTORS " bailingmoe3 mimo2", "nextn.eh_proj.weight nextn.hnorm.weight",
     "nextn.enorm.weight", ALWAYS, "architectures"},
    {PREDICTORS, "nextn.shared_head_norm.weight", "nextn.enorm.weight", ALWAYS, "architectures"},
    {"kimi-k3", "attn_gate.weight", "attn_kv_a_mqa.weight", ALWAYS, "architectures"},
    {"kimi-k3", "ffn_routed_norm.weight", "ffn_routed_down.weight", ALWAYS, "architectures"},
    {"lfm2", "dense_2.weight dense_2.bias", NULL, "if(has(output_size), 1, 0)", "output_size"},
    BIASES_QKV(BIASED_QKV, SAID_OR_SO, "architectures"),
    BIASES_QKV("gpt-oss", ALWAYS, "architectures"),
    BIASES_QKV("seed_oss", "if(attention_bias | true, 1, 0)", "attention_bias"),
    BIASES_QKV(BY_ATTENTION, IF_SAID, "attention_bias"),
    BIASES_QKV("pangu-embedded", "if(bias | false, 1, 0)", "bias"),
    BIAS("attn_qkv", BIASED_SINCE_GPT " qwen", ALWAYS, "architectures"),
    BIAS("attn_qkv", "gptneox", "if(attention_bias | true, 1, 0)", "attention_bias"),
    BIAS("attn_output", "jais2", SAID_OR_SO, "architectures"),
    BIAS("attn_output", BIASED_SINCE_GPT " bert gpt-oss phi2", ALWAYS, "architectures"),
    BIAS("attn_output", "gptneox", "if(attention_bias | true, 1, 0)", "attention_bias"),
    BIAS("ffn_up", BIASED_SINCE_GPT " bert gptneox phi2", ALWAYS, "architectures"),
    BIAS("ffn_down", BIASED_SINCE_GPT " bert gptneox phi2", ALWAYS, "architectures"),
    {"jais2", "ffn_up.bias ffn_down.bias", "ffn_up.weight", "if(mlp_bias | true, 1, 0)",
     "mlp_bias"},
    BIAS("ffn_gate", "jais", ALWAYS, "architectures"),
    {"granite llama", "ffn_gate.bias ffn_up.bias ffn_down.bias", "ffn_gate.weight",
     "if(mlp_bias | false, 1, 0)", "mlp_bias"},
    {"gpt-oss", "ffn_gate_inp.bias ffn_gate_exps.bias ffn_up_exps.bias ffn_down_exps.bias",
     "ffn_gate_inp.weight", ALWAYS, "architectures"},
    {"phi2", "output.bias", NULL, ALWAYS, "architectures"},
    {"phimoe", "output.bias", NULL, "if(lm_head_bias | false, 1, 0)", "lm_head_bias"},
    BIAS("ssm_conv1d", "falcon-h1 jamba mamba mamba2 nemotron_h nemotron_h_moe",
         "if(use_conv_bias | mamba_conv_bias | true, 1, 0)", "use_conv_bias"),
    {"falcon-h1", "ssm_norm.weight", "ssm_in.weight", "if(mamba_rms_norm | false, 1, 0)",
     "mamba_rms_norm"},
    BIAS("ffn_norm", "stablelm", ALWAYS, "architectures"),
    BIAS("attn_norm_2", "falcon rwkv6 rwkv7", ALWAYS, "architectures"),
    BIAS("time_mix_ln", "rwkv6 rwkv7", ALWAYS, "architectures"),
    BIAS("indexer.k_norm", "glm-dsa", ALWAYS, "architectures"),
    {"bert", "cls.weight cls.bias cls.output.weight cls.output.bias", NULL,
     "if(is_classifier, 1, 0)", "architectures"},
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
                     "without it or with zeros, so results differ",
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

/* Zeros for a bias that llama.cpp asks for (biases.c) are none of the model's. */
static bool has_own(const tare_llama_mapping *m, tare_str name) {
    const tare_llama_target *t = tare_llama_target_named(m, name);
    return t && (!t->bytes || !tare_str_ends(name, TARE_STR(".bias")));
}

static void check_row(tare_llama_mapping *m, size_t row) {
    char name[160], lead[64] = "";
    for (size_t i = 0; i < (rows[row].beside ? m->n_targets : 1); i++) {
        const char *words = rows[row].words;
        if (rows[row].beside && !lead_of(lead, sizeof lead, m->targets[i]->name, rows[row].beside))
            continue;
        for (tare_str w; (w = tare_llama_next_word(&words)).len;) {
            snprintf(name, sizeof name, "%s%.*s", lead, (int)w.len, w.ptr);
            if (!has_own(m, tare_str_of(name))) warn(m, name, rows[row].member);
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

static void warn_of_tower(tare_llama_mapping *m, const char *name) {
    tare_finding f = TARE_FINDING(WARNING, TARE_ERR_CORRUPT, "llama.lost");
    f.item_kind = TARE_ITEM_TENSOR;
    f.item_name = tare_arena_str(&m->out->arena, tare_str_of(name));
    f.text = TARE_STR("the encoder has no such tensor: llama.cpp does not run it, or without, so "
                      "results differ");
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
        if (!tare_llama_has_target(m, tare_str_of(name))) warn_of_tower(m, name);
    }
}

static bool has_like(const tare_llama_mapping *m, const char *pattern) {
    const tare_llama_rule like = {.match = pattern};
    for (size_t i = 0; i < m->n_targets; i++) {
        size_t tail;
        tare_str suffix;
        if (tare_llama_rule_matches(&like, m->targets[i]->name, TARE_STR(""), &tail, &suffix))
            return true;
    }
    return false;
}

#define ENDS " |" /* of words */

bool tare_llama_is_spared(const char *words, tare_str name) {
    for (tare_str w; words && (w = tare_llama_next_of(&words, ENDS)).len;) {
        const bool is_end = w.ptr[0] == '*';
        const tare_str rest = tare_str_cut(name, w.len);
        if (is_end ? tare_str_ends(name, tare_str_cut(w, 1))
                   : tare_str_starts(name, w) &&
                         (!rest.len || tare_str_is(rest, ".weight") || tare_str_is(rest, ".bias")))
            return true;
    }
    return false;
}

/* What blocks have one of: "v.blk.#.ffn_up|v.blk.#.ffn_up_exps". */
static void check_block(tare_llama_mapping *m, uint64_t block, tare_str likes) {
    char first[160] = "", name[160];
    const char *text = likes.ptr;
    for (tare_str w; (w = tare_llama_next_of(&text, ENDS)).len && w.ptr < likes.ptr + likes.len;) {
        const int lead = (int)strcspn(w.ptr, "#");
        snprintf(name, sizeof name, "%.*s%llu%.*s.weight", lead, w.ptr, (unsigned long long)block,
                 (int)w.len - lead - 1, w.ptr + lead + 1);
        if (tare_llama_has_target(m, tare_str_of(name))) return;
        if (!first[0]) memcpy(first, name, sizeof first);
    }
    warn_of_tower(m, first);
}

static void check_blocks(tare_llama_mapping *m) {
    const char *words = m->arch->tower->by_block;
    for (tare_str w; words && (w = tare_llama_next_word(&words)).len;)
        for (uint64_t i = 0; i < m->n_layers; i++) check_block(m, i, w);
}

/* A rule names a tensor that models of the class have: one that no tensor came by tells of a loss. */
static void check_rule(tare_llama_mapping *m, const tare_llama_rule *r) {
    const tare_str program = tare_str_of(r->program ? r->program : ""),
                   match = tare_str_of(r->match);
    char name[160];
    if (!r->to || r->to[0] != '=' || tare_str_starts(program, TARE_STR("if(")) ||
        tare_llama_is_spared(m->arch->tower->optional, tare_str_of(r->to + 1)) ||
        tare_llama_is_spared(m->arch->tower->by_block, tare_str_of(r->to + 1)))
        return;
    snprintf(name, sizeof name, "%s%s", r->to + 1, tare_str_ends(match, TARE_STR("@")) ? "@" : "");
    if (!has_like(m, name)) warn_of_tower(m, r->to + 1);
}

void tare_llama_note_lost_of_tower(tare_llama_mapping *m) {
    const bool sees = tare_llama_has_key(m, "has_vision_encoder"),
               hears = tare_llama_has_key(m, "has_audio_encoder");
    for (const tare_llama_rule *r = m->arch->rules; r && r->match; r++) {
        const tare_str to = tare_str_of(r->to ? r->to : "");
        const bool is_sound =
            tare_str_starts(to, TARE_STR("=a.")) || tare_str_starts(to, TARE_STR("=mm.a."));
        if (is_sound ? hears : sees || !tare_str_starts(to, TARE_STR("=v."))) check_rule(m, r);
    }
    check_pairs(m);
    check_blocks(m);
}
