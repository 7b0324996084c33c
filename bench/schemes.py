#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How long do packed weights take, and how much memory? schemes.py TARE [--peer PYTHON] [--shape SHAPE] [--rounds N] [--schemes A,B]

A BF16 model (default: llama-300m, 594 MB) is packed in each scheme by `tare quantize`; beside it, in the same run and on as many threads, by
llm-compressor's model_free_ptq on the CPU, where PYTHON (an environment with llmcompressor) is given; and it is copied with cp, which W4A16 is measured by
(goal: twice its time; 8 times the peer's speed). In turns, the best of N rounds, the files in the page cache; memory is the largest that a process had. Each
scheme is run with its search and, as the peer rounds, with :rtn. Run it on a quiet machine: about ten minutes with the peer and three rounds."""
import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time

PEERS = {"w4a16": "W4A16", "w8a16": "W8A16", "w4a16_asym": "W4A16_ASYM", "w8a8": "W8A8", "fp8_dynamic": "FP8_DYNAMIC", "fp8_block": "FP8_BLOCK",
         "nvfp4a16": "NVFP4A16", "mxfp4": "MXFP4A16", "mxfp8": "MXFP8A16"}
MLX = ["mlx4", "mlx8", "mlx_mxfp4", "mlx_nvfp4"]
PEER = """
import resource, sys, time
from llmcompressor import model_free_ptq
start = time.perf_counter()
model_free_ptq(sys.argv[1], sys.argv[2], scheme=sys.argv[3], ignore=["lm_head", "model.embed_tokens"], device="cpu")
print("seconds", time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def run(words, **more):
    """Seconds and the largest memory, in MB, of a command."""
    start = time.perf_counter()
    child = subprocess.Popen(words, stdout=subprocess.DEVNULL, **more)
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        sys.exit(f"{' '.join(words)}: exit {os.waitstatus_to_exitcode(status)}")
    return time.perf_counter() - start, usage.ru_maxrss / 1e3


def peer(python, model, out, scheme):
    """The same of the library, less its start; None: it does not run."""
    done = subprocess.run([python, "-c", PEER, model, out, scheme], capture_output=True, text=True)
    lines = [line.split() for line in done.stdout.splitlines() if line.startswith("seconds ")]
    if done.returncode or not lines:
        print(f"{scheme}: the peer failed: {done.stderr.strip().splitlines()[-1:]}", flush=True)
        return None
    return float(lines[-1][1]), float(lines[-1][2]) / 1e3


def best(results):
    return min(r[0] for r in results), max(r[1] for r in results)


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("tare")
    args.add_argument("--schemes", type=lambda text: text.split(","), default=[*PEERS, *MLX], help="separated by commas; default: all")
    args.add_argument("--peer")
    args.add_argument("--shape", default="llama-300m")
    args.add_argument("--rounds", type=int, default=3)
    args.add_argument("--folder", help="for the files: 3 times the model")
    given = args.parse_args()
    tare, scratch = os.path.abspath(given.tare), tempfile.mkdtemp(prefix="tare-schemes-", dir=given.folder)
    model, out = os.path.join(scratch, "model"), os.path.join(scratch, "out")
    try:
        run([tare, "synth", given.shape, model, "--to", "hf", "--type", "bf16", "--no-sync", "--quiet"])
        files = [os.path.join(model, f) for f in os.listdir(model) if f.endswith(".safetensors")]
        size = sum(os.path.getsize(f) for f in files)

        def fresh(words):
            shutil.rmtree(out, ignore_errors=True)
            return run(words, stderr=subprocess.DEVNULL)
        copies = [fresh(["cp", "-r", model, out]) for _ in range(given.rounds)]
        copied = best(copies)[0]
        print(f"{size / 1e6:.0f} MB of weights on {len(os.sched_getaffinity(0))} processors; cp {copied:.2f} s\n")
        print("scheme       search s  MB/s  x cp    MB |  rtn s  MB/s |  peer s  MB/s     MB | times the peer: rtn, search", flush=True)
        rows = []
        for scheme in given.schemes:
            times = {"search": [], "rtn": [], "peer": []}
            for _ in range(given.rounds):
                times["search"].append(fresh([tare, "quantize", model, out, scheme, "--no-sync", "--quiet"]))
                times["rtn"].append(fresh([tare, "quantize", model, out, scheme + ":rtn", "--no-sync", "--quiet"]))
                if given.peer and scheme in PEERS and len(times["peer"]) < 2:
                    shutil.rmtree(out, ignore_errors=True)
                    result = peer(given.peer, model, out, PEERS[scheme])
                    times["peer"] += [result] if result else []
            search, rtn = best(times["search"]), best(times["rtn"])
            row = f"{scheme:12} {search[0]:8.2f} {size / search[0] / 1e6:5.0f} {search[0] / copied:5.1f} {search[1]:5.0f} | {rtn[0]:6.2f} {size / rtn[0] / 1e6:5.0f}"
            other = best(times["peer"]) if times["peer"] else None
            if other:
                row += f" | {other[0]:7.2f} {size / other[0] / 1e6:5.0f} {other[1]:6.0f} | {other[0] / rtn[0]:.1f}, {other[0] / search[0]:.1f}"
            print(row, flush=True)
            rows.append({"scheme": scheme, "search": search, "rtn": rtn, "peer": other})
        print(json.dumps({"bytes": size, "cp": copied, "rows": rows}))
        print(f"largest memory of this script's children: {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e3:.0f} MB")
    finally:
        shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
