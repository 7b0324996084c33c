# SPDX-License-Identifier: MIT
"""The bytes of a GGUF file as arrays over a map of it: what tare.gguf shows of a plain file, and
changes in one that is opened to be written to. The library has checked the directory before."""
from __future__ import annotations

import os
import struct
import sys

import numpy as np

from ._model import VALUE_TYPES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Numbers = np.ndarray[Any, Any]

_STR, _ARRAY = VALUE_TYPES.index("str"), VALUE_TYPES.index("array")
_FIRST_KEY = 24  # magic, version, two counts


def scalar_dtype(type: str) -> np.dtype[Any]:
    """The dtype of a number of metadata."""
    return np.dtype("?" if type == "bool" else type[0] + str(int(type[1:]) // 8))


_DTYPES = [None if t in ("str", "array") else scalar_dtype(t) for t in VALUE_TYPES]


def is_gguf(path: Any) -> bool:
    """Whether a path is that of a file of a version that has counts of 64 bits."""
    if not isinstance(path, (str, os.PathLike)) or not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        head = file.read(8)
    return head[:4] == b"GGUF" and head[4:] not in (b"\1\0\0\0", b"\0\0\0\1")


class GGUFFile:
    """A map of a file. order: "I", or "S" where numbers are in the other byte order."""

    def __init__(self, path: Any, mode: str, order: str) -> None:
        self.data: Numbers = np.memmap(path, mode=mode)  # type: ignore[call-overload]
        self._bytes = memoryview(self.data)
        self.order = order
        big = (order == "S") == (sys.byteorder == "little")
        self._u32, self._u64 = (struct.Struct((">" if big else "<") + letter) for letter in "IQ")

    def get(self, offset: int, dtype: Any, count: int = 1) -> Numbers:
        """Numbers of the file, under their byte order."""
        dtype = np.dtype(dtype)
        part = self.data[offset:offset + dtype.itemsize * count].view(dtype)
        return part.view(dtype.newbyteorder(self.order))  # type: ignore[no-any-return]

    def u32(self, offset: int) -> int:
        return int(self._u32.unpack_from(self._bytes, offset)[0])

    def u64(self, offset: int) -> int:
        return int(self._u64.unpack_from(self._bytes, offset)[0])

    def text(self, offset: int) -> list[Numbers]:
        """A length and its bytes."""
        return [self.get(offset, np.uint64), self.get(offset + 8, np.uint8, self.u64(offset))]

    # ---- keys

    def name(self, offset: int) -> str:
        """Of the key or the tensor whose record is there."""
        n = self.u64(offset)
        return bytes(self.data[offset + 8:offset + 8 + n]).decode("utf-8", "surrogateescape")

    def value(self, offset: int, type: int, parts: list[Numbers], data: list[int]) -> int:
        """Adds the arrays of a value, and which of them belong to it; the byte behind it."""
        dtype = _DTYPES[type]
        if dtype is not None:
            data.append(len(parts))
            parts.append(self.get(offset, dtype))
            return offset + dtype.itemsize
        if type == _STR:
            parts += self.text(offset)
            data.append(len(parts) - 1)
            return offset + 8 + self.u64(offset)
        inner, n = self.u32(offset), self.u64(offset + 4)
        parts += [self.get(offset, np.uint32), self.get(offset + 4, np.uint64)]
        offset += 12
        dtype = _DTYPES[inner]
        if dtype is None:
            for _ in range(n):
                offset = self.value(offset, inner, parts, data)
            return offset
        first, numbers = len(parts), self.get(offset, dtype, n)
        parts += (numbers[i:i + 1] for i in range(n))
        data += range(first, first + n)
        return offset + numbers.nbytes

    def after_value(self, offset: int, type: int) -> int:
        """The byte behind a value."""
        dtype = _DTYPES[type]
        if dtype is not None:
            return offset + dtype.itemsize
        if type == _STR:
            return offset + 8 + self.u64(offset)
        inner, n = self.u32(offset), self.u64(offset + 4)
        offset += 12
        dtype = _DTYPES[inner]
        if dtype is not None:
            return offset + n * dtype.itemsize
        for _ in range(n):
            offset = self.after_value(offset, inner)
        return offset

    def value_at(self, key: int) -> tuple[int, int]:
        """Where the value of a key begins, and its type."""
        at = key + 8 + self.u64(key)
        return at + 4, self.u32(at)

    def keys(self) -> tuple[dict[str, int], int]:
        """The records of all keys by name, and the byte behind them."""
        found, at = {}, _FIRST_KEY
        for _ in range(self.u64(16)):
            found[self.name(at)] = at
            at = self.after_value(*self.value_at(at))
        return found, at

    def types(self, key: int) -> list[int]:
        """The type of a key; of an array that of its first element behind it, and so on."""
        at, type = self.value_at(key)
        types = [type]
        while types[-1] == _ARRAY and self.u64(at + 4):
            types.append(self.u32(at))
            at += 12
        return types

    # ---- tensors

    def info(self, offset: int) -> list[Numbers]:
        """The record of a tensor: length and bytes of the name, number of dimensions, these, type,
        offset of its data."""
        parts = self.text(offset)
        at = offset + 8 + len(parts[1])
        n_dims = self.u32(at)
        return [*parts, self.get(at, np.uint32), self.get(at + 4, np.uint64, n_dims),
                self.get(at + 4 + 8 * n_dims, np.uint32), self.get(at + 8 + 8 * n_dims, np.uint64)]
