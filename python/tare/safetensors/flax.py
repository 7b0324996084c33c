# SPDX-License-Identifier: MIT
"""safetensors.flax, by way of numpy."""
from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from ._host import Host


def from_numpy(array: Any) -> Any:
    """A jax array with the numbers of an array of numpy."""
    return jnp.asarray(array)


def _to_numpy(array: Any) -> Any:
    return np.asarray(array)


_host = Host(from_numpy, _to_numpy)
save, save_file, load, load_file = _host.save, _host.save_file, _host.load, _host.load_file
