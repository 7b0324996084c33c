#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""wheel-finish.py WHEEL FOLDER PLATFORM LICENCES: the wheel in FOLDER, with the tag of a platform that its
builder did not run on, the licence texts of the folder LICENCES in place of its own, on Windows a script that
starts the command, and its files in order and of one time: the same bytes wherever it is made."""
import base64
import csv
import hashlib
import io
import os
import re
import sys
import time
import zipfile

source, folder, platform, licences = sys.argv[1:]
when = time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))[:6]
stem, python, abi, _ = os.path.basename(source).removesuffix(".whl").rsplit("-", 3)
tag = f"{python}-{abi}-{platform}"
info = f"{stem}.dist-info/"
own = info + "licenses/python/licenses/"
is_windows = platform.startswith("win")

with zipfile.ZipFile(source) as archive:
    files = {entry.filename: (archive.read(entry), entry.external_attr >> 16 & 0o111)
             for entry in archive.infolist() if not entry.is_dir()}


def replaced(text: str, pattern: str, by: str) -> str:
    new, n = re.subn(pattern, lambda _: by, text, flags=re.MULTILINE)
    assert n == 1, f"{source}: {n} times {pattern}"
    return new


for name in [name for name in files if name.startswith(own) or name == info + "RECORD"]:
    del files[name]
texts = sorted(os.listdir(licences))
for name in texts:
    with open(os.path.join(licences, name), "rb") as f:
        files[own + name] = (f.read(), 0)
metadata = files[info + "METADATA"][0].decode()
metadata = re.sub(r"^License-File: python/.*\n", "", metadata, flags=re.MULTILINE)
terms = "MIT AND BSD-3-Clause" + (" AND ZPL-2.1" if is_windows else "")
metadata = replaced(metadata, "^License-Expression: .*$", "License-Expression: " + terms)
metadata = replaced(metadata, "^License-File: LICENSE\n",
                    "License-File: LICENSE\n" + "".join(f"License-File: python/licenses/{name}\n" for name in texts))
files[info + "METADATA"] = (metadata.encode(), 0)
files[info + "WHEEL"] = (replaced(files[info + "WHEEL"][0].decode(), "^Tag: .*$", "Tag: " + tag).encode(), 0)
if is_windows:
    points, _ = files.get(info + "entry_points.txt", (b"", 0))
    files[info + "entry_points.txt"] = (points.rstrip() + b"\n\n[console_scripts]\ntare = tare.__main__:main\n", 0)

record = io.StringIO()
rows = csv.writer(record, lineterminator="\n")
for name in sorted(files):
    digest = base64.urlsafe_b64encode(hashlib.sha256(files[name][0]).digest()).rstrip(b"=").decode()
    rows.writerow([name, "sha256=" + digest, len(files[name][0])])
rows.writerow([info + "RECORD", "", ""])
path = os.path.join(folder, f"{stem}-{tag}.whl")
with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
    for name in [*sorted(files), info + "RECORD"]:
        data, mode = files.get(name) or (record.getvalue().encode(), 0)
        entry = zipfile.ZipInfo(name, when)
        entry.external_attr = (0o100644 | mode) << 16
        archive.writestr(entry, data, zipfile.ZIP_DEFLATED, 9)
print(f"{os.path.basename(path)}: {os.path.getsize(path)} bytes")
