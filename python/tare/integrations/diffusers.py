# SPDX-License-Identifier: MIT
"""Models of diffusers from every container.

    from tare.integrations.diffusers import from_pretrained

    unet = from_pretrained(UNet2DConditionModel, "unet.wcodec", config="folder/unet")
"""
from __future__ import annotations

import json
import os

import torch

from ..torch import load_into
from ._files import open_weights

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["from_pretrained"]


def _config(config: Any, path: Any, model: Any) -> Any:
    if isinstance(config, dict):
        return config
    if config is not None:
        file = os.path.join(config, "config.json") if os.path.isdir(config) else config
        with open(file, encoding="utf-8") as f:
            return json.load(f)
    if "config.json" in model.resources:
        return json.loads(model.resources["config.json"].read())
    if isinstance(path, (str, os.PathLike)) and os.path.isdir(path):
        return _config(path, path, model)
    raise FileNotFoundError(f"{path}: there is no config.json in it; pass config=")


def from_pretrained(cls: Any, path: Any, *, config: Any = None, torch_dtype: Any = None,
                    strict: bool = True) -> Any:
    """A model (UNet, transformer, VAE) whose tensors are decoded into the parameters that it has.

    cls          a ModelMixin of diffusers
    path         as for tare.open, with diffusers' names
    config       a dict, the path of config.json or of its directory; None: the container's own
    torch_dtype  of the parameters; None: torch's default
    """
    models = open_weights(path)
    if len(models) > 1:
        raise ValueError(f"{path}: packed in several files; pass one")
    module = cls.from_config(_config(config, path, models[0]))
    if torch_dtype is not None:
        module = module.to(torch_dtype)
    load_into(module, models[0], strict=strict)
    return module.eval() if isinstance(module, torch.nn.Module) else module
