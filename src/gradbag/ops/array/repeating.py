"""Values that stand in the result more than once."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dims import Size
from ...dtypes import ANY, INDEX
from ...errors import Fault
from ...spec import Arg, Example, Reject, op
from .array_samples import stretchings, tilings
from .sizes import held_sizes, possible, unknown_sizes


# ------------------------------------------------------------------ Tile
@op(
    "Tile",
    inputs=[
        Arg("input", "T", "*shape", "Any array."),
        Arg("multiples", "Tmultiples", "rank", "For each axis of the input, how often it is repeated."),
    ],
    outputs=[Arg("output", "T", "*result", "The copies side by side.")],
    types={"T": tuple(name for name in ANY if name != "uint16"), "Tmultiples": INDEX},  # TensorFlow lacks this one
    linear=["input"],
    example=Example({"input": [[1.0, 2.0]], "multiples": [2, 2]}, {"output": [[1.0, 2.0, 1.0, 2.0]] * 2}),
    samples=tilings,
    rejects=[
        Reject({"multiples": [1, -1]}, r"multiples\[1\] == -1 must not be negative"),
        Reject(
            {"multiples": [1]}, r"multiples has shape \[1\], which must have a number for each of the 2 axes of input"
        ),
        Reject(
            {"multiples": np.array([2**61, 2**61])},
            r"multiples == \[2305843009213693952, .* more than any memory holds",
        ),
    ],
)
def tile(input: Any, multiples: Any) -> Any:
    """Copies of an array, as many along each axis as asked for."""
    shape = [n * times for n, times in zip(input.shape, multiples.tolist(), strict=True)]
    if 0 in shape:
        return np.empty(shape, input.dtype)  # NumPy would repeat axis by axis, and make the copies before it drops them
    return np.tile(input, multiples)


@tile.shapes
def _(input: Any, multiples: Any) -> Any:
    count = None if multiples.shape is None else multiples.shape[0]
    if None not in (input.shape, count) and count != len(input.shape):
        hint = f"must have a number for each of the {len(input.shape)} axes of input"
        raise Fault("shape", "multiples", (), multiples.shape, hint=hint)
    if multiples.value is None:
        rank = count if input.shape is None else len(input.shape)
        return [None if rank is None else (None,) * rank]
    times = held_sizes("multiples", multiples.value)
    sizes = [None] * len(times) if input.shape is None else input.shape
    return [possible("multiples", [_times(*pair) for pair in zip(sizes, times, strict=True)], input.dtype)]


def _times(size: Size, times: int) -> Size:
    return None if size is None else size * times


@tile.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    # Every axis becomes two, the copies and what is copied; then the copies are added.
    sizes = ops.Shape(input=x.input, out_type="int64")
    times = ops.Cast(x=x.multiples, DstT="int64")
    split = ops.Reshape(tensor=ops.Pack(values=[times, sizes], axis=1), shape=[-1])
    single = ops.Reshape(tensor=ops.Pack(values=[ops.OnesLike(x=times), sizes], axis=1), shape=[-1])
    added = ops.sum_like(ops.Reshape(tensor=g.output, shape=split), ops.Reshape(tensor=x.input, shape=single))
    return {"input": ops.Reshape(tensor=added, shape=sizes)}


# ------------------------------------------------------------------ BroadcastTo
@op(
    "BroadcastTo",
    inputs=[
        Arg("input", "T", "*before", "Any array."),
        Arg("shape", "Tidx", "rank", "The shape of the result, to which axes of length one are stretched."),
    ],
    outputs=[Arg("output", "T", "*after", "The stretched array.")],
    types={"T": ANY, "Tidx": INDEX},
    linear=["input"],
    example=Example({"input": [[1.0], [2.0]], "shape": [2, 3]}, {"output": [[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]]}),
    samples=stretchings,
    rejects=[
        Reject({"shape": [3, 3]}, r"input has shape \[2, 1\], which cannot be stretched to \[3, 3\]"),
        Reject({"shape": [3]}, r"input has shape \[2, 1\], which cannot be stretched to \[3\]"),
        Reject({"shape": [2, -1]}, r"shape\[1\] == -1 must not be negative"),
        Reject({"shape": np.array([2**62, 2, 2])}, r"shape == \[4611686018427387904, 2, 2\] asks for more than any"),
    ],
)
def broadcast_to(input: Any, shape: Any) -> Any:
    """An array stretched to a shape: the values along an axis of length one are repeated, and axes are put in front."""
    return np.broadcast_to(input, shape).copy()


@broadcast_to.shapes
def _(input: Any, shape: Any) -> Any:
    if shape.value is None:
        return [unknown_sizes(shape.shape)]
    wanted = possible("shape", held_sizes("shape", shape.value), input.dtype)
    sizes = input.shape or ()
    missing = len(wanted) - len(sizes)
    if missing < 0 or any(n not in (1, None, wanted[missing + k]) for k, n in enumerate(sizes)):
        raise Fault("shape", "input", (), sizes, hint=f"cannot be stretched to {list(wanted)}")
    return [wanted]


@broadcast_to.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"input": ops.sum_like(g.output, x.input)}
