# SPDX-License-Identifier: MIT
"""Options in texts of the library, as Python has them. The library names them between backquotes, with a value where
one is meant; what only the command has is spelled as it does."""
from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Functions with options, in the order in which they are looked at; each module adds its own.
verbs: list[Any] = []

_OPTION = re.compile("`([a-z_]+)(?: ([A-Za-z0-9_]+))?`")


def _spelled(found: re.Match[str]) -> str:
    from ._options import QuantizeOptions
    name, value = found.groups()
    kind = next((kinds[name] for kinds in (one.__annotations__ for one in (
        QuantizeOptions, *verbs)) if name in kinds), None)
    if kind is None:
        return f"--{name.replace('_', '-')}{' ' + value if value else ''} of the command"
    if getattr(kind, "__forward_arg__", kind) == "bool":
        return f"{name}=True"
    return f"{name}={value!r}" if value else f"{name}="


def spell(text: str) -> str:
    """A text of the library with its options as they are given here."""
    return _OPTION.sub(_spelled, text) if "`" in text else text
