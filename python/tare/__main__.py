# SPDX-License-Identifier: MIT
"""`python -m tare`: the command that came with the package."""
from __future__ import annotations

import os
import subprocess
import sys
import sysconfig


def find_command() -> str | None:
    """The command's path: as the package's record says, else among this Python's scripts, or that of a build; on
    Windows beside the library that it loads."""
    here = os.path.dirname(os.path.abspath(__file__))
    if os.name == "nt":
        path = os.path.join(here, "tare.exe")
        return path if os.path.isfile(path) else None
    from importlib import metadata
    try:
        files = metadata.files("libtare") or []
    except metadata.PackageNotFoundError:
        files = []
    paths = [str(file.locate()) for file in files
             if file.name == "tare" and file.parent.name in ("bin", "Scripts")]
    paths.append(os.path.join(sysconfig.get_path("scripts"), "tare"))
    paths.append(os.path.join(here, "..", "..", "cli", "tare"))
    for path in paths:
        if os.access(path, os.X_OK) and os.path.isfile(path):
            return os.path.abspath(path)
    return None


def main() -> int:
    command = find_command()
    if command is None:
        print("tare: the command is not installed with this package", file=sys.stderr)
        return 2
    if os.name == "nt":  # where a process cannot become another
        return subprocess.call([command, *sys.argv[1:]])
    os.execv(command, ["tare", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
