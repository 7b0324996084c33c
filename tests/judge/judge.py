#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""judge.py PYTHON SCRIPT TARE [ARGUMENT...]: runs a judge under PYTHON, which has the packages it
needs.

Where there is no such Python the test is skipped (exit 77): `make check` makes it (scripts/venv).
"""
import os
import sys

python, script, command = sys.argv[1:4]
if not os.access(python, os.X_OK):
    print("SKIP: %s is not there (scripts/venv makes it), 1 test program left out" % python)
    sys.exit(77)
os.environ["TARE_COMMAND"] = os.path.abspath(command)
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
os.execv(python, [python, script, *(sys.argv[4:] or ["-v"])])
