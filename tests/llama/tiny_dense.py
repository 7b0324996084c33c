# SPDX-License-Identifier: MIT
"""Tiny models of dense decoders, and of those with fused queries, keys and values."""
from tiny_parts import MODELS, base, blocks, dense, ends, experts, model


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


def with_norm_biases(t):
    """Norms that are no RMS norms."""
    t.update({name[:-len("weight")] + "bias": shape for name, shape in t.items() if "norm.weight" in name})
    return t


@model("stablelm")
def _():
    c = base("StableLmForCausalLM", "stablelm", rms_norm_eps=None, layer_norm_eps=1e-5,
             partial_rotary_factor=0.25)
    return c, with_norm_biases(dense(c))


@model("stablelm-norms")
def _():
    """Norms of each head: the reference loses them."""
    c = base("StableLmForCausalLM", "stablelm", rms_norm_eps=None, layer_norm_eps=1e-5,
             partial_rotary_factor=0.25, qk_layernorm=True)
    t = with_norm_biases(dense(c))
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
    c = base("OlmoeForCausalLM", "olmoe", num_key_value_heads=4, num_experts=4, num_experts_per_tok=2)
    t = experts(dense(c), c, 4, 96)
    for i in range(2):
        p = f"model.layers.{i}.self_attn."
        t[p + "q_norm.weight"] = t[p + "k_norm.weight"] = (64,)
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
