#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A ladder that the command packs, unpacked by the second decoder (run by tests/judge/judge.py)."""
import os
import shutil
import subprocess
import sys
import tempfile

from wcodec_decoder import Container

HERE = os.path.dirname(os.path.abspath(__file__))


def main():
    tare = os.environ["TARE_COMMAND"]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)

        def run(*words):
            subprocess.run([tare, *words, "--quiet"], check=True)

        def check_folder(folder):
            run("pack", folder, f"{folder}.wcodec", "--force")
            shutil.rmtree("g", ignore_errors=True)
            subprocess.run([sys.executable, "-B", os.path.join(HERE, "wcodec_decoder.py"), f"{folder}.wcodec",
                            "--unpack", "g"], check=True)
            subprocess.run(["diff", "-r", folder, "g"], check=True)

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
        check_folder("f")
        assert os.path.getsize("f.wcodec") < 0.75 * os.path.getsize("f/bf16.gguf") + 20000
        for model in "mixtral", "gemma", "gpt2": # stacked and permuted, one added, transposed
            subprocess.run([sys.executable, "-B", os.path.join(HERE, "../llama/tiny_models.py"), ".", model], check=True)
            os.mkdir("p")
            os.rename(model, "p/hf")
            run("convert", "p/hf", "p/bf16.gguf", "--no-tokenizer")
            run("convert", "p/hf", "p/q8_0.gguf", "--no-tokenizer", "--type", "q8_0")
            check_folder("p")
            with open("p.wcodec", "rb") as f:
                layers = Container(f.read()).layers
            assert any(layer.derived and layer.derived["pieces"] for layer in layers), "no pieces"
            shutil.rmtree("p")
        os.chdir("/")
    return 0


if __name__ == "__main__":
    sys.exit(main())
