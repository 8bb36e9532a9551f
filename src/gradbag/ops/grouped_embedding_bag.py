"""Looking up rows of many tables in one call, and the gradients of that; each feature is an EmbeddingBag of its own.

Gradients of all tables lie in one vector, table after table, so that one kernel makes them; rules cut it into pieces.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from ..spec import REQUIRED, Arg, Attr, Example, Kernel, Reject, op
from . import grouped
from .combiners import COMBINERS
from .embedding_bag import COMBINER, IDS, TYPES, WEIGHTS, normalized_back
from .grouped_loop import one_by_one
from .grouped_samples import grouped_lookups, grouped_scatters, grouped_weight_gradients

TABLES = Arg("tables", "T", "rows# columns#", "The tables whose rows are looked up.", many=True)
OFFSETS = Arg(
    "offsets",
    "Toffsets",
    "features bags",
    "Where each bag of each feature begins, feature after feature; from 0 on, ascending. The last ends with the ids.",
)
GRAD = Arg("grad", "T", "bags columns", "The gradient of the combined rows, feature beside feature.")
FEATURE_TABLES = Attr(
    "feature_tables", (), "The table that each feature looks up; left out, each table has one feature.", "ints"
)
TABLE_SHAPES = Attr("table_shapes", REQUIRED, "Rows and columns of each table, in turn.", "ints")
SPARSE_GRADIENT = Attr(
    "sparse_gradient", False, "Make the gradients of `tables` compact: only the rows that were picked."
)
SCRATCH = ("n", "n", "n", "n", "n", "n")
BAGS = {"ids": [0, 1, 1, 2, 0], "offsets": [[0, 2], [2, 4]]}
EXAMPLE_TABLES = [[[1.0, 2.0], [3.0, 4.0]], [[5.0], [6.0], [8.0]]]
REJECTS = [
    Reject({"ids": [0, 2, 1, 2, 0]}, r"ids\[1\] == 2 out of range \[0, 2\); the rows of the table of feature 0"),
    Reject({"ids": [0, 1, 1, -3, 0]}, r"ids\[3\] == -3 out of range \[0, 3\); the rows of the table of feature 1"),
    Reject({"offsets": [[1, 2], [2, 4]]}, r"offsets\[0, 0\] == 1 out of range \[0, 1\)"),
    Reject({"offsets": [[0, 2], [2, 6]]}, r"offsets\[1, 1\] == 6 out of range \[0, 6\)"),
    Reject({"offsets": [[0, 2], [1, 4]]}, r"offsets\[1, 0\] == 1 follows 2"),
    Reject({"offsets": [[0, 2]]}, r"offsets has shape \[1, 2\], which must have 2 rows, one for each feature"),
    Reject({"weights": [1.0]}, r"weights must have shape \[n\] with n=\d+; got \[1\]"),
    Reject({"feature_tables": (0, 2)}, r"feature_tables\[1\] == 2 out of range \[0, 2\)"),
]


# ------------------------------------------------------------------ GroupedEmbeddingBag
@op(
    "GroupedEmbeddingBag",
    inputs=[TABLES, IDS, OFFSETS, WEIGHTS],
    attrs=[COMBINER, SPARSE_GRADIENT, FEATURE_TABLES],
    outputs=[Arg("output", "T", "bags columns", "One row per bag, feature beside feature; zeros for an empty bag.")],
    types=TYPES,
    kernel=Kernel("grouped_reduce", settings=("combiner", "feature_tables")),
    linear=["tables"],
    example=Example(
        {"tables": EXAMPLE_TABLES, **BAGS, "weights": [1.0, 3.0, 1.0, 1.0, 0.5]},
        {"output": [[2.5, 3.5, 7.0], [0.0, 0.0, 5.0]]},
    ),
    samples=grouped_lookups,
    rejects=[*REJECTS, Reject({"offsets": [[], []]}, r"ids\[0\] belongs to no bag: offsets are empty")],
)
def grouped_embedding_bag(
    tables: Any,
    ids: Any,
    offsets: Any,
    weights: Any,
    *,
    combiner: str = "mean",
    sparse_gradient: bool = False,
    feature_tables: Any = (),
) -> Any:
    """Look up bags of ids in many tables at once; the combined rows of all features stand side by side.

    output[b] = EmbeddingBag(tables[feature_tables[f]], the ids of feature f)[b], for f = 0, 1, ...
    """
    return grouped.pool_tables(tables, ids, offsets, weights, COMBINERS[combiner], feature_tables)


@grouped_embedding_bag.shapes
def _(
    tables: Any, ids: Any, offsets: Any, weights: Any, combiner: Any, sparse_gradient: Any, feature_tables: Any
) -> Any:
    return [(_bags(offsets), grouped.checked_shapes(_columns(tables), offsets, feature_tables))]


@grouped_embedding_bag.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    gradients = {"tables": _table_gradients(ops, x, g.output, x.tables)}
    if x.weights is not None:
        gradients["weights"] = _weight_gradient(ops, x, g.output, x.tables)
    return gradients


def _columns(tables: Any) -> list[Any]:
    return [None if table.shape is None else table.shape[1] for table in tables]


def _bags(offsets: Any) -> Any:
    return None if offsets.shape is None else offsets.shape[1]


def _table_gradients(ops: Any, x: Any, grad: Any, tables: Any) -> Any:
    each = [ops.known_shape(table) for table in tables]
    if None in each:
        return one_by_one(ops, x, grad, tables)
    shapes = [size for shape in each for size in shape]
    entries = {"grad": grad, "ids": x.ids, "offsets": x.offsets, "weights": x.weights, "combiner": x.combiner}
    entries |= {"table_shapes": shapes, "feature_tables": x.feature_tables}
    if not x.sparse_gradient:
        return _as_tables(ops, ops.GroupedEmbeddingBagDenseGrad(**entries), shapes)
    compact = ops.GroupedEmbeddingBagGrad(**entries)
    places = ops.split(compact.sorted_unique_indices, compact.counts, len(tables))
    rows = _as_rows(ops, compact, places, shapes)
    parts = [SimpleNamespace(output=r, sorted_unique_indices=p) for r, p in zip(rows, places, strict=True)]
    return [ops.row_grad(part, table) for part, table in zip(parts, tables, strict=True)]


def _as_tables(ops: Any, flat: Any, shapes: Any) -> list[Any]:
    each = grouped.pairs(shapes)
    parts = ops.split(flat, [rows * columns for rows, columns in each], len(each))
    return [ops.reshaped(part, shape) for part, shape in zip(parts, each, strict=True)]


def _as_rows(ops: Any, compact: Any, places: Any, shapes: Any) -> list[Any]:
    """Compact rows of each table, of which these are the places."""
    columns = [width for _, width in grouped.pairs(shapes)]
    lengths = ops.Mul(x=compact.counts, y=ops.constant(np.array(columns, np.int64)))
    parts = ops.split(compact.output, lengths, len(columns))
    return [ops.reshaped(part, [ops.rows(p), n]) for part, p, n in zip(parts, places, columns, strict=True)]


def _weight_gradient(ops: Any, x: Any, grad: Any, tables: Any, ids: Any = None) -> Any:
    entries = {"ids": x.ids if ids is None else ids, "offsets": x.offsets, "feature_tables": x.feature_tables}
    dots = ops.GroupedEmbeddingBagWeightsGrad(grad=grad, tables=tables, **entries)
    starts = ops.reshaped(x.offsets, [-1])
    return normalized_back(ops, SimpleNamespace(weights=x.weights, combiner=x.combiner, offsets=starts), dots)


# ------------------------------------------------------------------ GroupedEmbeddingBagDenseGrad
GRAD_EXAMPLE = {"grad": [[4.0, 8.0, 2.0], [9.0, 9.0, 3.0]], **BAGS, "weights": [1.0, 3.0, 1.0, 1.0, 0.5]}
GRAD_EXAMPLE["table_shapes"] = [2, 2, 3, 1]
GRAD_REJECTS = [
    *REJECTS,
    Reject({"table_shapes": (2, 2, 3)}, r"table_shapes == \[2, 2, 3\] must hold rows and columns of each table"),
    Reject({"table_shapes": (2, 2, -3, 1)}, r"table_shapes\[2\] == -3 must not be negative"),
    Reject({"grad": [[1.0, 2.0], [3.0, 4.0]]}, r"grad has shape \[2, 2\], which must have the 3 columns"),
]


@op(
    "GroupedEmbeddingBagDenseGrad",
    inputs=[GRAD, IDS, OFFSETS, WEIGHTS],
    attrs=[TABLE_SHAPES, COMBINER, FEATURE_TABLES],
    outputs=[Arg("output", "T", "elements", "The gradients of the tables, row after row, table after table.")],
    types=TYPES,
    kernel=Kernel("grouped_grad", scratch=SCRATCH, settings=("table_shapes", "combiner", "feature_tables")),
    linear=["grad"],
    example=Example(GRAD_EXAMPLE, {"output": [1.0, 2.0, 3.0, 6.0, 3.0, 1.0, 1.0]}),
    samples=grouped_scatters,
    rejects=GRAD_REJECTS,
)
def grouped_embedding_bag_dense_grad(
    grad: Any, ids: Any, offsets: Any, weights: Any, *, table_shapes: Any, combiner: str = "mean", feature_tables: Any
) -> Any:
    """The gradients of the tables of GroupedEmbeddingBag, in one vector: those of EmbeddingBag, table after table."""
    shapes = grouped.pairs(table_shapes)
    entries = grouped.entries_of_tables(grad, ids, offsets, weights, shapes, feature_tables)
    return grouped.scatter_tables(shapes, entries, COMBINERS[combiner])


def _grad_width(offsets: Any, grad: Any, table_shapes: Any, feature_tables: Any) -> Any:
    each = grouped.checked_pairs(table_shapes)
    grouped.checked_shapes([columns for _, columns in each], offsets, feature_tables, grad)
    return each


@grouped_embedding_bag_dense_grad.shapes
def _(grad: Any, ids: Any, offsets: Any, weights: Any, table_shapes: Any, combiner: Any, feature_tables: Any) -> Any:
    return [(sum(rows * columns for rows, columns in _grad_width(offsets, grad, table_shapes, feature_tables)),)]


@grouped_embedding_bag_dense_grad.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return _grad_gradient(ops, x, _as_tables(ops, g.output, x.table_shapes), x.ids)


def _grad_gradient(ops: Any, x: Any, tables: Any, ids: Any) -> Any:
    """The gradients of gradients: the look-up itself, in the cotangents' rows, and the dots of both."""
    entries = {"tables": tables, "ids": ids, "offsets": x.offsets, "feature_tables": x.feature_tables}
    gradients = {"grad": ops.GroupedEmbeddingBag(**entries, weights=x.weights, combiner=x.combiner)}
    if x.weights is not None:
        gradients["weights"] = _weight_gradient(ops, x, x.grad, tables, ids)
    return gradients


# ------------------------------------------------------------------ GroupedEmbeddingBagGrad
@op(
    "GroupedEmbeddingBagGrad",
    inputs=[GRAD, IDS, OFFSETS, WEIGHTS],
    attrs=[TABLE_SHAPES, COMBINER, FEATURE_TABLES],
    outputs=[
        Arg("output", "T", "elements", "The gradients of the picked rows, row after row, table after table."),
        Arg("sorted_unique_indices", "Tidx", "unique", "Which rows those are; of each table ascending, each once."),
        Arg("counts", "int64", "tables", "How many rows of each table were picked."),
    ],
    types=TYPES,
    kernel=Kernel("grouped_grad_compact", scratch=SCRATCH, settings=("table_shapes", "combiner", "feature_tables")),
    linear=["grad"],
    example=Example(
        GRAD_EXAMPLE,
        {
            "output": [1.0, 2.0, 3.0, 6.0, 3.0, 1.0, 1.0],
            "sorted_unique_indices": [0, 1, 0, 1, 2],
            "counts": [2, 3],
        },
    ),
    samples=grouped_scatters,
    rejects=GRAD_REJECTS,
)
def grouped_embedding_bag_grad(
    grad: Any, ids: Any, offsets: Any, weights: Any, *, table_shapes: Any, combiner: str = "mean", feature_tables: Any
) -> Any:
    """The compact gradients of the tables of GroupedEmbeddingBag: the rows that some entry picked, and which."""
    shapes = grouped.pairs(table_shapes)
    entries = grouped.entries_of_tables(grad, ids, offsets, weights, shapes, feature_tables)
    return grouped.scatter_tables_compact(shapes, entries, COMBINERS[combiner])


@grouped_embedding_bag_grad.shapes
def _(grad: Any, ids: Any, offsets: Any, weights: Any, table_shapes: Any, combiner: Any, feature_tables: Any) -> Any:
    return [(None,), (None,), (len(_grad_width(offsets, grad, table_shapes, feature_tables)),)]


@grouped_embedding_bag_grad.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return _grad_gradient(ops, x, _as_tables(ops, _with_zeros(ops, x, y, g.output), x.table_shapes), x.ids)


def _with_zeros(ops: Any, x: Any, y: Any, picked: Any) -> Any:
    """Numbers of the picked rows at their places among those of all rows, so that no size depends on the data."""
    shapes = np.array(grouped.pairs(x.table_shapes), np.int64)
    sizes = shapes.prod(1)
    columns, begins = ops.constant(shapes[:, 1].copy()), ops.constant(np.cumsum(sizes) - sizes)

    def owners(count: Any, ends: Any) -> Any:
        """For 0, 1, ... up to a count, how many of the ends are not above it."""
        return ops.positions(ops.AddV2(x=ops.range(count), y=ops.constant(np.array(1, np.int64))), ends)

    tables = owners(ops.rows(y.sorted_unique_indices), ops.Cumsum(x=y.counts, axis=np.int32(0)))
    widths = ops.take(columns, tables)
    numbers = ops.take(ops.range(int(shapes[:, 0].max())), y.sorted_unique_indices)  # as int64
    firsts = ops.AddV2(x=ops.take(begins, tables), y=ops.Mul(x=numbers, y=widths))
    ends = ops.Cumsum(x=widths, axis=np.int32(0))
    count = ops.rows(y.output)  # a compiler would not know that `picked` has as many
    rows = owners(count, ends)
    column = ops.Sub(x=ops.range(count), y=ops.take(ops.Sub(x=ends, y=widths), rows))
    places = ops.AddV2(x=ops.take(firsts, rows), y=column)
    return ops.UnsortedSegmentSum(data=picked, segment_ids=places, num_segments=np.int64(sizes.sum()))


# ------------------------------------------------------------------ GroupedEmbeddingBagWeightsGrad
@op(
    "GroupedEmbeddingBagWeightsGrad",
    inputs=[GRAD, TABLES, IDS, OFFSETS],
    attrs=[FEATURE_TABLES],
    outputs=[Arg("output", "T", "n", "One number for each entry.")],
    types=TYPES,
    kernel=Kernel("grouped_dot", scratch=("bags",), settings=("feature_tables",)),
    example=Example(
        {"grad": [[1.0, 2.0, 3.0], [9.0, 9.0, 4.0]], "tables": EXAMPLE_TABLES, **BAGS},
        {"output": [5.0, 11.0, 18.0, 24.0, 20.0]},
    ),
    samples=grouped_weight_gradients,
    rejects=[*REJECTS[:6], REJECTS[7], GRAD_REJECTS[-1]],
)
def grouped_embedding_bag_weights_grad(grad: Any, tables: Any, ids: Any, offsets: Any, *, feature_tables: Any) -> Any:
    """What the weights of sums of rows get: the inner product of each entry's row and its bag's gradient."""
    return grouped.dot_tables(grad, tables, ids, offsets, feature_tables)


@grouped_embedding_bag_weights_grad.shapes
def _(grad: Any, tables: Any, ids: Any, offsets: Any, feature_tables: Any) -> Any:
    grouped.checked_shapes(_columns(tables), offsets, feature_tables, grad)
    return [None if ids.shape is None else tuple(ids.shape)]


@grouped_embedding_bag_weights_grad.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    of_sum = SimpleNamespace(**{**vars(x), "weights": g.output, "combiner": "sum", "sparse_gradient": False})
    entries = {"ids": x.ids, "offsets": x.offsets, "feature_tables": x.feature_tables}
    return {
        "grad": ops.GroupedEmbeddingBag(tables=x.tables, **entries, weights=g.output, combiner="sum"),
        "tables": _table_gradients(ops, of_sum, x.grad, x.tables),
    }
