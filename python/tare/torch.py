# SPDX-License-Identifier: MIT
"""Loading into PyTorch, from every container.

    import tare.torch

    state = tare.torch.load_file("model.wcodec", device="cuda")
    tare.torch.load_into(module, "model.gguf")
    with tare.torch.hook():
        torch.load("model.wcodec", map_location="cuda")
"""
from __future__ import annotations

import os
from contextlib import contextmanager
from threading import Lock

import torch

from ._dtypes import BITS
from ._encodings import encoding
from ._errors import UnsupportedError
from ._load import load as _load_arrays
from ._model import Model
from ._model import open as _open
from ._verbs import save as _save

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable, Iterator, Mapping, Sequence

    from ._source import Source
    from ._tensor import Tensor, TensorView

__all__ = ["LazySlice", "hook", "install", "lazy_state_dict", "load", "load_file", "load_into",
           "load_model", "save_file", "save_model", "uninstall"]


def load_file(path: Source | Model, device: Any = "cpu", *, dtype: Any = None,
              names: Iterable[str] | None = None, threads: int = 0, pin_memory: bool = False,
              out: Mapping[str, Any] | None = None, base: Any = (),
              progress: Any = None) -> dict[str, torch.Tensor]:
    """All tensors, or those named, as tare.load(path, framework="torch") returns them.

    >>> tare.torch.load_file("tiny.wcodec")["output_norm.weight"].shape
    torch.Size([64])
    """
    return _load_arrays(path, framework="torch", device=device, dtype=dtype, names=names,
                        threads=threads, pin_memory=pin_memory, out=out, base=base, progress=progress)


# ---- torch.load

def _torch_load() -> Any:
    return _replaced[0] if _replaced else torch.load


def _head(f: Any) -> bytes:
    """The first bytes of a file or a file object, which stays where it was."""
    if hasattr(f, "seek") and hasattr(f, "read"):
        at = f.tell()
        head: bytes = f.read(4)
        f.seek(at)
        return head
    with open(f, "rb") as file:
        return file.read(4)


def _opened(f: Any) -> Model | None:
    """The model in f, or None: what it holds is torch.load's."""
    if not isinstance(f, (str, os.PathLike)) and not hasattr(f, "seek"):
        return None
    if hasattr(f, "seek") and f.tell():
        return None  # one of several objects in a file, which only torch writes
    is_folder = isinstance(f, (str, os.PathLike)) and os.path.isdir(f)
    head = b"" if is_folder else _head(f)
    if not is_folder and (not head or head[:1] == b"\x80" or head == b"PK\x03\x04"):
        return None  # pickles and torch's zip files
    try:
        return _open(f, stored=True)
    except ValueError as error:
        if "of any known format" not in str(error):
            raise
        if hasattr(f, "seek"):
            f.seek(0)
        return None


def _moved(tensor: torch.Tensor, where: Any) -> torch.Tensor:
    """A tensor where map_location wants it: a device, a dict of devices, or a function of a storage
    and the name of its device."""
    if where is None:
        return tensor
    if isinstance(where, dict):
        return tensor.to(where.get("cpu", "cpu"))
    if callable(where):
        storage = where(tensor.untyped_storage(), "cpu")
        if storage is None:
            return tensor
        storage = getattr(storage, "_untyped_storage", storage)
        empty = torch.empty(0, dtype=tensor.dtype, device=storage.device)
        return empty.set_(storage, tensor.storage_offset(), tensor.shape, tensor.stride())
    return tensor.to(where)


def load(f: Any, map_location: Any = None, pickle_module: Any = None, *,
         weights_only: bool | None = None, mmap: bool | None = None, **pickle_load_args: Any) -> Any:
    """torch.load for every container: a dict of tensors. What tare does not know by its content is
    left to torch.load, with all arguments.

    map_location  a device, a text, a dict or a function, as for torch.load; the last two tensor by
                  tensor. weights_only is met always: there is no code in these files. mmap=True and
                  None map a file, False reads it. Of what is for pickles, nothing applies here; any
                  other argument is a TypeError, as for torch.load.

    >>> len(tare.torch.load("tiny.wcodec", map_location="cpu"))
    4
    """
    model = _opened(f)
    if model is None:
        return _torch_load()(f, map_location, pickle_module, weights_only=weights_only, mmap=mmap,
                             **pickle_load_args)
    with model:
        for name in pickle_load_args:
            if name not in ("encoding", "errors", "fix_imports", "buffers"):
                raise TypeError(f"load() got an unexpected keyword argument {name!r}")
        if isinstance(map_location, (str, torch.device)):
            return _load_arrays(model, framework="torch", device=map_location)
        state = _load_arrays(model, framework="torch")
    for name in state:
        state[name] = _moved(state[name], map_location)
    return state


# torch.load as it was, while load() stands in its place; how many hook() are open.
_replaced: list[Any] = []
_n_hooks = 0
_lock = Lock()


def install() -> None:
    """Puts load() in the place of torch.load, for code that cannot be changed. Every file that
    torch.load took is loaded as before. uninstall() undoes it.

    >>> tare.torch.install()
    >>> len(torch.load("tiny.wcodec"))
    4
    >>> tare.torch.uninstall()
    """
    with _lock:
        if not _replaced:
            _replaced.append(torch.load)
            torch.load = load


def uninstall() -> None:
    """Gives torch.load back."""
    with _lock:
        if _replaced:
            torch.load = _replaced.pop()


@contextmanager
def hook() -> Iterator[None]:
    """torch.load takes every container inside this context, in all threads.

    >>> with tare.torch.hook():
    ...     len(torch.load("tiny.gguf"))
    4
    """
    global _n_hooks
    with _lock:
        was_installed = bool(_replaced) and not _n_hooks
        if not was_installed:
            _n_hooks += 1
    install()
    try:
        yield
    finally:
        if not was_installed:
            with _lock:
                _n_hooks -= 1
                is_last = not _n_hooks
            if is_last:
                uninstall()


# ---- into modules

def _fail(module: torch.nn.Module, messages: list[str]) -> None:
    raise RuntimeError(f"Error(s) in loading state_dict for {type(module).__name__}:\n\t"
                       + "\n\t".join(messages))


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _strict_messages(missing: list[str], unexpected: list[str]) -> list[str]:
    messages = []
    if missing:
        messages.append(f"Missing key(s) in state_dict: {_quoted(missing)}. ")
    if unexpected:
        messages.append(f"Unexpected key(s) in state_dict: {_quoted(unexpected)}. ")
    return messages


def _fill(model: Model, wanted: dict[str, torch.Tensor], threads: int, progress: Any) -> None:
    """Decodes into the tensors; those of types that nothing decodes to are converted by torch."""
    direct = {}
    for name, tensor in wanted.items():
        try:
            model[name].target(tensor.dtype)
            direct[name] = tensor
        except UnsupportedError:
            tensor.copy_(model[name].torch())
    _load_arrays(model, out=direct, threads=threads, progress=progress)


def load_into(module: torch.nn.Module, path: Source | Model, *, strict: bool = True,
              assign: bool = False, prefix: str = "", threads: int = 0,
              progress: Any = None) -> tuple[list[str], list[str]]:
    """Decodes into the parameters and buffers that a module has; nothing else is allocated.

    strict   names that only one side has are a RuntimeError, and nothing is changed
    assign   the tensors of the file take the place of the module's, with their dtypes: for modules
             on the meta device
    prefix   what the names in the file have before those of the module

    Returns the names that the module has alone (`missing`), and those that the file has alone
    (`unexpected`). A parameter that is tied to one in the file is not missing. Shapes that differ
    are a RuntimeError always. Hooks of load_state_dict() are not called.

    >>> module = torch.nn.Linear(64, 64, bias=False)
    >>> tare.torch.load_into(module, "tiny.gguf", prefix="blk.0.attn_q.", strict=False)
    ([], [])
    """
    if not isinstance(path, Model):
        with _open(path) as model:
            return load_into(module, model, strict=strict, assign=assign, prefix=prefix,
                             threads=threads, progress=progress)
    state = {name: value for name, value in module.state_dict(keep_vars=True).items()
             if isinstance(value, torch.Tensor)}
    stored = {name.removeprefix(prefix): name for name in path if name.startswith(prefix)}
    found = {name: value for name, value in state.items() if name in stored}
    kept = {id(value): name for name, value in found.items()}
    tied = {name: kept[id(value)] for name, value in state.items()
            if name not in found and id(value) in kept}
    missing = [name for name in state if name not in found and name not in tied]
    unexpected = [name for name in stored if name not in state]
    messages = _strict_messages(missing, unexpected) if strict else []
    messages += [f"size mismatch for {name}: copying a param with shape "
                 f"{torch.Size(path[stored[name]].shape)} from checkpoint, the shape in current model "
                 f"is {value.shape}." for name, value in found.items()
                 if tuple(value.shape) != path[stored[name]].shape]
    if messages:
        _fail(module, messages)
    if assign:
        _assign(module, path, {name: stored[name] for name in found}, tied, state, threads, progress)
    else:
        if any(value.is_meta for value in found.values()):
            raise ValueError("the module is on the meta device: assign=True")
        with torch.no_grad():
            _fill(path, {stored[name]: value.detach() for name, value in found.items()}, threads,
                  progress)
    return missing, unexpected


def _assign(module: torch.nn.Module, model: Model, names: dict[str, str], tied: dict[str, str],
            state: dict[str, torch.Tensor], threads: int, progress: Any) -> None:
    arrays = _load_arrays(model, framework="torch", names=list(names.values()), threads=threads,
                          progress=progress)
    # What shares a parameter shares one again.
    shared: dict[int, torch.Tensor] = {}
    result = {}
    for name in (*names, *tied):
        was = state[name]
        if id(was) not in shared:
            tensor = arrays[names[name]]
            if isinstance(was, torch.nn.Parameter):
                tensor = torch.nn.Parameter(tensor, requires_grad=was.requires_grad)
            shared[id(was)] = tensor
        result[name] = shared[id(was)]
    module.load_state_dict(result, strict=False, assign=True)


def load_model(model: torch.nn.Module, filename: Source, strict: bool = True,
               device: Any = "cpu", *, backend: str = "mmap") -> tuple[list[str], list[str]]:
    """load_into() with the arguments of safetensors.torch.load_model. The module stays on its
    device: `device` and `backend` say there how the file is read, and have no effect here.

    >>> module = torch.nn.Linear(2, 3)
    >>> tare.torch.save_model(module, "linear.wcodec")
    >>> tare.torch.load_model(module, "linear.wcodec")
    ([], [])
    """
    return load_into(model, filename, strict=strict)


# ---- writing

def save_file(tensors: Mapping[str, torch.Tensor], filename: str | os.PathLike[str],
              metadata: Mapping[str, str] | None = None, **options: Any) -> None:
    """Writes tensors into a container chosen by the suffix; a file that is there is replaced.
    `options` are those of tare.save.

    >>> tare.torch.save_file({"w": torch.ones(3)}, "w.wcodec")
    >>> tare.torch.load_file("w.wcodec")
    {'w': tensor([1., 1., 1.])}
    """
    options.setdefault("force", True)
    _save(tensors, filename, metadata=metadata, **options)


def _same_bytes(tensor: torch.Tensor) -> tuple[Any, ...] | None:
    """What two tensors have in common that are one and the same memory."""
    if not tensor.numel():
        return None
    return tensor.device, tensor.data_ptr(), tensor.dtype, tuple(tensor.shape), tensor.stride()


def save_model(model: torch.nn.Module, filename: str | os.PathLike[str],
               metadata: Mapping[str, str] | None = None, force_contiguous: bool = True,
               **options: Any) -> None:
    """Writes the tensors of a module, those that are tied once: the first name by the alphabet is
    kept, and the metadata say of each other name which that is, as safetensors has it."""
    notes = dict(metadata or {})
    kept: dict[tuple[Any, ...], str] = {}
    out: dict[str, torch.Tensor] = {}
    for name, tensor in sorted(model.state_dict().items()):
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(f"{name}: only tensors can be saved, not {type(tensor).__name__}")
        key = _same_bytes(tensor)
        if key is not None and key in kept:
            notes.setdefault(name, kept[key])
            continue
        if key is not None:
            kept[key] = name
        if not force_contiguous and not tensor.is_contiguous():
            raise ValueError(f"{name}: not contiguous")
        out[name] = tensor
    save_file(out, filename, notes or None, **options)


# ---- lazy

class LazySlice:
    """A tensor of a model that is read when it is indexed: a part reads no more than it needs.

    It has name, shape, dtype, device, ndim, dim(), numel(), size(), is_floating_point() and to() of a
    tensor, and get_shape(), get_dtype() of safetensors' slices.

    >>> lazy = tare.torch.lazy_state_dict("tiny.wcodec")["blk.0.attn_q.weight"]
    >>> lazy.dtype, lazy[0, :8].shape
    (torch.float32, torch.Size([8]))
    """

    __slots__ = ("_tensor",)

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor

    def __getitem__(self, key: Any) -> torch.Tensor:
        whole = key is Ellipsis or isinstance(key, slice) and key == slice(None)
        source: Tensor | TensorView = self._tensor if whole else self._tensor[key]
        return source.torch()

    def read_into(self, key: Any, out: torch.Tensor) -> None:
        """Reads a part into a tensor of its shape, whatever its dtype, strides and device."""
        part = self._tensor[key]
        try:
            part.target(out.dtype)
        except UnsupportedError:
            out.copy_(part.torch())
        else:
            part.torch(out=out)

    @property
    def name(self) -> str:
        return self._tensor.name

    @property
    def shape(self) -> torch.Size:
        return torch.Size(self._tensor.result_shape(self._tensor.target(None)))

    @property
    def dtype(self) -> torch.dtype:
        as_ = self._tensor.target(None)
        return torch.uint8 if as_ in BITS else encoding(as_).torch_dtype()

    @property
    def device(self) -> torch.device:
        return torch.device("cpu")

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def dim(self) -> int:
        return len(self.shape)

    def size(self, dim: int | None = None) -> Any:
        return self.shape if dim is None else self.shape[dim]

    def numel(self) -> int:
        return int(self.shape.numel())

    def is_floating_point(self) -> bool:
        return bool(self.dtype.is_floating_point)

    def get_shape(self) -> list[int]:
        return list(self.shape)

    def get_dtype(self) -> str:
        """The type in safetensors' spelling: "BF16"."""
        return encoding(self._tensor.target(None)).name.upper()

    def to(self, *args: Any, **kwargs: Any) -> torch.Tensor:
        return self[...].to(*args, **kwargs)

    def __len__(self) -> int:
        return len(self._tensor)

    def __repr__(self) -> str:
        return f"LazySlice({self.name!r}, {tuple(self.shape)}, {self.dtype})"


def lazy_state_dict(path: Source | Model, **options: Any) -> dict[str, LazySlice]:
    """The tensors of a model, each of them read when it is indexed. The files stay open while one
    of the slices lives. `options` are those of tare.open.

    >>> tare.torch.lazy_state_dict("tiny.wcodec")["token_embd.weight"][:2, ::16].shape
    torch.Size([2, 4])
    """
    model = path if isinstance(path, Model) else _open(path, **options)
    return {name: LazySlice(tensor) for name, tensor in model.items()}
