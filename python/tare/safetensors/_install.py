# SPDX-License-Identifier: MIT
"""tare.safetensors under the name safetensors, for code that cannot be changed."""
from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

_NAME = "safetensors"
_OURS = __name__.rpartition(".")[0]

_before: dict[str, ModuleType] = {}


class _Finder:
    """Finds safetensors.X as tare.safetensors.X, so that each framework is imported when asked for."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if not name.startswith(_NAME + "."):
            return None
        from importlib.util import find_spec, spec_from_loader
        if find_spec(_OURS + name[len(_NAME):]) is None:
            return None
        return spec_from_loader(name, self)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        from importlib import import_module
        module = import_module(_OURS + spec.name[len(_NAME):])
        self.spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.spec  # the importer has set that of the other name


_finder = _Finder()


def _ours_or_theirs() -> list[str]:
    return [name for name in sys.modules if name == _NAME or name.startswith(_NAME + ".")]


def install() -> None:
    """`import safetensors` means tare.safetensors from now on, in this process. Modules that hold
    names of the real package keep them, so call it first; a process that is spawned calls it itself.

    >>> tare.safetensors.install()
    >>> import safetensors
    >>> safetensors is tare.safetensors
    True
    >>> tare.safetensors.uninstall()
    """
    if _finder in sys.meta_path:
        return
    for name in _ours_or_theirs():
        _before[name] = sys.modules.pop(name)
    sys.modules[_NAME] = sys.modules[_OURS]
    sys.meta_path.insert(0, _finder)


def uninstall() -> None:
    """Takes back install()."""
    if _finder not in sys.meta_path:
        return
    sys.meta_path.remove(_finder)
    for name in _ours_or_theirs():
        del sys.modules[name]
    sys.modules.update(_before)
    _before.clear()
