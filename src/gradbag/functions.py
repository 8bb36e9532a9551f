"""The friendly functions: the raw ops with arguments by position and tensors in one piece."""

from __future__ import annotations

from typing import Any, Protocol

from . import raw_ops
from .ops.combiners import COMBINERS
from .sparse_tensor import as_sparse
from .spec import titled

__all__ = ["fill_empty_rows", "segment_mean", "segment_sqrt_n", "segment_sum", "slice"]


class Pooling(Protocol):
    def __call__(
        self,
        data: Any,
        indices: Any,
        segment_ids: Any,
        num_segments: Any = None,
        *,
        sparse_gradient: bool = False,
        out: Any = None,
    ) -> Any: ...


def _pooling(combiner: str, example: str) -> Pooling:
    """The function that pools in one way."""
    chosen = COMBINERS[combiner]

    @titled(f"Segment{chosen.title}", f"{chosen.pools.format(rows=ROWS)}\n{ARGUMENTS}\n{example}")
    def pool(
        data: Any,
        indices: Any,
        segment_ids: Any,
        num_segments: Any = None,
        *,
        sparse_gradient: bool = False,
        out: Any = None,
    ) -> Any:
        entries = {"data": data, "indices": indices, "segment_ids": segment_ids}
        settings = {"sparse_gradient": sparse_gradient, "out": out}
        if num_segments is None:
            return getattr(raw_ops, f"SparseSegment{chosen.title}")(**entries, **settings)
        counted = getattr(raw_ops, f"SparseSegment{chosen.title}WithNumSegments")
        return counted(**entries, num_segments=num_segments, **settings)

    return pool


ROWS = "the rows of `data` that share a segment id"
ARGUMENTS = """
`indices` picks a row for each entry, `segment_ids` (sorted) says which output row it goes to. The output has
`num_segments` rows, or as many as the last id asks for. `out` is an array to write it into, exactly of its shape and
dtype.
"""
segment_sum = _pooling(
    "sum",
    """
    >>> import gradbag
    >>> gradbag.segment_sum([[1.0, 2.0], [3.0, 4.0]], [0, 1, 1], [0, 0, 1])
    array([[4., 6.],
           [3., 4.]], dtype=float32)
    """,
)
segment_mean = _pooling(
    "mean",
    """
    >>> import gradbag
    >>> gradbag.segment_mean([[1.0, 2.0], [3.0, 4.0]], [0, 1, 1], [0, 0, 1])
    array([[2., 3.],
           [3., 4.]], dtype=float32)
    """,
)
segment_sqrt_n = _pooling(
    "sqrtn",
    """
    >>> import gradbag
    >>> gradbag.segment_sqrt_n([[1.0], [3.0]], [0, 1, 1, 1], [0, 0, 0, 0])
    array([[5.]], dtype=float32)
    """,
)


def fill_empty_rows(sparse: Any, default_value: Any) -> tuple[Any, Any]:
    """Give every empty row one entry with the default value; also tells which rows were empty.

    `sparse` is a SparseTensor, gradbag's or TensorFlow's, and so is the answer; or a SciPy sparse array.

        >>> import gradbag
        >>> filled, empty = gradbag.fill_empty_rows(gradbag.SparseTensor([[1, 0]], [5.0], [3, 2]), -1.0)
        >>> filled.indices.tolist(), filled.values.tolist(), empty.tolist()
        ([[0, 0], [1, 0], [2, 0]], [-1.0, 5.0, -1.0], [True, False, True])
    """
    tensor = as_sparse("fill_empty_rows", sparse)
    out = raw_ops.SparseFillEmptyRows(
        indices=tensor.indices,
        values=tensor.values,
        dense_shape=tensor.dense_shape,
        default_value=default_value,
    )
    filled = type(tensor)(out.output_indices, out.output_values, tensor.dense_shape)
    return filled, out.empty_row_indicator


def slice(sparse: Any, start: Any, size: Any) -> Any:
    """Cut the window of `size` that begins at `start` out of a sparse tensor.

    `sparse` is a SparseTensor, gradbag's or TensorFlow's, and so is the answer; or a SciPy sparse array. A window that
    reaches past the tensor is cut off there.

        >>> import gradbag
        >>> tensor = gradbag.SparseTensor([[0, 0], [1, 2], [2, 1]], [1.0, 2.0, 3.0], [3, 3])
        >>> gradbag.slice(tensor, [1, 1], [2, 2]).to_dense()
        array([[0., 2.],
               [3., 0.]])
    """
    tensor = as_sparse("slice", sparse)
    out = raw_ops.SparseSlice(
        indices=tensor.indices, values=tensor.values, shape=tensor.dense_shape, start=start, size=size
    )
    return type(tensor)(out.output_indices, out.output_values, out.output_shape)


for _name in __all__:
    globals()[
        _name
    ].autograph_info__ = {}  # as for raw ops: TensorFlow shall not rewrite what it finds in a tf.function
