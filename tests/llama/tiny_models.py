#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tiny models of Hugging Face's architectures: a config.json and random weights, the same bytes every
time. `tiny_models.py OUT [NAME...]` writes them as directories OUT/NAME.

Each has the tensors of the real ones in the shapes that its config.json asks for, so small that a few
hundred kilobytes hold all. Rows are multiples of 32, so that they can be quantized."""
import json
import os
import struct
import sys
import zlib

import numpy as np

import tiny_dense  # noqa: F401
import tiny_hybrid  # noqa: F401
import tiny_llama  # noqa: F401
import tiny_newer  # noqa: F401
import tiny_others  # noqa: F401
import tiny_quantized  # noqa: F401
import tiny_rare  # noqa: F401
import tiny_sparse  # noqa: F401
import tiny_towers  # noqa: F401
import tiny_documents  # noqa: F401 behind tiny_towers, whose models replace others of their names
import tiny_omni  # noqa: F401
import tiny_pictures  # noqa: F401
import tiny_conformer  # noqa: F401
import tiny_recent  # noqa: F401
import tiny_further  # noqa: F401 behind those whose models it changes
from tiny_parts import MODELS


# ---- writing ----------------------------------------------------------------------------------------

def bf16(x):
    bits = x.view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def values(model_name, name, shape, seed):
    """`seed`: where exp() of a decay is not correctly rounded in the reference, another."""
    rng = np.random.default_rng(zlib.crc32(f"{model_name}/{name}{seed}".encode()))
    x = rng.standard_normal(shape).astype(np.float32)
    return (1 + x / 8 if len(shape) == 1 and "norm" in name.lower() else x / 8).astype(np.float32)


TYPES = {"u1": "U8", "i1": "I8", "i4": "I32", "i8": "I64", "f2": "F16", "f4": "F32"}


def write(directory, name):
    """Tensors are shapes of random numbers, or the numbers themselves."""
    function, about = MODELS[name]
    config, tensors = function()
    dtype = about.get("dtype", "BF16")
    os.makedirs(directory, exist_ok=True)
    header, blobs, at = {}, [], 0
    for tensor in sorted(tensors):
        x = tensors[tensor]
        if isinstance(x, np.ndarray):
            kind, data = TYPES[x.dtype.str[1:]] if type(x) is np.ndarray else x.kind, np.asarray(x)
        else:
            x = values(name, tensor, x, about.get("seed", ""))
            kind = about.get("dtypes", {}).get(tensor, dtype)
            data = {"F32": lambda: x, "F16": lambda: x.astype(np.float16), "BF16": lambda: bf16(x)}[kind]()
        raw = data.astype(data.dtype.newbyteorder("<")).tobytes()
        header[tensor] = dict(dtype=kind, shape=list(x.shape), data_offsets=[at, at + len(raw)])
        blobs.append(raw)
        at += len(raw)
    text = json.dumps(dict(__metadata__={"format": "pt"}, **header)).encode()
    text += b" " * (-len(text) % 8)
    with open(os.path.join(directory, "model.safetensors"), "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + b"".join(blobs))
    with open(os.path.join(directory, "config.json"), "w") as f:
        json.dump(config, f, indent=1)
    for file, content in about.get("files", {}).items():
        with open(os.path.join(directory, file), "w") as f:
            f.write(content if isinstance(content, str) else json.dumps(content))


def main():
    out, names = sys.argv[1], sys.argv[2:] or list(MODELS)
    for name in names:
        write(os.path.join(out, name), name)


if __name__ == "__main__":
    main()
