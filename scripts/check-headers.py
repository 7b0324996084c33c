#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check-headers.py [CC [CXX]]: each public header compiles alone, as C11 and as C++17."""
import os
import shutil
import subprocess
import sys

import tree

STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "-Iinclude"]
cc = sys.argv[1] if len(sys.argv) > 1 else "cc"
cxx = sys.argv[2] if len(sys.argv) > 2 else "c++"
languages = [[cc, "-xc", "-std=c11", "-Wstrict-prototypes"], [cxx, "-xc++", "-std=c++17"]]

findings, checked = [], 0
for header in tree.files(".h"):
    if not header.startswith("include/"):
        continue
    text = f"#include <{os.path.relpath(header, 'include')}>\n"
    for language in languages:
        if not shutil.which(language[0]):
            findings.append(f"{language[0]}: no such compiler")
            continue
        checked += 1
        run = subprocess.run([*language, *STRICT, "-"], input=text, cwd=tree.ROOT, text=True,
                             capture_output=True)
        if run.returncode:
            findings.append(f"{header} as {language[2]}:\n{run.stderr}")
tree.finish(findings, checked)
