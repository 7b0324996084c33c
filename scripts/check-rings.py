#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check-rings.py OBJECT...: no circles between source files, folders and modules of Python.

A file uses another where its object needs a symbol that the other's defines; a module of the Python
package, where it imports the other, be it inside a function. Files that use each other in a circle
can only be read, tested and changed together: what all of them need belongs into a lower file. So
do folders, but for what a folder uses of those inside of it. Uses that are meant to go back up are
named in MEANT; a name there that closes no circle any more is a finding too.
"""
import ast
import functools
import os
import re
import subprocess
import sys

import tree

# Symbol -> why what lies below may use it.
MEANT = {
    "cli_command_at": "the table of commands has commands that list it",
    "cli_command_find": "the table of commands has commands that list it",
    "cli_command_guess": "the table of commands has commands that list it",
    "tare_format_*": "a driver's row, and the registry of rows: layouts name their driver, and a "
                     "container holds files of others",
    "tare_kernels_get": "the table of kernels names its scalar references, whose files call it",
}
OBJECT = re.compile(r"(?:^|/)CMakeFiles/(\w+)\.dir/(.+\.(?:c|cc|cu))\.o$")
PACKAGE = "python"


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


def folders(uses):
    """The same between folders: what one needs of another, but of those inside of it."""
    out = {}
    for file, others in uses.items():
        here = out.setdefault(os.path.dirname(file), {})
        for other, needed in others.items():
            folder = os.path.dirname(other)
            if not (folder + "/").startswith(os.path.dirname(file) + "/"):
                here.setdefault(folder, []).extend(needed)
                out.setdefault(folder, {})
    return out


def imports(node):
    """Yields the imports in a syntax tree, but those for type checkers."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and getattr(child.test, "id", None) == "TYPE_CHECKING":
            continue
        if isinstance(child, (ast.Import, ast.ImportFrom)):
            yield child
        yield from imports(child)


def module_of(path):
    """"python/tare/_load.py" -> "tare._load"."""
    return os.path.relpath(path, PACKAGE)[:-len(".py")].replace("/", ".").removesuffix(".__init__")


def imported(node, package):
    """The names of modules that an import may be of."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    up = package.split(".")[:1 - node.level or None] if node.level else []
    base = ".".join(up + ([node.module] if node.module else []))
    return [f"{base}.{alias.name}" for alias in node.names] + ([base] if node.module else [])


def modules():
    """module -> other module -> how it is imported, of the Python package."""
    paths = {module_of(p): p for p in tree.files((".py",)) if p.startswith(PACKAGE + "/tare/")}
    uses = {module: {} for module in paths}
    for module, path in paths.items():
        package = module if path.endswith("__init__.py") else module.rpartition(".")[0]
        for node in imports(ast.parse(tree.read(path))):
            for other in imported(node, package):
                if other in paths and other != module:
                    uses[module].setdefault(other, []).append(f"line {node.lineno}")
    return uses


def report(what, uses):
    """A finding for each circle, and what closes it."""
    out = []
    for part in circles(uses):
        out.append(f"a circle of {len(part)} {what}: {' '.join(part)}")
        out += [f"    {file} needs {', '.join(uses[file][other][:9])} of {other}"
                for file in part for other in part if other in uses[file]]
    return out


sys.setrecursionlimit(10000)
files = {path: "/".join(match.groups()) for path in sys.argv[1:] if (match := OBJECT.search(path))}
needs, home = {file: set() for file in files.values()}, {}
for path, symbol, is_defined in symbols(files):
    if is_defined:
        home[symbol] = files[path]
    else:
        needs[files[path]].add(symbol)

uses, of_python = graph(needs, home, lambda symbol: not meant(symbol)), modules()
findings = report("files", uses) + report("folders", folders(uses)) + report("modules", of_python)
for pattern in MEANT:
    if not circles(graph(needs, home, lambda symbol: meant(symbol) in (None, pattern))):
        findings.append(f"{pattern}: listed as meant, but closes no circle")
tree.finish(findings, len(needs) + len(of_python))
