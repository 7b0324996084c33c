#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check-headers.py [CC [CXX]]: each public header compiles alone, as C11 and as C++17, and so do its
_INIT macros; every struct that begins with its size has such a macro, and a function beside it."""
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


def uses_of_macros(text):
    """Code that uses every _INIT macro of a header: TARE_NAME_INIT sets up a tare_name."""
    lines = []
    for macro in re.findall(r"^#define (TARE_\w+)_INIT\b", text, re.M):
        name = macro.lower()
        lines.append(f"{name} use_{name}(void);\n{name} use_{name}(void) {{ {name} x = {macro}_INIT; return x; }}")
    return "\n".join(lines) + "\n"


def lacks_init(text):
    """Structs with a size that cannot be set up."""
    for name in re.findall(r"^typedef struct (\w+) {\n    size_t size;", text, re.M):
        if f"#define {name.upper()}_INIT" not in text:
            yield f"{name} has no macro {name.upper()}_INIT"
        if f"void {name}_init({name} *" not in text:
            yield f"{name} has no function {name}_init"


findings, checked = [], 0
for header in tree.files(".h"):
    if not header.startswith("include/"):
        continue
    content = open(os.path.join(tree.ROOT, header)).read()
    findings += [f"{header}: {what}" for what in lacks_init(content)]
    text = f"#include <{os.path.relpath(header, 'include')}>\n" + uses_of_macros(content)
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
