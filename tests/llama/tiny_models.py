#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tiny models of Hugging Face's architectures: a config.json and random weights, the same bytes every
time. `tiny_models.py OUT [NAME...]` writes them as directories OUT/NAME.

Each has the tensors of the real ones in the shapes that its config.json asks for, so small that a few
hundred kilobytes hold all. Rows are multiples of 32, so that they can be quantized."""
import json
import os
import struct
import sys
import zlib

import numpy as np

MODELS = {}


def model(name, **about):
    """Registers a function that gives (config, {tensor: shape}); `about`: dtype, files."""
    def register(function):
        MODELS[name] = (function, about)
        return function
    return register


# ---- parts ------------------------------------------------------------------------------------------

def dense(config, layers=None, prefix="model.", bias=False, qk_norm=False, gate=True, norm="weight",
          post="post_attention_layernorm", head=True, fused=False):
    """The tensors of a decoder with Llama's names."""
    c = config
    h = c["hidden_size"]
    heads = c["num_attention_heads"]
    kv = c.get("num_key_value_heads") or heads
    d = c.get("head_dim") or h // heads
    ff = c["intermediate_size"]
    t = {prefix + "embed_tokens.weight": (c["vocab_size"], h), prefix + "norm.weight": (h,)}
    if head:
        t["lm_head.weight"] = (c["vocab_size"], h)
    for n in range(layers or c["num_hidden_layers"]):
        p = f"{prefix}layers.{n}."
        t[p + "input_layernorm.weight"] = (h,)
        t[p + post + ".weight"] = (h,)
        if fused:
            t[p + "self_attn.qkv_proj.weight"] = ((heads + 2 * kv) * d, h)
            t[p + "mlp.gate_up_proj.weight"] = (2 * ff, h)
        else:
            for x, rows in (("q", heads * d), ("k", kv * d), ("v", kv * d)):
                t[p + f"self_attn.{x}_proj.weight"] = (rows, h)
                if bias:
                    t[p + f"self_attn.{x}_proj.bias"] = (rows,)
            t[p + "mlp.up_proj.weight"] = (ff, h)
            if gate:
                t[p + "mlp.gate_proj.weight"] = (ff, h)
        t[p + "self_attn.o_proj.weight"] = (h, heads * d)
        t[p + "mlp.down_proj.weight"] = (h, ff)
        if qk_norm:
            t[p + "self_attn.q_norm.weight"] = (d,)
            t[p + "self_attn.k_norm.weight"] = (d,)
    return t


def base(architecture, model_type, **more):
    c = dict(architectures=[architecture], model_type=model_type, vocab_size=320, hidden_size=64,
             intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
             max_position_embeddings=512, rms_norm_eps=1e-5, rope_theta=10000.0,
             tie_word_embeddings=False, torch_dtype="bfloat16")
    c.update(more)
    return {k: v for k, v in c.items() if v is not None}


def experts(t, c, n, ff, names=("gate_proj", "up_proj", "down_proj"), block="mlp", router="gate",
            layers=None):
    """Replaces the dense feed-forward of layers by n experts."""
    h = c["hidden_size"]
    for i in layers if layers is not None else range(c["num_hidden_layers"]):
        p = f"model.layers.{i}."
        for x in ("gate_proj", "up_proj", "down_proj"):
            t.pop(p + f"mlp.{x}.weight", None)
        t[p + f"{block}.{router}.weight"] = (n, h)
        for e in range(n):
            gate, up, down = names
            t[p + f"{block}.experts.{e}.{gate}.weight"] = (ff, h)
            t[p + f"{block}.experts.{e}.{up}.weight"] = (ff, h)
            t[p + f"{block}.experts.{e}.{down}.weight"] = (h, ff)
    return t


# ---- the models -------------------------------------------------------------------------------------

@model("llama")
def _():
    c = base("LlamaForCausalLM", "llama",
             rope_scaling=dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0,
                               high_freq_factor=4.0, original_max_position_embeddings=8192))
    return c, dense(c)


@model("llama-f16", dtype="F16")
def _():
    c = base("LlamaForCausalLM", "llama", attention_bias=True, torch_dtype="float16")
    return c, dense(c, bias=True)


@model("llama-f32", dtype="F32")
def _():
    c = base("LlamaForCausalLM", "llama", num_hidden_layers=3, torch_dtype="float32")
    return c, dense(c, head=False)


@model("llama-odd")
def _():
    """Rows that Q8_0's blocks do not divide."""
    c = base("LlamaForCausalLM", "llama", hidden_size=80, intermediate_size=112)
    return c, dense(c)


@model("llama-yarn")
def _():
    c = base("LlamaForCausalLM", "llama",
             rope_scaling=dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=128,
                               beta_fast=32.0, beta_slow=1.0, attention_factor=1.1))
    return c, dense(c)


@model("mistral")
def _():
    c = base("MistralForCausalLM", "mistral", sliding_window=None)
    return c, dense(c)


@model("mixtral")
def _():
    c = base("MixtralForCausalLM", "mixtral", num_local_experts=4, num_experts_per_tok=2)
    return c, experts(dense(c), c, 4, 96, ("w1", "w3", "w2"), "block_sparse_moe")


@model("qwen2")
def _():
    c = base("Qwen2ForCausalLM", "qwen2", rms_norm_eps=1e-6)
    return c, dense(c, bias=True)


@model("qwen3")
def _():
    c = base("Qwen3ForCausalLM", "qwen3", head_dim=32)
    return c, dense(c, qk_norm=True)


@model("qwen2moe")
def _():
    c = base("Qwen2MoeForCausalLM", "qwen2_moe", num_experts=4, num_experts_per_tok=2,
             moe_intermediate_size=32, shared_expert_intermediate_size=64)
    t = experts(dense(c, bias=True), c, 4, 32)
    for i in range(2):
        p = f"model.layers.{i}.mlp.shared_expert"
        t[p + "_gate.weight"] = (1, 64)
        t[p + ".gate_proj.weight"] = (64, 64)
        t[p + ".up_proj.weight"] = (64, 64)
        t[p + ".down_proj.weight"] = (64, 64)
    return c, t


@model("qwen3moe")
def _():
    c = base("Qwen3MoeForCausalLM", "qwen3_moe", head_dim=32, num_experts=12, num_experts_per_tok=2,
             moe_intermediate_size=32)
    return c, experts(dense(c, qk_norm=True), c, 12, 32)


def gemma(c, sandwich):
    t = dense(c, head=False, qk_norm=sandwich == 2)
    for i in range(c["num_hidden_layers"]):
        if sandwich:
            t[f"model.layers.{i}.pre_feedforward_layernorm.weight"] = (64,)
            t[f"model.layers.{i}.post_feedforward_layernorm.weight"] = (64,)
    return t


@model("gemma")
def _():
    c = base("GemmaForCausalLM", "gemma", head_dim=32, rms_norm_eps=1e-6)
    return c, gemma(c, 0)


@model("gemma2", dtype="F16")
def _():
    c = base("Gemma2ForCausalLM", "gemma2", head_dim=32, attn_logit_softcapping=50.0,
             final_logit_softcapping=30.0, sliding_window=128)
    return c, gemma(c, 1)


@model("gemma3")
def _():
    c = base("Gemma3ForCausalLM", "gemma3_text", head_dim=32, rope_theta=1000000.0,
             rope_local_base_freq=10000.0, sliding_window=128, sliding_window_pattern=6)
    return c, gemma(c, 2)


@model("phi2")
def _():
    c = base("PhiForCausalLM", "phi", rms_norm_eps=None, layer_norm_eps=1e-5,
             partial_rotary_factor=0.5, num_key_value_heads=4, intermediate_size=256)
    t = {"model.embed_tokens.weight": (320, 64), "lm_head.weight": (320, 64), "lm_head.bias": (320,),
         "model.final_layernorm.weight": (64,), "model.final_layernorm.bias": (64,)}
    for i in range(2):
        p = f"model.layers.{i}."
        for x in ("input_layernorm",):
            t[p + x + ".weight"] = (64,)
            t[p + x + ".bias"] = (64,)
        for x in ("q_proj", "k_proj", "v_proj", "dense"):
            t[p + f"self_attn.{x}.weight"] = (64, 64)
            t[p + f"self_attn.{x}.bias"] = (64,)
        t[p + "mlp.fc1.weight"], t[p + "mlp.fc1.bias"] = (256, 64), (256,)
        t[p + "mlp.fc2.weight"], t[p + "mlp.fc2.bias"] = (64, 256), (64,)
    return c, t


@model("phi3")
def _():
    c = base("Phi3ForCausalLM", "phi3", original_max_position_embeddings=128, sliding_window=64,
             rope_scaling=dict(type="longrope", long_factor=[1.0 + i / 8 for i in range(8)],
                               short_factor=[1.0 + i / 16 for i in range(8)]), pad_token_id=0)
    return c, dense(c, fused=True)


@model("bert", dtype="F32")
def _():
    c = base("BertModel", "bert", rms_norm_eps=None, rope_theta=None, num_key_value_heads=None,
             layer_norm_eps=1e-12, type_vocab_size=2, hidden_act="gelu", torch_dtype="float32")
    t = {"embeddings.word_embeddings.weight": (320, 64),
         "embeddings.position_embeddings.weight": (512, 64),
         "embeddings.token_type_embeddings.weight": (2, 64),
         "embeddings.LayerNorm.weight": (64,), "embeddings.LayerNorm.bias": (64,),
         "pooler.dense.weight": (64, 64), "pooler.dense.bias": (64,)}
    for i in range(2):
        p = f"encoder.layer.{i}."
        for x in ("attention.self.query", "attention.self.key", "attention.self.value",
                  "attention.output.dense"):
            t[p + x + ".weight"], t[p + x + ".bias"] = (64, 64), (64,)
        t[p + "intermediate.dense.weight"], t[p + "intermediate.dense.bias"] = (96, 64), (96,)
        t[p + "output.dense.weight"], t[p + "output.dense.bias"] = (64, 96), (64,)
        for x in ("attention.output.LayerNorm", "output.LayerNorm"):
            t[p + x + ".weight"], t[p + x + ".bias"] = (64,), (64,)
    return c, t


@model("gpt2", dtype="F32")
def _():
    c = dict(architectures=["GPT2LMHeadModel"], model_type="gpt2", vocab_size=320, n_embd=64,
             n_layer=2, n_head=4, n_positions=128, n_ctx=128, layer_norm_epsilon=1e-5)
    t = {"transformer.wte.weight": (320, 64), "transformer.wpe.weight": (128, 64),
         "transformer.ln_f.weight": (64,), "transformer.ln_f.bias": (64,)}
    for i in range(2):
        p = f"transformer.h.{i}."
        for x in ("ln_1", "ln_2"):
            t[p + x + ".weight"], t[p + x + ".bias"] = (64,), (64,)
        t[p + "attn.c_attn.weight"], t[p + "attn.c_attn.bias"] = (64, 192), (192,)
        t[p + "attn.c_proj.weight"], t[p + "attn.c_proj.bias"] = (64, 64), (64,)
        t[p + "mlp.c_fc.weight"], t[p + "mlp.c_fc.bias"] = (64, 256), (256,)
        t[p + "mlp.c_proj.weight"], t[p + "mlp.c_proj.bias"] = (256, 64), (64,)
    return c, t


def blocks(prefix, n, shapes):
    """The same tensors in each of n blocks; "NAME@" has a bias beside its weight."""
    t = {}
    for i in range(n):
        for name, shape in shapes.items():
            if name.endswith("@"):
                t[f"{prefix}{i}.{name[:-1]}.weight"] = shape
                t[f"{prefix}{i}.{name[:-1]}.bias"] = shape[:1]
            else:
                t[f"{prefix}{i}.{name}"] = shape
    return t


def ends(t, **shapes):
    """Tensors outside blocks, dots in names written as "__"."""
    t.update({name.replace("__", "."): shape for name, shape in shapes.items()})
    return t


@model("gptneox", dtype="F16")
def _():
    c = base("GPTNeoXForCausalLM", "gpt_neox", num_key_value_heads=None, rms_norm_eps=None,
             layer_norm_eps=1e-5, rotary_pct=0.25, rotary_emb_base=10000, rope_theta=None,
             use_parallel_residual=True)
    t = blocks("gpt_neox.layers.", 2, {
        "input_layernorm@": (64,), "post_attention_layernorm@": (64,),
        "attention.query_key_value@": (192, 64), "attention.dense@": (64, 64),
        "attention.rotary_emb.inv_freq": (8,), "mlp.dense_h_to_4h@": (96, 64),
        "mlp.dense_4h_to_h@": (64, 96)})
    return c, ends(t, gpt_neox__embed_in__weight=(320, 64), embed_out__weight=(320, 64),
                   gpt_neox__final_layer_norm__weight=(64,), gpt_neox__final_layer_norm__bias=(64,))


@model("bloom")
def _():
    c = dict(architectures=["BloomForCausalLM"], model_type="bloom", vocab_size=320, hidden_size=64,
             n_layer=2, n_head=4, layer_norm_epsilon=1e-5, seq_length=128)
    t = blocks("transformer.h.", 2, {
        "input_layernorm@": (64,), "post_attention_layernorm@": (64,),
        "self_attention.query_key_value@": (192, 64), "self_attention.dense@": (64, 64),
        "mlp.dense_h_to_4h@": (256, 64), "mlp.dense_4h_to_h@": (64, 256)})
    return c, ends(t, transformer__word_embeddings__weight=(320, 64),
                   transformer__word_embeddings_layernorm__weight=(64,),
                   transformer__word_embeddings_layernorm__bias=(64,),
                   transformer__ln_f__weight=(64,), transformer__ln_f__bias=(64,))


def falcon(kv, **more):
    c = dict(architectures=["FalconForCausalLM"], model_type="falcon", vocab_size=320,
             hidden_size=128, num_hidden_layers=2, num_attention_heads=4, layer_norm_epsilon=1e-5,
             **more)
    t = blocks("transformer.h.", 2, {
        "self_attention.query_key_value.weight": ((4 + 2 * kv) * 32, 128),
        "self_attention.dense.weight": (128, 128), "mlp.dense_h_to_4h.weight": (512, 128),
        "mlp.dense_4h_to_h.weight": (128, 512),
        **({"ln_attn@": (128,), "ln_mlp@": (128,)} if kv > 1 else {"input_layernorm@": (128,)})})
    return c, ends(t, transformer__word_embeddings__weight=(320, 128), lm_head__weight=(320, 128),
                   transformer__ln_f__weight=(128,), transformer__ln_f__bias=(128,))


@model("falcon-7b")
def _():
    """No num_kv_heads: the reference takes transformers' default, which is wrong, and fails."""
    return falcon(1, multi_query=True)


@model("falcon-40b")
def _():
    return falcon(2, num_kv_heads=2, new_decoder_architecture=True)


@model("mpt", dtype="F32")
def _():
    c = dict(architectures=["MPTForCausalLM"], model_type="mpt", vocab_size=320, d_model=64,
             n_layers=2, n_heads=4, max_seq_len=128,
             attn_config=dict(alibi=True, alibi_bias_max=8, clip_qkv=None))
    t = blocks("transformer.blocks.", 2, {
        "norm_1.weight": (64,), "norm_2.weight": (64,), "attn.Wqkv.weight": (192, 64),
        "attn.out_proj.weight": (64, 64), "ffn.up_proj.weight": (256, 64),
        "ffn.down_proj.weight": (64, 256)})
    return c, ends(t, transformer__wte__weight=(320, 64), transformer__norm_f__weight=(64,))


@model("starcoder", dtype="F32")
def _():
    c = dict(architectures=["GPTBigCodeForCausalLM"], model_type="gpt_bigcode", vocab_size=320,
             n_embd=64, n_layer=2, n_head=4, n_positions=128, layer_norm_epsilon=1e-5)
    t = blocks("transformer.h.", 2, {
        "ln_1@": (64,), "ln_2@": (64,), "attn.c_attn@": (96, 64), "attn.c_proj@": (64, 64),
        "mlp.c_fc@": (256, 64), "mlp.c_proj@": (64, 256)})
    return c, ends(t, transformer__wte__weight=(320, 64), transformer__wpe__weight=(128, 64),
                   transformer__ln_f__weight=(64,), transformer__ln_f__bias=(64,),
                   lm_head__weight=(320, 64))


@model("starcoder2")
def _():
    c = base("Starcoder2ForCausalLM", "starcoder2", rms_norm_eps=None, norm_epsilon=1e-5)
    t = blocks("model.layers.", 2, {
        "input_layernorm@": (64,), "post_attention_layernorm@": (64,), "self_attn.q_proj@": (64, 64),
        "self_attn.k_proj@": (32, 64), "self_attn.v_proj@": (32, 64), "self_attn.o_proj@": (64, 64),
        "mlp.c_fc@": (96, 64), "mlp.c_proj@": (64, 96)})
    return c, ends(t, model__embed_tokens__weight=(320, 64), model__norm__weight=(64,),
                   model__norm__bias=(64,))


@model("stablelm")
def _():
    c = base("StableLmForCausalLM", "stablelm", rms_norm_eps=None, layer_norm_eps=1e-5,
             partial_rotary_factor=0.25)
    return c, dense(c)


@model("stablelm-norms")
def _():
    """Norms of each head: the reference loses them."""
    c = base("StableLmForCausalLM", "stablelm", rms_norm_eps=None, layer_norm_eps=1e-5,
             partial_rotary_factor=0.25, qk_layernorm=True)
    t = dense(c)
    for i in range(2):
        for x, n in (("q", 4), ("k", 2)):
            for k in range(n):
                t[f"model.layers.{i}.self_attn.{x}_layernorm.norms.{k}.weight"] = (16,)
    return c, t


@model("command-r", dtype="F16")
def _():
    c = base("CohereForCausalLM", "cohere", rms_norm_eps=None, layer_norm_eps=1e-5,
             logit_scale=0.0625, model_max_length=1024)
    t = dense(c, head=False)
    return c, {k: v for k, v in t.items() if "post_attention" not in k}


@model("olmo")
def _():
    c = base("OlmoForCausalLM", "olmo", rms_norm_eps=None, clip_qkv=8.0)
    return c, {k: v for k, v in dense(c).items() if "norm" not in k}


@model("olmo2")
def _():
    c = base("Olmo2ForCausalLM", "olmo2")
    t = dense(c)
    for i in range(2):
        p = f"model.layers.{i}."
        del t[p + "input_layernorm.weight"]
        t[p + "post_feedforward_layernorm.weight"] = (64,)
        t[p + "self_attn.q_norm.weight"], t[p + "self_attn.k_norm.weight"] = (64,), (32,)
    return c, t


@model("olmo3")
def _():
    c, t = MODELS["olmo2"][0]()
    c.update(architectures=["Olmo3ForCausalLM"], model_type="olmo3", sliding_window=64,
             num_hidden_layers=2, layer_types=["sliding_attention", "full_attention"])
    return c, t


@model("olmoe")
def _():
    c = base("OlmoeForCausalLM", "olmoe", num_experts=4, num_experts_per_tok=2)
    t = experts(dense(c), c, 4, 96)
    for i in range(2):
        p = f"model.layers.{i}.self_attn."
        t[p + "q_norm.weight"], t[p + "k_norm.weight"] = (64,), (32,)
    return c, t


@model("seed-oss")
def _():
    c = base("SeedOssForCausalLM", "seed_oss", head_dim=32)
    return c, dense(c, bias=True)


@model("exaone", dtype="F16")
def _():
    c = dict(architectures=["ExaoneForCausalLM"], model_type="exaone", vocab_size=320,
             hidden_size=64, intermediate_size=96, num_layers=2, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=512, layer_norm_epsilon=1e-5,
             rope_theta=10000.0, activation_function="silu",
             rope_scaling=dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0,
                               high_freq_factor=4.0, original_max_position_embeddings=8192))
    t = blocks("transformer.h.", 2, {
        "ln_1.weight": (64,), "ln_2.weight": (64,), "attn.attention.q_proj.weight": (64, 64),
        "attn.attention.k_proj.weight": (32, 64), "attn.attention.v_proj.weight": (32, 64),
        "attn.attention.out_proj.weight": (64, 64), "mlp.c_fc_0.weight": (96, 64),
        "mlp.c_fc_1.weight": (96, 64), "mlp.c_proj.weight": (64, 96)})
    return c, ends(t, transformer__wte__weight=(320, 64), transformer__ln_f__weight=(64,),
                   lm_head__weight=(320, 64))


@model("exaone4")
def _():
    c = base("Exaone4ForCausalLM", "exaone4", head_dim=16, sliding_window=64,
             sliding_window_pattern=4, layer_types=["sliding_attention", "full_attention"])
    t = dense(c, qk_norm=True)
    for i in range(2):
        p = f"model.layers.{i}."
        del t[p + "input_layernorm.weight"]
        t[p + "post_feedforward_layernorm.weight"] = (64,)
    return c, t


@model("nemotron")
def _():
    c = base("NemotronForCausalLM", "nemotron", rms_norm_eps=None, norm_eps=1e-5,
             partial_rotary_factor=0.5)
    t = dense(c, gate=False)
    for name in [n for n in t if "norm.weight" in n]:
        t[name.replace("weight", "bias")] = (64,)
    return c, t


@model("granite")
def _():
    c = base("GraniteForCausalLM", "granite", attention_multiplier=0.0156, embedding_multiplier=12.0,
             residual_multiplier=0.22, logits_scaling=8.0)
    return c, dense(c)


@model("granitemoe")
def _():
    c = base("GraniteMoeSharedForCausalLM", "granitemoeshared", attention_multiplier=0.0156,
             embedding_multiplier=12.0, residual_multiplier=0.22, logits_scaling=8.0,
             num_local_experts=4, num_experts_per_tok=2, shared_intermediate_size=32)
    t = {k: v for k, v in dense(c).items() if ".mlp." not in k}
    t.update(blocks("model.layers.", 2, {
        "block_sparse_moe.input_linear.weight": (4, 192, 64),
        "block_sparse_moe.output_linear.weight": (4, 64, 96),
        "block_sparse_moe.router.layer.weight": (4, 64),
        "shared_mlp.input_linear.weight": (64, 64), "shared_mlp.output_linear.weight": (64, 32)}))
    return c, t


@model("minicpm")
def _():
    c = base("MiniCPMForCausalLM", "minicpm", scale_emb=12, scale_depth=1.4, dim_model_base=32)
    return c, dense(c)


@model("internlm2")
def _():
    c = base("InternLM2ForCausalLM", "internlm2")
    t = blocks("model.layers.", 2, {
        "attention_norm.weight": (64,), "ffn_norm.weight": (64,), "attention.wqkv.weight": (128, 64),
        "attention.wo.weight": (64, 64), "feed_forward.w1.weight": (96, 64),
        "feed_forward.w2.weight": (64, 96), "feed_forward.w3.weight": (96, 64)})
    return c, ends(t, model__tok_embeddings__weight=(320, 64), model__norm__weight=(64,),
                   output__weight=(320, 64))


@model("ernie4_5")
def _():
    c = base("Ernie4_5ForCausalLM", "ernie4_5", head_dim=32)
    return c, dense(c)


@model("gpt-oss")
def _():
    c = base("GptOssForCausalLM", "gpt_oss", head_dim=32, num_local_experts=4, sliding_window=128,
             num_experts_per_tok=2,
             rope_scaling=dict(rope_type="yarn", factor=32.0, beta_fast=32.0, beta_slow=1.0,
                               truncate=False, original_max_position_embeddings=4096))
    t = {k: v for k, v in dense(c, bias=True).items() if ".mlp." not in k}
    t.update(blocks("model.layers.", 2, {
        "self_attn.o_proj.bias": (64,), "self_attn.sinks": (4,), "mlp.router@": (4, 64),
        "mlp.experts.gate_up_proj": (4, 64, 192), "mlp.experts.gate_up_proj_bias": (4, 192),
        "mlp.experts.down_proj": (4, 96, 64), "mlp.experts.down_proj_bias": (4, 64)}))
    return c, t


@model("lfm2")
def _():
    c = base("Lfm2ForCausalLM", "lfm2", rms_norm_eps=None, norm_eps=1e-5, conv_L_cache=3,
             block_auto_adjust_ff_dim=True, block_ffn_dim_multiplier=1.0, block_multiple_of=32,
             layer_types=["conv", "full_attention"])
    t = blocks("model.layers.", 2, {
        "operator_norm.weight": (64,), "ffn_norm.weight": (64,), "feed_forward.w1.weight": (64, 64),
        "feed_forward.w2.weight": (64, 64), "feed_forward.w3.weight": (64, 64)})
    t.update({"model.layers.0.conv.conv.weight": (64, 1, 3),
              "model.layers.0.conv.in_proj.weight": (192, 64),
              "model.layers.0.conv.out_proj.weight": (64, 64)})
    p = "model.layers.1.self_attn."
    t.update({p + "q_proj.weight": (64, 64), p + "k_proj.weight": (32, 64),
              p + "v_proj.weight": (32, 64), p + "out_proj.weight": (64, 64),
              p + "q_layernorm.weight": (16,), p + "k_layernorm.weight": (16,)})
    return c, ends(t, model__embed_tokens__weight=(320, 64), model__embedding_norm__weight=(64,))


@model("smollm3")
def _():
    c = base("SmolLM3ForCausalLM", "smollm3", num_hidden_layers=4)
    return c, dense(c)


@model("arcee")
def _():
    c = base("ArceeForCausalLM", "arcee")
    return c, dense(c, gate=False)


@model("orion")
def _():
    c = base("OrionForCausalLM", "orion")
    t = dense(c)
    for name in [n for n in t if "norm.weight" in n]:
        t[name.replace("weight", "bias")] = (64,)
    return c, t


@model("baichuan")
def _():
    """The reference never comes back from it."""
    c = base("BaichuanForCausalLM", "baichuan", num_key_value_heads=4)
    t = {k: v for k, v in dense(c).items() if "_proj" not in k or "o_proj" in k or "mlp" in k}
    for i in range(2):
        t[f"model.layers.{i}.self_attn.W_pack.weight"] = (192, 64)
    return c, t


@model("xverse")
def _():
    c = base("XverseForCausalLM", "xverse", num_key_value_heads=4)
    return c, dense(c)


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
             norm_topk_prob=True, num_nextn_predict_layers=1, use_qk_norm=True, n_group=1,
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
             feed_forward_proj="gated-gelu")
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
    c = base("Dots1ForCausalLM", "dots1", head_dim=16, n_routed_experts=4, num_experts_per_tok=2,
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


# ---- writing ----------------------------------------------------------------------------------------

def bf16(x):
    bits = x.view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def values(model_name, name, shape):
    rng = np.random.default_rng(zlib.crc32(f"{model_name}/{name}".encode()))
    x = rng.standard_normal(shape).astype(np.float32)
    return (1 + x / 8 if len(shape) == 1 and "norm" in name.lower() else x / 8).astype(np.float32)


def write(directory, name):
    function, about = MODELS[name]
    config, tensors = function()
    dtype = about.get("dtype", "BF16")
    os.makedirs(directory, exist_ok=True)
    header, blobs, at = {}, [], 0
    for tensor in sorted(tensors):
        x = values(name, tensor, tensors[tensor])
        kind = about.get("dtypes", {}).get(tensor, dtype)
        data = {"F32": lambda: x, "F16": lambda: x.astype(np.float16), "BF16": lambda: bf16(x)}[kind]()
        raw = data.astype(data.dtype.newbyteorder("<")).tobytes()
        header[tensor] = dict(dtype=kind, shape=list(x.shape), data_offsets=[at, at + len(raw)])
        blobs.append(raw)
        at += len(raw)
    text = json.dumps(dict(__metadata__={"format": "pt"}, **header)).encode()
    text += b" " * (-len(text) % 8)
    with open(os.path.join(directory, "model.safetensors"), "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + b"".join(blobs))
    with open(os.path.join(directory, "config.json"), "w") as f:
        json.dump(config, f, indent=1)
    for file, content in about.get("files", {}).items():
        with open(os.path.join(directory, file), "w") as f:
            f.write(content if isinstance(content, str) else json.dumps(content))


def main():
    out, names = sys.argv[1], sys.argv[2:] or list(MODELS)
    for name in names:
        write(os.path.join(out, name), name)


if __name__ == "__main__":
    main()
