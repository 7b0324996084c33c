#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Follow the pages of the documentation and compare what the command says with what they show.

    pages.py [--update] [--cc "CC FLAGS"] TARE PAGE.md...

Exit 1 where a page shows something else; with --update the pages are written anew.

A fenced block whose first line begins with `$ ` is a transcript: each `$ ` line runs in a shell, in a
directory that is empty when the page begins, and the lines below it are what it prints on both
streams. A line of three dots stands for any lines. A command that ends in `\\` goes on in the next
line. The block after the words "Save this as `NAME`" becomes that file. What `sudo make install` puts into
/usr/local/share/doc/tare is taken from the source. `cc` is CC with FLAGS, and
pkg-config finds the library that was built with the command. A page that says `<!-- needs: PATH -->` is
left out, which is printed, where there is no PATH.
"""
import argparse
import difflib
import os
import re
import shutil
import subprocess
import sys
import tempfile

import transcripts

FENCE = "```"
SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
INSTALLED = "/usr/local/share/doc/tare"


def run(command, directory, env):
    done = subprocess.run(["/bin/sh", "-c", command], cwd=directory, env=env, stdin=subprocess.DEVNULL,
                          timeout=transcripts.TIMEOUT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.stdout.decode("utf-8", "backslashreplace").splitlines()


def agrees(shown, printed):
    """Do the lines of a page stand for these? `...` takes as many as it can be."""
    if not shown:
        return not printed
    if shown[0] == "...":
        return any(agrees(shown[1:], printed[n:]) for n in range(len(printed) + 1))
    return bool(printed) and shown[0] == printed[0] and agrees(shown[1:], printed[1:])


def steps(block):
    """The commands of a transcript, each as its own lines and the lines shown below."""
    found = []
    for line in block:
        if line.startswith("$ "):
            found.append(([line], []))
        elif found and found[-1][0][-1].endswith("\\"):
            found[-1][0].append(line)
        else:
            found[-1][1].append(line)
    return found


def write(path, text, mode=0o644):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)


def follow(lines, env):
    """The page with what the command prints now, where that is not what it shows."""
    out, n, saved = [], 0, None
    with tempfile.TemporaryDirectory(prefix="tare-page-") as directory:
        env = {**env, "HOME": directory, "TMPDIR": directory}
        while n < len(lines):
            out.append(lines[n])
            n += 1
            name = re.search(r"[Ss]ave this as `([^`]+)`", out[-1])
            saved = name[1] if name else saved
            if not out[-1].startswith(FENCE):
                continue
            end = lines.index(FENCE, n)
            block, n = lines[n:end], end + 1
            if saved:
                write(os.path.join(directory, saved), "\n".join(block) + "\n")
                saved = None
            if block and block[0].startswith("$ "):
                for command, shown in steps(block):
                    printed = run("\n".join(command)[2:].replace(INSTALLED, SOURCE), directory, env)
                    out += command + (shown if agrees(shown, printed) else printed)
            else:
                out += block
            out.append(FENCE)
    return out


def environment(tare, cc, tools):
    """What pages rely on: tare, cc, and a library that pkg-config knows, as if all were installed."""
    env = transcripts.environment(tare, tools)
    build = os.path.dirname(os.path.dirname(os.path.abspath(tare)))
    library = os.path.join(build, "src")
    name, *flags = cc.split()
    cc = " ".join([shutil.which(name) or name, *flags])
    write(os.path.join(tools, "cc"), f'#!/bin/sh\nexec {cc} "$@"\n', 0o755)
    write(os.path.join(tools, "tare.pc"),
          "Name: tare\nDescription: tare\nVersion: 0\n"
          f"Cflags: -I{SOURCE}/include\nLibs: -L{library} -ltare\n")
    return {**env, "PATH": tools + ":" + env["PATH"], "PKG_CONFIG_PATH": tools,
            "LD_LIBRARY_PATH": library}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--cc", default="cc")
    parser.add_argument("tare")
    parser.add_argument("pages", nargs="+")
    args = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory(prefix="tare-tools-") as tools:
        env = environment(args.tare, args.cc, tools)
        for page in args.pages:
            with open(page, encoding="utf-8") as file:
                lines = file.read().splitlines()
            missing = [p for p in re.findall(r"^<!-- needs: (.*) -->$", "\n".join(lines), re.M) if not os.path.exists(p)]
            if missing:
                print(f"SKIP {page}: there is no {missing[0]}")
                continue
            now = follow(lines, env)
            if now == lines:
                continue
            if args.update:
                write(page, "\n".join(now) + "\n")
                print("updated", page)
            else:
                failed += 1
                print("\n".join(difflib.unified_diff(lines, now, page, "what is printed", lineterm="")))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
