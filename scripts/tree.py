# SPDX-License-Identifier: MIT
"""The files of the tree, for the checks: what git knows and, beside it, what it does not ignore.

A tree without git (an unpacked archive) is walked instead, build/ left out.
"""
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
C_SOURCES = (".c", ".h", ".cc", ".cpp", ".hpp", ".cu")


def files(suffixes=None):
    try:
        listing = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    except (OSError, subprocess.CalledProcessError):
        listing = []
        for folder, folders, names in os.walk(ROOT):
            folders[:] = [f for f in folders if f != "build" and not f.startswith(".git")]
            listing += [os.path.relpath(os.path.join(folder, n), ROOT) for n in names]
    listing = sorted(f for f in set(listing) if os.path.isfile(os.path.join(ROOT, f)))
    return [f for f in listing if suffixes is None or f.endswith(suffixes)]


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8", errors="replace") as f:
        return f.read()


def finish(findings, checked):
    """Prints what was found and leaves with 1, or says what was looked at. Nothing: a failure."""
    for finding in findings:
        print(finding)
    if not checked:
        print("nothing was checked")
    print(f"{checked} checked, {len(findings)} findings")
    sys.exit(1 if findings or not checked else 0)
