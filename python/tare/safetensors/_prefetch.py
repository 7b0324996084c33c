# SPDX-License-Identifier: MIT
"""PrefetchLoader: tensors that are read to a GPU in the background, each handed out once."""
from __future__ import annotations

from threading import Condition, Thread
from typing import TYPE_CHECKING, Any

from .._dtypes import PLAIN
from .._encodings import encoding
from .._errors import TareError

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Callable, Iterator, Mapping

    import torch
    from typing_extensions import Self

    from .._model import Model
    from .._tensor import Tensor, TensorView


def _part(tensor: Tensor, rows: slice | None) -> Tensor | TensorView:
    """What a plan names of a tensor."""
    if rows is None:
        return tensor
    if not isinstance(rows, slice):
        raise TareError(f"{tensor.name}: a prefetch plan has None or a slice, not {rows!r}")
    if not tensor.shape:
        raise TareError(f"{tensor.name}: the tensor is 0-d and has no rows")
    if rows.step == 0:
        raise TareError(f"{tensor.name}: invalid prefetch plan slice {rows!r}")
    if rows.step not in (None, 1):
        raise TareError(f"{tensor.name}: slices of a prefetch plan have step 1, not {rows.step}")
    n = tensor.shape[0]
    if any(end is not None and not -n <= end <= n for end in (rows.start, rows.stop)):
        raise TareError(f"{tensor.name}: {rows!r} is out of range, there are {n} rows")
    return tensor[rows]


class PrefetchLoader:
    """The tensors of a plan, in the order of the file. They are read in a thread of their own, and
    stay on the device until they are taken.

    names(), len(): what the plan has. take(name): one of them, which it waits for; iterating gives
    (name, tensor) of those that nobody has taken, as they come. close(): ends reading; tensors that
    were handed out stay. Safe for several threads."""

    def __init__(self, model: Model, plan: Mapping[str, slice | None] | None, device: Any,
                 dtype: Any, threads: int) -> None:
        from ..cuda import is_cuda
        wanted = dict.fromkeys(model) if plan is None else dict(plan)
        missing = next((name for name in wanted if name not in model), None)
        if missing is not None:
            raise TareError(f"File does not contain tensor {missing}")
        if not wanted:
            raise TareError("the prefetch plan selects no tensors")
        parts = {name: _part(tensor, wanted[name]) for name, tensor in model.items() if name in wanted}
        self._dtypes = {}
        for name, part in parts.items():
            as_ = part.encoding_id
            if as_ not in PLAIN and part.encoding.kind == "float":
                raise TareError(f"{name}: torch has no dtype for {part.encoding.name.upper()}")
            self._dtypes[name] = None if as_ in PLAIN else encoding(part.target(dtype)).torch_dtype()
        if not is_cuda(device):
            raise TareError(f"prefetch reads to cuda devices, not {device}")
        self._parts, self._device, self._threads = parts, device, threads
        self._left = dict.fromkeys(parts)  # not handed out yet
        self._ready: dict[str, torch.Tensor] = {}
        self._error: BaseException | None = None
        self._is_closed = False
        self._changed = Condition()
        self._thread = Thread(target=self._read_all, name="tare.prefetch", daemon=True)
        self._thread.start()

    def _read_all(self) -> None:
        try:
            for name, part in self._parts.items():
                if self._is_closed:
                    return
                tensor = part.torch(self._dtypes[name], self._device, threads=self._threads)
                with self._changed:
                    self._ready[name] = tensor
                    self._changed.notify_all()
        except BaseException as error:  # raised where the tensors are taken
            with self._changed:
                self._error = error
                self._changed.notify_all()

    def _wait_until(self, has_come: Callable[[], bool]) -> None:
        """Waits for the reading thread; the lock is held."""
        self._changed.wait_for(lambda: has_come() or self._is_closed or self._error is not None)
        if self._is_closed:
            raise TareError("the prefetch loader is closed")
        if self._error is not None and not has_come():
            raise self._error

    def _hand_out(self, name: str) -> torch.Tensor:
        if name not in self._left:
            raise TareError(f"{name}: already delivered")
        del self._left[name]
        self._changed.notify_all()
        return self._ready.pop(name)

    def names(self) -> list[str]:
        """What the plan has, in the order of the file."""
        return list(self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    def take(self, name: str) -> torch.Tensor:
        """A tensor, once."""
        with self._changed:
            if name not in self._parts:
                raise TareError(f"{name}: not in the prefetch plan")
            self._wait_until(lambda: name in self._ready or name not in self._left)
            return self._hand_out(name)

    def __iter__(self) -> Iterator[tuple[str, torch.Tensor]]:
        while True:
            with self._changed:
                self._wait_until(lambda: bool(self._ready) or not self._left)
                if not self._left:
                    return
                name = next(iter(self._ready))
                tensor = self._hand_out(name)
            yield name, tensor
            del tensor

    def close(self) -> None:
        """Ends reading, and lets go of what nobody took."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        self._thread.join()
        self._ready.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, type: type[BaseException] | None, value: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()
