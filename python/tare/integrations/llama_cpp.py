# SPDX-License-Identifier: MIT
"""llama-cpp-python with models that are packed.

    from tare.integrations.llama_cpp import load

    llama = load("model.wcodec", n_ctx=2048)
"""
from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["load"]


def load(path: Any, *, base: Any = (), threads: int = 0, **kwargs: Any) -> Any:
    """A llama_cpp.Llama of a GGUF file, packed or not. A packed one is unpacked into memory, which
    llama.cpp maps; nothing is written to a disk. kwargs are those of Llama."""
    from llama_cpp import Llama

    from .._model import open as _open
    from .._verbs import materialized
    with _open(path, base=base) as model:
        is_packed = model.info.format == "wcodec"
    if not is_packed:
        return Llama(model_path=str(path), **kwargs)
    with materialized(path, suffix=".gguf", base=base, threads=threads) as file:
        return Llama(model_path=file, **kwargs)
