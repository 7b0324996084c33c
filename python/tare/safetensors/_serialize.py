# SPDX-License-Identifier: MIT
"""Files of safetensors from raw memory, byte for byte as the package safetensors writes them."""
from __future__ import annotations

import os

from .. import _core
from .._dtypes import PLAIN
from .._encodings import encoding
from .._errors import TareError
from .._save import _KEYS_SAFETENSORS, _STR, checked_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Mapping, Sequence

    from .._model import Model

# The order of files: types from the last of these to the first, names within a type.
_ORDER = ("BOOL F4 F6_E2M3 F6_E3M2 U8 I8 F8_E5M2 F8_E4M3 F8_E8M0 F8_E4M3FNUZ F8_E5M2FNUZ I16 U16 F16 "
          "BF16 I32 U32 F32 C64 F64 I64 U64").split()
# torch's names of types; numpy's are among them.
_BY_NAME = {row[1]: encoding(id).name.upper() for id, row in PLAIN.items()}
_BY_NAME["float4_e2m1fn_x2"] = "F4"


class TensorSpec:
    """A tensor in memory: dtype ("float32", ...), shape, address and bytes. The memory must stay
    until the call that takes this has returned. Afterwards `dtype` is the name in the file ("F32"),
    and `shape` counts elements: the last dimension of float4_e2m1fn_x2 is doubled."""

    __slots__ = ("dtype", "shape", "data_ptr", "data_len")

    def __init__(self, *, dtype: str, shape: Sequence[int], data_ptr: int, data_len: int) -> None:
        if dtype not in _BY_NAME:
            raise TareError(f"Unknown dtype {dtype!r}. Supported dtypes: {', '.join(_BY_NAME)}")
        self.dtype = _BY_NAME[dtype]
        self.shape = [int(n) for n in shape]
        if self.dtype == "F4" and self.shape:
            self.shape[-1] *= 2
        self.data_ptr = int(data_ptr)
        self.data_len = int(data_len)

    def __repr__(self) -> str:
        return (f"TensorSpec(dtype={self.dtype!r}, shape={self.shape}, data_ptr={self.data_ptr}, "
                f"data_len={self.data_len})")

    def _row(self, name: str) -> tuple[Any, ...]:
        import ctypes
        data: Any = b""
        if self.data_len:
            data = memoryview((ctypes.c_ubyte * self.data_len).from_address(self.data_ptr))
        return name, _core.find_encoding(self.dtype.lower()), tuple(self.shape), (data,)


def _model(tensors: Mapping[str, TensorSpec], metadata: Mapping[str, str] | None) -> Model:
    for name, spec in tensors.items():
        checked_name(name)
        if not isinstance(spec, TensorSpec):
            raise TypeError(f"{name}: a TensorSpec expected, not {type(spec).__name__}")
    order = sorted(tensors.items(), key=lambda item: (-_ORDER.index(item[1].dtype), item[0]))
    keys = []
    if metadata is not None and not hasattr(metadata, "items"):
        raise TypeError(f"metadata: a dict of texts expected, not {type(metadata).__name__}")
    for key, value in (metadata or {}).items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise TypeError(f"metadata: {key!r}: {value!r}: both have to be texts")
        keys.append((key, _KEYS_SAFETENSORS, _STR, value))
    return _core.build([spec._row(name) for name, spec in order], keys, [], metadata is not None)


def serialize(tensor_dict: Mapping[str, TensorSpec], metadata: Mapping[str, str] | None = None) -> bytes:
    """The bytes of a safetensors file.

    >>> a = numpy.ones(2, "float32")
    >>> spec = tare.safetensors.TensorSpec(dtype="float32", shape=[2], data_ptr=a.ctypes.data, data_len=8)
    >>> tare.safetensors.deserialize(tare.safetensors.serialize({"w": spec}))[0][1]["dtype"]
    'F32'
    """
    from .._verbs import _plan
    return _plan(_model(tensor_dict, metadata), None, False, to="safetensors").run_bytes()


def serialize_file(tensor_dict: Mapping[str, TensorSpec], filename: str | os.PathLike[str],
                   metadata: Mapping[str, str] | None = None) -> None:
    """Writes a safetensors file; one that is there is replaced when the new one is complete.

    >>> a = numpy.ones(2, "float32")
    >>> spec = tare.safetensors.TensorSpec(dtype="float32", shape=[2], data_ptr=a.ctypes.data, data_len=8)
    >>> tare.safetensors.serialize_file({"w": spec}, "w.safetensors")
    """
    from .._verbs import _plan
    _plan(_model(tensor_dict, metadata), filename, False, to="safetensors", force=True,
          no_sync=True).run()


def deserialize(data: bytes) -> list[tuple[str, dict[str, Any]]]:
    """(name, {"dtype", "shape", "data"}) of each tensor, from the bytes of any container; blocks
    come decoded to F32.

    >>> tare.safetensors.deserialize(tare.saves({"w": numpy.ones(1, "uint8")}))
    [('w', {'dtype': 'U8', 'shape': [1], 'data': bytearray(b'\\x01')})]
    """
    from .._model import open
    out = []
    with open(data, stored=True) as model:
        for name, tensor in model.items():
            as_ = tensor.target(None)
            data_of: Any = tensor._bytes(as_, 0, False)
            out.append((name, {"dtype": encoding(as_).name.upper(), "shape": list(tensor.shape),
                               "data": bytearray(data_of)}))
    return out
