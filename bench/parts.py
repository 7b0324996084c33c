#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""parts.py TARE MODEL [OPTION...]: what it costs to write an output in parts. The processor time of one run of
`tare quantize MODEL OUT Q4_K_M`, divided by that of N parts together, each with one thread on one processor, in
turns (goal: 0.97 for N = 2); the least of RUNS, for what else goes on can only add. Only for a machine that does
nothing else."""
import os
import resource
import subprocess
import sys
import tempfile

RUNS = 7
tare, model = map(os.path.abspath, sys.argv[1:3])
options = sys.argv[3:] or ["Q4_K_M", "--allow-requantize"]
cpu = sorted(os.sched_getaffinity(0))[-1]


def cost(*words):
    """Seconds of processor, of the program and of the system for it."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(("taskset", "-c", str(cpu), tare, *words), check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def one():
    seconds = cost("quantize", model, "out.gguf", *options, "-q", "-j1", "--no-sync")
    os.remove("out.gguf")
    return seconds


def parts(n):
    seconds = sum(cost("quantize", model, "out.gguf", *options, "-q", "-j1", "--no-sync", "--part", f"{i}/{n}") for i in range(1, n + 1))
    subprocess.run((tare, "join", "out.gguf", "-q", "--no-sync"), check=True)
    os.remove("out.gguf")
    return seconds


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    one()  # the model is in the page cache then
    found = {0: [], 1: [], 2: [], 7: []}
    for _ in range(RUNS):
        for n, list_of in found.items():
            list_of.append(parts(n) if n else one())
    os.chdir("/")
whole = min(found[0])
print(f"one run: {whole:.3f} s of processor")
for n in (1, 2, 7):
    seconds = min(found[n])
    print(f"N = {n}: {seconds:.3f} s, efficiency {whole / seconds:.3f}")
