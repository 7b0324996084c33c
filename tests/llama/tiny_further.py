# SPDX-License-Identifier: MIT
"""Tiny models of classes that share an architecture with others, and of some older ones."""
from tiny_newer import WORDS
from tiny_others import deepseek2
from tiny_parts import MODELS, base, blocks, dense, ends, experts, model
from tiny_rare import INDEXER


# ---- latent attention -----------------------------------------------------------------------------------

def nextn(t, layer=2):
    """A layer after the others that predicts one more token."""
    last = {k.replace(f"layers.{layer - 1}.", f"layers.{layer}."): v for k, v in t.items() if f".layers.{layer - 1}." in k}
    p = f"model.layers.{layer}."
    t.update({**last, p + "eh_proj.weight": (64, 128), p + "enorm.weight": (64,), p + "hnorm.weight": (64,),
              p + "shared_head.norm.weight": (64,), p + "shared_head.head.weight": (320, 64),
              p + "embed_tokens.weight": (320, 64)})
    return t


@model("glm4moelite")
def _():
    c, t = deepseek2("Glm4MoeLiteForCausalLM", "glm4_moe_lite", n_group=1, topk_group=1, num_nextn_predict_layers=0)
    t["model.layers.1.mlp.gate.e_score_correction_bias"] = (4,)
    return c, t


@model("glm-dsa")
def _():
    c, t = deepseek2("GlmMoeDsaForCausalLM", "glm_moe_dsa", n_group=1, topk_group=1, num_nextn_predict_layers=1,
                     scoring_func="sigmoid", **INDEXER,
                     indexer_types=["full", "shared"])
    for i in (0, 1):
        p = f"model.layers.{i}.self_attn.indexer."
        t.update({p + "wq_b.weight": (512, 32), p + "wk.weight": (128, 64), p + "k_norm.weight": (128,), p + "k_norm.bias": (128,),
                  p + "weights_proj.weight": (4, 64)})
    t["model.layers.1.mlp.gate.e_score_correction_bias"] = (4,)
    return c, nextn(t)


@model("plm")
def _():
    c = base("PLMForCausalLM", "plm", num_key_value_heads=4, kv_lora_rank=32, qk_nope_head_dim=16, qk_rope_head_dim=8,
             v_head_dim=16)
    t = {k: v for k, v in dense(c, head=False, gate=False).items() if "self_attn" not in k}
    t.update(blocks("model.layers.", 2, {
        "self_attn.q_proj.weight": (96, 64), "self_attn.kv_a_proj_with_mqa.weight": (40, 64),
        "self_attn.kv_a_layernorm.weight": (32,), "self_attn.kv_b_proj.weight": (128, 32),
        "self_attn.o_proj.weight": (64, 64)}))
    return c, t


@model("minicpm3")
def _():
    c = base("MiniCPM3ForCausalLM", "minicpm3", num_key_value_heads=4, q_lora_rank=32, kv_lora_rank=32,
             qk_nope_head_dim=16, qk_rope_head_dim=8, v_head_dim=16,
             rope_scaling=dict(type="longrope", long_factor=[1.0, 1.5, 2.0, 4.0], short_factor=[1.0, 1.1, 1.2, 1.3],
                               original_max_position_embeddings=256))
    t = {k: v for k, v in dense(c, head=False).items() if "self_attn" not in k}
    t.update(blocks("model.layers.", 2, {
        "self_attn.q_a_proj.weight": (32, 64), "self_attn.q_a_layernorm.weight": (32,),
        "self_attn.q_b_proj.weight": (96, 32), "self_attn.kv_a_proj_with_mqa.weight": (40, 64),
        "self_attn.kv_a_layernorm.weight": (32,), "self_attn.kv_b_proj.weight": (128, 32),
        "self_attn.o_proj.weight": (64, 64)}))
    return c, t


# ---- dense ----------------------------------------------------------------------------------------------

@model("cohere2")
def _():
    c = base("Cohere2ForCausalLM", "cohere2", rms_norm_eps=None, layer_norm_eps=1e-5, logit_scale=0.25, head_dim=16,
             sliding_window=64, rotary_pct=1.0)
    t = {k: v for k, v in dense(c, head=False).items() if "post_attention_layernorm" not in k}
    return c, t


@model("hunyuan-dense")
def _():
    c = base("HunYuanDenseV1ForCausalLM", "hunyuan_v1_dense", head_dim=16, max_position_embeddings=32768,
             rope_scaling=dict(type="dynamic", alpha=1000.0, factor=1.0), tie_word_embeddings=True)
    t = {k.replace("q_norm", "query_layernorm").replace("k_norm", "key_layernorm"): v
         for k, v in dense(c, qk_norm=True, head=False).items()}
    return c, t


def without_model(name, architecture, **more):
    """The names of a model without a head."""
    c, t = MODELS[name][0]()
    c.update(architectures=[architecture], **more)
    return c, {k.replace("model.", "", 1): v for k, v in t.items() if k != "lm_head.weight"}


@model("llama-model")
def _():
    return without_model("llama", "LlamaModel", rope_scaling=None)


@model("llama-embed")
def _():
    return without_model("llama", "LlamaBidirectionalModel", is_causal=False)


@model("qwen2-model")
def _():
    return without_model("qwen2", "Qwen2Model")


@model("qwen3-model")
def _():
    return without_model("qwen3", "Qwen3Model")


@model("lfm2-model")
def _():
    return without_model("lfm2", "Lfm2Model")


@model("embeddinggemma", files=WORDS)
def _():
    c, t = MODELS["gemma3"][0]()
    c = dict(c, architectures=["Gemma3TextModel"], sliding_window=64, use_bidirectional_attention=True, num_hidden_layers=6,
             query_pre_attn_scalar=32)
    layer = {k: v for k, v in t.items() if ".layers.1." in k}
    for i in range(2, 6):
        t.update({k.replace(".layers.1.", f".layers.{i}."): v for k, v in layer.items()})
    return c, {k.replace("model.", "", 1): v for k, v in t.items() if k != "lm_head.weight"}


@model("rugpt3")
def _():
    c = base("RuGPT3XLForCausalLM", "rugpt3xl", num_key_value_heads=4, rms_norm_eps=None, layer_norm_eps=1e-5,
             intermediate_size=256)
    t = blocks("model.layers.", 2, {
        "input_layernorm@": (64,), "post_attention_layernorm@": (64,), "self_attn.q_proj@": (64, 64),
        "self_attn.k_proj@": (64, 64), "self_attn.v_proj@": (64, 64), "self_attn.o_proj@": (64, 64),
        "mlp.up_proj@": (256, 64), "mlp.down_proj@": (64, 256)})
    return c, ends(t, model__embed_tokens__weight=(320, 64), model__embed_positions__weight=(512, 64),
                   model__norm__weight=(64,), model__norm__bias=(64,), lm_head__weight=(320, 64))


@model("codeshell")
def _():
    c = dict(architectures=["CodeShellForCausalLM"], model_type="codeshell", vocab_size=320, n_positions=512, n_embd=64,
             n_layer=2, n_head=4, num_query_groups=2, layer_norm_epsilon=1e-5)
    t = blocks("transformer.h.", 2, {
        "ln_1@": (64,), "ln_2@": (64,), "attn.c_attn@": (128, 64), "attn.c_proj@": (64, 64), "mlp.c_fc@": (256, 64),
        "mlp.c_proj@": (64, 256)})
    return c, ends(t, transformer__wte__weight=(320, 64), transformer__ln_f__weight=(64,), transformer__ln_f__bias=(64,),
                   lm_head__weight=(320, 64))


@model("refact")
def _():
    c = dict(architectures=["GPTRefactForCausalLM"], model_type="gpt_refact", vocab_size=320, n_positions=512, n_embd=64,
             n_layer=2, n_head=4, layer_norm_epsilon=1e-5)
    t = blocks("transformer.h.", 2, {
        "ln_1.weight": (64,), "ln_2.weight": (64,), "attn.q.weight": (64, 64), "attn.kv.weight": (32, 64),
        "attn.c_proj.weight": (64, 64), "mlp.gate_up_proj.weight": (512, 64), "mlp.c_proj.weight": (64, 256)})
    return c, ends(t, transformer__wte__weight=(320, 64), transformer__ln_f__weight=(64,), lm_head__weight=(320, 64))


# ---- classifiers ----------------------------------------------------------------------------------------

LABELS = {"0": "no", "1": "maybe", "2": "yes"}


@model("bert-classes", dtype="F32")
def _():
    c, t = MODELS["bert"][0]()
    t = {"bert." + k: v for k, v in t.items() if "pooler" not in k}
    return dict(c, architectures=["BertForSequenceClassification"], id2label=LABELS), \
        dict(t, **{"classifier.weight": (3, 64), "classifier.bias": (3,)})


@model("roberta-classes", dtype="F32")
def _():
    c, t = MODELS["roberta"][0]()
    t = {k: v for k, v in t.items() if "pooler" not in k}
    return dict(c, architectures=["RobertaForSequenceClassification"], id2label=LABELS), \
        dict(t, **{"classifier.dense.weight": (64, 64), "classifier.dense.bias": (64,), "classifier.out_proj.weight": (3, 64),
                   "classifier.out_proj.bias": (3,)})


@model("distilbert-classes", dtype="F32")
def _():
    c, t = MODELS["distilbert"][0]()
    t = {"distilbert." + k: v for k, v in t.items()}
    return dict(c, architectures=["DistilBertForSequenceClassification"], id2label=LABELS), \
        dict(t, **{"pre_classifier.weight": (64, 64), "pre_classifier.bias": (64,), "classifier.weight": (3, 64),
                   "classifier.bias": (3,)})


# ---- experts --------------------------------------------------------------------------------------------

@model("granitemoe-plain")
def _():
    c, t = MODELS["granitemoe"][0]()
    c.update(architectures=["GraniteMoeForCausalLM"], model_type="granitemoe")
    c.pop("shared_intermediate_size", None)
    return c, {k: v for k, v in t.items() if "shared_mlp" not in k}


@model("bailingmoe2")
def _():
    c = base("BailingMoeV2ForCausalLM", "bailing_moe_v2", head_dim=16, num_experts=4, num_experts_per_tok=2,
             num_shared_experts=1, moe_intermediate_size=32, first_k_dense_replace=1, routed_scaling_factor=2.5,
             norm_topk_prob=True, n_group=1, topk_group=1, score_function="sigmoid", partial_rotary_factor=0.5)
    t = {k: v for k, v in experts(dense(c), c, 4, 32, layers=(1,)).items() if "self_attn" not in k}
    t = {k.replace("model.embed_tokens", "model.word_embeddings"): v for k, v in t.items()}
    t.update(blocks("model.layers.", 2, {
        "attention.query_key_value.weight": (128, 64), "attention.dense.weight": (64, 64),
        "attention.query_layernorm.weight": (16,), "attention.key_layernorm.weight": (16,)}))
    p = "model.layers.1.mlp."
    t.update({p + "shared_experts.gate_proj.weight": (32, 64), p + "shared_experts.up_proj.weight": (32, 64),
              p + "shared_experts.down_proj.weight": (64, 32), p + "gate.expert_bias": (4,)})
    return c, t


@model("phimoe")
def _():
    c = base("PhiMoEForCausalLM", "phimoe", rms_norm_eps=1e-5, num_local_experts=4, num_experts_per_tok=2,
             original_max_position_embeddings=512, attention_bias=True, lm_head_bias=True)
    t = dense(c, bias=True)
    t = experts(t, c, 4, 96, names=("w1", "w3", "w2"), block="block_sparse_moe")
    t.update({"lm_head.bias": (320,), "model.norm.bias": (64,)})
    for i in range(2):
        p = f"model.layers.{i}."
        t.update({p + "input_layernorm.bias": (64,), p + "post_attention_layernorm.bias": (64,),
                  p + "self_attn.o_proj.bias": (64,)})
    return c, t


@model("dbrx")
def _():
    c = dict(architectures=["DbrxForCausalLM"], model_type="dbrx", vocab_size=320, d_model=64, n_heads=4, n_layers=2,
             max_seq_len=512, attn_config=dict(kv_n_heads=2, rope_theta=500000.0, clip_qkv=8.0),
             ffn_config=dict(ffn_hidden_size=96, moe_num_experts=4, moe_top_k=2))
    t = blocks("transformer.blocks.", 2, {
        "norm_attn_norm.attn.Wqkv.weight": (128, 64), "norm_attn_norm.attn.out_proj.weight": (64, 64),
        "norm_attn_norm.norm_1.weight": (64,), "norm_attn_norm.norm_2.weight": (64,),
        "ffn.router.layer.weight": (4, 64), "ffn.experts.mlp.w1": (384, 64), "ffn.experts.mlp.v1": (384, 64),
        "ffn.experts.mlp.w2": (384, 64)})
    return c, ends(t, transformer__wte__weight=(320, 64), transformer__norm_f__weight=(64,), lm_head__weight=(320, 64))


@model("llama4")
def _():
    c = base("Llama4ForCausalLM", "llama4_text", num_hidden_layers=4, head_dim=16, intermediate_size=64, intermediate_size_mlp=96,
             num_local_experts=4, num_experts_per_tok=1, interleave_moe_layer_step=2, rope_theta=500000.0)
    t = {k: v for k, v in dense(c).items() if ".mlp." not in k}
    for i in range(4):
        p = f"model.layers.{i}.feed_forward."
        if i % 2:
            t.update({p + "router.weight": (4, 64), p + "experts.gate_up_proj": (4, 64, 128),
                      p + "experts.down_proj": (4, 64, 64)})
        q, rows = (p + "shared_expert.", 64) if i % 2 else (p, 96)
        t.update({q + "gate_proj.weight": (rows, 64), q + "up_proj.weight": (rows, 64), q + "down_proj.weight": (64, rows)})
    return c, t


@model("arctic")
def _():
    c = base("ArcticForCausalLM", "arctic", num_local_experts=4, num_experts_per_tok=2)
    t = {k: v for k, v in dense(c).items() if ".mlp." not in k}
    t.update(blocks("model.layers.", 2, {
        "residual_layernorm.weight": (64,), "residual_mlp.w1.weight": (64, 64), "residual_mlp.w2.weight": (64, 64),
        "residual_mlp.w3.weight": (64, 64)}))
    return c, experts(t, c, 4, 96, names=("w1", "w3", "w2"), block="block_sparse_moe")


# ---- RWKV -----------------------------------------------------------------------------------------------

@model("arwkv7")
def _():
    c = dict(architectures=["RwkvHybridForCausalLM"], model_type="rwkv_hybrid", vocab_size=320, hidden_size=64,
             num_hidden_layers=2, head_size=16, rms_norm_eps=1e-6, intermediate_size=96, wkv_has_gate=False, wkv_version=7)
    low = {}
    for x, rank in (("w", 64), ("a", 64)):
        low.update({f"self_attn.time_mixer.{x}0": (1, 1, 64), f"self_attn.time_mixer.{x}1": (64, rank),
                    f"self_attn.time_mixer.{x}2": (rank, 64)})
    t = blocks("model.layers.", 2, {
        **low, **{f"self_attn.time_mixer.x_{x}": (1, 1, 64) for x in "rwkva"},
        "self_attn.time_mixer.k_k": (1, 1, 64), "self_attn.time_mixer.k_a": (1, 1, 64),
        "self_attn.time_mixer.r_k": (4, 16), "self_attn.time_mixer.receptance.weight": (64, 64),
        "self_attn.time_mixer.key.weight": (64, 64), "self_attn.time_mixer.value.weight": (64, 64),
        "self_attn.time_mixer.output.weight": (64, 64), "input_layernorm.weight": (64,),
        "post_attention_layernorm.weight": (64,), "mlp.gate_proj.weight": (96, 64), "mlp.up_proj.weight": (96, 64),
        "mlp.down_proj.weight": (64, 96)})
    p = "model.layers.1.self_attn.time_mixer.v"
    t.update({p + "0": (1, 1, 64), p + "1": (64, 32), p + "2": (32, 64)})
    return c, ends(t, model__embed_tokens__weight=(320, 64), model__norm__weight=(64,), lm_head__weight=(320, 64))
