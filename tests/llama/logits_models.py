# SPDX-License-Identifier: MIT
"""Tiny models for tests/llama/logits.py: for each class of transformers that has a row of architectures, members of its
config besides the usual ones. A member that is GONE is not given."""
GONE = object()
USUAL = dict(vocab_size=384, hidden_size=64, intermediate_size=96, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2,
             max_position_embeddings=256, bos_token_id=376, eos_token_id=379, pad_token_id=374, tie_word_embeddings=False)
EXPERTS = dict(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32)
ROUTED = dict(n_routed_experts=8, num_experts_per_tok=2, n_shared_experts=1, moe_intermediate_size=32, first_k_dense_replace=1,
              n_group=1, topk_group=1)
LATENT = dict(q_lora_rank=32, kv_lora_rank=32, qk_nope_head_dim=16, qk_rope_head_dim=8, v_head_dim=16, num_key_value_heads=4)
LINEAR = dict(num_hidden_layers=4, linear_num_key_heads=2, linear_num_value_heads=4, linear_key_head_dim=16, linear_value_head_dim=16)
QWEN4 = dict(LINEAR, head_dim=16, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32, shared_expert_intermediate_size=32, hc_count=2,
             hc_lowrank=16, indexer_n_heads=2, indexer_kv_heads=1, indexer_head_dim=32, indexer_budget=64, indexer_compress_ratio=4, output_gate_type="sigmoid")
MAMBA = dict(mamba_n_heads=8, mamba_d_head=16, mamba_n_groups=1, mamba_d_state=16, mamba_chunk_size=16, mamba_expand=2)
GRANITE = dict(attention_multiplier=0.2, embedding_multiplier=3.0, residual_multiplier=0.4, logits_scaling=2.0)
ENCODER = dict(num_key_value_heads=GONE, max_position_embeddings=128, pad_token_id=0, bos_token_id=GONE, eos_token_id=GONE,
               tie_word_embeddings=GONE)
HYBRID = dict(num_hidden_layers=4, num_local_experts=4, num_experts_per_tok=2, shared_intermediate_size=64, position_embedding_type="nope")
NEMOTRON_H = dict(num_hidden_layers=4, mamba_num_heads=8, mamba_head_dim=16, n_groups=2, ssm_state_size=16, chunk_size=16, head_dim=16)
WINDOWS = dict(head_dim=16, sliding_window=8)
GEMMA4 = dict(WINDOWS, global_head_dim=32, tie_word_embeddings=True, num_hidden_layers=6, final_logit_softcapping=30.0,
              num_kv_shared_layers=0)
T5 = dict(d_model=64, d_kv=16, d_ff=96, num_layers=2, num_decoder_layers=2, num_heads=4, feed_forward_proj="gated-gelu",
          decoder_start_token_id=374, hidden_size=GONE, intermediate_size=GONE, num_hidden_layers=GONE, num_attention_heads=GONE,
          num_key_value_heads=GONE, max_position_embeddings=GONE)

SIGLIP = dict(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2)
QWEN_EYES = dict(depth=2, hidden_size=32, intermediate_size=64, num_heads=2, patch_size=14, out_hidden_size=64)


def rope(**more):
    return dict(rope_parameters={"rope_theta": 10000.0, **more})


SECTIONS = rope(mrope_section=[3, 3, 2])
HALF_SECTIONS = rope(mrope_section=[1, 1, 2], partial_rotary_factor=0.5)


def gpt(**more):
    return dict(n_embd=64, n_layer=3, n_head=4, n_positions=256, n_ctx=256, hidden_size=GONE, intermediate_size=GONE, num_hidden_layers=GONE,
                num_attention_heads=GONE, num_key_value_heads=GONE, max_position_embeddings=GONE, **more)


def pictures(text, vision, **more):
    """A text model beside an encoder, which is left out: nothing looks at a picture."""
    text = {k: v for k, v in dict(USUAL, **text).items() if v is not GONE}
    return dict(dict.fromkeys(USUAL, GONE), text_config=text, vision_config=vision, **more)


# The twelve that .ci/run tries: what people convert, and one of each kind.
SAMPLE = ("llama", "qwen3", "qwen3-moe", "qwen3_5", "qwen2_5-vl", "gemma3", "gemma4", "gpt-oss", "deepseek-v3", "glm4-moe", "granite-hybrid",
          "bert-scorer")

# name: (model_type, members[, class][, what is compared: hidden states or a classifier's numbers])
MODELS = {
    "afmoe": ("afmoe", dict(head_dim=16, num_hidden_layers=4, num_experts=8, num_experts_per_tok=2, moe_intermediate_size=32,
                            num_shared_experts=1, num_dense_layers=1, sliding_window=8, mup_enabled=True, global_attn_every_n_layers=4)),
    "apertus": ("apertus", rope(rope_type="default")),
    "arcee": ("arcee", {}),
    "bamba": ("bamba", dict(MAMBA, num_hidden_layers=4, attn_layer_indices=[1, 3])),
    "bert": ("bert", ENCODER, "BertModel", "hidden"),
    "bert-classifier": ("bert", dict(ENCODER, num_labels=3), "BertForSequenceClassification", "classes"),
    "bert-scorer": ("bert", dict(ENCODER, num_labels=1), "BertForSequenceClassification", "classes"),
    "bert-two-classes": ("bert", dict(ENCODER, num_labels=2), "BertForSequenceClassification", "classes"),
    "bitnet": ("bitnet", dict(tie_word_embeddings=True)),
    "bloom": ("bloom", dict(n_layer=3, n_head=4, num_hidden_layers=GONE, num_attention_heads=GONE, num_key_value_heads=GONE)),
    "camembert": ("camembert", dict(ENCODER, max_position_embeddings=130, pad_token_id=1, type_vocab_size=1), "CamembertModel", "hidden"),
    "camembert-classifier": ("camembert", dict(ENCODER, max_position_embeddings=130, pad_token_id=1, type_vocab_size=1, num_labels=3),
                             "CamembertForSequenceClassification", "classes"),
    "chameleon": ("chameleon", dict(vq_config=dict(embed_dim=16, num_embeddings=32, latent_channels=16, base_channels=32, channel_multiplier=[1],
                                                   num_res_blocks=1, resolution=16), vocabulary_map={"<image>": 380}),
                  "ChameleonForConditionalGeneration"),
    "cohere": ("cohere", dict(logit_scale=0.5, tie_word_embeddings=True)),
    "cohere-norms": ("cohere", dict(logit_scale=0.5, use_qk_norm=True, tie_word_embeddings=True)),
    "cohere2": ("cohere2", dict(WINDOWS, num_hidden_layers=4, logit_scale=0.5, tie_word_embeddings=True)),
    "cohere2-moe": ("cohere2_moe", dict(WINDOWS, num_hidden_layers=4, num_experts=4, num_experts_per_tok=2, logit_scale=0.5)),
    "dbrx": ("dbrx", dict(d_model=64, n_heads=4, n_layers=2, max_seq_len=256, hidden_size=GONE, intermediate_size=GONE, num_hidden_layers=GONE,
                          num_attention_heads=GONE, num_key_value_heads=GONE, max_position_embeddings=GONE,
                          attn_config=dict(kv_n_heads=2, clip_qkv=8.0, rope_theta=10000.0),
                          ffn_config=dict(ffn_hidden_size=96, moe_num_experts=4, moe_top_k=2))),
    "deepseek-v2": ("deepseek_v2", dict(LATENT, **ROUTED, topk_method="greedy", routed_scaling_factor=1.0, norm_topk_prob=False)),
    "deepseek-v2-lite": ("deepseek_v2", dict(LATENT, **ROUTED, topk_method="greedy", norm_topk_prob=False, routed_scaling_factor=1.0) | dict(q_lora_rank=None)),
    "deepseek-v3": ("deepseek_v3", dict(LATENT, **ROUTED)),
    "deepseek-v3-groups": ("deepseek_v3", dict(LATENT, **ROUTED) | dict(n_group=4, topk_group=2)),
    "deepseek-v4": ("deepseek_v4", dict(num_hidden_layers=5, num_key_value_heads=1, head_dim=32, q_lora_rank=32, partial_rotary_factor=0.5, n_routed_experts=8,
                                        num_experts_per_tok=2, moe_intermediate_size=32, n_shared_experts=1, sliding_window=8, o_groups=2, o_lora_rank=16, index_n_heads=8,
                                        index_head_dim=64, index_topk=4, hc_mult=4, hc_sinkhorn_iters=5, intermediate_size=GONE, num_nextn_predict_layers=0,
                                        compress_ratios=[0, 4, 128, 4, 0], num_hash_layers=2)),
    "dots3-note": ("dots3_note_text", dict(LATENT, num_hidden_layers=4, n_routed_experts=8, num_experts_per_tok=2, moe_intermediate_size=32,
                                           shared_experts_intermediate_size=32, qk_rope_head_dim=16, head_dim=32, index_head_dim=64, index_n_heads=8,
                                           index_topk=256, sliding_window=8, layer_types=["full_attention", "sliding_attention"] * 2,
                                           swa_num_attention_heads=2, swa_num_key_value_heads=2, swa_q_lora_rank=32, swa_kv_lora_rank=48, swa_head_dim=40,
                                           swa_qk_nope_head_dim=24, swa_v_head_dim=24)),
    "deepseek-v32": ("deepseek_v32", dict(LATENT, **ROUTED, index_topk=64, index_head_dim=128, index_n_heads=2)),
    "distilbert": ("distilbert", dict(dim=64, hidden_dim=96, n_layers=3, n_heads=4, max_position_embeddings=128, pad_token_id=0, hidden_size=GONE,
                                      intermediate_size=GONE, num_hidden_layers=GONE, num_attention_heads=GONE, num_key_value_heads=GONE,
                                      tie_word_embeddings=GONE), "DistilBertModel", "hidden"),
    "dots1": ("dots1", dict({k: v for k, v in ROUTED.items() if "group" not in k}, head_dim=16, num_key_value_heads=4)),
    "embeddinggemma": ("gemma3_text", dict(WINDOWS, use_bidirectional_attention=True, num_hidden_layers=6, query_pre_attn_scalar=16),
                       "Gemma3TextModel", "hidden"),
    "ernie4_5": ("ernie4_5", dict(head_dim=16)),
    "ernie4_5-moe": ("ernie4_5_moe", dict(moe_num_experts=4, moe_k=2, moe_intermediate_size=32, moe_num_shared_experts=1, moe_layer_start_index=1,
                                          moe_layer_interval=1)),
    "eurobert": ("eurobert", {}, "EuroBertModel", "hidden"),
    "exaone4": ("exaone4", dict(head_dim=16, sliding_window=None, layer_types=["full_attention"] * 3)),
    "exaone-moe": ("exaone_moe", dict(WINDOWS, num_experts=8, num_experts_per_tok=2, num_shared_experts=1, moe_intermediate_size=32,
                                      first_k_dense_replace=1, num_hidden_layers=4, n_group=1, topk_group=1)),
    "falcon-7b": ("falcon", dict(multi_query=True, new_decoder_architecture=False, num_key_value_heads=GONE, intermediate_size=GONE)),
    "falcon-11b": ("falcon", dict(new_decoder_architecture=True, num_kv_heads=2, num_ln_in_parallel_attn=1)),
    "falcon-40b": ("falcon", dict(new_decoder_architecture=True, num_kv_heads=2)),
    "falcon-h1": ("falcon_h1", dict(mamba_d_ssm=128, mamba_n_heads=8, mamba_d_head=16, mamba_n_groups=1, mamba_d_state=16, mamba_chunk_size=16,
                                    head_dim=16, embedding_multiplier=2.0, lm_head_multiplier=0.5, key_multiplier=0.7)),
    "falcon-mamba": ("falcon_mamba", dict(state_size=8, num_attention_heads=GONE, num_key_value_heads=GONE, max_position_embeddings=GONE,
                                          intermediate_size=GONE)),
    "gemma": ("gemma", dict(head_dim=16, tie_word_embeddings=True)),
    "gemma2": ("gemma2", dict(WINDOWS, query_pre_attn_scalar=16, tie_word_embeddings=True, num_hidden_layers=4)),
    "gemma3": ("gemma3_text", dict(WINDOWS, query_pre_attn_scalar=16, tie_word_embeddings=True, num_hidden_layers=6)),
    "gemma3-vision": ("gemma3", pictures(dict(WINDOWS, query_pre_attn_scalar=16, tie_word_embeddings=True, num_hidden_layers=6),
                                         dict(SIGLIP, image_size=32, patch_size=16), mm_tokens_per_image=4), "Gemma3ForConditionalGeneration"),
    "gemma3-layers": ("gemma3_text", dict(WINDOWS, query_pre_attn_scalar=16, tie_word_embeddings=True, num_hidden_layers=4,
                                          layer_types=["sliding_attention", "full_attention"] * 2)),
    "gemma3n": ("gemma3n_text", dict(WINDOWS, tie_word_embeddings=True, num_hidden_layers=10, hidden_size_per_layer_input=256,
                                     vocab_size_per_layer_input=384, laurel_rank=64, altup_num_inputs=4, num_kv_shared_layers=0,
                                     intermediate_size=[2048] * 10, activation_sparsity_pattern=[0.95] * 10)),
    "gemma4": ("gemma4_text", dict(GEMMA4, hidden_size_per_layer_input=32, vocab_size_per_layer_input=384)),
    "gemma4-moe": ("gemma4_text", dict(GEMMA4, hidden_size_per_layer_input=0, enable_moe_block=True, num_experts=4, top_k_experts=2,
                                       moe_intermediate_size=32)),
    "gemma4-one-matrix": ("gemma4_text", dict(GEMMA4, hidden_size_per_layer_input=0, attention_k_eq_v=True, num_global_key_value_heads=1)),
    "glm": ("glm", dict(head_dim=16)),
    "glm4": ("glm4", dict(head_dim=16)),
    "glm4v": ("glm4v", pictures(SECTIONS, dict(QWEN_EYES, num_heads=2, image_size=56)), "Glm4vForConditionalGeneration"),
    "glm4v-moe": ("glm4v_moe", pictures(dict(ROUTED, head_dim=16, **HALF_SECTIONS), dict(QWEN_EYES, num_heads=2, image_size=56)),
                  "Glm4vMoeForConditionalGeneration"),
    "glm-ocr": ("glm_ocr", pictures(dict(HALF_SECTIONS, head_dim=16), dict(QWEN_EYES, num_heads=2, image_size=56)), "GlmOcrForConditionalGeneration"),
    "glm-dsa": ("glm_moe_dsa", dict(LATENT, **ROUTED, index_topk=64, index_head_dim=128, index_n_heads=2)),
    "glm4-moe": ("glm4_moe", dict(ROUTED, head_dim=16, num_nextn_predict_layers=0)),
    "glm4-moe-norms": ("glm4_moe", dict(ROUTED, head_dim=16, use_qk_norm=True, attention_bias=True, num_nextn_predict_layers=0)),
    "glm4-moe-lite": ("glm4_moe_lite", dict(LATENT, **ROUTED)),
    "gpt2": ("gpt2", gpt(tie_word_embeddings=True)),
    "gpt-bigcode": ("gpt_bigcode", gpt(multi_query=True, tie_word_embeddings=True)),
    "gpt-neox": ("gpt_neox", dict(rotary_pct=0.25, intermediate_size=256)),
    "gpt-neox-sequential": ("gpt_neox", dict(rotary_pct=1.0, intermediate_size=256, use_parallel_residual=False, attention_bias=False)),
    "gpt-oss": ("gpt_oss", dict(WINDOWS, head_dim=32, num_local_experts=4, num_experts_per_tok=2, num_hidden_layers=4)),
    "granite": ("granite", GRANITE),
    "granite-swa": ("granite_swa", dict(GRANITE, **WINDOWS, num_hidden_layers=4, layer_rope_theta=[10000.0, 10000.0, 0, 10000.0])),
    "granite-swa-moe": ("granitemoe_swa", dict(GRANITE, **WINDOWS, num_hidden_layers=4, num_local_experts=4, num_experts_per_tok=2,
                                               shared_intermediate_size=48)),
    "granite-moe": ("granitemoe", dict(GRANITE, num_local_experts=4, num_experts_per_tok=2)),
    "granite-moe-shared": ("granitemoeshared", dict(GRANITE, num_local_experts=4, num_experts_per_tok=2, shared_intermediate_size=64)),
    "granite-hybrid": ("granitemoehybrid", dict(GRANITE, **HYBRID, **MAMBA, layer_types=["mamba", "attention"] * 2)),
    "granite-hybrid-dense": ("granitemoehybrid", dict(GRANITE, **HYBRID, **MAMBA, layer_types=["mamba", "attention"] * 2) | dict(num_local_experts=0, intermediate_size=64)),
    "hunyuan-dense": ("hunyuan_v1_dense", dict(head_dim=16)),
    "hunyuan-moe": ("hunyuan_v1_moe", dict(head_dim=16, num_experts=4, moe_topk=[2] * 3, num_shared_expert=[1] * 3)),
    "glm5-next": ("glm5_next", pictures(
        dict(LATENT, num_hidden_layers=4, num_key_value_heads=4, qk_rope_head_dim=0, n_routed_experts=8, num_experts_per_tok=2, moe_intermediate_size=32,
             n_shared_experts=1, mlp_layer_types=["dense", "sparse", "sparse", "sparse"], linear_head_dim=16, linear_num_heads=4, linear_conv_kernel_dim=4,
             index_n_heads=8, index_head_dim=64, index_topk=256, index_kpool=4, hc_sinkhorn_iters=5, layer_types=["linear_attention"] * 3 + ["full_attention"],
             indexer_types=["full"] * 4),
        dict(hidden_size=32, intermediate_size=64, depth=2, num_heads=2, out_hidden_size=64)), "Glm5NextForConditionalGeneration"),
    "hrm-text": ("hrm_text", dict(num_hidden_layers=2, num_key_value_heads=GONE, head_dim=16, H_cycles=2, L_cycles=3)),
    "hy_v4": ("hy_v4", dict(LATENT, n_routed_experts=8, num_experts_per_tok=2, moe_intermediate_size=32, num_hidden_layers=4, index_topk=512,
                            index_head_dim=32, index_n_heads=2)),
    "hy_v3": ("hy_v3", dict(head_dim=16, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32, num_shared_experts=1,
                            first_k_dense_replace=1, num_nextn_predict_layers=0)),
    "jais2": ("jais2", dict(head_dim=16)),
    "jamba": ("jamba", dict(num_hidden_layers=4, attn_layer_period=2, attn_layer_offset=1, expert_layer_period=2, expert_layer_offset=1,
                            num_experts=4, num_experts_per_tok=2, mamba_d_state=8, mamba_dt_rank=8, use_mamba_kernels=False)),
    "kimi-linear": ("kimi_linear", dict(num_hidden_layers=4, num_experts=8, num_experts_per_token=2, moe_intermediate_size=32, num_shared_experts=1,
                                        mlp_layer_types=["dense"] + ["sparse"] * 3, layer_types=["linear_attention", "full_attention"] * 2,
                                        linear_head_dim=16, linear_num_heads=4, linear_conv_kernel_dim=4, kv_lora_rank=32, qk_nope_head_dim=16,
                                        qk_rope_head_dim=8, v_head_dim=16, num_key_value_heads=4, model_max_length=256, max_position_embeddings=GONE)),
    "laguna": ("laguna", dict(WINDOWS, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32, shared_expert_intermediate_size=32,
                              num_hidden_layers=4)),
    "lfm2": ("lfm2", dict(num_hidden_layers=4, layer_types=["conv", "full_attention"] * 2, block_auto_adjust_ff_dim=False)),
    "lfm2-body": ("lfm2", dict(num_hidden_layers=4, layer_types=["conv", "full_attention"] * 2, block_auto_adjust_ff_dim=False), "Lfm2Model", "hidden"),
    "lfm2-moe": ("lfm2_moe", dict(EXPERTS, num_hidden_layers=4, layer_types=["conv", "full_attention"] * 2, num_dense_layers=1, tie_word_embeddings=True)),
    "llama": ("llama", rope(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=64)),
    "llama-bias": ("llama", dict(attention_bias=True, mlp_bias=True)),
    "llama-yarn": ("llama", rope(rope_type="yarn", factor=8.0, original_max_position_embeddings=32, attention_factor=1.25)),
    "llama-body": ("llama", {}, "LlamaModel", "hidden"),
    "llava": ("llava", pictures(dict(model_type="llama"), dict(SIGLIP, model_type="clip_vision_model", image_size=32, patch_size=16, projection_dim=32)),
              "LlavaForConditionalGeneration"),
    "llama4": ("llama4_text", dict(head_dim=16, intermediate_size_mlp=96, num_local_experts=4, num_experts_per_tok=1, interleave_moe_layer_step=2,
                                   num_hidden_layers=4, attention_chunk_size=8192, use_qk_norm=True)),
    "mamba": ("mamba", dict(state_size=8, num_attention_heads=GONE, num_key_value_heads=GONE, max_position_embeddings=GONE, intermediate_size=GONE,
                            tie_word_embeddings=True)),
    "mamba2": ("mamba2", dict(state_size=16, num_heads=8, head_dim=16, n_groups=1, expand=2, chunk_size=16, num_attention_heads=GONE,
                              num_key_value_heads=GONE, max_position_embeddings=GONE, intermediate_size=GONE)),
    "mellum": ("mellum", dict(WINDOWS, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32, num_hidden_layers=4)),
    "minicpmv4_6": ("minicpmv4_6", pictures(dict(LINEAR, model_type="qwen3_5_text", head_dim=64, mtp_num_hidden_layers=0),
                                            dict(SIGLIP, image_size=32, patch_size=16, insert_layer_id=0), insert_layer_id=0), "MiniCPMV4_6ForConditionalGeneration"),
    "mistral3": ("mistral3", pictures(dict(model_type="mistral", head_dim=16, sliding_window=None), dict(SIGLIP, model_type="pixtral", image_size=32, patch_size=16, head_dim=16)),
                 "Mistral3ForConditionalGeneration"),
    "minimax-m3": ("minimax_m3_vl", pictures(dict(head_dim=16, num_local_experts=4, num_experts_per_tok=2, intermediate_size=32, shared_intermediate_size=32,
                                                  dense_intermediate_size=96, rotary_dim=8, mlp_layer_types=["dense", "sparse", "sparse"],
                                                  layer_types=["full_attention"] + ["minimax_m3_sparse"] * 2, index_head_dim=32, index_n_heads=2,
                                                  **rope(partial_rotary_factor=0.5)),
                                             dict(SIGLIP, image_size=56, patch_size=14), projector_hidden_size=64), "MiniMaxM3SparseForConditionalGeneration"),
    "mimo-v2": ("mimo_v2_flash", dict(n_routed_experts=8, num_experts_per_tok=2, moe_intermediate_size=32, head_dim=24, v_head_dim=16,
                                      num_hidden_layers=4)),
    "minicpm3": ("minicpm3", LATENT),
    "minimax": ("minimax", dict(num_local_experts=4, num_experts_per_tok=2, num_hidden_layers=4, full_attn_alpha_factor=1.5,
                                linear_attn_alpha_factor=1.5, mlp_alpha_factor=1.5)),
    "minimax-m2": ("minimax_m2", dict(head_dim=16, num_local_experts=4, num_experts_per_tok=2)),
    "ministral3": ("ministral3", dict(head_dim=32, **rope(rope_type="yarn", factor=16.0, original_max_position_embeddings=16, mscale=1.0,
                                                          mscale_all_dim=1.0, beta_fast=32.0, beta_slow=1.0, llama_4_scaling_beta=0.1))),
    "mistral": ("mistral", dict(sliding_window=None)),
    "mistral-body": ("mistral", dict(sliding_window=None), "MistralModel", "hidden"),
    "mixtral": ("mixtral", dict(num_local_experts=4, num_experts_per_tok=2)),
    "modern-bert": ("modernbert", dict(ENCODER, num_hidden_layers=6, global_attn_every_n_layers=3, local_attention=16, cls_token_id=2,
                                       sep_token_id=3), "ModernBertModel", "hidden"),
    "modern-bert-classifier": ("modernbert", dict(ENCODER, num_hidden_layers=6, global_attn_every_n_layers=3, local_attention=16, cls_token_id=2,
                                                  sep_token_id=3, num_labels=3, classifier_pooling="mean"),
                               "ModernBertForSequenceClassification", "classes"),
    "mpt": ("mpt", dict(d_model=64, n_heads=4, n_layers=3, max_seq_len=256, expansion_ratio=4, hidden_size=GONE, intermediate_size=GONE,
                        num_hidden_layers=GONE, num_attention_heads=GONE, num_key_value_heads=GONE, max_position_embeddings=GONE)),
    "muse-glimmer": ("muse_glimmer", pictures(dict(WINDOWS, num_hidden_layers=4, tie_word_embeddings=GONE),
                                              dict(SIGLIP, num_hidden_layers=1, pos_emb_height=4, pos_emb_width=4, patch_size=2)),
                     "MuseGlimmerForConditionalGeneration"),
    "nemotron": ("nemotron", dict(head_dim=16)),
    "nemotron-h": ("nemotron_h", dict(NEMOTRON_H, layers_block_type=["mamba", "mlp", "mamba", "attention"])),
    "nemotron-h-moe": ("nemotron_h", dict(NEMOTRON_H, layers_block_type=["mamba", "moe", "mamba", "attention"], n_routed_experts=4,
                                          num_experts_per_tok=2, moe_intermediate_size=32, moe_shared_expert_intermediate_size=64, n_group=1,
                                          topk_group=1)),
    "nomic-bert": ("nomic_bert", ENCODER, "NomicBertModel", "hidden"),
    "olmo": ("olmo", {}),
    "olmo-clipped": ("olmo", dict(clip_qkv=0.5)),
    "olmo2": ("olmo2", {}),
    "olmo3": ("olmo3", dict(sliding_window=8, num_hidden_layers=4)),
    "olmoe": ("olmoe", dict(num_key_value_heads=4, num_experts=4, num_experts_per_tok=2)),
    "paddleocr": ("paddleocr_vl", pictures(dict(SECTIONS, head_dim=16, tie_word_embeddings=True), dict(SIGLIP, image_size=56, patch_size=14)),
                  "PaddleOCRVLForConditionalGeneration"),
    "phi": ("phi", dict(num_key_value_heads=4, intermediate_size=256)),
    "phi3": ("phi3", dict(sliding_window=None)),
    "phi3-body": ("phi3", dict(sliding_window=None), "Phi3Model", "hidden"),
    "phimoe": ("phimoe", dict(num_local_experts=4, num_experts_per_tok=2)),
    "qwen2": ("qwen2", {}),
    "qwen2-body": ("qwen2", {}, "Qwen2Model", "hidden"),
    "qwen2-moe": ("qwen2_moe", dict(EXPERTS, shared_expert_intermediate_size=64)),
    "qwen2-vl": ("qwen2_vl", pictures(SECTIONS, dict(QWEN_EYES, embed_dim=32, hidden_size=64)), "Qwen2VLForConditionalGeneration"),
    "qwen2_5-vl": ("qwen2_5_vl", pictures(SECTIONS, dict(QWEN_EYES, fullatt_block_indexes=[1])), "Qwen2_5_VLForConditionalGeneration"),
    "qwen3-vl": ("qwen3_vl", pictures(dict(SECTIONS, head_dim=16), dict(QWEN_EYES, num_position_embeddings=16, deepstack_visual_indexes=[0])),
                 "Qwen3VLForConditionalGeneration"),
    "qwen3-vl-moe": ("qwen3_vl_moe", pictures(dict(EXPERTS, moe_intermediate_size=48, head_dim=16, **SECTIONS), dict(QWEN_EYES, num_position_embeddings=16, deepstack_visual_indexes=[0])),
                     "Qwen3VLMoeForConditionalGeneration"),
    "qwen3": ("qwen3", dict(head_dim=16)),
    "qwen3-moe": ("qwen3_moe", dict(EXPERTS, head_dim=16, norm_topk_prob=True)),
    "qwen3-next": ("qwen3_next", dict(EXPERTS, **LINEAR, head_dim=32, shared_expert_intermediate_size=32, norm_topk_prob=True)),
    "qwen3_5": ("qwen3_5_text", dict(LINEAR, head_dim=64, mtp_num_hidden_layers=0)),
    "qwen3_5-moe": ("qwen3_5_moe_text", dict(EXPERTS, **LINEAR, head_dim=64, shared_expert_intermediate_size=32, mtp_num_hidden_layers=0)),
    "roberta": ("roberta", dict(ENCODER, max_position_embeddings=130, pad_token_id=1), "RobertaModel", "hidden"),
    "roberta-classifier": ("roberta", dict(ENCODER, max_position_embeddings=130, pad_token_id=1, num_labels=3),
                           "RobertaForSequenceClassification", "classes"),
    "qwen4-exp": ("qwen4_exp_text", dict(QWEN4, **HALF_SECTIONS)),
    "qwen4-exp-ngrams": ("qwen4_exp_text", dict(QWEN4, **HALF_SECTIONS, ple_layer_ids=[2], ngram_size=3, heads_per_ngram=2, ngram_vocab_size_base=100,
                                               split_ngram_parts=2)),
    "seed-oss": ("seed_oss", dict(head_dim=16)),
    "step3p7": ("step3p7", pictures(dict(head_dim=16, n_routed_experts=4, num_experts_per_tok=2, moe_intermediate_size=32, share_expert_dim=32,
                                         mlp_layer_types=["dense", "sparse", "sparse"], layer_types=["full_attention", "sliding_attention", "full_attention"],
                                         sliding_window=8, num_sliding_attention_heads=8,
                                         rope_parameters=dict(full_attention=dict(rope_type="default", rope_theta=50000.0, partial_rotary_factor=0.5),
                                                              sliding_attention=dict(rope_type="default", rope_theta=10000.0))),
                                    dict(SIGLIP, image_size=56, patch_size=14)), "Step3p7ForConditionalGeneration"),
    "smollm3": ("smollm3", dict(num_hidden_layers=4)),
    "solar-open": ("solar_open", dict({k: v for k, v in ROUTED.items() if k != "first_k_dense_replace"}, head_dim=16)),
    "stablelm": ("stablelm", {}),
    "stablelm-norms": ("stablelm", dict(qk_layernorm=True, use_parallel_residual=True)),
    "starcoder2": ("starcoder2", dict(sliding_window=None)),
    "starcoder2-no-bias": ("starcoder2", dict(sliding_window=None, use_bias=False)),
    "t5": ("t5", dict(T5, tie_word_embeddings=False), "T5ForConditionalGeneration", "decoder"),
    "t5-tied": ("t5", dict(T5, feed_forward_proj="relu", tie_word_embeddings=True), "T5ForConditionalGeneration", "decoder"),
    "t5-encoder": ("t5", T5, "T5EncoderModel", "hidden"),
    "umt5": ("umt5", dict(T5, tie_word_embeddings=False), "UMT5ForConditionalGeneration", "decoder"),
    "mt5": ("mt5", dict(T5, tie_word_embeddings=False), "MT5ForConditionalGeneration", "decoder"),
    "xlm-roberta-classifier": ("xlm-roberta", dict(ENCODER, max_position_embeddings=130, pad_token_id=1, type_vocab_size=1, num_labels=3),
                               "XLMRobertaForSequenceClassification", "classes"),
    "xlm-roberta": ("xlm-roberta", dict(ENCODER, max_position_embeddings=130, pad_token_id=1, type_vocab_size=1), "XLMRobertaModel", "hidden"),
    "jina-v3": ("jina_embeddings_v3", dict(ENCODER, max_position_embeddings=130, pad_token_id=1, type_vocab_size=1), "JinaEmbeddingsV3Model", "hidden"),
    "youtu": ("youtu", LATENT),
}

# ---- the same classes otherwise configured: what real models have, or would have next ----

YARN = dict(rope_type="yarn", factor=8.0, original_max_position_embeddings=32)
LINE = dict(rope_type="linear", factor=4.0)
LLAMA3 = dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=32)
S, F = "sliding_attention", "full_attention"


def lists(n, **more):
    """longrope: factors of `n` frequencies for short contexts and long ones; texts of the tests are short."""
    return dict(max_position_embeddings=1024, original_max_position_embeddings=256, **rope(
        rope_type="longrope", factor=4.0, original_max_position_embeddings=256, short_factor=[1.0 + 0.1 * i for i in range(n)],
        long_factor=[2.0 + 0.3 * i for i in range(n)], **more))


def of_kind(name, **more):
    """A model of MODELS with other members."""
    model_type, members, *rest = MODELS[name]
    return (model_type, dict(members, **more), *rest)


def in_text(name, **more):
    """The same with other members of its text model."""
    return of_kind(name, text_config=dict(MODELS[name][1]["text_config"], **more))


def both_ropes(**full):
    return dict(rope_parameters=dict(full_attention=dict(rope_theta=10000.0, **full), sliding_attention=dict(rope_theta=10000.0, rope_type="default")))


MODELS.update({
    # latent attention: what turns, and what scales the scores
    **{f"{name}-{way}": of_kind(name, **rope(**scaling)) for name in ("deepseek-v3", "deepseek-v2-lite", "deepseek-v32", "glm4-moe-lite") for way, scaling in (
        ("linear", LINE), ("yarn", YARN), ("mscales", dict(YARN, mscale=1.0, mscale_all_dim=0.5)), ("all-dim", dict(YARN, mscale_all_dim=1.0)),
        ("factor", dict(YARN, attention_factor=1.3)))},
    # positions that the reference says are not scaled
    **{f"{name}-{way}": of_kind(name, **rope(**scaling)) for name in ("cohere", "cohere2", "cohere2-moe", "exaone-moe", "nemotron", "hunyuan-dense", "eurobert")
       for way, scaling in (("linear", LINE), ("yarn", YARN))},
    **{f"{name}-{way}": of_kind(name, **both_ropes(**scaling)) for name in ("mellum", "modern-bert") for way, scaling in (("linear", LINE), ("yarn", YARN))},
    # settings of Llama 3 that are found in its factors again, with one frequency between the bounds or several
    "llama-narrow": of_kind("llama", num_attention_heads=8),
    "llama-long": of_kind("llama", head_dim=64, **rope(rope_type="llama3", factor=32.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=131072)),
    "llama-bounds": of_kind("llama", head_dim=64, **rope(rope_type="llama3", factor=8.0, low_freq_factor=1.25, high_freq_factor=7.0, original_max_position_embeddings=64)),
    "llama-yarn-whole": of_kind("llama", **rope(**YARN, truncate=False)),
    # of rows with keys of their own
    **{f"{name}-{way}": of_kind(name, **rope(**scaling)) for name in ("gemma", "gemma2", "falcon-7b", "falcon-h1", "minicpm3")
       for way, scaling in (("linear", LINE), ("yarn", YARN), ("base", dict(rope_theta=300.0)))},
    **{f"{name}-{way}": of_kind(name, **rope(partial_rotary_factor=part, **scaling)) for name, part in (("gpt-neox", 0.25), ("stablelm", 0.25), ("phi", 0.5), ("glm", 0.5))
       for way, scaling in (("linear", LINE), ("yarn", YARN), ("base", dict(rope_theta=300.0)))},
    **{f"{name}-llama3": of_kind(name, **rope(**LLAMA3), **more) for name, more in (
        ("granite", {}), ("granite-moe", {}), ("granite-hybrid", dict(position_embedding_type="rope")), ("bamba", {}))},
    "ministral3-factor": of_kind("ministral3", **rope(**dict(MODELS["ministral3"][1]["rope_parameters"], attention_factor=1.2))),
    "ministral3-mscales": of_kind("ministral3", **rope(**dict(MODELS["ministral3"][1]["rope_parameters"], mscale=0.7, mscale_all_dim=0.9))),
    "ministral3-linear": of_kind("ministral3", **rope(**dict(LINE, original_max_position_embeddings=16, llama_4_scaling_beta=0.1))),
    "olmo3-base": of_kind("olmo3", rope_parameters={k: dict(rope_theta=300.0, rope_type="default") for k in (F, S)}),
    "olmo3-yarn": of_kind("olmo3", rope_parameters={F: dict(rope_theta=300.0, rope_type="yarn", factor=8.0, original_max_position_embeddings=32), S: dict(rope_theta=300.0, rope_type="default")}),
    "olmo3-bases": of_kind("olmo3", rope_parameters=dict(full_attention=dict(rope_theta=1e4, rope_type="default"), sliding_attention=dict(rope_theta=300.0, rope_type="default"))),
    "minimax-m2-half": of_kind("minimax-m2", **rope(rope_type="default", partial_rotary_factor=0.5)),
    "granite-hybrid-rope": of_kind("granite-hybrid", position_embedding_type="rope"),
    "granite-hybrid-dense-nope": of_kind("granite-hybrid-dense", layer_types=["attention"] * 4),
    "dbrx-base": of_kind("dbrx", **rope(rope_theta=300.0), attn_config=dict(kv_n_heads=2, clip_qkv=8.0, rope_theta=300.0)),
    "qwen3_5-narrow": of_kind("qwen3_5", head_dim=24),
    "minicpm3-longrope": of_kind("minicpm3", **lists(4)),
    **{f"{name}-longrope": of_kind(name, **lists(8)) for name in ("llama", "mistral", "granite", "granite-moe", "phi3")},
    **{f"{name}-longrope-beside": of_kind(name, **dict(lists(8), original_max_position_embeddings=512)) for name in ("llama", "phi3")},
    "llama-yarn-beside": of_kind("llama", original_max_position_embeddings=128, **rope(rope_type="yarn", factor=8.0, original_max_position_embeddings=32)),
    **{f"{name}-longrope-factor": of_kind(name, **lists(n, attention_factor=1.3)) for name, n in (("llama", 8), ("minicpm3", 4), ("phi3", 8))},
    "minicpm3-factor": of_kind("minicpm3", **rope(**YARN, attention_factor=1.3)),
    "gemma4-half": of_kind("gemma4", **both_ropes(rope_type="proportional", partial_rotary_factor=0.5)),
    "gemma4-all": of_kind("gemma4", **both_ropes(rope_type="proportional", partial_rotary_factor=1.0, factor=4.0)),
    "gemma3-factor": of_kind("gemma3", **both_ropes(**YARN, attention_factor=1.7)),
    "mimo-v2-linear": of_kind("mimo-v2", rope_parameters=dict(full_attention=dict(LINE, rope_theta=5e6, partial_rotary_factor=0.5),
                                                              sliding_attention=dict(rope_type="default", rope_theta=300.0, partial_rotary_factor=0.5))),
    "mimo-v2-epsilon": of_kind("mimo-v2", rms_norm_eps=0.1),
    "mimo-v2-factor": of_kind("mimo-v2", **both_ropes(**YARN, attention_factor=1.7)),
    "mimo-v2-parts": of_kind("mimo-v2", rope_parameters=dict(full_attention=dict(rope_type="default", rope_theta=5e6, partial_rotary_factor=0.5),
                                                             sliding_attention=dict(rope_type="default", rope_theta=1e4, partial_rotary_factor=1.0))),
    "muse-glimmer-linear": in_text("muse-glimmer", **rope(**LINE)),
    "llama4-chunks": of_kind("llama4", attention_chunk_size=16),
    "llama4-layers": of_kind("llama4", moe_layers=[0, 2]),
    "smollm3-windows": of_kind("smollm3", layer_types=[S] * 4, sliding_window=8),
    # sparse attention of fewer tokens than the text has; with few heads scores would be equal, namely 0
    "deepseek-v4-old": of_kind("deepseek-v4", layer_types=["sliding_attention", *["compressed_sparse_attention", "heavily_compressed_attention"] * 2], compress_ratios=GONE,
                               num_hash_layers=GONE, mlp_layer_types=["hash_moe"] + ["moe"] * 4),
    "deepseek-v4-yarn": of_kind("deepseek-v4", rope_parameters=dict(rope_type="yarn", factor=16.0, original_max_position_embeddings=16, beta_fast=32, beta_slow=1)),
    "deepseek-v4-limits": of_kind("deepseek-v4", swiglu_limit=0.5, norm_topk_prob=False, routed_scaling_factor=2.5),
    "deepseek-v4-bases": of_kind("deepseek-v4", compress_rope_theta=500.0, rope_theta=300.0, tie_word_embeddings=True),
    "deepseek-v4-gelu": of_kind("deepseek-v4", hidden_act="gelu"),
    "deepseek-v4-whole": of_kind("deepseek-v4", compress_ratios=[0, 128, 0, 128, 0]),
    "hrm-text-cycles": of_kind("hrm-text", H_cycles=3, L_cycles=1, tie_word_embeddings=True, initializer_range=0.05, **rope(rope_type="yarn", factor=4.0, original_max_position_embeddings=64)),
    "hrm-text-gelu": of_kind("hrm-text", hidden_act="gelu"),
    "hrm-text-linear": of_kind("hrm-text", **rope(rope_type="linear", factor=4.0)),
    "dots3-note-topk": of_kind("dots3-note", index_topk=8),
    "dots3-note-tied": of_kind("dots3-note", tie_word_embeddings=True, routed_scaling_factor=2.5, norm_topk_prob=False),
    "dots3-note-groups": of_kind("dots3-note", n_group=4, topk_group=2),
    "dots3-note-layers": of_kind("dots3-note", layer_types=["sliding_attention"]*2+["full_attention"]*2, mlp_layer_types=["dense","dense","sparse","sparse"]),
    **{f"glm5-next-{n}": in_text("glm5-next", **more) for n, more in dict(
        topk=dict(index_topk=8), limits=dict(swiglu_limit=0.5, routed_scaling_factor=1.0, norm_topk_prob=False), groups=dict(n_group=4, topk_group=2),
        bound=dict(linear_lower_bound=-1.0), gelu=dict(hidden_act="gelu"), tail=dict(index_kpool_always_select_tail=False, index_topk=8)).items()},
    **{f"{name}-topk": of_kind(name, index_topk=8, index_n_heads=8) for name in ("deepseek-v32", "glm-dsa")},
    "phi-groups": of_kind("phi", num_key_value_heads=2, intermediate_size=160),
    **{f"{name}-factor": of_kind(name, **both_ropes(**YARN, attention_factor=1.2)) for name in ("gemma3n", "mellum")},
    "embeddinggemma-factor": of_kind("embeddinggemma", **both_ropes(**YARN, attention_factor=2.0)),
    "cohere2-moe-factor": of_kind("cohere2-moe", **rope(**YARN, attention_factor=1.2)),
    # kinds of layers
    "gemma3-whole": of_kind("gemma3", layer_types=[F] * 6),
    "gemma3-windows": of_kind("gemma3", layer_types=[S] * 6),
    "gemma2-layers": of_kind("gemma2", layer_types=[S, S, F, F]),
    "cohere2-layers": of_kind("cohere2", layer_types=[F, S, F, S]),
    "olmo3-layers": of_kind("olmo3", layer_types=[F, S, F, S]),
    "olmo3-whole": of_kind("olmo3", layer_types=[F] * 4),
    "laguna-layers": of_kind("laguna", layer_types=[F, S, S, F]),
    "modern-bert-layers": of_kind("modern-bert", layer_types=[S, F] * 3),
    "modern-bert-whole": of_kind("modern-bert", layer_types=[F] * 6),
    "qwen3_5-layers": of_kind("qwen3_5", layer_types=[F] + ["linear_attention"] * 3),
    "qwen3_5-moe-layers": of_kind("qwen3_5-moe", layer_types=["linear_attention", F] * 2),
    "qwen3-next-layers": of_kind("qwen3-next", layer_types=["linear_attention", F] * 2),
    "afmoe-layers": of_kind("afmoe", layer_types=[F, S, S, S]),
    "laguna-window-first": of_kind("laguna", layer_types=[S, F] * 2),
    "mellum-layers": of_kind("mellum", layer_types=[F, S] * 2),
    "exaone4-window": of_kind("exaone4", sliding_window=8),
    "gpt-oss-whole": of_kind("gpt-oss", layer_types=[F] * 4),
    "gemma4-whole": of_kind("gemma4", layer_types=[F] * 6),
    "qwen3_5-whole": of_kind("qwen3_5", layer_types=[F] * 4),
    # which layers are a mixture of experts
    "glm4-moe-lite-dense": of_kind("glm4-moe-lite", mlp_layer_types=["dense"] * 3),
    "glm4-moe-lite-sparse": of_kind("glm4-moe-lite", mlp_layer_types=["sparse"] * 3),
    "deepseek-v32-sparse": of_kind("deepseek-v32", mlp_layer_types=["sparse"] * 3),
    "exaone-moe-dense": of_kind("exaone-moe", mlp_layer_types=["dense"] * 2 + ["sparse"] * 2),
    "glm4-moe-sparse": of_kind("glm4-moe", first_k_dense_replace=0),
    "gemma4-no-experts": of_kind("gemma4-moe", enable_moe_block=False),
    "kimi-linear-groups": of_kind("kimi-linear", num_expert_group=4, topk_group=2),
    "hy_v3-dense-last": of_kind("hy_v3", mlp_layer_types=["sparse", "sparse", "dense"]),
    "ernie4_5-moe-every-second": of_kind("ernie4_5-moe", moe_layer_interval=2),
    # biases, tied heads, capped logits, sizes of vocabularies and heads
    "bamba-bias": of_kind("bamba", attention_bias=True, mlp_bias=True),
    "apertus-bias": of_kind("apertus", attention_bias=True),
    "granite-moe-bias": of_kind("granite-moe", attention_bias=True),
    "granite-hybrid-bias": of_kind("granite-hybrid", attention_bias=True),
    "nemotron-bias": of_kind("nemotron", attention_bias=True, mlp_bias=True),
    "falcon-h1-bias": of_kind("falcon-h1", mlp_bias=True),
    "falcon-h1-attention-bias": of_kind("falcon-h1", attention_bias=True),
    "qwen2-moe-no-bias": of_kind("qwen2-moe", qkv_bias=False),
    "gpt-oss-no-bias": of_kind("gpt-oss", attention_bias=False),
    **{f"{name}-tied": of_kind(name, tie_word_embeddings=True) for name in (
        "apertus", "exaone-moe", "falcon-h1", "gpt-neox", "minimax-m2", "qwen2-moe", "stablelm")},
    "lfm2-moe-no-bias": of_kind("lfm2-moe", use_expert_bias=False),
    "lfm2-moe-untied": of_kind("lfm2-moe", tie_word_embeddings=False),
    "glm-epsilon": of_kind("glm", rms_norm_eps=0.1),
    "gemma3-capped": of_kind("gemma3", final_logit_softcapping=5.0),
    **{f"{name}-389": of_kind(name, vocab_size=389) for name in ("bamba", "gemma4-moe", "granite-hybrid", "mamba2")},
    # bodies where llama.cpp asks for a head
    "olmo2-body": ("olmo2", {}, "Olmo2Model", "hidden"),
    "qwen2-moe-body": (*MODELS["qwen2-moe"], "Qwen2MoeModel", "hidden"),
    "gpt-neox-body": (*MODELS["gpt-neox"], "GPTNeoXModel", "hidden"),
    # text models beside encoders, whose config names no class
    "lfm2-vl": ("lfm2_vl", pictures(dict(MODELS["lfm2"][1], model_type="lfm2"), dict(SIGLIP, model_type="siglip2_vision_model", patch_size=16, num_patches=16)),
                "Lfm2VlForConditionalGeneration"),
    "idefics3": ("idefics3", pictures(dict(model_type="llama"), dict(SIGLIP, image_size=32, patch_size=16)), "Idefics3ForConditionalGeneration"),
    "smolvlm": ("smolvlm", pictures(dict(model_type="llama"), dict(SIGLIP, image_size=32, patch_size=16)), "SmolVLMForConditionalGeneration"),
    "internvl": ("internvl", pictures(dict(model_type="qwen2"), dict(SIGLIP, image_size=[32, 32], patch_size=[16, 16])), "InternVLForConditionalGeneration"),
    "qwen3_5-vl": ("qwen3_5", pictures(MODELS["qwen3_5"][1], dict(QWEN_EYES, num_position_embeddings=16)), "Qwen3_5ForConditionalGeneration"),
    "gemma4-vision": ("gemma4", pictures(MODELS["gemma4-moe"][1], SIGLIP), "Gemma4ForConditionalGeneration"),
    "step3p7-scale": ("step3p7", dict(MODELS["step3p7"][1], text_config=dict(MODELS["step3p7"][1]["text_config"], query_pre_attn_scalar=24.0)),
                      "Step3p7ForConditionalGeneration"),
    **{f"{name}-wide": of_kind(name, head_dim=32) for name in ("cohere2", "glm", "nomic-bert")},
    "modern-bert-factor": of_kind("modern-bert", **both_ropes(**YARN, attention_factor=1.2)),
    "qwen3_5-values": of_kind("qwen3_5", linear_value_head_dim=32),
    **{f"{name}-epsilon": of_kind(name, rms_norm_eps=0.1) for name in ("deepseek-v3", "minicpm3", "qwen3_5")},
    "exaone4-wide": of_kind("exaone4", head_dim=48),
    "dots1-groups": of_kind("dots1", num_key_value_heads=1),
    "mamba-wide": of_kind("mamba", expand=3),
    "qwen2-vl-epsilon": in_text("qwen2-vl", rms_norm_eps=0.1),
    "t5-tied-null": of_kind("t5-tied", scale_decoder_outputs=None),
    "mimo-v2-values": of_kind("mimo-v2", attention_value_scale=None),
    "mimo-v2-bias": of_kind("mimo-v2", attention_bias=True),
    "mimo-v2-windows": of_kind("mimo-v2", layer_types=[S] * 4),
    "embeddinggemma-windows": of_kind("embeddinggemma", layer_types=[S] * MODELS["embeddinggemma"][1].get("num_hidden_layers", 3)),
    **{f"minimax-{name}": of_kind("minimax", layer_types=[kind] * 4) for name, kind in (("whole", F), ("linear", "linear_attention"))},
    "kimi-linear-queries": of_kind("kimi-linear", q_lora_rank=16),
    "jamba-whole": of_kind("jamba", attn_layer_period=1, attn_layer_offset=0),
    **{f"{name}-uncapped": of_kind(name, final_logit_softcapping=None) for name in ("gemma2", "gemma4", "gemma4-moe")},
    "qwen4-exp-sums": of_kind("qwen4-exp", norm_topk_prob=False),
    "qwen4-exp-ngrams-wide": of_kind("qwen4-exp-ngrams", ple_embed_dim=128),
    "qwen4-exp-whole": of_kind("qwen4-exp", layer_types=["indexed_attention"] * 4),
    "jais2-no-bias": of_kind("jais2", attention_bias=False, mlp_bias=False),
    **{f"t5-{name}": of_kind("t5", num_decoder_layers=n) for name, n in (("deep", 4), ("flat", 1))},
    "falcon-mamba-epsilon": of_kind("falcon-mamba", layer_norm_epsilon=0.1),
    "gpt2-wide": of_kind("gpt2", n_inner=320),
    "gpt-bigcode-wide": of_kind("gpt-bigcode", n_inner=320),
    "granite-hybrid-dense-wide": of_kind("granite-hybrid-dense", shared_intermediate_size=128),
    **{f"{name}-wide": of_kind(name, ffn_hidden_size=512) for name in ("falcon-7b", "falcon-40b")},
    "gemma4-wide": of_kind("gemma4", head_dim=32),  # all layers alike: per_layer_config has none of them
    "gemma3n-capped": of_kind("gemma3n", final_logit_softcapping=5.0),
    "gemma3n-rank": of_kind("gemma3n", laurel_rank=32),
    "gemma4-fewer": of_kind("gemma4", vocab_size_per_layer_input=400),
    "kimi-linear-heads": of_kind("kimi-linear", linear_num_heads=2),
    "kimi-linear-sums": of_kind("kimi-linear", moe_renormalize=False),
    "minimax-m3-wide": of_kind("minimax-m3", text_config=dict(MODELS["minimax-m3"][1]["text_config"], head_dim=32)),
    "minicpm3-values": of_kind("minicpm3", v_head_dim=24),
    "minicpm3-scores": of_kind("minicpm3", **rope(**YARN, mscale=0.7, mscale_all_dim=0.9)),
    "minimax-window": of_kind("minimax", sliding_window=8),
    "olmoe-groups": of_kind("olmoe", num_key_value_heads=2),
    "nemotron-h-bias": of_kind("nemotron-h", mlp_bias=True, attention_bias=True),
    "modern-bert-classifier-bias": of_kind("modern-bert-classifier", classifier_bias=True),
    "modern-bert-classifier-relu": of_kind("modern-bert-classifier", classifier_activation="relu"),
    "deepseek-v32-narrow": of_kind("deepseek-v32", index_head_dim=32),
    "umt5-relu": of_kind("umt5", feed_forward_proj="relu"),
    "t5-encoder-relu": of_kind("t5-encoder", feed_forward_proj="relu"),
    "t5-silu": of_kind("t5", feed_forward_proj="gated-silu"),
})
