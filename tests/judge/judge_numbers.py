# SPDX-License-Identifier: MIT
"""tare against ggml itself: ggml-types.gguf holds rows that ggml encoded, and what it decodes from
them. Decoding gives the same floats; encoding the source rows gives the same blocks."""
import os
import unittest

from command import DATA, TareTest, data_files

FILE = "ggml-types.gguf"
DECODED = ("f16", "bf16", "q4_0", "q4_1", "q5_0", "q5_1", "q8_0")


class GgmlNumbers(TareTest):
    def setUp(self):
        super().setUp()
        if FILE not in data_files(self):
            self.skipTest("SKIP: TARE_TEST_DATA has no %s, 1 test left out" % FILE)
        self.file = os.path.join(DATA, FILE)

    def test_decoding(self):
        for kind in DECODED:
            want = self.stored(self.file, "decoded." + kind)
            self.assertEqual(self.decoded(self.file, "plain." + kind), want, kind)
        self.assertEqual(self.decoded(self.file, "source"), self.stored(self.file, "source"))

    def test_encoding(self):
        for kind in DECODED:
            self.tare("convert", self.file, kind + ".gguf", "--tensor-type", "^source$=" + kind)
            self.assertEqual(self.stored(kind + ".gguf", "source"),
                             self.stored(self.file, "plain." + kind), kind)


if __name__ == "__main__":
    unittest.main()
