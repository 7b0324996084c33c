# SPDX-License-Identifier: MIT
"""The exceptions of tare. Each says what the library knows about the fault."""
from __future__ import annotations

import errno

from ._spell import spell

__all__ = [
    "TareError", "UsageError", "OutputExistsError", "NeedsBaseError", "NeedsImportanceError",
    "InputError", "TruncatedError", "CorruptError", "LimitError", "ChecksumError",
    "UnsupportedError", "SystemFailure", "FileMissingError", "AccessError", "NoSpaceError",
    "CancelledError",
]

STATUS = ("ok", "arg", "io", "nomem", "nospace", "unsupported", "truncated", "corrupt", "limit",
          "checksum", "cancelled")
ITEM = (None, "tensor", "key", "resource", "adapter")


class TareError(Exception):
    """What every error of the library is. str() is the line that the command prints.

    status     "corrupt", "truncated", "arg", ...: whose fault it is
    code       identifies the fault for programs ("output.exists"), or None
    path       the file it is in, or None
    offset     the byte of that file, or None
    item       number of the tensor, key, resource or adapter in its list, or None
    item_kind  "tensor", "key", "resource", "adapter" or None
    item_name  its name, escaped, or None
    field      the field of a header ("tensors[3].offset"), or None
    what       what was expected
    os_error   errno of the system call that failed, or 0
    """

    status: str = "arg"
    code: str | None = None
    path: str | None = None
    offset: int | None = None
    item: int | None = None
    item_kind: str | None = None
    item_name: str | None = None
    field: str | None = None
    what: str | None = None
    os_error: int = 0

    def __init__(self, line: str = "") -> None:
        self.args = (line,)

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), self.args, self.__dict__)


class UsageError(TareError, ValueError):
    """A wrong argument."""


class OutputExistsError(UsageError, FileExistsError):
    """The output exists and `force` is off."""


class NeedsBaseError(UsageError):
    """The file was packed as differences from a model that is not among those given as `base`."""

    status = "arg"


class NeedsImportanceError(UsageError):
    """The number format needs an importance matrix."""


class InputError(TareError, ValueError):
    """The input cannot be read."""


class TruncatedError(InputError):
    """The input ends too early."""


class CorruptError(InputError):
    """The input contradicts its format."""


class LimitError(InputError):
    """The input exceeds one of the limits."""


class ChecksumError(InputError):
    """The bytes are not those that a checksum or digest vouches for."""


class UnsupportedError(TareError):
    """A format, number type or combination that the library does not know or cannot do."""


class SystemFailure(TareError, OSError):
    """A system call failed; errno and filename are set."""


class FileMissingError(SystemFailure, FileNotFoundError):
    """There is no such file."""


class AccessError(SystemFailure, PermissionError):
    """The file may not be read or written."""


class NoSpaceError(SystemFailure):
    """The disk is full."""


class CancelledError(TareError):
    """A CancelToken or the progress callback stopped the call. Nothing is left behind."""


for _name in __all__:  # what messages and tracebacks call them
    globals()[_name].__module__ = __package__

_BY_CODE: dict[str | None, type[TareError]] = {
    "output.exists": OutputExistsError,
    "wcodec.base": NeedsBaseError,
    "convert.needs-importance": NeedsImportanceError,
}
# What options here do about an error, where the library names none.
_ADVICE: dict[type[TareError], str] = {
    OutputExistsError: "force=True replaces it",
    NeedsBaseError: "base= gives it to open() and to what opens files",
}
_BY_STATUS: dict[str, type[TareError]] = {
    "arg": UsageError, "io": SystemFailure, "nospace": NoSpaceError,
    "unsupported": UnsupportedError, "truncated": TruncatedError, "corrupt": CorruptError,
    "limit": LimitError, "checksum": ChecksumError, "cancelled": CancelledError,
}
_BY_ERRNO: dict[int, type[TareError]] = {
    errno.ENOENT: FileMissingError, errno.EACCES: AccessError, errno.EPERM: AccessError,
    errno.ENOSPC: NoSpaceError,
}


def make_error(status: int, code: str | None, path: str | None, offset: int | None,
               item: int | None, item_kind: int, item_name: str | None, field: str | None,
               os_error: int, what: str | None, line: str | None) -> TareError:
    """The exception for an error of the library, which the extension raises."""
    name = STATUS[status]
    kind = _BY_STATUS.get(name, TareError)
    if name == "arg":
        kind = _BY_CODE.get(code, kind)
    elif name == "io":
        kind = FileMissingError if code == "remote.not-found" else _BY_ERRNO.get(os_error, kind)
    line, what = line and spell(line), what and spell(what)
    if kind in _ADVICE:
        line = f"{line or what}; {_ADVICE[kind]}"
    error = kind(line or what or name)
    error.status, error.code, error.path, error.offset = name, code, path, offset
    error.item, error.item_kind, error.item_name = item, ITEM[item_kind], item_name
    error.field, error.what, error.os_error = field, what, os_error
    if isinstance(error, OSError):
        error.errno = os_error or (errno.EEXIST if kind is OutputExistsError else errno.EIO)
        error.strerror, error.filename = what or "", path
    return error
