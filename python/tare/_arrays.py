# SPDX-License-Identifier: MIT
"""Arrays of an open model's tensors, all at once or one after the other: what load() and stream() do."""
from __future__ import annotations

import os
import sys
from threading import RLock, Thread
from weakref import WeakSet

from . import _core
from ._dtypes import BITS, PLAIN, numpy_dtype
from ._encodings import encoding
from ._progress import adapt
from ._tensor import Tensor, _n_elements, _U8, torch_over

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Iterable, Iterator, Mapping

    from ._model import Model

    Decode = Callable[[list["Item"], Any], list[tuple[str, Any]]]

ALIGN = 256  # between the tensors of an arena: what GPUs and vector code ask for


class Item:
    """A tensor that is wanted: under which type, and how large it is then."""

    __slots__ = ("tensor", "as_", "shape", "nbytes", "item")

    def __init__(self, tensor: Tensor, dtype: Any) -> None:
        self.tensor = tensor
        # Codes, indices and masks mean what they are: only floats and blocks take another type.
        self.as_ = tensor.target(dtype if tensor.encoding.kind in ("float", "block") else None)
        self.shape = tensor.result_shape(self.as_)
        self.item = PLAIN[self.as_][3] // 8 if self.as_ in PLAIN else 1
        self.nbytes = _n_elements(self.shape) * self.item

    @property
    def is_plain(self) -> bool:
        return self.as_ == self.tensor.encoding_id


def items_of(model: Model, names: Iterable[str] | None, dtype: Any) -> list[Item]:
    tensors = model.values() if names is None else [model[name] for name in names]
    return [Item(tensor, dtype) for tensor in tensors]


def _wrap(item: Item, memory: _core.Memory, framework: str) -> Any:
    if framework == "torch":
        if not item.nbytes:
            import torch
            return torch.empty(item.shape, dtype=encoding(item.as_).torch_dtype(), device="cpu")
        return torch_over(memory, item.shape, _U8 if item.as_ in BITS else item.as_)
    import numpy as np
    return np.ndarray(item.shape, numpy_dtype(item.as_), memory)  # type: ignore[arg-type]


def _fill_arena(model: Model, items: list[Item], threads: int, huge_pages: bool,
                progress: Any) -> list[_core.Memory]:
    """One mapping for all, filled by one parallel call."""
    offsets, total = [], 0
    for item in items:
        offsets.append(total)
        total += (item.nbytes + ALIGN - 1) // ALIGN * ALIGN
    arena = _core.Arena(total, huge_pages)
    parts = [arena.part(offset, item.nbytes) for offset, item in zip(offsets, items)]
    jobs = [item.tensor.job(item.as_, part, None) for item, part in zip(items, parts) if item.nbytes]
    _core.read_many(model, jobs, threads, progress)
    return parts


def checked_framework(framework: str, device: Any, names: Any) -> str:
    """The framework's own name, if the arguments suit it."""
    if framework not in ("numpy", "np", "torch", "pt"):
        raise ValueError(f"framework: {framework!r} is not \"numpy\" or \"torch\"")
    framework = "torch" if framework in ("torch", "pt") else "numpy"
    if framework == "numpy" and str(device) != "cpu":
        raise ValueError(f"device: arrays of numpy are not on {device}; framework=\"torch\", or tare.cuda")
    if isinstance(names, (str, bytes)):
        raise TypeError(f"names: a list of names expected, not {names!r}")
    return framework


def _device(framework: str, device: Any) -> _core.Device | None:
    """The GPU that decodes for torch; None: the CPU does."""
    if framework != "torch" or device == "cpu":
        return None
    from ._device import is_cuda, try_open
    return try_open(device) if is_cuda(device) else None


def load_model(model: Model, *, framework: str = "numpy", names: Iterable[str] | None = None,
               device: Any = "cpu", dtype: Any = None, out: Mapping[str, Any] | None = None,
               threads: int = 0, pin_memory: bool = False, huge_pages: bool = False,
               progress: Any = None) -> dict[str, Any]:
    """tare.load() of a model that is open."""
    framework = checked_framework(framework, device, names)
    if pin_memory and framework == "numpy":
        raise ValueError("pin_memory: framework=\"torch\" only")
    report = adapt(progress)
    if out is not None:
        return _load_into(model, names, dtype, out, threads, report)
    items = items_of(model, names, dtype)
    core = _device(framework, device)
    if core is not None:
        from ._device import load_items
        return load_items(core, model, items, threads, report)
    if pin_memory:
        return _load_pinned(model, items, device, threads, report)
    arrays: dict[str, Any] = dict.fromkeys(item.tensor.name for item in items)
    rest = []
    for item in items:
        if item.is_plain and item.nbytes and item.tensor.is_borrowable:
            memory = item.tensor.memory(0, item.item, framework == "torch")
            arrays[item.tensor.name] = _wrap(item, memory, framework)
        else:
            rest.append(item)
    for item, part in zip(rest, _fill_arena(model, rest, threads, huge_pages, report)):
        arrays[item.tensor.name] = _wrap(item, part, framework)
    if framework == "torch" and device != "cpu":
        for name in arrays:
            arrays[name] = arrays[name].to(device)
    return arrays


def _load_pinned(model: Model, items: list[Item], device: Any, threads: int,
                 report: Any) -> dict[str, Any]:
    import torch
    arrays = {item.tensor.name: torch.empty(
        item.shape, dtype=torch.uint8 if item.as_ in BITS else encoding(item.as_).torch_dtype(),
        pin_memory=True) for item in items}
    jobs = [item.tensor.job(item.as_, arrays[item.tensor.name].data_ptr(), None)
            for item in items if item.nbytes]
    _core.read_many(model, jobs, threads, report)
    if device != "cpu":
        arrays = {name: t.to(device, non_blocking=True) for name, t in arrays.items()}
    return arrays


def _load_into(model: Model, names: Any, dtype: Any, out: Mapping[str, Any], threads: int,
               report: Any) -> dict[str, Any]:
    if dtype is not None:
        raise ValueError("dtype: the arrays of `out` have theirs")
    if not hasattr(out, "keys"):
        raise TypeError(f"out: a dict {{name: array}} expected, as module.state_dict() is, not "
                        f"{type(out).__name__}")
    jobs, arrays, elsewhere = [], {}, []
    for name in out if names is None else names:
        tensor, array = model[name], out[name]
        if not hasattr(array, "data_ptr") and not hasattr(array, "__array_interface__"):
            raise TypeError(f"{name}: `out` has a {type(array).__name__}, no array of numpy or torch")
        if tuple(array.shape) != tensor.shape:
            raise ValueError(f"{name}: out has the shape {tuple(array.shape)}, not {tensor.shape}")
        arrays[name] = array
        if hasattr(array, "data_ptr"):
            if array.device.type != "cpu":
                elsewhere.append(name)
                continue
            size = array.element_size()
            strides = None if array.is_contiguous() else tuple(s * size for s in array.stride())
            address = array.data_ptr()
        else:
            if not array.flags.writeable:
                raise ValueError(f"{name}: the array of `out` is read-only")
            strides = None if array.flags.c_contiguous else array.strides
            address = array.__array_interface__["data"][0]
        as_ = tensor.target(array.dtype)
        if tensor.n_elements:
            jobs.append(tensor.job(as_, address, strides))
    _core.read_many(model, jobs, threads, report)
    for name in elsewhere:
        arrays[name].copy_(model[name].torch(arrays[name].dtype, threads=threads))
    return arrays


# ---- stream

_running: WeakSet[Ahead] = WeakSet()


_forking = RLock()
_held: list[Ahead] = []  # of whoever has that lock


def _before_fork() -> None:
    _forking.acquire()
    for ahead in list(_running):
        ahead.lock.acquire()
        _held.append(ahead)
        ahead.pause()


def _after_fork() -> None:
    while _held:
        _held.pop().lock.release()
    _forking.release()


if sys.platform != "win32":
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)


class Ahead:
    """Decodes batches of tensors ahead of whoever takes them: one waits while one is in use."""

    def __init__(self, batches: list[list[Item]], decode: Decode) -> None:
        self.batches, self.decode = batches, decode
        self.next = 0  # batch that is decoded next
        self.ready: list[tuple[str, Any]] | None = None
        self.error: BaseException | None = None
        self.token = _core.CancelToken()
        self.thread: Thread | None = None
        self.lock = RLock()  # for `thread`: whoever forks waits for it, in place of the one that streams
        _running.add(self)

    def _decode(self) -> None:
        try:
            self.ready = self.decode(self.batches[self.next], self.token)
        except BaseException as error:  # raised where the tensors are taken
            self.error = error

    def start(self) -> None:
        with self.lock:
            if self.thread is None and self.ready is None and self.next < len(self.batches):
                self.thread = Thread(target=self._decode, name="tare.stream", daemon=True)
                self.thread.start()

    def pause(self) -> None:
        """Waits for the batch in work, so that no thread runs."""
        with self.lock:
            if self.thread is not None:
                self.thread.join()
                self.thread = None

    def take(self) -> list[tuple[str, Any]]:
        self.start()
        self.pause()
        if self.error is not None:
            raise self.error
        assert self.ready is not None
        batch, self.ready = self.ready, None
        self.next += 1
        self.start()
        return batch

    def tensors(self) -> Iterator[tuple[str, Any]]:
        for _ in range(len(self.batches)):
            batch = self.take()
            batch.reverse()
            while batch:
                yield batch.pop()

    def stop(self) -> None:
        self.token.cancel()
        self.pause()
        self.ready, self.next = None, len(self.batches)


def batches_of(items: list[Item], most: int) -> list[list[Item]]:
    out: list[list[Item]] = []
    size = 0
    for item in items:
        if not out or size + item.nbytes > most:
            out.append([])
            size = 0
        out[-1].append(item)
        size += (item.nbytes + ALIGN - 1) // ALIGN * ALIGN
    return out


def stream_model(model: Model, framework: str, names: Iterable[str] | None, device: Any, dtype: Any, window: int,
                 threads: int) -> Ahead:
    """What tare.stream() takes the tensors of an open model from; to be stopped."""
    batches = batches_of(items_of(model, names, dtype), max(window // 2, 1))
    core = _device(framework, device)
    if core is not None:
        from ._device import load_batch
        is_torch = framework == "torch"
        return Ahead(batches, lambda items, token: load_batch(core, model, items, threads, token, is_torch))
    return Ahead(batches, lambda items, token: _decode(model, items, threads, token, framework))


def _decode(model: Model, items: list[Item], threads: int, token: Any, framework: str) -> list[tuple[str, Any]]:
    parts = _fill_arena(model, items, threads, False, token)
    return [(item.tensor.name, _wrap(item, part, framework)) for item, part in zip(items, parts)]
