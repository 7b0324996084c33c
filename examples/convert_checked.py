#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""convert_checked.py IN OUT [TYPE]: converts a model, verifies the output and compares it with the input.

IN and OUT are of any format (the suffix of OUT decides); TYPE is a number format for the matrices,
such as q8_0 or bf16. Shows bars of tqdm, which it needs.
"""
import sys

import tare
from tqdm import tqdm


def bar(what: str) -> tqdm:
    return tqdm(desc=what, unit="B", unit_scale=True, total=0)


def main() -> None:
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    source, out = sys.argv[1:3]
    kind = sys.argv[3] if len(sys.argv) == 4 else None
    with bar("convert") as progress:
        result = tare.convert(source, out, type=kind, force=True, progress=progress)
    for finding in result.findings:
        print(finding)
    with bar("verify") as progress:
        report = tare.verify(out, deep=True, progress=progress)
    for finding in report.findings:
        print(finding)
    with bar("compare") as progress:
        diff = tare.diff(source, out, progress=progress)
    print("the output is", "sound;" if report.ok else "damaged;",
          "every tensor is the same" if diff.same else f"{len(diff)} differences from the input")
    sys.exit(0 if report.ok else 1)


main()
