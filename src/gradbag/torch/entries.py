"""What stands in bags: the id of each entry, where bags begin, and the weight of each entry if there are weights."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import torch
from torch.nn.functional import pad

from .. import errors, raw_ops
from ..adapters.torch.bags import to_tensor
from ..bags import Bags

NAME = "embedding_bag"


class Entries(NamedTuple):
    ids: Any
    starts: Any
    weights: Any = None


# ------------------------------------------------------------------ refusals
@cache
def _both(ours: type, theirs: type) -> type:
    return type(ours.__name__, (ours, theirs), {"__doc__": ours.__doc__, "__module__": ours.__module__})


def also(theirs: type, problem: errors.Error) -> errors.Error:
    """The same error, which is of the class as well that PyTorch raises in its place."""
    if isinstance(problem, theirs):
        return problem
    told: errors.Error = _both(type(problem), theirs)(str(problem))  # type: ignore[arg-type]
    return errors.about(problem.argument, told)


# ------------------------------------------------------------------ from what a caller gave
def entries_of(weight: Any, input: Any, offsets: Any, weights: Any, last: bool) -> Entries:
    """Entries of a vector with offsets, a matrix, a nested tensor, a CSR matrix of PyTorch or SciPy, or `Bags`."""
    if isinstance(input, torch.Tensor):
        if input.layout is torch.sparse_csr:
            _alone(offsets, weights)
            return Entries(input.col_indices(), input.crow_indices()[:-1], input.values().to(weight.dtype))
        if input.is_nested:
            return _nested(input, offsets, weights)
    elif isinstance(input, Bags) or type(input).__module__.startswith("scipy.sparse"):
        _alone(offsets, weights)
        bags = input if isinstance(input, Bags) else Bags.from_csr(input.tocsr())
        return Entries(
            to_tensor(bags.ids),
            to_tensor(bags.offsets),
            None if bags.weights is None else to_tensor(bags.weights).to(weight.dtype),
        )
    ids = torch.as_tensor(input)
    if isinstance(weights, (list, tuple)):
        weights = torch.tensor(weights, dtype=weight.dtype)
    if weights is not None:
        _check_weights(weight, ids, weights)
    if ids.ndim == 2:
        if offsets is not None:
            raise errors.unfit(NAME, "offsets", "None where input is a matrix", "a tensor")
        starts = torch.arange(ids.shape[0]) * ids.shape[1]
        return Entries(ids.reshape(-1), starts, None if weights is None else weights.reshape(-1))
    if ids.ndim != 1 or offsets is None:
        wanted = "a matrix of ids, or a vector with offsets"
        raise errors.unfit(NAME, "input", wanted, f"{ids.ndim} axes and offsets={offsets}")
    starts = torch.as_tensor(offsets)
    if last and not starts.shape[0]:
        raise also(RuntimeError, errors.unfit(NAME, "offsets", "at least the end of the ids", "none"))
    return Entries(ids, starts[:-1] if last else starts, weights)


def _alone(offsets: Any, weights: Any) -> None:
    if offsets is not None or weights is not None:
        raise errors.unfit(NAME, "offsets and per_sample_weights", "None beside an input that has both", "more")


def _nested(input: Any, offsets: Any, weights: Any) -> Entries:
    if offsets is not None:
        raise errors.unfit(NAME, "offsets", "None where input is nested", "a tensor")
    if weights is not None and not weights.is_nested:
        raise errors.unfit(NAME, "per_sample_weights", "nested where input is", "a dense tensor")
    return Entries(input.values(), input.offsets()[:-1], None if weights is None else weights.values())


def _check_weights(weight: Any, ids: Any, weights: Any) -> None:
    if weights.shape != ids.shape:
        raise errors.wrong_shape(NAME, "per_sample_weights", ", ".join(map(str, ids.shape)), "", weights.shape)
    if weights.dtype != weight.dtype:
        wanted, got = (str(values.dtype).removeprefix("torch.") for values in (weight, weights))
        raise also(RuntimeError, errors.wrong_type(NAME, "per_sample_weights", [wanted], got, "like weight"))


# ------------------------------------------------------------------ other entries
def are_sound(entries: Entries, rows: int) -> bool:
    """Whether the look-up will not refuse them; if it will, it had better see them as they were given."""
    ids, starts, _ = entries
    if ids.dtype.is_floating_point or starts.dtype.is_floating_point or starts.ndim != 1 or not starts.numel():
        return False
    bounds = torch.cat([starts, starts.new_full((1,), ids.shape[0])])
    inside = not ids.numel() or bool((ids.min() >= 0) & (ids.max() < rows))
    return inside and bool((bounds[0] == 0) & (bounds[1:] >= bounds[:-1]).all())


def without(padding_idx: int, entries: Entries, rows: int) -> Entries:
    """All entries but those of an id.

    A compiler must know how many there are: there the others go into one more bag, behind the last.
    """
    ids, starts, weights = entries
    kept = ids != padding_idx
    if not torch.compiler.is_compiling():
        if bool(kept.all()) or not are_sound(entries, rows):
            return entries
        before = pad(kept.cumsum(0), (1, 0))
        return Entries(ids[kept], before[starts], None if weights is None else weights[kept])
    count = kept.cumsum(0)
    places = torch.where(kept, count, count[-1:] + (~kept).cumsum(0)) - 1
    starts = torch.cat([pad(count, (1, 0))[starts], count[-1:]])

    def moved(values: Any) -> Any:
        return torch.empty_like(values).scatter(0, places, values)

    return Entries(moved(ids), starts, None if weights is None else moved(weights))


def filled(default_id: int, entries: Entries) -> Entries:
    """The same with one entry of the default id, of weight one, in every bag that was empty."""
    ids, starts, weights = entries
    rows = {"value_rowids": bags_of_entries(starts, ids.shape[0]), "nrows": starts.shape[0]}
    more: Any = raw_ops.RaggedFillEmptyRows(values=ids, default_value=default_id, **rows)
    if weights is not None:
        weights = raw_ops.RaggedFillEmptyRows(values=weights, default_value=1.0, **rows).output_values
    empty = more.empty_row_indicator.to(starts.dtype)
    return Entries(more.output_values, starts + empty.cumsum(0) - empty, weights)


def bags_of_entries(starts: Any, count: Any) -> Any:
    """The bag of each entry: how many bags have begun there, less one."""
    return torch.searchsorted(starts, torch.arange(count, dtype=starts.dtype), right=True) - 1
