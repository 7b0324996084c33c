# SPDX-License-Identifier: MIT
"""Checkpoints packed into a .wcodec and layers decoded from it.

    import tare.wcodec as wcodec

    wcodec.encode_checkpoint("model.safetensors", "model.wcodec")
    wcodec.decode_layer("model.wcodec", "model.embed_tokens.weight")
"""
from __future__ import annotations

from ._model import Model, open
from ._records import Record
from ._verbs import pack, unpack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable, Sequence

    import numpy as np

    from ._encodings import Encoding
    from ._results import PackResult, UnpackResult
    from ._source import Source
    from ._verbs import Path

__all__ = ["LayerRecord", "decode_checkpoint", "decode_layer", "encode_checkpoint", "layers"]

_SHAPES = ("16x16", "8x32", "32x8", "1x256")
_SIDES: dict[Any, tuple[str, ...]] = {16: ("16x16",), 8: ("8x32", "32x8"),
                                      **{tuple(map(int, s.split("x"))): (s,) for s in _SHAPES}}
_PREDICTORS = ("none", "dc", "left", "top", "avg", "planar")
_TRANSFORMS = ("none", "dct", "adst")


def _tiles(tile_size: Any) -> tuple[str, ...] | None:
    if tile_size is None:
        return None
    if isinstance(tile_size, str) and tile_size in _SHAPES:
        return (tile_size,)
    try:
        return _SIDES[tuple(tile_size) if isinstance(tile_size, list) else tile_size]
    except (KeyError, TypeError):
        raise ValueError(f"tile_size: {tile_size!r} is not 16, 8, (16, 16), (8, 32), (32, 8), (1, 256) "
                         "or None") from None


def _names(what: str, given: Any, known: Sequence[str]) -> tuple[str, ...] | None:
    if given is None:
        return None
    names = (given,) if isinstance(given, str) else tuple(given)
    for name in names:
        if name not in known:
            raise ValueError(f"{what}: {name!r} is not one of {', '.join(known)}")
    if not names:
        raise ValueError(f"{what}: at least one of {', '.join(known)} expected")
    return names


def encode_checkpoint(input_path: Source | Model, output_path: Path, tile_size: Any = None,
                      predictor_modes: Iterable[str] | str | None = None,
                      transforms: Iterable[str] | str | None = None, *, effort: str = "full",
                      bases: Sequence[Any] = (), overwrite: bool = False, threads: int = 0,
                      progress: Any = None) -> PackResult:
    """Packs a model without loss: tare.pack with what the encoder may try.

    tile_size        16: tiles of 16x16; 8: 8x32 and 32x8; or one shape, (1, 256); None: all
    predictor_modes  of "none", "dc", "left", "top", "avg", "planar"; None: all
    transforms       of "none", "dct", "adst"; None: all
    effort           "full", or "fast"

    The first three limit STRUCTURED segments, which are for bytes that resemble their neighbours and
    are tried at full effort. Independent weights do not: DIRECT coding is smaller there, and the file
    is the same whatever is given here.

    >>> result = tare.wcodec.encode_checkpoint("tiny.gguf", "c.wcodec", tile_size=16, transforms=["dct"])
    >>> tare.diff("tiny.gguf", "c.wcodec").same
    True
    """
    return pack(input_path, output_path, effort=effort, bases=bases, tile_shapes=_tiles(tile_size),
                predictors=_names("predictor_modes", predictor_modes, _PREDICTORS),
                transforms=_names("transforms", transforms, _TRANSFORMS), overwrite=overwrite,
                threads=threads, progress=progress)


def decode_checkpoint(input_path: Source | Model, output_path: Path, **options: Any) -> UnpackResult:
    """The file that was packed, byte for byte; options as for tare.unpack."""
    return unpack(input_path, output_path, **options)


def _opened(container: Source | Model, bases: Sequence[Any] = ()) -> Model:
    return container if isinstance(container, Model) else open(container, bases=bases)


def decode_layer(container: Source | Model, layer: str | int, *, out: np.ndarray[Any, Any] | None = None,
                 bases: Sequence[Any] = (), threads: int = 0) -> np.ndarray[Any, Any]:
    """One layer as an array: by its name or its number. Nothing else of the file is decoded.

    >>> tare.wcodec.decode_layer("tiny.wcodec", "output_norm.weight").shape
    (64,)
    """
    model = _opened(container, bases)
    tensor = model.tensor(layer) if isinstance(layer, int) else model[layer]
    return tensor.numpy(out=out, threads=threads)


class LayerRecord(Record):
    """A layer of a .wcodec."""

    __slots__ = ("name", "shape", "encoding", "bytes", "packed_bytes")
    name: str
    shape: tuple[int, ...]
    encoding: Encoding
    bytes: int
    packed_bytes: int | None  # None: the model is not packed


def layers(container: Source | Model) -> list[LayerRecord]:
    """The layers in the order of the file.

    >>> [layer.name for layer in tare.wcodec.layers("tiny.wcodec")][0]
    'token_embd.weight'
    """
    return [LayerRecord(t.name, t.shape, t.encoding, t.nbytes, t.packed_nbytes)
            for t in _opened(container).values()]
