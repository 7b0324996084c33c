/* SPDX-License-Identifier: MIT
 *
 * The table of sizes, and what its rows mean. Only sizes that every architecture with such a tensor
 * has, or those named in the row. */
#include "llama/size_rules.h"

#include <stdio.h>
#include <string.h>

#include "llama/tensor_names.h"

enum { COLS = 0, ROWS = 1, STACK = 2 }; /* dimensions, fastest first */

#define HIDDEN "hidden_size | n_embd | d_model | dim | model_dim"
#define INNER                                                                                      \
    "prefix_dense_intermediate_size | dense_intermediate_size | intermediate_size | n_inner | "    \
    "ffn_hidden_size | d_ff | hidden_dim"
#define EXPERTS                                                                                    \
    "num_experts | num_local_experts | n_routed_experts | moe_num_experts | num_routed_experts | " \
    "ffn_config.moe_num_experts"
#define EXPERT_INNER "moe_intermediate_size | expert_intermediate_size | intermediate_size"
#define SHARED_INNER "shared_expert_intermediate_size | shared_intermediate_size"
#define HEADS        "num_attention_heads | n_head | n_heads | num_heads"
#define KV_HEADS     "num_key_value_heads | n_kv_heads | n_head_kv | num_kv_heads"
/* Of towers. */
#define WIDTH_SEEN  "vision_config.embed_dim | vision_config.hidden_size"
#define WIDTH_HEARD "audio_config.hidden_size | audio_config.d_model"

/* Where every block has the same heads, and the rows of queries, keys and values are nothing else. */
#define PLAIN_HEADS                                                                                \
    "llama qwen2 qwen2moe qwen3 qwen3moe gemma gemma2 gemma3 phi2 bert starcoder2 stablelm "       \
    "command-r cohere2 olmo olmo2 olmoe seed_oss exaone exaone4 internlm2 ernie4_5 smollm3 arcee " \
    "orion granite granitemoe nemotron minicpm"
/* Where experts are as wide as a feed-forward network without them. */
#define PLAIN_EXPERTS "llama phimoe granitemoe arctic"
/* But where the feed-forward network beside the experts is as wide as the model. */
#define WIDE_BESIDE "!arctic"

const tare_llama_size_rule tare_llama_size_rules[] = {
    {HIDDEN, "embedding_length", NULL, "token_embd.weight", COLS, NULL},
    {"vocab_size", NULL, NULL, "token_embd.weight", ROWS, NULL},
    {HIDDEN, "embedding_length", NULL, "blk.#.attn_norm.weight", COLS, NULL},
    {INNER, "feed_forward_length", NULL, "blk.#.ffn_down.weight", COLS, WIDE_BESIDE},
    {INNER, "feed_forward_length", NULL, "blk.#.ffn_down_exps.weight", COLS, PLAIN_EXPERTS},
    {EXPERTS, "expert_count", NULL, "blk.#.ffn_down_exps.weight", STACK, NULL},
    {EXPERT_INNER, "expert_feed_forward_length", NULL, "blk.#.ffn_down_exps.weight", COLS, NULL},
    {SHARED_INNER, "expert_shared_feed_forward_length", NULL, "blk.#.ffn_down_shexp.weight", COLS,
     NULL},
    {HEADS, "attention.head_count", "attention.key_length", "blk.#.attn_q.weight", ROWS,
     PLAIN_HEADS},
    {KV_HEADS, "attention.head_count_kv", "attention.key_length", "blk.#.attn_k.weight", ROWS,
     PLAIN_HEADS},
    {KV_HEADS, "attention.head_count_kv", "attention.value_length", "blk.#.attn_v.weight", ROWS,
     PLAIN_HEADS},
    {WIDTH_SEEN, "vision.embedding_length", NULL, "v.blk.#.ln1.weight", COLS, NULL},
    {WIDTH_HEARD, "audio.embedding_length", NULL, "a.blk.#.ln1.weight", COLS, NULL},
    {HIDDEN, "vision.projection_dim", NULL, "mm.input_projection.weight", COLS, "gemma3"},
    {HIDDEN, "vision.projection_dim", NULL, "mm.input_projection.weight", ROWS, "gemma4v gemma4uv"},
    {HIDDEN, "vision.projection_dim", NULL, "mm.2.weight", ROWS, NULL},
    {HIDDEN, "vision.projection_dim", NULL, "mm.model.fc.weight", ROWS, NULL},
    {HIDDEN, "vision.projection_dim", NULL, "mm.model.mlp.3.weight", ROWS, NULL},
    {HIDDEN, "audio.projection_dim", NULL, "mm.a.fc.weight", ROWS, NULL},
    {HIDDEN, "audio.projection_dim", NULL, "mm.a.mlp.2.weight", ROWS, NULL},
    {HIDDEN, "audio.projection_dim", NULL, "mm.a.mlp.3.weight", ROWS, NULL},
    {HIDDEN, "embedding_length", NULL, "output_norm.weight", COLS, NULL},
    {HIDDEN, "embedding_length", NULL, "output.weight", COLS, PLAIN_HEADS},
    {HIDDEN, "embedding_length", NULL, "blk.#.ffn_norm.weight", COLS, NULL},
    {HIDDEN, "embedding_length", NULL, "blk.#.attn_q.weight", COLS, PLAIN_HEADS},
    {HIDDEN, "embedding_length", NULL, "blk.#.attn_k.weight", COLS, PLAIN_HEADS},
    {HIDDEN, "embedding_length", NULL, "blk.#.attn_v.weight", COLS, PLAIN_HEADS},
    {HIDDEN, "embedding_length", NULL, "blk.#.attn_output.weight", ROWS, PLAIN_HEADS},
    {HEADS, "attention.head_count", "attention.value_length", "blk.#.attn_output.weight", COLS,
     PLAIN_HEADS},
    {HIDDEN, "embedding_length", NULL, "blk.#.ffn_gate.weight", COLS, PLAIN_HEADS},
    {HIDDEN, "embedding_length", NULL, "blk.#.ffn_up.weight", COLS, PLAIN_HEADS},
    {HIDDEN, "embedding_length", NULL, "blk.#.ffn_down.weight", ROWS, PLAIN_HEADS},
    {INNER, "feed_forward_length", NULL, "blk.#.ffn_gate.weight", ROWS, PLAIN_HEADS},
    {INNER, "feed_forward_length", NULL, "blk.#.ffn_up.weight", ROWS, PLAIN_HEADS},
    {EXPERTS, "expert_count", NULL, "blk.#.ffn_gate_inp.weight", ROWS, NULL},
    {EXPERTS, "expert_count", NULL, "blk.#.ffn_gate_exps.weight", STACK, NULL},
    {EXPERTS, "expert_count", NULL, "blk.#.ffn_up_exps.weight", STACK, NULL},
    {EXPERT_INNER, "expert_feed_forward_length", NULL, "blk.#.ffn_gate_exps.weight", ROWS, NULL},
    {EXPERT_INNER, "expert_feed_forward_length", NULL, "blk.#.ffn_up_exps.weight", ROWS, NULL},
    {.members = NULL},
};

/* Qwen 1's intermediate_size counts the rows of gate and up together. */
static const char twice_inner[] = "qwen";

void tare_llama_stem(char *stem, size_t size, uint64_t *block, bool *is_in_block, tare_str name) {
    const tare_str blk = TARE_STR("blk.");
    size_t at = 0;
    *block = 0;
    while (at + blk.len < name.len &&
           (memcmp(name.ptr + at, blk.ptr, blk.len) != 0 || (at > 0 && name.ptr[at - 1] != '.')))
        at++; /* "proj_blk.3" is of no block */
    size_t from = at + blk.len, to = from;
    while (to < name.len && to - from < 9 && name.ptr[to] >= '0' && name.ptr[to] <= '9')
        *block = 10 * *block + (uint64_t)(name.ptr[to++] - '0');
    *is_in_block = to > from && from < name.len;
    if (*is_in_block)
        snprintf(stem, size, "%.*s#%.*s", (int)from, name.ptr, (int)(name.len - to), name.ptr + to);
    else
        snprintf(stem, size, "%.*s", (int)name.len, name.ptr);
}

bool tare_llama_size_applies(const tare_llama_size_rule *rule, const char *stem, tare_str arch) {
    const char *only = rule->only;
    if (strcmp(stem, rule->tensor) != 0) return false;
    if (only && only[0] == '!') return !tare_llama_is_one_of(arch, only + 1);
    return !only || tare_llama_is_one_of(arch, only);
}

bool tare_llama_size_expected(uint64_t *count, uint64_t *factor, const tare_llama_size_rule *rule,
                              uint64_t block, tare_llama_key_number number, const void *model) {
    uint64_t width, heads;
    *factor = 1;
    if (!rule->key || !number(count, model, rule->key, block)) return false;
    if (!rule->factor || number(factor, model, rule->factor, block)) return true;
    if (!number(&width, model, "embedding_length", block) ||
        !number(&heads, model, "attention.head_count", block))
        return false;
    if (heads) *factor = width / heads;
    return true;
}

bool tare_llama_size_is(const tare_llama_size_rule *rule, uint64_t count, uint64_t factor,
                        uint64_t is, tare_str arch) {
    if (strcmp(rule->members, INNER) == 0 && tare_llama_is_one_of(arch, twice_inner)) is *= 2;
    return factor && count == is / factor && is % factor == 0;
}

void tare_llama_size_differs(tare_error *err, const tare_llama_size_rule *rule, tare_str name,
                             uint64_t count, uint64_t factor, uint64_t is) {
    char product[48] = "";
    if (rule->factor)
        snprintf(product, sizeof product, " with %llu rows each", (unsigned long long)factor);
    tare_error_detail(err, "%.*s is %llu%s, the shape has %llu", (int)name.len, name.ptr,
                      (unsigned long long)count, product, (unsigned long long)is);
}
