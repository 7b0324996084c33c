# SPDX-License-Identifier: MIT
"""Models of transformers from every container.

    from tare.integrations.transformers import from_pretrained, patched

    model = from_pretrained("model.wcodec")           # config.json is inside
    with patched():                                   # model.wcodec in the place of model.safetensors
        model = AutoModel.from_pretrained("folder")
"""
from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from functools import wraps
from inspect import signature

from ..torch import LazySlice
from ._files import SUFFIX, open_weights, packed_files, refuse_other_names, tensors_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterator

    from .._model import Model

__all__ = ["config_of", "from_pretrained", "patched", "state_dict_of", "tokenizer_of"]


# Arguments of from_pretrained that a configuration has members of the same name for.
_OF_LOADING = {"dtype", "torch_dtype", "quantization_config", "attn_implementation", "name_or_path"}


def _slices(models: list[Model], what: str) -> dict[str, Any]:
    tensors = tensors_of(models)
    refuse_other_names(tensors, what)
    return {name: LazySlice(tensor) for name, tensor in tensors.items()}


def state_dict_of(path: Any, **options: Any) -> dict[str, Any]:
    """The tensors of a file or a directory, packed shards too, read when they are indexed."""
    return _slices(open_weights(path, **options), os.fspath(path) if hasattr(path, "__fspath__") else str(path))


@contextmanager
def _side_files(path: Any, models: list[Model], needs_config: bool = True) -> Iterator[str]:
    """A directory with config.json, the tokenizer and the code of a model, as its files or as its
    resources have them."""
    if isinstance(path, (str, os.PathLike)) and os.path.isdir(path):
        yield os.fspath(path)
        return
    with tempfile.TemporaryDirectory(prefix="tare-") as folder:
        for name, resource in models[0].resources.items():
            target = os.path.normpath(os.path.join(folder, name))
            if os.path.commonpath([folder, target]) != folder or target == folder:
                continue
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "wb") as file:
                file.write(resource.read())
        if needs_config and not os.path.isfile(os.path.join(folder, "config.json")):
            raise FileNotFoundError(f"{path}: there is no config.json in it; pass config=")
        yield folder


def config_of(path: Any, **kwargs: Any) -> Any:
    """The configuration of a model, from its directory or from the resources of the container."""
    from transformers import AutoConfig
    with _side_files(path, open_weights(path)) as folder:
        return AutoConfig.from_pretrained(folder, **kwargs)


def tokenizer_of(path: Any, **kwargs: Any) -> Any:
    """The tokenizer, from where the configuration is."""
    from transformers import AutoTokenizer
    with _side_files(path, open_weights(path)) as folder:
        return AutoTokenizer.from_pretrained(folder, **kwargs)


def _class_of(config: Any, folder: str, is_trusted: bool) -> Any:
    """The class of an architecture: of transformers, or of the model's own code (auto_map)."""
    import transformers
    own = getattr(config, "auto_map", None) or {}
    if is_trusted:
        from transformers.dynamic_module_utils import get_class_from_dynamic_module
        for name in config.architectures or ():
            place = next((p for p in own.values() if isinstance(p, str) and p.split(".")[-1] == name), None)
            if place is not None:
                return get_class_from_dynamic_module(place, folder)
    for name in config.architectures or ():
        cls = getattr(transformers, name, None)
        if cls is not None:
            return cls
    hint = "pass trust_remote_code=True to run the code in it, or cls=" if own else "pass cls="
    raise ValueError(f"transformers has no class for the architectures {config.architectures}: {hint}")


def _class_of_auto(auto: Any, config: Any, folder: str, is_trusted: bool) -> Any:
    """What an AutoModel would choose."""
    place = (getattr(config, "auto_map", None) or {}).get(auto.__name__)
    if place is not None and is_trusted:
        from transformers.dynamic_module_utils import get_class_from_dynamic_module
        return get_class_from_dynamic_module(place, folder)
    found = auto._model_mapping[type(config)]
    return found[0] if isinstance(found, (list, tuple)) else found


def _changed(config: Any, kwargs: dict[str, Any]) -> None:
    """Keys of the configuration among the arguments, which from_pretrained takes if it reads the
    configuration itself."""
    for name in [name for name in kwargs if hasattr(config, name) and name not in _OF_LOADING]:
        setattr(config, name, kwargs.pop(name))


def from_pretrained(path: Any, cls: Any = None, *, config: Any = None, **kwargs: Any) -> Any:
    """A model with its weights from any container, by PreTrainedModel.from_pretrained with a state
    dict whose tensors are read one by one: nothing in transformers is changed.

    path    a file or a directory, as for tare.open; model.wcodec, or packed shards, in a directory
    cls     the class; else what the configuration calls the architecture
    config  else config.json of the directory or of the container
    kwargs  those of from_pretrained: dtype, device_map, attn_implementation, ..., and keys of the
            configuration; trust_remote_code=True runs the code that a model has in itself (auto_map)

    transformers needs tensors under its own names: GGUF files are converted first.
    """
    models = open_weights(path)
    state = _slices(models, str(path))
    is_trusted = bool(kwargs.pop("trust_remote_code", False))
    with _side_files(path, models, config is None) as folder:
        if config is None:
            from transformers import AutoConfig
            config = AutoConfig.from_pretrained(folder, trust_remote_code=is_trusted)
            _changed(config, kwargs)
        if cls is None:
            cls = _class_of(config, folder, is_trusted)
        elif hasattr(cls, "_model_mapping"):  # AutoModel and its like have no way in for a state dict
            cls = _class_of_auto(cls, config, folder, is_trusted)
    result = cls.from_pretrained(None, config=config, state_dict=state, **kwargs)
    model = result[0] if kwargs.get("output_loading_info") else result
    if isinstance(path, (str, os.PathLike)):
        model.config.name_or_path = os.fspath(path)
    if model.can_generate():
        _set_generation(model, path, models)
    return result


def _set_generation(model: Any, path: Any, models: list[Model]) -> None:
    """generation_config.json, which from_pretrained reads from a directory only."""
    from transformers import GenerationConfig
    if isinstance(path, (str, os.PathLike)) and os.path.isdir(path):
        is_there = os.path.isfile(os.path.join(path, "generation_config.json"))
    else:
        is_there = "generation_config.json" in models[0].resources
    if is_there:
        with _side_files(path, models) as folder:
            model.generation_config = GenerationConfig.from_pretrained(folder)


@contextmanager
def patched() -> Iterator[None]:
    """from_pretrained(directory) of transformers takes model.wcodec, or packed shards, where
    model.safetensors is missing. Two functions of transformers.modeling_utils are wrapped until the
    end of the context; directories without *.wcodec go the usual way."""
    from transformers import modeling_utils as host

    resolve, read = host._get_resolved_checkpoint_files, host.load_state_dict

    @wraps(resolve)
    def resolve_packed(*args: Any, **kwargs: Any) -> Any:
        files = _packed_instead(signature(resolve).bind(*args, **kwargs).arguments)
        return (files, _keys_of_shards(files)) if files else resolve(*args, **kwargs)

    @wraps(read)
    def read_packed(*args: Any, **kwargs: Any) -> Any:
        given = signature(read).bind(*args, **kwargs).arguments
        if not os.fspath(given["checkpoint_file"]).endswith(SUFFIX):
            return read(*args, **kwargs)
        state = state_dict_of(given["checkpoint_file"])
        if given.get("map_location") == "meta":
            import torch
            return {name: torch.empty(t.shape, dtype=t.dtype, device="meta") for name, t in state.items()}
        return state

    host._get_resolved_checkpoint_files, host.load_state_dict = resolve_packed, read_packed
    try:
        yield
    finally:
        host._get_resolved_checkpoint_files, host.load_state_dict = resolve, read


def _packed_instead(given: dict[str, Any]) -> list[str]:
    """The packed weights that stand for model.safetensors; `given`: what transformers looks for, by the
    names of its release."""
    path, variant = given["pretrained_model_name_or_path"], given["variant"]
    if path is None or given["gguf_file"] is not None:
        return []
    subfolder = given.get("subfolder") or (given.get("download_kwargs") or {}).get("subfolder") or ""
    folder = os.path.join(os.fspath(path), subfolder)
    stem = f"model.{variant}" if variant else "model"
    if not os.path.isdir(folder) or os.path.isfile(os.path.join(folder, stem + ".safetensors")):
        return []
    return packed_files(folder, stem)


def _keys_of_shards(files: list[str]) -> dict[str, Any] | None:
    """What an index of several files says, as transformers keeps it; None for one file."""
    if len(files) == 1:
        return None
    places = {name: os.path.basename(file) for file in files for name in state_dict_of(file)}
    return {"all_checkpoint_keys": list(places), "weight_map": places}
