# SPDX-License-Identifier: MIT
"""More tiny models with towers: those that read documents, LLaVA, CogVLM, and others that hear."""
from tiny_parts import MODELS, base, blocks, dense, model
from tiny_towers import (HALF, INNER, TEXT, WIDTH, hears, intern_text, moon, processor, qwen_frames, siglip, text,
                         vision, whisper, whole)


def pixels(**more):
    return processor(min_pixels=784, max_pixels=50176, **more)


@model("llava", tower=True, files=processor())
def _():
    c, t = text(head="language_model.lm_head.weight", model_type="llama")
    p = "vision_tower.vision_model."
    t.update({k: v for k, v in siglip(p).items() if "patch_embedding.bias" not in k})
    t[p + "embeddings.class_embedding"], t[p + "embeddings.position_embedding.weight"] = (WIDTH,), (17, WIDTH)
    t[p + "pre_layrnorm.weight"] = t[p + "pre_layrnorm.bias"] = (WIDTH,)
    for name, shape in (("linear_1", (TEXT, WIDTH)), ("linear_2", (TEXT, TEXT))):
        t[f"multi_modal_projector.{name}.weight"], t[f"multi_modal_projector.{name}.bias"] = shape, shape[:1]
    v = vision("clip_vision_model", num_hidden_layers=4)
    return whole(c, "LlavaForConditionalGeneration", "llava", v, vision_feature_layer=-2,
                 vision_feature_select_strategy="default", projector_hidden_act="gelu"), t


@model("cogvlm-vision", tower=True, text=False, files=processor())
def _():
    c, t = MODELS["cogvlm"][0]()
    t = {k: v for k, v in t.items() if ".vision." not in k}
    p = "model.vision."
    t.update(blocks(p + "transformer.layers.", 4, {
        "attention.query_key_value@": (3 * WIDTH, WIDTH), "attention.dense@": (WIDTH, WIDTH),
        "input_layernorm@": (WIDTH,), "post_attention_layernorm@": (WIDTH,), "mlp.fc1@": (INNER, WIDTH),
        "mlp.fc2@": (WIDTH, INNER)}))
    t[p + "boi"] = t[p + "eoi"] = (1, 1, TEXT)
    t[p + "patch_embedding.cls_embedding"], t[p + "patch_embedding.position_embedding.weight"] = (1, WIDTH), (17, WIDTH)
    t[p + "patch_embedding.proj.weight"], t[p + "patch_embedding.proj.bias"] = (WIDTH, 3, 14, 14), (WIDTH,)
    for name, shape in (("linear_proj", (TEXT, WIDTH)), ("gate_proj", (96, TEXT)), ("dense_h_to_4h", (96, TEXT)),
                        ("dense_4h_to_h", (TEXT, 96)), ("norm1", (TEXT,))):
        t[f"{p}linear_proj.{name}.weight"] = shape
    t[p + "linear_proj.norm1.bias"] = (TEXT,)
    c["vision_config"] = dict(hidden_size=WIDTH, intermediate_size=INNER, num_hidden_layers=4, num_heads=4,
                              image_size=56, patch_size=14, layer_norm_eps=1e-6)
    return c, t


@model("dots-ocr", tower=True, text=False, files=pixels())
def _():
    c = base("DotsOCRForCausalLM", "dots_ocr_not_known")
    t = dense(c, bias=True)
    p = "vision_tower."
    t.update(blocks(p + "blocks.", 4, {
        "attn.qkv.weight": (3 * WIDTH, WIDTH), "attn.proj.weight": (WIDTH, WIDTH), "norm1.weight": (WIDTH,),
        "norm2.weight": (WIDTH,), "mlp.fc1.weight": (INNER, WIDTH), "mlp.fc2.weight": (WIDTH, INNER),
        "mlp.fc3.weight": (INNER, WIDTH)}))
    t[p + "patch_embed.patchifier.proj.weight"] = (WIDTH, 3, 14, 14)
    t[p + "patch_embed.patchifier.proj.bias"] = t[p + "patch_embed.patchifier.norm.weight"] = (WIDTH,)
    t[p + "post_trunk_norm.weight"] = (WIDTH,)
    t[p + "merger.ln_q.weight"] = t[p + "merger.ln_q.bias"] = (WIDTH,)
    for i, rows in ((0, 4 * WIDTH), (2, TEXT)):
        t[f"{p}merger.mlp.{i}.weight"], t[f"{p}merger.mlp.{i}.bias"] = (rows, 4 * WIDTH), (rows,)
    c["vision_config"] = dict(embed_dim=WIDTH, hidden_size=WIDTH, intermediate_size=INNER, num_hidden_layers=4,
                              num_attention_heads=4, patch_size=14, rms_norm_eps=1e-5, spatial_merge_size=2)
    return c, t


@model("paddleocr", tower=True, text=False, files=pixels())
def _():
    c = base("PaddleOCRVLForConditionalGeneration", "paddleocr_vl_not_known", head_dim=16)
    t = dense(c)
    t.update(siglip("visual.vision_model.", head=True))
    t["visual.vision_model.embeddings.packing_position_embedding.weight"] = (32, WIDTH)
    t["mlp_AR.pre_norm.weight"] = t["mlp_AR.pre_norm.bias"] = (WIDTH,)
    for i, shape in ((1, (4 * WIDTH, 4 * WIDTH)), (2, (TEXT, 4 * WIDTH))):
        t[f"mlp_AR.linear_{i}.weight"], t[f"mlp_AR.linear_{i}.bias"] = shape, shape[:1]
    c["vision_config"] = vision("paddleocr_vl", architectures=["PaddleOCRVisionModel"], layer_norm_eps=1e-6)
    return c, t


@model("hunyuan-vision", tower=True, text=False, files=pixels())
def _():
    c, t = MODELS["hunyuan-vl"][0]()
    t = {k: v for k, v in t.items() if not k.startswith("vit.")}
    p = "vit."
    t.update(blocks(p + "layers.", 4, {
        "self_attn.q_proj@": (WIDTH, WIDTH), "self_attn.k_proj@": (WIDTH, WIDTH), "self_attn.v_proj@": (WIDTH, WIDTH),
        "self_attn.o_proj@": (WIDTH, WIDTH), "input_layernorm@": (WIDTH,), "post_attention_layernorm@": (WIDTH,),
        "mlp.dense_h_to_4h@": (INNER, WIDTH), "mlp.dense_4h_to_h@": (WIDTH, INNER)}))
    t[p + "embeddings.patch_embedding.weight"], t[p + "embeddings.patch_embedding.bias"] = (WIDTH, 3, 14, 14), (WIDTH,)
    t[p + "embeddings.position_embedding.weight"] = (17, WIDTH)
    p += "perceive."
    t[p + "before_rms.weight"], t[p + "after_rms.weight"] = (WIDTH,), (TEXT,)
    t[p + "proj.0.weight"], t[p + "proj.0.bias"] = (64, WIDTH, 2, 2), (64,)
    t[p + "proj.2.weight"], t[p + "proj.2.bias"] = (128, 64, 1, 1), (128,)
    t[p + "mlp.weight"], t[p + "mlp.bias"] = (TEXT, 128), (TEXT,)
    t[p + "image_newline"] = (128,)
    t[p + "image_sep"] = t[p + "image_begin"] = t[p + "image_end"] = (TEXT,)
    c["vision_config"] = vision("hunyuan_vl", max_image_size=56, spatial_merge_size=2, rms_norm_eps=1e-5)
    del c["vision_config"]["image_size"]
    return c, t


@model("youtu-vision", tower=True, text=False, files=processor(HALF, HALF))
def _():
    c = base("YoutuVLForConditionalGeneration", "youtu_vl_not_known")
    t = dense(c)
    t.update({k: v for k, v in siglip("siglip2.vision_model.").items() if "position_embedding" not in k})
    t["siglip2.vision_model.embeddings.patch_embedding.weight"] = (WIDTH, 3 * 14 * 14)
    t["merger.ln_q.weight"] = (WIDTH,)
    for i, rows in ((0, 4 * WIDTH), (2, TEXT)):
        t[f"merger.mlp.{i}.weight"], t[f"merger.mlp.{i}.bias"] = (rows, 4 * WIDTH), (rows,)
    c["vision_config"] = vision("siglip2_not_known", window_size=56, fullatt_block_indexes=[1, 3], layer_norm_eps=1e-6,
                                hidden_act="gelu_pytorch_tanh")
    return c, t


def minicpm():
    c, t = MODELS["minicpmv46"][0]()
    t = {k: v for k, v in t.items() if "vision" not in k and "merger" not in k and not k.startswith("model.visual")}
    p = "model.vision_tower."
    t.update(siglip(p, image=980))
    q = p + "vit_merger."
    for name in ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.out_proj"):
        t[f"{q}{name}.weight"], t[f"{q}{name}.bias"] = (WIDTH, WIDTH), (WIDTH,)
    for name, shape in (("layer_norm1", (WIDTH,)), ("pre_norm", (4 * WIDTH,)), ("linear_1", (256, 4 * WIDTH)),
                        ("linear_2", (WIDTH, 256))):
        t[f"{q}{name}.weight"], t[f"{q}{name}.bias"] = shape, shape[:1]
    q = "model.merger.mlp.0."
    for name, shape in (("pre_norm", (4 * WIDTH,)), ("linear_1", (128, 4 * WIDTH)), ("linear_2", (TEXT, 128))):
        t[f"{q}{name}.weight"], t[f"{q}{name}.bias"] = shape, shape[:1]
    c["vision_config"] = vision("siglip_not_known", layer_norm_eps=1e-6, image_size=980)
    c["insert_layer_id"] = 1
    return c, t


@model("minicpmv46-vision", tower=True, text=False, files=processor(HALF, HALF, scale_resolution=56))
def _():
    return minicpm()


@model("minicpmv46-fine", tower=True, text=False, files=processor(HALF, HALF, scale_resolution=56, downsample_mode="4x"))
def _():
    return minicpm()


@model("exaone45-vision", tower=True, text=False, files=pixels())
def _():
    c, t = MODELS["exaone45"][0]()
    t = {k: v for k, v in t.items() if ".visual." not in k}
    p = "model.visual."
    t.update(blocks(p + "blocks.", 4, {
        "attn.qkv@": (2 * WIDTH, WIDTH), "attn.proj@": (WIDTH, WIDTH), "norm1.weight": (WIDTH,),
        "norm2.weight": (WIDTH,), "mlp.gate_proj@": (INNER, WIDTH), "mlp.up_proj@": (INNER, WIDTH),
        "mlp.down_proj@": (WIDTH, INNER)}))
    t[p + "merger.ln_q.weight"] = (WIDTH,)
    for i, rows in ((0, 4 * WIDTH), (2, TEXT)):
        t[f"{p}merger.mlp.{i}.weight"], t[f"{p}merger.mlp.{i}.bias"] = (rows, 4 * WIDTH), (rows,)
    c["vision_config"] = dict(model_type="exaone4_5_vision", depth=4, hidden_size=WIDTH, intermediate_size=INNER,
                              num_heads=4, num_key_value_heads=2, patch_size=14, spatial_merge_size=2, window_size=56,
                              out_hidden_size=TEXT, fullatt_block_indexes=[1, 3])
    return c, qwen_frames(t, p, 14)


@model("sarashina2-vision", tower=True, text=False, files=processor())
def _():
    c, t = MODELS["sarashina2"][0]()
    v, tower = MODELS["qwen2vl-vision"][0]()
    t = {k: v for k, v in t.items() if not k.startswith("visual.")}
    t.update({k: x for k, x in tower.items() if k.startswith("visual.")})
    return dict(c, vision_config=v["vision_config"]), t


@model("flamingo", tower="audio", text=False)
def _():
    c, t = intern_text()
    t.update(whisper())
    for name, shape in (("linear_1", (TEXT, WIDTH)), ("linear_2", (TEXT, TEXT))):
        t[f"multi_modal_projector.{name}.weight"], t[f"multi_modal_projector.{name}.bias"] = shape, shape[:1]
    return whole(c, "AudioFlamingo3ForConditionalGeneration", "audioflamingo3",
                 hears("audioflamingo3_encoder"), key="audio_config"), t


@model("glm-asr", tower="audio", text=False)
def _():
    c = base("GlmasrModel", "glmasr_not_known")
    t = dense(c)
    t.update({k.replace("audio_tower.", "audio_encoder.whisper."): v for k, v in whisper().items()
              if not k.startswith("audio_tower.layer_norm")})
    p = "audio_encoder."
    t[p + "layer_norm.weight"] = t[p + "layer_norm.bias"] = (WIDTH,)
    t[p + "audio_bos_eos_token.weight"] = (2, TEXT)
    for name, shape in (("adapting.0", (128, 4 * WIDTH)), ("adapting.2", (TEXT, 128))):
        t[f"{p}{name}.weight"], t[f"{p}{name}.bias"] = shape, shape[:1]
    return dict(c, whisper_config=hears("whisper"), merge_factor=4), t


@model("meralion", tower="audio", text=False)
def _():
    c, t = text(prefix="text_decoder.", head="text_decoder.lm_head.weight", model_type="gemma2")
    t.update({k.replace("audio_tower.", "speech_encoder."): v for k, v in whisper().items()})
    t["ln_speech.weight"] = t["ln_speech.bias"] = (WIDTH,)
    p = "speech_audio_adapter."
    for name, shape in (("mlp_adapter.0", (128, 15 * WIDTH)), ("gate_proj", (128, 128)), ("pool_proj", (128, 128)),
                        ("out_proj", (TEXT, 128))):
        t[f"{p}{name}.weight"], t[f"{p}{name}.bias"] = shape, shape[:1]
    return whole(c, "MERaLiON2ForConditionalGeneration", "meralion2_not_known", hears("whisper"), key="speech_config",
                 speech_mlp_scale_factor=15), t


def k25(architecture, model_type, *connects):
    c, t = moon("mm_projector", *connects)
    v = dict(model_type="moonvit3d", vt_hidden_size=WIDTH, vt_intermediate_size=INNER, vt_num_hidden_layers=4,
             vt_num_attention_heads=4, num_attention_heads=4, patch_size=14, init_pos_emb_height=4,
             init_pos_emb_width=4, init_pos_emb_time=2, merge_kernel_size=[2, 2], projector_ln_eps=1e-5)
    return whole(c, architecture, model_type, v), t


@model("kimi-k25", tower=True, text=False,
       files={"preprocessor_config.json": {"media_proc_cfg": dict(image_mean=HALF, image_std=HALF, in_patch_limit=64)}})
def _():
    return k25("KimiK25ForConditionalGeneration", "kimi_k25_not_known", "proj.0", "proj.2")


@model("glm5v", tower=True, text=False, files=processor(HALF, HALF))
def _():
    return k25("Glm5vForConditionalGeneration", "glm5v_not_known", "linear_1", "linear_2")
