# SPDX-License-Identifier: MIT
"""Which files of a directory have its weights."""
from __future__ import annotations

import json
import os

from .._model import Model
from .._model import open as _open

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SUFFIX = ".wcodec"


def packed_files(folder: str, stem: str = "model") -> list[str]:
    """The packed weights of a directory: model.wcodec, or the shards that model.wcodec.index.json
    lists in its weight_map, or every *.wcodec if there is neither; an empty list if there is none."""
    one = os.path.join(folder, stem + SUFFIX)
    if os.path.isfile(one):
        return [one]
    index = one + ".index.json"
    if os.path.isfile(index):
        with open(index, encoding="utf-8") as file:
            names = sorted(set(json.load(file)["weight_map"].values()))
        for name in names:
            if os.path.basename(name) != name:
                raise ValueError(f"{index}: {name!r} is not the name of a file beside it")
        return [os.path.join(folder, name) for name in names]
    if not os.path.isdir(folder):
        return []
    return [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(SUFFIX)]


def open_weights(path: Any, **options: Any) -> list[Model]:
    """The models that have the weights of a file or a directory: one, or one for each packed shard."""
    if isinstance(path, (str, os.PathLike)) and os.path.isdir(path):
        folder = os.fspath(path)
        if not os.path.isfile(os.path.join(folder, "model.safetensors")):
            files = packed_files(folder)
            if files:
                return [_open(file, stored=True, **options) for file in files]
    return [_open(path, stored=True, **options)]


def tensors_of(models: list[Model]) -> dict[str, Any]:
    """The tensors of all models by name."""
    out: dict[str, Any] = {}
    for model in models:
        for name, tensor in model.items():
            if name in out:
                raise ValueError(f"{name}: two of the files have this tensor")
            out[name] = tensor
    return out


def refuse_other_names(names: Any, what: str) -> None:
    """Names of llama.cpp are those of no module: better an error than a model without weights."""
    if any(name == "token_embd.weight" or name.startswith("blk.") for name in names):
        raise ValueError(f"{what}: the tensors have the names of llama.cpp; the command "
                         "`tare convert MODEL FOLDER --to hf` gives them those of transformers")
