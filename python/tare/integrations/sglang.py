# SPDX-License-Identifier: MIT
"""A plugin for SGLang: directories with *.wcodec are served as they are.

The package has an entry point of the group sglang.srt.plugins. register() wraps get_model_loader():
for a directory that has packed weights and no safetensors it gives a loader of ours.
"""
from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["is_packed", "register"]

TARGET = "sglang.srt.model_loader.loader.get_model_loader"


def is_packed(folder: Any) -> bool:
    """Whether the weights in a directory are packed."""
    if not isinstance(folder, (str, os.PathLike)) or not os.path.isdir(folder):
        return False
    suffixes = {os.path.splitext(name)[1] for name in os.listdir(folder)}
    return ".wcodec" in suffixes and ".safetensors" not in suffixes


def _loader(host: Any) -> Any:
    """SGLang's own loader, which differs in where weights that are packed come from."""
    from .vllm import weights

    class TareLoader(host.DefaultModelLoader):  # type: ignore[misc]
        def download_model(self, model_config: Any) -> None:
            """Packed weights are on this machine."""

        def _get_weights_iterator(self, source: Any, **prefetch: Any) -> Any:
            if not is_packed(source.model_or_path):
                return super()._get_weights_iterator(source, **prefetch)
            return ((source.prefix + name, tensor) for name, tensor in weights(source.model_or_path))

        def resolve_model_weights(self, *args: Any) -> Any:
            """SGLang asks for safetensors files, to read them ahead while it starts."""
            raise ValueError("packed weights cannot be read ahead: start SGLang without the overlap "
                             "of loading and starting")

    return TareLoader


def around(original: Any, load_config: Any, model_config: Any = None, *args: Any, **kwargs: Any) -> Any:
    """get_model_loader(), but for directories with packed weights."""
    if is_packed(getattr(model_config, "model_path", None)):
        if getattr(load_config, "draft_model_idx", None) is not None:
            raise ValueError("packed weights cannot be those of a draft model by index")
        from importlib import import_module
        return _loader(import_module("sglang.srt.model_loader.loader"))(load_config)
    return original(load_config, model_config, *args, **kwargs)


def register() -> None:
    """Registers the hook; SGLang calls this when it loads its plugins."""
    from sglang.srt.plugins.hook_registry import HookRegistry, HookType
    HookRegistry.register(TARGET, around, HookType.AROUND)
