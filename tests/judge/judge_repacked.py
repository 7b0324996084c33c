#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Packed weights that keep their numbers as blocks: each scheme of judge_schemes.py as a matrix of a Llama model,
converted to GGUF without a type, and read by the gguf package. Those that blocks can hold have the type named here
and the numbers of the scheme's formula; the others are floats. `judge_repacked.py TARE [SCHEME...]`"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import numpy as np  # noqa: E402
from gguf import GGUFReader, dequantize  # noqa: E402
from judge_schemes import SCHEMES, F, Maker, half, number, write  # noqa: E402

MATRIX = "model.layers.0.mlp.down_proj"
BLOCKS = {"gptq": "Q5_0", "gptq 3 bits": "Q4_0", "gptq v2": "Q4_0", "gptq words": "Q5_0", "gptq planar 3": "Q4_0", "gptq planar 7": "Q8_0",
          "auto-round 5": "Q8_0", "awq": "Q5_0", "awq tiles": "Q4_1", "compressed-tensors 2": "Q4_0", "compressed-tensors 3": "Q4_0",
          "compressed-tensors 4": "Q4_0", "compressed-tensors 5": "Q5_0", "compressed-tensors 6": "Q8_0", "compressed-tensors 7": "Q8_0",
          "compressed-tensors 8": "Q8_0", "compressed-tensors zero": "Q5_0", "compressed-tensors zero 3": "Q4_0",
          "compressed-tensors channel": "Q4_0", "mxfp4": "MXFP4", "quark mxfp4": "MXFP4", "mlx mxfp4": "MXFP4",
          "int8": "Q8_0", "quanto": "Q8_0", "mlx 2": "Q4_1", "mlx 3": "Q4_1", "mlx 4": "Q4_1", "mlx 5": "Q5_1", "metal": "Q4_1",
          "quark int4": "Q5_0", "bitnet auto": "TQ2_0", "deepseek 4 experts": "MXFP4", "nvfp4": "NVFP4", "nvfp4 ct": "NVFP4", "mlx nvfp4": "NVFP4"}
LLAMA = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 64, "intermediate_size": 192, "num_hidden_layers": 1,
         "num_attention_heads": 4, "num_key_value_heads": 4, "vocab_size": 32, "rms_norm_eps": 1e-5, "torch_dtype": "bfloat16"}


def matrix(path):
    r = GGUFReader(path)
    t = {t.name: t for t in r.tensors}
    w = t["blk.0.ffn_down.weight"]
    v = dequantize(w.data, w.tensor_type)
    return w.tensor_type.name, v.astype(F), t


def judge(tare, name, settings, make, work):
    source, out = os.path.join(work, "in"), os.path.join(work, "out.gguf")
    cols = 256 if "bitnet" in name else 192
    made, right = make(Maker(name, 64, cols))
    right = np.asarray(right, F)
    tensors = {k.replace("x.", MATRIX + ".", 1) if k.startswith("x.") else k: v for k, v in made.items()}
    write(source, settings, {**tensors, "model.norm.weight": ("BF16", half(np.ones(64))), "model.embed_tokens.weight": ("BF16", half(np.ones((32, 64))))})
    with open(os.path.join(source, "config.json")) as f:
        config = {**json.load(f), **LLAMA, "intermediate_size": cols}
    if "quantization_config" in config:
        config["quantization_config"] = json.loads(json.dumps(config["quantization_config"]).replace("^x$", "down_proj"))
    with open(os.path.join(source, "config.json"), "w") as f:
        json.dump(config, f)
    if right.shape != (64, cols) or "x.q_proj.weight._data._data" in made:
        return None
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


def main():
    names, bad, n = [a for a in sys.argv[1:] if a != "-v"], 0, 0
    tare = os.environ.get("TARE_COMMAND") or os.path.abspath(names.pop(0))
    work = tempfile.mkdtemp(prefix="tare-repacked-")
    for name, (settings, make) in SCHEMES.items():
        wrong = judge(tare, name, settings, make, work) if name in (names or SCHEMES) else None
        n += wrong is not None
        bad += bool(wrong)
        for w in wrong or ():
            print(f"{name}: {w}", flush=True)
    shutil.rmtree(work)
    print(f"{n} schemes, {bad} wrong")
    return bool(bad) or n < 40 and not names


if __name__ == "__main__":
    sys.exit(main())
