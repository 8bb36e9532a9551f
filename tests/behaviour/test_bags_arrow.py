"""Columns of lists that other libraries export by Arrow's C data interface, honest ones and others."""

import gc
import re
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import gradbag
from gradbag import Bags
from gradbag.bags import arrow

LISTS = [[7, 2, 2], None, [], [5]]
BAGS = [[7, 2, 2], [], [], [5]]


def address(array: Any) -> int:
    return int(array.__array_interface__["data"][0])


# ------------------------------------------------------------------ pyarrow
@pytest.mark.parametrize("make", [pa.list_, pa.large_list])
@pytest.mark.parametrize("item", [pa.int32(), pa.int64()])
def test_a_list_array_is_not_copied(make: Any, item: Any) -> None:
    column = pa.array(LISTS, make(item))
    bags = Bags.from_arrow(column)
    assert bags.to_lists() == BAGS
    assert address(bags.ids) == column.values.buffers()[1].address
    assert address(bags.offsets) == column.buffers()[1].address
    assert bags.ids.dtype == item.to_pandas_dtype()
    assert bags.offsets.dtype == (np.int32 if make is pa.list_ else np.int64)
    assert not bags.ids.flags.writeable


@pytest.mark.parametrize("export", [lambda column: column, lambda column: pa.chunked_array([column])])
def test_the_memory_lives_as_long_as_the_bags(export: Any) -> None:
    before = pa.total_allocated_bytes()
    bags = Bags.from_arrow(export(pa.array([list(range(1000))] * 100)))
    ids = bags.ids
    gc.collect()
    assert pa.total_allocated_bytes() >= before + 800_000
    assert bags.to_lists() == [list(range(1000))] * 100
    del bags
    assert int(ids.sum()) == 100 * 499_500
    del ids
    gc.collect()
    assert pa.total_allocated_bytes() < before + 800_000


def test_what_is_left_at_the_end_of_a_program_does_no_harm(python: Any) -> None:
    program = """
import polars, pyarrow
from gradbag import Bags
kept = [Bags.of(polars.Series([[1, 2], [3]])), Bags.of(pyarrow.array([[1, 2], [3]])), Bags.of([[1]]).to_arrow()]
kept.append(kept)
print("done")
"""
    done = python(program)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def test_memory_that_is_not_aligned_is_copied() -> None:
    offsets, values = (pa.py_buffer(b"...." + np.array(n).tobytes()).slice(4) for n in ([0, 1, 3], [7, 2, 5]))
    column = pa.Array.from_buffers(
        pa.large_list(pa.int64()), 2, [None, offsets], children=[pa.Array.from_buffers(pa.int64(), 3, [None, values])]
    )
    bags = Bags.from_arrow(column)
    assert bags.to_lists() == [[7], [2, 5]]
    assert bags.ids.flags.aligned
    assert bags.offsets.flags.aligned


@pytest.mark.parametrize("cut", [slice(1, None), slice(0, 2), slice(3, 4), slice(2, 2)], ids=str)
def test_slices(cut: slice) -> None:
    column = pa.array(LISTS)
    bags = Bags.from_arrow(column[cut])
    assert bags.to_lists() == BAGS[cut]
    inside = address(bags.ids) - column.values.buffers()[1].address
    assert not bags.count or 0 <= inside < column.values.nbytes
    sliced_values = pa.ListArray.from_arrays(pa.array([0, 1, 3], pa.int32()), pa.array([9, 9, 1, 2, 3])[2:])
    assert Bags.from_arrow(sliced_values[1:]).to_lists() == [[2, 3]]


def test_chunks_are_joined_and_one_chunk_is_not_copied() -> None:
    column = pa.array(LISTS)
    one = pa.chunked_array([column])
    assert address(Bags.from_arrow(one).ids) == column.values.buffers()[1].address
    assert Bags.from_arrow(pa.chunked_array([column, column[3:], column[:0]])).to_lists() == [*BAGS, BAGS[3]]
    none = Bags.from_arrow(pa.chunked_array([], pa.large_list(pa.int32())))
    assert (len(none), none.ids.dtype, none.offsets.dtype) == (0, np.int32, np.int64)


def test_a_null_list_may_have_items_all_the_same() -> None:
    values = pa.array([1, None, 3, 4])
    column = pa.ListArray.from_arrays(pa.array([0, 1, 3, 4], pa.int32()), values, mask=pa.array([False, True, False]))
    assert Bags.from_arrow(column).to_lists() == [[1], [], [4]]
    assert Bags.from_arrow(column[1:]).to_lists() == [[], [4]]


@pytest.mark.parametrize("start", [0, 1, 7, 8, 9])
def test_nulls_are_found_wherever_a_column_begins(start: int) -> None:
    lists = [None if place % 3 == 0 else [place] for place in range(30)]
    column = pa.array(lists)[start:]
    assert Bags.from_arrow(column).to_lists() == [items or [] for items in lists[start:]]


def test_fixed_sizes() -> None:
    column = pa.array([[1, 2], None, [3, 4]], pa.list_(pa.int64(), 2))
    assert Bags.from_arrow(column).to_lists() == [[1, 2], [], [3, 4]]
    assert Bags.from_arrow(column[1:]).to_lists() == [[], [3, 4]]
    whole = column[2:]
    assert Bags.from_arrow(whole).to_lists() == [[3, 4]]


@pytest.mark.parametrize("item", [pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.uint32(), pa.uint64()], ids=str)
def test_other_integers_are_converted(item: Any) -> None:
    bags = Bags.from_arrow(pa.array([[1, 2], [3]], pa.list_(item)))
    assert bags == Bags.from_lists([[1, 2], [3]])
    assert bags.ids.dtype == np.int64


def test_empty_everything() -> None:
    for column in (
        pa.array([], pa.list_(pa.int64())),
        pa.array([[], None, []]),
        pa.array([None], pa.list_(pa.int32())),
    ):
        bags = Bags.from_arrow(column)
        assert bags.to_lists() == [[]] * len(column)


@pytest.mark.parametrize("item", [pa.float16(), pa.float32(), pa.float64()], ids=str)
def test_weights_stand_in_a_column_of_their_own(item: Any) -> None:
    weights = pa.array([[0.5, 1, np.nan], [], None, [4]], pa.large_list(item))
    bags = Bags.of(pa.array(LISTS), weights)  # which of the empty ones is null does not matter
    assert bags == Bags.from_lists(BAGS, [[0.5, 1, np.nan], [], [], [4]])
    assert address(bags.weights) == weights.values.buffers()[1].address


def test_out_without_a_copy() -> None:
    bags = Bags.from_lists(BAGS, [[0.5, 1, 2], [], [], [4]])
    for part in ("ids", "weights"):
        column = bags.to_arrow(part)
        column.validate(full=True)
        assert column.type == pa.large_list(pa.int64() if part == "ids" else pa.float32())
        assert column.to_pylist() == bags.to_lists(part)
        assert column.values.buffers()[1].address == address(getattr(bags, part))
        assert column.buffers()[1].address == address(bags.splits)
    assert Bags.from_lists(BAGS).to_arrow("weights") is None
    assert bags.astype(offsets="int32").to_arrow().type == pa.list_(pa.int64())
    with pytest.raises(gradbag.UnsupportedTypeError, match="weights must be one of float16, float32, float64 in Arrow"):
        bags.astype(weights="bfloat16").to_arrow("weights")


# ------------------------------------------------------------------ Polars and pandas
def test_a_series_of_polars_is_not_copied() -> None:
    series = pl.Series(LISTS, dtype=pl.List(pl.Int32))
    bags = Bags.of(series)
    assert bags.to_lists() == BAGS
    assert address(bags.ids) == address(Bags.of(series).ids)
    assert Bags.of(series[1:]).to_lists() == BAGS[1:]
    several = pl.concat([series, series], rechunk=False)
    assert several.n_chunks() == 2
    assert Bags.of(several).to_lists() == BAGS * 2
    assert Bags.of(pl.Series([[1, 2], [3, 4]], dtype=pl.Array(pl.Int64, 2))).to_lists() == [[1, 2], [3, 4]]
    assert pl.Series(bags.to_arrow()).to_list() == BAGS


def test_a_series_of_pandas() -> None:
    column = pa.array(LISTS)
    series = pd.Series(pd.arrays.ArrowExtensionArray(column))
    bags = Bags.of(series)
    assert bags.to_lists() == BAGS
    assert address(bags.ids) == column.values.buffers()[1].address
    assert Bags.from_lists(pd.Series(BAGS)).to_lists() == BAGS


# ------------------------------------------------------------------ what is refused
TYPE, VALUE = gradbag.UnsupportedTypeError, gradbag.InvalidArgumentError


@pytest.mark.parametrize(
    ("column", "error", "message"),
    [
        (pa.array([["a"]]), TYPE, "int64, uint64; got lists of strings; encode them as numbers first"),
        (pa.array([["a"]], pa.large_list(pa.large_string())), TYPE, "got lists of strings; "),
        (pa.array([["a"]], pa.list_(pa.string_view())), TYPE, "got lists of strings; "),
        (pa.array([[b"a"]]), TYPE, "got lists of bytes; "),
        (pa.array([[1.5]]), TYPE, "got lists of float64"),
        (pa.array([[True]]), TYPE, "got lists of bool"),
        (pa.array([[[1]]]), TYPE, "got lists of lists; there may be one list in a row"),
        (pa.array([[1]]).cast(pa.list_(pa.date64())), TYPE, "got lists of the format 'tdm'"),
        (pa.array([["a"]], pa.list_(pa.dictionary(pa.int32(), pa.string()))), TYPE, "lists of codes of a dictionary"),
        (pa.array([1]), TYPE, "ids must be a column of lists; got one of int64"),
        (pa.array(["a"]), TYPE, "ids must be a column of lists; got one of strings"),
        (pa.array([None]), TYPE, "ids must be a column of lists; got one of null"),
        (pa.array([[1]], pa.list_view(pa.int64())), TYPE, "ids must be a column of lists; got one of lists"),
        (pa.table({"a": [[1]]}), TYPE, "got one of structs; choose one column"),
        (pl.DataFrame({"a": [[1]]}), TYPE, "got one of structs; choose one column"),
        (pa.array([[1], [2, None]]), VALUE, "Bags.from_arrow: ids[1][1] is null; fill or drop it"),
        (pa.array([[9], [1], [2, None]])[1:], VALUE, "Bags.from_arrow: ids[1][1] is null; fill or drop it"),
        (pa.array([[None]]), VALUE, "Bags.from_arrow: ids[0][0] is null; fill or drop it"),
        (pa.array([[2**63]], pa.list_(pa.uint64())), VALUE, "Bags: ids[0] == 9223372036854775808 does not fit int64"),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else None,
)
def test_refusals(column: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=re.escape(message)):
        Bags.from_arrow(column)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (pa.array([[1, 2]]), "weights must be one of float16, float32, float64; got lists of int64"),
        (pa.array([[1.0]]), "weights[0] must be of length 2, as ids[0]; got 1"),
        (pa.array([[1.0, 2.0], []]), "weights must be in 1 bags, as ids; got 2"),
        (pa.array([None], pa.list_(pa.float32())), "weights[0] must be of length 2, as ids[0]; got 0"),
        (pa.array([[1.0, None]]), "weights[0][1] is null; fill or drop it"),
    ],
)
def test_weights_that_do_not_fit(weights: Any, message: str) -> None:
    with pytest.raises(gradbag.Error, match="^" + re.escape(f"Bags.from_arrow: {message}")):
        Bags.from_arrow(pa.array([[1, 2]]), weights)


def crafted(offsets: list[int], items: int = 3, large: bool = False) -> Any:
    """A list array whose offsets have changed after pyarrow has checked them."""
    kind, dtype = (pa.large_list(pa.int64()), np.int64) if large else (pa.list_(pa.int64()), np.int32)
    memory = np.zeros(len(offsets), dtype)
    buffers = [None, pa.py_buffer(memory)]
    column = pa.Array.from_buffers(kind, len(offsets) - 1, buffers, children=[pa.array(np.arange(items))])
    memory[:] = offsets
    return column


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (crafted([0, 4]), "ids.offsets[1] == 4 out of range [0, 4)"),
        (crafted([0, 2**31 - 1]), "ids.offsets[1] == 2147483647 out of range [0, 4)"),
        (crafted([0, 2**62], large=True), "ids.offsets[1] == 4611686018427387904 out of range [0, 4)"),
        (crafted([0, 2**62, 1], large=True), "ids.offsets[1] == 4611686018427387904 out of range [0, 4)"),
        (crafted([-1, 2]), "ids.offsets[0] == -1 out of range [0, 4)"),
        (crafted([-(2**31), 2**31 - 1]), "ids.offsets[0] == -2147483648 out of range [0, 4)"),
        (crafted([0, 3, 2]), "ids.offsets[2] == 2 follows 3"),
        (crafted([0, 3, 2])[1:], "ids.offsets[1] == 2 follows 3"),
        (crafted([0, 1], items=0), "ids.offsets[1] == 1 out of range [0, 1)"),
    ],
)
def test_offsets_that_lie(column: Any, message: str) -> None:
    with pytest.raises(gradbag.InvalidArgumentError, match="^" + re.escape(f"Bags.from_arrow: {message}")):
        Bags.from_arrow(column)


def test_honest_offsets_of_the_same_making() -> None:
    assert Bags.from_arrow(crafted([1, 1, 3])).to_lists() == [[], [1, 2]]


class Exports:
    def __init__(self, **answers: Any) -> None:
        for name, answer in answers.items():
            setattr(self, name, lambda requested=None, answer=answer: answer)


LISTED, FIXED = pa.list_(pa.int64()), pa.list_(pa.int64(), 2)


@pytest.mark.parametrize(
    ("kind", "changes", "message"),
    [
        (FIXED, {"length": 3}, "ids.offsets[3] == 6 out of range [0, 5)"),
        (FIXED, {"offset": 1}, "ids.offsets[2] == 6 out of range [0, 5)"),
        (FIXED, {"format": b"+w:9"}, "ids.offsets[1] == 9 out of range [0, 5)"),
        (FIXED, {"format": b"+w:-1"}, "ids.offsets[1] == -1 out of range [0, 5)"),
        (FIXED, {"format": b"+w:4611686018427387904"}, "ids.offsets[1] == 4611686018427387904 out of range [0, 5)"),
        (FIXED, {"format": b"+w:9223372036854775808"}, "ids must be a column of lists"),
        (FIXED, {"format": b"+w:two"}, "ids must be a column of lists"),
        (LISTED, {"format": None}, "ids must be a column of lists"),
        (LISTED, {"length": -1}, "ids is not what its schema says: length -1"),
        (LISTED, {"length": 2**60}, "ids is not what its schema says: length 1152921504606846976"),
        (LISTED, {"offset": -1}, "ids is not what its schema says: length 2, offset -1"),
        (LISTED, {"offset": 2**62}, "ids is not what its schema says: length 2, offset 4611686018427387904"),
        (LISTED, {"n_buffers": 1}, "ids is not what its schema says: length 2, offset 0, 1 buffers"),
        (LISTED, {"n_children": 0}, "ids is not what its schema says: 0 children"),
    ],
)
def test_structs_that_lie(kind: Any, changes: dict[str, Any], message: str) -> None:
    capsules = pa.array([[1, 2], [3, 4]], kind).__arrow_c_array__()
    structs = (
        arrow._Schema.from_address(arrow._pointer(capsules[0], b"arrow_schema")),
        arrow._Array.from_address(arrow._pointer(capsules[1], b"arrow_array")),
    )
    changed = [
        (s, name, getattr(s, name), value) for s in structs for name, value in changes.items() if hasattr(s, name)
    ]
    try:
        for struct, name, _, value in changed:
            setattr(struct, name, value)
        with pytest.raises(gradbag.Error, match="^" + re.escape(f"Bags.from_arrow: {message}")):
            Bags.from_arrow(Exports(__arrow_c_array__=capsules))
    finally:  # pyarrow frees what it has allocated
        for struct, name, before, _ in changed:
            setattr(struct, name, before)


@pytest.mark.parametrize(
    "column",
    [
        Exports(__arrow_c_array__=None),
        Exports(__arrow_c_array__=(1, 2)),
        Exports(__arrow_c_array__=pa.array([[1]]).__arrow_c_array__()[::-1]),
        Exports(__arrow_c_stream__=None),
        Exports(__arrow_c_stream__=pa.list_(pa.int64()).__arrow_c_schema__()),
        [[1]],
        None,
    ],
)
def test_what_is_no_capsule(column: Any) -> None:
    with pytest.raises(gradbag.UnsupportedTypeError, match=r"^Bags\.from_arrow: ids must be a column of lists"):
        Bags.from_arrow(column)


def test_what_was_taken_before() -> None:
    described, given = pa.array([[1]]).__arrow_c_array__()
    pa.array(Exports(__arrow_c_array__=(described, given)))  # it moves what the capsules hold
    with pytest.raises(gradbag.InvalidArgumentError, match=r"^Bags\.from_arrow: ids was handed over before$"):
        Bags.from_arrow(Exports(__arrow_c_array__=(described, given)))
    stream = pa.chunked_array([[[1]]]).__arrow_c_stream__()
    pa.chunked_array(Exports(__arrow_c_stream__=stream))
    with pytest.raises(gradbag.InvalidArgumentError, match=r"^Bags\.from_arrow: ids is a stream that was read before$"):
        Bags.from_arrow(Exports(__arrow_c_stream__=stream))


def test_a_stream_that_fails_says_why() -> None:
    def batches() -> Any:
        yield pa.record_batch({"a": [[1]]})
        raise OSError("the disk is gone")

    reader = pa.RecordBatchReader.from_batches(pa.schema({"a": pa.list_(pa.int64())}), batches())
    with pytest.raises(gradbag.Error, match=r"^Bags\.from_arrow: "):
        Bags.from_arrow(reader)
