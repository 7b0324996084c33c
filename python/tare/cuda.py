# SPDX-License-Identifier: MIT
"""Models in the memory of a GPU: layers of a .wcodec are copied as they are stored and decoded there.

    import tare.cuda

    state = tare.cuda.load_file("model.wcodec", "cuda:0")
    torch.from_dlpack(state["model.norm.weight"])    # or cupy.asarray: nothing is copied

It needs libtare_cuda (docs/CUDA.md), but neither torch nor CuPy. With torch the usual calls do the
same: tare.load(path, framework="torch", device="cuda"), tare.stream, tare.torch.load_file.
"""
from __future__ import annotations

from ._arrays import ALIGN, Ahead, batches_of, items_of
from ._device import (Counts, DeviceTensor, counts, fill, given_place, is_available, load_batch, open_device,
                      own_place, raw_item)
from ._device import is_cuda as is_cuda
from ._device import try_open as try_open
from ._model import Model, open
from ._progress import adapt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable, Iterator, Mapping

    from ._source import Source

__all__ = ["Counts", "DeviceTensor", "counts", "is_available", "load_file", "stream"]


def load_file(path: Source | Model, device: Any = "cuda", *, names: Iterable[str] | None = None,
              dtype: Any = None, raw: bool = False, out: Mapping[str, Any] | None = None,
              stream: int = 0, window: int = 0, threads: int = 0, progress: Any = None) -> dict[str, Any]:
    """All tensors, or those named, in the memory of a GPU, as DeviceTensor.

    device   "cuda", "cuda:N", N, or a device of torch; "cuda" is torch's current GPU, or cuda:0
    dtype    another type, for which the CPU decodes; as for Tensor.numpy
    raw      blocks as their stored bytes, not as float32, for which the CPU decodes
    out      {name: array}: contiguous arrays on the device, of torch or with __cuda_array_interface__, of
             the types and shapes of the file (with raw, of bytes), which are filled and returned
    stream   the handle of a stream that has to be done with `out` before it is written
    window   stored bytes that are decoded together; 0: 128 MiB
    threads  that read; 0: what the process may use
    What the GPU cannot decode is decoded by the CPU; a RuntimeWarning says so, once, and counts() how
    much. UnsupportedError: there is no libtare_cuda, no driver or no such GPU.
    """
    core = open_device(device)
    if not isinstance(path, Model):
        with open(path) as model:
            return load_file(model, device, names=names, dtype=dtype, raw=raw, out=out, stream=stream,
                             window=window, threads=threads, progress=progress)
    items = items_of(path, out if names is None and out is not None else names, dtype)
    if raw:
        items = [raw_item(item) for item in items]
    places = [own_place(core, item) if out is None else given_place(core, item, out[item.tensor.name])
              for item in items]
    fill(core, path, places, window, stream, threads, adapt(progress))
    return {place.item.tensor.name: place.result for place in places}


def stream(path: Source | Model, device: Any = "cuda", *, names: Iterable[str] | None = None,
           dtype: Any = None, window: int = 256 << 20, threads: int = 0) -> Iterator[tuple[str, DeviceTensor]]:
    """Tensors one after the other, in the order of the file, decoded ahead in the memory of a GPU.

    window  bytes of it for tensors that are decoded and not yet let go of, half for those that are
            handed out; a larger tensor has its own
    """
    core = open_device(device)
    model = path if isinstance(path, Model) else open(path)
    batches = batches_of(items_of(model, names, dtype), max(window // 2, ALIGN))
    ahead = Ahead(batches, lambda items, token: load_batch(core, model, items, threads, token, False))
    try:
        yield from ahead.tensors()
    finally:
        ahead.stop()
        if model is not path:
            model.close()
