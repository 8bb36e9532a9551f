"""Answers written into arrays that the caller brings."""

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradbag
from gradbag import dtypes, eager, raw_ops
from gradbag.spec import Op
from gradbag.testing import assert_same, assert_same_results, called, cases, native_ops
from gradbag.testing.cases import Case, type_choices, usual_types

TAKING = [op for op in native_ops() if op.sized_outputs]
each_op = pytest.mark.parametrize("op", TAKING, ids=lambda op: op.name)
DENSE = {"grad": np.ones((2, 2)), "indices": [0, 2, 1], "segment_ids": [0, 0, 1], "output_dim0": 3}
SPLIT = {"reverse_index_map": np.array([0, 2]), "grad_values": np.array([1.0, 2.0, 4.0])}
POISON = 0xA5


def poisoned(like: Any) -> Any:
    """Such an array, full of rubbish, and aligned for its dtype but for nothing larger."""
    number = like.dtype if like.dtype.fields is None else like.dtype[0]
    memory = np.full(like.nbytes + 128, POISON, np.uint8)
    start = -memory.ctypes.data % 64 + number.alignment
    return memory[start : start + like.nbytes].view(like.dtype).reshape(like.shape)


def by_values(op: Op) -> Iterator[Case]:
    """All cases in the usual dtypes, and the first few with every other dtype of values."""
    usual = usual_types(op)
    yield from cases(op, usual)
    for types in type_choices(op):
        if all(name == usual[variable] for variable, name in types.items() if variable != "T"):
            yield from islice(cases(op, types), 3)


def brought(case: Case, wanted: list[Any]) -> list[Any]:
    """Poisoned arrays for all outputs that can be brought, None for the others."""
    return [
        poisoned(w) if arg.name in case.op.sized_outputs and not dtypes.is_string(w.dtype) else None
        for arg, w in zip(case.op.outputs, wanted, strict=True)
    ]


def passed(op: Op, arrays: list[Any]) -> Any:
    return arrays[0] if op.result is None else tuple(arrays)


# ------------------------------------------------------------------ what comes back
@each_op
def test_the_answer_is_the_very_array_and_nothing_of_its_content_stays(op: Op) -> None:
    count = 0
    for case in by_values(op):
        wanted = eager.run(op, case.arrays, dict(case.attrs))
        for run in (eager.run, eager.run_reference):
            out = brought(case, wanted)
            got = run(op, case.arrays, dict(case.attrs), eager.Out(op, passed(op, out)))
            for array, answer, want, arg in zip(out, got, wanted, op.outputs, strict=True):
                assert array is None or answer is array
                assert_same(answer, want, f"{case}: {arg.name} by {run.__name__}")
                count += array is not None
    assert count


@pytest.mark.parametrize("op", [op for op in TAKING if op.result is not None], ids=lambda op: op.name)
def test_outputs_may_be_brought_one_at_a_time(op: Op) -> None:
    for case in cases(op, usual_types(op)):
        wanted = eager.run(op, case.arrays, dict(case.attrs))
        out = brought(case, wanted)
        for place in range(len(out)):
            alone = [array if p == place else None for p, array in enumerate(out)]
            for got, want in zip(called(case, out=alone), wanted, strict=True):
                assert_same(got, want, str(case))


@pytest.mark.parametrize("name", ["float16", "float32", "float64", "bfloat16"])
def test_a_large_array_need_not_be_aligned_for_vectors(name: str) -> None:
    dtype = dtypes.numpy_dtype(name)
    rng = np.random.default_rng(0)
    indices, segment_ids = rng.integers(0, 1 << 17, 1 << 17), np.arange(1 << 17) * 2
    grad = rng.integers(-4, 5, (1 << 18, 32)).astype(dtype)
    entries = {"indices": indices, "segment_ids": segment_ids}
    pooled = raw_ops.SparseSegmentSumWithNumSegments(data=grad, **entries, num_segments=1 << 18)
    dense = raw_ops.SparseSegmentSumGrad(grad=grad, **entries, output_dim0=1 << 17)
    out = poisoned(pooled)
    assert_same(
        raw_ops.SparseSegmentSumWithNumSegments(data=grad, **entries, num_segments=1 << 18, out=out), pooled, name
    )
    out = poisoned(dense)
    assert_same(raw_ops.SparseSegmentSumGrad(grad=grad, **entries, output_dim0=1 << 17, out=out), dense, name)


def test_lists_and_numbers_go_into_an_array_too() -> None:
    out = np.empty((1, 1), np.float32)
    assert raw_ops.SparseSegmentSum(data=[[1.0], [2.0]], indices=[0, 1], segment_ids=[0, 0], out=out) is out
    assert out.tolist() == [[3.0]]


def test_none_is_like_saying_nothing_even_to_an_op_that_takes_no_array() -> None:
    for op in native_ops():
        case = next(cases(op, usual_types(op)))
        assert_same_results(case, called(case.fresh(), out=None), eager.functional(op, case.arrays, dict(case.attrs)))


def test_a_file_in_memory_may_be_brought(tmp_path: Path) -> None:
    table = np.memmap(tmp_path / "gradient", np.float64, "w+", shape=(3, 2))
    assert raw_ops.SparseSegmentSumGrad(**DENSE, out=table) is table
    assert table.sum() == 6.0


def test_settings_and_an_array_go_together() -> None:
    out = np.empty((1, 1), np.float32)
    bags = {"data": [[1.0], [2.0]], "indices": [0, 1], "segment_ids": [0, 0]}
    assert raw_ops.SparseSegmentSum(**bags, sparse_gradient=True, name="pooled", out=out) is out


@pytest.mark.parametrize("function", [gradbag.segment_sum, gradbag.segment_mean, gradbag.segment_sqrt_n])
@pytest.mark.parametrize("segments", [None, 2])
def test_the_friendly_functions_take_one(function: Any, segments: Any) -> None:
    bags = [np.arange(6.0).reshape(3, 2), [0, 2, 1], [0, 0, 1], segments]
    out = np.full((2, 2), np.nan)
    assert function(*bags, out=out) is out
    assert_same(out, function(*bags))


# ------------------------------------------------------------------ refusals
def spoilt(array: Any) -> Iterator[tuple[str, Any, type[Exception]]]:
    """Arrays that are nearly right: the words of the refusal, the array, the kind of error."""
    wrong, unsupported = gradbag.InvalidArgumentError, gradbag.UnsupportedTypeError
    shape = list(array.shape)
    yield rf"must have shape \[{', '.join(map(str, shape))}\]; got \[", np.empty((*shape, 2), array.dtype), wrong
    other = "float32" if array.dtype != np.float32 else "float64"
    yield rf"must be {dtypes.name_of(array.dtype)}; got {other}$", np.empty(shape, other), unsupported
    yield r"must be a NumPy array; got list$", [array], unsupported
    yield r"must be a NumPy array; got MaskedArray$", np.ma.masked_array(array), unsupported
    frozen = array.copy()
    frozen.flags.writeable = False
    yield r"must be writeable; got a read-only array$", frozen, wrong
    if array.size > 1:
        spread = np.empty((*shape[:-1], shape[-1] * 2), array.dtype)[..., ::2]
        yield r"must be C-contiguous; got strides \[", spread, wrong
    if array.itemsize > 1:
        odd = np.empty(array.nbytes + 1, np.uint8)[1:].view(array.dtype).reshape(shape)
        yield r"must be aligned; got an address that \d does not divide$", odd, wrong


@each_op
def test_an_array_that_is_not_exactly_right_is_refused_by_name_before_anything_is_written(op: Op) -> None:
    case = next(cases(op, usual_types(op)))
    wanted = eager.run(op, case.arrays, dict(case.attrs))
    for place, right in enumerate(brought(case, wanted)):
        if right is None:
            continue
        label = "out" if op.result is None else rf"out\[{place}\] \({op.outputs[place].name}\)"
        for words, array, error in spoilt(right):
            out = brought(case, wanted)
            before = [None if o is None else o.tobytes() for o in out]
            changed = [array if p == place else o for p, o in enumerate(out)]
            with pytest.raises(error, match=rf"^{op.name}: {label} {words}"):
                called(case, out=passed(op, changed))
            for one, same in zip(out, before, strict=True):
                assert one is None or one.tobytes() == same


@each_op
def test_an_array_that_overlaps_an_input_is_refused(op: Op) -> None:
    count = 0
    for case in cases(op, usual_types(op)):
        wanted = eager.run(op, case.arrays, dict(case.attrs))
        for place, right in enumerate(brought(case, wanted)):
            for number, name, array in case.given:
                if right is None or not right.nbytes or not array.nbytes:
                    continue
                memory = np.zeros(array.nbytes + right.nbytes + 16, np.uint8)
                same = memory[: array.nbytes].view(array.dtype).reshape(array.shape)
                same[...] = array
                start = (array.nbytes - 1) // 16 * 16  # they share the input's last bytes only
                over = memory[start : start + right.nbytes].view(right.dtype).reshape(right.shape)
                out = [over if p == place else None for p in range(len(wanted))]
                words = rf"memory of its own; got .* overlaps {re.escape(name)}$"
                with pytest.raises(gradbag.InvalidArgumentError, match=words):
                    called(case.replaced({number: same}), out=passed(op, out))
                count += 1
    assert count


def test_a_wrong_shape_is_told_in_the_usual_words() -> None:
    with pytest.raises(gradbag.InvalidArgumentError) as refusal:
        raw_ops.SparseSegmentMeanGrad(**DENSE, out=np.empty((3, 3)))
    assert str(refusal.value) == "SparseSegmentMeanGrad: out must have shape [3, 2]; got [3, 3]"


def test_an_array_in_the_gaps_of_an_input_overlaps_nothing() -> None:
    memory = np.zeros(8)
    spread = memory[::3]
    spread[...] = [1.0, 2.0, 4.0]
    out = memory[1:3]
    d_values, d_default = raw_ops.SparseFillEmptyRowsGrad(**{**SPLIT, "grad_values": spread}, out=(out, None))
    assert (d_values.tolist(), float(d_default)) == ([1.0, 4.0], 2.0)
    assert spread.tolist() == [1.0, 2.0, 4.0]


def test_two_outputs_do_not_share_an_array() -> None:
    both = np.empty(2)
    message = r"^SparseFillEmptyRowsGrad: out\[1\] \(d_default_value\) must be memory of its own; got an array that "
    with pytest.raises(gradbag.InvalidArgumentError, match=message + r"overlaps out\[0\] \(d_values\)$"):
        raw_ops.SparseFillEmptyRowsGrad(**SPLIT, out=(both, both[1:].reshape(())))


@pytest.mark.parametrize(
    ("out", "words"),
    [
        (np.empty(2), r"out must be a tuple for \(d_values, d_default_value\); got ndarray"),
        ({}, r"out must be a tuple for \(d_values, d_default_value\); got dict"),
        ([None], r"out must be a tuple for \(d_values, d_default_value\); got 1 of them"),
        ((np.empty(2), 0.0), r"out\[1\] \(d_default_value\) must be a NumPy array; got float"),
    ],
    ids=["array", "dict", "too few", "number"],
)
def test_several_outputs_take_a_tuple_with_a_place_for_each(out: Any, words: str) -> None:
    with pytest.raises(gradbag.Error, match=f"^SparseFillEmptyRowsGrad: {words}$"):
        raw_ops.SparseFillEmptyRowsGrad(**SPLIT, out=out)


def test_an_output_that_must_be_counted_cannot_be_brought() -> None:
    tensor = {"indices": [[0, 0]], "values": [1.0], "dense_shape": [1, 1], "default_value": 0.0}
    message = r"out\[1\] \(output_values\) must be None; got an array, but its size is only known when it is counted$"
    with pytest.raises(gradbag.InvalidArgumentError, match=message):
        raw_ops.SparseFillEmptyRows(**tensor, out=(None, np.empty(1), None, None))
    compact = {"grad": [[1.0]], "indices": [0], "segment_ids": [0], "dense_output_dim0": 1}
    with pytest.raises(TypeError, match=r"^SparseSegmentSumGradV2 takes no out: the sizes of its outputs are only "):
        raw_ops.SparseSegmentSumGradV2(**compact, out=(np.empty((1, 1)), None))


def test_beside_a_traced_argument_there_is_no_array_to_write_into() -> None:
    out = np.empty((1, 1))
    message = r"^SparseSegmentSum: out must be None where an argument is Traced; got an array$"
    with pytest.raises(gradbag.InvalidArgumentError, match=message):
        gradbag.grad(lambda t: gradbag.segment_sum(t, [0], [0], out=out).sum())(np.ones((1, 1)))
    with pytest.raises(
        gradbag.UnsupportedTypeError, match=r"^SparseSegmentSum: out must be a NumPy array; got Traced$"
    ):
        gradbag.grad(lambda t: gradbag.segment_sum(np.ones((1, 1)), [0], [0], out=t).sum())(out)


def test_after_a_bad_index_the_array_still_belongs_to_the_caller() -> None:
    out = np.empty((3, 2))
    with pytest.raises(gradbag.InvalidArgumentError, match=r"indices\[1\] == 9 out of range \[0, 3\)"):
        raw_ops.SparseSegmentSumGrad(**{**DENSE, "indices": [0, 9, 1]}, out=out)
    assert raw_ops.SparseSegmentSumGrad(**DENSE, out=out).sum() == 6.0


@pytest.mark.skipif(not eager.available(), reason="a body makes its answer first, and copies it")
def test_what_is_brought_does_not_count_as_memory_asked_for() -> None:
    out = np.empty((3, 2))
    gradbag.set_memory_limit(24)  # a kernel's working memory for three ids
    try:
        with pytest.raises(gradbag.ResourceExhaustedError):
            raw_ops.SparseSegmentSumGrad(**DENSE)
        assert raw_ops.SparseSegmentSumGrad(**DENSE, out=out) is out
    finally:
        gradbag.set_memory_limit(None)
