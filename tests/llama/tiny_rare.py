# SPDX-License-Identifier: MIT
"""Tiny models of architectures that few models have, and of text models inside of larger ones."""
import numpy as np
from tiny_hybrid import linear
from tiny_newer import WORDS, gemma4, inside
from tiny_others import deepseek2
from tiny_parts import MODELS, base, blocks, dense, ends, experts, model


@model("bitnet")
def _():
    c = base("BitNetForCausalLM", "bitnet", rope_theta=500000.0)
    t = dense(c, head=False)
    t.update(blocks("model.layers.", 2, {"self_attn.inner_attn_ln.weight": (64,), "mlp.ffn_layernorm.weight": (96,)}))
    rng = np.random.default_rng(1)
    for name in [n for n in t if "_proj." in n]:  # numbers of few bits: sums do not depend on the order
        t[name] = (rng.integers(-64, 65, t[name]) / 256).astype(np.float16)
    return c, t


@model("qwen")
def _():
    c = dict(architectures=["QWenLMHeadModel"], model_type="qwen", vocab_size=320, hidden_size=64,
             intermediate_size=192, num_hidden_layers=2, num_attention_heads=4, seq_length=512,
             max_position_embeddings=512, layer_norm_epsilon=1e-6, rotary_emb_base=10000, kv_channels=16)
    t = blocks("transformer.h.", 2, {
        "ln_1.weight": (64,), "ln_2.weight": (64,), "attn.c_attn@": (192, 64), "attn.c_proj.weight": (64, 64),
        "mlp.w1.weight": (96, 64), "mlp.w2.weight": (96, 64), "mlp.c_proj.weight": (64, 96)})
    return c, ends(t, transformer__wte__weight=(320, 64), transformer__ln_f__weight=(64,), lm_head__weight=(320, 64))


@model("plamo")
def _():
    c = dict(architectures=["PlamoForCausalLM"], model_type="plamo", vocab_size=320, hidden_size=320,
             intermediate_size=96, num_hidden_layers=2, num_attention_heads=10, num_key_value_heads=10,
             n_shared_head=2, rms_norm_eps=1e-6)
    t = blocks("model.layers.layers.", 2, {
        "self_attn.q_proj.weight": (320, 320), "self_attn.k_proj.weight": (160, 320),
        "self_attn.v_proj.weight": (160, 320), "self_attn.o_proj.weight": (320, 320), "norm.weight": (320,),
        "mlp.gate_proj.weight": (96, 320), "mlp.up_proj.weight": (96, 320), "mlp.down_proj.weight": (320, 96)})
    return c, ends(t, model__embed_tokens__weight=(320, 320), model__norm__weight=(320,), lm_head__weight=(320, 320))


@model("chameleon")
def _():
    """The norms of all heads are one, repeated."""
    c = base("ChameleonForConditionalGeneration", "chameleon", num_key_value_heads=4, swin_norm=True)
    t = dense(c)
    rng = np.random.default_rng(5)
    for i in range(2):
        for x in "qk":
            row = rng.standard_normal((1, 16)).astype(np.float16)
            t[f"model.layers.{i}.self_attn.{x}_norm.weight"] = np.repeat(row, 4, 0)
            row = rng.standard_normal((1, 16)).astype(np.float16)
            t[f"model.layers.{i}.self_attn.{x}_norm.bias"] = np.repeat(row, 4, 0)
    t["model.vqmodel.encoder.conv_in.weight"] = (32, 3, 3, 3)
    return c, t


@model("cogvlm")
def _():
    c = base("CogVLMForCausalLM", "cogvlm", num_key_value_heads=4)
    t = {k: v for k, v in dense(c).items() if "self_attn" not in k and ".mlp." not in k}
    for who in ("language", "vision"):
        t.update(blocks("model.layers.", 2, {
            f"self_attn.{who}_expert_query_key_value.weight": (192, 64), f"self_attn.{who}_expert_dense.weight": (64, 64),
            f"mlp.{who}_mlp.gate_proj.weight": (96, 64), f"mlp.{who}_mlp.up_proj.weight": (96, 64),
            f"mlp.{who}_mlp.down_proj.weight": (64, 96)}))
    t["model.vision.patch_embedding.proj.weight"] = (32, 3, 2, 2)
    return c, t


@model("talkie")
def _():
    c = base("TalkieForCausalLM", "talkie", head_dim=16, num_key_value_heads=4)
    t = blocks("model.blocks.", 2, {
        "attn.attn_query.weight": (64, 64), "attn.attn_key.weight": (64, 64), "attn.attn_value.weight": (64, 64),
        "attn.attn_resid.weight": (64, 64), "attn.head_gain.head_g": (4,), "attn_gain.a_g": (1,), "mlp_gain.a_g": (1,),
        "embed_skip.a_g": (1,), "mlp.mlp_gate.weight": (96, 64), "mlp.mlp_linear.weight": (96, 64),
        "mlp.mlp_resid.weight": (64, 96)})
    return c, ends(t, model__embed__weight=(320, 64), lm_head=(320, 64), lm_head_gain__w_g=(1,))


@model("grok")
def _():
    c = base("Grok1ForCausalLM", "git", num_local_experts=4, num_experts_per_tok=2, moe_intermediate_size=32,
             embedding_multiplier_scale=78.38, output_multiplier_scale=0.577, attn_output_multiplier=0.08838,
             router_logit_softcapping=30.0, final_logit_softcapping=50, rope_type="original", scaling_factor=16.0,
             original_max_position_embeddings=128, extrapolation_factor=1.0, attn_factor=1.0, beta_fast=8, beta_slow=1,
             attn_temperature_len=1024)
    t = {k: v for k, v in dense(c).items() if "layernorm" not in k}
    t.update(blocks("model.layers.", 2, {
        "pre_attn_norm.weight": (64,), "post_attn_norm.weight": (64,), "pre_moe_norm.weight": (64,),
        "post_moe_norm.weight": (64,), "block_sparse_moe.gate.weight": (4, 64)}))
    for e in range(4):
        t.update(blocks("model.layers.", 2, {
            f"block_sparse_moe.experts.{e}.w1.weight": (32, 64), f"block_sparse_moe.experts.{e}.w2.weight": (64, 32),
            f"block_sparse_moe.experts.{e}.w3.weight": (32, 64)}))
    return c, t


@model("sarvam", dtypes={f"model.layers.{i}.mlp.gate.expert_bias": "F32" for i in (0, 1)})
def _():
    c = base("SarvamMoEForCausalLM", "sarvam_moe", head_dim=16, num_experts=4, num_experts_per_tok=2,
             moe_intermediate_size=32, num_shared_experts=1, first_k_dense_replace=1, routed_scaling_factor=2.5,
             norm_topk_prob=True, n_group=1, topk_group=1, score_function="sigmoid", num_nextn_predict_layers=0)
    t = {k: v for k, v in dense(c).items() if "self_attn" not in k and "embed" not in k}
    t = experts(t, c, 4, 32, layers=(1,))
    t.update(blocks("model.layers.", 2, {
        "attention.query_key_value.weight": (128, 64), "attention.dense.weight": (64, 64),
        "attention.query_layernorm.weight": (16,), "attention.key_layernorm.weight": (16,)}))
    p = "model.layers.1.mlp."
    t.update({p + "gate.expert_bias": (4,), p + "shared_experts.gate_proj.weight": (32, 64),
              p + "shared_experts.up_proj.weight": (32, 64), p + "shared_experts.down_proj.weight": (64, 32)})
    return c, ends(t, model__word_embeddings__weight=(320, 64))


@model("deepseek-ocr")
def _():
    c = base("DeepseekOCRForCausalLM", "deepseek_v2", num_key_value_heads=4, n_routed_experts=4, n_shared_experts=1,
             num_experts_per_tok=2, moe_intermediate_size=32, first_k_dense_replace=1, q_lora_rank=None,
             qk_rope_head_dim=16, qk_nope_head_dim=0, v_head_dim=16, rope_theta=None, sliding_window=128)
    t = experts(dense(c), c, 4, 32, layers=(1,))
    p = "model.layers.1.mlp.shared_experts."
    t.update({p + "gate_proj.weight": (32, 64), p + "up_proj.weight": (32, 64), p + "down_proj.weight": (64, 32),
              "model.sam_model.neck.0.weight": (32, 32), "model.projector.layers.weight": (64, 32)})
    text = {k: v for k, v in c.items() if k != "architectures"}
    return dict(architectures=c["architectures"], model_type="DeepseekOCR", language_config=text), t


INDEXER = {"index_n_heads": 4, "index_head_dim": 128, "index_topk": 64}


@model("deepseek-v32")
def _():
    c, t = deepseek2("DeepseekV32ForCausalLM", "deepseek_v32", n_group=2, topk_group=1, scoring_func="sigmoid",
                     topk_method="noaux_tc", num_nextn_predict_layers=1, **INDEXER)
    layer = {k.replace("layers.1.", "layers.2."): v for k, v in t.items() if ".layers.1." in k}
    t.update(layer)
    for i in range(3):
        p = f"model.layers.{i}.self_attn.indexer."
        t.update({p + "k_norm.weight": (128,), p + "k_norm.bias": (128,), p + "weights_proj.weight": (4, 64),
                  p + "wk.weight": (128, 64), p + "wq_b.weight": (512, 32)})
    for i in (1, 2):
        t[f"model.layers.{i}.mlp.gate.e_score_correction_bias"] = (4,)
    p = "model.layers.2."
    t.update({p + "eh_proj.weight": (64, 128), p + "enorm.weight": (64,), p + "hnorm.weight": (64,),
              p + "embed_tokens.weight": (320, 64), p + "shared_head.head.weight": (320, 64),
              p + "shared_head.norm.weight": (64,)})
    return c, t


@model("mistral4")
def _():
    c, t = deepseek2("Mistral3ForConditionalGeneration", "mistral4", n_group=1, topk_group=1, rope_theta=None, head_dim=24,
                     rope_parameters=dict(rope_type="yarn", rope_theta=10000.0, factor=128.0, beta_fast=32.0,
                                          beta_slow=1.0, mscale=1.0, mscale_all_dim=1.0,
                                          original_max_position_embeddings=128, llama_4_scaling_beta=0.1))
    t = {k: v for k, v in t.items() if ".experts." not in k}
    t.update({"model.layers.1.mlp.experts.gate_up_proj": (4, 64, 64), "model.layers.1.mlp.experts.down_proj": (4, 64, 32)})
    t = {"language_model." + k: v for k, v in t.items()}
    t["vision_tower.patch_conv.weight"] = (32, 3, 2, 2)
    return inside(c, model_type="mistral3"), t


@model("hunyuan-vl")
def _():
    c = base("HunYuanVLForConditionalGeneration", "hunyuan_vl", head_dim=16, num_experts=1, tie_word_embeddings=True, rope_theta=10000.0,
             rope_scaling=dict(type="xdrope", rope_type="xdrope", alpha=1000.0, factor=1.0, xdrope_section=[2, 2, 2, 2]))
    t = dense(c, head=False)
    t.update(blocks("model.layers.", 2, {"self_attn.query_layernorm.weight": (16,), "self_attn.key_layernorm.weight": (16,)}))
    t["vit.embeddings.patch_embedding.weight"] = (32, 3, 2, 2)
    return c, t


def glm4(architecture, model_type, bias=True, **more):
    c = base(architecture, model_type, head_dim=16, rope_theta=None, rms_norm_eps=1e-5,
             rope_parameters=dict(rope_type="default", rope_theta=10000.0, partial_rotary_factor=0.5,
                                  mrope_section=[1, 1, 2]), **more)
    t = {k: v for k, v in dense(c, bias=bias).items() if "gate_proj" not in k and "up_proj" not in k}
    t.update(blocks("model.layers.", 2, {
        "mlp.gate_up_proj.weight": (192, 64), "post_self_attn_layernorm.weight": (64,),
        "post_mlp_layernorm.weight": (64,)}))
    return c, t


@model("glm4v")
def _():
    c, t = glm4("Glm4vForConditionalGeneration", "glm4v_text")
    t = {k.replace("model.", "model.language_model."): v for k, v in t.items()}
    t["model.visual.patch_embed.proj.weight"] = (32, 3, 2, 2)
    return inside(c, model_type="glm4v"), t


@model("glm-ocr")
def _():
    c, t = glm4("GlmOcrForConditionalGeneration", "glm_ocr_text", bias=False, num_nextn_predict_layers=1)
    t = {k.replace("model.", "model.language_model."): v for k, v in t.items()}
    last = {k.replace("layers.1.", "layers.2."): v for k, v in t.items() if ".layers.1." in k}
    p = "model.language_model.layers.2."
    t.update({**last, p + "eh_proj.weight": (64, 128), p + "enorm.weight": (64,), p + "hnorm.weight": (64,),
              p + "shared_head.norm.weight": (64,)})
    return inside(c, model_type="glm_ocr"), t


@model("exaone45")
def _():
    c, t = MODELS["exaone4"][0]()
    c.update(architectures=["Exaone4_5_ForConditionalGeneration"], num_nextn_predict_layers=1)
    layer = {k.replace("model.layers.1.", "mtp.layers.0."): v for k, v in t.items() if "layers.1." in k}
    t.update({**layer, "mtp.fc.weight": (64, 128), "mtp.norm.weight": (64,), "mtp.pre_fc_norm_embedding.weight": (64,),
              "mtp.pre_fc_norm_hidden.weight": (64,), "model.visual.merger.weight": (32, 32)})
    return c, t


@model("minicpmv46")
def _():
    c, t = linear("MiniCPMV4_6ForConditionalGeneration", "qwen3_5_text")
    t = {k.replace("model.", "model.language_model."): v for k, v in t.items()}
    t.update({"model.merger.mlp.weight": (32, 32), "mtp.fc.weight": (64, 128)})
    return inside(c, model_type="minicpmv4_6"), t


@model("lfm2-encoder")
def _():
    c, t = MODELS["lfm2"][0]()
    c["architectures"] = ["Lfm2BidirectionalModel"]
    return c, {k.replace("model.", "", 1): v for k, v in t.items()}


@model("gemma4-assistant", files=WORDS)
def _():
    c, t = gemma4(backbone_hidden_size=128)
    c["architectures"], c["moe_intermediate_size"] = ["Gemma4AssistantForCausalLM"], None
    lacking = ("k_proj", "v_proj", "k_norm", "per_layer")
    t = {k: v for k, v in t.items() if not any(x in k for x in lacking)}
    return c, ends(t, pre_projection__weight=(64, 256), post_projection__weight=(128, 64),
                   masked_embedding__centroids__weight=(8, 64))


@model("sarashina2")
def _():
    c = base("LlamaForCausalLM", "llama", head_dim=16)
    t = {"llm." + k: v for k, v in dense(c).items()}
    t.update({"norm.weight": (64,), "visual.patch_embed.weight": (32, 3, 2, 2)})
    return dict(architectures=["Sarashina2VisionForCausalLM"], model_type="sarashina2_vision", text_config=c), t


@model("janus")
def _():
    c = base("JanusForConditionalGeneration", "llama", head_dim=16)
    t = {k.replace("model.", "model.language_model."): v for k, v in dense(c).items()}
    t.update({"model.aligner.fc1.weight": (64, 64), "model.vqmodel.quantize.weight": (32, 8),
              "model.generation_head.proj_out.weight": (64, 64), "model.vision_model.embeddings.weight": (32, 32)})
    return inside(c, model_type="janus"), t


@model("jina-v3")
def _():
    c = base("XLMRobertaModel", "xlm-roberta", rms_norm_eps=None, rope_theta=None, num_key_value_heads=None,
             layer_norm_eps=1e-5, type_vocab_size=1, pad_token_id=1, rotary_emb_base=20000.0,
             lora_adaptations=["retrieval.query", "text-matching"], lora_alpha=1, lora_rank=4)
    t = {}
    weights = {"embeddings.word_embeddings": (320, 64), "embeddings.token_type_embeddings": (1, 64)}
    t.update({"emb_ln.weight": (64,), "emb_ln.bias": (64,), "pooler.dense.bias": (64,)})
    for i in range(2):
        p = f"encoder.layers.{i}."
        for name, shape in (("mixer.Wqkv", (192, 64)), ("mixer.out_proj", (64, 64)), ("mlp.fc1", (96, 64)),
                            ("mlp.fc2", (64, 96))):
            weights[p + name] = shape
            t[p + name + ".bias"] = shape[:1]
        for x in ("norm1", "norm2"):
            t[p + x + ".weight"], t[p + x + ".bias"] = (64,), (64,)
    for name, (rows, cols) in weights.items():
        p = name + ".parametrizations.weight."
        t.update({p + "original": (rows, cols), p + "0.lora_A": (2, 4, cols), p + "0.lora_B": (2, rows, 4)})
    return dict(c, architectures=["XLMRobertaModel"]), t


@model("wavtokenizer", dtype="F32")
def _():
    c = dict(architectures=["WavTokenizerDec"], model_type="wavtokenizer", hidden_size=64, n_embd_features=32, n_ff=96,
             vocab_size=64, n_head=1, layer_norm_epsilon=1e-6, group_norm_epsilon=1e-6, group_norm_groups=32,
             max_position_embeddings=512, n_layer=2, posnet=dict(n_embd=64, n_layer=2),
             convnext=dict(n_embd=64, n_layer=2))
    t = {"token_embd.weight": (64, 32), "backbone.embed.weight": (64, 32, 7), "backbone.embed.bias": (1, 64),
         "backbone.norm.weight": (64,), "backbone.norm.bias": (64,), "backbone.final_layer_norm.weight": (64,),
         "backbone.final_layer_norm.bias": (64,), "head.out.weight": (66, 64), "head.out.bias": (66,)}
    for i in range(2):
        p = f"backbone.convnext.{i}."
        t.update({p + "dwconv.weight": (64, 1, 7), p + "dwconv.bias": (1, 64), p + "norm.weight": (64,),
                  p + "norm.bias": (64,), p + "pwconv1.weight": (96, 64), p + "pwconv1.bias": (96,),
                  p + "pwconv2.weight": (64, 96), p + "pwconv2.bias": (64,), p + "gamma": (64,)})
    p = "backbone.posnet."
    t.update({p + "0.norm1.weight": (64, 1), p + "0.norm1.bias": (64, 1), p + "0.conv1.weight": (64, 64, 3),
              p + "0.conv1.bias": (1, 64), p + "0.norm2.weight": (64, 1), p + "0.norm2.bias": (64, 1),
              p + "0.conv2.weight": (64, 64, 3), p + "0.conv2.bias": (1, 64), p + "1.norm.weight": (64, 1),
              p + "1.norm.bias": (64, 1)})
    for x in ("q", "k", "v", "proj_out"):
        t.update({p + f"1.{x}.weight": (64, 64, 1), p + f"1.{x}.bias": (1, 64)})
    t["quantizer.codebook.cluster_size"] = (64,)
    return c, t
