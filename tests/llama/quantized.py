#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Models with packed weights (GPTQ, AWQ, bitsandbytes, compressed-tensors, BitNet, NVFP4, FP8) become GGUF
with the numbers that tiny_quantized.py computes by the formulas of the libraries that define them, bit for
bit; MXFP4 stays MXFP4. `quantized.py TARE FOLDER`"""
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


def permuted(w, heads):
    """Rotary halves of each head side by side, as llama.cpp has them."""
    return w.reshape(heads, 2, w.shape[0] // heads // 2, -1).swapaxes(1, 2).reshape(w.shape)


def read(tare, model, out, *types):
    run = subprocess.run([tare, "convert", model, out, "--no-tokenizer", "--quiet", "--no-sync", "--force", *types],
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


def main():
    tare, folder = sys.argv[1:]
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    found = mxfp4_differ(tare, folder)
    for name in tiny_quantized.WEIGHTS:
        found += differ(name, tare, folder)
    shutil.rmtree(folder)
    print("\n".join(found + [f"{len(tiny_quantized.WEIGHTS) + 1} models, {len(found)} matrices differ"]))
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
