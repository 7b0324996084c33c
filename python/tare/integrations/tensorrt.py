# SPDX-License-Identifier: MIT
"""Weights for TensorRT: for its builder, and for engines that were built without.

    held = weights(model["conv.weight"])
    network.add_convolution_nd(x, 64, (3, 3), held.weights)   # keep `held` until the engine is built
    refit(engine, "model.wcodec")

Weights are handed over by address: nothing is copied that the file has in the type that is wanted.
"""
from __future__ import annotations

from typing import NamedTuple
from weakref import WeakKeyDictionary

from .. import _core
from .._encodings import encoding
from .._errors import UnsupportedError
from .._model import Model
from .._model import open as _open

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Mapping

    from .._source import Source
    from .._tensor import Tensor

__all__ = ["HeldWeights", "refit", "weights"]

_TYPES = {"f32": "FLOAT", "f16": "HALF", "bf16": "BF16", "f8_e4m3": "FP8", "f8_e8m0": "E8M0",
          "f4": "FP4", "i8": "INT8", "i32": "INT32", "i64": "INT64", "u8": "UINT8", "bool": "BOOL"}
_BY_TYPE = {theirs: ours for ours, theirs in _TYPES.items()}
# What an asynchronous refit of an engine may still read.
_reading: WeakKeyDictionary[Any, tuple[Any, list[HeldWeights]]] = WeakKeyDictionary()


class HeldWeights(NamedTuple):
    """Weights of TensorRT, and the memory that they point into: keep both as long as they are used."""

    weights: Any
    memory: _core.Memory | _core.DeviceMemory


def _host() -> Any:
    from importlib import import_module
    try:
        return import_module("tensorrt")
    except ImportError:
        return import_module("tensorrt_lean")


def weights(tensor: Tensor, dtype: Any = None, *, threads: int = 1) -> HeldWeights:
    """A tensor as tensorrt.Weights. Blocks are decoded to float32, or to dtype: float32, float16,
    bfloat16."""
    host = _host()
    as_ = tensor.target(None if dtype is None else wanted_name(dtype))
    name = encoding(as_).name
    if name not in _TYPES:
        raise UnsupportedError(f"{tensor.name}: TensorRT has no type for {name}")
    memory = tensor._bytes(as_, threads, False)
    return HeldWeights(host.Weights(getattr(host.DataType, _TYPES[name]), memory.address,
                                    tensor.n_elements), memory)


def _on_device(model: Model, wanted: Mapping[str, Tensor], types: Mapping[str, Any], device: Any,
               threads: int) -> dict[str, HeldWeights]:
    """Weights whose type is that of the file, in the memory of a GPU."""
    from ..cuda import load_file
    same = {name: tensor for name, tensor in wanted.items()
            if _TYPES.get(tensor.encoding.name) == types[name].name}
    loaded = load_file(model, device, names=list({t.name for t in same.values()}), threads=threads)
    host = _host()
    out = {}
    for name, tensor in same.items():
        memory = loaded[tensor.name].memory
        out[name] = HeldWeights(host.Weights(types[name], memory.address, tensor.n_elements), memory)
    return out


def wanted_name(dtype: Any) -> Any:
    """What tare calls a tensorrt.DataType; other dtypes as they are."""
    return _BY_TYPE.get(getattr(dtype, "name", ""), dtype)


def refit(engine: Any, source: Source | Model, names: Mapping[str, str] | None = None, *,
          stream: int | None = None, device: Any = None, logger: Any = None, threads: int = 1) -> int:
    """Gives an engine, built with REFIT or STRIP_PLAN, the weights of a file. Each is decoded to the
    type that the engine asks for.

    names   {name in the engine: name in the file}, for those that differ
    stream  the handle of a CUDA stream: refits asynchronously. The weights are kept until the engine goes
            or is refitted so again, which has to wait for the stream
    device  "cuda:N": weights that the file has in the type that is asked for are decoded by this GPU
            and handed over in its memory (tare.cuda)
    Returns how many weights were set. KeyError: the file lacks one; RuntimeError: TensorRT refused.
    """
    if not isinstance(source, Model):
        with _open(source, stored=True) as model:
            return refit(engine, model, names, stream=stream, device=device, logger=logger, threads=threads)
    host = _host()
    refitter = host.Refitter(engine, logger or host.Logger())
    wanted = {name: source[(names or {}).get(name, name)] for name in refitter.get_all_weights()}
    types = {name: refitter.get_weights_prototype(name).dtype for name in wanted}
    there = {} if device is None else _on_device(source, wanted, types, device, threads)
    held = []  # until the refit has read them
    for name, tensor in wanted.items():
        one = there.get(name) or weights(tensor, types[name], threads=threads)
        where = host.TensorLocation.DEVICE if name in there else host.TensorLocation.HOST
        if not refitter.set_named_weights(name, one.weights, where):
            raise RuntimeError(f"{name}: TensorRT refuses {tensor!r}")
        held.append(one)
    done = refitter.refit_cuda_engine() if stream is None else refitter.refit_cuda_engine_async(stream)
    if not done:
        raise RuntimeError(f"the engine was not refitted; missing: {refitter.get_missing_weights()}")
    if stream is not None:
        _reading[engine] = refitter, held
    return len(held)
