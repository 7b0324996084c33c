#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How fast are files of a mount read? mount.py TARE [SHAPE] [ROUNDS]

A packed BF16 model (default: llama-300m, 600 MB) is read through `tare mount`, each time through a new mount:
in order, in steps of 1 MiB, beside the same plain file through the same kind of mount (a folder that holds it,
which passes reads on: the peer); and page by page in random order through mmap, beside the pass in order.
Medians; the plain file and the packed one are in the page cache. Run it on a quiet machine."""
import contextlib
import mmap
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

TARE = os.path.abspath(sys.argv[1])
SHAPE = sys.argv[2] if len(sys.argv) > 2 else "llama-300m"
ROUNDS = int(sys.argv[3]) if len(sys.argv) > 3 else 5
PAGE = 4096


def run(*words):
    subprocess.run([TARE, *words], check=True, stdout=subprocess.DEVNULL)


@contextlib.contextmanager
def mounted(source):
    run("mount", source, "m", "--quiet")
    try:
        yield
    finally:
        run("mount", "-u", "m")


def in_order(path):
    n, start = 0, time.perf_counter()
    with open(path, "rb", buffering=0) as f:
        while chunk := f.read(1 << 20):
            n += len(chunk)
    return n, time.perf_counter() - start


def at_random(path):
    pages = list(range(os.path.getsize(path) // PAGE))
    random.Random(1).shuffle(pages)
    with open(path, "rb") as f, mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ) as m:
        start = time.perf_counter()
        total = sum(m[p * PAGE] for p in pages)
        return total, time.perf_counter() - start


def median(source, path, read):
    times = []
    for _ in range(ROUNDS):
        with mounted(source):
            n, seconds = read(path)
        times.append(seconds)
    return n, statistics.median(times)


def main():
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        os.mkdir("m")
        os.mkdir("plain")
        run("synth", SHAPE + ":bf16", "plain/model.gguf", "--no-sync", "--quiet")
        run("pack", "plain/model.gguf", "model.gguf.wcodec", "--no-sync", "--quiet")
        in_order("plain/model.gguf"), in_order("model.gguf.wcodec")
        n, peer = median("plain", "m/model.gguf", in_order)
        _, packed = median("model.gguf.wcodec", "m/model.gguf", in_order)
        _, random_pages = median("model.gguf.wcodec", "m/model.gguf", at_random)
        print(f"{n / 1e6:.0f} MB in order: passed on {n / peer / 1e6:.0f} MB/s, packed {n / packed / 1e6:.0f} MB/s "
              f"({peer / packed:.2f} of it; goal 0.7)")
        print(f"all pages at random: {random_pages:.2f} s, {random_pages / packed:.2f} times a pass in order (goal 1.5)")
        os.chdir("/")


if __name__ == "__main__":
    main()
