/* SPDX-License-Identifier: MIT
 *
 * Values of keys that llama.cpp's loader refuses, or that its graph stops at, whatever the tensors
 * are: counts that do not go together, parts of heads that cannot turn. */
#include <stdio.h>

#include "base/arith.h"
#include "base/str.h"
#include "llama/loader.h"
#include "llama/size_rules.h"
#include "llama/tensor_names.h"

#define MOST_EXPERTS     1024 /* of llama.cpp */
#define ROOT_OF_SOFTPLUS 4    /* of scores of experts, the last function */
#define MOST_FUNCTIONS   ROOT_OF_SOFTPLUS
#define MOST_KEY         160

typedef struct values {
    const tare_model *gguf;
    tare_str architecture;
} values;

/* "llama." and a name. */
static void key_name(char *key, const values *s, const char *name) {
    snprintf(key, MOST_KEY, "%.*s.%s", (int)tare_min_u64(s->architecture.len, 64),
             s->architecture.ptr, name);
}

/* NULL: there is none, or no loader reads it in this architecture. */
static const tare_value *value_of(const values *s, const char *name) {
    return tare_llama_reads_key(s->architecture, name)
               ? tare_llama_value_of_key(s->gguf, s->architecture, name)
               : NULL;
}

/* The largest of a key's numbers; 0: there is none. */
static uint64_t most(const values *s, const char *name) {
    uint64_t n = 0, largest = 0;
    const tare_value *v = value_of(s, name);
    tare_array_walk walk;
    tare_value element;
    if (!v) return 0;
    if (v->type != TARE_VALUE_ARRAY) return tare_value_u64(&n, v) ? n : 0;
    tare_array_begin(&walk, &v->as.a);
    while (tare_array_next(&element, &walk))
        if (tare_value_u64(&n, &element)) largest = tare_max_u64(largest, n);
    return largest;
}

static bool no(const values *s, tare_error *why, const char *name, const char *what) {
    char key[MOST_KEY];
    key_name(key, s, name);
    tare_fail(why, TARE_ERR_UNSUPPORTED, what);
    tare_error_item(why, TARE_ITEM_KEY, -1, tare_str_of(key));
    return false;
}

/* ---- experts --------------------------------------------------------------------------------- */

/* What the loader asserts of experts. */
static bool experts_load(const values *s, tare_error *why) {
    static const char few[] = "hunyuan-dense hunyuan_vl"; /* one expert is none there */
    uint64_t n = most(s, "expert_count"), used = most(s, "expert_used_count");
    const uint64_t groups = most(s, "expert_group_count");
    if (n <= 1 && tare_llama_is_one_of(s->architecture, few)) n = used = 0;
    if (n > MOST_EXPERTS)
        return no(s, why, "expert_count", "llama.cpp takes 1,024 experts at most");
    if (used > n) return no(s, why, "expert_used_count", "it is more than expert_count");
    if (n && !used)
        return no(s, why, "expert_used_count", "there are experts, and none of them is used");
    if (groups && groups >= n)
        return no(s, why, "expert_group_count", "it is not less than expert_count");
    if (groups <= 1) return true;
    const uint64_t groups_used = most(s, "expert_group_used_count");
    if (n % groups) return no(s, why, "expert_group_count", "it does not divide expert_count");
    if (!groups_used || groups_used >= groups)
        return no(s, why, "expert_group_used_count", "it is not between 0 and the groups");
    return true;
}

/* Numbers that llama.cpp has no use for as 0: it divides by them, asserts that they are more, or fails. */
static bool divisors_load(const values *s, tare_error *why) {
    static const struct {
        const char *key, *archs;
    } rows[] = {{"experts_per_group", "grovemoe"},
                {"attention.indexer.block_size", "minimax-m3"},
                {"num_loops", "nanbeige"},
                {"attn_res.block_size", "kimi-k3"},
                {"hyper_connection.sinkhorn_iterations", "deepseek4"},
                {"full_attention_interval", "minimax-01 qwen35 qwen35moe qwen3next"},
                {"interleave_moe_layer_step", "ernie4_5-moe"},
                {"attention.sliding_window", "afmoe"},
                {"attention.indexer.top_k", "qwen4exp"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (tare_llama_is_one_of(s->architecture, rows[i].archs) && value_of(s, rows[i].key) &&
            most(s, rows[i].key) == 0)
            return no(s, why, rows[i].key, "llama.cpp stops unless it is above 0");
    return true;
}

/* What predicts more tokens here is a mixture of experts whose width a key has to say. */
static bool predictors_load(const values *s, uint64_t blocks, tare_error *why) {
    static const char width[] = "expert_feed_forward_length", used[] = "expert_used_count";
    const tare_llama_numbers numbers = {s->gguf, s->architecture, NULL};
    if (!tare_llama_is_one_of(s->architecture, "nemotron_h nemotron_h_moe")) return true;
    for (uint64_t i = blocks - most(s, "nextn_predict_layers"); i < blocks; i++) {
        uint64_t n = 0;
        if (!tare_llama_loader_number(&n, &numbers, width, i) || n == 0)
            return no(s, why, value_of(s, used) ? width : used,
                      "there is no width of the experts that predict more tokens");
    }
    return true;
}

/* Numbers that the code of an architecture has as they are. */
static bool constants_load(const values *s, tare_error *why) {
    static const char base[] = "rope.freq_base", context[] = "rope.scaling.original_context_length";
    static const char activation[] = "hidden_activation", streams[] = "hyper_connection.count";
    const tare_value *gate = value_of(s, activation);
    const tare_value *v = value_of(s, base), *scale = value_of(s, "attention.temperature_scale");
    if (tare_str_is(s->architecture, "deepseek2-ocr") && v && v->as.f != 10000)
        return no(s, why, base, "llama.cpp has 10000 in this architecture, and stops at others");
    if (tare_llama_is_one_of(s->architecture, "deepseek4 glm5-next") && most(s, streams) != 4)
        return no(s, why, streams, "llama.cpp has 4 in this architecture, and stops at others");
    if (tare_str_is(s->architecture, "modern-bert") && gate && tare_str_is(gate->as.s, "relu"))
        return no(s, why, activation, "llama.cpp stops at one without a gate");
    if (!tare_str_is(s->architecture, "mistral3") || !scale || scale->as.f == 0 ||
        most(s, value_of(s, context) ? context : "context_length") > 0)
        return true;
    return no(s, why, context, "it is 0, and attention.temperature_scale counts by it");
}

/* Smaller experts, one beside each group of the others. */
static bool groups_load(const values *s, tare_error *why) {
    static const char name[] = "experts_per_group", used[] = "expert_used_count";
    const uint64_t n = most(s, name);
    if (n == 0) return true;
    return most(s, used) <= most(s, "expert_count") / n ||
           no(s, why, used, "it is more than there are groups by experts_per_group");
}

/* How scores of experts become weights. */
static bool function_loads(const values *s, tare_error *why) {
    static const char name[] = "expert_gating_func";
    static const char none_assumed[] =
        "bailingmoe2 bailingmoe3 deepseek32 deepseek4 dots1 dots3note exaone-moe hy_v4 kimi-k3 "
        "kimi-linear lfm2moe minimax-m2 minimax-m3 smallthinker";
    const uint64_t n = most(s, name);
    if (n != ROOT_OF_SOFTPLUS && tare_str_is(s->architecture, "deepseek4"))
        return no(s, why, name, "llama.cpp has one function in this architecture, 4");
    if (n > MOST_FUNCTIONS) return no(s, why, name, "llama.cpp knows no such function");
    if (n > 0 || !tare_llama_is_one_of(s->architecture, none_assumed)) return true;
    return no(s, why, name, value_of(s, name) ? "llama.cpp needs a function" : "it is missing");
}

/* ---- attention -------------------------------------------------------------------------------- */

/* Where all of a head turns, whatever the key says. */
static const char turned_whole[] =
    "apertus arcee arctic baichuan chameleon codeshell cogvlm cohere2moe dbrx deci deepseek "
    "dots1 dream ernie4_5 ernie4_5-moe exaone exaone-moe exaone4 falcon granite granite_swa "
    "granitemoe graniteswitch grok grovemoe hunyuan-dense hunyuan-moe hunyuan_vl hy_v3 internlm2 "
    "jais2 llada "
    "llada-moe llama llama-embed llama4 maincoder mellum minicpm mistral3 olmo olmo2 olmoe "
    "orion pangu-embedded plamo qwen2 qwen2moe qwen2vl qwen3 qwen3moe qwen3vl qwen3vlmoe rnd1 "
    "seed_oss smallthinker smollm3 starcoder2 talkie xverse";

/* Where it depends on a key whether heads turn at all. */
static bool turns(const values *s) {
    const tare_value *v = value_of(s, "rope.scaling.finetuned");
    if (tare_str_is(s->architecture, "granitehybrid")) return !v || v->as.u > 0;
    return !tare_llama_is_one_of(s->architecture, TARE_LLAMA_UNTURNED);
}

/* Each head of keys is one of as many heads of queries. */
static bool heads_load(const values *s, uint64_t blocks, tare_error *why) {
    static const char name[] = "attention.head_count_kv";
    static const char all[] = "minicpm3 plm"; /* which make keys of heads of queries */
    static const char none[] = "arwkv7 mamba mamba2 rwkv6 rwkv6qwen2 rwkv7"; /* no attention */
    const tare_llama_numbers numbers = {s->gguf, s->architecture, NULL};
    const bool is_all = tare_llama_is_one_of(s->architecture, all);
    const tare_value *v = value_of(s, name);
    uint64_t heads = 0, keys = 0;
    if (tare_llama_is_one_of(s->architecture, none)) return true;
    if (v && v->type == TARE_VALUE_U32 && v->as.u == 0 && turns(s) &&
        most(s, "attention.head_count"))
        return no(s, why, name, "there are heads of queries, and none of keys");
    for (uint64_t i = 0; i < blocks; i++) {
        if (!tare_llama_loader_number(&heads, &numbers, "attention.head_count", i) ||
            !tare_llama_loader_number(&keys, &numbers, name, i) || heads == 0 || keys == 0 ||
            (is_all ? keys == heads : heads % keys == 0))
            continue;
        no(s, why, name,
           is_all ? "it is not attention.head_count, as llama.cpp takes it in this architecture"
                  : "it does not divide attention.head_count");
        tare_error_detail(why, "%llu and %llu", (unsigned long long)keys,
                          (unsigned long long)heads);
        return false;
    }
    return true;
}

/* Layers that look at a part of the tokens take as many of them together, by which what they look at
 * can be divided. */
static bool ratios_load(const values *s, tare_error *why) {
    static const char name[] = "attention.compress_ratios", top[] = "attention.indexer.top_k";
    const tare_value *v = value_of(s, name);
    const uint64_t largest = most(s, name);
    tare_array_walk walk;
    tare_value element = {0};
    uint64_t n;
    if (!tare_str_is(s->architecture, "qwen4exp") || !v || !largest) return true;
    if (v->type == TARE_VALUE_ARRAY) tare_array_begin(&walk, &v->as.a);
    while (v->type == TARE_VALUE_ARRAY && tare_array_next(&element, &walk))
        if (!tare_value_u64(&n, &element) || (n && n != largest))
            return no(s, why, name, "llama.cpp takes one ratio, and 0, in all layers");
    if (largest == 1) return no(s, why, name, "llama.cpp takes a ratio above 1");
    return most(s, top) % largest == 0 || no(s, why, name, "it does not divide what is looked at");
}

/* How much of a head of `length` numbers turns by its position. */
static bool part_loads(const values *s, const char *name, uint64_t turned, uint64_t length,
                       bool is_whole, tare_error *why) {
    const char *what = turned == length ? NULL
                       : is_whole       ? "it is not the length of a head"
                       : turned == 0    ? "llama.cpp turns a part of each head in this architecture"
                       : turned % 2     ? "it is odd, and llama.cpp turns pairs of a head's numbers"
                       : turned > length ? "it is more than a head has"
                                         : NULL;
    if (!what) return true;
    no(s, why, name, what);
    tare_error_detail(why, "%llu of %llu", (unsigned long long)turned, (unsigned long long)length);
    return false;
}

/* Heads of blocks with a window may be narrower, where those of each block are as wide as its keys say, or where
 * none are kept for the next token. */
static bool heads_are_alike(const values *s, uint64_t blocks, tare_error *why) {
    static const char *const names[][2] = {
        {"attention.key_length", "attention.key_length_swa"},
        {"attention.value_length", "attention.value_length_swa"}};
    const tare_llama_numbers numbers = {s->gguf, s->architecture, NULL};
    if (tare_llama_is_one_of(s->architecture,
                             TARE_LLAMA_HEADS_BY_BLOCK " gemma-embedding modern-bert"))
        return true;
    const uint64_t n_windows = tare_llama_windows(s->gguf, s->architecture, blocks);
    for (size_t i = 0; i < 2 && n_windows > 0 && n_windows < blocks; i++) {
        uint64_t width;
        if (!value_of(s, names[i][1]) ||
            !tare_llama_loader_number(&width, &numbers, names[i][0], TARE_LLAMA_OF_MODEL) ||
            width == most(s, names[i][1]))
            continue;
        no(s, why, names[i][1], "llama.cpp has heads of one width in this architecture");
        tare_error_detail(why, "%llu and %llu", (unsigned long long)most(s, names[i][1]),
                          (unsigned long long)width);
        return false;
    }
    return true;
}

/* How much of the heads of `block` turns. */
static bool turned_loads(const values *s, const char *name, uint64_t block, tare_error *why) {
    const bool is_whole = tare_llama_is_one_of(s->architecture, turned_whole);
    const tare_llama_numbers numbers = {s->gguf, s->architecture, NULL};
    uint64_t length, turned;
    return !tare_llama_loader_number(&length, &numbers, "attention.key_length", block) ||
           !tare_llama_loader_number(&turned, &numbers, "rope.dimension_count", block) ||
           part_loads(s, name, turned, length, is_whole, why);
}

/* The loader has one number for all blocks, that of the first, or one for each kind. */
static bool rotated_load(const values *s, uint64_t blocks, tare_error *why) {
    static const char name[] = "rope.dimension_count", narrow[] = "rope.dimension_count_swa";
    const bool is_by_block = tare_llama_is_one_of(s->architecture, TARE_LLAMA_TURNS_BY_BLOCK);
    const bool is_narrow = value_of(s, narrow) || value_of(s, "attention.key_length_swa");
    if (!turns(s)) return true;
    if (value_of(s, name) && !turned_loads(s, name, TARE_LLAMA_OF_MODEL, why)) return false;
    for (uint64_t i = 0; i < (is_by_block ? blocks : 1) && is_narrow; i++)
        if (tare_llama_has_window(s->gguf, s->architecture, i))
            return turned_loads(s, narrow, i, why);
    return true;
}

/* The last layers may use keys and values of earlier ones: those with a window of the last but one that has its own,
 * the others of the last. */
static bool shared_load(const values *s, uint64_t blocks, tare_error *why) {
    static const char name[] = "attention.shared_kv_layers";
    const bool is_fixed = tare_str_is(s->architecture, "gemma3n");
    const uint64_t n = most(s, name), first = is_fixed ? TARE_LLAMA_OWN_KV_LAYERS : blocks - n;
    if (!is_fixed && (!value_of(s, name) || !tare_str_is(s->architecture, "gemma4"))) return true;
    if (!is_fixed && (n > blocks || first < 2))
        return no(s, why, name, "llama.cpp stops unless two layers have keys of their own");
    for (uint64_t i = first; i < blocks; i++) {
        const bool is_window = tare_llama_has_window(s->gguf, s->architecture, i);
        const uint64_t own = first - (is_window ? 2 : 1);
        if (tare_llama_has_window(s->gguf, s->architecture, own) != is_window)
            return no(s, why, name,
                      "llama.cpp stops unless the last two layers with keys of their own are one "
                      "with a window and one without");
    }
    return true;
}

/* What is added under the root of a norm. */
static bool norms_load(const values *s, tare_error *why) {
    static const char *const names[] = {"attention.layer_norm_rms_epsilon",
                                        "attention.layer_norm_epsilon"};
    /* which read both, and take the other */
    static const char *const unused[] = {"rwkv6 rwkv7",
                                         "arwkv7 nemotron_h nemotron_h_moe rwkv6qwen2"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const tare_value *v = value_of(s, names[i]);
        if (tare_llama_is_one_of(s->architecture, unused[i])) continue;
        if (v && v->type == TARE_VALUE_F32 && !(v->as.f >= 0))
            return no(s, why, names[i], "llama.cpp stops unless it is a number from 0 on");
    }
    return true;
}

/* How many tokens before are remembered: as many as the blocks look at. */
static bool shifts_load(const values *s, tare_error *why) {
    static const char name[] = "token_shift_count";
    const bool is_two = tare_llama_is_one_of(s->architecture, "rwkv6 rwkv7");
    if (!is_two && !tare_llama_is_one_of(s->architecture, "arwkv7 rwkv6qwen2")) return true;
    if ((value_of(s, name) ? most(s, name) : 2) == (is_two ? 2 : 1)) return true;
    return no(s, why, name,
              is_two ? "the blocks look at 2"
                     : "the blocks look at 1, and without the key it is 2");
}

/* Heads of RWKV are all as wide as a key says, and as many as fit. */
static bool states_load(const values *s, tare_error *why) {
    static const char width[] = "wkv.head_size", heads[] = "attention.head_count_kv";
    const uint64_t embeddings = most(s, "embedding_length"), n = most(s, width);
    if (!value_of(s, width)) return true;
    if (n == 0 || embeddings % n) return no(s, why, width, "it does not divide embedding_length");
    const char *const name = value_of(s, heads) ? heads : "attention.head_count";
    if (!tare_str_is(s->architecture, "rwkv6") || most(s, name) == 0 ||
        most(s, name) == embeddings / n)
        return true;
    no(s, why, name, "it is neither 0 nor what wkv.head_size makes of embedding_length");
    tare_error_detail(why, "%llu, not %llu", (unsigned long long)most(s, name),
                      (unsigned long long)(embeddings / n));
    return false;
}

/* Each run of a stack of layers counts as so many blocks. */
static bool stacks_load(const values *s, uint64_t blocks, tare_error *why) {
    static const char name[] = "hrm.layers_per_stack";
    const uint64_t n = most(s, name), high = most(s, "hrm.h_cycles"), low = most(s, "hrm.l_cycles");
    uint64_t runs;
    return !tare_str_is(s->architecture, "hrm_text") ||
           (n && high && low && tare_mul_u64(n, high, &runs) &&
            tare_mul_u64(runs, low + 1, &runs) && runs == blocks) ||
           no(s, why, name, "it and the cycles together are not block_count");
}

bool tare_llama_values_load(const tare_model *gguf, tare_str architecture, uint64_t blocks,
                            tare_error *why) {
    static const char scalings[] = "none linear yarn longrope";
    const values s = {gguf, architecture};
    if (blocks > TARE_LLAMA_MOST_BLOCKS)
        return no(&s, why, "block_count", "llama.cpp takes 512 blocks at most");
    if (most(&s, "nextn_predict_layers") > blocks)
        return no(&s, why, "nextn_predict_layers", "it is more than block_count");
    const tare_value *v = value_of(&s, "rope.scaling.type");
    if (v && !tare_llama_is_one_of(v->as.s, scalings))
        return no(&s, why, "rope.scaling.type", "llama.cpp knows no such scaling");
    return stacks_load(&s, blocks, why) && norms_load(&s, why) && experts_load(&s, why) &&
           divisors_load(&s, why) && groups_load(&s, why) && function_loads(&s, why) &&
           constants_load(&s, why) && predictors_load(&s, blocks, why) &&
           shared_load(&s, blocks, why) && heads_load(&s, blocks, why) && ratios_load(&s, why) &&
           heads_are_alike(&s, blocks, why) && rotated_load(&s, blocks, why) &&
           shifts_load(&s, why) && states_load(&s, why);
}
