# SPDX-License-Identifier: MIT
"""Digests and manifests by their definition alone, in plain Python: SHA-256 of the canonical
encoding name, a NUL, rank and dimensions outermost first, then the bytes; lines as sha256sum
writes them, sorted by name bytes."""
import hashlib
import os
import shutil
import struct
import subprocess
import sys
import unittest

from command import TareTest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
from safetensors_file import safetensors  # noqa: E402

TENSORS = (("b.weight", "F32", [2, 3], bytes(range(24))), ("a", "BF16", [5], bytes(range(10))),
           ("scalar", "F64", [], bytes(range(8))), ("none", "I32", [0, 7], b""),
           ("q", "U8", [2, 2, 2], bytes(range(8))), ("B", "I64", [1], bytes(range(8))),
           ("ab", "BOOL", [1, 1], b"\1"))
AWKWARD = (("line\nbreak", "U8", [1], b"\1"), ("back\\slash", "U8", [1], b"\2"),
           ("return\r", "U8", [1], b"\3"), ("\u00e9", "U8", [1], b"\4"))


def preimage(dtype, shape, raw):
    return (dtype.lower().encode() + b"\0" + struct.pack("<Q", len(shape))
            + b"".join(struct.pack("<Q", d) for d in shape) + raw)


def line(name, digest):
    """As GNU sha256sum: a backslash before the line where the name had to be escaped."""
    escaped = name.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    return ("\\" if escaped != name else "") + digest + "  " + escaped + "\n"


def manifest(tensors):
    rows = sorted((name.encode(), name, hashlib.sha256(preimage(dtype, shape, raw)).hexdigest())
                  for name, dtype, shape, raw in tensors)
    return "".join(line(name, digest) for _, name, digest in rows).encode()


class Digests(TareTest):
    def check(self, tensors):
        self.write("m.safetensors", safetensors(tensors))
        want = manifest(tensors)
        self.assertEqual(self.manifest("m.safetensors"), want)
        # The same in the other container and byte order; and a manifest of ours is accepted.
        for order in ("little", "big"):
            self.tare("convert", "--force", "m.safetensors", "m.gguf", "--endian", order)
            self.assertEqual(self.manifest("m.gguf"), want, order)
        self.write("ours.sha256", want)
        self.tare("verify", "--manifest", "ours.sha256", "m.gguf")

    def test_plain_names(self):
        self.check(TENSORS)

    def test_awkward_names(self):
        self.check(AWKWARD)

    def test_changed_bit(self):
        """One bit of one tensor: exit 1, and the tensor is named."""
        self.write("m.safetensors", safetensors(TENSORS))
        changed = [(n, d, s, bytes([r[0] ^ 1]) + r[1:] if n == "q" else r)
                   for n, d, s, r in TENSORS]
        self.write("other.sha256", manifest(changed))
        self.assertIn(b"q", self.tare("verify", "--manifest", "other.sha256", "m.safetensors",
                                      code=1))

    def test_sha256sum(self):
        """sha256sum -c takes the manifest, where the files of those names hold the preimages."""
        if shutil.which("sha256sum") is None:
            self.skipTest("SKIP: no sha256sum here, 1 test left out")
        tensors = TENSORS + AWKWARD
        self.write("m.safetensors", safetensors(tensors))
        self.manifest("m.safetensors")
        for name, dtype, shape, raw in tensors:
            self.write(name, preimage(dtype, shape, raw))
        done = subprocess.run(["sha256sum", "--strict", "-c", "manifest.sha256"], cwd=self.folder,
                              capture_output=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
