#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Packed weights that keep their numbers in other containers. Each scheme of judge_schemes.py as a matrix of a Llama
model, converted to GGUF without a type, and read by the gguf package: those that blocks can hold have the type named
here and the numbers of the scheme's formula; the others are floats. The same matrices and ggml's blocks in the schemes
that tare writes, decoded by judge_written.py: where `scheme.repacked` says so, the numbers are equal, and the pairs are
those named here. `judge_repacked.py TARE [--short] [SCHEME...]`; in short, of the targets that keep the numbers of a matrix and
of those that do not, one each, in turn"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import numpy as np  # noqa: E402
from gguf import GGUFReader, dequantize  # noqa: E402
from judge_schemes import E2M1, E4M3, SCHEMES, F, Maker, half, number, nvfp4, pair, wide, write  # noqa: E402
from judge_written import decode, read  # noqa: E402

MATRIX = "model.layers.0.mlp.down_proj"
BLOCKS = {"gptq": "Q5_0", "gptq 3 bits": "Q4_0", "gptq v2": "Q4_0", "gptq words": "Q5_0", "gptq planar 3": "Q4_0", "gptq planar 7": "Q8_0",
          "auto-round 5": "Q8_0", "awq": "Q5_0", "awq gemv": "Q5_0", "awq tiles": "Q4_1", "compressed-tensors 2": "Q4_0", "compressed-tensors 3": "Q4_0",
          "compressed-tensors 4": "Q4_0", "compressed-tensors 5": "Q5_0", "compressed-tensors 6": "Q8_0", "compressed-tensors 7": "Q8_0",
          "compressed-tensors 8": "Q8_0", "compressed-tensors zero": "Q5_0", "compressed-tensors zero 3": "Q4_0",
          "compressed-tensors channel": "Q4_0", "compressed-tensors old 3": "Q4_0", "compressed-tensors old 5": "Q5_0",
          "compressed-tensors old 6": "Q8_0", "compressed-tensors old 7": "Q8_0", "compressed-tensors preset": "Q4_0", "mlx text model": "Q4_1", "mxfp4": "MXFP4", "quark mxfp4": "MXFP4", "mlx mxfp4": "MXFP4",
          "int8": "Q8_0", "quanto": "Q8_0", "mlx 2": "Q4_1", "mlx 3": "Q4_1", "mlx 4": "Q4_1", "mlx 5": "Q5_1", "metal": "Q4_1",
          "quark int4": "Q5_0", "quark signed": "Q5_0", "quark signed order": "Q5_0", "bitnet auto": "TQ2_0", "deepseek 4 experts": "MXFP4", "nvfp4": "NVFP4", "nvfp4 ct": "NVFP4", "mlx nvfp4": "NVFP4"}
# what is kept of packed weights and of ggml's blocks, groups of 32 where there is a choice
TARGETS = ["mlx2:g32", "mlx3:g32", "mlx4:g32", "mlx5:g32", "mlx6:g32", "mlx8:g32", "w4a16:g32", "w8a16:g32", "w4a16_asym:g32", "w8a8",
           "fp8_dynamic", "fp8_block", "nvfp4a16", "nvfp4_modelopt", "mxfp4", "mxfp8", "mlx_mxfp4", "mlx_mxfp8", "mlx_nvfp4"]
KEPT = {name: to for to, names in {
    "mlx4 mlx5 mlx6 mlx8 w8a16 w4a16_asym": ("gptq", "gptq words", "awq", "compressed-tensors zero", "quark int4", "quark signed", "quark signed order",),
    "mlx3 mlx4 mlx5 mlx6 mlx8 w4a16 w8a16 w4a16_asym": ("gptq 3 bits", "gptq planar 3", "compressed-tensors 3", "compressed-tensors zero 3",),
    "mlx2 mlx3 mlx4 mlx5 mlx6 mlx8 w4a16 w8a16 w4a16_asym": ("gptq v2", "compressed-tensors 2",),
    "mlx4 mlx5 mlx6 mlx8 w8a16 w4a16_asym w8a8": ("awq gemv",),
    "mlx8 w8a16": ("gptq planar 7", "compressed-tensors 7", "compressed-tensors 8", "q8_0",),
    "mlx5 mlx6 mlx8 w8a16": ("auto-round 5", "compressed-tensors 5", "q5_0",),
    "mlx4 mlx5 mlx6 mlx8": ("awq tiles", "mlx 4", "mlx text model", "metal", "q4_1", "q4_k",),
    "mlx4 mlx5 mlx6 mlx8 w4a16 w8a16 w4a16_asym": ("compressed-tensors 4", "compressed-tensors preset", "q4_0",),
    "mlx4 mlx5 mlx6 mlx8 w8a16 w4a16_asym w8a8": ("awq gemv",),
    "mlx6 mlx8 w8a16": ("compressed-tensors 6",),
    "mlx4 mlx5 mlx6 mlx8 w4a16 w8a16 w4a16_asym w8a8": ("compressed-tensors channel",),
    "mlx3 mlx4 mlx5 mlx6 mlx8 w4a16 w8a16 w4a16_asym w8a8": ("compressed-tensors old 3",),
    "mlx5 mlx6 mlx8 w8a16 w8a8": ("compressed-tensors old 5",),
    "mlx6 mlx8 w8a16 w8a8": ("compressed-tensors old 6",),
    "mlx8 w8a16 w8a8": ("compressed-tensors old 7", "int8", "quanto",),
    "mlx8": ("int8 zero", "int8 zero I16", "int8 zero I32", "int8 zero I64", "torchao", "mlx 8",),
    "fp8_dynamic": ("torchao fp8", "quanto fp8", "fp8 row", "fp8 rows (64, 1)", "fp8 rows (64,)", "fp8 rows (1, 64)", "fp8 one", "comfyui",),
    "fp8_block": ("fp8 blocks", "fp8 4-D",),
    "fp8_block mxfp8 mlx_mxfp8": ("fp8 exponents", "deepseek 4",),
    "mxfp8 mlx_mxfp8": ("fp8 bytes", "comfyui mxfp8", "mlx mxfp8",),
    "mxfp4 mlx_mxfp4": ("deepseek 4 experts", "mxfp4", "quark mxfp4", "mlx mxfp4",),
    "nvfp4a16 nvfp4_modelopt": ("nvfp4", "nvfp4 ct", "nvfp4 comfyui", "mlx nvfp4", "nvfp4 blocks",),
    "nvfp4a16 nvfp4_modelopt mlx_nvfp4": ("nvfp4 alone",),
    "mlx2 mlx3 mlx4 mlx5 mlx6 mlx8": ("mlx 2",),
    "mlx3 mlx4 mlx5 mlx6 mlx8": ("mlx 3",),
    "mlx5 mlx6 mlx8": ("mlx 5", "q5_1", "q5_k",),
    "mlx6 mlx8": ("mlx 6",),
    "w4a16 w8a16 w4a16_asym w8a8": ("gemma 2", "gemma 4",),
    "mlx2 mlx3 mlx4 mlx5 mlx6 mlx8 w4a16 w8a16 w4a16_asym w8a8": ("bitnet auto",),
}.items() for name in names}
# the same codes under other settings
for name, same in {"gptq": ("gptq order of zeros", "gptq not rotated", "auto-round 0.4", "auto-round 0.4 gptq", "auto-round auto"), "gptq planar 3": ("gptq planar by format",), "mxfp4": ("auto-round mxfp4",), "compressed-tensors 4": ("compressed-tensors by x", "compressed-tensors by re_x"), "compressed-tensors zero": ("compressed-tensors zeros in bytes",),
                   "gptq v2": ("gptq v2 by format", "gptq v2 beside", "gptq v2 in a part 0", "gptq v2 in a part 1")}.items():
    BLOCKS.update((other, BLOCKS[name]) for other in same)
    KEPT.update((other, KEPT[name]) for other in same)
BLOCKS["auto-round uneven"] = "Q5_0"
KEPT.update({f"torchao padded {k}": KEPT[name] for k, name in (("nvfp4", "nvfp4 ct"), ("mxfp4", "mxfp4"), ("mxfp8", "comfyui mxfp8"))})
KEPT.update({"compressed-tensors one scale": "w4a16 w8a16 w4a16_asym w8a8", "auto-round uneven": "mlx4 mlx5 mlx6 mlx8 w8a16 w4a16_asym", "int8 blocks": "w8a16"})
LLAMA = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 64, "intermediate_size": 192, "num_hidden_layers": 1,
         "num_attention_heads": 4, "num_key_value_heads": 4, "vocab_size": 32, "rms_norm_eps": 1e-5, "torch_dtype": "bfloat16"}


def matrix(path):
    r = GGUFReader(path)
    t = {t.name: t for t in r.tensors}
    w = t["blk.0.ffn_down.weight"]
    v = dequantize(w.data, w.tensor_type)
    return w.tensor_type.name, v.astype(F), t


def prepare(name, settings, make, work):
    """A folder with the matrix, and its numbers; None: it is none."""
    source, cols = os.path.join(work, "in"), 256 if "bitnet" in name else 192
    made, right = make(Maker(name, 64, cols))
    if isinstance(right, dict):
        return None
    right = np.asarray(right, F)
    if right.shape != (64, cols) or "x.q_proj.weight._data._data" in made:
        return None
    tensors = {k.replace("x.", MATRIX + ".", 1) if k.startswith("x.") else k: v for k, v in made.items()}
    write(source, settings, {**tensors, "model.norm.weight": ("BF16", half(np.ones(64))), "model.embed_tokens.weight": ("BF16", half(np.ones((32, 64))))})
    with open(os.path.join(source, "config.json")) as f:
        config = {**json.load(f), **LLAMA, "intermediate_size": cols}
    if "quantization_config" in config:
        config["quantization_config"] = json.loads(json.dumps(config["quantization_config"]).replace("re:^x$", "re:.*down_proj$").replace("^x$", "down_proj").replace('["x"]', f'["{MATRIX}"]').replace("re:^x", "re:.*down_proj$"))
    with open(os.path.join(source, "config.json"), "w") as f:
        json.dump(config, f)
    return source, right


def as_blocks(tare, name, source, right, work):
    out = os.path.join(work, "out.gguf")
    run = subprocess.run([tare, "convert", source, out, "--no-tokenizer", "--force"], capture_output=True, text=True)
    if run.returncode:
        return [f"exit {run.returncode}: {run.stderr.strip()}"]
    kind, have, t = matrix(out)
    want = BLOCKS.get(name)
    if kind != want and (want or kind not in ("BF16", "F16", "F32")):
        return [f"{kind}, not {want}"]
    if not want:
        return []
    if "blk.0.ffn_down.scale" in t:
        have, right = number("BF16", half(have * F(t["blk.0.ffn_down.scale"].data[0]))), number("BF16", half(right))
    wrong = [] if np.array_equal(have, right) else [f"{kind}: {np.sum(have != right)} other numbers"]
    if f"as blocks with the same numbers ({kind.lower()})" not in run.stderr:
        wrong.append(f"not said: {run.stderr}")
    return wrong


def in_turn(name, targets):
    """One of the targets that are said to keep the numbers of a matrix, and one of the others."""
    keeping = [t for t in targets if t.split(":")[0] in KEPT.get(name, "").split()]
    others = [t for t in targets if t not in keeping]
    return [some[sum(name.encode()) % len(some)] for some in (keeping, others) if some]


def as_schemes(tare, name, source, right, work, targets):
    """Those of the targets that a matrix keeps its numbers in, and what is wrong."""
    kept, wrong, out = [], [], os.path.join(work, "scheme")
    for scheme in targets:
        shutil.rmtree(out, ignore_errors=True)
        run = subprocess.run([tare, "quantize", source, out, scheme], capture_output=True, text=True)
        if "scheme.repacked" not in run.stderr:
            continue
        kept.append(scheme.split(":")[0])
        with open(os.path.join(out, "config.json")) as f:
            have = decode(read(out), MATRIX, right.shape, json.load(f))
        if "reciprocal" in run.stderr:  # a unit in the last place of F32
            same = np.array_equal(number("BF16", half(have)), number("BF16", half(right)))
        else:
            same = np.array_equal(have, right)
        if not same:
            wrong.append(f"{scheme}: {np.sum(have != right)} other numbers")
    said = [t.split(":")[0] for t in targets if t.split(":")[0] in KEPT.get(name, "").split()]
    if kept != said:
        wrong.append(f"kept in {' '.join(kept)!r}, not {' '.join(said)!r}")
    return wrong


def blocks(tare, kind, work):
    """A matrix in blocks of ggml; the gguf package has its numbers."""
    plain, source = os.path.join(work, "plain"), os.path.join(work, "in.gguf")
    r = np.random.default_rng(5)
    write(plain, None, {MATRIX + ".weight": ("F32", r.standard_normal((64, 256)).astype(F)), "model.norm.weight": ("F32", np.ones(64)),
                        "model.embed_tokens.weight": ("F16", np.ones((32, 64)))})
    with open(os.path.join(plain, "config.json"), "w") as f:
        json.dump({**LLAMA, "intermediate_size": 256, "torch_dtype": "float16"}, f)
    subprocess.run([tare, "convert", plain, source, "--no-tokenizer", "--force", "-q", "--tensor-type", f"ffn_down={kind}", "--type", "f16"], check=True)
    return source, matrix(source)[1]


def nvfp4_alone(m):
    """With a factor of 1, which GGUF has no tensor for."""
    q, s = m.codes(4), m.r.integers(1, 126, (m.shape[0], m.shape[1] // 16)).astype(np.uint8)
    return {"x.weight": ("U8", pair(q)), "x.weight_scale": ("F8_E4M3", s), "x.weight_scale_2": ("F32", F(1))}, E2M1[q] * wide(E4M3[s], m.shape[1])


def nvfp4_blocks(tare, make, work):
    """NVFP4 in blocks of ggml, alone or with a factor beside them."""
    source, right = prepare("nvfp4 in blocks", None, make, work)
    target = os.path.join(work, "nv.gguf")
    subprocess.run([tare, "convert", source, target, "--no-tokenizer", "--force", "-q"], check=True)
    assert matrix(target)[0] == "NVFP4"
    return target, right


FUSED = {"q": (64, 64), "k": (32, 64), "v": (32, 64), "gate": (128, 64), "up": (128, 64)}


def name_of(n):
    return "model.layers.0." + (f"self_attn.{n}_proj" if n in "qkv" else f"mlp.{n}_proj")


def fused(tare, work):
    """NVFP4 of a whole Llama with a factor for each matrix, as ModelOpt has it and through GGUF, whose q and k lie in other rows: no number changes where what
    servers fuse has one factor, or can have; else it is said, and an error if that is asked for."""
    wrong, source, blocks = [], os.path.join(work, "fused"), os.path.join(work, "fused.gguf")
    for what, factors, scales, is_kept in (("one factor", dict.fromkeys("qkv", .0013), (1, 126), True), ("powers of two apart", {"q": .0013, "k": .0026, "v": .0052}, (40, 126), True),
                                           ("others", {"q": .0013, "k": .0026, "v": .0017}, (1, 126), False), ("scales beyond E4M3", {"q": 2. ** -9, "k": 2. ** -6, "v": 2. ** -9}, (1, 126), False)):
        m, tensors, numbers = Maker(what, 1, 1), {}, {}
        for n, shape in {**FUSED, "o": (64, 64), "down": (64, 128)}.items():
            x, f = "model.layers.0." + (f"self_attn.{n}_proj" if n in "qkvo" else f"mlp.{n}_proj"), F(factors.get(n, .002))
            q, s = m.r.integers(0, 16, shape).astype(np.uint8), m.r.integers(*scales, (shape[0], shape[1] // 16)).astype(np.uint8)
            tensors.update({x + ".weight": ("U8", pair(q)), x + ".weight_scale": ("F8_E4M3", s), x + ".weight_scale_2": ("F32", f), x + ".input_scale": ("F32", F(.25))})
            numbers[x] = E2M1[q] * wide(E4M3[s] * f, shape[1])
        ones = {"model.embed_tokens": (32, 64), "lm_head": (32, 64), "model.norm": 64, "model.layers.0.input_layernorm": 64, "model.layers.0.post_attention_layernorm": 64}
        write(source, {"quant_method": "modelopt", "quant_algo": "NVFP4"}, {**tensors, **{n + ".weight": ("BF16", half(np.ones(s))) for n, s in ones.items()}})
        with open(os.path.join(source, "config.json")) as f:
            config = {**json.load(f), **LLAMA, "intermediate_size": 128, "num_key_value_heads": 2}
        with open(os.path.join(source, "config.json"), "w") as f:
            json.dump(config, f)
        subprocess.run([tare, "convert", source, blocks, "--no-tokenizer", "--force", "-q"], check=True)
        for origin in (source, blocks):
            for scheme in ("nvfp4a16", "nvfp4_modelopt"):
                out = os.path.join(work, "fused-out")
                shutil.rmtree(out, ignore_errors=True)
                run = subprocess.run([tare, "quantize", origin, out, scheme, "--to", "hf", "-v"], capture_output=True, text=True)
                with open(os.path.join(out, "config.json")) as f:
                    settings = json.load(f)
                t = read(out)
                have = {x: decode(t, x, w.shape, settings) for x, w in numbers.items()}
                exact = scheme == "nvfp4_modelopt"
                other = {x for x, w in numbers.items() if not np.array_equal(*((have[x], w) if exact else (half(have[x]), half(w))))}
                if bool(other) == is_kept or other - {name_of(n) for n in "qkv"} or ("encoded-anew" in run.stderr) == is_kept:
                    wrong.append(f"{what}: {os.path.basename(origin)} {scheme}: other numbers in {sorted(other)}; {run.stderr}")
                kept_input = [k for k in t if k.endswith(".input_scale")]
                algo = settings["quantization_config"].get("quant_algo", "NVFP4" if kept_input else "W4A16_NVFP4")
                if bool(kept_input) != (exact and is_kept) or algo != ("NVFP4" if kept_input else "W4A16_NVFP4"):
                    wrong.append(f"{what}: {os.path.basename(origin)} {scheme}: {algo} with {kept_input}")
        run = subprocess.run([tare, "quantize", blocks, work + "/x", "nvfp4a16", "--to", "hf", "--strict"], capture_output=True, text=True)
        if (run.returncode == 0) != is_kept:
            wrong.append(f"{what}: --strict: exit {run.returncode}: {run.stderr}")
        shutil.rmtree(work + "/x", ignore_errors=True)
    return wrong


def rows_in_turn(tare, work):
    """Blocks of a Llama whose q lies in another order of rows there: MLX and compressed-tensors have the same numbers."""
    plain, source, wrong = os.path.join(work, "turn"), os.path.join(work, "turn.gguf"), []
    r = np.random.default_rng(8)
    shapes = {"model.embed_tokens": (32, 64), "lm_head": (32, 64), **{f"model.layers.0.self_attn.{n}_proj": (64, 64) for n in "qkvo"},
              **{f"model.layers.0.mlp.{n}_proj": (64, 64) for n in ("gate", "up", "down")}}
    write(plain, None, {**{n + ".weight": ("F32", r.standard_normal(s).astype(F)) for n, s in shapes.items()},
                        **{n + ".weight": ("F32", np.ones(64)) for n in ("model.norm", "model.layers.0.input_layernorm", "model.layers.0.post_attention_layernorm")}})
    with open(os.path.join(plain, "config.json"), "w") as f:
        json.dump({**LLAMA, "intermediate_size": 64, "torch_dtype": "float16"}, f)
    for kind, scheme in (("q4_0", "w4a16:g32"), ("q4_1", "mlx4:g32"), ("q8_0", "w8a16:g32")):
        subprocess.run([tare, "convert", plain, source, "--no-tokenizer", "--force", "-q", "--type", "f16", "--tensor-type", f"attn|ffn={kind}"], check=True)
        for d, words in (("turn-f32", ["convert", source, work + "/turn-f32", "--to", "hf", "--type", "f32"]), ("turn-out", ["quantize", source, work + "/turn-out", scheme, "--to", "hf"])):
            shutil.rmtree(os.path.join(work, d), ignore_errors=True)
            run = subprocess.run([tare, *words], capture_output=True, text=True)
        with open(os.path.join(work, "turn-out", "config.json")) as f:
            settings = json.load(f)
        have, right = read(os.path.join(work, "turn-out")), read(os.path.join(work, "turn-f32"))
        for n in "qk":
            x = f"model.layers.0.self_attn.{n}_proj"
            if not np.array_equal(decode(have, x, (64, 64), settings), right[x + ".weight"][1]):
                wrong.append(f"{kind} {scheme}: {x} has other numbers; {run.stderr}")
    return wrong


def main():
    names, bad, n = [a for a in sys.argv[1:] if a not in ("-v", "--short")], 0, 0
    tare = os.environ.get("TARE_COMMAND") or os.path.abspath(names.pop(0))
    work = tempfile.mkdtemp(prefix="tare-repacked-")
    def targets(name):
        return in_turn(name, TARGETS) if "--short" in sys.argv else TARGETS

    for name, (settings, make) in SCHEMES.items():
        ready = prepare(name, settings, make, work) if name in (names or SCHEMES) else None
        if not ready:
            continue
        n += 1
        for w in as_blocks(tare, name, *ready, work) + as_schemes(tare, name, *ready, work, targets(name)):
            print(f"{name}: {w}", flush=True)
            bad += 1
    for name, make in (("nvfp4 blocks", nvfp4("modelopt")), ("nvfp4 alone", nvfp4_alone)):
        n += 1
        for w in as_schemes(tare, name, *nvfp4_blocks(tare, make, work), work, targets(name)) if name in (names or [name]) else ():
            print(f"{name}: {w}", flush=True)
            bad += 1
    for w in [] if names else fused(tare, work) + rows_in_turn(tare, work):
        print(w, flush=True)
        bad += 1
    for kind in () if names else ("q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "q4_k", "q5_k", "q6_k"):
        n += 1
        for w in as_schemes(tare, kind, *blocks(tare, kind, work), work, targets(kind)):
            print(f"{kind}: {w}", flush=True)
            bad += 1
    shutil.rmtree(work)
    print(f"{n} schemes, {bad} wrong")
    return bool(bad) or n < 40 and not names


if __name__ == "__main__":
    sys.exit(main())
