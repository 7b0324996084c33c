# SPDX-License-Identifier: MIT
"""safetensors.paddle, by way of numpy."""
from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import paddle

from .._errors import UnsupportedError
from . import numpy as _numpy
from ._host import Host

if TYPE_CHECKING:
    from ._open import Backend

# Numbers that Paddle takes from numpy, and gives to it, under another type alone.
_VIEWED = {"bfloat16": "int16", "float8_e4m3fn": "int8", "float8_e5m2": "int8"}


def _place(device: Any) -> str:
    """Paddle's word for a device that safetensors names: "gpu:1" for "cuda:1" or 1."""
    place = f"gpu:{device}" if isinstance(device, int) else str(device).replace("cuda", "gpu")
    return "gpu:0" if place == "gpu" else place


def from_numpy(array: Any, device: Any = "cpu") -> Any:
    """A tensor of Paddle with the numbers of an array of numpy."""
    name = array.dtype.name
    if name in ("uint16", "uint32", "uint64"):  # it would take the first for bfloat16
        raise UnsupportedError(f"Paddle has no tensors of {name}")
    if name in _VIEWED:
        return paddle.to_tensor(array.view(_VIEWED[name]), place=_place(device)).view(name)
    return paddle.to_tensor(array, place=_place(device))


def _to_numpy(tensor: Any) -> Any:
    tensor = tensor.detach().cpu()
    name = str(tensor.dtype).rpartition(".")[2]
    if name not in _VIEWED:
        return tensor.numpy()
    import ml_dtypes
    return tensor.view(_VIEWED[name]).numpy().view(getattr(ml_dtypes, name))


def load(data: bytes, device: Any = "cpu") -> dict[str, Any]:
    """The tensors of the bytes of a model of any format."""
    return {name: from_numpy(array, device) for name, array in _numpy.load(data).items()}


def load_file(filename: str | os.PathLike[str], device: Any = "cpu", *, backend: Backend = "mmap") -> dict[str, Any]:
    """The tensors of a model of any format."""
    arrays = _numpy.load_file(filename, backend=backend)
    return {name: from_numpy(array, device) for name, array in arrays.items()}


_host = Host(from_numpy, _to_numpy)
save, save_file = _host.save, _host.save_file
