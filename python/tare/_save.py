# SPDX-License-Identifier: MIT
"""Models made of arrays: what save() writes."""
from __future__ import annotations

from . import _core
from ._dtypes import PLAIN, encoding_of_numpy, encoding_of_torch
from ._encodings import Planes
from ._model import VALUE_TYPES, Array
from ._tensor import Tensor, TensorView

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Mapping

    from ._model import Model

_STR, _ARRAY = VALUE_TYPES.index("str"), VALUE_TYPES.index("array")
_F4 = _core.find_encoding("f4")
_KEYS_MODEL, _KEYS_SAFETENSORS = 0, 1


def _from_torch(name: str, t: Any) -> tuple[Any, ...]:
    import torch
    if t.layout != torch.strided or t.device.type == "meta":
        raise TypeError(f"{name}: only dense tensors with data can be saved")
    id, shape = encoding_of_torch(t.dtype), tuple(t.shape)
    if t.dtype == getattr(torch, "float4_e2m1fn_x2", None) and shape:  # two numbers an element
        id, shape = _F4, (*shape[:-1], shape[-1] * 2)
    if id < 0:
        raise TypeError(f"{name}: no number format for {t.dtype}")
    flat = t.detach().cpu().resolve_conj().resolve_neg().contiguous().reshape(-1)
    data = flat.view(torch.uint8).numpy() if t.numel() else b""
    return name, id, shape, (data,)


def as_array(name: str, array: Any) -> Any:
    """The array of NumPy that something is, if it has all of its values."""
    import numpy as np
    if np.ma.is_masked(array):
        raise TypeError(f"{name}: masked values are not stored: fill them first")
    return np.asarray(array)


def _from_numpy(name: str, array: Any) -> tuple[Any, ...]:
    import numpy as np
    a = as_array(name, array)
    if not a.dtype.isnative:
        a = a.astype(a.dtype.newbyteorder("="))
    id = encoding_of_numpy(a.dtype)
    if id < 0:
        raise TypeError(f"{name}: no number format for {a.dtype}")
    data = np.ascontiguousarray(a).reshape(-1).view(np.uint8) if a.size else b""
    return name, id, a.shape, (data,)


def _row(name: str, value: Any) -> tuple[Any, ...]:
    """(name, encoding, shape, planes) of whatever has numbers."""
    if isinstance(value, Tensor):
        return name, value.encoding_id, value.shape, value
    if isinstance(value, TensorView):
        return _from_numpy(name, value.numpy())
    if isinstance(value, tuple) and len(value) == 3 and isinstance(value[2], Planes):
        from ._dtypes import wanted
        return name, wanted(str(value[0])), tuple(value[1]), tuple(value[2])
    if type(value).__module__.split(".")[0] == "torch" or hasattr(value, "untyped_storage"):
        return _from_torch(name, value)
    if hasattr(value, "__array_interface__") or not hasattr(value, "__dlpack__"):
        return _from_numpy(name, value)
    import numpy as np
    try:
        return _from_numpy(name, np.from_dlpack(value))
    except (BufferError, RuntimeError, TypeError):  # numbers that numpy has not
        import torch
        return _from_torch(name, torch.from_dlpack(value))


def _number_array(items: Any) -> tuple[int, tuple[int, int, bytes]]:
    import numpy as np
    a = np.asarray(items)
    if a.ndim != 1 or a.dtype.kind not in "biuf":
        raise TypeError("an array of a key has numbers, bools or texts in one dimension")
    if a.dtype.kind == "i" and not isinstance(items, np.ndarray) and a.size and (
            -2 ** 31 <= a.min() and a.max() < 2 ** 31):
        a = a.astype(np.int32)
    if a.dtype.kind == "f" and not isinstance(items, np.ndarray):
        a = a.astype(np.float32)
    name = "bool" if a.dtype.kind == "b" else a.dtype.kind + str(a.dtype.itemsize * 8)
    if name not in VALUE_TYPES:
        raise TypeError(f"keys have no arrays of {a.dtype}")
    return _ARRAY, (VALUE_TYPES.index(name), len(a), a.astype(a.dtype.newbyteorder("<")).tobytes())


def scalar_type(value: Any, stored: str | None = None) -> int:
    """The type of a key's value: the one that is stored, if it suits, else what GGUF uses."""
    if isinstance(value, bool):
        return VALUE_TYPES.index("bool")
    if isinstance(value, int):
        for name in (stored, "u32", "i32", "u64", "i64"):
            if name and name[0] in "ui" and name[1:].isdigit():
                bits = int(name[1:])
                low, high = (0, 2 ** bits) if name[0] == "u" else (-2 ** (bits - 1), 2 ** (bits - 1))
                if low <= value < high:
                    return VALUE_TYPES.index(name)
        raise OverflowError(f"{value} does not fit 64 bits")
    if isinstance(value, float):
        return VALUE_TYPES.index(stored if stored in ("f32", "f64") else "f32")
    if isinstance(value, (str, bytes)):
        return _STR
    raise TypeError(f"a key cannot be a {type(value).__name__}")


def _key(key: str, value: Any) -> tuple[str, int, int, Any]:
    if isinstance(value, Array):
        if value.type in ("str", "array"):
            return key, _KEYS_MODEL, _ARRAY, value.tolist()
        return (key, _KEYS_MODEL, *_number_array(value.numpy()))
    if isinstance(value, (list, tuple)) and value and all(isinstance(v, (str, bytes)) for v in value):
        return key, _KEYS_MODEL, _ARRAY, list(value)
    if isinstance(value, (list, tuple)) or hasattr(value, "__array_interface__") and value.ndim:
        return (key, _KEYS_MODEL, *_number_array(value))
    if hasattr(value, "item"):
        value = value.item()
    return key, _KEYS_MODEL, scalar_type(value), value


def checked_name(name: Any) -> Any:
    """The name of a tensor, which is a text."""
    if not isinstance(name, (str, bytes)):
        raise TypeError(f"{name!r}: the name of a tensor is a text, not {type(name).__name__}")
    return name


def build(tensors: Mapping[str, Any], metadata: Mapping[str, Any] | None = None,
          resources: Mapping[str, Any] | None = None, *, pairs: bool = False) -> Model:
    """A model in memory from arrays of numpy, torch or DLPack, and tensors of opened models. It
    refers to them, so they must not change while it is in use.

    metadata   numbers, bools, texts, lists: typed keys. pairs: texts, as in a safetensors header, with
               "format": "pt" where they do not name another
    resources  bytes of side files by name

    >>> tare.build({"w": numpy.zeros((2, 3))})["w"].encoding.name
    'f64'
    """
    if not hasattr(tensors, "items"):
        raise TypeError(f"tensors: a dict {{name: array}} expected, not {type(tensors).__name__}")
    rows = [_row(checked_name(name), value) for name, value in tensors.items()]
    keys = []
    if pairs and metadata:  # what transformers asks of them
        metadata = {"format": "pt", **metadata}
    for key, value in (metadata or {}).items():
        if pairs:
            if not isinstance(value, str):
                raise TypeError(f"{key}: the metadata of a safetensors file are texts")
            keys.append((key, _KEYS_SAFETENSORS, _STR, value))
        else:
            keys.append(_key(key, value))
    return _core.build(rows, keys, [(name, data) for name, data in (resources or {}).items()])


def synth(spec: str) -> Model:
    """A deterministic model, computed as it is read: "SHAPE[:VALUES[:SEED]]" with SHAPE llama-tiny,
    llama-chat, llama-44m, llama-300m, llama-1b, llama-8b and VALUES normal, t5, outliers, bf16.

    >>> len(tare.synth("llama-tiny"))
    21
    """
    return _core.open(None, spec, 0, {"synth": spec}, None)
