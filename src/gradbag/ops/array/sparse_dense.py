"""A sparse array and a dense one, entry by entry."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...dtypes import FLOAT, INDEX, NUMBER, REAL
from ...errors import Fault
from ...spec import Arg, Example, Reject, op, titled
from ..samples import values
from .precision import rounded, wider
from .sizes import held_sizes
from .sparse_places import check_within
from .sparse_samples import SHAPES, sparse


def _beside(rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    for shape, count in SHAPES:
        indices, entries, sizes = sparse(rng, shape, count)
        columns = tuple(1 if k and n else n for k, n in enumerate(shape))  # TensorFlow stretches nothing to none
        for dense in dict.fromkeys([shape, shape[1:], (), columns]):
            given = {"sp_indices": indices, "sp_values": entries, "sp_shape": sizes}
            yield {**given, "dense": np.abs(values(rng, *dense)) + 0.5}


def _added(rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    for shape, count in SHAPES:
        indices, _, sizes = sparse(rng, shape, count)
        twice = np.concatenate([indices, indices[:1]])
        given = {"a_indices": twice, "a_values": values(rng, len(twice)), "a_shape": sizes}
        yield {**given, "b": values(rng, *shape)}


def _in_dense(indices: Any, shape: tuple[int, ...]) -> Any:
    """The places in an array that is stretched along axes of length 1 and in front."""
    tail = indices[:, indices.shape[1] - len(shape) :]
    return np.minimum(tail, np.array(shape, np.int64) - 1)


def _quotient(x: Any, y: Any) -> Any:
    if x.dtype.kind in "iu":
        return (np.sign(x) * (np.abs(x) // np.abs(y)) * np.sign(y)).astype(x.dtype) if x.dtype.kind == "i" else x // y
    return rounded(np.divide, x, y)


KINDS: dict[str, tuple[Callable[[Any, Any], Any], list[float], str]] = {
    "Add": (lambda x, y: rounded(np.add, x, y), [4.0, 9.0], "The sum of each entry of a sparse array and a dense one."),
    "Mul": (lambda x, y: rounded(np.multiply, x, y), [4.0, 18.0], "The product of each entry and a dense array."),
    "Div": (_quotient, [1.0, 0.5], "The quotient of each entry and a dense array; integers towards zero."),
}


# ------------------------------------------------------------------ SparseDenseCwiseAdd, -Mul, -Div
def _cwise(kind: str) -> Any:
    body, example, doc = KINDS[kind]
    name = f"SparseDenseCwise{kind}"

    @op(
        name,
        inputs=[
            Arg("sp_indices", "int64", "nnz rank", "The places of the entries."),
            Arg("sp_values", "T", "nnz", "Their values."),
            Arg("sp_shape", "int64", "rank", "The shape of the sparse array."),
            Arg("dense", "T", "*dense", "The dense array, which is stretched to that shape."),
        ],
        outputs=[Arg("output", "T", "nnz", "The new values of the entries.")],
        types={"T": REAL},
        linear=["sp_values", "dense"] if kind == "Add" else [],
        example=Example(
            {
                "sp_indices": [[0, 1], [1, 2]],
                "sp_values": [2.0, 3.0],
                "sp_shape": [2, 3],
                "dense": [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]],
            },
            {"output": example},
        ),
        samples=_beside,
        rejects=[
            Reject({"sp_indices": [[0, 1], [2, 2]]}, r"sp_indices\[1, 0\] == 2 out of range \[0, 2\)"),
            Reject(
                {"dense": [[1.0, 2.0], [3.0, 4.0]]}, r"dense has shape \[2, 2\], which cannot be stretched to \[2, 3\]"
            ),
            Reject({"dense": [[[1.0]]]}, r"dense has shape \[1, 1, 1\], which cannot be stretched to \[2, 3\]"),
        ],
    )
    @titled(name, doc)
    def cwise(sp_indices: Any, sp_values: Any, sp_shape: Any, dense: Any) -> Any:
        return body(sp_values, dense[tuple(_in_dense(sp_indices, dense.shape).T)])

    @cwise.shapes
    def _(sp_indices: Any, sp_values: Any, sp_shape: Any, dense: Any) -> Any:
        if sp_shape.value is not None:
            sizes = held_sizes("sp_shape", sp_shape.value)
            if sp_indices.value is not None:
                check_within("sp_indices", sp_indices.value, sizes)
            if dense.shape is not None:
                tail = sizes[len(sizes) - len(dense.shape) :] if len(dense.shape) <= len(sizes) else None
                if tail is None or any(n not in (None, 1, m) for n, m in zip(dense.shape, tail, strict=True)):
                    raise Fault("shape", "dense", (), dense.shape, hint=f"cannot be stretched to {sizes}")
        by_zero = kind == "Div" and dense.dtype not in FLOAT and dense.value is not None and not dense.value.all()
        if by_zero:
            raise Fault("rule", "dense", (), 0, hint="is in it, and no integer can be divided by zero")
        return [(None,) if sp_values.shape is None else sp_values.shape]

    @cwise.gradient
    def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
        shape = ops.Shape(input=x.dense, out_type="int64")
        axes = ops.Reshape(tensor=ops.Size(input=shape, out_type="int64"), shape=[1])
        rank = ops.Reshape(tensor=ops.Size(input=x.sp_shape, out_type="int64"), shape=[1])
        begin = ops.ConcatV2(values=[ops.ZerosLike(x=axes), ops.Sub(x=rank, y=axes)], axis=0)
        tail = ops.Slice(input=x.sp_indices, begin=begin, size=np.array([-1, -1], np.int64))
        places = ops.Minimum(x=tail, y=ops.Sub(x=shape, y=np.int64(1)))

        def put(moved: Any) -> Any:
            return ops.ScatterNd(indices=places, updates=moved, shape=shape)

        if kind == "Add":
            return {"sp_values": g.output, "dense": put(g.output)}
        beside = ops.GatherNd(params=x.dense, indices=places)
        if kind == "Mul":
            return {"sp_values": ops.Mul(x=g.output, y=beside), "dense": put(ops.Mul(x=g.output, y=x.sp_values))}
        quotient = ops.RealDiv(x=g.output, y=beside)
        share = ops.RealDiv(x=ops.Mul(x=quotient, y=x.sp_values), y=beside)
        return {"sp_values": quotient, "dense": put(ops.Neg(x=share))}

    return cwise


for _kind in KINDS:
    _cwise(_kind)


# ------------------------------------------------------------------ SparseTensorDenseAdd
@op(
    "SparseTensorDenseAdd",
    inputs=[
        Arg("a_indices", "Tindices", "nnz rank", "The places of the entries, in any order."),
        Arg("a_values", "T", "nnz", "Their values; those at one place add up."),
        Arg("a_shape", "Tindices", "rank", "The shape of the sparse array, which is that of the dense one."),
        Arg("b", "T", "*shape", "The dense array."),
    ],
    outputs=[Arg("output", "T", "*shape", "The sum, which is dense.")],
    types={"T": NUMBER, "Tindices": INDEX},
    linear=["a_values", "b"],
    example=Example(
        {"a_indices": [[0, 1], [1, 0]], "a_values": [2.0, 3.0], "a_shape": [2, 2], "b": [[1.0, 1.0], [1.0, 1.0]]},
        {"output": [[1.0, 3.0], [4.0, 1.0]]},
    ),
    samples=_added,
    rejects=[
        Reject({"a_indices": [[0, 1], [2, 0]]}, r"a_indices\[1, 0\] == 2 out of range \[0, 2\)"),
        Reject({"a_shape": [2, 3]}, r"b has shape \[2, 2\], which must be that of a, \[2, 3\]"),
    ],
)
def sparse_tensor_dense_add(a_indices: Any, a_values: Any, a_shape: Any, b: Any) -> Any:
    """The sum of a sparse array and a dense one."""
    total = b.astype(wider(b.dtype))
    np.add.at(total, tuple(a_indices.T), a_values.astype(total.dtype))
    return total.astype(b.dtype)


@sparse_tensor_dense_add.shapes
def _(a_indices: Any, a_values: Any, a_shape: Any, b: Any) -> Any:
    if a_shape.value is None:
        return [b.shape]
    sizes = held_sizes("a_shape", a_shape.value)
    if b.shape is not None and (
        len(b.shape) != len(sizes) or any(n not in (None, m) for n, m in zip(b.shape, sizes, strict=True))
    ):
        raise Fault("shape", "b", (), b.shape, hint=f"must be that of a, {sizes}")
    if a_indices.value is not None:
        check_within("a_indices", a_indices.value, sizes)
    return [tuple(sizes)]


@sparse_tensor_dense_add.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"a_values": ops.GatherNd(params=g.output, indices=x.a_indices), "b": g.output}
