#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Packed weights that tare writes (`tare quantize IN OUT SCHEME`): read here by the formulas of the libraries, out of the
names, shapes and settings that vLLM, SGLang, transformers and mlx-lm expect, they are what tare itself decodes; their
error is no more than the searches reach; with :rtn scales and codes are those that the library's rounding gives.
`judge_written.py TARE [SCHEME...]`"""
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../support"))
import numpy as np  # noqa: E402
from safetensors_file import read_safetensors, safetensors  # noqa: E402
from judge_schemes import BYTES, E2M1, E4M3, half, number  # noqa: E402

F = np.float32
LAYER = "model.layers.0."
MATRICES = {LAYER + "self_attn.q_proj": (256, 256), LAYER + "self_attn.k_proj": (128, 256), LAYER + "self_attn.v_proj": (128, 256),
            LAYER + "mlp.gate_proj": (384, 256), LAYER + "mlp.up_proj": (384, 256), LAYER + "mlp.down_proj": (256, 384)}
# Of what no scheme is for: a router; of what servers cannot have: columns that are no whole groups.
ODD = {LAYER + "mlp.gate": (8, 256), LAYER + "self_attn.o_proj": (256, 72)}
# Relative error in %, at most; of the library's rounding, at least this much more.
MOST = {"w4a16": 14.3, "w8a16": .95, "w4a16_asym": 12.9, "w8a8": 1.16, "fp8_dynamic": 2.4, "fp8_block": 2.65, "fp8_deepseek": 2.65,
        "nvfp4a16": 8.5, "nvfp4_modelopt": 8.5, "mxfp4": 12.6, "mxfp8": 2.95, "mlx2": 39, "mlx3": 20.6, "mlx4": 10.2, "mlx5": 4.9, "mlx6": 2.5, "mlx8": .64,
        "mlx_mxfp4": 12.6, "mlx_mxfp8": 2.95, "mlx_nvfp4": 8.6}
FORMATS = {"w4a16": "pack-quantized", "w8a16": "pack-quantized", "w4a16_asym": "pack-quantized", "w8a8": "int-quantized",
           "fp8_dynamic": "float-quantized", "fp8_block": "float-quantized", "nvfp4a16": "nvfp4-pack-quantized",
           "mxfp4": "mxfp4-pack-quantized", "mxfp8": "mxfp8-quantized"}


def model():
    r = np.random.default_rng(7)
    tensors = {"model.norm.weight": half(np.ones(256, F)), "model.embed_tokens.weight": half(r.standard_normal((128, 256)) / 8)}
    for name, shape in {**MATRICES, **ODD}.items():
        tensors[name + ".weight"] = half(r.standard_t(5, shape) * .03)
    return tensors


def write(folder, tensors):
    os.makedirs(folder)
    with open(os.path.join(folder, "model.safetensors"), "wb") as f:
        f.write(safetensors((n, "BF16", list(a.shape), a.tobytes()) for n, a in tensors.items()))
    with open(os.path.join(folder, "config.json"), "w") as f:
        json.dump({"model_type": "x", "torch_dtype": "bfloat16", "tie_word_embeddings": True}, f)


def read(folder):
    return {n: (k, np.frombuffer(d, BYTES[k]).reshape(s)) for n, (k, s, d) in read_safetensors(os.path.join(folder, "model.safetensors"))[1].items()}


def codes(words, bits, cols):
    b = np.unpackbits(np.ascontiguousarray(words).view(np.uint8), axis=-1, bitorder="little")[:, :cols * bits]
    return (b.reshape(len(b), cols, bits) << np.arange(bits)).sum(-1)


def wide(s, shape):
    """A scale for each number."""
    return np.repeat(np.repeat(s, -(-shape[0] // len(s)), 0)[:shape[0]], -(-shape[1] // s.shape[1]), 1)[:, :shape[1]]


def scale(t):
    return np.ldexp(F(1), t[1].astype(int) - 127).astype(F) if t[0] == "U8" else number(*t)


def compressed(t, x, shape, w):
    """One module of compressed-tensors, as its group of the settings says."""
    part = {k[len(x):]: v for k, v in t.items() if k.startswith(x + ".")}
    s = scale(part[".weight_scale"])
    if w["strategy"] == "block":
        s = np.repeat(np.repeat(s, w["block_structure"][0], 0)[:shape[0]], w["block_structure"][1], 1)[:, :shape[1]]
    if w["type"] == "float" and w["num_bits"] == 8:
        return number(*part[".weight"]) * wide(s, shape)
    if w["type"] == "float":
        s = s / number(*part[".weight_global_scale"]) if ".weight_global_scale" in part else s
        return E2M1[codes(part[".weight_packed"][1], 4, shape[1])] * wide(s, shape)
    if ".weight" in part:
        return part[".weight"][1].astype(F) * wide(s, shape)
    if tuple(part[".weight_shape"][1]) != shape:
        return None
    q = codes(part[".weight_packed"][1], w["num_bits"], shape[1]).astype(F)
    if w["symmetric"]:
        return (q - 2 ** (w["num_bits"] - 1)) * wide(s, shape)
    z = codes(np.ascontiguousarray(part[".weight_zero_point"][1].T), w["num_bits"], shape[0]).T.astype(F)
    return (q - wide(z, shape)) * wide(s, shape)


def mlx(t, x, shape, q):
    kind, s = t[x + ".scales"]
    if q["mode"] == "affine":
        s, b = number(kind, s), number(*t[x + ".biases"])
        return codes(t[x + ".weight"][1], q["bits"], shape[1]).astype(F) * wide(s, shape) + wide(b, shape)
    c = codes(t[x + ".weight"][1], q["bits"], shape[1])
    return (E2M1 if q["bits"] == 4 else E4M3)[c] * wide(E4M3[s] if q["mode"] == "nvfp4" else scale((kind, s)), shape)


def modelopt(t, x, shape):
    return E2M1[codes(t[x + ".weight"][1], 4, shape[1])] * wide(number(*t[x + ".weight_scale"]) * number(*t[x + ".weight_scale_2"]), shape)


def decode(t, x, shape, config):
    q = config["quantization_config"]
    if q.get("quant_method") == "modelopt":
        return modelopt(t, x, shape)
    if "mode" in q:
        return mlx(t, x, shape, q)
    if q["quant_method"] == "fp8":
        return number(*t[x + ".weight"]) * wide(number(*t[x + ".weight_scale_inv"]), shape)
    groups = list(q["config_groups"].values())
    named = [g for g in groups if x in g["targets"]]
    return compressed(t, x, shape, (named or groups)[0]["weights"])


def is_packed(t, x):
    return x + ".weight" not in t or any(x + e in t for e in (".weight_scale", ".weight_scale_inv", ".scales"))


def settings(name, config, t, folder):
    """What is wrong with config.json, and with the file beside it."""
    q = config.get("quantization_config", {})
    if config.get("torch_dtype") != "bfloat16":
        return ["torch_dtype"]
    if name.startswith("mlx"):
        return [] if q == config.get("quantization") else ["quantization"]
    plain = {x for x in ODD if not is_packed(t, x)}
    ignored = set(q.get("ignore", q.get("modules_to_not_convert", ())))
    wrong = [] if ignored == plain | {"lm_head"} else [f"ignore {ignored ^ plain}"]
    beside = os.path.join(folder, "hf_quant_config.json")
    if os.path.exists(beside) != (name == "nvfp4_modelopt"):
        wrong.append("hf_quant_config.json")
    elif name == "nvfp4_modelopt":
        with open(beside) as f:
            own = json.load(f)["quantization"]
        if own != {"quant_algo": "W4A16_NVFP4", "kv_cache_quant_algo": None, "group_size": 16, "exclude_modules": q["ignore"]} or q["quant_algo"] != own["quant_algo"]:
            wrong.append(f"hf_quant_config.json: {own}")
    if name in FORMATS and (q["format"] != FORMATS[name] or any(g["format"] != q["format"] for g in q["config_groups"].values())):
        wrong.append(f"format {q['format']}")
    return wrong


def library(w, bits, group):
    """Codes and scales of compressed-tensors for a symmetric group, computed in BF16 as it does."""
    g = w.reshape(len(w), -1, group)
    s = number("BF16", half(np.abs(g).max(-1) / F((2 ** bits - 1) / 2)))
    q = np.clip(np.rint(number("BF16", half(g / s[..., None]))), -2 ** (bits - 1), 2 ** (bits - 1) - 1)
    return q.reshape(w.shape).astype(F), s


FUSED = [("q_proj", "k_proj", "v_proj"), ("gate_proj", "up_proj")]


def rounded_modelopt(w, most):
    """ModelOpt's numbers of a matrix, in F32: `most` is the largest number of what is fused."""
    factor, g = F(most) / F(2688), w.reshape(len(w), -1, 16)
    s = np.abs(g).max(-1) / (F(6) * factor)
    s = np.clip(np.where(s == 0, F(1), s), F(2 ** -9), F(448))
    s = E4M3[:127][np.abs(s[..., None] - E4M3[:127]).argmin(-1)] * factor  # no tie among these
    t = np.abs(g) / s[..., None]
    q = sum((t >= b if i % 2 else t > b).astype(int) for i, b in enumerate((.25, .75, 1.25, 1.75, 2.5, 3.5, 5)))
    return (np.copysign(E2M1[q], g) * s[..., None]).reshape(w.shape).astype(F)


def judge(tare, scheme, source, work):
    name, out, plain = scheme.split(":")[0], os.path.join(work, "out"), os.path.join(work, "plain")
    for d in (out, plain):
        shutil.rmtree(d, ignore_errors=True)
    for words in (["quantize", source, out, scheme], ["convert", out, plain, "--to", "hf", "--type", "f32"]):
        run = subprocess.run([tare, *words, "-q"], capture_output=True, text=True)
        if run.returncode:
            return [f"{words[0]}: exit {run.returncode}: {run.stderr.strip()}"]
    t, ours, was = read(out), read(plain), read(source)
    with open(os.path.join(out, "config.json")) as f:
        config = json.load(f)
    wrong, error, size = settings(name, config, t, out), 0, 0
    for x, shape in MATRICES.items():
        if not is_packed(t, x):
            return wrong + [f"{x} is not packed"]
        w, right, have = number(*was[x + ".weight"]), decode(t, x, shape, config), ours[x + ".weight"][1]
        if right is None or not np.array_equal(have, right.astype(F)):
            wrong.append(f"{x}: the formula gives other numbers")
            continue
        error, size = error + ((w - have).astype(float) ** 2).sum(), size + (w.astype(float) ** 2).sum()
        if scheme in ("w4a16:rtn", "w8a16:rtn"):
            q, s = library(w, int(name[1]), 128)
            if not np.array_equal(q * wide(s, shape), have):
                wrong.append(f"{x}: not the library's rounding")
        if scheme == "nvfp4_modelopt:rtn":
            members = next((m for m in FUSED if x.split(".")[-1] in m), (x.split(".")[-1],))
            most = max(np.abs(number(*v)).max() for k, v in was.items() if k.split(".")[-2] in members)
            if not np.array_equal(rounded_modelopt(w, most), have):
                wrong.append(f"{x}: not the library's rounding")
        if scheme in ("mlx_mxfp4:rtn", "mlx_nvfp4:rtn"):  # halfway lies the smaller number
            s = wide(E4M3[t[x + ".scales"][1]] if "nv" in name else scale(t[x + ".scales"]), shape)
            q = np.searchsorted(np.array([.25, .75, 1.25, 1.75, 2.5, 3.5, 5], F), np.abs(w) / s)
            if not np.array_equal(np.copysign(E2M1[q] * s, w) + F(0), have + F(0)):
                wrong.append(f"{x}: not the library's rounding")
    if "weight_global_scale" in "".join(t) and len({float(number(*t[LAYER + f"self_attn.{k}_proj.weight_global_scale"])[0]) for k in "qkv"}) != 1:
        wrong.append("q, k and v have scales of their own")
    rmse = 100 * (error / size) ** .5 if size else 0
    if not wrong and rmse > MOST[name] * (1.5 if ":" in scheme else 1):
        wrong.append(f"error {rmse:.3f} %, at most {MOST[name]} % was expected")
    return wrong


def stacked(tare, work):
    """Experts in one tensor stay, and are named, where nothing says which way they lie."""
    source, out = os.path.join(work, "stacked"), os.path.join(work, "packed")
    write(source, {**model(), LAYER + "mlp.experts.down_proj": half(np.ones((2, 128, 128), F))})
    run = subprocess.run([tare, "quantize", source, out, "w4a16", "-v"], capture_output=True, text=True)
    named = "mlp.experts.down_proj" in run.stderr and "scheme.left" in run.stderr
    return [] if run.returncode == 0 and named else [f"exit {run.returncode}: {run.stderr.strip()}"]


def apart(tare, work):
    """Experts in one tensor become what they would be as tensors of their own, byte for byte; those of gpt-oss lie the other way round."""
    r, wrong = np.random.default_rng(6), []
    both, down = half(r.standard_normal((3, 256, 128)).astype(F)), half(r.standard_normal((3, 128, 128)).astype(F))
    one = {LAYER + "mlp.experts.gate_up_proj": both, LAYER + "mlp.experts.down_proj": down}
    many = {LAYER + f"mlp.experts.{e}.{n}_proj.weight": a for e in range(3) for n, a in (("gate", both[e, :128]), ("up", both[e, 128:]), ("down", down[e]))}
    for kind, tensors in (("moe", {**model(), **one}), ("moe", {**model(), **many}), ("gpt_oss", {**model(), **one})):
        source = os.path.join(work, f"{kind}-{len(tensors)}")
        write(source, tensors)
        with open(os.path.join(source, "config.json"), "w") as f:
            json.dump({"model_type": kind, "torch_dtype": "bfloat16", "hidden_size": 128}, f)
        for scheme in ("w4a16", "nvfp4a16", "fp8_dynamic", "w4a16_asym:g32"):
            run = subprocess.run([tare, "quantize", source, source + "." + scheme, scheme, "-v"], capture_output=True, text=True)
            if run.returncode or ("gate_up_proj" in run.stderr) != (kind == "gpt_oss"):
                wrong.append(f"experts in one tensor: {kind} {scheme}: {run.stderr}")
    for scheme in ("w4a16", "nvfp4a16", "fp8_dynamic", "w4a16_asym:g32"):
        a, b = (read(os.path.join(work, f"moe-{len(model()) + len(n)}.{scheme}")) for n in (one, many))
        if set(a) != set(b) or any(not np.array_equal(a[k][1], b[k][1]) for k in a) or LAYER + "mlp.experts.2.up_proj.weight_scale" not in a:
            wrong.append(f"experts in one tensor: {scheme}: others than apart")
    return wrong


def experts(tare, work):
    """MLX has all experts of a layer in one tensor, in the order of their numbers: eleven, of which 10 comes before 2 by name."""
    source, out, plain, r = os.path.join(work, "experts"), os.path.join(work, "switch"), os.path.join(work, "switch-plain"), np.random.default_rng(4)
    was = {LAYER + f"mlp.experts.{e}.{n}_proj.weight": half(r.standard_normal((96, 128)).astype(F)) for e in range(11) for n in ("gate", "up")}
    write(source, {**model(), **was})
    wrong = []
    for scheme in ("mlx4", "mlx_nvfp4", "mlx8:g32"):
        for d in (out, plain):
            shutil.rmtree(d, ignore_errors=True)
        for words in (["quantize", source, out, scheme], ["convert", out, plain, "--to", "hf", "--type", "f32"]):
            subprocess.run([tare, *words, "-q"], check=True)
        t, ours = read(out), read(plain)
        with open(os.path.join(out, "config.json")) as f:
            config = json.load(f)
        for n in ("gate", "up"):
            x = LAYER + f"mlp.switch_mlp.{n}_proj"
            for e in range(11):
                have = ours[LAYER + f"mlp.experts.{e}.{n}_proj.weight"][1]
                one = {k: (kind, a[e]) for k, (kind, a) in t.items() if k.startswith(x + ".")}
                w = number("BF16", was[LAYER + f"mlp.experts.{e}.{n}_proj.weight"])
                if have.shape != (96, 128) or not np.array_equal(have, decode(one, x, (96, 128), config)):
                    wrong.append(f"{scheme}: {x} {e}: the formula gives other numbers")
                elif np.abs(w - have).std() > .12 * w.std():
                    wrong.append(f"{scheme}: {x} {e}: another expert")
    run = subprocess.run([tare, "quantize", source, out + "2", "mlx4", "--tensor-type", "experts.3.gate=mlx8"], capture_output=True, text=True)
    return wrong + ([] if run.returncode == 2 and "the same scheme" in run.stderr else [f"experts of two schemes: {run.stderr}"])


def mixture(tare, work):
    """A mixture of experts for MLX, and from there to GGUF: the tensors that the model itself becomes, a little off."""
    source, out, r = os.path.join(work, "mixture"), os.path.join(work, "mixture-mlx"), np.random.default_rng(5)
    layer, one = "model.layers.0.", half(np.ones(64, F))
    shapes = {"model.embed_tokens": (32, 64), "lm_head": (32, 64), layer + "mlp.gate": (4, 64), **{layer + f"self_attn.{n}_proj": (64, 64) for n in "qkvo"},
              **{layer + f"mlp.experts.{e}.{n}_proj": (64, 64) for e in range(4) for n in ("gate", "up", "down")}}
    norms = ["model.norm", *(layer + n for n in ("input_layernorm", "post_attention_layernorm", "self_attn.q_norm", "self_attn.k_norm"))]
    write(source, {**{n + ".weight": half(r.standard_normal(s).astype(F)) for n, s in shapes.items()}, **{n + ".weight": one for n in norms}})
    with open(os.path.join(source, "config.json"), "w") as f:
        json.dump({"model_type": "olmoe", "architectures": ["OlmoeForCausalLM"], "hidden_size": 64, "intermediate_size": 64, "num_experts": 4, "num_experts_per_tok": 2,
                   "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 2, "vocab_size": 32, "rms_norm_eps": 1e-5, "rope_theta": 1e4,
                   "max_position_embeddings": 64, "torch_dtype": "bfloat16"}, f)
    for words in (["quantize", source, out, "mlx8"], ["convert", source, out + "0.gguf", "--no-tokenizer", "--type", "f32"],
                  ["convert", out, out + "1.gguf", "--no-tokenizer", "--type", "f32"]):
        run = subprocess.run([tare, *words, "-q"], capture_output=True, text=True)
        if run.returncode:
            return [f"{words[0]}: {run.stderr.strip()}"]
    told = json.loads(subprocess.run([tare, "diff", "--json", out + "0.gguf", out + "1.gguf"], capture_output=True, text=True).stdout)
    text = json.dumps(told)
    errors = [float(v) for v in re.findall(r'"relative_rmse": ([0-9.e-]+)', text)]
    return [] if "ffn_down_exps" in text and errors and max(errors) < .02 else [f"GGUF: {text[:2000]}"]


def quantize(tare, work, source, *words):
    """The error of each column of a matrix, weighed alike; and what was said."""
    out, x = os.path.join(work, "option"), LAYER + "mlp.down_proj"
    shutil.rmtree(out, ignore_errors=True)
    run = subprocess.run([tare, "quantize", source, out, *words, "-q"], capture_output=True, text=True)
    if run.returncode:
        return None, run
    with open(os.path.join(out, "config.json")) as f:
        w = decode(read(out), x, MATRICES[x], json.load(f))
    return w, run


def fitted(tare, work, source, matrix, x):
    """With a target, an importance matrix weighs the choice and the codes: the damage is another, the recipe with the same matrix gives the same bytes, and a
    matrix of another model is refused."""
    wrong, damage, recipe = [], [], os.path.join(work, "fit.recipe")
    other = os.path.join(work, "other.imatrix")
    with open(other, "wb") as f:
        name = (x + ".weight").encode()
        f.write(struct.pack("<ii", 1, len(name)) + name + struct.pack("<ii", 1, 64) + np.ones(64, F).tobytes())
    for n, words in (("plain", []), ("weighed", ["--imatrix", matrix, "--recipe", recipe]), ("other", ["--imatrix", other])):
        run = subprocess.run([tare, "quantize", source, os.path.join(work, "fit-" + n), "--to", "hf", "--target-bpw", "7", *words], capture_output=True, text=True)
        damage += re.findall(r"predicted damage ([0-9.e-]+)", run.stdout)
        if run.returncode != (2 if n == "other" else 0) or (n == "weighed") != ("without importance" in run.stderr):
            wrong.append(f"--target-bpw, {n}: exit {run.returncode}: {run.stderr}")
    run = subprocess.run([tare, "quantize", source, os.path.join(work, "fit-again"), "w8a16", "--tensor-type-file", recipe, "--imatrix", matrix, "-q"], capture_output=True, text=True)
    if run.returncode or len(set(damage)) != 2:
        return wrong + [f"--target-bpw: damages {damage}; {run.stderr}"]
    for n in ("model.safetensors", "config.json"):
        a, b = (open(os.path.join(work, d, n), "rb").read() for d in ("fit-weighed", "fit-again"))
        wrong += [] if a == b else [f"--target-bpw: {n} of the recipe is another"]
    return wrong


def guided(tare, work, source):
    """An importance matrix lowers the error that it weighs; factors of an adapter are in the codes; numbers that are none are refused."""
    wrong, x = [], LAYER + "mlp.down_proj"
    rows, cols = MATRICES[x]
    r = np.random.default_rng(11)
    importance, matrix = (r.random(cols) ** 4).astype(F), os.path.join(work, "x.imatrix")
    with open(matrix, "wb") as f:
        name = (x + ".weight").encode()
        f.write(struct.pack("<ii", 1, len(name)) + name + struct.pack("<ii", 1, cols) + importance.tobytes())
    lora = os.path.join(work, "lora")
    a, b = r.standard_normal((2, cols)).astype(F) * F(.1), r.standard_normal((rows, 2)).astype(F) * F(.1)
    os.makedirs(lora)
    with open(os.path.join(lora, "adapter_model.safetensors"), "wb") as f:
        f.write(safetensors([(f"base_model.model.{x}.lora_A.weight", "F32", [2, cols], a.tobytes()), (f"base_model.model.{x}.lora_B.weight", "F32", [rows, 2], b.tobytes())]))
    with open(os.path.join(lora, "adapter_config.json"), "w") as f:
        json.dump({"peft_type": "LORA", "r": 2, "lora_alpha": 4, "target_modules": ["down_proj"]}, f)
    was = number(*read(source)[x + ".weight"])
    for scheme in ("w4a16", "w4a16_asym", "nvfp4a16", "fp8_dynamic", "mlx4"):
        error = [((was - quantize(tare, work, source, scheme, *o)[0]) ** 2 * importance).sum() for o in ((), ("--imatrix", matrix))]
        if error[1] > error[0] * .99:
            wrong.append(f"{scheme} --imatrix: {error}")
    wrong += fitted(tare, work, source, matrix, x)
    merged = was + F(2) * (b @ a)
    have = quantize(tare, work, source, "w8a16", "--apply-adapter", lora)[0]
    if have is None or np.abs(have - merged).max() > .02 * np.abs(merged).max():
        wrong.append("--apply-adapter: other numbers")
    broken = model()
    broken[x + ".weight"][3, 5] = 0x7fc0 if broken[x + ".weight"].dtype == np.uint16 else np.nan
    write(os.path.join(work, "broken"), broken)
    for scheme in MOST:
        if quantize(tare, work, os.path.join(work, "broken"), scheme)[1].returncode != 5:
            wrong.append(f"{scheme}: NaN was packed")
    return wrong


def taken(q, t, parts):
    """How vLLM and SGLang load the parts of what they run as one: which of them they take for packed by config.json, and which are; sets of texts."""
    groups = list(q["config_groups"].values())

    def says(x):
        if any(re.match(i[3:], x) if i.startswith("re:") else i == x for i in q["ignore"]):
            return "plain"
        found = [n for n, g in enumerate(groups) if x in g["targets"] or "Linear" in g["targets"]]
        return f"group {found[0]}" if found else "plain"
    return {says(x) for x in parts}, {"packed" if is_packed(t, x) else "plain" for x in parts if x + ".weight" in t or x + ".weight_packed" in t}


def servers(tare, work):
    """What servers run at once has one scheme, or stays: linear attention's inputs, and all experts of a layer. A stack of experts that stays is named as they ask."""
    wrong, r = [], np.random.default_rng(8)
    experts = [f"mlp.experts.{e}.{n}_proj" for e in range(2) for n in ("gate", "up", "down")]
    sets = {"linear_attn": ["in_proj_qkv", "in_proj_z"], "experts": experts, "stack": experts, "odd experts": experts}
    shapes = {"linear_attn": {"linear_attn.in_proj_qkv.weight": (256, 256), "linear_attn.in_proj_z.weight": (128, 256), "linear_attn.in_proj_b.weight": (8, 256)},
              "experts": {x + ".weight": (128, 128) for x in experts}, "odd experts": {x + ".weight": (128, 200) if "down" in x else (200, 128) for x in experts},
              "stack": {"mlp.experts.gate_up_proj": (2, 256, 128), "mlp.experts.down_proj": (2, 128, 128)}}
    for name, parts in sets.items():
        source = os.path.join(work, "servers " + name)
        write(source, {**model(), **{LAYER + n: half(r.standard_normal(s).astype(F)) for n, s in shapes[name].items()}})
        for words in (["w4a16"], ["nvfp4a16"], ["w4a16", "--tensor-type", "self_attn=fp8_dynamic"]):
            out = source + " ".join(words)
            run = subprocess.run([tare, "quantize", source, out, *words, "-v"], capture_output=True, text=True)
            if run.returncode:
                wrong.append(f"{name}: {run.stderr}")
                continue
            with open(os.path.join(out, "config.json")) as f:
                said, are = taken(json.load(f)["quantization_config"], read(out), [LAYER + (p if "." in p else f"linear_attn.{p}") for p in parts])
            stays = name in ("stack", "odd experts")
            if len(said) != 1 or (said == {"plain"}) != stays or are != ({"packed"} if not stays else set() if name == "stack" else {"plain"}):
                wrong.append(f"{name} {words}: config.json says {said}, they are {are}")
    source = os.path.join(work, "servers experts")
    for rule in ("experts.*down=w8a16", "experts[.]1=none", "experts.0.gate=w4a16:g32"):
        run = subprocess.run([tare, "quantize", source, source + "-x", "w4a16", "--tensor-type", rule], capture_output=True, text=True)
        if run.returncode != 2 or "one scheme for all experts" not in run.stderr and "servers fuse" not in run.stderr:
            wrong.append(f"experts of two schemes, {rule}: exit {run.returncode}: {run.stderr}")
    return wrong


def comfy(tare, work):
    """A diffusion model for ComfyUI: matrices of blocks become FP8 under one scale, each with what it is beside it; the rest stays. With :rtn the scale reaches the largest
    number; codes that are such already stay, byte for byte."""
    wrong, r = [], np.random.default_rng(12)
    unet, block = "model.diffusion_model.", "model.diffusion_model.double_blocks.0."
    packed = {block + "img_attn.qkv": (192, 64), block + "txt_mlp.2": (64, 256), unet + "single_blocks.11.linear1": (96, 70 * 2)}
    plain = {unet + "img_in.weight": (64, 16), block + "img_attn.norm.query_norm.scale": (64,), block + "img_attn.qkv.bias": (192,), "first_stage.conv.0.weight": (8, 4, 3, 3)}
    w = {x: half(r.standard_t(5, s).astype(F) * F(.03)) for x, s in packed.items()}
    kept = {n: half(r.standard_normal(s).astype(F)) for n, s in plain.items()}
    source, rows = os.path.join(work, "unet.safetensors"), os.path.join(work, "comfy")
    with open(source, "wb") as f:
        f.write(safetensors([(x + ".weight", "BF16", list(a.shape), a.tobytes()) for x, a in w.items()] + [(n, "BF16", list(a.shape), a.tobytes()) for n, a in kept.items()]))

    def made(path, *words):
        run = subprocess.run([tare, *words, path, "--force"], capture_output=True, text=True)
        if run.returncode:
            wrong.append(f"comfy {words}: exit {run.returncode}: {run.stderr}")
            return {}
        return {n: (k, np.frombuffer(d, BYTES[k]).reshape(s)) for n, (k, s, d) in read_safetensors(path)[1].items()}
    errors = {}
    for scheme in ("comfy_fp8", "comfy_fp8:rtn"):
        out = rows + scheme[9:] + ".safetensors"
        run = subprocess.run([tare, "quantize", source, out, scheme, "-q"], capture_output=True, text=True)
        if run.returncode:
            return [f"{scheme}: exit {run.returncode}: {run.stderr}"]
        t = {n: (k, np.frombuffer(d, BYTES[k]).reshape(s)) for n, (k, s, d) in read_safetensors(out)[1].items()}
        if set(t) != set(kept) | {x + e for x in w for e in (".weight", ".weight_scale", ".comfy_quant")}:
            wrong.append(f"{scheme}: {sorted(t)}")
            continue
        ours = made(rows + "-plain.safetensors", "convert", "--type", "f32", out)
        for x, a in w.items():
            s, n = t[x + ".weight_scale"], number("BF16", a)
            have = E4M3[t[x + ".weight"][1].view(np.uint8)] * s[1]
            if s[0] != "F32" or s[1].shape != () or t[x + ".weight"][0] != "F8_E4M3" or json.loads(t[x + ".comfy_quant"][1].tobytes()) != {"format": "float8_e4m3fn"}:
                wrong.append(f"{scheme}: {x}: {s} {t[x + '.comfy_quant']}")
            if not np.array_equal(ours[x + ".weight"][1], have):
                wrong.append(f"{scheme}: {x}: tare reads other numbers")
            errors.setdefault(x, []).append(((have - n).astype(float) ** 2).mean() / (n.astype(float) ** 2).mean())
            scaled = number("BF16", half(n * number("BF16", half(F(1) / s[1]))))  # as the library does it
            error = np.abs(E4M3[:127][:, None] - np.abs(scaled).clip(0, 448).ravel())
            near = error.argmin(0) + ((error == error.min(0)).sum(0) > 1) * (error.argmin(0) % 2)  # halfway: the even one
            if scheme.endswith("rtn") and (s[1] != np.abs(n).max() / F(448) or not np.array_equal(near, t[x + ".weight"][1].view(np.uint8).ravel() & 127)):
                wrong.append(f"{scheme}: {x}: not the library's rounding")
        if any(t[n][0] != "BF16" or not np.array_equal(t[n][1], a) for n, a in kept.items()):
            wrong.append(f"{scheme}: what stays is another")
        again = os.path.join(work, "again.safetensors")
        run = subprocess.run([tare, "quantize", out, again, "comfy_fp8", "--force"], capture_output=True, text=True)
        with open(out, "rb") as a, open(again, "rb") as b:
            if a.read() != b.read() or "scheme.repacked" not in run.stderr:
                wrong.append(f"{scheme}: packed again, it is another: {run.stderr}")
    if any(e[0] > e[1] or e[1] > .0275 ** 2 for e in errors.values()):
        wrong.append(f"comfy: errors {errors}")
    name, scales, columns = block + "txt_mlp.2.weight", {}, np.float32(r.random(256) ** 8)
    for unit in (0, 1, 1e-9):
        with open(rows + ".imatrix", "wb") as f:
            f.write(struct.pack("<ii", 1, len(name)) + name.encode() + struct.pack("<ii", 1, 256) + (columns * F(unit)).tobytes())
        subprocess.run([tare, "quantize", source, rows + "-i.safetensors", "comfy_fp8", "-q", "--force", *(["--imatrix", rows + ".imatrix"] if unit else [])], check=True)
        k, _, d = read_safetensors(rows + "-i.safetensors")[1][name]
        have = E4M3[np.frombuffer(d, np.uint8)].reshape(64, 256) * np.frombuffer(read_safetensors(rows + "-i.safetensors")[1][name[:-6] + "weight_scale"][2], F)[0]
        scales[unit] = (((have - number("BF16", w[name[:-7]])) ** 2) * columns).sum(dtype=float)
    if scales[1] != scales[1e-9] or scales[1] > scales[0]:
        wrong.append(f"comfy --imatrix: {scales}")
    run = subprocess.run([tare, "quantize", source, os.path.join(work, "folder"), "comfy_fp8", "--to", "hf"], capture_output=True, text=True)
    return wrong + ([] if run.returncode == 2 and "--to safetensors" in run.stderr else [f"comfy --to hf: {run.stderr}"])


def main():
    names = [a for a in sys.argv[1:] if a != "-v"]
    tare = os.environ.get("TARE_COMMAND") or os.path.abspath(names.pop(0))
    work, bad = tempfile.mkdtemp(prefix="tare-written-"), 0
    source = os.path.join(work, "in")
    write(source, model())
    all_schemes = [s for n in MOST for s in (n, n + ":rtn")] + ["w4a16:g64", "w4a16:g32", "w4a16:channel", "w8a16:channel", "mlx4:g32", "mlx4:g128"]
    for scheme in names or all_schemes:
        for w in judge(tare, scheme, source, work):
            print(f"{scheme}: {w}", flush=True)
            bad += 1
    for w in [] if names else stacked(tare, work) + apart(tare, work) + experts(tare, work) + mixture(tare, work):
        print(f"experts in one tensor: {w}", flush=True)
        bad += 1
    for w in [] if names else guided(tare, work, source) + servers(tare, work) + comfy(tare, work):
        print(w, flush=True)
        bad += 1
    shutil.rmtree(work)
    print(f"{len(names or all_schemes)} schemes, {bad} wrong")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
