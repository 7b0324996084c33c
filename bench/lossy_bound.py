#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Question: how many bits more does packing with loss take than any code could?

    bench/lossy_bound.py build/release/cli/tare [MODEL.safetensors TENSOR...]

Matrices of normal and of Laplacian numbers, and TENSORs (F32) of MODEL, are packed one by one to 2 to 6 bits.
The bound is Shannon's lower one for independent numbers of the matrix's distribution: its differential
entropy, less half the logarithm of 2 pi e D. Of normal and Laplacian numbers the entropy is known; of a
TENSOR it follows from what the matrix takes at 9 bits, where rounded numbers take their entropy,
and D is a twelfth of the squared step. Prints a Markdown table.
"""
import argparse
import json
import math
import os
import random
import struct
import subprocess
import tempfile

RATES, FINE = (2, 3, 4, 5, 6), 9
ROWS, COLS = 1024, 1024


def write_matrix(path, shape, data):
    head = json.dumps({"t": {"dtype": "F32", "shape": shape, "data_offsets": [0, len(data)]}}).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(head)) + head + data)


def made(draw):
    return [ROWS, COLS], struct.pack(f"<{ROWS * COLS}f", *(draw() for _ in range(ROWS * COLS)))


def of_model(path, name):
    with open(path, "rb") as f:
        size = struct.unpack("<Q", f.read(8))[0]
        tensor = json.loads(f.read(size))[name]
        begin, end = tensor["data_offsets"]
        f.seek(8 + size + begin)
        return tensor["shape"], f.read(end - begin)


def ask(tare, *args):
    return json.loads(subprocess.run([tare, *args, "--json"], check=False, text=True, stdout=subprocess.PIPE,
                                     stderr=subprocess.DEVNULL).stdout)


def rate_and_error(tare, matrix, bits):
    """Bits a number of a file of about so many, and the relative squared error."""
    packed = matrix + ".wcodec"
    subprocess.run([tare, "pack", matrix, packed, "--lossy", "--target-bpw", str(bits), "--force", "--quiet",
                    "--no-sync"], check=True, stderr=subprocess.DEVNULL)
    error, = (i["relative_rmse"] for i in ask(tare, "diff", matrix, packed)["comparisons"][0]["differences"])
    return ask(tare, "info", packed)["models"][0]["container"]["loss"]["bits_per_weight"], error ** 2


def row(tare, label, matrix, entropy):
    """entropy: differential, in bits, of numbers with a mean square of 1; None: to be found."""
    if entropy is None:
        rate, error = rate_and_error(tare, matrix, FINE)
        entropy = rate + math.log2(12 * error) / 2
    cells = [label]
    for bits in RATES:
        rate, error = rate_and_error(tare, matrix, bits)
        cells.append(f"{rate - (entropy - math.log2(2 * math.pi * math.e * error) / 2):.3f}")
    print("| " + " | ".join(cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("tare")
    parser.add_argument("model", nargs="?")
    parser.add_argument("tensor", nargs="*")
    args = parser.parse_args()
    normal = random.Random(1)
    print("| numbers | " + " | ".join(f"{bits} bits" for bits in RATES) + " |\n" + "| --- " * (1 + len(RATES)) + "|")
    with tempfile.TemporaryDirectory() as folder:
        matrix = os.path.join(folder, "m.safetensors")
        write_matrix(matrix, *made(lambda: normal.gauss(0, 1)))
        row(args.tare, "normal", matrix, math.log2(2 * math.pi * math.e) / 2)
        write_matrix(matrix, *made(lambda: normal.expovariate(1) * normal.choice((-1, 1))))
        row(args.tare, "Laplacian", matrix, math.log2(2 * math.e * math.sqrt(0.5)))
        for name in args.tensor:
            write_matrix(matrix, *of_model(args.model, name))
            row(args.tare, name, matrix, None)


if __name__ == "__main__":
    main()
