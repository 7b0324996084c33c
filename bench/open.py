#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""open.py BENCH_OPEN [--ggml LIBRARY] [--python PYTHON] [--runs N]

Runs bench_open and has the gguf package of PYTHON (build/venv) open the same files. What that
package needs more than two seconds for, it does once.
"""
import argparse
import json
import os
import subprocess
import tempfile

import bench_report

PEER = """
import sys, time
from gguf import GGUFReader
times = []
while len(times) < int(sys.argv[2]) and (not times or times[0] < 2):
    start = time.perf_counter()
    GGUFReader(sys.argv[1])
    times.append(time.perf_counter() - start)
print(sorted(times)[len(times) // 2])
"""

parser = argparse.ArgumentParser()
parser.add_argument("program")
parser.add_argument("--ggml", default=os.environ.get("TARE_BENCH_GGML"))
parser.add_argument("--python", default=os.path.join(bench_report.ROOT, "build/venv/bin/python"))
parser.add_argument("--runs", type=int, default=11)
args = parser.parse_args()

with tempfile.TemporaryDirectory() as folder:
    command = [args.program, folder, str(args.runs)] + ([args.ggml] if args.ggml else [])
    measured = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    lines = []
    for row in measured["results"]:
        peers = []
        if os.access(args.python, os.X_OK):
            run = subprocess.run([args.python, "-c", PEER, row["file"], str(args.runs)],
                                 capture_output=True, text=True)
            if run.returncode == 0:
                row["gguf_py_s"] = float(run.stdout)
        row["file"] = os.path.basename(row["file"])
        for peer in ("ggml", "gguf_py"):
            if peer + "_s" in row:
                row[peer + "_ratio"] = row[peer + "_s"] / row["tare_s"]
                peers.append(f"{peer} {row[peer + '_s']:.3f} s ({row[peer + '_ratio']:.1f} x)")
        lines.append(f"{row['work']}: {row['tare_s'] * 1e3:.2f} ms in {row['reads']} reads of "
                     f"{row['read_bytes']:,} bytes" + "".join("; " + p for p in peers))

bench_report.emit("open", "how long does it take to open a file with very many small things in it?",
                  {"machine": bench_report.machine(), "flags": measured["flags"],
                   "runs": f"median of {args.runs}, files in memory, peers alternating"},
                  measured["results"], lines)
