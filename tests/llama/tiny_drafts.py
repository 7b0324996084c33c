# SPDX-License-Identifier: MIT
"""Tiny drafts: models that guess what another one says next, whose directory the converter reads beside theirs. DRAFTS has the
tiny model that each is for, and what its config.json says beside."""
import json
import os

import numpy as np
import tiny_models
from tiny_parts import base, dense, model

DRAFTS = {}


def write_target(directory, name):
    """The model that a draft is for."""
    target, beside = DRAFTS[name]
    tiny_models.write(directory, target)
    path = os.path.join(directory, "config.json")
    with open(path) as f:
        config = json.load(f)
    with open(path, "w") as f:
        json.dump(dict(config, **beside), f)


def draft(name, target, **beside):
    DRAFTS[name] = (target, beside)
    return model(name)


def ids(n, of, seed=7):
    """Which token of the other model each is, less its place."""
    return np.sort(np.random.default_rng(seed).permutation(of)[:n]).astype(np.int64) - np.arange(n)


def eagle(architecture, layer, **more):
    c = base(architecture, "llama", num_hidden_layers=1, draft_vocab_size=128, head_dim=16, **more)
    t = {k.replace("model.layers.0.", layer).replace("model.", ""): v for k, v in dense(dict(c)).items()}
    t.update({f"{layer}self_attn.{x}_proj.weight": (r, 128) for x, r in (("q", 64), ("k", 32), ("v", 32))})
    t.update({layer + "hidden_norm.weight": (64,), "fc.weight": (64, 192), "lm_head.weight": (128, 64), "d2t": ids(128, 320),
              "t2d": np.zeros(320, np.uint8)})
    return c, t


@draft("eagle3", "llama")
def _():
    c, t = eagle("LlamaForCausalLMEagle3", "midlayer.", rope_theta=None, rope_scaling=dict(
        rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=8192))
    t.pop("embed_tokens.weight")
    return c, t


@draft("eagle3-plain", "qwen3moe")
def _():
    return eagle("LlamaForCausalLM", "midlayer.", eagle_aux_hidden_state_layer_ids=[1, 0, 1], norm_before_residual=True)


@draft("eagle3-speculator", "llama")
def _():
    c, t = eagle("Eagle3Speculator", "layers.0.")
    layer = {k: c.pop(k) for k in list(c) if k not in ("architectures", "draft_vocab_size", "model_type")}
    c.update(model_type="speculators_plain", transformer_layer_config=dict(layer, model_type="llama"), norm_before_fc=True,
             target_hidden_size=64)
    return c, {**t, "input_norm.weight": (192,)}


def flash(architecture, **more):
    c = base(architecture, "qwen3", head_dim=16, **more)
    t = {k.replace("model.", ""): v for k, v in dense(c, qk_norm=True, head=False).items() if "embed" not in k}
    return c, {**t, "fc.weight": (64, 192), "hidden_norm.weight": (64,)}


WINDOWS = dict(use_sliding_window=True, sliding_window=32, layer_types=["sliding_attention", "full_attention"])


@draft("dflash", "qwen3")
def _():
    c, t = flash("DFlashDraftModel", block_size=8, dflash_config=dict(target_layer_ids=[0, 1, 2], mask_token_id=3), **WINDOWS)
    return c, {**t, **{f"layers.{i}.self_attn.sinks": (4,) for i in range(2)}}


@draft("dflash-pairs", "qwen2", rope_scaling=dict(rope_type="default", mrope_section=[4, 2, 2]))
def _():
    c, t = flash("DFlash2DraftModel", is_causal=False, rope_is_neox_style=False, has_embed_tokens=False, dflash_config=dict(
        target_layer_ids=[0, 1, 1], mask_token_id=3, use_swa=True, swa_window_size=16, block_size=4, output_multiplier=0.5,
        input_embedding_scale=2.0, final_logit_softcapping=30.0, conv_kernel_size=4, conv_group_size=32, selector_rank=32,
        selector_top_k=2))
    p = "candidate_selector."
    t.update({p + "predecessor_codebook": (320, 32), p + "successor_codebook": (320, 32), p + "hidden_projection.weight": (32, 64)})
    for i in range(2):
        for x in ("attention", "mlp"):
            t.update({f"layers.{i}.{x}_conv.base_kernel": (2, 4, 64), f"layers.{i}.{x}_conv.kernel_projection.weight": (16, 64)})
    return c, {**t, "embed_tokens.weight": (320, 64)}


HEADS = {"markov_head.markov_w1.weight": (320, 32), "markov_head.markov_w2.weight": (320, 32), "confidence_head.proj.weight": (1, 96),
         "confidence_head.proj.bias": (1,)}


@draft("dspark", "qwen3")
def _():
    c, t = flash("Qwen3DSparkModel", target_layer_ids=[0, 1, 2], mask_token_id=3, markov_head_type="vanilla")
    return c, {**t, **HEADS, "lm_head.weight": (320, 64)}


@draft("dspark-speculator", "qwen3")
def _():
    c, t = flash("DSparkSpeculator")
    layer = {k: c.pop(k) for k in list(c) if k not in ("architectures", "model_type")}
    c.update(model_type="speculators_plain", transformer_layer_config=dict(layer, model_type="qwen3"), draft_vocab_size=128,
             aux_hidden_state_layer_ids=[1, 2, 3], mask_token_id=3)
    t.update({k: v for k, v in HEADS.items() if "markov" in k})
    return c, {**t, "markov_head.markov_w2.weight": (128, 32), "lm_head.weight": (128, 64), "d2t": ids(128, 320), "t2d": np.zeros(320, np.uint8)}


@draft("dspark-v4", "deepseek4")
def _():
    c, t = tiny_models.MODELS["deepseek4-packed"][0]()
    made = {}
    for stage in (0, 1):
        made.update({n.replace("layers.2.", f"mtp.{stage}."): x for n, x in t.items() if n.startswith("layers.2.") and "compressor" not in n})
    made.update({"mtp.0." + n: s for n, s in {"main_proj.weight": (64, 192), "main_norm.weight": (64,)}.items()})
    made.update({"mtp.1." + n: s for n, s in {
        "norm.weight": (64,), "hc_head_fn": (4, 256), "hc_head_base": (4,), "hc_head_scale": (1,), "markov_head.markov_w1.weight": (320, 32),
        "markov_head.markov_w2.weight": (320, 32), "confidence_head.proj.weight": (1, 96)}.items()})
    return dict(c, architectures=["DeepseekV4DSparkModel"], dspark_block_size=4, dspark_target_layer_ids=[0, 1, 2], dspark_noise_token_id=3), made


@draft("muse-assistant", "muse-glimmer")
def _():
    c, t = flash("MuseGlimmerAssistantModel", block_size=8, mask_token_id=3, target_layer_ids=[0, 1, 1], **WINDOWS)
    c["model_type"] = "muse_glimmer_assistant"
    return c, {dict(fc="encoder.fc", hidden_norm="encoder.output_norm_enc").get(n[:-len(".weight")], n[:-len(".weight")]) + ".weight": s for n, s in t.items()}


@draft("dspark-gemma4", "gemma4")
def _():
    c, t = flash("Gemma4DSparkModel", global_head_dim=32, num_global_key_value_heads=1, attention_k_eq_v=True, hidden_activation="gelu_pytorch_tanh",
                 layer_types=["full_attention"] * 2, target_layer_ids=[0, 1, 1], mask_token_id=3, tie_word_embeddings=True, block_size=8,
                 rope_parameters=dict(full_attention=dict(rope_type="proportional", partial_rotary_factor=0.25, rope_theta=1000000.0)), rope_theta=None)
    c["model_type"] = "gemma4_dspark"
    for i in range(2):
        p = f"layers.{i}."
        t.pop(p + "self_attn.v_proj.weight")
        t.update({p + n: s for n, s in {
            "self_attn.q_proj.weight": (128, 64), "self_attn.k_proj.weight": (32, 64), "self_attn.o_proj.weight": (64, 128),
            "self_attn.q_norm.weight": (32,), "self_attn.k_norm.weight": (32,), "pre_feedforward_layernorm.weight": (64,),
            "post_feedforward_layernorm.weight": (64,), "layer_scalar": (1,)}.items()})
    return c, {**t, "markov_head.markov_w1.weight": (320, 32), "markov_head.markov_w2.weight": (320, 32), "confidence_proj.weight": (1, 96),
               "confidence_proj.bias": (1,), "embed_tokens.weight": (320, 64)}
