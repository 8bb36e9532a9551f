"""Two sparse arrays entry by entry: sums, and the larger or smaller ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dtypes import COMPLEX, REAL
from ...errors import Fault
from ...spec import Arg, Declined, Example, Reject, op, titled
from .sizes import held_sizes
from .sparse_concat import put_back
from .sparse_places import check_within, is_ascending, numbered
from .sparse_samples import pairs, sum_gradients, sums

INPUTS = [
    Arg("a_indices", "int64", "a rank", "The places of the first, in row-major order."),
    Arg("a_values", "T", "a", "Their values."),
    Arg("a_shape", "int64", "rank", "The shape of the first."),
    Arg("b_indices", "int64", "b rank", "The places of the second, in row-major order."),
    Arg("b_values", "T", "b", "Their values."),
    Arg("b_shape", "int64", "rank", "The shape of the second: the same."),
]
GIVEN = {
    "a_indices": [[0, 1], [1, 0]],
    "a_values": [1.0, 2.0],
    "a_shape": [2, 3],
    "b_indices": [[0, 1], [1, 2]],
    "b_values": [5.0, -3.0],
    "b_shape": [2, 3],
}
SHAPES = Reject({"b_shape": [2, 4]}, r"b_shape == \[2, 4\] must be that of a, \[2, 3\]")


def merged(a: Any, b: Any) -> tuple[Any, Any, Any]:
    """The places of both, and for each the number of the entry of a and of b that stands there, or -1.

    Two lists are walked together; where they are not in order, equal places need not meet.
    """
    if is_ascending(a) and is_ascending(b):
        numbers, places = numbered(np.concatenate([a, b]))
        of_a, of_b = (np.full(len(places), -1) for _ in "ab")
        of_a[numbers[: len(a)]] = np.arange(len(a))
        of_b[numbers[len(a) :]] = np.arange(len(b))
        return places, of_a, of_b
    first, second = a.tolist(), b.tolist()
    i, j, walked = 0, 0, []
    while i < len(first) or j < len(second):
        takes_a = j == len(second) or (i < len(first) and first[i] <= second[j])
        takes_b = i == len(first) or (j < len(second) and second[j] <= first[i])
        walked.append((i if takes_a else -1, j if takes_b else -1))
        i, j = i + takes_a, j + takes_b
    of_a, of_b = np.array(walked, np.int64).reshape(-1, 2).T
    return np.where((of_a >= 0)[:, None], a[of_a] if len(a) else 0, b[of_b] if len(b) else 0), of_a, of_b


def _picked(values: Any, places: Any) -> Any:
    """The values at some places, zero where there is none."""
    return np.append(values, np.zeros(1, values.dtype))[places]


def _both(a_shape: Any, b_shape: Any) -> None:
    if a_shape.value is not None and b_shape.value is not None:
        first, second = held_sizes("a_shape", a_shape.value), held_sizes("b_shape", b_shape.value)
        if first != second:
            raise Fault("rule", "b_shape", (), second, hint=f"must be that of a, {first}")


def _rank(*known: Any) -> int | None:
    a_indices, a_shape, b_indices, b_shape = (None if k.shape is None else k.shape[-1] for k in known)
    return next((rank for rank in (a_shape, b_shape, a_indices, b_indices) if rank is not None), None)


def _numbers(ops: Any, x: Any) -> tuple[Any, Any]:
    """For each place of the union the number of its entry in a and in b, counted from one; zero where there is none."""

    def going(first: str, second: str) -> Any:
        values = {}
        for name in (first, second):
            count = ops.Size(input=getattr(x, f"{name}_values"), out_type="int64")
            numbers = ops.Range(start=np.int64(1), limit=ops.AddV2(x=count, y=np.int64(1)), delta=np.int64(1))
            values[name] = numbers if name == first else ops.ZerosLike(x=numbers)
        return ops.SparseAdd(
            a_indices=x.a_indices,
            a_values=values["a"],
            a_shape=x.a_shape,
            b_indices=x.b_indices,
            b_values=values["b"],
            b_shape=x.b_shape,
            thresh=np.int64(0),
        ).sum_values

    return going("a", "b"), going("b", "a")


# ------------------------------------------------------------------ SparseAdd
@op(
    "SparseAdd",
    inputs=[*INPUTS, Arg("thresh", "Treal", "", "A sum of two entries whose magnitude is below this is left out.")],
    outputs=[
        Arg("sum_indices", "int64", "*places", "The places of the sums."),
        Arg("sum_values", "T", "*count", "The sums; where only one has an entry, that entry."),
        Arg("sum_shape", "int64", "rank", "The shape, which is that of both."),
    ],
    types={
        "T": ("float32", "float64", "int8", "int16", "int32", "int64", *COMPLEX),
        "Treal": ("float32", "float64", "int8", "int16", "int32", "int64"),
    },
    no_grad=["thresh"],  # nor is it linear in the values: what is left out depends on them
    example=Example(
        {**GIVEN, "thresh": 0.0},
        {"sum_indices": [[0, 1], [1, 0], [1, 2]], "sum_values": [6.0, 2.0, -3.0], "sum_shape": [2, 3]},
    ),
    samples=sums,
    rejects=[SHAPES],
)
def sparse_add(
    a_indices: Any, a_values: Any, a_shape: Any, b_indices: Any, b_values: Any, b_shape: Any, thresh: Any
) -> Any:
    """The sum of two sparse arrays; where both have an entry, it is left out if its magnitude is below a threshold."""
    places, of_a, of_b = merged(a_indices, b_indices)
    total = _picked(a_values, of_a) + _picked(b_values, of_b)
    kept = (of_a < 0) | (of_b < 0) | (thresh <= np.abs(total))
    return places[kept], total[kept], a_shape.copy()


def united(calls: Any, a: tuple[Any, Any, Any], b: tuple[Any, Any, Any]) -> tuple[Any, Any, Any, Any]:
    """The places of both, the values of each there or zero, and whether both have one, by a kernel."""
    for indices, values, shape in (a, b):
        if indices.ndim != 2 or values.shape != indices.shape[:1] or shape.shape != indices.shape[1:]:
            raise Declined
    if a[2].tolist() != b[2].tolist():
        raise Declined
    held_sizes("a_shape", a[2])
    plan = calls.count("union_places_plan", [a[0], b[0]])
    (count,) = plan.sizes
    places = calls.empty((count, len(a[2])), "int64")
    first, second, both = calls.empty((count,), "T"), calls.empty((count,), "T"), calls.empty((count,), "uint8")
    calls.fill("union_places", [a[0], a[1], b[0], b[1], places, first, second, both], (), plan)
    return places, first, second, both.view(bool)


@sparse_add.compiled
def _(
    calls: Any, a_indices: Any, a_values: Any, a_shape: Any, b_indices: Any, b_values: Any, b_shape: Any, thresh: Any
) -> Any:
    if thresh.ndim:
        raise Declined
    places, first, second, both = united(calls, (a_indices, a_values, a_shape), (b_indices, b_values, b_shape))
    with np.errstate(all="ignore"):
        total = first + second
        dropped = both & ~(thresh <= np.abs(total))
    if dropped.any():
        places, total = places[~dropped], total[~dropped]
    return places, total, a_shape.copy()


@sparse_add.shapes
def _(a_indices: Any, a_values: Any, a_shape: Any, b_indices: Any, b_values: Any, b_shape: Any, thresh: Any) -> Any:
    _both(a_shape, b_shape)
    rank = _rank(a_indices, a_shape, b_indices, b_shape)
    return [(None, rank), (None,), (rank,)]


@sparse_add.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    pulled = ops.SparseAddGrad(
        backprop_val_grad=g.sum_values, a_indices=x.a_indices, b_indices=x.b_indices, sum_indices=y.sum_indices
    )
    return {"a_values": pulled.a_val_grad, "b_values": pulled.b_val_grad}


# ------------------------------------------------------------------ SparseAddGrad
@op(
    "SparseAddGrad",
    inputs=[
        Arg("backprop_val_grad", "T", "sums", "The gradient of the sums."),
        Arg("a_indices", "int64", "a rank", "The places of the first array."),
        Arg("b_indices", "int64", "b rank", "The places of the second."),
        Arg("sum_indices", "int64", "sums rank", "The places of the sums that were not left out."),
    ],
    outputs=[
        Arg("a_val_grad", "T", "a", "The gradient of the first one's values."),
        Arg("b_val_grad", "T", "b", "The gradient of the second one's."),
    ],
    types={"T": ("float32", "float64", "int8", "int16", "int32", "int64", *COMPLEX)},
    linear=["backprop_val_grad"],
    example=Example(
        {
            "backprop_val_grad": [5.0, 7.0],
            "a_indices": [[0, 1], [1, 0]],
            "b_indices": [[0, 1], [1, 2]],
            "sum_indices": [[0, 1], [1, 2]],
        },
        {"a_val_grad": [5.0, 0.0], "b_val_grad": [5.0, 7.0]},
    ),
    samples=sum_gradients,
    rejects=[Reject({"sum_indices": [[0, 1]]}, r"sum_indices must have shape \[sums rank\] with .*; got \[1, 2\]")],
)
def sparse_add_grad(backprop_val_grad: Any, a_indices: Any, b_indices: Any, sum_indices: Any) -> Any:
    """The gradient of SparseAdd: an entry gets that of the sum at its place, or zero if it was left out."""
    numbers, _ = numbered(np.concatenate([sum_indices, a_indices, b_indices]))
    sums, a, b = np.split(numbers, np.cumsum([len(sum_indices), len(a_indices)]))
    by_place = np.zeros(len(numbers) + 1, backprop_val_grad.dtype)
    by_place[sums] = backprop_val_grad
    return by_place[a], by_place[b]


@sparse_add_grad.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    # Numbers go the way that the gradient went.
    count = ops.Size(input=x.backprop_val_grad, out_type="int64")
    numbers = ops.Range(start=np.int64(1), limit=ops.AddV2(x=count, y=np.int64(1)), delta=np.int64(1))
    went = ops.SparseAddGrad(
        backprop_val_grad=numbers, a_indices=x.a_indices, b_indices=x.b_indices, sum_indices=x.sum_indices
    )
    moved = ops.ConcatV2(values=[g.a_val_grad, g.b_val_grad], axis=0)
    places = ops.Sub(x=ops.ConcatV2(values=[went.a_val_grad, went.b_val_grad], axis=0), y=np.int64(1))
    return {"backprop_val_grad": put_back(ops, moved, places, x.backprop_val_grad)}


# ------------------------------------------------------------------ SparseSparseMaximum, SparseSparseMinimum
def _chosen(name: str, choose: Any, first_wins: str, types: tuple[str, ...], example: list[float], doc: str) -> Any:
    @op(
        name,
        inputs=INPUTS,
        outputs=[
            Arg("output_indices", "int64", "*places", "The places where one of them has an entry."),
            Arg("output_values", "T", "*count", "The chosen values."),
        ],
        types={"T": types},
        example=Example(GIVEN, {"output_indices": [[0, 1], [1, 0], [1, 2]], "output_values": example}),
        samples=pairs,
        rejects=[
            SHAPES,
            Reject({"a_indices": [[0, 1], [2, 0]]}, r"a_indices\[1, 0\] == 2 out of range \[0, 2\)"),
            Reject({"b_indices": [[0, 1], [1, 3]]}, r"b_indices\[1, 1\] == 3 out of range \[0, 3\)"),
        ],
    )
    @titled(name, doc)
    def chosen(a_indices: Any, a_values: Any, a_shape: Any, b_indices: Any, b_values: Any, b_shape: Any) -> Any:
        places, of_a, of_b = merged(a_indices, b_indices)
        return places, choose(_picked(a_values, of_a), _picked(b_values, of_b))

    @chosen.compiled
    def _(calls: Any, a_indices: Any, a_values: Any, a_shape: Any, b_indices: Any, b_values: Any, b_shape: Any) -> Any:
        places, first, second, _ = united(calls, (a_indices, a_values, a_shape), (b_indices, b_values, b_shape))
        check_within("a_indices", a_indices, a_shape.tolist())
        check_within("b_indices", b_indices, b_shape.tolist())
        with np.errstate(all="ignore"):
            return places, choose(first, second)

    @chosen.shapes
    def _(a_indices: Any, a_values: Any, a_shape: Any, b_indices: Any, b_values: Any, b_shape: Any) -> Any:
        _both(a_shape, b_shape)
        for argument, indices, shape in (("a_indices", a_indices, a_shape), ("b_indices", b_indices, b_shape)):
            if indices.value is not None and shape.value is not None:
                check_within(argument, indices.value, shape.value.tolist())
        count = None
        if a_indices.value is not None and b_indices.value is not None:
            count = len(merged(a_indices.value, b_indices.value)[0])
        return [(count, _rank(a_indices, a_shape, b_indices, b_shape)), (count,)]

    @chosen.gradient
    def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
        numbers = _numbers(ops, x)
        padded = [_with_zero(ops, v) for v in (x.a_values, x.b_values)]
        at = [ops.GatherV2(params=v, indices=n, axis=0) for v, n in zip(padded, numbers, strict=True)]
        wins = getattr(ops, first_wins)(x=at[0], y=at[1])
        zero = ops.ZerosLike(x=g.output_values)
        shares = [
            ops.SelectV2(condition=wins, t=g.output_values, e=zero),
            ops.SelectV2(condition=wins, t=zero, e=g.output_values),
        ]
        places = [ops.Sub(x=n, y=np.int64(1)) for n in numbers]
        return {
            name: put_back(ops, share, place, getattr(x, name))
            for name, share, place in zip(("a_values", "b_values"), shares, places, strict=True)
        }

    return chosen


def _with_zero(ops: Any, values: Any) -> Any:
    """The values with a zero in front, for places where there is none."""
    return ops.Pad(input=values, paddings=[[1, 0]])


_chosen(
    "SparseSparseMaximum",
    np.maximum,
    "GreaterEqual",
    REAL,
    [5.0, 2.0, 0.0],
    "The larger of two sparse arrays; what has no entry is zero.",
)
_chosen(
    "SparseSparseMinimum",
    np.minimum,
    "LessEqual",
    REAL,
    [1.0, 0.0, -3.0],
    "The smaller of two sparse arrays; what has no entry is zero.",
)
