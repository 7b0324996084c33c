# SPDX-License-Identifier: MIT
"""safetensors.mlx, by way of numpy."""
from __future__ import annotations

import os
from typing import Any

import mlx.core as mx
import numpy as np

from . import numpy as _numpy


def from_numpy(array: Any) -> Any:
    """An array of mlx with the numbers of an array of numpy."""
    return mx.array(array)


def _to_numpy(tensors: dict[str, Any]) -> dict[str, Any]:
    return {name: np.asarray(array) for name, array in tensors.items()}


def save(tensors: dict[str, Any], metadata: dict[str, str] | None = None) -> bytes:
    """The bytes of a safetensors file."""
    return _numpy.save(_to_numpy(tensors), metadata)


def save_file(tensors: dict[str, Any], filename: str | os.PathLike[str],
              metadata: dict[str, str] | None = None) -> None:
    """Writes a safetensors file."""
    _numpy.save_file(_to_numpy(tensors), filename, metadata)


def load(data: bytes) -> dict[str, Any]:
    """The tensors of the bytes of a model of any format."""
    return {name: from_numpy(array) for name, array in _numpy.load(data).items()}


def load_file(filename: str | os.PathLike[str], *, backend: str = "mmap") -> dict[str, Any]:
    """The tensors of a model of any format."""
    arrays = _numpy.load_file(filename, backend=backend)
    return {name: from_numpy(array) for name, array in arrays.items()}
