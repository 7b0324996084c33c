#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""importance.py MODEL.gguf PASSAGES.json OUT.gguf [--passages N] [--embeddings]: an importance matrix.

The sums of squares of each column of the inputs of every matrix in a layer, as llama-imatrix writes
them (its GGUF form, with one row and one count an expert), from the first 512 tokens of N passages.
As there, the output matrix and the embedding get none. --embeddings: the model makes embeddings.
"""
import argparse
import json
import struct

import numpy as np

from llama_runtime import Model

TOKENS = 512
F32, U32, STRING, ARRAY = 0, 4, 8, 9  # GGUF's numbers of types


class Sums:
    def __init__(self):
        self.sums, self.counts = {}, {}

    def add(self, name, inputs, chosen, n_experts):
        columns = inputs.shape[-1]
        if chosen is None:
            squares = np.square(inputs.reshape(-1, columns), dtype=np.float64)
            self._put(name, 0, squares.sum(0), len(squares), 1)
            return
        # inputs: (1, tokens, used or 1, columns), chosen: (1, 1, tokens, used)
        chosen = chosen[0, 0]
        x = np.broadcast_to(inputs[0], (*chosen.shape, columns))
        for expert in np.unique(chosen):
            squares = np.square(x[chosen == expert], dtype=np.float64)
            self._put(name, expert, squares.sum(0), len(squares), n_experts)

    def _put(self, name, row, sums, count, rows):
        if name not in self.sums:
            self.sums[name] = np.zeros((rows, len(sums)))
            self.counts[name] = np.zeros((rows, 1))
        self.sums[name][row] += sums
        self.counts[name][row] += count


def text(s):
    return struct.pack("<Q", len(s.encode())) + s.encode()


def write(path, sums, n_passages):
    keys = [("general.type", STRING, text("imatrix")),
            ("imatrix.datasets", ARRAY, struct.pack("<IQ", STRING, 1) + text("calib.json")),
            ("imatrix.chunk_count", U32, struct.pack("<I", n_passages)),
            ("imatrix.chunk_size", U32, struct.pack("<I", TOKENS))]
    tensors = []
    for name in sorted(sums.sums):
        tensors += [(name + ".in_sum2", sums.sums[name]), (name + ".counts", sums.counts[name])]
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys))
    for key, kind, value in keys:
        head += text(key) + struct.pack("<I", kind) + value
    data = b""
    for name, values in tensors:
        head += text(name) + struct.pack("<IQQIQ", 2, values.shape[1], values.shape[0], F32, len(data))
        data += values.astype("<f4").tobytes()
        data += b"\0" * (-len(data) % 32)
    with open(path, "wb") as f:
        f.write(head + b"\0" * (-len(head) % 32) + data)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("passages")
    parser.add_argument("out")
    parser.add_argument("--passages", type=int, default=48, dest="n")
    parser.add_argument("--embeddings", action="store_true")
    args = parser.parse_args()
    with open(args.passages, encoding="utf-8") as f:
        passages = json.load(f)[:args.n]
    sums = Sums()
    model = Model(args.model, TOKENS, args.embeddings, on_product=sums.add)
    for passage in passages:
        if args.embeddings:
            model.embedding(passage)
        else:
            model.logits(model.tokens(passage)[:TOKENS], TOKENS - 1)
    model.close()
    write(args.out, sums, len(passages))
    print(f"{args.out}: {len(sums.sums)} matrices, {len(passages)} passages of {TOKENS} tokens")


if __name__ == "__main__":
    main()
