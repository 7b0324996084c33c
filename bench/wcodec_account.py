#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""wcodec_account.py BUILD [--before PROGRAM] [--dir DIR] [--turns N] [--with COMMAND] [--files COMMAND]
                  [--prototype COMMAND] [--quick]

Where does the time of packing and unpacking weights go? The tables of bench_wc_account for tensors
of 16 MiB and of 1 MiB, AVX-512 and AVX2, beside those of PROGRAM, the bench_wc_account of an older
build, as docs/BENCHMARKS.md has them, and which goals of decoding are missed by what; then whole files:
pack and unpack with two threads beside cp, paired, of one model in BF16, INT8, Q8_0, Q4_K and Q6_K. The
commands of --with and --files go in front of the measuring programs, and of those on whole files
("chrt -f 20 taskset -c 1" gives them a core of a busy machine). The command of --prototype prints what
another AVX2 decoder makes of INT8 codes, a line "... AVX2 ... N GB/s" for each variant. Says how busy
the machine was. Takes less than six minutes.
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
BLOCK_TYPES = ["q8_0", "q4_k", "q5_k", "q6_k", "q4", "k4"]
SPEEDS = ["loop, GB/s", "planes", "whole call", "fresh memory", "encode, GB/s"]


def load():
    """Of the last minute; programs that wait for a core or have one, this one left out."""
    with open("/proc/loadavg") as f:
        words = f.read().split()
    return f"load {words[0]}, {int(words[3].split('/')[0]) - 1} other runnable"


def timed(command):
    command = args.files.split() + command
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start


def measure(command):
    return subprocess.run([*args.with_command.split(), *command], check=True, capture_output=True,
                          text=True).stdout.splitlines()


def account(program, mib, seconds, name):
    """The cells of its table for a type, by level."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")]
            for line in measure([program, "-m", mib, "-s", seconds, name]) if line.startswith("|")]
    return {row[1]: dict(zip(rows[0], row)) for row in rows[2:]}


def better(a, b):
    """Of two accounts the levels' faster calls, with the faster one of all that is in GB/s."""
    best = {}
    for level in a:
        of = max(a[level], b[level], key=lambda row: float(row["whole call"]))
        best[level] = {c: max(a[level][c], b[level][c], key=float) if c in SPEEDS else v
                       for c, v in of.items()}
    return best


def accounts(programs, mib, seconds, types):
    """Of each program the cells by level and type; programs take turns."""
    found = [{} for _ in programs]
    for name in types:
        rows = [account(p, mib, seconds, name) for p in programs]
        rows = [better(row, account(p, mib, seconds, name)) for row, p in zip(rows, programs)]
        for all_types, row in zip(found, rows):
            all_types.update({(level, name): cells for level, cells in row.items()})
    return found


def share_of_bf16(cells, key):
    return float(cells[key]["whole call"]) / float(cells[key[0], "bf16"]["whole call"])


def share_of_loop(cells, key):
    return float(cells[key]["whole call"]) / float(cells[key]["loop, GB/s"])


def print_goals(now):
    """What misses the goals of decoding, and where they are."""
    def missed(of, is_met, text):
        values = {key: of(key) for key in now}
        print(f"{text}: missed by " + (", ".join(
            f"{name} {level} {value:.2f}" for (level, name), value in values.items()
            if value is not None and not is_met(value)) or "none"))

    missed(lambda k: float(now[k]["CRC, % of whole"]), lambda v: v <= 8, "CRC at most 8 %")
    missed(lambda k: share_of_loop(now, k), lambda v: v >= 0.8, "whole calls at 0.80 of the loop")
    missed(lambda k: share_of_bf16(now, k) if k[1] in BLOCK_TYPES else None, lambda v: v >= 0.6,
           "block types at 0.6 of BF16's bytes")
    print(flush=True)


def print_prototype(now, command):
    """AVX2's loops beside its fastest variant, in symbols: a value of 16 bits has one, a byte of nibbles two."""
    lines = [line.split() for line in measure(command.split()) if "AVX2" in line]
    fastest = max(float(words[words.index("GB/s") - 1]) for words in lines)
    print(f"AVX2, G symbols/s; the prototype: {fastest:.2f} (goal: 0.85 of it)")
    for name, symbols in (("int8_rowwise", 1), ("bf16", 0.5), ("f16", 0.5), ("int4_rowwise", 2), ("q4", 2)):
        rate = symbols * float(now["AVX2", name]["loop, GB/s"])
        print(f"{name}: {rate:.2f}, {rate / fastest:.2f}")
    print(flush=True)


def print_accounts(now, before):
    def cell(key, column):
        old = f"{before[key][column]}, " if before else ""
        return old + now[key][column]

    columns = ["loop, GB/s", "whole call", "fresh memory", "CRC, % of whole", "memory, %", "placing, %",
               "encode, GB/s"]
    heads = [c + (": before, now" if before else "") for c in columns]
    for level in dict.fromkeys(level for level, _ in now):
        print(f"{level}:\n\n| type | now / loop | now / BF16 | {' | '.join(heads)} |\n"
              "|" + "---|" * (3 + len(columns)))
        for key in now:
            if key[0] == level:
                print(f"| {key[1]} | {share_of_loop(now, key):.2f} | {share_of_bf16(now, key):.2f} | "
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
parser.add_argument("--files", default="")
parser.add_argument("--prototype")
parser.add_argument("--quick", action="store_true")
args = parser.parse_args()

program = os.path.join(args.build, "bench", "bench_wc_account")
first_load = load()
seconds = "0.1" if args.quick else "0.5"
for mib, types in (("16", ["int8_rowwise", "int4_rowwise", "bf16", "f16", *BLOCK_TYPES]),
                   ("1", ["int8_rowwise", "bf16", "q8_0", "q4_k", "q6_k"])):
    print(f"{mib} MiB a tensor, GB/s\n")
    cells = accounts([program] + ([args.before] if args.before else []), mib, seconds, types)
    print_accounts(cells[0], cells[1] if args.before else None)
    print_goals(cells[0])
    if args.prototype and mib == "16":
        print_prototype(cells[0], args.prototype)
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
