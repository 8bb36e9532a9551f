"""What a caller may give as sparse ids, brought into one form."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np

from .. import errors
from ..sparse_tensor import SparseTensor, as_sparse


@dataclass(frozen=True)
class Entries:
    """Ids with the places at which they stand: rows of a matrix, or offsets at which bags begin.

    Of more than two axes, all but the last are one here; `outer` are their sizes.
    """

    ids: Any
    weights: Any  # None: all count alike
    indices: Any = None
    dense_shape: Any = None
    offsets: Any = None
    outer: Any = None

    def shortened(self) -> Entries:
        """Without the rows after the last that has an id."""
        if self.indices is None or not isinstance(self.indices, np.ndarray):
            return self
        count = int(self.indices[-1, 0]) + 1 if len(self.indices) else 0
        if len(self.dense_shape) == 1:
            count = min(count, 1)
        return replace(self, dense_shape=np.array([count, *self.dense_shape[1:]]), outer=None)

    def shaped(self, pooled: Any) -> Any:
        """The combined rows with the axes that the ids had."""
        if self.outer is None or len(self.outer) == 1:
            return pooled
        return pooled.reshape((*self.outer, *pooled.shape[1:]))


def entries_of(function: str, ids: Any, weights: Any) -> Entries:
    """The entries of whatever may hold ids, and the weights that belong to them if there are any."""
    package = type(ids).__module__.partition(".")[0]
    if package == "tensorflow":
        found: Entries = import_module("gradbag.adapters.tensorflow.lookups").entries_of(function, ids, weights)
        return found
    if hasattr(ids, "ids") and hasattr(ids, "offsets"):
        own = getattr(ids, "weights", None) if weights is None else getattr(weights, "weights", weights)
        return Entries(ids.ids, checked_weights(function, own, ids.ids), offsets=ids.offsets)
    if type(ids).__name__ == "BCOO":
        tensor, values = (ids.indices, ids.data, tuple(ids.shape)), getattr(weights, "data", weights)
    else:
        sparse = as_sparse(function, ids)
        tensor = (sparse.indices, sparse.values, sparse.shape)
        values = (
            weights
            if weights is None or (hasattr(weights, "dtype") and not is_sparse(weights))
            else as_sparse(function, weights).values
        )
    indices, identities, shape = tensor
    identities = integers(function, identities)
    values = checked_weights(function, values, identities)
    if len(shape) == 2:
        return Entries(identities, values, indices, np.array(shape, np.int64))
    return Entries(identities, values, *_folded(function, indices, shape), outer=shape[:-1])


def is_sparse(value: Any) -> bool:
    return isinstance(value, SparseTensor) or type(value).__module__.startswith("scipy.sparse")


def integers(function: str, ids: Any) -> Any:
    """Ids of a dtype that the ops take; NumPy's narrower ones are widened."""
    if not isinstance(ids, np.ndarray) or ids.dtype in (np.int32, np.int64):
        return ids
    if ids.dtype.kind not in "iu" or ids.dtype == np.uint64:
        raise errors.wrong_type(function, "ids", ["int32", "int64"], str(ids.dtype))
    return ids.astype(np.int64)


def checked_weights(function: str, weights: Any, ids: Any) -> Any:
    if weights is not None and tuple(weights.shape) != tuple(ids.shape):
        count = ids.shape[0]
        raise errors.wrong_shape(function, "weights", "nnz", f"nnz={count}", tuple(weights.shape))
    return weights


def _folded(function: str, indices: Any, shape: tuple[int, ...]) -> tuple[Any, Any]:
    """Indices and a shape of two axes, of which the first are all but the last of these."""
    outer = shape[:-1]
    count = int(np.prod(outer, dtype=np.int64))
    steps = np.array([np.prod(outer[axis + 1 :], dtype=np.int64) for axis in range(len(outer))], np.int64)
    if isinstance(indices, np.ndarray):
        outside = (indices[:, :-1] < 0) | (indices[:, :-1] >= np.array(outer, np.int64))
        if outside.any():
            entry, axis = (int(p) for p in np.argwhere(outside)[0])
            fault = errors.Fault("range", "indices", (entry, axis), int(indices[entry, axis]), 0, outer[axis])
            raise errors.invalid(function, fault)
    rows = (indices[:, :-1] * steps).sum(1)
    return rows.reshape(-1, 1), np.array([count], np.int64)
