#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Question: how many bits does packing with loss need where block formats make the same error?

    bench/lossy.py build/release/cli/tare MODEL [TYPE...]

MODEL is any model with plain matrices (F32, BF16, F16). Each TYPE (default q4_k q3_k q2_k) encodes all
matrices that it fits; packing with loss is asked for the same relative squared error, weighted by
numbers of weights. Names are taken away first, so that no role counts more than another. Bits are those
of the tensors that change, with all that the container adds to them.
"""
import argparse
import json
import math
import os
import struct
import subprocess
import tempfile


def run(tare, *args):
    return json.loads(subprocess.run([tare, *args, "--json"], check=False, text=True,
                                     stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout)


def write(tare, *args):
    subprocess.run([tare, *args, "--force", "--quiet", "--no-sync"], check=True,
                   stderr=subprocess.DEVNULL)


def take_names(path):
    """Tensors of a safetensors file become t0, t1, ..."""
    with open(path, "rb") as f:
        size = struct.unpack("<Q", f.read(8))[0]
        header, data = json.loads(f.read(size)), f.read()
    names = {n: f"t{i}" for i, n in enumerate(header)}
    text = json.dumps({names[n]: t for n, t in header.items() if n != "__metadata__"}).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)


def tensors(tare, path):
    return {t["name"]: t for t in run(tare, "info", "-t", path)["models"][0]["tensors"]}


def errors(tare, a, b):
    return {i["name"]: i["relative_rmse"] for i in run(tare, "diff", a, b)["comparisons"][0]["differences"]
            if i.get("relative_rmse") is not None}


def error_of(found, weights):
    return sum(weights[n] * found.get(n, 0) ** 2 for n in weights) / sum(weights.values())


def compare(tare, model, kind, folder):
    block, packed = os.path.join(folder, "block.wcodec"), os.path.join(folder, "lossy.wcodec")
    write(tare, "convert", model, block, "--type", kind)
    after = tensors(tare, block)
    weights = {n: math.prod(t["shape"]) for n, t in tensors(tare, model).items()
               if after[n]["type"] == kind}
    error = error_of(errors(tare, model, block), weights)
    damage, ours = 0.1, 1.0
    for _ in range(3):  # damage is an unknown multiple of the error
        write(tare, "pack", model, packed, "--lossy", "--target-damage", repr(damage))
        ours = error_of(errors(tare, model, packed), weights)
        damage *= error / ours
    lossy, total = tensors(tare, packed), sum(weights.values())
    bits = 8 * sum(after[n]["size_bytes"] for n in weights) / total
    packed_bits = 8 * sum(lossy[n]["packed_bytes"] for n in weights) / total
    least = -0.5 * math.log2(ours)
    print(f"{kind:8} {bits:.3f} bits, relative error {error ** 0.5:.4f}; with loss {packed_bits:.3f} "
          f"bits, {ours ** 0.5:.4f} ({100 * (packed_bits / bits - 1):+.1f} %; normal numbers need "
          f"{least:.3f})", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tare")
    parser.add_argument("model")
    parser.add_argument("types", nargs="*")
    a = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, "model.safetensors")
        write(a.tare, "convert", a.model, model)
        take_names(model)
        for kind in a.types or ["q4_k", "q3_k", "q2_k"]:
            compare(a.tare, model, kind, folder)


main()
