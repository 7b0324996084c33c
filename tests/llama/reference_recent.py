#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""llama.cpp's own converter on the models of tiny_recent.py: its files have the digests of recent.sha256. `reference_recent.py
LLAMA_CPP FOLDER [--write] [NAME...]`; LLAMA_CPP is the folder vendor/llama.cpp of the source package of llama-cpp-python 0.3.36
(PyPI), which is only read. By a Python that has the packages of python/hosts-requirements.txt; `--write`: digests are replaced."""
import hashlib
import json
import logging
import os
import shutil
import sys
from pathlib import Path

HERE = os.path.dirname(os.path.abspath(__file__))
DIGESTS = os.path.join(HERE, "recent.sha256")
KINDS = {"f32": "ALL_F32", "f16": "MOSTLY_F16", "bf16": "MOSTLY_BF16", "q8_0": "MOSTLY_Q8_0", "auto": "GUESSED"}


PARTS = {"": {}, "-mtp": dict(mtp_only=True), "-no-mtp": dict(no_mtp=True), "-mmproj": {}}


def convert(model, out, kind, part):
    import gguf
    from conversion import get_model_class
    from conversion.base import ModelBase, ModelType, get_model_architecture
    is_tower = part == "-mmproj"
    name = get_model_architecture(ModelBase.load_hparams(model, False), ModelType.MMPROJ if is_tower else ModelType.TEXT)
    cls = get_model_class(name, mmproj=is_tower)
    if PARTS[part] and not cls.supports_mtp_export:
        raise ValueError(f"{name} does not know {part}")
    for flag, value in PARTS[part].items():
        setattr(cls, flag, value)
    if hasattr(cls, "_vit_hidden_size"):  # RADIO's, which it assumes
        with open(os.path.join(model, "config.json")) as f:
            vision = json.load(f)["vision_config"]
        cls._vit_hidden_size, cls._vit_intermediate_size = vision["hidden_size"], vision["intermediate_size"]
        cls._vit_num_layers, cls._vit_num_heads = vision["num_hidden_layers"], vision["num_attention_heads"]
    target = Path(f"{model}-target")
    converter = cls(model, getattr(gguf.LlamaFileType, KINDS[kind]), out, use_temp_file=False, eager=False,
                    target_model_dir=target if target.exists() else None)
    for each in (converter, getattr(converter, "impl", converter)):
        each.set_vocab = lambda: None
    converter.write()


def main(tree, folder, *names):
    sys.path[:0] = [os.path.join(tree, "gguf-py"), tree]
    logging.disable(logging.WARNING)
    import tiny_drafts
    import tiny_models
    import tiny_recent
    is_writing = "--write" in names
    names = [n for n in names if n != "--write"] or \
        [n for n, (f, _) in tiny_models.MODELS.items() if f.__module__ == tiny_recent.__name__] + \
        [*tiny_recent.PARTS, *tiny_drafts.DRAFTS]
    with open(DIGESTS) as f:
        had = {file: digest for digest, file in (line.split() for line in f)}
    differ = 0
    files = [(n, p) for n in names for p in (tiny_recent.PARTS.get(n) or [""])]
    for name, part in files:
        shutil.rmtree(folder, ignore_errors=True)
        tiny_models.write(os.path.join(folder, name), name)
        if name in tiny_drafts.DRAFTS:
            tiny_drafts.write_target(os.path.join(folder, name + "-target"), name)
        if os.fork() == 0:  # the converter's tables remember the model before
            for kind in KINDS:
                convert(Path(folder, name), Path(folder, f"{name}{part}-{kind}.gguf"), kind, part)
            os._exit(0)
        os.wait()
        for kind in KINDS:
            out = Path(folder, f"{name}{part}-{kind}.gguf")
            digest = hashlib.sha256(out.read_bytes()).hexdigest()
            if out.name in had and had[out.name] != digest:
                differ += 1
                print(f"{out.name}: another digest")
            elif out.name not in had:
                print(f"{out.name}: its digest is not known: {digest}")
            had[out.name] = digest
    shutil.rmtree(folder, ignore_errors=True)
    if is_writing:
        with open(DIGESTS, "w") as f:
            f.writelines(f"{digest}  {file}\n" for file, digest in sorted(had.items()))
    print(f"{len(files) * len(KINDS)} files of the reference, {differ} differ")
    return differ > 0 and not is_writing


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
