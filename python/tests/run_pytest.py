#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""run_pytest.py PYTHON PACKAGE PRELOAD FILE...: runs tests of the Python package under PYTHON.

PACKAGE is the folder that has the built package, PRELOAD the library of a sanitizer or nothing.
Where there is no such Python the tests are skipped (exit 77): `make check` makes it (scripts/venv).
"""
import os
import subprocess
import sys

python, package, preload = sys.argv[1:4]
if not os.access(python, os.X_OK):
    print("SKIP: %s is not there (scripts/venv makes it), 1 test program left out" % python)
    sys.exit(77)
if subprocess.run([python, "-c", "import pytest, hypothesis, ml_dtypes"], capture_output=True).returncode:
    print("SKIP: %s has no pytest (scripts/venv installs it), 1 test program left out" % python)
    sys.exit(77)
os.environ["PYTHONPATH"] = package
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
if preload:
    os.environ["LD_PRELOAD"] = preload
    # Python keeps objects to its end: leaks are looked for by a test of their own.
    os.environ["ASAN_OPTIONS"] = "detect_leaks=0"
scratch = os.path.join(package, "tmp")
os.makedirs(scratch, exist_ok=True)
os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = os.path.join(scratch, "hypothesis")
here = os.path.dirname(os.path.abspath(__file__))
code = subprocess.call([python, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--rootdir", here,
                        "--basetemp", os.path.join(scratch, os.path.basename(sys.argv[4])),
                        *sys.argv[4:]])
if code == 5:  # pytest's word for no test at all: what they are about is not installed
    print("SKIP: %s lacks a package that these tests need, 1 test program left out" % python)
    code = 77
sys.exit(code)
