# SPDX-License-Identifier: MIT
"""Journals of `tare edit` that did not come from an edit here: they lie hidden beside a model from a
stranger, have a right SHA-256 and all that a copied journal has, and name other files of the folder."""
import hashlib
import os
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from safetensors_file import safetensors  # noqa: E402


def op(name, temporary=b"", marked=0, inode=0, temporary_inode=0, head=b"", size=0, runs=()):
    out = struct.pack("<4I2Q", len(name), len(temporary), marked, 0, inode, temporary_inode)
    out += name + temporary + head.ljust(16, b"\0") * 2 + struct.pack("<3Q", size, size, len(runs))
    return out + b"".join(struct.pack("<2Q", at, len(text)) + text for at, text in runs)


def journal(directory, own, born, ops, version=2):
    out = b"TAREJRNL" + struct.pack("<2I8s", version, len(ops), b"planted!")
    if version == 2:
        out += struct.pack("<3Q", directory, own, born)
    else: # as the first version had them
        ops = [o[:16] + o[32:] for o in ops]
    out += b"".join(ops)
    return out + hashlib.sha256(out).digest()


def main():
    tare, folder = sys.argv[1:3]
    folder = os.path.join(folder, "planted")
    subprocess.run(["rm", "-rf", folder], check=True)
    os.makedirs(folder)
    os.chdir(folder)
    files = {"run.sh": b"echo mine\n", "notes.txt": b"notes\n", "thesis.txt": b"thesis\n"}
    model = safetensors([("w", "F32", [4], bytes(16))], {"k": "old"})
    name = ".model.safetensors.tare-edit"

    def inode(path):
        return os.stat(path).st_ino

    def make(write):
        for path, content in {**files, "model.safetensors": model}.items():
            with open(path, "wb") as f:
                f.write(content)
        open(name, "wb").close() # so that it has a number
        content = write()
        with open(name, "r+b") as f:
            f.write(content)

    def here():
        return {n: open(n, "rb").read() for n in os.listdir(".")}

    overwrite = [(0, b"rm -rf /; ")]

    def patch(**more):
        return op(b"run.sh", size=len(files["run.sh"]), runs=overwrite, **more)

    def rename(**more):
        return op(b"notes.txt", b"thesis.txt", **more)

    plants = {
        "the first version": lambda: journal(0, 0, 0, [op(b"model.safetensors", size=len(model)), patch()], 1),
        "a rename of the first version": lambda: journal(0, 0, 0, [rename(), op(b"model.safetensors", size=9)], 1),
        "no numbers": lambda: journal(0, 0, 0, [op(b"model.safetensors", size=len(model)), patch()]),
        "numbers of another machine": lambda: journal(1, 2, 3, [
            op(b"model.safetensors", size=len(model), inode=4), patch(inode=5)]),
        "all numbers but its birth": lambda: journal(inode("."), inode(name), 1, [
            op(b"model.safetensors", size=len(model), inode=inode("model.safetensors")),
            patch(inode=inode("run.sh"))]),
        "a rename with all numbers but its birth": lambda: journal(inode("."), inode(name), 1, [
            op(b"model.safetensors", size=len(model), inode=inode("model.safetensors")),
            rename(inode=inode("notes.txt"), temporary_inode=inode("thesis.txt"))]),
    }
    for what, write in plants.items():
        for arguments, codes in (
                (["edit", "model.safetensors", "--set", "k=new", "--dry-run"], (0,)),
                (["info", "model.safetensors"], (0,)),
                (["verify", "--deep", "model.safetensors"], (0,)),
                (["convert", "model.safetensors", "../out.gguf", "--force"], (0,)),
                (["edit", "model.safetensors", "--set", "k=new", "-o", "../out.safetensors", "--force"], (0,)),
                (["edit", "model.safetensors", "--set", "k=new"], (5,)),
                (["edit", "model.safetensors", "--recover"], (5,)),
                (["edit", ".", "--recover"], (5,))):
            make(write)
            before = here()
            done = subprocess.run([tare, *arguments], capture_output=True, text=True)
            assert done.returncode in codes, (what, arguments, done.returncode, done.stderr)
            assert here() == before, (what, arguments)
            assert done.returncode == 0 or name in done.stderr, done.stderr
    print("%d planted journals change nothing" % len(plants))


main()
