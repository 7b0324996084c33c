# SPDX-License-Identifier: MIT
"""safetensors.numpy: dicts of arrays. bfloat16 and fp8 are those of ml_dtypes."""
from __future__ import annotations

import os

import numpy as np

from .._save import as_array
from ._open import safe_open
from ._serialize import TensorSpec, serialize, serialize_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._open import Backend

    Arrays = dict[str, np.ndarray[Any, Any]]


def _spec(array: np.ndarray[Any, Any]) -> tuple[TensorSpec, np.ndarray[Any, Any]]:
    """The description of an array, and the memory that it describes."""
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    flat = np.ascontiguousarray(array)
    spec = TensorSpec(dtype=array.dtype.name, shape=array.shape, data_ptr=flat.ctypes.data,
                      data_len=flat.nbytes)
    return spec, flat


def _specs(tensor_dict: Arrays) -> tuple[dict[str, TensorSpec], list[Any]]:
    pairs = {name: _spec(as_array(name, array)) for name, array in tensor_dict.items()}
    return {name: spec for name, (spec, _) in pairs.items()}, [memory for _, memory in pairs.values()]


def save(tensor_dict: Arrays, metadata: dict[str, str] | None = None) -> bytes:
    """The bytes of a safetensors file.

    >>> tare.safetensors.numpy.save({"w": numpy.ones(2, "float32")})[8:40]
    b'{"w":{"dtype":"F32","shape":[2],'
    """
    specs, keep = _specs(tensor_dict)
    return serialize(specs, metadata)


def save_file(tensor_dict: Arrays, filename: str | os.PathLike[str],
              metadata: dict[str, str] | None = None) -> None:
    """Writes a safetensors file.

    >>> tare.safetensors.numpy.save_file({"w": numpy.ones(2, "float32")}, "w.safetensors")
    """
    specs, keep = _specs(tensor_dict)
    serialize_file(specs, filename, metadata)


def load(data: bytes) -> Arrays:
    """The arrays of the bytes of a model of any format.

    >>> tare.safetensors.numpy.load(tare.safetensors.numpy.save({"w": numpy.ones(2, "float32")}))
    {'w': array([1., 1.], dtype=float32)}
    """
    with safe_open(data, "np") as f:
        return f.get_tensors()


def load_file(filename: str | os.PathLike[str], *, backend: Backend = "mmap") -> Arrays:
    """The arrays of a model of any format.

    >>> sorted(tare.safetensors.numpy.load_file("tiny.gguf"))[0]
    'blk.0.attn_norm.weight'
    """
    with safe_open(filename, "np", backend=backend) as f:
        return f.get_tensors()
