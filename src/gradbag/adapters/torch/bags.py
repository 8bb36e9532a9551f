"""Bags as PyTorch and TorchRec have them: nested tensors in the jagged layout, and jagged tensors by key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from ... import dtypes, errors
from ...bags import Bags
from ...bags.arrays import Array, check_splits, splits_of

_BFLOAT16 = dtypes.numpy_dtype("bfloat16")


def to_tensor(array: Array) -> torch.Tensor:
    """The tensor on the memory of an array; by DLPack, which does not warn of an array that cannot be written to."""
    if array.dtype == _BFLOAT16:
        return torch.from_dlpack(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_dlpack(array)


def to_array(function: str, name: str, tensor: Any) -> Array:
    if not isinstance(tensor, torch.Tensor) or not tensor.is_cpu:
        got = f"one on {tensor.device}" if isinstance(tensor, torch.Tensor) else type(tensor).__name__
        raise errors.wrong_type(function, name, ["a tensor on the CPU"], got)
    if tensor.requires_grad:  # bags are plain numbers: the gradient would be lost without a word
        wanted = "without a gradient: detach it, or give it to the look-up itself"
        raise errors.unfit(function, name, wanted, "one with")
    if tensor.dtype is torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(_BFLOAT16)  # type: ignore[no-any-return]
    return tensor.numpy()  # type: ignore[no-any-return]


# ------------------------------------------------------------------ nested tensors
def read_nested(function: str, name: str, tensor: Any) -> tuple[Array, Array]:
    """The numbers of a nested tensor, and where each of its rows begins, with the end of the last."""
    if not getattr(tensor, "is_nested", False) or tensor.layout is not torch.jagged or tensor.dim() != 2:
        wanted = "a nested tensor with two axes in the jagged layout"
        raise errors.wrong_type(function, name, [wanted], type(tensor).__name__)
    values, bounds = to_array(function, name, tensor.values()), to_array(function, "offsets", tensor.offsets())
    check_splits(function, f"{name}.offsets", bounds, len(values))
    if tensor.lengths() is None:
        return values[bounds[0] : bounds[-1]], bounds - bounds[0] if bounds[0] else bounds
    lengths, rooms = to_array(function, "lengths", tensor.lengths()), np.diff(bounds)  # there is room between rows
    if len(lengths) != len(rooms):
        raise errors.wrong_shape(function, f"{name}.lengths", "bags", f"bags={len(rooms)}", lengths.shape)
    bad = (lengths < 0) | (lengths > rooms)
    if bad.any():
        place = int(bad.argmax())
        value, room = int(lengths[place]), int(rooms[place])
        raise errors.invalid(function, errors.Fault("range", f"{name}.lengths", (place,), value, 0, room + 1))
    splits = splits_of(lengths)
    return values[np.repeat(bounds[:-1] - splits[:-1], lengths) + np.arange(splits[-1])], splits


def nested(numbers: Array, splits: Array) -> torch.Tensor:
    return torch.nested.nested_tensor_from_jagged(to_tensor(numbers), to_tensor(splits))


# ------------------------------------------------------------------ jagged tensors by key
def split_features(features: Any) -> dict[str, Bags]:
    name = "Bags.from_keyed_jagged"
    if not all(hasattr(features, method) for method in ("keys", "values", "lengths", "weights_or_none")):
        raise errors.wrong_type(name, "features", ["a KeyedJaggedTensor"], type(features).__name__)
    keys = list(features.keys())
    weights = features.weights_or_none()
    whole = Bags.from_lengths(
        to_array(name, "values", features.values()),
        to_array(name, "lengths", features.lengths()).reshape(-1),
        None if weights is None else to_array(name, "weights", weights),
    )
    each = features.stride_per_key() if hasattr(features, "stride_per_key") else [features.stride()] * len(keys)
    ends = np.cumsum(each).tolist()
    if len(each) != len(keys) or ends[-1:] != [len(whole)]:
        raise errors.unfit(name, "lengths", f"one for each bag of {len(keys)} features", f"{len(whole)}")
    return {key: whole[end - count : end] for key, end, count in zip(keys, ends, each, strict=True)}


def join_features(features: Mapping[str, Bags]) -> Any:
    from torchrec.sparse.jagged_tensor import KeyedJaggedTensor

    name = "Bags.to_keyed_jagged"
    sizes = {key: len(bags) for key, bags in features.items()}
    if len(set(sizes.values())) != 1:
        raise errors.unfit(name, "features", "of one number of bags", errors.shown(list(sizes.values())))
    whole = Bags.concatenate(features.values())
    return KeyedJaggedTensor(
        keys=list(features),
        values=to_tensor(whole.ids),
        weights=None if whole.weights is None else to_tensor(whole.weights),
        lengths=to_tensor(whole.lengths),
    )
