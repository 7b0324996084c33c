#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What can be seen in the text of the sources alone.

No cast to a wider pointer type (numbers in bytes go through base/bytes.h), a licence line in each
source, no unfinished business left as a comment, no file over 900 lines, file names unique, no
model but those of tests. Texts of the library name options as `type`, which each front end spells.
Files and folders that docs/DEVELOPING.md and the README.md of rooms name exist.
"""
import os
import re

import tree

WIDE = r"u?int(?:16|32|64)_t|(?:unsigned\s+)?(?:short|int|long)|float|double|size_t"
POINTER = r"\(\s*(?:const\s+)?(?:%s)\s*(?:const\s*)?\*\s*\)" % WIDE
# Read through at once, or indexed; a callback's context is what its owner made it.
CAST = re.compile(r"\*\s*%s\s*(?!ctx\b)|\(%s\s*[^()]+\)\[" % (POINTER, POINTER))
UNFINISHED = re.compile(r"\b(?:TODO|FIXME|XXX|HACK)\b(?!-)")
SPELLED = re.compile(r'"[^"]*--[a-z]')
MAX_LINES = 900
SCRIPTS = (".py", ".sh", ".cmake")
# Named alike on purpose: one a folder.
SHARED_NAMES = {"CMakeLists.txt", "README.md", ".gitignore", "init.c", "requirements.txt", "run",
                "__init__.py", "torch.py"}
# Data, named after cases rather than after what is unique.
MODELS = (".gguf", ".wcodec", ".safetensors", ".mcf")
DATA = ("tests/golden/", "tests/fuzz/", "tests/cli/")
# A file or folder between backquotes. Not of the tree: what is built, the user's, and files of models.
NAMED = re.compile(r"`([A-Za-z0-9_./-]+(?:\.(?:c|h|cc|cu|py|md|txt|test|cmake|rs|abi|sha256)|/))`")
ELSEWHERE = re.compile(r"build/|times\.txt|style\.abi")
PATTERN = re.compile(r"NAME|FAMILY")


def named_files(pages, files):
    """(page, name) of the files and folders that pages name, and the same of those that are not there."""
    ends = {f[i:] for f in files for i in range(len(f)) if i == 0 or f[i - 1] == "/"}
    for folder in {os.path.dirname(f) for f in files}:
        while folder:
            ends |= {folder[i:] for i in range(len(folder)) if i == 0 or folder[i - 1] == "/"}
            folder = os.path.dirname(folder)
    for page in pages:
        for name in NAMED.findall(tree.read(page)):
            if not ELSEWHERE.match(name) and not PATTERN.search(name):
                beside = os.path.normpath(os.path.join(os.path.dirname(page), name))
                yield page, name, name.rstrip("/") in ends or beside in ends


def is_source(path):
    if path.endswith(tree.C_SOURCES + SCRIPTS) or os.path.basename(path) == "CMakeLists.txt":
        return True
    return "." not in os.path.basename(path) and tree.read(path).startswith("#!")


findings, checked = [], 0
seen = {}
for path in tree.files():
    name = os.path.basename(path)
    is_data = path.startswith(DATA) and not path.endswith(tree.C_SOURCES)
    if name in seen and name not in SHARED_NAMES and not is_data:
        findings.append(f"{path}: the name is taken by {seen[name]}")
    seen.setdefault(name, path)
    if path.endswith(MODELS) and not path.startswith("tests/"):
        findings.append(f"{path}: a model outside tests/")
    if not is_source(path):
        continue
    checked += 1
    lines = tree.read(path).splitlines()
    if not any("SPDX-License-Identifier: MIT" in line for line in lines[:3]):
        findings.append(f"{path}:1: no licence line")
    if len(lines) > MAX_LINES:
        findings.append(f"{path}: {len(lines)} lines, at most {MAX_LINES} are allowed")
    for number, line in enumerate(lines, 1):
        if UNFINISHED.search(line) and name != os.path.basename(__file__):
            findings.append(f"{path}:{number}: unfinished: {line.strip()}")
        if path.endswith(tree.C_SOURCES) and CAST.search(line):
            findings.append(f"{path}:{number}: a cast to a wider pointer: {line.strip()}")
        if path.startswith("src/") and path.endswith(tree.C_SOURCES) and SPELLED.search(line):
            findings.append(f"{path}:{number}: an option as the command spells it: {line.strip()}")
rooms = ("src/", "cli/", "python/", "cuda/", "bindings/", "tests/")
pages = ["docs/DEVELOPING.md", *(f for f in tree.files() if f.startswith(rooms) and f.endswith("/README.md"))]
for page, name, is_there in named_files(pages, tree.files()):
    checked += 1
    if not is_there:
        findings.append(f"{page}: there is no {name}")
tree.finish(findings, checked)
