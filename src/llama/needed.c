/* SPDX-License-Identifier: MIT
 *
 * Which tensors of a GGUF file are missing. A row lists all that its architecture may have; which of
 * them a block needs follows from the others that are in it: who has keys has queries. */
#include "llama/needed.h"

#include <stdio.h>

#include "base/str.h"
#include "llama/loader.h"
#include "llama/tensor_names.h"
#include "model/tensor_name_table.h"

/* ---- parts of a block ------------------------------------------------------------------------ */

enum { WHOLE, ATTENTION, STATE, TIME_MIX, CONVOLUTION, DENSE, EXPERTS, OTHER };
#define MIXERS  (1U << ATTENTION | 1U << STATE | 1U << TIME_MIX | 1U << CONVOLUTION)
#define FORWARD (1U << DENSE | 1U << EXPERTS)

/* Which part a tensor is of, by how its name begins and ends; the first row that fits. Those of no
 * row are in every block. */
static const struct {
    const char *starts, *ends;
    unsigned part;
} parts[] = {
    {"", "_shexp", OTHER + 0}, /* OTHER: parts that a block may be without */
    {"", "_chexps", OTHER + 1},
    {"nextn.", "", OTHER + 2},
    {"vis_", "", OTHER + 3},
    {"indexer.", "", OTHER + 4},
    {"indexer_", "", OTHER + 4},
    {"channel_mix_", "", OTHER + 5},
    {"cross_attn_", "", OTHER + 6},
    {"inp_gate", "", OTHER + 7},
    {"proj", "", OTHER + 7},
    {"post_norm", "", OTHER + 7},
    {"per_layer_", "", OTHER + 7},
    {"", "_exps", EXPERTS},
    {"ffn_gate_inp", "", EXPERTS},
    {"ffn_gate", "", DENSE},
    {"ffn_down", "", DENSE},
    {"ffn_up", "", DENSE},
    {"attn_compressor_", "", OTHER + 10},
    {"attn_norm", "", WHOLE},
    {"attn_output_norm", "", WHOLE},
    {"attn_", "", ATTENTION},
    {"ssm_", "", STATE},
    {"time_mix_", "", TIME_MIX},
    {"shortconv.", "", CONVOLUTION},
    {"ffn_routed_", "", OTHER + 8},
    {"ffn_latent_", "", OTHER + 9},
};

/* What llama.cpp runs without, in all architectures. */
static const char optional[] =
    "rope_freqs rope_factors_long rope_factors_short attn_rot_embd exp_probs_b token_types "
    "attn_sinks nextn.embed_tokens nextn.shared_head_head nextn.shared_head_norm dense_2 dense_3 "
    "cls cls.output cls.norm";
/* Architectures that want one of these all the same. */
static const char own_sinks[] = "deepseek4 granite_swa hy_v4";
/* Architectures whose head is never the embeddings. */
static const char own_head[] =
    "apertus arwkv7 baichuan bailingmoe bailingmoe2 codeshell dbrx deepseek4 dots1 exaone-moe "
    "gemma-embedding2 "
    "glm5-next gpt-oss gptneox hy_v4 internlm2 jais kimi-k3 kimi-linear maple mellum mimo2 "
    "minimax-m2 minimax-m3 muse-glimmer nemotron olmo2 olmoe orion phi2 phimoe plamo qwen qwen2moe "
    "rwkv6 rwkv6qwen2 rwkv7 stablelm step35 talkie xverse";
/* Architectures whose embeddings may be the head. */
static const char head_alone[] = "codeshell";

/* What these architectures need all the same where another tensor is: of the block, or of the model. */
static const struct {
    const char *words, *suffix, *beside, *archs;
} companions[] = {
    {"exp_probs_b", ".bias", "ffn_gate_inp",
     "afmoe bailingmoe3 dots3note glm4moe glm5-next kimi-k3 kimi-linear laguna lfm2moe minimax-m2 "
     "minimax-m3 nemotron_h_moe"},
    {"attn_sinks", ".weight", "attn_norm", "gpt-oss"},
    {"attn_gate", ".weight", "ssm_conv1d", "qwen35 qwen35moe qwen3next qwen4exp"},
    {"attn_gate", ".weight", "attn_kv_a_mqa", "bailingmoe3"},
    {"layer_output_norm", ".weight", "nextn.eh_proj", "bailingmoe3"},
    {"nextn.shared_head_norm post_attention_norm", ".weight", "nextn.eh_proj", "nemotron_h_moe"},
    {"ssm_ba", ".weight", "ssm_conv1d", "qwen3next"},
    {"ssm_dt", ".weight", "ssm_conv1d", "jamba mamba plamo2"},
    {"ssm_dt", ".bias", "ssm_conv1d", "jamba mamba plamo2"},
    {"pre_ffw_norm_2 post_ffw_norm_1 post_ffw_norm_2", ".weight", "ffn_gate_inp", "gemma4"},
    {"ffn_gate_inp", ".scale", "ffn_gate_inp", "gemma4"},
    {"ffn_norm_exps", ".weight", "ffn_gate_inp", "arctic"},
    {"indexer.q_proj indexer.k_proj indexer.q_norm indexer.k_norm", ".weight", "ffn_gate_inp",
     "minimax-m3"},
    {"attn_k attn_v", ".weight", "attn_q", "minimax-01"},
    {"attn_q", ".weight", "attn_k", "minimax-01"},
    {"attn_qkv attn_gate", ".weight", "attn_norm_2", "minimax-01"},
    {"indexer.k_norm", ".bias", "indexer.k_norm", "deepseek32 dots3note glm5-next hy_v4"},
    {"indexer_compressor_gate indexer_compressor_ape", ".weight", "indexer.k_norm", "glm5-next"},
    {"token_types", ".weight", "token_embd", "jina-bert-v2"},
    {"rope_freqs", ".weight", "token_embd", "gemma4"},
};
/* What a row's `optional` means in the first block alone, and in all but the first. */
static const struct {
    const char *word, *archs;
    bool in_first;
} optional_by_block[] = {{"attn_norm", "modern-bert", true}, {"attn_rel_b", "t5 t5encoder", false}};
/* Where the layers that predict more tokens are whole, or not there at all. */
static const char whole_nextn[] = "bailingmoe3 deepseek32 exaone-moe exaone4 glm-dsa glm4 glm4moe "
                                  "glm5-next hy_v3 mimo2 nemotron_h_moe qwen35 qwen35moe step35";
/* Architectures whose blocks all predict more tokens, and are as others are. */
static const char drafting[] = "gemma4-assistant";
/* Architectures with blocks of one part alone. */
static const char thin[] = "deci nemotron_h nemotron_h_moe";

/* Tensors that others of the same block stand for. */
static const struct {
    const char *words, *instead, *unless; /* there */
} alternatives[] = {
    {"attn_q", "attn_qkv attn_q_a attn_q_b", NULL},
    {"attn_k attn_v", "attn_qkv attn_kv_a_mqa attn_kv_a_norm", NULL},
    {"attn_qkv", "attn_q attn_k attn_v", NULL},
    {"attn_q_a attn_q_a_norm attn_q_b", "attn_q", NULL},
    {"attn_kv_a_mqa attn_kv_a_norm", "attn_k", NULL},
    {"attn_kv_b", "attn_k_b attn_k", NULL},
    {"attn_k_b attn_v_b", "attn_kv_b attn_k", NULL},
    {"attn_output attn_q_norm attn_k_norm", "ssm_out", "attn_k"},
    {"post_ffw_norm", "layer_output_norm", NULL},
    {"layer_output_norm", "post_ffw_norm", NULL},
    {"ffn_gate_exps ffn_up_exps", "ffn_gate_up_exps", NULL},
    {"ffn_gate_up_exps", "ffn_up_exps", NULL},
};

static unsigned part_of(tare_str word) {
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (tare_str_starts(word, tare_str_of(parts[i].starts)) &&
            tare_str_ends(word, tare_str_of(parts[i].ends)))
            return parts[i].part;
    return WHOLE;
}

bool tare_llama_needs_head(tare_str architecture) {
    return tare_llama_is_one_of(architecture, own_head);
}

bool tare_llama_needs_embeddings(tare_str architecture) {
    return !tare_llama_is_one_of(architecture, head_alone);
}

bool tare_llama_is_outside(tare_str word) {
    for (const tare_tensor_named *n = tare_tensors_outside; n->name; n++)
        if (tare_str_is(word, n->name)) return true;
    return tare_str_starts(word, TARE_STR("rope_"));
}

/* ---- one block ------------------------------------------------------------------------------- */

typedef struct search {
    const tare_model *gguf;
    const tare_llama_arch *arch;
    const char *side; /* "enc." of an encoder's blocks, "dec." of its decoder's; "" of most */
    uint64_t block;
    bool predicts; /* the block predicts more tokens */
    char *name;    /* the one that was looked for last */
    size_t size;
} search;

static bool has_named(search *s, tare_str word, const char *suffix) {
    char lead[32] = "";
    if (s->side) snprintf(lead, sizeof lead, "%sblk.%llu.", s->side, (unsigned long long)s->block);
    snprintf(s->name, s->size, "%s%.*s%s", lead, (int)word.len, word.ptr, suffix);
    return tare_model_find_tensor(s->gguf, tare_str_of(s->name)) >= 0;
}

/* Looks for "enc.blk.3.attn_q.weight" of "attn_q". Some are bare, or have a bias alone. */
static bool has(search *s, tare_str word) {
    if (tare_str_is(word, "ffn_pre_norm")) word = TARE_STR("ffn_norm");
    if (tare_str_is(word, "ssm_dt") && has_named(s, word, ".bias")) return true;
    const bool is_bare = tare_llama_is_bare(tare_str_of(s->arch->name), word);
    return has_named(s, word, is_bare ? "" : ".weight");
}

static bool has_one_of(search *s, const char *words) {
    for (tare_str w; (w = tare_llama_next_word(&words)).len;)
        if (has(s, w)) return true;
    return false;
}

static bool is_replaced(search *s, tare_str word) {
    for (size_t i = 0; i < sizeof alternatives / sizeof *alternatives; i++)
        if (tare_llama_is_one_of(word, alternatives[i].words) &&
            has_one_of(s, alternatives[i].instead) &&
            !(alternatives[i].unless && has_one_of(s, alternatives[i].unless)))
            return true;
    return false;
}

/* Whether the block computes with keys and values of an earlier one, and the loader asks for none of its own. */
static bool is_sharing(const search *s) {
    const tare_str arch = tare_str_of(s->arch->name);
    const uint64_t n = tare_llama_number_of_key(s->gguf, arch, "block_count", 0);
    const uint64_t shared =
        tare_llama_number_of_key(s->gguf, arch, "attention.shared_kv_layers", 0);
    return tare_str_is(arch, "gemma4") && shared <= n && s->block >= n - shared;
}

static bool is_optional(const search *s, tare_str word) {
    if (tare_llama_is_one_of(word, "attn_k attn_k_norm") && is_sharing(s)) return true;
    if (tare_str_is(word, "output"))
        return !tare_llama_is_one_of(tare_str_of(s->arch->name), own_head);
    if (s->predicts && tare_str_starts(word, TARE_STR("hc_"))) return true; /* one residual */
    if (tare_str_is(word, "token_embd") && !tare_llama_needs_embeddings(tare_str_of(s->arch->name)))
        return true;
    for (size_t i = 0; i < sizeof optional_by_block / sizeof *optional_by_block; i++)
        if (tare_str_is(word, optional_by_block[i].word) &&
            tare_llama_is_one_of(tare_str_of(s->arch->name), optional_by_block[i].archs))
            return (s->block == 0) == optional_by_block[i].in_first;
    if (tare_str_is(word, "attn_sinks") &&
        tare_llama_is_one_of(tare_str_of(s->arch->name), own_sinks))
        return false;
    return tare_llama_is_one_of(word, optional) || tare_llama_is_one_of(word, s->arch->optional);
}

/* The next of the row's words that is of the blocks in hand, or of none; empty at the end. */
static tare_str next_of(const search *s, const char **words) {
    for (tare_str w; (w = tare_llama_next_word(words)).len;) {
        const char *side = tare_llama_side_of(w);
        if (tare_llama_is_outside(w) ? s->side != NULL : !s->side || strcmp(side, s->side) != 0)
            continue;
        return s->side ? tare_str_cut(w, strlen(side)) : w;
    }
    return TARE_STR("");
}

/* The parts that the row's words are of, and of these the ones that a tensor is there of. */
static void find_parts(search *s, unsigned *listed, unsigned *there) {
    const char *words = s->arch->tensors;
    *listed = *there = 1U << WHOLE;
    for (tare_str w; (w = next_of(s, &words)).len;) {
        const unsigned bit = 1U << part_of(w);
        *listed |= bit;
        if (!(*there & bit) && has(s, w)) *there |= bit;
    }
}

/* A block has one of the parts that mix tokens, and one of those that follow. */
static bool lacks_part(const search *s, unsigned listed, unsigned there) {
    const unsigned mixers = listed & MIXERS, forward = listed & FORWARD;
    if (tare_llama_is_one_of(tare_str_of(s->arch->name), thin))
        return !(there & (mixers | forward));
    return (mixers && !(there & mixers)) || (forward && !(there & forward));
}

static bool lacks_bias(search *s, tare_str word) {
    return tare_llama_needs_bias(s->arch->name, word) && has(s, word) &&
           !has_named(s, tare_str_is(word, "ffn_pre_norm") ? TARE_STR("ffn_norm") : word, ".bias");
}

static bool lacks_companion(search *s) {
    for (size_t i = 0; i < sizeof companions / sizeof *companions; i++) {
        const char *words = companions[i].words;
        const tare_str beside = tare_str_of(companions[i].beside);
        if (!tare_llama_is_one_of(tare_str_of(s->arch->name), companions[i].archs) ||
            tare_llama_is_outside(beside) != !s->side || !has(s, beside))
            continue;
        for (tare_str w; (w = tare_llama_next_word(&words)).len;)
            if (!has_named(s, w, companions[i].suffix)) return true;
    }
    return false;
}

static bool lacks(search *s) {
    unsigned listed, there;
    const char *words = s->arch->tensors;
    if (lacks_companion(s)) return true;
    find_parts(s, &listed, &there);
    const bool is_partial = s->side && lacks_part(s, listed, there);
    for (tare_str w; (w = next_of(s, &words)).len;) {
        const unsigned part = part_of(w);
        if (lacks_bias(s, w)) return true;
        const bool is_needed = (there >> part & 1) || (is_partial && part != WHOLE && part < OTHER);
        if (!is_needed || is_optional(s, w) || is_replaced(s, w) || has(s, w)) continue;
        return true;
    }
    return false;
}

/* Layers that predict more tokens stand behind the others, or not at all. */
static bool lacks_of_nextn(search *s, uint64_t n_nextn) {
    const uint64_t end = s->block + n_nextn;
    if (!tare_llama_is_one_of(tare_str_of(s->arch->name), whole_nextn)) return false;
    for (s->predicts = true; s->block < end; s->block++) {
        unsigned listed, there;
        find_parts(s, &listed, &there);
        if (there == 1U << WHOLE) continue;
        const char *words = "nextn.eh_proj nextn.enorm nextn.hnorm";
        for (tare_str w; (w = tare_llama_next_word(&words)).len;)
            if (!has(s, w)) return true;
        if (lacks(s)) return true;
    }
    s->predicts = false;
    return false;
}

bool tare_llama_lacks_tensor(char *name, size_t size, const tare_model *gguf,
                             const tare_llama_arch *arch, uint64_t from, uint64_t n_blocks,
                             uint64_t n_nextn, uint64_t n_decoder) {
    struct {
        const char *name;
        uint64_t n_blocks;
    } sides[] = {{"", n_blocks}, {"enc.", n_blocks}, {"dec.", n_decoder}};
    search s = {.gguf = gguf, .arch = arch, .name = name, .size = size};
    if (tare_llama_is_one_of(tare_str_of(arch->name), drafting)) sides[0].n_blocks += n_nextn;
    if (lacks(&s)) return true;
    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++) {
        const char *words = arch->tensors;
        s.side = sides[i].name;
        if (!next_of(&s, &words).len) continue;
        for (s.block = from; s.block < sides[i].n_blocks; s.block++)
            if (lacks(&s)) return true;
        if (i == 0 && lacks_of_nextn(&s, n_nextn)) return true;
    }
    return false;
}
