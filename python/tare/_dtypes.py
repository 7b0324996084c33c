# SPDX-License-Identifier: MIT
"""Number formats under the names of numpy, ml_dtypes, torch and DLPack."""
from __future__ import annotations

from . import _core
from ._errors import UnsupportedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Union

    import numpy as np
    import torch

    DType = Union[str, np.dtype[Any], type[Any], torch.dtype]  # what a `dtype` argument may be

F32, F16, BF16 = (_core.find_encoding(name) for name in ("f32", "f16", "bf16"))

# encoding: numpy's name (one with a dot is of ml_dtypes), torch's name, DLPack's code and bits.
_PLAIN: dict[str, tuple[str, str, int, int]] = {
    "f64": ("float64", "float64", 2, 64),
    "f32": ("float32", "float32", 2, 32),
    "f16": ("float16", "float16", 2, 16),
    "bf16": ("ml.bfloat16", "bfloat16", 4, 16),
    "f8_e4m3": ("ml.float8_e4m3fn", "float8_e4m3fn", 10, 8),
    "f8_e5m2": ("ml.float8_e5m2", "float8_e5m2", 12, 8),
    "f8_e4m3fnuz": ("ml.float8_e4m3fnuz", "float8_e4m3fnuz", 11, 8),
    "f8_e5m2fnuz": ("ml.float8_e5m2fnuz", "float8_e5m2fnuz", 13, 8),
    "f8_e8m0": ("ml.float8_e8m0fnu", "float8_e8m0fnu", 14, 8),
    "c64": ("complex64", "complex64", 5, 64),
    "bool": ("bool", "bool", 6, 8),
    "i8": ("int8", "int8", 0, 8),
    "u8": ("uint8", "uint8", 1, 8),
    "i16": ("int16", "int16", 0, 16),
    "u16": ("uint16", "uint16", 1, 16),
    "i32": ("int32", "int32", 0, 32),
    "u32": ("uint32", "uint32", 1, 32),
    "i64": ("int64", "int64", 0, 64),
    "u64": ("uint64", "uint64", 1, 64),
}
# Several numbers in a byte: arrays of the stored bytes.
_BITS = {"f6_e2m3": 6, "f6_e3m2": 6, "f4": 4}

PLAIN: dict[int, tuple[str, str, int, int]] = {
    _core.find_encoding(name): row for name, row in _PLAIN.items()}
BITS: dict[int, int] = {_core.find_encoding(name): bits for name, bits in _BITS.items()}
BY_TORCH_NAME: dict[str, int] = {row[1]: id for id, row in PLAIN.items()}

_numpy: dict[int, np.dtype[Any]] = {}
_ids: dict[object, int] = {}


def byte_shape(encoding: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of the bytes of F4 and F6: that of the rows where a row fills bytes."""
    bits = BITS[encoding]
    if shape and shape[-1] * bits % 8 == 0:
        return (*shape[:-1], shape[-1] * bits // 8)
    n = 1
    for d in shape:
        n *= d
    return ((n * bits + 7) // 8,)


def numpy_dtype(encoding: int) -> np.dtype[Any]:
    """The dtype of a plain encoding; UnsupportedError for blocks, ImportError without ml_dtypes."""
    ready = _numpy.get(encoding)
    if ready is not None:
        return ready
    import numpy as np
    if encoding in BITS:
        dtype = np.dtype(np.uint8)
    elif encoding not in PLAIN:
        raise UnsupportedError("blocks have no dtype: they are decoded to float32, float16 or bfloat16")
    else:
        name = PLAIN[encoding][0]
        if name.startswith("ml."):
            try:
                import ml_dtypes
            except ImportError:
                raise ImportError(f"numpy has no {name[3:]}: install the package ml_dtypes, or ask "
                                  "for dtype=\"float32\"", name="ml_dtypes") from None
            found = getattr(ml_dtypes, name[3:], None)
            if found is None:
                raise ImportError(f"the installed ml_dtypes {ml_dtypes.__version__} has no {name[3:]}: "
                                  "a later release has, or ask for dtype=\"float32\"", name="ml_dtypes")
            dtype = np.dtype(found)
        else:
            dtype = np.dtype(name)
    _numpy[encoding] = dtype
    return dtype


def encoding_of_numpy(dtype: np.dtype[Any]) -> int:
    """The encoding of a dtype of numpy or ml_dtypes in native order; -1: there is none."""
    found = _ids.get(dtype)
    if found is None:
        by_name = {row[0].removeprefix("ml."): id for id, row in PLAIN.items()}
        found = by_name.get(dtype.name, -1) if dtype.isnative else -1
        _ids[dtype] = found
    return found


def encoding_of_torch(dtype: object) -> int:
    """The encoding of a torch.dtype; -1: there is none."""
    return BY_TORCH_NAME.get(str(dtype).removeprefix("torch."), -1)


def wanted(dtype: object) -> int:
    """The encoding that a `dtype` argument stands for: a name, or a dtype of numpy or torch."""
    if isinstance(dtype, str):
        id = _core.find_encoding(dtype)
    elif type(dtype).__module__ == "torch":
        id = encoding_of_torch(dtype)
    else:
        import numpy as np
        id = encoding_of_numpy(np.dtype(dtype))  # type: ignore[call-overload]
    if id <= 0:
        raise UnsupportedError(f"no number format for the dtype {dtype!r}")
    return int(id)
