#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""gpu_python.py: the Python package on a GPU, and torch and CuPy over its memory where they are there and
see one.

Guards against: other bytes than the CPU gives, as they come back and as torch and CuPy read them; a
layer that was left to the CPU; memory of torch that is not filled. In emulation, whose device memory is
the process's own, what torch and CuPy do is left out.
"""
import os
import sys
import tempfile
import warnings

import numpy as np

import tare
import tare.cuda

warnings.simplefilter("error")


def make(folder):
    numbers = np.random.default_rng(1)
    arrays = {"f16": numbers.standard_normal((512, 1024)).astype(np.float16),
              "i8": (numbers.standard_normal((600, 1000)) * 20).astype(np.int8),
              "f32": numbers.standard_normal((3, 7, 11)).astype(np.float32), "i64": np.arange(5000)}
    path = os.path.join(folder, "m.wcodec")
    tare.save(arrays, path)
    return path, arrays


def same(name, got, meant):
    if not np.array_equal(got, meant):
        sys.exit(f"{name}: other numbers")


def by_itself(path, arrays):
    for name, tensor in tare.cuda.load_file(path, "cuda:0").items():
        same(name, tensor.numpy(), arrays[name])
    for name, tensor in tare.cuda.stream(path, window=1 << 20):
        same(name, tensor.numpy(), arrays[name])
    counts = tare.cuda.counts()
    print(counts)
    if counts.layers != 2 * len(arrays) or counts.layers_left:
        sys.exit("not all layers were decoded by the device")


def with_torch(path, arrays):
    try:
        import torch
    except ImportError:
        return "no torch"
    if not torch.cuda.is_available():
        return "torch sees no GPU"
    for name, tensor in tare.load(path, framework="torch", device="cuda").items():
        same(name, tensor.cpu().numpy(), arrays[name])
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        out = {name: torch.from_numpy(array).to("cuda").zero_() for name, array in arrays.items()}
        tare.cuda.load_file(path, out=out, stream=side.cuda_stream)
    for name, tensor in out.items():
        same(name, tensor.cpu().numpy(), arrays[name])
    return "torch reads the same"


def with_cupy(path, arrays):
    try:
        import cupy
    except ImportError:
        return "no CuPy"
    if not cupy.cuda.is_available():
        return "CuPy sees no GPU"
    for name, tensor in tare.cuda.load_file(path).items():
        same(name, cupy.asnumpy(cupy.asarray(tensor)), arrays[name])
        same(name, cupy.asnumpy(cupy.from_dlpack(tensor)), arrays[name])
    out = {name: cupy.zeros_like(cupy.asarray(array)) for name, array in arrays.items()}
    tare.cuda.load_file(path, out=out)
    for name, array in out.items():
        same(name, cupy.asnumpy(array), arrays[name])
    return "CuPy reads the same"


def main():
    if not tare.cuda.is_available():
        sys.exit("no device")
    with tempfile.TemporaryDirectory() as folder:
        path, arrays = make(folder)
        by_itself(path, arrays)
        if "/loaded" not in os.environ["LD_LIBRARY_PATH"]:
            print(with_torch(path, arrays))
            print(with_cupy(path, arrays))


if __name__ == "__main__":
    main()
