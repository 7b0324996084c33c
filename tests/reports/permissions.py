# SPDX-License-Identifier: MIT
"""Permissions of outputs: no more than their source gives, as with gzip and cp. And no empty entry in the
search path of a program, which would be the current directory."""
import os
import stat
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from safetensors_file import safetensors  # noqa: E402


def search_paths(path):
    done = subprocess.run(["readelf", "-d", path], capture_output=True, text=True)
    return [line.split("[")[1].rstrip("]") for line in done.stdout.splitlines() if "PATH)" in line and "[" in line]


def main():
    tare, folder = sys.argv[1:3]
    os.makedirs(folder, exist_ok=True)
    os.chdir(folder)
    os.umask(0o022)
    with open("a.safetensors", "wb") as f:
        f.write(safetensors([("w", "F32", [64, 64], bytes(4 * 64 * 64))], {"k": "v"}))
    for mode in (0o600, 0o640, 0o644, 0o666, 0o400):
        os.chmod("a.safetensors", mode)
        for output, arguments in (
                ("p.wcodec", ["pack", "a.safetensors", "p.wcodec"]),
                ("u.safetensors", ["unpack", "p.wcodec", "u.safetensors"]),
                ("c.gguf", ["convert", "a.safetensors", "c.gguf"]),
                ("c.wcodec", ["convert", "a.safetensors", "c.wcodec"]),
                ("c.mcf", ["convert", "a.safetensors", "c.mcf"]),
                ("hf", ["convert", "a.safetensors", "hf", "--to", "hf"]),
                ("q.gguf", ["quantize", "a.safetensors", "q.gguf", "Q8_0", "--keep-names"]),
                ("e.safetensors", ["edit", "a.safetensors", "--set", "k=w", "-o", "e.safetensors"]),
                ("r.html", ["report", "a.safetensors", "-o", "r.html"]),
                ("x.npy", ["extract", "a.safetensors", "w", "-o", "x.npy"])):
            done = subprocess.run([tare, *arguments, "--force"], capture_output=True, text=True)
            assert done.returncode == 0, (arguments, done.stderr)
            made = stat.S_IMODE(os.stat(output).st_mode)
            expected = mode & 0o644
            if os.path.isdir(output):
                expected = (mode | (mode & 0o444) >> 2) & 0o755 | 0o700
                inside = stat.S_IMODE(os.stat(output + "/model.safetensors").st_mode)
                assert inside == mode & 0o644 | 0o600, (oct(mode), oct(inside))
            assert made == expected, (arguments, oct(mode), oct(made))
    for path in [tare] + [line.split()[2] for line in subprocess.run(
            ["ldd", tare], capture_output=True, text=True).stdout.splitlines() if "libtare" in line]:
        for entries in search_paths(path):
            assert all(entries.split(":")), (path, entries)
    print("outputs have the permissions of their sources")


main()
