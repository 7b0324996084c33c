#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check-headers.py [CC [CXX]]: each public header compiles alone, as C11 and as C++17, and so does
what sets up its structs. Of what docs/API.md promises, this much is checked: every struct that begins
with its size can be set up; a function has what it fills first and its error last; every declaration
has a comment, its own or that of its paragraph; what may not change does not include what may."""
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


HANDLE = re.compile(r"^typedef struct (\w+) \1;", re.M)
FUNCTION = re.compile(r"^TARE_API ([^;(]*?)\b(tare_\w+)\(([^;]*)\);", re.M)
# Inputs though they are pointers to what may be written: a thing that is freed, and state.
NOT_FILLED = re.compile(r"\*(ctx|memory)$")


def is_filled(parameter, handles):
    """Whether the caller's memory is written there; a handle is what a function works on."""
    if "*" not in parameter or NOT_FILLED.search(parameter):
        return False
    pointed = parameter[:parameter.rindex("*")].strip()
    if pointed.endswith("const"):
        return False
    if "*" in pointed:  # where a handle or a text goes
        return not pointed.endswith("*const")
    return not pointed.startswith("const ") and pointed.split()[-1] not in handles


def breaks_order(text, handles):
    """Functions whose parameters are not: what is filled, inputs, options, error."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    for _, name, parameters in FUNCTION.findall(text):
        parameters = [" ".join(p.split()) for p in parameters.split(",")]
        errors = [i for i, p in enumerate(parameters) if p.startswith("tare_error *")]
        if errors and errors != [len(parameters) - 1] and errors != [0]:
            yield f"{name}: its error is not the last parameter"
        filled = [is_filled(p, handles) for p in parameters if not p.startswith("tare_error *")]
        if any(late and not all(filled[:i]) for i, late in enumerate(filled)):
            yield f"{name}: fills something behind its inputs"


# Filled for the caller without a size: they never get another member.
FINAL = {"tare_array_walk", "tare_digest", "tare_error", "tare_nonfinite_counts", "tare_plane", "tare_rows_mut",
         "tare_str", "tare_value"}


def may_not_grow(header, text, structs):
    """Structs that a promised function fills, and that tell neither their size nor that they are final."""
    if os.path.dirname(header) != "include/tare":
        return
    for _, name, parameters in FUNCTION.findall(re.sub(r"/\*.*?\*/", "", text, flags=re.S)):
        for filled in re.findall(r"(?:^|, )(tare_\w+) \*\w+(?=,|$)", " ".join(parameters.split())):
            if structs.get(filled) is False and filled not in FINAL:
                yield f"{name}: {filled} has no size, and is not final"


def lacks_comment(text):
    """Paragraphs of declarations that nothing says anything about."""
    for paragraph in re.split(r"\n\n+", text):
        lines = paragraph.split("\n")
        if any(line.startswith("TARE_API") for line in lines) and "*/" not in paragraph:
            yield f"no comment: {next(line for line in lines if line.startswith('TARE_API'))}"


# What a header includes beside those that are promised.
MAY_SEE = {"include/tare": [], "include/tare/tare.h": ["experimental"], "include/tare/experimental": ["experimental"],
           "include/tare/private": ["experimental", "private"]}


def sees_too_much(header, text):
    may_see = MAY_SEE.get(header) or MAY_SEE.get(os.path.dirname(header), ["experimental"])
    for folder, name in re.findall(r"#include <tare/(\w+)/(\w+\.h)>", text):
        if folder not in may_see:
            yield f"includes {folder}/{name}, which {'may change' if folder == 'experimental' else 'is not installed'}"


findings, checked = [], 0
public = [tree.read(header) for header in tree.files(".h") if header.startswith("include/")]
structs = {name: bool(size) for text in public
           for name, size in re.findall(r"^typedef struct (\w+) {\n(    size_t size;)?", text, re.M)}
handles = {name for text in public for name in HANDLE.findall(text)}
for header in tree.files((".h", ".hpp")):
    if not header.startswith("include/"):
        continue
    content = open(os.path.join(tree.ROOT, header)).read()
    for wrong in (lacks_init(content), breaks_order(content, handles), lacks_comment(content),
                  may_not_grow(header, content, structs), sees_too_much(header, content)):
        findings += [f"{header}: {what}" for what in wrong]
    text = f"#include <{os.path.relpath(header, 'include')}>\n" + uses_of_defaults(content)
    for language in languages[header.endswith(".hpp"):]:  # C, C++
        if not shutil.which(language[0]):
            findings.append(f"{language[0]}: no such compiler")
            continue
        checked += 1
        run = subprocess.run([*language, *STRICT, "-"], input=text, cwd=tree.ROOT, text=True,
                             capture_output=True)
        if run.returncode:
            findings.append(f"{header} as {language[2]}:\n{run.stderr}")
tree.finish(findings, checked)
