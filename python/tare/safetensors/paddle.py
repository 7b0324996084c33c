# SPDX-License-Identifier: MIT
"""safetensors.paddle, by way of numpy."""
from __future__ import annotations

from typing import Any

import paddle

from ._host import Host


def from_numpy(array: Any) -> Any:
    """A tensor of Paddle with the numbers of an array of numpy."""
    return paddle.to_tensor(array)


def _to_numpy(array: Any) -> Any:
    return array.detach().cpu().numpy()


_host = Host(from_numpy, _to_numpy)
save, save_file, load, load_file = _host.save, _host.save_file, _host.load, _host.load_file
