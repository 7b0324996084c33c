/* SPDX-License-Identifier: MIT
 *
 * The numbers that llama.cpp's loader has by the keys, and those that it assumes where a key is
 * missing. */
#include <stdio.h>
#include <string.h>

#include "base/arith.h"
#include "base/str.h"
#include "llama/loader.h"
#include "llama/size_rules.h"
#include "llama/tensor_names.h"

#define MOST_BLOCKS 4096 /* of an array with a number for each */

/* The number is that of the first block, in whichever it is asked for; it stands for 0, too. */
enum { OF_MODEL = 1, OR_ZERO = 2 };

/* Sums (size_rules.h) that stand for keys in these architectures; NULL: in all, but those of rows before.
 * What no row has is not known. */
static const struct {
    const char *keys, *sum, *archs;
    unsigned how;
} assumed[] = {
    {"attention.head_count_kv", "embedding_length/wkv.head_size", "rwkv6qwen2", 0},
    {"attention.head_count_kv", "attention.head_count", NULL, 0},
    {"attention.key_length attention.value_length", "embedding_length/attention.head_count", NULL,
     OF_MODEL},
    {"rope.dimension_count", "attention.key_length", NULL, OF_MODEL},
    {"expert_feed_forward_length", "feed_forward_length", "grok", OR_ZERO},
    {"expert_feed_forward_length", "0", "gemma4 qwen4exp smallthinker", 0},
    {"expert_shared_feed_forward_length", "expert_feed_forward_length", "bailingmoe2 hy_v3",
     OR_ZERO},
    {"expert_shared_feed_forward_length", "expert_feed_forward_length*expert_shared_count",
     "cohere2moe exaone-moe laguna", OR_ZERO},
    {"expert_shared_count", "1", "kimi-k3 kimi-linear laguna", OR_ZERO},
    {"expert_latent_length", "embedding_length", "kimi-k3", OR_ZERO},
    {"moe_latent_size", "embedding_length", "nemotron_h nemotron_h_moe", OR_ZERO},
    {"embedding_length_out", "embedding_length", NULL, OR_ZERO},
    {"expert_chunk_feed_forward_length", "attention.key_length", "grovemoe", OF_MODEL | OR_ZERO},
    {"expert_shared_feed_forward_length", "0",
     "ernie4_5 ernie4_5-moe granite granite_swa granitehybrid granitemoe nemotron_h "
     "nemotron_h_moe paddleocr qwen4exp step35",
     0},
    {"expert_shared_feed_forward_length", "feed_forward_length",
     "hunyuan-moe qwen2moe qwen35moe qwen3next", OR_ZERO},
    {"expert_feed_forward_length", "feed_forward_length/expert_used_count",
     "llada-moe nemotron_h nemotron_h_moe qwen2moe qwen35moe qwen3moe qwen3next qwen3vlmoe rnd1",
     OR_ZERO},
    {"attention.gate_lora_rank", "0", "arwkv7 rwkv7", 0},
    {"attention.head_count feed_forward_length expert_count attention.q_lora_rank "
     "attention.indexer.head_count attention.indexer.key_length",
     "0", NULL, 0},
};

/* Element i of an array, which llama.cpp has one of for each block. */
static bool element(tare_value *out, const tare_array *a, uint64_t i) {
    tare_array_walk walk;
    if (i == TARE_LLAMA_OF_MODEL) i = 0;
    if (i >= a->count || a->count > MOST_BLOCKS) return false;
    tare_array_begin(&walk, a);
    for (uint64_t k = 0; k <= i; k++)
        if (!tare_array_next(out, &walk)) return false;
    return true;
}

/* NULL, too, of a key that is there and not read in this architecture. */
static const tare_value *key_of(const tare_llama_numbers *s, const char *name) {
    return name[0] == '=' || tare_llama_reads_key(s->architecture, name)
               ? tare_llama_value_of_key(s->gguf, s->architecture, name)
               : NULL;
}

static void note_missing(const tare_llama_numbers *s, const char *name) {
    if (s->missing && !s->missing[0]) snprintf(s->missing, TARE_LLAMA_MOST_KEY, "%s", name);
}

/* Without one of the widths of latent attention neither counts. */
static const char *latent_name(const tare_llama_numbers *s, const char *name) {
    static const char *const keys[] = {"attention.key_length_mla", "attention.key_length"};
    static const char *const values[] = {"attention.value_length_mla", "attention.value_length"};
    const bool is_key = strcmp(name, keys[0]) == 0, has_keys = key_of(s, keys[0]);
    const bool has_values = key_of(s, values[0]);
    if ((!is_key && strcmp(name, values[0]) != 0) || (has_keys && has_values)) return name;
    if (has_keys || has_values) note_missing(s, has_keys ? values[0] : keys[0]);
    return is_key ? keys[1] : values[1];
}

/* Heads of blocks with a window may have another width, or turn by more or less. Where all blocks have one
 * of both, it is that of the first. */
static const struct {
    const char *name, *in_window, *by_block;
} windowed[] = {
    {"attention.key_length", "attention.key_length_swa", TARE_LLAMA_HEADS_BY_BLOCK},
    {"attention.key_length_mla", "attention.key_length_mla_swa", TARE_LLAMA_HEADS_BY_BLOCK},
    {"attention.value_length_mla", "attention.value_length_mla_swa", TARE_LLAMA_HEADS_BY_BLOCK},
    {"attention.kv_lora_rank", "attention.kv_lora_rank_swa", TARE_LLAMA_HEADS_BY_BLOCK},
    {"attention.value_length", "attention.value_length_swa", TARE_LLAMA_HEADS_BY_BLOCK},
    {"rope.dimension_count", "rope.dimension_count_swa", TARE_LLAMA_TURNS_BY_BLOCK},
};

static const char *name_in_window(const tare_llama_numbers *s, const char *name, uint64_t block) {
    for (size_t i = 0; i < sizeof windowed / sizeof *windowed; i++) {
        if (strcmp(name, windowed[i].name) != 0 || !key_of(s, windowed[i].in_window)) continue;
        if (block != TARE_LLAMA_OF_MODEL &&
            !tare_llama_is_one_of(s->architecture, windowed[i].by_block))
            block = 0;
        if (tare_llama_has_window(s->gguf, s->architecture, block)) return windowed[i].in_window;
    }
    return name;
}

/* RWKV's first block has no values of an earlier one. */
static const char *name_in(const tare_llama_numbers *s, const char *name, uint64_t block) {
    name = name_in_window(s, latent_name(s, name), block);
    if (block == 0 && strcmp(name, "attention.value_residual_mix_lora_rank") == 0)
        return "attention.iclr_lora_rank";
    return name;
}

/* Of a list the loader takes what the first block has. */
static bool is_of_model(const tare_llama_numbers *s, const char *name) {
    return strcmp(name, "feed_forward_length") == 0 && tare_str_is(s->architecture, "gemma3n");
}

/* `is_zero`: the key is there, and 0. */
static bool is_assumed(uint64_t *out, const tare_llama_numbers *s, const char *name, uint64_t block,
                       bool is_zero) {
    for (size_t i = 0; i < sizeof assumed / sizeof *assumed; i++) {
        const char *sum = assumed[i].sum;
        if (!tare_llama_is_one_of(tare_str_of(name), assumed[i].keys) ||
            !tare_llama_is_among(s->architecture, assumed[i].archs) ||
            (is_zero && !(assumed[i].how & OR_ZERO)))
            continue;
        if (strcmp(sum, "0") == 0) note_missing(s, name);
        return tare_llama_size_sum(out, &sum,
                                   assumed[i].how & OF_MODEL ? TARE_LLAMA_OF_MODEL : block,
                                   tare_llama_loader_number, s);
    }
    return false;
}

bool tare_llama_loader_number(uint64_t *out, const void *numbers, const char *name,
                              uint64_t block) {
    const tare_llama_numbers *s = numbers;
    name = name_in(s, name, block);
    const tare_value *of = key_of(s, name);
    if (!of) return is_assumed(out, s, name, block, false);
    tare_value v = *of;
    if (is_of_model(s, name)) block = TARE_LLAMA_OF_MODEL;
    if (v.type == TARE_VALUE_ARRAY && !element(&v, &of->as.a, block)) return false;
    if (!tare_value_u64(out, &v)) { /* a number below 0, which is a large one there */
        if (v.type != TARE_VALUE_I32) return false;
        *out = (uint32_t)v.as.i;
    }
    if (*out == 0) is_assumed(out, s, name, block, true);
    return true; /* 0, too, which no tensor has that the key is of */
}
