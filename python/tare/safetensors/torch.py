# SPDX-License-Identifier: MIT
"""safetensors.torch: dicts of tensors, and modules with tensors that share memory."""
from __future__ import annotations

import os

import torch

from ._open import safe_open
from ._serialize import TensorSpec, serialize, serialize_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable

    from ._open import Backend

    Tensors = dict[str, torch.Tensor]

_HINT = "More information at https://huggingface.co/docs/safetensors/torch_shared_tensors"


# ---- tensors that share memory

def storage_ptr(tensor: torch.Tensor) -> int:
    """The address of a tensor's storage; 0: it has none."""
    try:
        return tensor.untyped_storage().data_ptr()
    except (NotImplementedError, RuntimeError):
        return 0


def storage_size(tensor: torch.Tensor) -> int:
    """The bytes of a tensor's storage."""
    try:
        return tensor.untyped_storage().nbytes()
    except (NotImplementedError, RuntimeError):
        return tensor.nelement() * tensor.element_size()


def _end_ptr(tensor: torch.Tensor) -> int:
    """The address behind the last element."""
    if not tensor.nelement():
        return tensor.data_ptr()
    last = sum((n - 1) * stride for n, stride in zip(tensor.shape, tensor.stride()))
    return tensor.data_ptr() + (last + 1) * tensor.element_size()


def _find_shared_tensors(state_dict: Tensors) -> list[set[str]]:
    """Groups of names whose tensors overlap in memory; a tensor alone is a group."""
    storages: dict[Any, list[str]] = {}
    for name, t in state_dict.items():
        if t.device.type != "meta" and storage_ptr(t) and storage_size(t):
            storages.setdefault((t.device, storage_ptr(t), storage_size(t)), []).append(name)
    groups: list[set[str]] = []
    for names in storages.values():
        end = -1
        areas = [(state_dict[n].data_ptr(), _end_ptr(state_dict[n]), n) for n in names]
        for start, stop, name in sorted(areas):
            if start >= end:
                groups.append(set())
            groups[-1].add(name)
            end = max(end, stop)
    return groups


def _is_complete(tensor: torch.Tensor) -> bool:
    """Whether a tensor is the whole of its storage."""
    return (tensor.data_ptr() == storage_ptr(tensor)
            and tensor.nelement() * tensor.element_size() == storage_size(tensor))


def _remove_duplicate_names(state_dict: Tensors, *, preferred_names: Iterable[str] | None = None,
                            discard_names: Iterable[str] | None = None) -> dict[str, list[str]]:
    """{name that stays: names that go}, one entry for each group that shares memory."""
    preferred, discarded = set(preferred_names or ()), set(discard_names or ())
    out = {}
    for group in _find_shared_tensors(state_dict):
        complete = {name for name in group if _is_complete(state_dict[name])}
        if not complete:
            raise RuntimeError(
                "Error while trying to find names to remove to save state dict, but found no suitable name to "
                f"keep for saving amongst: {group}. None is covering the entire storage. Refusing to save/load "
                f"the model since you could be storing much more memory than needed. {_HINT}")
        keep = min(complete & preferred or complete - discarded or complete)
        if len(group) > 1:
            out[keep] = sorted(group - {keep})
    return out


# ---- saving

def _check(tensors: Tensors) -> None:
    if not isinstance(tensors, dict):
        raise ValueError(f"Expected a dict of [str, torch.Tensor] but received {type(tensors)}")
    for name, t in tensors.items():
        if not isinstance(t, torch.Tensor):
            raise ValueError(f"Key `{name}` is invalid, expected torch.Tensor but received {type(t)}")
    sparse = [name for name, t in tensors.items() if t.layout != torch.strided]
    if sparse:
        raise ValueError(
            f"You are trying to save a sparse tensors: `{sparse}` which this library does not support. You can "
            "make it a dense tensor before saving with `.to_dense()` but be aware this might make a much larger "
            "file than needed.")
    shared = [group for group in _find_shared_tensors(tensors) if len(group) > 1]
    if shared:
        raise RuntimeError(
            "Some tensors share memory, this will lead to duplicate memory on disk and potential differences "
            f"when loading them again: {shared}. A potential way to correctly save your model is to use "
            f"`save_model`. {_HINT}")


def _specs(tensors: Tensors) -> tuple[dict[str, TensorSpec], list[torch.Tensor]]:
    """The descriptions of tensors, and the memory that they describe."""
    _check(tensors)
    specs, keep = {}, []
    for name, t in tensors.items():
        if not t.is_contiguous():
            raise ValueError(
                f"You are trying to save a non contiguous tensor: `{name}` which is not allowed. It either means "
                "you are trying to save tensors which are reference of each other in which case it's recommended "
                "to save only the full tensors, and reslice at load time, or simply call `.contiguous()` on your "
                "tensor to pack it before saving.")
        keep.append(t.detach().to("cpu").resolve_conj().resolve_neg())
        specs[name] = TensorSpec(dtype=str(t.dtype).removeprefix("torch."), shape=t.shape,
                                 data_ptr=keep[-1].data_ptr(), data_len=t.nelement() * t.element_size())
    return specs, keep


def save(tensors: Tensors, metadata: dict[str, str] | None = None) -> bytes:
    """The bytes of a safetensors file.

    >>> tare.safetensors.torch.load(tare.safetensors.torch.save({"w": torch.ones(2)}))
    {'w': tensor([1., 1.])}
    """
    specs, keep = _specs(tensors)
    return serialize(specs, metadata)


def save_file(tensors: Tensors, filename: str | os.PathLike[str],
              metadata: dict[str, str] | None = None) -> None:
    """Writes a safetensors file. Tensors must be dense, contiguous, and share no memory.

    >>> tare.safetensors.torch.save_file({"w": torch.ones(2)}, "w.safetensors", {"format": "pt"})
    """
    specs, keep = _specs(tensors)
    serialize_file(specs, filename, metadata)


def save_model(model: torch.nn.Module, filename: str | os.PathLike[str],
               metadata: dict[str, str] | None = None, force_contiguous: bool = True) -> None:
    """Writes the state of a module. Of tensors that share memory one is written; the metadata say
    for each of the others which one it is.

    >>> module = torch.nn.Linear(2, 3)
    >>> tare.safetensors.torch.save_model(module, "m.safetensors")
    >>> tare.safetensors.torch.load_model(module, "m.safetensors")
    (set(), [])
    """
    state = model.state_dict()
    texts = dict(metadata or {})
    for kept, others in _remove_duplicate_names(state).items():
        for name in others:
            texts.setdefault(name, kept)
            del state[name]
    if force_contiguous:
        state = {name: t.contiguous() for name, t in state.items()}
    try:
        save_file(state, filename, metadata=texts)
    except ValueError as error:
        raise ValueError(f"{error} Or use save_model(..., force_contiguous=True), read the docs for "
                         "potential caveats.") from None


# ---- loading

def load(data: bytes) -> Tensors:
    """The tensors of the bytes of a model of any format."""
    with safe_open(data, "pt") as f:
        return f.get_tensors()


def load_file(filename: str | os.PathLike[str], device: Any = "cpu", *, backend: Backend = "mmap") -> Tensors:
    """The tensors of a model of any format. What the file has as it is needs no copy: its pages are
    private to the process.

    >>> tare.safetensors.torch.load_file("tiny.wcodec")["output_norm.weight"].shape
    torch.Size([64])
    """
    with safe_open(filename, "pt", device, backend=backend) as f:
        return f.get_tensors()


def load_model(model: torch.nn.Module, filename: str | os.PathLike[str], strict: bool = True,
               device: Any = "cpu", *, backend: Backend = "mmap") -> tuple[Any, list[str]]:
    """Fills a module, whose tensors may share memory: (names that are missing, names without use)."""
    state = load_file(filename, device=device, backend=backend)
    shared = _remove_duplicate_names(model.state_dict(), preferred_names=state)
    result = model.load_state_dict(state, strict=False)
    missing, unexpected = set(result.missing_keys), list(result.unexpected_keys)
    for others in shared.values():
        unexpected += [name for name in others if name not in missing]
        missing.difference_update(others)
    if strict and (missing or unexpected):
        lines = [f"Error(s) in loading state_dict for {type(model).__name__}:"]
        for kind, names in (("Missing", missing), ("Unexpected", unexpected)):
            if names:
                quoted = ", ".join(f'"{name}"' for name in sorted(names))
                lines.append(f"    {kind} key(s) in state_dict: {quoted}")
        raise RuntimeError("\n".join(lines))
    return missing, unexpected
