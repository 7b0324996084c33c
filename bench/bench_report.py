# SPDX-License-Identifier: MIT
"""What every benchmark says beside its figures: the question, the machine, the time; as text on
standard output and as JSON in build/bench/NAME.json."""
import json
import os
import platform
import subprocess
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def machine(tare=None):
    cpu = "unknown"
    with open("/proc/cpuinfo") as f:
        for line in f:
            if line.startswith("model name"):
                cpu = line.split(":", 1)[1].strip()
                break
    with open("/proc/meminfo") as f:
        memory = int(f.readline().split()[1]) // (1 << 20)
    said = {"cpu": cpu, "cores": len(os.sched_getaffinity(0)), "memory_gib": memory,
            "system": f"{platform.system()} {platform.release()}"}
    if tare:
        version = subprocess.run([tare, "--version", "--json"], check=True, capture_output=True)
        said["tare"] = json.loads(version.stdout)
    return said


def file_system(path):
    run = subprocess.run(["stat", "-f", "-c", "%T", path], capture_output=True, text=True)
    return run.stdout.strip()


def timed(command):
    """Seconds and peak RssAnon in bytes."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    peak = 0
    while True:
        try:
            with open(f"/proc/{process.pid}/status") as f:
                for line in f:
                    if line.startswith("RssAnon:"):
                        peak = max(peak, int(line.split()[1]) * 1024)
        except OSError:
            pass
        try:
            process.wait(0.02)
            break
        except subprocess.TimeoutExpired:
            pass
    seconds = time.perf_counter() - start
    if process.returncode:
        raise SystemExit(f"{' '.join(command)}: exit {process.returncode}")
    return seconds, peak


def fresh(path):
    """A clean start: nothing of the last output left, nothing waiting to be written."""
    if os.path.exists(path):
        os.remove(path)
    os.sync()


def median(values):
    values = sorted(values)
    n = len(values)
    return (values[(n - 1) // 2] + values[n // 2]) / 2


def emit(name, question, conditions, results, lines):
    where = os.path.join(ROOT, "build", "bench")
    os.makedirs(where, exist_ok=True)
    path = os.path.join(where, name + ".json")
    with open(path, "w") as f:
        json.dump({"schema": "tare-bench-1", "name": name, "question": question,
                   "conditions": conditions, "results": results}, f, indent=2)
        f.write("\n")
    print(f"{name}: {question}")
    for key, value in conditions.items():
        if isinstance(value, dict):
            value = ", ".join(f"{k} {v}" for k, v in value.items() if not isinstance(v, (dict, list)))
        print(f"  {key}: {value}")
    for line in lines:
        print("  " + line)
    print(f"  -> {os.path.relpath(path)}\n")
