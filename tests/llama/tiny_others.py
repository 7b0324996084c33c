# SPDX-License-Identifier: MIT
"""Tiny models of GLM, DeepSeek, state-space models, T5, further mixtures of experts and encoders."""
from tiny_parts import MODELS, base, blocks, dense, ends, experts, model


@model("glm4")
def _():
    c = base("Glm4ForCausalLM", "glm4", head_dim=16, partial_rotary_factor=0.5)
    t = {k: v for k, v in dense(c).items() if "gate_proj" not in k and "up_proj" not in k}
    t.update(blocks("model.layers.", 2, {
        "mlp.gate_up_proj.weight": (192, 64), "post_self_attn_layernorm.weight": (64,),
        "post_mlp_layernorm.weight": (64,)}))
    return c, t


@model("chatglm")
def _():
    c = dict(architectures=["ChatGLMModel"], model_type="chatglm", padded_vocab_size=320,
             hidden_size=64, ffn_hidden_size=96, num_layers=2, num_attention_heads=4,
             multi_query_group_num=2, seq_length=512, layernorm_epsilon=1e-5, vocab_size=320)
    t = blocks("transformer.encoder.layers.", 2, {
        "input_layernorm.weight": (64,), "post_attention_layernorm.weight": (64,),
        "self_attention.query_key_value@": (128, 64), "self_attention.dense.weight": (64, 64),
        "mlp.dense_h_to_4h.weight": (192, 64), "mlp.dense_4h_to_h.weight": (64, 96)})
    return c, ends(t, transformer__embedding__word_embeddings__weight=(320, 64),
                   transformer__encoder__final_layernorm__weight=(64,),
                   transformer__output_layer__weight=(320, 64),
                   transformer__rotary_pos_emb__inv_freq=(8,))


@model("glm4moe")
def _():
    c = base("Glm4MoeForCausalLM", "glm4_moe", head_dim=16, partial_rotary_factor=0.5,
             n_routed_experts=4, num_experts_per_tok=2, moe_intermediate_size=32,
             n_shared_experts=1, first_k_dense_replace=1, routed_scaling_factor=1.0,
             norm_topk_prob=True, num_nextn_predict_layers=1, use_qk_norm=True, attention_bias=True, n_group=1,
             topk_group=1)
    t = dense(c, layers=3, bias=True, qk_norm=True)
    t = experts(t, c, 4, 32, layers=(1, 2))
    for i in (1, 2):
        p = f"model.layers.{i}.mlp."
        t[p + "gate.e_score_correction_bias"] = (4,)
        for x in ("gate_proj", "up_proj"):
            t[p + f"shared_experts.{x}.weight"] = (32, 64)
        t[p + "shared_experts.down_proj.weight"] = (64, 32)
    p = "model.layers.2."
    t.update({p + "eh_proj.weight": (64, 128), p + "enorm.weight": (64,), p + "hnorm.weight": (64,),
              p + "embed_tokens.weight": (320, 64), p + "shared_head.head.weight": (320, 64),
              p + "shared_head.norm.weight": (64,)})
    return c, t


def deepseek2(architecture, model_type, **more):
    c = base(architecture, model_type, num_key_value_heads=4, q_lora_rank=32, kv_lora_rank=32,
             qk_nope_head_dim=16, qk_rope_head_dim=8, v_head_dim=16, n_routed_experts=4,
             n_shared_experts=1, num_experts_per_tok=2, moe_intermediate_size=32,
             first_k_dense_replace=1, routed_scaling_factor=2.5, norm_topk_prob=True, **more)
    t = {k: v for k, v in dense(c).items() if "self_attn" not in k}
    t.update(blocks("model.layers.", 2, {
        "self_attn.q_a_proj.weight": (32, 64), "self_attn.q_a_layernorm.weight": (32,),
        "self_attn.q_b_proj.weight": (96, 32), "self_attn.kv_a_proj_with_mqa.weight": (40, 64),
        "self_attn.kv_a_layernorm.weight": (32,), "self_attn.kv_b_proj.weight": (128, 32),
        "self_attn.o_proj.weight": (64, 64)}))
    t = experts(t, c, 4, 32, layers=(1,))
    p = "model.layers.1.mlp.shared_experts."
    t.update({p + "gate_proj.weight": (32, 64), p + "up_proj.weight": (32, 64),
              p + "down_proj.weight": (64, 32)})
    return c, t


@model("deepseek-v2")
def _():
    return deepseek2("DeepseekV2ForCausalLM", "deepseek_v2",
                     rope_scaling=dict(type="yarn", factor=40, mscale=0.707, mscale_all_dim=0.707,
                                       beta_fast=32, beta_slow=1,
                                       original_max_position_embeddings=128))


@model("deepseek-v3")
def _():
    c, t = deepseek2("DeepseekV3ForCausalLM", "deepseek_v3", n_group=2, topk_group=1,
                     scoring_func="sigmoid", topk_method="noaux_tc", num_nextn_predict_layers=1)
    t["model.layers.1.mlp.gate.e_score_correction_bias"] = (4,)
    t["model.layers.2.eh_proj.weight"] = (64, 128)
    return c, t


@model("deepseek")
def _():
    c = base("DeepseekForCausalLM", "deepseek", num_key_value_heads=4, n_routed_experts=4,
             n_shared_experts=1, num_experts_per_tok=2, moe_intermediate_size=32,
             first_k_dense_replace=1)
    t = experts(dense(c), c, 4, 32, layers=(1,))
    p = "model.layers.1.mlp.shared_experts."
    t.update({p + "gate_proj.weight": (32, 64), p + "up_proj.weight": (32, 64),
              p + "down_proj.weight": (64, 32)})
    return c, t


@model("mamba", dtype="F32")
def _():
    c = dict(architectures=["MambaForCausalLM"], model_type="mamba", vocab_size=320, hidden_size=64,
             intermediate_size=128, num_hidden_layers=2, state_size=16, conv_kernel=4,
             time_step_rank=4, layer_norm_epsilon=1e-5)
    t = blocks("backbone.layers.", 2, {
        "norm.weight": (64,), "mixer.in_proj.weight": (256, 64), "mixer.conv1d.weight": (128, 1, 4),
        "mixer.conv1d.bias": (128,), "mixer.x_proj.weight": (36, 128), "mixer.dt_proj@": (128, 4),
        "mixer.A_log": (128, 16), "mixer.D": (128,), "mixer.out_proj.weight": (64, 128)})
    return c, ends(t, backbone__embeddings__weight=(320, 64), backbone__norm_f__weight=(64,))


@model("mamba2")
def _():
    c = dict(architectures=["Mamba2ForCausalLM"], model_type="mamba2", vocab_size=320,
             hidden_size=64, num_hidden_layers=2, state_size=16, conv_kernel=4, head_dim=32,
             num_heads=4, expand=2, n_groups=2, layer_norm_epsilon=1e-5)
    t = blocks("backbone.layers.", 2, {
        "norm.weight": (64,), "mixer.in_proj.weight": (324, 64), "mixer.conv1d.weight": (192, 1, 4),
        "mixer.conv1d.bias": (192,), "mixer.dt_bias": (4,), "mixer.A_log": (4,), "mixer.D": (4,),
        "mixer.norm.weight": (128,), "mixer.out_proj.weight": (64, 128)})
    return c, ends(t, backbone__embeddings__weight=(320, 64), backbone__norm_f__weight=(64,))


def t5(name, model_type, decoder):
    c = dict(architectures=[name], model_type=model_type, vocab_size=320, d_model=64, d_ff=96,
             num_layers=2, num_decoder_layers=2, num_heads=4, d_kv=16, n_positions=128,
             layer_norm_epsilon=1e-6, relative_attention_num_buckets=32, decoder_start_token_id=0,
             feed_forward_proj="gated-gelu", tie_word_embeddings=False)
    t = {"shared.weight": (320, 64)}
    for side in ("encoder", "decoder") if decoder else ("encoder",):
        last = 2 if side == "decoder" else 1
        shapes = {f"layer.0.SelfAttention.{x}.weight": (64, 64) for x in "qkvo"}
        if last == 2:
            shapes.update({f"layer.1.EncDecAttention.{x}.weight": (64, 64) for x in "qkvo"})
        shapes.update({f"layer.{i}.layer_norm.weight": (64,) for i in range(last + 1)})
        p = f"layer.{last}.DenseReluDense."
        shapes.update({p + "wi_0.weight": (96, 64), p + "wi_1.weight": (96, 64),
                       p + "wo.weight": (64, 96)})
        t.update(blocks(side + ".block.", 2, shapes))
        t[side + ".block.0.layer.0.SelfAttention.relative_attention_bias.weight"] = (32, 4)
        t[side + ".final_layer_norm.weight"] = (64,)
        t[side + ".embed_tokens.weight"] = (320, 64)
    if decoder:
        t["lm_head.weight"] = (320, 64)
    return c, t


@model("t5")
def _():
    return t5("T5ForConditionalGeneration", "t5", True)


@model("t5encoder")
def _():
    return t5("T5EncoderModel", "t5", False)


@model("dots1")
def _():
    c = base("Dots1ForCausalLM", "dots1", head_dim=16, num_key_value_heads=4, n_routed_experts=4, num_experts_per_tok=2, scoring_func="sigmoid",
             moe_intermediate_size=32, n_shared_experts=1, first_k_dense_replace=1,
             routed_scaling_factor=2.5, norm_topk_prob=True, n_group=1, topk_group=1)
    t = experts(dense(c, qk_norm=True), c, 4, 32, layers=(1,))
    p = "model.layers.1.mlp."
    t[p + "gate.e_score_correction_bias"] = (4,)
    t.update({p + "shared_experts.gate_proj.weight": (32, 64),
              p + "shared_experts.up_proj.weight": (32, 64),
              p + "shared_experts.down_proj.weight": (64, 32)})
    return c, t


@model("bailingmoe")
def _():
    c = base("BailingMoeForCausalLM", "bailing_moe", num_experts=4, num_experts_per_tok=2,
             moe_intermediate_size=32, num_shared_experts=1, first_k_dense_replace=0,
             norm_topk_prob=True)
    t = {k: v for k, v in dense(c).items() if "_proj" not in k}
    t = experts(t, c, 4, 32)
    t.update(blocks("model.layers.", 2, {
        "attention.query_key_value.weight": (128, 64), "attention.dense.weight": (64, 64),
        "mlp.shared_experts.gate_proj.weight": (32, 64), "mlp.shared_experts.up_proj.weight": (32, 64),
        "mlp.shared_experts.down_proj.weight": (64, 32)}))
    t["model.word_embeddings.weight"] = t.pop("model.embed_tokens.weight")
    return c, t


@model("jamba")
def _():
    c = base("JambaForCausalLM", "jamba", rms_norm_eps=1e-6, num_hidden_layers=4, num_experts=4,
             num_experts_per_tok=2, attn_layer_period=4, attn_layer_offset=2, expert_layer_period=2,
             expert_layer_offset=1, mamba_d_conv=4, mamba_d_state=16, mamba_expand=2,
             mamba_dt_rank=4)
    t = {"model.embed_tokens.weight": (320, 64), "model.final_layernorm.weight": (64,),
         "lm_head.weight": (320, 64)}
    for i in range(4):
        p = f"model.layers.{i}."
        t[p + "input_layernorm.weight"] = t[p + "pre_ff_layernorm.weight"] = (64,)
        if i % 2:
            t[p + "feed_forward.router.weight"] = (4, 64)
            for e in range(4):
                q = p + f"feed_forward.experts.{e}."
                t.update({q + "gate_proj.weight": (96, 64), q + "up_proj.weight": (96, 64),
                          q + "down_proj.weight": (64, 96)})
        else:
            q = p + "feed_forward."
            t.update({q + "gate_proj.weight": (96, 64), q + "up_proj.weight": (96, 64),
                      q + "down_proj.weight": (64, 96)})
        if i == 2:
            t.update({p + "self_attn.q_proj.weight": (64, 64), p + "self_attn.k_proj.weight": (32, 64),
                      p + "self_attn.v_proj.weight": (32, 64), p + "self_attn.o_proj.weight": (64, 64)})
        else:
            t.update({p + "mamba." + k: v for k, v in {
                "in_proj.weight": (256, 64), "conv1d.weight": (128, 1, 4), "conv1d.bias": (128,),
                "x_proj.weight": (36, 128), "dt_proj.weight": (128, 4), "dt_proj.bias": (128,),
                "A_log": (128, 16), "D": (128,), "out_proj.weight": (64, 128),
                "dt_layernorm.weight": (4,), "b_layernorm.weight": (16,),
                "c_layernorm.weight": (16,)}.items()})
    return c, t


@model("minimax-m2")
def _():
    c = base("MiniMaxM2ForCausalLM", "minimax_m2", head_dim=32, num_local_experts=4,
             num_experts_per_tok=2, rotary_dim=16, scoring_func="sigmoid")
    t = experts(dense(c), c, 4, 96, ("w1", "w3", "w2"), "block_sparse_moe")
    for i in range(2):
        p = f"model.layers.{i}."
        t[p + "block_sparse_moe.e_score_correction_bias"] = (4,)
        t[p + "self_attn.q_norm.weight"], t[p + "self_attn.k_norm.weight"] = (128,), (64,)
    return c, t


@model("smallthinker")
def _():
    c = base("SmallThinkerForCausalLM", "smallthinker", intermediate_size=None,
             moe_num_primary_experts=4, moe_num_active_primary_experts=2, moe_ffn_hidden_size=32,
             head_dim=16, sliding_window_layout=[0, 1], sliding_window_size=64)
    t = dense({**c, "intermediate_size": 32})
    return c, experts(t, c, 4, 32, ("gate", "up", "down"), "block_sparse_moe", "primary_router")


@model("roberta", dtype="F32")
def _():
    c, t = MODELS["bert"][0]()
    c.update(architectures=["RobertaModel"], model_type="roberta", pad_token_id=1,
             max_position_embeddings=514, type_vocab_size=1)
    t = {"roberta." + k: v for k, v in t.items()}
    t["roberta.embeddings.position_embeddings.weight"] = (514, 64)
    t["roberta.embeddings.token_type_embeddings.weight"] = (1, 64)
    return c, t


@model("distilbert", dtype="F32")
def _():
    c = dict(architectures=["DistilBertModel"], model_type="distilbert", vocab_size=320, dim=64,
             hidden_dim=96, n_layers=2, n_heads=4, max_position_embeddings=128)
    t = blocks("transformer.layer.", 2, {
        "attention.q_lin@": (64, 64), "attention.k_lin@": (64, 64), "attention.v_lin@": (64, 64),
        "attention.out_lin@": (64, 64), "sa_layer_norm@": (64,), "ffn.lin1@": (96, 64),
        "ffn.lin2@": (64, 96), "output_layer_norm@": (64,)})
    return c, ends(t, embeddings__word_embeddings__weight=(320, 64),
                   embeddings__position_embeddings__weight=(128, 64),
                   embeddings__LayerNorm__weight=(64,), embeddings__LayerNorm__bias=(64,))
