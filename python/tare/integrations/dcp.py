# SPDX-License-Identifier: MIT
"""torch.distributed.checkpoint.load from every container.

    from tare.integrations.dcp import TareReader

    torch.distributed.checkpoint.load(state_dict, storage_reader=TareReader("model.wcodec"))
"""
from __future__ import annotations

import os

import torch
from torch.distributed.checkpoint import StorageReader
from torch.distributed.checkpoint.metadata import (ChunkStorageMetadata, Metadata, MetadataIndex,
                                                   TensorProperties, TensorStorageMetadata)
from torch.futures import Future

from ..torch import LazySlice
from ._files import open_weights, tensors_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from torch.distributed.checkpoint.planner import LoadPlan, LoadPlanner

__all__ = ["TareReader"]


class TareReader(StorageReader):  # type: ignore[misc, unused-ignore]
    """Serves the tensors of a file or a directory under their names; each rank reads the parts that
    its shards need, into its own memory. Only tensors can be asked for."""

    def __init__(self, path: Any, **options: Any) -> None:
        """path: as for tare.open, or a directory with packed shards; options: those of tare.open."""
        self._options = options
        self.reset(path)

    def reset(self, checkpoint_id: str | os.PathLike[str] | None = None) -> None:
        if checkpoint_id is not None:
            self._path = checkpoint_id
            self._slices: dict[str, LazySlice] | None = None

    def _tensors(self) -> dict[str, LazySlice]:
        if self._slices is None:
            models = open_weights(self._path, **self._options)
            self._slices = {name: LazySlice(tensor) for name, tensor in tensors_of(models).items()}
        return self._slices

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        items: dict[str, Any] = {}
        places = {}
        for name, tensor in self._tensors().items():
            start = torch.Size([0] * tensor.ndim)
            items[name] = TensorStorageMetadata(
                properties=TensorProperties(dtype=tensor.dtype), size=tensor.shape,
                chunks=[ChunkStorageMetadata(offsets=start, sizes=tensor.shape)])
            places[MetadataIndex(fqn=name, offset=start)] = name
        return Metadata(state_dict_metadata=items, storage_data=places)

    def set_up_storage_reader(self, metadata: Metadata, is_coordinator: bool, *args: Any,
                              **kwargs: Any) -> None:
        self._tensors()

    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        return plan

    def prepare_global_plan(self, plans: list[LoadPlan]) -> list[LoadPlan]:
        return plans

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Future[None]:
        tensors = self._tensors()
        for item in plan.items:
            name = item.storage_index.fqn
            part = tuple(slice(start, start + count)
                         for start, count in zip(item.storage_offsets, item.lengths))
            target = planner.resolve_tensor(item).detach()
            if list(target.shape) != list(item.lengths):
                raise ValueError(f"{name}: {list(item.lengths)} asked for, and room for "
                                 f"{list(target.shape)}")
            tensors[name].read_into(part, target)
            planner.commit_tensor(item, target)
        done: Future[None] = Future()
        done.set_result(None)
        return done

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: str | os.PathLike[str]) -> bool:
        return os.path.exists(checkpoint_id)
