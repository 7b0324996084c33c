# SPDX-License-Identifier: MIT
"""Every real file, and the synthetic model in all its value forms: to the other format and back
with the same content and digests, and to its own format with the same bytes."""
import filecmp
import os
import unittest

from command import DATA, TareTest, data_files

VALUES = ("normal", "t5", "outliers", "bf16")
OTHER = {"gguf": "safetensors", "safetensors": "gguf"}


class RoundTrip(TareTest):
    def check(self, path, *options):
        own = path.rsplit(".", 1)[1]
        there, back, same = "there." + OTHER[own], "back." + own, "same." + own
        self.tare("convert", "--force", "--no-sync", path, there, *options)
        self.tare("convert", "--force", "--no-sync", there, back, *options)
        self.tare("convert", "--force", "--no-sync", path, same)
        digests = self.manifest(path)
        for name in (there, back, same):
            self.assertEqual(self.manifest(name), digests, name)
            self.tare("diff", path, name)
        self.assertTrue(filecmp.cmp(self.path(path), self.path(same), shallow=False),
                        "%s: %s is not the same file" % (path, same))

    def test_real_files(self):
        for name in data_files(self):
            with self.subTest(name):
                opaque = ["--opaque"] if name == "ggml-types.gguf" else []
                self.check(os.path.join(DATA, name), *opaque)

    def test_synthetic(self):
        for values in VALUES:
            for suffix in OTHER:
                with self.subTest(values=values, suffix=suffix):
                    name = "%s.%s" % (values, suffix)
                    self.tare("synth", "--no-sync", "llama-tiny:" + values, name)
                    self.check(name)

    def test_big_endian(self):
        """The same, from a big-endian file of every block type."""
        if "ggml-types.gguf" not in data_files(self):
            self.skipTest("SKIP: TARE_TEST_DATA has no ggml-types.gguf, 1 test left out")
        source = os.path.join(DATA, "ggml-types.gguf")
        self.tare("convert", source, "big.gguf", "--endian", "big")
        self.check("big.gguf", "--opaque")
        self.tare("convert", "big.gguf", "little.gguf", "--endian", "little")
        self.assertTrue(filecmp.cmp(source, self.path("little.gguf"), shallow=False))


if __name__ == "__main__":
    unittest.main()
