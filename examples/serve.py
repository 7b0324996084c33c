#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""serve.py MODEL.wcodec FOLDER [OPTIONS]: serves a packed Hugging Face model with vLLM.

FOLDER gets what vLLM reads before the weights, config.json and the tokenizer, which lie in MODEL,
and a link to MODEL. OPTIONS are those of `vllm serve`. Needs vLLM, and a GPU.
"""
import os
import shutil
import sys

import tare


def prepare(path: str, folder: str) -> None:
    os.makedirs(folder, exist_ok=True)
    with tare.open(path) as model:
        if "config.json" not in model.resources:
            sys.exit(f"{path} has no config.json: pack a Hugging Face directory")
        for name, resource in model.resources.items():
            if os.path.basename(name) == name:
                with open(os.path.join(folder, name), "wb") as f:
                    f.write(resource.read())
    link = os.path.join(folder, "model.wcodec")
    if os.path.islink(link):  # to the model that was served last
        os.remove(link)
    os.symlink(os.path.abspath(path), link)


def main() -> None:
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    path, folder, *options = sys.argv[1:]
    if not shutil.which("vllm"):
        sys.exit("there is no program vllm: pip install vllm")
    prepare(path, folder)
    os.execvp("vllm", ["vllm", "serve", folder, "--load-format", "tare", *options])


main()
