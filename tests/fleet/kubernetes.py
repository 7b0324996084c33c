#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""kubernetes.py TARE SOURCE: the manifests in contrib/kubernetes. Their containers' arguments make an output where
each Pod's environment is as Kubernetes makes it; where PyPI's kubernetes-validate is installed (skipped, 77, else),
they fit the schemas of the interface. No cluster is asked."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

tare, source = map(os.path.abspath, sys.argv[1:3])
folder = os.path.join(source, "contrib/kubernetes")
failures = []


def text(name):
    with open(os.path.join(folder, name)) as file:
        return file.read()


def arguments(manifest, models):
    words = re.search(r"args: \[(.*)\]", manifest).group(1).split(", ")
    return [word.replace("/models/", models + "/") for word in words]


def run(words, **env):
    done = subprocess.run((tare, *words), env={**os.environ, **env}, capture_output=True, text=True)
    if done.returncode != 0:
        failures.append(f"{words}: exit code {done.returncode}\n{done.stdout}{done.stderr}")


parts = text("tare.yaml")
completions = re.search(r"completions: (\d+)", parts).group(1)
if re.search(r'JOB_COMPLETIONS\s+value: "(\d+)"', parts).group(1) != completions:
    failures.append("tare.yaml: JOB_COMPLETIONS is not the number of completions")
with tempfile.TemporaryDirectory() as models:
    run(["synth", "llama-tiny", f"{models}/in", "--to", "gguf", "-q"])
    for index in range(int(completions)):
        run(arguments(parts, models), JOB_COMPLETION_INDEX=str(index), JOB_COMPLETIONS=completions)
    run(arguments(text("tare-join.yaml"), models))
    run(["quantize", f"{models}/in", f"{models}/whole.gguf", "Q4_K_M", "-q"])
    both = [open(f"{models}/{name}", "rb").read() if os.path.exists(f"{models}/{name}") else None for name in ("out.gguf", "whole.gguf")]
    if not both[0] or both[0] != both[1]:
        failures.append("the Pods' output is not that of one run")
validate = shutil.which("kubernetes-validate")
for name in ("tare.yaml", "tare-join.yaml") if validate else ():
    done = subprocess.run((validate, "--strict", os.path.join(folder, name)), capture_output=True, text=True)
    if done.returncode != 0:
        failures.append(f"{name}: {done.stdout}{done.stderr}")
print("\n".join(failures) or ("the manifests are right" if validate else "SKIP: schemas: no kubernetes-validate on the path (PyPI)"))
sys.exit(1 if failures else 0 if validate else 77)
