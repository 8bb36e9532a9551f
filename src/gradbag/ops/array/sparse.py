"""Sparse matrices and arrays, turned into dense ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...dtypes import ANY, COMPLEX, FLOAT, INDEX
from ...errors import Fault
from ...spec import Arg, Attr, Declined, Example, Reject, op
from ..bags import dot_rows
from ..pooling import accumulator, check_indices
from .array_samples import products, scatterings
from .conjugates import conjugate, is_complex
from .sizes import held_sizes, possible, unknown_sizes

BLOCK = 1 << 20  # products that are held at once, beside the result


# ------------------------------------------------------------------ SparseToDense
@op(
    "SparseToDense",
    inputs=[
        Arg("sparse_indices", "Tindices", "*places", "A row of coordinates per value; for one axis, a number will do."),
        Arg("output_shape", "Tindices", "rank", "The shape of the result."),
        Arg("sparse_values", "T", "*count", "The values, or one for all places."),
        Arg("default_value", "T", "", "What stands everywhere else."),
    ],
    outputs=[Arg("dense", "T", "*shape", "The dense array.")],
    attrs=[Attr("validate_indices", True, "Refuse indices that are not in order, or stand twice.")],
    types={"T": ANY, "Tindices": INDEX},
    linear=["sparse_values", "default_value"],
    example=Example(
        {"sparse_indices": [[0, 1], [1, 0]], "output_shape": [2, 2], "sparse_values": [3.0, 4.0], "default_value": 0.5},
        {"dense": [[0.5, 3.0], [4.0, 0.5]]},
    ),
    samples=scatterings,
    rejects=[
        Reject({"sparse_indices": [[0, 1], [1, 2]]}, r"sparse_indices\[1, 1\] == 2 out of range \[0, 2\)"),
        Reject({"sparse_indices": [[0, 1], [-1, 0]]}, r"sparse_indices\[1, 0\] == -1 out of range \[0, 2\)"),
        Reject({"sparse_indices": [[1, 1], [1, 0]]}, r"sparse_indices\[1\] == \[1, 0\] must come before \[1, 1\]"),
        Reject({"sparse_indices": [[0, 1], [0, 1]]}, r"sparse_indices\[1\] == \[0, 1\] stands twice"),
        Reject({"sparse_values": [1.0]}, r"sparse_values has shape \[1\], which must be \[2\], or that of a scalar"),
        Reject({"output_shape": [4]}, r"output_shape has shape \[1\], which must be \[2\]"),
        Reject({"output_shape": [2, -1]}, r"output_shape\[1\] == -1 must not be negative"),
        Reject({"output_shape": np.array([2**62, 2**62])}, r"output_shape == .* asks for more than any memory holds"),
    ],
)
def sparse_to_dense(
    sparse_indices: Any, output_shape: Any, sparse_values: Any, default_value: Any, validate_indices: bool
) -> Any:
    """Values at their places, and a default everywhere else; of several at one place the last stays."""
    # Strings may be of different widths, and keep all their letters.
    dense = np.full(output_shape, default_value, np.result_type(default_value.dtype, sparse_values.dtype))
    rows = _rows(sparse_indices)
    if len(rows):
        # NumPy does not say which of several values stays, so only the last goes in.
        flat = np.ravel_multi_index(tuple(rows.T), dense.shape) if dense.ndim else np.zeros(len(rows), int)
        _, last = np.unique(flat[::-1], return_index=True)
        kept = len(rows) - 1 - last
        dense.reshape(-1)[flat[kept]] = sparse_values[kept] if sparse_values.ndim else sparse_values
    return dense


def _rows(indices: Any) -> Any:
    """A row of coordinates per value."""
    return indices if indices.ndim == 2 else indices.reshape(-1, 1)


@sparse_to_dense.shapes
def _(sparse_indices: Any, output_shape: Any, sparse_values: Any, default_value: Any, validate_indices: bool) -> Any:
    count = _check_counts(sparse_indices, output_shape, sparse_values)
    if output_shape.value is None:
        return [unknown_sizes(output_shape.shape)]
    shape = possible("output_shape", held_sizes("output_shape", output_shape.value), default_value.dtype)
    if sparse_indices.value is not None and count:
        _check_places(sparse_indices.value, shape, validate_indices)
    return [shape]


def _check_counts(sparse_indices: Any, output_shape: Any, sparse_values: Any) -> int | None:
    places = sparse_indices.shape
    if places is None:
        return None
    if len(places) > 2:
        raise Fault("shape", "sparse_indices", (), places, hint="must have at most two axes")
    count, rank = places[0] if places else 1, places[1] if len(places) == 2 else 1
    if output_shape.shape is not None and None not in (output_shape.shape[0], rank) and output_shape.shape[0] != rank:
        raise Fault("shape", "output_shape", (), output_shape.shape, hint=f"must be [{rank}], as the coordinates")
    values = sparse_values.shape
    if (
        values is not None
        and values != ()
        and (len(values) > 1 or (None not in (values[0], count) and values[0] != count))
    ):
        raise Fault("shape", "sparse_values", (), values, hint=f"must be [{count}], or that of a scalar")
    return count


def _check_places(indices: Any, shape: Any, ordered: bool) -> None:
    rows = _rows(indices)
    wrong = (rows < 0) | (rows >= np.array(shape, np.int64))
    if wrong.any():
        row, column = np.argwhere(wrong)[0].tolist()
        raise Fault("range", "sparse_indices", (row, column)[: indices.ndim], int(rows[row, column]), 0, shape[column])
    if not ordered:
        return
    flat = np.ravel_multi_index(tuple(rows.T), shape) if len(shape) else np.zeros(len(rows), int)
    falls = np.flatnonzero(flat[1:] <= flat[:-1])
    if len(falls):
        before, row = int(falls[0]), int(falls[0]) + 1
        twice = flat[row] == flat[before]
        hint = "stands twice" if twice else f"must come before {rows[before].tolist()}, which it follows"
        raise Fault("rule", "sparse_indices", (row,), rows[row].tolist(), hint=hint)


@sparse_to_dense.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    # Which value each place of the result comes from, counted from one; zero where it is the default.
    count = ops.FloorDiv(
        x=ops.Size(input=x.sparse_indices, out_type="int64"),
        y=ops.Maximum(x=ops.Size(input=x.output_shape, out_type="int64"), y=1),
    )
    source = ops.SparseToDense(
        sparse_indices=x.sparse_indices,
        output_shape=x.output_shape,
        sparse_values=ops.Range(start=1, limit=ops.AddV2(x=count, y=1), delta=1),
        default_value=np.int64(0),
        validate_indices=x.validate_indices,
    )
    values = ops.UnsortedSegmentSum(data=g.dense, segment_ids=ops.Sub(x=source, y=1), num_segments=count)
    default = ops.UnsortedSegmentSum(data=g.dense, segment_ids=ops.Neg(x=source), num_segments=1)
    return {
        "sparse_values": ops.sum_like(values, x.sparse_values),
        "default_value": ops.Reshape(tensor=default, shape=ops.Shape(input=x.default_value)),
    }


# ------------------------------------------------------------------ SparseTensorDenseMatMul
@op(
    "SparseTensorDenseMatMul",
    inputs=[
        Arg("a_indices", "Tindices", "nnz 2", "Row and column of each value of the sparse matrix, in any order."),
        Arg("a_values", "T", "nnz", "The values; those at the same place add up."),
        Arg("a_shape", "int64", "2", "The shape of the sparse matrix."),
        Arg("b", "T", "k n", "The dense matrix."),
    ],
    outputs=[Arg("product", "T", "rows columns", "The product.")],
    attrs=[
        Attr("adjoint_a", False, "Take the conjugate transpose of the sparse matrix."),
        Attr("adjoint_b", False, "Take the conjugate transpose of the dense matrix."),
    ],
    types={"T": (*FLOAT, "int32", *COMPLEX), "Tindices": INDEX},
    example=Example(
        {"a_indices": [[0, 1], [1, 0]], "a_values": [2.0, 3.0], "a_shape": [2, 2], "b": [[1.0, 2.0], [3.0, 4.0]]},
        {"product": [[6.0, 8.0], [3.0, 6.0]]},
    ),
    samples=products,
    rejects=[
        Reject({"a_indices": [[0, 1], [2, 0]]}, r"a_indices\[1, 0\] == 2 out of range \[0, 2\)"),
        Reject({"a_indices": [[0, -1], [1, 0]]}, r"a_indices\[0, 1\] == -1 out of range \[0, 2\)"),
        Reject({"b": [[1.0, 2.0]]}, r"b has shape \[1, 2\], which does not go with a_shape: 1 rows, but 2 columns"),
        Reject({"a_shape": [2, -2]}, r"a_shape\[1\] == -2 must not be negative"),
        Reject({"a_shape": [2**62, 2]}, r"a_shape == .* asks for more than any memory holds"),
    ],
)
def sparse_tensor_dense_mat_mul(
    a_indices: Any, a_values: Any, a_shape: Any, b: Any, adjoint_a: bool, adjoint_b: bool
) -> Any:
    """The product of a sparse matrix and a dense one."""
    rows, columns = a_indices.T[::-1] if adjoint_a else a_indices.T
    dense = np.conjugate(b.T) if adjoint_b else b
    values = np.conjugate(a_values) if adjoint_a else a_values
    product = np.zeros((int(a_shape[1 if adjoint_a else 0]), dense.shape[1]), accumulator(b.dtype))
    step = max(BLOCK // max(dense.shape[1], 1), 1)
    for start in range(0, len(values), step):
        part = slice(start, start + step)
        factors = values[part].astype(product.dtype)[:, None]
        np.add.at(product, rows[part], factors * dense[columns[part]].astype(product.dtype))  # in order
    return product.astype(b.dtype)


@sparse_tensor_dense_mat_mul.shapes
def _(a_indices: Any, a_values: Any, a_shape: Any, b: Any, adjoint_a: bool, adjoint_b: bool) -> Any:
    inner, columns = (None, None) if b.shape is None else b.shape[:: -1 if adjoint_b else 1]
    if a_shape.value is None:
        return [(None, columns)]
    sizes = held_sizes("a_shape", a_shape.value)
    rows, shared = sizes[:: -1 if adjoint_a else 1]
    if inner is not None and inner != shared:
        hint = f"does not go with a_shape: {inner} rows, but {shared} columns"
        raise Fault("shape", "b", (), b.shape, hint=hint)
    shape = possible("a_shape", (rows, columns), b.dtype)
    if a_indices.value is not None:
        wrong = (a_indices.value < 0) | (a_indices.value >= np.array(sizes, np.int64))
        if wrong.any():
            row, column = np.argwhere(wrong)[0].tolist()
            raise Fault("range", "a_indices", (row, column), int(a_indices.value[row, column]), 0, sizes[column])
    return [shape]


@sparse_tensor_dense_mat_mul.compiled
def _(calls: Any, a_indices: Any, a_values: Any, a_shape: Any, b: Any, adjoint_a: bool, adjoint_b: bool) -> Any:
    if a_shape.shape != (2,) or b.ndim != 2 or a_values.ndim != 1 or a_indices.shape != (len(a_values), 2):
        raise Declined
    dense = b.T if adjoint_b else b
    first, second = int(adjoint_a), int(not adjoint_a)
    count, inner = int(a_shape[first]), int(a_shape[second])
    if inner != len(dense) or not len(a_values):
        raise Declined
    product = calls.empty((count, dense.shape[1]), "T")
    # The rows of the product, and those of the dense matrix.
    to, of = (np.ascontiguousarray(a_indices[:, place]) for place in (first, second))
    if not _ascends(to) and _ascends(of):
        # The entries of a row of the dense matrix are a bag, whose gradient that row is.
        entries = [dense, to, _begins(of, inner), a_values, product]
        calls.fill("bag_grad__{T}_{Tindices}_int64", entries, ("sum",))
        return product
    if not _ascends(to):
        order = np.argsort(to, kind="stable")
        to, of, a_values = to[order], of[order], a_values[order]
    # The entries of a row of the product are a bag, of rows of the dense matrix.
    calls.fill("bag_reduce__{T}_{Tindices}_int64", [dense, of, _begins(to, count), a_values, product], ("sum",))
    return product


def _ascends(numbers: Any) -> bool:
    return not (numbers[1:] < numbers[:-1]).any()


def _begins(ordered: Any, count: int) -> Any:
    """Where the entries of each number begin, of numbers in order."""
    if ordered[0] < 0 or ordered[-1] >= count:
        raise Declined
    begins = np.zeros(count, np.int64)
    np.cumsum(np.bincount(ordered, minlength=count)[:-1], out=begins[1:])
    return begins


@sparse_tensor_dense_mat_mul.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    pulled = ops.SparseTensorDenseMatMul(
        a_indices=x.a_indices,
        a_values=x.a_values,
        a_shape=x.a_shape,
        b=conjugate(ops, g.product),
        adjoint_a=not x.adjoint_a,
    )
    dense = ops.Transpose(x=conjugate(ops, x.b), perm=[1, 0]) if x.adjoint_b else x.b
    first, second = (ops.GatherV2(params=x.a_indices, indices=column, axis=1) for column in (0, 1))
    rows, columns = (second, first) if x.adjoint_a else (first, second)
    if is_complex(g.product):
        picked = (ops.GatherV2(params=p, indices=i, axis=0) for p, i in ((g.product, rows), (dense, columns)))
        values = ops.Sum(input=ops.Mul(**dict(zip("xy", picked, strict=True))), axis=1)
    else:
        values = ops.SparseDenseDots(x=g.product, x_rows=rows, y=dense, y_rows=columns)
    return {
        "a_values": conjugate(ops, values) if x.adjoint_a else values,
        "b": ops.Transpose(x=pulled, perm=[1, 0]) if x.adjoint_b else conjugate(ops, pulled),
    }


# ------------------------------------------------------------------ SparseDenseDots
def _dots(rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    for rows, others, columns, count in [(3, 4, 5, 7), (2, 1, 40, 3), (1, 3, 0, 2), (4, 2, 1, 0), (0, 0, 3, 0)]:
        x, y = rng.uniform(0.5, 2.0, (rows, columns)), rng.uniform(0.5, 2.0, (others, columns))
        picks = [rng.integers(0, max(limit, 1), count) for limit in (rows, others)]
        for x_rows in (picks[0], np.sort(picks[0])):
            yield {"x": x, "x_rows": x_rows, "y": y, "y_rows": picks[1]}


@op(
    "SparseDenseDots",
    inputs=[
        Arg("x", "T", "rows n", "A dense matrix."),
        Arg("x_rows", "Tindices", "nnz", "For each product, its row of x."),
        Arg("y", "T", "others n", "Another, with rows of the same length."),
        Arg("y_rows", "Tindices", "nnz", "For each product, its row of y."),
    ],
    outputs=[Arg("dots", "T", "nnz", "The inner products.")],
    types={"T": FLOAT, "Tindices": INDEX},
    example=Example(
        {"x": [[1.0, 2.0], [3.0, 4.0]], "x_rows": [0, 1, 1], "y": [[5.0, 6.0]], "y_rows": [0, 0, 0]},
        {"dots": [17.0, 39.0, 39.0]},
    ),
    samples=_dots,
    rejects=[
        Reject({"x_rows": [0, 2, 1]}, r"x_rows\[1\] == 2 out of range \[0, 2\)"),
        Reject({"y_rows": [0, 0, -1]}, r"y_rows\[2\] == -1 out of range \[0, 1\)"),
    ],
)
def sparse_dense_dots(x: Any, x_rows: Any, y: Any, y_rows: Any) -> Any:
    """Inner products of pairs of rows: what the values of a sparse matrix get from its product with a dense one."""
    return dot_rows(x[x_rows], y[y_rows])


@sparse_dense_dots.check
def _(x: Any, x_rows: Any, y: Any, y_rows: Any) -> None:
    check_indices("x_rows", x_rows, len(x))
    check_indices("y_rows", y_rows, len(y))


@sparse_dense_dots.compiled
def _(calls: Any, x: Any, x_rows: Any, y: Any, y_rows: Any) -> Any:
    if x.ndim != 2 or y.ndim != 2 or x_rows.ndim != 1 or x_rows.shape != y_rows.shape or x.shape[1] != y.shape[1]:
        raise Declined
    if not len(x_rows):
        raise Declined
    if not _ascends(x_rows) and _ascends(y_rows):
        x, x_rows, y, y_rows = y, y_rows, x, x_rows
    dots, order = calls.empty(x_rows.shape, "T"), None
    if not _ascends(x_rows):
        order = np.argsort(x_rows, kind="stable")
        x_rows, y_rows = x_rows[order], y_rows[order]
    # The products with a row of x are a bag, whose gradient that row is.
    calls.fill("bag_dot__{T}_{Tindices}_int64", [x, y, y_rows, _begins(x_rows, len(x)), dots])
    if order is not None:
        dots[order] = dots.copy()
    return dots


@sparse_dense_dots.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    sizes = [ops.Slice(input=ops.Shape(input=v, out_type="int64"), begin=[0], size=[1]) for v in (x.x, x.y)]
    entries = {
        "a_indices": ops.Pack(values=[x.x_rows, x.y_rows], axis=1),
        "a_values": g.dots,
        "a_shape": ops.ConcatV2(values=sizes, axis=0),
    }
    return {
        "x": ops.SparseTensorDenseMatMul(**entries, b=x.y),
        "y": ops.SparseTensorDenseMatMul(**entries, b=x.x, adjoint_a=True),
    }
