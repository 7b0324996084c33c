# SPDX-License-Identifier: MIT
"""Opened models: tensors, metadata, resources."""
from __future__ import annotations

from _collections_abc import Iterator, Mapping  # collections.abc loads all of collections

from . import _core
from ._arrays import load_model
from ._errors import make_error
from ._records import (Adapter, Base, Container, FileInfo, Finding, Info, MissingKey, Names, PackedFile, counted,
                       size_text, table)
from ._records import findings as make_findings
from ._results import digest_model
from ._source import listed, prepare
from ._tensor import Tensor, _progress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable, Sequence, Union

    import numpy as np
    from typing_extensions import Unpack

    from ._options import LoadOptions
    from ._source import OneOrMore, Source

    Value = Union[int, float, bool, str, bytes, "Array"]

VALUE_TYPES = ("u8", "i8", "u16", "i16", "u32", "i32", "f32", "bool", "str", "array", "u64", "i64",
               "f64")
PARAMETERS = ("vocab_size", "context_length", "embedding_length", "head_count", "head_count_kv",
              "layer_count", "feed_forward_length", "key_length", "value_length", "kv_lora_rank",
              "rope_length")


class Array(_core.Array):
    """An array of metadata: a sequence whose elements are read when asked for.

    >>> model.metadata["tokenizer.ggml.scores"].type
    'f32'
    """

    __slots__ = ()

    @property
    def type(self) -> str:
        """Of the elements: "i32", "str", ..."""
        return VALUE_TYPES[self.type_id]

    def numpy(self) -> np.ndarray[Any, Any]:
        """Numbers as an array, without a copy. TypeError: texts and arrays are none."""
        import numpy as np
        memory = self.memory
        if memory is None:
            raise TypeError(f"an array of {self.type} has no numbers")
        name = "?" if self.type == "bool" else self.type[0] + str(int(self.type[1:]) // 8)
        dtype = np.dtype(name).newbyteorder(">" if self.is_big_endian else "<")
        return np.frombuffer(memory, dtype)  # type: ignore[call-overload,no-any-return]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (Array, list, tuple)):
            return self.tolist() == (other.tolist() if isinstance(other, Array) else list(other))
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = [self[i] for i in range(min(len(self), 3))]
        text = f": {str(shown)[1:-1]}{', ...' * (len(self) > 3)}" if shown else ""
        return f"Array({self.type}, {len(self)} elements{text})"


class Metadata(Mapping[str, "Value"]):
    """The keys of a model: typed ones first, then the pairs of a safetensors header.

    >>> model.metadata["general.architecture"]
    'llama'
    """

    __slots__ = ("_values", "_types", "_offsets", "pairs")

    pairs: Mapping[str, str]

    def __init__(self, rows: list[tuple[str, int, int, Any, int | None]]) -> None:
        self._values: dict[str, Value] = {}
        self._types: dict[str, str] = {}
        self._offsets: dict[str, int | None] = {}  # of the keys' records in the file
        self.pairs = {}
        for key, space, type_id, value, offset in rows:
            if space == 1:
                self.pairs[key] = value
            if key not in self._values or space == 0:
                self._values[key] = value
                self._types[key] = VALUE_TYPES[type_id]
                self._offsets[key] = offset

    def __getitem__(self, key: str) -> Value:
        try:
            return self._values[key]
        except KeyError:
            raise MissingKey(key, "key", self._values) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def type(self, key: str) -> str:
        """The stored type: "u32", "f32", "str", "array", ..."""
        return self._types[key]

    def __repr__(self) -> str:
        return f"<Metadata {counted(len(self), 'key')}>"


class Resource:
    """A side file of a model: config.json, tokenizer.json.

    >>> _ = tare.save({"w": numpy.ones(3)}, "r.mcf", resources={"note.txt": b"hello"})
    >>> tare.open("r.mcf").resources["note.txt"].read()
    b'hello'
    """

    __slots__ = ("name", "nbytes", "_model", "_index")

    def __init__(self, model: Model, index: int, name: str, size: int) -> None:
        self.name = name
        self.nbytes = size
        self._model = model
        self._index = index

    def read(self) -> bytes:
        """All of its bytes."""
        return _core.resource(self._model, self._index)

    def __repr__(self) -> str:
        return f"Resource({self.name!r}, {self.nbytes} bytes)"


class Model(_core.Model, Mapping[str, Tensor]):
    """An opened model: a mapping from names to tensors, in the order of the file.

    A context manager: at its end files are let go of; arrays that were handed out stay valid. An
    open model does not change, and any number of threads may use it.

    >>> with tare.open("tiny.gguf") as model:
    ...     "output_norm.weight" in model
    True
    """

    __slots__ = ("_metadata", "_resources", "_findings")
    _metadata: Metadata
    _resources: Mapping[str, Resource]
    _findings: tuple[Finding, ...]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __missing__(self, key: object) -> Tensor:
        raise MissingKey(key, "tensor", self.names())

    def __enter__(self) -> Model:
        if self.closed:
            raise ValueError("the model is closed")
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other

    @property
    def tensors(self) -> Mapping[str, Tensor]:
        """The model itself, as a mapping of its tensors."""
        return self

    @property
    def metadata(self) -> Metadata:
        """Keys and values."""
        try:
            return self._metadata
        except AttributeError:
            self._metadata = Metadata(_core.metadata(self))
            return self._metadata

    @property
    def resources(self) -> Mapping[str, Resource]:
        """Side files by name: config.json, tokenizer.json, ..."""
        try:
            return self._resources
        except AttributeError:
            self._resources = Names("side file", ((name, Resource(self, i, name, size))
                                                  for i, (name, size) in enumerate(_core.resources(self))))
            return self._resources

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What opening found that did not prevent it."""
        try:
            return self._findings
        except AttributeError:
            self._findings = make_findings(_core.findings(self) or ())
            return self._findings

    @property
    def adapters(self) -> tuple[Adapter, ...]:
        """Low-rank adapters that are stored beside the tensors."""
        return tuple(Adapter(*row) for row in _core.adapters(self))

    @property
    def packed_files(self) -> tuple[PackedFile, ...]:
        """The files of a .wcodec, of which `tare.open("x.wcodec::NAME")` opens one alone; else none.

        >>> [(f.name, f.n_derived) for f in tare.open("tiny.wcodec").packed_files]
        [('tiny.gguf', 0)]
        """
        return tuple(PackedFile(*row) for row in _core.container_files(self))

    @property
    def info(self) -> Info:
        """Format, counts, sizes, files, hyperparameters."""
        files = tuple(FileInfo(*row) for row in _core.files(self))
        known = {name: n for name, n in zip(PARAMETERS, _core.parameters(self)) if n is not None}
        c = _core.container(self)
        container = c and Container(*c[:-1], tuple(Base(*row) for row in c[-1]))
        return Info(*_core.info(self), files, known, container)

    def load(self, names: Iterable[str] | None = None, *, framework: str = "numpy",
             **options: Unpack[LoadOptions]) -> dict[str, Any]:
        """Arrays of all tensors, or of those named: tare.load() of this model."""
        return load_model(self, names=names, framework=framework, **options)

    def digest(self, *, threads: int = 0, progress: Any = None) -> Any:
        """The digests of all tensors and of the whole, the same in every container."""
        return digest_model(self, threads, progress)

    def __repr__(self) -> str:
        if self.closed:
            return "<Model closed>"
        info = _core.info(self)
        return f"<Model {info[0]}, {counted(info[5], 'tensor')}, {size_text(info[10])}>"

    def _repr_html_(self) -> str:
        if self.closed:
            return table(repr(self)[1:-1], [])
        info = self.info
        types: dict[str, int] = {}
        for tensor in self.values():
            types[tensor.encoding.name] = types.get(tensor.encoding.name, 0) + 1
        return table(repr(self)[1:-1], [
            ("architecture", info.architecture), ("parameters", f"{info.n_parameters:,}"),
            ("types", ", ".join(f"{name}: {n}" for name, n in types.items())),
            *((name, n) for name, n in info.parameters.items())])


def open(source: Source, *, format: str | None = None, base: OneOrMore[Source | Model] = (),
         map: bool = True, one_shard: bool = False, stored: bool = False, limits: Mapping[str, int] | None = None,
         strict: bool = False, remote: Mapping[str, Any] | None = None, threads: int = 0,
         progress: Any = None) -> Model:
    """Opens a model. The format is found by content; only the directory is read.

    source     a path (file or directory), a URL (https, http, hf, s3), bytes, a descriptor, a file object with seek and read
               (fsspec's, a zip member), or a list of these: the shards of one model
    format     reads the input as this format instead of probing it
    base       models that a .wcodec may have been packed against, opened or to be opened
    map        files are mapped, so that plain tensors need no copy. A file that is cut short while
               it is mapped ends the process with SIGBUS; with False it is an error
    one_shard  opens a member of a shard set alone
    stored     tensors as they lie in the files: of packed weights (GPTQ, AWQ, FP8 with scales, ...) the codes, scales
               and zero points, not the weights
    limits     what a file may ask for at most, by name: {"tensors": 1000}
    strict     findings of opening are errors, a missing base among them
    remote     settings of URLs, by name: {"hub_token": "hf_...", "connections": 16}; others are hub_endpoint, ca_file,
               ca_folder, proxy, whole_bytes, cache_bytes, retries, backoff_ms, connect_seconds, stall_seconds,
               is_offline, hub_cache, s3_endpoint, s3_region, s3_access_key, s3_secret_key, s3_session_token

    >>> model = tare.open("tiny.gguf")
    >>> model.info.format
    'gguf'
    """
    prepared, name = prepare(source)
    options = {"format": format, "bases": open_bases(base, map=True), "one_shard": one_shard, "stored": stored,
               "needs_bases": strict, "limits": limits and dict(limits),
               "remote": remote and dict(remote), "threads": threads}
    model = _core.open(prepared, name, 2 if map else 0, options, _progress(progress))
    if strict:
        refuse_findings(model.findings)
    return model


def open_bases(base: OneOrMore[Source | Model], map: bool) -> tuple[Model, ...] | None:
    """Models that others were packed against, opened; None: there are none."""
    return tuple(one if isinstance(one, Model) else open(one, map=map) for one in listed(base)) or None


def refuse_findings(findings: Iterable[Finding]) -> None:
    """Raises the first warning or error among the findings."""
    from ._errors import STATUS
    for f in findings:
        if f.level != "info":
            status = STATUS.index(f.status) if f.status != "ok" else STATUS.index("corrupt")
            raise make_error(status, f.code, f.path or None, f.offset, f.item, 0,
                             f.item_name or None, None, 0, f.text, str(f))


_core.bind(Model, Tensor, Array, make_error)
