/* SPDX-License-Identifier: MIT
 *
 * Which tensors llama.cpp's loader takes. It counts those that the architecture asks for, and refuses
 * a file that has others. The row of an architecture lists what a conversion makes; here is what the
 * loader takes beyond that, and what it does not. */
#include <stdio.h>

#include "base/arith.h"
#include "base/str.h"
#include "llama/loader.h"
#include "llama/needed.h"
#include "llama/size_rules.h"
#include "llama/tensor_names.h"

#define MOST_ROWS 32 /* of one architecture; the most have 7 */

/* Words, and the architectures that they are about; behind '!': all but these. */
typedef struct about {
    const char *words, *archs;
} about;

#define PLAIN "deci granite granitemoe llama llama-embed mistral3 refact"

/* Beyond the words of the rows. */
static const about further[] = {
    {"attn_qkv",
     "!arwkv7 bitnet deepseek2 deepseek32 dots3note gemma4-assistant glm-dsa mamba mamba2 "
     "minicpm3 "
     "mistral4 plm rwkv6 rwkv6qwen2 rwkv7 t5 t5encoder wavtokenizer-dec"},
    {"rope_factors_long rope_factors_short", PLAIN " apertus pangu-embedded step35"},
    {"ffn_down_shexp ffn_gate_shexp ffn_up_shexp", "ernie4_5 nemotron_h paddleocr"},
    {"rope_freqs", "cogvlm falcon-h1 granite granitehybrid granitemoe pangu-embedded refact"},
    {"ffn_gate_up_exps", "cohere2moe deepseek2 deepseek2-ocr hy_v3 qwen35moe qwen3next"},
    {"ffn_down_exps ffn_gate_exps ffn_gate_inp ffn_up_exps",
     "ernie4_5 lfm2 nemotron_h paddleocr refact"},
    {"nextn.eh_proj nextn.enorm nextn.hnorm nextn.shared_head_norm",
     "mimo2 mistral4 nemotron_h nemotron_h_moe qwen3next"},
    {"nextn.embed_tokens nextn.shared_head_head", "mimo2 mistral4 qwen3next"},
    {"attn_k attn_q attn_v", "codeshell jina-bert-v3 nomic-bert nomic-bert-moe"},
    {"cls.output", "qwen3 qwen3vl"},
    {"dense_2", "gemma3 lfm2moe"},
    {"dense_3", "gemma3"},
    {"exp_probs_b", "ernie4_5 lfm2 nemotron_h paddleocr"},
    {"post_attention_norm", "nemotron_h nemotron_h_moe"},
    {"ffn_latent_down ffn_latent_up", "nemotron_h"},
    {"ffn_norm_exps", "arctic"},
    {"masked_embd_centroids masked_embd_ordering", "gemma4-assistant"},
    {"ffn.act", "mpt"},
    {"time_mix_lerp_g time_mix_lerp_k time_mix_lerp_r time_mix_lerp_v time_mix_lerp_w", "rwkv6"},
};

/* Of the words of the rows, what the loader does not ask for, or what llama.cpp ends with. */
static const about refused[] = {
    {"rope_freqs", "arctic baichuan bailingmoe chatglm deepseek deepseek2 deepseek2-ocr deepseek32 "
                   "dream glm-dsa glm4 grok mistral4 nemotron orion plamo qwen qwen2 qwen3 qwen3vl "
                   "smollm3 stablelm starcoder2 xverse"},
    {"attn_rot_embd", "codeshell deepseek deepseek2 deepseek2-ocr deepseek32 glm-dsa grok llama "
                      "mistral3 mistral4 plamo"},
    {"output_norm", "bert jina-bert-v3 nomic-bert nomic-bert-moe"},
    {"position_embd", "codeshell nomic-bert nomic-bert-moe"},
    {"attn_k_norm attn_q_norm", "mpt"}, /* of queries and keys that lie side by side */
    {"ssm_a ssm_conv1d ssm_d ssm_dt ssm_in ssm_norm ssm_out", "granite granitemoe"},
};

#define NO_BIAS                                                                                    \
    "!arwkv7 bailingmoe2 bitnet cogvlm dbrx deepseek2 deepseek32 dflash eagle3 falcon "            \
    "gemma-embedding2 gemma4 "                                                                     \
    "gemma4-assistant "                                                                            \
    "glm-dsa graniteswitch mamba mamba2 minicpm3 mistral4 modern-bert neo-bert openelm plamo2 "    \
    "plamo3 plm rwkv6 "                                                                            \
    "rwkv6qwen2 rwkv7 t5 t5encoder wavtokenizer-dec"
/* With a bias beside the weight, or instead of it. */
static const about biased[] = {
    {"attn_qkv", NO_BIAS " minimax-01"},
    {"attn_q attn_k attn_v", NO_BIAS " bloom gpt2 gptneox jais mpt qwen starcoder"},
    {"attn_output",
     "apertus bert bloom codeshell deci ernie4_5 ernie4_5-moe falcon-h1 gpt-oss gpt2 gptneox "
     "granite granite_swa granitehybrid granitemoe jais jais2 jina-bert-v2 jina-bert-v3 llada "
     "llama "
     "llama-embed minicpm mistral3 mpt nemotron nemotron_h nemotron_h_moe nomic-bert "
     "nomic-bert-moe paddleocr pangu-embedded phi2 phimoe refact starcoder starcoder2"},
    {"ffn_down ffn_up",
     "bert bloom codeshell deci falcon-h1 gpt2 gptneox granite granite_swa granitehybrid "
     "granitemoe jais jais2 "
     "jina-bert-v2 jina-bert-v3 llada llama llama-embed minicpm mistral3 mpt nemotron nemotron_h "
     "nemotron_h_moe nomic-bert nomic-bert-moe phi2 refact starcoder starcoder2"},
    {"ffn_gate", PLAIN " falcon-h1 granite_swa granitehybrid jais llada minicpm"},
    {"exp_probs_b", "!hy_v3"},
    {"attn_norm output_norm",
     "bloom codeshell falcon gpt2 gptneox jais jais2 mpt nemotron orion phi2 phimoe rwkv6 rwkv7 "
     "stablelm starcoder starcoder2 wavtokenizer-dec"},
    {"output_norm", "rwkv6qwen2"},
    {"ffn_norm", "bloom codeshell gpt2 gptneox jais jais2 mpt nemotron orion phimoe stablelm "
                 "starcoder starcoder2"},
    {"ssm_dt", "!"},
    {"ssm_conv1d", "!qwen35 qwen35moe qwen3next qwen4exp"},
    {"token_embd_norm", "bert bloom jina-bert-v2 jina-bert-v3 nomic-bert nomic-bert-moe rwkv6 "
                        "rwkv7 wavtokenizer-dec"},
    {"output", "dream phi2 phimoe qwen2 qwen2vl wavtokenizer-dec"},
    {"attn_output_norm layer_output_norm",
     "bert jina-bert-v2 jina-bert-v3 nomic-bert nomic-bert-moe"},
    {"attn_k_norm attn_q_norm", "apertus chameleon jina-bert-v2 mpt"},
    {"attn_norm_2", "falcon jina-bert-v2 rwkv6 rwkv7"},
    {"cls", "!modern-bert"},
    {"cls.output conf_proj dense_2 time_mix_ln", "!"},
    {"indexer.k_norm", "!minimax-m3 qwen4exp"},
    {"ffn_down_exps ffn_gate_exps ffn_gate_inp ffn_up_exps", "gpt-oss"},
    {"time_mix_key time_mix_receptance time_mix_value", "rwkv6qwen2"},
};

/* Without a weight: they add, and do not multiply. */
static const about added[] = {
    {"exp_probs_b", "!hy_v3"},
    {"ssm_dt",
     "falcon-h1 granitehybrid kimi-k3 kimi-linear mamba2 nemotron_h nemotron_h_moe qwen35 "
     "qwen35moe qwen3next qwen4exp"},
};

/* With a scale of quantized numbers. */
static const char scaled[] =
    "attn_gate attn_k attn_output attn_q attn_qkv attn_v ffn_down ffn_down_exps ffn_down_shexp "
    "ffn_gate ffn_gate_exps ffn_gate_shexp ffn_up ffn_up_exps ffn_up_shexp nextn.eh_proj "
    "nextn.shared_head_head output ssm_alpha ssm_beta ssm_in ssm_out ffn_gate_inp";

bool tare_llama_takes_scale(tare_str word) {
    return tare_llama_is_one_of(word, scaled);
}

/* Architectures whose tensors have other names than rows list, or blocks of several kinds. */
static const char unlisted[] = "wavtokenizer-dec";

static bool is_about(const about *rows, size_t n, tare_str architecture, tare_str word) {
    for (size_t i = 0; i < n; i++) {
        const char *archs = rows[i].archs;
        const bool is_but = archs[0] == '!';
        if (tare_llama_is_one_of(word, rows[i].words) &&
            tare_llama_is_one_of(architecture, archs + is_but) != is_but)
            return true;
    }
    return false;
}
#define IS_ABOUT(rows, architecture, word)                                                         \
    is_about(rows, sizeof(rows) / sizeof *(rows), architecture, word)

/* A file of an architecture, which may have several rows. */
typedef struct loaded {
    const tare_model *gguf;
    tare_str architecture;
    uint64_t blocks,
        predicting; /* blocks in all; of these, the last ones, which predict more tokens */
    bool has_experts;
    const tare_llama_arch *rows[MOST_ROWS];
    size_t n_rows;
} loaded;

static void find_rows(loaded *l) {
    const tare_llama_arch *a;
    for (size_t i = 0; (a = tare_llama_arch_at(i)) && l->n_rows < MOST_ROWS; i++)
        if (tare_str_is(l->architecture, a->name)) l->rows[l->n_rows++] = a;
}

/* Whether a row lists the word. */
static bool is_listed(const loaded *l, tare_str word) {
    const tare_str written = TARE_STR("ffn_pre_norm"); /* which is called ffn_norm in the file */
    for (size_t i = 0; i < l->n_rows; i++)
        if (tare_llama_is_one_of(word, l->rows[i]->tensors) ||
            (tare_str_is(word, "ffn_norm") && tare_llama_is_one_of(written, l->rows[i]->tensors)))
            return true;
    return false;
}

/* Whether the architecture has such a tensor: "attn_q" and ".weight". */
static bool takes(const loaded *l, tare_str word, tare_str suffix) {
    const tare_str architecture = l->architecture;
    if (IS_ABOUT(refused, architecture, word)) return false;
    if (!is_listed(l, word) && !IS_ABOUT(further, architecture, word)) return false;
    if (suffix.len == 0) return tare_llama_is_bare(architecture, word);
    if (tare_str_is(suffix, ".weight"))
        return !tare_llama_is_bare(architecture, word) && !IS_ABOUT(added, architecture, word);
    if (tare_str_is(suffix, ".bias")) return IS_ABOUT(biased, architecture, word);
    if (tare_str_is(suffix, ".scales")) return tare_str_is(word, "ffn.act");
    return tare_llama_is_one_of(word, scaled);
}

/* ---- all of a file --------------------------------------------------------------------------- */

/* "blk.#.attn_q.weight", "enc.blk.#.attn_q.weight", "rope_freqs.weight" -> "attn_q", "enc.attn_q" and
 * ".weight". */
static tare_str word_of(char *word, size_t size, const char *stem, tare_str *suffix) {
    static const char *const suffixes[] = {".weight", ".bias", ".scale", ".input_scale", ".scales"};
    const char *block = strstr(stem, "blk.#.");
    tare_str rest = tare_str_of(block ? block + 6 : stem);
    *suffix = TARE_STR("");
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        const tare_str s = tare_str_of(suffixes[i]);
        if (!tare_str_ends(rest, s)) continue;
        rest.len -= s.len;
        *suffix = s;
        break;
    }
    snprintf(word, size, "%.*s%.*s", block ? (int)(block - stem) : 0, stem, (int)rest.len,
             rest.ptr);
    return tare_str_of(word);
}

static bool no(tare_error *why, tare_str tensor, const char *what) {
    char name[128];
    snprintf(name, sizeof name, "%.*s", (int)tare_min_u64(tensor.len, sizeof name - 1), tensor.ptr);
    tare_fail(why, TARE_ERR_UNSUPPORTED, what);
    tare_error_item(why, TARE_ITEM_TENSOR, -1, tare_str_of(name));
    return false;
}

/* What one tensor is, by its name. */
typedef struct part {
    tare_str name, word, suffix;
    uint64_t block;
    bool is_in_block;
} part;

/* Another tensor of the same block. */
static bool has_beside(const tare_model *gguf, const part *p, const char *word) {
    char name[160];
    snprintf(name, sizeof name, "blk.%llu.%s.weight", (unsigned long long)p->block, word);
    return tare_model_find_tensor(gguf, tare_str_of(name)) >= 0;
}

/* Factors of rotary positions, of which these architectures have one kind by the type of scaling. */
static bool is_of_other_scaling(const loaded *l, tare_str word) {
    static const char archs[] = PLAIN " apertus minicpm pangu-embedded step35";
    const tare_str freqs = TARE_STR("rope_freqs"), lead = TARE_STR("rope_factors_");
    char key[160];
    snprintf(key, sizeof key, "%.*s.rope.scaling.type", (int)tare_min_u64(l->architecture.len, 64),
             l->architecture.ptr);
    const bool is_long = tare_str_is(tare_catalog_get_str(&l->gguf->catalog, key), "longrope");
    return tare_llama_is_one_of(l->architecture, archs) &&
           (is_long ? tare_str_equal(word, freqs) : tare_str_starts(word, lead));
}

/* Words of experts, which an architecture may have without having any. */
static bool is_of_experts(tare_str word) {
    return tare_str_ends(word, TARE_STR("_exps")) || tare_str_ends(word, TARE_STR("_shexp")) ||
           tare_str_is(word, "ffn_gate_inp");
}

static bool is_of_prediction(tare_str word) {
    return tare_str_starts(word, TARE_STR("nextn."));
}

/* A number of the architecture; 0: it has none. */
static uint64_t number_of(const loaded *l, const char *name) {
    char key[160];
    uint64_t n;
    snprintf(key, sizeof key, "%.*s.%s", (int)tare_min_u64(l->architecture.len, 64),
             l->architecture.ptr, name);
    const int64_t i = tare_model_find_key(l->gguf, tare_str_of(key));
    return i >= 0 && tare_value_u64(&n, &l->gguf->catalog.metadata[i].value) ? n : 0;
}

/* Layers that predict more tokens are counted among the blocks, and nothing of them is taken where the
 * architecture has none. */
static uint64_t taken_blocks(const loaded *l) {
    const tare_str word = TARE_STR("nextn.eh_proj");
    const uint64_t n = number_of(l, "nextn_predict_layers");
    if (is_listed(l, word) || IS_ABOUT(further, l->architecture, word) ||
        tare_str_is(l->architecture, "gemma4-assistant")) /* which has no others */
        return l->blocks;
    return l->blocks - tare_min_u64(n, l->blocks);
}

/* Words of attention in a block that has something else instead. */
static bool is_instead(const loaded *l, const part *p) {
    static const char archs[] = "granitehybrid jamba lfm2 lfm2moe nemotron_h nemotron_h_moe plamo2";
    if (tare_str_is(p->word, "attn_qkv") && tare_str_is(p->suffix, ".bias") &&
        has_beside(l->gguf, p, "ssm_conv1d"))
        return true; /* linear attention has no biases */
    return p->is_in_block && tare_llama_is_one_of(l->architecture, archs) &&
           tare_llama_is_one_of(p->word, "attn_q attn_k attn_v attn_qkv attn_output") &&
           (has_beside(l->gguf, p, "ssm_in") || has_beside(l->gguf, p, "shortconv.conv"));
}

/* Feed-forward networks of NVFP4 with a scale beside it have no biases. */
static bool is_bias_of_scaled(const loaded *l, const part *p) {
    char name[160];
    if (!tare_str_is(p->suffix, ".bias") ||
        !tare_llama_is_one_of(p->word, "ffn_down ffn_gate ffn_up"))
        return false;
    const int lead = (int)tare_min_u64(p->name.len - p->suffix.len, 128);
    snprintf(name, sizeof name, "%.*s.scale", lead, p->name.ptr);
    if (tare_model_find_tensor(l->gguf, tare_str_of(name)) < 0) return false;
    snprintf(name, sizeof name, "%.*s.weight", lead, p->name.ptr);
    const int64_t i = tare_model_find_tensor(l->gguf, tare_str_of(name));
    return i >= 0 && l->gguf->catalog.tensors[i].encoding->id == TARE_ENCODING_NVFP4;
}

/* Of the side of an encoder or a decoder. */
static uint64_t blocks_of(const loaded *l, tare_str name) {
    const uint64_t n = number_of(l, "decoder_block_count");
    return tare_str_starts(name, TARE_STR("dec.")) && n ? n : l->blocks;
}

/* Why the loader does not take it; NULL: it does. */
static const char *why_not(const loaded *l, const part *p) {
    if (!takes(l, p->word, p->suffix) || (p->is_in_block && tare_llama_is_outside(p->word)))
        return "llama.cpp has no such tensor in this architecture";
    if (p->is_in_block && p->block >= blocks_of(l, p->name))
        return "its block is beyond the number that the keys give";
    if (tare_str_is(p->word, "attn_qkv") && has_beside(l->gguf, p, "attn_q"))
        return "attn_q is there as well";
    if (is_instead(l, p)) return "the block has no attention";
    if (p->is_in_block && p->block < l->blocks - l->predicting && is_of_prediction(p->word))
        return "by nextn_predict_layers the block predicts no more tokens";
    if (tare_str_is(p->word, "exp_probs_b") && !tare_str_is(l->architecture, "hy_v3") &&
        !has_beside(l->gguf, p, "ffn_gate_inp"))
        return "the block has no experts";
    if (is_bias_of_scaled(l, p)) return "llama.cpp stops at a bias beside a scale of NVFP4";
    if (is_of_other_scaling(l, p->word)) return "factors of another rope.scaling.type";
    if (is_of_experts(p->word) && !l->has_experts) return "the keys give no number of experts";
    if (tare_str_is(l->architecture, "cohere2moe") && number_of(l, "expert_shared_count") == 0 &&
        tare_str_ends(p->word, TARE_STR("_shexp")))
        return "by expert_shared_count there are no shared experts";
    return NULL;
}

/* Layers that predict more tokens are all there, where no other file may have them. */
static bool are_predicting(const loaded *l, tare_error *why) {
    const tare_str word = TARE_STR("nextn.eh_proj");
    char name[64];
    if (!is_listed(l, word) || tare_str_is(l->architecture, "dots3note") ||
        tare_llama_is_one_of(l->architecture, TARE_LLAMA_DRAFTS))
        return true;
    for (uint64_t i = l->blocks - l->predicting; i < l->blocks; i++) {
        snprintf(name, sizeof name, "blk.%llu.nextn.eh_proj.weight", (unsigned long long)i);
        if (tare_model_find_tensor(l->gguf, tare_str_of(name)) < 0)
            return no(why, tare_str_of(name),
                      "it is missing: by nextn_predict_layers the block predicts more tokens");
    }
    return true;
}

bool tare_llama_tensors_load(const tare_model *gguf, tare_str architecture, uint64_t blocks,
                             tare_error *why) {
    loaded l = {.gguf = gguf, .architecture = architecture, .blocks = blocks};
    if (tare_llama_is_one_of(architecture, unlisted)) return true;
    find_rows(&l);
    l.blocks = taken_blocks(&l);
    l.predicting = tare_min_u64(number_of(&l, "nextn_predict_layers"), l.blocks);
    l.has_experts = number_of(&l, "expert_count") > 0;
    for (size_t i = 0; i < gguf->catalog.n_tensors; i++) {
        part p = {.name = gguf->catalog.tensors[i].name};
        char stem[160], word[160];
        tare_llama_stem(stem, sizeof stem, &p.block, &p.is_in_block, p.name);
        p.word = word_of(word, sizeof word, stem, &p.suffix);
        const char *what = why_not(&l, &p);
        if (what) return no(why, p.name, what);
    }
    return are_predicting(&l, why);
}
