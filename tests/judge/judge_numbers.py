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

FILE = "ggml-types.gguf"


class GgmlNumbers(TareTest):
    def setUp(self):
        super().setUp()
        if FILE not in data_files(self):
            self.skipTest("SKIP: TARE_TEST_DATA has no %s, 1 test left out" % FILE)
        self.file = os.path.join(DATA, FILE)
        self.names = list(self.info(self.file)["tensors"])

    def kinds(self, how):
        """The types that have a tensor "plain.T", "weighted.T" or "decoded.T"."""
        return [n.split(".")[1] for n in self.names if n.startswith(how + ".")]

    def test_decoding(self):
        self.assertEqual(len(self.kinds("decoded")), 27)
        for kind in self.kinds("decoded"):
            stored = ("plain." if "plain." + kind in self.names else "weighted.") + kind
            self.assertEqual(self.decoded(self.file, stored),
                             self.stored(self.file, "decoded." + kind), kind)
        self.assertEqual(self.decoded(self.file, "source"), self.stored(self.file, "source"))

    def encode(self, kind, *options):
        self.tare("convert", self.file, "out.gguf", "--force", "--no-sync", "--tensor-type",
                  "^source$=" + kind, *options)
        return self.stored("out.gguf", "source")

    def test_encoding(self):
        for kind in self.kinds("plain"):
            self.assertEqual(self.encode(kind), self.stored(self.file, "plain." + kind), kind)

    def test_encoding_by_importance(self):
        raw = self.stored(self.file, "imatrix")
        row = struct.unpack("<%df" % (len(raw) // 4), raw)
        # Sums over 4 calls: exact, so that the division gives the row back.
        sums = [4 * x for x in row]
        matrices = (self.write("m.dat", Dat(1).entry("source", 4, sums).end(1, "text").file()),
                    self.write("m.gguf", imatrix_gguf({"source": ([sums], [4.0])}).file()))
        self.assertEqual(len(self.kinds("weighted")), 25)
        for kind in self.kinds("weighted"):
            for matrix in matrices:
                self.assertEqual(self.encode(kind, "--imatrix", matrix),
                                 self.stored(self.file, "weighted." + kind), (kind, matrix))


if __name__ == "__main__":
    unittest.main()
