# SPDX-License-Identifier: MIT
"""The options of convert(), load() and pack(lossy=) as types, for functions that hand them on: a checker of types
finds one that is misspelt."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from typing import Mapping, Sequence

    from ._dtypes import DType
    from ._progress import Progress
    from ._source import Source
    from ._model import Model
    from ._verbs import NumberType, Path


class SavesOptions(TypedDict, total=False):
    """Those of convert() but `format`, `metadata`, `overwrite` and `dry_run`."""

    type: NumberType | None
    tensor_type: Mapping[str, NumberType] | None
    endian: str | None
    quality: str
    effort: str
    shard_size: int | str | None
    align: int | None
    keep_split: bool
    opaque: bool
    dedup: str | None
    clip: tuple[float, float] | None
    override_kv: Mapping[str, Any] | None
    rename_tensor: Mapping[str, str] | None
    apply_adapter: Sequence[Any]
    adapters: Mapping[str, Path] | None
    imatrix: Path | None
    compat: str | None
    outlier_threshold: float | None
    outliers: float | str | None
    bases: Sequence[Source | Model]
    keep_names: bool
    name: str | None
    pre: str | None
    vocab_only: bool
    no_tokenizer: bool
    measure: bool
    verify: bool
    strict: bool
    sync: bool
    threads: int
    progress: Progress


class SaveOptions(SavesOptions, total=False):
    """Those of convert() but `metadata`, `overwrite` and `dry_run`."""

    format: str | None


class ConvertOptions(SaveOptions, total=False):
    """Those of convert()."""

    metadata: Mapping[str, Any] | None
    overwrite: bool
    dry_run: bool


class QuantizeOptions(ConvertOptions, total=False):
    """Those of quantize() but `mix`: with a mix, or with a target."""

    output_tensor_type: NumberType | None
    token_embedding_type: NumberType | None
    pure: bool
    leave_output_tensor: bool
    allow_requantize: bool
    target_size: int | str | None
    target_bpw: float | None
    target_damage: float | None
    types: Sequence[NumberType] | None
    sensitivity: Path | None


class LoadOptions(TypedDict, total=False):
    """Those of load() but `names`, `framework` and `bases`."""

    device: Any
    dtype: DType | None
    out: Mapping[str, Any] | None
    threads: int
    pin_memory: bool
    huge_pages: bool
    progress: Progress


class LossyOptions(TypedDict, total=False):
    """Those of pack() with loss: one target, and what it goes by."""

    target_bpw: float
    target_size: int | str
    target_damage: float
    imatrix: Path | None
    sensitivity: Path | None
