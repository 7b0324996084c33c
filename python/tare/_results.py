# SPDX-License-Identifier: MIT
"""What the verbs return, and the parts of names."""
from __future__ import annotations

from . import _core
from ._encodings import Encoding
from ._progress import adapt
from ._records import FileInfo, Finding, Record, counted, size_text, table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterator

    from ._model import Model

ACTIONS = ("copy", "stand-in", "encode", "lossy", "repack")
DIFFERENCES = ("key-only-a", "key-only-b", "key", "tensor-only-a", "tensor-only-b", "shape",
               "encoding", "value", "resource-only-a", "resource-only-b", "resource")


def _findings(found: tuple[Finding, ...]) -> list[str]:
    return [counted(len(found), "finding")] if found else []


class PlannedTensor(Record):
    """What becomes of a tensor."""

    __slots__ = ("name", "source", "becomes", "stored", "action", "source_nbytes", "nbytes", "file",
                 "relative_rmse", "max_abs")
    name: str
    source: Encoding  # what it is
    becomes: Encoding  # what it is in the output
    stored: Encoding  # as `becomes`, or the type that carries it
    action: str  # "copy", "stand-in", "encode", "lossy", "repack"
    source_nbytes: int
    nbytes: int
    file: int  # index of the output file
    relative_rmse: float | None  # the error of encoding; None: not measured
    max_abs: float | None


class Result(Record):
    """What was written."""

    __slots__ = ("format", "files", "written_nbytes", "tensors", "findings", "damage", "recipe")
    format: str
    files: tuple[FileInfo, ...]
    written_nbytes: int
    tensors: tuple[PlannedTensor, ...]
    findings: tuple[Finding, ...]
    damage: float | None  # predicted; None: no types were chosen for a target
    recipe: str | None  # the types chosen: a line REGEX=TYPE for each group of tensors

    def _parts(self) -> list[str]:
        return [self.format, counted(len(self.tensors), "tensor"), size_text(self.written_nbytes),
                *_findings(self.findings)]

    def _repr_html_(self) -> str:
        groups: dict[tuple[str, str, str], int] = {}
        for t in self.tensors:
            key = (t.action, t.source.name, t.becomes.name)
            groups[key] = groups.get(key, 0) + 1
        rows = [(action, f"{counted(n, 'tensor')}, {a if a == b else a + ' → ' + b}")
                for (action, a, b), n in groups.items()]
        return table(repr(self)[1:-1], [("files", ", ".join(f.path or "" for f in self.files[:4])), *rows])


class PackedLayer(Record):
    """A tensor, or other content of a file, in a .wcodec."""

    __slots__ = ("name", "encoding", "source_nbytes", "nbytes", "is_shared")
    name: str
    encoding: Encoding | None  # None: no tensor
    source_nbytes: int
    nbytes: int
    is_shared: bool  # an earlier layer has the same bytes


class PackResult(Record):
    """What was packed."""

    __slots__ = ("n_files", "n_tensors", "n_shared", "n_referring", "source_nbytes", "nbytes",
                 "layers", "findings", "n_lossy", "bits_per_weight", "damage")
    n_files: int
    n_tensors: int
    n_shared: int
    n_referring: int  # tensors that need a base
    source_nbytes: int
    nbytes: int
    layers: tuple[PackedLayer, ...]
    findings: tuple[Finding, ...]
    n_lossy: int  # tensors that have lost something
    bits_per_weight: float  # with loss: that tensors take
    damage: float  # with loss: as predicted

    def _parts(self) -> list[str]:
        share = f" ({100 * self.nbytes / self.source_nbytes:.2f} %)" if self.source_nbytes else ""
        return [counted(self.n_tensors, "tensor"),
                f"{size_text(self.source_nbytes)} -> {size_text(self.nbytes)}{share}",
                *([f"{self.n_lossy} with loss"] if self.n_lossy else []), *_findings(self.findings)]


class UnpackResult(Record):
    """What was unpacked."""

    __slots__ = ("is_directory", "n_files", "nbytes", "packed_nbytes", "n_lost", "n_coarse", "n_whole",
                 "n_tensors_damaged", "n_files_lost", "is_unchecked", "findings")
    is_directory: bool
    n_files: int
    nbytes: int
    packed_nbytes: int
    n_lost: int  # damaged segments
    n_coarse: int
    n_whole: int
    n_tensors_damaged: int
    n_files_lost: int
    is_unchecked: bool
    findings: tuple[Finding, ...]

    def _parts(self) -> list[str]:
        return [counted(self.n_files, "file"), f"{size_text(self.nbytes)} from {size_text(self.packed_nbytes)}",
                *([f"{self.n_lost} segments lost"] if self.n_lost else []), *_findings(self.findings)]


class Report(Record):
    """What verify found."""

    __slots__ = ("findings",)
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether there is no finding of level "error"."""
        return not any(f.level == "error" for f in self.findings)

    def __bool__(self) -> bool:
        return self.ok

    def _parts(self) -> list[str]:
        return ["good" if self.ok else "bad", *_findings(self.findings)]


class DiffItem(Record):
    """A difference of two models."""

    __slots__ = ("kind", "name", "a", "b", "is_decoded", "is_tolerated", "relative_rmse", "max_abs",
                 "n_different", "norm_a")
    kind: str  # "key", "tensor-only-a", "shape", "encoding", "value", ...
    name: str
    a: int | None  # index in its list
    b: int | None
    is_decoded: bool  # the numbers below hold
    is_tolerated: bool
    relative_rmse: float  # ||a - b|| / ||a||
    max_abs: float
    n_different: int
    norm_a: float


class Diff(Record):
    """How two models differ: keys, the set of tensors, then tensors, the worst first."""

    __slots__ = ("same", "items", "renamed")
    same: bool
    items: tuple[DiffItem, ...]
    renamed: str | None  # "a", "b": which one was compared under llama.cpp's names

    def __iter__(self) -> Iterator[DiffItem]:
        return iter(self.items)

    def _parts(self) -> list[str]:
        return ["same" if self.same else counted(len(self.items), "difference")]

    def __len__(self) -> int:
        return len(self.items)


class Digests(Record):
    """SHA-256 digests that are the same in every container."""

    __slots__ = ("whole", "tensors")
    whole: bytes
    tensors: dict[str, bytes]

    def _parts(self) -> list[str]:
        return [counted(len(self.tensors), "tensor"), self.whole.hex()[:12]]

    def __str__(self) -> str:
        return self.whole.hex()


def digest_model(model: Model, threads: int, progress: Any) -> Digests:
    """Those of an open model."""
    whole, each = _core.digest(model, {"threads": threads}, adapt(progress))
    return Digests(whole, dict(each))


class GGUFName(Record):
    """The parts of "Base-8x7B-FineTune-v0.1-Q4_0-LoRA-00001-of-00003.gguf"; "" where there is none."""

    __slots__ = ("sidecar", "base_name", "size_label", "fine_tune", "version", "encoding", "type",
                 "shard", "n_shards", "is_version_assumed")
    sidecar: str
    base_name: str
    size_label: str
    fine_tune: str
    version: str
    encoding: str
    type: str
    shard: int
    n_shards: int
    is_version_assumed: bool


def parse_name(name: str) -> GGUFName | None:
    """The parts of a GGUF file's name (without its folder); None: it does not follow the convention.

    >>> tare.parse_name("Mixtral-8x7B-v0.1-Q4_0.gguf").size_label
    '8x7B'
    """
    row = _core.parse_name(name)
    return row and GGUFName(*row)
