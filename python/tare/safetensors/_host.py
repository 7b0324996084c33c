# SPDX-License-Identifier: MIT
"""Frameworks that save and load by way of numpy."""
from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import numpy as _numpy

if TYPE_CHECKING:
    from ._open import Backend


class Host:
    """The four functions that safetensors has for a framework, made of how one array becomes another."""

    def __init__(self, from_numpy: Callable[[Any], Any], to_numpy: Callable[[Any], Any]) -> None:
        self._from_numpy, self._to_numpy = from_numpy, to_numpy

    def save(self, tensors: dict[str, Any], metadata: dict[str, str] | None = None) -> bytes:
        """The bytes of a safetensors file."""
        return _numpy.save(self._arrays(tensors), metadata)

    def save_file(self, tensors: dict[str, Any], filename: str | os.PathLike[str],
                  metadata: dict[str, str] | None = None) -> None:
        """Writes a safetensors file."""
        _numpy.save_file(self._arrays(tensors), filename, metadata)

    def load(self, data: bytes) -> dict[str, Any]:
        """The tensors of the bytes of a model of any format."""
        return self._tensors(_numpy.load(data))

    def load_file(self, filename: str | os.PathLike[str], *, backend: Backend = "mmap") -> dict[str, Any]:
        """The tensors of a model of any format."""
        return self._tensors(_numpy.load_file(filename, backend=backend))

    def _arrays(self, tensors: dict[str, Any]) -> dict[str, Any]:
        return {name: self._to_numpy(tensor) for name, tensor in tensors.items()}

    def _tensors(self, arrays: dict[str, Any]) -> dict[str, Any]:
        return {name: self._from_numpy(array) for name, array in arrays.items()}
