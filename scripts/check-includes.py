#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The law of the floors: a file includes from its own floor and from lower ones only.

Each folder names the folders whose headers it may include; "tare" is the public headers. A folder
without a row belongs to the one it lies in; a folder with one is a place of its own, which others
see only where they say so. What is not in the table may include nothing of ours. Each folder of src
opens with a README.md of a few lines: what lives there, and what it may include. Kernels over lanes
(simd/) know no instruction set: they neither include nor use intrinsics. Headers of a
system are for files whose names end in _posix.c, and in _windows.c.
"""
import os
import re

import tree

BELOW_FORMAT = {"tare", "base", "encoding", "model"}
BELOW_OPS = BELOW_FORMAT | {"format", "ops"}
ALLOWED = {
    "include/tare": {"tare"},
    "src/base": {"tare", "base"},
    "src/base/x86": {"tare", "base"},
    "src/encoding": {"tare", "base", "encoding", "encoding/simd", "encoding/x86"},
    "src/encoding/simd": {"tare", "base", "encoding", "encoding/simd"},
    "src/encoding/x86": {"tare", "base", "encoding", "encoding/simd", "encoding/x86"},
    "src/wcodec": {"tare", "base", "encoding", "wcodec", "wcodec/simd", "wcodec/x86"},
    "src/wcodec/simd": {"tare", "base", "wcodec", "wcodec/simd"},
    "src/wcodec/x86": {"tare", "base", "wcodec", "wcodec/simd", "wcodec/x86"},
    "src/wcodec/layer": {"tare", "base", "encoding", "wcodec", "wcodec/layer"},
    "src/model": {"tare", "base", "encoding", "model"},
    # Above the catalog; what maps, converts and opens models sees weights through it.
    "src/quantized": BELOW_FORMAT | {"quantized"},
    # What mlx-lm makes of a model, and the way back.
    "src/mlx": BELOW_FORMAT | {"mlx", "quantized"},
    "src/remote": {"tare", "base", "remote"},
    # What loads libtare_cuda, of which it sees the header.
    "src/device": {"tare", "base", "device", "cuda/include/tare"},
    # What drivers share knows none of them but by the names in format.h; a driver knows itself,
    # and where it says so another that its files are made of.
    "src/format": BELOW_FORMAT | {"format", "remote", "wcodec/layer"},
    "src/format/gguf": BELOW_FORMAT | {"format", "format/gguf"},
    "src/format/safetensors": BELOW_FORMAT | {"format", "format/safetensors"},
    "src/format/hf": BELOW_FORMAT | {"format", "format/flax", "format/hf", "format/safetensors", "format/torch"},
    "src/format/mcf": BELOW_FORMAT | {"format", "format/mcf"},
    "src/format/infq": BELOW_FORMAT | {"format", "format/infq", "format/safetensors"},
    "src/format/dcp": BELOW_FORMAT | {"format", "format/dcp", "format/hf", "format/safetensors", "format/torch"},
    "src/format/flax": BELOW_FORMAT | {"format", "format/flax"},
    "src/format/meta": BELOW_FORMAT | {"format", "format/hf", "format/meta", "format/torch"},
    "src/format/numpy": BELOW_FORMAT | {"format", "format/numpy"},
    "src/format/onnx": BELOW_FORMAT | {"format", "format/onnx"},
    "src/format/tflite": BELOW_FORMAT | {"format", "format/tflite"},
    "src/format/torch": BELOW_FORMAT | {"format", "format/torch"},
    "src/format/whisper": BELOW_FORMAT | {"format", "format/gguf", "format/whisper"},
    "src/format/wcodec": BELOW_FORMAT | {"device", "format", "format/wcodec", "wcodec", "wcodec/layer"},
    # A library of its own (TARE_LLAMA): models are all that it sees, and it knows no format.
    "src/llama": {"tare", "base", "encoding", "model", "quantized", "mlx", "llama", "llama/arch", "llama/tokenizer", "llama/whisper"},
    "src/llama/arch": {"tare", "base", "llama", "llama/arch", "llama/tokenizer"},
    "src/llama/restore": {"tare", "base", "model", "llama", "llama/restore", "llama/tokenizer"},
    "src/llama/whisper": {"tare", "base", "model", "llama/tokenizer", "llama/whisper"},
    "src/llama/tokenizer": {"tare", "base", "model", "llama", "llama/tokenizer"},
    # Verbs know no driver: what they need of one is in format.h and packed.h. What several verbs
    # need is in ops itself, or in a room below theirs.
    "src/ops": BELOW_OPS,
    "src/ops/options": BELOW_OPS | {"ops/options"},
    "src/ops/read": BELOW_OPS | {"ops/read"},
    "src/ops/synth": BELOW_OPS | {"ops/synth"},
    "src/ops/mix": BELOW_OPS | {"ops/mix"},
    "src/ops/adapters": BELOW_OPS | {"ops/adapters"},
    "src/ops/output": BELOW_OPS | {"ops/output", "remote"},
    "src/ops/packing": BELOW_OPS | {"quantized", "ops/output", "ops/packing"},
    "src/ops/inspect": BELOW_OPS | {"ops/inspect", "ops/mix", "ops/output", "ops/packing"},
    "src/ops/convert": BELOW_OPS | {"mlx", "quantized", "ops/adapters", "ops/convert", "ops/mix", "ops/output", "ops/packing"},
    "src/ops/schemes": BELOW_OPS | {"mlx", "quantized", "ops/convert", "ops/mix", "ops/schemes"},
    "src/ops/edit": BELOW_OPS | {"ops/convert", "ops/edit", "quantized"},
    "src/ops/fit": BELOW_OPS | {"mlx", "quantized", "ops/convert", "ops/fit", "ops/mix", "ops/schemes"},
    "src/ops/derive": BELOW_OPS | {"ops/convert", "ops/derive", "ops/mix"},
    "src/ops/ladder": BELOW_OPS | {"ops/convert", "ops/derive", "ops/ladder", "ops/mix", "ops/output", "ops/packing"},
    "src/ops/parts": BELOW_OPS | {"ops/convert", "ops/mix", "ops/output", "ops/packing", "ops/parts", "ops/views"},
    "src/ops/views": BELOW_OPS | {"ops/convert", "ops/mix", "ops/packing", "ops/views"},
    "src/ops/lossy": BELOW_OPS | {"ops/fit", "ops/lossy", "ops/mix", "ops/output", "ops/packing", "wcodec", "wcodec/layer"},
    # The benchmark of the codec measures layers in memory.
    "src/ops/bench": BELOW_OPS | {"ops/bench", "ops/packing", "wcodec/layer"},
    "src/ops/device": BELOW_OPS | {"device", "cuda/include/tare", "ops/device"},
    # A library of its own, beside libtare: it sees the public headers and itself.
    "cuda": {"tare", "cuda", "cuda/include/tare"},
    "cuda/include/tare": {"tare"},
    "cli": {"tare", "cli"},
    # The extension of the Python package.
    "python/src": {"tare", "python/src"},
    # Tests and benchmarks of what is not public see a floor with all its folders.
    "bench": {"tare", "base", "bench", "tests/judge", "wcodec", "format", "model"},
    "tests/support": {"tare", "base", "model", "tests/support"},
    "tests/unit": BELOW_FORMAT | {"quantized", "remote", "wcodec", "format", "llama", "ops", "tests/support", "tests/unit", "tests/wcodec"},
    "tests/kernel": {"tare", "base", "encoding", "wcodec", "tests/support", "tests/kernel"},
    "tests/fuzz": {"tare", "base", "remote", "wcodec", "model", "format", "llama", "mlx", "ops", "tests/support", "tests/fuzz", "tests/cuda"},
    "tests/cuda": {"tare", "base", "wcodec", "format", "cuda", "tests/support", "tests/unit", "tests/cuda"},
    "tests/wcodec": {"tare", "base", "wcodec", "format", "tests/wcodec"},
    "tests/golden": {"tare", "tests/support", "tests/golden"},
    "tests/judge": {"tare", "tests/judge"},
    "tests/cli": {"tare", "cli", "tests/cli"},
    "tests/consumer": {"tare"},
}
# Of the systems' headers: those of POSIX, in files whose names end in _posix.c, and of Windows.
POSIX = {"dirent.h", "dlfcn.h", "fcntl.h", "fnmatch.h", "regex.h", "strings.h", "unistd.h"}
WINDOWS = {"io.h", "windows.h", "winioctl.h", "bcrypt.h", "shellapi.h"}
# Of POSIX, too, though ISO C's headers may declare them.
OF_POSIX = re.compile(r"\b(?:realpath|NAME_MAX|PATH_MAX)\b(?! of )")
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.M)
INTRINSIC = re.compile(r"\b(?:_mm\d*_\w+|_MM_\w+|__m(?:128|256|512)\w*|__mmask\d+|\w*mmintrin\.h)\b")
SEES = re.compile(r"^Sees: (.*)\.$", re.M)
README_LINES = range(5, 13)


def place(path):
    """The row of the table a file belongs to: its folder, or the nearest above that has one."""
    folder = os.path.dirname(path)
    while folder and folder not in ALLOWED:
        folder = os.path.dirname(folder)
    return folder


def target(path, name):
    """The table's word for the folder an include of ours comes from; None for a system header."""
    if os.path.isfile(os.path.join(tree.ROOT, "include", name)):
        return "tare"
    for start in ("src", os.path.dirname(path), "", "tests"):
        full = os.path.normpath(os.path.join(tree.ROOT, start, name))
        if os.path.isfile(full) and full.startswith(tree.ROOT + os.sep):
            folder = place(os.path.relpath(full, tree.ROOT))
            return re.sub("^src/|^include/", "", folder)
    return None


def check_readme(folder):
    """What a folder's README.md says it may include is what its row of the table says."""
    path = f"{folder}/README.md"
    if not os.path.isfile(os.path.join(tree.ROOT, path)):
        return [f"{folder}: no README.md says what lives there and what it may include"]
    text = tree.read(path)
    n_lines = len(text.splitlines())
    wrong = [] if n_lines in README_LINES else [f"{path}: {n_lines} lines: 5 to 12 are asked for"]
    said, row = SEES.search(text), ALLOWED[place(path)]
    if not said or set(said.group(1).split(", ")) != row:
        wrong.append(f"{path}: its last line must be: Sees: {', '.join(sorted(row))}.")
    return wrong


def may_see(folder, to):
    """In src a folder does not stand for those in it; elsewhere it does."""
    allowed = ALLOWED.get(folder, ())
    return to in allowed or (not folder.startswith("src/") and to.split("/")[0] in allowed)


findings, checked = [], 0
PRODUCT = {place for place in ALLOWED if place.split("/")[0] in ("src", "cli", "python", "cuda", "include")}
for path in tree.files(tree.C_SOURCES):
    checked += 1
    folder = place(path)
    if os.path.dirname(path).endswith("/simd"):
        findings += [f"{path}: {name} belongs to a folder of one instruction set"
                     for name in sorted(set(INTRINSIC.findall(tree.read(path))))]
    if folder in PRODUCT and not path.endswith(("_posix.c", "_windows.c")):
        findings += [f"{path}: {name} is for a file named *_posix.c" for name in sorted(set(OF_POSIX.findall(tree.read(path))))]
    for match in INCLUDE.finditer(tree.read(path)):
        quote, name = match.groups()
        where = f"{path}: #include {quote}{name}"
        to = target(path, name)
        if to is None and folder in PRODUCT:
            is_posix = name in POSIX or name.startswith("sys/")
            if name in WINDOWS and not path.endswith("_windows.c"):
                findings.append(f"{where}: that is for a file named *_windows.c")
            if is_posix and not path.endswith(("_posix.c", "_windows.c")):
                findings.append(f"{where}: that is for a file named *_posix.c")
        if to is None:
            if quote == '"':
                findings.append(f"{where}: no such file")
        elif not may_see(folder, to):
            findings.append(f"{where}: {folder or 'this folder'} must not see {to}")
        elif to == "tare" and quote == '"' and folder != "include/tare":
            findings.append(f"{where}: public headers are included as <tare/...>")
folders = {os.path.dirname(path) for path in tree.files(tree.C_SOURCES) if path.startswith("src/")}
for folder in sorted(folders):
    checked += 1
    findings += check_readme(folder)
tree.finish(findings, checked)
