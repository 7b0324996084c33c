/* SPDX-License-Identifier: MIT
 *
 * Encoders: BERT and its descendants, for embeddings and classification. */
#include "llama/arch/rows.h"

#define BERT_TENSORS                                                                               \
    "token_embd token_embd_norm token_types position_embd output_norm attn_output_norm attn_qkv "  \
    "attn_q attn_k attn_v attn_output ffn_down ffn_up layer_output_norm cls cls.output "
#define BERT_CUT "distilbert. roberta. bert. .gamma>.weight .beta>.bias"

static const char *const bert_defaults[] = {"layer_norm_eps = 0.000000000001",
                                            "max_position_embeddings = 512", "type_vocab_size = 2",
                                            NULL};
static const char *const distilbert_defaults[] = {"hidden_size = dim",
                                                  "intermediate_size = hidden_dim",
                                                  "num_attention_heads = n_heads",
                                                  "layer_norm_eps = 1e-12",
                                                  "max_position_embeddings = 512",
                                                  "type_vocab_size = 1",
                                                  NULL};
static const tare_llama_key distilbert_first[] = {
    {"attention.layer_norm_epsilon", F32, "0.000000000001"}, END_OF_KEYS};
static const tare_llama_key bert_keys[] = {{"attention.causal", BOOL, "false"}, END_OF_KEYS};
#define BERT_DROPS                                                                                 \
    RULE_DROP("embeddings.position_ids"), RULE_DROP("pooler.dense@"),                              \
        RULE_DROP("cls.predictions*"), RULE_DROP("cls.seq_relationship*"), RULE_DROP("lm_head*"),  \
        RULE_DROP("vocab_*")
static const tare_llama_rule bert_rules[] = {BERT_DROPS, END_OF_RULES};
static const tare_llama_rule roberta_rules[] = {BERT_DROPS,
                                                {"embeddings.position_embeddings.weight", NULL,
                                                 "rows(0, if(has(pad_token_id), pad_token_id + 1, "
                                                 "0), d0 - if(has(pad_token_id), pad_token_id + "
                                                 "1, 0))"},
                                                END_OF_RULES};
static const tare_llama_key roberta_keys[] = {
    {"context_length", U32, "max_position_embeddings - if(has(pad_token_id), pad_token_id + 1, 0)"},
    {"attention.causal", BOOL, "false"},
    END_OF_KEYS};

const tare_llama_arch tare_llama_family_bert[] = {
    {.name = "bert",
     .classes = "BertModel BertForMaskedLM CamembertModel BertForSequenceClassification",
     .tensors = BERT_TENSORS,
     .cut = BERT_CUT,
     .defaults = bert_defaults,
     .keys = bert_keys,
     .rules = bert_rules,
     .has_pooling = true},
    {.name = "bert",
     .classes = "DistilBertModel DistilBertForMaskedLM DistilBertForSequenceClassification",
     .tensors = BERT_TENSORS,
     .cut = BERT_CUT,
     .defaults = distilbert_defaults,
     .first = distilbert_first,
     .keys = bert_keys,
     .rules = bert_rules,
     .has_pooling = true},
    {.name = "bert",
     .classes = "RobertaModel RobertaForSequenceClassification",
     .tensors = BERT_TENSORS,
     .cut = BERT_CUT,
     .defaults = bert_defaults,
     .keys = roberta_keys,
     .rules = roberta_rules,
     .has_pooling = true},
    {.name = "bert",
     .classes = "XLMRobertaModel XLMRobertaForSequenceClassification",
     .tensors = BERT_TENSORS,
     .cut = BERT_CUT,
     .defaults = bert_defaults,
     .keys = roberta_keys,
     .rules = roberta_rules,
     .tokenizer = {.family = TARE_LLAMA_VOCAB_XLM_R},
     .has_pooling = true},
    {.name = NULL},
};
