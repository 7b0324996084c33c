# SPDX-License-Identifier: MIT
"""tare against ggml itself: ggml-types.gguf holds rows that ggml encoded, without and with
importance, and what it decodes from them. Decoding gives the same floats; encoding the source rows
gives the same blocks, by an importance matrix of either form."""
import os
import struct
import sys
import unittest

from command import DATA, TareTest, data_files

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden"))
from importance_cases import Dat, imatrix_gguf  # noqa: E402

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from safetensors_file import safetensors  # noqa: E402

FILE = "ggml-types.gguf"


class GgmlNumbers(TareTest):
    def setUp(self):
        super().setUp()
        if FILE not in data_files(self):
            self.skipTest("SKIP: TARE_TEST_DATA has no %s, 1 test left out" % FILE)
        self.file = os.path.join(DATA, FILE)
        self.tensors = self.cut(self.file)

    def cut(self, name):
        """The bytes of all tensors of a GGUF file."""
        content = self.read(name)
        return {name: content[t["offset"]:t["offset"] + t["size_bytes"]]
                for name, t in self.info(name)["tensors"].items()}

    def kinds(self, how):
        """The types that have a tensor "plain.T", "weighted.T" or "decoded.T"."""
        return [n.split(".")[1] for n in self.tensors if n.startswith(how + ".")]

    def test_decoding(self):
        self.assertEqual(len(self.kinds("decoded")), 27)
        for kind in self.kinds("decoded"):
            stored = ("plain." if "plain." + kind in self.tensors else "weighted.") + kind
            self.assertEqual(self.decoded(self.file, stored),
                             self.tensors["decoded." + kind], kind)
        self.assertEqual(self.decoded(self.file, "source"), self.tensors["source"])

    def encode(self, kinds, *options):
        """The source rows in each type, by one conversion of a file that has them once a type."""
        rows = self.tensors["source"]
        self.write("in.safetensors", safetensors([(k, "F32", [8, len(rows) // 32], rows) for k in kinds]))
        self.tare("convert", "in.safetensors", "out.gguf", "--force", "--no-sync", *options,
                  *(word for k in kinds for word in ("--tensor-type", "^%s$=%s" % (k, k))))
        return self.cut("out.gguf")

    def check_encoded(self, how, n, *options):
        kinds = self.kinds(how)
        self.assertEqual(len(kinds), n)
        encoded = self.encode(kinds, *options)
        self.assertEqual(set(encoded), set(kinds))
        for kind in kinds:
            if kind != "iq1_m":  # the file is of ggml 0.21; tare encodes this type as 0.25 does
                self.assertEqual(encoded[kind], self.tensors[how + "." + kind], (kind, options))

    def test_encoding(self):
        self.check_encoded("plain", 24)

    def test_encoding_by_importance(self):
        raw = self.tensors["imatrix"]
        row = struct.unpack("<%df" % (len(raw) // 4), raw)
        # Sums over 4 calls: exact, so that the division gives the row back.
        sums = [4 * x for x in row]
        kinds = self.kinds("weighted")
        text = Dat(len(kinds))
        for kind in kinds:
            text.entry(kind, 4, sums)
        matrices = (self.write("m.dat", text.end(1, "text").file()),
                    self.write("m.gguf", imatrix_gguf({k: ([sums], [4.0]) for k in kinds}).file()))
        for matrix in matrices:
            self.check_encoded("weighted", 25, "--imatrix", matrix)


if __name__ == "__main__":
    unittest.main()
