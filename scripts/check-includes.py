#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The law of the floors: a file includes from its own floor and from lower ones only.

Each folder names the folders whose headers it may include; "tare" is the public headers. What is
not in the table may include nothing of ours, so a new folder has to state its place here.
"""
import os
import re

import tree

ALLOWED = {
    "include/tare": {"tare"},
    "src/base": {"tare", "base"},
    "src/encoding": {"tare", "base", "encoding"},
    "src/wcodec": {"tare", "base", "encoding", "wcodec"},
    "src/model": {"tare", "base", "encoding", "model"},
    "src/format": {"tare", "base", "encoding", "wcodec", "model", "format"},
    "src/ops": {"tare", "base", "encoding", "model", "format", "ops"},
    "cli": {"tare", "cli"},
    "bench": {"tare", "bench", "judge", "wcodec", "format", "model"},
    "tests/support": {"tare", "support"},
    "tests/unit": {"tare", "base", "encoding", "wcodec", "model", "format", "ops", "support", "unit"},
    "tests/kernel": {"tare", "base", "encoding", "wcodec", "support", "kernel"},
    "tests/fuzz": {"tare", "base", "wcodec", "model", "format", "support", "fuzz"},
    "tests/wcodec": {"tare", "base", "wcodec", "format"},
    "tests/golden": {"tare", "support", "golden"},
    "tests/judge": {"tare", "judge"},
    "tests/cli": {"tare", "cli"},
    "tests/consumer": {"tare"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.M)


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
            return os.path.basename(place(os.path.relpath(full, tree.ROOT)))
    return None


findings, checked = [], 0
for path in tree.files(tree.C_SOURCES):
    checked += 1
    folder = place(path)
    for match in INCLUDE.finditer(tree.read(path)):
        quote, name = match.groups()
        where = f"{path}: #include {quote}{name}"
        to = target(path, name)
        if to is None:
            if quote == '"':
                findings.append(f"{where}: no such file")
        elif to not in ALLOWED.get(folder, ()):
            findings.append(f"{where}: {folder or 'this folder'} must not see {to}")
        elif to == "tare" and quote == '"' and folder != "include/tare":
            findings.append(f"{where}: public headers are included as <tare/...>")
tree.finish(findings, checked)
