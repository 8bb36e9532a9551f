"""Rows shared out among partitions, and put together again by their numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...dtypes import ANY
from ...errors import Fault
from ...spec import REQUIRED, Arg, Attr, Declined, Example, Reject, op, titled
from ..samples import Inputs, Rng, values
from .sizes import possible
from .sparse_concat import joined


def _partitions(rng: Rng) -> Iterator[Inputs]:
    for shape, inner, count in [((5,), (2,), 3), ((2, 3), (), 2), ((0,), (2,), 2), ((), (), 2), ((4,), (2, 2), 1)]:
        partitions = rng.integers(0, count, shape)
        yield {"data": values(rng, *shape, *inner), "partitions": partitions, "num_partitions": count}


def _stitches(rng: Rng) -> Iterator[Inputs]:
    stitches: list[tuple[list[tuple[int, ...]], tuple[int, ...]]] = [
        ([(3,), (2,)], (2,)),
        ([(2, 2), (), (3,)], ()),
        ([(2,)], (1, 3)),
        ([(0,), (2,)], (2,)),
    ]
    for shapes, inner in stitches:
        count = sum(int(np.prod(shape)) for shape in shapes)
        order, indices = rng.permutation(count), []
        for shape in shapes:
            size = int(np.prod(shape))
            indices.append(order[:size].reshape(shape))
            order = order[size:]
        yield {"indices": indices, "data": [values(rng, *shape, *inner) for shape in shapes]}
    twice = [np.array([0, 1, 1]), np.array([2, 0])]
    yield {"indices": twice, "data": [values(rng, len(one), 2) for one in twice]}


def _begins(argument: str, shape: Any, whole: Any) -> None:
    if shape is None or whole is None:
        return
    pairs = zip(shape, whole, strict=False)
    if len(shape) > len(whole) or any(None not in pair and pair[0] != pair[1] for pair in pairs):
        hint = f"is not how the shape of data begins, {['?' if n is None else n for n in whole]}"
        raise Fault("shape", argument, (), shape, hint=hint)


# ------------------------------------------------------------------ DynamicPartition
@op(
    "DynamicPartition",
    inputs=[
        Arg("data", "T", "*shape", "Rows, or an array of rows of any shape."),
        Arg("partitions", "int32", "*places", "For each row the number of its partition."),
    ],
    outputs=[Arg("outputs", "T", "*rows", "The rows of each partition, in order.", many=True, count="num_partitions")],
    attrs=[Attr("num_partitions", REQUIRED, "How many partitions there are.", "int")],
    types={"T": ANY},
    linear=["data"],
    example=Example(
        {"data": [1.0, 2.0, 3.0], "partitions": [1, 0, 1], "num_partitions": 2}, {"outputs": [[2.0], [1.0, 3.0]]}
    ),
    samples=_partitions,
    rejects=[
        Reject({"partitions": [1, 2, 0]}, r"partitions\[1\] == 2 out of range \[0, 2\)"),
        Reject({"partitions": [1, 0]}, r"partitions has shape \[2\], which is not how the shape of data begins"),
        Reject({"num_partitions": 0}, r"num_partitions == 0 must be at least 1"),
    ],
)
def dynamic_partition(data: Any, partitions: Any, num_partitions: int) -> Any:
    """Rows shared out among partitions by a number for each."""
    rows, numbers = data.reshape((partitions.size, *data.shape[partitions.ndim :])), partitions.reshape(-1)
    order = np.argsort(numbers, kind="stable")
    ends = np.searchsorted(numbers[order], np.arange(1, num_partitions + 1))
    starts = [0, *ends.tolist()[:-1]]
    return [rows[order[start:end]] for start, end in zip(starts, ends.tolist(), strict=True)]


@dynamic_partition.compiled
def _(calls: Any, data: Any, partitions: Any, num_partitions: int) -> Any:
    if num_partitions < 1 or partitions.ndim > data.ndim or data.shape[: partitions.ndim] != partitions.shape:
        raise Declined
    plan = calls.count("partition_rows_plan", [partitions.reshape(-1)], (num_partitions,))
    outputs = [calls.empty((count, *data.shape[partitions.ndim :]), "T") for count in plan.sizes]
    calls.fill("partition_rows", [data, outputs], (), plan)
    return outputs


@dynamic_partition.shapes
def _(data: Any, partitions: Any, num_partitions: int) -> Any:
    if num_partitions < 1:
        raise Fault("rule", "num_partitions", (), num_partitions, hint="must be at least 1")
    _begins("partitions", partitions.shape, data.shape)
    counts: list[int | None] = [None] * num_partitions
    if partitions.value is not None:
        numbers = partitions.value
        wrong = (numbers < 0) | (numbers >= num_partitions)
        if wrong.any():
            place = tuple(np.argwhere(wrong)[0].tolist())
            raise Fault("range", "partitions", place, int(numbers[place]), 0, num_partitions)
        counts = np.bincount(numbers.reshape(-1), minlength=num_partitions).tolist()
    if data.shape is None or partitions.shape is None:
        return [[None] * num_partitions]
    return [[(count, *data.shape[len(partitions.shape) :]) for count in counts]]


@dynamic_partition.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    # Numbers go the way that the rows went.
    count = ops.Size(input=x.partitions, out_type="int64")
    numbers = ops.Range(start=np.int64(0), limit=count, delta=np.int64(1))
    went = ops.DynamicPartition(
        data=numbers, partitions=ops.Reshape(tensor=x.partitions, shape=[-1]), num_partitions=x.num_partitions
    )
    rows = ops.UnsortedSegmentSum(data=joined(ops, g.outputs), segment_ids=joined(ops, went), num_segments=count)
    return {"data": ops.Reshape(tensor=rows, shape=ops.Shape(input=x.data))}


# ------------------------------------------------------------------ DynamicStitch, ParallelDynamicStitch
def _stitch(name: str, doc: str) -> Any:
    @op(
        name,
        inputs=[
            Arg("indices", "int32", "*_", "For each row of data its number in the result.", many=True),
            Arg("data", "T", "*_", "Rows, or arrays of rows of any shape.", many=True),
        ],
        outputs=[Arg("merged", "T", "*rows", "The rows by their numbers; zeros where there is none.")],
        types={"T": ANY},
        linear=["data"],
        example=Example({"indices": [[2, 0], [1]], "data": [[1.0, 2.0], [3.0]]}, {"merged": [2.0, 3.0, 1.0]}),
        samples=_stitches,
        rejects=[
            Reject({"indices": [[2, -1], [1]]}, r"indices\[0\]\[1\] == -1 must not be negative"),
            Reject(
                {"data": [[1.0], [3.0]]}, r"indices\[0\] has shape \[2\], which is not how the shape of data begins"
            ),
            Reject(
                {"data": [[1.0, 2.0], [[3.0, 4.0]]]}, r"data\[1\] has shape \[1, 2\], which has rows of another shape"
            ),
        ],
    )
    @titled(name, doc)
    def stitch(indices: Any, data: Any) -> Any:
        inner = data[0].shape[indices[0].ndim :]
        numbers = np.concatenate([one.reshape(-1) for one in indices])
        rows = np.concatenate([d.reshape((i.size, *inner)) for i, d in zip(indices, data, strict=True)])
        merged = np.zeros((int(numbers.max(initial=-1)) + 1, *inner), rows.dtype)
        if rows.dtype.kind == "O":
            merged[...] = ""
        _, last = np.unique(numbers[::-1], return_index=True)  # of rows with one number the last stays
        kept = len(numbers) - 1 - last
        merged[numbers[kept]] = rows[kept]
        return merged

    @stitch.compiled
    def _(calls: Any, indices: Any, data: Any) -> Any:
        inner = data[0].shape[indices[0].ndim :]
        if any(d.shape != (*i.shape, *inner) for i, d in zip(indices, data, strict=True)):
            raise Declined
        count = max(int(one.max(initial=-1)) for one in indices) + 1
        if count < 1:  # nothing but negative numbers, which the checks refuse in words
            raise Declined
        merged = calls.empty((count, *inner), "T")
        calls.fill("stitch_rows", [[one.reshape(-1) for one in indices], list(data), merged], (count,))
        return merged

    @stitch.shapes
    def _(indices: Any, data: Any) -> Any:
        inner: Any = None
        for place, (numbers, rows) in enumerate(zip(indices, data, strict=True)):
            _begins(f"indices[{place}]", numbers.shape, rows.shape)
            if numbers.shape is None or rows.shape is None:
                continue
            own = rows.shape[len(numbers.shape) :]
            if inner is not None and (
                len(own) != len(inner) or any(None not in p and p[0] != p[1] for p in zip(own, inner, strict=True))
            ):
                hint = f"has rows of another shape than data[0]: {list(own)}, not {list(inner)}"
                raise Fault("shape", f"data[{place}]", (), rows.shape, hint=hint)
            inner = own if inner is None else tuple(b if a is None else a for a, b in zip(inner, own, strict=True))
        count: int | None = 0
        for place, numbers in enumerate(indices):
            if numbers.value is None or count is None:
                count = None
                continue
            if (numbers.value < 0).any():
                where = tuple(np.argwhere(numbers.value < 0)[0].tolist())
                raise Fault("negative", f"indices[{place}]", where, int(numbers.value[where]))
            count = max(count, int(numbers.value.max(initial=-1)) + 1)
        return [None if inner is None else possible("indices", (count, *inner), data[0].dtype)]

    @stitch.gradient
    def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
        # Of rows with one number the last stays, and it alone gets the gradient.
        flat = [ops.Reshape(tensor=one, shape=[-1]) for one in x.indices]
        numbers, start = [], np.int64(1)
        for one in flat:
            end = ops.AddV2(x=start, y=ops.Size(input=one, out_type="int64"))
            numbers.append(ops.Range(start=start, limit=end, delta=np.int64(1)))
            start = end
        stayed = getattr(ops, name)(indices=flat, data=numbers)
        pulled = []
        for places, own, data in zip(flat, numbers, x.data, strict=True):
            mark = ops.Equal(x=ops.GatherV2(params=stayed, indices=places, axis=0), y=own)
            dropped = ops.SelectV2(condition=mark, t=ops.Cast(x=places, DstT="int64"), e=np.int64(-1))
            # A row of zeros in front, which is where the rows look that did not stay.
            rows = ops.GatherV2(params=_with_row(ops, g.merged), indices=ops.AddV2(x=dropped, y=np.int64(1)), axis=0)
            pulled.append(ops.Reshape(tensor=rows, shape=ops.Shape(input=data)))
        return {"data": pulled}

    return stitch


def _with_row(ops: Any, rows: Any) -> Any:
    sizes = ops.Shape(input=rows, out_type="int64")
    first, inner = (ops.Slice(input=sizes, begin=[start], size=[size]) for start, size in ((0, 1), (1, -1)))
    shape = ops.ConcatV2(values=[ops.AddV2(x=first, y=np.int64(1)), inner], axis=0)
    return ops.StridedSliceGrad(shape=shape, begin=[1], end=[0], strides=[1], dy=rows, end_mask=1)


_stitch("DynamicStitch", "Rows put together by their numbers; of rows with one number the last stays.")
_stitch("ParallelDynamicStitch", "The same as DynamicStitch, which need not be so in TensorFlow if numbers repeat.")
