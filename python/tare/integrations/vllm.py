# SPDX-License-Identifier: MIT
"""`vllm serve FOLDER --load-format tare`: a loader for vLLM.

The package has an entry point of the group vllm.general_plugins, so vLLM calls register() in every
process. Options: --model-loader-extra-config '{"threads": 8, "window": 268435456}'.
"""
from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterator

__all__ = ["register"]

_OPTIONS = ("threads", "window")


def weights(path: str, **options: Any) -> Iterator[tuple[str, Any]]:
    """The tensors of a file or a directory, packed shards too, decoded ahead within a window."""
    from .._load import stream
    from ._files import open_weights, refuse_other_names
    for model in open_weights(path):
        refuse_other_names(model, path)
        with model:
            yield from stream(model, **options)


def register() -> None:
    """Makes "tare" a load format of vLLM; calling it again does nothing."""
    from vllm.model_executor import model_loader as host
    if "tare" in getattr(host, "_LOAD_FORMAT_TO_MODEL_LOADER", {}):
        return

    @host.register_model_loader("tare")
    class TareLoader(host.BaseModelLoader):  # type: ignore[misc]
        """Decodes the weights of a directory or a file into a model of vLLM."""

        def __init__(self, load_config: Any) -> None:
            super().__init__(load_config)
            options = dict(load_config.model_loader_extra_config or {})
            wrong = sorted(set(options) - set(_OPTIONS))
            if wrong:
                raise ValueError(f"model_loader_extra_config: {', '.join(wrong)}: not one of "
                                 f"{', '.join(_OPTIONS)}")
            self._options = options

        def _path(self, model_config: Any) -> str:
            return str(getattr(model_config, "model_weights", None) or model_config.model)

        def download_model(self, model_config: Any) -> None:
            """Weights are read from where they are."""

        def load_weights(self, model: Any, model_config: Any) -> None:
            loaded = model.load_weights(weights(self._path(model_config), **self._options))
            if loaded is not None and getattr(model_config, "quantization", None) is None:
                # A parameter that no tensor has filled is an error, as where vLLM reads weights itself.
                host.DefaultModelLoader.track_weights_loading(self, model, loaded)
