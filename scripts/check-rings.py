#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check-rings.py OBJECT...: no circles between source files.

A file uses another where its object needs a symbol that the other's defines. Files that use each
other in a circle can only be read, tested and changed together: what all of them need belongs into
a lower file. Uses that are meant to go back up are named in MEANT; a name there that closes no
circle any more is a finding too.
"""
import functools
import re
import subprocess
import sys

import tree

# Symbol -> why what lies below may use it.
MEANT = {
    "cli_command_at": "the table of commands has commands that list it",
    "cli_command_find": "the table of commands has commands that list it",
    "cli_command_nearest": "the table of commands has commands that list it",
    "tare_format_*": "a driver's row, and the registry of rows: layouts name their driver, and a "
                     "container holds files of others",
    "tare_kernels_get": "the table of kernels names its scalar references, whose files call it",
}
OBJECT = re.compile(r"(?:^|/)CMakeFiles/(\w+)\.dir/(.+\.c)\.o$")


def symbols(objects):
    """Yields (object, symbol, whether the object defines it) of external symbols."""
    out = subprocess.run(["nm", "-A", "--extern-only", "--format=posix", *objects], check=True,
                         capture_output=True, text=True).stdout
    for line in out.splitlines():
        path, name, kind = line.rsplit(": ", 1)[0], *line.rsplit(": ", 1)[1].split()[:2]
        yield path, name, kind not in "Uvw"


def circles(uses):
    """The strongly connected parts of a graph, but for single files (Tarjan), in order of names."""
    number, low, stack, found = {}, {}, [], []

    def visit(file):
        number[file] = low[file] = len(number)
        stack.append(file)
        for other in sorted(uses[file]):
            if other not in number:
                visit(other)
            if other in stack:
                low[file] = min(low[file], low[other])
        if low[file] == number[file]:
            part = stack[stack.index(file):]
            del stack[stack.index(file):]
            if len(part) > 1:
                found.append(sorted(part))

    for file in sorted(uses):
        if file not in number:
            visit(file)
    return sorted(found)


@functools.cache
def meant(symbol):
    """The pattern of MEANT that a symbol goes by."""
    patterns = (p for p in MEANT if re.fullmatch(p.replace("*", r"\w+"), symbol))
    return next(patterns, None)


def graph(needs, home, kept):
    """file -> other file -> the symbols it needs of that one."""
    uses = {file: {} for file in needs}
    for file, needed in needs.items():
        for symbol in sorted(needed):
            other = home.get(symbol, file)
            if other != file and kept(symbol):
                uses[file].setdefault(other, []).append(symbol)
    return uses


sys.setrecursionlimit(10000)
files = {path: "/".join(match.groups()) for path in sys.argv[1:] if (match := OBJECT.search(path))}
needs, home = {file: set() for file in files.values()}, {}
for path, symbol, is_defined in symbols(files):
    if is_defined:
        home[symbol] = files[path]
    else:
        needs[files[path]].add(symbol)

findings = []
uses = graph(needs, home, lambda symbol: not meant(symbol))
for part in circles(uses):
    findings.append(f"a circle of {len(part)} files: {' '.join(part)}")
    for file in part:
        findings += [f"    {file} needs {', '.join(uses[file][other])} of {other}"
                     for other in part if other in uses[file]]
for pattern in MEANT:
    if not circles(graph(needs, home, lambda symbol: meant(symbol) in (None, pattern))):
        findings.append(f"{pattern}: listed as meant, but closes no circle")
tree.finish(findings, len(needs))
