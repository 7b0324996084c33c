# SPDX-License-Identifier: MIT
"""Changes to keys, names and the set of tensors of a model."""
from __future__ import annotations

import json

from . import _core, _spell
from ._progress import adapt
from ._records import Finding, Record, counted, size_text
from ._records import findings as make_findings
from ._source import listed, path_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Mapping, Sequence

    from ._verbs import Path

# The kinds of steps, as tare_edit_kind numbers them.
(_SET_KEY, _REMOVE_KEYS, _RENAME_KEYS, _TYPE_KEY, _RENAME_TENSORS, _DROP_TENSORS, _KEEP_TENSORS, _CHAT_TEMPLATE,
 _SPECIAL_TOKEN) = range(9)
_TEXT_MOST = 64 << 20  # bytes of a file that holds a value


class EditChange(Record):
    """A key, tensor or side file that is another one after the edit."""

    __slots__ = ("kind", "old", "new")
    kind: str  # "key", "tensor", "resource"
    old: str | None  # its name before; None: it is new
    new: str | None  # its name after; None: it is removed; as before: its value, type or shape is another


class EditedFile(Record):
    """What became of a file of the model."""

    __slots__ = ("path", "action", "old_nbytes", "nbytes", "changed_nbytes")
    path: str
    action: str  # "kept", "patched": some bytes of it change, "written": anew
    old_nbytes: int  # 0: it is new
    nbytes: int
    changed_nbytes: int  # of one that is patched


class EditResult(Record):
    """What an edit did, or would do."""

    __slots__ = ("format", "is_in_place", "changed_nbytes", "written_nbytes", "changes", "files", "findings")
    format: str
    is_in_place: bool  # no data moves
    changed_nbytes: int  # of files whose data stays where it is
    written_nbytes: int  # of files that are written anew
    changes: tuple[EditChange, ...]  # none: the model was as asked for already
    files: tuple[EditedFile, ...]
    findings: tuple[Finding, ...]

    def _parts(self) -> list[str]:
        n = self.changed_nbytes + self.written_nbytes
        return [self.format, counted(len(self.changes), "change"),
                f"{size_text(n)} {'in place' if self.is_in_place else 'written'}"]


def _value(value: Any) -> tuple[str, str | None]:
    """A value as the text of a step, and its type where the text does not tell it."""
    value = value.tolist() if hasattr(value, "tolist") else value  # of numpy
    if isinstance(value, str):
        return value, "string"
    if isinstance(value, (list, tuple)):
        is_text = bool(value) and all(isinstance(v, str) for v in value)
        return json.dumps(list(value)), "string[]" if is_text else None
    if isinstance(value, (bool, int, float)):
        return json.dumps(value, allow_nan=False), None
    raise TypeError(f"set: numbers, bools, texts and lists of them can be values, not {value!r}")


def _file(path: Path) -> str:
    """The text of a file, byte for byte."""
    with open(path, "rb") as file:
        data = file.read(_TEXT_MOST + 1)
    if len(data) > _TEXT_MOST:
        raise ValueError(f"{path_text(path)}: too large for a value")
    return data.decode("utf-8", "surrogateescape")


def _typed(key: str) -> tuple[str, str | None]:
    """"key:type" in two; the part after the last colon is a type."""
    name, colon, kind = key.rpartition(":")
    return (name, kind) if colon and name else (key, None)


def _steps(set: Mapping[str, Any], set_file: Mapping[str, Path], remove: Any, rename: Mapping[str, str],
           retype: Mapping[str, str], chat_template: Path | None, special_token: Mapping[str, str], rename_tensor: Mapping[str, str],
           drop_tensors: Any, keep_tensors: Any) -> list[tuple[int, str, str, str | None]]:
    """In the order of the command: first what goes, then what changes its name or type, then what is set."""
    rows: list[tuple[int, str, str, str | None]] = []
    rows += [(_REMOVE_KEYS, pattern, "", None) for pattern in listed(remove)]
    rows += [(_RENAME_KEYS, old, new, None) for old, new in rename.items()]
    rows += [(_TYPE_KEY, key, "", kind) for key, kind in retype.items()]
    for key, value in set.items():
        text, implied = _value(value)
        name, kind = _typed(key)
        rows.append((_SET_KEY, name, text, kind or implied))
    for key, path in set_file.items():
        name, kind = _typed(key)
        rows.append((_SET_KEY, name, _file(path), kind))
    if chat_template is not None:
        rows.append((_CHAT_TEMPLATE, "", _file(chat_template), None))
    rows += [(_SPECIAL_TOKEN, name, token, None) for name, token in special_token.items()]
    rows += [(_DROP_TENSORS, pattern, "", None) for pattern in listed(drop_tensors)]
    rows += [(_KEEP_TENSORS, pattern, "", None) for pattern in listed(keep_tensors)]
    rows += [(_RENAME_TENSORS, old, new, None) for old, new in rename_tensor.items()]
    return rows


def edit(src: Path, dst: Path | None = None, *, set: Mapping[str, Any] = {}, set_file: Mapping[str, Path] = {},
         remove: str | Sequence[str] = (), rename: Mapping[str, str] = {}, retype: Mapping[str, str] = {},
         chat_template: Path | None = None, special_token: Mapping[str, str] = {}, rename_tensor: Mapping[str, str] = {},
         drop_tensors: str | Sequence[str] = (), keep_tensors: str | Sequence[str] = (), in_place: bool = False,
         rewrite: bool = False, spare: int = 0, keep_time: bool = False, force: bool = False, dry_run: bool = False,
         no_sync: bool = False, threads: int = 0, progress: Any = None) -> EditResult:
    """Changes keys, the chat template, tensor names, or drops tensors; the format and all numbers stay. The file
    itself is changed, in place where that is possible; with dst another one is written. docs/edit.md says what is
    refused, and what a crash leaves.

    set            {key: value}, in the type that the key has, or "key:type"
    set_file       the same with values from files, byte for byte
    remove         patterns of keys; rename: {old: new}, with one * on each side; retype: {key: type}
    chat_template  the path of a file
    special_token  {"eos": "<|im_end|>"}
    rename_tensor, drop_tensors, keep_tensors: of tensors
    in_place       fails where data would have to move; rewrite: rewritten in any case
    spare          bytes left free for later edits; keep_time: of modification
    force          replaces an existing dst, and allows changes that can keep a program from loading the model
    dry_run        writes nothing: the result is what would be

    >>> tare.edit("tiny.gguf", "named.gguf", set={"general.name": "Tiny"}, force=True).changes[0].new
    'general.name'
    """
    if in_place and (rewrite or dst is not None):
        raise ValueError("in_place: it excludes rewrite and dst")
    steps = _steps(set, set_file, remove, rename, retype, chat_template, special_token, rename_tensor, drop_tensors,
                   keep_tensors)
    if not steps and not rewrite:
        raise ValueError("edit: nothing to do: give set, remove, rename or another of its options")
    row = _core.edit(path_text(src), steps, None if dst is None else path_text(dst), 1 if in_place else 2 * rewrite,
                     spare, {"force": force, "dry_run": dry_run, "no_sync": no_sync, "keep_time": keep_time,
                            "threads": threads},
                     adapt(progress))
    return EditResult(*row[:4], tuple(EditChange(*c) for c in row[4]), tuple(EditedFile(*f) for f in row[5]),
                      make_findings(row[6]))


_spell.verbs.append(edit)
