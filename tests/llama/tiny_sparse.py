# SPDX-License-Identifier: MIT
"""Tiny models of further mixtures of experts, and of those that diffuse texts."""
from tiny_parts import base, blocks, dense, ends, experts, model


def shared(t, layers, ff=32, name="shared_experts", block="mlp"):
    for i in layers:
        p = f"model.layers.{i}.{block}.{name}."
        t.update({p + "gate_proj.weight": (ff, 64), p + "up_proj.weight": (ff, 64),
                  p + "down_proj.weight": (64, ff)})
    return t


@model("hunyuan-moe")
def _():
    c = base("HunYuanMoEV1ForCausalLM", "hunyuan_v1_moe", num_experts=4, moe_topk=[2, 2],
             moe_intermediate_size=[96, 96], num_shared_expert=[1, 1])
    t = shared(experts(dense(c), c, 4, 96, router="gate.wg"), range(2), 96, "shared_mlp")
    for i in range(2):
        p = f"model.layers.{i}.self_attn."
        t[p + "query_layernorm.weight"] = t[p + "key_layernorm.weight"] = (16,)
    return c, t


@model("ernie4_5-moe")
def _():
    c = base("Ernie4_5_MoeForCausalLM", "ernie4_5_moe", intermediate_size=128, moe_num_experts=4, moe_k=2, moe_layer_interval=1,
             moe_layer_start_index=1, moe_intermediate_size=32, moe_num_shared_experts=2)
    t = shared(experts(dense(c), c, 4, 32, layers=(1,)), (1,), 64)
    t["model.layers.1.mlp.moe_statics.e_score_correction_bias"] = (1, 4)
    t["model.mtp_linear_proj.0.weight"] = (64, 128)
    return c, t


@model("afmoe")
def _():
    c = base("AfmoeForCausalLM", "afmoe", head_dim=16, num_experts=4, num_experts_per_tok=2,
             moe_intermediate_size=32, num_shared_experts=1, num_dense_layers=1, route_norm=True,
             route_scale=2.5, score_func="sigmoid", sliding_window=128)
    t = shared(experts(dense(c, qk_norm=True), c, 4, 32, router="router.gate", layers=(1,)), (1,))
    t["model.layers.1.mlp.expert_bias"] = (4,)
    t.update(blocks("model.layers.", 2, {
        "self_attn.gate_proj.weight": (64, 64), "pre_mlp_layernorm.weight": (64,),
        "post_mlp_layernorm.weight": (64,)}))
    return c, t


@model("grovemoe")
def _():
    c = base("GroveMoeForCausalLM", "grove_moe", head_dim=32, num_experts=4, num_experts_per_tok=2,
             moe_intermediate_size=32)
    t = experts(dense(c, qk_norm=True), c, 4, 32)
    for i in range(2):
        t[f"model.layers.{i}.mlp.gate.expert_bias"] = (4,)
        for e in range(2):
            p = f"model.layers.{i}.mlp.chunk_experts.{e}."
            t.update({p + "gate_proj.weight": (32, 64), p + "up_proj.weight": (32, 64),
                      p + "down_proj.weight": (64, 32)})
    return c, t


@model("mellum")
def _():
    c = base("MellumForCausalLM", "mellum", head_dim=16, num_experts=4, num_experts_per_tok=2,
             moe_intermediate_size=32, sliding_window=128, use_sliding_window=True, rope_theta=None,
             rope_parameters=dict(full_attention=dict(rope_type="default", rope_theta=500000.0),
                                  sliding_attention=dict(rope_type="default", rope_theta=10000.0)),
             layer_types=["sliding_attention", "full_attention"])
    return c, experts(dense(c, qk_norm=True), c, 4, 32)


@model("cohere2moe")
def _():
    c = base("Cohere2MoeForCausalLM", "cohere2_moe", rms_norm_eps=None, layer_norm_eps=1e-5, head_dim=16,
             logit_scale=0.25, sliding_window=128, layer_types=["sliding_attention", "full_attention"],
             num_experts=4, num_experts_per_tok=2, intermediate_size=32, prefix_dense_intermediate_size=96,
             first_k_dense_replace=1, num_shared_experts=1, norm_topk_prob=True)
    t = dense({**c, "intermediate_size": 96}, head=False)
    t = shared(experts(t, c, 4, 32, layers=(1,)), (1,))
    return c, {k: v for k, v in t.items() if "post_attention" not in k}


@model("exaone-moe")
def _():
    c = base("ExaoneMoEForCausalLM", "exaone_moe", head_dim=16, sliding_window=128,
             layer_types=["sliding_attention", "full_attention"], num_experts=4, num_experts_per_tok=2,
             moe_intermediate_size=32, num_shared_experts=1, routed_scaling_factor=2.5, norm_topk_prob=True,
             first_k_dense_replace=1, num_nextn_predict_layers=1, n_group=1, topk_group=1,
             scoring_func="sigmoid")
    t = shared(experts(dense(c, qk_norm=True), c, 4, 32, layers=(1,)), (1,))
    t["model.layers.1.mlp.gate.e_score_correction_bias"] = (4,)
    last = {k.replace("model.layers.0.", "mtp.layers.0."): v for k, v in t.items() if "layers.0." in k}
    t.update(last)
    t.update({"mtp.fc.weight": (64, 128), "mtp.norm.weight": (64,), "mtp.pre_fc_norm_embedding.weight": (64,),
              "mtp.pre_fc_norm_hidden.weight": (64,)})
    return c, t


@model("mimo2")
def _():
    c = base("MiMoV2FlashForCausalLM", "mimo_v2_flash", rms_norm_eps=None, head_dim=24, v_head_dim=16,
             num_attention_heads=4, num_key_value_heads=1, swa_num_key_value_heads=2, swa_head_dim=24,
             swa_v_head_dim=16, swa_num_attention_heads=4, topk_method="noaux_tc", partial_rotary_factor=0.5,
             hybrid_layer_pattern=[0, 1], sliding_window=128, n_routed_experts=4, num_experts_per_tok=2,
             moe_intermediate_size=32, layernorm_epsilon=1e-5, attention_value_scale=0.707,
             scoring_func="sigmoid", swa_rope_theta=5000)
    t = ends({}, model__embed_tokens__weight=(320, 64), model__norm__weight=(64,), lm_head__weight=(320, 64))

    def layer(p, kv, moe):
        t.update({p + "input_layernorm.weight": (64,), p + "self_attn.q_proj.weight": (96, 64),
                  p + "self_attn.k_proj.weight": (kv * 24, 64), p + "self_attn.v_proj.weight": (kv * 16, 64),
                  p + "self_attn.o_proj.weight": (64, 64)})
        t[p + ("pre_mlp_layernorm" if "mtp" in p else "post_attention_layernorm") + ".weight"] = (64,)
        if kv == 2:
            t[p + "self_attn.attention_sink_bias"] = (4,)
        if not moe:
            t.update({p + "mlp.gate_proj.weight": (96, 64), p + "mlp.up_proj.weight": (96, 64),
                      p + "mlp.down_proj.weight": (64, 96)})
            return
        t.update({p + "mlp.gate.weight": (4, 64), p + "mlp.gate.e_score_correction_bias": (4,)})
        for e in range(4):
            q = p + f"mlp.experts.{e}."
            t.update({q + "gate_proj.weight": (32, 64), q + "up_proj.weight": (32, 64),
                      q + "down_proj.weight": (64, 32)})

    layer("model.layers.0.", 1, False)
    layer("model.layers.1.", 2, True)
    for i in range(3):
        p = f"model.mtp.layers.{i}."
        layer(p, 2, False)
        t.update({p + "eh_proj.weight": (64, 128), p + "enorm.weight": (64,), p + "hnorm.weight": (64,),
                  p + "final_layernorm.weight": (64,)})
    return c, t


@model("step35")
def _():
    c = base("Step3p5ForCausalLM", "step3p5", head_dim=16, num_key_value_heads=None, num_attention_groups=2,
             attention_other_setting=dict(num_attention_heads=8, num_attention_groups=2),
             rope_theta=[5000000.0, 10000.0], layer_types=["full_attention", "sliding_attention"],
             partial_rotary_factors=[0.5, 1.0], sliding_window=128, moe_num_experts=4, moe_top_k=2,
             moe_intermediate_size=32, share_expert_dim=32, moe_router_scaling_factor=3.0,
             norm_expert_weight=True, moe_layers_enum="1", moe_every_n_layer=1,
             swiglu_limits=[0.0, 7.0], swiglu_limits_shared=[0.0, 16.0], moe_router_activation="sigmoid")
    t = ends({}, model__embed_tokens__weight=(320, 64), model__norm__weight=(64,), lm_head__weight=(320, 64))
    for i, heads in enumerate((4, 8)):
        p = f"model.layers.{i}."
        a = p + "self_attn."
        t.update({p + "input_layernorm.weight": (64,), p + "post_attention_layernorm.weight": (64,),
                  a + "q_proj.weight": (heads * 16, 64), a + "k_proj.weight": (32, 64),
                  a + "v_proj.weight": (32, 64), a + "o_proj.weight": (64, heads * 16),
                  a + "g_proj.weight": (heads, 64), a + "q_norm.weight": (16,), a + "k_norm.weight": (16,)})
    p = "model.layers.0.mlp."
    t.update({p + "gate_proj.weight": (96, 64), p + "up_proj.weight": (96, 64), p + "down_proj.weight": (64, 96)})
    p = "model.layers.1."
    t.update({p + "moe.gate.weight": (4, 64), p + "moe.router_bias": (4,), p + "moe.gate_proj.weight": (4, 32, 64),
              p + "moe.up_proj.weight": (4, 32, 64), p + "moe.down_proj.weight": (4, 64, 32),
              p + "share_expert.gate_proj.weight": (32, 64), p + "share_expert.up_proj.weight": (32, 64),
              p + "share_expert.down_proj.weight": (64, 32)})
    return c, t


@model("lfm2moe")
def _():
    c = base("Lfm2MoeForCausalLM", "lfm2_moe", rms_norm_eps=None, norm_eps=1e-5, num_dense_layers=1,
             num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32, conv_L_cache=3,
             layer_types=["conv", "full_attention"], norm_topk_prob=True, routed_scaling_factor=1.0)
    t = ends({}, model__embed_tokens__weight=(320, 64), model__embedding_norm__weight=(64,))
    for i in range(2):
        p = f"model.layers.{i}."
        t.update({p + "operator_norm.weight": (64,), p + "ffn_norm.weight": (64,)})
        if i == 0:
            t.update({p + "conv.conv.weight": (64, 1, 3), p + "conv.in_proj.weight": (192, 64),
                      p + "conv.out_proj.weight": (64, 64), p + "feed_forward.w1.weight": (96, 64),
                      p + "feed_forward.w2.weight": (64, 96), p + "feed_forward.w3.weight": (96, 64)})
            continue
        t.update({p + "self_attn.q_proj.weight": (64, 64), p + "self_attn.k_proj.weight": (32, 64),
                  p + "self_attn.v_proj.weight": (32, 64), p + "self_attn.out_proj.weight": (64, 64),
                  p + "self_attn.q_layernorm.weight": (16,), p + "self_attn.k_layernorm.weight": (16,),
                  p + "feed_forward.gate.weight": (4, 64), p + "feed_forward.expert_bias": (4,)})
        for e in range(4):
            q = p + f"feed_forward.experts.{e}."
            t.update({q + "w1.weight": (32, 64), q + "w2.weight": (64, 32), q + "w3.weight": (32, 64)})
    return c, t


@model("dream")
def _():
    c = base("DreamModel", "Dream", mask_token_id=300)
    return c, dense(c, bias=True)


@model("llada")
def _():
    c = dict(architectures=["LLaDAModelLM"], model_type="llada", vocab_size=320, d_model=64, n_layers=2,
             n_heads=4, n_kv_heads=4, mlp_hidden_size=96, max_sequence_length=512, rope_theta=10000.0,
             rms_norm_eps=1e-5)
    t = blocks("model.transformer.blocks.", 2, {
        "attn_norm.weight": (64,), "ff_norm.weight": (64,), "q_proj.weight": (64, 64), "k_proj.weight": (64, 64),
        "v_proj.weight": (64, 64), "attn_out.weight": (64, 64), "ff_proj.weight": (96, 64),
        "up_proj.weight": (96, 64), "ff_out.weight": (64, 96)})
    return c, ends(t, model__transformer__wte__weight=(320, 64), model__transformer__ln_f__weight=(64,),
                   model__transformer__ff_out__weight=(320, 64))


@model("llada-moe")
def _():
    c = base("LLaDAMoEModelLM", "llada_moe", num_experts=4, num_experts_per_tok=2, expert_intermediate_size=32)
    return c, experts(dense(c, qk_norm=True), c, 4, 32)


@model("rnd1")
def _():
    c = base("RND1", "rnd1", head_dim=32, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32,
             mask_token_id=300)
    return c, experts(dense(c, qk_norm=True), c, 4, 32)
