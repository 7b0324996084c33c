# SPDX-License-Identifier: MIT
"""safe_open: tensors by name, whole or in parts."""
from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from .. import _core
from .._dtypes import BITS, PLAIN, numpy_dtype
from .._encodings import encoding
from .._errors import FileMissingError, TareError
from .._model import open
from .._records import Record
from .._save import _KEYS_MODEL, _KEYS_SAFETENSORS, _STR, _key, scalar_type

if TYPE_CHECKING:
    from types import EllipsisType
    from typing import Literal, Mapping, Sequence, Union

    import numpy as np
    import torch

    from typing_extensions import Self

    from .._dtypes import DType
    from .._model import Model
    from .._source import OneOrMore, Source
    from .._tensor import Tensor, TensorView
    from ._prefetch import PrefetchLoader

    Device = Union[str, int, torch.device]
    OneKey = Union[int, slice, EllipsisType, None]
    Key = Union[OneKey, tuple[OneKey, ...], list[int]]
    Torch = Literal["pt", "torch", "pytorch"]
    Numpy = Literal["np", "numpy"]
    Other = Literal["tf", "tensorflow", "jax", "flax", "mlx", "paddle"]
    Backend = Literal["mmap", "pread"]

A = TypeVar("A")  # arrays of the framework

FRAMEWORKS = {"pt": "torch", "torch": "torch", "pytorch": "torch", "np": "numpy", "numpy": "numpy",
              "tf": "tensorflow", "tensorflow": "tensorflow", "jax": "flax", "flax": "flax",
              "mlx": "mlx", "paddle": "paddle"}
_NUMBERED = {"cuda", "hpu", "mlu", "musa", "npu", "xla", "xpu"}  # devices that safetensors knows, beside mps
_F4 = _core.find_encoding("f4")
_STORED = {*PLAIN, *BITS}  # types that safetensors has: they come as they are stored


def _dtype_of(tensor: Tensor | TensorView, dtype: Any) -> Any:
    return None if tensor.encoding_id in _STORED else dtype


def _as_framework(readable: Tensor | TensorView, framework: str, device: Any, dtype: Any) -> Any:
    """The numbers as an array that may be written to."""
    own = readable.encoding_id
    if own in _STORED:
        dtype = None
    if framework == "torch":
        t = readable.torch(dtype, threads=0)
        if own == _F4:
            t = _packed(t, own)
        return t if device == "cpu" else t.to(device)
    as_ = readable.target(dtype)
    array = readable._array(as_, numpy_dtype(as_), 0, True)
    return array if framework == "numpy" else _from_numpy(array, framework, device)


def _packed(t: Any, as_: int) -> Any:
    """F4, two in a byte, under the type that torch has for them."""
    import torch
    if as_ == _F4 and hasattr(torch, "float4_e2m1fn_x2"):
        return t.view(torch.float4_e2m1fn_x2)
    return t


def _from_numpy(array: Any, framework: str, device: Any) -> Any:
    from importlib import import_module
    host = import_module("." + framework, __package__)
    return host.from_numpy(array, device) if framework == "paddle" else host.from_numpy(array)


def _known_device(device: Any) -> str | None:
    """What safetensors calls a device; None: it has none of this name."""
    if isinstance(device, int):
        return str(int(device)) if device >= 0 else None
    kind, _, number = str(device).partition(":")
    if kind == "mps" and number in ("", "0"):
        return kind
    if kind not in _NUMBERED or str(device).endswith(":") or not (number or "0").isdecimal():
        return None
    return f"{kind}:{int(number or 0)}"


def _device_of(device: Any, framework: str) -> Any:
    """Where tensors go; only torch and Paddle have more than one place for them."""
    if device is None or device == "cpu":
        return "cpu"
    if framework not in ("torch", "paddle"):
        known = _known_device(device)
        if known is None:
            raise TareError(f"device {device} is invalid")
        raise TareError(f"Device {known} is not supported for framework {framework}")
    if framework == "torch":
        import torch
        try:
            torch.device(device)
        except (RuntimeError, TypeError):
            raise TareError(f"device {device} is invalid") from None
    return device


class SliceError(TareError, IndexError):
    """A part is asked for that the tensor does not have."""


class TensorMeta(Record):
    """What a safetensors header says of a tensor."""

    __slots__ = ("dtype", "shape", "data_offsets")
    dtype: str  # "BF16"
    shape: list[int]
    data_offsets: tuple[int, int] | None  # within the data of its file; None: in no file of safetensors


class SafeSlice(Generic[A]):
    """A tensor whose parts are read when it is indexed: integers, slices, ... and None. As in
    safetensors, what lies outside is an error, for slices too, but PyTorch's tensors are indexed as
    PyTorch does it. Of what is mapped they are views."""

    __slots__ = ("_tensor", "_framework", "_device", "_dtype")

    def __init__(self, tensor: Tensor, framework: str, device: Any, dtype: Any) -> None:
        self._tensor = tensor
        self._framework, self._device, self._dtype = framework, device, dtype

    def get_shape(self) -> list[int]:
        """The dimensions of the whole tensor."""
        return list(self._tensor.shape)

    def get_dtype(self) -> str:
        """The type of its numbers as in a safetensors header: "BF16"."""
        return _dtype_name(self._tensor, self._dtype)

    def __getitem__(self, key: Key) -> A:
        part: Tensor | TensorView = self._tensor
        is_all = key is Ellipsis or part.shape and isinstance(key, slice) and key == slice(None)
        if self._framework == "torch" and not is_all and not _is_plain(key, part.shape):
            whole = _as_framework(part, self._framework, "cpu", self._dtype)
            return whole[key].to(self._device)
        if not is_all:
            part = self._tensor[key if self._framework == "torch" else _checked(key, part.shape)]
        return _as_framework(part, self._framework, self._device, self._dtype)


def _dtype_name(tensor: Tensor, dtype: Any) -> str:
    return encoding(tensor.target(_dtype_of(tensor, dtype))).name.upper()


def _text_of(key: Any) -> str:
    if not isinstance(key, slice):
        return "..." if key is Ellipsis else str(key)
    return ":".join("" if n is None else str(n) for n in (key.start, key.stop))


def _is_plain(key: Any, shape: tuple[int, ...]) -> bool:
    """Whether an index means a part that is read by itself. All else is PyTorch's to do or to refuse."""
    keys = key if isinstance(key, tuple) else (key,)
    given = [k for k in keys if k is not None and k is not Ellipsis]
    if len(given) > len(shape) or sum(k is Ellipsis for k in keys) > 1:
        return False
    behind = len(keys) - next((i for i, k in enumerate(keys) if k is Ellipsis), len(keys))
    n_behind = sum(k is not None and k is not Ellipsis for k in keys[len(keys) - behind:])
    dims = (*shape[:len(given) - n_behind], *shape[len(shape) - n_behind:])
    for k, n in zip(given, dims):
        if isinstance(k, slice):
            if any(type(end) not in (int, type(None)) for end in (k.start, k.stop, k.step)) or (
                    k.step is not None and k.step < 1):
                return False
        elif type(k) is not int or not -n <= k < n:
            return False
    return True


def _checked(key: Any, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """The entries of an index, none of which reaches beyond its dimension."""
    if isinstance(key, list):
        if key:  # the text is part of the interface: programs compare it
            raise TareError("Non empty lists are not implemented")
        key = slice(0, 0)
    keys = key if isinstance(key, tuple) else (key,)
    for i, k in enumerate(keys):
        if not (k is None or k is Ellipsis or isinstance(k, slice) or hasattr(k, "__index__")) or (
                hasattr(k, "shape") and k.shape):
            raise TareError(f"Unsupported slice index at position {i}: expected slice, int, or ellipsis")
    keys = tuple(int(k) if isinstance(k, bool) else k for k in keys)
    n_given = sum(k is not None and k is not Ellipsis for k in keys)
    if n_given > len(shape):
        raise SliceError(f"Error during slicing [{', '.join(map(_text_of, keys))}] with shape "
                         f"{list(shape)}: more slicing indexes than dimensions in tensor")
    dim = 0
    for k in keys:
        if k is None:
            continue
        if k is Ellipsis:
            dim += len(shape) - n_given
            continue
        n = shape[dim]
        if isinstance(k, slice):
            beyond = next((end for end in (k.start or 0, (k.stop or 0) - 1) if end >= max(n, 1)), None)
        else:
            if k < -n:
                raise SliceError(f"Invalid index {k} for dimension {dim} of size {n}")
            beyond = k if k >= n else None
        if beyond is not None:
            raise SliceError(f"Error during slicing [{', '.join(map(_text_of, keys))}] with shape "
                             f"{list(shape)}: index {beyond} out of bounds for tensor dimension "
                             f"#{dim} of size {n}")
        dim += 1
    return keys


class _Opened(Generic[A]):
    """What safe_open and _safe_open_handle share."""

    def _open(self, source: Any, framework: str, device: Any, map: bool, dtype: Any,
              base: Any) -> None:
        if framework not in FRAMEWORKS:
            raise TareError(f"framework {framework} is invalid")
        self._framework = FRAMEWORKS[framework]
        self._device = _device_of(device, self._framework)
        self._dtype = dtype
        self._model: Model | None = open(source, map=map, base=base, stored=True)

    @property
    def _opened(self) -> Model:
        if self._model is None:
            raise TareError("File is closed")
        return self._model

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._model is not None:
            self._model.close()
        self._model = None

    def _tensor(self, name: str) -> Tensor:
        try:
            return self._opened[name]
        except KeyError:
            if not isinstance(name, str):
                raise TypeError(f"{name!r}: the name of a tensor is a text") from None
            raise TareError(f"File does not contain tensor {name}") from None

    def keys(self) -> list[str]:
        """The names of the tensors, sorted."""
        return sorted(self._opened)

    def offset_keys(self) -> list[str]:
        """The names of the tensors in the order of the file."""
        return list(self._opened)

    def metadata(self) -> dict[str, str] | None:
        """The texts of a safetensors header. Keys of other containers are in "tare.metadata", the
        way `tare convert` writes them. None: there is nothing."""
        metadata = self._opened.metadata
        has_pairs = self._opened.info.has_pairs
        typed = [key for key in metadata if metadata.pairs.get(key) != metadata[key]]
        if not typed:
            return dict(metadata.pairs) if has_pairs else None
        import json
        from .._verbs import _plan
        keys: list[tuple[str, int, int, Any]] = [
            (key, _KEYS_SAFETENSORS, _STR, value) for key, value in metadata.pairs.items()]
        for key in typed:
            value, stored = metadata[key], metadata.type(key)
            if stored == "array":
                keys.append(_key(key, value))
            else:
                keys.append((key, _KEYS_MODEL, scalar_type(value, stored), value))
        text = _plan(_core.build([], keys, []), None, False, to="safetensors").run_bytes()[8:]
        return dict(json.loads(text)["__metadata__"])

    def get_tensor(self, name: str) -> A:
        """A tensor, in the framework that was asked for."""
        return _as_framework(self._tensor(name), self._framework, self._device,
                             self._dtype)

    def get_tensor_meta(self, name: str) -> TensorMeta:
        """Its type, shape and place, of which nothing is read.

        >>> tare.safetensors.safe_open("tiny.wcodec", "np").get_tensor_meta("output_norm.weight")
        TensorMeta(dtype='F32', shape=[64], data_offsets=None)
        """
        tensor = self._tensor(name)
        offsets, place = None, tensor.place
        if place is not None and self._opened.info.format in ("safetensors", "hf"):
            begin = place[1] - self._data_begin(place[0])
            offsets = begin, begin + tensor.nbytes
        return TensorMeta(_dtype_name(tensor, self._dtype), list(tensor.shape), offsets)

    def _data_begin(self, file: int) -> int:
        """Where the data of a file of safetensors begin, which have no gap."""
        places = (t.place for t in self._opened.values())
        return min(place[1] for place in places if place is not None and place[0] == file)

    def prefetch(self, plan: Mapping[str, slice | None] | None = None, *,
                 device: Device | None = None, threads: int = 0) -> PrefetchLoader:
        """Begins to read tensors to a GPU in the background: all, or those of a plan, which has the
        rows of a tensor as a slice, or None for all of it. The loader hands each out once."""
        from ._prefetch import PrefetchLoader
        if self._framework != "torch":
            raise TareError('prefetch: framework="pt" only')
        return PrefetchLoader(self._opened, plan, self._device if device is None else device,
                              self._dtype, threads)

    def get_tensors(self) -> dict[str, A]:
        """All tensors by name. What must be decoded is decoded by one parallel call."""
        model = self._opened
        kind = "torch" if self._framework == "torch" else "numpy"
        wanted: dict[Any, list[str]] = {}
        for name, t in model.items():
            if not t.is_borrowable or t.encoding_id not in _STORED:
                wanted.setdefault(_dtype_of(t, self._dtype), []).append(name)
        arrays = {}
        for dtype, names in wanted.items():
            arrays.update(model.load(names, framework=kind, dtype=dtype))
        for name, array in arrays.items():
            if kind == "torch":
                arrays[name] = _packed(array, model[name].encoding_id).to(self._device)
            elif self._framework != "numpy":
                arrays[name] = _from_numpy(array, self._framework, self._device)
        return {name: arrays[name] if name in arrays else self.get_tensor(name) for name in model}

    def get_slice(self, name: str) -> SafeSlice[A]:
        """A tensor that is read when it is indexed."""
        return SafeSlice(self._tensor(name), self._framework, self._device, self._dtype)


class safe_open(_Opened[A]):
    """Opens a model of any format: a path, or whatever tare.open takes.

    framework  "pt", "np", "tf", "flax", "mlx" or "paddle"
    device     where tensors of torch and Paddle go: "cpu", "cuda:1", ...
    backend    "mmap", or "pread": nothing is mapped, every tensor is read
    dtype      what blocks are decoded to: float32, float16 or bfloat16
    base       models that a .wcodec was packed against

    Arrays may be written to; the file does not change. What is mapped is shared by all arrays that
    are made of one tensor of this object.

    >>> with tare.safetensors.safe_open("tiny.wcodec", framework="np") as f:
    ...     f.get_slice("blk.0.attn_q.weight")[:2, 4].shape
    (2,)
    """

    @overload
    def __init__(self: safe_open[torch.Tensor], filename: Source, framework: Torch, device: Device = "cpu",
                 *, backend: Backend = "mmap",
                 dtype: DType | None = None, base: OneOrMore[Source | Model] = ()) -> None: ...
    @overload
    def __init__(self: safe_open[np.ndarray[Any, Any]], filename: Source, framework: Numpy, device: Device = "cpu",
                 *, backend: Backend = "mmap",
                 dtype: DType | None = None, base: OneOrMore[Source | Model] = ()) -> None: ...
    @overload
    def __init__(self: safe_open[Any], filename: Source, framework: Other, device: Device = "cpu",
                 *, backend: Backend = "mmap",
                 dtype: DType | None = None, base: OneOrMore[Source | Model] = ()) -> None: ...
    def __init__(self, filename: Any, framework: str, device: Any = "cpu", *, backend: str = "mmap",
                 dtype: Any = None, base: Any = ()) -> None:
        if backend not in ("mmap", "pread"):
            raise TareError(f'backend {backend!r} is invalid (expected one of: "mmap", "pread")')
        if isinstance(filename, (str, os.PathLike)) and "://" not in str(filename) and (
                not os.path.exists(filename)):
            raise FileMissingError(f"No such file or directory: {os.fspath(filename)}")
        self._open(filename, framework, device, backend == "mmap", dtype, base)


class _safe_open_handle(_Opened[A]):
    """The same for a file object, such as fsspec's."""

    @overload
    def __init__(self: _safe_open_handle[torch.Tensor], handle: Source, framework: Torch, device: Device = "cpu",
                 *, dtype: DType | None = None, base: OneOrMore[Source | Model] = ()) -> None: ...
    @overload
    def __init__(self: _safe_open_handle[np.ndarray[Any, Any]], handle: Source, framework: Numpy, device: Device = "cpu",
                 *, dtype: DType | None = None, base: OneOrMore[Source | Model] = ()) -> None: ...
    @overload
    def __init__(self: _safe_open_handle[Any], handle: Source, framework: Other, device: Device = "cpu",
                 *, dtype: DType | None = None, base: OneOrMore[Source | Model] = ()) -> None: ...
    def __init__(self, handle: Any, framework: str, device: Any = "cpu", *, dtype: Any = None,
                 base: Any = ()) -> None:
        if isinstance(handle, io.TextIOWrapper):
            handle = handle.buffer
        self._open(handle, framework, device, True, dtype, base)
