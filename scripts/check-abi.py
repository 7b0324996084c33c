#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check-abi.py [--update] [CC]: what a compiled program knows of the headers that docs/API.md promises
(functions, layouts of structs, numbers of enums) is what tests/style/promised.abi describes. A change
that is meant is entered with --update, and its author sees there what it means for programs.

The headers alone are described, through a library that has a variable for each of their functions and
types: how libtare is built does not matter then.
"""
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile

import tree

PROMISED = "tests/style/promised.abi"
FUNCTION = re.compile(r"^TARE_API [^;(]*?\b(tare_\w+)\(", re.M)
TYPE = re.compile(r"^typedef (?:(?:struct|enum) (\w+) {|[^;{]*?\(\*(\w+)\)\()", re.M)
SET_UP = re.compile(r"^TARE_DECLARE_INIT\((\w+)\)", re.M)
TOOLS = ["abidw", "abidiff"]


def source_of(headers):
    """A variable for each function and each type that the headers declare."""
    lines = [f"#include <{os.path.relpath(header, 'include')}>" for header in headers]
    for text in map(tree.read, headers):
        text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
        lines += [f"__typeof__(&{name}) call_{name};" for name in FUNCTION.findall(text)]
        lines += [f"__typeof__(&{name}_init) call_{name}_init;" for name in SET_UP.findall(text)]
        lines += [f"{a or b} type_{a or b};" for a, b in TYPE.findall(text)]
    return "\n".join(lines) + "\n", len(lines) - len(headers)


def describe(cc, source, folder):
    library, out = os.path.join(folder, "promised.so"), os.path.join(folder, "promised.abi")
    subprocess.run([cc, "-xc", "-std=c11", "-g", "-O0", "-fPIC", "-shared", "-Iinclude", "-o", library, "-"],
                   input=source, text=True, cwd=tree.ROOT, check=True)
    subprocess.run(["abidw", "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", "--no-elf-needed",
                    "--type-id-style", "hash", "--out-file", out, library], check=True)
    return out


update = "--update" in sys.argv
compilers = [a for a in sys.argv[1:] if a != "--update"] or ["cc"]
missing = [tool for tool in TOOLS if not shutil.which(tool)]
if missing or platform.machine() != "x86_64":
    print(f"SKIP: no {', '.join(missing)} (abigail-tools)" if missing else f"SKIP: {PROMISED} is of x86-64")
    sys.exit(77)
promised = [h for h in tree.files(".h") if os.path.dirname(h) == "include/tare" and h != "include/tare/tare.h"]
source, checked = source_of(promised)
findings = []
with tempfile.TemporaryDirectory() as folder:
    found = describe(compilers[0], source, folder)
    committed = os.path.join(tree.ROOT, PROMISED)
    if update:
        shutil.copyfile(found, committed)
    diff = subprocess.run(["abidiff", "--no-show-locs", "--no-default-suppression", committed, found],
                          capture_output=True, text=True)
    if diff.returncode:
        findings.append(f"{diff.stdout}{diff.stderr}\nIf this is meant: scripts/check-abi.py --update")
tree.finish(findings, checked)
