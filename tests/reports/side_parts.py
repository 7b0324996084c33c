# SPDX-License-Identifier: MIT
"""What the programs on side files, companions, adapters and importance share: running tare, reading what it
wrote, and small inputs."""
import json
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
for folder in ("../support", "../llama"):
    sys.path.insert(0, os.path.join(HERE, folder))

try:
    import numpy as np
    import tiny_models
    from gguf import GGUFReader
    from gguf.quants import dequantize
except ImportError as fault:
    print(f"SKIP: {fault}: run scripts/venv")
    sys.exit(77)
from safetensors_file import read_safetensors, safetensors  # noqa: E402

E4M3 = np.array([(-1 if b & 128 else 1) * ((b & 7) / 8 * 2.0**-6 if not b >> 3 & 15 else (1 + (b & 7) / 8) * 2.0**((b >> 3 & 15) - 7))
                 for b in range(256)], np.float32)
NUMPY = {"F32": "<f4", "F16": "<f2", "I32": "<i4", "U32": "<u4", "I64": "<i8", "U8": "u1", "F8_E4M3": "u1", "F8_E8M0": "u1", "I8": "i1"}


def raw(array, kind):
    return np.ascontiguousarray(array).astype(NUMPY[kind]).tobytes()


def save(path, tensors):
    """tensors: {name: (array, type of safetensors)}"""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(safetensors((name, kind, list(np.shape(x)), raw(x, kind)) for name, (x, kind) in tensors.items()))


def put(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(content if isinstance(content, bytes) else (content if isinstance(content, str) else json.dumps(content)).encode())


def floats(path):
    """All tensors of a file as F32, and the keys of a GGUF."""
    if path.endswith(".safetensors"):
        return {n: np.frombuffer(b, NUMPY[k]).reshape(s) for n, (k, s, b) in read_safetensors(path)[1].items() if k in NUMPY}
    return {t.name: dequantize(t.data, t.tensor_type) if t.tensor_type.name not in ("I8", "I16", "I32", "I64") else t.data
            for t in GGUFReader(path).tensors}


def keys(path):
    return {f.name: f.contents() for f in GGUFReader(path).fields.values()}


class Program:
    """Runs tare in a folder of its own and collects what is not right."""

    def __init__(self):
        self.tare, self.folder = sys.argv[1:3]
        self.found = []
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, *args):
        run = subprocess.run([self.tare, *args], capture_output=True)
        return run.returncode, (run.stdout + run.stderr).decode(errors="replace")

    def expect(self, what, is_right, text=""):
        if not is_right:
            self.found.append(f"{what}: {text.strip()[:300]}")

    def refused(self, what, words, *args, codes=(3, 5)):
        """With one of the codes, and a message that has all of these words; leaves no output."""
        code, text = self.run(*args)
        self.expect(what, code in codes and all(re.search(w, text) for w in words), f"{code} {text}")

    def model(self, name, files=(), **changes):
        """A tiny model of tests/llama with members of config.json changed, and other files beside."""
        path = self.path(name)
        shutil.rmtree(path, ignore_errors=True)
        tiny_models.write(path, changes.pop("of", "llama"))
        with open(os.path.join(path, "config.json")) as f:
            config = json.load(f)
        put(os.path.join(path, "config.json"), {**config, **changes})
        for file, content in dict(files).items():
            put(os.path.join(path, file), content)
        return path

    def end(self, what):
        shutil.rmtree(self.folder)
        print("\n".join(self.found + [f"{len(self.found)} {what} not as they should be"]))
        return bool(self.found)
