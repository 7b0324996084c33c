# SPDX-License-Identifier: MIT
"""Many tensors at once: load() all into memory, stream() one after the other."""
from __future__ import annotations

import os
from threading import Thread
from weakref import WeakSet

from . import _core
from ._dtypes import BITS, PLAIN, numpy_dtype
from ._encodings import encoding
from ._model import Model, open
from ._progress import adapt
from ._tensor import Tensor, _n_elements, _U8, torch_over

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable, Iterator, Mapping, Sequence

    from ._source import Source

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


def _items(model: Model, names: Iterable[str] | None, dtype: Any) -> list[Item]:
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


def _checked(framework: str, device: Any, names: Any) -> str:
    """The framework's own name, if the arguments suit it."""
    if framework not in ("numpy", "np", "torch", "pt"):
        raise ValueError(f"framework: {framework!r} is not \"numpy\" or \"torch\"")
    framework = "torch" if framework in ("torch", "pt") else "numpy"
    if framework == "numpy" and str(device) != "cpu":
        raise ValueError(f"device: arrays of numpy are not on {device}; framework=\"torch\", or tare.cuda")
    if isinstance(names, (str, bytes)):
        raise TypeError(f"names: a list of names expected, not {names!r}")
    return framework


def load(source: Source | Model, *, framework: str = "numpy", names: Iterable[str] | None = None,
         device: Any = "cpu", dtype: Any = None, out: Mapping[str, Any] | None = None,
         threads: int = 0, pin_memory: bool = False, huge_pages: bool = False,
         bases: Sequence[Source | Model] = (), progress: Any = None) -> dict[str, Any]:
    """All tensors, or those named, as arrays of numpy or torch.

    Tensors that a file holds as they are wanted are mapped, not copied: numpy arrays are read-only,
    torch tensors private to this process. All others are decoded into one mapping by one parallel
    call, in the order of the file; pages of a tensor go back to the system when it dies.

    framework   "numpy" or "torch"
    dtype       another type for floats and blocks: float32, float16 or bfloat16. Integers, bools and
                complex numbers keep theirs; Tensor.numpy(dtype) converts one tensor, whatever it is
    out         {name: array} or a module's state_dict(): decoded in place, strides respected, the
                dtype converted on the way; returns the arrays of `out`
    device      torch: where the tensors go; a GPU decodes them itself where libtare_cuda is installed
                (tare.cuda). pin_memory: into page-locked memory
    threads     0: what the process may use
    huge_pages  asks the system for large pages: faster where free memory is not fragmented
    bases       models that a .wcodec was packed against; of a model that is open, open() was given them
    progress    a callable (done, total) -> stop, a tqdm bar, a CancelToken, or True

    >>> sorted(tare.load("tiny.gguf"))[0]
    'blk.0.attn_norm.weight'
    """
    framework = _checked(framework, device, names)
    if pin_memory and framework == "numpy":
        raise ValueError("pin_memory: framework=\"torch\" only")
    report = adapt(progress)
    if not isinstance(source, Model):
        with open(source, bases=bases) as model:
            return _load(model, framework, names, device, dtype, out, threads, pin_memory,
                         huge_pages, report)
    return _load(source, framework, names, device, dtype, out, threads, pin_memory, huge_pages, report)


def _device(framework: str, device: Any) -> _core.Device | None:
    """The GPU that decodes for torch; None: the CPU does."""
    if framework != "torch" or device == "cpu":
        return None
    from .cuda import is_cuda, try_open
    return try_open(device) if is_cuda(device) else None


def _load(model: Model, framework: str, names: Any, device: Any, dtype: Any, out: Any, threads: int,
          pin_memory: bool, huge_pages: bool, report: Any) -> dict[str, Any]:
    if out is not None:
        return _load_into(model, names, dtype, out, threads, report)
    items = _items(model, names, dtype)
    core = _device(framework, device)
    if core is not None:
        from .cuda import load_items
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

_running: WeakSet[_Ahead] = WeakSet()


def _before_fork() -> None:
    for ahead in list(_running):
        ahead.pause()


os.register_at_fork(before=_before_fork)


class _Ahead:
    """Decodes batches of tensors ahead of whoever takes them: one waits while one is in use."""

    def __init__(self, model: Model, batches: list[list[Item]], framework: str, threads: int) -> None:
        self.model, self.batches, self.framework, self.threads = model, batches, framework, threads
        self.next = 0  # batch that is decoded next
        self.ready: list[tuple[str, Any]] | None = None
        self.error: BaseException | None = None
        self.token = _core.CancelToken()
        self.thread: Thread | None = None
        _running.add(self)

    def decode(self, items: list[Item]) -> list[tuple[str, Any]]:
        parts = _fill_arena(self.model, items, self.threads, False, self.token)
        return [(item.tensor.name, _wrap(item, part, self.framework)) for item, part in zip(items, parts)]

    def _decode(self) -> None:
        try:
            self.ready = self.decode(self.batches[self.next])
        except BaseException as error:  # raised where the tensors are taken
            self.error = error

    def start(self) -> None:
        if self.thread is None and self.ready is None and self.next < len(self.batches):
            self.thread = Thread(target=self._decode, name="tare.stream", daemon=True)
            self.thread.start()

    def pause(self) -> None:
        """Waits for the batch in work, so that no thread runs."""
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


def _batches(items: list[Item], most: int) -> list[list[Item]]:
    out: list[list[Item]] = []
    size = 0
    for item in items:
        if not out or size + item.nbytes > most:
            out.append([])
            size = 0
        out[-1].append(item)
        size += (item.nbytes + ALIGN - 1) // ALIGN * ALIGN
    return out


def stream(source: Source | Model, *, framework: str = "torch", device: Any = "cpu",
           names: Iterable[str] | None = None, dtype: Any = None, window: int = 256 << 20,
           threads: int = 0, bases: Sequence[Source | Model] = ()) -> Iterator[tuple[str, Any]]:
    """Tensors one after the other, in the order of the file or of `names`, decoded ahead in a thread.

    window  bytes of memory for tensors that are decoded and not yet let go of, half for those that
            are handed out; a larger tensor has its own. Let go of each before taking the next.
    bases   models that a .wcodec was packed against

    >>> sum(array.size for name, array in tare.stream("tiny.gguf", framework="numpy"))
    20608
    """
    framework = _checked(framework, device, names)
    if not isinstance(window, int) or window < 1:
        raise ValueError(f"window: a positive number of bytes expected, not {window!r}")
    # What is wrong with the arguments shows here, not when the first tensor is taken.
    model = source if isinstance(source, Model) else open(source, map=False, bases=bases)
    batches = _batches(_items(model, names, dtype), max(window // 2, 1))
    return _stream(model, model is not source, batches, framework, device, threads)


def _stream(model: Model, is_own: bool, batches: list[list[Item]], framework: str, device: Any,
            threads: int) -> Iterator[tuple[str, Any]]:
    ahead = _ahead(model, batches, framework, device, threads)
    try:
        for name, array in ahead.tensors():
            if framework == "torch" and device != "cpu":
                array = array.to(device)
            yield name, array
            del array
    finally:
        ahead.stop()
        if is_own:
            model.close()


def _ahead(model: Model, batches: list[list[Item]], framework: str, device: Any, threads: int) -> _Ahead:
    core = _device(framework, device)
    if core is None:
        return _Ahead(model, batches, framework, threads)
    from .cuda import DeviceAhead
    return DeviceAhead(core, model, batches, framework, threads)
