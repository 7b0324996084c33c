#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""convert.py TARE [--spec SPEC] [--dir DIR] [--runs N] [--threads N]

How fast is a conversion, beside copying its input? A synthetic model of SPEC (llama-1b: 4 GiB in
F32) is written once; then each run times, one after the other, `cp` with and without a sync of the
copy, and each conversion with and without --no-sync. A ratio is the yardstick's time over the
conversion's, of the same run: 1 is as fast as cp, and it counts bytes read, the same for both.
Peak anonymous memory is RssAnon of the process, looked at every 20 ms.
"""
import argparse
import os
import shutil
import subprocess
import tempfile

import bench_report
from bench_report import fresh, timed

CONVERSIONS = {"copy": [], "f16": ["--type", "f16"], "bf16": ["--type", "bf16"],
               "q8_0": ["--type", "q8_0"], "q4_0": ["--type", "q4_0"]}
MIB = 1 << 20


parser = argparse.ArgumentParser()
parser.add_argument("tare")
parser.add_argument("--spec", default="llama-1b")
parser.add_argument("--dir")
parser.add_argument("--runs", type=int, default=5)
parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
args = parser.parse_args()

folder = tempfile.mkdtemp(prefix="tare-bench-", dir=args.dir)
try:
    source = os.path.join(folder, "model.safetensors")
    target = os.path.join(folder, "out.gguf")
    subprocess.run([args.tare, "synth", args.spec, source, "--quiet"], check=True)
    read_bytes = os.path.getsize(source)
    subprocess.run(["cat", source], check=True, stdout=subprocess.DEVNULL)

    times, peaks, ratios = {}, {}, {}
    for _ in range(args.runs):
        for synced in (True, False):
            kind = "synced" if synced else "not synced"
            fresh(target)
            yard, _ = timed(["sh", "-c", 'cp "$1" "$2"' + (' && sync "$2"' if synced else ""),
                             "sh", source, target])
            times.setdefault(("cp", kind), []).append(yard)
            for name, options in CONVERSIONS.items():
                fresh(target)
                command = [args.tare, "convert", source, target, "--quiet",
                           "--threads", str(args.threads), *options]
                seconds, peak = timed(command + ([] if synced else ["--no-sync"]))
                times.setdefault((name, kind), []).append(seconds)
                ratios.setdefault((name, kind), []).append(yard / seconds)
                peaks[name] = max(peaks.get(name, 0), peak)
    on = bench_report.file_system(folder)
finally:
    shutil.rmtree(folder)

results, lines = [], []
for (name, kind), values in times.items():
    seconds = bench_report.median(values)
    row = {"work": name, "kind": kind, "seconds": seconds, "read_bytes_per_s": read_bytes / seconds}
    line = f"{name:5} {kind:10} {seconds:7.2f} s {read_bytes / seconds / 1e9:6.2f} GB/s read"
    if name in peaks:
        row["ratio"] = bench_report.median(ratios[name, kind])
        row["ratios"] = ratios[name, kind]
        row["peak_anonymous_bytes"] = peaks[name]
        line += f", {row['ratio']:.2f} of cp, peak anonymous {peaks[name] / MIB:.0f} MiB"
    results.append(row)
    lines.append(line)

allowed = 64 + 16 * args.threads
bench_report.emit("convert", "how fast is a conversion, beside cp of its input?",
                  {"machine": bench_report.machine(args.tare), "file system": on,
                   "input": f"{args.spec}, {read_bytes:,} bytes of safetensors, in memory",
                   "threads": args.threads, "runs": f"median of {args.runs} paired runs",
                   "memory allowed": f"{allowed} MiB + 3 times the directory"}, results, lines)
