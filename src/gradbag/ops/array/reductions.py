"""Sums and the like along axes, and the axes along which a gradient is summed."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np

from ...dims import AnyShape
from ...dtypes import FLOAT, INDEX, NUMBER, REAL, name_of
from ...errors import Fault
from ...spec import Arg, Attr, Example, Known, Reject, op
from .broadcasting import common_shape
from .operands import nonzero, signed
from .precision import rounded, wider
from .samples import Rng

TABLE = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


def _tables(rng: Rng) -> Iterator[dict[str, Any]]:
    for shape, axis in [
        ((3, 4), [1]),
        ((3, 4), 0),
        ((2, 3, 4), [-1, 0]),
        ((2, 3, 4), [-2]),
        ((3, 2), [0, 1]),
        ((3, 2), []),
        ((), []),
        ((3, 0), [1]),
        ((0, 3), [1]),
    ]:
        for keep_dims in (False, True):
            yield {"input": nonzero(rng, shape), "axis": np.array(axis, np.int64), "keep_dims": keep_dims}


REDUCTION: dict[str, Any] = {
    "inputs": [
        Arg("input", "T", "*shape", "The array."),
        Arg("axis", "Tidx", "*axes", "The axes to go along; a negative one counts from the end."),
    ],
    "outputs": [Arg("output", "T", "*result", "The input without these axes.")],
    "attrs": [Attr("keep_dims", False, "Whether the axes stay, with the size 1.")],
    "samples": _tables,
    "rejects": [
        Reject({"axis": [0, 2]}, r"axis\[1\] == 2 out of range \[-2, 2\)"),
        Reject({"axis": [0, -2]}, r"axis\[1\] == -2 names an axis that is named before"),
    ],
}


def _example(*output: float) -> Example:
    return Example({"input": TABLE, "axis": [1]}, {"output": list(output)})


def axes_of(axis: Any, rank: int) -> tuple[int, ...]:
    """The axes, counted from the front."""
    found: list[int] = []
    for place, value in np.ndenumerate(axis):
        if not -rank <= value < rank:
            raise Fault("range", "axis", place, int(value), -rank, rank)
        if int(value) % rank in found:
            raise Fault("rule", "axis", place, int(value), hint="names an axis that is named before")
        found.append(int(value) % rank)
    return tuple(found)


def reduced(input: Known, axis: Known, keep_dims: bool) -> list[AnyShape]:
    """The rule about shapes of every reduction."""
    shape = input.shape
    if shape is None:
        return [None]
    if axis.value is not None:
        axes = axes_of(axis.value, len(shape))
        sizes = [1 if place in axes else size for place, size in enumerate(shape)]
        return [tuple(size for place, size in enumerate(sizes) if keep_dims or place not in axes)]
    if keep_dims:
        return [(None,) * len(shape)]
    if axis.shape is None or None in axis.shape:
        return [None]
    left = len(shape) - prod(n for n in axis.shape if n is not None)  # no axis can be named twice
    if left < 0:
        raise Fault("shape", "axis", (), axis.shape, hint=f"is of more axes than the {len(shape)} of input")
    return [(None,) * left]


def _in_order(input: Any) -> Any:
    """NumPy adds in the order of memory; a sum must not depend on how its input happens to lie there."""
    return np.asarray(input, order="C")


# ------------------------------------------------------------------ what the gradient rules share
def _kept_shape(ops: Any, x: Any) -> Any:
    """The shape of the input with 1 in place of the sizes along which it was reduced."""
    shape = ops.Shape(input=x.input, out_type="int64")
    rank = ops.Shape(input=shape, out_type="int64")
    axes = ops.Reshape(tensor=ops.Cast(x=x.axis, DstT="int64"), shape=[-1])
    gone = ops.SparseToDense(
        sparse_indices=ops.FloorMod(x=axes, y=rank),
        output_shape=rank,
        sparse_values=True,
        default_value=False,
        validate_indices=False,  # the axes may stand in any order
    )
    return ops.SelectV2(condition=gone, t=1, e=shape)


def _spread(ops: Any, x: Any, value: Any) -> Any:
    """Something of the output's shape as if the axes had stayed: it can be stretched to the input."""
    return value if x.keep_dims else ops.Reshape(tensor=value, shape=_kept_shape(ops, x))


def _stretched(ops: Any, x: Any, value: Any) -> Any:
    """Something of the output's shape, repeated along the axes."""
    return ops.BroadcastTo(input=_spread(ops, x, value), shape=ops.Shape(input=x.input, out_type="int64"))


def _marked(ops: Any, x: Any, y: Any, g: Any) -> Any:
    """The gradient of an extreme value, shared by the elements that have it."""
    extreme = ops.Equal(x=x.input, y=_spread(ops, x, y.output))
    marks = ops.SelectV2(condition=extreme, t=ops.OnesLike(x=x.input), e=0.0)
    count = ops.Sum(input=marks, axis=x.axis, keep_dims=True)
    return {"input": ops.Mul(x=ops.RealDiv(x=marks, y=count), y=_spread(ops, x, g.output))}


# ------------------------------------------------------------------ Sum
@op("Sum", types={"T": NUMBER, "Tidx": INDEX}, linear=["input"], example=_example(6.0, 15.0), **REDUCTION)
def sum_(input: Any, axis: Any, keep_dims: bool) -> Any:
    """The sums along axes."""
    axes = axes_of(axis, input.ndim)
    return np.sum(_in_order(input), axes, wider(input.dtype), keepdims=keep_dims).astype(input.dtype)


sum_.shapes(reduced)


@sum_.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"input": _stretched(ops, x, g.output)}


# ------------------------------------------------------------------ Mean
# Not declared to be linear: the mean of nothing is NaN, but its derivative is 0.
@op("Mean", types={"T": NUMBER, "Tidx": INDEX}, example=_example(2.0, 5.0), **REDUCTION)
def mean(input: Any, axis: Any, keep_dims: bool) -> Any:
    """The means along axes; of integers, without the fraction, and of none at all 0."""
    axes = axes_of(axis, input.ndim)
    count = prod(input.shape[axis] for axis in axes)
    kind = input.dtype.kind
    wide = np.dtype(f"{kind}8") if kind in "iu" else wider(input.dtype)
    added = np.sum(_in_order(input), axes, wide, keepdims=keep_dims)
    if kind in "iu":
        # Towards zero: // would round the mean of -3 and -4 down.
        return (np.sign(added) * (np.abs(added) // max(count, 1))).astype(input.dtype)
    return np.divide(added, np.asarray(count, added.dtype)).astype(input.dtype)


mean.shapes(reduced)


@mean.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    parts = ops.Size(input=y.output, out_type="int64")
    count = ops.FloorDiv(x=ops.Size(input=x.input, out_type="int64"), y=ops.Maximum(x=parts, y=1))
    some = ops.Maximum(x=count, y=1)  # the mean of nothing is shared among none
    share = ops.RealDiv(x=g.output, y=ops.Cast(x=some, DstT=x.input.dtype))
    return {"input": _stretched(ops, x, share)}


# ------------------------------------------------------------------ Max
@op("Max", types={"T": REAL, "Tidx": INDEX}, example=_example(3.0, 6.0), **REDUCTION)
def max_(input: Any, axis: Any, keep_dims: bool) -> Any:
    """The largest elements along axes, NaN where there is one; of none at all, the smallest number there is."""
    return np.max(input, axes_of(axis, input.ndim), keepdims=keep_dims, initial=_limits(input.dtype)[0])


max_.shapes(reduced)


@max_.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return _marked(ops, x, y, g)


# ------------------------------------------------------------------ Min
@op("Min", types={"T": REAL, "Tidx": INDEX}, example=_example(1.0, 4.0), **REDUCTION)
def min_(input: Any, axis: Any, keep_dims: bool) -> Any:
    """The smallest elements along axes, NaN where there is one; of none at all, the largest number there is."""
    return np.min(input, axes_of(axis, input.ndim), keepdims=keep_dims, initial=_limits(input.dtype)[1])


min_.shapes(reduced)


@min_.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return _marked(ops, x, y, g)


def _limits(dtype: Any) -> tuple[Any, Any]:
    """The smallest and the largest number of a dtype."""
    if name_of(dtype) in FLOAT:
        return -dtype.type(np.inf), dtype.type(np.inf)
    limits = np.iinfo(dtype)
    return limits.min, limits.max


# ------------------------------------------------------------------ Prod
@op("Prod", types={"T": NUMBER, "Tidx": INDEX}, example=_example(6.0, 120.0), **REDUCTION)
def prod_(input: Any, axis: Any, keep_dims: bool) -> Any:
    """The products along axes."""
    axes = axes_of(axis, input.ndim)
    return np.prod(_in_order(input), axes, wider(input.dtype), keepdims=keep_dims).astype(input.dtype)


prod_.shapes(reduced)


@prod_.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    # The derivative is the product of the others. Beside one zero all others get nothing, and it gets theirs;
    # two zeros leave nothing to anyone. Where there is a zero this is no longer exact from the second order on.
    zero = ops.Equal(x=x.input, y=0.0)
    nonzero = ops.SelectV2(condition=zero, t=1.0, e=x.input)
    product = ops.Prod(input=nonzero, axis=x.axis, keep_dims=True)
    zeros = ops.Sum(input=ops.Cast(x=zero, DstT="int64"), axis=x.axis, keep_dims=True)
    alone = ops.Equal(x=zeros, y=ops.Cast(x=zero, DstT="int64"))
    others = ops.SelectV2(condition=alone, t=ops.RealDiv(x=product, y=nonzero), e=0.0)
    return {"input": ops.Mul(x=others, y=_spread(ops, x, g.output))}


# ------------------------------------------------------------------ L2Loss
@op(
    "L2Loss",
    inputs=[Arg("t", "T", "*shape", "The array.")],
    outputs=[Arg("output", "T", "", "Half the sum of its squares.")],
    types={"T": FLOAT},
    example=Example({"t": [[1.0, 2.0], [3.0, 4.0]]}, {"output": 15.0}),
    samples=signed("t"),
)
def l2_loss(t: Any) -> Any:
    """Half the sum of the squares of all elements."""
    return rounded(lambda wide: np.sum(np.square(wide)) / 2, _in_order(t))


@l2_loss.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"t": ops.Mul(x=x.t, y=g.output)}


# ------------------------------------------------------------------ BroadcastGradientArgs
def _shapes(rng: Rng) -> Iterator[dict[str, Any]]:
    for s0, s1 in [([2, 3], [2, 3]), ([2, 1], [2, 1]), ([2, 1], [1, 1]), ([], [2, 3]), ([1], []), ([0, 1], [1])]:
        yield {"s0": np.array(s0, np.int64), "s1": np.array(s1, np.int64)}


@op(
    "BroadcastGradientArgs",
    inputs=[
        Arg("s0", "T", "rank0", "The shape of the first operand."),
        Arg("s1", "T", "rank1", "The shape of the second operand."),
    ],
    outputs=[
        Arg("r0", "T", "axes0", "The axes along which the gradient of the first operand is summed."),
        Arg("r1", "T", "axes1", "The axes along which the gradient of the second operand is summed."),
    ],
    types={"T": INDEX},
    example=Example({"s0": [2, 1, 3], "s1": [4, 1]}, {"r0": [1], "r1": [0, 2]}),
    samples=_shapes,
    rejects=[Reject({"s0": [2], "s1": [3]}, r"s1 has shape \[3\], which cannot be stretched")],
)
def broadcast_gradient_args(s0: Any, s1: Any) -> Any:
    """Along which axes to sum a gradient, to undo that two operands were stretched to each other.

    An axis of size 1 in the result counts for both operands, unless their shapes are the same.
    """
    rank = max(s0.size, s1.size)
    first, second = (np.concatenate([np.ones(rank - s.size, s.dtype), s]) for s in (s0, s1))
    same = np.full(rank, np.array_equal(s0, s1))
    return tuple(np.flatnonzero((own == 1) & ~same).astype(s0.dtype) for own in (first, second))


@broadcast_gradient_args.shapes
def _(s0: Known, s1: Known) -> list[AnyShape]:
    if s0.value is None or s1.value is None:
        return [(None,), (None,)]
    common_shape(("s0", tuple(s0.value.tolist())), ("s1", tuple(s1.value.tolist())))  # refuses what does not fit
    return [axes.shape for axes in broadcast_gradient_args.body(s0.value, s1.value)]
