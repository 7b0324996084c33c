# SPDX-License-Identifier: MIT
"""More tiny models that see: Phi-4, Step3-VL, DeepSeek OCR, MiniMax M3."""
from tiny_parts import base, blocks, dense, model
from tiny_towers import HALF, INNER, TEXT, WIDTH, processor, siglip, text, vision, whole


@model("phi4-vision", tower=True, text=False,
       files=processor(HALF, HALF, patch_size=14, min_num_patches=4, max_num_patches=64))
def _():
    c = base("Phi4ForCausalLMV", "phi4_not_known")
    t = dense(c, fused=True)
    p = "model.vision_tower.vision_tower.vision_model."
    t.update(siglip(p, head=True))
    t[p + "embeddings.patch_embedding.weight"] = (WIDTH, 14 * 14 * 3)
    for i, shape in ((0, (TEXT, WIDTH)), (2, (TEXT, TEXT))):
        t[f"model.mm_projector.{i}.weight"], t[f"model.mm_projector.{i}.bias"] = shape, shape[:1]
    v = vision("siglip2_vision_model", num_patches=16, layer_norm_eps=1e-6)
    del v["image_size"]
    return dict(c, vision_config=v, min_num_patches=4, max_num_patches=64), t


def step3():
    p = "vision_model."
    t = blocks(p + "transformer.resblocks.", 4, {
        "attn.in_proj_weight": (3 * WIDTH, WIDTH), "attn.in_proj_bias": (3 * WIDTH,), "attn.out_proj@": (WIDTH, WIDTH),
        "ln_1@": (WIDTH,), "ln_2@": (WIDTH,), "mlp.c_fc@": (INNER, WIDTH), "mlp.c_proj@": (WIDTH, INNER),
        "ls_1.gamma": (WIDTH,), "ls_2.gamma": (WIDTH,)})
    t[p + "conv1.weight"], t[p + "positional_embedding"] = (WIDTH, 3, 14, 14), (16, WIDTH)
    t[p + "ln_pre.weight"] = t[p + "ln_pre.bias"] = (WIDTH,)
    for i, rows, columns in ((1, INNER, WIDTH), (2, 2 * INNER, INNER)):
        t[f"{p}vit_downsampler{i}.weight"], t[f"{p}vit_downsampler{i}.bias"] = (rows, columns, 3, 3), (rows,)
    t["vit_large_projector.weight"] = (TEXT, 2 * INNER)
    return t


@model("step3-vision", tower=True, text=False)
def _():
    c = base("StepVLForConditionalGeneration", "step3_not_known", head_dim=16)
    t = dense(c, qk_norm=True)
    t.update(step3())
    v = dict(width=WIDTH, layers=4, heads=4, image_size=56, patch_size=14, mlp_ratio=2.0)
    return whole(c, "StepVLForConditionalGeneration", "step3_not_known", v, understand_projector_stride=2), t


def sam(wide, p="model.sam_model."):
    """As it looks at 1024 by 1024 in windows of 14 patches, its third block at all of them, for `wide` channels."""
    t = blocks(p + "blocks.", 3, {
        "attn.qkv@": (3 * WIDTH, WIDTH), "attn.proj@": (WIDTH, WIDTH), "attn.rel_pos_h": (27, 16),
        "attn.rel_pos_w": (27, 16), "norm1@": (WIDTH,), "norm2@": (WIDTH,), "mlp.lin1@": (INNER, WIDTH),
        "mlp.lin2@": (WIDTH, INNER)})
    t[p + "blocks.2.attn.rel_pos_h"] = t[p + "blocks.2.attn.rel_pos_w"] = (127, 16)
    t[p + "pos_embed"] = (1, 64, 64, WIDTH)
    t[p + "patch_embed.proj.weight"], t[p + "patch_embed.proj.bias"] = (WIDTH, 3, 16, 16), (WIDTH,)
    t[p + "neck.0.weight"], t[p + "neck.2.weight"] = (WIDTH, WIDTH, 1, 1), (WIDTH, WIDTH, 3, 3)
    for i in (1, 3):
        t[f"{p}neck.{i}.weight"] = t[f"{p}neck.{i}.bias"] = (WIDTH,)
    t[p + "net_2.weight"], t[p + "net_3.weight"] = (INNER, WIDTH, 3, 3), (wide, INNER, 3, 3)
    return t


def reads(architecture, sees, wide, **more):
    """A text model and SAM, what connects them, config.json."""
    c = base(architecture, "deepseek_ocr_not_known", num_key_value_heads=4)
    t = dense(c)
    t.update(sam(sees))
    t["model.projector.layers.weight"], t["model.projector.layers.bias"] = (TEXT, wide), (TEXT,)
    t["model.view_seperator"] = (TEXT,)
    return dict(c, language_config={k: v for k, v in c.items() if k != "architectures"}, vision_config=more), t


SAM = dict(heads=2, layers=3, width=WIDTH)


def deepseek(architecture):
    clip = dict(heads=4, image_size=224, layers=4, patch_size=14, width=WIDTH)
    c, t = reads(architecture, WIDTH, 2 * WIDTH, image_size=1024, width={"clip-l-14-224": clip, "sam_vit_b": SAM})
    p = "model.vision_model."
    t.update(blocks(p + "transformer.layers.", 4, {
        "self_attn.qkv_proj@": (3 * WIDTH, WIDTH), "self_attn.out_proj@": (WIDTH, WIDTH), "layer_norm1@": (WIDTH,),
        "layer_norm2@": (WIDTH,), "mlp.fc1@": (INNER, WIDTH), "mlp.fc2@": (WIDTH, INNER)}))
    t[p + "embeddings.class_embedding"], t[p + "embeddings.position_embedding.weight"] = (WIDTH,), (257, WIDTH)
    t[p + "embeddings.patch_embedding.weight"] = (WIDTH, 3, 14, 14)
    t[p + "pre_layrnorm.weight"] = t[p + "pre_layrnorm.bias"] = (WIDTH,)
    t["model.image_newline"] = (TEXT,)
    return c, t


@model("deepseek-ocr-vision", tower=True, text=False, files=processor(HALF, HALF, image_seq_length=4))
def _():
    return deepseek("DeepseekOCRForCausalLM")


@model("unlimited-ocr-vision", tower=True, text=False, files=processor(HALF, HALF))
def _():
    return deepseek("UnlimitedOCRForCausalLM")


@model("deepseek-ocr2-vision", tower=True, text=False, files=processor(HALF, HALF))
def _():
    c, t = reads("DeepseekOCR2ForCausalLM", 14 * 16, 14 * 16, image_size=1024, layers=4,
                 width={"qwen2-0-5b": {"dim": 14 * 16}, "sam_vit_b": SAM})
    p, wide = "model.qwen2_model.", 14 * 16
    t.update(blocks(p + "model.model.layers.", 4, {
        "self_attn.q_proj@": (wide, wide), "self_attn.k_proj@": (32, wide), "self_attn.v_proj@": (32, wide),
        "self_attn.o_proj.weight": (wide, wide), "input_layernorm.weight": (wide,),
        "post_attention_layernorm.weight": (wide,), "mlp.gate_proj.weight": (INNER, wide),
        "mlp.up_proj.weight": (INNER, wide), "mlp.down_proj.weight": (wide, INNER)}))
    t[p + "model.model.norm.weight"] = (wide,)
    t[p + "query_768.weight"], t[p + "query_1024.weight"] = (144, wide), (256, wide)
    return c, t


@model("minimax-m3-vision", tower=True, text=False, files=processor())
def _():
    c, t = text(head="language_model.lm_head.weight", model_type="minimax_m3_not_known")
    wide = 160  # two heads of 80, which llama.cpp's order asks for
    p = "vision_tower.vision_model."
    t.update(blocks(p + "encoder.layers.", 4, {
        "self_attn.q_proj@": (wide, wide), "self_attn.k_proj@": (wide, wide), "self_attn.v_proj@": (wide, wide),
        "self_attn.out_proj@": (wide, wide), "layer_norm1@": (wide,), "layer_norm2@": (wide,),
        "mlp.fc1@": (INNER, wide), "mlp.fc2@": (wide, INNER)}))
    t[p + "embeddings.patch_embedding.weight"] = (wide, 3, 2, 14, 14)
    t[p + "pre_layrnorm.weight"] = t[p + "pre_layrnorm.bias"] = (wide,)
    for name, rows, columns in (("multi_modal_projector.linear_1", TEXT, wide), ("patch_merge_mlp.linear_2", TEXT, TEXT),
                                ("multi_modal_projector.linear_2", TEXT, TEXT),
                                ("patch_merge_mlp.linear_1", TEXT, 4 * TEXT)):
        t[name + ".weight"], t[name + ".bias"] = (rows, columns), (rows,)
    v = vision("minimax_m3_vision", hidden_size=wide, num_attention_heads=2, layer_norm_eps=1e-5,
               img_token_compression_config=dict(spatial_merge_size=2))
    return whole(c, "MiniMaxM3SparseForConditionalGeneration", "minimax_m3_vl", v), t
