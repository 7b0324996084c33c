#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tare info says that llama.cpp runs a file only if its loader takes every key, token and tensor: each key in turn has
another type or length or is left out, tokens repeat, tensors are more than the architecture has. `loads.py TARE
FOLDER` does it to a few models, and what is known to be refused is; needs.py asks llama.cpp about every tiny model."""
import os
import re
import shutil
import struct
import sys

try:
    from file_verdict import made, verdict
except ImportError as fault:
    print(f"SKIP: {fault}: run scripts/venv")
    sys.exit(77)
from gguf_parts import ARRAY, SIZES, TEXT, Gguf

U8, U16, U32, I32, F32, BOOL, U64, I64, F64 = 0, 2, 4, 5, 6, 7, 10, 11, 12
WIDER = {U16: U32, U32: U64, I32: I64, F32: F64, U64: U32, BOOL: U8}
FORMS = {U8: "B", U16: "H", U32: "I", I32: "i", F32: "f", BOOL: "B", U64: "Q", I64: "q", F64: "d"}
USUAL = ["llama", "qwen3moe", "mamba2", "bert", "gemma2", "glm4moe"]
# Keys that a model has for people, or for programs other than llama.cpp's loader.
FREE = re.compile(r"general\.(?!architecture$)|tokenizer\.(chat_template|ggml\.pre$)|.*\.vocab_size$")


# What llama.cpp does not read in a tiny model: EXAONE 4's list, of 64 blocks alone, and an interval beside a list.
UNREAD = {"exaone4.attention.sliding_window_pattern has elements of another type", "qwen4exp.full_attention_interval has another type",
          "qwen4exp.full_attention_interval is a list of one"}


# ---- values as they are stored ----------------------------------------------------------------------

def text(s):
    return struct.pack("<Q", len(s)) + s


def parts_of(blob):
    """The type of the elements of a stored array, and the elements, as they are stored."""
    kind, n = struct.unpack_from("<IQ", blob)
    at, items = 12, []
    for _ in range(n):
        size = 8 + struct.unpack_from("<Q", blob, at)[0] if kind == TEXT else SIZES[kind]
        items.append(blob[at:at + size])
        at += size
    return kind, items


def array(kind, items):
    return ARRAY, struct.pack("<IQ", kind, len(items)) + b"".join(items)


def recast(kind, other, blob):
    return struct.pack("<" + FORMS[other], struct.unpack("<" + FORMS[kind], blob)[0])


def other_values(kind, blob):
    """(what is other, type, bytes) of a value."""
    if kind in WIDER:
        yield "has another type", WIDER[kind], recast(kind, WIDER[kind], blob)
        yield "is a list of one", *array(kind, [blob])
    elif kind == TEXT:
        yield "is a list of one", *array(TEXT, [blob])
    elif kind == ARRAY:
        of, items = parts_of(blob)
        yield "has an element less", *array(of, items[:-1])
        yield "has an element more", *array(of, items + items[-1:])
        if of in WIDER:
            yield "has elements of another type", *array(WIDER[of], [recast(of, WIDER[of], x) for x in items])
        if of == TEXT:
            yield "has elements of another type", *array(U32, [bytes(4)] * len(items))
            yield "has one twice", *array(TEXT, [items[1], *items[1:]])


def other_keys(keys):
    """(what is other, keys) of a file's keys."""
    for i, (name, kind, blob) in enumerate(keys):
        yield f"{name} is missing", keys[:i] + keys[i + 1:]
        for what, *value in other_values(kind, blob):
            yield f"{name} {what}", keys[:i] + [(name, *value)] + keys[i + 1:]


def other_tensors(tensors, blocks):
    """(what is other, tensors) of a file's tensors."""
    vector = next((t for t in tensors if len(t[1]) == 1), ("none", [32], 0, bytes(128)))  # OLMo has none
    seen = set()
    yield "a tensor more", tensors + [("further.weight", *vector[1:])]
    yield "a block more", tensors + [(f"blk.{blocks}.attn_norm.weight", *vector[1:])]
    for i, (name, dims, kind, blob) in enumerate(tensors):
        stem = re.sub(r"blk\.\d+\.", "blk.#.", name)
        if stem in seen:
            continue
        seen.add(stem)
        if name.endswith(".weight"):
            bare = name[:-len(".weight")]
            yield f"{bare} for {name}", tensors[:i] + [(bare, dims, kind, blob)] + tensors[i + 1:]
            if bare + ".bias" not in [t[0] for t in tensors]:
                yield f"{bare}.bias more", tensors + [(bare + ".bias", dims[-1:], 0, bytes(4 * dims[-1]))]
    for word in ("attn_qkv", "attn_q_norm", "ffn_gate_inp", "ffn_up_shexp", "ssm_a", "rope_freqs", "exp_probs_b"):
        if not any(f".{word}." in t[0] for t in tensors):
            yield f"{word} more", tensors + [(f"blk.0.{word}.weight", *vector[1:])]


# ---- what is said of them ----------------------------------------------------------------------------

def changed_files(gguf, path):
    """(what is other) of files, each of which lies at `path` meanwhile."""
    blocks = next(struct.unpack("<I", v)[0] for k, _, v in gguf.key_list if k.endswith(".block_count"))
    for what, keys in other_keys(gguf.key_list):
        gguf.write(path, gguf.tensors, keys)
        yield what
    for what, tensors in other_tensors(gguf.tensors, blocks):
        gguf.write(path, tensors)
        yield what


def is_known_to_fail(what):
    """Whether no version of llama.cpp takes it."""
    name, _, rest = what.partition(" ")
    if FREE.match(name) or name.startswith("blk.") or rest in ("more", "is missing"):
        return False
    return rest == "has another type" or what in ("a tensor more", "a block more", "tokenizer.ggml.tokens has one twice")


def compare(tare, name, path, other, refuses):
    """What tare says otherwise of the changed files."""
    n = 0
    for what in changed_files(Gguf(path), other):
        n += 1
        if what in UNREAD:
            continue
        said, is_refused = verdict(tare, other), refuses(what, other)
        if is_refused is not None and bool(said) != is_refused:
            yield f"{name}: {what}: " + (f"llama.cpp runs it, but tare says: {said}" if said else "it is refused")
    yield n


def main():
    tare, folder = sys.argv[1:]
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    found, n = [], 0
    for name in USUAL:
        path = made(tare, folder, name)
        *faults, k = compare(tare, name, path, os.path.join(folder, "changed.gguf"), lambda what, file: is_known_to_fail(what) or None)
        found, n = found + faults, n + k
        os.remove(path)
    shutil.rmtree(folder)
    print("\n".join(found + [f"{n} files, {len(found)} of which tare says something else"]))
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
