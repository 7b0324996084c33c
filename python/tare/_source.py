# SPDX-License-Identifier: MIT
"""What models are opened from, in the forms that the extension takes."""
from __future__ import annotations

import io
import os
import sys

from _thread import allocate_lock
from _weakrefset import WeakSet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol, Sequence, TypeVar, Union

    class ReadableFile(Protocol):
        """A file object: fsspec's, a zip member, whatever has seek and read."""

        def seek(self, offset: int, whence: int = 0, /) -> int: ...
        def read(self, n: int = -1, /) -> bytes: ...

    OneSource = Union[str, "os.PathLike[str]", "os.PathLike[bytes]", bytes, bytearray, memoryview,
                      int, ReadableFile]
    Source = Union[OneSource, Sequence[OneSource]]
    T = TypeVar("T")
    OneOrMore = Union[T, Sequence[T]]


def path_text(path: str | bytes | os.PathLike[str] | os.PathLike[bytes]) -> str:
    """A path as the library spells it: with "/" between its parts, on Windows, too."""
    text = os.fsdecode(path)
    return text.replace("\\", "/") if sys.platform == "win32" and "://" not in text else text


def listed(given: Any) -> list[Any]:
    """What may be given several times, as a list: one alone, or a list of them."""
    return list(given) if isinstance(given, (list, tuple, set, frozenset)) else [given]


_readers: WeakSet[FileReader] = WeakSet()


def _after_fork() -> None:
    """Locks of threads that the child has not."""
    for reader in list(_readers):
        reader.lock = allocate_lock()


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_after_fork)


class FileReader:
    """Reads ranges of a file object, which several threads of the library may ask for."""

    def __init__(self, file: Any) -> None:
        self.file = file
        self.lock = allocate_lock()
        _readers.add(self)
        self.size: int = file.seek(0, os.SEEK_END)
        self.read_into = getattr(file, "readinto", None)
        fs: Any = getattr(file, "fs", None)  # of fsspec; one with many requests at a time
        self.cat_ranges = fs.cat_ranges if getattr(fs, "async_impl", False) else None

    def read_many(self, ranges: list[tuple[int, memoryview]]) -> None:
        if self.cat_ranges is not None:
            self._cat(ranges)
            return
        with self.lock:
            for offset, view in ranges:
                self._read(offset, view)

    def _cat(self, ranges: list[tuple[int, memoryview]]) -> None:
        assert self.cat_ranges is not None
        pieces = self.cat_ranges([self.file.path] * len(ranges), [offset for offset, _ in ranges],
                                 [offset + len(view) for offset, view in ranges], on_error="raise")
        for (offset, view), piece in zip(ranges, pieces):
            if len(piece) != len(view):
                raise EOFError(f"the file object ends at byte {offset + len(piece)}")
            view[:] = piece

    def _read(self, offset: int, view: memoryview) -> None:
        done = 0
        self.file.seek(offset)
        while done < len(view):
            if self.read_into is not None:
                n = self.read_into(view[done:]) or 0
            else:
                piece = self.file.read(len(view) - done)
                n = len(piece)
                view[done:done + n] = piece
            if not n:
                raise EOFError(f"the file object ends at byte {offset + done}")
            done += n


def _plain_descriptor(file: object) -> int | None:
    """The descriptor of a file object whose bytes are exactly those of its file."""
    raw = file.raw if type(file) in (io.BufferedReader, io.BufferedRandom) else file  # type: ignore
    if type(raw) is not io.FileIO:
        return None
    if hasattr(file, "flush") and type(file) is io.BufferedRandom:
        file.flush()
    return raw.fileno()


def _is_buffer(source: object) -> bool:
    try:
        memoryview(source).release()  # type: ignore[arg-type]
    except TypeError:
        return False
    return True


def _one(source: object) -> tuple[object, str | None]:
    if isinstance(source, (str, os.PathLike)):
        return path_text(source), os.fsdecode(source)
    if isinstance(source, int) and not isinstance(source, bool):
        return source, None
    if isinstance(source, io.BytesIO):
        return source.getvalue(), None
    if isinstance(source, io.TextIOBase):
        raise TypeError("the file object gives text: open it with mode \"rb\"")
    if _is_buffer(source):  # before file objects, for mmap's are both
        return source, None
    if hasattr(source, "seek") and hasattr(source, "read"):
        name = getattr(source, "name", None) or getattr(source, "path", None)
        descriptor = _plain_descriptor(source)
        return (FileReader(source) if descriptor is None else descriptor,
                name if isinstance(name, str) else None)
    raise TypeError(f"cannot open {type(source).__name__}: a path, bytes, a descriptor or a "
                    "file object expected")


def prepare(source: Source) -> tuple[object, str | None]:
    """A source for the extension, and what messages call it."""
    if isinstance(source, (list, tuple)):
        parts = [_one(part) for part in source]
        return [part for part, _ in parts], parts[0][1] if parts else None
    return _one(source)
