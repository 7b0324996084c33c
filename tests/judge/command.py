# SPDX-License-Identifier: MIT
"""Runs the tare command for the judges, each test in a folder of its own.

TARE_COMMAND names the command; TARE_TEST_DATA the folder of real files, where there is one.
"""
import json
import os
import shutil
import subprocess
import tempfile
import unittest

COMMAND = os.environ["TARE_COMMAND"]
DATA = os.environ.get("TARE_TEST_DATA", "")


class TareTest(unittest.TestCase):
    """A test with a folder; the working folder of every command it runs."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="tare-judge-")
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def read(self, name):
        with open(self.path(name), "rb") as f:
            return f.read()

    def write(self, name, content):
        with open(self.path(name), "wb") as f:
            f.write(content)
        return name

    def tare(self, *words, code=0):
        """Runs the command, which must end with `code`; what it wrote to standard output."""
        done = subprocess.run([COMMAND, *words], cwd=self.folder, capture_output=True)
        self.assertEqual(done.returncode, code, "tare %s: %s" % (
            " ".join(words), done.stderr.decode(errors="replace") or done.stdout[:2000]))
        return done.stdout

    def info(self, name):
        """tare info --json with tensors (name -> entry) and metadata (key -> entry)."""
        document = json.loads(self.tare("info", "--json", "-t", "-m", "--all", name))["models"][0]
        document["tensors"] = {t["name"]: t for t in document["tensors"]}
        document["metadata"] = {m["key"]: m for m in document["metadata"]}
        return document

    def stored(self, name, tensor):
        """The bytes of a tensor, little-endian."""
        return self.tare("extract", "--form", "bin", name, tensor)

    def decoded(self, name, tensor):
        """The bytes of a tensor's values as .npy holds them, without the header."""
        npy = self.tare("extract", "--form", "npy", name, tensor)
        self.assertEqual(npy[:8], b"\x93NUMPY\x01\0")
        return npy[10 + int.from_bytes(npy[8:10], "little"):]

    def manifest(self, name):
        """The manifest of a model, as bytes."""
        self.tare("verify", "--quiet", "--force", "--write-manifest", "manifest.sha256", name)
        return self.read("manifest.sha256")


def data_files(test):
    """The real files, or a skip that says that there are none."""
    names = sorted(n for n in os.listdir(DATA) if n.endswith((".gguf", ".safetensors"))) \
        if os.path.isdir(DATA) else []
    if not names:
        test.skipTest("SKIP: TARE_TEST_DATA names no folder with model files, 1 test left out")
    return names
