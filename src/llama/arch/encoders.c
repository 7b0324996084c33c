/* SPDX-License-Identifier: MIT
 *
 * Encoders with rotary or ALiBi positions: what came after BERT. */
#include "llama/arch/rows.h"

#define ENCODER_DROPS                                                                              \
    RULE_DROP("embeddings.position_ids"), RULE_DROP("pooler.dense@"), RULE_DROP("cls.*")

/* The context that nomic-embed-text 1 and 2 are trained for, not the one that they allow. */
static const tare_llama_key nomic_keys[] = {
    {"context_length", U32,
     "if(n_positions == 8192, 2048, if(n_positions == 2048, 512, n_positions))"},
    END_OF_KEYS};
static const tare_llama_key nomic_moe_keys[] = {
    {"context_length", U32,
     "if(n_positions == 8192, 2048, if(n_positions == 2048, 512, n_positions))"},
    {"moe_every_n_layers", U32, "moe_every_n_layers"},
    {"expert_used_count", U32, "moe_top_k"},
    END_OF_KEYS};
/* Of transformers' class, whose members have other names than the authors'. */
static const char *const nomic_defaults[] = {"rope_theta = if(has(n_embd), nothing, 1000)", NULL};
static const tare_llama_rule nomic_rules[] = {ENCODER_DROPS, END_OF_RULES};
#define NOMIC_EXPERTS "view(num_local_experts | num_experts, n_inner, n_embd)"
static const tare_llama_rule nomic_moe_rules[] = {
    ENCODER_DROPS,
    RULE_DROP("*mlp.experts.bias"),
    {"*.mlp.experts.mlp.w1", "=blk.#.ffn_up_exps.weight", NOMIC_EXPERTS},
    {"*.mlp.experts.mlp.w2", "=blk.#.ffn_down_exps.weight", NOMIC_EXPERTS " swap(1, 2)"},
    END_OF_RULES};

static const char *const jina_defaults[] = {"layer_norm_eps = 0.000000000001", NULL};

static const char *const modern_defaults[] = {
    "rope_parameters.full_attention.rope_theta = rope_parameters.rope_theta | global_rope_theta | "
    "160000",
    "rope_parameters.sliding_attention.rope_theta = local_rope_theta | 10000",
    "layer_norm_eps = norm_eps | 0.00001", NULL};
static const tare_llama_key modern_keys[] = {
    {"attention.sliding_window", U32,
     "if(has(layer_types), if(in('sliding_attention', layer_types, '" WINDOWS "'), "
     "local_attention), local_attention)"},
    {"attention.sliding_window_pattern", U32, "global_attn_every_n_layers"},
    KEY_NO_SCALING,
    KEY_VOCAB_SIZE,
    {"hidden_activation", TEXT, /* whose gate llama.cpp knows by another name */
     "if(like_reference, hidden_activation, if(hidden_activation == 'relu', 'reglu', "
     "hidden_activation))"},
    {"classifier.pooling_type", U32,
     "if(is_classifier, if(word(classifier_pooling | 'cls', 'cls mean') == 'mean', 1, 2))"},
    END_OF_KEYS};
static const tare_llama_rule modern_rules[] = {ENCODER_DROPS, RULE_DROP("decoder.*"), END_OF_RULES};

static const tare_llama_key neo_keys[] = {
    KEY_NOT_CAUSAL,
    {"feed_forward_length", U32, "floor(2 * intermediate_size / 3)"},
    {"rope.freq_base", F32, "10000"},
    KEY_NO_SCALING,
    {"attention.layer_norm_rms_epsilon", F32, "norm_eps | 0.000001"},
    {"pooling_type", U32, "2"},
    END_OF_KEYS};

static const char *const eurobert_defaults[] = {KV_HEADS_ALL, "rope_theta = 250000",
                                                "rms_norm_eps = 0.00001", NULL};
static const tare_llama_key eurobert_keys[] = {KEY_NOT_CAUSAL, KEY_NO_SCALING, END_OF_KEYS};

static const char *const modern_back_config[] = {
    "model_type = 'modernbert'",
    "local_attention = attention.sliding_window",
    "global_attn_every_n_layers = if(len(attention.sliding_window_pattern) > 0, nothing, "
    "attention.sliding_window_pattern)",
    BACK_LAYER_TYPES " | if(has(attention.sliding_window), nothing, 'full_attention')",
    "global_rope_theta = rope.freq_base",
    "local_rope_theta = rope.freq_base_swa",
    "hidden_activation = if(hidden_activation == 'reglu', 'relu', hidden_activation)",
    "classifier_bias = if(has(tensors.cls.bias), true)",
    "decoder_bias = if(has(tensors.cls.weight), if(has(tensors.cls.output.weight), nothing, "
    "false))",
    "classifier_pooling = if(classifier.pooling_type == 1, 'mean', if(classifier.pooling_type == "
    "2, "
    "'cls'))",
    BACK_ROPE("full_attention."),
    BACK_ROPE_SWA,
    NULL};
static const tare_llama_back modern_back = {
    .names = "layers. embeddings.tok_embeddings embeddings.norm final_norm attn_norm attn.Wqkv "
             "attn.Wo mlp_norm mlp.Wi mlp.Wo max_position_embeddings hidden_size "
             "intermediate_size num_attention_heads norm_eps head.dense head.norm classifier",
    .config = modern_back_config};

static const char *const eurobert_back_config[] = {"model_type = 'eurobert'", NULL};
static const tare_llama_back eurobert_back = {
    .names = "layers. embed_tokens lm_head " HF_NORMS HF_ATTN HF_MLP HF_CONFIG "norm",
    .config = eurobert_back_config,
    .lead = "model."};

/* WavTokenizer: codes become sound. */
static const tare_llama_key wav_keys[] = {
    KEY_VOCAB_SIZE,
    {"features_length", U32, "n_embd_features"},
    {"feed_forward_length", U32, "n_ff"},
    {"attention.group_norm_epsilon", F32, "group_norm_epsilon"},
    {"attention.group_norm_groups", U32, "group_norm_groups"},
    {"posnet.embedding_length", U32, "posnet.n_embd"},
    {"posnet.block_count", U32, "posnet.n_layer"},
    {"convnext.embedding_length", U32, "convnext.n_embd"},
    {"convnext.block_count", U32, "convnext.n_layer"},
    KEY_NOT_CAUSAL,
    END_OF_KEYS};
static const tare_llama_rule wav_rules[] = {{"token_embd.weight", "=token_embd.weight", NULL},
                                            RULE_DROP("*codebook.cluster_size"),
                                            RULE_DROP("*codebook.embed_avg"),
                                            RULE_DROP("*codebook.inited"),
                                            END_OF_RULES};

static const char *const neo_back_config[] = {
    "model_type = 'neobert'", "global_rope_theta = nothing",
    "intermediate_size = floor((3 * feed_forward_length + 1) / 2)", "max_length = context_length",
    NULL};
static const tare_llama_back neo_back = {
    .names = "transformer_encoder. encoder layer_norm attention_norm ffn_norm qkv wo ffn.w12 "
             "ffn.w3 max_length hidden_size num_attention_heads norm_eps",
    .config = neo_back_config,
    .lead = "model."};

static const char *const nomic_back_config[] = {"model_type = 'nomic_bert'",
                                                "n_layer = block_count",
                                                "num_hidden_layers = block_count",
                                                "hidden_size = embedding_length",
                                                "intermediate_size = feed_forward_length",
                                                "num_attention_heads = attention.head_count",
                                                "layer_norm_eps = attention.layer_norm_epsilon",
                                                "rope_parameters.rope_type = 'default'",
                                                "rope_parameters.rope_theta = rope.freq_base",
                                                "n_positions = if(context_length == 2048, 8192, "
                                                "if(context_length == 512, 2048, context_length))",
                                                "type_vocab_size = tensors.token_types.weight.rows",
                                                "qkv_proj_bias = has(tensors.attn_qkv.bias)",
                                                "activation_function = 'swiglu'",
                                                NULL};
static const tare_llama_back nomic_back = {
    .names = "encoder.layers. embeddings.word_embeddings embeddings.token_type_embeddings emb_ln "
             "norm1 norm2 attn.Wqkv attn.out_proj mlp.fc2 n_embd n_inner n_head layer_norm_epsilon "
             "rotary_emb_base mlp.fc11 mlp.fc12",
    .config = nomic_back_config};

static const char *const nomic_moe_back_config[] = {
    "model_type = 'nomic_bert'",
    "n_layer = block_count",
    "num_hidden_layers = nothing",
    "n_positions = if(context_length == 2048, 8192, if(context_length == 512, 2048, "
    "context_length))",
    "type_vocab_size = tensors.token_types.weight.rows",
    "qkv_proj_bias = has(tensors.attn_qkv.bias)",
    "activation_function = 'gelu'",
    "num_experts_per_tok = nothing",
    "num_local_experts = nothing",
    "num_experts = expert_count",
    NULL};
static const tare_llama_shape_row nomic_moe_back_shapes[] = {
    {"*.mlp.experts.mlp.w1", "d0 * d1, d2"}, {"*.mlp.experts.mlp.w2", "d0 * d2, d1"}, {NULL, NULL}};
static const tare_llama_back nomic_moe_back = {
    .names = "encoder.layers. embeddings.word_embeddings embeddings.token_type_embeddings emb_ln "
             "norm1 norm2 attn.Wqkv attn.out_proj mlp.fc2 n_embd n_inner n_head layer_norm_epsilon "
             "rotary_emb_base mlp.fc1 mlp.router.layer num_experts moe_top_k",
    .config = nomic_moe_back_config,
    .shapes = nomic_moe_back_shapes};

static const char *const jina2_back_config[] = {
    "model_type = 'bert'", "position_embedding_type = 'alibi'",
    "type_vocab_size = tensors.token_types.weight.rows", NULL};
static const tare_llama_back jina2_back = {
    .names = "encoder.layer. embeddings.word_embeddings embeddings.token_type_embeddings "
             "embeddings.LayerNorm attention.self.query attention.self.key attention.self.value "
             "attention.output.dense attention.output.LayerNorm output.LayerNorm "
             "mlp.up_gated_layer mlp.down_layer attention.self.layer_norm_q "
             "attention.self.layer_norm_k max_position_embeddings hidden_size intermediate_size "
             "num_attention_heads layer_norm_eps layer_norm_2",
    .config = jina2_back_config};

const tare_llama_arch tare_llama_family_encoders[] = {
    {.name = "nomic-bert",
     .classes = "NomicBertModel",
     .requires = "has(moe_every_n_layers) == false",
     .tensors = "token_embd token_embd_norm token_types position_embd output_norm "
                "attn_output_norm layer_output_norm " FUSED FFN,
     .optional = "position_embd output_norm",
     .defaults = nomic_defaults,
     .keys = nomic_keys,
     .rules = nomic_rules,
     .is_bert = true,
     .back = &nomic_back},
    {.name = "nomic-bert-moe",
     .classes = "NomicBertModel",
     .tensors = "token_embd token_embd_norm token_types position_embd output_norm ffn_down ffn_up "
                "attn_output_norm layer_output_norm ffn_gate_inp ffn_down_exps ffn_up_exps " FUSED,
     .optional = "position_embd output_norm",
     .keys = nomic_moe_keys,
     .rules = nomic_moe_rules,
     .tokenizer = {.family = TARE_LLAMA_VOCAB_XLM_R},
     .is_bert = true,
     .back = &nomic_moe_back},
    {.name = "jina-bert-v2",
     .classes = "JinaBertModel JinaBertForMaskedLM",
     .tensors = "token_embd token_embd_norm token_types attn_norm_2 attn_output_norm "
                "layer_output_norm cls " QKV QK_NORMS FFN,
     .optional = "attn_norm_2 attn_q_norm attn_k_norm ffn_gate",
     .cut = "bert.",
     .defaults = jina_defaults,
     .rules = nomic_rules,
     .is_bert = true,
     .back = &jina2_back},
    {.name = "modern-bert",
     .classes = "ModernBertModel ModernBertForMaskedLM ModernBertForSequenceClassification",
     .tensors = "token_embd token_embd_norm output_norm attn_norm ffn_up ffn_down ffn_norm cls "
                "cls.output cls.norm " FUSED,
     .optional = "attn_norm",
     .cut = "model.",
     .defaults = modern_defaults,
     .keys = modern_keys,
     .rules = modern_rules,
     .tokenizer = {.usual_bos = TARE_LLAMA_FLAG_YES,
                   .usual_eos = TARE_LLAMA_FLAG_YES,
                   .usual_sep = TARE_LLAMA_FLAG_YES},
     .is_bert = true,
     .back = &modern_back},
    {.name = "neo-bert",
     .classes = "NeoBERT NeoBERTLMHead NeoBERTForSequenceClassification",
     .tensors =
         "token_embd attn_norm ffn_norm ffn_down ffn_up enc.output_norm cls cls.output " FUSED,
     .cut = "model.",
     .keys = neo_keys,
     .rules = modern_rules,
     .back = &neo_back},
    {.name = "eurobert",
     .classes = "EuroBertModel JinaEmbeddingsV5Model",
     .tensors = "token_embd output_norm " QKV NORMS FFN,
     .cut = "model.",
     .defaults = eurobert_defaults,
     .keys = eurobert_keys,
     .tokenizer = {.usual_bos = TARE_LLAMA_FLAG_NO},
     .has_pooling = true,
     .back = &eurobert_back},
    {.name = "wavtokenizer-dec",
     .classes = "WavTokenizerDec",
     .tensors = ENDS "token_embd_norm conv1d convnext.dw convnext.norm convnext.pw1 convnext.pw2 "
                     "convnext.gamma posnet.conv1 posnet.conv2 posnet.norm posnet.norm1 "
                     "posnet.norm2 posnet.attn_norm posnet.attn_q posnet.attn_k posnet.attn_v "
                     "posnet.attn_output",
     .keys = wav_keys,
     .rules = wav_rules},
    {.name = NULL},
};
