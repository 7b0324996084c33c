# SPDX-License-Identifier: MIT
"""Many tensors at once: load() all into memory, stream() one after the other."""
from __future__ import annotations

from ._arrays import checked_framework, load_model, stream_model
from ._model import Model, open

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable, Iterator, Mapping, Sequence

    from ._arrays import Ahead
    from ._source import OneOrMore, Source


def load(source: Source | Model, *, framework: str = "numpy", names: Iterable[str] | None = None,
         device: Any = "cpu", dtype: Any = None, out: Mapping[str, Any] | None = None,
         threads: int = 0, pin_memory: bool = False, huge_pages: bool = False,
         base: OneOrMore[Source | Model] = (), progress: Any = None) -> dict[str, Any]:
    """All tensors, or those named, as arrays of numpy or torch.

    Tensors that a file holds as they are wanted are mapped, not copied: numpy arrays are read-only,
    torch tensors private to this process. All others are decoded into one mapping by one parallel
    call, in the order of the file; pages of a tensor go back to the system when it dies.

    The segments of a .wcodec are compared with their checksums, as whatever is decoded. What is mapped is
    not read here: the CRC-32 of an archive's members (.pt, .npz, zip) and INFQ's SHA-256 are compared by
    Tensor.check() and by verify(deep=True), not by load(), stream() or a Tensor that is read.

    framework   "numpy" or "torch"
    dtype       another type for floats and blocks: float32, float16 or bfloat16. Integers, bools and
                complex numbers keep theirs; Tensor.numpy(dtype) converts one tensor, whatever it is
    out         {name: array} or a module's state_dict(): decoded in place, strides respected, the
                dtype converted on the way; returns the arrays of `out`
    device      torch: where the tensors go; a GPU decodes them itself where libtare_cuda is installed
                (tare.cuda). pin_memory: into page-locked memory
    threads     0: what the process may use
    huge_pages  asks the system for large pages: faster where free memory is not fragmented
    base        models that a .wcodec was packed against; of a model that is open, open() was given them
    progress    a callable (done, total) -> stop, a tqdm bar, a CancelToken, or True

    >>> sorted(tare.load("tiny.gguf"))[0]
    'blk.0.attn_norm.weight'
    """
    options: dict[str, Any] = {"framework": framework, "names": names, "device": device, "dtype": dtype, "out": out,
                               "threads": threads, "pin_memory": pin_memory, "huge_pages": huge_pages,
                               "progress": progress}
    if isinstance(source, Model):
        return load_model(source, **options)
    checked_framework(framework, device, names)  # before anything is opened
    with open(source, base=base) as model:
        return load_model(model, **options)


def stream(source: Source | Model, *, framework: str = "torch", device: Any = "cpu",
           names: Iterable[str] | None = None, dtype: Any = None, window: int = 256 << 20,
           threads: int = 0, base: OneOrMore[Source | Model] = ()) -> Iterator[tuple[str, Any]]:
    """Tensors one after the other, in the order of the file or of `names`, decoded ahead in a thread.

    window  bytes of memory for tensors that are decoded and not yet let go of, half for those that
            are handed out; a larger tensor has its own. Let go of each before taking the next.
    base    models that a .wcodec was packed against

    >>> sum(array.size for name, array in tare.stream("tiny.gguf", framework="numpy"))
    20608
    """
    framework = checked_framework(framework, device, names)
    if not isinstance(window, int) or window < 1:
        raise ValueError(f"window: a positive number of bytes expected, not {window!r}")
    # What is wrong with the arguments shows here, not when the first tensor is taken.
    model = source if isinstance(source, Model) else open(source, map=False, base=base)
    ahead = stream_model(model, framework, names, device, dtype, window, threads)
    return _stream(ahead, model, model is not source, framework == "torch" and device != "cpu", device)


def _stream(ahead: Ahead, model: Model, is_own: bool, moves: bool, device: Any) -> Iterator[tuple[str, Any]]:
    try:
        for name, array in ahead.tensors():
            if moves:
                array = array.to(device)
            yield name, array
            del array
    finally:
        ahead.stop()
        if is_own:
            model.close()
