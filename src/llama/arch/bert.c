/* SPDX-License-Identifier: MIT
 *
 * Encoders: BERT and its descendants, for embeddings and classification. */
#include "llama/arch/rows.h"

#define BERT_TENSORS                                                                               \
    "token_embd token_embd_norm token_types position_embd output_norm attn_output_norm attn_qkv "  \
    "attn_q attn_k attn_v attn_output ffn_down ffn_up layer_output_norm cls cls.output "
#define BERT_CUT "distilbert. roberta. bert. .gamma>.weight .beta>.bias"

/* llama.cpp computes tanh(cls), then cls.output: a pooler and what stands on it are these. */
static const char *const bert_defaults[] = {
    "layer_norm_eps = 0.000000000001", "max_position_embeddings = 512", "type_vocab_size = 2",
    "b.has_pooler = in('BertForSequenceClassification', architectures) | false", NULL};
static const char *const distilbert_defaults[] = {"hidden_size = dim",
                                                  "intermediate_size = hidden_dim",
                                                  "num_attention_heads = n_heads",
                                                  "layer_norm_eps = 1e-12",
                                                  "max_position_embeddings = 512",
                                                  "type_vocab_size = 1",
                                                  NULL};
static const tare_llama_key distilbert_first[] = {
    {"attention.layer_norm_epsilon", F32, "0.000000000001"}, END_OF_KEYS};
#define BERT_DROPS                                                                                 \
    RULE_DROP("embeddings.position_ids"), RULE_DROP("cls.predictions*"),                           \
        RULE_DROP("cls.seq_relationship*"), RULE_DROP("lm_head*"), RULE_DROP("vocab_*")
static const tare_llama_rule bert_rules[] = {
    {"pooler.dense@", NULL, "if(b.has_pooler == false) drop"}, BERT_DROPS, END_OF_RULES};
static const tare_llama_rule roberta_rules[] = {RULE_DROP("pooler.dense@"),
                                                BERT_DROPS,
                                                {"=position_embd.weight", NULL,
                                                 "rows(0, if(has(pad_token_id), pad_token_id + 1, "
                                                 "0), d0 - if(has(pad_token_id), pad_token_id + "
                                                 "1, 0))"},
                                                END_OF_RULES};
/* Jina v3 has an adapter for each of its tasks; the model without them is converted. */
static const tare_llama_rule jina_rules[] = {RULE_DROP("*.lora_A"), RULE_DROP("*.lora_B"),
                                             RULE_DROP("pooler.dense@"), BERT_DROPS, END_OF_RULES};
static const tare_llama_key roberta_keys[] = {
    {"context_length", U32, "max_position_embeddings - if(has(pad_token_id), pad_token_id + 1, 0)"},
    END_OF_KEYS};

#define BERT_NAMES                                                                                 \
    "encoder.layer. embeddings.word_embeddings embeddings.position_embeddings "                    \
    "embeddings.token_type_embeddings embeddings.LayerNorm attention.self.query "                  \
    "attention.self.key attention.self.value attention.output.dense attention.output.LayerNorm "   \
    "intermediate.dense output.dense output.LayerNorm "                                            \
    "max_position_embeddings hidden_size "                                                         \
    "intermediate_size num_attention_heads layer_norm_eps"
static const char *const bert_back_config[] = {
    "model_type = 'bert'", "type_vocab_size = tensors.token_types.weight.rows", NULL};
static const tare_llama_back bert_back = {
    .names = BERT_NAMES " pooler.dense classifier",
    .config = bert_back_config,
    .when = "if(has(tensors.token_types.weight), if(tokenizer.ggml.model == 'gpt2', false, "
            "if(tokenizer.ggml.model == 't5', false, true)), false)"};
static const char *const roberta_back_config[] = {
    "model_type = 'roberta'", "type_vocab_size = tensors.token_types.weight.rows",
    "max_position_embeddings = context_length + if(has(tokenizer.ggml.padding_token_id), "
    "tokenizer.ggml.padding_token_id + 1, 0)",
    NULL};
static const tare_llama_shape_row roberta_back_shapes[] = {
    {"=position_embd.weight", "d0 + if(has(pad_token_id), pad_token_id + 1, 0), d1"}, {NULL, NULL}};
#define ROBERTA_NAMES BERT_NAMES " classifier.dense classifier.out_proj"
static const tare_llama_back roberta_back = {.names = ROBERTA_NAMES,
                                             .config = roberta_back_config,
                                             .shapes = roberta_back_shapes,
                                             .when = "tokenizer.ggml.model == 'gpt2'"};
static const char *const xlm_roberta_config[] = {
    "model_type = 'xlm-roberta'", "type_vocab_size = tensors.token_types.weight.rows",
    "max_position_embeddings = context_length + if(has(tokenizer.ggml.padding_token_id), "
    "tokenizer.ggml.padding_token_id + 1, 0)",
    NULL};
static const tare_llama_back xlm_roberta_back = {.names = ROBERTA_NAMES,
                                                 .config = xlm_roberta_config,
                                                 .shapes = roberta_back_shapes,
                                                 .when = "tokenizer.ggml.model == 't5'"};

static const char *const distilbert_back_config[] = {
    "model_type = 'distilbert'",        "dim = embedding_length",
    "hidden_dim = feed_forward_length", "n_layers = block_count",
    "n_heads = attention.head_count",   "hidden_size = nothing",
    "intermediate_size = nothing",      "num_attention_heads = nothing",
    "num_hidden_layers = nothing",      NULL};
static const tare_llama_back distilbert_back = {
    .names =
        "transformer.layer. embeddings.word_embeddings embeddings.position_embeddings "
        "embeddings.LayerNorm attention.q_lin attention.k_lin attention.v_lin attention.out_lin "
        "sa_layer_norm ffn.lin1 ffn.lin2 output_layer_norm pre_classifier classifier "
        "max_position_embeddings",
    .config = distilbert_back_config,
    .when = "if(has(tensors.token_types.weight), false, true)"};

/* Back it is transformers' class, which has no adapters. */
static const char *const jina_back_config[] = {
    "model_type = 'jina_embeddings_v3'",
    "type_vocab_size = tensors.token_types.weight.rows",
    "max_position_embeddings = context_length + if(has(tokenizer.ggml.padding_token_id), "
    "tokenizer.ggml.padding_token_id + 1, 0)",
    "rope_parameters.rope_type = 'default'",
    "rope_parameters.rope_theta = rope.freq_base | 10000",
    "rope_theta = nothing",
    NULL};
static const tare_llama_back jina_back = {
    .names = "encoder.layers. embeddings.word_embeddings embeddings.token_type_embeddings emb_ln "
             "mixer.Wqkv mixer.out_proj norm1 norm2 mlp.fc1 mlp.fc2 hidden_size intermediate_size "
             "num_attention_heads layer_norm_eps max_position_embeddings",
    .config = jina_back_config};
#define JINA_ROW                                                                                   \
    .name = "jina-bert-v3",                                                                        \
    .tensors = "token_embd token_embd_norm token_types output_norm attn_output_norm attn_qkv "     \
               "attn_output ffn_down ffn_up layer_output_norm",                                    \
    .optional = "output_norm", .cut = "roberta. .parametrizations .original",                      \
    .defaults = bert_defaults, .keys = roberta_keys, .rules = jina_rules,                          \
    .tokenizer = {.family = TARE_LLAMA_VOCAB_XLM_R}, .is_bert = true, .back = &jina_back

const tare_llama_arch tare_llama_family_bert[] = {
    {.name = "bert",
     .classes = "BertModel BertForMaskedLM BertForSequenceClassification",
     .tensors = BERT_TENSORS,
     .optional = "output_norm",
     .cut = BERT_CUT,
     .defaults = bert_defaults,
     .rules = bert_rules,
     .is_bert = true,
     .back = &bert_back},
    {.name = "bert",
     .classes = "DistilBertModel DistilBertForMaskedLM DistilBertForSequenceClassification",
     .tensors = BERT_TENSORS,
     .optional = "output_norm",
     .cut = BERT_CUT,
     .defaults = distilbert_defaults,
     .first = distilbert_first,
     .rules = bert_rules,
     .is_bert = true,
     .back = &distilbert_back},
    {.name = "bert",
     .classes = "RobertaModel RobertaForSequenceClassification CamembertModel "
                "CamembertForSequenceClassification",
     .tensors = BERT_TENSORS,
     .optional = "output_norm",
     .cut = BERT_CUT,
     .defaults = bert_defaults,
     .keys = roberta_keys,
     .rules = roberta_rules,
     .is_bert = true,
     .back = &roberta_back},
    {JINA_ROW, .classes = "JinaEmbeddingsV3Model"},
    {JINA_ROW, .classes = "XLMRobertaModel XLMRobertaForSequenceClassification",
     .requires = "len(lora_adaptations) > 0"},
    {.name = "bert",
     .classes = "XLMRobertaModel XLMRobertaForSequenceClassification",
     .tensors = BERT_TENSORS,
     .optional = "output_norm",
     .cut = BERT_CUT,
     .defaults = bert_defaults,
     .keys = roberta_keys,
     .rules = roberta_rules,
     .tokenizer = {.family = TARE_LLAMA_VOCAB_XLM_R},
     .is_bert = true,
     .back = &xlm_roberta_back},
    {.name = NULL},
};
