#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run transcripts of the command line and compare what it says.

    transcripts.py TARE CASE.test...            run, exit 1 where a case differs, 77 where all are skipped
    transcripts.py TARE --update CASE.test...   write what it says into the cases

A case is a text file:

    # words about what it guards
    needs: data              skip without the directory named by TARE_TEST_DATA ($DATA in commands)
    needs: models            the same with TARE_TEST_MODELS ($MODELS), which has smollm2.gguf and minilm/
    $ tare info x.gguf       a command for the shell, run in a fresh directory
    $ [tty 60] tare info x   the same on a terminal of 60 columns; output then has escapes as \\e
    | text                   a line it prints on standard output
    ! text                   a line on standard error
    = 3                      its exit code, where that is not 0
"""
import difflib
import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import json_schema  # noqa: E402

TIMEOUT = int(os.environ.get("TRANSCRIPT_TIMEOUT", "120"))
# Stands for the command: what it prints with --json is kept, too, to be held against its schema.
KEEPER = """#!/bin/sh
case " $* " in *" --json "*) ;; *) exec "$TARE" "$@" ;; esac
kept=$(mktemp "$DOCUMENTS/XXXXXX")
"$TARE" "$@" >"$kept"
code=$?
cat "$kept"
exit $code
"""


def on_terminal(command, columns, directory, env):
    """Output and exit code of a command whose standard streams are a terminal."""
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(directory)
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        os.execve("/bin/sh", ["sh", "-c", command], {**env, "TERM": "xterm"})
    output = b""
    while True:
        try:
            chunk = os.read(fd, 65536)
        except OSError:
            break
        if not chunk:
            break
        output += chunk
    os.close(fd)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return output.replace(b"\r\n", b"\n").replace(b"\r", b"\\r").replace(b"\x1b", b"\\e"), b"", code


def on_pipes(command, directory, env):
    done = subprocess.run(["/bin/sh", "-c", command], cwd=directory, env=env, timeout=TIMEOUT,
                          stdin=subprocess.DEVNULL, capture_output=True)
    return done.stdout, done.stderr, done.returncode


def marked(output, mark):
    text = output.decode("utf-8", "backslashreplace")
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    else:
        lines[-1] += "\\no-newline"
    return [f"{mark} {line}".rstrip() if line == "" else f"{mark} {line}" for line in lines]


def transcript(lines, env):
    """The case as it would read with what the command says now."""
    out = []
    with tempfile.TemporaryDirectory(prefix="tare-cli-") as directory:
        env = {**env, "HOME": directory, "TMPDIR": directory}
        for line in lines:
            if line[:1] in ("|", "!", "="):
                continue
            out.append(line)
            if not line.startswith("$ "):
                continue
            command = line[2:]
            tty = re.match(r"\[tty (\d+)\] (.*)", command)
            if tty:
                stdout, stderr, code = on_terminal(tty[2], int(tty[1]), directory, env)
            else:
                stdout, stderr, code = on_pipes(command, directory, env)
            out += marked(stdout, "|") + marked(stderr, "!")
            if code:
                out.append(f"= {code}")
    return out


def faults_of_documents(folder):
    """What is wrong with the documents that were kept; they are removed."""
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as file:
            text = file.read()
        os.remove(os.path.join(folder, name))
        if text:
            try:
                yield from json_schema.check(json.loads(text))
            except ValueError as fault:
                yield f"no JSON: {fault}: {text[:80]}"


def environment(tare, folder):
    """That of commands, with a keeper of documents in `folder`."""
    tare = os.path.abspath(tare)
    keeper, documents = os.path.join(folder, "bin", "tare"), os.path.join(folder, "documents")
    os.makedirs(os.path.dirname(keeper))
    os.makedirs(documents)
    with open(keeper, "w", encoding="utf-8") as file:
        file.write(KEEPER)
    os.chmod(keeper, 0o755)
    path = ":".join([os.path.dirname(keeper), os.path.dirname(tare), os.environ.get("PATH", "")])
    env = {"PATH": path, "TARE": tare, "DOCUMENTS": documents, "LC_ALL": "C.UTF-8", "PAGER": "cat", "DATA": os.environ.get("TARE_TEST_DATA", ""),
           "MODELS": os.environ.get("TARE_TEST_MODELS", ""),
           "BUILDERS": os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden")}
    for name, value in os.environ.items():
        if name.endswith("SAN_OPTIONS"):
            env[name] = value
    return env


def main():
    with tempfile.TemporaryDirectory(prefix="tare-keeper-") as folder:
        return run(folder)


def run(folder):
    update = "--update" in sys.argv
    tare, *cases = [arg for arg in sys.argv[1:] if arg != "--update"]
    env = environment(tare, folder)
    failed, skipped = [], []
    for case in cases:
        with open(case, encoding="utf-8") as file:
            lines = file.read().split("\n")[:-1]
        lacks = [name for name in ("DATA", "MODELS") if f"needs: {name.lower()}" in lines
                 and not os.path.isdir(env[name])]
        if lacks:
            skipped.append((case, "TARE_TEST_" + lacks[0]))
            continue
        now = transcript(lines, env)
        wrong = list(faults_of_documents(env["DOCUMENTS"]))
        if wrong:
            failed.append(case)
            print("\n".join(f"{case}: {fault}" for fault in wrong))
        if now == lines:
            continue
        if update:
            with open(case, "w", encoding="utf-8") as file:
                file.write("\n".join(now) + "\n")
            print("updated", case)
        else:
            failed.append(case)
            print("\n".join(difflib.unified_diff(lines, now, case, "what it says", lineterm="")))
    if skipped:
        print(f"SKIP {len(skipped)} of {len(cases)}: {skipped[0][1]} names no directory")
    return 1 if failed else 77 if len(skipped) == len(cases) else 0


if __name__ == "__main__":
    sys.exit(main())
