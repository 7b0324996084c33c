# SPDX-License-Identifier: MIT
"""GPUs, and tensors of an open model in their memory: what tare.cuda, load() and stream() do."""
from __future__ import annotations

import sys
from warnings import warn

from . import _core
from ._dtypes import BITS, PLAIN, numpy_dtype
from ._encodings import encoding
from ._errors import UnsupportedError
from ._records import Record
from ._tensor import _U8, allocate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import numpy as np
    from torch import Tensor as TorchTensor

    from ._arrays import Item
    from ._encodings import Encoding
    from ._model import Model

_CUDA = 2  # DLPack's number


class Counts(Record):
    """What a GPU has decoded in this process."""

    __slots__ = ("layers", "nbytes", "layers_left", "reason", "segments", "host_segments")
    layers: int
    nbytes: int  # decoded
    layers_left: int  # to the CPU
    reason: str | None  # why the first of these was
    segments: int
    host_segments: int  # of these layers, which the CPU decoded


# ---- devices

_devices: dict[int, _core.Device] = {}
_said: set[str] = set()


def _say(text: str) -> None:
    if text not in _said:
        _said.add(text)
        warn(text, RuntimeWarning, stacklevel=4)


def is_cuda(device: Any) -> bool:
    """Whether a device of torch, its name or its number is a GPU."""
    return isinstance(device, int) or str(device).split(":")[0] == "cuda"


def _number(device: Any) -> int:
    if isinstance(device, int):
        return device
    name, _, number = str(device).partition(":")
    if name != "cuda" or number and not number.isdecimal():
        raise ValueError(f"device: {device!r} is neither \"cuda\" nor \"cuda:N\"")
    return int(number) if number else _current()


def _current() -> int:
    """Which GPU "cuda" is: torch's current one where torch is in use, as everywhere in torch."""
    torch = sys.modules.get("torch")
    return int(torch.cuda.current_device()) if torch is not None and torch.cuda.is_available() else 0


def open_device(device: Any) -> _core.Device:
    number = _number(device)
    if number not in _devices:
        _devices.setdefault(number, _core.Device(f"cuda:{number}"))
    return _devices[number]


def is_available(device: Any = "cuda") -> bool:
    """Whether there are libtare_cuda, a driver and this GPU."""
    try:
        open_device(device)
    except UnsupportedError:
        return False
    return True


def counts(device: Any = "cuda") -> Counts:
    """What the GPU has decoded, and what was left to the CPU, since this process first used it."""
    return Counts(*open_device(device).counts())


# ---- tensors

class DeviceTensor:
    """Contiguous numbers in the memory of a GPU, which goes back when nobody refers to them. They are
    complete: no stream has to be waited for."""

    __slots__ = ("name", "shape", "memory", "_as")

    def __init__(self, name: str, shape: tuple[int, ...], memory: _core.DeviceMemory, as_: int) -> None:
        self.name = name
        self.shape = shape
        self.memory = memory
        self._as = as_

    @property
    def encoding(self) -> Encoding:
        """The number format; of stored blocks u8."""
        return encoding(self._as)

    @property
    def nbytes(self) -> int:
        return len(self.memory)

    @property
    def device(self) -> str:
        return f"cuda:{self.memory.device.number}"

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        if self._as not in PLAIN or PLAIN[self._as][0].startswith("ml."):
            raise AttributeError(f"__cuda_array_interface__ has no name for {self.encoding.name}; DLPack has")
        return {"shape": self.shape, "typestr": numpy_dtype(self._as).str, "strides": None, "version": 3,
                "data": (self.memory.address, False), "stream": None}

    def __dlpack__(self, *, stream: Any = None, max_version: tuple[int, int] | None = None,
                   dl_device: tuple[int, int] | None = None, copy: bool | None = None) -> Any:
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            raise BufferError(f"the tensor is on {self.device}")
        if copy:
            raise BufferError("copies are made by whoever takes the tensor")
        code, bits = PLAIN[self._as][2:] if self._as in PLAIN else (1, 8)
        return self.memory.dlpack(self.shape, code, bits, max_version is not None and max_version[0] >= 1)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (_CUDA, self.memory.device.number)

    def torch(self) -> TorchTensor:
        """A torch.Tensor over the same memory."""
        import torch
        if not self.nbytes:
            return torch.empty(self.shape, dtype=encoding(self._as).torch_dtype(), device=self.device)
        try:
            return torch.from_dlpack(self)
        except (RuntimeError, BufferError):  # a type that this release cannot take, but may have
            flat = DeviceTensor(self.name, (self.nbytes,), self.memory, _U8)
            return torch.from_dlpack(flat).view(encoding(self._as).torch_dtype()).reshape(self.shape)

    def numpy(self) -> np.ndarray[Any, Any]:
        """A copy in the memory of the host."""
        import numpy as np
        out: np.ndarray[Any, Any] = np.empty(self.shape, numpy_dtype(self._as))
        if self.nbytes:
            self.memory.download(out.reshape(-1).view(np.uint8))
        return out

    def __repr__(self) -> str:
        return f"DeviceTensor({self.name!r}, {self.shape}, {self.encoding.name}, {self.device})"


class _Place:
    """Where a tensor goes: memory of its own, or of the caller."""

    __slots__ = ("item", "address", "result")

    def __init__(self, item: Item, address: int, result: Any) -> None:
        self.item, self.address, self.result = item, address, result


def _held_as(item: Item) -> int:
    """The number format of the array: blocks and numbers of 4 and 6 bits are held as bytes."""
    return _U8 if item.as_ in BITS or item.as_ not in PLAIN else item.as_


def own_place(device: _core.Device, item: Item) -> _Place:
    memory = device.alloc(item.nbytes)
    return _Place(item, memory.address, DeviceTensor(item.tensor.name, item.shape, memory, _held_as(item)))


def _address_of(name: str, array: Any, device: _core.Device) -> tuple[int, tuple[int, ...], str | None]:
    """Address, shape and numpy's name of the type of an array on the device; None: torch's alone has
    it."""
    if hasattr(array, "data_ptr"):
        if str(array.device) != f"cuda:{device.number}":
            raise ValueError(f"{name}: an array on cuda:{device.number} expected, not on {array.device}")
        if not array.is_contiguous():
            raise ValueError(f"{name}: a contiguous array expected")
        return array.data_ptr(), tuple(array.shape), None
    about = array.__cuda_array_interface__
    if about.get("strides") is not None:
        raise ValueError(f"{name}: a contiguous array expected")
    return about["data"][0], tuple(about["shape"]), about["typestr"]


def given_place(device: _core.Device, item: Item, array: Any) -> _Place:
    name = item.tensor.name
    if not item.is_plain:
        raise ValueError(f"{name}: out takes what the file has, {item.tensor.encoding.name}, not "
                         f"{encoding(item.as_).name}")
    address, shape, typestr = _address_of(name, array, device)
    as_ = _held_as(item)
    theirs = str(array.dtype).removeprefix("torch.") if typestr is None else typestr
    ours = PLAIN[as_][1] if typestr is None else numpy_dtype(as_).str
    if shape != item.shape or theirs != ours:
        raise ValueError(f"{name}: out is {theirs} {shape}, not {ours} {item.shape}")
    return _Place(item, address, array)


# ---- loading

def raw_item(item: Item) -> Item:
    """The stored bytes of blocks."""
    tensor = item.tensor
    if tensor.encoding_id in PLAIN or tensor.encoding_id in BITS:
        return item
    if len(tensor.encoding.planes) > 1:
        raise UnsupportedError(f"{tensor.name}: {tensor.encoding.name} has several planes")
    item.as_ = tensor.encoding_id
    item.shape = (tensor.nbytes,)
    item.nbytes = tensor.nbytes
    return item


def _convert(model: Model, places: list[_Place], threads: int) -> None:
    """Tensors that the CPU decodes: blocks as floats, floats as others."""
    for place in places:
        item = place.item
        memory = allocate(item.nbytes)
        _core.read_many(model, [item.tensor.job(item.as_, memory, None)], threads, None)
        place.result.memory.upload(memory)


def fill(device: _core.Device, model: Model, places: list[_Place], window: int, stream: int, threads: int,
          report: Any) -> None:
    wanted = [place for place in places if place.item.nbytes]
    here = [place for place in wanted if not place.item.is_plain]
    jobs: list[tuple[int, tuple[int, ...]]] = [
        (place.item.tensor.index, (place.address,)) for place in wanted if place.item.is_plain]
    before = device.counts()[2]
    device.load(model, jobs, window, stream, threads, report)
    left, reason = device.counts()[2:4]
    if left > before:
        _say(f"tare.cuda: the CPU decoded some layers: {reason}")
    if here:
        _say(f"tare.cuda: the CPU decoded {here[0].item.tensor.encoding.name} to "
             f"{encoding(here[0].item.as_).name}; raw=True loads blocks as they are")
        _convert(model, here, threads)


def try_open(device: Any) -> _core.Device | None:
    """The device, or None, which is said once: the CPU decodes."""
    try:
        return open_device(device)
    except UnsupportedError as error:
        _say(f"{device}: {error}; the CPU decodes")
        return None


def load_items(device: _core.Device, model: Model, items: list[Item], threads: int,
               report: Any) -> dict[str, Any]:
    """For tare.load: tensors of torch on the device."""
    return dict(load_batch(device, model, items, threads, report, True))


def load_batch(device: _core.Device, model: Model, items: list[Item], threads: int, report: Any,
               as_torch: bool) -> list[tuple[str, Any]]:
    """Tensors on the device, of torch or as they are."""
    places = [own_place(device, item) for item in items]
    fill(device, model, places, 0, 0, threads, report)
    return [(place.item.tensor.name, place.result.torch() if as_torch else place.result) for place in places]
