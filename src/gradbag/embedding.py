"""Lookups of embeddings for sparse ids, by the rules of TensorFlow's two functions of the same names.

They are made of raw ops, so they work on NumPy arrays, PyTorch tensors and concrete JAX arrays, to any order of
gradients. Which rows are looked up must be known when they are called; inside a `tf.function`, use TensorFlow's own
functions within `gradbag.tensorflow.patch()`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import errors, raw_ops
from .autodiff.trace import plain
from .ops.combiners import combiner_named
from .sparse_tensor import SparseTensor, as_sparse

__all__ = ["embedding_lookup_sparse", "safe_embedding_lookup_sparse"]

Array = np.ndarray[Any, Any]


def embedding_lookup_sparse(
    params: Any, sp_ids: Any, sp_weights: Any = None, combiner: str = "mean", *, sparse_gradient: bool = False
) -> Any:
    """Look up the rows of a table for each row of sparse ids, and combine them into one row.

    `sp_ids` is a SparseTensor, or a SciPy sparse array, whose values are ids; `sp_weights` has a weight for each. With
    weights w, "mean" divides by the sum of w and "sqrtn" by the root of the sum of w**2; a sum of zero gives zeros.

    As in TensorFlow, there are as many rows as the last id's row asks for; the safe function gives all of them.

        >>> import gradbag
        >>> ids = gradbag.SparseTensor([[0, 0], [0, 1], [2, 0]], [1, 3, 0], [4, 2])
        >>> gradbag.embedding_lookup_sparse([[1.0], [2.0], [4.0], [8.0]], ids)
        array([[5.],
               [0.],
               [1.]], dtype=float32)
    """
    name = "embedding_lookup_sparse"
    ids, weights = _entries(name, sp_ids, sp_weights, combiner)
    rows = ids.indices[:, 0] if ids.rank else np.zeros(ids.nnz, np.int64)
    count = int(rows[-1]) + 1 if ids.nnz else 0
    return _pooled(params, _ids(name, ids), rows, count, weights, combiner, sparse_gradient)


def safe_embedding_lookup_sparse(
    embedding_weights: Any,
    sparse_ids: Any,
    sparse_weights: Any = None,
    combiner: str = "mean",
    default_id: int | None = None,
    *,
    sparse_gradient: bool = False,
) -> Any:
    """The same for ids as they come: negative ids are left out, and every row of ids has a row in the answer.

    A row without ids is zeros, or the row of `default_id`. Weights that are not above zero are left out with their
    ids, unless the combiner is "sum". The rows need not be in order; of more than two axes, all but the last make rows.

        >>> import gradbag
        >>> ids = gradbag.SparseTensor([[2, 0], [0, 0], [0, 1]], [0, 1, -1], [4, 2])
        >>> gradbag.safe_embedding_lookup_sparse([[1.0], [2.0]], ids)
        array([[2.],
               [0.],
               [1.],
               [0.]], dtype=float32)
    """
    name = "safe_embedding_lookup_sparse"
    tensor, weights = _entries(name, sparse_ids, sparse_weights, combiner)
    outer = tensor.shape[:-1]
    rows = np.ravel_multi_index(tuple(tensor.indices.T[:-1]), outer) if len(outer) else np.zeros(tensor.nnz, np.int64)
    count = int(np.prod(outer, dtype=np.int64))
    ids = _ids(name, tensor)
    keep = ids >= 0
    if weights is not None and combiner != "sum":
        keep &= _concrete(weights) > 0  # false for NaN too
    places = np.stack([rows, np.arange(len(rows))], 1)[keep]
    shape = np.array([count, max(len(rows), 1)], np.int64)

    def filled(values: Any, default: Any) -> Any:
        return raw_ops.SparseFillEmptyRows(indices=places, values=values, dense_shape=shape, default_value=default)

    chosen = np.flatnonzero(keep)
    if weights is not None:
        weights = _taken(weights, chosen)
    ids = ids[chosen]
    if default_id is not None:
        if weights is not None:
            weights = filled(weights, 1.0).output_values
        full = filled(ids, np.asarray(default_id, ids.dtype))
        ids, rows = full.output_values, full.output_indices[:, 0]
    else:
        order = np.argsort(places[:, 0], kind="stable")
        ids, rows = ids[order], places[order, 0]
        if weights is not None:
            weights = _taken(weights, order)
    pooled = _pooled(embedding_weights, ids, rows, count, weights, combiner, sparse_gradient)
    return pooled.reshape((*outer, *pooled.shape[1:])) if len(outer) != 1 else pooled


# ------------------------------------------------------------------ what is looked up
def _entries(name: str, ids: Any, weights: Any, combiner: str) -> tuple[SparseTensor, Any]:
    """The ids, and the weights that belong to them if there are any."""
    combiner_named(name, combiner)
    tensor = as_sparse(name, ids)
    if not isinstance(tensor, SparseTensor):
        raise errors.wrong_type(
            name, "ids", ["gradbag.SparseTensor"], type(ids).__name__, "for which gradbag.tensorflow.patch() is there"
        )
    if weights is None:
        return tensor, None
    values = weights.values if isinstance(weights, SparseTensor) else as_sparse(name, weights).values
    if tuple(values.shape) != (tensor.nnz,):
        raise errors.wrong_shape(name, "weights", "nnz", f"nnz={tensor.nnz}", tuple(values.shape))
    return tensor, values


def _ids(name: str, tensor: SparseTensor) -> Array:
    ids = _concrete(tensor.values)
    if ids.dtype.kind not in "iu":
        raise errors.wrong_type(name, "ids", ["int32", "int64"], str(ids.dtype))
    return ids if ids.dtype in (np.int32, np.int64) else ids.astype(np.int64)


def _concrete(value: Any) -> Array:
    """The numbers of an array of any framework, for decisions that have no gradient."""
    if hasattr(value, "detach"):
        value = value.detach()
    return np.asarray(plain(value))


def _taken(values: Any, places: Array) -> Any:
    """The elements at some places, differentiable in every framework."""
    each = np.arange(len(places))
    count = len(places)
    return raw_ops.SparseSegmentSumWithNumSegments(data=values, indices=places, segment_ids=each, num_segments=count)


# ------------------------------------------------------------------ combining
def _pooled(table: Any, ids: Array, rows: Array, count: int, weights: Any, combiner: str, sparse_gradient: bool) -> Any:
    chosen = combiner_named("embedding_lookup_sparse", combiner)
    if weights is None:
        pooling = getattr(raw_ops, f"SparseSegment{chosen.title}WithNumSegments")
        entries = {"indices": ids, "segment_ids": rows, "num_segments": count}
        return pooling(data=table, **entries, sparse_gradient=sparse_gradient)
    if not hasattr(table, "dtype"):
        table = np.asarray(table, np.float32)
    return raw_ops.EmbeddingBag(
        table=table,
        ids=ids,
        offsets=np.searchsorted(rows, np.arange(count)),
        weights=_cast(weights, table.dtype),
        combiner=chosen.name,
        sparse_gradient=sparse_gradient,
    )


def _cast(value: Any, dtype: Any) -> Any:
    """As TensorFlow does it: weights take the dtype of the table."""
    return value.to(dtype) if hasattr(value, "new_tensor") else value if value.dtype == dtype else value.astype(dtype)
