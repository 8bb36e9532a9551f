"""Arrays between the ranks of a process group, by `all_to_all_single` and `all_reduce` alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import torch.distributed as dist

from .. import errors
from ..sharding import Part

Array = np.ndarray[Any, Any]


class GroupWire:
    """A process group that carries arrays as bytes: one collective for all parts of an exchange."""

    def __init__(self, group: Any = None) -> None:
        if not dist.is_available() or not dist.is_initialized():
            wanted = "torch.distributed, by init_process_group('gloo')"
            raise errors.unfit("ShardedEmbeddingBag", "process_group", wanted, "none that was started")
        self.group = group
        self.rank, self.size = dist.get_rank(group), dist.get_world_size(group)
        self.sent = 0  # bytes to other ranks

    def swap(self, parts: Sequence[Part]) -> list[Array]:
        """What all ranks have given this one, for each part, rank after rank."""
        give, take = (np.zeros((len(parts), self.size), np.int64) for _ in range(2))
        for place, part in enumerate(parts):
            width = part.array.itemsize * int(np.prod(part.array.shape[1:], dtype=np.int64))
            give[place], take[place] = part.give * width, part.take * width
        sending, taking = give.sum(0), take.sum(0)
        self.sent += int(sending.sum() - sending[self.rank])
        out = torch.empty(int(taking.sum()), dtype=torch.uint8)
        packed = torch.from_numpy(_packed([_bytes(part.array) for part in parts], give))
        dist.all_to_all_single(out, packed, taking.tolist(), sending.tolist(), group=self.group)
        return _unpacked(out.numpy(), parts, take)

    def everywhere(self, array: Array, places: Array, count: int) -> Array:
        """The rows of all ranks in one array, whose own rows belong at `places`; the same on every rank."""
        whole = np.zeros((count, *array.shape[1:]), array.dtype)
        whole[places] = array
        # Sums of bytes, of which all but one are zero: sums of floats would lose the sign of a zero.
        dist.all_reduce(torch.from_numpy(_bytes(whole)), group=self.group)
        return whole


def _bytes(array: Array) -> Array:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _packed(arrays: list[Array], give: Array) -> Array:
    """The bytes for each rank, part after part."""
    filled = [place for place, array in enumerate(arrays) if len(array)]
    if len(filled) == 1:
        array = arrays[filled[0]]
        return array if array.flags.writeable else array.copy()
    packed = np.empty(int(give.sum()), np.uint8)
    ends = np.cumsum(give, axis=1)
    at = 0
    for rank in range(give.shape[1]):
        for place in filled:
            count = give[place, rank]
            packed[at : at + count] = arrays[place][ends[place, rank] - count : ends[place, rank]]
            at += count
    return packed


def _unpacked(packed: Array, parts: Sequence[Part], take: Array) -> list[Array]:
    shapes = [(int(part.take.sum()), *part.array.shape[1:]) for part in parts]
    if np.count_nonzero(take.any(axis=1)) == 1:  # it lies as it should
        none = packed[:0]
        own = [packed if each.any() else none for each in take]
        kinds = (part.array.dtype for part in parts)
        return [each.view(kind).reshape(shape) for each, kind, shape in zip(own, kinds, shapes, strict=True)]
    came = [np.empty(shape, part.array.dtype) for shape, part in zip(shapes, parts, strict=True)]
    into = [_bytes(array) for array in came]
    ends = np.cumsum(take, axis=1)
    at = 0
    for rank in range(take.shape[1]):
        for place, array in enumerate(into):
            count = take[place, rank]
            array[ends[place, rank] - count : ends[place, rank]] = packed[at : at + count]
            at += count
    return came
