#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""wcodec_goals.py TARE [--spec SPEC] [--values V,...] [--types T,...] [--data DIR] [--dir DIR]
[--runs N] [--threads N] [--no-zstd19]

What does the weight codec make of models, beside what any lossless coder can, and beside zstd? The
matrices of a synthetic model (SPEC; values normal, heavy-tailed and with outlier channels) in each
number format, and every file of DIR (TARE_TEST_DATA), are packed with both efforts and unpacked,
which must give the same bytes.

Sizes are those of whole files, over the size of the original. The entropy is `tare bench`'s: that of
the values that are coded, each plane of each tensor by itself; what is not a tensor is counted as it
is. zstd -3 gets the bytes of each tensor as they lie; zstd -19, at 1 to 2 MB/s, a mebibyte of each
tensor of normal values, and what it saves there is taken for the whole; real files go through the
command `zstd` whole, where there is one, which also finds what repeats between tensors. Speeds count
bytes of the original by the clock: the best of the runs, of a whole process that also reads, hashes
and writes files; those of the codec are `tare bench`'s, one thread in memory. GOAL is the limit for
Gaussian weights, and the entropy and 0.25 % for matrices of 4 Mi values and more, which are nearly all
of SPEC.
"""
import argparse
import filecmp
import json
import os
import shutil
import subprocess
import tempfile
import time

import bench_report

# Number format, suffix of a container that holds it.
TYPES = {"int8_rowwise": "infq", "mcf_int8": "mcf", "int4_rowwise": "infq", "mcf_int4": "mcf",
         "q8": "mcf", "q4": "mcf", "k4": "mcf", "k3": "mcf", "k2": "mcf", "q8_0": "gguf", "q4_k": "gguf",
         "Q4_K_M": "gguf", "bf16": "safetensors", "f16": "safetensors", "f8_e4m3": "safetensors"}
# Packed over original, on Gaussian weights.
GOALS = {"bf16": 0.667, "f16": 0.845, "f8_e4m3": 0.82, "Q4_K_M": 0.955}
OVER_ENTROPY = 1.0025  # for layers of 4 Mi values and more
VALUES = ("normal", "t5", "outliers")


def size_of(path):
    if not os.path.isdir(path):
        return os.path.getsize(path)
    return sum(os.path.getsize(os.path.join(folder, name))
               for folder, _, names in os.walk(path) for name in names)


def is_same(a, b):
    if not os.path.isdir(a):
        return filecmp.cmp(a, b, shallow=False)
    names = sorted(os.listdir(a))
    return names == sorted(os.listdir(b)) and all(is_same(os.path.join(a, n), os.path.join(b, n))
                                                  for n in names)


def remove(path):
    if os.path.isdir(path):
        shutil.rmtree(path)
    elif os.path.exists(path):
        os.remove(path)


class Bench:
    def __init__(self, args, folder):
        self.args, self.folder = args, folder

    def path(self, name):
        return os.path.join(self.folder, name)

    def tare(self, *words):
        run = subprocess.run([self.args.tare, *words], stdout=subprocess.PIPE, check=True)
        return run.stdout

    def timed(self, out, *words):
        """Runs a command that writes `out`, a few times; the best seconds."""
        best = None
        for _ in range(self.args.runs):
            remove(out)
            start = time.perf_counter()
            self.tare(*words, "--quiet", "--no-sync", "--threads", str(self.args.threads))
            seconds = time.perf_counter() - start
            best = seconds if best is None else min(best, seconds)
        return best

    def make(self, values):
        """The model in F32, of which all others are made."""
        source = self.path("source.safetensors")
        self.tare("synth", self.args.spec + ":" + values, source, "--quiet", "--no-sync", "--force")
        return source

    def written_as(self, source, kind):
        out = self.path("model." + TYPES[kind])
        remove(out)
        words = ["quantize", source, out, kind] if kind == "Q4_K_M" else \
            ["convert", source, out, "--type", kind, "--to", TYPES[kind]]
        self.tare(*words, "--quiet", "--no-sync")
        return out

    def measured(self, path, name, kind, values):
        """One row of the table."""
        original = size_of(path)
        with_best = values == "normal" and not self.args.no_zstd19
        told = json.loads(self.tare("bench", path, "--json", "--full",
                                    *["--zstd19"] * with_best))["total"]
        packed = {}
        for effort in ("fast", "full"):
            out = self.path(effort + ".wcodec")
            packed[effort] = (out, self.timed(out, "pack", path, out, "--effort", effort))
        back = self.path("back" + os.path.splitext(path)[1])
        unpack_seconds = self.timed(back, "unpack", packed["fast"][0], back)
        if not is_same(path, back):
            raise SystemExit(f"{name}: another file came back")
        rest = original - told["size_bytes"]
        row = {"name": name, "type": kind, "values": values, "bytes": original,
               "tensor_bytes": told["size_bytes"],
               "entropy_bytes": told["entropy_bytes"] + rest,
               "fast_bytes": size_of(packed["fast"][0]), "full_bytes": size_of(packed["full"][0]),
               "pack_fast_gb_s": original / packed["fast"][1] / 1e9,
               "pack_full_gb_s": original / packed["full"][1] / 1e9,
               "unpack_gb_s": original / unpack_seconds / 1e9,
               "encode_gb_s": told["encode_gb_per_s"], "decode_gb_s": told["decode_gb_per_s"],
               "memcpy_gb_s": told["memcpy_gb_per_s"]}
        if values == "file":
            row.update(self.zstd_of(path))
        else:
            row["zstd3_bytes"] = told["zstd3_bytes"] + rest
        if with_best:
            row["zstd19_bytes"] = told["zstd19_bytes"] + rest
        for out in (packed["fast"][0], packed["full"][0], back):
            remove(out)
        self.judge(row)
        return row

    def zstd_of(self, path):
        if self.args.no_zstd19 or not shutil.which("zstd"):
            return {}
        return {f"zstd{level}_bytes": len(subprocess.run(["zstd", f"-{level}", "-c", "-q", path],
                                                         stdout=subprocess.PIPE, check=True).stdout)
                for level in (3, 19)}

    @staticmethod
    def judge(row):
        """The goals of a row, each with whether it is reached."""
        goals = {}
        if row["values"] == "normal" and row["type"] in GOALS:
            goals["ratio"] = (row["full_bytes"] / row["bytes"], GOALS[row["type"]])
        if row["values"] != "file":
            goals["entropy"] = (row["full_bytes"] / row["entropy_bytes"], OVER_ENTROPY)
        row["goals"] = {name: {"is": value, "limit": limit, "reached": value <= limit}
                        for name, (value, limit) in goals.items()}


def percent(row, key):
    return f"{100 * row[key] / row['bytes']:.2f}" if key in row else ""


def verdict(row):
    said = []
    for name, goal in row["goals"].items():
        limit = f"{100 * goal['limit']:.1f}" if name == "ratio" else "0.25 %"
        said.append(limit + (": reached" if goal["reached"] else ": **missed**"))
    return ", ".join(said)


def table(rows):
    yield ("| model | values | MB | entropy | fast | full | over entropy | zstd -3 | zstd -19 | "
           "goal | pack fast, full GB/s | unpack GB/s | codec: encode, decode, memcpy GB/s |")
    yield "|" + "---|" * 13
    for r in rows:
        over = f"{100 * (r['full_bytes'] / r['entropy_bytes'] - 1):+.2f} %" if r["tensor_bytes"] else ""
        yield (f"| {r['name']} | {r['values']} | {r['bytes'] / 1e6:.1f} | {percent(r, 'entropy_bytes')} | "
               f"{percent(r, 'fast_bytes')} | {percent(r, 'full_bytes')} | {over} | "
               f"{percent(r, 'zstd3_bytes')} | {percent(r, 'zstd19_bytes')} | {verdict(r)} | "
               f"{r['pack_fast_gb_s']:.2f}, {r['pack_full_gb_s']:.2f} | {r['unpack_gb_s']:.2f} | "
               f"{r['encode_gb_s']:.2f}, {r['decode_gb_s']:.2f}, {r['memcpy_gb_s']:.1f} |")


parser = argparse.ArgumentParser()
parser.add_argument("tare")
parser.add_argument("--spec", default="llama-44m")
parser.add_argument("--values", default=",".join(VALUES))
parser.add_argument("--types", default=",".join(TYPES))
parser.add_argument("--data", default=os.environ.get("TARE_TEST_DATA"))
parser.add_argument("--dir")
parser.add_argument("--runs", type=int, default=1)
parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
parser.add_argument("--no-zstd19", action="store_true")
args = parser.parse_args()

folder = tempfile.mkdtemp(prefix="tare-bench-", dir=args.dir)
rows = []
try:
    bench = Bench(args, folder)
    for values in filter(None, args.values.split(",")):
        source = bench.make(values)
        for kind in args.types.split(","):
            rows.append(bench.measured(bench.written_as(source, kind), kind, kind, values))
    files = sorted(os.listdir(args.data)) if args.data else []
    for name in files:
        if name.endswith((".gguf", ".safetensors", ".mcf")):
            rows.append(bench.measured(os.path.join(args.data, name), name, None, "file"))
    on = bench_report.file_system(folder)
finally:
    shutil.rmtree(folder)

goals = [g for r in rows for g in r["goals"].values()]
lines = [*table(rows), "", f"{sum(g['reached'] for g in goals)} of {len(goals)} goals reached"]
bench_report.emit("wcodec_goals", "what does the weight codec make of models, beside what can be?",
                  {"machine": bench_report.machine(args.tare), "file system": on, "model": args.spec,
                   "files": args.data or "none: TARE_TEST_DATA names no folder",
                   "sizes": "percent of the original", "threads": args.threads,
                   "zstd -19": "of 1 MiB a tensor of normal values, taken for the whole; files whole",
                   "runs": f"best of {args.runs}"}, rows, lines)
