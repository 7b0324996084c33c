/* SPDX-License-Identifier: MIT
 *
 * The table of sizes, and what its rows mean. Only sizes that every architecture with such a tensor
 * has, or those named in the row. */
#include "llama/size_rules.h"

#include <stdio.h>
#include <string.h>

#include "base/arith.h"
#include "llama/tensor_names.h"

enum { COLS = 0, ROWS = 1, STACK = 2 }; /* dimensions, fastest first */
#define ERROR_FIELD ((int)sizeof((tare_error *)NULL)->field)

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
#define LOADER       "" /* what llama.cpp assumes of its keys; config.json may say something else */
/* Of towers. */
#define WIDTH_SEEN  "vision_config.embed_dim | vision_config.hidden_size"
#define WIDTH_HEARD "audio_config.hidden_size | audio_config.d_model"

/* Where config.json alone says how many heads there are and how wide they are. */
#define PLAIN_HEADS                                                                                \
    "llama qwen2 qwen2moe qwen3 qwen3moe gemma gemma2 gemma3 phi2 bert starcoder2 stablelm "       \
    "command-r cohere2 olmo olmo2 olmoe seed_oss exaone exaone4 internlm2 ernie4_5 smollm3 arcee " \
    "orion granite granitemoe nemotron minicpm"
/* Where keys and values are made of fewer numbers, or layers have heads of several widths. */
#define OTHER_HEADS                                                                                \
    "!bailingmoe3 deepseek2 deepseek32 deepseek4 dots3note gemma4-assistant "                      \
    "glm-dsa glm5-next hy_v4 kimi-k3 kimi-linear minicpm3 mistral4 plm"
/* But where linear attention in other blocks has heads of its own width (loader_sizes.c). */
#define ONE_ATTENTION "!" TARE_LLAMA_KDA
/* Nor where queries have a gate beside them. */
#define GATED_QUERIES OTHER_HEADS " " TARE_LLAMA_GATED_QUERIES
/* Where experts are as wide as a feed-forward network without them. */
#define PLAIN_EXPERTS                                                                              \
    "llama phimoe granitemoe granite_swa granitehybrid arctic dbrx jamba hunyuan-moe minimax-01 "  \
    "minimax-m2 olmoe"
/* But where the feed-forward network beside the experts is as wide as the model. */
#define WIDE_BESIDE "!arctic"

/* Weights that the state of a token goes through, and that its next one comes out of. */
#define B(x) "blk.#." x ".weight "
#define NORMS                                                                                      \
    "output_norm.weight token_embd_norm.weight blk.#.attn_norm.weight blk.#.ffn_norm.weight "      \
    "blk.#.post_attention_norm.weight blk.#.post_ffw_norm.weight blk.#.attn_output_norm.weight "   \
    "blk.#.layer_output_norm.weight blk.#.ffn_norm_exps.weight blk.#.nextn.enorm.weight "          \
    "blk.#.nextn.hnorm.weight blk.#.nextn.shared_head_norm.weight"
#define READ_STATE                                                                                 \
    "blk.#.attn_q.weight blk.#.attn_k.weight blk.#.attn_v.weight blk.#.attn_qkv.weight "           \
    "blk.#.attn_q_a.weight blk.#.attn_kv_a_mqa.weight blk.#.ffn_gate.weight blk.#.ffn_up.weight "  \
    "blk.#.ffn_gate_shexp.weight blk.#.ffn_up_shexp.weight blk.#.ffn_gate_inp.weight "             \
    "blk.#.ssm_in.weight blk.#.time_mix_key.weight blk.#.time_mix_receptance.weight "              \
    "blk.#.time_mix_value.weight"
#define WRITE_STATE                                                                                \
    B("attn_output")                                                                               \
    B("ffn_down") B("ffn_down_shexp") B("ssm_out") B("time_mix_output")
/* But where experts work on fewer numbers, which a matrix makes of the state. */
#define WHOLE_EXPERTS "!kimi-k3 nemotron_h nemotron_h_moe"
/* But where the gate's rows follow those of `up` in one tensor. */
#define FUSED_GATE                                                                                 \
    "!arctic chatglm glm4 granite_swa jina-bert-v2 modern-bert neo-bert phi3 plamo2 plamo3"
/* But where the key is there, and nothing is made of it. */
#define OWN_EXPERTS "!hunyuan-moe minimax-m2"
/* But where it is the width of each of several shared experts. */
#define NOT_EACH_SHARED "!bailingmoe2"
/* Where shared experts are as many as the key says, beside each other. */
#define SHARED_BESIDE                                                                              \
    "afmoe bailingmoe deepseek deepseek2 deepseek2-ocr deepseek32 deepseek4 dots1 dots3note "      \
    "glm-dsa glm4moe glm5-next hy_v4 kimi-k3 kimi-linear minimax-m3 mistral4"

const tare_llama_size_rule tare_llama_size_rules[] = {
    {HIDDEN, "embedding_length", NULL,
     "token_embd.weight position_embd.weight token_types.weight " NORMS, COLS, NULL},
    {"vocab_size", NULL, NULL, "token_embd.weight", ROWS, NULL},
    {INNER, "feed_forward_length", NULL, B("ffn_down"), COLS, WIDE_BESIDE},
    {INNER, "feed_forward_length", NULL, B("ffn_down_exps"), COLS, PLAIN_EXPERTS},
    {EXPERTS, "expert_count", NULL, B("ffn_down_exps"), STACK, NULL},
    {EXPERT_INNER, "expert_feed_forward_length", NULL, B("ffn_down_exps"), COLS, OWN_EXPERTS},
    {SHARED_INNER, "expert_shared_feed_forward_length", NULL, B("ffn_down_shexp"), COLS,
     NOT_EACH_SHARED},
    {LOADER, "expert_feed_forward_length", "expert_shared_count", B("ffn_down_shexp"), COLS,
     SHARED_BESIDE},
    {LOADER, "expert_feed_forward_length", NULL, B("ffn_down_shexp"), COLS, "llama4"},
    {HEADS, "attention.head_count", "attention.key_length", B("attn_q"), ROWS, PLAIN_HEADS},
    {LOADER, "attention.head_count", "attention.key_length", B("attn_q"), ROWS, GATED_QUERIES},
    {KV_HEADS, "attention.head_count_kv", "attention.key_length", B("attn_k"), ROWS, PLAIN_HEADS},
    {LOADER, "attention.head_count_kv", "attention.key_length", B("attn_k"), ROWS, OTHER_HEADS},
    {KV_HEADS, "attention.head_count_kv", "attention.value_length", B("attn_v"), ROWS, PLAIN_HEADS},
    {LOADER, "attention.head_count_kv", "attention.value_length", B("attn_v"), ROWS, OTHER_HEADS},
    {WIDTH_SEEN, "vision.embedding_length", NULL, "v.blk.#.ln1.weight", COLS, NULL},
    {WIDTH_HEARD, "audio.embedding_length", NULL, "a.blk.#.ln1.weight", COLS, NULL},
    {HIDDEN, "vision.projection_dim", NULL, "mm.input_projection.weight", COLS, "gemma3"},
    {HIDDEN, "vision.projection_dim", NULL, "mm.input_projection.weight", ROWS, "gemma4v gemma4uv"},
    {HIDDEN, "vision.projection_dim", NULL, "mm.2.weight mm.model.fc.weight mm.model.mlp.3.weight",
     ROWS, NULL},
    {HIDDEN, "audio.projection_dim", NULL, "mm.a.fc.weight mm.a.mlp.2.weight mm.a.mlp.3.weight",
     ROWS, NULL},
    {HIDDEN, "embedding_length", NULL, "output.weight " READ_STATE, COLS, "!eagle3"},
    {HIDDEN, "embedding_length", NULL, B("ffn_gate_exps") B("ffn_up_exps") B("ffn_gate_up_exps"),
     COLS, WHOLE_EXPERTS},
    {HIDDEN, "embedding_length", NULL, WRITE_STATE, ROWS, NULL},
    {HIDDEN, "embedding_length", NULL, B("ffn_down_exps"), ROWS, WHOLE_EXPERTS},
    {HEADS, "attention.head_count", "attention.value_length", B("attn_output"), COLS, PLAIN_HEADS},
    {LOADER, "attention.head_count", "attention.value_length", B("attn_output"), COLS, OTHER_HEADS},
    {LOADER, "attention.head_count 2*attention.head_count_kv", "attention.key_length",
     B("attn_qkv"), ROWS, GATED_QUERIES " cogvlm minimax-01 modern-bert qwen"},
    {LOADER, "context_length", NULL, "position_embd.weight", ROWS, NULL},
    {LOADER, "attention.head_count", NULL, B("attn_sinks"), COLS, NULL},
    {LOADER, "attention.q_lora_rank", NULL, B("attn_q_a"), ROWS, NULL},
    {LOADER, "attention.q_lora_rank", NULL, B("attn_q_a_norm") B("attn_q_b"), COLS, NULL},
    {LOADER, "attention.kv_lora_rank", NULL, B("attn_kv_a_norm"), COLS, NULL},
    {LOADER, "attention.head_count", "attention.key_length_mla", B("attn_q_b"), ROWS, NULL},
    {LOADER, "attention.head_count", "attention.value_length_mla", B("attn_output"), COLS,
     ONE_ATTENTION},
    {INNER, "feed_forward_length", NULL, B("ffn_gate"), ROWS, WIDE_BESIDE},
    {LOADER, "embedding_length", NULL, B("ffn_gate") B("ffn_up"), ROWS, "arctic"},
    {LOADER, "embedding_length", NULL, B("ffn_down"), COLS, "arctic"},
    {INNER, "feed_forward_length", NULL, B("ffn_gate_exps") B("ffn_up_exps"), ROWS, PLAIN_EXPERTS},
    {EXPERTS, "expert_count", NULL, "blk.#.exp_probs_b.bias", COLS, NULL},
    {INNER, "feed_forward_length", NULL, B("ffn_up"), ROWS, FUSED_GATE},
    {EXPERTS, "expert_count", NULL, B("ffn_gate_inp"), ROWS, NULL},
    {EXPERTS, "expert_count", NULL, B("ffn_gate_exps") B("ffn_up_exps"), STACK, NULL},
    {EXPERT_INNER, "expert_feed_forward_length", NULL, B("ffn_gate_exps") B("ffn_up_exps"), ROWS,
     OWN_EXPERTS},
    {SHARED_INNER, "expert_shared_feed_forward_length", NULL, B("ffn_gate_shexp") B("ffn_up_shexp"),
     ROWS, FUSED_GATE " bailingmoe2"},
    {LOADER, "expert_feed_forward_length", "expert_shared_count",
     B("ffn_gate_shexp") B("ffn_up_shexp"), ROWS, SHARED_BESIDE},
    {LOADER, "expert_feed_forward_length", NULL, B("ffn_gate_shexp") B("ffn_up_shexp"), ROWS,
     "llama4"},
    {.tensors = NULL},
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

bool tare_llama_is_among(tare_str arch, const char *only) {
    if (only && only[0] == '!') return !tare_llama_is_one_of(arch, only + 1);
    return !only || tare_llama_is_one_of(arch, only);
}

bool tare_llama_size_applies(const tare_llama_size_rule *rule, const char *stem, tare_str arch) {
    return tare_llama_is_one_of(tare_str_of(stem), rule->tensors) &&
           tare_llama_is_among(arch, rule->only);
}

/* The next factor of a product, "2" or a key, up to the sign that follows it. */
static bool factor_of(uint64_t *n, tare_str *rest, uint64_t block, tare_llama_key_number number,
                      const void *model) {
    char key[64];
    size_t len = 0;
    while (len < rest->len && rest->ptr[len] != '*' && rest->ptr[len] != '/') len++;
    snprintf(key, sizeof key, "%.*s", (int)len, rest->ptr);
    *rest = tare_str_cut(*rest, len);
    if (key[0] < '0' || key[0] > '9') return number(n, model, key, block);
    *n = (uint64_t)key[0] - '0';
    return true;
}

static bool product_of(uint64_t *product, tare_str rest, uint64_t block,
                       tare_llama_key_number number, const void *model) {
    uint64_t n;
    if (!factor_of(product, &rest, block, number, model)) return false;
    while (rest.len) {
        const char sign = rest.ptr[0];
        rest = tare_str_cut(rest, 1);
        if (!factor_of(&n, &rest, block, number, model)) return false;
        if (sign == '/' && n == 0) return false;
        if (sign == '/') *product /= n;
        if (sign == '*' && !tare_mul_u64(*product, n, product)) return false;
    }
    return true;
}

bool tare_llama_size_sum(uint64_t *sum, const char **keys, uint64_t block,
                         tare_llama_key_number number, const void *model) {
    bool is_known = true;
    *sum = 0;
    for (tare_str w; (w = tare_llama_next_word(keys)).len && !tare_str_is(w, "|");) {
        const bool is_less = w.ptr[0] == '-';
        uint64_t n;
        is_known = is_known && product_of(&n, tare_str_cut(w, is_less), block, number, model) &&
                   !(is_less && n > *sum);
        if (!is_known) continue;
        if (is_less) *sum -= n;
        if (!is_less && !tare_add_u64(*sum, n, sum)) is_known = false;
    }
    return is_known;
}

bool tare_llama_size_expected(uint64_t *count, uint64_t *factor, const tare_llama_size_rule *rule,
                              uint64_t block, tare_llama_key_number number, const void *model) {
    uint64_t width, heads;
    const char *keys = rule->key;
    *factor = 1;
    if (!keys || !tare_llama_size_sum(count, &keys, block, number, model)) return false;
    if (!rule->factor || number(factor, model, rule->factor, block)) return true;
    if (strcmp(rule->factor, "attention.key_length") != 0 &&
        strcmp(rule->factor, "attention.value_length") != 0)
        return false;
    if (!number(&width, model, "embedding_length", block) ||
        !number(&heads, model, "attention.head_count", 0))
        return false;
    if (heads) *factor = width / heads;
    return true;
}

bool tare_llama_size_is(const tare_llama_size_rule *rule, uint64_t count, uint64_t factor,
                        uint64_t is, tare_str arch) {
    if (strcmp(rule->members, INNER) == 0 && tare_llama_is_one_of(arch, twice_inner)) count /= 2;
    return factor && count == is / factor && is % factor == 0;
}

void tare_llama_size_differs(tare_error *err, const tare_llama_size_rule *rule, tare_str name,
                             uint64_t count, uint64_t factor, uint64_t is) {
    char product[48] = "", text[160];
    if (rule->factor)
        snprintf(product, sizeof product, " with %llu rows each", (unsigned long long)factor);
    const int n = snprintf(text, sizeof text, "%.*s is %llu%s, the shape has %llu",
                           (int)tare_min_u64(name.len, 64), name.ptr, (unsigned long long)count,
                           product, (unsigned long long)is);
    if (n > 0 && n < ERROR_FIELD)
        tare_error_detail(err, "%s", text);
    else /* whose end would be cut, and a number with it */
        tare_error_detail(err, "the shape has %llu, not %llu * %llu: %.*s", (unsigned long long)is,
                          (unsigned long long)count, (unsigned long long)factor,
                          (int)tare_min_u64(name.len, 64), name.ptr);
}
