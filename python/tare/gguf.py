# SPDX-License-Identifier: MIT
"""The reader of the package gguf (gguf-py), for every container that tare opens.

    from tare.gguf import GGUFReader

    reader = GGUFReader("model.gguf")
    reader.fields["general.architecture"].contents()
    reader.tensors[0].data

Opening reads the directory only: fields, their parts and the data of tensors are made when asked for.
Those of a plain GGUF file are views of a map of it, which mode "r+" opens to be written to.
"""
from __future__ import annotations

import sys
from _collections_abc import Iterator, Mapping
from enum import IntEnum
from functools import cached_property

import numpy as np

from ._dtypes import PLAIN
from ._encodings import Encoding, all_encodings
from ._errors import UnsupportedError
from ._gguf_file import GGUFFile, is_gguf, scalar_dtype
from ._model import VALUE_TYPES, Array, open

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Sequence

    from ._model import Model
    from ._source import Source
    from ._tensor import Tensor

    Numbers = np.ndarray[Any, Any]

__all__ = ["GGMLQuantizationType", "GGUFEndian", "GGUFReader", "GGUFValueType", "ReaderField",
           "ReaderTensor", "dequantize", "quantize"]

# Types whose data the reader of gguf-py gives as numbers; all others are bytes.
_NUMBERS = ("F32", "F16", "F64", "I8", "I16", "I32", "I64")


class GGMLQuantizationType(IntEnum):
    """The types of ggml, under its names and numbers."""

    F32, F16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q8_1 = 0, 1, 2, 3, 6, 7, 8, 9
    Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, Q8_K = 10, 11, 12, 13, 14, 15
    IQ2_XXS, IQ2_XS, IQ3_XXS, IQ1_S, IQ4_NL, IQ3_S, IQ2_S, IQ4_XS = 16, 17, 18, 19, 20, 21, 22, 23
    I8, I16, I32, I64, F64, IQ1_M, BF16 = 24, 25, 26, 27, 28, 29, 30
    TQ1_0, TQ2_0, MXFP4, NVFP4, Q1_0, Q2_0 = 34, 35, 39, 40, 41, 42

    @classmethod
    def _missing_(cls, value: object) -> Any:
        """A member for a number that has no name; below 0 it is one of tare's formats."""
        if not isinstance(value, int):
            return None
        names = {-e.id: name.upper() for name, e in all_encodings().items()}
        member = int.__new__(cls, value)
        member._name_ = names.get(value, f"UNKNOWN_{value}")
        member._value_ = value
        return member


_VALUES = ("UINT8", "INT8", "UINT16", "INT16", "UINT32", "INT32", "FLOAT32", "BOOL", "STRING", "ARRAY",
           "UINT64", "INT64", "FLOAT64")
#: The types of fields.
GGUFValueType = IntEnum("GGUFValueType", {name: i for i, name in enumerate(_VALUES)})  # type: ignore[misc]


_STRING, _ARRAY = _VALUES.index("STRING"), _VALUES.index("ARRAY")


class GGUFEndian(IntEnum):
    """The byte order of a file."""

    LITTLE, BIG = 0, 1


def _text_parts(text: str | bytes) -> list[Numbers]:
    data = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
    return [np.array([len(data)], np.uint64), np.frombuffer(data, np.uint8)]


class _Row:
    """What is a named tuple in gguf-py: members by name, in their order."""

    _fields: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Any]:
        return (getattr(self, name) for name in self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __getitem__(self, index: Any) -> Any:
        return tuple(self)[index]

    def _asdict(self) -> dict[str, Any]:
        return dict(zip(self._fields, self))


class ReaderField(_Row):
    """A key: name, types (of an array its own, then that of its elements), and contents().

    parts are arrays as the file holds them: length and bytes of the name, the type, then the value;
    data are the indices in parts of what belongs to the value; offset is the byte of the file where
    the record begins. In containers that are no GGUF file the parts are made, and offset is -1.
    """

    _fields = ("offset", "name", "parts", "data", "types")

    def __init__(self, name: str, type: str, value: Any, is_key: bool = True) -> None:
        self.offset = -1
        self.name = name
        self._type = type
        self._value = value
        self._is_key = is_key

    @cached_property
    def types(self) -> list[Any]:
        """Its type; of an array that of its elements behind it."""
        types, value = [self._type], self._value
        while isinstance(value, Array) and len(value):
            types.append(value.type)
            value = value[0] if value.type == "array" else None
        return [GGUFValueType(VALUE_TYPES.index(t)) for t in types]

    def contents(self, index_or_slice: int | slice = slice(None)) -> Any:
        """The value; of an array all of it, one element or a slice. Arrays of arrays are one list."""
        if not isinstance(self._value, Array):
            return self._value
        if self._value.type == "array":
            return _elements(self, index_or_slice)
        if isinstance(index_or_slice, int):
            return self._value[index_or_slice]
        return self._value.tolist()[index_or_slice]

    @cached_property
    def _made(self) -> tuple[list[Numbers], list[int]]:
        parts: list[Numbers] = []
        if self._is_key:
            parts = [*_text_parts(self.name), np.array([VALUE_TYPES.index(self._type)], np.uint32)]
        return parts, self._add(parts, self._type, self._value)

    def _add(self, parts: list[Numbers], type: str, value: Any) -> list[int]:
        if type == "str":
            parts += _text_parts(value)
            return [len(parts) - 1]
        if type != "array":
            parts.append(np.array([value], scalar_dtype(type)))
            return [len(parts) - 1]
        parts.append(np.array([VALUE_TYPES.index(value.type)], np.uint32))
        parts.append(np.array([len(value)], np.uint64))
        if value.type not in ("str", "array"):
            first = len(parts)
            numbers = value.numpy()
            parts += (numbers[i:i + 1] for i in range(len(numbers)))
            return list(range(first, len(parts)))
        return [i for element in value for i in self._add(parts, value.type, element)]

    @property
    def parts(self) -> list[Numbers]:
        """The arrays that the file holds one after the other."""
        return self._made[0]

    @property
    def data(self) -> list[int]:
        """The indices in parts of what belongs to the value."""
        return self._made[1]

    def __repr__(self) -> str:
        return f"ReaderField({self.name!r}, {[t.name for t in self.types]})"


def _elements(field: ReaderField, index_or_slice: int | slice) -> Any:
    """Of an array's elements one or several, from the parts."""
    def element(part: Numbers) -> Any:
        return str(part.tobytes(), "utf-8") if is_text else part.tolist()[0]

    is_text = field.types[-1] == _STRING
    if isinstance(index_or_slice, int):
        return element(field.parts[field.data[index_or_slice]])
    return [element(field.parts[i]) for i in field.data[index_or_slice]]


class _FileField(ReaderField):
    """A key of a GGUF file, over its bytes."""

    def __init__(self, file: GGUFFile, offset: int, name: str) -> None:
        self._file, self.offset, self.name = file, offset, name

    @cached_property
    def types(self) -> list[Any]:
        return [GGUFValueType(t) for t in self._file.types(self.offset)]

    @cached_property
    def _made(self) -> tuple[list[Numbers], list[int]]:
        at, type = self._file.value_at(self.offset)
        parts = [*self._file.text(self.offset), self._file.get(at - 4, np.uint32)]
        data: list[int] = []
        self._file.value(at, type, parts, data)
        return parts, data

    def contents(self, index_or_slice: int | slice = slice(None)) -> Any:
        if not self.types:
            return None
        return _elements(self, index_or_slice if self.types[0] == _ARRAY else 0)


class _CountField(_FileField):
    """The version and the counts, which stand before the keys."""

    def __init__(self, file: GGUFFile, offset: int, name: str, type: str) -> None:
        super().__init__(file, offset, name)
        self.types = [GGUFValueType(VALUE_TYPES.index(type))]
        self._made = [file.get(offset, scalar_dtype(type))], [0]


class _InfoField(_FileField):
    """The record of a tensor."""

    def __init__(self, file: GGUFFile, offset: int) -> None:
        super().__init__(file, offset, file.name(offset))
        self.types = []
        self._made = file.info(offset), [1, 3, 4, 5]


class ReaderTensor(_Row):
    """A tensor: name, tensor_type, shape (innermost first, as ggml counts), n_elements, n_bytes,
    data_offset (None where no file holds the bytes as they are), data and field, its record in a GGUF
    file (None elsewhere).

    data are F16, F32, F64 and integers as numbers, everything else as bytes, shaped outermost first.
    """

    _fields = ("name", "tensor_type", "shape", "n_elements", "n_bytes", "data_offset", "data", "field")
    field: ReaderField | None = None

    def __init__(self, tensor: Tensor, tensor_type: Any) -> None:
        self._tensor = tensor
        self.name = tensor.name
        self.tensor_type = tensor_type
        self.shape: Numbers = np.array(tensor.shape[::-1], np.uint64)
        self.n_elements = tensor.n_elements
        self.n_bytes = tensor.nbytes

    @property
    def data_offset(self) -> int | None:
        """The byte of its file where the data begin; None: no file holds them as they are."""
        place = self._tensor.place
        return None if place is None else place[1]

    @cached_property
    def data(self) -> Numbers:
        """The numbers of F16, F32, F64 and integers; of all else the bytes of the rows."""
        if self.tensor_type.name in _NUMBERS:
            return self._tensor.numpy()
        raw = self._tensor.raw
        flat = np.frombuffer(raw[0] if len(raw) == 1 else b"".join(raw), np.uint8)
        return _rows(flat, self._tensor.shape[:-1])

    def __repr__(self) -> str:
        return f"ReaderTensor({self.name!r}, {self.tensor_type.name}, {self.shape.tolist()})"


def _rows(flat: Numbers, rows: tuple[int, ...]) -> Numbers:
    n_rows = int(np.prod(rows, dtype=np.int64))
    return flat.reshape((*rows, flat.size // n_rows)) if n_rows else flat.reshape((*rows, 0))


class _FileTensor(ReaderTensor):
    """A tensor of a GGUF file, over its bytes: as stored there, which may be a stand-in."""

    def __init__(self, file: GGUFFile, field: _InfoField, data_begin: int, tensor: Tensor) -> None:
        dims, type, offset = field.parts[3:]
        self._file, self.field, self.name = file, field, field.name
        self.tensor_type = GGMLQuantizationType(int(type[0]))
        self.shape = dims
        self._dims = tuple(dims.tolist()[::-1])
        self.n_elements = int(np.prod(dims, dtype=np.uint64))
        self._offset = data_begin + int(offset[0])
        known = all_encodings().get(self.tensor_type.name.lower())
        self.n_bytes = tensor.nbytes if known is None else sum(known.sizes(self._dims))

    @property
    def data_offset(self) -> int:
        return self._offset

    @cached_property
    def data(self) -> Numbers:
        kind = self.tensor_type.name
        if kind not in _NUMBERS:
            return _rows(self._file.get(self._offset, np.uint8, self.n_bytes), self._dims[:-1])
        return self._file.get(self._offset, scalar_dtype(kind.lower()), self.n_elements).reshape(self._dims)


class _Fields(Mapping[str, ReaderField]):
    """The fields in the order of the file, made when asked for."""

    def __init__(self, model: Model, version: int, file: GGUFFile | None) -> None:
        metadata = model.metadata
        self._model, self._file = model, file
        self._made: dict[str, ReaderField] = {}
        for name, type, offset, value in (
                ("GGUF.version", "u32", 4, version), ("GGUF.tensor_count", "u64", 8, len(model)),
                ("GGUF.kv_count", "u64", 16, len(metadata))):
            self._made[name] = (ReaderField(name, type, value, False) if file is None else
                                _CountField(file, offset, name, type))
        self._first = tuple(self._made)
        self._names: Mapping[str, int | None] = metadata._offsets
        if file is not None and file.u64(16) != len(metadata):  # the library acts on some and hides them
            self._names = file.keys()[0]

    def __getitem__(self, name: str) -> ReaderField:
        if name not in self._made:
            offset, metadata = self._names[name], self._model.metadata
            self._made[name] = (
                ReaderField(name, metadata.type(name), metadata[name])
                if self._file is None or offset is None else _FileField(self._file, offset, name))
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        yield from self._first
        yield from self._names

    def __len__(self) -> int:
        return len(self._first) + len(self._names)


class GGUFReader:
    """fields, tensors, alignment, byte_order ("I": this machine's, "S": the other), endianess, data and
    data_offset of a model.

    source is whatever tare.open takes. A GGUF file, alone even if it is one of a set, is mapped: mode
    "r+" writes to the file what is written to the arrays of fields and tensors, "c" keeps it to the
    process. In other containers nothing can be written.

    >>> reader = tare.gguf.GGUFReader("tiny.wcodec")
    >>> reader.fields["general.architecture"].contents(), reader.get_tensor(0).tensor_type.name
    ('llama', 'F32')
    """

    #: The types of numbers of metadata.
    gguf_scalar_to_np = {GGUFValueType(i): scalar_dtype(t).type for i, t in enumerate(VALUE_TYPES)
                         if t not in ("str", "array")}

    def __init__(self, source: Source, mode: str = "r") -> None:
        if mode not in ("r", "r+", "c"):
            raise ValueError(f"mode: {mode!r} is not \"r\", \"r+\" or \"c\"")
        is_file = is_gguf(source)
        if mode != "r" and not is_file:
            raise UnsupportedError(f"mode: {mode!r} is for GGUF files; `tare edit` changes others in place")
        self.model = open(source, map=not is_file, one_shard=is_file)
        info = self.model.info
        container = info.container
        self._is_gguf = (container.format if container else info.format) == "gguf"
        self._version = (container.format_version if container else info.version) if self._is_gguf else 3
        self.alignment = info.alignment if self._is_gguf else 32
        self.byte_order = "S" if info.is_big_endian == (sys.byteorder == "little") else "I"
        self.endianess = GGUFEndian.BIG if info.is_big_endian else GGUFEndian.LITTLE
        self._file = GGUFFile(source, mode, self.byte_order) if is_file else None

    @property
    def data(self) -> Numbers:
        """The bytes of a GGUF file."""
        if self._file is None:
            raise UnsupportedError("data: the model is no GGUF file; tensors have data of their own")
        return self._file.data

    @cached_property
    def fields(self) -> Mapping[str, ReaderField]:
        """The keys by name."""
        return _Fields(self.model, self._version, self._file)

    @cached_property
    def _infos(self) -> tuple[list[_InfoField], int]:
        """The records of a file's tensors, and the byte behind them."""
        assert self._file is not None
        first = self.model.tensor(0).record if len(self.model) else None
        at, records = self._file.keys()[1] if first is None else first, []
        for _ in range(self._file.u64(8)):
            records.append(_InfoField(self._file, at))
            at += sum(part.nbytes for part in records[-1].parts)
        return records, at

    @cached_property
    def data_offset(self) -> int:
        """The byte of a GGUF file where the data of its tensors begin; of others 0."""
        if self._file is None:
            return 0
        return (self._infos[1] + self.alignment - 1) // self.alignment * self.alignment

    @cached_property
    def tensors(self) -> list[ReaderTensor]:
        """The tensors in the order of the file."""
        if self._file is None:
            return [ReaderTensor(t, _type_of(t, self._is_gguf)) for t in self.model.values()]
        return [_FileTensor(self._file, field, self.data_offset, tensor)
                for field, tensor in zip(self._infos[0], self.model.values())]

    def get_field(self, key: str) -> ReaderField | None:
        """A field; None: there is none of this name."""
        return self.fields.get(key)

    def get_tensor(self, idx: int) -> ReaderTensor:
        """A tensor by its number."""
        return self.tensors[idx]


def _type_of(tensor: Tensor, is_gguf: bool) -> Any:
    if is_gguf:
        return GGMLQuantizationType(tensor.native_type)
    known = GGMLQuantizationType.__members__.get(tensor.encoding.name.upper())
    return GGMLQuantizationType(-tensor.encoding_id) if known is None else known


def _encoding(type: Any) -> Encoding:
    name = type if isinstance(type, str) else GGMLQuantizationType(int(type)).name
    found = all_encodings().get(name.lower())
    if found is None:
        raise UnsupportedError(f"no number format {name}")
    return found


def quantize(array: Numbers, type: Any) -> Numbers:
    """Encodes floats: bytes, whose last dimension are those of a row; floats as numpy has them, too, as such.
    type: a name or number of ggml.

    >>> tare.gguf.quantize(numpy.ones((2, 64), "float32"), "Q8_0").shape
    (2, 68)
    """
    a, encoding = np.asarray(array), _encoding(type)
    planes = encoding.encode(a)
    kind = scalar_dtype(encoding.name) if encoding.name.upper() in _NUMBERS else np.uint8
    return np.frombuffer(planes[0], kind).reshape((*a.shape[:-1], -1))


def dequantize(data: Numbers, type: Any) -> Numbers:
    """Decodes bytes as quantize() gives them, to float32.

    >>> data = tare.gguf.quantize(numpy.ones((2, 64), "float32"), "Q8_0")
    >>> tare.gguf.dequantize(data, "Q8_0").shape
    (2, 64)
    """
    encoding = _encoding(type)
    raw = np.ascontiguousarray(data).view(np.uint8)
    n_block_bytes = sum(encoding.sizes((1, encoding.block)))
    columns, rest = divmod(raw.shape[-1], n_block_bytes)
    if rest:
        raise ValueError(f"rows of {raw.shape[-1]} bytes are no whole blocks of {encoding.name}")
    return encoding.decode([raw], (*raw.shape[:-1], columns * encoding.block))
