#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An operation on a tensor does not depend on how its name is spelled: each tiny model, all its tensors
under other names that the table of names has for them, becomes the same GGUF, or is refused with the rule
whose name it is not. Guards against weights that come out in another order, or without a factor, because a
rule did not match. `spellings.py TARE FOLDER [--short]`; in short, every fourth model"""
import os
import re
import shutil
import subprocess
import sys

try:
    import tiny_models
except ImportError as fault:
    print(f"SKIP: {fault}: run scripts/venv")
    sys.exit(77)
from gguf_parts import Gguf

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../support"))
from safetensors_file import read_safetensors, safetensors  # noqa: E402

TABLE = os.path.join(HERE, "../../src/model/tensor_name_table.c")
# Their rows lie as llama.cpp wants them, unlike those of q_proj.
OTHER_LAYOUT = {"attention.wq", "attention.wk"}


def spellings():
    """What the table calls the tensors of blocks: {llama.cpp's name: [names of Hugging Face]}."""
    with open(TABLE) as f:
        text = f.read()
    text = text[text.index("tare_tensors_in_blocks[]"):]
    rows = re.findall(r'(?:NAMED|ROLE|ROLE_EVEN)\("([^"]+)",(?:\s*[A-Z_]+,)?\s*((?:"[^"]*"\s*)+)\)', text)
    return {name: "".join(re.findall(r'"([^"]*)"', others)).split() for name, others in rows}


def parted(name):
    """'model.layers.3.', 'mlp.up_proj', '.weight'; None: the tensor is of no block, or of an expert."""
    m = re.fullmatch(r"((?:[a-z_]+\.)*?(?:layers|h|blocks|layer|block)\.\d+\.)([\w.]+?)(\.weight|\.bias|)", name)
    return m.groups() if m and not re.search(r"\.\d+\.", m[2] + ".") else None


class Names:
    def __init__(self):
        self.table = spellings()
        self.users = {}
        for row, others in self.table.items():
            for other in others:
                self.users.setdefault(other, []).append(row)

    def another(self, stem, roles):
        """Another name of the one tensor of the file that the table has under this one; None: there is none."""
        rows = [row for row in self.users.get(stem, []) if row in roles]
        if len(rows) != 1 or stem + ".weight" in self.users:
            return None
        for other in reversed(self.table[rows[0]]):
            if other != stem and self.users[other] == rows and not other.endswith((".weight", ".bias")) and \
                    other not in OTHER_LAYOUT and "experts." not in other:
                return other
        return None


def convert(tare, model, out):
    return subprocess.run([tare, "convert", model, out, "--quiet", "--no-sync", "--no-tokenizer", "--force"],
                          capture_output=True, text=True)


def check(tare, folder, name, names):
    """What is wrong, and how many tensors had another name."""
    model, out, other = (os.path.join(folder, x) for x in (name, "a.gguf", "b.gguf"))
    tiny_models.write(model, name)
    with open(os.path.join(model, "config.json")) as f:
        is_packed = "quantization_config" in f.read()  # companions would need the other names, too
    if is_packed or convert(tare, model, out).returncode:
        return None, 0  # a tower alone, or what needs a tokenizer
    roles = {re.sub(r"^((?:dec|enc)\.)?blk\.\d+\.", r"\1", t[0]).rsplit(".", 1)[0] for t in Gguf(out).tensors}
    roles |= {"ffn_pre_norm"} if "ffn_norm" in roles else set()  # which is written as that
    path = os.path.join(model, "model.safetensors")
    metadata, tensors = read_safetensors(path)
    renamed, n = [], 0
    for tensor, parts in tensors.items():
        part = parted(tensor)
        stem = part and names.another(part[1], roles)
        n += bool(stem)
        renamed.append((part[0] + stem + part[2] if stem else tensor, *parts))
    with open(path, "wb") as f:
        f.write(safetensors(renamed, metadata))
    run = convert(tare, model, other)
    if run.returncode in (3, 5) and "tensor" in run.stderr:
        return None, n
    run = subprocess.run([tare, "diff", out, other], capture_output=True, text=True)
    return None if run.returncode == 0 else "other numbers: " + (run.stdout + run.stderr).strip(), n


def main():
    tare, folder, *short = sys.argv[1:]
    shutil.rmtree(folder, ignore_errors=True)
    names, found, n_models, n_tensors = Names(), [], 0, 0
    models = sorted(tiny_models.MODELS)[::4 if short else 1]
    for name in models:
        wrong, n = check(tare, folder, name, names)
        n_models += n > 0
        n_tensors += n
        if wrong:
            found.append(f"{name}: {wrong}")
        shutil.rmtree(os.path.join(folder, name), ignore_errors=True)
    shutil.rmtree(folder)
    print("\n".join(found + [f"{n_tensors} tensors of {n_models} models, {len(found)} models differ"]))
    return bool(found) or n_models < (25 if short else 100)


if __name__ == "__main__":
    sys.exit(main())
