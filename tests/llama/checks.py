# SPDX-License-Identifier: MIT
"""Runs of the tare command, and what they show to be wrong."""
import subprocess


class Checks:
    def __init__(self, tare):
        self.tare, self.found = tare, []

    def run(self, *args, code=0):
        """Runs the command, which must end with `code`."""
        done = subprocess.run([self.tare, *args], capture_output=True, text=True)
        self.check(f"{' '.join(args)}: exit {done.returncode}, not {code}: {done.stderr.strip()}", done.returncode == code)
        return done

    def check(self, what, holds):
        if not holds:
            self.found.append(what)

    def end(self):
        """Says what was found; returns whether there was anything."""
        print("\n".join(self.found + [f"{len(self.found)} faults"]))
        return bool(self.found)
