#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""run_pytest.py PYTHON PACKAGE PRELOAD NEEDS FILE...: runs tests of the Python package under PYTHON.

PACKAGE is the folder that has the built package, PRELOAD the library of a sanitizer or nothing, NEEDS
the packages that the tests are about, with commas between them. Where there is no such Python, or not
these packages, the tests are skipped (exit 77): `make check` makes the one (scripts/venv), `.ci/run`
the other.
"""
import os
import subprocess
import sys

python, package, preload, needs, *files = sys.argv[1:]
if not os.access(python, os.X_OK):
    print("SKIP: %s is not there (scripts/venv makes it), 1 test program left out" % python)
    sys.exit(77)
find = "import sys, importlib.util as u; print(*[n for n in sys.argv[1:] if not u.find_spec(n)])"
wanted = ["pytest", "hypothesis", "ml_dtypes", *filter(None, needs.split(","))]
missing = subprocess.check_output([python, "-c", find, *wanted], text=True).split()
if missing:
    print("SKIP: %s lacks %s, 1 test program left out" % (python, ", ".join(missing)))
    sys.exit(77)
os.environ["PYTHONPATH"] = package
os.environ["TARE_COMMAND"] = os.path.join(package, "..", "cli", "tare")
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
                        "--basetemp", os.path.join(scratch, os.path.basename(files[0])), *files])
sys.exit(code)
