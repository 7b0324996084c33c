#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""verify_corpus.py TARE FOLDER: `tare verify --deep` on every case of the corpus that is a model.

The exit code is the one that docs/behaviour.md gives for what is expected of the case; a refusal is
one line on standard error that has the offset; nothing that is printed holds a control character,
whatever the names in the file are.
"""
import os
import subprocess
import sys

EXIT = {"CORRUPT": 3, "TRUNCATED": 3, "LIMIT": 3, "CHECKSUM": 3, "IO": 4, "UNSUPPORTED": 5}


def expectation(path):
    """First word -> the rest of each line that begins with it."""
    lines = {}
    with open(path, encoding="utf-8") as f:
        for line in f:
            word, _, rest = line.rstrip("\n").partition(" ")
            lines.setdefault(word, []).append(rest)
    return lines


def wanted_exit(want):
    status = want["status"][0]
    if status != "OK":
        return EXIT[status]
    findings = want.get("finding", []) + want.get("deep", [])
    return int(any(f.startswith("error ") for f in findings))


def complaints(want, done):
    """What is wrong with how a case ended."""
    out, err = done.stdout.decode("latin-1"), done.stderr.decode("latin-1")
    if done.returncode != wanted_exit(want):
        yield "exit %d, not %d: %s" % (done.returncode, wanted_exit(want), err)
    if any(ord(c) < 32 and c != "\n" or ord(c) == 127 for c in out + err):
        yield "a control character in what is printed"
    if want["status"][0] != "OK":
        lines = err.splitlines()
        if len([line for line in lines if "warning: " not in line]) != 1:
            yield "not one line: " + err
        offset = want["offset"][0]
        if offset != "none" and ": byte %s: " % offset not in err:
            yield "no \"byte %s\" in: %s" % (offset, err)


def main():
    command, folder = sys.argv[1:3]
    with open(os.path.join(folder, "cases.txt"), encoding="utf-8") as f:
        names = f.read().split()
    n_run = n_failed = 0
    for name in names:
        want = expectation(os.path.join(folder, name + ".expect"))
        if "importance" in want:
            continue
        n_run += 1
        alone = ["--one-shard"] if "one-shard" in want else []
        path = os.path.join(folder, want["open"][0])
        done = subprocess.run([command, "verify", "--deep", *alone, path], capture_output=True)
        found = list(complaints(want, done))
        n_failed += bool(found)
        for text in found:
            print("FAIL %s: %s" % (name, text))
    print("verify: %d cases, %d failed" % (n_run, n_failed))
    sys.exit(n_failed != 0 or n_run == 0)


if __name__ == "__main__":
    main()
