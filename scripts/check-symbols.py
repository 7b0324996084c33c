#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check-symbols.py LIBTARE.A LIBTARE.SO: names a linker sees.

Every external symbol of the static library begins with tare_. The shared library exports the
functions that the public headers declare with TARE_API, all of them (but what Windows alone has) and
nothing else. With glibc it has no memory of threads that each makes when it first needs it, which a child
of fork may free twice (src/base/pool.c).
"""
import platform
import re
import shutil
import subprocess
import sys

import tree

# What sanitizers add beside each global.
INSTRUMENTATION = re.compile(r"^(__odr_asan|__asan_|__ubsan_|__sancov|__tsan_|asan\.|_GLOBAL_)")


def symbols(*arguments):
    out = subprocess.run(["nm", "--defined-only", "--format=posix", *arguments], check=True,
                         capture_output=True, text=True).stdout
    rows = (line.split() for line in out.splitlines())
    return {row[0] for row in rows if len(row) >= 2 and not INSTRUMENTATION.match(row[0])}


static, shared = sys.argv[1:]
inside = symbols("--extern-only", static)
outside = symbols("--extern-only", "--dynamic", shared)
declared = set()
for header in tree.files(".h"):
    if header.startswith("include/"):
        text = re.sub(r"/\*.*?\*/", "", tree.read(header), flags=re.S)
        text = re.sub(r"^#if defined\(_WIN32\)\n.*?^#endif", "", text, flags=re.S | re.M)
        declared |= set(re.findall(r"^TARE_API[^;(]*?\b(tare_\w+)\s*[(;]", text, re.M))
        declared |= {name + "_init" for name in re.findall(r"^TARE_DECLARE_INIT\((\w+)\)", text, re.M)}

findings = [f"{s}: external, but does not begin with tare_"
            for s in sorted(inside) if not s.startswith("tare_")]
findings += [f"{s}: exported, but no public header declares it"
             for s in sorted(outside - declared)]
findings += [f"{s}: declared with TARE_API, but not exported" for s in sorted(declared - outside)]
if platform.libc_ver()[0] == "glibc" and shutil.which("readelf"):
    relocations = subprocess.run(["readelf", "--relocs", "--wide", shared], check=True, capture_output=True, text=True).stdout
    findings += [f"{shared}: a _Thread_local without an early place" for _ in re.findall("DTPMOD|TLSDESC", relocations)]
tree.finish(findings, len(inside) + len(declared))
