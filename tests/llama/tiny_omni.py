# SPDX-License-Identifier: MIT
"""Tiny models that see and hear: Qwen 2.5 Omni, Qwen 3 Omni, and Qwen 3 ASR."""
from tiny_parts import base, blocks, dense, model
from tiny_towers import HALF, INNER, TEXT, WIDTH, hears, processor, qwen3_tower, qwen3_vision, qwen_frames


def thinking(c, architecture, **more):
    """config.json of a model whose parts are those of its thinker."""
    inner = {k: v for k, v in c.items() if k not in ("architectures", "torch_dtype")}
    return {"architectures": [architecture], "model_type": c["model_type"], "torch_dtype": "bfloat16",
            "thinker_config": dict(text_config=inner, **more)}


def hearing(p, shapes):
    t = blocks(p + "layers.", 4, {
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
    t.update(hearing("thinker.audio_tower.", CONVOLUTIONS))
    t["thinker.audio_tower.conv_out.weight"] = (WIDTH, 16 * WIDTH)
    return c, t


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
                    audio_config=hears("qwen3_omni_moe_audio_encoder")), t


@model("qwen3-asr", tower="audio", text=False)
def _():
    c, t = qwen3("Qwen3ASRForConditionalGeneration", "qwen3_asr")
    return thinking(c, "Qwen3ASRForConditionalGeneration", audio_config=hears("qwen3_asr_audio_encoder")), t
