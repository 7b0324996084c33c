# SPDX-License-Identifier: MIT
"""A node for ComfyUI that loads diffusion models from every container: copy this file to custom_nodes/."""
from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SUFFIXES = (".gguf", ".infq", ".mcf", ".safetensors", ".wcodec")
FOLDER = "diffusion_models"


def _choices() -> list[str]:
    """What lies in ComfyUI's folders of diffusion models and has a name of ours: its own list leaves
    out suffixes that it does not know."""
    import os

    import folder_paths
    found: set[str] = set()
    for folder in folder_paths.get_folder_paths(FOLDER):
        for at, _, names in os.walk(folder, followlinks=True):
            found.update(os.path.relpath(os.path.join(at, name), folder)
                         for name in names if name.lower().endswith(SUFFIXES))
    return sorted(found)


class TareDiffusionModelLoader:
    """Loads a diffusion model from .wcodec, .mcf, .gguf, .infq or .safetensors."""

    RETURN_TYPES = ("MODEL",)
    FUNCTION = "load"
    CATEGORY = "loaders"

    @classmethod
    def INPUT_TYPES(cls) -> dict[str, Any]:
        return {"required": {"name": (_choices(),)}}

    def load(self, name: str) -> tuple[Any]:
        from inspect import signature

        import comfy.sd
        import folder_paths

        import tare
        from tare.torch import load_file
        path = folder_paths.get_full_path(FOLDER, name)
        if path is None:
            raise FileNotFoundError(f"{name}: in none of the folders of {FOLDER}")
        make = comfy.sd.load_diffusion_model_state_dict
        with tare.open(path, stored=True) as opened:
            pairs = dict(opened.metadata.pairs)  # which say how some models are quantized
            known = {"metadata": pairs} if pairs and "metadata" in signature(make).parameters else {}
            model = make(load_file(opened), **known)
        if model is None:
            raise ValueError(f"{path}: ComfyUI does not know a model with these tensors")
        return (model,)


NODE_CLASS_MAPPINGS = {"TareDiffusionModelLoader": TareDiffusionModelLoader}
NODE_DISPLAY_NAME_MAPPINGS = {"TareDiffusionModelLoader": "Load diffusion model (tare)"}
