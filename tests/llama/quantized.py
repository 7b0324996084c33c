#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Models with packed weights (GPTQ, AWQ, bitsandbytes, compressed-tensors, BitNet, NVFP4, FP8) become GGUF
with the numbers that tiny_quantized.py computes by the formulas of the libraries that define them, bit for
bit; MXFP4 stays MXFP4, NVFP4 stays NVFP4 with its factors beside it. `quantized.py TARE FOLDER`"""
import os
import shutil
import subprocess
import sys

import numpy as np

try:
    import tiny_models
    import tiny_quantized
    from gguf import GGUFReader
    from gguf.quants import dequantize
except ImportError as fault:
    print(f"SKIP: {fault}: run scripts/venv")
    sys.exit(77)

NAMES = {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
         "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
         "mlp.down_proj": "ffn_down"}

KEPT = ("nvfp4", "nvfp4-divided", "nvfp4-experts")


def permuted(w, heads):
    """Rotary halves of each head side by side, as llama.cpp has them."""
    return w.reshape(heads, 2, w.shape[0] // heads // 2, -1).swapaxes(1, 2).reshape(w.shape)


def read(tare, model, out, *types):
    if os.path.isdir(model):
        types = ("--no-tokenizer", *types)
    run = subprocess.run([tare, "convert", model, out, "--quiet", "--no-sync", "--force", *types],
                         capture_output=True, text=True)
    if run.returncode:
        raise RuntimeError(run.stderr.strip())
    return {t.name: t for t in GGUFReader(out).tensors}


def differ(name, tare, folder):
    model = os.path.join(folder, name)
    tiny_models.write(model, name)
    source = tiny_quantized.MODELS[name][0]()[1]
    made = read(tare, model, os.path.join(folder, name + ".gguf"), "--type", "f32")
    found = []
    for part, to in NAMES.items():
        want = tiny_quantized.WEIGHTS[name](source, "model.layers.0." + part)
        want = permuted(want, 4 if to == "attn_q" else 2) if to in ("attn_q", "attn_k") else want
        got = made[f"blk.0.{to}.weight"].data
        if got.shape != want.shape or not np.array_equal(got.view(np.uint32), np.ascontiguousarray(want).view(np.uint32)):
            found.append(f"{name}: {to}: other numbers")
    return found


def mxfp4_differ(tare, folder):
    name = "gpt-oss-mxfp4"
    model, p, found = os.path.join(folder, name), "model.layers.0.mlp.experts.", []
    tiny_models.write(model, name)
    source = tiny_quantized.MODELS[name][0]()[1]
    made = read(tare, model, os.path.join(folder, name + ".gguf"))
    both = tiny_quantized.mxfp4_weight(source, p + "gate_up_proj")
    for to, want in (("gate", both[:, ::2]), ("up", both[:, 1::2]),
                     ("down", tiny_quantized.mxfp4_weight(source, p + "down_proj"))):
        t = made[f"blk.0.ffn_{to}_exps.weight"]
        if t.tensor_type.name != "MXFP4":
            found.append(f"{to}: {t.tensor_type.name}")
        elif not np.array_equal(dequantize(t.data, t.tensor_type).reshape(want.shape), want):
            found.append(f"{name}: {to}: other numbers")
    return found


def near(got, want):
    """But for the last place: here the factor comes after the scale of a block."""
    return got.shape == want.shape and np.all(np.abs(got - want) <= np.abs(want) * np.float32(2.0 ** -22))


def kept_differ(name, tare, folder):
    """Blocks and factors, as llama.cpp has them, and what they stand for where another type is asked of the file."""
    model, out, found = os.path.join(folder, name), os.path.join(folder, name + ".gguf"), []
    tiny_models.write(model, name)
    source, weight = tiny_quantized.MODELS[name][0]()[1], tiny_quantized.WEIGHTS.get(name, tiny_quantized.nvfp4_weight)
    blocks = read(tare, model, out)
    plain = read(tare, out, os.path.join(folder, "plain.gguf"), "--type", "f32")
    same = read(tare, model, os.path.join(folder, "same.gguf"), "--type", "nvfp4")
    wanted = {}
    for part, to in NAMES.items():
        if f"model.layers.0.{part}.weight_scale" in source:
            want = weight(source, "model.layers.0." + part)
            if to in ("attn_q", "attn_k") and name != "nvfp4-experts":
                want = permuted(want, 4 if to == "attn_q" else 2)
            wanted[to] = want
        elif name == "nvfp4-experts":
            stem = "model.layers.0.mlp.experts.%d." + part[4:]
            wanted[to + "_exps"] = np.stack([weight(source, stem % e) for e in range(4)])
            inputs = blocks[f"blk.0.{to}_exps.input_scale"].data
            if inputs.tolist() != [1, 2, 3, 4]:
                found.append(f"{name}: {to}: scales of inputs {inputs}")
    for to, want in wanted.items():
        t = blocks[f"blk.0.{to}.weight"]
        if t.tensor_type.name != "NVFP4" or not np.array_equal(same[t.name].data, t.data):
            found.append(f"{name}: {to}: {t.tensor_type.name}")
        elif f"blk.0.{to}.scale" not in blocks or f"blk.0.{to}.scale" in plain:
            found.append(f"{name}: {to}: its factor")
        elif not near(plain[t.name].data.reshape(want.shape), want):
            found.append(f"{name}: {to}: other numbers")
    return found + [f"{name}: {n}: became {t.tensor_type.name}" for n, t in same.items()
                    if n == "token_embd.weight" and t.tensor_type.name == "NVFP4"]


def factor_passes(tare, folder):
    """A factor that would make every number of a matrix infinite is an error, not a tensor beside it."""
    name = "nvfp4-divided"
    model, found = os.path.join(folder, "factor"), []
    tiny_models.write(model, name)
    path = os.path.join(model, "model.safetensors")
    with open(path, "rb") as f:
        data = f.read()
    for value in (0, float("nan")):
        with open(path, "wb") as f:
            f.write(data.replace(np.float32(1234.5).tobytes(), np.float32(value).tobytes()))
        try:
            read(tare, model, os.path.join(folder, "factor.gguf"))
            found.append(f"{name}: a factor of {value} passes")
        except RuntimeError as error:
            if "weight_global_scale" not in str(error):
                found.append(f"{name}: {error}")
    return found


def main():
    tare, folder = sys.argv[1:]
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    found = mxfp4_differ(tare, folder)
    for name in tiny_quantized.WEIGHTS:
        found += differ(name, tare, folder)
    for name in KEPT:
        found += kept_differ(name, tare, folder)
    found += factor_passes(tare, folder)
    shutil.rmtree(folder)
    print("\n".join(found + [f"{len(tiny_quantized.WEIGHTS) + len(KEPT) + 1} models, {len(found)} matrices differ"]))
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
