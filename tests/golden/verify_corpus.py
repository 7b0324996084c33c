#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""verify_corpus.py TARE FOLDER: `tare verify --deep` on every case of the corpus that is a model.

Cases that end alike are given to one command, some at a time. The exit code is the one that
docs/behaviour.md gives for what is expected of the case; a refusal is one line on standard error
that has the offset; nothing that is printed holds a control character, whatever the names in the
file are.
"""
import os
import subprocess
import sys

TOGETHER = 16  # cases a command
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


class Case:
    def __init__(self, folder, name):
        self.name = name
        self.want = expectation(os.path.join(folder, name + ".expect"))
        self.path = self.want["open"][0]
        self.alone = ["--one-shard"] if "one-shard" in self.want else []
        self.exit = None if "importance" in self.want else wanted_exit(self.want)

    def is_refused(self):
        return self.want["status"][0] != "OK"

    def complaints(self, lines):
        """What is wrong with the lines that are said of a case."""
        offset = self.want["offset"][0] if self.is_refused() else "none"
        if len(lines) != self.is_refused():
            yield "%d lines: %s" % (len(lines), lines)
        elif offset != "none" and ": byte %s: " % offset not in lines[0]:
            yield "no \"byte %s\" in: %s" % (offset, lines[0])


def is_about(line, case):
    return any(line.startswith("tare: " + case.name + end) for end in ".:/")


def complaints(command, cases):
    """What is wrong with how one command ends that is given some cases, which all end alike. It
    runs in their folder: of a long path, an error has the end alone."""
    words = [command, "verify", "--deep", *cases[0].alone, *(c.path for c in cases)]
    done = subprocess.run(words, capture_output=True)
    out, err = done.stdout.decode("latin-1"), done.stderr.decode("latin-1")
    if done.returncode != cases[0].exit:
        yield "exit %d, not %d: %s" % (done.returncode, cases[0].exit, err)
    if any(ord(c) < 32 and c != "\n" or ord(c) == 127 for c in out + err):
        yield "a control character in what is printed"
    lines = [line for line in err.splitlines() if "warning: " not in line]
    for c in cases:
        yield from c.complaints([x for x in lines if is_about(x, c)] if cases[1:] else lines)


def groups(cases):
    """The command ends as its worst file does. With 0 nothing was found in any; with 3 no file ended
    worse, and each that is refused has its line, so that many can share a process; the others are
    run alone."""
    together = {}
    for c in cases:
        if c.exit == 0 or c.exit == 3 and c.is_refused():
            together.setdefault((c.exit, *c.alone), []).append(c)
        else:
            yield [c]
    for some in together.values():
        for i in range(0, len(some), TOGETHER):
            yield some[i:i + TOGETHER]


def main():
    command, folder = map(os.path.abspath, sys.argv[1:3])
    with open(os.path.join(folder, "cases.txt"), encoding="utf-8") as f:
        cases = [Case(folder, name) for name in f.read().split()]
    cases = [c for c in cases if c.exit is not None]
    os.chdir(folder)
    n_failed = 0
    for some in groups(cases):
        if not any(complaints(command, some)):
            continue
        for c in some:  # which of them?
            found = list(complaints(command, [c]))
            n_failed += bool(found)
            for text in found:
                print("FAIL %s: %s" % (c.name, text))
        if not n_failed:
            n_failed += 1
            print("FAIL together, but not alone: " + " ".join(c.name for c in some))
    faulty = [c for c in cases if c.exit == 1 and not c.alone]
    done = subprocess.run([command, "verify", "--deep", "--json", *(c.path for c in faulty)],
                          capture_output=True)
    if done.returncode != 1 or done.stderr:
        n_failed += 1
        print("FAIL as JSON: exit %d: %s" % (done.returncode, done.stderr.decode("latin-1")))
    print("verify: %d cases, %d failed" % (len(cases), n_failed))
    sys.exit(n_failed != 0 or not cases)


if __name__ == "__main__":
    main()
