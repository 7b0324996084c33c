# SPDX-License-Identifier: MIT
"""The page about models, which the command makes that comes with the package."""
from __future__ import annotations

import errno
import json
import os

from ._errors import STATUS, make_error
from ._records import counted
from ._source import listed, path_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Sequence

    from ._verbs import Path

_STATUS_OF_EXIT = {2: "arg", 3: "corrupt", 4: "io", 5: "unsupported", 6: "nomem"}


def _run(arguments: list[str]) -> dict[str, Any]:
    """The document that the command prints; its error as an exception."""
    import subprocess

    from .__main__ import find_command
    command = find_command()
    if command is None:
        raise RuntimeError("report: the command tare, which makes the page, is not installed")
    done = subprocess.run([command, "report", "--json", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          stdin=subprocess.DEVNULL)
    if done.returncode == 0:
        return Facts(json.loads(done.stdout))
    try:
        fault = json.loads(done.stdout)
    except ValueError:
        fault = {}
    line = fault.get("line") or done.stderr.decode(errors="replace").partition("\n")[0].removeprefix("tare: ")
    raise make_error(STATUS.index(_STATUS_OF_EXIT.get(done.returncode, "io")), fault.get("code"), fault.get("file"),
                     fault.get("offset"), None, 0, fault.get("item_name"), fault.get("field"), 0, fault.get("text"), line)


def _word(path: Path) -> str:
    """A path as an argument that is no option, and not standard output."""
    text = path_text(path)
    return os.path.join(".", text) if text[:1] == "-" else text


def _input(path: Path) -> str:
    text = path_text(path)
    if "://" not in text and not os.path.exists(text):
        error = errno.ENOENT
        raise make_error(STATUS.index("io"), None, text, None, None, 0, None, None, error, os.strerror(error),
                         f"{text}: cannot be opened: {os.strerror(error)}")
    return _word(text)


class Facts(dict[str, Any] if TYPE_CHECKING else dict):  # type: ignore[misc]
    """The document, whose text would fill many screens."""

    def __repr__(self) -> str:
        models = self["models"]
        return f"<Facts {counted(len(models), 'model')}, {counted(sum(len(m['tensors']) for m in models), 'tensor')}>"


def report(src: Path | Sequence[Path], dst: Path | None = None, *, against: Path | None = None, header_only: bool = False,
           base: Path | Sequence[Path] = (), force: bool = False, dry_run: bool = False, no_sync: bool = False,
           threads: int = 0) -> dict[str, Any]:
    """Makes a page, one HTML file, that shows what is in a model, or in several side by side; returns the facts on it
    as the command's --json prints them. Models are named by paths or URLs.

    dst          the page; None: only the facts are wanted
    against      the model that they were made from: shows how much each tensor differs
    header_only  reads no values
    base         models that a .wcodec among them was packed against

    >>> facts = tare.report("tiny.gguf", "tiny.html", force=True)
    >>> facts["models"][0]["format"]
    'gguf'
    """
    many: list[Any] = list(src) if isinstance(src, (list, tuple)) else [src]
    if not many or not all(isinstance(path, (str, bytes, os.PathLike)) for path in many):
        raise TypeError("report: a path or URL expected, or several; save() writes a model from memory")
    arguments = [_input(path) for path in many]
    for name, path in [("against", against), *(("base", path) for path in listed(base))]:
        arguments += [] if path is None else [f"--{name}", _input(path)]
    if dst is not None:
        arguments += ["--output", _word(dst)]
    arguments += [f"--{name}" for name, given in (("header-only", header_only), ("force", force), ("dry-run", dry_run),
                                                  ("no-sync", no_sync)) if given]
    return _run([*arguments, f"--threads={threads}"])
