# SPDX-License-Identifier: MIT
"""safetensors.tensorflow, by way of numpy."""
from __future__ import annotations

from typing import Any

import tensorflow as tf

from ._host import Host


def from_numpy(array: Any) -> Any:
    """A tensor of TensorFlow with the numbers of an array of numpy."""
    return tf.convert_to_tensor(array)


def _to_numpy(array: Any) -> Any:
    return array.numpy()


_host = Host(from_numpy, _to_numpy)
save, save_file, load, load_file = _host.save, _host.save_file, _host.load, _host.load_file
