# SPDX-License-Identifier: MIT
"""safetensors.mlx, by way of numpy."""
from __future__ import annotations

from typing import Any

import mlx.core as mx
import numpy as np

from .._errors import UnsupportedError
from ._host import Host


def from_numpy(array: Any) -> Any:
    """An array of mlx with the numbers of an array of numpy."""
    if array.dtype.name.startswith("float8"):
        raise UnsupportedError(f"mlx has no arrays of {array.dtype.name}")
    return mx.array(array)


def _to_numpy(array: Any) -> Any:
    if array.dtype != mx.bfloat16:
        return np.asarray(array)
    import ml_dtypes
    return np.asarray(array.view(mx.uint16)).view(ml_dtypes.bfloat16)


_host = Host(from_numpy, _to_numpy)
save, save_file, load, load_file = _host.save, _host.save_file, _host.load, _host.load_file
