#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""quantize.py TARE [--spec SPEC] [--mix MIX] [--dir DIR] [--runs N] [--threads N] [--ggml LIBRARY]

How fast is a whole model quantized, beside ggml's own encoders? A synthetic model of SPEC in F32 is
written once. Each run times `tare quantize` of it, from a file in the page cache to a file, and then
ggml_quantize_chunk of LIBRARY (libggml-base.so) over the same tensors to the same types, from memory
to memory, in as many threads. The ratio is ggml's time over tare's, once by the clock and once by the
processor's time, which other work on the machine does not stretch. Peak anonymous memory is RssAnon
of tare, looked at every 50 ms.
"""
import argparse
import ctypes
import json
import mmap
import os
import queue
import shutil
import subprocess
import tempfile
import threading
import time

import bench_report

# Type numbers of ggml, for the types that mixes give.
GGML = {"q4_0": 2, "q4_1": 3, "q5_0": 6, "q5_1": 7, "q8_0": 8, "q2_k": 10, "q3_k": 11, "q4_k": 12,
        "q5_k": 13, "q6_k": 14, "iq3_s": 21, "iq4_nl": 20, "iq4_xs": 23, "tq1_0": 34, "tq2_0": 35,
        "mxfp4": 39, "nvfp4": 40, "q1_0": 41, "q2_0": 42}
ROWS = 64  # rows a call
MIB = 1 << 20


def watch(pid, is_over, peak):
    """Peak RssAnon of a process, into peak[0]."""
    while not is_over.wait(0.05):
        try:
            with open(f"/proc/{pid}/status") as f:
                peak[0] = max([peak[0]] + [int(line.split()[1]) * 1024 for line in f
                                           if line.startswith("RssAnon:")])
        except OSError:
            pass


def quantized(tare, source, target, mix, threads):
    """Seconds by the clock, seconds of the processors, peak RssAnon."""
    words = [tare, "quantize", source, target, mix, "--quiet", "--no-sync", "--threads", str(threads)]
    is_over, peak = threading.Event(), [0]
    start = time.perf_counter()
    pid = os.posix_spawn(tare, words, os.environ)
    watcher = threading.Thread(target=watch, args=(pid, is_over, peak))
    watcher.start()
    _, status, used = os.wait4(pid, 0)
    seconds = time.perf_counter() - start
    is_over.set()
    watcher.join()
    if status:
        raise SystemExit(f"tare quantize: exit {os.waitstatus_to_exitcode(status)}")
    return seconds, used.ru_utime + used.ru_stime, peak[0]


def tensors_of(path):
    """Name, shape and offset of the tensors of a safetensors file."""
    with open(path, "rb") as f:
        size = int.from_bytes(f.read(8), "little")
        header = json.loads(f.read(size))
    return {name: (t["shape"], 8 + size + t["data_offsets"][0])
            for name, t in header.items() if name != "__metadata__"}


def pieces_of(plan, tensors):
    """What ggml is to encode: type, offset, rows, columns."""
    for t in plan["tensors"]:
        if t["action"] != "encoded":
            continue
        shape, offset = tensors[t["name"]]
        columns = shape[-1]
        rows = 1
        for n in shape[:-1]:
            rows *= n
        for first in range(0, rows, ROWS):
            yield (GGML[t["type"]], offset + first * columns * 4, min(ROWS, rows - first), columns)


def encoded_by_ggml(library, address, pieces, threads):
    """Seconds by the clock and of the processors."""
    work, spent = queue.SimpleQueue(), []
    for piece in pieces:
        work.put(piece)

    def run():
        out = ctypes.create_string_buffer(ROWS * max(p[3] for p in pieces) * 2)
        began = time.thread_time()
        while True:
            try:
                kind, offset, rows, columns = work.get_nowait()
            except queue.Empty:
                break
            library.ggml_quantize_chunk(kind, ctypes.c_void_p(address + offset), out,
                                        ctypes.c_int64(0), ctypes.c_int64(rows),
                                        ctypes.c_int64(columns), None)
        spent.append(time.thread_time() - began)

    workers = [threading.Thread(target=run) for _ in range(threads)]
    start = time.perf_counter()
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    return time.perf_counter() - start, sum(spent)


parser = argparse.ArgumentParser()
parser.add_argument("tare")
parser.add_argument("--spec", default="llama-1b")
parser.add_argument("--mix", default="Q4_K_M")
parser.add_argument("--dir")
parser.add_argument("--runs", type=int, default=3)
parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
parser.add_argument("--ggml", default=os.environ.get("TARE_BENCH_GGML"))
args = parser.parse_args()

folder = tempfile.mkdtemp(prefix="tare-bench-", dir=args.dir)
try:
    source, target = os.path.join(folder, "in.safetensors"), os.path.join(folder, "out.gguf")
    subprocess.run([args.tare, "synth", args.spec, source, "--quiet", "--no-sync"], check=True)
    read_bytes = os.path.getsize(source)
    plan = json.loads(subprocess.run([args.tare, "quantize", source, target, args.mix, "--dry-run",
                                      "--json"], check=True, capture_output=True).stdout)
    pieces = list(pieces_of(plan, tensors_of(source)))
    elements = sum(p[2] * p[3] for p in pieces)
    file = open(source, "rb")
    view = mmap.mmap(file.fileno(), 0, flags=mmap.MAP_PRIVATE)
    address = ctypes.addressof(ctypes.c_char.from_buffer(view))
    sum(view[i] for i in range(0, len(view), 4096))  # all of it in memory
    library = ctypes.CDLL(args.ggml) if args.ggml else None
    if library:
        library.ggml_quantize_chunk.restype = ctypes.c_size_t
        for kind in {p[0] for p in pieces}:
            library.ggml_quantize_init(kind)
    ours, theirs, peak = [], [], 0
    for _ in range(args.runs):
        if os.path.exists(target):
            os.remove(target)
        seconds, work, anonymous = quantized(args.tare, source, target, args.mix, args.threads)
        ours.append((seconds, work))
        peak = max(peak, anonymous)
        if library:
            theirs.append(encoded_by_ggml(library, address, pieces, args.threads))
    on = bench_report.file_system(folder)
finally:
    shutil.rmtree(folder)


def told(name, times):
    wall = bench_report.median([t[0] for t in times])
    work = bench_report.median([t[1] for t in times])
    rows.append({"work": name, "seconds": wall, "processor_seconds": work,
                 "elements_per_s": elements / wall})
    return f"{name:24} {wall:7.2f} s {work:7.2f} s of processors {elements / wall / 1e6:8.1f} Melem/s"


rows = []
lines = [told("tare quantize", ours) + f", peak anonymous {peak / MIB:.0f} MiB"]
rows[0]["peak_anonymous_bytes"] = peak
if theirs:
    by_clock = bench_report.median([b[0] / a[0] for a, b in zip(ours, theirs)])
    by_work = bench_report.median([b[1] / a[1] for a, b in zip(ours, theirs)])
    lines.append(told("ggml_quantize_chunk", theirs))
    lines.append(f"{by_clock:.1f} times as fast as ggml's encoders by the clock, {by_work:.1f} by the "
                 "time of the processors")
    rows[0].update(ratio=by_clock, ratio_of_processor_time=by_work)
bench_report.emit("quantize", "how fast is a whole model quantized, beside ggml's encoders?",
                  {"machine": bench_report.machine(args.tare), "file system": on, "mix": args.mix,
                   "input": f"{args.spec}, {read_bytes:,} bytes of safetensors, in memory",
                   "peer": args.ggml or "none: TARE_BENCH_GGML names no libggml-base.so",
                   "threads": args.threads, "runs": f"median of {args.runs} paired runs"},
                  rows, lines)
