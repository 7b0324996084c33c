#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The page of tare report as a C source, so that building needs no step of its own.

    report-page.py            writes cli/report_parts.c from cli/report/
    report-page.py --check    fails where that is not what it would write

Scripts lose their comments and the spaces before their lines. The page's policy lets in the one
script and the one style sheet whose digests it names.
"""
import base64
import hashlib
import os
import re
import sys

import tree

FOLDER, OUTPUT = "cli/report", "cli/report_parts.c"
SCRIPTS = ["core", "colours", "treemap", "errors", "compare", "table", "detail", "texts", "main"]
COLUMNS = 160  # of a line in the source
CHUNK = 3000  # bytes of a string: compilers need not take more than 4095

HEAD = """/* SPDX-License-Identifier: MIT
 *
 * The page of tare report, made of cli/report/ by scripts/report-page.py: not to be edited. */
#include "report_document.h"

/* clang-format off */
"""


def smaller(text):
    """The text without comments that stand on lines of their own, and without indentation."""
    text = re.sub(r"^[ \t]*/\*.*?\*/[ \t]*\n", "", text, flags=re.S | re.M)
    return "".join(line.strip() + "\n" for line in text.splitlines() if line.strip())


def digest(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def page():
    style = smaller(tree.read(f"{FOLDER}/page.css"))
    script = "".join(smaller(tree.read(f"{FOLDER}/page_{name}.js")) for name in SCRIPTS)
    assert "</" not in style and "</script" not in script and "<!--" not in script
    policy = (f"default-src 'none'; script-src {digest(script)}; style-src {digest(style)}; "
              "base-uri 'none'; form-action 'none'")
    html = tree.read(f"{FOLDER}/page.html")
    for name, text in (("policy", policy), ("style", style), ("script", script)):
        assert html.count("{{%s}}" % name) == 1
        html = html.replace("{{%s}}" % name, text)
    assert html.count("{{data}}") == 1
    return html.split("{{data}}")


def literal(data):
    """Bytes of ASCII and UTF-8 as a string of C; trigraphs cannot arise."""
    out = []
    for byte in data:
        char = chr(byte)
        if char == "\n":
            out.append("\\n")
        elif char in '"\\?':
            out.append("\\" + char)
        elif 32 <= byte < 127:
            out.append(char)
        else:
            out.append(f"\\{byte:03o}")
    return out


def array(name, text):
    data = text.encode()
    lines = [f"const char *const {name}[] = {{"]
    for at in range(0, len(data), CHUNK):
        line = ""
        for piece in literal(data[at:at + CHUNK]):
            if len(line) + len(piece) > COLUMNS:
                lines.append(f'    "{line}"')
                line = ""
            line += piece
        lines.append(f'    "{line}",')
    return "\n".join(lines + ["    NULL,", "};", ""])


def source():
    head, tail = page()
    return HEAD + array("report_page_head", head) + "\n" + array("report_page_tail", tail)


if sys.argv[1:] == ["--check"]:
    same = tree.read(OUTPUT) == source()
    tree.finish([] if same else [f"{OUTPUT}: not what scripts/report-page.py makes of {FOLDER}"], 1)
with open(os.path.join(tree.ROOT, OUTPUT), "w", encoding="utf-8") as f:
    f.write(source())
