# SPDX-License-Identifier: MIT
"""Model weights in every container that libtare knows: GGUF, safetensors, Hugging Face
directories, MCF, INFQ and .wcodec.

    import tare

    with tare.open("model.gguf") as model:
        model["output.weight"].numpy()
    state = tare.load("model.wcodec", framework="torch")
    tare.convert("model.gguf", "model.safetensors")

Importing it imports neither numpy nor torch.
"""
from __future__ import annotations

from . import _core
from ._core import CancelToken
from ._errors import *
from ._errors import __all__ as _error_names
from ._model import Array, Metadata, Model, Resource, open
from ._tensor import Tensor, TensorView

version: str = _core.version
__version__ = version

__all__ = [
    "Array", "CancelToken", "Encoding", "Finding", "Metadata", "Model", "Planes", "Resource",
    "Tensor", "TensorView", "cpu", "encodings", "formats", "mixes", "open", "version",
    *_error_names,
]

# Names that are found when they are asked for, so that importing tare is quick.
_LATER = {
    "Encoding": "_encodings", "Planes": "_encodings",
    "Finding": "_records", "Info": "_records", "Format": "_records", "Mix": "_records",
    "Adapter": "_records",
}
_TABLES = {"encodings": "all_encodings", "formats": "all_formats", "mixes": "all_mixes"}


def __getattr__(name: str) -> object:
    from importlib import import_module
    if name in _TABLES:
        value: object = getattr(import_module("._encodings", __name__), _TABLES[name])()
    elif name in _LATER:
        value = getattr(import_module("." + _LATER[name], __name__), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def cpu() -> str:
    """The instruction sets that the library's kernels use: "avx512 vbmi2" or the like, "c": none.

    >>> isinstance(tare.cpu(), str)
    True
    """
    mask = _core.cpu()
    return " ".join(name for i, name in enumerate(("avx2", "avx512", "vbmi2")) if mask >> i & 1) or "c"
