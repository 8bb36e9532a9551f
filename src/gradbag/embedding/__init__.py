"""Look-ups of embeddings for sparse ids, by the rules of TensorFlow's two functions of the same names.

They are made of raw ops: PackBags or PruneBags makes bags of what the caller holds, and EmbeddingBag combines the rows.
So they work on whatever raw ops take, to any order of gradients: NumPy arrays, PyTorch tensors, arrays of JAX also
inside `jax.jit`, and TensorFlow's tensors also inside a `tf.function`. No array has a row for each entry.
"""

from __future__ import annotations

from typing import Any

from .. import raw_ops
from ..ops.combiners import combiner_named
from .entries import Entries, entries_of
from .packing import pack
from .tables import Tables

__all__ = ["embedding_lookup_sparse", "safe_embedding_lookup_sparse"]


def embedding_lookup_sparse(
    params: Any,
    sp_ids: Any,
    sp_weights: Any = None,
    combiner: str | None = None,
    max_norm: float | None = None,
    name: str | None = None,
    allow_fast_lookup: bool = False,
    *,
    partition_strategy: str = "div",
    sparse_gradient: bool = False,
) -> Any:
    """Look up the rows of a table for each row of sparse ids, and combine them into one row.

    `params` is a table, or a list of arrays that are its shards. `sp_ids` holds ids: a SparseTensor (ours or one of
    TensorFlow, a SciPy sparse array, a BCOO of JAX) whose rows are in order, or bags (`tf.RaggedTensor`, or anything
    with `ids` and `offsets`). `sp_weights` has a weight for each id, in the same form or as a vector.

    The combiner is "sum", "mean" (the default) or "sqrtn". With weights w, "mean" divides by the sum of w and "sqrtn"
    by the root of the sum of w**2; a sum of zero gives zeros. Rows whose L2 norm is above `max_norm` are scaled down to
    it before they are combined. `partition_strategy` tells which ids a shard has: "div", ranges that follow each other,
    or "mod", every so manieth. With `sparse_gradient` the gradient of a table has only the rows that were looked up.
    `name` and `allow_fast_lookup` are TensorFlow's, and change nothing here: every look-up is fast.

    As in TensorFlow, there are as many rows as the last id's row asks for; the safe function gives all of them, and so
    does this one for bags, and inside `jax.jit`, where that number must be known.

        >>> import gradbag
        >>> ids = gradbag.SparseTensor([[0, 0], [0, 1], [2, 0]], [1, 3, 0], [4, 2])
        >>> gradbag.embedding_lookup_sparse([[1.0], [2.0], [4.0], [8.0]], ids)
        array([[5.],
               [0.],
               [1.]], dtype=float32)
    """
    function = "embedding_lookup_sparse"
    tables = Tables(function, "params", params, partition_strategy, max_norm)
    chosen = combiner_named(function, "mean" if combiner is None else combiner).name
    entries = entries_of(function, sp_ids, sp_weights).shortened()
    return _look_up(tables, entries, chosen, sparse_gradient, strict=True)


def safe_embedding_lookup_sparse(
    embedding_weights: Any,
    sparse_ids: Any,
    sparse_weights: Any = None,
    combiner: str = "mean",
    default_id: int | None = None,
    max_norm: float | None = None,
    name: str | None = None,
    allow_fast_lookup: bool = False,
    *,
    partition_strategy: str = "div",
    sparse_gradient: bool = False,
    size: int | None = None,
) -> Any:
    """The same for ids as they come: negative ids are left out, and every row of ids has a row in the answer.

    A row without ids is zeros, or the row of `default_id`. Weights that are not above zero are left out with their
    ids, unless the combiner is "sum". The rows need not be in order; of more than two axes, all but the last make rows.

    Inside `jax.jit` there is room for all ids, and for a default in each row; `size` is the room to make, if the caller
    knows that fewer will stay.

        >>> import gradbag
        >>> ids = gradbag.SparseTensor([[2, 0], [0, 0], [0, 1]], [0, 1, -1], [4, 2])
        >>> gradbag.safe_embedding_lookup_sparse([[1.0], [2.0]], ids)
        array([[2.],
               [0.],
               [1.],
               [0.]], dtype=float32)
    """
    function = "safe_embedding_lookup_sparse"
    tables = Tables(function, "embedding_weights", embedding_weights, partition_strategy, max_norm)
    chosen = combiner_named(function, combiner).name
    entries = entries_of(function, sparse_ids, sparse_weights)
    tables.check_default(default_id)
    return _look_up(tables, entries, chosen, sparse_gradient, default_id=default_id, size=size)


def _look_up(
    tables: Tables,
    entries: Entries,
    combiner: str,
    sparse_gradient: bool,
    *,
    strict: bool = False,
    default_id: Any = None,
    size: int | None = None,
) -> Any:
    prune_weights = not strict and combiner != "sum"
    bags = pack(entries, tables.row_count, strict, prune_weights, default_id, size)
    table, ids, is_whole = tables.rows_for(bags.ids, sparse_gradient)
    pooled = raw_ops.EmbeddingBag(
        table=table,
        ids=ids,
        offsets=bags.offsets,
        weights=bags.weights_like(table),
        combiner=combiner,
        sparse_gradient=sparse_gradient and is_whole,
    )
    return entries.shaped(bags.without_spare(pooled))
