#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""wcodec_account.py BUILD [--before PROGRAM] [--dir DIR] [--turns N] [--with COMMAND] [--quick]

Where does the time of packing and unpacking weights go? The tables of bench_wc_account for tensors
of 16 MiB and of 1 MiB, AVX-512 and AVX2, beside those of PROGRAM, the bench_wc_account of an older
build, as docs/BENCHMARKS.md has them; then whole files: pack and unpack with two threads beside cp,
paired, of one model in BF16, INT8, Q8_0, Q4_K and Q6_K. COMMAND goes in front of the measuring
programs ("chrt -f 20 taskset -c 1" gives them a core of a busy machine). Says how busy it was. Takes
less than six minutes.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time

import bench_report

TYPES = ["bf16", "int8_rowwise", "q8_0", "q6_k", "q4_k"]


def load():
    """Of the last minute; programs that wait for a core or have one, this one left out."""
    with open("/proc/loadavg") as f:
        words = f.read().split()
    return f"load {words[0]}, {int(words[3].split('/')[0]) - 1} other runnable"


def timed(command):
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start


def account(program, mib, seconds, types):
    """The cells of its table, by level and type."""
    run = subprocess.run([*args.with_command.split(), program, "-m", mib, "-s", seconds, *types], check=True,
                         capture_output=True, text=True)
    rows = [[cell.strip() for cell in line.strip("|").split("|")]
            for line in run.stdout.splitlines() if line.startswith("|")]
    return {(row[1], row[0]): dict(zip(rows[0], row)) for row in rows[2:]}


def print_accounts(now, before):
    def cell(key, column):
        old = f"{before[key][column]}, " if before else ""
        return old + now[key][column]

    columns = ["whole call", "fresh memory", "CRC, % of whole", "memory, %", "placing, %",
               "encode, GB/s"]
    heads = [c + (": before, now" if before else "") for c in columns]
    for level in dict.fromkeys(level for level, _ in now):
        print(f"{level}:\n\n| type | loop, GB/s | now / loop | {' | '.join(heads)} |\n"
              "|" + "---|" * (3 + len(columns)))
        for key, row in now.items():
            if key[0] == level:
                share = float(row["whole call"]) / float(row["loop, GB/s"])
                print(f"| {key[1]} | {row['loop, GB/s']} | {share:.2f} | "
                      + " | ".join(cell(key, c) for c in columns) + " |")
        print(flush=True)


def whole_files(tare, folder, name, turns, lines):
    """Medians of seconds, and of ratios of pairs."""
    source, packed, back, copy = (os.path.join(folder, n) for n in
                                  ("in.safetensors", "in.wcodec", "back", "copy"))
    f32 = os.path.join(folder, "f32.safetensors")
    if not os.path.exists(f32):
        subprocess.run([tare, "synth", "llama-300m", f32, "--quiet"], check=True)
    if name.startswith("q"):
        source = os.path.join(folder, "in.gguf")
    command = [tare, "convert", f32, source, "--type", name, "--force", "--quiet", "--no-sync"]
    if name == "int8_rowwise":  # what an INFQ package is made of
        source = os.path.join(folder, "in.infq")
        command = [tare, "convert", f32, source, "--to", "infq", "--type", name, "--force", "--quiet"]
    subprocess.run(command, check=True)
    times = {"cp": [], "pack": [], "unpack": []}
    for _ in range(turns):
        for path in (packed, back, copy):
            shutil.rmtree(path) if os.path.isdir(path) else os.path.exists(path) and os.remove(path)
        times["cp"].append(timed(["cp", "-r", source, copy]))
        times["pack"].append(timed([tare, "pack", source, packed, "--no-sync", "-j2", "--quiet"]))
        times["unpack"].append(timed([tare, "unpack", packed, back, "--no-sync", "-j2", "--quiet"]))
    size = int(subprocess.run(["du", "-sb", source], check=True, capture_output=True).stdout.split()[0])
    cp = bench_report.median(times["cp"])
    row = {"type": name, "bytes": size, "cp": cp}
    for verb in ("pack", "unpack"):
        row[verb] = bench_report.median(times[verb])
        row[verb + " / cp"] = bench_report.median([c / t for c, t in zip(times["cp"], times[verb])])
    lines.append(f"| {name} | {size / 1e6:.0f} | {cp * 1e3:.0f} | {row['pack'] * 1e3:.0f} | "
                 f"{row['unpack'] * 1e3:.0f} | {row['pack / cp']:.2f} | {row['unpack / cp']:.2f} |")
    return row


parser = argparse.ArgumentParser()
parser.add_argument("build")
parser.add_argument("--before")
parser.add_argument("--dir")
parser.add_argument("--turns", type=int, default=5)
parser.add_argument("--with", dest="with_command", default="")
parser.add_argument("--quick", action="store_true")
args = parser.parse_args()

program = os.path.join(args.build, "bench", "bench_wc_account")
first_load = load()
seconds = "0.2" if args.quick else "1"
for mib, types in (("16", []), ("1", ["int8_rowwise", "bf16", "q8_0", "q4_k", "q6_k"])):
    print(f"{mib} MiB a tensor, GB/s\n")
    print_accounts(account(program, mib, seconds, types),
                   args.before and account(args.before, mib, seconds, types))
tare = os.path.join(args.build, "cli", "tare")
folder = tempfile.mkdtemp(prefix="tare-bench-", dir=args.dir)
results, lines = [], ["| type | MB | cp, ms | pack, ms | unpack, ms | cp / pack | cp / unpack |",
                      "|---|---|---|---|---|---|---|"]
try:
    for name in TYPES:
        results.append(whole_files(tare, folder, name, 2 if args.quick else args.turns, lines))
    on = bench_report.file_system(folder)
finally:
    shutil.rmtree(folder)
bench_report.emit("wcodec_account", "where does the time of packing and unpacking weights go?",
                  {"machine": bench_report.machine(tare), "file system": on,
                   "how quiet, first": first_load, "last": load()}, results, lines)
sys.exit(0)
