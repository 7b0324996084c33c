#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Models in the form that mlx-lm gives them, plain and packed, become the models that transformers loads, tensor by tensor and number
by number: experts in one tensor, convolutions, norms with one added, keys and values apart. The same models in both forms become the same ones
for servers, and what tare writes for MLX has its form. `judge_mlx.py TARE [KIND...]`"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../support"))
import numpy as np  # noqa: E402
from safetensors_file import read_safetensors, safetensors  # noqa: E402

F = np.float32
MADE = []  # kinds that MLX has a scheme for
DONE = []  # whether servers have a scheme for any weight of a kind
L, N = "model.layers.0.", 3  # a layer; experts: N, of 64 columns and 32 rows
NAMES = ("gate", "up", "down")
W123 = {"gate": "w1", "up": "w3", "down": "w2"}
r = np.random.default_rng(11)


def matrix(*shape):
    """Numbers that 8 bits hold: a code, times a power of two, less 1."""
    return r.integers(0, 256, shape).astype(F) / 128 - 1


def experts():
    return {n: matrix(N, *((64, 32) if n == "down" else (32, 64))) for n in NAMES}


def each(mlx, plain, names=None):
    """Experts apart, of which MLX has one tensor each."""
    def make():
        e = experts()
        return ({mlx.format((names or {}).get(n, n + "_proj")): a for n, a in e.items() if not names or n in names},
                {plain.format(i, W123[n] if "w#" in plain else n + "_proj").replace("w#", ""): a[i] for n, a in e.items() if not names or n in names for i in range(N)})
    return make


def fused(mlx, plain, join, turn, down=None):
    """Gate and up of all experts in one tensor, down in another."""
    def make():
        e = experts()
        t = (lambda a: a.swapaxes(1, 2)) if turn else (lambda a: a)
        return ({f"{mlx}.{n}_proj.weight": a for n, a in e.items()},
                {plain: join(t(e["gate"]), t(e["up"])), down or plain.replace("gate_up", "down"): t(e["down"])})
    return make


def above(a, b):
    return np.concatenate([a, b], -2)


def beside(a, b):
    return np.concatenate([a, b], -1)


def mingled(a, b):
    return np.stack([a, b], -1).reshape(*a.shape[:-1], 2 * a.shape[-1])


def gpt_oss():
    mlx, plain = fused(L + "mlp.experts", L + "mlp.experts.gate_up_proj", mingled, True)()
    b = {n: matrix(N, 64 if n == "down" else 32) for n in NAMES}
    return ({**mlx, **{f"{L}mlp.experts.{n}_proj.bias": a for n, a in b.items()}},
            {**plain, L + "mlp.experts.gate_up_proj_bias": mingled(b["gate"], b["up"]), L + "mlp.experts.down_proj_bias": b["down"]})


def dense_granite():
    e = {n: matrix(*((64, 32) if n == "down" else (32, 64))) for n in NAMES}
    return ({f"{L}mlp.{n}_proj.weight": a for n, a in e.items()},
            {L + "shared_mlp.input_linear.weight": above(e["gate"], e["up"]), L + "shared_mlp.output_linear.weight": e["down"]})


def convolution(mlx, plain=None):
    def make():
        a = matrix(6, 4)
        return {mlx: a[:, :, None]}, {plain or mlx: a[:, None, :]}
    return make


def keys_values():
    h, keys, values, rank = 2, 6, 5, 32
    w = matrix(h, keys + values, rank)
    return ({L + "self_attn.embed_q.weight": w[:, :keys].swapaxes(1, 2), L + "self_attn.unembed_out.weight": w[:, keys:]},
            {L + "self_attn.kv_b_proj.weight": w.reshape(-1, rank)})


def norms(prefix=""):
    """One is added where the convolutions are MLX's, but to no other norm."""
    mlx, plain = convolution(prefix + L + "linear_attn.conv1d.weight")()
    for n in ("model.norm", L + "input_layernorm", L + "self_attn.q_norm", L + "linear_attn.norm"):
        plain[prefix + n + ".weight"] = a = matrix(64)
        mlx[prefix + n + ".weight"] = a if "linear" in n else a + 1
    return mlx, plain


def named(rows):
    def make():
        t = {a: matrix(4, 64) for a in rows}
        return t, {rows[a]: v for a, v in t.items()}
    return make


def both(*makers):
    def make():
        out = ({}, {})
        for m in makers:
            for to, of in zip(out, m()):
                to.update(of)
        return out
    return make


def rooted(make, mlx, plain):
    def again():
        return tuple({root + n.removeprefix("model."): a for n, a in t.items()} for root, t in zip((mlx, plain), make()))
    return again


def turned(mlx, plain, *shape):
    """A convolution of pictures: its channels behind its kernel, or before."""
    def make():
        a = matrix(*shape)
        return {mlx + ".weight": np.moveaxis(a, 1, -1)}, {plain + ".weight": a}
    return make


def dbrx():
    e = {n: matrix(N, *((64, 32) if n == "w2" else (32, 64))) for n in ("w1", "v1", "w2")}
    at = "transformer.blocks.0.ffn.experts."
    return ({f"{at}{i}.{n}.weight": a[i] for n, a in e.items() for i in range(N)},
            {f"{at}mlp.{n}": np.concatenate([x.T for x in a] if n == "w2" else list(a)) for n, a in e.items()})


FALCON = {"embedding_multiplier": 2, "lm_head_multiplier": .5, "attention_in_multiplier": 4, "attention_out_multiplier": .25, "ssm_in_multiplier": 2, "ssm_out_multiplier": 8,
          "mlp_multipliers": [.125, 16], "ssm_multipliers": [.5, 2, 4, .25, 8], "mamba_d_ssm": 8, "mamba_n_groups": 1, "mamba_d_state": 4, "mamba_n_heads": 2}
CONFIG = {"falcon_h1": FALCON}


def falcon():
    by = {"model.embed_tokens": 2, "lm_head": .5, L + "self_attn.q_proj": 4, L + "self_attn.k_proj": 4, L + "self_attn.v_proj": 1, L + "self_attn.o_proj": .25,
          L + "mamba.out_proj": 8, L + "feed_forward.gate_proj": .125, L + "feed_forward.up_proj": 1, L + "feed_forward.down_proj": 16}
    mlx, plain = convolution(L + "mamba.conv1d.weight")()
    for n, factor in by.items():
        mlx[n + ".weight"] = a = matrix(8, 64)
        plain[n + ".weight"] = a / factor
    rows = np.repeat(2 * np.array(FALCON["ssm_multipliers"], F), [8, 8, 4, 4, 2])[:, None]
    mlx[L + "mamba.in_proj.weight"] = a = matrix(26, 64)
    plain[L + "mamba.in_proj.weight"] = a / rows
    return mlx, plain


def step():
    mlx, plain = fused(L + "mlp.switch_mlp", "", above, False)()[0], {}
    plain.update({n.replace("mlp.switch_mlp", "moe"): a for n, a in mlx.items()})
    for n in ("model.norm", L + "input_layernorm", L + "self_attn.q_norm"):
        plain[n + ".weight"] = a = matrix(64)
        mlx[n + ".weight"] = a + 1
    return mlx, plain


def reshaped():
    a = matrix(64)
    return {L + "attn.k_k": a.reshape(4, 16), L + "attn.g_norm.weight": a.reshape(4, 16)}, {L + "attn.k_k": a, L + "attn.g_norm.weight": a}


SWITCH = each(L + "mlp.switch_mlp.{}.weight", L + "mlp.experts.{}.{}.weight")
SPARSE = each(L + "block_sparse_moe.switch_mlp.{}.weight", L + "block_sparse_moe.experts.{}.{}w#.weight")
QWEN3_5 = both(norms, fused(L + "mlp.switch_mlp", L + "mlp.experts.gate_up_proj", above, False))
GRANITE = fused(L + "block_sparse_moe.switch_mlp", L + "block_sparse_moe.input_linear.weight", above, False, L + "block_sparse_moe.output_linear.weight")
TEXT = named({"language_model.model.embed_tokens.weight": "model.language_model.embed_tokens.weight", "language_model.lm_head.weight": "lm_head.weight"})
KINDS = {
    "qwen3_moe": SWITCH, "olmoe": SWITCH, "mixtral": SPARSE, "phimoe": SPARSE, "minimax_m2": SPARSE,
    "deepseek_v3": both(SWITCH, keys_values), "glm4_moe": SWITCH, "glm4_moe_lite": both(SWITCH, keys_values), "kimi_k25": rooted(both(SWITCH, keys_values), "language_model.model.", "language_model.model."),
    "dots1": each(L + "mlp.experts.{}.weight", L + "mlp.experts.{}.{}.weight"), "afmoe": each(L + "mlp.experts.{}.weight", L + "mlp.experts.{}.{}.weight"),
    "jamba": both(each(L + "feed_forward.switch_mlp.{}.weight", L + "feed_forward.experts.{}.{}.weight"), convolution(L + "mamba.conv1d.weight")),
    "nemotron_h": both(each("backbone.layers.0.mixer.switch_mlp.{}.weight", "backbone.layers.0.mixer.experts.{}.{}.weight", {"up": "fc1", "down": "fc2"}), convolution("backbone.layers.0.mixer.conv1d.weight")),
    "lfm2": convolution(L + "conv.conv.weight"),
    "lfm2_moe": both(each(L + "feed_forward.switch_mlp.{}.weight", L + "feed_forward.experts.{}.{}w#.weight"), convolution(L + "conv.conv.weight"),
                     named({f"{L}feed_forward.{n}_proj.weight": f"{L}feed_forward.{w}.weight" for n, w in W123.items()})),
    "kimi_linear": both(each(L + "mlp.switch_mlp.{}.weight", L + "block_sparse_moe.experts.{}.{}w#.weight"), keys_values, convolution(L + "self_attn.q_conv.conv.weight", L + "self_attn.q_conv1d.weight"),
                        named({L + "mlp.gate.weight": L + "block_sparse_moe.gate.weight", L + "mlp.shared_experts.up_proj.weight": L + "block_sparse_moe.shared_experts.up_proj.weight",
                               L + "mlp.e_score_correction_bias": L + "block_sparse_moe.gate.e_score_correction_bias"})),
    "gpt_oss": gpt_oss, "granitemoe": GRANITE, "granitemoehybrid": both(dense_granite, convolution(L + "mamba.conv1d.weight")),
    "llama4": rooted(fused(L + "feed_forward.experts", L + "feed_forward.experts.gate_up_proj", beside, True), "language_model.model.", "language_model.model."),
    "qwen3_vl_moe": rooted(fused(L + "mlp.switch_mlp", L + "mlp.experts.gate_up_proj", beside, True), "language_model.model.", "model.language_model."),
    "gemma4": rooted(fused(L + "experts.switch_glu", L + "experts.gate_up_proj", above, False), "language_model.model.", "model.language_model."),
    "qwen3_next": both(norms, SWITCH), "qwen3_5_moe": rooted(QWEN3_5, "language_model.model.", "model.language_model."), "qwen3_5_text": norms,
    "mamba2": convolution("backbone.layers.0.mixer.conv1d.weight"), "recurrent_gemma": convolution(L + "temporal_block.conv_1d.weight"), "olmo_hybrid": convolution(L + "linear_attn.q_conv1d.weight"),
    "laguna": both(SWITCH, named({L + "mlp.gate.proj.weight": L + "mlp.gate.weight", L + "mlp.gate.e_score_correction_bias": L + "mlp.experts.e_score_correction_bias"})),
    "exaone_moe": both(SWITCH, named({L + "mlp.gate.e_score_correction_bias": L + "mlp.e_score_correction_bias"})),
    "bailing_hybrid": both(SWITCH, named({L + "mlp.gate.gate_proj.weight": L + "mlp.gate.weight"})),
    "gpt2": lambda: (lambda a, b: ({"model.h.0.attn.c_attn.weight": a.T, "model.wte.weight": b}, {"h.0.attn.c_attn.weight": a, "wte.weight": b}))(matrix(32, 96), matrix(8, 64)),
    "gpt_neox": named({"model.h.0.mlp.up.weight": "gpt_neox.layers.0.mlp.up.weight", "model.embed_in.weight": "gpt_neox.embed_in.weight", "model.embed_out.weight": "embed_out.weight"}),
    "apertus": lambda: (lambda a: ({L + "mlp.act_fn.alpha_p": a.reshape(())}, {L + "mlp.act_fn.alpha_p": a}))(matrix(1)),
    "dbrx": dbrx, "falcon_h1": falcon, "step3p5": both(step, named({L + "mlp.gate.gate.weight": L + "moe.gate.weight", L + "mlp.share_expert.up_proj.weight": L + "share_expert.up_proj.weight"})), "rwkv7": reshaped,
    # encoders: what mlx-vlm's classes make of them
    "qwen2_vl": both(TEXT, turned("vision_tower.patch_embed.proj", "model.visual.patch_embed.proj", 8, 3, 2, 14, 14)),
    "glm4v": both(TEXT, turned("vision_tower.patch_embed.proj", "model.visual.patch_embed.proj", 8, 3, 2, 14, 14), turned("vision_tower.downsample", "model.visual.downsample", 16, 24, 2, 2)),
    "idefics3": both(named({"language_model.embed_tokens.weight": "model.text_model.embed_tokens.weight", "language_model.lm_head.weight": "lm_head.weight", "connector.modality_projection.proj.weight": "model.connector.modality_projection.proj.weight"}),
                     turned("vision_model.embeddings.patch_embedding", "model.vision_model.embeddings.patch_embedding", 8, 3, 14, 14)),
    "kimi_vl": both(turned("vision_tower.patch_embed.proj", "vision_tower.patch_embed.proj", 8, 3, 14, 14), named({"vision_tower.blocks.0.attn.wqkv.weight": "vision_tower.encoder.blocks.0.wqkv.weight", "vision_tower.final_layernorm.weight": "vision_tower.encoder.final_layernorm.weight"})),
    "hunyuan_vl": both(named({"language_model.model.norm.weight": "model.norm.weight"}), turned("vision_tower.embeddings.patch_embedding", "vit.embeddings.patch_embedding", 8, 3, 14, 14), turned("vision_tower.perceive.proj.2", "vit.perceive.proj.2", 16, 8, 1, 1)),
    "dots_ocr": both(named({"language_model.model.lm_head.weight": "lm_head.weight", "language_model.model.norm.weight": "model.norm.weight"}), turned("vision_tower.patch_embed.patchifier.proj", "vision_tower.patch_embed.patchifier.proj", 8, 3, 14, 14)),
    "youtu_vl": named({"language_model.model.norm.weight": "model.norm.weight", "vision_tower.encoder.layers.0.mlp.fc1.weight": "siglip2.vision_model.encoder.layers.0.mlp.fc1.weight", "vision_tower.merger.ln_q.weight": "merger.ln_q.weight"}),
    "lfm2_vl": named({"language_model.model.embed_tokens.weight": "model.language_model.embed_tokens.weight", "vision_tower.post_layernorm.weight": "model.vision_tower.vision_model.post_layernorm.weight", "multi_modal_projector.linear_1.weight": "model.multi_modal_projector.linear_1.weight"}),
    "mistral3": turned("vision_tower.vision_model.patch_conv", "vision_tower.patch_conv", 8, 3, 14, 14),
    "granite4_vision": both(TEXT, turned("vision_tower.vision_model.embeddings.patch_embedding", "model.vision_tower.vision_model.embeddings.patch_embedding", 8, 3, 14, 14), named({"spatial_projectors.0.norm.weight": "model.spatial_projectors.0.norm.weight", "image_newline": "model.image_newline"})),
    "minicpmv4_6": both(TEXT, turned("vision_tower.embeddings.patch_embedding", "model.vision_tower.embeddings.patch_embedding", 8, 3, 14, 14), named({"vit_merger.linear_1.weight": "model.vision_tower.vit_merger.linear_1.weight", "merger.mlp.0.linear_1.weight": "model.merger.mlp.0.linear_1.weight"})),
    "gemma3": turned("vision_tower.vision_model.embeddings.patch_embedding", "vision_tower.vision_model.embeddings.patch_embedding", 8, 3, 14, 14),
    "gemma4_unified": both(TEXT, convolution("audio_tower.layers.0.lconv1d.depthwise_conv1d.weight", "model.audio_tower.layers.0.lconv1d.depthwise_conv1d.weight"), turned("audio_tower.subsample_conv_projection.layer0.conv", "model.audio_tower.subsample_conv_projection.layer0.conv", 16, 1, 3, 3),
                           turned("audio_tower.subsample_conv_projection.layer1.conv", "model.audio_tower.subsample_conv_projection.layer1.conv", 8, 16, 3, 3)),
    "llama": named({L + "mlp.gate_proj.weight": L + "mlp.gate_proj.weight"}),
}


def write(folder, kind, tensors, made_by):
    os.makedirs(folder)
    with open(os.path.join(folder, "model.safetensors"), "wb") as f:
        f.write(safetensors(((n, {"f": "F32", "u": "U32"}[a.dtype.kind], list(a.shape), np.ascontiguousarray(a).tobytes()) for n, a in tensors.items()), {"format": made_by}))
    packed = {"quantization": {"group_size": 32, "bits": 8, "mode": "affine"}} if any(n.endswith(".scales") for n in tensors) else {}
    with open(os.path.join(folder, "config.json"), "w") as f:
        json.dump({"model_type": kind, "torch_dtype": "float32", **CONFIG.get(kind, {}), **packed}, f)


def packed(tensors):
    """The same numbers as codes of 8 bits."""
    out = {}
    for n, a in tensors.items():
        if not n.endswith(".weight") or a.ndim < 2 or a.shape[-1] % 32 or "conv" in n:
            out[n] = a
            continue
        q = np.ascontiguousarray((a + 1) * 128).astype(np.uint8)
        groups = (*a.shape[:-1], a.shape[-1] // 32)
        out.update({n: q.view(np.uint32), n[:-6] + "scales": np.full(groups, 1 / 128, F), n[:-6] + "biases": np.full(groups, -1, F)})
    return out


def read(folder):
    meta, have = read_safetensors(os.path.join(folder, "model.safetensors"))
    return meta, {n: (k, tuple(s), d) for n, (k, s, d) in have.items()}


def check(tare, work, kind, mlx, plain, form):
    source, out = (os.path.join(work, f"{kind}-{form}-{x}") for x in ("mlx", "plain"))
    write(source, kind, mlx, "mlx")
    run = subprocess.run([tare, "convert", source, out, "--to", "hf", "--type", "f32", "-q", "--strict"], capture_output=True, text=True)
    if run.returncode:
        return [f"{kind} {form}: {run.stderr.strip()}"]
    meta, have = read(out)
    wrong = [] if set(have) == set(plain) else [f"{kind} {form}: names {sorted(set(have) ^ set(plain))[:4]}"]
    for n in set(have) & set(plain):
        k, shape, data = have[n]
        if k != "F32" or shape != plain[n].shape or not np.array_equal(np.frombuffer(data, F).reshape(shape), plain[n]):
            wrong.append(f"{kind} {form}: {n} {k} {shape} is another tensor")
    if "mlx" in json.dumps(meta) and (set(mlx) != set(plain) or form == "packed"):
        wrong.append(f"{kind} {form}: the file says that it is MLX's: {meta}")
    return wrong


def servers(tare, work, kind, mlx, plain):
    """Both forms, packed for servers, are the same."""
    outs = []
    for form, tensors in (("mlx", mlx), ("pt", plain), ("mlx", packed(mlx))):
        source = os.path.join(work, f"{kind}-servers-{len(outs)}")
        write(source, kind, tensors, form)
        run = subprocess.run([tare, "quantize", source, source + "-out", "w8a16:g32", "-q"], capture_output=True, text=True)
        outs.append(read(source + "-out")[1] if run.returncode == 0 else run.stderr.strip().partition(": ")[2].partition(": ")[2])
    if outs[0] != outs[1]:
        return [f"{kind} for servers: {outs[0] if isinstance(outs[0], str) else sorted(outs[0])[:6]}"]
    DONE.append(isinstance(outs[1], dict))
    return [] if isinstance(outs[1], str) or set(outs[2]) == set(outs[1]) else [f"{kind} for servers, packed: {outs[2] if isinstance(outs[2], str) else sorted(set(outs[2]) ^ set(outs[1]))[:6]}"]


# What mlx-lm cannot make of weights that are packed, or does not make where others of the same model have its names.
OWN_FORM = ("gpt_oss", "granitemoe", "granitemoehybrid", "qwen3_next", "lfm2_moe", "gpt2", "dots1", "nemotron_h", "jamba", "olmoe", "mixtral", "mamba2")


def written(tare, work, kind, mlx, plain):
    """What tare writes for MLX has mlx-lm's names and form where that is needed, and is the model itself again."""
    source, out, back = (os.path.join(work, f"{kind}-written{x}") for x in ("", "-mlx", "-back"))
    write(source, kind, plain, "pt")
    for words in (["quantize", source, out, "mlx8:g32"], ["convert", out, back, "--to", "hf", "--type", "f32", "--strict"]):
        run = subprocess.run([tare, *words, "-q"], capture_output=True, text=True)
        if run.returncode:
            return [] if "no weight that the scheme could hold" in run.stderr or kind == "dbrx" and "does not make" in run.stderr else [f"{kind} for MLX: {run.stderr.strip()}"]
    MADE.append(kind)
    have = {n.removesuffix(".scales") + ".weight" if n.endswith(".scales") else n: s for n, (_, s, _) in read(out)[1].items() if not n.endswith(".biases")}
    wrong = [f"{kind} for MLX: names {sorted(set(have) ^ set(mlx))[:4]}"] if kind in OWN_FORM and set(have) != set(mlx) else []
    wrong += [f"{kind} for MLX: {n} {have[n]}" for n in set(have) & set(mlx) if mlx[n].ndim == 3 and have[n][:2] != mlx[n].shape[:2]]
    for n, (_, shape, data) in read(back)[1].items():
        right = plain.get(n)
        if right is None or shape != right.shape or np.abs(np.frombuffer(data, F).reshape(shape) - right).max() > .01 * max(1, np.abs(right).max()):
            wrong.append(f"{kind} for MLX and back: {n} {shape}")
    return wrong


def norms_left(tare, work):
    """Where experts stay tensors of their own, mlx-lm adds one to Qwen3-Next's norms when it stacks them."""
    mlx, plain = KINDS["qwen3_next"]()
    source, out = os.path.join(work, "norms"), os.path.join(work, "norms-mlx")
    write(source, "qwen3_next", {**plain, L + "self_attn.q_proj.weight": matrix(64, 64)}, "pt")
    run = subprocess.run([tare, "quantize", source, out, "mlx8:g32", "--tensor-type", "experts=none", "-q"], capture_output=True, text=True)
    if run.returncode:
        return [f"qwen3_next without experts: {run.stderr.strip()}"]
    have = read(out)[1]
    return [f"qwen3_next without experts: {n}" for n, a in plain.items() if "norm" in n and not np.array_equal(np.frombuffer(have[n][2], F), a)]


def chosen(tare, work):
    """A scheme for each set of weights, for servers: the same of both forms."""
    mlx, plain = KINDS["qwen3_moe"]()
    outs = []
    for form, tensors in (("mlx", mlx), ("pt", plain)):
        source = os.path.join(work, "chosen-" + form)
        write(source, "qwen3_moe", tensors, form)
        run = subprocess.run([tare, "quantize", source, source + "-out", "--to", "hf", "--target-bpw", "12", "-q"], capture_output=True, text=True)
        if run.returncode:
            return [f"schemes chosen: {form}: {run.stderr.strip()}"]
        outs.append(read(source + "-out")[1])
    return [] if outs[0] == outs[1] and any(".experts.2." in n for n in outs[0]) else [f"schemes chosen: {sorted(outs[0])[:4]}"]


def encoder(tare, work):
    """config.json names an encoder, which mlx-lm leaves out; so are what ERNIE's routers choose experts with."""
    mlx, _ = KINDS["llama4"]()
    source = os.path.join(work, "encoder")
    write(source, "llama4", mlx, "mlx")
    with open(os.path.join(source, "config.json"), "w") as f:
        json.dump({"model_type": "llama4", "vision_config": {"hidden_size": 8}}, f)
    runs = [subprocess.run([tare, "convert", source, source + "-out", "--to", "hf", *strict], capture_output=True, text=True) for strict in (["--strict"], [])]
    right = runs[0].returncode == 5 and runs[1].returncode == 0 and "convert.mlx-left-out" in runs[1].stderr
    wrong = [] if right else [f"encoder: {[(r.returncode, r.stderr) for r in runs]}"]
    source = os.path.join(work, "biases")
    write(source, "ernie4_5_moe", SWITCH()[0], "mlx")
    runs = [subprocess.run([tare, "convert", source, source + "-out", "--to", "hf", *strict], capture_output=True, text=True) for strict in (["--strict"], [])]
    right = runs[0].returncode == 5 and runs[1].returncode == 0 and "e_score_correction_bias" in runs[1].stderr
    return wrong + ([] if right else [f"biases: {[(r.returncode, r.stderr) for r in runs]}"])


def pictures(tare, work):
    """An encoder for llama.cpp is the same of both forms; one of a form that tare does not know is refused, its text model is not."""
    sys.path.insert(0, os.path.join(HERE, "../llama"))
    import tiny_models
    plain, mlx = (os.path.join(work, form, "model") for form in ("plain", "mlx"))
    tiny_models.write(plain, "qwen2vl-vision")
    shutil.copytree(plain, mlx)
    _, have = read_safetensors(os.path.join(plain, "model.safetensors"))
    with open(os.path.join(mlx, "model.safetensors"), "wb") as f:
        def form(n, k, s, d):
            a = np.frombuffer(d, {"BF16": "<u2", "F32": "<f4"}[k]).reshape(s)
            a = np.moveaxis(a, 1, -1) if a.ndim > 3 else a
            return n.replace("visual.", "vision_tower.") if n.startswith("visual.") else "language_model." + n, k, list(a.shape), np.ascontiguousarray(a).tobytes()
        f.write(safetensors((form(n, k, s, d) for n, (k, s, d) in have.items()), {"format": "mlx"}))
    runs = [subprocess.run([tare, "convert", d, os.path.join(work, f"{i}.gguf"), "--mmproj", "-q"], capture_output=True, text=True) for i, d in enumerate((plain, mlx))]
    if any(r.returncode for r in runs):
        return [f"encoders: {[r.stderr for r in runs]}"]
    with open(os.path.join(work, "0.gguf"), "rb") as a, open(os.path.join(work, "1.gguf"), "rb") as b:
        wrong = [] if a.read() == b.read() else ["encoders: the files differ"]
    with open(os.path.join(mlx, "config.json")) as f:
        config = json.load(f)
    for target, right in (([os.path.join(work, "2.gguf"), "--mmproj"], False), ([os.path.join(work, "3.gguf"), "--no-tokenizer"], True)):
        with open(os.path.join(mlx, "config.json"), "w") as f:
            json.dump({**config, "model_type": "unknown"}, f)
        run = subprocess.run([tare, "convert", mlx, *target, "-q"], capture_output=True, text=True)
        if (run.returncode == 0) != right or not right and "channels" not in run.stderr:
            wrong.append(f"an encoder of another form: {target}: {run.returncode} {run.stderr.strip()}")
    return wrong


def file(tare, work):
    """A single file keeps MLX's names, says so, and becomes transformers' in a directory."""
    mlx, plain = KINDS["qwen3_moe"]()
    source, one, back = (os.path.join(work, n) for n in ("file", "file.safetensors", "file-back"))
    write(source, "qwen3_moe", packed(mlx), "mlx")
    runs = [subprocess.run([tare, "convert", *words], capture_output=True, text=True) for words in ([source, one, "--type", "f32"], [one, back, "--to", "hf"])]
    names = [set(read_safetensors(f)[1]) for f in (one, os.path.join(back, "model.safetensors"))]
    return [] if "convert.mlx-kept" in runs[0].stderr and names == [set(mlx), set(plain)] else [f"file: {names} {[r.stderr for r in runs]}"]


def refused(tare, work):
    """A tensor that is a half of one, and forms that tare does not undo, are errors that name them."""
    wrong = []
    half = {L + "self_attn.embed_q.weight": matrix(2, 32, 6)}
    falcon = {L + "mamba.conv1d.weight": matrix(6, 4)[:, :, None], "lm_head.weight": matrix(8, 64)}
    unclear = {"vision_tower.patch_embed.proj.weight": matrix(8, 3, 3, 3)}
    dbrx = {f"transformer.blocks.0.ffn.experts.{i}.w1.weight": matrix(32, 64) for i in (0, 2)}
    muse = {L + "self_attn.qkvg_proj.weight": matrix(8, 64)}
    name = L + "mlp.switch_mlp.gate_proj.weight"
    empty, row, mark = {name: np.zeros((1 << 27, 0, 8), F)}, {name: matrix(32)}, {"a#b." + name: matrix(2, 4, 32)}
    pictures = {"vision_tower.patch_embed.proj.weight": matrix(8, 14, 14, 3)}
    for kind, tensors, word in (("deepseek_v3", half, "the other one is missing"), ("falcon_h1", falcon, "numbers of config.json"), ("dbrx", dbrx, "the other one is missing"), ("muse_spark", muse, "does not know how to undo"),
                                ("glm4v_moe", unclear, "whose shape does not tell"),
                                ("qwen3_moe", empty, "name or shape"), ("qwen2_moe", row, "name or shape"), ("olmoe", mark, "name or shape"),
                                ("phi3_v", pictures, "vision_tower.patch_embed.proj.weight")):
        source = os.path.join(work, "refused-" + kind)
        CONFIG.pop(kind, None)
        write(source, kind, tensors, "mlx")
        run = subprocess.run([tare, "convert", source, source + "-out", "--to", "hf", "--type", "f32", "-q"], capture_output=True, text=True)
        if run.returncode not in (3, 5) or word not in run.stderr:
            wrong.append(f"{kind}: {run.returncode} {run.stderr.strip()}")
    return wrong


def main():
    names = [a for a in sys.argv[1:] if a != "-v"]
    tare = os.environ.get("TARE_COMMAND") or os.path.abspath(names.pop(0))
    kinds = names or list(KINDS)
    wrong, work = [], tempfile.mkdtemp(prefix="tare-mlx-")
    try:
        for kind in kinds:
            mlx, plain = KINDS[kind]()
            wrong += check(tare, work, kind, mlx, plain, "plain") + check(tare, work, kind, packed(mlx), plain, "packed") + servers(tare, work, kind, mlx, plain) + written(tare, work, kind, mlx, plain)
        wrong += norms_left(tare, work) + chosen(tare, work) + encoder(tare, work) + pictures(tare, work) + file(tare, work) + refused(tare, work)
    finally:
        shutil.rmtree(work)
    for w in wrong:
        print(w)
    print(f"{len(kinds)} kinds of models, {sum(DONE)} for servers, {len(MADE)} for MLX, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
