/* SPDX-License-Identifier: MIT
 *
 * The names that Hugging Face models use for each tensor of llama.cpp, and what it is for: facts of many
 * programs, found by what llama.cpp's own converter accepts. Rows without other names are tensors
 * that only GGUF files have. */
#include "model/tensor_name_table.h"

#include "base/str.h"

const tare_tensor_prefix tare_tensor_prefixes[] = {
    {"model.layers.", ""},
    {"layers.", ""},
    {"transformer.h.", ""},
    {"model.layers.layers.", ""},
    {"rwkv.blocks.", ""},
    {"backbone.layers.", ""},
    {"encoder.layers.", ""},
    {"encoder.layer.", ""},
    {"transformer.blocks.", ""},
    {"decoder.block.", "dec."},
    {"encoder.block.", "enc."},
    {"h.", ""},
    {"transformer.decoder_layer.", ""},
    {"model.transformer.blocks.", ""},
    {"model.blocks.", ""},
    {"transformer.layer.", ""},
    {"transformer.layers.", ""},
    {"gpt_neox.layers.", ""},
    {"transformer_encoder.", ""},
    {"model.layers.h.", ""},
    {"backbone.posnet.", "posnet."},
    {"backbone.convnext.", "convnext."},
    {NULL, NULL},
};

#define NAMED(name, others)                                                                        \
    { name, others, TARE_ROLE_UNKNOWN, false }
#define ROLE(name, role, others)                                                                   \
    { name, others, TARE_ROLE_##role, false }
/* llama.cpp's mixes treat it as any matrix. */
#define ROLE_EVEN(name, role, others)                                                              \
    { name, others, TARE_ROLE_##role, true }

const tare_tensor_named tare_tensors_outside[] = {
    ROLE("token_embd", TOKEN_EMBEDDING,
         "gpt_neox.embed_in transformer.wte transformer.word_embeddings word_embeddings "
         "model.embed_tokens embed_tokens tok_embeddings embeddings.word_embeddings "
         "embeddings.tok_embeddings wte transformer.embd.wte model.tok_embeddings model.embedding "
         "backbone.embedding backbone.embeddings transformer.in_out_embed "
         "embedding.word_embeddings transformer.token_embeddings shared rwkv.embeddings "
         "model.embeddings model.word_embeddings encoder model.transformer.wte model.embed embed"),
    NAMED("masked_embd_centroids", "masked_embedding.centroids"),
    NAMED("masked_embd_ordering", "masked_embedding.token_ordering"),
    ROLE("token_types", TYPE_EMBEDDING, "embeddings.token_type_embeddings"),
    ROLE("token_embd_norm", NORM,
         "word_embeddings_layernorm embeddings.LayerNorm embeddings.norm emb_ln transformer.norm "
         "rwkv.blocks.0.pre_ln model.pre_ln model.layers.0.pre_norm backbone.norm "
         "model.embedding_norm"),
    ROLE("position_embd", POSITION_EMBEDDING,
         "transformer.wpe embeddings.position_embeddings wpe model.embed_positions"),
    ROLE("output", OUTPUT,
         "embed_out lm_head output word_embeddings_for_head lm_head.linear output_layer head "
         "head.out model.transformer.ff_out head.decoder model.lm_head model.embedding_projection"),
    NAMED("output_res_score", ""),
    NAMED("hrm.z_l_init", ""),
    NAMED("output_hc_fn", "model.hc_head.hc_head_fn"),
    NAMED("output_hc_base", "model.hc_head.hc_head_base"),
    NAMED("output_hc_scale", "model.hc_head.hc_head_scale"),
    NAMED("output_hc_norm", "model.hyper_connection_mixer.hc_norm"),
    NAMED("output_hc_down", "model.hyper_connection_mixer.input_mix_weight_down"),
    NAMED("output_hc_up", "model.hyper_connection_mixer.input_mix_weight_up"),
    NAMED("dense_2", "dense_2_out"),
    NAMED("dense_3", "dense_3_out"),
    NAMED("output_norm",
          "gpt_neox.final_layer_norm transformer.ln_f model.norm norm transformer.norm_f ln_f "
          "model.final_layernorm lm_head.ln model.norm_f backbone.norm_f transformer.rms_norm "
          "encoder.final_layernorm transformer.norm rwkv.ln_out model.ln_out "
          "backbone.final_layer_norm model.transformer.ln_f final_norm"),
    ROLE("rope_freqs", ROPE, "rope.freqs rotary_pos_emb.inv_freq"),
    NAMED("conv1d", "backbone.embed"),
    ROLE("per_layer_token_embd", TOKEN_EMBEDDING, "model.embed_tokens_per_layer"),
    NAMED("per_layer_model_proj",
          "model.per_layer_model_projection model.ple.per_layer_model_projection"),
    NAMED("per_layer_proj_norm",
          "model.per_layer_projection_norm model.ple.per_layer_projection_norm"),
    NAMED("altup_proj", "model.altup_projections"),
    NAMED("altup_unembd_proj", "model.altup_unembed_projections"),
    NAMED("dec.output_norm", "decoder.final_layer_norm"),
    NAMED("enc.output_norm", "encoder.final_layer_norm layer_norm model.hidden_norm input_norm "
                             "encoder.output_norm_enc"),
    NAMED("fc", "model.fc fc encoder.fc"),
    NAMED("d2t", ""),
    NAMED("markov_w1", "model.markov_head.markov_w1"),
    NAMED("markov_w2", "model.markov_head.markov_w2"),
    NAMED("conf_proj", "model.confidence_head.proj"),
    NAMED("selector_predecessor", "model.candidate_selector.predecessor_codebook"),
    NAMED("selector_successor", "model.candidate_selector.successor_codebook"),
    NAMED("selector_hidden", "model.candidate_selector.hidden_projection"),
    NAMED("cls", "classifier classifier.dense pre_classifier pooler.dense dense head.dense"),
    NAMED("cls.output", "classifier.out_proj classifier"),
    NAMED("cls.norm", "head.norm"),
    NAMED("nextn.pre_projection", "pre_projection"),
    NAMED("nextn.post_projection", "post_projection"),
    ROLE("rope_factors_long", ROPE, ""),
    ROLE("rope_factors_short", ROPE, ""),
    {NULL, NULL, TARE_ROLE_UNKNOWN, false},
};

/* Within blocks; where an architecture has two of a name, the later row holds. */
const tare_tensor_named tare_tensors_in_blocks[] = {
    NAMED("attn_norm", "input_layernorm ln_1 norm_1 ln_mlp attention_norm ln1 ln norm "
                       "pre_mixer_norm rms_norm pre_attn_norm norm_attn_norm.norm_1 attn_norm "
                       "operator_norm attention_layernorm pre_attention_layernorm"),
    NAMED("attn_norm_2",
          "ln_attn layer_norm_1 ln2 post_attention_layernorm self_attn.norm hidden_norm"),
    NAMED("attn_conv_base", "attention_conv.base_kernel"),
    NAMED("attn_conv_proj", "attention_conv.kernel_projection"),
    NAMED("ffn_conv_base", "mlp_conv.base_kernel"),
    NAMED("ffn_conv_proj", "mlp_conv.kernel_projection"),
    ROLE("attn_qkv", ATTN_QKV,
         "attention.query_key_value attn.c_attn attn.Wqkv norm_attn_norm.attn.Wqkv "
         "self_attention.query_key_value self_attn.query_key_value mixer.Wqkv self_attn.qkv_proj "
         "mixer.qkv_proj attn.qkv_proj qkv self_attn.language_expert_query_key_value "
         "linear_attn.in_proj_qkv"),
    ROLE("attn_q", ATTN_Q,
         "self_attn.q_proj attention.wq attention.self.query attention.q_lin attn.q_proj "
         "multi_head_attention.query attn.attention.q_proj q_proj mixer.q_proj attn.attn_query"),
    ROLE("attn_k", ATTN_K,
         "self_attn.k_proj attention.wk attention.self.key attention.k_lin attn.k_proj attn.k "
         "multi_head_attention.key attn.attention.k_proj k_proj mixer.k_proj attn.attn_key"),
    ROLE("attn_v", ATTN_V,
         "self_attn.v_proj attention.wv attention.self.value attention.v_lin attn.v_proj attn.v "
         "multi_head_attention.value attn.attention.v_proj v_proj mixer.v_proj attn.attn_value"),
    ROLE("attn_output", ATTN_OUTPUT,
         "attention.dense attn.c_proj attn.out_proj self_attention.dense self_attn.o_proj "
         "self_attn.out_proj self_attn.linear_attn attention.wo attention.output.dense attn.Wo "
         "attention.out_lin self_attn.dense mixer.out_proj mixer.o_proj "
         "multi_head_attention.linear norm_attn_norm.attn.out_proj attn.attention.out_proj wo "
         "attn_out self_attn.language_expert_dense attn.attn_resid"),
    NAMED("attn_output_norm", "attention.output.LayerNorm sa_layer_norm norm1 rms_norm_1 "
                              "post_attn_norm norm_attn_norm.norm_2"),
    NAMED("post_attention_norm",
          "post_attention_layernorm post_self_attn_layernorm post_mixer_norm.weight"),
    NAMED("attn_rot_embd", "self_attn.rotary_emb.inv_freq attention.inner_attention.rope.freqs "
                           "attn.rotary_emb.inv_freq"),
    NAMED("attn_sinks", "self_attn.sinks self_attn.attention_sink_bias attn.attn_sink"),
    NAMED("attn_gate", "self_attn.gate_proj linear_attn.in_proj_z self_attn.g_proj "
                       "self_attn.output_gate self_attn.linear_gate"),
    NAMED("ffn_norm", "post_attention_layernorm ln_2 norm_2 ffn_norm ln2 rms_norm_2 pre_moe_norm "
                      "pre_ff_layernorm pre_moe_layernorm pre_mlp_norm ff_norm "
                      "feedforward_layernorm pre_mlp_layernorm mlp_norm"),
    NAMED("ffn_pre_norm", "pre_feedforward_layernorm pre_ff_layernorm.weight pre_mlp_layernorm"),
    NAMED("pre_ffw_norm_2", "pre_feedforward_layernorm_2"),
    NAMED("post_ffw_norm", "post_feedforward_layernorm post_mlp_layernorm post_mlp_norm.weight "
                           "feed_forward.up_proj post_moe_norm"),
    NAMED("post_ffw_norm_1", "post_feedforward_layernorm_1"),
    NAMED("post_ffw_norm_2", "post_feedforward_layernorm_2"),
    ROLE(
        "ffn_gate_inp", ROUTER,
        "feed_forward.gate block_sparse_moe.gate mlp.gate router ffn.router.layer "
        "block_sparse_moe.router.layer feed_forward.router mlp.router.layer mlp.router mlp.gate.wg "
        "block_sparse_moe.primary_router mlp.router.gate gate mixer.gate moe.gate router.proj "
        "block_sparse_moe.router ffn.gate"),
    ROLE("ffn_gate_inp_shexp", ROUTER, "mlp.shared_expert_gate"),
    NAMED(
        "exp_probs_b",
        "mlp.gate.e_score_correction mlp.moe_statics.e_score_correction mlp.gate.expert_bias "
        "mlp.expert_bias feed_forward.expert_bias block_sparse_moe.e_score_correction "
        "mixer.gate.e_score_correction mlp.e_score_correction "
        "block_sparse_moe.gate.e_score_correction moe.router_bias mlp.experts.e_score_correction"),
    ROLE("ffn_up", FFN_UP,
         "mlp.dense_h_to_4h mlp.c_fc ffn.up_proj mlp.up_proj feed_forward.w3 intermediate.dense "
         "mlp.Wi ffn.lin1 mlp.fc_in mlp.linear_3 mlp.w1 mlp.fc1 mlp.gate_up_proj mlp.fc11 "
         "mlp.gated_layers_v mlp.gated_layers mlp.up_gated_layer residual_mlp.w3 mlp.c_fc_1 "
         "feed_forward.up_proj ffn.w12 block_sparse_moe.up block_sparse_moe.up_proj up_proj "
         "mixer.up_proj mlp.language_mlp.up_proj mlp.mlp_linear"),
    ROLE("ffn_up_exps", FFN_UP,
         "feed_forward.experts.w3 moe.linear_v ffn.experts.mlp.v1 mlp.experts.up_proj "
         "block_sparse_moe.experts.w3 feed_forward.experts.up_proj mlp.experts.mlp.w1 "
         "block_sparse_moe.experts.up moe.up_proj ffn.experts.w3"),
    ROLE("ffn_up_shexp", FFN_UP,
         "mlp.shared_expert.up_proj mlp.shared_experts.up_proj feed_forward.shared_expert.up_proj "
         "feed_forward.down_proj mlp.shared_mlp.up_proj shared_experts.w3 "
         "mixer.shared_experts.up_proj block_sparse_moe.shared_experts.up_proj "
         "share_expert.up_proj ffn.shared_experts.w3"),
    ROLE("ffn_up_chexps", FFN_UP, "mlp.chunk_experts.up_proj"),
    NAMED("ffn", "ffn.act"),
    ROLE("ffn_gate", FFN_GATE,
         "mlp.gate_proj feed_forward.w1 mlp.w2 mlp.c_fc2 mlp.fc12 mlp.gated_layers_w mlp.linear_1 "
         "residual_mlp.w1 mlp.c_fc_0 feed_forward.gate_proj ff_proj mlp.language_mlp.gate_proj "
         "mlp.mlp_gate block_sparse_moe.gate_proj mlp.linear_gate"),
    ROLE("ffn_gate_exps", FFN_GATE,
         "feed_forward.experts.w1 moe.linear ffn.experts.mlp.w1 mlp.experts.gate_proj "
         "block_sparse_moe.experts.w1 feed_forward.experts.gate_proj block_sparse_moe.experts.gate "
         "moe.gate_proj ffn.experts.w1"),
    ROLE("ffn_gate_shexp", FFN_GATE,
         "mlp.shared_expert.gate_proj mlp.shared_experts.gate_proj "
         "feed_forward.shared_expert.gate_proj mlp.shared_mlp.gate_proj shared_experts.w1 "
         "block_sparse_moe.shared_experts.gate_proj share_expert.gate_proj "
         "mlp.shared_experts.linear_gate ffn.shared_experts.w1"),
    ROLE("ffn_gate_chexps", FFN_GATE, "mlp.chunk_experts.gate_proj"),
    ROLE("ffn_gate_up_exps", FFN_GATE_UP, "mlp.experts.gate_up_proj experts.gate_up_proj"),
    NAMED("ffn_latent_down", "mixer.fc1_latent_proj"),
    NAMED("ffn_latent_up", "mixer.fc2_latent_proj"),
    NAMED("ffn_routed_down", "block_sparse_moe.routed_expert_down_proj"),
    NAMED("ffn_routed_up", "block_sparse_moe.routed_expert_up_proj"),
    NAMED("ffn_routed_norm", "block_sparse_moe.routed_expert_norm"),
    ROLE("ffn_down", FFN_DOWN,
         "mlp.dense_4h_to_h mlp.c_proj ffn.down_proj mlp.down_proj feed_forward.w2 output.dense "
         "mlp.Wo ffn.lin2 mlp.fc_out mlp.fc2 mlp.wo ffn.proj_2 residual_mlp.w2 mlp.down_layer "
         "feed_forward.down_proj ffn.w3 block_sparse_moe.down block_sparse_moe.down_proj ff_out "
         "mixer.down_proj mlp.language_mlp.down_proj mlp.mlp_resid"),
    ROLE(
        "ffn_down_exps", FFN_DOWN,
        "feed_forward.experts.w2 moe.linear_1 ffn.experts.mlp.w2 mlp.experts.down_proj "
        "block_sparse_moe.output_linear block_sparse_moe.experts.w2 feed_forward.experts.down_proj "
        "mlp.experts.mlp.w2 block_sparse_moe.experts.down moe.down_proj experts.down_proj "
        "ffn.experts.w2"),
    ROLE("ffn_down_shexp", FFN_DOWN,
         "mlp.shared_expert.down_proj mlp.shared_experts.down_proj "
         "feed_forward.shared_expert.down_proj shared_mlp.output_linear mlp.shared_mlp.down_proj "
         "shared_experts.w2 mixer.shared_experts.down_proj "
         "block_sparse_moe.shared_experts.down_proj share_expert.down_proj "
         "ffn.shared_experts.w2"),
    ROLE("ffn_down_chexps", FFN_DOWN, "mlp.chunk_experts.down_proj"),
    NAMED("attn_q_norm",
          "self_attention.q_layernorm self_attn.q_layernorm self_attn.query_layernorm "
          "attention.query_layernorm self_attn.q_norm attn.q_ln attention.self.layer_norm_q "
          "attn.q_norm mixer.q mixer.q_norm attn.head_gain.head_g"),
    NAMED("attn_k_norm", "self_attention.k_layernorm self_attn.k_layernorm self_attn.key_layernorm "
                         "attention.key_layernorm self_attn.k_norm attn.k_ln "
                         "attention.self.layer_norm_k attn.k_norm mixer.k mixer.k_norm "
                         "self_attn.k_rope_only_layernorm"),
    ROLE("rope_freqs", ROPE, "self_attention.rotary_emb.inv_freq"),
    NAMED("layer_output_norm", "output.LayerNorm output_layer_norm norm2 rms_norm_3 mlp.layernorm "
                               "layer_norm_2 final_layernorm"),
    NAMED("layer_output_scale", "layer_scalar embed_skip.a_g"),
    NAMED("inp_gate", "per_layer_input_gate ple_block.per_layer_input_gate"),
    NAMED("proj", "per_layer_projection ple_block.per_layer_projection"),
    NAMED("post_norm", "post_per_layer_input_norm ple_block.post_per_layer_input_norm"),
    NAMED("altup_correct_coef", "altup.correction_coefs"),
    NAMED("altup_correct_scale", "altup.correct_output_scale"),
    NAMED("altup_predict_coef", "altup.prediction_coefs"),
    NAMED("altup_router", "altup.modality_router"),
    NAMED("altup_router_norm", "altup.router_norm"),
    NAMED("laurel_l", "laurel.linear_left"),
    NAMED("laurel_r", "laurel.linear_right"),
    NAMED("laurel_post_norm", "laurel.post_laurel_norm"),
    ROLE("ssm_in", SSM, "in_proj mixer.in_proj mamba.in_proj linear_attn.in_proj_qkvz"),
    ROLE("ssm_conv1d", SSM, "conv1d mixer.conv1d mamba.conv1d linear_attn.conv1d"),
    ROLE("ssm_x", SSM, "x_proj mixer.x_proj mamba.x_proj mixer.bcdt_proj"),
    ROLE("ssm_dt", SSM,
         "dt_proj mixer.dt_proj mamba.dt_proj linear_attn.dt_proj mixer.dt self_attn.dt_proj"),
    NAMED("ssm_dt_norm", "mixer.dt_norm.weight mamba.dt_layernorm"),
    ROLE("ssm_a", SSM, "A_log mixer.A_log mamba.A_log linear_attn.A_log self_attn.A_log"),
    NAMED("ssm_b_norm", "mamba.b_layernorm mamba.B_layernorm mixer.B_norm.weight"),
    NAMED("ssm_c_norm", "mamba.c_layernorm mamba.C_layernorm mixer.C_norm.weight"),
    ROLE("ssm_d", SSM, "D mixer.D mamba.D"),
    NAMED("ssm_norm", "mamba.norm linear_attn.norm mixer.norm self_attn.o_norm"),
    ROLE("ssm_out", SSM, "out_proj mixer.out_proj mamba.out_proj linear_attn.out_proj"),
    NAMED("ssm_alpha", "linear_attn.in_proj_a"),
    NAMED("ssm_ba", "linear_attn.in_proj_ba"),
    NAMED("ssm_conv1d_q", "self_attn.q_conv1d"),
    NAMED("ssm_conv1d_k", "self_attn.k_conv1d"),
    NAMED("ssm_conv1d_v", "self_attn.v_conv1d"),
    NAMED("ssm_f_a", "self_attn.f_a_proj"),
    NAMED("ssm_f_b", "self_attn.f_b_proj"),
    NAMED("ssm_beta", "linear_attn.in_proj_b self_attn.b_proj"),
    NAMED("ssm_g_a", "self_attn.g_a_proj"),
    NAMED("ssm_g_b", "self_attn.g_b_proj"),
    NAMED("time_mix_w0", "attention.w0"),
    NAMED("time_mix_w1", "attention.time_maa_w1 self_attn.time_maa_w1 attention.w1"),
    NAMED("time_mix_w2", "attention.time_maa_w2 self_attn.time_maa_w2 attention.w2"),
    NAMED("time_mix_a0", "attention.a0"),
    NAMED("time_mix_a1", "attention.a1"),
    NAMED("time_mix_a2", "attention.a2"),
    NAMED("time_mix_v0", "attention.v0"),
    NAMED("time_mix_v1", "attention.v1"),
    NAMED("time_mix_v2", "attention.v2"),
    NAMED("time_mix_g1", "attention.g1"),
    NAMED("time_mix_g2", "attention.g2"),
    NAMED("time_mix_k_k", "attention.k_k"),
    NAMED("time_mix_k_a", "attention.k_a"),
    NAMED("time_mix_r_k", "attention.r_k"),
    NAMED("time_mix_lerp_x", "attention.time_maa_x self_attn.time_maa_x"),
    NAMED("time_mix_lerp_k", "attention.time_maa_k self_attn.time_maa_k"),
    NAMED("time_mix_lerp_v", "attention.time_maa_v self_attn.time_maa_v"),
    NAMED("time_mix_lerp_r", "attention.time_maa_r self_attn.time_maa_r"),
    NAMED("time_mix_lerp_g", "attention.time_maa_g self_attn.time_maa_g"),
    NAMED("time_mix_lerp_w", "attention.time_maa_w self_attn.time_maa_w"),
    NAMED("time_mix_first", "attention.time_faaaa"),
    NAMED("time_mix_decay", "attention.time_decay self_attn.time_decay"),
    NAMED("time_mix_decay_w1", "attention.time_decay_w1 self_attn.time_decay_w1"),
    NAMED("time_mix_decay_w2", "attention.time_decay_w2 self_attn.time_decay_w2"),
    NAMED("time_mix_key", "attention.key self_attn.k_proj attention.k_proj"),
    NAMED("time_mix_value", "attention.value self_attn.v_proj attention.v_proj"),
    NAMED("time_mix_receptance", "attention.receptance self_attn.q_proj attention.r_proj"),
    NAMED("time_mix_gate", "attention.gate self_attn.gate"),
    NAMED("time_mix_ln", "attention.ln_x"),
    NAMED("time_mix_output", "attention.output self_attn.o_proj attention.o_proj"),
    NAMED("channel_mix_lerp_k", "feed_forward.time_maa_k feed_forward.x_k"),
    NAMED("channel_mix_lerp_r", "feed_forward.time_maa_r"),
    NAMED("channel_mix_key", "feed_forward.key"),
    NAMED("channel_mix_receptance", "feed_forward.receptance"),
    NAMED("channel_mix_value", "feed_forward.value"),
    ROLE_EVEN("attn_q_a", ATTN_Q, "self_attn.q_a_proj attention.wq_a attn.wq_a"),
    ROLE_EVEN("attn_q_b", ATTN_Q, "self_attn.q_b_proj attention.wq_b attn.wq_b"),
    ROLE_EVEN("attn_kv_a_mqa", ATTN_QKV, "self_attn.kv_a_proj_with_mqa attention.wkv_a_with_mqa"),
    ROLE("attn_kv_b", ATTN_QKV, "self_attn.kv_b_proj"),
    ROLE_EVEN("attn_k_b", ATTN_K, "self_attn.k_b_proj attention.k_b_proj"),
    ROLE_EVEN("attn_v_b", ATTN_V, "self_attn.v_b_proj attention.v_b_proj"),
    NAMED("attn_q_a_norm", "self_attn.q_a_layernorm attention.q_a_norm attn.q_norm"),
    NAMED("attn_kv_a_norm", "self_attn.kv_a_layernorm attention.kv_a_norm attn.kv_norm attn.norm"),
    NAMED("attn_sub_norm", "self_attn.inner_attn_ln self_attn.attn_sub_norm"),
    NAMED("ffn_sub_norm", "mlp.ffn_layernorm mlp.ffn_sub_norm"),
    NAMED("dec.attn_norm", "layer.0.layer_norm"),
    ROLE("dec.attn_q", ATTN_Q, "layer.0.SelfAttention.q"),
    ROLE("dec.attn_k", ATTN_K, "layer.0.SelfAttention.k"),
    ROLE("dec.attn_v", ATTN_V, "layer.0.SelfAttention.v"),
    ROLE_EVEN("dec.attn_o", ATTN_OUTPUT, "layer.0.SelfAttention.o"),
    NAMED("dec.attn_rel_b", "layer.0.SelfAttention.relative_attention_bias"),
    NAMED("dec.cross_attn_norm", "layer.1.layer_norm"),
    ROLE("dec.cross_attn_q", ATTN_Q, "layer.1.EncDecAttention.q"),
    ROLE("dec.cross_attn_k", ATTN_K, "layer.1.EncDecAttention.k"),
    ROLE("dec.cross_attn_v", ATTN_V, "layer.1.EncDecAttention.v"),
    ROLE_EVEN("dec.cross_attn_o", ATTN_OUTPUT, "layer.1.EncDecAttention.o"),
    NAMED("dec.cross_attn_rel_b", "layer.1.EncDecAttention.relative_attention_bias"),
    NAMED("dec.ffn_norm", "layer.2.layer_norm"),
    ROLE("dec.ffn_gate", FFN_GATE, "layer.2.DenseReluDense.wi_0"),
    ROLE("dec.ffn_up", FFN_UP, "layer.2.DenseReluDense.wi layer.2.DenseReluDense.wi_1"),
    ROLE("dec.ffn_down", FFN_DOWN, "layer.2.DenseReluDense.wo"),
    NAMED("enc.attn_norm", "layer.0.layer_norm"),
    ROLE("enc.attn_q", ATTN_Q, "layer.0.SelfAttention.q"),
    ROLE("enc.attn_k", ATTN_K, "layer.0.SelfAttention.k"),
    ROLE("enc.attn_v", ATTN_V, "layer.0.SelfAttention.v"),
    ROLE_EVEN("enc.attn_o", ATTN_OUTPUT, "layer.0.SelfAttention.o"),
    NAMED("enc.attn_rel_b", "layer.0.SelfAttention.relative_attention_bias"),
    NAMED("enc.ffn_norm", "layer.1.layer_norm"),
    ROLE("enc.ffn_gate", FFN_GATE, "layer.1.DenseReluDense.wi_0"),
    ROLE("enc.ffn_up", FFN_UP, "layer.1.DenseReluDense.wi layer.1.DenseReluDense.wi_1"),
    ROLE("enc.ffn_down", FFN_DOWN, "layer.1.DenseReluDense.wo"),
    NAMED("vis_up", "mlp.vision_mlp.up_proj"),
    NAMED("vis_gate", "mlp.vision_mlp.gate_proj"),
    NAMED("vis_down", "mlp.vision_mlp.down_proj"),
    NAMED("vis_attn_output", "self_attn.vision_expert_dense"),
    NAMED("vis_attn_qkv", "self_attn.vision_expert_query_key_value"),
    NAMED("indexer.k_norm",
          "self_attn.indexer.k_norm self_attn.index_k_norm self_attn.indexer.k_layernorm"),
    NAMED("indexer.q_norm", "self_attn.index_q_norm self_attn.indexer.q_layernorm"),
    NAMED("indexer.q_proj", "self_attn.index_q_proj"),
    NAMED("indexer.k_proj", "self_attn.index_k_proj"),
    NAMED("indexer.proj", "self_attn.indexer.weights_proj attn.indexer.weights_proj"),
    NAMED("indexer.attn_k", "self_attn.indexer.wk"),
    NAMED("indexer.attn_q_b", "self_attn.indexer.wq_b attn.indexer.wq_b"),
    NAMED("indexer_compressor_kv", "attn.indexer.compressor.wkv"),
    NAMED("indexer_compressor_gate", "attn.indexer.compressor.wgate"),
    NAMED("indexer_compressor_norm", "attn.indexer.compressor.norm"),
    NAMED("attn_compressor_kv", "attn.compressor.wkv"),
    NAMED("attn_compressor_gate", "attn.compressor.wgate"),
    NAMED("attn_compressor_norm", "attn.compressor.norm"),
    NAMED("attn_kv", "attn.wkv"),
    NAMED("attn_output_a", "attn.wo_a"),
    NAMED("attn_output_b", "attn.wo_b"),
    NAMED("hc_attn_norm", "attn_hyper_connection.hc_norm"),
    NAMED("hc_attn_down", "attn_hyper_connection.input_mix_weight_down"),
    NAMED("hc_attn_up", "attn_hyper_connection.input_mix_weight_up"),
    NAMED("hc_attn_inject", "attn_hyper_connection.block_inject_weight"),
    NAMED("hc_ffn_norm", "mlp_hyper_connection.hc_norm"),
    NAMED("hc_ffn_down", "mlp_hyper_connection.input_mix_weight_down"),
    NAMED("hc_ffn_up", "mlp_hyper_connection.input_mix_weight_up"),
    NAMED("hc_ffn_inject", "mlp_hyper_connection.block_inject_weight"),
    NAMED("ple_key", "ple.key_proj"),
    NAMED("ple_value", "ple.value_proj"),
    NAMED("ple_norm_key", "ple.norm_key"),
    NAMED("ple_norm_query", "ple.norm_query"),
    NAMED("ple_norm_conv", "ple.norm_conv"),
    NAMED("ple_conv1d", "ple.conv1d"),
    NAMED("convnext.dw", "dwconv"),
    NAMED("convnext.norm", "norm"),
    NAMED("convnext.pw1", "pwconv1"),
    NAMED("convnext.pw2", "pwconv2"),
    NAMED("convnext.gamma", "gamma"),
    NAMED("posnet.conv1", "conv1"),
    NAMED("posnet.conv2", "conv2"),
    NAMED("posnet.norm", "norm"),
    NAMED("posnet.norm1", "norm1"),
    NAMED("posnet.norm2", "norm2"),
    NAMED("posnet.attn_norm", "norm"),
    NAMED("posnet.attn_q", "q"),
    NAMED("posnet.attn_k", "k"),
    NAMED("posnet.attn_v", "v"),
    NAMED("posnet.attn_output", "proj_out"),
    ROLE("shortconv.conv", SSM, "conv.conv"),
    NAMED("shortconv.in_proj", "conv.in_proj"),
    NAMED("shortconv.out_proj", "conv.out_proj"),
    NAMED("nextn.eh_proj", "eh_proj"),
    NAMED("nextn.embed_tokens", "embed_tokens"),
    NAMED("nextn.enorm", "enorm"),
    NAMED("nextn.hnorm", "hnorm"),
    NAMED("nextn.shared_head_head", "shared_head.head"),
    NAMED("nextn.shared_head_norm", "shared_head.norm"),
    ROLE("cross_attn_q", ATTN_Q, ""),
    ROLE("cross_attn_k", ATTN_K, ""),
    ROLE("cross_attn_v", ATTN_V, ""),
    ROLE_EVEN("cross_attn_o", ATTN_OUTPUT, ""),
    ROLE_EVEN("attn_out", ATTN_OUTPUT, ""),
    ROLE_EVEN("attn_o", ATTN_OUTPUT, ""),
    {NULL, NULL, TARE_ROLE_UNKNOWN, false},
};

/* Whether a list of words has one. */
static bool has_word(const char *words, const char *word, size_t n) {
    for (const char *at = words; (at = strstr(at, word)); at += n)
        if ((at == words || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0')) return true;
    return false;
}

const tare_tensor_named *tare_tensor_find_other(const tare_tensor_named *rows, tare_str other) {
    char word[TARE_TENSOR_NAME_MAX + 1];
    const tare_tensor_named *found = NULL;
    if (other.len == 0 || other.len >= sizeof word || memchr(other.ptr, '\0', other.len) ||
        memchr(other.ptr, ' ', other.len))
        return NULL;
    memcpy(word, other.ptr, other.len);
    word[other.len] = '\0';
    for (; rows->name; rows++)
        if (rows->role != TARE_ROLE_UNKNOWN && has_word(rows->others, word, other.len))
            found = rows;
    return found;
}
