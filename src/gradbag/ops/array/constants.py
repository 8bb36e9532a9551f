"""Arrays that are made from sizes and single values."""

from __future__ import annotations

from math import ceil, isfinite
from typing import Any

import numpy as np

from ...dtypes import ANY, INDEX, NUMBER
from ...errors import Fault
from ...spec import REQUIRED, Arg, Attr, Example, Reject, op
from .array_samples import arrays, constants, fills, ranges
from .sizes import held_sizes, possible, unknown_sizes

RANGES = ("int32", "int64", "float16", "bfloat16", "float32", "float64")
START = Arg("start", "Tidx", "*one", "The first number.")
LIMIT = Arg("limit", "Tidx", "*_", "Where to stop; not a number of the result itself.")
DELTA = Arg("delta", "Tidx", "*_", "The step, which may be negative.")


def zeros(shape: Any, like: Any) -> Any:
    """Zeros of the dtype of an array; among strings, empty ones of the kind that it holds."""
    if like.dtype == object:
        return np.full(shape, b"" if like.size and isinstance(like.flat[0], bytes) else "", object)
    return np.zeros(shape, like.dtype)


# ------------------------------------------------------------------ Const
@op(
    "Const",
    inputs=[],
    outputs=[Arg("output", "dtype", "*shape", "The value.")],
    attrs=[
        Attr("value", REQUIRED, "An array of `dtype`, or Python numbers that fit it.", "tensor"),
        Attr("dtype", REQUIRED, "The dtype of the output.", "type"),
    ],
    types={"dtype": ANY},
    example=Example({"value": [1.0, 2.5], "dtype": "float32"}, {"output": [1.0, 2.5]}),
    samples=constants,
    rejects=[Reject({"value": [1, 300], "dtype": "int8"}, r"value\[1\] == 300 does not fit int8")],
)
def const(value: Any, dtype: Any) -> Any:
    """A value that is part of the graph."""
    return value.copy()


@const.shapes
def _(value: Any, dtype: Any) -> Any:
    return [value.shape]


@const.values
def _(value: Any, dtype: Any) -> Any:
    return [value]


# ------------------------------------------------------------------ Fill
@op(
    "Fill",
    inputs=[
        Arg("dims", "index_type", "*rank", "The shape of the result; a single number for one axis."),
        Arg("value", "T", "", "What stands everywhere."),
    ],
    outputs=[Arg("output", "T", "*shape", "The filled array.")],
    types={"T": ANY, "index_type": INDEX},
    linear=["value"],
    example=Example({"dims": [2, 3], "value": 1.5}, {"output": [[1.5, 1.5, 1.5], [1.5, 1.5, 1.5]]}),
    samples=fills,
    rejects=[
        Reject({"dims": [2, -1]}, r"dims\[1\] == -1 must not be negative"),
        Reject({"dims": np.array([2**40, 2**40, 0])}, r"dims == \[1099511627776, .*asks for more than any memory"),
        Reject({"dims": [[1]]}, r"dims has shape \[1, 1\], which must have one axis"),
    ],
)
def fill(dims: Any, value: Any) -> Any:
    """An array that has the same value everywhere."""
    return np.full(dims, value, value.dtype)


@fill.shapes
def _(dims: Any, value: Any) -> Any:
    if dims.shape is not None and len(dims.shape) > 1:
        raise Fault("shape", "dims", (), dims.shape, hint="must have one axis")
    if dims.value is None:
        return [(None,) if dims.shape == () else unknown_sizes(dims.shape)]
    return [possible("dims", held_sizes("dims", dims.value.reshape(-1)), value.dtype)]


@fill.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"value": ops.sum_like(g.output, x.value)}


# ------------------------------------------------------------------ ZerosLike
@op(
    "ZerosLike",
    inputs=[Arg("x", "T", "*shape", "Only its shape and dtype matter.")],
    outputs=[Arg("y", "T", "*shape", "Zeros; among strings, empty ones.")],
    types={"T": ANY},
    no_grad=["x"],
    example=Example({"x": [1.5, 2.0]}, {"y": [0.0, 0.0]}),
    samples=arrays("x"),
)
def zeros_like(x: Any) -> Any:
    """Zeros in the shape and dtype of an array."""
    return zeros(x.shape, x)


@zeros_like.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {}


# ------------------------------------------------------------------ OnesLike
@op(
    "OnesLike",
    inputs=[Arg("x", "T", "*shape", "Only its shape and dtype matter.")],
    outputs=[Arg("y", "T", "*shape", "Ones.")],
    types={"T": (*NUMBER, "bool")},
    no_grad=["x"],
    example=Example({"x": [1.5, 2.0]}, {"y": [1.0, 1.0]}),
    samples=arrays("x"),
)
def ones_like(x: Any) -> Any:
    """Ones in the shape and dtype of an array."""
    return np.ones(x.shape, x.dtype)


@ones_like.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {}


# ------------------------------------------------------------------ Range
@op(
    "Range",
    inputs=[START, LIMIT, DELTA],
    outputs=[Arg("output", "Tidx", "count", "The numbers, each computed from the first.")],
    types={"Tidx": RANGES},
    no_grad=["start", "limit", "delta"],
    example=Example({"start": 3, "limit": 18, "delta": 3}, {"output": [3, 6, 9, 12, 15]}),
    samples=ranges,
    rejects=[
        Reject({"delta": 0}, r"delta == 0 must not be zero"),
        Reject({"limit": 0}, r"limit == 0 is never reached from start == 3 in steps of 3"),
        Reject(
            {"start": 0.0, "limit": 1e30, "delta": 1e-8}, r"limit == \[[0-9]+\] asks for more than any memory holds"
        ),
        Reject({"start": [1, 2]}, r"start has shape \[2\], which must be that of a scalar"),
    ],
)
def range_(start: Any, limit: Any, delta: Any) -> Any:
    """Numbers from a first one in equal steps."""
    first, step = start.reshape(()), delta.reshape(())
    (count,) = _count(first, limit.reshape(()), step)
    # As TensorFlow rounds: the place, its product with the step, and the sum, each in the dtype itself.
    return np.asarray(np.arange(count).astype(start.dtype) * step + first).astype(start.dtype, copy=False)


@range_.shapes
def _(start: Any, limit: Any, delta: Any) -> Any:
    for name, known in (("start", start), ("limit", limit), ("delta", delta)):
        sizes = known.shape or ()
        if None not in sizes and np.prod(sizes, dtype=object) != 1:
            raise Fault("shape", name, (), sizes, hint="must be that of a scalar")
    if any(known.value is None for known in (start, limit, delta)):
        return [(None,)]
    first, end, step = (known.value.reshape(()) for known in (start, limit, delta))
    return [possible("limit", _count(first, end, step), start.dtype)]


def _count(start: Any, limit: Any, delta: Any) -> tuple[int]:
    if delta == 0:
        raise Fault("rule", "delta", (), delta, hint="must not be zero")
    if (limit < start) if delta > 0 else (limit > start):
        raise Fault("rule", "limit", (), limit, hint=f"is never reached from start == {start} in steps of {delta}")
    if start.dtype.kind in "iu":
        return (-((int(start) - int(limit)) // int(delta)),)
    with np.errstate(all="ignore"):
        steps = float(abs((limit - start) / delta))
    if not isfinite(steps):
        raise Fault("rule", "limit", (), limit, hint=f"is not a finite number of steps of {delta} from {start}")
    return (ceil(steps),)


@range_.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {}
