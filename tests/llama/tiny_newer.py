# SPDX-License-Identifier: MIT
"""Tiny models of text models inside of larger ones, of encoders after BERT, of Gemma 3n and 4, and of
decoders that each have something of their own."""
from tiny_dense import with_norm_biases
from tiny_parts import base, blocks, dense, ends, experts, model


@model("qwen2vl")
def _():
    c = base("Qwen2VLForConditionalGeneration", "qwen2_vl",
             rope_scaling=dict(type="mrope", mrope_section=[2, 3, 3]))
    t = dense(c, bias=True)
    t["visual.blocks.0.attn.qkv.weight"] = (96, 32)
    return c, t


def inside(c, **root):
    """The text model's configuration inside of that of a model with towers."""
    text = {k: v for k, v in c.items() if k != "architectures"}
    return dict(architectures=c["architectures"], **root, text_config=text)


@model("qwen3vl")
def _():
    c = base("Qwen3VLForConditionalGeneration", "qwen3_vl_text", head_dim=16,
             rope_scaling=dict(rope_type="default", mrope_section=[3, 3, 2], mrope_interleaved=True))
    t = {k.replace("model.", "model.language_model."): v for k, v in dense(c, qk_norm=True).items()}
    t["model.visual.blocks.0.attn.qkv.weight"] = (96, 32)
    return inside(c, model_type="qwen3_vl", vision_config=dict(deepstack_visual_indexes=[0, 1])), t


@model("qwen3vlmoe")
def _():
    c = base("Qwen3VLMoeForConditionalGeneration", "qwen3_vl_moe_text", head_dim=16, num_experts=4,
             num_experts_per_tok=2, moe_intermediate_size=32,
             rope_scaling=dict(rope_type="default", mrope_section=[3, 3, 2], mrope_interleaved=True))
    t = {k: v for k, v in dense(c, qk_norm=True).items() if ".mlp." not in k}
    t.update(blocks("model.layers.", 2, {"mlp.gate.weight": (4, 64), "mlp.experts.gate_up_proj": (4, 64, 64),
                                         "mlp.experts.down_proj": (4, 32, 64)}))
    t = {k.replace("model.", "model.language_model."): v for k, v in t.items()}
    return inside(c, model_type="qwen3_vl_moe", vision_config=dict(deepstack_visual_indexes=[0])), t


@model("mistral3")
def _():
    c = base("Mistral3ForConditionalGeneration", "mistral", head_dim=16)
    t = {"language_model." + k: v for k, v in dense(c).items()}
    t["vision_tower.patch_conv.weight"] = (32, 3, 2, 2)
    t["multi_modal_projector.linear_1.weight"] = (64, 32)
    return inside(c, model_type="mistral3"), t


@model("ministral3")
def _():
    c = base("Ministral3ForCausalLM", "ministral3", head_dim=16, rope_theta=None,
             rope_parameters=dict(rope_type="yarn", rope_theta=1000000.0, factor=16.0, beta_fast=32.0,
                                  beta_slow=1.0, mscale=1.0, mscale_all_dim=1.0,
                                  original_max_position_embeddings=128, llama_4_scaling_beta=0.1))
    return c, dense(c)


@model("nomic-bert", files={"tokenizer.json": {"model": {"type": "WordPiece"}}})
def _():
    c = dict(architectures=["NomicBertModel"], model_type="nomic_bert", vocab_size=320, n_embd=64, n_inner=96,
             n_layer=2, n_head=4, n_positions=8192, layer_norm_epsilon=1e-12, type_vocab_size=2,
             activation_function="swiglu", causal=False, qkv_proj_bias=False, mlp_fc1_bias=False,
             mlp_fc2_bias=False, prenorm=False, rotary_emb_fraction=1.0, rotary_emb_interleaved=False,
             rotary_emb_scale_base=None, rotary_emb_base=1000)
    t = blocks("encoder.layers.", 2, {
        "attn.Wqkv.weight": (192, 64), "attn.out_proj.weight": (64, 64), "mlp.fc11.weight": (96, 64),
        "mlp.fc12.weight": (96, 64), "mlp.fc2.weight": (64, 96), "norm1@": (64,), "norm2@": (64,)})
    return c, ends(t, embeddings__word_embeddings__weight=(320, 64),
                   embeddings__token_type_embeddings__weight=(2, 64), emb_ln__weight=(64,), emb_ln__bias=(64,))


@model("nomic-bert-moe", files={"tokenizer.json": {"model": {"type": "Unigram"}}})
def _():
    c, t = nomic_moe()
    return c, t


def nomic_moe():
    c = dict(architectures=["NomicBertModel"], model_type="nomic_bert", vocab_size=320, n_embd=64, n_inner=96,
             n_layer=2, n_head=4, n_positions=2048, layer_norm_epsilon=1e-5, type_vocab_size=1,
             activation_function="gelu", causal=False, qkv_proj_bias=True, mlp_fc1_bias=True, mlp_fc2_bias=True,
             prenorm=False, rotary_emb_fraction=1.0, rotary_emb_interleaved=False, rotary_emb_scale_base=None,
             rotary_emb_base=10000, moe_every_n_layers=2, num_experts=4, moe_top_k=2, pad_token_id=1)
    t = blocks("encoder.layers.", 2, {"attn.Wqkv@": (192, 64), "attn.out_proj@": (64, 64), "norm1@": (64,),
                                      "norm2@": (64,)})
    t.update({"encoder.layers.0.mlp.fc1.weight": (96, 64), "encoder.layers.0.mlp.fc1.bias": (96,),
              "encoder.layers.0.mlp.fc2.weight": (64, 96), "encoder.layers.0.mlp.fc2.bias": (64,)})
    p = "encoder.layers.1.mlp."
    t.update({p + "router.layer.weight": (4, 64), p + "experts.mlp.w1": (384, 64), p + "experts.mlp.w2": (384, 64),
              p + "experts.bias": (64,)})
    return c, ends(t, embeddings__word_embeddings__weight=(320, 64),
                   embeddings__token_type_embeddings__weight=(1, 64), emb_ln__weight=(64,), emb_ln__bias=(64,))


@model("jina-bert-v2", dtype="F16")
def _():
    c = dict(architectures=["JinaBertModel"], model_type="bert", vocab_size=320, hidden_size=64,
             intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=512,
             layer_norm_eps=1e-12, type_vocab_size=2, position_embedding_type="alibi")
    t = blocks("encoder.layer.", 2, {
        **{f"attention.self.{x}@": (64, 64) for x in ("query", "key", "value")}, "attention.output.dense@": (64, 64),
        "attention.output.LayerNorm@": (64,), "output.LayerNorm@": (64,), "mlp.up_gated_layer.weight": (192, 64),
        "mlp.down_layer@": (64, 96)})
    return c, ends(t, embeddings__word_embeddings__weight=(320, 64), embeddings__LayerNorm__weight=(64,),
                   embeddings__LayerNorm__bias=(64,), embeddings__token_type_embeddings__weight=(2, 64),
                   pooler__dense__weight=(64, 64))


@model("modern-bert")
def _():
    c = dict(architectures=["ModernBertModel"], model_type="modernbert", vocab_size=320, hidden_size=64,
             intermediate_size=96, num_hidden_layers=3, num_attention_heads=4, max_position_embeddings=512,
             norm_eps=1e-5, local_attention=128, global_attn_every_n_layers=3, global_rope_theta=160000.0,
             local_rope_theta=10000.0, hidden_activation="gelu", layer_norm_eps=1e-5, pad_token_id=0,
             bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2)
    t = blocks("layers.", 3, {"attn.Wqkv.weight": (192, 64), "attn.Wo.weight": (64, 64), "mlp_norm.weight": (64,),
                              "mlp.Wi.weight": (192, 64), "mlp.Wo.weight": (64, 96)})
    t.update({f"layers.{i}.attn_norm.weight": (64,) for i in (1, 2)})
    return c, ends(t, embeddings__tok_embeddings__weight=(320, 64), embeddings__norm__weight=(64,),
                   final_norm__weight=(64,))


@model("neo-bert")
def _():
    c = dict(architectures=["NeoBERT"], model_type="neobert", vocab_size=320, hidden_size=64,
             intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, max_length=512, norm_eps=1e-5)
    t = blocks("transformer_encoder.", 2, {
        "attention_norm.weight": (64,), "ffn_norm.weight": (64,), "qkv.weight": (192, 64), "wo.weight": (64, 64),
        "ffn.w12.weight": (128, 64), "ffn.w3.weight": (64, 64)})
    t = {"model." + k: v for k, v in t.items()}
    return c, ends(t, model__encoder__weight=(320, 64), model__layer_norm__weight=(64,))


@model("eurobert")
def _():
    c = base("EuroBertModel", "eurobert")
    t = {k: v for k, v in dense(c, head=False).items()}
    return c, t


@model("gemma3n")
def _():
    c = base("Gemma3nForCausalLM", "gemma3n_text", head_dim=16, vocab_size=330, intermediate_size=[96, 96],
             altup_num_inputs=4, altup_active_idx=0, hidden_size_per_layer_input=32, num_kv_shared_layers=1,
             activation_sparsity_pattern=[0.95, 0.0], layer_types=["sliding_attention", "full_attention"],
             sliding_window=128, final_logit_softcapping=30.0, vocab_size_per_layer_input=320,
             rope_theta=1000000.0, rope_local_base_freq=10000.0, altup_coef_clip=120.0, laurel_rank=32,
             rms_norm_eps=1e-6, bos_token_id=2, eos_token_id=1, pad_token_id=0)
    t = dense({**c, "vocab_size": 320, "intermediate_size": 96}, qk_norm=True, head=False)
    t.update(blocks("model.layers.", 2, {
        "pre_feedforward_layernorm.weight": (64,), "post_feedforward_layernorm.weight": (64,),
        "altup.correct_output_scale": (64,), "altup.correction_coefs.weight": (4, 4),
        "altup.prediction_coefs.weight": (16, 4), "altup.modality_router.weight": (4, 64),
        "altup.router_norm.weight": (64,), "laurel.linear_left.weight": (32, 64),
        "laurel.linear_right.weight": (64, 32), "laurel.post_laurel_norm.weight": (64,),
        "per_layer_input_gate.weight": (32, 64), "per_layer_projection.weight": (64, 32),
        "post_per_layer_input_norm.weight": (64,)}))
    for i in range(3):
        t[f"model.altup_projections.{i}.weight"] = t[f"model.altup_unembed_projections.{i}.weight"] = (64, 64)
    return c, ends(t, model__embed_tokens_per_layer__weight=(320, 64), model__per_layer_model_projection__weight=(64, 64),
                   model__per_layer_projection_norm__weight=(32,))


def gemma4(**more):
    c = base("Gemma4ForCausalLM", "gemma4_text", head_dim=16, global_head_dim=32, num_kv_shared_layers=0,
             layer_types=["sliding_attention", "full_attention"], sliding_window=128, rope_theta=None,
             rope_parameters=dict(full_attention=dict(rope_type="proportional", rope_theta=1000000.0,
                                                      partial_rotary_factor=0.25),
                                  sliding_attention=dict(rope_type="default", rope_theta=10000.0)),
             final_logit_softcapping=30.0, hidden_size_per_layer_input=32, vocab_size_per_layer_input=320,
             bos_token_id=2, eos_token_id=1, pad_token_id=0, rms_norm_eps=1e-6, **more)
    t = dense(c, qk_norm=True, head=False)
    p = "model.layers.1.self_attn."
    t.update({p + "q_proj.weight": (128, 64), p + "k_proj.weight": (64, 64), p + "v_proj.weight": (64, 64),
              p + "o_proj.weight": (64, 128), p + "q_norm.weight": (32,), p + "k_norm.weight": (32,)})
    t.update(blocks("model.layers.", 2, {
        "pre_feedforward_layernorm.weight": (64,), "post_feedforward_layernorm.weight": (64,),
        "layer_scalar": (1,), "per_layer_input_gate.weight": (32, 64), "per_layer_projection.weight": (64, 32),
        "post_per_layer_input_norm.weight": (64,)}))
    return c, ends(t, model__embed_tokens_per_layer__weight=(320, 64), model__per_layer_model_projection__weight=(64, 64),
                   model__per_layer_projection_norm__weight=(32,))


# The reference counts the tokens of tokenizer.json to cut the embeddings to.
WORDS = {"tokenizer.json": {"model": {"type": "BPE", "vocab": {f"w{i}": i for i in range(320)}}, "added_tokens": []}}


@model("gemma4", files=WORDS)
def _():
    c, t = gemma4()
    c["moe_intermediate_size"] = None
    return c, t


@model("gemma4-moe", files=WORDS)
def _():
    c, t = gemma4(enable_moe_block=True, num_experts=4, top_k_experts=2, moe_intermediate_size=32)
    t.update(blocks("model.layers.", 2, {
        "router.proj.weight": (4, 64), "router.scale": (64,), "router.per_expert_scale": (4,),
        "experts.gate_up_proj": (4, 64, 64), "experts.down_proj": (4, 64, 32),
        "pre_feedforward_layernorm_2.weight": (64,), "post_feedforward_layernorm_1.weight": (64,),
        "post_feedforward_layernorm_2.weight": (64,)}))
    return c, t


@model("apertus")
def _():
    c = base("ApertusForCausalLM", "apertus", hidden_act="xielu", rope_theta=None,
             rope_parameters=dict(rope_type="llama3", rope_theta=10000.0, factor=8.0, low_freq_factor=1.0,
                                  high_freq_factor=4.0, original_max_position_embeddings=8192))
    t = {k: v for k, v in dense(c, qk_norm=True).items() if "gate_proj" not in k and "layernorm" not in k}
    t.update(blocks("model.layers.", 2, {
        "attention_layernorm.weight": (64,), "feedforward_layernorm.weight": (64,), "mlp.act_fn.alpha_n": (1,),
        "mlp.act_fn.alpha_p": (1,), "mlp.act_fn.beta": (), "mlp.act_fn.eps": ()}))
    return c, t


@model("maincoder")
def _():
    c = base("MaincoderForCausalLM", "maincoder", head_dim=16)
    return c, dense(c, qk_norm=True)


@model("pangu-embedded")
def _():
    c = base("PanguEmbeddedForCausalLM", "PanguEmbedded", bias=True)
    return c, {**dense(c, bias=True), **blocks("model.layers.", 2, {"self_attn.o_proj.bias": (64,)})}


@model("jais2")
def _():
    c = base("Jais2ForCausalLM", "jais2", rms_norm_eps=None, layer_norm_eps=1e-5, head_dim=16)
    t = with_norm_biases(dense(c, bias=True, gate=False))
    t.update(blocks("model.layers.", 2, {"self_attn.o_proj.bias": (64,), "mlp.up_proj.bias": (96,), "mlp.down_proj.bias": (64,)}))
    return c, t


@model("jais", dtype="F32")
def _():
    c = dict(architectures=["JAISLMHeadModel"], model_type="jais", vocab_size=320, n_embd=64, n_layer=2, n_head=4,
             n_positions=128, n_inner=96, layer_norm_epsilon=1e-5, activation_function="swiglu",
             position_embedding_type="alibi", mup_embeddings_scale=14.6, mup_output_alpha=2.22,
             mup_width_scale=0.11100000000000002)
    t = blocks("transformer.h.", 2, {
        "ln_1@": (64,), "ln_2@": (64,), "attn.c_proj.weight": (64, 64), "attn.c_proj.bias": (64,),
        "attn.c_attn.weight": (64, 192), "attn.c_attn.bias": (192,), "mlp.c_fc.weight": (64, 96),
        "mlp.c_fc.bias": (96,), "mlp.c_fc2.weight": (64, 96), "mlp.c_fc2.bias": (96,),
        "mlp.c_proj.weight": (96, 64), "mlp.c_proj.bias": (64,)})
    return c, ends(t, transformer__wte__weight=(320, 64), transformer__ln_f__weight=(64,),
                   transformer__ln_f__bias=(64,), lm_head__weight=(320, 64))


@model("openelm")
def _():
    c = dict(architectures=["OpenELMForCausalLM"], model_type="openelm", vocab_size=320, model_dim=64,
             num_transformer_layers=2, head_dim=16, num_query_heads=[4, 8], num_kv_heads=[2, 2],
             ffn_multipliers=[0.5, 1.0], ffn_dim_divisor=32, max_context_length=512, rope_freq_constant=10000)
    t = {}
    for i, (heads, ff) in enumerate(((4, 32), (8, 64))):
        p = f"transformer.layers.{i}."
        t.update({p + "attn.qkv_proj.weight": ((heads + 4) * 16, 64), p + "attn.out_proj.weight": (64, heads * 16),
                  p + "attn.q_norm.weight": (16,), p + "attn.k_norm.weight": (16,), p + "attn_norm.weight": (64,),
                  p + "ffn_norm.weight": (64,), p + "ffn.proj_1.weight": (2 * ff, 64),
                  p + "ffn.proj_2.weight": (64, ff)})
    return c, ends(t, transformer__token_embeddings__weight=(320, 64), transformer__norm__weight=(64,))


@model("deci")
def _():
    """A layer with attention, one with a matrix in its place, and one without either."""
    def block(group, is_linear, mult):
        return dict(attention=dict(n_heads_in_group=group, replace_with_linear=is_linear), ffn=dict(ffn_mult=mult))
    c = base("DeciLMForCausalLM", "nemotron-nas", num_hidden_layers=3, num_key_value_heads=None,
             block_configs=[block(2, False, 1.5), block(None, True, 3.0), block(None, False, 0.5)])
    t = ends({}, model__embed_tokens__weight=(320, 64), model__norm__weight=(64,), lm_head__weight=(320, 64))
    for i, ff in enumerate((256, 256, 256)):
        p = f"model.layers.{i}."
        t.update({p + "post_attention_layernorm.weight": (64,), p + "mlp.gate_proj.weight": (ff, 64),
                  p + "mlp.up_proj.weight": (ff, 64), p + "mlp.down_proj.weight": (64, ff)})
        if i < 2:
            t[p + "input_layernorm.weight"] = (64,)
    p = "model.layers.0.self_attn."
    t.update({p + "q_proj.weight": (64, 64), p + "k_proj.weight": (32, 64), p + "v_proj.weight": (32, 64),
              p + "o_proj.weight": (64, 64), "model.layers.1.self_attn.linear_attn.weight": (64, 64)})
    return c, t


@model("nanbeige")
def _():
    c = base("NanbeigeForCausalLM", "nanbeige", num_loops=2, skip_loop_final_norm=True)
    return c, dense(c)


def shared_expert(t, layers, name, rows=32, width=64):
    for i in layers:
        p = f"model.layers.{i}.{name}."
        t[p + "gate_proj.weight"] = t[p + "up_proj.weight"] = (rows, width)
        t[p + "down_proj.weight"] = (width, rows)
    return t


@model("laguna")
def _():
    heads, types = [4, 8, 8, 8, 4], ["full_attention", *["sliding_attention"] * 3, "full_attention"]
    c = base("LagunaForCausalLM", "laguna", num_hidden_layers=5, head_dim=16, num_experts=4, num_experts_per_tok=2,
             moe_intermediate_size=32, shared_expert_intermediate_size=32, moe_routed_scaling_factor=2.5,
             num_attention_heads_per_layer=heads, layer_types=types, sliding_window=8, gating="per-head",
             mlp_layer_types=["dense", *["sparse"] * 4], rope_theta=None, rope_parameters={
                 "full_attention": dict(rope_type="default", rope_theta=500000.0, partial_rotary_factor=0.5),
                 "sliding_attention": dict(rope_type="default", rope_theta=10000.0, partial_rotary_factor=1.0)})
    t = experts(dense(c, qk_norm=True), c, 4, 32, layers=range(1, 5))
    for i, n in enumerate(heads):
        p = f"model.layers.{i}.self_attn."
        t[p + "q_proj.weight"], t[p + "o_proj.weight"], t[p + "g_proj.weight"] = (n * 16, 64), (64, n * 16), (n, 64)
        if i:
            t[f"model.layers.{i}.mlp.experts.e_score_correction_bias"] = (4,)
    return c, shared_expert(t, range(1, 5), "mlp.shared_expert")


@model("hy_v3")
def _():
    c = base("HYV3ForCausalLM", "hy_v3", head_dim=16, num_experts=4, num_experts_per_tok=2, num_shared_experts=2,
             moe_intermediate_size=32, router_scaling_factor=2.826, route_norm=True, mlp_layer_types=["dense", "sparse"])
    t = experts(dense(c, qk_norm=True), c, 4, 32, layers=[1], router="router.gate")
    t["model.layers.1.mlp.expert_bias"] = (4,)
    return c, shared_expert(t, [1], "mlp.shared_mlp", 64)


@model("minimax-m3")
def _():
    c = base("MiniMaxM3SparseForCausalLM", "minimax_m3_vl_text", num_hidden_layers=3, head_dim=16, rotary_dim=8,
             intermediate_size=32, dense_intermediate_size=96, shared_intermediate_size=32, num_local_experts=4,
             num_experts_per_tok=2, n_shared_experts=1, scoring_func="sigmoid", routed_scaling_factor=2.0,
             moe_layer_freq=[0, 1, 1],
             sparse_attention_config=dict(sparse_num_index_heads=2, sparse_index_dim=16, sparse_topk_blocks=2,
                                          sparse_block_size=4, sparse_local_block=1, sparse_attention_freq=[0, 1, 1]))
    t = dense(dict(c, intermediate_size=96), qk_norm=True)
    t = experts(t, c, 4, 32, ("w1", "w3", "w2"), "block_sparse_moe", layers=[1, 2])
    for i in (1, 2):
        p = f"model.layers.{i}."
        t[p + "block_sparse_moe.e_score_correction_bias"] = (4,)
        t[p + "self_attn.index_q_proj.weight"], t[p + "self_attn.index_k_proj.weight"] = (32, 64), (16, 64)
        t[p + "self_attn.index_q_norm.weight"] = t[p + "self_attn.index_k_norm.weight"] = (16,)
    return c, shared_expert(t, [1, 2], "block_sparse_moe.shared_experts")


@model("granite-speech")
def _():
    c = base("GraniteSpeechForConditionalGeneration", "granite", attention_multiplier=0.0156, embedding_multiplier=12.0,
             residual_multiplier=0.22, logits_scaling=8.0)
    t = {"language_model." + k: v for k, v in dense(c).items()}
    t.update({"encoder.input_linear.weight": (32, 64), "projector.linear.weight": (64, 32)})
    c = inside(c, model_type="granite_speech")
    c["text_config"]["architectures"] = ["GraniteForCausalLM"]
    return c, t
