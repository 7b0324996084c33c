#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Question: how many bits does packing with loss need where block formats make the same error?

    bench/lossy.py build/release/cli/tare MODEL [TYPE...] [--imatrix FILE]

MODEL is any model with plain matrices (F32, BF16, F16). Each TYPE (default q4_k q3_k q2_k) encodes all
matrices that it fits; their relative squared error, each weighted by its number of weights, is the
damage that packing with loss is then asked for. Bits count the tensors that both change, with all that
the container adds to them.
"""
import argparse
import json
import math
import os
import subprocess
import tempfile


def run(tare, *args):
    return json.loads(subprocess.run([tare, *args, "--json"], check=False, text=True,
                                     stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout)


def tensors(tare, path):
    return {t["name"]: t for t in run(tare, "info", "-t", path)["tensors"]}


def compare(tare, model, kind, imatrix, folder):
    block, packed = os.path.join(folder, "block.wcodec"), os.path.join(folder, "lossy.wcodec")
    more = ["--imatrix", imatrix] if imatrix else []
    subprocess.run([tare, "convert", model, block, "--type", kind, "--force", "--quiet",
                    "--no-sync", *more], check=True, stderr=subprocess.DEVNULL)
    before, after = tensors(tare, model), tensors(tare, block)
    errors = {i["name"]: i["relative_rmse"] for i in run(tare, "diff", model, block)["items"]
              if i.get("relative_rmse") is not None}
    changed = {n for n in errors if after[n]["type"] == kind}
    weights = {n: math.prod(before[n]["shape"]) for n in changed}
    total = sum(weights.values())
    damage = sum(weights[n] * errors[n] ** 2 for n in changed) / total
    bits = 8 * sum(after[n]["bytes"] for n in changed) / total
    subprocess.run([tare, "pack", model, packed, "--lossy", "--target-damage", str(damage),
                    "--force", "--quiet", "--no-sync", *more], check=True)
    lossy = tensors(tare, packed)
    ours = 8 * sum(lossy[n]["packed_bytes"] for n in changed) / total
    print(f"{kind:8} {bits:7.3f} bits  relative error {damage ** 0.5:.4f}  with loss {ours:.3f} bits "
          f"({100 * (ours / bits - 1):+.1f} %)", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tare")
    parser.add_argument("model")
    parser.add_argument("types", nargs="*")
    parser.add_argument("--imatrix")
    a = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for kind in a.types or ["q4_k", "q3_k", "q2_k"]:
            compare(a.tare, a.model, kind, a.imatrix, folder)


main()
