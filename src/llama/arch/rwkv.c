/* SPDX-License-Identifier: MIT
 *
 * RWKV: layers that mix each token with the one before it, by factors that lie in one tensor. */
#include "llama/arch/rows.h"

#define CONTEXT                                                                                    \
    { "context_length", U32, "1048576" }
#define NO_HEADS                                                                                   \
    { "attention.head_count", U32, "0" }

/* ---- version 6 ----------------------------------------------------------------------------------- */

static const tare_llama_key rwkv6_own[] = {
    CONTEXT,
    {"embedding_length", U32, "hidden_size"},
    {"block_count", U32, "layers"},
    {"attention.layer_norm_epsilon", F32, "layer_norm_epsilon"},
    {"rescale_every_n_layers", U32, "rescale_every"},
    {"wkv.head_size", U32, "head_size"},
    {"time_mix_extra_dim", U32, "if(hidden_size == 4096, 64, 32)"},
    {"time_decay_extra_dim", U32, "if(hidden_size == 4096, 128, 64)"},
    {"feed_forward_length", U32, "intermediate_size | 32 * floor(hidden_size * 3.5 / 32)"},
    KEY_FILE_TYPE,
    NO_HEADS,
    END_OF_KEYS};
/* Layers are scaled so that numbers stay small enough for F16. */
#define RESCALE "mul(if(rescale_every | 0, 1 / pow(2, floor(layer / rescale_every)), 1))"
#define LERP(block, x, i)                                                                          \
    {                                                                                              \
        "*." block ".time_maa_" x, "=blk.#.time_mix_lerp_fused.weight",                            \
            "squeeze view(1, 1, d0) stack(" i ", 5)"                                               \
    }
#define RULES_LERP(block)                                                                          \
    LERP(block, "w", "0"), LERP(block, "k", "1"), LERP(block, "v", "2"), LERP(block, "r", "3"),    \
        LERP(block, "g", "4"), {                                                                   \
        "*." block ".time_maa_x", "=blk.#.time_mix_lerp_x.weight", "squeeze"                       \
    }
#define RULES_DECAY(block)                                                                         \
    {"*." block ".time_decay", "=blk.#.time_mix_decay.weight", "squeeze"},                         \
        {"*." block ".time_decay_w1", "=blk.#.time_mix_decay_w1.weight", "swap(0, 1)"}, {          \
        "*." block ".time_decay_w2", "=blk.#.time_mix_decay_w2.weight", "swap(0, 1)"               \
    }
static const tare_llama_rule rwkv6_rules[] = {
    RULES_LERP("attention"),
    RULES_DECAY("attention"),
    {"*.attention.time_maa_w1", "=blk.#.time_mix_w1.weight", "swap(0, 1)"},
    {"*.attention.time_maa_w2", "=blk.#.time_mix_w2.weight", "swap(1, 2)"},
    {"*.attention.time_faaaa", "=blk.#.time_mix_first.weight", NULL},
    {"=blk.#.time_mix_output.weight", NULL, RESCALE},
    {"=blk.#.channel_mix_value.weight", NULL, RESCALE},
    {"*.feed_forward.time_maa_k", "=blk.#.channel_mix_lerp_k.weight", "squeeze"},
    {"*.feed_forward.time_maa_r", "=blk.#.channel_mix_lerp_r.weight", "squeeze"},
    END_OF_RULES};
#define TIME_MIX6                                                                                  \
    "time_mix_w1 time_mix_w2 time_mix_lerp_x time_mix_lerp_fused time_mix_first time_mix_decay "   \
    "time_mix_decay_w1 time_mix_decay_w2 time_mix_key time_mix_value time_mix_receptance "         \
    "time_mix_gate time_mix_ln time_mix_output "

static const char *const rwkv6_back_config[] = {"model_type = 'rwkv6'",
                                                "rescale_every = rescale_every_n_layers",
                                                "attention_hidden_size = embedding_length",
                                                "max_position_embeddings = nothing",
                                                "tie_word_embeddings = false",
                                                NULL};
#define SHAPES_LERP(block)                                                                         \
    {"*." block ".time_maa_w", "1, 1, hidden_size"},                                               \
        {"*." block ".time_maa_k", "1, 1, hidden_size"},                                           \
        {"*." block ".time_maa_v", "1, 1, hidden_size"},                                           \
        {"*." block ".time_maa_r", "1, 1, hidden_size"},                                           \
        {"*." block ".time_maa_g", "1, 1, hidden_size"}, {                                         \
        "*." block ".time_maa_x", "1, 1, d0"                                                       \
    }
#define SHAPES_DECAY(block)                                                                        \
    {"*." block ".time_decay", "1, 1, d0"}, {"*." block ".time_decay_w1", "d1, d0"}, {             \
        "*." block ".time_decay_w2", "d1, d0"                                                      \
    }
static const tare_llama_shape_row rwkv6_back_shapes[] = {SHAPES_LERP("attention"),
                                                         SHAPES_DECAY("attention"),
                                                         {"*.attention.time_maa_w1", "d1, d0"},
                                                         {"*.attention.time_maa_w2", "d0, d2, d1"},
                                                         {"*.attention.time_faaaa", "d0, d1"},
                                                         {"*.feed_forward.time_maa_k", "1, 1, d0"},
                                                         {"*.feed_forward.time_maa_r", "1, 1, d0"},
                                                         {NULL, NULL}};
static const tare_llama_back rwkv6_back = {
    .names = "rwkv.blocks. rwkv.embeddings rwkv.blocks.0.pre_ln rwkv.ln_out head ln1 ln2 "
             "attention.key attention.value attention.receptance attention.gate attention.output "
             "attention.ln_x feed_forward.key feed_forward.receptance feed_forward.value "
             "hidden_size head_size layer_norm_epsilon intermediate_size",
    .config = rwkv6_back_config,
    .shapes = rwkv6_back_shapes};

/* Qwen 2 with RWKV's time mixing; the five low-rank parts are in another order. */
static const tare_llama_key rwkv6qwen2_own[] = {
    CONTEXT,
    {"embedding_length", U32, "hidden_size"},
    {"block_count", U32, "layers"},
    {"wkv.head_size", U32, "floor(hidden_size / num_attention_heads)"},
    {"time_mix_extra_dim", U32, "lora_rank_tokenshift | if(hidden_size < 4096, 32, 64)"},
    {"time_decay_extra_dim", U32, "lora_rank_decay | if(hidden_size < 4096, 64, 128)"},
    {"feed_forward_length", U32, "intermediate_size"},
    KEY_FILE_TYPE,
    {"attention.layer_norm_rms_epsilon", F32, "rms_norm_eps"},
    {"token_shift_count", U32, "1"},
    {"attention.head_count_kv", U32, "num_key_value_heads"},
    NO_HEADS,
    END_OF_KEYS};
#define W1(from, i)                                                                                \
    {                                                                                              \
        "*.self_attn.time_maa_w1", "=blk.#.time_mix_w1.weight",                                    \
            "swap(0, 1) rows(0, " from " * d0 / 5, d0 / 5) part(" i ", 5)"                         \
    }
#define W2(from, i)                                                                                \
    {                                                                                              \
        "*.self_attn.time_maa_w2", "=blk.#.time_mix_w2.weight",                                    \
            "swap(1, 2) rows(0, " from ", 1) part(" i ", 5)"                                       \
    }
static const tare_llama_rule rwkv6qwen2_rules[] = {RULES_LERP("self_attn"),
                                                   RULES_DECAY("self_attn"),
                                                   W1("3", "0"),
                                                   W1("1", "1"),
                                                   W1("2", "2"),
                                                   W1("0", "3"),
                                                   W1("4", "4"),
                                                   W2("3", "0"),
                                                   W2("1", "1"),
                                                   W2("2", "2"),
                                                   W2("0", "3"),
                                                   W2("4", "4"),
                                                   END_OF_RULES};

static const char *const rwkv6qwen2_back_config[] = {
    "model_type = 'rwkv6qwen2'",
    "num_attention_heads = embedding_length / wkv.head_size",
    "lora_rank_tokenshift = time_mix_extra_dim",
    "lora_rank_decay = time_decay_extra_dim",
    "max_position_embeddings = nothing",
    NULL};
static const tare_llama_shape_row rwkv6qwen2_back_shapes[] = {
    SHAPES_LERP("self_attn"),
    SHAPES_DECAY("self_attn"),
    {"*.self_attn.time_maa_w1", "d1, d0"},
    {"*.self_attn.time_maa_w2", "d0, d2, d1"},
    {NULL, NULL}};
static const tare_llama_back rwkv6qwen2_back = {.names = HF_DENSE "self_attn.gate",
                                                .config = rwkv6qwen2_back_config,
                                                .shapes = rwkv6qwen2_back_shapes};

/* ---- version 7 ----------------------------------------------------------------------------------- */

#define RANK(exponent, factor)                                                                     \
    "32 * max(1, round(pow(hidden_size, " exponent ") * " factor " / 32))"
static const tare_llama_key rwkv7_own[] = {
    CONTEXT,
    {"embedding_length", U32, "hidden_size"},
    {"block_count", U32, "layers"},
    {"attention.layer_norm_epsilon", F32, "if(has(head_size), layer_norm_epsilon, norm_eps)"},
    {"wkv.head_size", U32, "head_size | head_dim"},
    {"attention.decay_lora_rank", U32,
     "lora_rank_decay | decay_low_rank_dim | " RANK("0.5", "1.8")},
    {"attention.iclr_lora_rank", U32, "lora_rank_iclr | a_low_rank_dim | " RANK("0.5", "1.8")},
    {"attention.value_residual_mix_lora_rank", U32,
     "lora_rank_value_residual_mix | v_low_rank_dim | " RANK("0.5", "1.3")},
    {"attention.gate_lora_rank", U32, "lora_rank_gate | gate_low_rank_dim | " RANK("0.8", "0.6")},
    {"feed_forward_length", U32, "intermediate_size | hidden_size * 4"},
    KEY_FILE_TYPE,
    NO_HEADS,
    END_OF_KEYS};
static const tare_llama_key arwkv7_own[] = {
    CONTEXT,
    {"embedding_length", U32, "hidden_size"},
    {"block_count", U32, "layers"},
    {"attention.layer_norm_rms_epsilon", F32, "rms_norm_eps"},
    {"wkv.head_size", U32, "head_size"},
    {"attention.decay_lora_rank", U32, "64"},
    {"attention.iclr_lora_rank", U32, "64"},
    {"attention.value_residual_mix_lora_rank", U32, "32"},
    {"attention.gate_lora_rank", U32, "if(wkv_has_gate, 128, 0)"},
    {"feed_forward_length", U32, "intermediate_size"},
    KEY_FILE_TYPE,
    {"token_shift_count", U32, "1"},
    NO_HEADS,
    END_OF_KEYS};
/* Names of three programs become one: see `cut`. Low-rank matrices of RWKV's own program (".w1")
 * are transposed, those of the other ("w_lora.lora.0.weight") are not. In block 0, which has no
 * values of an earlier one, llama.cpp wants some to be there: those of `a`. */
#define LERP7(x, i)                                                                                \
    {                                                                                              \
        "*.attention.x_" x, "=blk.#.time_mix_lerp_fused.weight",                                   \
            "stack(" i ", if(wkv_has_gate | true, 6, 5))"                                          \
    }
#define LOW_RANK(x)                                                                                \
    {"*.attention." x "1", "=blk.#.time_mix_" x "1.weight", "squeeze swap(0, 1)"},                 \
        {"*.attention." x "2", "=blk.#.time_mix_" x "2.weight", "squeeze swap(0, 1)"},             \
        {"*.attention." x "_lora.lora.0.weight", "=blk.#.time_mix_" x "1.weight", "squeeze"}, {    \
        "*.attention." x "_lora.lora.2.weight", "=blk.#.time_mix_" x "2.weight", "squeeze"         \
    }
#define OFFSET(x)                                                                                  \
    {"*.attention." x "0", "=blk.#.time_mix_" x "0.weight", "squeeze"}, {                          \
        "*.attention." x "_lora.lora.2.bias", "=blk.#.time_mix_" x "0.weight", "squeeze"           \
    }
#define DUMMY "if(layer == 0) "
static const tare_llama_rule rwkv7_rules[] = {
    {"*.attention.x_x", "=blk.#.time_mix_lerp_fused.weight",
     "view(if(wkv_has_gate | true, 6, 5), 1, 1, 0)"},
    LERP7("r", "0"),
    LERP7("w", "1"),
    LERP7("k", "2"),
    LERP7("v", "3"),
    LERP7("a", "4"),
    LERP7("g", "5"),
    {"*.attention.v0", NULL, DUMMY "drop"},
    {"*.attention.v1", NULL, DUMMY "drop"},
    {"*.attention.v2", NULL, DUMMY "drop"},
    {"*.attention.v_lora*", NULL, DUMMY "drop"},
    {"*.attention.a0", "=blk.#.time_mix_v0.weight", DUMMY "squeeze"},
    {"*.attention.a1", "=blk.#.time_mix_v1.weight", DUMMY "squeeze swap(0, 1)"},
    {"*.attention.a2", "=blk.#.time_mix_v2.weight", DUMMY "squeeze swap(0, 1)"},
    {"*.attention.a_lora.lora.0.weight", "=blk.#.time_mix_v1.weight", DUMMY "squeeze"},
    {"*.attention.a_lora.lora.2.weight", "=blk.#.time_mix_v2.weight", DUMMY "squeeze"},
    {"*.attention.a_lora.lora.2.bias", "=blk.#.time_mix_v0.weight", DUMMY "squeeze"},
    LOW_RANK("w"),
    LOW_RANK("a"),
    LOW_RANK("g"),
    OFFSET("w"),
    OFFSET("a"),
    {"*.attention.v0", "=blk.#.time_mix_v0.weight", "if(layer > 0) squeeze"},
    {"*.attention.v1", "=blk.#.time_mix_v1.weight", "if(layer > 0) squeeze swap(0, 1)"},
    {"*.attention.v2", "=blk.#.time_mix_v2.weight", "if(layer > 0) squeeze swap(0, 1)"},
    {"*.attention.v_lora.lora.0.weight", "=blk.#.time_mix_v1.weight", "if(layer > 0) squeeze"},
    {"*.attention.v_lora.lora.2.weight", "=blk.#.time_mix_v2.weight", "if(layer > 0) squeeze"},
    {"*.attention.v_lora.lora.2.bias", "=blk.#.time_mix_v0.weight", "if(layer > 0) squeeze"},
    {"*.attention.k_k", "=blk.#.time_mix_k_k.weight", "squeeze"},
    {"*.attention.k_a", "=blk.#.time_mix_k_a.weight", "squeeze"},
    {"*.attention.r_k", "=blk.#.time_mix_r_k.weight", "view(0)"},
    {"*.feed_forward.x_k", "=blk.#.channel_mix_lerp_k.weight", "squeeze"},
    END_OF_RULES};
#define TIME_MIX7                                                                                  \
    "time_mix_lerp_fused time_mix_w0 time_mix_w1 time_mix_w2 time_mix_a0 time_mix_a1 time_mix_a2 " \
    "time_mix_v0 time_mix_v1 time_mix_v2 time_mix_g1 time_mix_g2 time_mix_k_k time_mix_k_a "       \
    "time_mix_r_k time_mix_key time_mix_value time_mix_receptance time_mix_ln time_mix_output "
#define RWKV7_CUT                                                                                  \
    "blocks>layers ffn_norm=ln2 ffn=feed_forward self_attn>attention .attn.=.attention. "          \
    "time_mixer.> attn_norm=attention_norm g_norm=ln_x feed_forward_norm>ln2"

/* What comes back has the names of flash-linear-attention, whose first block has no matrices for
 * values of an earlier one. */
static const char *const rwkv7_back_config[] = {"model_type = 'rwkv7'",
                                                "norm_eps = attention.layer_norm_epsilon",
                                                "max_position_embeddings = nothing", NULL};
static const tare_llama_shape_row rwkv7_back_shapes[] = {
    {"*.attention.x_r", "1, 1, hidden_size"},
    {"*.attention.x_w", "1, 1, hidden_size"},
    {"*.attention.x_k", "1, 1, hidden_size"},
    {"*.attention.x_v", "1, 1, hidden_size"},
    {"*.attention.x_a", "1, 1, hidden_size"},
    {"*.attention.x_g", "1, 1, hidden_size"},
    {"*.attention.w_lora.lora.0.weight", "d0, d1"},
    {"*.attention.w_lora.lora.2.weight", "d0, d1"},
    {"*.attention.w_lora.lora.2.bias", "d0"},
    {"*.attention.a_lora.lora.0.weight", "d0, d1"},
    {"*.attention.a_lora.lora.2.weight", "d0, d1"},
    {"*.attention.a_lora.lora.2.bias", "d0"},
    {"*.attention.v_lora.lora.0.weight", "d0, d1"},
    {"*.attention.v_lora.lora.2.weight", "d0, d1"},
    {"*.attention.v_lora.lora.2.bias", "d0"},
    {"*.attention.g_lora.lora.0.weight", "d0, d1"},
    {"*.attention.g_lora.lora.2.weight", "d0, d1"},
    {"*.attention.k_k", "d0"},
    {"*.attention.k_a", "d0"},
    {"*.attention.r_k", "floor(d0 / head_dim), head_dim"},
    {"*.feed_forward.x_k", "d0"},
    {NULL, NULL}};
static const tare_llama_back rwkv7_back = {
    .names = "model.layers. model.embeddings model.layers.0.pre_norm model.norm lm_head "
             "attention_norm ln2 attention.k_proj attention.v_proj attention.r_proj "
             "attention.o_proj attention.ln_x feed_forward.key feed_forward.value hidden_size "
             "head_dim intermediate_size decay_low_rank_dim a_low_rank_dim v_low_rank_dim "
             "gate_low_rank_dim",
    .config = rwkv7_back_config,
    .shapes = rwkv7_back_shapes};

const tare_llama_arch tare_llama_family_rwkv[] = {
    {.name = "rwkv6",
     .classes = "Rwkv6ForCausalLM",
     .tensors = ENDS TIME_MIX6 "token_embd_norm attn_norm attn_norm_2 channel_mix_lerp_k "
                               "channel_mix_lerp_r channel_mix_key channel_mix_receptance "
                               "channel_mix_value",
     .own = rwkv6_own,
     .rules = rwkv6_rules,
     .back = &rwkv6_back},
    {.name = "rwkv6qwen2",
     .classes = "RWKV6Qwen2ForCausalLM",
     .tensors = ENDS TIME_MIX6 FFN "attn_norm ffn_norm",
     .optional = "time_mix_first time_mix_ln",
     .own = rwkv6qwen2_own,
     .rules = rwkv6qwen2_rules,
     .back = &rwkv6qwen2_back},
    {.name = "rwkv7",
     .classes = "RWKV7ForCausalLM Rwkv7ForCausalLM",
     .tensors = ENDS TIME_MIX7 "token_embd_norm attn_norm attn_norm_2 channel_mix_lerp_k "
                               "channel_mix_key channel_mix_value",
     .cut = RWKV7_CUT,
     .own = rwkv7_own,
     .rules = rwkv7_rules,
     .back = &rwkv7_back},
    {.name = "arwkv7",
     .classes = "RwkvHybridForCausalLM",
     .tensors = ENDS TIME_MIX7 FFN "token_embd_norm attn_norm ffn_norm",
     .optional = "token_embd_norm time_mix_ln time_mix_g1 time_mix_g2",
     .cut = RWKV7_CUT,
     .own = arwkv7_own,
     .rules = rwkv7_rules},
    {.name = NULL},
};
