# SPDX-License-Identifier: MIT
"""Outputs that many machines make in parts (docs/SCALE.md): which are there, and putting them together. A part
is written by convert(), quantize() and pack() with `part`."""
from __future__ import annotations


from . import _core
from ._progress import adapt
from ._records import Finding, Record, size_text
from ._records import findings as make_findings
from ._source import path_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._verbs import Path


class Part(Record):
    """A part of an output, or what lies beside them and must not."""

    __slots__ = ("index", "count", "state", "name")
    index: int  # from 1
    count: int
    state: str  # done, missing, unfinished, stale, foreign, doubled, damaged
    name: str  # of its file; "" where it is missing


class JoinResult(Record):
    """What join() made."""

    __slots__ = ("path", "nbytes", "n_files", "is_directory", "n_parts", "findings")
    path: str
    nbytes: int
    n_files: int
    is_directory: bool
    n_parts: int
    findings: tuple[Finding, ...]

    def _parts(self) -> list[str]:
        return [self.path, size_text(self.nbytes), f"of {self.n_parts} parts"]


def parts(dst: Path) -> tuple[Part, ...]:
    """The parts of an output: each that there has to be, then what is there besides.

    >>> for i in 1, 2: _ = tare.convert("tiny.gguf", "p.safetensors", part=(i, 2), force=True)
    >>> [part.state for part in tare.parts("p.safetensors")]
    ['done', 'done']
    """
    return tuple(Part(*row) for row in _core.parts(path_text(dst))[2])


def join(dst: Path, *, output: Path | None = None, keep: bool = False, force: bool = False, no_sync: bool = False,
         progress: Any = None) -> JoinResult:
    """Makes an output of its parts, byte for byte what one call would have written, and removes them unless
    `keep`. `output`: another path for it.

    >>> for i in 1, 2: _ = tare.convert("tiny.gguf", "j.safetensors", part=(i, 2))
    >>> tare.join("j.safetensors").n_parts
    2
    """
    path = path_text(dst)
    other = None if output is None else path_text(output)
    row = _core.join(path, other, keep, force, not no_sync, adapt(progress))
    return JoinResult(other or path, *row[:4], make_findings(row[4]))
