#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check-format.py [--fix]: .clang-format decides how the sources are laid out.

Only the version that Debian 12 has is believed, since each lays out a little differently.
Exit 77, which ctest shows as skipped, where it is missing.
"""
import re
import shutil
import subprocess
import sys

import tree

VERSION = "14"
program = shutil.which(f"clang-format-{VERSION}") or shutil.which("clang-format")
found = program and subprocess.run([program, "--version"], capture_output=True, text=True).stdout
if not found or not re.search(rf"version {VERSION}\.", found):
    print(f"SKIP: no clang-format {VERSION}")
    sys.exit(77)

sources = tree.files(tree.C_SOURCES)
if "--fix" in sys.argv:
    sys.exit(subprocess.run([program, "-i", *sources], cwd=tree.ROOT).returncode)
run = subprocess.run([program, "--dry-run", "-Werror", *sources], cwd=tree.ROOT, text=True,
                     capture_output=True)
findings = [line for line in run.stderr.splitlines() if ": error: " in line]
if run.returncode and not findings:
    findings = [run.stderr]
tree.finish(findings, len(sources))
