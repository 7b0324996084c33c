#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""histogram.py MODEL OUT.png: how the numbers of a model are distributed, for each number format.

Tensors are decoded one after the other, so that the memory does not depend on the model. Needs numpy
and matplotlib.
"""
import sys

import matplotlib
import numpy
import tare

matplotlib.use("Agg")  # draws into a file, without a display
from matplotlib import pyplot  # noqa: E402

EDGES = numpy.linspace(-0.25, 0.25, 201)


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    path, out = sys.argv[1:]
    counts: dict[str, numpy.ndarray] = {}
    with tare.open(path) as model:
        names = [name for name, tensor in model.items() if tensor.can_decode]
        for name, array in tare.stream(model, framework="numpy", names=names, dtype="float32"):
            kind = model[name].encoding.name
            counts[kind] = counts.get(kind, 0) + numpy.histogram(array, EDGES)[0]
    for kind, n in sorted(counts.items()):
        pyplot.stairs(n / max(n.sum(), 1), EDGES, label=f"{kind}, {n.sum()} numbers")
        print(f"{kind:10} {n.sum():12} numbers within {EDGES[0]} and {EDGES[-1]}")
    pyplot.yscale("log")
    pyplot.xlabel("value")
    pyplot.ylabel("share")
    pyplot.legend()
    pyplot.savefig(out, dpi=150)


main()
