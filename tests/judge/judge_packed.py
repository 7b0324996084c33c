# SPDX-License-Identifier: MIT
"""What `tare pack` writes, restored by the second decoder of .wcodec (tests/wcodec), which knows
the specification alone: small models in every container and number format come back bit for bit,
with either effort, each form forced, and as differences to a base."""
import math
import os
import random
import struct
import sys
import unittest

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path[:0] = [os.path.join(TESTS, "wcodec"), os.path.join(TESTS, "support")]
import wcodec_decoder  # noqa: E402
from command import DATA, TareTest, data_files  # noqa: E402
from safetensors_file import safetensors  # noqa: E402

PLAIN = ("f64", "f32", "f16", "bf16", "f8_e4m3", "f8_e5m2", "f4")
GGUF = ("q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "q6_k", "q5_k", "q4_k", "q3_k", "q2_k", "q2_0", "q1_0",
        "iq4_xs", "iq4_nl", "iq3_s", "iq3_xxs", "iq2_s", "iq1_m", "tq2_0", "tq1_0", "mxfp4", "nvfp4")
MCF = ("q8", "q4", "k6", "k4", "k3", "k2", "mcf_int8", "mcf_int8_zero", "mcf_int4", "mcf_int4_zero")
INFQ = ("int8_rowwise", "int4_rowwise")
COLS = 256
STRUCTURED = 4  # a mode of segments


def sample():
    """Tensors of every kind that the encoder looks for: independent values, rare large ones, rows
    that follow each other, one that is there twice, small ones."""
    rng = random.Random(11)
    dense = [rng.gauss(0, 0.02) for _ in range(12 * COLS)]
    large = [rng.gauss(0, 8 if rng.random() < 0.01 else 0.1) for _ in range(8 * COLS)]
    smooth = [math.sin(r / 9) + math.cos(c / 23) + 0.001 * r for r in range(8) for c in range(COLS)]
    return {"dense.weight": dense, "large.weight": large, "smooth.weight": smooth, "same.weight": dense,
            "norm.weight": dense[:COLS], "tiny.weight": [1.0, -2.0, 0.5]}


def model(values):
    def shape(v):
        return [len(v) // COLS, COLS] if len(v) > COLS else [len(v)]

    return safetensors([(name, "F32", shape(v), struct.pack("<%df" % len(v), *v))
                        for name, v in values.items()], {"author": "nobody"})


class Packed(TareTest):
    def setUp(self):
        super().setUp()
        self.write("sample.safetensors", model(sample()))

    def files(self, path):
        whole = self.path(path)
        names = os.listdir(whole) if os.path.isdir(whole) else []
        return {name: self.read(os.path.join(path, name)) for name in names} or \
            {os.path.basename(path): self.read(path)}

    def check(self, path, *options, base=None):
        """Packs it; the modes and predictors of its segments."""
        self.tare("pack", "--force", "--no-sync", "--quiet", path, "packed.wcodec", *options)
        container = wcodec_decoder.open_file(self.path("packed.wcodec"), base and self.path(base))
        found = {name: container.file(i) for i, (name, _) in enumerate(container.files)}
        expected = self.files(path)
        self.assertEqual(sorted(found), sorted(expected), (path, options))
        for name, content in expected.items():
            self.assertTrue(found[name] == content, "%s %s: %s" % (path, options, name))
        return modes(container)

    def convert(self, out, *options):
        self.tare("convert", "--force", "--no-sync", "--quiet", "sample.safetensors", out, *options)
        return out

    def check_types(self, types, suffix, *options):
        for kind in types:
            with self.subTest(kind):
                path = self.convert(kind + suffix, "--type", kind, *options)
                for effort in ("fast", "full"):
                    self.check(path, "--effort", effort)

    def test_plain(self):
        self.check_types(PLAIN, ".safetensors")

    def test_gguf(self):
        self.check_types(GGUF, ".gguf")

    def test_mcf(self):
        self.check_types(MCF, ".mcf")

    def test_infq(self):
        self.check_types(INFQ, ".infq", "--outliers", "0.5%")

    def test_big_endian(self):
        self.check_types(("f32", "bf16", "q8_0", "q6_k"), ".gguf", "--endian", "big")

    def test_sets(self):
        self.convert("hf", "--to", "hf", "--type", "bf16", "--shard-size", "8K")
        self.write("hf/config.json", b'{"a": 1}')
        self.write("hf/empty.txt", b"")
        self.write("hf/tokenizer.model", bytes(i * i >> 3 & 255 for i in range(5000)))
        self.assertGreater(len(os.listdir(self.path("hf"))), 6)
        self.check("hf")
        self.convert("set", "--to", "gguf", "--type", "q8_0", "--shard-size", "8K")
        self.check("set", "--effort", "full")

    def test_forms(self):
        """Each form where it can be, and the one that full effort finds by itself."""
        path = self.convert("forms.mcf", "--type", "mcf_int8")
        self.assertIn(STRUCTURED, {mode for mode, _ in self.check(path, "--effort", "full")})
        for mode in ("raw", "zstd", "direct", "structured"):
            self.check(path, "--mode", mode)
        self.check(path, "--segment", "16Ki")

    def test_base(self):
        """Differences: small ones, and those of codes whose scales have moved."""
        tuned = {name: [x * 1.001 for x in v] for name, v in sample().items()}
        self.write("tuned.safetensors", model(tuned))
        for kind, suffix, predictor in (("bf16", ".safetensors", 1), ("q8_0", ".gguf", 2),
                                        ("int8_rowwise", ".infq", 2)):
            with self.subTest(kind):
                base = self.convert("base" + suffix, "--type", kind)
                self.tare("convert", "--no-sync", "--quiet", "tuned.safetensors", "tuned" + suffix * 2,
                          "--type", kind)
                self.tare("pack", "--force", "--no-sync", "--quiet", base, "base.wcodec")
                met = self.check("tuned" + suffix * 2, "--base", base, base="base.wcodec")
                self.assertIn(predictor, {p for _, p in met})

    def test_real_files(self):
        for name in data_files(self):
            path = os.path.join(DATA, name)
            if os.path.getsize(path) < 300000:
                self.check(path, "--effort", "full")


def modes(container):
    """The pairs of mode and predictor that its segments have."""
    met = set()
    for layer in container.layers:
        at = layer.offset
        for stream in layer.streams:
            at += stream.head_bytes
            for size in stream.sizes:
                met.add(tuple(container.data[at:at + 2]))
                at += size
    return met


if __name__ == "__main__":
    unittest.main()
