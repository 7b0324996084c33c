/* SPDX-License-Identifier: MIT
 *
 * Which kind of block llama.cpp takes each one for, by the keys: with a mixture of experts, recurrent,
 * with a window. It stops where the tensors are of another. */
#include <stdio.h>

#include "base/arith.h"
#include "base/str.h"
#include "llama/loader.h"
#include "llama/size_rules.h"
#include "llama/tensor_names.h"
#include "model/value.h"

typedef struct layers {
    const tare_model *gguf;
    tare_str architecture;
    uint64_t n, all; /* blocks, but those that predict more tokens; those, too */
} layers;

/* Where blocks from leading_dense_block_count on are a mixture of experts, and no others are. */
static const char dense_first[] =
    "afmoe bailingmoe2 cohere2moe deepseek deepseek2 deepseek2-ocr deepseek32 dots1 dots3note "
    "ernie4_5-moe exaone-moe glm-dsa glm4moe glm5-next hy_v4 kimi-k3 kimi-linear laguna lfm2moe "
    "minimax-m3 mistral4";
/* Where a list says which blocks are recurrent, or all but every n-th are; what only these have. */
static const struct {
    const char *archs, *word;
    uint64_t interval;
} recurrent[] = {{"qwen35 qwen35moe qwen3next qwen4exp", "ssm_conv1d", 4},
                 {"minimax-01", "attn_norm_2", 8}};
/* Where one of the blocks must have none, if others have. */
static const char windowed_in_part[] = "gemma-embedding gemma-embedding2 modern-bert";
/* Where one of the blocks must be without attention, and one with it. */
static const char mixed[] = "granitehybrid jamba kimi-k3 kimi-linear lfm2 lfm2moe minimax-01 "
                            "nemotron_h nemotron_h_moe plamo2 "
                            "qwen35 qwen35moe qwen3next qwen4exp";

static const tare_value *key_of(const layers *l, const char *name) {
    return tare_llama_value_of_key(l->gguf, l->architecture, name);
}

static uint64_t number_or(const layers *l, const char *name, uint64_t otherwise) {
    return tare_llama_number_of_key(l->gguf, l->architecture, name, otherwise);
}

static const tare_tensor *named(const layers *l, uint64_t block, const char *word,
                                const char *end) {
    char name[96];
    snprintf(name, sizeof name, "blk.%llu.%s%s", (unsigned long long)block, word, end);
    const int64_t i = tare_model_find_tensor(l->gguf, tare_str_of(name));
    return i < 0 ? NULL : &l->gguf->catalog.tensors[i];
}

static const tare_tensor *tensor_of(const layers *l, uint64_t block, const char *word) {
    return named(l, block, word, ".weight");
}

static bool has(const layers *l, uint64_t block, const char *word) {
    return tensor_of(l, block, word) != NULL;
}

static bool has_bias(const layers *l, uint64_t block, const char *word) {
    return named(l, block, word, ".bias") != NULL;
}

static bool no_block(tare_error *why, uint64_t block, const char *word, const char *what) {
    char name[96];
    snprintf(name, sizeof name, "blk.%llu.%s.weight", (unsigned long long)block, word);
    tare_fail(why, TARE_ERR_UNSUPPORTED, what);
    tare_error_item(why, TARE_ITEM_TENSOR, -1, tare_str_of(name));
    return false;
}

static bool no_key(const layers *l, tare_error *why, const char *name, const char *what) {
    char key[160];
    snprintf(key, sizeof key, "%.*s.%s", (int)tare_min_u64(l->architecture.len, 64),
             l->architecture.ptr, name);
    tare_fail(why, TARE_ERR_UNSUPPORTED, what);
    tare_error_item(why, TARE_ITEM_KEY, -1, tare_str_of(key));
    return false;
}

/* Experts are loaded into every block behind the dense ones, and computed in every n-th. */
static bool steps_fit(const layers *l, uint64_t lead, tare_error *why) {
    static const char name[] = "interleave_moe_layer_step";
    const uint64_t step = number_or(l, name, 1);
    if (!tare_str_is(l->architecture, "ernie4_5-moe")) return true;
    for (uint64_t i = lead; i < l->n; i++)
        if (step == 0 || (i + 1) % step != 0)
            return no_key(l, why, name,
                          "llama.cpp loads experts into every block behind the dense ones");
    return true;
}

static bool experts_fit(const layers *l, tare_error *why) {
    const uint64_t lead = number_or(l, "leading_dense_block_count", 0);
    const bool chooses = tare_str_is(l->architecture, "minimax-m3");
    if (!tare_llama_is_one_of(l->architecture, dense_first)) return true;
    if (!steps_fit(l, lead, why)) return false;
    for (uint64_t i = 0; i < l->n; i++) {
        const bool has_experts = i >= lead;
        if (has(l, i, "ffn_gate_inp") != has_experts)
            return no_block(why, i, "ffn_gate_inp",
                            has_experts
                                ? "it is missing: by leading_dense_block_count the block is a "
                                  "mixture of experts"
                                : "by leading_dense_block_count the block has no experts");
        if (chooses && has(l, i, "indexer.q_proj") != has_experts)
            return no_block(why, i, "indexer.q_proj",
                            "llama.cpp looks at a part of the tokens in the blocks that are a "
                            "mixture of experts, and in no others");
    }
    return true;
}

/* Where every n-th block is a mixture of experts, and no others are. */
static bool every_nth_fits(const layers *l, tare_error *why) {
    static const struct {
        const char *arch, *key;
        uint64_t rest; /* of the number of such a block */
    } rows[] = {{"llama4", "interleave_moe_layer_step", UINT64_MAX},
                {"nomic-bert-moe", "moe_every_n_layers", 1}};
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        const uint64_t step = number_or(l, rows[row].key, 0);
        const uint64_t rest = rows[row].rest == UINT64_MAX ? step - 1 : rows[row].rest;
        if (!tare_str_is(l->architecture, rows[row].arch)) continue;
        for (uint64_t i = 0; i < l->n; i++) {
            const bool has_experts = step > 0 && i % step == rest;
            if (has(l, i, "ffn_gate_inp") == has_experts) continue;
            no_block(why, i, "ffn_gate_inp",
                     has_experts ? "it is missing: by the keys the block is a mixture of experts"
                                 : "by the keys the block has no experts");
            tare_error_detail(why, "%s", rows[row].key);
            return false;
        }
    }
    return true;
}

static bool are_recurrent(const layers *l, const char *word, uint64_t interval, tare_error *why) {
    static const char list_name[] = "attention.recurrent_layers";
    static const char every[] = "full_attention_interval";
    const tare_value *list = key_of(l, list_name);
    interval = number_or(l, every, interval);
    if (interval == 0) return true;
    const bool is_listed = list && list->type == TARE_VALUE_ARRAY;
    tare_array_walk walk;
    if (is_listed) tare_array_begin(&walk, &list->as.a);
    for (uint64_t i = 0; i < l->n; i++) {
        const bool is_recurrent =
            is_listed ? tare_llama_next_is_set(&walk) : (i + 1) % interval != 0;
        if (has(l, i, word) == is_recurrent) continue;
        no_block(why, i, word,
                 is_recurrent ? "it is missing: by the keys the block is recurrent"
                              : "by the keys the block is one of attention");
        tare_error_detail(why, "%s", is_listed || !key_of(l, every) ? list_name : every);
        return false;
    }
    return true;
}

static bool recurrence_fits(const layers *l, tare_error *why) {
    for (size_t i = 0; i < sizeof recurrent / sizeof *recurrent; i++)
        if (tare_llama_is_one_of(l->architecture, recurrent[i].archs))
            return are_recurrent(l, recurrent[i].word, recurrent[i].interval, why);
    return true;
}

/* Whether a block is without attention by its number of heads of keys, and has what stands for it. */
static bool attention_fits(const layers *l, tare_error *why) {
    static const char archs[] = "granitehybrid jamba kimi-k3 kimi-linear lfm2 lfm2moe plamo2";
    static const char *const others[] = {"ssm_in", "shortconv.conv", "ssm_f_a"};
    const tare_llama_numbers numbers = {l->gguf, l->architecture, NULL};
    if (!tare_llama_is_one_of(l->architecture, archs)) return true;
    for (uint64_t i = 0; i < l->n; i++) {
        uint64_t heads = 0;
        const bool has_heads =
            tare_llama_loader_number(&heads, &numbers, "attention.head_count_kv", i) && heads;
        for (size_t k = 0; k < sizeof others / sizeof *others; k++)
            if (has_heads && has(l, i, others[k]))
                return no_block(why, i, others[k],
                                "by attention.head_count_kv the block is one of attention");
        if (!has_heads && (has(l, i, "attn_output") && !has(l, i, "ssm_f_a")))
            return no_block(why, i, "attn_output",
                            "by attention.head_count_kv the block has no attention");
    }
    return true;
}

/* Where a block is a feed-forward network, attention or recurrent, and nothing else. */
static bool single_fits(const layers *l, tare_error *why) {
    const tare_llama_numbers numbers = {l->gguf, l->architecture, NULL};
    if (!tare_llama_is_one_of(l->architecture, "nemotron_h nemotron_h_moe")) return true;
    for (uint64_t i = 0; i < l->n; i++) {
        uint64_t width = 0, heads = 0;
        if (!tare_llama_loader_number(&width, &numbers, "feed_forward_length", i)) width = 0;
        if (!tare_llama_loader_number(&heads, &numbers, "attention.head_count_kv", i)) heads = 0;
        if (has(l, i, "ssm_in") != (!width && !heads))
            return no_block(why, i, "ssm_in",
                            "by feed_forward_length and attention.head_count_kv the block is of "
                            "another kind");
        if (has(l, i, "attn_output") != (!width && heads > 0))
            return no_block(why, i, "attn_output",
                            "by feed_forward_length and attention.head_count_kv the block is of "
                            "another kind");
    }
    return true;
}

/* Whether a block has a tensor by itself, or with others in one. */
static bool has_or_joined(const layers *l, uint64_t block, const char *word) {
    return has(l, block, word) ||
           (tare_llama_is_one_of(tare_str_of(word), "attn_q attn_k attn_v") &&
            has(l, block, "attn_qkv"));
}

/* What compresses the tokens of a block follows from how many become one. */
static bool compressor_fits(const layers *l, uint64_t block, uint64_t ratio, tare_error *why) {
    static const char otherwise[] = "attention.compress_ratios says otherwise of the block";
    static const char *const words[] = {"attn_compressor_kv", "attn_compressor_gate",
                                        "attn_compressor_ape"};
    const uint64_t width = (ratio == 4 ? 2 : 1) * number_or(l, "attention.key_length", 0);
    for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
        const tare_tensor *t = tensor_of(l, block, words[k]);
        const bool is_table = k == 2; /* a row for each of the tokens that become one */
        if ((t != NULL) != (ratio > 0) ||
            (t && (t->n_rows != (is_table ? ratio : width) || (is_table && t->cols != width))))
            return no_block(why, block, words[k], otherwise);
    }
    return has(l, block, "indexer.proj") == (ratio == 4) ||
           no_block(why, block, "indexer.proj", otherwise);
}

/* Who says the experts of a token, a table or scores, follows from the block's number. */
static bool hashed_fits(const layers *l, uint64_t block, bool is_hashed, tare_error *why) {
    const tare_tensor *table = tensor_of(l, block, "ffn_gate_tid2eid");
    const int64_t tokens = tare_model_find_tensor(l->gguf, TARE_STR("token_embd.weight"));
    if (has_bias(l, block, "exp_probs_b") == is_hashed || (table != NULL) != is_hashed)
        return no_block(why, block, is_hashed ? "ffn_gate_tid2eid" : "exp_probs_b",
                        "hash_layer_count says otherwise of the block");
    return !table || tokens < 0 || table->n_rows == l->gguf->catalog.tensors[tokens].n_rows ||
           no_block(why, block, "ffn_gate_tid2eid", "it has no row for each token");
}

static bool compression_fits(const layers *l, tare_error *why) {
    static const char list[] = "attention.compress_ratios", values[] = "attention.value_length",
                      keys[] = "attention.key_length", heads[] = "attention.head_count_kv";
    const tare_llama_numbers numbers = {l->gguf, l->architecture, NULL};
    bool has_index = false;
    if (!tare_str_is(l->architecture, "deepseek4")) return true;
    if (number_or(l, values, 0) != number_or(l, keys, 0))
        return no_key(l, why, values, "it is not attention.key_length: keys are the values here");
    if (number_or(l, heads, 0) != 1)
        return no_key(l, why, heads, "llama.cpp has one head of keys in this architecture");
    for (uint64_t i = 0; i < l->n; i++) {
        uint64_t ratio = 0;
        if (!tare_llama_loader_number(&ratio, &numbers, list, i))
            return no_key(l, why, list, "it has no element for each block");
        if (ratio != 0 && ratio != 4 && ratio != 128)
            return no_key(l, why, list, "llama.cpp compresses by 4 or 128");
        if (!compressor_fits(l, i, ratio, why) ||
            !hashed_fits(l, i, i < number_or(l, "hash_layer_count", 0), why))
            return false;
        has_index = has_index || ratio == 4;
    }
    return has_index || no_key(l, why, list, "llama.cpp stops where no block compresses by 4");
}

/* Experts of fewer numbers have matrices before and behind them. */
static bool routed_fits(const layers *l, tare_error *why) {
    static const struct {
        const char *arch, *key, *word;
    } rows[] = {{"kimi-k3", "expert_latent_length", "ffn_routed_down"},
                {"nemotron_h_moe", "moe_latent_size", "ffn_latent_down"}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        if (!tare_str_is(l->architecture, rows[k].arch) || number_or(l, rows[k].key, 0) == 0)
            continue;
        for (uint64_t i = 0; i < l->all; i++)
            if (has(l, i, "ffn_up_exps") && !has(l, i, rows[k].word)) {
                no_block(why, i, rows[k].word, "it is missing: by the keys the block has it");
                tare_error_detail(why, "%s", rows[k].key);
                return false;
            }
    }
    return true;
}

/* Where a list of numbers says what a block has: heads of queries, of keys, a feed-forward network. */
static bool listed_fits(const layers *l, tare_error *why) {
    static const struct {
        const char *key, *word;
        bool is_forbidden; /* without */
    } rows[] = {
        {"attention.head_count", "attn_output", true}, {"attention.head_count", "attn_norm", false},
        {"attention.head_count_kv", "attn_q", true},   {"attention.head_count_kv", "attn_k", false},
        {"attention.head_count_kv", "attn_v", false},  {"feed_forward_length", "ffn_up", true},
        {"feed_forward_length", "ffn_norm", false},    {"feed_forward_length", "ffn_gate", false},
        {"feed_forward_length", "ffn_down", false}};
    const tare_llama_numbers numbers = {l->gguf, l->architecture, NULL};
    if (!tare_str_is(l->architecture, "deci")) return true;
    for (uint64_t i = 0; i < l->n; i++)
        for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
            uint64_t n;
            if (!tare_llama_loader_number(&n, &numbers, rows[k].key, i)) continue;
            const bool is_there = has_or_joined(l, i, rows[k].word);
            if (is_there == (n > 0) || (is_there && !rows[k].is_forbidden)) continue;
            no_block(why, i, rows[k].word,
                     n ? "it is missing: by the keys the block has it"
                       : "by the keys the block has none");
            tare_error_detail(why, "%s", rows[k].key);
            return false;
        }
    return true;
}

/* Latent attention that is kept as it is has one head of keys, of what is kept and what turns. */
static bool latent_fits(const layers *l, tare_error *why) {
    const tare_llama_numbers numbers = {l->gguf, l->architecture, NULL};
    for (uint64_t i = 0; i < l->n; i++) {
        const char *sum = "attention.kv_lora_rank rope.dimension_count";
        uint64_t n, wanted;
        if (!has(l, i, "attn_k_b")) continue;
        if (tare_llama_loader_number(&n, &numbers, "attention.head_count_kv", i) && n != 1)
            return no_key(l, why, "attention.head_count_kv",
                          "llama.cpp has one head of keys where attention is latent");
        if (!tare_llama_loader_number(&n, &numbers, "attention.key_length", i) ||
            !tare_llama_size_sum(&wanted, &sum, i, tare_llama_loader_number, &numbers) ||
            n == wanted)
            continue;
        no_key(l, why, "attention.key_length",
               "it is not attention.kv_lora_rank and rope.dimension_count together");
        tare_error_detail(why, "%llu, not %llu", (unsigned long long)n, (unsigned long long)wanted);
        return false;
    }
    return true;
}

/* Blocks that choose tokens, where a list says which, and others share what they chose. */
static bool choice_fits(const layers *l, tare_error *why) {
    static const char top[] = "attention.indexer.top_k", types[] = "attention.indexer.types";
    const tare_value *list = key_of(l, types);
    const bool is_used = tare_str_is(l->architecture, "dots3note") || number_or(l, top, 0) > 0;
    tare_array_walk walk;
    const bool chooses_all = tare_str_is(l->architecture, "glm-dsa"); /* or has what it takes */
    if (!chooses_all && !tare_llama_is_one_of(l->architecture, "dots3note hy_v4")) return true;
    const bool is_list = list && list->type == TARE_VALUE_ARRAY;
    if (is_list) tare_array_begin(&walk, &list->as.a);
    for (uint64_t i = 0; i < l->n; i++) {
        const bool is_set = is_list ? tare_llama_next_is_set(&walk) : number_or(l, types, 0) > 0;
        if (is_used && i == 0 && !is_set && (list || !chooses_all) &&
            !tare_str_is(l->architecture, "dots3note"))
            return no_key(l, why, types, "the first block has to choose the tokens by itself");
        if (chooses_all) return true;
        const bool has_choice = has(l, i, "indexer.proj");
        if (!is_used && has_choice)
            return no_key(l, why, top, "it is missing or 0, and a block chooses tokens");
        if (is_used && has_choice != is_set)
            return no_block(why, i, "indexer.proj",
                            is_set ? "it is missing: by the keys the block chooses tokens"
                                   : "by the keys the block chooses no tokens");
    }
    const uint64_t width = number_or(l, "attention.indexer.key_length", 0);
    return !is_used || width > number_or(l, "rope.dimension_count", 0) ||
           no_key(l, why, "attention.indexer.key_length", "it is not more than what turns");
}

/* Blocks of attention that choose tokens unless a list says that they take the choice of one before. */
static bool choosers_fit(const layers *l, tare_error *why) {
    static const char types[] = "attention.indexer.types";
    const tare_value *list = key_of(l, types);
    tare_array_walk walk;
    if (!tare_str_is(l->architecture, "glm5-next")) return true;
    const bool is_list = list && list->type == TARE_VALUE_ARRAY;
    if (is_list) tare_array_begin(&walk, &list->as.a);
    for (uint64_t i = 0; i < l->n; i++) {
        const bool is_set = is_list ? tare_llama_next_is_set(&walk) : number_or(l, types, 1) > 0;
        if (is_set && has(l, i, "attn_kv_a_mqa") && !has(l, i, "indexer.proj"))
            return no_block(why, i, "indexer.proj",
                            "it is missing: by the keys the block chooses tokens");
    }
    return true;
}

/* Whether each kind of block is there that llama.cpp fails without. */
static bool has_window(const layers *l, tare_error *why) {
    static const char name[] = "attention.sliding_window_pattern";
    const char *const key = key_of(l, name) ? name : "block_count";
    const bool is_part = tare_llama_is_one_of(l->architecture, windowed_in_part);
    const bool is_llama4 = tare_str_is(l->architecture, "llama4");
    /* chunks of attention, in all but every fourth block */
    if (is_llama4 && l->n < 4)
        return no_key(l, why, "block_count",
                      "every block has a window where there are fewer than four: llama.cpp stops");
    if (is_llama4 && number_or(l, "attention.sliding_window", 1) == 0)
        return no_key(l, why, "attention.sliding_window",
                      "llama.cpp stops at a Llama 4 without chunks of attention");
    if (!tare_llama_has_windows(l->gguf, l->architecture)) return true;
    const uint64_t n_windows = tare_llama_windows(l->gguf, l->architecture, l->all);
    if (n_windows == 0)
        return no_key(l, why, key,
                      "no block has a sliding window, and llama.cpp fails on such a model");
    return !is_part || n_windows < l->all ||
           no_key(l, why, key,
                  "all blocks have a sliding window, and llama.cpp fails on such a model");
}

/* Shared experts that a width is given of are there. */
static bool shared_fits(const layers *l, tare_error *why) {
    static const char name[] = "expert_shared_feed_forward_length";
    if (!tare_llama_is_one_of(l->architecture, "granite granite_swa granitehybrid granitemoe") ||
        number_or(l, name, 0) == 0)
        return true;
    for (uint64_t i = 0; i < l->n; i++) {
        if (!has(l, i, "ffn_gate_inp") || has(l, i, "ffn_down_shexp")) continue;
        no_block(why, i, "ffn_down_shexp", "it is missing: by the keys there are shared experts");
        tare_error_detail(why, "%s", name);
        return false;
    }
    return true;
}

/* Whether positions are of use anywhere, where a list says in which blocks heads turn. */
static bool turns_anywhere(const layers *l, tare_error *why) {
    static const char name[] = "attention.rope_pattern";
    const tare_value *list = key_of(l, name);
    tare_array_walk walk;
    if (!tare_str_is(l->architecture, "granite_swa") || !list || list->type != TARE_VALUE_ARRAY)
        return true;
    tare_array_begin(&walk, &list->as.a);
    for (uint64_t i = 0; i < l->n; i++)
        if (tare_llama_next_is_set(&walk)) return true;
    return no_key(l, why, name, "heads turn in no block, and llama.cpp fails on such a model");
}

static bool is_recurrent(const layers *l, uint64_t i) {
    static const char *const words[] = {"ssm_conv1d", "ssm_conv1d_q", "shortconv.conv"};
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        if (has(l, i, words[k])) return true;
    return tare_str_is(l->architecture, "minimax-01") && has(l, i, "attn_norm_2");
}

static bool is_mixed(const layers *l, tare_error *why) {
    bool has_recurrence = false, has_attention = false;
    if (!tare_llama_is_one_of(l->architecture, mixed)) return true;
    for (uint64_t i = 0; i < l->n && !(has_recurrence && has_attention); i++)
        if (is_recurrent(l, i))
            has_recurrence = true;
        else
            has_attention |= has(l, i, "attn_output");
    return (has_recurrence && has_attention) ||
           no_key(l, why, "block_count",
                  has_recurrence ? "all blocks are recurrent, and llama.cpp fails on such a model"
                                 : "no block is recurrent, and llama.cpp fails on such a model");
}

/* Norms of heads in large models alone. */
static bool norms_fit(const layers *l, tare_error *why) {
    if (!tare_str_is(l->architecture, "command-r") || l->n >= 64 || !has(l, 0, "attn_q_norm"))
        return true;
    return no_block(why, 0, "attn_q_norm",
                    "llama.cpp applies QK norms only in models of 64 blocks or more");
}

/* Where llama.cpp has as many rows or columns as the embeddings are wide, or as another tensor has. */
#define SQUARE                                                                                     \
    "arctic baichuan bert bitnet chameleon chatglm codeshell cohere2 command-r deepseek "          \
    "deepseek2-ocr dream eurobert grok internlm2 jamba jina-bert-v2 jina-bert-v3 lfm2 lfm2moe "    \
    "llada-moe nemotron nomic-bert nomic-bert-moe olmo olmo2 olmoe orion phi2 phi3 phimoe plamo "  \
    "qwen2 qwen2moe qwen2vl stablelm starcoder2 xverse"
static const struct {
    const char *archs, *word, *as; /* `as` NULL: the embeddings */
    bool of_columns;
} squares[] = {
    {SQUARE, "attn_q", NULL, false},
    {SQUARE " bloom dbrx exaone4 falcon gpt2 gptneox jais modern-bert mpt neo-bert qwen starcoder",
     "attn_output", NULL, true},
    {"dots1 olmoe", "attn_k", "attn_q", false},
};

static bool squares_fit(const layers *l, tare_error *why) {
    for (size_t row = 0; row < sizeof squares / sizeof *squares; row++)
        for (uint64_t i = 0; i < l->n; i++) {
            if (!tare_llama_is_one_of(l->architecture, squares[row].archs)) break;
            const tare_tensor *t = tensor_of(l, i, squares[row].word);
            const tare_tensor *as = squares[row].as ? tensor_of(l, i, squares[row].as) : NULL;
            uint64_t wanted = number_or(l, "embedding_length", 0);
            if (!t || t->n_dims != 2 || (as && as->n_dims != 2)) continue;
            if (as) wanted = as->dims[0];
            if (t->dims[squares[row].of_columns] == wanted) continue;
            no_block(why, i, squares[row].word,
                     as ? "llama.cpp requires as many KV heads as query heads in this architecture"
                        : "llama.cpp has heads that together are as wide as the model in this "
                          "architecture");
            tare_error_detail(why, "%llu instead of %llu",
                              (unsigned long long)t->dims[squares[row].of_columns],
                              (unsigned long long)wanted);
            return false;
        }
    return true;
}

static bool expansion_fits(const layers *l, tare_error *why) {
    if (!tare_llama_is_one_of(l->architecture, "jamba mamba")) return true;
    const uint64_t inner = number_or(l, "ssm.inner_size", 0);
    return inner == 2 * number_or(l, "embedding_length", 0) ||
           no_key(l, why, "ssm.inner_size",
                  "llama.cpp has twice the width of the model in this architecture");
}

/* Lists that llama.cpp has of layers are as long as the encoder. */
static bool decoder_fits(const layers *l, tare_error *why) {
    static const char name[] = "decoder_block_count";
    const uint64_t n = number_or(l, name, l->n);
    if (!tare_str_is(l->architecture, "t5") || (n > 0 && n <= l->n)) return true;
    no_key(l, why, name,
           n ? "llama.cpp fails where a decoder has more blocks than its encoder"
             : "llama.cpp fails where a decoder has no blocks");
    tare_error_detail(why, "%llu, not %llu", (unsigned long long)n, (unsigned long long)l->n);
    return false;
}

/* Values of linear attention are as wide as its keys. */
static bool values_fit(const layers *l, tare_error *why) {
    if (!tare_llama_is_one_of(l->architecture, "qwen35 qwen35moe qwen3next qwen4exp")) return true;
    const uint64_t width = number_or(l, "ssm.state_size", 0),
                   inner = number_or(l, "ssm.inner_size", 0);
    uint64_t wanted;
    return (tare_mul_u64(width, number_or(l, "ssm.time_step_rank", 0), &wanted) &&
            wanted == inner) ||
           no_key(l, why, "ssm.inner_size",
                  "llama.cpp has heads of values as wide as those of keys in this architecture");
}

typedef enum { SAME, MULTIPLE, DOUBLED } width_kind;

static bool is_width(uint64_t is, uint64_t width, width_kind kind) {
    if (kind == SAME) return is == width;
    const uint64_t times = is / width;
    return times * width == is && (kind == MULTIPLE || (times && (times & (times - 1)) == 0));
}

/* Widths that llama.cpp has as numbers, or takes of other tensors. */
static bool widths_fit(const layers *l, tare_error *why) {
    static const char *const wanted[] = {[SAME] = "%llu, not %llu",
                                         [MULTIPLE] = "%llu, not a multiple of %llu",
                                         [DOUBLED] = "%llu, not %llu times a power of two"};
    static const struct {
        const char *archs, *key;
        uint64_t width;
        width_kind kind;
    } fixed[] = {
        {"gemma3n", "embedding_length_per_layer_input", 256, SAME},
        /* which a rotation that spreads outliers works on, in pieces or as a whole */
        {"deepseek4", "attention.indexer.key_length", 64, MULTIPLE},
        {"deepseek32 dots3note glm-dsa", "attention.indexer.key_length", 64, DOUBLED},
    };
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
        const uint64_t is = number_or(l, fixed[i].key, fixed[i].width);
        if (!tare_llama_is_one_of(l->architecture, fixed[i].archs) ||
            is_width(is, fixed[i].width, fixed[i].kind))
            continue;
        no_key(l, why, fixed[i].key, "llama.cpp stops at any other width in this architecture");
        tare_error_detail(why, wanted[fixed[i].kind], (unsigned long long)is,
                          (unsigned long long)fixed[i].width);
        return false;
    }
    return true;
}

static bool rows_are(const layers *l, const char *name, uint64_t wanted, const char *what,
                     tare_error *why) {
    const int64_t i = tare_model_find_tensor(l->gguf, tare_str_of(name));
    if (i < 0 || l->gguf->catalog.tensors[i].n_rows == wanted) return true;
    tare_fail(why, TARE_ERR_UNSUPPORTED, what);
    tare_error_item(why, TARE_ITEM_TENSOR, -1, tare_str_of(name));
    tare_error_detail(why, "%llu rows instead of %llu",
                      (unsigned long long)l->gguf->catalog.tensors[i].n_rows,
                      (unsigned long long)wanted);
    return false;
}

/* Gemma's embeddings of layers have a row for each token; its narrow residuals are 64 wide. */
static bool gemma_fits(const layers *l, tare_error *why) {
    const int64_t tokens = tare_model_find_tensor(l->gguf, TARE_STR("token_embd.weight"));
    return !tare_llama_is_one_of(l->architecture, "gemma3n gemma4") || tokens < 0 ||
           (rows_are(l, "per_layer_token_embd.weight", l->gguf->catalog.tensors[tokens].n_rows,
                     "llama.cpp has as many embeddings of layers as tokens", why) &&
            rows_are(l, "blk.0.laurel_l.weight", 64,
                     "llama.cpp has 64 of them in this architecture", why));
}

/* Linear attention has as many heads as the other. */
static bool kda_fits(const layers *l, tare_error *why) {
    uint64_t wanted;
    if (!tare_str_is(l->architecture, "kimi-linear") || !key_of(l, "attention.head_count") ||
        !tare_mul_u64(number_or(l, "attention.head_count", 0), number_or(l, "kda.head_dim", 0),
                      &wanted))
        return true;
    for (uint64_t i = 0; i < l->n; i++) {
        if (has(l, i, "attn_q_a_norm"))
            return no_block(why, i, "attn_q_a_norm",
                            "llama.cpp does not read its width in this architecture");
        const tare_tensor *t = tensor_of(l, i, "ssm_f_b");
        if (t && t->n_rows != wanted)
            return no_block(why, i, "ssm_f_b",
                            "llama.cpp has as many heads of linear attention as of attention in "
                            "this architecture");
    }
    return true;
}

/* What turns by three positions is a part of a head. */
static bool rotation_fits(const layers *l, tare_error *why) {
    static const char name[] = "rope.dimension_sections";
    const tare_value *list = key_of(l, name);
    const uint64_t heads = tare_max_u64(number_or(l, "attention.head_count", 1), 1),
                   width = number_or(l, "attention.key_length",
                                     number_or(l, "embedding_length", 0) / heads);
    uint64_t sum = 0, n;
    tare_array_walk walk;
    tare_value v = {0};
    if (!list || list->type != TARE_VALUE_ARRAY) return true;
    tare_array_begin(&walk, &list->as.a);
    while (tare_array_next(&v, &walk))
        if (!tare_value_u64(&n, &v) || n > width || (sum += n) > width) {
            no_key(l, why, name,
                   "its sections together are wider than a head, and llama.cpp stops");
            tare_error_detail(why, "a head has %llu numbers", (unsigned long long)width);
            return false;
        }
    return true;
}

/* Adapters in the model: a token that chooses each, and one that stands for it. */
static bool adapters_fit(const layers *l, tare_error *why) {
    static const char *const lists[] = {"adapters.token_ids_activate",
                                        "adapters.token_ids_substitute"};
    const int64_t tokens = tare_model_find_tensor(l->gguf, TARE_STR("token_embd.weight"));
    const uint64_t n = number_or(l, "adapters.count", 0);
    if (!tare_str_is(l->architecture, "graniteswitch")) return true;
    for (size_t i = 0; i < 2; i++) {
        const tare_value *list = key_of(l, lists[i]);
        tare_array_walk walk;
        tare_value v = {0};
        uint64_t id;
        if (!list || list->type != TARE_VALUE_ARRAY || list->as.a.count != n)
            return no_key(l, why, lists[i], "it has no element for each of adapters.count");
        tare_array_begin(&walk, &list->as.a);
        while (i == 1 && tokens >= 0 && tare_array_next(&v, &walk))
            if (!tare_value_u64(&id, &v) || id >= l->gguf->catalog.tensors[tokens].n_rows)
                return no_key(l, why, lists[i], "one of its elements is no token");
    }
    return true;
}

/* A classifier has a row for each label; without labels one. */
static bool labels_fit(const layers *l, tare_error *why) {
    static const char archs[] = "bert modern-bert neo-bert qwen3 qwen3vl";
    static const char name[] = "classifier.output_labels";
    const tare_value *labels = key_of(l, name);
    const int64_t head = tare_model_find_tensor(l->gguf, TARE_STR("cls.output.weight"));
    if (head < 0 || !tare_llama_is_one_of(l->architecture, archs)) return true;
    const uint64_t rows = l->gguf->catalog.tensors[head].n_rows,
                   n = labels && labels->type == TARE_VALUE_ARRAY ? labels->as.a.count : 0;
    if (rows == (n ? n : 1)) return true;
    no_key(l, why, name, "its labels are not as many as the rows of cls.output.weight");
    tare_error_detail(why, "%llu and %llu", (unsigned long long)n, (unsigned long long)rows);
    return false;
}

bool tare_llama_layers_load(const tare_model *gguf, tare_str architecture, uint64_t from,
                            uint64_t blocks, tare_error *why) {
    layers l = {gguf, architecture, blocks, blocks};
    const uint64_t nextn = number_or(&l, "nextn_predict_layers", 0);
    l.n -= tare_min_u64(nextn, blocks);
    if (from >= l.n && from > 0) return has_window(&l, why);
    return experts_fit(&l, why) && every_nth_fits(&l, why) && recurrence_fits(&l, why) &&
           attention_fits(&l, why) && single_fits(&l, why) && latent_fits(&l, why) &&
           routed_fits(&l, why) && compression_fits(&l, why) && choice_fits(&l, why) &&
           choosers_fit(&l, why) && listed_fits(&l, why) && shared_fits(&l, why) &&
           turns_anywhere(&l, why) && is_mixed(&l, why) && has_window(&l, why) &&
           norms_fit(&l, why) && squares_fit(&l, why) && expansion_fits(&l, why) &&
           decoder_fits(&l, why) && values_fit(&l, why) && rotation_fits(&l, why) &&
           widths_fit(&l, why) && gemma_fits(&l, why) && kda_fits(&l, why) && labels_fit(&l, why) &&
           adapters_fit(&l, why);
}
