# SPDX-License-Identifier: MIT
"""The interface of the package safetensors, for every container that tare opens.

    import tare.safetensors as safetensors

or, for code that imports safetensors by itself:

    tare.safetensors.install()

Tensors of blocks come decoded to float32; `safe_open(..., dtype=)` says otherwise.
"""
from __future__ import annotations

from .._errors import TareError as SafetensorError
from ._install import install, uninstall
from ._open import SafeSlice, TensorMeta, _safe_open_handle, safe_open
from ._prefetch import PrefetchLoader
from ._serialize import TensorSpec, deserialize, serialize, serialize_file

#: The release of safetensors whose interface this is.
__version__ = "0.9.0"

__all__ = ["PrefetchLoader", "SafeSlice", "SafetensorError", "TensorMeta", "TensorSpec", "__version__",
           "_safe_open_handle", "deserialize", "install", "safe_open", "serialize", "serialize_file",
           "uninstall"]
