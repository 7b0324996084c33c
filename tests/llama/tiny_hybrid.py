# SPDX-License-Identifier: MIT
"""Tiny models with state-space layers or linear attention beside attention, and RWKV."""
from tiny_parts import base, blocks, dense, ends, model


def mamba2(p, inner=128, groups=2, state=16, heads=4):
    """The mixer of a Mamba 2 layer."""
    rows = inner + 2 * groups * state
    return {p + "in_proj.weight": (inner + rows + heads, 64), p + "conv1d.weight": (rows, 1, 4),
            p + "conv1d.bias": (rows,), p + "dt_bias": (heads,), p + "A_log": (heads,), p + "D": (heads,),
            p + "norm.weight": (inner,), p + "out_proj.weight": (64, inner)}


def attention(p, heads=4, kv=2, d=16):
    return {p + "q_proj.weight": (heads * d, 64), p + "k_proj.weight": (kv * d, 64),
            p + "v_proj.weight": (kv * d, 64), p + "o_proj.weight": (64, heads * d)}


def outside(**more):
    return ends({}, **{"model__embed_tokens__weight": (320, 64), "model__norm__weight": (64,), **more})


def granite(types, **more):
    c = base("GraniteMoeHybridForCausalLM", "granitemoehybrid", layer_types=types, mamba_d_conv=4,
             mamba_d_state=16, mamba_n_groups=2, mamba_expand=2, mamba_n_heads=4, mamba_d_head=32,
             attention_multiplier=0.25, embedding_multiplier=12.0, residual_multiplier=0.22,
             logits_scaling=8.0, shared_intermediate_size=96, num_hidden_layers=len(types), **more)
    t = outside()
    for i, kind in enumerate(types):
        p = f"model.layers.{i}."
        t.update({p + "input_layernorm.weight": (64,), p + "post_attention_layernorm.weight": (64,),
                  p + "shared_mlp.input_linear.weight": (192, 64),
                  p + "shared_mlp.output_linear.weight": (64, 96)})
        t.update(mamba2(p + "mamba.") if kind == "mamba" else attention(p + "self_attn."))
        if more.get("num_local_experts"):
            t.update({p + "block_sparse_moe.input_linear.weight": (4, 192, 64),
                      p + "block_sparse_moe.output_linear.weight": (4, 64, 96),
                      p + "block_sparse_moe.router.layer.weight": (4, 64)})
    return c, t


@model("granitehybrid")
def _():
    return granite(["mamba", "attention", "mamba"], num_local_experts=4, num_experts_per_tok=2)


@model("granitehybrid-dense")
def _():
    return granite(["mamba", "attention"], num_local_experts=0, num_experts_per_tok=0)


@model("granitehybrid-attention")
def _():
    """No state-space layer at all: the architecture is Granite."""
    return granite(["attention", "attention"], num_local_experts=0, num_experts_per_tok=0)


@model("falcon-h1", seed=2)
def _():
    c = base("FalconH1ForCausalLM", "falcon_h1", head_dim=16, mamba_d_ssm=128, mamba_d_state=16,
             mamba_n_groups=2, mamba_d_conv=4, mamba_expand=2, mamba_n_heads=4, mamba_d_head=32,
             attention_in_multiplier=0.75, attention_out_multiplier=0.9375, key_multiplier=0.390625,
             ssm_in_multiplier=1.25, ssm_out_multiplier=0.23570226039551587,
             ssm_multipliers=[0.3535533905932738, 0.25, 0.1767766952966369, 0.5, 0.35],
             mlp_multipliers=[0.8838834764831845, 0.5859375], lm_head_multiplier=0.0390625,
             embedding_multiplier=5.656854249492381)
    t = outside(lm_head__weight=(320, 64), model__final_layernorm__weight=(64,))
    t.pop("model.norm.weight")
    for i in range(2):
        p = f"model.layers.{i}."
        t.update({p + "input_layernorm.weight": (64,), p + "pre_ff_layernorm.weight": (64,),
                  p + "feed_forward.gate_proj.weight": (96, 64), p + "feed_forward.up_proj.weight": (96, 64),
                  p + "feed_forward.down_proj.weight": (64, 96)})
        t.update({**mamba2(p + "mamba."), **attention(p + "self_attn.")})
    return c, t


def nemotron_h(pattern, **more):
    c = base("NemotronHForCausalLM", "nemotron_h", hybrid_override_pattern=pattern,
             num_hidden_layers=len(pattern), head_dim=16, mamba_num_heads=4, mamba_head_dim=32,
             n_groups=2, ssm_state_size=16, conv_kernel=4, expand=2, rope_theta=None,
             layer_norm_epsilon=1e-5, **more)
    t = ends({}, backbone__embeddings__weight=(320, 64), backbone__norm_f__weight=(64,),
             lm_head__weight=(320, 64))
    for i, kind in enumerate(pattern):
        p = f"backbone.layers.{i}."
        t[p + "norm.weight"] = (64,)
        if kind == "M":
            t.update(mamba2(p + "mixer."))
        elif kind == "*":
            t.update(attention(p + "mixer."))
        elif kind == "-":
            t.update({p + "mixer.up_proj.weight": (96, 64), p + "mixer.down_proj.weight": (64, 96)})
        else:
            t.update({p + "mixer.gate.weight": (4, 64), p + "mixer.gate.e_score_correction_bias": (4,),
                      p + "mixer.shared_experts.up_proj.weight": (64, 64),
                      p + "mixer.shared_experts.down_proj.weight": (64, 64)})
            for e in range(4):
                t.update({p + f"mixer.experts.{e}.up_proj.weight": (32, 64),
                          p + f"mixer.experts.{e}.down_proj.weight": (64, 32)})
    return c, t


@model("nemotron-h")
def _():
    return nemotron_h("M-*-")


@model("nemotron-h-moe")
def _():
    return nemotron_h("ME*E", n_routed_experts=4, num_experts_per_tok=2, moe_intermediate_size=32,
                      moe_shared_expert_intermediate_size=64, n_shared_experts=1, norm_topk_prob=True,
                      routed_scaling_factor=2.5, n_group=1, topk_group=1)


def linear(architecture, model_type, moe=False, kh=2, vh=4, split=True, **more):
    """Qwen's: three layers with linear attention, one with gated attention."""
    c = base(architecture, model_type, num_hidden_layers=4, head_dim=16, linear_num_key_heads=kh,
             linear_num_value_heads=vh, linear_key_head_dim=16, linear_value_head_dim=16,
             linear_conv_kernel_dim=4, partial_rotary_factor=0.25, full_attention_interval=4,
             **({"rope_parameters": dict(mrope_section=[1, 1, 0], mrope_interleaved=True)} if split and kh != vh else {}),
             layer_types=["linear_attention"] * 3 + ["full_attention"], **more)
    qkv, z = 2 * kh * 16 + vh * 16, vh * 16
    t = outside(lm_head__weight=(320, 64))
    for i in range(4):
        p = f"model.layers.{i}."
        t.update({p + "input_layernorm.weight": (64,), p + "post_attention_layernorm.weight": (64,)})
        a = p + "linear_attn."
        if i == 3:
            t.update({**attention(p + "self_attn."), p + "self_attn.q_proj.weight": (128, 64),
                      p + "self_attn.q_norm.weight": (16,), p + "self_attn.k_norm.weight": (16,)})
        else:
            t.update({a + "A_log": (vh,), a + "dt_bias": (vh,), a + "conv1d.weight": (qkv, 1, 4),
                      a + "norm.weight": (16,), a + "out_proj.weight": (64, z)})
            t.update({a + "in_proj_qkv.weight": (qkv, 64), a + "in_proj_z.weight": (z, 64),
                      a + "in_proj_a.weight": (vh, 64), a + "in_proj_b.weight": (vh, 64)} if split else
                     {a + "in_proj_qkvz.weight": (qkv + z, 64), a + "in_proj_ba.weight": (2 * vh, 64)})
        t.update(feed_forward(p + "mlp.", moe))
    return c, t


def feed_forward(p, moe):
    sizes = (("gate_proj", (96, 64)), ("up_proj", (96, 64)), ("down_proj", (64, 96)))
    if not moe:
        return {p + x + ".weight": s for x, s in sizes}
    t = {p + "shared_expert." + x + ".weight": s for x, s in sizes}
    t.update({p + "gate.weight": (4, 64), p + "shared_expert_gate.weight": (1, 64)})
    if moe == "fused":
        t.update({p + "experts.gate_up_proj": (4, 64, 64), p + "experts.down_proj": (4, 64, 32)})
        return t
    for e in range(4):
        t.update({p + f"experts.{e}.gate_proj.weight": (32, 64), p + f"experts.{e}.up_proj.weight": (32, 64),
                  p + f"experts.{e}.down_proj.weight": (64, 32)})
    return t


MOE = dict(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32, shared_expert_intermediate_size=96)


@model("qwen3next")
def _():
    return linear("Qwen3NextForCausalLM", "qwen3_next", moe="single", split=False, **MOE)


def with_nextn(c, t, moe=False):
    p = "mtp."
    t.update({p + "fc.weight": (64, 128), p + "norm.weight": (64,), p + "pre_fc_norm_embedding.weight": (64,),
              p + "pre_fc_norm_hidden.weight": (64,)})
    p = "mtp.layers.0."
    t.update({**attention(p + "self_attn."), p + "self_attn.q_proj.weight": (128, 64),
              p + "self_attn.q_norm.weight": (16,), p + "self_attn.k_norm.weight": (16,),
              p + "input_layernorm.weight": (64,), p + "post_attention_layernorm.weight": (64,)})
    t.update(feed_forward(p + "mlp.", moe))
    c["mtp_num_hidden_layers"] = 1
    return c, t


@model("qwen35")
def _():
    return with_nextn(*linear("Qwen3_5ForCausalLM", "qwen3_5_text"))


@model("qwen35-even")
def _():
    """As many key heads as value heads: nothing is moved."""
    return with_nextn(*linear("Qwen3_5ForCausalLM", "qwen3_5_text", kh=4, vh=4))


@model("qwen35moe", seed=2)
def _():
    return with_nextn(*linear("Qwen3_5MoeForCausalLM", "qwen3_5_moe_text", moe="fused", **MOE), moe="fused")


@model("kimi-linear", seed=2)
def _():
    c = base("KimiLinearForCausalLM", "kimi_linear", num_hidden_layers=3, head_dim=16, topk_group=1, num_key_value_heads=4,
             kv_lora_rank=32, q_lora_rank=None, qk_nope_head_dim=16, qk_rope_head_dim=8, v_head_dim=16,
             num_experts=4, num_experts_per_token=2, moe_intermediate_size=32, num_shared_experts=1,
             first_k_dense_replace=1, routed_scaling_factor=2.446, moe_router_activation_func="sigmoid",
             linear_attn_config=dict(full_attn_layers=[2], kda_layers=[1, 3], head_dim=16, num_heads=4,
                                     short_conv_kernel_size=4))
    t = outside(lm_head__weight=(320, 64))
    for i in range(3):
        p = f"model.layers.{i}."
        a = p + "self_attn."
        t.update({p + "input_layernorm.weight": (64,), p + "post_attention_layernorm.weight": (64,),
                  a + "o_proj.weight": (64, 64)})
        if i == 1:
            t.update({a + "q_proj.weight": (96, 64), a + "kv_a_proj_with_mqa.weight": (40, 64),
                      a + "kv_a_layernorm.weight": (32,), a + "kv_b_proj.weight": (128, 32)})
        else:
            t.update({a + x + "_proj.weight": (64, 64) for x in "qkv"})
            t.update({a + x + "_conv1d.weight": (64, 1, 4) for x in "qkv"})
            t.update({a + "A_log": (1, 1, 4, 1), a + "dt_bias": (64,), a + "b_proj.weight": (4, 64),
                      a + "f_a_proj.weight": (16, 64), a + "f_b_proj.weight": (64, 16),
                      a + "g_a_proj.weight": (16, 64), a + "g_b_proj.weight": (64, 16),
                      a + "o_norm.weight": (16,)})
        if i == 0:
            t.update(feed_forward(p + "mlp.", False))
            continue
        m = p + "block_sparse_moe."
        t.update({m + "gate.weight": (4, 64), m + "gate.e_score_correction_bias": (4,),
                  m + "shared_experts.gate_proj.weight": (32, 64),
                  m + "shared_experts.up_proj.weight": (32, 64),
                  m + "shared_experts.down_proj.weight": (64, 32)})
        for e in range(4):
            t.update({m + f"experts.{e}.w1.weight": (32, 64), m + f"experts.{e}.w2.weight": (64, 32),
                      m + f"experts.{e}.w3.weight": (32, 64)})
    return c, t


@model("plamo2")
def _():
    c = base("Plamo2ForCausalLM", "plamo2", mamba_step=2, mamba_enabled=True, hidden_size_per_head=16,
             mamba_num_heads=4, mamba_d_state=16, mamba_d_conv=4, rms_norm_eps=1e-6, rope_theta=None)
    t = ends({}, model__embed_tokens__weight=(320, 64), model__norm__weight=(64,))
    for i in range(2):
        p = f"model.layers.layers.{i}."
        t.update({p + f"{x}_norm.weight": (64,) for x in ("pre_mixer", "post_mixer", "pre_mlp", "post_mlp")})
        t.update({p + "mlp.gate_up_proj.weight": (192, 64), p + "mlp.down_proj.weight": (64, 96)})
        m = p + "mixer."
        t.update({m + "in_proj.weight": (128, 64), m + "conv1d.weight": (64, 1, 4), m + "bcdt_proj.weight": (96, 64),
                  m + "dt_proj.weight": (4, 64), m + "dt_bias": (4,), m + "A_log": (4,), m + "D": (4,),
                  m + "dt_norm_weight": (64,), m + "B_norm_weight": (16,), m + "C_norm_weight": (16,),
                  m + "out_proj.weight": (64, 64)} if i == 0 else
                 {m + "qkv_proj.weight": (128, 64), m + "o_proj.weight": (64, 64), m + "q_weight": (4, 16),
                  m + "k_weight": (2, 16)})
    return c, t


@model("plamo3")
def _():
    c = base("Plamo3ForCausalLM", "plamo3", head_dim=16, window_size=128, sliding_window_pattern=2)
    t = ends({}, model__embed_tokens__weight=(320, 64), model__norm__weight=(64,))
    t.update(blocks("model.layers.layers.", 2, {
        "pre_mixer_norm.weight": (64,), "post_mixer_norm.weight": (64,), "pre_mlp_norm.weight": (64,),
        "post_mlp_norm.weight": (64,), "mixer.qkv_proj.weight": (128, 64), "mixer.o_proj.weight": (64, 64),
        "mixer.q_norm.weight": (16,), "mixer.k_norm.weight": (16,), "mlp.gate_up_proj.weight": (192, 64),
        "mlp.down_proj.weight": (64, 96)}))
    return c, t


@model("rwkv6")
def _():
    c = dict(architectures=["Rwkv6ForCausalLM"], model_type="rwkv6", vocab_size=320, hidden_size=64,
             num_hidden_layers=3, head_size=16, layer_norm_epsilon=1e-5, rescale_every=2,
             intermediate_size=None, attention_hidden_size=64)
    t = blocks("rwkv.blocks.", 3, {
        **{f"attention.time_maa_{x}": (1, 1, 64) for x in "xwkvrg"}, "ln1@": (64,), "ln2@": (64,),
        "attention.time_maa_w1": (64, 160), "attention.time_maa_w2": (5, 32, 64),
        "attention.time_decay": (1, 1, 64), "attention.time_decay_w1": (64, 64),
        "attention.time_decay_w2": (64, 64), "attention.time_faaaa": (4, 16), "attention.ln_x@": (64,),
        **{f"attention.{x}.weight": (64, 64) for x in ("key", "value", "receptance", "gate", "output")},
        "feed_forward.time_maa_k": (1, 1, 64), "feed_forward.time_maa_r": (1, 1, 64),
        "feed_forward.key.weight": (224, 64), "feed_forward.receptance.weight": (64, 64),
        "feed_forward.value.weight": (64, 224)})
    return c, ends(t, rwkv__embeddings__weight=(320, 64), head__weight=(320, 64), rwkv__ln_out__weight=(64,),
                   rwkv__ln_out__bias=(64,), rwkv__blocks__0__pre_ln__weight=(64,),
                   rwkv__blocks__0__pre_ln__bias=(64,))


@model("rwkv6qwen2")
def _():
    c = base("RWKV6Qwen2ForCausalLM", "rwkv6qwen2", lora_rank_tokenshift=32, lora_rank_decay=32)
    t = {k: v for k, v in dense(c).items() if "_proj" not in k or "mlp" in k}
    t.update(blocks("model.layers.", 2, {
        **{f"self_attn.time_maa_{x}": (1, 1, 64) for x in "xwkvrg"}, "self_attn.time_maa_w1": (64, 160),
        "self_attn.time_maa_w2": (5, 32, 64), "self_attn.time_decay": (1, 1, 64),
        "self_attn.time_decay_w1": (64, 32), "self_attn.time_decay_w2": (32, 64),
        "self_attn.q_proj@": (64, 64), "self_attn.k_proj@": (32, 64), "self_attn.v_proj@": (32, 64),
        "self_attn.o_proj.weight": (64, 64), "self_attn.gate.weight": (64, 64)}))
    return c, t


@model("rwkv7")
def _():
    """In the names of the flash-linear-attention program."""
    c = dict(architectures=["RWKV7ForCausalLM"], model_type="rwkv7", vocab_size=320, hidden_size=64,
             num_hidden_layers=2, head_dim=16, norm_eps=1e-5, intermediate_size=256, decay_low_rank_dim=32,
             a_low_rank_dim=32, v_low_rank_dim=32, gate_low_rank_dim=32)
    low = {}
    for x, bias in (("w", True), ("a", True), ("g", False)):
        low.update({f"attn.{x}_lora.lora.0.weight": (32, 64), f"attn.{x}_lora.lora.2.weight": (64, 32)})
        if bias:
            low[f"attn.{x}_lora.lora.2.bias"] = (64,)
    t = blocks("model.layers.", 2, {
        **low, "attn.x_r": (1, 1, 64), "attn.x_w": (1, 1, 64), "attn.x_k": (1, 1, 64), "attn.x_v": (1, 1, 64),
        "attn.x_a": (1, 1, 64), "attn.x_g": (1, 1, 64), "attn.k_k": (64,), "attn.k_a": (64,), "attn.r_k": (4, 16),
        **{f"attn.{x}_proj.weight": (64, 64) for x in "rkvo"}, "attn.g_norm@": (64,), "attn_norm@": (64,),
        "ffn_norm@": (64,), "ffn.x_k": (64,), "ffn.key.weight": (256, 64), "ffn.value.weight": (64, 256)})
    t.update({"model.layers.1.attn.v_lora.lora.0.weight": (32, 64),
              "model.layers.1.attn.v_lora.lora.2.weight": (64, 32),
              "model.layers.1.attn.v_lora.lora.2.bias": (64,)})
    return c, ends(t, model__embeddings__weight=(320, 64), lm_head__weight=(320, 64), model__norm__weight=(64,),
                   model__norm__bias=(64,), model__layers__0__pre_norm__weight=(64,),
                   model__layers__0__pre_norm__bias=(64,))
