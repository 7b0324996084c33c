/* SPDX-License-Identifier: MIT
 *
 * The class defaults of transformers 5.24, by model type: what its config classes assume where
 * config.json is silent, of the members that rows of architectures ask for.
 * tests/llama/class_defaults.py takes them from transformers, and compares. */
#include "llama/class_defaults.h"

const tare_llama_class_row tare_llama_class_rows[] = {
    {"afmoe", "global_attn_every_n_layers=4 head_dim=128 hidden_size=2048 intermediate_size=6144 "
              "max_position_embeddings=16384 moe_intermediate_size=1408 mup_enabled=false "
              "num_attention_heads=16 num_dense_layers=1 num_experts=64 num_experts_per_tok=6 "
              "num_hidden_layers=32 num_key_value_heads?=num_attention_heads num_shared_experts=2 "
              "rms_norm_eps=1e-05 rope_theta=10000 route_scale=1 sliding_window=1024"},
    {"apertus",
     "hidden_size=4096 intermediate_size=14336 max_position_embeddings=65536 "
     "num_attention_heads=32 num_hidden_layers=32 num_key_value_heads?=num_attention_heads "
     "rms_norm_eps=1e-05 rope_theta=12000000 rope_theta?=12000000 rope_default.factor=8 "
     "rope_default.high_freq_factor=4 rope_default.low_freq_factor=1 "
     "rope_default.original_max_position_embeddings=8192 rope_default.rope_theta=12000000 "
     "rope_default.rope_type='llama3'"},
    {"arcee",
     "head_dim?=floor(hidden_size/num_attention_heads) hidden_size=2560 intermediate_size=18432 "
     "max_position_embeddings=4096 num_attention_heads=32 num_hidden_layers=32 "
     "num_key_value_heads?=num_attention_heads rms_norm_eps=1e-05 rope_theta=10000"},
    {"bamba",
     "hidden_size=4096 intermediate_size=14336 mamba_d_conv=4 mamba_d_state=256 mamba_expand=2 "
     "mamba_n_groups=1 mamba_n_heads=128 max_position_embeddings=262144 num_attention_heads=32 "
     "num_hidden_layers=32 num_key_value_heads=8 num_key_value_heads?=num_attention_heads "
     "partial_rotary_factor=0.5 partial_rotary_factor?=0.5 rms_norm_eps=1e-05 rope_theta=10000"},
    {"bert", "hidden_size=768 intermediate_size=3072 is_decoder=false layer_norm_eps=1e-12 "
             "max_position_embeddings=512 num_attention_heads=12 num_hidden_layers=12 "
             "tie_word_embeddings=true type_vocab_size=2"},
    {"bitnet", "hidden_size=2560 intermediate_size=6912 max_position_embeddings=2048 "
               "num_attention_heads=20 num_hidden_layers=30 num_key_value_heads=5 "
               "num_key_value_heads?=num_attention_heads rms_norm_eps=1e-05 rope_theta=500000"},
    {"bloom",
     "apply_residual_connection_post_layernorm=false hidden_size=64 layer_norm_epsilon=1e-05 "
     "n_head=num_attention_heads|8 n_layer=num_hidden_layers|2 tie_word_embeddings=true"},
    {"camembert",
     "hidden_size=768 intermediate_size=3072 is_decoder=false layer_norm_eps=1e-12 "
     "max_position_embeddings=512 num_attention_heads=12 num_hidden_layers=12 pad_token_id=1 "
     "tie_word_embeddings=true type_vocab_size=2"},
    {"chameleon",
     "hidden_size=4096 intermediate_size=11008 max_position_embeddings=4096 "
     "num_attention_heads=32 num_hidden_layers=32 num_key_value_heads=32 rms_norm_eps=1e-05 "
     "rope_theta=10000"},
    {"cohere",
     "hidden_size=8192 intermediate_size=22528 layer_norm_eps=1e-05 logit_scale=0.0625 "
     "max_position_embeddings=8192 num_attention_heads=64 num_hidden_layers=40 "
     "num_key_value_heads?=num_attention_heads rope_theta=500000 tie_word_embeddings=true "
     "use_qk_norm=false"},
    {"cohere2",
     "head_dim?=floor(hidden_size/num_attention_heads) hidden_size=8192 intermediate_size=22528 "
     "layer_norm_eps=1e-05 logit_scale=0.0625 max_position_embeddings=8192 "
     "num_attention_heads=64 num_hidden_layers=40 num_key_value_heads?=num_attention_heads "
     "rope_theta=10000 sliding_window=4096 tie_word_embeddings=true"},
    {"cohere2_moe",
     "expert_selection_fn='softmax' head_dim=128 hidden_size=8192 intermediate_size=22528 "
     "layer_norm_eps=1e-05 logit_scale=0.0625 max_position_embeddings=8192 norm_topk_prob=true "
     "num_attention_heads=64 num_experts=8 num_experts_per_tok=2 num_hidden_layers=40 "
     "num_key_value_heads?=num_attention_heads num_shared_experts=0 "
     "prefix_dense_sliding_window_pattern=1 rope_theta=10000 "
     "shared_expert_combination_strategy='average' sliding_window=4096 sliding_window_pattern=4 "
     "tie_word_embeddings=true"},
    {"dbrx", "d_model=hidden_size|2048 max_seq_len=max_position_embeddings|2048 "
             "n_heads=num_attention_heads|16 n_layers=num_hidden_layers|24 num_key_value_heads=1 "
             "rope_theta=10000"},
    {"deepseek_v2",
     "first_k_dense_replace=0 head_dim=64 head_dim?=64 hidden_size=4096 intermediate_size=11008 "
     "kv_lora_rank=512 max_position_embeddings=2048 moe_intermediate_size=1407 "
     "n_routed_experts=num_experts|64 n_shared_experts=2 norm_topk_prob=false "
     "num_attention_heads=32 num_hidden_layers=32 num_key_value_heads?=num_attention_heads "
     "q_lora_rank=1536 qk_nope_head_dim=128 qk_rope_head_dim=64 rms_norm_eps=1e-06 "
     "rope_theta=10000 routed_scaling_factor=1 topk_method='greedy' v_head_dim=128"},
    {"deepseek_v3",
     "first_k_dense_replace=3 head_dim=64 hidden_size=7168 intermediate_size=18432 "
     "kv_lora_rank=512 max_position_embeddings=4096 moe_intermediate_size=2048 n_group=8 "
     "n_routed_experts=num_local_experts|256 n_shared_experts=1 norm_topk_prob=true "
     "num_attention_heads=128 num_experts_per_tok=8 num_hidden_layers=61 num_key_value_heads=128 "
     "num_key_value_heads?=num_attention_heads num_nextn_predict_layers=1 q_lora_rank=1536 "
     "qk_nope_head_dim=128 qk_rope_head_dim=64 rms_norm_eps=1e-06 rope_interleave=true "
     "rope_theta=10000 routed_scaling_factor=2.5 topk_group=4 v_head_dim=128"},
    {"deepseek_v32",
     "first_k_dense_replace=3 head_dim=64 hidden_size=7168 index_head_dim=128 index_n_heads=64 "
     "index_topk=2048 intermediate_size=18432 kv_lora_rank=512 max_position_embeddings=163840 "
     "moe_intermediate_size=2048 n_group=8 n_routed_experts=num_local_experts|256 "
     "n_shared_experts=1 norm_topk_prob=true num_attention_heads=128 num_experts_per_tok=8 "
     "num_hidden_layers=61 num_key_value_heads=128 q_lora_rank=1536 qk_nope_head_dim=128 "
     "qk_rope_head_dim=64 rms_norm_eps=1e-06 rope_theta=10000 routed_scaling_factor=2.5 "
     "topk_group=4 v_head_dim=128"},
    {"deepseek_v4",
     "compress_rope_theta=160000 hc_eps=1e-06 hc_mult=4 hc_sinkhorn_iters=20 head_dim=512 "
     "hidden_size=4096 index_head_dim=128 index_n_heads=64 index_topk=512 "
     "max_position_embeddings=1048576 moe_intermediate_size=intermediate_size|2048 "
     "n_routed_experts=num_local_experts|256 n_shared_experts=1 norm_topk_prob=true "
     "num_attention_heads=64 num_experts_per_tok=6 num_hidden_layers=43 num_key_value_heads=1 "
     "num_nextn_predict_layers=1 o_groups=8 o_lora_rank=1024 partial_rotary_factor=0.125 "
     "partial_rotary_factor?=0.125 q_lora_rank=1024 qk_rope_head_dim=64 qk_rope_head_dim?=64 "
     "rms_norm_eps=1e-06 rope_theta=10000 routed_scaling_factor=1.5 scoring_func='sqrtsoftplus' "
     "sliding_window=128 swiglu_limit=10"},
    {"distilbert",
     "activation='gelu' dim=768 hidden_dim=3072 max_position_embeddings=512 n_heads=12 "
     "n_layers=6 tie_word_embeddings=true"},
    {"dots1",
     "first_k_dense_replace=0 hidden_size=4608 intermediate_size=10944 "
     "max_position_embeddings=2048 moe_intermediate_size=1408 n_group=1 norm_topk_prob=false "
     "num_attention_heads=32 num_hidden_layers=62 num_key_value_heads=32 "
     "num_key_value_heads?=num_attention_heads rms_norm_eps=1e-06 rope_theta=10000 "
     "routed_scaling_factor=1 sliding_window=4096 topk_group=1"},
    {"dots3_note_text",
     "head_dim=256 hidden_size=5120 index_head_dim=128 index_n_heads=64 index_topk=2048 "
     "intermediate_size=13824 kv_lora_rank=512 max_position_embeddings=524288 "
     "moe_intermediate_size=1536 n_group=1 n_routed_experts=num_local_experts|256 "
     "n_shared_experts=1 norm_topk_prob=true num_attention_heads=128 num_experts_per_tok=8 "
     "num_hidden_layers=46 num_key_value_heads=128 q_lora_rank=1024 qk_nope_head_dim=128 "
     "qk_rope_head_dim=64 rms_norm_eps=1e-05 rope_local_base_freq=50000 "
     "rope_local_base_freq?=50000 routed_scaling_factor=1 sliding_window=512 sliding_window?=512 "
     "topk_group=1 v_head_dim=128"},
    {"embedding_gemma2_text",
     "embedding_dim=768 head_dim=256 hidden_activation='gelu_pytorch_tanh' hidden_size=512 "
     "hidden_size_per_layer_input=512 intermediate_size=2048 max_position_embeddings=262144 "
     "num_attention_heads=4 num_hidden_layers=24 num_key_value_heads=2 rms_norm_eps=1e-06 "
     "rope_local_base_freq=10000 rope_local_base_freq?=10000 rope_theta=1000000 "
     "rope_theta?=1000000 sliding_window=512"},
    {"ernie4_5",
     "head_dim=128 head_dim?=floor(hidden_size/num_attention_heads) hidden_size=1024 "
     "intermediate_size=3072 max_position_embeddings=131072 num_attention_heads=16 "
     "num_hidden_layers=18 num_key_value_heads=2 num_key_value_heads?=num_attention_heads "
     "rms_norm_eps=1e-05 rope_theta=500000 tie_word_embeddings=true"},
    {"ernie4_5_moe",
     "hidden_size=2560 intermediate_size=12288 max_position_embeddings=131072 "
     "moe_intermediate_size=1536 moe_k=num_experts_per_tok|6 moe_layer_interval=1 "
     "moe_layer_start_index=1 moe_num_experts=num_experts|64 moe_num_shared_experts=2 "
     "num_attention_heads=20 num_hidden_layers=28 num_key_value_heads=4 rms_norm_eps=1e-05 "
     "rope_theta=500000 tie_word_embeddings=true"},
    {"eurobert",
     "classifier_pooling='late' head_dim?=floor(hidden_size/num_attention_heads) hidden_size=768 "
     "intermediate_size=3072 max_position_embeddings=8192 num_attention_heads=12 "
     "num_hidden_layers=12 num_key_value_heads?=num_attention_heads rms_norm_eps=1e-05 "
     "rope_theta=10000"},
    {"exaone",
     "head_dim?=floor(hidden_size/num_attention_heads) hidden_size=4096 intermediate_size=14336 "
     "max_position_embeddings=4096 num_attention_heads=32 num_hidden_layers=num_layers|32 "
     "num_key_value_heads=8 num_key_value_heads?=num_attention_heads "
     "rms_norm_eps=layer_norm_epsilon|1e-05 rope_theta=500000"},
    {"exaone4",
     "hidden_size=4096 intermediate_size=16384 max_position_embeddings=2048 "
     "num_attention_heads=32 num_hidden_layers=32 num_key_value_heads=32 rms_norm_eps=1e-05 "
     "rope_theta=10000 sliding_window=4096 sliding_window_pattern=4"},
    {"exaone_moe",
     "first_k_dense_replace=1 hidden_size=4096 intermediate_size=16384 "
     "max_position_embeddings=2048 moe_intermediate_size=1024 n_group=1 norm_topk_prob=true "
     "num_attention_heads=32 num_experts=64 num_experts_per_tok=8 num_hidden_layers=32 "
     "num_key_value_heads=32 num_shared_experts=1 rms_norm_eps=1e-05 rope_theta=10000 "
     "routed_scaling_factor=2.5 sliding_window=4096 sliding_window_pattern=4 topk_group=1"},
    {"falcon", "activation='gelu' alibi=false hidden_size=4544 layer_norm_epsilon=1e-05 "
               "max_position_embeddings=2048 multi_query=true new_decoder_architecture=false "
               "num_attention_heads=71 num_hidden_layers=32 parallel_attn=true rope_theta=10000 "
               "tie_word_embeddings=true"},
    {"falcon_h1",
     "attention_in_multiplier=1 attention_out_multiplier=1 embedding_multiplier=1 "
     "hidden_size=4096 intermediate_size=14336 key_multiplier=1 lm_head_multiplier=1 "
     "mamba_d_conv=4 mamba_d_head=8 mamba_d_ssm=1024 mamba_d_state=256 mamba_expand=2 "
     "mamba_n_groups=1 mamba_n_heads=128 mamba_norm_before_gate=true mamba_rms_norm=false "
     "max_position_embeddings=8192 num_attention_heads=32 num_hidden_layers=32 "
     "num_key_value_heads=8 num_key_value_heads?=num_attention_heads rms_norm_eps=1e-05 "
     "rope_theta=10000 ssm_in_multiplier=1 ssm_out_multiplier=1"},
    {"gemma",
     "head_dim=256 hidden_size=3072 intermediate_size=24576 max_position_embeddings=8192 "
     "num_attention_heads=16 num_hidden_layers=28 num_key_value_heads=16 rms_norm_eps=1e-06 "
     "rope_theta=10000 tie_word_embeddings=true"},
    {"gemma2",
     "attn_logit_softcapping=50 final_logit_softcapping=30 head_dim=256 "
     "hidden_activation='gelu_pytorch_tanh' hidden_size=2304 intermediate_size=9216 "
     "max_position_embeddings=8192 num_attention_heads=8 num_hidden_layers=26 "
     "num_key_value_heads=4 query_pre_attn_scalar=256 rms_norm_eps=1e-06 rope_theta=10000 "
     "sliding_window=4096 tie_word_embeddings=true"},
    {"gemma3_text",
     "head_dim=256 hidden_activation='gelu_pytorch_tanh' hidden_size=2304 intermediate_size=9216 "
     "max_position_embeddings=131072 num_attention_heads=8 num_hidden_layers=26 "
     "num_key_value_heads=4 query_pre_attn_scalar=256 rms_norm_eps=1e-06 "
     "rope_local_base_freq=10000 rope_theta=1000000 sliding_window=4096 tie_word_embeddings=true "
     "use_bidirectional_attention=false"},
    {"gemma3n_text",
     "altup_active_idx=0 altup_correct_scale=true altup_num_inputs=4 final_logit_softcapping=30 "
     "head_dim=256 hidden_activation='gelu_pytorch_tanh' hidden_size=2048 "
     "hidden_size_per_layer_input=256 max_position_embeddings=32768 num_attention_heads=8 "
     "num_hidden_layers=35 num_key_value_heads=2 num_kv_shared_layers=15 rms_norm_eps=1e-06 "
     "rope_local_base_freq=10000 rope_theta=1000000 sliding_window=512 tie_word_embeddings=true "
     "vocab_size_per_layer_input=262144"},
    {"gemma4_text",
     "attention_k_eq_v=false enable_moe_block=false head_dim=256 "
     "hidden_activation='gelu_pytorch_tanh' hidden_size=2304 hidden_size_per_layer_input=256 "
     "intermediate_size=9216 max_position_embeddings=131072 num_attention_heads=8 "
     "num_hidden_layers=30 num_key_value_heads=4 num_kv_shared_layers=0 "
     "partial_rotary_factor=0.25 partial_rotary_factor?=0.25 rms_norm_eps=1e-06 "
     "rope_local_base_freq=10000 rope_local_base_freq?=10000 rope_theta=1000000 "
     "rope_theta?=1000000 sliding_window=512 tie_word_embeddings=true use_double_wide_mlp=false "
     "vocab_size_per_layer_input=262144 rope_default.partial_rotary_factor=0.25 "
     "rope_default.rope_theta=1000000 rope_default.rope_type='proportional'"},
    {"gemma4_unified_text",
     "attention_k_eq_v=false head_dim=256 hidden_activation='gelu_pytorch_tanh' hidden_size=2304 "
     "intermediate_size=9216 max_position_embeddings=262144 num_attention_heads=8 "
     "num_hidden_layers=30 num_key_value_heads=4 num_kv_shared_layers=0 "
     "partial_rotary_factor=0.25 partial_rotary_factor?=0.25 rms_norm_eps=1e-06 "
     "rope_local_base_freq=10000 rope_local_base_freq?=10000 rope_theta=1000000 "
     "rope_theta?=1000000 sliding_window=1024 tie_word_embeddings=true "
     "use_bidirectional_attention='vision' use_double_wide_mlp=false "
     "rope_default.partial_rotary_factor=0.25 rope_default.rope_theta=1000000 "
     "rope_default.rope_type='proportional'"},
    {"git",
     "hidden_size=768 intermediate_size=3072 layer_norm_eps=1e-12 max_position_embeddings=1024 "
     "num_attention_heads=12 num_hidden_layers=6"},
    {"glm", "head_dim=128 hidden_size=4096 intermediate_size=13696 max_position_embeddings=131072 "
            "num_attention_heads=32 num_hidden_layers=40 num_key_value_heads=2 "
            "partial_rotary_factor=0.5 rms_norm_eps=1.5625e-07 rope_theta=10000"},
    {"glm4", "head_dim=128 hidden_size=4096 intermediate_size=13696 max_position_embeddings=131072 "
             "num_attention_heads=32 num_hidden_layers=40 num_key_value_heads=2 "
             "partial_rotary_factor=0.5 rms_norm_eps=1.5625e-07 rope_theta=10000"},
    {"glm4_moe",
     "first_k_dense_replace=1 hidden_size=4096 intermediate_size=10944 "
     "max_position_embeddings=131072 moe_intermediate_size=1408 n_group=1 "
     "n_routed_experts=num_local_experts|128 n_shared_experts=1 norm_topk_prob=true "
     "num_attention_heads=96 num_experts_per_tok=8 num_hidden_layers=46 num_key_value_heads=8 "
     "num_nextn_predict_layers=1 partial_rotary_factor=0.5 rms_norm_eps=1e-05 rope_theta=10000 "
     "routed_scaling_factor=1 topk_group=1 use_qk_norm=false"},
    {"glm4_moe_lite",
     "hidden_size=2048 intermediate_size=10240 kv_lora_rank=512 max_position_embeddings=202752 "
     "moe_intermediate_size=1536 n_group=1 n_routed_experts=num_local_experts|64 "
     "n_shared_experts=1 norm_topk_prob=true num_attention_heads=20 num_experts_per_tok=4 "
     "num_hidden_layers=47 num_key_value_heads=20 q_lora_rank=768 qk_nope_head_dim=192 "
     "qk_rope_head_dim=head_dim|64 rms_norm_eps=1e-05 rope_interleave=true rope_theta=10000 "
     "routed_scaling_factor=1.8 topk_group=1 v_head_dim=256"},
    {"glm4v_moe_text",
     "first_k_dense_replace=1 hidden_size=4096 intermediate_size=10944 "
     "max_position_embeddings=65536 moe_intermediate_size=1408 n_group=1 "
     "n_routed_experts=num_local_experts|128 n_shared_experts=1 norm_topk_prob=true "
     "num_attention_heads=96 num_experts_per_tok=8 num_hidden_layers=46 num_key_value_heads=8 "
     "partial_rotary_factor=0.5 rms_norm_eps=1e-05 rope_theta=10000 routed_scaling_factor=1 "
     "topk_group=1"},
    {"glm4v_text", "hidden_size=4096 intermediate_size=13696 max_position_embeddings=32768 "
                   "num_attention_heads=32 num_hidden_layers=40 num_key_value_heads=2 "
                   "num_key_value_heads?=num_attention_heads rms_norm_eps=1e-05 rope_theta=10000"},
    {"glm5_next_text",
     "hc_eps=1e-06 hc_mult=4 hc_sinkhorn_iters=20 head_dim=0 hidden_size=4096 index_head_dim=128 "
     "index_kpool=16 index_kpool_always_select_tail=true index_n_heads=32 index_topk=2048 "
     "intermediate_size=12288 kv_lora_rank=512 linear_conv_kernel_dim=4 linear_head_dim=128 "
     "linear_lower_bound=-5 max_position_embeddings=1048576 moe_intermediate_size=2048 n_group=1 "
     "n_routed_experts=num_local_experts|288 n_shared_experts=1 norm_topk_prob=true "
     "num_attention_heads=64 num_experts_per_tok=8 num_hidden_layers=45 num_key_value_heads=64 "
     "q_lora_rank=1536 qk_nope_head_dim=256 qk_rope_head_dim=0 rms_norm_eps=1e-05 "
     "routed_scaling_factor=2.5 swiglu_limit=10 topk_group=1 v_head_dim=256"},
    {"glm_moe_dsa",
     "first_k_dense_replace=3 head_dim=64 hidden_size=6144 index_head_dim=128 index_n_heads=32 "
     "index_topk=2048 intermediate_size=12288 kv_lora_rank=512 max_position_embeddings=202752 "
     "moe_intermediate_size=2048 n_group=1 n_routed_experts=num_local_experts|256 "
     "n_shared_experts=1 norm_topk_prob=true num_attention_heads=64 num_experts_per_tok=8 "
     "num_hidden_layers=78 num_key_value_heads=64 q_lora_rank=2048 qk_nope_head_dim=192 "
     "qk_rope_head_dim=64 rms_norm_eps=1e-05 rope_theta=10000 routed_scaling_factor=2.5 "
     "topk_group=1 v_head_dim=256"},
    {"glm_ocr_text",
     "hidden_size=1024 intermediate_size=4096 max_position_embeddings=131072 "
     "num_attention_heads=16 num_hidden_layers=16 num_key_value_heads=8 rms_norm_eps=1e-05 "
     "rope_theta=10000"},
    {"gpt2", "activation_function='gelu_new' layer_norm_epsilon=1e-05 n_embd=hidden_size|768 "
             "n_head=num_attention_heads|12 n_layer=num_hidden_layers|12 "
             "n_positions=max_position_embeddings|1024 scale_attn_by_inverse_layer_idx=false "
             "scale_attn_weights=true tie_word_embeddings=true"},
    {"gpt_bigcode",
     "activation_function='gelu_pytorch_tanh' layer_norm_epsilon=1e-05 multi_query=true "
     "n_embd=hidden_size|768 n_head=num_attention_heads|12 n_layer=num_hidden_layers|12 "
     "n_positions=max_position_embeddings|1024 num_key_value_heads=1 scale_attn_weights=true "
     "tie_word_embeddings=true"},
    {"gpt_neox",
     "hidden_size=6144 intermediate_size=24576 is_decoder=false layer_norm_eps=1e-05 "
     "max_position_embeddings=2048 num_attention_heads=64 num_hidden_layers=44 "
     "partial_rotary_factor=0.25 partial_rotary_factor?=0.25 rope_theta=10000 rope_theta?=10000 "
     "use_parallel_residual=true"},
    {"gpt_oss",
     "head_dim=64 hidden_size=2880 intermediate_size=2880 max_position_embeddings=131072 "
     "num_attention_heads=64 num_experts_per_tok=4 num_hidden_layers=36 num_key_value_heads=8 "
     "num_local_experts=num_experts|128 rms_norm_eps=1e-05 rope_theta=150000 sliding_window=128 "
     "swiglu_alpha=1.702 swiglu_limit=7 rope_default.beta_fast=32 rope_default.beta_slow=1 "
     "rope_default.factor=32 rope_default.original_max_position_embeddings=4096 "
     "rope_default.rope_type='yarn' rope_default.truncate=false"},
    {"granite",
     "attention_multiplier=1 embedding_multiplier=1 hidden_size=4096 intermediate_size=11008 "
     "logits_scaling=1 max_position_embeddings=2048 num_attention_heads=32 num_hidden_layers=32 "
     "num_key_value_heads?=num_attention_heads residual_multiplier=1 rms_norm_eps=1e-06 "
     "rope_theta=10000"},
    {"granite4_vision_text",
     "attention_multiplier=1 embedding_multiplier=1 hidden_size=4096 intermediate_size=11008 "
     "logits_scaling=1 max_position_embeddings=2048 num_attention_heads=32 num_hidden_layers=32 "
     "num_key_value_heads?=num_attention_heads residual_multiplier=1 rms_norm_eps=1e-06 "
     "rope_theta=10000"},
    {"granite_swa",
     "attention_multiplier=1 embedding_multiplier=1 hidden_size=2560 intermediate_size=8192 "
     "logits_scaling=1 max_position_embeddings=8192 num_attention_heads=20 num_hidden_layers=24 "
     "num_key_value_heads=4 num_key_value_heads?=num_attention_heads residual_multiplier=1 "
     "rms_norm_eps=1e-05 rope_theta=10000 sliding_window=128 tie_word_embeddings=true"},
    {"granitemoe",
     "attention_multiplier=1 embedding_multiplier=1 hidden_size=4096 intermediate_size=11008 "
     "logits_scaling=1 max_position_embeddings=2048 num_attention_heads=32 num_experts_per_tok=2 "
     "num_hidden_layers=32 num_key_value_heads?=num_attention_heads num_local_experts=8 "
     "residual_multiplier=1 rms_norm_eps=1e-06 rope_theta=10000"},
    {"granitemoe_swa",
     "attention_multiplier=1 embedding_multiplier=1 hidden_size=4096 intermediate_size=11008 "
     "logits_scaling=1 max_position_embeddings=2048 num_attention_heads=32 num_experts_per_tok=2 "
     "num_hidden_layers=32 num_key_value_heads?=num_attention_heads num_local_experts=8 "
     "residual_multiplier=1 rms_norm_eps=1e-06 rope_theta=10000 shared_intermediate_size=0 "
     "sliding_window=128"},
    {"granitemoehybrid",
     "attention_multiplier=1 embedding_multiplier=1 hidden_size=4096 intermediate_size=11008 "
     "logits_scaling=1 mamba_d_conv=4 mamba_d_state=256 mamba_expand=2 mamba_n_groups=1 "
     "mamba_n_heads=128 max_position_embeddings=2048 num_attention_heads=32 "
     "num_experts_per_tok=2 num_hidden_layers=32 num_key_value_heads?=num_attention_heads "
     "num_local_experts=8 residual_multiplier=1 rms_norm_eps=1e-06 rope_theta=10000 "
     "shared_intermediate_size=1024"},
    {"granitemoeshared",
     "attention_multiplier=1 embedding_multiplier=1 hidden_size=4096 intermediate_size=11008 "
     "logits_scaling=1 max_position_embeddings=2048 num_attention_heads=32 num_experts_per_tok=2 "
     "num_hidden_layers=32 num_key_value_heads?=num_attention_heads num_local_experts=8 "
     "residual_multiplier=1 rms_norm_eps=1e-06 rope_theta=10000 shared_intermediate_size=0"},
    {"hrm_text",
     "H_cycles=2 L_cycles=3 embedding_scale=50 embedding_scale?=50 head_dim=128 hidden_size=1536 "
     "intermediate_size=4096 max_position_embeddings=2048 num_attention_heads=12 "
     "num_hidden_layers=128 prefix_lm=true rms_norm_eps=1e-06 rope_theta=10000"},
    {"hunyuan_v1_dense",
     "hidden_size=4096 intermediate_size=11008 max_position_embeddings=2048 "
     "num_attention_heads=32 num_hidden_layers=32 num_key_value_heads?=num_attention_heads "
     "rms_norm_eps=1e-05 rope_theta=10000"},
    {"hunyuan_v1_moe",
     "hidden_size=4096 intermediate_size=11008 max_position_embeddings=2048 "
     "moe_topk=num_experts_per_tok|1 num_attention_heads=32 num_experts=num_local_experts|1 "
     "num_hidden_layers=32 num_key_value_heads?=num_attention_heads rms_norm_eps=1e-05 "
     "rope_theta=10000"},
    {"hunyuan_vl_text",
     "hidden_size=4096 intermediate_size=11008 max_position_embeddings=2048 "
     "num_attention_heads=32 num_hidden_layers=32 num_key_value_heads?=num_attention_heads "
     "rms_norm_eps=1e-05 rope_theta=10000 tie_word_embeddings=true"},
    {"hy_v3",
     "head_dim=128 hidden_size=4096 intermediate_size=13312 max_position_embeddings=131072 "
     "moe_intermediate_size=1536 num_attention_heads=64 num_experts=num_local_experts|192 "
     "num_experts_per_tok=8 num_hidden_layers=80 num_key_value_heads=8 num_shared_experts=1 "
     "rms_norm_eps=1e-05 rope_theta=11158840 router_scaling_factor=2.826"},
    {"hy_v4",
     "hc_eps=1e-06 hc_magnitude=2 hc_mult=4 head_dim=64 hidden_size=2816 index_head_dim=128 "
     "index_n_heads=16 index_topk=2048 intermediate_size=6912 kv_lora_rank=512 "
     "max_position_embeddings=262144 moe_intermediate_size=768 n_group=1 "
     "n_routed_experts=num_local_experts|256 n_shared_experts=1 norm_topk_prob=true "
     "num_attention_heads=32 num_experts_per_tok=8 num_hidden_layers=34 "
     "num_key_value_heads?=num_attention_heads q_lora_rank=1536 qk_nope_head_dim=192 "
     "qk_rope_head_dim=64 rms_norm_eps=1e-05 rope_theta=10000 routed_scaling_factor=2.827 "
     "swiglu_limit=10 topk_group=1 v_head_dim=256"},
    {"internlm3",
     "head_dim=128 head_dim?=floor(hidden_size/num_attention_heads) hidden_size=4096 "
     "intermediate_size=10240 max_position_embeddings=32768 num_attention_heads=32 "
     "num_hidden_layers=48 num_key_value_heads=2 num_key_value_heads?=num_attention_heads "
     "rms_norm_eps=1e-05 rope_theta=10000"},
    {"internvl_vision",
     "hidden_size=1024 intermediate_size=4096 layer_norm_eps=1e-06 num_attention_heads=16 "
     "num_hidden_layers=24 use_qk_norm=false"},
    {"iquestcoder",
     "head_dim=128 head_dim?=floor(hidden_size/num_attention_heads) hidden_size=5120 "
     "intermediate_size=27648 max_position_embeddings=131072 num_attention_heads=40 "
     "num_hidden_layers=80 num_key_value_heads=8 num_key_value_heads?=num_attention_heads "
     "rms_norm_eps=1e-05 rope_theta=10000"},
    {"jais2",
     "head_dim?=floor(hidden_size/num_attention_heads) hidden_size=3328 intermediate_size=26624 "
     "layer_norm_eps=1e-05 max_position_embeddings=8192 num_attention_heads=26 "
     "num_hidden_layers=32 num_key_value_heads?=num_attention_heads rope_theta=10000"},
    {"jamba",
     "attn_layer_offset=4 attn_layer_period=8 expert_layer_offset=1 expert_layer_period=2 "
     "hidden_size=4096 intermediate_size=14336 mamba_d_conv=4 mamba_d_state=16 mamba_expand=2 "
     "max_position_embeddings=262144 num_attention_heads=32 num_experts=num_local_experts|16 "
     "num_experts_per_tok=2 num_hidden_layers=32 num_key_value_heads=8 rms_norm_eps=1e-06"},
    {"jina_embeddings_v3",
     "hidden_size=1024 intermediate_size=4096 layer_norm_eps=1e-05 max_position_embeddings=8194 "
     "num_attention_heads=16 num_hidden_layers=24 rope_theta=20000 tie_word_embeddings=true "
     "type_vocab_size=1"},
    {"kimi_linear",
     "hidden_size=2304 intermediate_size=9216 kv_lora_rank=512 linear_conv_kernel_dim=4 "
     "linear_head_dim=128 model_max_length=max_position_embeddings|1048576 "
     "moe_intermediate_size=1024 moe_renormalize=norm_topk_prob|true num_attention_heads=32 "
     "num_expert_group=n_group|1 num_experts=num_local_experts|256 "
     "num_experts_per_token=num_experts_per_tok|8 num_hidden_layers=27 num_key_value_heads=32 "
     "num_key_value_heads?=num_attention_heads num_shared_experts=n_shared_experts|1 "
     "qk_nope_head_dim=128 qk_rope_head_dim=64 rms_norm_eps=1e-05 routed_scaling_factor=2.446 "
     "topk_group=1 v_head_dim=128"},
    {"laguna",
     "gating=true head_dim=128 hidden_size=2048 intermediate_size=8192 "
     "max_position_embeddings=131072 moe_intermediate_size=512 moe_routed_scaling_factor=1 "
     "moe_router_logit_softcapping=0 num_attention_heads=48 num_experts=256 "
     "num_experts_per_tok=8 num_hidden_layers=40 num_key_value_heads=8 partial_rotary_factor=0.5 "
     "partial_rotary_factor?=0.5 rms_norm_eps=1e-06 rope_local_base_freq=10000 "
     "rope_local_base_freq?=10000 rope_theta=500000 rope_theta?=500000 "
     "shared_expert_intermediate_size=512 sliding_window=512"},
    {"lfm2",
     "block_auto_adjust_ff_dim=true block_ffn_dim_multiplier=1 block_multiple_of=256 "
     "conv_L_cache=3 conv_bias=false hidden_size=2560 intermediate_size=12288 "
     "max_position_embeddings=128000 norm_eps=1e-05 num_attention_heads=32 num_hidden_layers=32 "
     "num_key_value_heads=8 rope_theta=1000000 tie_word_embeddings=true"},
    {"lfm2_moe",
     "conv_L_cache=3 conv_bias=false hidden_size=2048 intermediate_size=7168 "
     "max_position_embeddings=128000 moe_intermediate_size=1792 norm_eps=1e-05 "
     "norm_topk_prob=true num_attention_heads=32 num_dense_layers=2 num_experts=32 "
     "num_experts_per_tok=4 num_hidden_layers=32 num_key_value_heads=8 rope_theta=1000000 "
     "routed_scaling_factor=1 tie_word_embeddings=true use_expert_bias=true"},
    {"llama",
     "head_dim?=floor(hidden_size/num_attention_heads) hidden_size=4096 intermediate_size=11008 "
     "max_position_embeddings=2048 num_attention_heads=32 num_hidden_layers=32 "
     "num_key_value_heads?=num_attention_heads rms_norm_eps=1e-06 rope_theta=10000"},
    {"llama4_text",
     "attention_chunk_size=8192 attn_scale=0.1 attn_temperature_tuning=true floor_scale=8192 "
     "head_dim=128 hidden_size=5120 interleave_moe_layer_step=1 intermediate_size=8192 "
     "intermediate_size_mlp=16384 max_position_embeddings=131072 no_rope_layer_interval=4 "
     "num_attention_heads=40 num_experts_per_tok=1 num_hidden_layers=48 num_key_value_heads=8 "
     "num_local_experts=16 rms_norm_eps=1e-05 rope_theta=500000 use_qk_norm=true"},
    {"mellum",
     "head_dim=128 hidden_size=2304 intermediate_size=7168 max_position_embeddings=131072 "
     "moe_intermediate_size=896 norm_topk_prob=true num_attention_heads=32 num_experts_per_tok=8 "
     "num_hidden_layers=28 num_key_value_heads=4 num_local_experts=num_experts|64 "
     "rms_norm_eps=1e-06 rope_local_base_freq=10000 rope_local_base_freq?=10000 "
     "rope_theta=500000 rope_theta?=500000 sliding_window=1024"},
    {"minicpm3",
     "dim_model_base=256 head_dim=32 head_dim?=32 hidden_size=2560 intermediate_size=6400 "
     "kv_lora_rank=256 max_position_embeddings=32768 num_attention_heads=40 num_hidden_layers=62 "
     "num_key_value_heads=40 num_key_value_heads?=num_attention_heads q_lora_rank=768 "
     "qk_nope_head_dim=64 qk_rope_head_dim=32 rms_norm_eps=1e-05 rope_theta=10000 "
     "scale_depth=1.4 scale_emb=12 tie_word_embeddings=true"},
    {"minimax",
     "block_size=256 full_attn_alpha_factor=1 full_attn_beta_factor=1 hidden_size=4096 "
     "intermediate_size=14336 linear_attn_alpha_factor=1 linear_attn_beta_factor=1 "
     "max_position_embeddings=131072 mlp_alpha_factor=1 mlp_beta_factor=1 num_attention_heads=32 "
     "num_experts_per_tok=2 num_hidden_layers=32 num_key_value_heads=8 "
     "num_local_experts=num_experts|8 rms_norm_eps=1e-05 rope_theta=1000000"},
    {"minimax_m2",
     "head_dim=128 hidden_size=3072 intermediate_size=1536 max_position_embeddings=196608 "
     "num_attention_heads=48 num_experts_per_tok=8 num_hidden_layers=62 num_key_value_heads=8 "
     "num_local_experts=num_experts|256 rms_norm_eps=1e-06 rope_theta=5000000"},
    {"minimax_m3_vl_text",
     "dense_intermediate_size=12288 head_dim=128 hidden_size=6144 index_block_size=128 "
     "index_head_dim=128 index_local_blocks=1 index_n_heads=4 index_topk_blocks=16 "
     "intermediate_size=3072 max_position_embeddings=524288 num_attention_heads=64 "
     "num_experts_per_tok=4 num_hidden_layers=60 num_key_value_heads=4 "
     "num_local_experts=num_experts|128 rms_norm_eps=1e-06 rope_theta=5000000 rotary_dim=64 "
     "routed_scaling_factor=2 shared_intermediate_size=3072 swiglu_alpha=1.702 swiglu_limit=7"},
    {"ministral3",
     "head_dim=128 hidden_size=4096 intermediate_size=14336 max_position_embeddings=262144 "
     "num_attention_heads=32 num_hidden_layers=34 num_key_value_heads=8 rms_norm_eps=1e-05 "
     "rope_theta=if(has(rope_parameters),10000,if(has(rope_scaling),10000,1000000)) "
     "rope_theta?=1000000 rope_default.beta_fast=32 rope_default.beta_slow=1 "
     "rope_default.factor=16 rope_default.llama_4_scaling_beta=0.1 rope_default.mscale=1 "
     "rope_default.mscale_all_dim=1 rope_default.original_max_position_embeddings=16384 "
     "rope_default.rope_theta=1000000 rope_default.rope_type='yarn'"},
    {"mistral",
     "head_dim?=floor(hidden_size/num_attention_heads) hidden_size=4096 intermediate_size=14336 "
     "max_position_embeddings=131072 num_attention_heads=32 num_hidden_layers=32 "
     "num_key_value_heads=8 rms_norm_eps=1e-06 rope_theta=10000 sliding_window=4096"},
    {"mistral4",
     "first_k_dense_replace=0 head_dim=128 hidden_size=4096 intermediate_size=12288 "
     "kv_lora_rank=256 max_position_embeddings=1048576 moe_intermediate_size=2048 n_group=1 "
     "n_routed_experts=num_local_experts|128 n_shared_experts=1 norm_topk_prob=true "
     "num_attention_heads=32 num_experts_per_tok=4 num_hidden_layers=36 num_key_value_heads=32 "
     "num_key_value_heads?=num_attention_heads partial_rotary_factor=0.5 "
     "partial_rotary_factor?=0.5 q_lora_rank=1024 qk_nope_head_dim=64 qk_rope_head_dim=64 "
     "rms_norm_eps=1e-06 rope_interleave=true rope_theta=10000 rope_theta?=10000 "
     "routed_scaling_factor=1 topk_group=1 v_head_dim=128 rope_default.beta_fast=32 "
     "rope_default.beta_slow=1 rope_default.factor=128 rope_default.llama_4_scaling_beta=0.1 "
     "rope_default.mscale=1 rope_default.mscale_all_dim=1 "
     "rope_default.original_max_position_embeddings=8192 rope_default.partial_rotary_factor=0.5 "
     "rope_default.rope_theta=10000 rope_default.rope_type='yarn'"},
    {"mixtral",
     "hidden_size=4096 intermediate_size=14336 max_position_embeddings=131072 "
     "num_attention_heads=32 num_experts_per_tok=2 num_hidden_layers=32 num_key_value_heads=8 "
     "num_local_experts=num_experts|8 rms_norm_eps=1e-05 rope_theta=1000000"},
    {"modernbert",
     "classifier_activation='gelu' classifier_bias=false classifier_pooling='cls' "
     "hidden_activation='gelu' hidden_size=768 intermediate_size=1152 local_attention=128 "
     "max_position_embeddings=8192 norm_eps=1e-05 num_attention_heads=12 num_hidden_layers=22 "
     "rope_local_base_freq=10000 rope_local_base_freq?=10000 rope_theta=160000 "
     "rope_theta?=160000 tie_word_embeddings=true"},
    {"mpt", "d_model=hidden_size|2048 layer_norm_epsilon=1e-05 max_seq_len=2048 "
            "n_heads=num_attention_heads|16 n_layers=num_hidden_layers|24 no_bias=true "
            "tie_word_embeddings=true"},
    {"mt5",
     "d_ff=1024 d_kv=head_dim|64 d_model=hidden_size|512 is_decoder=false "
     "layer_norm_epsilon=1e-06 num_decoder_layers?=num_layers num_heads=num_attention_heads|6 "
     "num_layers=num_hidden_layers|8 relative_attention_max_distance=128 "
     "relative_attention_num_buckets=32 tie_word_embeddings=true"},
    {"muse_glimmer_assistant",
     "block_size=16 head_dim=128 hidden_size=6656 intermediate_size=19968 "
     "max_position_embeddings=131072 num_attention_heads=32 num_hidden_layers=5 "
     "num_key_value_heads=8 rms_norm_eps=1e-05 rope_theta=500000 sliding_window=2048"},
    {"muse_glimmer_text",
     "final_logit_softcapping=20 head_dim=128 hidden_activation='silu' hidden_size=6656 "
     "intermediate_size=19968 max_position_embeddings=131072 num_attention_heads=32 "
     "num_hidden_layers=52 num_key_value_heads=2 output_multiplier=0.19611613513818404 "
     "post_norm_eps=1e-08 qk_scale_factor=3.87 rms_norm_eps=1e-05 rope_theta=10000 "
     "sliding_window=2048"},
    {"nemotron",
     "head_dim?=floor(hidden_size/num_attention_heads) hidden_size=6144 intermediate_size=24576 "
     "max_position_embeddings=4096 norm_eps=1e-05 num_attention_heads=48 num_hidden_layers=32 "
     "partial_rotary_factor=0.5 rope_theta=10000"},
    {"olmo", "hidden_size=4096 intermediate_size=11008 max_position_embeddings=2048 "
             "num_attention_heads=32 num_hidden_layers=32 num_key_value_heads?=num_attention_heads "
             "rope_theta=10000"},
    {"olmo2",
     "hidden_size=4096 intermediate_size=11008 max_position_embeddings=2048 "
     "num_attention_heads=32 num_hidden_layers=32 num_key_value_heads?=num_attention_heads "
     "rms_norm_eps=1e-05 rope_theta=10000"},
    {"olmo3",
     "hidden_size=4096 intermediate_size=11008 max_position_embeddings=2048 "
     "num_attention_heads=32 num_hidden_layers=32 num_key_value_heads?=num_attention_heads "
     "rms_norm_eps=1e-05 rope_local_base_freq=500000 rope_local_base_freq?=500000 "
     "rope_theta=500000 sliding_window=4096"},
    {"olmoe",
     "hidden_size=2048 intermediate_size=2048 max_position_embeddings=4096 norm_topk_prob=false "
     "num_attention_heads=16 num_experts=num_local_experts|64 num_experts_per_tok=8 "
     "num_hidden_layers=16 num_key_value_heads?=num_attention_heads rms_norm_eps=1e-05 "
     "rope_theta=10000"},
    {"paddleocr_vl_text",
     "head_dim=128 head_dim?=floor(hidden_size/num_attention_heads) hidden_size=1024 "
     "intermediate_size=3072 max_position_embeddings=131072 num_attention_heads=16 "
     "num_hidden_layers=18 num_key_value_heads=2 num_key_value_heads?=num_attention_heads "
     "rms_norm_eps=1e-05 rope_theta=500000 tie_word_embeddings=true"},
    {"phi",
     "hidden_size=2048 intermediate_size=8192 layer_norm_eps=1e-05 max_position_embeddings=2048 "
     "num_attention_heads=32 num_hidden_layers=24 num_key_value_heads?=num_attention_heads "
     "partial_rotary_factor=0.5 qk_layernorm=false rope_theta=10000"},
    {"phi3", "hidden_size=3072 intermediate_size=8192 max_position_embeddings=4096 "
             "num_attention_heads=32 num_hidden_layers=32 num_key_value_heads?=num_attention_heads "
             "original_max_position_embeddings=4096 rms_norm_eps=1e-05 rope_theta=10000"},
    {"phimoe",
     "hidden_size=4096 intermediate_size=6400 lm_head_bias=false max_position_embeddings=131072 "
     "num_attention_heads=32 num_experts_per_tok=2 num_hidden_layers=32 num_key_value_heads=8 "
     "num_local_experts=16 rms_norm_eps=1e-05 rope_theta=1000000"},
    {"qwen2", "hidden_size=4096 intermediate_size=22016 max_position_embeddings=32768 "
              "num_attention_heads=32 num_hidden_layers=32 num_key_value_heads=32 "
              "num_key_value_heads?=num_attention_heads rms_norm_eps=1e-06 rope_theta=10000 "
              "use_sliding_window=false"},
    {"qwen2_5_omni_text",
     "hidden_size=3584 intermediate_size=18944 max_position_embeddings=32768 "
     "num_attention_heads=28 num_hidden_layers=28 num_key_value_heads=4 "
     "num_key_value_heads?=num_attention_heads rms_norm_eps=1e-06 rope_theta=1000000 "
     "tie_word_embeddings=true use_sliding_window=false"},
    {"qwen2_5_vl_text",
     "hidden_size=8192 intermediate_size=29568 max_position_embeddings=32768 "
     "num_attention_heads=64 num_hidden_layers=80 num_key_value_heads=8 "
     "num_key_value_heads?=num_attention_heads rms_norm_eps=1e-05 rope_theta=1000000 "
     "use_sliding_window=false"},
    {"qwen2_moe",
     "hidden_size=2048 intermediate_size=5632 max_position_embeddings=32768 "
     "moe_intermediate_size=1408 norm_topk_prob=false num_attention_heads=16 num_experts=60 "
     "num_experts_per_tok=4 num_hidden_layers=24 num_key_value_heads=16 qkv_bias=true "
     "rms_norm_eps=1e-06 rope_theta=10000 shared_expert_intermediate_size=5632 sliding_window=0 "
     "sliding_window?=0 use_sliding_window=false"},
    {"qwen2_vl_text",
     "hidden_size=8192 intermediate_size=29568 max_position_embeddings=32768 "
     "num_attention_heads=64 num_hidden_layers=80 num_key_value_heads=8 "
     "num_key_value_heads?=num_attention_heads rms_norm_eps=1e-05 rope_theta=1000000 "
     "use_sliding_window=false"},
    {"qwen3", "head_dim=128 hidden_size=4096 intermediate_size=22016 max_position_embeddings=32768 "
              "num_attention_heads=32 num_hidden_layers=32 num_key_value_heads=32 "
              "num_key_value_heads?=num_attention_heads rms_norm_eps=1e-06 rope_theta=10000 "
              "use_sliding_window=false"},
    {"qwen3_5_moe_text",
     "head_dim=256 hidden_size=2048 linear_conv_kernel_dim=4 linear_key_head_dim=128 "
     "linear_num_key_heads=16 linear_num_value_heads=32 linear_value_head_dim=128 "
     "max_position_embeddings=32768 moe_intermediate_size=512 num_attention_heads=16 "
     "num_experts=256 num_experts_per_tok=8 num_hidden_layers=40 num_key_value_heads=2 "
     "partial_rotary_factor=0.25 rms_norm_eps=1e-06 rope_theta=10000 "
     "shared_expert_intermediate_size=512"},
    {"qwen3_5_text",
     "head_dim=256 hidden_size=4096 intermediate_size=12288 linear_conv_kernel_dim=4 "
     "linear_key_head_dim=128 linear_num_key_heads=16 linear_num_value_heads=32 "
     "linear_value_head_dim=128 max_position_embeddings=32768 num_attention_heads=16 "
     "num_hidden_layers=32 num_key_value_heads=4 partial_rotary_factor=0.25 rms_norm_eps=1e-06 "
     "rope_theta=10000"},
    {"qwen3_moe", "hidden_size=2048 intermediate_size=6144 max_position_embeddings=32768 "
                  "moe_intermediate_size=768 norm_topk_prob=false num_attention_heads=32 "
                  "num_experts_per_tok=8 num_hidden_layers=24 num_key_value_heads=4 "
                  "num_local_experts=num_experts|128 rms_norm_eps=1e-06 rope_theta=10000 "
                  "use_sliding_window=false"},
    {"qwen3_next",
     "head_dim=256 hidden_size=2048 intermediate_size=5632 linear_conv_kernel_dim=4 "
     "linear_key_head_dim=128 linear_num_key_heads=16 linear_num_value_heads=32 "
     "linear_value_head_dim=128 max_position_embeddings=32768 moe_intermediate_size=512 "
     "norm_topk_prob=true num_attention_heads=16 num_experts=512 num_experts_per_tok=10 "
     "num_hidden_layers=48 num_key_value_heads=2 partial_rotary_factor=0.25 rms_norm_eps=1e-06 "
     "rope_theta=10000 shared_expert_intermediate_size=512"},
    {"qwen3_omni_moe_text",
     "hidden_size=2048 intermediate_size=18944 max_position_embeddings=32768 "
     "moe_intermediate_size=768 norm_topk_prob=true num_attention_heads=28 num_experts=128 "
     "num_experts_per_tok=8 num_hidden_layers=28 num_key_value_heads=4 rms_norm_eps=1e-06 "
     "rope_theta=1000000"},
    {"qwen3_vl_moe_text",
     "head_dim?=floor(hidden_size/num_attention_heads) hidden_size=2048 intermediate_size=5632 "
     "max_position_embeddings=128000 moe_intermediate_size=1408 num_attention_heads=16 "
     "num_experts_per_tok=4 num_hidden_layers=24 num_key_value_heads=16 "
     "num_local_experts=num_experts|60 rms_norm_eps=1e-06 rope_theta=500000 "
     "tie_word_embeddings=true"},
    {"qwen3_vl_text",
     "head_dim=128 hidden_size=4096 intermediate_size=22016 max_position_embeddings=128000 "
     "num_attention_heads=32 num_hidden_layers=32 num_key_value_heads=32 "
     "num_key_value_heads?=num_attention_heads rms_norm_eps=1e-06 rope_theta=500000"},
    {"qwen4_exp_text",
     "hc_count=4 hc_lowrank=320 head_dim=256 heads_per_ngram=8 hidden_size=2048 "
     "linear_conv_kernel_dim=4 linear_key_head_dim=128 linear_num_key_heads=16 "
     "linear_num_value_heads=32 linear_value_head_dim=128 max_position_embeddings=32768 "
     "moe_intermediate_size=512 ngram_size=3 norm_topk_prob=true num_attention_heads=16 "
     "num_experts=512 num_experts_per_tok=10 num_hidden_layers=40 num_key_value_heads=2 "
     "ple_conv_kernel_size=4 ple_embed_dim?=hidden_size rms_norm_eps=1e-06 rope_theta=10000 "
     "shared_expert_intermediate_size=512 split_ngram_parts=512"},
    {"roberta",
     "hidden_size=768 intermediate_size=3072 is_decoder=false layer_norm_eps=1e-12 "
     "max_position_embeddings=512 num_attention_heads=12 num_hidden_layers=12 pad_token_id=1 "
     "tie_word_embeddings=true type_vocab_size=2"},
    {"sarvam_mla",
     "first_k_dense_replace=1 head_dim=64 head_dim?=64 hidden_size=4096 intermediate_size=16384 "
     "kv_lora_rank=512 max_position_embeddings=4096 moe_intermediate_size=2048 n_group=1 "
     "n_routed_experts=num_local_experts|num_experts|128 n_shared_experts=num_shared_experts|1 "
     "norm_topk_prob=true num_attention_heads=64 num_experts_per_tok=8 num_hidden_layers=32 "
     "num_key_value_heads?=num_attention_heads num_nextn_predict_layers=0 qk_nope_head_dim=128 "
     "qk_rope_head_dim=64 rms_norm_eps=1e-06 rope_interleave=true rope_theta=10000 "
     "routed_scaling_factor=2.5 topk_group=1 v_head_dim=128"},
    {"sarvam_moe",
     "first_k_dense_replace=1 head_dim=64 hidden_size=4096 intermediate_size=8192 "
     "max_position_embeddings=131072 moe_intermediate_size=1024 n_group=1 "
     "n_routed_experts=num_local_experts|num_experts|128 n_shared_experts=num_shared_experts|1 "
     "norm_topk_prob=true num_attention_heads=64 num_experts_per_tok=6 num_hidden_layers=19 "
     "num_key_value_heads=4 num_nextn_predict_layers=0 rms_norm_eps=1e-06 rope_theta=8000000 "
     "routed_scaling_factor=2.5 topk_group=1 use_qk_norm=true"},
    {"seed_oss",
     "head_dim=128 hidden_size=4096 intermediate_size=27648 max_position_embeddings=524288 "
     "num_attention_heads=80 num_hidden_layers=64 num_key_value_heads=8 "
     "num_key_value_heads?=num_attention_heads rms_norm_eps=1e-06 rope_theta=10000"},
    {"smollm3",
     "hidden_size=2048 intermediate_size=11008 max_position_embeddings=32768 "
     "no_rope_layer_interval=4 num_attention_heads=16 num_hidden_layers=36 num_key_value_heads=4 "
     "num_key_value_heads?=num_attention_heads rms_norm_eps=1e-06 rope_theta=2000000 "
     "tie_word_embeddings=true use_sliding_window=false"},
    {"solar_open",
     "head_dim=128 hidden_size=4096 max_position_embeddings=131072 moe_intermediate_size=1280 "
     "n_group=1 n_routed_experts=num_local_experts|128 n_shared_experts=1 norm_topk_prob=true "
     "num_attention_heads=64 num_experts_per_tok=8 num_hidden_layers=48 num_key_value_heads=8 "
     "rms_norm_eps=1e-05 rope_theta=1000000 routed_scaling_factor=1 topk_group=1"},
    {"stablelm",
     "hidden_size=2560 intermediate_size=6912 layer_norm_eps=1e-05 max_position_embeddings=4096 "
     "num_attention_heads=32 num_hidden_layers=32 num_key_value_heads=32 "
     "partial_rotary_factor=0.25 qk_layernorm=false rope_theta=10000 use_parallel_residual=false"},
    {"starcoder2",
     "hidden_size=3072 intermediate_size=12288 max_position_embeddings=4096 norm_epsilon=1e-05 "
     "num_attention_heads=24 num_hidden_layers=30 num_key_value_heads=2 rope_theta=10000 "
     "tie_word_embeddings=true"},
    {"t5",
     "d_ff=2048 d_kv=head_dim|64 d_model=hidden_size|512 is_decoder=false "
     "layer_norm_epsilon=1e-06 num_decoder_layers?=num_layers num_heads=num_attention_heads|8 "
     "num_layers=num_hidden_layers|6 relative_attention_max_distance=128 "
     "relative_attention_num_buckets=32 tie_word_embeddings=true tie_word_embeddings?=true"},
    {"umt5",
     "d_ff=1024 d_kv=head_dim|64 d_model=hidden_size|512 is_decoder=false "
     "layer_norm_epsilon=1e-06 num_decoder_layers?=num_layers num_heads=num_attention_heads|6 "
     "num_layers=num_hidden_layers|8 relative_attention_max_distance=128 "
     "relative_attention_num_buckets=32 tie_word_embeddings=true tie_word_embeddings?=true"},
    {"xlm-roberta",
     "hidden_size=768 intermediate_size=3072 is_decoder=false layer_norm_eps=1e-12 "
     "max_position_embeddings=512 num_attention_heads=12 num_hidden_layers=12 pad_token_id=1 "
     "tie_word_embeddings=true type_vocab_size=2"},
    {"youtu", "head_dim=64 hidden_size=2048 intermediate_size=6144 kv_lora_rank=512 "
              "max_position_embeddings=131072 num_attention_heads=16 num_hidden_layers=32 "
              "num_key_value_heads=16 q_lora_rank=1536 qk_nope_head_dim=128 qk_rope_head_dim=64 "
              "rms_norm_eps=1e-06 rope_interleave=true rope_theta=10000 tie_word_embeddings=true "
              "v_head_dim=128"},
};
const size_t tare_llama_n_class_rows = sizeof tare_llama_class_rows / sizeof *tare_llama_class_rows;
