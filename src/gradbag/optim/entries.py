"""The gradient that a step is given, in whatever form, as the inputs of an op."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from .. import errors
from ..row_grad import RowGrad

if TYPE_CHECKING:
    from .optimizer import Optimizer


class Entries(NamedTuple):
    """Which op makes the step, what it takes beside the table, the states and the numbers, and which rows it names."""

    op: str
    inputs: dict[str, Any]
    attrs: dict[str, Any]
    rows: Any


def of_rows(optimizer: Optimizer, row_grad: Any) -> Entries:
    indices, rows = parts(type(optimizer).__name__, row_grad)
    return Entries(optimizer.rule.row_op, {"indices": indices, "grad": rows}, optimizer.attrs, indices)


def of_bags(optimizer: Optimizer, bags: Any, grad: Any, combiner: str) -> Entries:
    inputs = _inputs(optimizer, bags, grad)
    return Entries(optimizer.rule.bag_op, inputs, {"combiner": combiner, **optimizer.attrs}, inputs["ids"])


def of_features(optimizer: Optimizer, bags: Any, grad: Any, combiner: str, feature_tables: tuple[int, ...]) -> Entries:
    inputs = _inputs(optimizer, bags, grad)
    attrs = {"combiner": combiner, **optimizer.attrs, "feature_tables": feature_tables}
    return Entries(optimizer.rule.grouped_op, inputs, attrs, inputs["ids"])


def _inputs(optimizer: Optimizer, bags: Any, grad: Any) -> dict[str, Any]:
    if isinstance(bags, tuple):
        ids, offsets, weights = (*bags, None)[:3] if len(bags) in (2, 3) else (None, None, None)
    else:
        ids, offsets, weights = (getattr(bags, name, None) for name in ("ids", "offsets", "weights"))
    if ids is None or offsets is None:
        wanted = "something with ids, offsets and perhaps weights, or a tuple of them"
        raise errors.wrong_type(type(optimizer).__name__, "bags", [wanted], type(bags).__name__)
    return {"grad": grad, "ids": ids, "offsets": offsets, "weights": weights}


def parts(function: str, row_grad: Any) -> tuple[Any, Any]:
    """The indices and the rows of a gradient that is zero elsewhere; indices may repeat."""
    if isinstance(row_grad, RowGrad):
        count = row_grad.count
        return (
            (row_grad.indices, row_grad.rows)
            if count is None
            else (row_grad.indices[: int(count)], row_grad.rows[: int(count)])
        )
    if isinstance(row_grad, tuple) and len(row_grad) == 2:
        return row_grad[0], row_grad[1]
    if getattr(row_grad, "is_sparse", False):  # PyTorch's, not necessarily coalesced: a step adds up anyway
        if row_grad.sparse_dim() != 1:
            raise errors.unfit(function, "row_grad", "sparse in its rows only", f"{row_grad.sparse_dim()} sparse axes")
        return row_grad._indices()[0], row_grad._values()
    if hasattr(row_grad, "indices") and hasattr(row_grad, "values"):  # tf.IndexedSlices
        return row_grad.indices, row_grad.values
    wanted = "a RowGrad, a sparse tensor, IndexedSlices, or a pair of indices and rows"
    raise errors.wrong_type(function, "row_grad", [wanted], type(row_grad).__name__)
