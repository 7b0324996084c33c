#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check-headers.py [CC [CXX]]: each public header compiles alone, as C11 and as C++17, and so does
what sets up its structs; every struct that begins with its size has that."""
import os
import re
import shutil
import subprocess
import sys

import tree

STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-pedantic-errors", "-Werror", "-fsyntax-only", "-Iinclude"]
cc = sys.argv[1] if len(sys.argv) > 1 else "cc"
cxx = sys.argv[2] if len(sys.argv) > 2 else "c++"
languages = [[cc, "-xc", "-std=c11", "-Wstrict-prototypes"], [cxx, "-xc++", "-std=c++17"]]


def uses_of_defaults(text):
    """Code that sets up every struct that a header declares so."""
    return "".join(f"{name} use_{name}(void);\n{name} use_{name}(void) {{ return {name}_default(); }}\n"
                   for name in re.findall(r"^TARE_DECLARE_INIT\((\w+)\)", text, re.M))


def lacks_init(text):
    """Structs with a size that cannot be set up."""
    for name in re.findall(r"^typedef struct (\w+) {\n    size_t size;", text, re.M):
        if f"TARE_DECLARE_INIT({name})" not in text:
            yield f"{name}: no TARE_DECLARE_INIT after it"


findings, checked = [], 0
for header in tree.files(".h"):
    if not header.startswith("include/"):
        continue
    content = open(os.path.join(tree.ROOT, header)).read()
    findings += [f"{header}: {what}" for what in lacks_init(content)]
    text = f"#include <{os.path.relpath(header, 'include')}>\n" + uses_of_defaults(content)
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
