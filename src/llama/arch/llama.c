/* SPDX-License-Identifier: MIT
 *
 * Llama and what has its names: rotary halves are interleaved, experts of Mixtral are stacked. */
#include "llama/arch/rows.h"

#define LLAMA_TENSORS DENSE MOE "attn_rot_embd rope_factors_long rope_factors_short "

static const char *const llama_defaults[] = {KV_HEADS_ALL, "rope_theta = 10000",
                                             "max_position_embeddings = 2048",
                                             "rms_norm_eps = 0.000001", NULL};
static const char *const mistral_defaults[] = {"num_key_value_heads = 8", "rope_theta = 10000",
                                               "max_position_embeddings = 131072",
                                               "rms_norm_eps = 0.000001", NULL};
static const char *const mistral3_defaults[] = {
    "num_key_value_heads = 8",
    "rope_theta = 10000",
    "max_position_embeddings = 131072",
    "rms_norm_eps = 0.000001",
    "rope.is_by_log = model_type == 'ministral3'", /* llama.cpp divides by mscale_all_dim itself */
    NULL};
static const tare_llama_key mistral3_keys[] = {
    KEY_VOCAB_SIZE,
    KEY_ROPE_DIM,
    {"rope.scaling.yarn_log_multiplier", F32,
     "if(model_type == 'ministral3', if(like_reference, rope.mscale_all_dim, "
     "if(has(rope.attention_factor), nothing, if(rope.mscale | 0, rope.mscale_all_dim))))"},
    {"rope.scaling.original_context_length", U32, /* by which the scale of positions grows */
     "if(rope.type == 'yarn', nothing, if(has(rope.llama_4_scaling_beta), rope.original_context))"},
    {"attention.temperature_scale", F32,
     "if(model_type == 'ministral3', rope.llama_4_scaling_beta)"},
    END_OF_KEYS};
static const char *const mixtral_defaults[] = {"num_key_value_heads = 8",
                                               "rope_theta = 1000000",
                                               "max_position_embeddings = 131072",
                                               "num_local_experts = 8",
                                               "num_experts_per_tok = 2",
                                               "rms_norm_eps = 0.00001",
                                               NULL};
/* Janus Pro also generates images. */
static const tare_llama_rule llama_rules[] = {RULES_PERMUTE, RULE_DROP("model.aligner.*"),
                                              RULE_DROP("model.vqmodel.*"),
                                              RULE_DROP("model.generation_*"), END_OF_RULES};
static const tare_llama_rule sarashina_rules[] = {RULES_PERMUTE, RULE_DROP("norm.*"), END_OF_RULES};
/* Code Llama's tokens for filling in, in a vocabulary of 32,016. */
static const tare_llama_special_rule codellama_specials[] = {
    {.special = TARE_LLAMA_PREFIX, .id = 32007},
    {.special = TARE_LLAMA_SUFFIX, .id = 32008},
    {.special = TARE_LLAMA_MIDDLE, .id = 32009},
    {.special = TARE_LLAMA_EOT, .id = 32010},
};

static const char *const llama_back_config[] = {"model_type = 'llama'", BACK_BIASES, BACK_LONGROPE,
                                                NULL};
static const tare_llama_back llama_back = {
    .names = HF_DENSE, .config = llama_back_config, .when = "has(expert_count) == false"};
static const char *const mixtral_back_config[] = {
    "model_type = 'mixtral'", BACK_LONGROPE,
    "head_dim = if(rope.dimension_count * attention.head_count == embedding_length, nothing, "
    "rope.dimension_count)",
    NULL};
static const tare_llama_back mixtral_back = {
    .names = HF_ENDS HF_NORMS HF_ATTN HF_CONFIG
    "block_sparse_moe.gate block_sparse_moe.experts.w1 block_sparse_moe.experts.w2 "
    "block_sparse_moe.experts.w3 num_local_experts",
    .config = mixtral_back_config};
static const char *const ministral3_back_config[] = {
    "model_type = 'ministral3'",
    "rope_parameters.llama_4_scaling_beta = attention.temperature_scale",
    "rope_parameters.mscale = if(has(rope.scaling.yarn_log_multiplier), "
    "if(has(rope.scaling.attn_factor), round(100000 * (rope.scaling.attn_factor "
    "* " TARE_LLAMA_YARN_KEY("1") " - 1) / ln(rope.scaling.factor)) / 10000, 1.0))",
    "rope_parameters.attention_factor = if(has(rope.scaling.yarn_log_multiplier), nothing, "
    "rope.scaling.attn_factor * " TARE_LLAMA_YARN_KEY("1") ")",
    "rope_parameters.mscale_all_dim = rope.scaling.yarn_log_multiplier",
    BACK_ROPE(""),
    NULL};
static const tare_llama_back ministral3_back = {.names = HF_DENSE,
                                                .config = ministral3_back_config,
                                                .when = "has(attention.temperature_scale)"};
static const char *const mistral3_back_config[] = {"model_type = 'mistral'", BACK_LONGROPE, NULL};
static const tare_llama_back mistral3_back = {
    .names = HF_DENSE, .config = mistral3_back_config, .when = "true"};

/* Runs its blocks several times. */
static const tare_llama_key nanbeige_keys[] = {
    KEY_VOCAB_SIZE,
    KEY_ROPE_DIM,
    {"num_loops", U32, "if(num_loops > 1, num_loops, 1)"},
    {"skip_loop_final_norm", BOOL, "skip_loop_final_norm | false"},
    END_OF_KEYS};
static const char *const nanbeige_back_config[] = {
    "model_type = 'nanbeige'", "num_loops = num_loops", "head_dim = attention.key_length",
    BACK_BIASES, NULL};
static const tare_llama_back nanbeige_back = {.names = HF_DENSE, .config = nanbeige_back_config};

static const char *const cogvlm_back_config[] = {"model_type = 'cogvlm'",
                                                 "head_dim = attention.key_length", NULL};
static const tare_llama_back cogvlm_back = {
    .names = HF_ENDS HF_NORMS HF_CONFIG
    "self_attn.language_expert_query_key_value self_attn.language_expert_dense "
    "mlp.language_mlp.gate_proj mlp.language_mlp.up_proj mlp.language_mlp.down_proj "
    "self_attn.vision_expert_query_key_value self_attn.vision_expert_dense "
    "mlp.vision_mlp.gate_proj mlp.vision_mlp.up_proj mlp.vision_mlp.down_proj",
    .config = cogvlm_back_config};

#define MISTRAL3_ROW(of, way_back)                                                                 \
    {                                                                                              \
        .name = "mistral3", .classes = of,                                                         \
        .requires = "if(model_type == 'mistral4', false, true)", .tensors = LLAMA_TENSORS,         \
        .defaults = mistral3_defaults, .keys = mistral3_keys, .rules = tare_llama_permute,         \
        .has_rope_freqs = true, .back = &way_back                                                  \
    }
const tare_llama_arch tare_llama_family_llama[] = {
    {.name = "llama",
     .classes = "LlamaForCausalLM LLaMAForCausalLM",
     .requires = "vocab_size == 32016",
     .tensors = LLAMA_TENSORS,
     .cut = "text_model.",
     .defaults = llama_defaults,
     .keys = tare_llama_usual_keys,
     .rules = tare_llama_permute,
     .tokenizer = {.reads_prefix_space = true, .rules = codellama_specials, .n_rules = 4},
     .has_rope_freqs = true,
     .back = &llama_back},
    {.name = "llama",
     .classes = "LlamaForCausalLM LLaMAForCausalLM",
     .requires = "vocab_size == 49152",
     .tensors = LLAMA_TENSORS,
     .cut = "text_model.",
     .defaults = llama_defaults,
     .keys = tare_llama_usual_keys,
     .rules = tare_llama_permute,
     .tokenizer = {.reads_prefix_space = true, .add_bos = TARE_LLAMA_FLAG_NO},
     .has_rope_freqs = true,
     .back = &llama_back},
    {.name = "llama",
     .classes = "LlamaForCausalLM LLaMAForCausalLM VLlama3ForCausalLM IQuestCoderForCausalLM "
                "LlavaForConditionalGeneration VoxtralForConditionalGeneration "
                "InternLM3ForCausalLM JanusForConditionalGeneration",
     .tensors = LLAMA_TENSORS,
     .cut = "text_model.",
     .defaults = llama_defaults,
     .keys = tare_llama_usual_keys,
     .rules = llama_rules,
     .tokenizer = {.reads_prefix_space = true},
     .has_rope_freqs = true,
     .back = &llama_back},
    {.name = "llama",
     .classes = "Sarashina2VisionForCausalLM",
     .tensors = LLAMA_TENSORS,
     .cut = "llm.",
     .defaults = llama_defaults,
     .keys = tare_llama_usual_keys,
     .rules = sarashina_rules,
     .tokenizer = {.reads_prefix_space = true},
     .has_rope_freqs = true},
    {.name = "cogvlm",
     .classes = "CogVLMForCausalLM",
     .tensors = ENDS FUSED NORMS FFN "vis_attn_qkv vis_attn_output vis_gate vis_up vis_down",
     .defaults = tare_llama_all_heads,
     .keys = tare_llama_usual_keys,
     .tokenizer = {.reads_prefix_space = true},
     .has_rope_freqs = true,
     .back = &cogvlm_back},
    {.name = "llama",
     .classes = "MistralForCausalLM",
     .tensors = LLAMA_TENSORS,
     .cut = "text_model.",
     .defaults = mistral_defaults,
     .keys = tare_llama_usual_keys,
     .rules = tare_llama_permute,
     .tokenizer = {.reads_prefix_space = true},
     .has_rope_freqs = true},
    {.name = "llama",
     .classes = "MixtralForCausalLM",
     .tensors = LLAMA_TENSORS,
     .cut = "text_model.",
     .defaults = mixtral_defaults,
     .keys = tare_llama_usual_keys,
     .rules = tare_llama_permute,
     .tokenizer = {.reads_prefix_space = true},
     .has_rope_freqs = true,
     .back = &mixtral_back},
    MISTRAL3_ROW("Ministral3ForCausalLM Mistral3ForConditionalGeneration", ministral3_back),
    MISTRAL3_ROW("Mistral3ForConditionalGeneration Ministral3ForCausalLM", mistral3_back),
    {.name = "nanbeige",
     .classes = "NanbeigeForCausalLM",
     .tensors = DENSE,
     .defaults = tare_llama_all_heads,
     .keys = nanbeige_keys,
     .rules = tare_llama_permute,
     .tokenizer = {.reads_prefix_space = true},
     .has_rope_freqs = true,
     .back = &nanbeige_back},
    {.name = NULL},
};
