# SPDX-License-Identifier: MIT
"""Tiny models of the architectures that most people convert: Llama, Qwen, Gemma, Phi, BERT, GPT-2."""
from tiny_parts import base, dense, experts, model

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


@model("llama-factors", dtype="F32")
def _():
    """Rotary factors whose last bit tells in which precision they were computed."""
    c = base("LlamaForCausalLM", "llama", torch_dtype="float32", rope_theta=500000.0,
             rope_scaling=dict(rope_type="llama3", factor=32.0, low_freq_factor=1.0, high_freq_factor=4.0,
                               original_max_position_embeddings=8192))
    return c, dense(c)


@model("llama-yarn-short")
def _():
    """The context that was trained with is not told."""
    c = base("LlamaForCausalLM", "llama", rope_scaling=dict(rope_type="yarn", factor=4.0))
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
