#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""choose_types.py MODEL.gguf IMATRIX.gguf FOLDER SIZE... [--curvature FILE] [--tare PATH]: types by other rules.

Two rules to compare --target-size with. Both choose so that the sum of costs is least for a size; they
differ in what a type costs a tensor.

Rows, as in llama.cpp's pull request 15550 (open when this was written), without its code: the error of
a row is the sum of its squared errors, weighed by importance held to the 99th percentile, over the
same sum of its values; the cost is the mean over rows without the outermost twentieths, times the
number of rows. What it can add where a matrix has mean activations, too (a penalty for errors
along them), is left out: matrices of released versions have none. Rows are all of them instead of a
sample.

--curvature, a GGUF of what curvature.py makes: the sum of squared errors, each times the curvature
of the divergence at this very weight. No tool has these without the model's gradients, and 4 bytes
for each weight; it shows what choosing types could reach.

FOLDER gets a recipe SIZE.txt for each size, for --tensor-type-file.
"""
import argparse
import os
import re
import subprocess
import tempfile

import numpy as np
from gguf import GGUFReader

# Types, and mixes that are pure in them.
TYPES = {"q2_k": "Q2_K", "iq2_s": "IQ2_S", "iq3_xxs": "IQ3_XXS", "q3_k": "Q3_K_S", "iq3_s": "IQ3_S",
         "iq4_xs": "IQ4_XS", "q4_k": "Q4_K_S", "q5_k": "Q5_K_S", "q6_k": "Q6_K", "q8_0": "Q8_0"}
TRIM = 0.05         # of the rows at each end
MOST = 99           # percentile that importance is held to
PADDING = 32


def importance(path):
    """Mean squares of columns by tensor; of experts, one row each."""
    found = {t.name: np.array(t.data, np.float64) for t in GGUFReader(path).tensors}
    out = {}
    for name, sums in found.items():
        if name.endswith(".in_sum2"):
            counts = found[name[:-8] + ".counts"].reshape(-1, 1)
            mean = sums.reshape(len(counts), -1) / np.maximum(counts, 1)
            out[name[:-8]] = np.minimum(mean, np.percentile(mean, MOST, 1, keepdims=True))
    return out


def cost_of_rows(values, errors, weights):
    """What the rule makes of a tensor's errors: values of shape (matrices, rows, columns)."""
    w = 1.0 if weights is None else weights[:, None, :]
    lost = (errors ** 2 * w).sum(-1, dtype=np.float64)
    whole = (values ** 2 * w).sum(-1, dtype=np.float64)
    rows = np.sort(np.divide(lost, whole, out=np.zeros_like(lost), where=whole > 0).ravel())
    cut = int(len(rows) * TRIM)
    return rows[cut:len(rows) - cut].mean() * len(rows)


def stacked(tensor):
    data = np.asarray(tensor.data, np.float32)
    return data.reshape(-1, *data.shape[-2:])


class Choice:
    def __init__(self, model, matrix, curvature, tare):
        self.model, self.matrix, self.tare = model, matrix, tare
        self.weights = importance(matrix)
        self.curvature = curvature and {t.name: t for t in GGUFReader(curvature).tensors}
        self.options = {}           # of each tensor: (bytes, cost, type)

    def run(self, *words):
        subprocess.run([self.tare, *words, "--force", "--quiet", "--no-sync"], check=True)

    def cost(self, before, after):
        """Of a tensor and what is left of it."""
        values = stacked(before)
        errors = stacked(after) - values
        if self.curvature:
            return float((errors ** 2 * stacked(self.curvature[before.name])).sum(dtype=np.float64))
        return cost_of_rows(values, errors, self.weights.get(before.name))

    def measure(self, scratch):
        encoded, decoded = (os.path.join(scratch, name) for name in ("encoded.gguf", "decoded.gguf"))
        for kind, mix in TYPES.items():
            self.run("quantize", self.model, encoded, mix, "--pure", "--imatrix", self.matrix,
                     "--output-tensor-type", kind, "--token-embedding-type", kind)
            self.run("convert", encoded, decoded, "--type", "f32")
            types = {t.name: (t.tensor_type.name.lower(), int(t.n_bytes)) for t in GGUFReader(encoded).tensors}
            values = {t.name: t for t in GGUFReader(self.model).tensors}
            for t in GGUFReader(decoded).tensors:
                got, size = types[t.name]
                if got in TYPES:
                    option = (-(-size // PADDING) * PADDING, self.cost(values[t.name], t), got)
                    self.options.setdefault(t.name, set()).add(option)
        self.overhead = os.path.getsize(encoded) - sum(
            -(-types[name][1] // PADDING) * PADDING for name in self.options)

    def hull(self, name):
        """The options that are worth their bytes, the smallest first."""
        out = []
        for option in sorted(self.options[name]):
            if out and option[1] >= out[-1][1]:
                continue
            while len(out) > 1 and self.slope(out[-2], out[-1]) <= self.slope(out[-1], option):
                out.pop()
            out.append(option)
        return out

    @staticmethod
    def slope(a, b):
        """What is saved for each byte from a to b."""
        return (a[1] - b[1]) / (b[0] - a[0])

    def fit(self, size):
        """The steps of all hulls that save most, while they fit."""
        hulls = {name: self.hull(name) for name in self.options}
        chosen = {name: 0 for name in hulls}
        used = self.overhead + sum(hull[0][0] for hull in hulls.values())
        steps = [(-self.slope(*hull[i:i + 2]), name, i) for name, hull in hulls.items()
                 for i in range(len(hull) - 1)]
        for _, name, i in sorted(steps):
            more = hulls[name][i + 1][0] - hulls[name][i][0]
            if chosen[name] == i and used + more <= size:
                chosen[name], used = i + 1, used + more
        return {name: hulls[name][i][2] for name, i in chosen.items()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("matrix")
    parser.add_argument("folder")
    parser.add_argument("sizes", type=int, nargs="+")
    parser.add_argument("--curvature")
    parser.add_argument("--tare", default="tare")
    args = parser.parse_args()
    os.makedirs(args.folder, exist_ok=True)
    choice = Choice(args.model, args.matrix, args.curvature, args.tare)
    with tempfile.TemporaryDirectory(dir=args.folder) as scratch:
        choice.measure(scratch)
    for size in args.sizes:
        with open(os.path.join(args.folder, f"{size}.txt"), "w", encoding="utf-8") as f:
            f.writelines(f"^{re.escape(name)}$={kind}\n" for name, kind in choice.fit(size).items())


if __name__ == "__main__":
    main()
