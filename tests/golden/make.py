#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the malformed corpus: make.py FOLDER.

Each case is a file (or a folder of files) and NAME.expect, whose form stands in casebook.py;
FOLDER/cases.txt lists the names. Nothing is drawn by chance: the same bytes every time.
"""
import argparse
import os
import shutil
import sys

import casebook
import gguf_cases
import gguf_odd_cases
import safetensors_cases
import dcp_cases
import flax_cases
import directory_cases
import not_a_model_cases
import importance_cases
import infq_cases
import mcf_cases
import meta_cases
import kinds_cases
import numpy_cases
import onnx_cases
import tflite_cases
import torch_cases
import wcodec_cases
import whisper_cases


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    folder = parser.parse_args().folder
    shutil.rmtree(folder, ignore_errors=True)  # a case of a name may have fewer files now
    os.makedirs(folder)
    names = [case.name for case in casebook.CASES]
    twice = sorted(name for name in set(names) if names.count(name) > 1)
    if twice:
        sys.exit("cases with one name: " + ", ".join(twice))
    for case in casebook.CASES:
        case.write(folder)
    with open(os.path.join(folder, "cases.txt"), "w", encoding="utf-8") as f:
        f.write("".join(name + "\n" for name in names))


if __name__ == "__main__":
    main()
