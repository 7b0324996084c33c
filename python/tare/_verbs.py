# SPDX-License-Identifier: MIT
"""The verbs of the command: convert, quantize, pack, unpack, verify, diff and the rest."""
from __future__ import annotations

import difflib
import io
import json
import os
from contextlib import contextmanager

from . import _core, _spell
from ._dtypes import wanted
from ._encodings import Encoding, all_encodings, all_formats, all_mixes, encoding
from ._errors import UsageError
from ._model import Model, open, open_bases, refuse_findings
from ._progress import adapt
from ._records import Adapter, FileInfo, Finding, counted, nearest, note, size_text
from ._records import findings as make_findings
from ._results import (ACTIONS, DIFFERENCES, Diff, DiffItem, Digests, PackedLayer,
                       PackResult, PlannedTensor, Report, Result, UnpackResult, digest_model)
from ._save import build, scalar_type
from ._source import listed, path_text, prepare

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable, Iterator, Mapping, NoReturn, Sequence, Union

    from typing_extensions import Unpack

    from ._options import ConvertOptions, QuantizeOptions, SaveOptions, SavesOptions
    from ._source import OneOrMore, Source

    Path = Union[str, bytes, os.PathLike[str], os.PathLike[bytes]]
    Any_source = Union[Source, Model]
    NumberType = Union[str, Encoding, Any]  # or a dtype of numpy or torch

# ---- arguments

@contextmanager
def _opened(source: Any_source, base: OneOrMore[Any_source] = ()) -> Iterator[Model]:
    """The model itself, or one that is open for the time of the call. Verbs read, they do not map."""
    if isinstance(source, Model):
        yield source
    else:
        with open(source, map=False, base=base) as model:
            yield model


def _whole(model: Model, src: Any_source, dst: Path | None, options: Mapping[str, Any]) -> str | None:
    """The directory of a file of weights with a config.json beside it, for which the file stands where it
    becomes a GGUF file, as for the command."""
    to = options.get("to") or (dst is not None and path_text(dst).endswith(".gguf") and "gguf")
    if (to != "gguf" or options.get("keep_names") or model.info.format != "safetensors"
            or not isinstance(src, (str, os.PathLike)) or not os.path.isfile(src)):
        return None
    folder = os.path.dirname(path_text(src)) or "."
    if not os.path.exists(os.path.join(folder, "config.json")):
        return None
    note(f"{path_text(src)}: a config.json lies beside it: the whole directory is converted; keep_names=True "
         "converts the file alone")
    return folder


@contextmanager
def _opened_for(src: Any_source, dst: Path | None, options: Mapping[str, Any]) -> Iterator[Model]:
    """What `src` stands for when `dst` is made of it."""
    with _opened(src) as model:
        whole = _whole(model, src, dst, options)
        if whole is None:
            yield model
            return
    with _opened(whole) as model:
        yield model


def _text(value: Any) -> str:
    """A value of an option, in the form that the library reads."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value) if "e" not in repr(value) else f"{value:.30f}".rstrip("0")
    if isinstance(value, (list, tuple, set, frozenset)):
        return ",".join(_text(v) for v in value)
    return path_text(value) if isinstance(value, (bytes, os.PathLike)) else str(value)


def _type(value: Any) -> Any:
    """The name of a number format: of a dtype of numpy or torch that of its numbers."""
    if value is None or isinstance(value, (str, Encoding)):
        return value
    return encoding(wanted(value)).name


def _types(values: Any) -> list[Any] | None:
    """The names of several number formats; None: none are given."""
    if isinstance(values, dict):
        raise TypeError("types: a list of types expected; {regular expression: type} is tensor_type")
    if isinstance(values, (str, bytes, Encoding)):
        raise TypeError(f"types: a list of types expected, not {values!r}")
    return [_type(value) for value in values or ()] or None


def _texts(**options: Any) -> list[tuple[str, str]]:
    """Options that were given, as texts."""
    return [(name, _text(value)) for name, value in options.items() if value is not None]


def _read(path: Path) -> str:
    """A text file; builtins.open is this module's open."""
    with io.open(path, encoding="utf-8") as file:
        return file.read()


def _finish(rows: Any, strict: bool = False) -> tuple[Finding, ...]:
    found = make_findings(rows)
    if strict:
        refuse_findings(found)
    return found


# ---- convert

class Plan:
    """What a conversion will do, before a byte is written.

    >>> plan = tare.plan("tiny.gguf", "out.safetensors", type="f16")
    >>> plan.format, plan.tensors[0].action
    ('safetensors', 'encode')
    """

    def __init__(self, core: _core.Plan, dst: str | None, progress: Any, needs: tuple[Any, ...]) -> None:
        self._core = core
        self._dst, self._needs = dst, needs
        self._folder = dst if dst and core.summary[4] else ""
        self._progress = progress

    def __repr__(self) -> str:
        return f"<Plan {self.format}, {counted(len(self._core.tensors), 'tensor')}, {size_text(self.write_nbytes)}>"

    @property
    def format(self) -> str:
        """Of the output."""
        return self._core.summary[0]  # type: ignore[no-any-return]

    @property
    def read_nbytes(self) -> int:
        """Bytes of tensors to be read."""
        return self._core.summary[1]  # type: ignore[no-any-return]

    @property
    def write_nbytes(self) -> int:
        """Bytes of all files; of a .wcodec before it is packed."""
        return self._core.summary[2]  # type: ignore[no-any-return]

    @property
    def is_identity(self) -> bool:
        """Whether the output has the same bytes as the input."""
        return self._core.summary[3]  # type: ignore[no-any-return]

    @property
    def files(self) -> tuple[FileInfo, ...]:
        """The files of the output, as write_nbytes counts them."""
        return tuple(FileInfo(os.path.join(self._folder, name), size) for name, size in self._core.files)

    @property
    def tensors(self) -> tuple[PlannedTensor, ...]:
        return tuple(PlannedTensor(row[0], encoding(row[1]), encoding(row[2]), encoding(row[3]),
                                   ACTIONS[row[4]], *row[5:8], *(row[8] or (None, None)))
                     for row in self._core.tensors)

    @property
    def damage(self) -> float | None:
        """What the types chosen for a target are predicted to lose, in nats per token."""
        return self._core.fit and self._core.fit[0]

    @property
    def recipe(self) -> str | None:
        """These types: lines REGEX=TYPE, as tensor_type and --tensor-type-file take them."""
        return self._core.fit and self._core.fit[1]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is known to be lost, and what running found."""
        return make_findings(self._core.findings)

    def check(self) -> None:
        """Raises what running would, as far as can be told before: the output exists, no space."""
        self._core.check()

    def run(self) -> Result:
        """Writes the output."""
        written = self._core.run(self._progress)
        files = self.files
        if len(files) == 1:  # of a .wcodec the plan has the size before it is packed
            files = (FileInfo(files[0].path, written),)
        return Result(self.format, files, written, self.tensors, self.findings,
                      *(self._core.fit or (None, None)))

    def run_part(self, index: int, count: int, version: str = "") -> Result:
        """Writes part `index` of `count`, from 1; join() makes the output of all of them, if they have the same
        `version`: of an input that is neither a path nor a URL."""
        if self._dst is None:
            raise ValueError("part: bytes in memory have none")
        paths, key, overwrite, sync = self._needs
        begin, end, _, _ = self._core.run_part(index, count, False, paths + _as_inputs(version), key, overwrite, sync, self._progress)
        return Result(self.format, (FileInfo(part_name(self._dst, index, count), end - begin),), end - begin, self.tensors, self.findings,
                      *(self._core.fit or (None, None)))

    def run_bytes(self) -> bytes:
        """The one file in memory; for a plan without a path."""
        return self._core.run_bytes(self._progress)


def _adapter_uses(uses: Any) -> list[tuple[Any, ...]] | None:
    """Adapter | path | (one of these, scale) | {tensor: path of a pair without a name}, or several of them."""
    out: list[tuple[Any, ...]] = []
    is_one = isinstance(uses, tuple) and len(uses) == 2 and isinstance(uses[1], (int, float))
    for use in [uses] if is_one else listed(uses):
        use, scale = use if isinstance(use, tuple) else (use, 1.0)
        if isinstance(use, Adapter):
            out.append((None, use.name, "", float(scale)))
        elif isinstance(use, dict):
            out += [(path_text(path), "", target, float(scale)) for target, path in use.items()]
        else:
            out.append((path_text(use), "", "", float(scale)))
    return out or None


# What `_plan` does something with of its own: the library has no text for it, or another name. All other options
# are rows of its table (tare/experimental/options.h).
_OF_NAMES = ("keep_names", "vocab_only", "no_tokenizer", "like_reference", "mmproj", "mtp", "no_mtp")
_BESIDE = ("target_model", "with_mmproj")
_OWN: dict[str, Any] = {
    "tensor_type": None, "types": None, "clip": None, "sensitivity": None, "override_kv": None, "apply_adapter": (),
    "adapter": None, "imatrix": None, "base": (), "report": False, "name": None, "metadata": None, "pre": None,
    "rename_tensor": None, "progress": None, **dict.fromkeys(_OF_NAMES, False), **dict.fromkeys(_BESIDE)}
_OF_TYPE = {"type", "output_tensor_type", "token_embedding_type"}
_GIVES_NAMES = {*_OF_TYPE, "tensor_type", "mix"}  # options whose values are names of types or mixes


def _refuse(error: UsageError, dst: str | None, to: str | None) -> NoReturn:
    """The library's error with what may have been meant."""
    line, given, words = str(error), to, list[str]()
    if error.code == "output.format" and to:
        words = [row.name for row in all_formats().values() if row.can_write]
        line = f"to: {to!r} is not one of: {', '.join(words)}"
    elif error.code == "output.format":
        line = f"{dst}: the name of the output does not determine a format: name one, as in to='gguf'"
    elif error.field in _GIVES_NAMES:
        names = all_mixes() if error.field == "mix" else all_encodings()
        words, given = list(names), line.rpartition("not ")[2].strip("'").rpartition("=")[2]
        if error.field != "mix" and given.upper() in all_mixes():
            error.args = (f"{line}: that is a mix: tare.quantize(src, dst, {given.upper()!r})",)
            raise error
    error.args = (line + nearest(given, words),)
    raise error


def _check_names(options: Iterable[str], known: list[str]) -> None:
    for name in options:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            raise TypeError(f"there is no option {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))


def _packed(mix: Any, options: dict[str, Any]) -> tuple[Any, ...] | None:
    """What packs weights: a scheme, or None where one is chosen for each; rules; those to choose from. None: it is types that are asked for."""
    types = options.get("types")
    scheme = mix if isinstance(mix, str) and _core.is_scheme(mix) else None
    is_chosen = mix is None and options.get("to") == "hf" and not (
        isinstance(types, (str, bytes)) or types is not None and len(types) and not _is_scheme(types[0]))
    if scheme is None and not is_chosen:
        return None
    rules = [(pattern, str(kind)) for pattern, kind in (options.pop("tensor_type", None) or {}).items()]
    options.pop("types", None)
    candidates = [str(kind) for kind in types or ()]
    for name in [name for _, name in rules] + candidates:
        if not _is_scheme(name):
            raise ValueError(f"{name!r} is not a scheme of packed weights, nor 'none'")
    return scheme, rules, candidates


def _is_scheme(name: Any) -> bool:
    return isinstance(name, str) and (name == "none" or _core.is_scheme(name))


def _plan(src: Model, dst: Path | None, is_quantize: bool, packed: tuple[Any, ...] | None = None,
          **options: Any) -> Plan:
    if dst is None and options.get("dry_run"):
        raise ValueError("dry_run: bytes in memory are what is asked for; plan() tells of them")
    own = {name: options.pop(name, default) for name, default in _OWN.items()}
    rows = {row[0] for row in _core.options("quantize" if is_quantize else "convert")}
    _check_names(options, sorted({*rows, *_OWN}))
    texts = _texts(types=_types(own["types"]), sensitivity=own["sensitivity"] and _read(own["sensitivity"]),
                   **{name: _type(value) if name in _OF_TYPE else value for name, value in options.items()})
    for pattern, kind in (own["tensor_type"] or {}).items():
        texts.append(("tensor_type", f"{pattern}={_type(kind)}"))
    if own["clip"] is not None:
        texts.append(("clip", ":".join(_text(float(bound)) for bound in own["clip"])))
    overrides = own["override_kv"] or {}
    stored = src.metadata if overrides else {}
    keys = [(key, scalar_type(value, stored.type(key) if key in stored else None), value)  # type: ignore
            for key, value in overrides.items()]
    given = {
        "overrides": keys or None, "merges": _adapter_uses(own["apply_adapter"]),
        "adapter": [(path_text(path), name, "", 1.0) for name, path in (own["adapter"] or {}).items()] or None,
        "packed": packed,
        "importance": own["imatrix"] and path_text(own["imatrix"]),
        "bases": open_bases(own["base"], map=False),
        "rename_tensor": list((own["rename_tensor"] or {}).items()) or None,
        "metadata": json.dumps(dict(own["metadata"])) if own["metadata"] else None,
        **{name: own[name] for name in ("name", "pre")},
        **{name: open_bases([own[name]], map=False) for name in _BESIDE if own[name] is not None},
        **{name: bool(own[name]) for name in ("report", *_OF_NAMES)},
    }
    if sum(given[name] for name in ("mmproj", "mtp", "no_mtp")) > 1:
        raise ValueError("one of mmproj, mtp and no_mtp: each asks for other tensors")
    report = adapt(own["progress"])
    path = None if dst is None else path_text(dst)
    paths = [path_text(file) for file in (own["imatrix"], own["sensitivity"]) if file]
    paths += [use[0] for use in given["merges"] or () if use[0]]
    same = [pair for pair in texts if pair[0] not in ("force", "no_sync", "threads")]
    key = json.dumps([same, {name: repr(value) for name, value in given.items() if name != "bases"}])
    needs = paths, key, bool(options.get("force")), not options.get("no_sync")
    try:
        return Plan(_core.plan(src, path, is_quantize, texts, given, report), path, report, needs)
    except UsageError as error:
        _refuse(error, path, options.get("to"))


def plan(src: Any_source, dst: Path | None, **options: Unpack[ConvertOptions]) -> Plan:
    """What convert() would do with the same arguments: tensors, files, losses; check() and run(). With
    None instead of a path, `to` is needed, and run_bytes() takes the place of run().

    >>> plan = tare.plan("tiny.gguf", "later.safetensors")
    >>> plan.check()
    >>> [(file.path, file.nbytes) for file in plan.files] == [(f.path, f.nbytes) for f in plan.run().files]
    True
    """
    model = src if isinstance(src, Model) else open(src, map=False)
    whole = _whole(model, src, dst, options)
    return _plan(open(whole, map=False) if whole else model, dst, False, **options)


def convert(src: Any_source, dst: Path, **options: Unpack[ConvertOptions]) -> Result:
    """Converts a model into another container, with the same or other number formats. A Hugging Face
    model that becomes GGUF gets llama.cpp's names, keys and tokenizer; GGUF that becomes a directory
    gets Hugging Face's.

    dst         a path; it appears when it is complete, or not at all
    to          the output's format, a name of tare.formats; None: by the suffix of dst
    type        number format of every float tensor with two or more dimensions, except norms: a name,
                one of tare.encodings, or a dtype
    tensor_type {regular expression: type}: matched anywhere in a name, the first match wins
    endian      "little", "big" or "keep", the input's
    align       alignment of tensor data
    quality     "best": smaller error within the format
    shard_size  bytes of a file at most, or "4G": dst is a directory with an index
    opaque      types that the target lacks are carried as stored bytes
    override_kv {key: value}: numbers, bools, texts
    rename_tensor {old: new}: of the input, before all else; or with one * on each side
    apply_adapter: an adapter to be added to its tensors, or several: a path, one of model.adapters, (one of these, scale)
    adapter     {name: path}: adapters to be stored beside the tensors (INFQ)
    imatrix     path of an importance matrix of llama.cpp
    effort, base: of a .wcodec, as for pack()
    clip, dedup, compat: of MCF; outlier_threshold, outliers (a share: 0.001 or "0.1%"): of INFQ
    keep_names  between Hugging Face and GGUF, names stay; what they are for will not run the output. Without it, a
                file of weights beside a config.json becomes GGUF as its whole directory does
    name, metadata, pre, vocab_only, no_tokenizer, mmproj, mtp, no_mtp, target_model, like_reference: of
                Hugging Face to GGUF, as the command's options; metadata {key: value}: general.* keys, which win
    with_mmproj of GGUF to Hugging Face: the encoder that llama.cpp reads beside the model
    report      errors of encoding are in the tensors of the result
    verify      reads the output back and compares
    strict      losses, NaN and overflow are errors
    force       replaces an existing output
    dry_run     checks, and writes nothing: the result is what plan() has
    part        (2, 7): writes the second of seven parts beside dst, which join() puts together; (2, 7, "v1"):
                those of another version of src are refused, which of a path and of a URL is seen without
    no_sync     does not wait for the disk

    >>> tare.convert("tiny.gguf", "tiny.safetensors", type="bf16", force=True).format
    'safetensors'
    """
    part, given = _part_of(options)
    with _opened_for(src, dst, given) as model:
        made = _plan(model, dst, False, **given)
        return made.run_part(*part) if part else made.run()


def _as_inputs(version: str) -> list[str]:
    """Of what is no path the text counts."""
    return [f"version {version}"] if version else []


def part_name(dst: str, index: int, count: int) -> str:
    return f"{dst.rstrip('/')}.part-{index:05}-of-{count:05}"


def _part_of(options: Mapping[str, Any]) -> tuple[tuple[int, int] | tuple[int, int, str] | None, dict[str, Any]]:
    """`part`, and the other options."""
    given = dict(options)
    part = given.pop("part", None)
    if part is not None and (given.get("verify") or given.get("dry_run")):
        raise ValueError("part: neither verify nor dry_run is of a part")
    return part, given


def quantize(src: Any_source, dst: Path, mix: str | None = None, **options: Unpack[QuantizeOptions]) -> Result:
    """Converts with one of llama.cpp's mixes of number formats, of which tare.mixes has the names, or
    to fit a target; or packs weights for servers and MLX, in a scheme such as "w4a16" or "mlx4:g32"
    (docs/schemes.md), with to="hf".

    output_tensor_type, token_embedding_type: instead of the mix's choice for these two; pure: the mix's
    type for every tensor; leave_output_tensor: the output matrix stays as it is; allow_requantize: tensors that are
    quantized already may change.

    target_size: bytes of the output at most, or "7.5G"; target_bpw: bits per weight of its tensors;
    target_damage: the smallest output that loses no more: one of these in place of a mix, and each
    tensor gets the type with which the whole loses least; types: those to choose from; sensitivity: path of
    measured ones. With to="hf" it is schemes that are chosen, unless types are number formats. tensor_type has
    schemes then, too, or "none" for what stays as it is. All other options are those of convert().

    >>> tare.quantize("tiny.safetensors", "q8.gguf", "Q8_0", force=True).tensors[0].becomes.name
    'q8_0'
    """
    n_targets = sum(target is not None for target in (mix, *(options.get(name) for name in (
        "target_size", "target_bpw", "target_damage"))))
    if n_targets != 1:
        raise ValueError("quantize: a mix, or one of target_size, target_bpw and target_damage")
    part, given = _part_of(options)
    packed = _packed(mix, given)
    with _opened_for(src, dst, given) as model:
        made = _plan(model, dst, True, packed, mix=None if packed else mix, **given)
        return made.run_part(*part) if part else made.run()


def save(tensors: Mapping[str, Any], path: Path, *, metadata: Mapping[str, Any] | None = None,
         resources: Mapping[str, Any] | None = None, force: bool = False,
         **options: Unpack[SaveOptions]) -> Result:
    """Writes arrays of numpy, torch or DLPack, and tensors of opened models, in any format that can
    be written: by the suffix of the path, or `to`. Options as for convert().

    >>> tare.save({"w": numpy.ones((4, 4), "float32")}, "w.gguf", force=True).written_nbytes > 64
    True
    """
    model = build(tensors, metadata, resources, pairs=_is_safetensors(path, options.get("to"), metadata))
    return convert(model, path, force=force, **options)


def _is_safetensors(path: Path, to: str | None, metadata: Mapping[str, Any] | None) -> bool:
    """Whether the metadata are the pairs of a safetensors header: only texts fit it."""
    name = to or os.path.splitext(path_text(path))[1].removeprefix(".")
    return name == "safetensors" and all(isinstance(v, str) for v in (metadata or {}).values())


def saves(tensors: Mapping[str, Any], *, metadata: Mapping[str, Any] | None = None,
          to: str = "safetensors", **options: Unpack[SavesOptions]) -> bytes:
    """The bytes of a file with these tensors: safetensors, or another format of one file.

    >>> tare.open(tare.saves({"w": numpy.ones(3)}))["w"].shape
    (3,)
    """
    known = all_formats().get(to)
    if known is not None and known.is_directory:
        raise ValueError(f"saves: {to} is a directory; save() writes it")
    model = build(tensors, metadata, pairs=_is_safetensors("", to, metadata))
    return _plan(model, None, False, to=to, **options).run_bytes()


# ---- pack

def pack(src: Any_source, dst: Path, *, effort: str = "fast", base: OneOrMore[Any_source] = (),
         append: bool = False, directory: Path | None = None, exclude: OneOrMore[str] = (), for_gpu: bool = False,
         mode: str | None = None, segment: int | str | None = None, lossy: bool = False, target_bpw: float | None = None,
         target_size: int | str | None = None, target_damage: float | None = None, imatrix: Path | None = None,
         sensitivity: Path | None = None, force: bool = False, dry_run: bool = False, strict: bool = False,
         part: tuple[int, int] | tuple[int, int, str] | None = None, no_sync: bool = False, threads: int = 0,
         progress: Any = None) -> PackResult:
    """Packs the files of a model into one .wcodec, without loss unless `lossy` is given. Of a path of
    a directory all files in it, in which quantizations of one model become a ladder: what is made of
    another file is not stored. Of a model that is open the files that it was made from.

    append     a path of a file or a folder is added to the ladder `dst`
    effort     "full": smaller, and much slower
    base       similar models: tensors are stored as differences, and need them to be read
    directory  all that lies there, where the model was opened from; exclude: shell patterns
    for_gpu    only forms that a GPU can decode without the CPU; 0.1 to 0.8 % larger
    mode       stores every segment in this form where possible, for tests
    segment    values of a segment: a power of two
    lossy      the numbers of matrices change to fit one of target_bpw, target_size and target_damage;
               imatrix, sensitivity: paths of what says which numbers matter
    dry_run    writes nothing: the sizes of the result are what they would be, with loss estimates
    part       (2, 7): writes the second of seven parts beside dst, which join() puts together; sizes are those of
               the part, and no layers are told. Of one model, without base and lossy. (2, 7, "v1"): as of convert()

    >>> result = tare.pack("tiny.gguf", "tiny.wcodec", force=True)
    >>> result.nbytes < result.source_nbytes
    True
    """
    if directory is None and isinstance(src, (str, bytes, os.PathLike)) and os.path.isdir(src):
        directory = src
    targets = {"target_bpw": target_bpw, "target_size": target_size, "target_damage": target_damage}
    loss = {**targets, "imatrix": imatrix, "sensitivity": sensitivity}
    given = [name for name, value in loss.items() if value is not None]
    if given and not lossy:
        raise ValueError(f"pack: {given[0]}= is an option of packing with loss: give lossy=True")
    if lossy and sum(name in targets for name in given) != 1:
        raise ValueError("pack: lossy=True needs one target: target_bpw, target_size or target_damage")
    texts = _texts(effort=effort, directory=directory, for_gpu=for_gpu, mode=mode, segment=segment, **targets,
                   sensitivity=None if sensitivity is None else _read(sensitivity), force=force, dry_run=dry_run,
                   strict=strict, no_sync=no_sync, threads=threads)
    texts += [("exclude", pattern) for pattern in listed(exclude)]
    if part is not None:
        if append or lossy or dry_run or listed(base):
            raise ValueError("pack: part: neither append, base, lossy nor dry_run is of a part")
        return _pack_part(src, dst, texts, part, progress)
    if append or (directory is src and not lossy and not listed(base) and _core.count_models(path_text(src)) > 1):
        if lossy or listed(base) or not isinstance(src, (str, bytes, os.PathLike)):
            raise ValueError("pack: append: a path is added, without lossy and base")
        return _packed_result(_core.pack_ladder(path_text(src), path_text(dst), append, texts, adapt(progress)))
    return pack_by_texts(src, dst, texts, base, imatrix, (0, 0, 0), progress)


def _pack_part(src: Any_source, dst: Path, texts: list[tuple[str, str]], part: tuple[int, int] | tuple[int, int, str],
               progress: Any) -> PackResult:
    index, count, version = part if len(part) == 3 else (*part, "")
    is_path = isinstance(src, (str, bytes, os.PathLike))
    if is_path and os.path.isdir(src) and _core.count_models(path_text(src)) > 1:  # type: ignore[arg-type]
        raise ValueError("pack: part: a directory with several models is packed whole")
    paths = [path_text(src)] if is_path else []  # type: ignore[arg-type]
    paths += _as_inputs(version)
    with _opened(src) as model:
        nbytes, _, found = _core.pack_part(model, path_text(dst), texts, index, count, paths, adapt(progress))
        info = model.info
    written = os.path.getsize(part_name(path_text(dst), index, count))
    return PackResult(info.n_files, info.n_tensors, 0, 0, nbytes, written, (), _finish(found), 0, 0.0, 0.0)


def _packed_result(row: Any) -> PackResult:
    layers = tuple(PackedLayer(r[0], encoding(r[1]) if r[1] else None, *r[2:]) for r in row[6])
    return PackResult(*row[:6], layers, _finish(row[7]), *row[8:])


def pack_by_texts(src: Any_source, dst: Path, texts: list[tuple[str, str]], base: OneOrMore[Any_source],
                  importance: Path | None, tiles: tuple[int, int, int], progress: Any) -> PackResult:
    """Packs with options as texts; `tiles`: sets of shapes, predictors and transforms of STRUCTURED segments."""
    with _opened(src) as model:
        row = _core.pack(model, path_text(dst), texts, open_bases(base, map=False),
                         None if importance is None else path_text(importance), tiles, adapt(progress))
    return _packed_result(row)


def unpack(src: Any_source, dst: Path, *, file: str | None = None, planes: int | None = None, salvage: bool = False,
           base: OneOrMore[Any_source] = (), force: bool = False, dry_run: bool = False,
           strict: bool = False, no_sync: bool = False, threads: int = 0, progress: Any = None) -> UnpackResult:
    """The files that a .wcodec was packed from, unchanged: one file, or a directory.

    file     this one alone, of several
    planes   only the first N groups of uncoded bits of real numbers: a coarse model
    salvage  damaged segments become zeros, and each is among the findings
    base     models that it was packed against
    dry_run  writes nothing, and decodes only to salvage

    >>> tare.unpack("tiny.wcodec", "again.gguf", force=True).n_files
    1
    """
    texts = _texts(file=file, planes=planes, salvage=salvage, force=force, dry_run=dry_run, strict=strict,
                   no_sync=no_sync, threads=threads)
    return _unpack(src, path_text(dst), texts, base, progress)


def _unpack(src: Any_source, to: str | int, texts: list[tuple[str, str]],
            base: OneOrMore[Any_source], progress: Any) -> UnpackResult:
    source, name = (src, None) if isinstance(src, Model) else prepare(src)
    row = _core.unpack(source, name, to, texts, open_bases(base, map=False), adapt(progress))
    return UnpackResult(*row[:-1], _finish(row[-1]))


@contextmanager
def materialized(src: Any_source, *, suffix: str | None = None, base: OneOrMore[Any_source] = (),
                 threads: int = 0, progress: Any = None) -> Iterator[str]:
    """A path that every program of this process and its children can open: the one file of a .wcodec,
    unpacked into memory. Of a model that is no .wcodec it is the file itself.

    suffix  what the path shall end in, for programs that go by it: a link in a temporary folder

    >>> with tare.materialized("tiny.wcodec", suffix=".gguf") as path:
    ...     tare.open(path).info.format
    'gguf'
    """
    with _opened(src) as model:
        files = model.info.files
        container = model.info.container
        if container is None and len(files) == 1 and files[0].path and os.path.isfile(files[0].path):
            yield files[0].path
            return
        if container is not None and container.is_directory:
            raise ValueError("the .wcodec holds a directory: unpack() it")
        fd = os.memfd_create("tare", os.MFD_CLOEXEC)
        try:
            texts = _texts(threads=threads)
            if container is not None:
                _unpack(model, fd, texts, base, progress)
            else:
                raise ValueError("only a .wcodec with one file, or a file, can be materialized")
            path = f"/proc/{os.getpid()}/fd/{fd}"
            if suffix is None:
                yield path
            else:
                import tempfile
                with tempfile.TemporaryDirectory(prefix="tare-") as folder:
                    link = os.path.join(folder, "model" + suffix)
                    os.symlink(path, link)
                    yield link
        finally:
            os.close(fd)


# ---- verify and the rest

# A tolerance that no number but an equal one is within: only numbers count, not the types that a
# conversion chose for them, nor the keys that follow from these.
_SAME_NUMBERS = 1e-300


def _alike(a: Model, b: Model, keep_names: bool) -> tuple[Model, Model, str | None]:
    """Models that are compared: one of Hugging Face under llama.cpp's names, if the other has these;
    and which one that is."""
    renamed = None if keep_names else _core.map_like(a, b)
    if renamed is not None:
        return renamed, b, "a"
    renamed = None if keep_names else _core.map_like(b, a)
    return (a, b, None) if renamed is None else (a, renamed, "b")


def verify(src: Any_source, *, deep: bool = False, manifest: Path | None = None,
           against: Any_source | None = None, keep_names: bool = False, part: tuple[int, int] | None = None,
           base: OneOrMore[Any_source] = (), threads: int = 0, progress: Any = None) -> Report:
    """Checks a model: the rules of its directory; deep: all numbers, too.

    manifest  a file of digests that the tensors are compared with
    against   the model that it was made from: what was lost is among the findings
    keep_names  with `against`: a Hugging Face model keeps its names beside a GGUF file, which else
              are mapped to llama.cpp's
    part      (2, 7): with `deep`, the second of seven shares of the numbers

    >>> tare.verify("tiny.gguf", deep=True).ok
    True
    """
    options = {"threads": threads}
    report = adapt(progress)
    if part is not None and (not deep or manifest is not None or against is not None):
        raise ValueError("verify: part: it is of deep=True, without manifest and against")
    with _opened(src, base) as model:
        found = _core.findings(model) or ()
        path = None if manifest is None else path_text(manifest)
        found += _core.verify(model, deep, path, *(part or (0, 0)), options, report)
        if against is not None:
            with _opened(against) as original:
                made, source, _ = _alike(model, original, keep_names)
                found += _core.verify_against(made, source, options, report)
    return Report(make_findings(found))


def diff(a: Any_source, b: Any_source, *, tolerance: float = 0.0, brief: bool = False,
         header_only: bool = False, keep_names: bool = False, threads: int = 0,
         progress: Any = None) -> Diff:
    """Compares two models of any formats: keys, tensors, side files.

    tolerance  relative RMSE up to which tensors count as the same
    brief      stops at the first difference; header_only: reads no values
    keep_names  models keep their names. Else one of Hugging Face is compared with a GGUF file under
               llama.cpp's names, and of types only the numbers count; `renamed` of the result says so

    >>> tare.diff("tiny.gguf", "tiny.wcodec").same
    True
    """
    with _opened(a) as first, _opened(b) as second:
        first, second, renamed = _alike(first, second, keep_names)
        options = {"tolerance": tolerance or (_SAME_NUMBERS if renamed else 0.0), "brief": brief,
                   "directory": header_only, "threads": threads}
        same, rows = _core.diff(first, second, options, adapt(progress))
    return Diff(same, tuple(DiffItem(DIFFERENCES[r[0]], r[1], r[2] if r[2] >= 0 else None,
                                     r[3] if r[3] >= 0 else None, *r[4:]) for r in rows), renamed)


def digest(src: Any_source, *, threads: int = 0, progress: Any = None) -> Digests:
    """The digests of all tensors and of the whole: SHA-256, the same in every container.

    >>> digests = tare.digest("tiny.gguf")
    >>> digests.whole == tare.digest("tiny.wcodec").whole, len(digests.tensors["output_norm.weight"])
    (True, 32)
    """
    with _opened(src) as model:
        return digest_model(model, threads, progress)


def write_manifest(src: Any_source, path: Path, *, force: bool = False, dry_run: bool = False,
                   no_sync: bool = False, threads: int = 0, progress: Any = None) -> None:
    """Writes the digests of all tensors in the form of sha256sum, for verify(manifest=).

    >>> tare.write_manifest("tiny.gguf", "tiny.sha256")
    >>> tare.verify("tiny.wcodec", manifest="tiny.sha256").ok
    True
    """
    with _opened(src) as model:
        _core.manifest_write(model, path_text(path), {"force": force, "dry_run": dry_run,
                                                      "no_sync": no_sync, "threads": threads}, adapt(progress))


def extract(src: Any_source, name: str, dst: Path, *, form: str | None = None, rows: tuple[int, int] | None = None,
            adapter: bool = False, force: bool = False, dry_run: bool = False, no_sync: bool = False,
            threads: int = 0, progress: Any = None) -> None:
    """Writes one tensor to a file: "npy" decoded, "bin" the stored bytes; None: by the suffix.

    rows     (first, end), over all dimensions but the last
    adapter  `name` is one of model.adapters: a .safetensors file gets one pair of factors as A and B,
             a directory all of that name, as PEFT has them

    >>> tare.extract("tiny.gguf", "output_norm.weight", "norm.npy", force=True)
    """
    options: dict[str, Any] = {"force": force, "dry_run": dry_run, "no_sync": no_sync, "threads": threads}
    if adapter:
        _extract_adapter(src, name, path_text(dst), form, rows, options, progress)
        return
    form = form or ("npy" if path_text(dst).endswith(".npy") else "bin")
    if form not in ("npy", "bin"):
        raise ValueError(f"form: {form!r} is not \"npy\" or \"bin\"")
    if rows is not None:
        if not 0 <= rows[0] < rows[1]:
            raise ValueError("rows: (first, end) with first < end expected")
        options.update(first_row=rows[0], n_rows=rows[1] - rows[0])
    with _opened(src) as model:
        _core.extract(model[name], path_text(dst), form == "npy", options, adapt(progress))


def _extract_adapter(src: Any_source, name: str, dst: str, form: str | None, rows: Any, options: dict[str, Any],
                     progress: Any) -> None:
    if form is not None or rows is not None:
        raise ValueError("extract: adapter=True takes neither form nor rows")
    if os.path.splitext(dst)[1] in {row.suffix for row in all_formats().values()} - {".safetensors", ""}:
        raise ValueError(f"extract: adapter=True: {dst!r} is neither a .safetensors file nor a directory")
    with _opened(src) as model:
        _core.adapter_write(model, name, dst, options, adapt(progress))


_spell.verbs += [pack, unpack, verify, diff, extract]
