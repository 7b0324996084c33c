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
    "Tensor", "TensorView", "build", "convert", "cpu", "diff", "digest", "edit", "encodings", "extract",
    "formats", "join", "load", "materialized", "mixes", "open", "pack", "parse_name", "parts", "plan", "quantize",
    "report", "save", "saves", "stream", "synth", "unpack", "verify", "version", "write_manifest",
    *_error_names,
]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._edit import EditChange as EditChange
    from ._edit import EditedFile as EditedFile
    from ._edit import EditResult as EditResult
    from ._edit import edit as edit
    from ._encodings import Encoding as Encoding
    from ._encodings import Planes as Planes
    from ._load import load as load
    from ._load import stream as stream
    from ._records import Adapter as Adapter
    from ._records import Finding as Finding
    from ._records import Format as Format
    from ._records import Info as Info
    from ._records import Mix as Mix
    from ._parts import JoinResult as JoinResult
    from ._parts import Part as Part
    from ._parts import join as join
    from ._parts import parts as parts
    from ._records import PackedFile as PackedFile
    from ._report import report as report
    from ._save import build as build
    from ._save import synth as synth
    from ._results import Diff as Diff
    from ._results import DiffItem as DiffItem
    from ._results import Digests as Digests
    from ._results import GGUFName as GGUFName
    from ._results import PackedLayer as PackedLayer
    from ._results import PackResult as PackResult
    from ._results import PlannedTensor as PlannedTensor
    from ._verbs import Plan as Plan
    from ._results import Report as Report
    from ._results import Result as Result
    from ._results import UnpackResult as UnpackResult
    from ._results import parse_name as parse_name
    from ._verbs import convert as convert
    from ._verbs import diff as diff
    from ._verbs import digest as digest
    from ._verbs import extract as extract
    from ._verbs import materialized as materialized
    from ._verbs import pack as pack
    from ._verbs import plan as plan
    from ._verbs import quantize as quantize
    from ._verbs import save as save
    from ._verbs import saves as saves
    from ._verbs import unpack as unpack
    from ._verbs import verify as verify
    from ._verbs import write_manifest as write_manifest

    encodings: dict[str, Encoding]
    formats: dict[str, Format]
    mixes: dict[str, Mix]

# Names that are found when they are asked for, so that importing tare is quick.
_LATER = {
    "Encoding": "_encodings", "Planes": "_encodings",
    "Finding": "_records", "Info": "_records", "Format": "_records", "Mix": "_records",
    "Adapter": "_records", "PackedFile": "_records",
    **dict.fromkeys(("EditChange", "EditResult", "EditedFile", "edit"), "_edit"), "report": "_report",
    **dict.fromkeys(("load", "stream"), "_load"),
    **dict.fromkeys(("JoinResult", "Part", "join", "parts"), "_parts"),
    **dict.fromkeys(("build", "synth"), "_save"),
    **dict.fromkeys(("Diff", "DiffItem", "Digests", "GGUFName", "PackResult", "PackedLayer",
                     "PlannedTensor", "Report", "Result", "UnpackResult", "parse_name"), "_results"),
    **dict.fromkeys(("Plan", "convert", "diff", "digest", "extract", "materialized", "pack",
                     "plan", "quantize", "save", "saves", "unpack", "verify",
                     "write_manifest"), "_verbs"),
}
_MODULES = ("cuda", "fleet", "gguf", "integrations", "safetensors", "torch", "wcodec")
_TABLES = {"encodings": "all_encodings", "formats": "all_formats", "mixes": "all_mixes"}


def __getattr__(name: str) -> object:
    from importlib import import_module
    if name in _TABLES:
        value: object = getattr(import_module("._encodings", __name__), _TABLES[name])()
    elif name in _MODULES:
        return import_module("." + name, __name__)
    elif name in _LATER:
        value = getattr(import_module("." + _LATER[name], __name__), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def cpu() -> str:
    """The level of instruction sets that the library's kernels use, as the command's --cpu names it.

    >>> tare.cpu() in ("c", "avx2", "avx512", "vbmi2")
    True
    """
    return _core.cpu()
