#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An adapter that is merged on the way to llama.cpp changes what it changes when it is merged first: for each tiny
model, one command and two give the same tensors, bit by bit. Guards against factors that are added after rows have moved.
`merged.py TARE FOLDER [--short]`; in short, every fourth model"""
import filecmp
import os
import shutil
import sys

try:
    import numpy as np
    import tiny_models
except ImportError as fault:
    print(f"SKIP: {fault}: run scripts/venv")
    sys.exit(77)
from checks import Checks
from lora import pair, write_adapter

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from safetensors_file import read_safetensors  # noqa: E402

QUIET = ("--quiet", "--no-sync", "--force", "--no-tokenizer")


def modules(model):
    """The matrices of blocks that a LoRA may change, with their shapes."""
    _, tensors = read_safetensors(os.path.join(model, "model.safetensors"))
    return {name[:-len(".weight")]: parts[1] for name, parts in tensors.items()
            if name.endswith(".weight") and len(parts[1]) == 2 and ".0." in name and parts[0] in ("F32", "F16", "BF16")}


def check(checks, folder, name):
    """Whether it was compared; a tower alone is not, nor what has no matrices."""
    model, adapter, one, two = (os.path.join(folder, x) for x in (name, "lora", "one.gguf", "two.gguf"))
    merged = os.path.join(folder, "merged", name)  # the model's name is that of its folder
    tiny_models.write(model, name)
    os.makedirs(os.path.join(folder, "merged"), exist_ok=True)
    if checks.run("convert", model, two, *QUIET, code=None).returncode:
        return False
    factors = {}
    for module, shape in modules(model).items():
        factors.update({k: v * np.float32(0.1) for k, v in pair(module, *shape).items()})
    if not factors:
        return False
    write_adapter(adapter, factors)
    plain = os.path.join(folder, "plain.gguf")
    os.replace(two, plain)
    if checks.run("convert", model, merged, "--to", "hf", "--apply-adapter", adapter, *QUIET[:3], code=None).returncode:
        return False
    checks.run("convert", merged, two, *QUIET)
    done = checks.run("convert", model, one, "--apply-adapter", adapter, *QUIET, code=None)
    if "change no tensor" in done.stderr:
        return False
    checks.check(f"{name}: {done.stderr.strip()}", done.returncode == 0)
    checks.run("diff", "--brief", one, two)
    checks.check(f"{name}: nothing is merged", done.returncode or not filecmp.cmp(one, plain, shallow=False))
    return True


def main():
    tare, folder, *short = sys.argv[1:]
    names = sorted(tiny_models.MODELS)[::4 if short else 1]
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    checks, n = Checks(tare), 0
    for name in names:
        n += check(checks, folder, name)
        for used in (name, "merged"):
            shutil.rmtree(os.path.join(folder, used), ignore_errors=True)
    checks.check(f"only {n} models were compared", n > (30 if short else 150))
    shutil.rmtree(folder)
    print(f"{n} models")
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
