# SPDX-License-Identifier: MIT
"""What `progress` may be, in the form that the extension calls: (done, total) -> stop."""
from __future__ import annotations

from . import _core
from ._errors import STATUS, make_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Protocol, Union

    class Bar(Protocol):
        """tqdm's, and whatever else has `total` and update(n)."""

        total: Any

        def update(self, n: int, /) -> object: ...

    Progress = Union[Callable[[int, int], object], Bar, _core.CancelToken, bool, None]


class _BarCaller:
    def __init__(self, bar: Any, is_own: bool) -> None:
        self.bar, self.is_own, self.done = bar, is_own, 0

    def __call__(self, done: int, total: int) -> bool:
        if total and self.bar.total != total:
            self.bar.total = total
            if hasattr(self.bar, "refresh"):
                self.bar.refresh()
        self.bar.update(done - self.done)
        self.done = done
        if self.is_own and total and done >= total:
            self.bar.close()
        return False


def adapt(progress: Any) -> Any:
    """A callable or a CancelToken; None for None and False. CancelledError: the token says stop already."""
    if progress is None or progress is False:
        return None
    if progress is True:
        from tqdm.auto import tqdm
        return _BarCaller(tqdm(unit="B", unit_scale=True), True)
    if isinstance(progress, _core.CancelToken):
        if progress.cancelled:
            raise make_error(STATUS.index("cancelled"), None, None, None, None, 0, None, None, 0,
                             "cancelled before it began", None)
        return progress
    if hasattr(progress, "update") and hasattr(progress, "total"):
        return _BarCaller(progress, False)
    if callable(progress):
        return progress
    raise TypeError("progress: a callable (done, total), an object with `total` and `update` such as "
                    "tqdm's, a CancelToken, or True expected")
