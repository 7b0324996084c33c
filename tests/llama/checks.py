# SPDX-License-Identifier: MIT
"""Runs of the tare command, and what they show to be wrong."""
import importlib
import subprocess
import sys


class Checks:
    def __init__(self, tare):
        self.tare, self.found = tare, []

    def run(self, *args, code=0):
        """Runs the command, which must end with `code`; None: with any."""
        done = subprocess.run([self.tare, *args], capture_output=True, text=True)
        self.check(f"{' '.join(args)}: exit {done.returncode}, not {code}: {done.stderr.strip()}", code in (None, done.returncode))
        return done

    def check(self, what, holds):
        if not holds:
            self.found.append(what)

    def end(self):
        """Says what was found; returns whether there was anything."""
        print("\n".join(self.found + [f"{len(self.found)} faults"]))
        return bool(self.found)


def need(requirements, *modules):
    """Ends the program with 77 where one of these modules, which a file of requirements has, is missing."""
    try:
        for module in modules:
            importlib.import_module(module)
    except ImportError as missing:
        print(f"SKIP: {missing}; {requirements} has what this needs")
        sys.exit(77)


def run_with_transformers(main):
    """Ends the program with what main() returns; with 77 where there is no torch or transformers."""
    try:
        import numpy  # noqa: F401
        import torch  # noqa: F401
        import transformers
    except ImportError as missing:
        print("SKIP: %s" % missing)
        sys.exit(77)
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    sys.exit(main())
