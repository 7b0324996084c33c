# SPDX-License-Identifier: MIT
"""Number formats, and arrays encoded and decoded without a model."""
from __future__ import annotations

from _collections_abc import Sequence  # collections.abc loads all of collections

from . import _core
from ._dtypes import BF16, F16, F32, PLAIN, numpy_dtype, wanted
from ._errors import NeedsImportanceError, UnsupportedError
from ._records import Format, Mix, Names, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import numpy as np
    import torch

KINDS = ("unknown", "float", "integer", "complex", "block")
SCOPES = ("elements", "row", "tensor", "list")
NUMBERS = ("mixed", "integer", "float", "complex", "bool")


class Plane(Record):
    """One array of an encoding: scales, codes, blocks."""

    __slots__ = ("name", "scope", "unit", "unit_bytes", "number", "number_bits", "is_signed")
    name: str
    scope: str  # "elements", "row", "tensor", "list": what unit_bytes are for
    unit: int  # elements along the last dimension
    unit_bytes: int
    number: str  # "integer", "float", ...; "mixed" where a unit holds several kinds
    number_bits: int
    is_signed: bool


class Planes(Sequence[memoryview]):
    """The stored bytes of a tensor, one read-only memoryview for each plane.

    >>> planes = tare.encodings["q8_0"].encode(numpy.ones((2, 32), "float32"))
    >>> planes.names, len(planes[0])
    (('blocks',), 68)
    """

    __slots__ = ("names", "_parts", "_read")

    def __init__(self, names: tuple[str, ...], parts: list[Any], read: Any = None) -> None:
        self.names = names
        self._parts = parts
        self._read = read

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, str):
            if index not in self.names:
                raise KeyError(f"{index}: the planes are {', '.join(self.names)}")
            index = self.names.index(index)
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(f"plane {index} of {len(self)}")
        index %= len(self)
        if self._parts[index] is None:
            self._parts[index] = self._read(index)
        return memoryview(self._parts[index]).toreadonly()

    def __repr__(self) -> str:
        return f"Planes({', '.join(self.names)})"


class Encoding:
    """A number format.

    name    what the command prints and digests hash: "bf16", "q4_k"
    kind    "float", "integer", "complex", "block" or "unknown"
    bits    bits of an element, scales included
    block   elements of a block; 1 for plain numbers
    planes  the arrays that its bits are in

    >>> tare.encodings["q4_k"].bits
    4.5
    """

    __slots__ = ("name", "id", "kind", "bits", "block", "planes", "can_decode", "can_encode",
                 "needs_importance")

    def __init__(self, row: tuple[Any, ...]) -> None:
        self.name: str = row[0]
        self.id: int = row[1]
        self.kind: str = KINDS[row[2]]
        self.bits: float = row[3]
        self.block: int = row[4]
        self.planes: tuple[Plane, ...] = tuple(
            Plane(p[0], SCOPES[p[1]], p[2], p[3], NUMBERS[p[4]], p[5], p[6]) for p in row[5])
        self.can_decode: bool = row[6]
        self.can_encode: bool = row[7]
        self.needs_importance: bool = row[8]

    def __repr__(self) -> str:
        return f"Encoding({self.name!r})"

    def __str__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Any, ...]:
        return (encoding, (self.id,))

    def numpy_dtype(self) -> np.dtype[Any]:
        """The dtype of numpy or ml_dtypes; of blocks that of what they decode to, float32."""
        return numpy_dtype(self.id if self.id in PLAIN or self.kind != "block" else F32)

    def torch_dtype(self) -> torch.dtype:
        """The torch.dtype; of blocks that of what they decode to, float32."""
        import torch
        row = PLAIN.get(self.id if self.kind != "block" else F32)
        dtype = getattr(torch, row[1], None) if row else torch.uint8
        if dtype is None:
            raise UnsupportedError(f"this release of torch has no dtype for {self.name}")
        return dtype

    def sizes(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Bytes of each plane of a tensor of this shape."""
        return _core.encoding_sizes(self.id, tuple(shape))

    def encode(self, array: Any, *, importance: Any = None, quality: str = "default") -> Planes:
        """Encodes an array of floats, whose last dimension are the rows of the blocks.

        importance: one weight for each column. quality: "default" is byte for byte what the
        format's reference encoder writes, "best" has a smaller error.

        >>> planes = tare.encodings["q8_0"].encode(numpy.ones((2, 64)))
        >>> len(planes[0])
        136
        """
        import numpy as np
        values = np.asarray(array, dtype=np.float32, order="C")
        if quality not in ("default", "best"):
            raise ValueError(f"quality: {quality!r} is not \"default\" or \"best\"")
        if not self.can_encode:
            raise UnsupportedError(f"{self.name} cannot be encoded")
        if self.needs_importance and importance is None:
            raise NeedsImportanceError(f"{self.name} needs importance: one weight for each column")
        rows, columns = _rows(values.shape)
        if columns % self.block:
            raise ValueError(f"rows of {columns} numbers are no whole blocks of {self.name}, "
                             f"which have {self.block}")
        if importance is not None:
            importance = np.ascontiguousarray(importance, dtype=np.float32)
        parts: list[Any] = [_core.allocate(n) for n in self.sizes((rows, columns))]
        _core.encode(self.id, values, rows, columns, parts, importance, quality == "best")
        return Planes(tuple(p.name for p in self.planes), parts)

    def decode(self, planes: Any, shape: tuple[int, ...], dtype: Any = "f32") -> np.ndarray[Any, Any]:
        """Decodes the bytes of a tensor to float32, float16 or bfloat16.

        planes: bytes-like objects, one for each plane; a single one may stand alone.

        >>> planes = tare.encodings["q8_0"].encode(numpy.ones((2, 64)))
        >>> tare.encodings["q8_0"].decode(planes, (2, 64), "float16").dtype
        dtype('float16')
        """
        import numpy as np
        id = wanted(dtype)
        if id not in (F32, F16, BF16):
            raise UnsupportedError("numbers are decoded to float32, float16 or bfloat16")
        if isinstance(planes, (bytes, bytearray, memoryview)) or hasattr(planes, "__array_interface__"):
            planes = [planes]
        if not self.can_decode:
            raise UnsupportedError(f"{self.name} cannot be decoded")
        rows, columns = _rows(tuple(shape))
        out = _core.allocate(rows * columns * (4 if id == F32 else 2))
        _core.decode(self.id, list(planes), rows, columns, id, out)
        return np.ndarray(tuple(shape), numpy_dtype(id), out)  # type: ignore[arg-type]


def _rows(shape: tuple[int, ...]) -> tuple[int, int]:
    rows = 1
    for d in shape[:-1]:
        rows *= d
    return rows, shape[-1] if shape else 1


_encodings: dict[int, Encoding] = {}


def encoding(id: int) -> Encoding:
    """The encoding of the library's number."""
    found = _encodings.get(id)
    if found is None:
        row = _core.encoding_info(id)
        if row is None:
            raise KeyError(id)
        found = _encodings[id] = Encoding(row)
    return found


def all_encodings() -> dict[str, Encoding]:
    out = Names("encoding", ())
    id = 1
    while _core.encoding_info(id) is not None:
        out[encoding(id).name] = encoding(id)
        id += 1
    return out


def all_formats() -> dict[str, Format]:
    return Names("format", ((row[0], Format(*row)) for row in _core.formats()))


def all_mixes() -> dict[str, Mix]:
    return Names("mix", ((row[0], Mix(*row)) for row in _core.mixes()))
