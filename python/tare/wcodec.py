# SPDX-License-Identifier: MIT
"""Checkpoints packed into a .wcodec and layers decoded from it.

    import tare.wcodec as wcodec

    wcodec.encode_checkpoint("model.safetensors", "model.wcodec")
    wcodec.decode_layer("model.wcodec", "model.embed_tokens.weight")

and layers in memory: encode() takes an array or regions of bytes, without a file.
"""
from __future__ import annotations

from . import _core
from ._encodings import encoding
from ._model import Model, open
from ._progress import adapt
from ._records import Record
from ._tensor import allocate
from ._verbs import pack_by_texts, unpack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable, Mapping, Sequence

    import numpy as np

    from ._encodings import Encoding
    from ._results import PackResult, UnpackResult
    from ._source import OneOrMore, Source
    from ._verbs import Any_source, Path

__all__ = ["Coded", "Join", "LayerRecord", "Segment", "Stream", "decode_checkpoint", "decode_layer",
           "encode", "encode_checkpoint", "layers", "open_coded"]

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


def _bits(names: Sequence[str] | None, known: Sequence[str]) -> int:
    return sum({1 << known.index(name) for name in names or ()})


def _limits(tile_size: Any, predictor_modes: Any, transforms: Any) -> tuple[int, int, int]:
    """What STRUCTURED segments may use, as the library's sets of bits."""
    return (_bits(_tiles(tile_size), _SHAPES),
            _bits(_names("predictor_modes", predictor_modes, _PREDICTORS), _PREDICTORS),
            _bits(_names("transforms", transforms, _TRANSFORMS), _TRANSFORMS))


def encode_checkpoint(input_path: Source | Model, output_path: Path, tile_size: Any = None,
                      predictor_modes: Iterable[str] | str | None = None,
                      transforms: Iterable[str] | str | None = None, *, effort: str = "full",
                      base: OneOrMore[Any_source] = (), force: bool = False, threads: int = 0,
                      progress: Any = None) -> PackResult:
    """Packs a model without loss, as tare.pack does, with what the encoder may try.

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
    if effort not in ("fast", "full"):
        raise ValueError(f"effort: {effort!r} is not \"fast\" or \"full\"")
    texts = [("effort", effort), ("force", str(force).lower()), ("threads", str(threads))]
    return pack_by_texts(input_path, output_path, texts, base, None, _limits(tile_size, predictor_modes, transforms),
                         progress)


def decode_checkpoint(input_path: Source | Model, output_path: Path, **options: Any) -> UnpackResult:
    """The file that was packed, byte for byte; options as for tare.unpack.

    >>> tare.wcodec.decode_checkpoint("tiny.wcodec", "back.gguf").n_files
    1
    """
    return unpack(input_path, output_path, **options)


def _opened(container: Source | Model, base: OneOrMore[Any_source] = ()) -> Model:
    return container if isinstance(container, Model) else open(container, base=base)


def decode_layer(container: Source | Model, layer: str | int, *, out: np.ndarray[Any, Any] | None = None,
                 base: OneOrMore[Any_source] = (), threads: int = 0) -> np.ndarray[Any, Any]:
    """One tensor as an array: by its name, or by its number in the model. Nothing else of the file is
    decoded.

    >>> tare.wcodec.decode_layer("tiny.wcodec", "output_norm.weight").shape
    (64,)
    """
    model = _opened(container, base)
    tensor = model.tensor(layer) if isinstance(layer, int) else model[layer]
    return tensor.numpy(out=out, threads=threads)


# ---- layers in memory

_MODES = ("smallest", "raw", "constant", "zstd", "direct", "structured")
_BASES = ("none", "ref", "ref-scaled")


class Join(Record):
    """Where the high bits of a stream's values are, if they are apart from the low four
    (tare/experimental/wcodec.h, tare_coded_join)."""

    __slots__ = ("high_offset", "high_bits", "log2_values", "place")
    high_offset: int
    high_bits: int  # of a value: 1, 2
    log2_values: int  # of a unit
    place: tuple[int, ...]  # a permutation of the bits of an index


class Stream(Record):
    """A codec plane of a layer: the same bytes of every unit of a region, cut into segments."""

    __slots__ = ("region", "value_bits", "stride", "offset", "width", "nbytes", "segment_nbytes",
                 "head_bytes", "sizes", "is_big_endian", "log2_segment", "join")
    region: int
    value_bits: int  # of a value: 4, 6, 8, 16
    stride: int  # bytes of a unit
    offset: int  # of the stream's bytes in it
    width: int  # how many
    nbytes: int  # decoded
    segment_nbytes: int  # of a decoded segment; the last one may be shorter
    head_bytes: int
    sizes: tuple[int, ...]  # stored bytes of each segment
    is_big_endian: bool  # values of 16 bits
    log2_segment: int  # values of a segment
    join: Join | None

    @property
    def field(self) -> dict[str, Any]:
        """What encode() takes for such a stream; hints are not stored."""
        names = ("region", "value_bits", "stride", "offset", "width", "is_big_endian", "log2_segment", "join")
        return {name: getattr(self, name) for name in names}


class Segment(Record):
    """A piece of a stream that can be decoded on its own."""

    __slots__ = ("mode", "base", "nbytes", "packed_nbytes", "crc")
    mode: str  # "raw", "constant", "zstd", "direct", "structured"
    base: str  # "none"; "ref", "ref-scaled": differences from a base model
    nbytes: int
    packed_nbytes: int
    crc: int  # CRC-32 of the decoded bytes


class Coded:
    """An encoded layer: one to four regions of bytes, as streams of segments. Immutable.

    >>> coded = tare.wcodec.encode(numpy.arange(4096, dtype="int16"))
    >>> coded.region_nbytes, bytes(coded.decode_region(0, offset=4, n=4))
    ((8192,), b'\\x02\\x00\\x03\\x00')
    """

    __slots__ = ("_core", "_dtype", "_shape", "_streams")

    def __init__(self, core: _core.Coded, dtype: Any = None, shape: tuple[int, ...] | None = None) -> None:
        self._core = core
        self._dtype = dtype
        self._shape = shape
        self._streams = tuple(Stream(*row[:-1], row[-1] and Join(*row[-1])) for row in core.streams)

    @property
    def packed_nbytes(self) -> int:
        """Of all streams as they are stored."""
        return self._core.size

    @property
    def crc(self) -> int:
        """CRC-32 of heads and of the segments' own."""
        return self._core.crc

    @property
    def region_nbytes(self) -> tuple[int, ...]:
        """Decoded bytes of each region."""
        return self._core.region_bytes

    @property
    def streams(self) -> tuple[Stream, ...]:
        """What the regions were cut into."""
        return self._streams

    def segments(self, stream: int) -> list[Segment]:
        """The segments of a stream; of each the header is read."""
        rows = (self._core.segment(stream, i) for i in range(len(self._streams[stream].sizes)))
        return [Segment(_MODES[mode], _BASES[base], n, packed, crc) for mode, base, n, packed, crc in rows]

    def decode(self, out: np.ndarray[Any, Any] | None = None, *, threads: int = 0) -> np.ndarray[Any, Any]:
        """The array that was encoded; of bytes, region 0 as uint8. `out`: a contiguous array of the
        same size, which is filled and returned."""
        import numpy as np
        shape = self.region_nbytes[:1] if self._shape is None else self._shape
        if out is None:
            out = np.empty(shape, np.uint8 if self._dtype is None else self._dtype)
        if not out.flags.c_contiguous or out.nbytes != self.region_nbytes[0]:
            raise ValueError(f"out: {self.region_nbytes[0]} contiguous bytes expected")
        self._core.region(out.reshape(-1).view(np.uint8), 0, 0, threads)
        return out

    def decode_region(self, region: int = 0, offset: int = 0, n: int | None = None, *,
                      threads: int = 0) -> memoryview:
        """Bytes offset .. offset + n - 1 of a region; only the segments that hold them are decoded."""
        if n is None:
            n = self.region_nbytes[region] - offset
        buffer: Any = allocate(n)
        self._core.region(buffer, region, offset, threads)
        return memoryview(buffer)

    def decode_segments(self, stream: int, first: int = 0, n: int = 1, *, threads: int = 0) -> memoryview:
        """Segments first .. first + n - 1 of a stream, as consecutive bytes of the stream."""
        buffer: Any = allocate(self._core.segments_size(stream, first, n))
        self._core.segments(buffer, stream, first, n, threads)
        return memoryview(buffer)

    def stored(self) -> memoryview:
        """The bytes of the layer as a .wcodec stores them: of each stream its head and segments."""
        buffer: Any = allocate(self.packed_nbytes)
        self._core.stored(buffer, 0)
        return memoryview(buffer)

    def __repr__(self) -> str:
        return f"Coded({sum(self.region_nbytes)} bytes in {self.packed_nbytes})"


def _fields_of(array: np.ndarray[Any, Any]) -> list[dict[str, Any]]:
    """As .wcodec cuts plain numbers, the most significant first: of floats 16 bits with sign and
    exponent, then byte by byte; of integers all bytes."""
    size, kind, is_big = array.dtype.itemsize, array.dtype.kind, array.dtype.byteorder == ">"
    row = array.shape[-1] if array.ndim > 1 else 0
    n_top = 2 if kind not in "iub" and size > 1 else 0
    fields: list[dict[str, Any]] = []
    if n_top:
        fields.append({"value_bits": 16, "width": 2, "offset": 0 if is_big else size - 2, "is_big_endian": is_big})
    fields += [{"value_bits": 8, "width": 1, "offset": i if is_big else size - 1 - i,
                "is_repetitive": size > 1 and not n_top or kind in "ub",
                "is_signed": size == 1 and kind == "i"} for i in range(n_top, size)]
    return [{**f, "stride": size, "row": row} for f in fields]


def _field(given: Mapping[str, Any]) -> dict[str, Any]:
    out = dict(given)
    mode, join = out.get("mode"), out.get("join")
    if isinstance(join, Join):
        out["join"] = {name: getattr(join, name) for name in join.__slots__}
    if isinstance(mode, str):
        if mode not in _MODES:
            raise ValueError(f"mode: {mode!r} is not one of {', '.join(_MODES)}")
        out["mode"] = _MODES.index(mode)
    return out


def _bytes_of(source: Any) -> Any:
    """The bytes of an array, whose dtype need not be one that buffers have; all else as it is."""
    if not hasattr(source, "__array_interface__"):
        return source
    import numpy as np
    return np.ascontiguousarray(source).reshape(-1).view(np.uint8)


def _bases(given: Sequence[Any] | None, n_regions: int) -> list[Any]:
    """A base for every region, or for none: then an empty list."""
    bases = [] if given is None else list(given)
    missing = [i for i, base in enumerate(bases) if base is None]
    if bases and len(bases) != n_regions:
        raise ValueError(f"{len(bases)} bases for {n_regions} regions")
    if missing and len(missing) < n_regions:
        raise ValueError(f"no base of region {missing[0]}: every region has one, or none has")
    return [] if missing else [_bytes_of(base) for base in bases]


def encode(source: Any, fields: Sequence[Mapping[str, Any]] | None = None, *, effort: str = "fast",
           base: Any = None, tile_size: Any = None, predictor_modes: Iterable[str] | str | None = None,
           transforms: Iterable[str] | str | None = None, threads: int = 0, progress: Any = None) -> Coded:
    """Encodes a layer in memory, as a .wcodec stores it.

    source  an array of numpy, whose fields follow from its dtype; or a list of one to four regions of
            bytes
    fields  which bytes of every unit belong together: a dict for each stream. value_bits (4, 6, 8,
            16) must be there; region, stride, offset, width, is_big_endian say where the values are;
            is_signed, is_repetitive, row, trellis, mode, log2_segment, scale_stream, scale_form,
            values_per_scale, is_packed_scales are hints (tare/experimental/wcodec.h, tare_coded_field). join, a Join
            or a dict with its members, is for values of 6 bits in two runs of their unit. The streams
            of a region cover every byte of its units once
    effort  "fast", or "full": the smallest form that can be found
    base    what differences are taken from: as large as the source; of a list of regions a list, or None
    tile_size, predictor_modes, transforms  as for encode_checkpoint

    >>> a = numpy.arange(65536, dtype="int16").reshape(256, 256) // 64
    >>> coded = tare.wcodec.encode(a)
    >>> coded.packed_nbytes < a.nbytes, bool((coded.decode() == a).all())
    (True, True)
    """
    if effort not in ("fast", "full"):
        raise ValueError(f"effort: {effort!r} is not \"fast\" or \"full\"")
    is_array = hasattr(source, "__array_interface__")
    regions = [source] if is_array else list(source)
    bases = _bases([base] if is_array else base, len(regions))
    if is_array:
        fields = _fields_of(source) if fields is None else fields
    elif fields is None:
        raise ValueError("fields: wanted for regions of bytes")
    pairs = [(_bytes_of(region), base) for region, base in zip(regions, bases or [None] * len(regions), strict=True)]
    tiles = _limits(tile_size, predictor_modes, transforms)
    core = _core.coded_encode(pairs, [_field(f) for f in fields], effort == "full", tiles, threads,
                              adapt(progress))
    return Coded(core, source.dtype, source.shape) if is_array else Coded(core)


def open_coded(data: Any, streams: Sequence[Stream], region_nbytes: Sequence[int], crc: int, *,
               base: Sequence[Any] | None = None, dtype: Any = None,
               shape: Sequence[int] | None = None) -> Coded:
    """A layer that was encoded earlier, from its parts: what Coded.stored(), streams, region_nbytes and
    crc gave. They need not be trusted.

    data   bytes, which live as long as the layer
    base   what encode() was given as `base`, for each region; None: it was given none
    dtype, shape  of the array that decode() returns; None: bytes of region 0

    >>> a = numpy.arange(4096, dtype="int16")
    >>> coded = tare.wcodec.encode(a)
    >>> again = tare.wcodec.open_coded(bytes(coded.stored()), coded.streams, coded.region_nbytes, coded.crc,
    ...                                dtype="int16", shape=(4096,))
    >>> bool((again.decode() == a).all())
    True
    """
    rows = [(_field(s.field), tuple(s.sizes), s.head_bytes) for s in streams]
    held = _bases(base, len(region_nbytes))
    core = _core.coded_open(data, tuple(region_nbytes), crc, rows, held)
    return Coded(core, dtype, None if shape is None else tuple(shape))


# ---- layers of a file

_KINDS = ("tensor", "bytes", "metadata", "resource")


class LayerRecord(Record):
    """A layer of a .wcodec: a tensor, or bytes of a file, metadata or a resource.

    >>> layer = tare.wcodec.layers("tiny.wcodec")[0]
    >>> layer.kind, layer.shape, layer.encoding.name
    ('tensor', (256, 64), 'f32')
    """

    __slots__ = ("name", "kind", "shape", "encoding", "nbytes", "packed_nbytes", "_model", "_index")
    name: str
    kind: str  # "tensor", "bytes", "metadata", "resource"
    shape: tuple[int, ...]
    encoding: Encoding | None
    nbytes: int
    packed_nbytes: int | None  # None: the model is not packed
    _model: Model | None
    _index: int

    def coded(self) -> Coded:
        """The layer as it is stored: crc, streams, segments. ValueError: the model is not packed."""
        if self._model is None:
            raise ValueError(f"{self.name}: the model is not a .wcodec")
        return Coded(_core.layer_coded(self._model, self._index))

    def __repr__(self) -> str:
        return (f"LayerRecord({self.name!r}, {self.kind}, {self.shape}, "
                f"{self.encoding and self.encoding.name}, {self.nbytes} bytes in {self.packed_nbytes})")


def layers(container: Source | Model) -> list[LayerRecord]:
    """The layers in the order of the file's index; of a model that is not packed, its tensors.

    >>> [layer.name for layer in tare.wcodec.layers("tiny.wcodec") if layer.kind == "tensor"][0]
    'token_embd.weight'
    """
    model = _opened(container)
    if model.info.container is None:
        return [LayerRecord(t.name, "tensor", t.shape, t.encoding, t.nbytes, None, None, i)
                for i, t in enumerate(model.values())]
    rows = _core.container_layers(model)
    return [LayerRecord(name, _KINDS[kind], shape, None if id < 0 else encoding(id), n, packed, model, i)
            for i, (kind, name, id, shape, n, packed) in enumerate(rows)]
