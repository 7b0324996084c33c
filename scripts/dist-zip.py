#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""dist-zip.py OUT: a zip archive of the files that standard input lists, in that order, the same bytes
wherever it is made."""
import os
import sys
import time
import zipfile

when = time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))[:6]
with zipfile.ZipFile(sys.argv[1], "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
    for line in sys.stdin:
        path = line.rstrip("\n")
        info = zipfile.ZipInfo(path, when)
        info.external_attr = (0o100755 if path.endswith(".exe") else 0o100644) << 16
        with open(path, "rb") as f:
            archive.writestr(info, f.read(), zipfile.ZIP_DEFLATED, 9)
