"""Ops are linear in the inputs that they declare, and gradients are their transposes, on random small bags."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gradbag import jvp, vjp
from gradbag.spec import Op
from gradbag.testing import Case, assert_same, called, case_of, native_ops
from gradbag.testing.cases import usual_types

# Whole numbers, so that sums are exact; what is divided is exact to the last bits.
NUMBERS = st.integers(-8, 8).map(float)


def numbers(*shape: int) -> st.SearchStrategy[Any]:
    return arrays(np.float64, shape, elements=NUMBERS)


def ids(count: int, limit: int) -> st.SearchStrategy[Any]:
    return arrays(np.int64, count if limit else 0, elements=st.integers(0, max(limit - 1, 0)))


@st.composite
def bag_inputs(draw: Any, op: Op) -> dict[str, Any]:
    """For the ops that pool rows, and for their gradients."""
    rows, segments = draw(st.integers(0, 4)), draw(st.integers(1, 4))
    inner = draw(st.lists(st.integers(0, 3), max_size=2))
    indices = draw(ids(draw(st.integers(0, 12)), rows))
    segment_ids = draw(ids(len(indices), segments))
    pools = "Grad" not in op.name
    entries = {"indices": indices, "segment_ids": np.sort(segment_ids) if pools else segment_ids}
    sizes = {name: np.array(rows, np.int32) for name in ("output_dim0", "dense_output_dim0") if name in op.input_names}
    if "num_segments" in op.input_names:
        sizes["num_segments"] = np.array(segments + draw(st.integers(0, 2)))
    table = {"data": draw(numbers(rows, *inner))} if pools else {"grad": draw(numbers(segments, *inner))}
    return {**table, **entries, **sizes}


@st.composite
def fill_inputs(draw: Any, op: Op) -> dict[str, Any]:
    rows = draw(st.integers(0, 5))
    row_of = draw(ids(draw(st.integers(0, 6)), rows))
    if op.name.endswith("Grad"):
        return {"reverse_index_map": row_of, "grad_values": draw(numbers(rows))}
    values = {"values": draw(numbers(len(row_of))), "default_value": draw(numbers())}
    if op.name.startswith("Ragged"):
        return {"value_rowids": row_of, "nrows": np.array(rows), **values}
    rank = draw(st.integers(1, 3))
    rest = draw(arrays(np.int64, (len(row_of), rank - 1), elements=st.integers(-2, 5)))
    indices = np.concatenate([row_of[:, None], rest], 1)
    return {"indices": indices, "dense_shape": np.array([rows, 4, 4][:rank]), **values}


@st.composite
def slice_inputs(draw: Any, op: Op) -> dict[str, Any]:
    rank, count = draw(st.integers(0, 3)), draw(st.integers(0, 8))
    indices = draw(arrays(np.int64, (count, rank), elements=st.integers(0, 3)))
    start = draw(arrays(np.int64, rank, elements=st.integers(-1, 3)))
    if op.name == "SparseSlice":
        size = draw(arrays(np.int64, rank, elements=st.integers(0, 4)))
        entries = {"indices": indices, "values": draw(numbers(count))}
        return {**entries, "shape": np.full(rank, 4), "start": start, "size": size}
    kept = draw(arrays(bool, count))
    # Of entries at the same place the first is matched first, so keep a leading run of each.
    for place in range(count):
        same = (indices[:place] == indices[place]).all(1)
        kept[place] &= bool(kept[:place][same].all())
    places = {"input_indices": indices, "input_start": start, "output_indices": indices[kept] - start}
    return {"backprop_val_grad": draw(numbers(int(kept.sum()))), **places}


@st.composite
def offset_inputs(draw: Any, op: Op) -> dict[str, Any]:
    """For look-ups of bags that begin at offsets, and for their gradients."""
    rows, lengths = draw(st.integers(1, 4)), draw(st.lists(st.integers(0, 3), min_size=1, max_size=4))
    inner = draw(st.lists(st.integers(0, 3), max_size=2))
    count = sum(lengths)
    weights = draw(st.none() | arrays(np.float64, count, elements=st.integers(1, 8).map(float)))
    return {
        "table": draw(numbers(rows, *inner)),
        "grad": draw(numbers(len(lengths), *inner)),
        "ids": draw(ids(count, rows)),
        "offsets": np.cumsum([0, *lengths[:-1]]),
        "winners": draw(arrays(np.int64, (len(lengths), *inner), elements=st.integers(-1, count - 1))),
        "weights": weights,
        "num_rows": rows,
        "combiner": draw(st.sampled_from(["sum", "mean", "sqrtn"])),
    }


@st.composite
def grouped_inputs(draw: Any, op: Op) -> dict[str, Any]:
    """The same for one to three tables, of which one may be looked up by two features."""
    shapes = draw(st.lists(st.tuples(st.integers(1, 4), st.integers(0, 3)), min_size=1, max_size=3))
    bags, feature_tables = draw(st.integers(1, 3)), [*range(len(shapes)), draw(st.integers(0, len(shapes) - 1))]
    lengths = draw(arrays(np.int64, (len(feature_tables), bags), elements=st.integers(0, 3)))
    ends, count = np.cumsum(lengths).reshape(lengths.shape), int(lengths.sum())
    width = sum(shapes[table][1] for table in feature_tables)
    entries = zip(feature_tables, lengths.sum(1), strict=True)
    return {
        "tables": [draw(numbers(*shape)) for shape in shapes],
        "table_shapes": [size for shape in shapes for size in shape],
        "grad": draw(numbers(bags, width)),
        "ids": np.concatenate([draw(ids(int(n), shapes[table][0])) for table, n in entries]),
        "offsets": ends - lengths,
        "weights": draw(st.none() | arrays(np.float64, count, elements=st.integers(1, 8).map(float))),
        "feature_tables": feature_tables,
        "combiner": draw(st.sampled_from(["sum", "mean", "sqrtn"])),
    }


@st.composite
def tree_inputs(draw: Any, op: Op) -> dict[str, Any]:
    """Bags whose entries are summed piece by piece."""
    given, pieces = draw(offset_inputs(op)), draw(st.integers(1, 4))
    return {**given, "pieces": draw(ids(len(given["ids"]), pieces)), "num_pieces": pieces}


@st.composite
def list_inputs(draw: Any, op: Op) -> dict[str, Any]:
    shape = draw(st.lists(st.integers(0, 3), max_size=3))
    return {"inputs": [draw(numbers(*shape)) for _ in range(draw(st.integers(1, 4)))]}


@st.composite
def packed_inputs(draw: Any, op: Op) -> dict[str, Any]:
    """For weights that follow their entries into other bags."""
    count = draw(st.integers(0, 5))
    positions = draw(ids(draw(st.integers(0, 6)), count + 1))
    given = {"weights": draw(numbers(count)), "default_weight": draw(numbers()), "grad": draw(numbers(len(positions)))}
    return {**given, "positions": positions, "num_entries": count}


@st.composite
def drawn(draw: Any, op: Op) -> Case:
    families = {
        "Segment": bag_inputs,
        "Fill": fill_inputs,
        "Slice": slice_inputs,
        "Grouped": grouped_inputs,
        "Embedding": offset_inputs,
        "TreeBag": tree_inputs,
        "AddN": list_inputs,
        "PackWeights": packed_inputs,
    }
    inputs = draw(next(family(op) for word, family in families.items() if word in op.name))
    return case_of(op, usual_types(op), inputs, "drawn")


def linear_places(case: Case) -> list[int]:
    args = case.op.flat_inputs(len(case.arrays))
    return [place for place, arg in enumerate(args) if arg.name in case.op.linear]


def outputs_of(case: Case) -> list[Any]:
    outputs = called(case)
    answers = zip(case.op.flat_outputs(len(outputs)), outputs, strict=True)
    return [y for arg, y in answers if arg.name in case.op.differentiable_outputs]


def divides(case: Case) -> bool:
    return "Mean" in case.op.name or "SqrtN" in case.op.name or case.attrs.get("combiner", "sum") != "sum"


every_op = pytest.mark.parametrize("op", [op for op in native_ops() if op.linear], ids=lambda op: op.name)


@every_op
@given(data=st.data())
def test_a_sum_of_inputs_gives_the_sum_of_outputs(op: Op, data: Any) -> None:
    first = data.draw(drawn(op))
    others = {place: data.draw(numbers(*first.arrays[place].shape)) for place in linear_places(first)}
    scale = data.draw(NUMBERS)
    both = first.replaced({place: first.arrays[place] + scale * other for place, other in others.items()})
    apart = zip(outputs_of(first), outputs_of(first.replaced(others)), strict=True)
    for got, (one, other) in zip(outputs_of(both), apart, strict=True):
        want = one + scale * other
        if divides(first):
            np.testing.assert_allclose(got, want, rtol=1e-14, atol=1e-13)
        else:
            np.testing.assert_array_equal(got, want)


@every_op
@given(data=st.data())
def test_the_gradient_is_the_transpose(op: Op, data: Any) -> None:
    case = data.draw(drawn(op))
    places = linear_places(case)

    def function(*values: Any) -> tuple[Any, ...]:
        return tuple(outputs_of(case.replaced(dict(zip(places, values, strict=True)))))

    primals = [case.arrays[place] for place in places]
    outputs, pullback = vjp(function, *primals)
    weights = tuple(data.draw(numbers(*y.shape)) for y in outputs)
    forward = sum(float((w * y).sum()) for w, y in zip(weights, outputs, strict=True))
    backward = sum(float((g * x).sum()) for g, x in zip(pullback(weights), primals, strict=True))
    assert forward == pytest.approx(backward, rel=1e-12, abs=1e-11)
    # Linear means that the derivative in the direction of the inputs is the value itself.
    _, tangents = jvp(function, primals, primals)
    for tangent, output in zip(tangents, outputs, strict=True):
        assert_same(tangent, output, op.name)
