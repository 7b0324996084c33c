#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""stopped.py TARE: Ctrl-C ends a command soon, with one line and 130, and leaves nothing half-written.
What is made for standard output leaves nothing even if the command is killed.

A command is stopped when it is seen at work, not after a time: soon after it has a handler for SIGINT.
"""
import os
import signal
import subprocess
import sys
import tempfile
import time

SOON = 30    # seconds until the stop must have been heard; of a machine that does much else
WAIT = 120   # seconds until the command must be at work

# A command, whether it waits for standard input, and whether it is killed.
ROWS = (
    ("convert - out.gguf", True, False),
    ("synth llama-300m out.gguf --type q4_k --quiet --no-sync -j 1", False, False),
    ("quantize in.gguf out.gguf Q4_K_M --quality best --quiet --no-sync -j 1", False, False),
    ("pack in.gguf out.wcodec --effort full --quiet --no-sync -j 1", False, False),
    ("pack in.gguf - --to wcodec --effort full --quiet -j 1", False, False),
    ("pack in.gguf - --to wcodec --effort full --quiet -j 1", False, True),
    # Work that tells its progress seldom hears of a stop all the same.
    ("bench -j 1 --effort full in.gguf", False, False),
)


def handles_interrupt(pid):
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            caught = next(line for line in file if line.startswith("SigCgt:"))
    except (OSError, StopIteration):
        return False
    return bool(int(caught.split()[1], 16) >> (signal.SIGINT - 1) & 1)


def others(directory):
    return sorted(set(os.listdir(directory)) - {"in.gguf"})


def stopped(tare, directory, arguments, reads, kills):
    """What is wrong with the way that the command stopped, or None."""
    with subprocess.Popen([tare, *arguments.split()], cwd=directory, env={**os.environ, "TMPDIR": directory},
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          stdin=subprocess.PIPE if reads else subprocess.DEVNULL,
                          preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)) as child:
        end = time.monotonic() + WAIT
        while not handles_interrupt(child.pid):
            if child.poll() is not None or time.monotonic() > end:
                child.kill()
                return f"not at work: {child.stderr.read().decode()}"
            time.sleep(0.002)
        time.sleep(0.05)
        child.send_signal(signal.SIGKILL if kills else signal.SIGINT)
        try:
            code = child.wait(SOON)
        except subprocess.TimeoutExpired:
            child.kill()
            return f"not ended after {SOON} s"
        said = child.stderr.read().decode()
    if (code, said) != ((-signal.SIGKILL, "") if kills else (130, "tare: cancelled\n")):
        return f"exit code {code}, said {said!r}"
    return f"left {others(directory)}" if others(directory) else None


def main():
    tare = os.path.abspath(sys.argv[1])
    failed = 0
    with tempfile.TemporaryDirectory(prefix="tare-stopped-") as directory:
        subprocess.run([tare, "synth", "llama-44m", "in.gguf", "--quiet", "--no-sync"],
                       cwd=directory, check=True)
        for arguments, reads, kills in ROWS:
            wrong = stopped(tare, directory, arguments, reads, kills)
            if wrong:
                print(f"tare {arguments}: {wrong}")
                failed += 1
            for name in others(directory):
                os.remove(os.path.join(directory, name))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
