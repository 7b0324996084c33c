#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The command's INFQ packages, read by a reader of their own, and the reverse: infq_agrees.py TARE
FOLDER.

A safetensors file becomes a package whose codes and scales are those of exact arithmetic in Python;
packages written in Python, with scales beside codes or in a file of their own and with fields that
nobody knows, decode to the same numbers; tensors that are not floats, shapes, metadata and side
files come back."""
import json
import os
import shutil
import struct
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "support")]
import infq_package  # noqa: E402
from infq_codes import (f16, f32, largest, pack, quantize_row, sample,  # noqa: E402
                        take_outliers)
from safetensors_file import read_safetensors, safetensors  # noqa: E402

SIDE = {"config.json": b'{"model_type": "qwen3"}\n', "empty.txt": b"", "LICENSE": b"\xff\0 bytes"}


def flat(rows):
    return [x for row in rows for x in row]


def raw_f32(values):
    return struct.pack("<%df" % len(values), *values)


class Run:
    def __init__(self, tare, folder):
        self.tare, self.folder = tare, folder
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def call(self, *words):
        done = subprocess.run([self.tare, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              check=False)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def must(self, *words):
        code, out, text = self.call(*words)
        if code:
            sys.exit("%s: %d\n%s" % (" ".join(words), code, text))
        return out

    def convert(self, a, b, *options):
        self.must("convert", self.path(a), self.path(b), "--quiet", "--force", "--no-sync",
                  *options)

    def decoded(self, name):
        self.convert(name, "decoded.safetensors", "--tensor-type", ".=f32")
        return read_safetensors(self.path("decoded.safetensors"))[1]


MATRIX, ODD, CUBE = sample(6, 300), sample(7, 65), sample(6, 33)
VECTOR = sample(1, 45)[0]
TENSORS = [("m.weight", "F32", [6, 300], raw_f32(flat(MATRIX))),
           ("odd \u00e9 \"q\".weight", "F32", [7, 65], raw_f32(flat(ODD))),
           ("cube.weight", "F32", [2, 3, 33], raw_f32(flat(CUBE))),
           ("norm", "F32", [45], raw_f32(VECTOR)),
           ("scalar", "F32", [], raw_f32([0.75])),
           ("ids", "I64", [3], struct.pack("<3q", 1, -2, 1 << 40))]
ROWS = {"m.weight": MATRIX, "odd \u00e9 \"q\".weight": ODD, "cube.weight": CUBE, "norm": [VECTOR],
        "scalar": [[0.75]]}


def check_written(run, name, dtypes, is_outlier=lambda rows: lambda r, c, x: abs(x) > 6):
    """is_outlier: of the rows of a tensor, what of them stands for itself."""
    manifest, mine = infq_package.read(run.path(name))
    assert set(mine) == set(ROWS), sorted(mine)
    decoded = run.decoded(name)
    shapes = {t[0]: t[2] for t in TENSORS}
    for tensor, rows in ROWS.items():
        dtype, shape, codes, scales, records, values = mine[tensor]
        assert dtype == dtypes(tensor), (tensor, dtype)
        bits = infq_package.BITS[dtype]
        kept, expected = take_outliers(rows, is_outlier(rows))
        assert records == expected, tensor
        quantized = [quantize_row(row, (1 << (bits - 1)) - 1) for row in kept]
        assert codes == b"".join(pack(q, bits) for q, _ in quantized), tensor
        assert scales == b"".join(s for _, s in quantized), tensor
        assert shape == shapes[tensor], tensor
        assert decoded[tensor] == ("F32", shape, raw_f32(values)), tensor
    assert decoded["ids"] == TENSORS[-1][1:], decoded["ids"]
    return manifest


# The public converter quantizes all floats; tare leaves norms and what has one row as they are.
EVERY = ("--tensor-type", "weight|norm|scalar=int8_rowwise")


def check_small(run):
    """What is small keeps its type and its bytes, there and back, and what changes is a loss."""
    run.convert("in.safetensors", "small.infq")
    assert set(infq_package.read(run.path("small.infq"))[1]) == {
        name for name in ROWS if name.endswith(".weight")}
    run.convert("small.infq", "small.gguf")
    run.convert("small.gguf", "small.safetensors")
    back = read_safetensors(run.path("small.safetensors"))[1]
    for name, dtype, shape, content in TENSORS:
        assert name.endswith(".weight") or back[name] == (dtype, shape, content), name
    code, _, text = run.call("convert", run.path("in.safetensors"), run.path("x.infq"), "--strict")
    assert code == 5 and '"m.weight": the target\'s format would quantize it' in text, text
    run.convert("in.safetensors", "x.infq", "--strict", "--type", "int8_rowwise")
    # Norms that another program quantized are F32 for llama.cpp, whatever else becomes F16.
    run.convert("out.infq", "norms.gguf")
    types = {t["name"]: t["type"] for t in
             json.loads(run.must("info", "--json", "-t", run.path("norms.gguf")))["models"][0]["tensors"]}
    assert types["norm"] == types["scalar"] == "f32" and types["m.weight"] == "f16", types


def check_own(run):
    with open(run.path("in.safetensors"), "wb") as f:
        f.write(safetensors(TENSORS, {"a": "b", "c": "\u00e9"}))
    run.convert("in.safetensors", "out.infq", "--verify", *EVERY)
    check_written(run, "out.infq", lambda t: "int8_rowwise")
    run.must("verify", "--strict", run.path("out.infq"))
    assert "int8_rowwise" in run.must("info", run.path("out.infq"))
    run.convert("in.safetensors", "four.infq", "--type", "int4_rowwise", "--tensor-type",
                "norm|scalar=int8_rowwise")
    check_written(run, "four.infq",
                  lambda t: "int4_rowwise" if t.endswith(".weight") else "int8_rowwise")
    assert os.path.exists(run.path("out.infq/weights_outliers.bin"))
    for name, option, rule in (
            ("none.infq", ("--outlier-threshold", "0"), lambda rows: lambda r, c, x: False),
            ("some.infq", ("--outlier-threshold", "0.5"), lambda rows: lambda r, c, x: abs(x) > 0.5),
            ("share.infq", ("--outliers", "2%"),
             lambda rows: largest(rows, sum(map(len, rows)) * 2 // 100))):
        run.convert("in.safetensors", name, "--verify", *EVERY, *option)
        check_written(run, name, lambda t: "int8_rowwise", rule)
        run.must("verify", "--strict", "--deep", run.path(name))
        # Lists cross as planes do, and are part of the digest.
        run.convert(name, "list.safetensors", "--opaque")
        run.convert("list.safetensors", "list.infq", "--opaque")
        run.must("diff", run.path(name), run.path("list.infq"))
    assert run.call("diff", run.path("none.infq"), run.path("some.infq"))[0] == 1
    run.convert("out.infq", "back.safetensors")
    metadata, back = read_safetensors(run.path("back.safetensors"))
    assert metadata == {"a": "b", "c": "\u00e9"} and back["ids"] == TENSORS[-1][1:]
    assert back["cube.weight"][:2] == ("F16", [2, 3, 33])
    # The stored planes cross other containers and come back.
    run.convert("out.infq", "opaque.gguf", "--opaque")
    run.convert("opaque.gguf", "again.infq", "--opaque")
    run.must("diff", run.path("out.infq"), run.path("again.infq"))
    run.convert("out.infq", "same.infq")
    for name in os.listdir(run.path("out.infq")):
        with open(run.path("out.infq/" + name), "rb") as a, open(run.path("same.infq/" + name),
                                                                 "rb") as b:
            assert a.read() == b.read(), name


def check_side_files(run):
    os.makedirs(run.path("hf"))
    files = {**SIDE, "model.safetensors": safetensors(TENSORS)}
    for name, content in files.items():
        with open(run.path("hf/" + name), "wb") as f:
            f.write(content)
    run.convert("hf", "side.infq")
    run.convert("side.infq", "hf2", "--to", "hf")
    for name, content in SIDE.items():
        for folder in ("side.infq/", "hf2/"):
            with open(run.path(folder + name), "rb") as f:
                assert f.read() == content, name


def check_foreign(run):
    tensors = {"a": ("int8_rowwise", MATRIX), "b": ("int4_rowwise", ODD)}
    def large(row, col, value):
        return abs(value) > 0.75 or row == col == 3

    for name, apart, rule, shuffle in (("theirs", False, None, False), ("apart", True, None, False),
                                       ("listed", True, large, False), ("mixed", False, large, True)):
        infq_package.write(run.path(name), tensors, apart, rule, shuffle, adapters=[])
        run.must("verify", "--deep", run.path(name))
        decoded = run.decoded(name)
        for tensor, (dtype, rows) in tensors.items():
            top = (1 << (infq_package.BITS[dtype] - 1)) - 1
            values = []
            kept, records = take_outliers(rows, rule or (lambda r, c, x: False))
            for row in kept:
                q, scale = quantize_row(row, top)
                values += [f32(f16(scale) * code) for code in q]
            for row, col, value in struct.iter_unpack("<IH2s", records):
                values[row * len(rows[0]) + col] = f16(value)
            assert decoded[tensor] == ("F32", [len(rows), len(rows[0])], raw_f32(values)), tensor
        run.convert(name, "ours.infq")
        if shuffle:
            continue  # the order stays, which our reader does not like
        manifest, _ = infq_package.read(run.path("ours.infq"))
        assert manifest["perf"] == {"flags": ["avx2"]}
        for entry in manifest["tensors"]:
            assert entry["note \"x\""] == {"kept": [1, 2.50, None]}
        if rule:
            assert manifest["tensors"][0]["outliers"]["why"] == ["large"]
        with open(run.path("ours.infq/manifest.json"), encoding="utf-8") as f:
            assert "[1, 2.5, null]" in f.read()


def check_refused(run):
    """What would be lost is refused, not dropped."""
    adapter = [{"name": "x", "rank": 1}]
    infq_package.write(run.path("adapters"), {"a": ("int8_rowwise", MATRIX)}, adapters=adapter)
    code, _, text = run.call("info", run.path("adapters"))
    assert code == 3 and "adapters[0].A: missing" in text, text
    # A scale beyond f16; an outlier; infinity, which is none.
    for value, option in ((65520.0 * 127, "0"), (65520.0, "6"), (float("inf"), "6")):
        with open(run.path("large.safetensors"), "wb") as f:
            f.write(safetensors([("w", "F32", [2, 2], raw_f32([1.0, 2.0, 1.0, value]))]))
        code, _, text = run.call("convert", run.path("large.safetensors"), run.path("large.infq"),
                                 "--outlier-threshold", option)
        assert code == 5 and '"w"' in text and not os.path.exists(run.path("large.infq")), text
    for options in (("--outliers", "0.1"), ("--outliers", "101%"), ("--outlier-threshold", "-1"),
                    ("--outliers", "1%", "--outlier-threshold", "2")):
        assert run.call("convert", run.path("in.safetensors"), run.path("x.infq"), *options)[0] == 2
    code, _, text = run.call("convert", run.path("in.safetensors"), run.path("x.gguf"), "--outliers",
                             "1%")
    assert code == 2 and "INFQ" in text, text


def check_damage(run):
    """A flipped bit anywhere in a payload is found; a record with a column that is not there stops
    whoever decodes."""
    shutil.copytree(run.path("some.infq"), run.path("hurt.infq"))
    for name in ("weights.bin", "weights_outliers.bin"):
        with open(run.path("hurt.infq/" + name), "r+b") as f:
            whole = f.read()
            f.seek(5)
            f.write(bytes([whole[5] ^ 128]))
        code, text, _ = run.call("verify", "--deep", run.path("hurt.infq"))
        assert code == 1 and "data.checksum" in text, text
        if name != "weights.bin":
            # records are row, col, value; byte 5 is the column's upper one
            assert "data.record" in text, text
            code, _, text = run.call("convert", run.path("hurt.infq"), run.path("x.safetensors"))
            assert code == 3 and "outlier" in text, text
        with open(run.path("hurt.infq/" + name), "wb") as f:
            f.write(whole)
    run.must("verify", "--deep", run.path("hurt.infq"))


if __name__ == "__main__":
    it = Run(*sys.argv[1:])
    for check in (check_own, check_small, check_side_files, check_foreign, check_refused, check_damage):
        check(it)
