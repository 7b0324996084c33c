# SPDX-License-Identifier: MIT
"""Tiny models with towers: a text model, the part that sees or hears, what connects them, and the files of the
processor. `tower` among their facts: they also become an mmproj file; `text=False`: their
text model is not compared."""
from tiny_newer import inside
from tiny_parts import MODELS, base, blocks, dense, ends, model
from tiny_rare import glm4

MEAN, STD = [0.48145466, 0.4578275, 0.40821073], [0.26862954, 0.26130258, 0.27577711]
HALF = [0.5, 0.5, 0.5]
WIDTH, INNER, TEXT = 32, 64, 64


def processor(mean=MEAN, std=STD, **more):
    return {"preprocessor_config.json": dict(image_mean=mean, image_std=std, **more)}


def text(prefix="language_model.", model_type="mistral", head="lm_head.weight", **more):
    """A text model inside of a larger one, its names after `prefix`."""
    c = base("LlamaForCausalLM", model_type, head_dim=16, **more)
    t = {(prefix + k if k != "lm_head.weight" else head): v for k, v in dense(c).items()}
    return c, t


def whole(c, architecture, model_type, vision, key="vision_config", text_key="text_config", **more):
    """config.json of the whole."""
    inner = {k: v for k, v in c.items() if k not in ("architectures", "torch_dtype")}
    return {"architectures": [architecture], "model_type": model_type, "torch_dtype": "bfloat16",
            text_key: inner, key: vision, **more}


def siglip(p, n=4, head=False, image=56, patch=14):
    """The names of SigLIP's authors after a prefix."""
    t = blocks(p + "encoder.layers.", n, {
        "self_attn.q_proj@": (WIDTH, WIDTH), "self_attn.k_proj@": (WIDTH, WIDTH),
        "self_attn.v_proj@": (WIDTH, WIDTH), "self_attn.out_proj@": (WIDTH, WIDTH), "layer_norm1@": (WIDTH,),
        "layer_norm2@": (WIDTH,), "mlp.fc1@": (INNER, WIDTH), "mlp.fc2@": (WIDTH, INNER)})
    t[p + "embeddings.patch_embedding.weight"] = (WIDTH, 3, patch, patch)
    t[p + "embeddings.patch_embedding.bias"] = (WIDTH,)
    t[p + "embeddings.position_embedding.weight"] = ((image // patch) ** 2, WIDTH)
    t[p + "post_layernorm.weight"] = t[p + "post_layernorm.bias"] = (WIDTH,)
    if head:
        t[p + "head.probe"] = (1, 1, WIDTH)
    return t


def vision(model_type, **more):
    return dict(dict(model_type=model_type, hidden_size=WIDTH, intermediate_size=INNER, num_hidden_layers=4,
                     num_attention_heads=4, image_size=56, patch_size=14), **more)


VOCABULARY = {"tokenizer.json": {"model": {"vocab": {f"t{i}": i for i in range(320)}}, "added_tokens": []}}


# ---- SigLIP -------------------------------------------------------------------------------------------

@model("gemma3-vision", tower=True,
       files=dict(processor(HALF, HALF), **VOCABULARY, **{"processor_config.json": dict(image_seq_length=4)}))
def _():
    c = base("Gemma3ForCausalLM", "gemma3_text", head_dim=16, query_pre_attn_scalar=16, sliding_window=32)
    t = {"language_model." + k: v for k, v in dense(c, qk_norm=True, head=False).items()}
    for i in range(2):
        for name in ("pre_feedforward_layernorm", "post_feedforward_layernorm"):
            t[f"language_model.model.layers.{i}.{name}.weight"] = (TEXT,)
    t.update(siglip("vision_tower.vision_model.", head=True))
    t["multi_modal_projector.mm_input_projection_weight"] = (WIDTH, TEXT)
    t["multi_modal_projector.mm_soft_emb_norm.weight"] = (WIDTH,)
    return whole(c, "Gemma3ForConditionalGeneration", "gemma3", vision("siglip_vision_model"),
                 mm_tokens_per_image=4), t


@model("gemma3-vision-f16", tower=True, dtype="F16",
       files=dict(processor(HALF, HALF), **VOCABULARY, **{"processor_config.json": dict(image_seq_length=1)}))
def _():
    c, t = MODELS["gemma3-vision"][0]()
    c["vision_config"].update(layer_norm_eps=1e-5)
    return c, t


def idefics(scale):
    c, t = text(prefix="", model_type="llama")
    t = {k.replace("model.", "model.text_model."): v for k, v in t.items()}
    t.update(siglip("model.vision_model."))
    t["model.connector.modality_projection.proj.weight"] = (TEXT, WIDTH * scale * scale)
    return c, t


@model("idefics3", tower=True, files=processor(HALF, HALF, size={"longest_edge": 112}))
def _():
    c, t = idefics(4)
    c = whole(c, "Idefics3ForConditionalGeneration", "idefics3", vision("idefics3_vision"), scale_factor=4)
    c["text_config"]["architectures"] = ["VLlama3ForCausalLM"]
    return c, t


@model("smolvlm", tower=True, files=processor(HALF, HALF))
def _():
    c, t = idefics(2)
    c = whole(c, "SmolVLMForConditionalGeneration", "smolvlm", vision("smolvlm_vision"))
    c["text_config"]["architectures"] = ["VLlama3ForCausalLM"]
    return c, t


# ---- Qwen -----------------------------------------------------------------------------------------------

def qwen_frames(t, p, patch, width=WIDTH):
    t[p + "patch_embed.proj.weight"] = (width, 3, 2, patch, patch)
    return t


@model("qwen2vl-vision", tower=True, files=processor(min_pixels=3136, max_pixels=12845056))
def _():
    c = base("Qwen2VLForConditionalGeneration", "qwen2_vl",
             rope_scaling=dict(type="mrope", mrope_section=[2, 3, 3]))
    c["vision_config"] = dict(model_type="qwen2_vl", depth=4, embed_dim=WIDTH, hidden_size=TEXT, num_heads=4,
                              mlp_ratio=2, patch_size=14, spatial_merge_size=2, temporal_patch_size=2)
    t = dense(c, bias=True)
    t.update(blocks("visual.blocks.", 4, {
        "attn.qkv@": (3 * WIDTH, WIDTH), "attn.proj@": (WIDTH, WIDTH), "norm1@": (WIDTH,), "norm2@": (WIDTH,),
        "mlp.fc1@": (INNER, WIDTH), "mlp.fc2@": (WIDTH, INNER)}))
    t = ends(t, visual__merger__ln_q__weight=(WIDTH,), visual__merger__ln_q__bias=(WIDTH,))
    for i, rows in ((0, 4 * WIDTH), (2, TEXT)):
        t[f"visual.merger.mlp.{i}.weight"], t[f"visual.merger.mlp.{i}.bias"] = (rows, 4 * WIDTH), (rows,)
    return c, qwen_frames(t, "visual.", 14)


@model("qwen2.5vl-vision", tower=True, files=processor())
def _():
    c = base("Qwen2_5_VLForConditionalGeneration", "qwen2_5_vl",
             rope_scaling=dict(type="mrope", mrope_section=[2, 3, 3]))
    c["vision_config"] = dict(model_type="qwen2_5_vl", depth=4, hidden_size=WIDTH, intermediate_size=INNER,
                              num_heads=4, patch_size=14, spatial_merge_size=2, temporal_patch_size=2,
                              out_hidden_size=TEXT, window_size=56, fullatt_block_indexes=[1, 3])
    t = dense(c, bias=True)
    t.update(blocks("visual.blocks.", 4, {
        "attn.qkv@": (3 * WIDTH, WIDTH), "attn.proj@": (WIDTH, WIDTH), "norm1.weight": (WIDTH,),
        "norm2.weight": (WIDTH,), "mlp.gate_proj@": (INNER, WIDTH), "mlp.up_proj@": (INNER, WIDTH),
        "mlp.down_proj@": (WIDTH, INNER)}))
    t["visual.merger.ln_q.weight"] = (WIDTH,)
    for i, rows in ((0, 4 * WIDTH), (2, TEXT)):
        t[f"visual.merger.mlp.{i}.weight"], t[f"visual.merger.mlp.{i}.bias"] = (rows, 4 * WIDTH), (rows,)
    return c, qwen_frames(t, "visual.", 14)


def qwen3_tower(t, layers, deep, p="model.visual."):
    t.update(blocks(p + "blocks.", layers, {
        "attn.qkv@": (3 * WIDTH, WIDTH), "attn.proj@": (WIDTH, WIDTH), "norm1@": (WIDTH,), "norm2@": (WIDTH,),
        "mlp.linear_fc1@": (INNER, WIDTH), "mlp.linear_fc2@": (WIDTH, INNER)}))
    t.update(blocks(p + "deepstack_merger_list.", deep, {
        "norm@": (4 * WIDTH,), "linear_fc1@": (4 * WIDTH, 4 * WIDTH), "linear_fc2@": (TEXT, 4 * WIDTH)}))
    for name, shape in (("norm", (WIDTH,)), ("linear_fc1", (4 * WIDTH, 4 * WIDTH)), ("linear_fc2", (TEXT, 4 * WIDTH))):
        t[f"{p}merger.{name}.weight"], t[f"{p}merger.{name}.bias"] = shape, shape[:1]
    t[p + "pos_embed.weight"] = (16, WIDTH)
    t[p + "patch_embed.proj.bias"] = (WIDTH,)
    return qwen_frames(t, p, 16)


def qwen3_vision(model_type, layers, deep):
    return dict(model_type=model_type, depth=layers, hidden_size=WIDTH, intermediate_size=INNER, num_heads=4,
                patch_size=16, spatial_merge_size=2, temporal_patch_size=2, out_hidden_size=TEXT,
                num_position_embeddings=16, deepstack_visual_indexes=deep, hidden_act="gelu_pytorch_tanh")


@model("qwen3vl-vision", tower=True, files=processor(HALF, HALF))
def _():
    c = base("Qwen3VLForConditionalGeneration", "qwen3_vl_text", head_dim=16, num_hidden_layers=4,
             rope_scaling=dict(rope_type="default", mrope_section=[3, 3, 2], mrope_interleaved=True))
    t = {k.replace("model.", "model.language_model."): v for k, v in dense(c, qk_norm=True).items()}
    return inside(c, model_type="qwen3_vl",
                  vision_config=qwen3_vision("qwen3_vl", 4, [1, 2])), qwen3_tower(t, 4, 2)


@model("qwen3vlmoe-vision", tower=True, files=processor(HALF, HALF))
def _():
    c, t = MODELS["qwen3vlmoe"][0]()
    t = {k: v for k, v in t.items() if ".visual." not in k}
    for n in (2, 3):
        t.update({k.replace("layers.0.", f"layers.{n}."): v for k, v in t.items() if "layers.0." in k})
    c["text_config"]["num_hidden_layers"] = 4
    c["vision_config"] = qwen3_vision("qwen3_vl_moe", 3, [0, 2])
    return c, qwen3_tower(t, 3, 2)


@model("glm4v-vision", tower=True, files=processor())
def _():
    c, t = glm4("Glm4vForConditionalGeneration", "glm4v_text")
    t = {k.replace("model.", "model.language_model."): v for k, v in t.items()}
    p = "model.visual."
    t.update(blocks(p + "blocks.", 4, {
        "attn.qkv.weight": (3 * WIDTH, WIDTH), "attn.proj.weight": (WIDTH, WIDTH), "norm1.weight": (WIDTH,),
        "norm2.weight": (WIDTH,), "mlp.gate_proj.weight": (INNER, WIDTH), "mlp.up_proj.weight": (INNER, WIDTH),
        "mlp.down_proj.weight": (WIDTH, INNER)}))
    for name, shape in (("post_conv_layernorm", (WIDTH,)), ("post_layernorm", (WIDTH,)),
                        ("embeddings.position_embedding", (16, WIDTH)), ("merger.proj", (TEXT, TEXT)),
                        ("merger.gate_proj", (INNER, TEXT)), ("merger.up_proj", (INNER, TEXT)),
                        ("merger.down_proj", (TEXT, INNER))):
        t[p + name + ".weight"] = shape
    for name, shape in (("downsample", (TEXT, WIDTH, 2, 2)), ("merger.post_projection_norm", (TEXT,)),
                        ("patch_embed.proj", (WIDTH, 3, 2, 14, 14))):
        t[p + name + ".weight"], t[p + name + ".bias"] = shape, shape[:1]
    v = dict(model_type="glm4v_vision", depth=4, hidden_size=WIDTH, intermediate_size=INNER, num_heads=4,
             patch_size=14, image_size=56, spatial_merge_size=2, out_hidden_size=TEXT, hidden_act="silu",
             rms_norm_eps=1e-5)
    return whole(c, "Glm4vForConditionalGeneration", "glm4v", v), t


# ---- Pixtral --------------------------------------------------------------------------------------------

BREAK = {"tokenizer_config.json": {"added_tokens_decoder": {"300": {"content": "[IMG]"},
                                                           "301": {"content": "[IMG_BREAK]"}}},
         "tokenizer.json": {"added_tokens": [{"id": 301, "content": "[IMG_BREAK]"}]}}
BREAK_LIST = {"tokenizer_config.json": {}, "tokenizer.json": BREAK["tokenizer.json"]}


def pixtral(p="vision_tower.", connects="multi_modal_projector."):
    t = blocks(p + "transformer.layers.", 4, {
        "attention.q_proj.weight": (WIDTH, WIDTH), "attention.k_proj.weight": (WIDTH, WIDTH),
        "attention.v_proj.weight": (WIDTH, WIDTH), "attention.o_proj.weight": (WIDTH, WIDTH),
        "attention_norm.weight": (WIDTH,), "ffn_norm.weight": (WIDTH,),
        "feed_forward.gate_proj.weight": (INNER, WIDTH), "feed_forward.up_proj.weight": (INNER, WIDTH),
        "feed_forward.down_proj.weight": (WIDTH, INNER)})
    t[p + "patch_conv.weight"] = (WIDTH, 3, 14, 14)
    t[p + "ln_pre.weight"] = (WIDTH,)
    t[connects + "linear_1.weight"], t[connects + "linear_2.weight"] = (TEXT, WIDTH), (TEXT, TEXT)
    return t


@model("pixtral", tower=True, files=dict(processor(), **BREAK))
def _():
    c, t = text(head="language_model.lm_head.weight")
    t.update(pixtral())
    t["multi_modal_projector.linear_1.bias"] = t["multi_modal_projector.linear_2.bias"] = (TEXT,)
    return whole(c, "LlavaForConditionalGeneration", "llava", vision("pixtral", rope_theta=10000.0, head_dim=8)), t


@model("mistral3-vision", tower=True, files=dict(processor(), **BREAK_LIST))
def _():
    c, t = text(head="language_model.lm_head.weight")
    t.update(pixtral())
    t["multi_modal_projector.norm.weight"] = (WIDTH,)
    t["multi_modal_projector.patch_merger.merging_layer.weight"] = (WIDTH, 4 * WIDTH)
    return whole(c, "Mistral3ForConditionalGeneration", "mistral3",
                 vision("pixtral", hidden_act="silu", head_dim=8), spatial_merge_size=2), t


@model("lightonocr", tower=True, text=False, files=processor())
def _():
    c = base("Qwen3ForCausalLM", "qwen3", head_dim=16)
    t = {k.replace("model.", "model.language_model."): v for k, v in dense(c, qk_norm=True).items()}
    t.update(pixtral("model.vision_encoder.", "model.vision_projection."))
    t["model.vision_projection.norm.weight"] = (WIDTH,)
    t["model.vision_projection.patch_merger.merging_layer.weight"] = (WIDTH, 4 * WIDTH)
    return whole(c, "LightOnOCRForConditionalGeneration", "lighton_ocr_not_known",
                 vision("pixtral", hidden_act="silu", head_dim=8), spatial_merge_size=2), t


# ---- InternVL ---------------------------------------------------------------------------------------------

def intern_text(prefix="language_model."):
    c = base("Qwen2ForCausalLM", "qwen2", max_position_embeddings=2048)
    return c, {prefix + k: v for k, v in dense(c, bias=True).items()}


@model("internvl", tower=True, files=processor())
def _():
    c, t = intern_text()
    p = "vision_model."
    t.update(blocks(p + "encoder.layers.", 4, {
        "attn.qkv@": (3 * WIDTH, WIDTH), "attn.proj@": (WIDTH, WIDTH), "norm1@": (WIDTH,), "norm2@": (WIDTH,),
        "mlp.fc1@": (INNER, WIDTH), "mlp.fc2@": (WIDTH, INNER), "ls1": (WIDTH,), "ls2": (WIDTH,)}))
    t = ends(t, vision_model__embeddings__class_embedding=(1, 1, WIDTH),
             vision_model__embeddings__position_embedding=(1, 17, WIDTH),
             vision_model__embeddings__patch_embedding__weight=(WIDTH, 3, 14, 14),
             vision_model__embeddings__patch_embedding__bias=(WIDTH,))
    for i, shape in ((0, (4 * WIDTH,)), (1, (TEXT, 4 * WIDTH)), (3, (TEXT, TEXT))):
        t[f"mlp1.{i}.weight"], t[f"mlp1.{i}.bias"] = shape, shape[:1]
    v = vision("intern_vit_6b", architectures=["InternVisionModel"], hidden_act="gelu", layer_norm_eps=1e-6)
    c = whole(c, "InternVLChatModel", "internvl_chat", v, text_key="llm_config", downsample_ratio=0.5,
              min_dynamic_patch=1, max_dynamic_patch=12)
    c["llm_config"]["architectures"] = ["Qwen2ForCausalLM"]
    return c, t


@model("intern-s1", tower=True, files=processor())
def _():
    c, t = intern_text("model.language_model.")
    t = {k.replace("language_model.model.", "language_model.").replace("model.language_model.lm_head", "lm_head"): v
         for k, v in t.items()}
    p = "model.vision_tower."
    t.update(blocks(p + "encoder.layer.", 4, {
        "attention.q_proj@": (WIDTH, WIDTH), "attention.k_proj@": (WIDTH, WIDTH), "attention.v_proj@": (WIDTH, WIDTH),
        "attention.projection_layer@": (WIDTH, WIDTH), "attention.q_norm.weight": (WIDTH,),
        "attention.k_norm.weight": (WIDTH,), "layernorm_before@": (WIDTH,), "layernorm_after@": (WIDTH,),
        "mlp.fc1@": (INNER, WIDTH), "mlp.fc2@": (WIDTH, INNER), "lambda_1": (WIDTH,), "lambda_2": (WIDTH,)}))
    t[p + "embeddings.cls_token"], t[p + "embeddings.position_embeddings"] = (1, 1, WIDTH), (1, 17, WIDTH)
    t[p + "embeddings.patch_embeddings.projection.weight"] = (WIDTH, 3, 14, 14)
    t[p + "embeddings.patch_embeddings.projection.bias"] = (WIDTH,)
    q = "model.multi_modal_projector."
    for name, shape in (("layer_norm", (4 * WIDTH,)), ("linear_1", (TEXT, 4 * WIDTH)), ("linear_2", (TEXT, TEXT))):
        t[f"{q}{name}.weight"], t[f"{q}{name}.bias"] = shape, shape[:1]
    v = vision("interns1_vision_not_known", architectures=["InternVisionModel"], hidden_act="gelu",
               layer_norm_eps=1e-6, image_size=[56, 56], patch_size=[14, 14])
    c = whole(c, "InternS1ForConditionalGeneration", "interns1_not_known", v, downsample_ratio=0.5)
    c["text_config"]["architectures"] = ["Qwen2ForCausalLM"]
    return c, t


# ---- others that see --------------------------------------------------------------------------------------

@model("llama4-vision", tower=True, text=False, files=processor(HALF, HALF))
def _():
    c, t = text(head="language_model.lm_head.weight", model_type="llama4_text")
    p = "vision_model."
    t.update(blocks(p + "model.layers.", 4, {
        "self_attn.q_proj@": (WIDTH, WIDTH), "self_attn.k_proj@": (WIDTH, WIDTH), "self_attn.v_proj@": (WIDTH, WIDTH),
        "self_attn.o_proj@": (WIDTH, WIDTH), "input_layernorm@": (WIDTH,), "post_attention_layernorm@": (WIDTH,),
        "mlp.fc1@": (INNER, WIDTH), "mlp.fc2@": (WIDTH, INNER)}))
    t[p + "class_embedding"], t[p + "positional_embedding_vlm"] = (WIDTH,), (17, WIDTH)
    t[p + "patch_embedding.linear.weight"] = (WIDTH, 3 * 14 * 14)
    for name in ("layernorm_pre", "layernorm_post"):
        t[f"{p}{name}.weight"] = t[f"{p}{name}.bias"] = (WIDTH,)
    t[p + "vision_adapter.mlp.fc1.weight"], t[p + "vision_adapter.mlp.fc2.weight"] = (96, 4 * WIDTH), (96, 96)
    t["multi_modal_projector.linear_1.weight"] = (TEXT, 96)
    v = vision("llama4_vision_model", hidden_act="gelu", norm_eps=1e-5, pixel_shuffle_ratio=0.5)
    return whole(c, "Llama4ForConditionalGeneration", "llama4", v), t


@model("janus", tower=True, text=False, files=processor(HALF, HALF))
def _():
    c, t = text(prefix="", model_type="llama")
    t = {k.replace("model.", "model.language_model."): v for k, v in t.items()}
    s = siglip("model.vision_model.")
    t.update({k.replace("out_proj", "projection_layer"): v for k, v in s.items()})
    for name, shape in (("fc1", (TEXT, WIDTH)), ("hidden_layers.0", (TEXT, TEXT))):
        t[f"model.aligner.{name}.weight"], t[f"model.aligner.{name}.bias"] = shape, shape[:1]
    v = vision("janus_vision_model", hidden_act="gelu", mlp_ratio=2.0)
    return whole(c, "JanusForConditionalGeneration", "janus", v), t


def moon(projector, first, second):
    """Kimi's tower, and the names of what connects it."""
    c, t = text(head="language_model.lm_head.weight", model_type="deepseek_v3")
    p = "vision_tower."
    t.update(blocks(p + "encoder.blocks.", 4, {
        "wqkv@": (3 * WIDTH, WIDTH), "wo@": (WIDTH, WIDTH), "norm0@": (WIDTH,), "norm1@": (WIDTH,),
        "mlp.fc0@": (INNER, WIDTH), "mlp.fc1@": (WIDTH, INNER)}))
    t[p + "patch_embed.proj.weight"], t[p + "patch_embed.proj.bias"] = (WIDTH, 3, 14, 14), (WIDTH,)
    t[p + "patch_embed.pos_emb.weight"] = (4, 4, WIDTH)
    t[p + "encoder.final_layernorm.weight"] = t[p + "encoder.final_layernorm.bias"] = (WIDTH,)
    for name, shape in (("pre_norm", (WIDTH,)), (first, (128, 128)), (second, (TEXT, 128))):
        t[f"{projector}.{name}.weight"], t[f"{projector}.{name}.bias"] = shape, shape[:1]
    return c, t


@model("kimivl", tower=True, text=False, files=processor(HALF, HALF))
def _():
    c, t = moon("multi_modal_projector", "linear_1", "linear_2")
    v = vision("moonvit")
    del v["image_size"]
    return whole(c, "KimiVLForConditionalGeneration", "kimi_vl_not_known", v), t


@model("lfm2-vision", tower=True, text=False, files=processor(HALF, HALF))
def _():
    c, t = text(prefix="", model_type="lfm2")
    t = {k.replace("model.", "model.language_model."): v for k, v in t.items() if k != "lm_head.weight"}
    t.update(siglip("model.vision_tower.vision_model.", image=64, patch=16))
    t["model.vision_tower.vision_model.embeddings.patch_embedding.weight"] = (WIDTH, 3 * 16 * 16)
    q = "model.multi_modal_projector."
    for name, shape in (("layer_norm", (128,)), ("linear_1", (96, 128)), ("linear_2", (TEXT, 96))):
        t[f"{q}{name}.weight"], t[f"{q}{name}.bias"] = shape, shape[:1]
    v = vision("siglip2_vision_model", layer_norm_eps=1e-6, patch_size=16, num_patches=16)
    del v["image_size"]
    return whole(c, "Lfm2VlForConditionalGeneration", "lfm2_vl_not_known", v, downsample_factor=2), t


# ---- those that hear --------------------------------------------------------------------------------------

def whisper():
    p = "audio_tower."
    t = blocks(p + "layers.", 4, {
        "self_attn.q_proj@": (WIDTH, WIDTH), "self_attn.k_proj.weight": (WIDTH, WIDTH),
        "self_attn.v_proj@": (WIDTH, WIDTH), "self_attn.out_proj@": (WIDTH, WIDTH),
        "self_attn_layer_norm@": (WIDTH,), "final_layer_norm@": (WIDTH,), "fc1@": (INNER, WIDTH),
        "fc2@": (WIDTH, INNER)})
    t[p + "conv1.weight"], t[p + "conv1.bias"] = (WIDTH, 128, 3), (WIDTH,)
    t[p + "conv2.weight"], t[p + "conv2.bias"] = (WIDTH, WIDTH, 3), (WIDTH,)
    t[p + "embed_positions.weight"] = (1500, WIDTH)
    t[p + "layer_norm.weight"] = t[p + "layer_norm.bias"] = (WIDTH,)
    return t


def hears(model_type):
    return dict(model_type=model_type, d_model=WIDTH, encoder_ffn_dim=INNER, encoder_layers=4,
                encoder_attention_heads=4, num_mel_bins=128, max_source_positions=1500)


@model("qwen2audio", tower="audio", text=False)
def _():
    c, t = intern_text()
    t.update(whisper())
    t["multi_modal_projector.linear.weight"], t["multi_modal_projector.linear.bias"] = (TEXT, WIDTH), (TEXT,)
    return whole(c, "Qwen2AudioForConditionalGeneration", "qwen2_audio", hears("qwen2_audio_encoder"),
                 key="audio_config"), t


@model("ultravox", tower="audio", text=False)
def _():
    c, t = text()
    t = whisper()
    for name, shape in (("linear_1", (128, 8 * WIDTH)), ("linear_2", (TEXT, 64)), ("ln_pre", (8 * WIDTH,)),
                        ("ln_mid", (64,))):
        t[f"multi_modal_projector.{name}.weight"] = shape
    return whole(c, "UltravoxModel", "ultravox_not_known", hears("whisper"), key="audio_config", stack_factor=8), t


@model("voxtral", tower="audio")
def _():
    c, t = text(head="language_model.lm_head.weight", model_type="llama")
    t.update(whisper())
    t["multi_modal_projector.linear_1.weight"] = (TEXT, 4 * WIDTH)
    t["multi_modal_projector.linear_2.weight"] = (TEXT, TEXT)
    return whole(c, "VoxtralForConditionalGeneration", "voxtral", hears("voxtral_encoder"), key="audio_config"), t
