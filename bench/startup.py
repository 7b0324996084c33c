#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""startup.py TARE [RUNS]: how long does `tare --version` take, beside `true`, in alternating runs?"""
import subprocess
import sys
import time

import bench_report

tare = sys.argv[1]
runs = int(sys.argv[2]) if len(sys.argv) > 2 else 101
commands = {"tare": [tare, "--version"], "true": ["/bin/true"]}
times = {name: [] for name in commands}
for _ in range(runs):
    for name, command in commands.items():
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        times[name].append(time.perf_counter() - start)

results = {name + "_s": bench_report.median(t) for name, t in times.items()}
bench_report.emit("startup", "how long does `tare --version` take?",
                  {"machine": bench_report.machine(tare), "runs": f"median of {runs}, alternating"},
                  [results], [f"{name}: {bench_report.median(t) * 1e3:.2f} ms"
                              for name, t in times.items()])
