"""gradbag for JAX: `embedding_bag`, the compact gradient of a table, and outputs of a fixed size inside `jit`.

`gradbag.raw_ops` and the segment functions take arrays of JAX without this module.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from . import attributes, errors, raw_ops
from .adapters import jax as _adapter
from .spec import registry

__all__ = ["RowGrad", "embedding_bag", "sized", "value_and_row_grad"]

_OPS = {
    "sum": raw_ops.SparseSegmentSumWithNumSegments,
    "mean": raw_ops.SparseSegmentMeanWithNumSegments,
    "sqrtn": raw_ops.SparseSegmentSqrtNWithNumSegments,
}


class RowGrad(NamedTuple):
    """The gradient of a table: `rows[k]` belongs to row `ids[k]`, for k below `count`.

    What follows is filled up: rows of zeros, and the number of the table's rows as their id, which JAX leaves out when
    it writes: `table.at[grad.ids].add(-rate * grad.rows)`.
    """

    rows: Any
    ids: Any
    count: Any


def value_and_row_grad(loss: Callable[..., Any], *, size: int | None = None, has_aux: bool = False) -> Any:
    """Differentiate `loss(table, ids, ...)` with respect to the rows of the table that the ids name, and no others.

    `jax.grad` gives a gradient as large as the table. This one has a row for each different id: `size` rows if given,
    else as many as there are ids (or rows of the table, if those are fewer), so that it works inside `jit`. The loss is
    called with a table of those rows alone and with ids that count among them; it may use ids for nothing else than to
    pick rows. `ids` is an array of any shape, or a tree of them; whatever comes after is passed on.

        >>> import jax.numpy as jnp
        >>> import gradbag.jax
        >>> loss = lambda table, ids: (gradbag.jax.embedding_bag(table, ids) ** 2).sum()
        >>> value, grad = gradbag.jax.value_and_row_grad(loss)(jnp.ones((1000, 2)), jnp.array([[7, 3], [7, 7]]))
        >>> print(value, grad.count, grad.ids, grad.rows.shape)
        4.0 2 [   3    7 1000 1000] (4, 2)
    """

    @wraps(loss)
    def differentiated(table: Any, ids: Any, *others: Any, **settings: Any) -> Any:
        leaves = [jnp.asarray(leaf) for leaf in jax.tree.leaves(ids)]
        for leaf in leaves:
            if not jnp.issubdtype(leaf.dtype, jnp.integer):
                raise errors.wrong_type("value_and_row_grad", "ids", ["integers"], str(leaf.dtype))
        table = jnp.asarray(table)
        if table.ndim < 1 or not leaves:
            raise errors.unfit("value_and_row_grad", "table", "an array of rows, beside ids", f"{table.ndim} axes")
        rows = table.shape[0]
        everything = jnp.concatenate([leaf.reshape(-1) for leaf in leaves])
        room = min(everything.shape[0], rows) if size is None else size
        unique, count = _unique(everything, rows, room)
        picked = jnp.where(jnp.arange(room) < count, unique, 0)
        small = _OPS["sum"](data=table, indices=picked, segment_ids=jnp.arange(room), num_segments=room)
        places = jax.tree.map(lambda leaf: jnp.searchsorted(unique, jnp.asarray(leaf)), ids)
        value, gradient = jax.value_and_grad(loss, has_aux=has_aux)(small, places, *others, **settings)
        return value, RowGrad(gradient, unique, count)

    return differentiated


def _unique(ids: Any, rows: int, room: int) -> tuple[Any, Any]:
    """The ids in ascending order, each once, with `rows` after the last; and how many they are."""
    unique = sized(raw_ops.SparseSegmentSumGradV2, size=room, fill_value=rows)
    found, count = unique(
        grad=jnp.zeros((1, 0), jnp.float32),  # without columns nothing is added: only the ids are looked at
        indices=ids,
        segment_ids=jnp.zeros(ids.shape, jnp.int32),
        dense_output_dim0=rows,
    )
    return found.sorted_unique_indices, count


def embedding_bag(
    table: Any,
    ids: Any,
    segment_ids: Any = None,
    num_bags: int | None = None,
    *,
    offsets: Any = None,
    weights: Any = None,
    combiner: str = "mean",
) -> Any:
    """Look up the rows of `table` for bags of ids and combine each bag into one row, differentiable to any order.

    `ids` is a matrix with a bag in each row, or a vector with the bag of each entry in `segment_ids` (sorted) or with
    the `offsets` at which bags begin. Inside `jit`, segment ids need `num_bags`. With weights w, "mean" divides by the
    sum of w and "sqrtn" by the root of the sum of w**2. An empty bag gives zeros.

        >>> import jax.numpy as jnp
        >>> import gradbag.jax
        >>> table = jnp.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        >>> print(gradbag.jax.embedding_bag(table, jnp.array([0, 2, 1]), offsets=jnp.array([0, 2])))
        [[3. 4.]
         [3. 4.]]
    """
    if combiner not in _OPS:
        raise errors.unfit("embedding_bag", "combiner", "one of " + ", ".join(map(repr, _OPS)), repr(combiner))
    table, ids = jnp.asarray(table), jnp.asarray(ids)
    bags, count = _bags(ids, segment_ids, offsets, num_bags)
    if weights is None:
        return _OPS[combiner](data=table, indices=ids.reshape(-1), segment_ids=bags, num_segments=count)
    weights = jnp.asarray(weights, table.dtype)
    if weights.shape != ids.shape:
        raise errors.wrong_shape("embedding_bag", "weights", ", ".join(map(str, ids.shape)), "", weights.shape)
    return _weighted(table, ids.reshape(-1), bags, count, weights.reshape(-1), combiner)


def _bags(ids: Any, segment_ids: Any, offsets: Any, num_bags: int | None) -> tuple[Any, int]:
    """The bag of each entry, and how many bags there are."""
    if ids.ndim == 2:
        if segment_ids is not None or offsets is not None:
            raise errors.unfit("embedding_bag", "segment_ids and offsets", "None where ids is a matrix", "an array")
        return jnp.repeat(jnp.arange(ids.shape[0]), ids.shape[1]), ids.shape[0] if num_bags is None else num_bags
    if ids.ndim != 1 or (segment_ids is None) == (offsets is None):
        wanted = "a matrix, or a vector with either segment_ids or offsets"
        given = [name for name, value in (("segment_ids", segment_ids), ("offsets", offsets)) if value is not None]
        raise errors.unfit("embedding_bag", "ids", wanted, f"{ids.ndim} axes with {' and '.join(given) or 'neither'}")
    if segment_ids is None:
        starts = jnp.asarray(offsets)
        bags = jnp.searchsorted(starts, jnp.arange(ids.shape[0]), side="right") - 1
        return bags, starts.shape[0] if num_bags is None else num_bags
    bags = jnp.asarray(segment_ids)
    if num_bags is None:
        if isinstance(bags, jax.core.Tracer):
            wanted = "an int beside segment_ids that JAX traces, whose last one it does not know"
            raise errors.unfit("embedding_bag", "num_bags", wanted, "None")
        num_bags = int(np.asarray(bags)[-1]) + 1 if bags.shape[0] else 0
    return bags, num_bags


def _weighted(table: Any, ids: Any, bags: Any, count: int, weights: Any, combiner: str) -> Any:
    each = jnp.arange(ids.shape[0])
    rows = _OPS["sum"](data=table, indices=ids, segment_ids=each, num_segments=ids.shape[0])

    def total(entries: Any) -> Any:
        return _OPS["sum"](data=entries, indices=each, segment_ids=bags, num_segments=count)

    def beside(values: Any) -> Any:
        return values.reshape(-1, *[1] * (rows.ndim - 1))

    pooled = total(rows * beside(weights))
    if combiner == "sum":
        return pooled
    empty = total(jnp.ones_like(weights)) == 0
    scale = jnp.where(empty, 1, total(weights) if combiner == "mean" else total(weights * weights))
    return pooled / beside(scale if combiner == "mean" else jnp.sqrt(scale))


def sized(function: Callable[..., Any], *, size: int, fill_value: int = 0) -> Callable[..., Any]:
    """A raw op whose answer has `size` rows, however many its values give, and that number.

    For ops whose outputs are as long as the values say, inside `jit`, where all shapes are fixed. Indices are filled up
    with `fill_value`, values with zeros. A size that is too small is an error when the call runs.

        >>> import jax, jax.numpy as jnp
        >>> import gradbag.jax
        >>> fill = gradbag.jax.sized(gradbag.raw_ops.RaggedFillEmptyRows, size=5, fill_value=-1)
        >>> rows, values = jnp.array([0, 2]), jnp.array([1.0, 3.0])
        >>> out, count = jax.jit(lambda v: fill(value_rowids=rows, values=v, nrows=3, default_value=9.0))(values)
        >>> print(out.output_values, out.output_value_rowids, count)
        [1. 9. 3. 0. 0.] [ 0  1  2 -1 -1] 3
    """
    op = registry.get(getattr(function, "__name__", ""))
    if op is None or len(op.counted_words) != 1:
        raise errors.unfit("sized", "function", "a raw op whose outputs are as long as its values say", repr(function))
    errors.check_natural("sized", "size", size)

    @wraps(function)
    def call(**given: Any) -> Any:
        missing = [name for name in op.input_names if name not in given]
        if missing:
            raise TypeError(f"{op.name} misses the required argument {missing[0]!r}")
        values = [given.pop(name) for name in op.input_names]
        return _adapter.interpret_sized(op, values, attributes.normal(op, given), size, fill_value)

    return call
