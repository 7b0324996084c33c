# SPDX-License-Identifier: MIT
"""The options of convert() and load() as types, for functions that hand them on: a checker of types
finds one that is misspelt."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from typing import Mapping, Sequence

    from ._dtypes import DType
    from ._progress import Progress
    from ._source import OneOrMore, Source
    from ._model import Model
    from ._verbs import NumberType, Path


class SavesOptions(TypedDict, total=False):
    """Those of convert() but `to`, `metadata`, `force` and `dry_run`."""

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
    apply_adapter: Any
    adapter: Mapping[str, Path] | None
    imatrix: Path | None
    compat: str | None
    outlier_threshold: float | None
    outliers: float | str | None
    base: OneOrMore[Source | Model]
    keep_names: bool
    name: str | None
    pre: str | None
    vocab_only: bool
    no_tokenizer: bool
    mmproj: bool
    mtp: bool
    no_mtp: bool
    target_model: Source | Model | None
    with_mmproj: Source | Model | None
    like_reference: bool
    report: bool
    verify: bool
    strict: bool
    no_sync: bool
    threads: int
    progress: Progress


class SaveOptions(SavesOptions, total=False):
    """Those of convert() but `metadata`, `force` and `dry_run`."""

    to: str | None


class ConvertOptions(SaveOptions, total=False):
    """Those of convert()."""

    metadata: Mapping[str, Any] | None
    force: bool
    dry_run: bool
    part: tuple[int, int] | tuple[int, int, str] | None


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
    """Those of load() but `names`, `framework` and `base`."""

    device: Any
    dtype: DType | None
    out: Mapping[str, Any] | None
    threads: int
    pin_memory: bool
    huge_pages: bool
    progress: Progress
