# SPDX-License-Identifier: MIT
"""Tiny models that see and hear: Qwen 2.5 Omni, Qwen 3 Omni, and Qwen 3 ASR; Gemma 4."""
from tiny_parts import base, blocks, dense, model
from tiny_towers import HALF, INNER, TEXT, WIDTH, hears, processor, qwen3_tower, qwen3_vision, qwen_frames, whole


def thinking(c, architecture, **more):
    """config.json of a model whose parts are those of its thinker."""
    inner = {k: v for k, v in c.items() if k not in ("architectures", "torch_dtype")}
    return {"architectures": [architecture], "model_type": c["model_type"], "torch_dtype": "bfloat16",
            "thinker_config": dict(text_config=inner, **more)}


def hearing(p, shapes, n=4):
    t = blocks(p + "layers.", n, {
        "self_attn.q_proj@": (WIDTH, WIDTH), "self_attn.k_proj@": (WIDTH, WIDTH), "self_attn.v_proj@": (WIDTH, WIDTH),
        "self_attn.out_proj@": (WIDTH, WIDTH), "self_attn_layer_norm@": (WIDTH,), "final_layer_norm@": (WIDTH,),
        "fc1@": (INNER, WIDTH), "fc2@": (WIDTH, INNER), })
    for name, shape in dict(shapes, ln_post=(WIDTH,)).items():
        t[f"{p}{name}.weight"], t[f"{p}{name}.bias"] = shape, shape[:1]
    return t


@model("qwen2.5-omni", tower=True, text=False, files=processor())
def _():
    c = base("Qwen2_5OmniModel", "qwen2_5_omni", rope_scaling=dict(type="mrope", mrope_section=[2, 3, 3]))
    t = {"thinker." + k: v for k, v in dense(c, bias=True).items()}
    p = "thinker.visual."
    t.update(blocks(p + "blocks.", 4, {
        "attn.qkv@": (3 * WIDTH, WIDTH), "attn.proj@": (WIDTH, WIDTH), "norm1.weight": (WIDTH,),
        "norm2.weight": (WIDTH,), "mlp.gate_proj@": (INNER, WIDTH), "mlp.up_proj@": (INNER, WIDTH),
        "mlp.down_proj@": (WIDTH, INNER)}))
    t[p + "merger.ln_q.weight"] = (WIDTH,)
    for i, rows in ((0, 4 * WIDTH), (2, TEXT)):
        t[f"{p}merger.mlp.{i}.weight"], t[f"{p}merger.mlp.{i}.bias"] = (rows, 4 * WIDTH), (rows,)
    q = "thinker.audio_tower."
    t.update(hearing(q, dict(conv1=(WIDTH, 128, 3), conv2=(WIDTH, WIDTH, 3), proj=(TEXT, WIDTH))))
    t[q + "audio_bos_eos_token.weight"] = (2, TEXT)
    t["talker.model.norm.weight"] = t["token2wav.code2wav_dit_model.norm_out.linear.bias"] = (TEXT,)
    v = dict(model_type="qwen2_5_omni_vision_encoder", depth=4, hidden_size=WIDTH, intermediate_size=INNER,
             num_heads=4, patch_size=14, spatial_merge_size=2, temporal_patch_size=2, out_hidden_size=TEXT,
             window_size=56, fullatt_block_indexes=[1, 3])
    return thinking(c, "Qwen2_5OmniModel", vision_config=v, audio_config=hears("qwen2_5_omni_audio_encoder")), \
        qwen_frames(t, p, 14)


CONVOLUTIONS = dict(conv2d1=(WIDTH, 1, 3, 3), conv2d2=(WIDTH, WIDTH, 3, 3), conv2d3=(WIDTH, WIDTH, 3, 3),
                    proj1=(WIDTH, WIDTH), proj2=(TEXT, WIDTH))


def qwen3(architecture, model_type):
    c = base(architecture, model_type, head_dim=16, rope_scaling=dict(mrope_section=[3, 3, 2]))
    t = {"thinker." + k: v for k, v in dense(c, qk_norm=True).items()}
    t.update(hearing("thinker.audio_tower.", CONVOLUTIONS, 5))
    t["thinker.audio_tower.conv_out.weight"] = (WIDTH, 16 * WIDTH)
    return c, t


@model("gemma3n-senses", tower=True, text=False, dtype="F16",
       files={"preprocessor_config.json": dict(size=dict(height=768, width=768), image_seq_length=256)})
def _():
    c = base("Gemma3nForCausalLM", "gemma3n_text", head_dim=16)
    t = {"model.language_model." + k.replace("model.", "", 1): v for k, v in dense(c, head=False).items()}
    p = "model.vision_tower.timm_model."
    stages = {
        "0.0": {"conv_exp": (64, 32, 3, 3), "bn1": (64,), "conv_pwl": (32, 64, 1, 1), "bn2": (32,)},
        "1.0": {"dw_start.conv": (32, 1, 3, 3), "dw_start.bn": (32,), "pw_exp.conv": (64, 32, 1, 1), "pw_exp.bn": (64,),
                "dw_mid.conv": (64, 1, 5, 5), "dw_mid.bn": (64,), "pw_proj.conv": (32, 64, 1, 1), "pw_proj.bn": (32,)},
        "2.0": {"pw_exp.conv": (64, 32, 1, 1), "pw_exp.bn": (64,), "pw_proj.conv": (32, 64, 1, 1), "pw_proj.bn": (32,)},
        "2.1": {"norm": (32,), "attn.query.proj": (64, 32, 1, 1), "attn.key.proj": (16, 32, 1, 1),
                "attn.value.proj": (16, 32, 1, 1), "attn.output.proj": (32, 64, 1, 1), "attn.key.down_conv": (32, 1, 3, 3),
                "attn.key.norm": (32,), "attn.value.down_conv": (32, 1, 3, 3), "attn.value.norm": (32,)},
        "3.0": {"norm": (32,), "attn.query.proj": (64, 32, 1, 1), "attn.key.proj": (16, 32, 1, 1),
                "attn.value.proj": (16, 32, 1, 1), "attn.output.proj": (32, 64, 1, 1)}}
    for block, shapes in stages.items():
        t.update({f"{p}blocks.{block}.{name}.weight": shape for name, shape in shapes.items()})
        t[f"{p}blocks.{block}.layer_scale.gamma"] = (32,)
    t.update({p + "conv_stem.conv.weight": (32, 3, 3, 3), p + "conv_stem.conv.bias": (32,), p + "conv_stem.bn.weight": (32,),
              p + "msfa.ffn.pw_exp.conv.weight": (64, 64, 1, 1), p + "msfa.ffn.pw_exp.bn.weight": (64,),
              p + "msfa.ffn.pw_proj.conv.weight": (TEXT, 64, 1, 1), p + "msfa.ffn.pw_proj.bn.weight": (TEXT,),
              p + "msfa.norm.weight": (TEXT,)})
    for name, wide in (("embed_vision", TEXT), ("embed_audio", WIDTH)):
        q = f"model.{name}."
        t.update({q + "embedding.weight": (128, wide), q + "hard_embedding_norm.weight": (wide,),
                  q + "soft_embedding_norm.weight": (wide,), q + "embedding_projection.weight": (TEXT, wide)})
    q = "model.audio_tower."
    t.update(blocks(q + "conformer.", 2, {
        "attention.attn.q_proj.weight": (WIDTH, WIDTH), "attention.attn.k_proj.weight": (WIDTH, WIDTH),
        "attention.attn.v_proj.weight": (WIDTH, WIDTH), "attention.attn.per_dim_scale": (8,),
        "attention.attn.relative_position_embedding.pos_proj.weight": (WIDTH, WIDTH),
        "attention.pre_attn_norm.weight": (WIDTH,), "attention.post.weight": (WIDTH, WIDTH),
        "attention.post_norm.weight": (WIDTH,), "norm.weight": (WIDTH,), "lconv1d.pre_layer_norm.weight": (WIDTH,),
        "lconv1d.linear_start.weight": (2 * WIDTH, WIDTH), "lconv1d.depthwise_conv1d.weight": (WIDTH, 1, 5),
        "lconv1d.conv_norm.weight": (WIDTH,), "lconv1d.linear_end.weight": (WIDTH, WIDTH),
        **{f"ffw_layer_{x}.{name}": shape for x in ("start", "end") for name, shape in (
            ("pre_layer_norm.weight", (WIDTH,)), ("post_layer_norm.weight", (WIDTH,)),
            ("ffw_layer_1.weight", (4 * WIDTH, WIDTH)), ("ffw_layer_2.weight", (WIDTH, 4 * WIDTH)))}}))
    s = q + "subsample_conv_projection."
    t.update({s + "conv_0.conv.weight": (128, 1, 3, 3), s + "conv_0.norm.weight": (128,),
              s + "conv_1.conv.weight": (32, 128, 3, 3), s + "conv_1.norm.weight": (32,),
              s + "input_proj_linear.weight": (WIDTH, 32 * WIDTH)})
    config = whole(c, "Gemma3nForConditionalGeneration", "gemma3n",
                   dict(model_type="gemma3n_vision", hidden_size=TEXT, vocab_size=128))
    config["audio_config"] = dict(model_type="gemma3n_audio", hidden_size=WIDTH, conf_num_hidden_layers=2,
                                  conf_num_attention_heads=4, input_feat_size=128, vocab_size=128)
    return config, t


@model("qwen3-omni", tower=True, text=False, files=processor(HALF, HALF))
def _():
    c, t = qwen3("Qwen3OmniMoeForConditionalGeneration", "qwen3_omni_moe")
    seen = qwen3_tower({}, 4, 2, "thinker.visual.")
    for was, name in (("deepstack_merger_list", "merger_list"), (".norm.", ".ln_q."), (".linear_fc1.", ".mlp.0."),
                      (".linear_fc2.", ".mlp.2.")):
        seen = {k.replace(was, name) if ".merger" in k or "deepstack" in k else k: v for k, v in seen.items()}
    t.update(seen)
    t["talker.model.norm.weight"] = t["code2wav.decoder.0.conv.bias"] = (TEXT,)
    return thinking(c, "Qwen3OmniMoeForConditionalGeneration", vision_config=qwen3_vision("qwen3_omni_moe", 4, [1, 2]),
                    audio_config=dict(hears("qwen3_omni_moe_audio_encoder"), encoder_layers=5)), t


@model("qwen3-asr", tower="audio", text=False)
def _():
    c, t = qwen3("Qwen3ASRForConditionalGeneration", "qwen3_asr")
    return thinking(c, "Qwen3ASRForConditionalGeneration", audio_config=dict(hears("qwen3_asr_audio_encoder"), encoder_layers=5)), t


# ---- Gemma 4 ------------------------------------------------------------------------------------------------

def clipped(p, n, shapes):
    """Matrices, and between which numbers what goes into them and comes out of them is kept."""
    t = blocks(p, n, {f"{name}.linear.weight": shape for name, shape in shapes.items()})
    for i in range(n):
        for name in shapes:
            t.update({f"{p}{i}.{name}.{end}": () for end in ("input_min", "input_max", "output_min", "output_max")})
    return t


def gemma4_sees(p="model.vision_tower."):
    t = clipped(p + "encoder.layers.", 4, {
        "self_attn.q_proj": (WIDTH, WIDTH), "self_attn.k_proj": (WIDTH, WIDTH), "self_attn.v_proj": (WIDTH, WIDTH),
        "self_attn.o_proj": (WIDTH, WIDTH), "mlp.gate_proj": (INNER, WIDTH), "mlp.up_proj": (INNER, WIDTH),
        "mlp.down_proj": (WIDTH, INNER)})
    t.update(blocks(p + "encoder.layers.", 4, {
        "self_attn.q_norm.weight": (8,), "self_attn.k_norm.weight": (8,), "input_layernorm.weight": (WIDTH,),
        "post_attention_layernorm.weight": (WIDTH,), "pre_feedforward_layernorm.weight": (WIDTH,),
        "post_feedforward_layernorm.weight": (WIDTH,), "layer_scalar": (1,)}))
    t[p + "patch_embedder.input_proj.weight"] = (WIDTH, 16 * 16 * 3)
    t[p + "patch_embedder.position_embedding_table"] = (2, 64, WIDTH)
    t[p + "std_bias"] = t[p + "std_scale"] = (WIDTH,)
    t["model.embed_vision.embedding_projection.weight"] = (TEXT, WIDTH)
    return t


def gemma4_hears(p="model.audio_tower."):
    t = clipped(p + "layers.", 2, {
        "self_attn.q_proj": (WIDTH, WIDTH), "self_attn.k_proj": (WIDTH, WIDTH), "self_attn.v_proj": (WIDTH, WIDTH),
        "self_attn.post": (WIDTH, WIDTH), "feed_forward1.ffw_layer_1": (4 * WIDTH, WIDTH),
        "feed_forward1.ffw_layer_2": (WIDTH, 4 * WIDTH), "feed_forward2.ffw_layer_1": (4 * WIDTH, WIDTH),
        "feed_forward2.ffw_layer_2": (WIDTH, 4 * WIDTH), "lconv1d.linear_start": (2 * WIDTH, WIDTH),
        "lconv1d.linear_end": (WIDTH, WIDTH)})
    t.update(blocks(p + "layers.", 2, {
        "self_attn.relative_k_proj.weight": (WIDTH, WIDTH), "self_attn.per_dim_scale": (8,),
        "lconv1d.depthwise_conv1d.weight": (WIDTH, 1, 5), **{f"{name}.weight": (WIDTH,) for name in (
            "norm_pre_attn", "norm_post_attn", "norm_out", "feed_forward1.pre_layer_norm",
            "feed_forward1.post_layer_norm", "feed_forward2.pre_layer_norm", "feed_forward2.post_layer_norm",
            "lconv1d.pre_layer_norm", "lconv1d.conv_norm")}}))
    q = p + "subsample_conv_projection."
    t[q + "layer0.conv.weight"], t[q + "layer1.conv.weight"] = (16, 1, 3, 3), (8, 16, 3, 3)
    t[q + "layer0.norm.weight"], t[q + "layer1.norm.weight"] = (16,), (8,)
    t[q + "input_proj_linear.weight"] = (WIDTH, 8 * 32)
    t[p + "output_proj.weight"], t[p + "output_proj.bias"] = (WIDTH, WIDTH), (WIDTH,)
    t["model.embed_audio.embedding_projection.weight"] = (TEXT, WIDTH)
    return t


def gemma4(*parts):
    c = base("Gemma4ForConditionalGeneration", "gemma4_text", head_dim=16)
    t = {k.replace("model.", "model.language_model."): v for k, v in dense(c, qk_norm=True, head=False).items()}
    for part in parts:
        t.update(part)
    return c, t


SEES = dict(model_type="gemma4_vision", hidden_size=WIDTH, intermediate_size=INNER, num_hidden_layers=4,
            num_attention_heads=4, num_key_value_heads=4, patch_size=16, pooling_kernel_size=3)
NO_COLOURS = processor([0.0, 0.0, 0.0], [1.0, 1.0, 1.0])


@model("gemma4-omni", tower=True, text=False, files=NO_COLOURS)
def _():
    c, t = gemma4(gemma4_sees(), gemma4_hears())
    return whole(c, "Gemma4ForConditionalGeneration", "gemma4_not_known", SEES,
                 audio_config=dict(hidden_size=WIDTH, num_hidden_layers=2, num_attention_heads=4)), t


@model("gemma4-vision", tower=True, text=False, files=NO_COLOURS)
def _():
    c, t = gemma4(gemma4_sees())
    return whole(c, "Gemma4ForConditionalGeneration", "gemma4_not_known", SEES, audio_config=None), t


@model("gemma4-unified", tower=True, text=False, files=NO_COLOURS)
def _():
    c, t = gemma4()
    p, patch = "model.vision_embedder.", 48
    t[p + "patch_dense.weight"], t[p + "patch_dense.bias"] = (WIDTH, 3 * patch * patch), (WIDTH,)
    for name, width in (("patch_ln1", 3 * patch * patch), ("patch_ln2", WIDTH), ("pos_norm", WIDTH)):
        t[f"{p}{name}.weight"] = t[f"{p}{name}.bias"] = (width,)
    t[p + "pos_embedding"] = (64, 2, WIDTH)
    t["model.embed_vision.embedding_projection.weight"] = (TEXT, WIDTH)
    t["model.embed_audio.embedding_projection.weight"] = (TEXT, 64)
    v = dict(model_type="gemma4_unified_vision", mm_embed_dim=WIDTH, patch_size=16, pooling_kernel_size=3)
    return whole(c, "Gemma4UnifiedForConditionalGeneration", "gemma4_not_known", v,
                 audio_config=dict(audio_embed_dim=64)), t
