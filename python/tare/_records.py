# SPDX-License-Identifier: MIT
"""What calls return: small classes with named members, and findings."""
from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable

    import numpy as np

    from ._tensor import Tensor

LEVELS = ("info", "warning", "error")


def size_text(n: float) -> str:
    """"4.92 GB", as the command writes it."""
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if n < 999.5 or unit == "TB":
            break
        n /= 1000
    return f"{n:.0f} {unit}" if unit == "B" or n >= 99.95 else f"{n:.{1 if n >= 9.995 else 2}f} {unit}"


def counted(n: int, word: str) -> str:
    return f"{n:,} {word}{'' if n == 1 else 's'}"


def nearest(word: object, words: Iterable[str]) -> str:
    """"; did you mean 'a' or 'b'?", where some of the words resemble this one."""
    if not isinstance(word, str):
        return ""
    from difflib import get_close_matches
    by_letters = {name.lower(): name for name in list(words)[:20000]}
    found = [by_letters[near] for near in get_close_matches(word.lower(), by_letters, n=2, cutoff=0.75)]
    return f"; did you mean {' or '.join(map(repr, found))}?" if found else ""


class MissingKey(KeyError):
    """A KeyError that says what may have been meant. That is looked for when somebody reads it: many
    programs ask for what may be missing."""

    def __init__(self, key: object, what: str = "key", names: Iterable[str] = ()) -> None:
        super().__init__(key, what)
        self._names = names

    def __reduce__(self) -> tuple[Any, ...]:
        return MissingKey, self.args

    def __str__(self) -> str:
        key, what = self.args
        return f"no {what} {key!r}{nearest(key, self._names)}"


class Names(dict[str, Any] if TYPE_CHECKING else dict):  # type: ignore[misc]
    """Things by their names; a missing one is a MissingKey."""

    def __init__(self, what: str, items: Any) -> None:
        super().__init__(items)
        self.what = what

    def __missing__(self, key: object) -> Any:
        raise MissingKey(key, self.what, self)

    def __reduce__(self) -> tuple[Any, ...]:
        return Names, (self.what, dict(self))


def table(title: str, rows: Iterable[tuple[str, object]]) -> str:
    """HTML for notebooks: a title and rows of two cells."""
    from html import escape
    cells = "".join(f"<tr><th style='text-align:left'>{escape(name)}</th><td style='text-align:left'>{escape(str(value))}</td></tr>"
                    for name, value in rows)
    return f"<table><caption style='text-align:left'><b>{escape(title)}</b></caption>{cells}</table>"


class Record:
    """Values with names, in the order of __slots__."""

    __slots__: tuple[str, ...] = ()

    def __init__(self, *values: Any) -> None:
        for name, value in zip(self.__slots__, values, strict=True):
            setattr(self, name, value)

    def _parts(self) -> list[str]:
        """What a line about it says, where that is not all of its members."""
        return []

    def __repr__(self) -> str:
        parts = self._parts()
        if parts:
            return f"<{type(self).__name__} {', '.join(parts)}>"
        inner = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
        return f"{type(self).__name__}({inner})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and all(
            getattr(self, name) == getattr(other, name) for name in self.__slots__)

    def __hash__(self) -> int:
        return hash(tuple(getattr(self, name) for name in self.__slots__))


class Finding(Record):
    """One thing that opening, converting or verifying reports."""

    __slots__ = ("level", "status", "code", "path", "offset", "item", "item_name", "text")
    level: str  # "info", "warning", "error"
    status: str  # the status it would be, were it fatal
    code: str
    path: str  # "" for the only input
    offset: int | None
    item: int | None
    item_name: str
    text: str

    def __str__(self) -> str:
        where = ": ".join(part for part in (self.path, self.item_name) if part)
        return f"{self.level}: {where + ': ' if where else ''}{self.text} ({self.code})"


def note(line: str, level: int = 20) -> None:
    """Whoever has logging gets it there; nothing is printed unless somebody asks."""
    if "logging" not in sys.modules:
        return
    logging = sys.modules["logging"]
    log = logging.getLogger("tare")
    if not log.handlers:
        log.addHandler(logging.NullHandler())
    log.log(level, "%s", line)


def findings(rows: Iterable[tuple[Any, ...]]) -> tuple[Finding, ...]:
    """Findings from what the extension returns. Whoever has logging gets them there as well."""
    from ._errors import STATUS
    from ._spell import spell
    out = tuple(Finding(LEVELS[row[0]], STATUS[row[1]], *row[2:7], spell(row[7])) for row in rows)
    for f in out:
        note(str(f), {"info": 20, "warning": 30, "error": 40}[f.level])
    return out


class Info(Record):
    """A model as a whole."""

    __slots__ = ("format", "version", "is_big_endian", "is_truncated", "alignment", "n_tensors",
                 "n_metadata", "n_resources", "n_files", "n_parameters", "file_nbytes",
                 "tensor_nbytes", "directory_nbytes", "architecture", "has_pairs", "files",
                 "parameters", "container")
    format: str
    version: int
    is_big_endian: bool
    is_truncated: bool
    alignment: int
    n_tensors: int
    n_metadata: int
    n_resources: int
    n_files: int
    n_parameters: int  # elements of all tensors
    file_nbytes: int
    tensor_nbytes: int
    directory_nbytes: int
    architecture: str
    has_pairs: bool  # a safetensors __metadata__, even if it is empty
    files: tuple[FileInfo, ...]
    parameters: dict[str, int]  # hyperparameters that are known: "context_length", ...
    container: Container | None  # of a .wcodec


class FileInfo(Record):
    """A file of a model, or one that was written."""

    __slots__ = ("path", "nbytes")
    path: str | None
    nbytes: int


class Base(Record):
    """A model that a .wcodec was packed against."""

    __slots__ = ("name", "digest", "n_tensors")
    name: str
    digest: bytes
    n_tensors: int


class Container(Record):
    """The .wcodec itself; the model's other members describe what is packed in it."""

    __slots__ = ("major_version", "minor_version", "format", "format_version", "packed_nbytes",
                 "unpacked_nbytes", "is_directory", "n_files", "is_for_gpu", "bases")
    major_version: int
    minor_version: int
    format: str | None
    format_version: int
    packed_nbytes: int
    unpacked_nbytes: int
    is_directory: bool
    n_files: int
    is_for_gpu: bool
    bases: tuple[Base, ...]


class PackedFile(Record):
    """A file that a .wcodec was packed from."""

    __slots__ = ("name", "nbytes", "packed_nbytes", "n_tensors", "n_derived", "n_weights", "tensor_nbytes")
    name: str
    nbytes: int
    packed_nbytes: int  # what only it takes there
    n_tensors: int
    n_derived: int  # tensors that are made of others when they are read, or stored as others
    n_weights: int
    tensor_nbytes: int

    @property
    def bits_per_weight(self) -> float:
        """Of its tensors, unpacked; 0 where it has none."""
        return 8 * self.tensor_nbytes / self.n_weights if self.n_weights else 0.0


class Adapter(Record):
    """A pair of low-rank factors that the model holds beside its tensors: scale * A @ B is added to a
    matrix."""

    __slots__ = ("name", "rows", "columns", "rank", "scale", "is_transposed", "a", "b")
    name: str
    rows: int
    columns: int
    rank: int
    scale: float
    is_transposed: bool  # the transposes of A and B are stored
    a: Tensor  # the factors, as they are stored
    b: Tensor

    def factors(self, dtype: Any = None) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """A (rows, rank) and B (rank, columns) as arrays of numpy, transposed back where they are
        stored so."""
        a, b = self.a.numpy(dtype), self.b.numpy(dtype)
        return (a.T, b.T) if self.is_transposed else (a, b)


class Format(Record):
    """A container format."""

    __slots__ = ("name", "description", "suffix", "can_write", "is_directory")
    name: str
    description: str
    suffix: str
    can_write: bool
    is_directory: bool


class Mix(Record):
    """A named choice of number formats for the tensors of a model ("Q4_K_M")."""

    __slots__ = ("name", "file_type", "type", "needs_importance", "description")
    name: str
    file_type: int
    type: str | None
    needs_importance: bool
    description: str
