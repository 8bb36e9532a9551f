"""Windows of an array, and the opposite: an array with something around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...dims import AnyShape, Size
from ...dtypes import ANY, INDEX
from ...errors import Fault
from ...spec import Arg, Attr, Example, Known, Reject, op
from .array_samples import paddings, slices, strided_gradients, strided_slices
from .constants import zeros
from .sizes import agreed, held_sizes, possible, unknown_sizes

INPUT = Arg("input", "T", "*shape", "Any array.")
OUTPUT = Arg("output", "T", "*result", "The values inside.")
BEGIN = Arg("begin", "Index", "count", "Per axis, the first place; from the end if negative.")
END = Arg("end", "Index", "count", "Per axis, the place to stop at, itself outside; from the end if negative.")
STRIDES = Arg("strides", "Index", "count", "Per axis, the step; backwards if negative.")
MASKS = [
    Attr("begin_mask", 0, "Bits of the entries whose begin does not matter: from the first place on.", "int"),
    Attr("end_mask", 0, "Bits of the entries whose end does not matter: to the last place.", "int"),
    Attr("ellipsis_mask", 0, "The bit of the entry that stands for all axes that the others leave.", "int"),
    Attr("new_axis_mask", 0, "Bits of the entries that put a new axis of length one.", "int"),
    Attr("shrink_axis_mask", 0, "Bits of the entries that pick one place, so that the axis goes.", "int"),
]


# ------------------------------------------------------------------ Slice
@op(
    "Slice",
    inputs=[
        INPUT,
        Arg("begin", "Index", "rank", "Per axis, the first place."),
        Arg("size", "Index", "rank", "Per axis, how many places; -1 for all that are left."),
    ],
    outputs=[OUTPUT],
    types={"T": ANY, "Index": INDEX},
    linear=["input"],
    example=Example(
        {"input": [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], "begin": [0, 1], "size": [-1, 1]}, {"output": [[2.0], [5.0]]}
    ),
    samples=slices,
    rejects=[
        Reject({"begin": [0, 4]}, r"begin\[1\] == 4 out of range \[0, 4\)"),
        Reject({"begin": [-1, 0]}, r"begin\[0\] == -1 out of range \[0, 3\)"),
        Reject({"size": [1, 3]}, r"size\[1\] == 3 out of range \[-1, 3\)"),
        Reject({"begin": [0], "size": [1]}, r"begin has shape \[1\], which must have a number for each of the 2 axes"),
    ],
)
def slice_(input: Any, begin: Any, size: Any) -> Any:
    """A window of an array."""
    window = zip(begin.tolist(), size.tolist(), strict=True)
    return np.array(input[tuple(slice(b, None if n == -1 else b + n) for b, n in window)], input.dtype)


@slice_.shapes
def _(input: Any, begin: Any, size: Any) -> Any:
    count = next((known.shape[0] for known in (begin, size) if known.shape and known.shape[0] is not None), None)
    if input.shape is not None and count not in (None, len(input.shape)):
        hint = f"must have a number for each of the {len(input.shape)} axes of input"
        raise Fault("shape", "begin", (), begin.shape or (count,), hint=hint)
    if input.shape is None and count is None:
        return [None]
    axes: Sequence[Size] = (None,) * (count or 0) if input.shape is None else input.shape
    firsts = [None] * len(axes) if begin.value is None else begin.value.tolist()
    lengths = [None] * len(axes) if size.value is None else size.value.tolist()
    result: list[Size] = []
    for place, (length, first, wanted) in enumerate(zip(axes, firsts, lengths, strict=True)):
        if length is not None and first is not None and not 0 <= first <= length:
            raise Fault("range", "begin", (place,), first, 0, length + 1)
        room = None if length is None or first is None else length - first
        if wanted is not None and (wanted < -1 or (room is not None and wanted > room)):
            raise Fault("range", "size", (place,), wanted, -1, (length or 0) + 1 if room is None else room + 1)
        result.append(room if wanted == -1 else wanted)
    return [tuple(result)]


@slice_.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    begin = ops.Cast(x=x.begin, DstT="int64")
    end = ops.AddV2(x=begin, y=ops.Shape(input=g.output, out_type="int64"))
    shape = ops.Shape(input=x.input, out_type="int64")
    return {
        "input": ops.StridedSliceGrad(shape=shape, begin=begin, end=end, strides=ops.OnesLike(x=begin), dy=g.output)
    }


# ------------------------------------------------------------------ the places that begin, end, strides and masks name
@dataclass
class Places:
    """One index per axis, as NumPy takes it, and the shape of what it picks; None where that is not known yet."""

    index: list[Any]
    shape: list[Size]


def places(shape: Sequence[Size], begin: Any, end: Any, strides: Any, count: int, masks: dict[str, int]) -> Places:
    """Read the entries as TensorFlow does: an ellipsis stands for the axes left over, and for none at the end."""
    ellipsis, new_axes = masks["ellipsis_mask"], masks["new_axis_mask"]
    if ellipsis & (ellipsis - 1):
        raise Fault("rule", "ellipsis_mask", (), ellipsis, hint="has more than one bit")
    entries = list(range(count))
    used = [e for e in entries if not (ellipsis | new_axes) >> e & 1]
    if len(used) > len(shape):
        hint = f"has entries for {len(used)} axes, but there are {len(shape)}"
        raise Fault("shape", "begin", (), (count,), hint=hint)
    ellipsis &= (1 << count) - 1
    found, axis = Places([], []), 0
    for entry in [*entries, *([] if ellipsis else [count])]:
        if entry == count or ellipsis >> entry & 1:
            for _ in range(len(shape) - len(used)):
                found.index.append(slice(None))
                found.shape.append(shape[axis])
                axis += 1
        elif new_axes >> entry & 1:
            found.index.append(None)
            found.shape.append(1)
        else:
            read = [None if values is None else values[entry] for values in (begin, end, strides)]
            _add_axis(found, entry, shape[axis], read, {name: mask >> entry & 1 for name, mask in masks.items()})
            axis += 1
    return found


def _add_axis(found: Places, entry: int, length: Size, read: Sequence[int | None], bits: dict[str, int]) -> None:
    begin, end, stride = read
    if stride == 0:
        raise Fault("rule", "strides", (entry,), stride, hint="must not be zero")
    if bits["shrink_axis_mask"]:
        if stride is not None and stride < 0:
            raise Fault("rule", "strides", (entry,), stride, hint="must be positive where one place is picked")
        if begin is not None and length is not None and not -length <= begin < length:
            raise Fault("range", "begin", (entry,), begin, -length, length)
        found.index.append(begin)
        return
    chosen = slice(None if bits["begin_mask"] else begin, None if bits["end_mask"] else end, stride)
    found.index.append(chosen)
    known = stride is not None and (begin is not None or bits["begin_mask"]) and (end is not None or bits["end_mask"])
    # Python's own slices clamp begin and end just so.
    found.shape.append(len(range(length)[chosen]) if length is not None and known else None)


def strided(shape: AnyShape, begin: Known, end: Known, strides: Known, masks: dict[str, int]) -> Places | None:
    """The places, as far as they are known while a graph is built."""
    count = next((k.shape[0] for k in (begin, end, strides) if k.shape and k.shape[0] is not None), None)
    if shape is None or count is None:
        return None
    values = [None if known.value is None else known.value.tolist() for known in (begin, end, strides)]
    return places(shape, values[0], values[1], values[2], count, masks)


# ------------------------------------------------------------------ StridedSlice
@op(
    "StridedSlice",
    inputs=[INPUT, BEGIN, END, STRIDES],
    outputs=[OUTPUT],
    attrs=MASKS,
    types={"T": ANY, "Index": ("int16", *INDEX)},
    linear=["input"],
    example=Example(
        {"input": [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], "begin": [1, 0], "end": [2, 3], "strides": [1, 2]},
        {"output": [[4.0, 6.0]]},
    ),
    samples=strided_slices,
    rejects=[
        Reject({"strides": [1, 0]}, r"strides\[1\] == 0 must not be zero"),
        Reject({"begin": [1, -4], "shrink_axis_mask": 2}, r"begin\[1\] == -4 out of range \[-3, 3\)"),
        Reject({"strides": [1, -1], "shrink_axis_mask": 2}, r"strides\[1\] == -1 must be positive"),
        Reject({"ellipsis_mask": 3}, r"ellipsis_mask == 3 has more than one bit"),
        Reject(
            {"begin": [0, 0, 0], "end": [1, 1, 1], "strides": [1, 1, 1]},
            r"begin has shape \[3\], which has entries for 3 axes, but there are 2",
        ),
        Reject({"end": [2]}, r"end must have shape \[count\] with count=2; got \[1\]"),
    ],
)
def strided_slice(
    input: Any,
    begin: Any,
    end: Any,
    strides: Any,
    begin_mask: int,
    end_mask: int,
    ellipsis_mask: int,
    new_axis_mask: int,
    shrink_axis_mask: int,
) -> Any:
    """A window of an array with steps, written as Python writes it: `input[b0:e0:s0, ..., None, b1]`."""
    bits = (begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
    found = places(input.shape, begin.tolist(), end.tolist(), strides.tolist(), len(begin), _named(bits))
    return np.array(input[tuple(found.index)], input.dtype)


@strided_slice.shapes
def _(input: Any, begin: Any, end: Any, strides: Any, **masks: int) -> Any:
    found = strided(input.shape, begin, end, strides, masks)
    return [None if found is None else possible("input", found.shape, input.dtype)]


@strided_slice.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    entries = {name: ops.Cast(x=getattr(x, name), DstT="int64") for name in ("begin", "end", "strides")}
    shape = ops.Shape(input=x.input, out_type="int64")
    return {"input": ops.StridedSliceGrad(shape=shape, dy=g.output, **entries, **_masks(x))}


def _masks(x: Any) -> dict[str, int]:
    return _named([getattr(x, attr.name) for attr in MASKS])


def _named(bits: Sequence[int]) -> dict[str, int]:
    return {attr.name: mask for attr, mask in zip(MASKS, bits, strict=True)}


# ------------------------------------------------------------------ StridedSliceGrad
@op(
    "StridedSliceGrad",
    inputs=[
        Arg("shape", "Index", "rank", "The shape of the array that was sliced."),
        BEGIN,
        END,
        STRIDES,
        Arg("dy", "T", "*window", "The gradient of the slice."),
    ],
    outputs=[Arg("output", "T", "*result", "The gradient in its places, zeros elsewhere.")],
    attrs=MASKS,
    types={"T": ANY, "Index": INDEX},
    linear=["dy"],
    example=Example(
        {"shape": [2, 3], "begin": [1, 0], "end": [2, 3], "strides": [1, 2], "dy": [[4.0, 6.0]]},
        {"output": [[0.0, 0.0, 0.0], [4.0, 0.0, 6.0]]},
    ),
    samples=strided_gradients,
    rejects=[
        Reject({"dy": [4.0, 6.0]}, r"dy has shape \[2\], which must be that of the slice, \[1, 2\]"),
        Reject({"shape": [2, -3]}, r"shape\[1\] == -3 must not be negative"),
        Reject({"shape": np.array([2**62, 2**62])}, r"shape == \[4611686018427387904, .*more than any memory holds"),
    ],
)
def strided_slice_grad(
    shape: Any,
    begin: Any,
    end: Any,
    strides: Any,
    dy: Any,
    begin_mask: int,
    end_mask: int,
    ellipsis_mask: int,
    new_axis_mask: int,
    shrink_axis_mask: int,
) -> Any:
    """The gradient of StridedSlice: a window put back to where it was cut out."""
    output = zeros(shape, dy)
    bits = (begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask)
    found = places(output.shape, begin.tolist(), end.tolist(), strides.tolist(), len(begin), _named(bits))
    output[tuple(found.index)] = dy
    return output


@strided_slice_grad.shapes
def _(shape: Any, begin: Any, end: Any, strides: Any, dy: Any, **masks: int) -> Any:
    if shape.value is None:
        return [unknown_sizes(shape.shape)]
    whole = possible("shape", held_sizes("shape", shape.value), dy.dtype)
    found = strided(whole, begin, end, strides, masks)
    if found is not None:
        agreed("the slice", tuple(found.shape), "dy", dy.shape)
    return [whole]


@strided_slice_grad.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"dy": ops.StridedSlice(input=g.output, begin=x.begin, end=x.end, strides=x.strides, **_masks(x))}


# ------------------------------------------------------------------ Pad
@op(
    "Pad",
    inputs=[INPUT, Arg("paddings", "Tpaddings", "rank 2", "Per axis, how many zeros before and how many behind.")],
    outputs=[Arg("output", "T", "*result", "The input with zeros around; among strings, empty ones.")],
    types={"T": ANY, "Tpaddings": INDEX},
    linear=["input"],
    example=Example({"input": [1.0, 2.0], "paddings": [[1, 2]]}, {"output": [0.0, 1.0, 2.0, 0.0, 0.0]}),
    samples=paddings,
    rejects=[
        Reject({"paddings": [[1, -1]]}, r"paddings\[0, 1\] == -1 must not be negative"),
        Reject(
            {"paddings": [[1, 1], [0, 0]]}, r"paddings has shape \[2, 2\], which must have a row for each of the 1 axes"
        ),
        Reject({"paddings": np.array([[2**62, 2**62]])}, r"paddings == .* asks for more than any memory holds"),
    ],
)
def pad(input: Any, paddings: Any) -> Any:
    """An array with zeros around it."""
    output = zeros([n + sum(pair) for n, pair in zip(input.shape, paddings.tolist(), strict=True)], input)
    inner = [slice(first, first + n) for first, n in zip(paddings[:, 0].tolist(), input.shape, strict=True)]
    output[(..., *inner)] = input  # with dots, or a text without axes would be put into a text as an array
    return output


@pad.shapes
def _(input: Any, paddings: Any) -> Any:
    rows = None if paddings.shape is None else paddings.shape[0]
    if input.shape is not None and rows not in (None, len(input.shape)):
        hint = f"must have a row for each of the {len(input.shape)} axes of input"
        raise Fault("shape", "paddings", (), paddings.shape, hint=hint)
    if paddings.value is not None:
        for row, pair in enumerate(paddings.value.tolist()):
            for column, count in enumerate(pair):
                if count < 0:
                    raise Fault("negative", "paddings", (row, column), count)
    if input.shape is None or paddings.value is None:
        rank = rows if input.shape is None else len(input.shape)
        return [None if rank is None else (None,) * rank]
    pairs = zip(input.shape, paddings.value.tolist(), strict=True)
    return [possible("paddings", [None if n is None else n + sum(pair) for n, pair in pairs], input.dtype)]


@pad.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    before = ops.GatherV2(params=ops.Cast(x=x.paddings, DstT="int64"), indices=0, axis=1)
    size = ops.Shape(input=x.input, out_type="int64")
    return {"input": ops.Slice(input=g.output, begin=before, size=size)}
