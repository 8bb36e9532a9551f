"""Looking up rows of a table for bags of ids, with weights or without, and the gradients of that.

A look-up is bilinear in the table and in the weights, once these are divided by what the combiner asks for. So the
rules below give every order: the gradients of EmbeddingBag are its own transposes, and those of them are again it.
"""

from __future__ import annotations

from typing import Any

from ..dtypes import FLOAT, INDEX
from ..spec import Arg, Attr, Example, Kernel, Reject, op
from .bags import dot_bags, normalize_bags, pool_bags, scatter_bags, scatter_bags_compact
from .combiners import COMBINERS
from .samples import bag_lookups, bag_scatters, weight_gradients, weighted_bags

IDS = Arg("ids", "Tidx", "n", "The row of the table that each entry picks, bag after bag.")
OFFSETS = Arg("offsets", "Toffsets", "bags", "Where each bag begins; from 0 on, ascending. The last ends with the ids.")
WEIGHTS = Arg("weights", "T", "n", "What each entry's row is multiplied by; left out, all count one.", optional=True)
NUM_ROWS = Arg("num_rows", "int64", "", "How many rows the table has.", holds="rows")
COMBINER = Attr(
    "combiner",
    "mean",
    "Add the rows of a bag, or divide by their number or its root; with weights w, by the sum of w or by the root of "
    "the sum of w**2. A bag whose weights cancel gives zeros.",
    "string",
    tuple(COMBINERS),
)
SPARSE_GRADIENT = Attr(
    "sparse_gradient", False, "Make the gradient of `table` compact: only the rows that were picked."
)
GRAD = Arg("grad", "T", "bags *inner", "The gradient of the combined rows.")
TABLE = Arg("table", "T", "rows *inner", "The table whose rows are looked up.")
TYPES = {"T": FLOAT, "Tidx": INDEX, "Toffsets": INDEX}
BAGS = {"ids": [0, 2, 3, 1], "offsets": [0, 3, 3]}
REJECTS = [
    Reject({"ids": [0, 2, 4, 1]}, r"ids\[2\] == 4 out of range \[0, 4\)"),
    Reject({"ids": [0, -1, 4, 1]}, r"ids\[1\] == -1 out of range \[0, 4\)"),
    Reject({"offsets": [1, 3, 3]}, r"offsets\[0\] == 1 out of range \[0, 1\)"),
    Reject({"offsets": [0, 3, 5]}, r"offsets\[2\] == 5 out of range \[0, 5\)"),
    Reject({"offsets": [0, 3, 2]}, r"offsets\[2\] == 2 follows 3"),
    Reject({"weights": [1.0]}, r"weights must have shape \[n\] with n=4; got \[1\]"),
    Reject({"combiner": "max"}, r"combiner must be one of 'sum', 'mean', 'sqrtn'; got 'max'"),
]


# ------------------------------------------------------------------ EmbeddingBag
@op(
    "EmbeddingBag",
    inputs=[TABLE, IDS, OFFSETS, WEIGHTS],
    attrs=[COMBINER, SPARSE_GRADIENT],
    outputs=[Arg("output", "T", "bags *inner", "One row per bag; zeros for an empty one.")],
    types=TYPES,
    kernel=Kernel("bag_reduce", settings=("combiner",)),
    linear=["table"],
    example=Example(
        {"table": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]], **BAGS, "weights": [2.0, 1.0, 1.0, 0.5]},
        {"output": [[3.5, 4.5], [0.0, 0.0], [3.0, 4.0]]},
    ),
    samples=bag_lookups,
    rejects=[
        *REJECTS,
        Reject({"table": 1.0}, r"table must have shape \[rows \*inner\]; got \[\]"),
        Reject({"offsets": []}, r"ids\[0\] belongs to no bag: offsets are empty"),
    ],
)
def embedding_bag(
    table: Any, ids: Any, offsets: Any, weights: Any, *, combiner: str = "mean", sparse_gradient: bool = False
) -> Any:
    """Look up the rows of a table for bags of ids, and combine each bag into one row.

    output[b] = sum of table[ids[i]] * weights[i] over the entries i of bag b, divided as the combiner says
    """
    return pool_bags(table, ids, offsets, weights, COMBINERS[combiner])


@embedding_bag.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    gradients = {"table": _table_gradient(ops, x, g.output, x.table)}
    if x.weights is not None:
        dots = ops.EmbeddingBagWeightsGrad(grad=g.output, table=x.table, ids=x.ids, offsets=x.offsets)
        gradients["weights"] = normalized_back(ops, x, dots)
    return gradients


def _table_gradient(ops: Any, x: Any, grad: Any, table: Any) -> Any:
    entries = {"grad": grad, "ids": x.ids, "offsets": x.offsets, "weights": x.weights, "combiner": x.combiner}
    if x.sparse_gradient:
        return ops.row_grad(ops.EmbeddingBagGrad(**entries, num_rows=ops.rows(table)), table)
    return ops.EmbeddingBagDenseGrad(**entries, num_rows=ops.rows(table))


def normalized_back(ops: Any, x: Any, shares: Any) -> Any:
    """The gradient of weights, of that of what they are after they were divided.

    With s = 1 / divisor: s * (g - sum of g * share), times the share itself where squares were added.
    """
    combiner = COMBINERS[x.combiner]
    if not combiner.power:
        return shares
    count = ops.rows(x.weights)
    each = {"ids": ops.range(count), "offsets": x.offsets, "combiner": "sum"}

    def spread(of_bags: Any) -> Any:
        return ops.EmbeddingBagDenseGrad(grad=of_bags, weights=None, num_rows=count, **each)

    squares = combiner.power == 0.5
    added = ops.Mul(x=x.weights, y=x.weights) if squares else x.weights
    total = ops.EmbeddingBag(table=added, weights=None, **each)
    divisor = ops.Sqrt(x=total) if squares else total
    scale = spread(ops.DivNoNan(x=ops.OnesLike(x=divisor), y=divisor))
    share = ops.Mul(x=x.weights, y=scale)
    common = spread(ops.EmbeddingBag(table=ops.Mul(x=shares, y=share), weights=None, **each))
    common = ops.Mul(x=common, y=share) if squares else common
    return ops.Mul(x=scale, y=ops.Sub(x=shares, y=common))


# ------------------------------------------------------------------ EmbeddingBagDenseGrad
GRAD_EXAMPLE = {"grad": [[4.0, 8.0], [9.0, 9.0], [2.0, 1.0]], **BAGS, "weights": [2.0, 1.0, 1.0, 0.5], "num_rows": 5}
GRAD_REJECTS = [
    Reject({"ids": [0, 2, 5, 1]}, r"ids\[2\] == 5 out of range \[0, 5\)"),
    *REJECTS[2:],
    Reject({"num_rows": -1}, r"num_rows == -1 must not be negative"),
    Reject({"grad": [[1.0, 2.0]]}, r"offsets must have shape \[bags\] with bags=1; got \[3\]"),
]


@op(
    "EmbeddingBagDenseGrad",
    inputs=[GRAD, IDS, OFFSETS, WEIGHTS, NUM_ROWS],
    attrs=[COMBINER],
    outputs=[Arg("output", "T", "rows *inner", "The gradient of the table; zeros in rows that no entry picked.")],
    types=TYPES,
    kernel=Kernel(
        "bag_grad", passes=("grad", "ids", "offsets", "weights"), scratch=("n", "n", "n"), settings=("combiner",)
    ),
    linear=["grad"],
    example=Example(GRAD_EXAMPLE, {"output": [[2.0, 4.0], [2.0, 1.0], [1.0, 2.0], [1.0, 2.0], [0.0, 0.0]]}),
    samples=bag_scatters,
    rejects=GRAD_REJECTS,
)
def embedding_bag_dense_grad(
    grad: Any, ids: Any, offsets: Any, weights: Any, num_rows: Any, *, combiner: str = "mean"
) -> Any:
    """The gradient of EmbeddingBag: give every entry's row its share of its bag's gradient.

    output[ids[i]] += grad[b] * weights[i], divided as the combiner says, for the entries i of each bag b
    """
    return scatter_bags(grad, ids, offsets, weights, int(num_rows), COMBINERS[combiner])


@embedding_bag_dense_grad.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return _grad_gradient(ops, x, g.output, x.ids)


def _grad_gradient(ops: Any, x: Any, rows: Any, ids: Any) -> Any:
    """The gradients of a gradient: the look-up itself, in the cotangent's rows, and the dots of both."""
    entries = {"table": rows, "ids": ids, "offsets": x.offsets}
    gradients = {"grad": ops.EmbeddingBag(**entries, weights=x.weights, combiner=x.combiner)}
    if x.weights is not None:
        gradients["weights"] = normalized_back(ops, x, ops.EmbeddingBagWeightsGrad(grad=x.grad, **entries))
    return gradients


# ------------------------------------------------------------------ EmbeddingBagGrad
@op(
    "EmbeddingBagGrad",
    inputs=[GRAD, IDS, OFFSETS, WEIGHTS, NUM_ROWS],
    attrs=[COMBINER],
    outputs=[
        Arg("output", "T", "unique *inner", "The gradient of the picked rows."),
        Arg("sorted_unique_indices", "Tidx", "unique", "Which rows those are, ascending, each once."),
    ],
    types=TYPES,
    kernel=Kernel("bag_grad_compact", scratch=("n", "n", "n", "n", "n", "n"), settings=("combiner",)),
    linear=["grad"],
    example=Example(
        GRAD_EXAMPLE,
        {"output": [[2.0, 4.0], [2.0, 1.0], [1.0, 2.0], [1.0, 2.0]], "sorted_unique_indices": [0, 1, 2, 3]},
    ),
    samples=bag_scatters,
    rejects=GRAD_REJECTS,
)
def embedding_bag_grad(
    grad: Any, ids: Any, offsets: Any, weights: Any, num_rows: Any, *, combiner: str = "mean"
) -> Any:
    """The compact gradient of EmbeddingBag: only the rows that some entry picked, and which rows those are."""
    return scatter_bags_compact(grad, ids, offsets, weights, int(num_rows), COMBINERS[combiner])


@embedding_bag_grad.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return _grad_gradient(ops, x, g.output, ops.positions(x.ids, y.sorted_unique_indices))


# ------------------------------------------------------------------ EmbeddingBagWeightsGrad
@op(
    "EmbeddingBagWeightsGrad",
    inputs=[GRAD, TABLE, IDS, OFFSETS],
    outputs=[Arg("output", "T", "n", "One number for each entry.")],
    types=TYPES,
    kernel=Kernel("bag_dot", scratch=("bags",)),
    example=Example(
        {
            "grad": [[1.0, 2.0], [9.0, 9.0], [3.0, 4.0]],
            "table": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]],
            **BAGS,
        },
        {"output": [5.0, 17.0, 23.0, 25.0]},
    ),
    samples=weight_gradients,
    rejects=[*REJECTS[:2], *REJECTS[3:5], Reject({"grad": [[1.0], [2.0], [3.0]]}, r"table must have shape")],
)
def embedding_bag_weights_grad(grad: Any, table: Any, ids: Any, offsets: Any) -> Any:
    """What the weights of a sum of rows get: the inner product of each entry's row and its bag's gradient.

    output[i] = sum of grad[b] * table[ids[i]] over all columns, for the entries i of each bag b
    """
    return dot_bags(grad, table, ids, offsets)


@embedding_bag_weights_grad.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    entries = {"ids": x.ids, "offsets": x.offsets, "weights": g.output, "combiner": "sum"}
    return {
        "grad": ops.EmbeddingBag(table=x.table, **entries),
        "table": ops.EmbeddingBagDenseGrad(grad=x.grad, num_rows=ops.rows(x.table), **entries),
    }


# ------------------------------------------------------------------ NormalizeBagWeights
@op(
    "NormalizeBagWeights",
    inputs=[Arg("weights", "T", "n", "The weight of each entry, bag after bag."), OFFSETS],
    attrs=[COMBINER],
    outputs=[Arg("output", "T", "n", "The share of each entry.")],
    types={"T": FLOAT, "Toffsets": INDEX},
    kernel=Kernel("bag_normalize", scratch=("bags",), settings=("combiner",)),
    example=Example({"weights": [2.0, 1.0, 1.0, 0.5], "offsets": [0, 3, 3]}, {"output": [0.5, 0.25, 0.25, 1.0]}),
    samples=weighted_bags,
    rejects=[
        Reject({"offsets": [0, 3, 5]}, r"offsets\[2\] == 5 out of range \[0, 5\)"),
        Reject({"offsets": [0, 3, 2]}, r"offsets\[2\] == 2 follows 3"),
        Reject({"offsets": []}, r"weights\[0\] belongs to no bag: offsets are empty"),
    ],
)
def normalize_bag_weights(weights: Any, offsets: Any, *, combiner: str = "mean") -> Any:
    """Divide the weights of each bag by what its combined row is divided by; weights that cancel give zeros."""
    return normalize_bags(weights, offsets, COMBINERS[combiner])


@normalize_bag_weights.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"weights": normalized_back(ops, x, g.output)}
