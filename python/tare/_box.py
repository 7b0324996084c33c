# SPDX-License-Identifier: MIT
"""Parts of tensors: what basic indexing (integers, slices, ..., None) selects of each dimension."""
from __future__ import annotations

from _operator import index as as_integer  # `operator` has Python code to load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Box:
    """For each dimension of the tensor the positions that are selected, and which dimension each
    axis of the result is: -1 for one that None has added."""

    __slots__ = ("start", "count", "step", "axes", "added")

    def __init__(self, start: list[int], count: list[int], step: list[int],
                 axes: list[int], added: list[int]) -> None:
        self.start, self.count, self.step = start, count, step
        self.axes = axes
        self.added = added  # length of each axis of `axes` that is -1: 1, or 0 after slicing

    @classmethod
    def whole(cls, shape: tuple[int, ...]) -> Box:
        n = len(shape)
        return cls([0] * n, list(shape), [1] * n, list(range(n)), [1] * n)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.count[d] if d >= 0 else n for d, n in zip(self.axes, self.added))

    def strides(self, of_axes: tuple[int, ...]) -> tuple[int, ...]:
        """Strides for each dimension of the tensor, from those of the result's axes."""
        out = [0] * len(self.count)
        for d, stride in zip(self.axes, of_axes):
            if d >= 0:
                out[d] = stride
        return tuple(out)

    def run(self, shape: tuple[int, ...]) -> int:
        """The element of a tensor of this shape where the selection begins, if it is one run of
        elements; -1: it is not."""
        at, inner, is_whole = 0, 1, True
        for start, count, step, n in zip(reversed(self.start), reversed(self.count),
                                         reversed(self.step), reversed(shape)):
            if count > 1 and (step != 1 or not is_whole):
                return -1
            at += start * inner
            inner *= n
            is_whole = is_whole and count == n
        return at

    def key(self) -> tuple[Any, ...]:
        """What selects the same of an array: numbers and slices, then None where an axis is added."""
        out: list[Any] = []
        for d, (start, count, step) in enumerate(zip(self.start, self.count, self.step)):
            if d in self.axes:
                stop = start + step * count
                out.append(slice(start, stop if stop >= 0 else None, step) if count else slice(0))
            else:
                out.append(start)
        return (*out, ...)

    def added_to(self, part: Any) -> Any:
        """An array that key() selected, with the axes that None has added."""
        if -1 not in self.axes:
            return part
        index = tuple(None if d < 0 else slice(None) for d in self.axes)
        return part[index][tuple(slice(n) if d < 0 else slice(None)
                                 for d, n in zip(self.axes, self.added))]

    def take(self, key: Any) -> Box:
        """What `key` selects of this."""
        keys = _expand(key, len(self.axes))
        box = Box(self.start[:], self.count[:], self.step[:], [], [])
        axis = 0
        for k in keys:
            if k is None:
                box.axes.append(-1)
                box.added.append(1)
                continue
            d, n = self.axes[axis], self.shape[axis]
            if isinstance(k, slice):
                box._slice(d, n, k)
            else:
                box._pick(d, n, axis, k)
            axis += 1
        return box

    def _slice(self, d: int, n: int, key: slice) -> None:
        chosen = range(n)[key]
        self.axes.append(d)
        self.added.append(len(chosen))
        if d >= 0:
            self.start[d] += chosen.start * self.step[d] if len(chosen) else 0
            self.step[d] *= chosen.step
            self.count[d] = len(chosen)

    def _pick(self, d: int, n: int, axis: int, key: Any) -> None:
        try:
            i = as_integer(key)
        except TypeError:
            raise TypeError("tensors are indexed by integers, slices, ... and None; for anything "
                            "else index what numpy() or torch() returns") from None
        if not -n <= i < n:
            raise IndexError(f"index {i} is out of bounds for axis {axis} with size {n}")
        if d >= 0:
            self.start[d] += (i % n) * self.step[d]
            self.step[d] = 1
            self.count[d] = 1


def _expand(key: Any, n_axes: int) -> list[Any]:
    """One entry for each axis, and the Nones between them."""
    keys = list(key) if isinstance(key, tuple) else [key]
    for k in keys:
        if isinstance(k, bool) or hasattr(k, "dtype") and k.ndim:
            raise TypeError("tensors are indexed by integers, slices, ... and None; for anything "
                            "else index what numpy() or torch() returns")
    n_given = sum(k is not None and k is not Ellipsis for k in keys)
    if n_given > n_axes:
        raise IndexError(f"too many indices: {n_axes} dimensions, {n_given} indices")
    n_dots = sum(k is Ellipsis for k in keys)
    if n_dots > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    fill = [slice(None)] * (n_axes - n_given)
    if not n_dots:
        return keys + fill
    at = next(i for i, k in enumerate(keys) if k is Ellipsis)
    return keys[:at] + fill + keys[at + 1:]
