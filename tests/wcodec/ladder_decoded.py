#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A ladder that the command packs, unpacked by the second decoder (run by tests/judge/judge.py)."""
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def main():
    tare = os.environ["TARE_COMMAND"]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)

        def run(*words):
            subprocess.run([tare, *words, "--quiet"], check=True)

        os.mkdir("f")
        run("synth", "llama-tiny:bf16", "whole.gguf")
        run("edit", "whole.gguf", "--keep-tensors", "*layers.0.*", "-o", "f/bf16.gguf")
        run("convert", "f/bf16.gguf", "f/q8_0.gguf", "--type", "q8_0")
        run("convert", "f/bf16.gguf", "f/q4_0.gguf", "--type", "q4_0")
        with open("f/q4_0.gguf", "r+b") as f: # a block of another build
            f.seek(-5000, os.SEEK_END)
            byte = f.read(1)
            f.seek(-1, os.SEEK_CUR)
            f.write(bytes([byte[0] ^ 1]))
        run("pack", "f", "f.wcodec")
        assert os.path.getsize("f.wcodec") < 0.75 * os.path.getsize("f/bf16.gguf") + 20000
        subprocess.run([sys.executable, "-B", os.path.join(HERE, "wcodec_decoder.py"), "f.wcodec", "--unpack", "g"],
                       check=True)
        for name in sorted(os.listdir("f")):
            with open(f"f/{name}", "rb") as a, open(f"g/{name}", "rb") as b:
                assert a.read() == b.read(), name
        os.chdir("/")
    return 0


if __name__ == "__main__":
    sys.exit(main())
