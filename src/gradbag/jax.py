"""gradbag for JAX: `embedding_bag`, the compact gradient of a table, and outputs of a fixed size inside `jit`.

`gradbag.raw_ops` and the segment functions take arrays of JAX without this module.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import jax
import jax.numpy as jnp

from . import attributes, errors, raw_ops
from .adapters import jax as _adapter
from .adapters.jax.capturing import watched
from .adapters.jax.compat import Tracer
from .adapters.jax.exchange import Capacity
from .adapters.jax.optim import bag_step, row_step
from .adapters.jax.sharded import ShardedTable
from .ops.combiners import combiner_named
from .row_grad import RowGrad
from .spec import registry

__all__ = [
    "Capacity",
    "RowGrad",
    "ShardedTable",
    "bag_step",
    "embedding_bag",
    "row_step",
    "sized",
    "value_and_row_grad",
]


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
        >>> print(value, grad.count, grad.indices, grad.rows.shape)
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
        small = raw_ops.SparseSegmentSumWithNumSegments(
            data=table, indices=picked, segment_ids=jnp.arange(room), num_segments=room
        )
        places = jax.tree.map(lambda leaf: jnp.searchsorted(unique, jnp.asarray(leaf)), ids)
        value, gradient = jax.value_and_grad(loss, has_aux=has_aux)(small, places, *others, **settings)
        shape = (rows, *gradient.shape[1:])
        return value, _adapter.from_row_grad(RowGrad(unique, gradient, shape, count))

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
    name = combiner_named("embedding_bag", combiner).name
    table, ids = jnp.asarray(table), jnp.asarray(ids)
    if weights is not None:
        weights = jnp.asarray(weights, None if hasattr(weights, "dtype") else table.dtype)
        if weights.shape != ids.shape:
            raise errors.wrong_shape("embedding_bag", "weights", ", ".join(map(str, ids.shape)), "", weights.shape)
        weights = weights.reshape(-1)
    starts = _starts(ids, segment_ids, offsets, num_bags)
    ids = ids.reshape(-1)
    pooled = raw_ops.EmbeddingBag(table=table, ids=ids, offsets=starts, weights=weights, combiner=name)
    return watched(table, ids, starts, weights, name, pooled)


def _starts(ids: Any, segment_ids: Any, offsets: Any, num_bags: int | None) -> Any:
    """Where bags begin."""
    if ids.ndim == 2:
        if segment_ids is not None or offsets is not None:
            raise errors.unfit("embedding_bag", "segment_ids and offsets", "None where ids is a matrix", "an array")
        return jnp.minimum(jnp.arange(ids.shape[0] if num_bags is None else num_bags) * ids.shape[1], ids.size)
    if ids.ndim != 1 or (segment_ids is None) == (offsets is None):
        wanted = "a matrix, or a vector with either segment_ids or offsets"
        given = [name for name, value in (("segment_ids", segment_ids), ("offsets", offsets)) if value is not None]
        raise errors.unfit("embedding_bag", "ids", wanted, f"{ids.ndim} axes with {' and '.join(given) or 'neither'}")
    if segment_ids is None:
        starts = jnp.asarray(offsets)
        more = 0 if num_bags is None else num_bags - starts.shape[0]
        return jnp.pad(starts, (0, more), constant_values=ids.shape[0]) if more else starts
    bags = jnp.asarray(segment_ids)
    if not jnp.issubdtype(bags.dtype, jnp.integer):
        raise errors.wrong_type("embedding_bag", "segment_ids", ["integers"], str(bags.dtype))
    if num_bags is None:
        if isinstance(bags, Tracer):
            wanted = "an int beside segment_ids that JAX traces, whose last one it does not know"
            raise errors.unfit("embedding_bag", "num_bags", wanted, "None")
        num_bags = int(bags[-1]) + 1 if bags.shape[0] else 0
    return jnp.searchsorted(bags, jnp.arange(num_bags))


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
