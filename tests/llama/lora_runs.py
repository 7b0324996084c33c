#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""llama.cpp with an adapter that tare converted says what it says of a model that the adapter was merged into, and
another thing than the base alone. `lora_runs.py TARE FOLDER`, run by a Python that has the packages of
tests/judge/llama_requirements.txt and numpy; exit 77: one is missing."""
import json
import os
import shutil
import subprocess
import sys

import llama_runs

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from safetensors_file import read_safetensors, safetensors  # noqa: E402

P = "model.layers.%d."
MODULES = {"self_attn.q_proj": (64, 64), "self_attn.k_proj": (32, 64), "self_attn.v_proj": (32, 64),
           "self_attn.o_proj": (64, 64), "mlp.gate_proj": (96, 64), "mlp.down_proj": (64, 96)}
RANK, ALPHA = 4, 8


def say(path, *adapter):
    """The logarithms of the likeliest first tokens, as JSON."""
    import xllamacpp
    params = xllamacpp.CommonParams()
    params.model.path = path
    params.n_ctx, params.n_parallel, params.warmup = 64, 1, False
    if adapter:
        info = xllamacpp.CommonAdapterLoraInfo()
        info.path, info.scale = adapter[0], 1.0
        params.lora_adapters = [info]
    answer = xllamacpp.Server(params).handle_completions(
        {"prompt": "the rain", "max_tokens": 8, "temperature": 0, "ignore_eos": True, "n_probs": 40, "logprobs": 40})
    found = answer["completion_probabilities"] if "completion_probabilities" in answer else \
        answer["choices"][0]["logprobs"]["content"]
    print("\0%s\0" % json.dumps({str(t["id"]): t["logprob"] for t in found[0]["top_logprobs"]}), flush=True)


def ask(*paths):
    done = subprocess.run([sys.executable, "-B", os.path.abspath(__file__), "--say", *paths], capture_output=True, timeout=120)
    if done.returncode:
        raise SystemExit("llama.cpp: " + llama_runs.complaints(done.stderr))
    return json.loads(done.stdout.split(b"\0")[1])


def distance(a, b):
    """The largest difference of what both name; tokens that one lacks count as 9."""
    return max(abs(a.get(t, 9) - b.get(t, -9)) for t in list(a)[:10])


def read(path):
    """The numbers of tensors in BF16."""
    import numpy as np
    return {k: (np.frombuffer(raw, "<u2").astype(np.uint32) << 16).view(np.float32).reshape(shape)
            for k, (_, shape, raw) in read_safetensors(path)[1].items()}


def write(path, tensors):
    with open(path, "wb") as f:
        f.write(safetensors((name, "F32", x.shape, x.astype("<f4").tobytes()) for name, x in tensors.items()))


def convert(tare, folder, model, name, *more):
    out = os.path.join(folder, name)
    subprocess.run([tare, "convert", model, out, "--quiet", "--no-sync", *more], check=True)
    return out


def main(tare, folder):
    import numpy as np
    import tiny_models
    shutil.rmtree(folder, ignore_errors=True)
    model, adapter = os.path.join(folder, "base"), os.path.join(folder, "adapter")
    tiny_models.write(model, "llama")
    llama_runs.write_tokenizer(model)
    os.makedirs(adapter)
    weights, factors, random = read(os.path.join(model, "model.safetensors")), {}, np.random.default_rng(1)
    base = convert(tare, folder, model, "base.gguf", "--type", "f32")
    for layer in range(2):
        for module, (rows, cols) in MODULES.items():
            name = P % layer + module
            a, b = (random.standard_normal(s).astype(np.float32) / 4 for s in ((RANK, cols), (rows, RANK)))
            factors[f"base_model.model.{name}.lora_A.weight"] = a
            factors[f"base_model.model.{name}.lora_B.weight"] = b
            weights[name + ".weight"] = weights[name + ".weight"] + b @ a * (ALPHA / RANK)
    write(os.path.join(adapter, "adapter_model.safetensors"), factors)
    with open(os.path.join(adapter, "adapter_config.json"), "w") as f:
        json.dump(dict(peft_type="LORA", r=RANK, lora_alpha=ALPHA), f)
    lora = convert(tare, folder, model, "adapter.gguf", "--lora", adapter)
    write(os.path.join(model, "model.safetensors"), weights)
    merged = ask(convert(tare, folder, model, "merged.gguf", "--type", "f32"))
    alone, adapted = ask(base), ask(base, lora)
    print("the adapter: %.4f from the merged model, %.4f from the base" % (distance(merged, adapted), distance(alone, adapted)))
    shutil.rmtree(folder)
    return distance(merged, adapted) > 0.02 or distance(alone, adapted) < 0.2


if __name__ == "__main__":
    sys.exit(llama_runs.start(say, main))
