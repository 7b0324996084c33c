#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""delta.py BASE TUNED OUT.wcodec: stores a fine-tuned model as differences from its base, without loss.

Prints what that takes beside packing it alone, checks that every tensor comes back, and shows how
much of each layer changed. Needs numpy, and ml_dtypes for bfloat16.
"""
import os
import sys
import tempfile

import numpy
import tare


def changed(base: tare.Model, tuned: tare.Model) -> None:
    """The largest relative change of each matrix that both models have."""
    for name, tensor in tuned.items():
        if len(tensor.shape) < 2 or name not in base or base[name].shape != tensor.shape:
            continue
        old, new = base[name].numpy("float32"), tensor.numpy("float32")
        size = numpy.linalg.norm(old)
        print(f"{numpy.linalg.norm(new - old) / size if size else 0:10.2e}  {name}")


def main() -> None:
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    base_path, tuned_path, out = sys.argv[1:]
    with tare.open(base_path) as base, tare.open(tuned_path) as tuned:
        result = tare.pack(tuned, out, base=[base], force=True)
        with tempfile.TemporaryDirectory() as folder:
            alone = tare.pack(tuned, os.path.join(folder, "alone.wcodec"))
        with tare.open(out, base=[base], strict=True) as packed:
            if not tare.diff(tuned, packed).same:
                sys.exit("the packed model differs")
            changed(base, packed)
    print(f"{result.source_nbytes} bytes; packed {alone.nbytes}, against the base {result.nbytes}")


main()
