# SPDX-License-Identifier: MIT
"""An INFQ package states the SHA-256 of each tensor: a flipped bit is found by whatever computes with it."""
import os
import random
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from safetensors_file import safetensors  # noqa: E402


def main():
    tare, folder = sys.argv[1:3]
    os.makedirs(folder, exist_ok=True)
    os.chdir(folder)
    subprocess.run(["rm", "-rf", "a.infq", "out"], check=True)

    def run(code, *arguments):
        done = subprocess.run([tare, *arguments], capture_output=True)
        assert done.returncode == code, (arguments, done.returncode, done.stderr)
        return done.stderr.decode()

    random.seed(1)
    numbers = struct.pack("<4096f", *(random.gauss(0, 1) for _ in range(4096)))
    with open("a.safetensors", "wb") as f:
        f.write(safetensors([("first", "F32", [64, 64], numbers), ("second", "F32", [64, 64], numbers[8192:] + numbers[:8192])]))
    run(0, "convert", "a.safetensors", "a.infq", "--type", "int8_rowwise", "--force")
    run(0, "convert", "a.infq", "sound.safetensors", "--force")
    sizes = {n: os.path.getsize("a.infq/" + n) for n in os.listdir("a.infq") if n.endswith(".bin")}
    with open("a.infq/" + max(sizes, key=sizes.get), "r+b") as f:
        f.seek(max(sizes.values()) - 5)
        byte = f.read(1)[0]
        f.seek(-1, os.SEEK_CUR)
        f.write(bytes([byte ^ 4]))
    for arguments in (["convert", "a.infq", "out.safetensors"], ["convert", "a.infq", "out.gguf"],
                      ["convert", "a.infq", "out.wcodec"], ["convert", "a.infq", "-", "--to", "gguf"],
                      ["quantize", "a.infq", "out.gguf", "Q8_0", "--keep-names", "--allow-requantize"],
                      ["diff", "a.infq", "sound.safetensors"], ["diff", "sound.safetensors", "a.infq"],
                      ["report", "a.infq", "-o", "out.html"], ["info", "--stats", "a.infq"],
                      ["info", "--stats", "--filter", "second", "a.infq"]):
        said = run(3, *arguments)
        assert "second" in said and "sha256" in said, said
    run(0, "info", "--stats", "--filter", "first", "a.infq")
    assert not [n for n in os.listdir(".") if n.startswith("out")]
    print("a flipped bit is found before numbers are made of it")


main()
