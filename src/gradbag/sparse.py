"""The functions of `tf.sparse` under their names, each with derivatives to any order, in both modes.

A sparse array is a `gradbag.SparseTensor`, one of TensorFlow, a SciPy sparse array or a sparse tensor of PyTorch, and
what comes back is of the same kind. Derivatives go through the values; places and shapes are fixed.

    >>> import gradbag
    >>> from gradbag import sparse
    >>> one = gradbag.SparseTensor([[0, 1]], [2.0], [2, 2])
    >>> sparse.to_dense(sparse.concat(1, [one, one])).tolist()
    [[0.0, 2.0, 0.0, 2.0], [0.0, 0.0, 0.0, 0.0]]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from . import adapters, errors, raw_ops
from .functions import segment_mean, segment_sqrt_n, segment_sum
from .sparse_tensor import SparseTensor, as_sparse

__all__ = [
    "add",
    "bincount",
    "concat",
    "cross",
    "cross_hashed",
    "expand_dims",
    "fill_empty_rows",
    "from_dense",
    "maximum",
    "minimum",
    "reduce_max",
    "reduce_sum",
    "reorder",
    "reshape",
    "retain",
    "segment_logsumexp",
    "segment_max",
    "segment_mean",
    "segment_softmax",
    "segment_sqrt_n",
    "segment_sum",
    "slice",
    "softmax",
    "sparse_dense_matmul",
    "split",
    "to_dense",
    "transpose",
]


class _Parts(NamedTuple):
    """A sparse array in three parts, and how to make one of its kind."""

    indices: Any
    values: Any
    shape: Any
    made: Callable[[Any, Any, Any], Any]


def _parts(function: str, value: Any) -> _Parts:
    torch = adapters.sparse_of_torch(value)
    if torch is not None:
        indices, values, shape = torch.parts(value)
        return _Parts(indices, values, shape, torch.made)
    tensor = as_sparse(f"sparse.{function}", value)
    kind: Any = type(tensor)
    if isinstance(tensor, SparseTensor) and not isinstance(value, SparseTensor):
        return _Parts(tensor.indices, tensor.values, tensor.dense_shape, lambda *parts: SparseTensor(*parts).to_scipy())
    return _Parts(tensor.indices, tensor.values, tensor.dense_shape, kind)


def _is_sparse(value: Any) -> bool:
    kind = type(value)
    named = kind.__name__ == "SparseTensor" or kind.__module__.startswith("scipy.sparse")
    return named or adapters.sparse_of_torch(value) is not None


def _pair(a: _Parts, b: _Parts) -> dict[str, Any]:
    first = {"a_indices": a.indices, "a_values": a.values, "a_shape": a.shape}
    return {**first, "b_indices": b.indices, "b_values": b.values, "b_shape": b.shape}


# ------------------------------------------------------------------ two of them
def add(a: Any, b: Any, threshold: float = 0) -> Any:
    """The sum of two sparse arrays, or of a sparse and a dense one, which is dense.

    Where both have an entry, the sum is left out if its magnitude is below the threshold.
    """
    if not _is_sparse(a):
        a, b = b, a
    one = _parts("add", a)
    if not _is_sparse(b):
        return raw_ops.SparseTensorDenseAdd(a_indices=one.indices, a_values=one.values, a_shape=one.shape, b=b)
    out = raw_ops.SparseAdd(**_pair(one, _parts("add", b)), thresh=np.float64(threshold))
    return one.made(out.sum_indices, out.sum_values, out.sum_shape)


def maximum(sp_a: Any, sp_b: Any) -> Any:
    """The larger of two sparse arrays, entry by entry; what has no entry is zero."""
    return _chosen("maximum", raw_ops.SparseSparseMaximum, sp_a, sp_b)


def minimum(sp_a: Any, sp_b: Any) -> Any:
    """The smaller of two sparse arrays, entry by entry; what has no entry is zero."""
    return _chosen("minimum", raw_ops.SparseSparseMinimum, sp_a, sp_b)


def _chosen(function: str, op: Any, sp_a: Any, sp_b: Any) -> Any:
    a, b = _parts(function, sp_a), _parts(function, sp_b)
    out = op(**_pair(a, b))
    return a.made(out.output_indices, out.output_values, a.shape)


def sparse_dense_matmul(sp_a: Any, b: Any, adjoint_a: bool = False, adjoint_b: bool = False) -> Any:
    """The product of a sparse matrix and a dense one."""
    a = _parts("sparse_dense_matmul", sp_a)
    parts = {"a_indices": a.indices, "a_values": a.values, "a_shape": a.shape}
    return raw_ops.SparseTensorDenseMatMul(**parts, b=b, adjoint_a=adjoint_a, adjoint_b=adjoint_b)


# ------------------------------------------------------------------ put together, cut apart
def concat(axis: int, sp_inputs: Sequence[Any], expand_nonconcat_dims: bool = False) -> Any:
    """Sparse arrays put together along an axis; if told so, shorter ones are stretched along the others."""
    parts = [_parts("concat", one) for one in sp_inputs]
    if not parts:
        raise errors.unfit("sparse.concat", "sp_inputs", "at least one sparse array", "none")
    if len(parts) == 1:
        return sp_inputs[0]
    shapes = [part.shape for part in parts]
    if expand_nonconcat_dims:
        whole = np.max([np.asarray(shape) for shape in shapes], axis=0)
        along = np.arange(len(whole)) == axis % len(whole)
        shapes = [np.where(along, np.asarray(shape), whole) for shape in shapes]
    given: dict[str, Any] = {"indices": [part.indices for part in parts], "values": [part.values for part in parts]}
    out = raw_ops.SparseConcat(**given, shapes=shapes, concat_dim=axis)
    return parts[0].made(out.output_indices, out.output_values, out.output_shape)


def split(sp_input: Any, num_split: int, axis: int) -> list[Any]:
    """A sparse array cut into pieces of nearly the same length along an axis."""
    whole = _parts("split", sp_input)
    given = {"indices": whole.indices, "values": whole.values, "shape": whole.shape}
    out = raw_ops.SparseSplit(split_dim=axis, **given, num_split=num_split)
    pieces = zip(out.output_indices, out.output_values, out.output_shape, strict=True)
    return [whole.made(*piece) for piece in pieces]


def slice(sp_input: Any, start: Any, size: Any) -> Any:
    """The window of `size` that begins at `start`."""
    whole = _parts("slice", sp_input)
    given = {"indices": whole.indices, "values": whole.values, "shape": whole.shape}
    out = raw_ops.SparseSlice(**given, start=start, size=size)
    return whole.made(out.output_indices, out.output_values, out.output_shape)


def retain(sp_input: Any, to_retain: Any) -> Any:
    """Some of the entries: those for which a truth value says so."""
    whole = _parts("retain", sp_input)
    kept = raw_ops.Reshape(tensor=raw_ops.Where(condition=to_retain), shape=[-1])
    return whole.made(_taken(whole.indices, kept), _taken(whole.values, kept), whole.shape)


def fill_empty_rows(sp_input: Any, default_value: Any) -> tuple[Any, Any]:
    """Give every empty row one entry with the default value; also tells which rows were empty."""
    whole = _parts("fill_empty_rows", sp_input)
    given = {"indices": whole.indices, "values": whole.values, "dense_shape": whole.shape}
    out = raw_ops.SparseFillEmptyRows(**given, default_value=default_value)
    return whole.made(out.output_indices, out.output_values, whole.shape), out.empty_row_indicator


# ------------------------------------------------------------------ order and shape
def reorder(sp_input: Any) -> Any:
    """The entries in row-major order."""
    whole = _parts("reorder", sp_input)
    return _ordered(whole, whole.indices, whole.shape)


def reshape(sp_input: Any, shape: Any) -> Any:
    """The same entries in another shape; one size may be -1, and follows from the others."""
    whole = _parts("reshape", sp_input)
    out = raw_ops.SparseReshape(input_indices=whole.indices, input_shape=whole.shape, new_shape=shape)
    return whole.made(out.output_indices, whole.values, out.output_shape)


def transpose(sp_input: Any, perm: Any = None) -> Any:
    """The axes in another order, or backwards; the entries are in row-major order again."""
    whole = _parts("transpose", sp_input)
    order = np.arange(len(whole.shape))[::-1] if perm is None else np.asarray(perm)
    moved, shape = _taken(whole.indices, order, axis=1), _taken(whole.shape, order)
    return _ordered(whole, moved, shape)


def expand_dims(sp_input: Any, axis: int = -1) -> Any:
    """One more axis, of length 1."""
    whole = _parts("expand_dims", sp_input)
    sizes = [int(size) for size in whole.shape]
    if not -len(sizes) - 1 <= axis <= len(sizes):
        raise errors.invalid(
            "sparse.expand_dims", errors.Fault("range", "axis", (), axis, -len(sizes) - 1, len(sizes) + 1)
        )
    sizes.insert(axis % (len(sizes) + 1), 1)
    return reshape(sp_input, np.array(sizes, np.int64))


def _ordered(whole: _Parts, indices: Any, shape: Any) -> Any:
    out = raw_ops.SparseReorder(input_indices=indices, input_values=whole.values, input_shape=shape)
    return whole.made(out.output_indices, out.output_values, shape)


def _taken(array: Any, places: Any, axis: int = 0) -> Any:
    return raw_ops.GatherV2(params=array, indices=places, axis=axis)


# ------------------------------------------------------------------ reductions
def reduce_sum(sp_input: Any, axis: Any = None, keepdims: bool = False, output_is_sparse: bool = False) -> Any:
    """The sums of the entries along axes, all of them if none is named; dense, or sparse if told so."""
    return _reduced("reduce_sum", "SparseReduceSum", sp_input, axis, keepdims, output_is_sparse)


def reduce_max(sp_input: Any, axis: Any = None, keepdims: bool = False, output_is_sparse: bool = False) -> Any:
    """The largest entries along axes, zero where there is no entry; dense, or sparse if told so."""
    return _reduced("reduce_max", "SparseReduceMax", sp_input, axis, keepdims, output_is_sparse)


def _reduced(function: str, op: str, sp_input: Any, axis: Any, keepdims: bool, output_is_sparse: bool) -> Any:
    whole = _parts(function, sp_input)
    axes = np.arange(len(whole.shape)) if axis is None else np.asarray(axis)
    given = {"input_indices": whole.indices, "input_values": whole.values, "input_shape": whole.shape}
    call = getattr(raw_ops, f"{op}Sparse" if output_is_sparse else op)
    out = call(**given, reduction_axes=axes.astype(np.int32), keep_dims=keepdims)
    return whole.made(*out) if output_is_sparse else out


def softmax(sp_input: Any) -> Any:
    """The softmax of the entries along the last axis; what has no entry does not count."""
    whole = _parts("softmax", sp_input)
    output = raw_ops.SparseSoftmax(sp_indices=whole.indices, sp_values=whole.values, sp_shape=whole.shape)
    return whole.made(whole.indices, output, whole.shape)


def bincount(values: Any, weights: Any = None, size: int = 0, binary_output: bool = False) -> Any:
    """How often each number below `size` occurs in an array or a sparse array, or the sum of its weights; dense.

    Of a matrix, in each row. Without weights, counts are float32.
    """
    given: dict[str, Any] = {"size": size, "weights": np.zeros(0, np.float32) if weights is None else weights}
    if not _is_sparse(values):
        return raw_ops.DenseBincount(input=values, **given, binary_output=binary_output)
    whole = _parts("bincount", values)
    parts = {"indices": whole.indices, "values": whole.values, "dense_shape": whole.shape}
    return raw_ops.SparseBincount(**parts, **given, binary_output=binary_output)


# ------------------------------------------------------------------ crosses
def cross(inputs: Sequence[Any], separator: str = "_X_") -> Any:
    """For each row every choice of one entry from each column, as texts: columns are sparse or dense matrices of texts
    or whole numbers.

    >>> from gradbag import sparse
    >>> sparse.cross([[["a"], ["b"]], [["c"], ["d"]]]).values.tolist()
    ['a_X_c', 'b_X_d']
    """
    columns, made = _columns("cross", inputs)
    return made(*raw_ops.SparseCrossV2(**columns, sep=separator))


def cross_hashed(inputs: Sequence[Any], num_buckets: int = 0, hash_key: int | None = None) -> Any:
    """The same crosses as numbers below `num_buckets`, or of all 63 bits if that is 0."""
    columns, made = _columns("cross_hashed", inputs)
    dtypes = {str(getattr(a, "dtype", "")) for a in (*columns["values"], *columns["dense_inputs"])}
    settings: dict[str, Any] = {"hashed_output": True, "num_buckets": num_buckets, "hash_key": hash_key or _HASH_KEY}
    internal = "int64" if any("int" in name for name in dtypes) else "string"
    return made(*raw_ops.SparseCross(**columns, **settings, out_type="int64", internal_type=internal))


_HASH_KEY = 956888297470  # TensorFlow's


def _columns(function: str, inputs: Sequence[Any]) -> tuple[dict[str, Any], Callable[[Any, Any, Any], Any]]:
    """The columns as an op takes them, and what makes the answer: whole numbers are int64 there."""
    sparse = [_parts(function, one) for one in inputs if _is_sparse(one)]
    dense = [one if hasattr(one, "dtype") else np.array(one) for one in inputs if not _is_sparse(one)]
    given = {
        "indices": [one.indices for one in sparse],
        "values": [_feature(one.values) for one in sparse],
        "shapes": [one.shape for one in sparse],
        "dense_inputs": [_feature(one) for one in dense],
    }
    return given, sparse[0].made if sparse else SparseTensor


def _feature(array: Any) -> Any:
    if isinstance(array, np.ndarray):
        return array.astype(np.int64) if array.dtype.kind in "iu" else array.astype(object)
    return array


# ------------------------------------------------------------------ dense ones
def to_dense(sp_input: Any, default_value: Any = None, validate_indices: bool = True) -> Any:
    """A dense array; what has no entry is zero, or the default."""
    whole = _parts("to_dense", sp_input)
    fill = _zero(whole.values) if default_value is None else default_value
    return raw_ops.SparseToDense(
        sparse_indices=whole.indices,
        output_shape=whole.shape,
        sparse_values=whole.values,
        default_value=fill,
        validate_indices=validate_indices,
    )


def _zero(values: Any) -> Any:
    kind = str(getattr(values.dtype, "name", values.dtype)).removeprefix("torch.")
    return "" if kind in ("string", "object") else False if kind == "bool" else 0


def from_dense(tensor: Any) -> SparseTensor:
    """The entries of an array that are not zero, as a SparseTensor."""
    indices = raw_ops.Where(condition=tensor)
    return SparseTensor(indices, raw_ops.GatherNd(params=tensor, indices=indices), np.array(tensor.shape, np.int64))


# ------------------------------------------------------------------ segments
def segment_softmax(data: Any, segment_ids: Any, num_segments: int) -> Any:
    """For each row its share of its segment, column by column: exp(row) / sum of exp(rows of the segment).

    >>> from gradbag import sparse
    >>> sparse.segment_softmax([1.0, 1.0, 7.0], [0, 0, 1], 2).tolist()
    [0.5, 0.5, 1.0]
    """
    return raw_ops.SegmentSoftmax(data=data, segment_ids=segment_ids, num_segments=num_segments)


def segment_logsumexp(data: Any, segment_ids: Any, num_segments: int) -> Any:
    """The logarithm of the sum of the exponentials of each segment; minus infinity where it has no rows."""
    return raw_ops.SegmentLogSumExp(data=data, segment_ids=segment_ids, num_segments=num_segments)


def segment_max(data: Any, segment_ids: Any, num_segments: int) -> tuple[Any, Any]:
    """The largest of the rows of each segment, column by column, and the rows in which they stand, -1 for none."""
    out = raw_ops.SegmentMaxWithPositions(data=data, segment_ids=segment_ids, num_segments=num_segments)
    return out.output, out.positions


for _name in __all__:
    globals()[_name].autograph_info__ = {}  # TensorFlow shall not rewrite what it finds in a tf.function
