"""Bags: arrays that fit together, the ways in and out that need NumPy or SciPy, and what is refused in which words."""

import doctest
import pickle
import re
from array import array
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import scipy.sparse

import gradbag
from gradbag import Bags, SparseTensor
from gradbag.bags import bags as bags_module
from gradbag.bags import ragged

LISTS = [[7, 2, 2], [], [5]]
WEIGHTS = [[0.5, 1.0, 2.0], [], [4.0]]


def weighted() -> Bags:
    return Bags.from_lists(LISTS, WEIGHTS)


# ------------------------------------------------------------------ construction
def test_the_parts_are_what_was_given() -> None:
    bags = Bags([7, 2, 2, 5], [0, 3, 3], [0.5, 1.0, 2.0, 4.0])
    assert (len(bags), bags.count) == (3, 4)
    assert (bags.ids.tolist(), bags.offsets.tolist(), bags.splits.tolist()) == ([7, 2, 2, 5], [0, 3, 3], [0, 3, 3, 4])
    assert (bags.lengths.tolist(), bags.rows.tolist()) == ([3, 0, 1], [0, 0, 0, 2])
    assert (bags.ids.dtype, bags.offsets.dtype, bags.weights.dtype) == (np.int64, np.int64, np.float32)


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("floating", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
def test_arrays_are_kept_without_a_copy(index: Any, floating: Any) -> None:
    given = np.arange(4, dtype=index), np.array([0, 3], index), np.ones(4, floating)
    bags = Bags(*given)
    for kept, mine in zip(bags.to_offsets(), given, strict=True):
        assert kept is not None
        assert np.shares_memory(kept, mine)
        assert kept.dtype == mine.dtype


def test_nothing_can_be_changed() -> None:
    ids = np.arange(4)
    bags = Bags(ids, [0, 3])
    with pytest.raises(AttributeError):
        bags.ids = ids  # type: ignore[misc]
    for part in (bags.ids, bags.offsets, bags.splits, bags[0].ids):
        with pytest.raises(ValueError, match="read-only"):
            part[0] = 1
    ids[0] = 9  # the caller's own array stays writable
    with pytest.raises(TypeError, match="unhashable"):
        hash(bags)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "uint32", "uint64", ">i8", "longlong"])
def test_other_integers_become_int64(dtype: str) -> None:
    bags = Bags(np.array([1, 2], dtype), np.array([0, 1], dtype))
    assert bags.ids.dtype.num == bags.offsets.dtype.num == np.dtype(np.int64).num
    assert bags == Bags([1, 2], [0, 1])


def test_strided_and_unaligned_arrays_become_such_as_kernels_take() -> None:
    unaligned = np.zeros(8 * 3 + 1, np.uint8)[1:].view(np.int64)
    for ids in (np.arange(6)[::2], np.arange(3)[::-1], unaligned):
        bags = Bags(ids, [0])
        assert bags.ids.flags.c_contiguous
        assert bags.ids.flags.aligned
        assert bags.ids.tolist() == ids.tolist()


def test_any_integer_is_an_id_and_any_float_a_weight() -> None:
    bags = Bags([-1, 2**62], [0], [np.nan, -np.inf])
    assert bags.ids.tolist() == [-1, 2**62]
    assert bags == Bags([-1, 2**62], [0], [np.nan, -np.inf])


def test_empty_everything() -> None:
    for bags in (
        Bags([], []),
        Bags.from_lists([]),
        Bags.from_offsets([], [0], include_last_offset=True),
        Bags.from_lengths([], []),
        Bags.from_coo([], []),
        Bags.concatenate([]),
        Bags.from_csr(scipy.sparse.csr_array((0, 0))),
        Bags.from_sparse(SparseTensor([], np.array([], np.int64), [0, 0])),
    ):
        assert (len(bags), bags.count, bags.lengths.tolist(), bags.to_lists(), list(bags)) == (0, 0, [], [], [])
        assert bags.splits.tolist() == [0]
    assert repr(Bags([], [])) == "Bags([], 0 bags of 0 ids, int64)"
    assert Bags([], [0, 0], []).to_lists("weights") == [[], []]


TYPE, VALUE, ROOM = gradbag.UnsupportedTypeError, gradbag.InvalidArgumentError, gradbag.ResourceExhaustedError


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Bags([1, 2], [1]), VALUE, "Bags: offsets[0] == 1 out of range [0, 1)"),
        (lambda: Bags([1, 2], [0, 3]), VALUE, "Bags: offsets[1] == 3 out of range [0, 3)"),
        (lambda: Bags([1, 2], [0, -1]), VALUE, "Bags: offsets[1] == -1 out of range [0, 3)"),
        (lambda: Bags([1, 2], [0, 2, 1]), VALUE, "Bags: offsets[2] == 1 follows 2"),
        (lambda: Bags([1], []), VALUE, "Bags: ids[0] belongs to no bag"),
        (lambda: Bags([1.0], [0]), TYPE, "Bags: ids must be one of int32, int64; got float64"),
        (lambda: Bags([True], [0]), TYPE, "Bags: ids must be one of int32, int64; got bool"),
        (lambda: Bags(["1"], [0]), TYPE, "Bags: ids must be one of int32, int64; got string"),
        (lambda: Bags(np.array([1, None], object), [0]), TYPE, "Bags: ids must be one of int32, int64; got string"),
        (lambda: Bags(np.array([], np.float32), []), TYPE, "Bags: ids must be one of int32, int64; got float32"),
        (lambda: Bags(None, [0]), VALUE, "Bags: ids must have shape [n]; got []"),
        (lambda: Bags([[1]], [0]), VALUE, "Bags: ids must have shape [n]; got [1, 1]"),
        (lambda: Bags([1], 0), VALUE, "Bags: offsets must have shape [bags]; got []"),
        (lambda: Bags([1], [0.0]), TYPE, "Bags: offsets must be one of int32, int64; got float64"),
        (lambda: Bags([[1], [1, 2]], [0]), VALUE, "Bags: ids must be an array; got list: "),
        (lambda: Bags([2**63], [0]), VALUE, "Bags: ids[0] == 9223372036854775808 does not fit int64"),
        (lambda: Bags([1, 2], [0], [1.0]), VALUE, "Bags: weights must have shape [n] with n=2; got [1]"),
        (lambda: Bags([1], [0], np.array([1])), TYPE, "Bags: weights must be one of float16, bfloat16, "),
        (lambda: Bags([1], [0], ["1.5"]), TYPE, "Bags: weights must be one of float16, bfloat16, "),
        (lambda: Bags([1], [0], [1j]), TYPE, "Bags: weights must be one of float16, bfloat16, "),
        (lambda: Bags(np.ma.array([1], mask=[1]), [0]), TYPE, "Bags: ids is a masked array; fill it first"),
        (lambda: Bags.from_offsets([1], [], include_last_offset=True), VALUE, "Bags: offsets must be at least "),
        (lambda: Bags.from_offsets([1], [1], include_last_offset=True), VALUE, "Bags: ids[0] belongs to no bag"),
        (
            lambda: Bags.from_offsets([1, 2], [0, 1], include_last_offset=True),
            VALUE,
            "Bags: offsets[1] == 1 must be the end of the last bag: there are 2 ids",
        ),
        (lambda: Bags.from_lengths([1], [-1, 2]), VALUE, "Bags.from_lengths: lengths[0] == -1 out of range [0, 2)"),
        (
            lambda: Bags.from_lengths([1], [2**62, 2**62, 2**62, 2**62, 1]),  # the sum wraps to 1
            VALUE,
            "Bags.from_lengths: lengths[0] == 4611686018427387904 out of range [0, 2)",
        ),
        (
            lambda: Bags.from_lengths([1, 2], [1]),
            VALUE,
            "Bags.from_lengths: lengths must be 2 in all, as many as ids; ",
        ),
        (lambda: Bags.from_lengths([1], []), VALUE, "Bags.from_lengths: lengths must be 1 in all"),
        (lambda: Bags.from_coo([2], [1], num_bags=2), VALUE, "Bags.from_coo: rows[0] == 2 out of range [0, 2)"),
        (lambda: Bags.from_coo([0, -1], [1, 2]), VALUE, "Bags.from_coo: rows[1] == -1 out of range [0, 1)"),
        (lambda: Bags.from_coo([0, 0], [1]), VALUE, "Bags.from_coo: rows must have shape [n] with n=1; got [2]"),
        (lambda: Bags.from_coo([1, 0], [1, 2], [1.0]), VALUE, "Bags: weights must have shape [n] with n=2; got [1]"),
        (lambda: Bags.from_coo([], [], num_bags=-1), VALUE, "Bags.from_coo: num_bags == -1 must not be negative"),
        (lambda: Bags.from_coo([], [], num_bags=1.0), TYPE, "Bags.from_coo: num_bags must be an int; got float"),
        (
            lambda: Bags.from_coo([0], [1], num_bags=10**15),
            ROOM,
            "Bags.from_coo: offsets of shape [1000000000000001]; ",
        ),
        (lambda: Bags.from_coo([2**62], [1]), ROOM, "Bags.from_coo: offsets of shape [4611686018427387906]; "),
        (lambda: Bags.from_lists([[1], [2, 1.5]]), TYPE, "Bags.from_lists: ids[1][1] must be an int; got float"),
        (lambda: Bags.from_lists([[1], ["2"]]), TYPE, "Bags.from_lists: ids[1][0] must be an int; got str"),
        (lambda: Bags.from_lists([[1], [None]]), TYPE, "Bags.from_lists: ids[1][0] must be an int; got NoneType"),
        (lambda: Bags.from_lists([[1], None]), TYPE, "Bags.from_lists: ids[1] must be a list, each item an int; got N"),
        (lambda: Bags.from_lists([1]), TYPE, "Bags.from_lists: ids[0] must be a list, each item an int; got int"),
        (lambda: Bags.from_lists(7), TYPE, "Bags.from_lists: ids must be a list of lists; got int"),
        (lambda: Bags.from_lists([[-(2**63) - 1]]), VALUE, "Bags.from_lists: ids[0][0] == -9223372036854775809 does "),
        (lambda: Bags.from_lists([np.array([1.5])]), TYPE, "Bags: ids must be one of int32, int64; got float64"),
        (lambda: Bags.from_lists([{1.5}]), TYPE, "Bags.from_lists: ids[0] must be a list, each item an int; got set"),
        (lambda: Bags.from_lists([[1]], [["1"]]), TYPE, "Bags.from_lists: weights[0][0] must be a number; got str"),
        (
            lambda: Bags.from_lists([[1]], [[1.0], []]),
            VALUE,
            "Bags.from_lists: weights must be in 1 bags, as ids; got 2",
        ),
        (
            lambda: Bags.from_lists([[1, 2], [3]], [[1.0], [2.0, 3.0]]),
            VALUE,
            "Bags.from_lists: weights[0] must be of length 2, as ids[0]; got 1",
        ),
        (
            lambda: Bags([1], [0]).to_lists("weight"),
            VALUE,
            "Bags.to_lists: part must be 'ids' or 'weights'; got 'weight'",
        ),
        (lambda: Bags([1], [0]).astype("int16"), TYPE, "Bags.astype: ids must be one of int32, int64; got int16"),
        (lambda: Bags([1], [0]).astype("ids"), TYPE, "Bags.astype: ids must be one of int32, int64; got 'ids'"),
        (lambda: Bags([2**31], [0]).astype("int32"), VALUE, "Bags.astype: ids[0] == 2147483648 does not fit int32"),
        (lambda: Bags([1], [0]).astype(weights="float32"), VALUE, "Bags.astype: weights must be left out"),
        (lambda: Bags.concatenate([Bags([], []), 1]), TYPE, "Bags.concatenate: parts[1] must be Bags; got int"),
        (lambda: Bags.concatenate([Bags([], []), weighted()]), VALUE, "Bags.concatenate: parts[1] must be all with w"),
        (lambda: Bags.from_csr(scipy.sparse.coo_array((2, 2))), TYPE, "Bags.from_csr: array must be a CSR array with"),
        (
            lambda: Bags.from_csr(scipy.sparse.csr_array(np.eye(2, dtype=np.int64))),
            TYPE,
            "Bags: weights must be one of float16, bfloat16, float32, float64; got int64",
        ),
        (lambda: Bags([-1], [0]).to_csr(), VALUE, "Bags.to_csr: ids[0] == -1 out of range [0, 0)"),
        (lambda: Bags([3], [0]).to_csr(3), VALUE, "Bags.to_csr: ids[0] == 3 out of range [0, 3)"),
        (
            lambda: Bags.from_sparse(SparseTensor([[0]], [1], [1])),
            VALUE,
            "Bags.from_sparse: tensor must have shape [bags length]; got [1]",
        ),
        (
            lambda: Bags.from_sparse(SparseTensor([[0, 0]], [1.5], [1, 1])),
            TYPE,
            "Bags: ids must be one of int32, int64",
        ),
        (
            lambda: Bags.from_sparse(SparseTensor([[5, 0]], [1], [1, 1])),
            VALUE,
            "Bags.from_coo: rows[0] == 5 out of range [0, 1)",
        ),
        (
            lambda: Bags.from_sparse(SparseTensor([[0, 0]], [1], [1, 2]), SparseTensor([[0, 1]], [1.0], [1, 2])),
            VALUE,
            "Bags.from_sparse: weights must be at the places of the ids; got other indices",
        ),
        (lambda: Bags.of(7), TYPE, "Bags.from_lists: ids must be a list of lists; got int"),
        (
            lambda: Bags.of(weighted().to_csr(), WEIGHTS),
            VALUE,
            "Bags.of: weights must be left out, as they are part of",
        ),
    ],
)
def test_refusals(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match="^" + re.escape(message)):
        make()


# ------------------------------------------------------------------ bags of bags
def test_a_bag_and_all_of_them() -> None:
    bags = weighted()
    ids, weights = bags[0]
    assert (ids.tolist(), weights.tolist()) == (LISTS[0], WEIGHTS[0])
    assert bags[-1].ids.tolist() == bags[np.int64(2)].ids.tolist() == [5]
    assert [(bag.ids.tolist(), bag.weights.tolist()) for bag in bags] == list(zip(LISTS, WEIGHTS, strict=True))
    assert [bag.weights for bag in Bags([1], [0])] == [None]


@pytest.mark.parametrize("index", [3, -4, "1", None, (0, 1), [[0]], [3], [True, False], 0.0], ids=repr)
def test_what_is_not_there(index: Any) -> None:
    with pytest.raises(IndexError):
        weighted()[index]


@pytest.mark.parametrize("step", [None, 1, 2, -1, -2])
@pytest.mark.parametrize("stop", [None, -1, 0, 2, 9])
@pytest.mark.parametrize("start", [None, -2, 1, 9])
def test_slices_are_those_of_a_list(start: Any, stop: Any, step: Any) -> None:
    cut = slice(start, stop, step)
    bags = weighted()[cut]
    assert (bags.to_lists(), bags.to_lists("weights")) == (LISTS[cut], WEIGHTS[cut])


def test_a_slice_shares_the_memory() -> None:
    bags = weighted()
    for part in (bags[:1], bags[1:], bags[2:]):
        assert np.shares_memory(part.ids, bags.ids)
        assert np.shares_memory(part.weights, bags.weights)
    assert np.shares_memory(bags[:2].offsets, bags.offsets)  # others have to be counted from zero


@pytest.mark.parametrize("places", [[2, 0, 2], [], np.array([-1]), np.array([True, False, True])], ids=repr)
def test_several_by_their_numbers_or_by_a_mask(places: Any) -> None:
    wanted = [LISTS[place] for place in np.arange(3)[places]]
    assert weighted()[places].to_lists() == wanted


def test_int32_offsets_stay_so() -> None:
    bags = Bags([1, 2], np.array([0, 1], np.int32))
    assert bags.splits.dtype == bags.lengths.dtype == bags[1:].offsets.dtype == np.int32


def test_equality_is_of_numbers() -> None:
    bags = weighted()
    assert bags == bags.astype("int32", offsets="int32", weights="float64")
    assert bags != Bags.from_lists(LISTS)
    assert Bags.from_lists(LISTS) != bags
    assert bags != Bags.from_lists([[7, 2], [2], [5]], [[0.5, 1.0], [2.0], [4.0]])
    assert bags != Bags(bags.ids + 1, bags.offsets, bags.weights)
    assert bags != Bags(bags.ids, bags.offsets, bags.weights + 1)
    assert bags != LISTS


def test_casting() -> None:
    bags = weighted().astype("int32", offsets=np.int32, weights="bfloat16")
    assert (bags.ids.dtype, bags.offsets.dtype, bags.weights.dtype) == (np.int32, np.int32, ml_dtypes.bfloat16)
    assert np.shares_memory(bags.astype("int32").ids, bags.ids)


def test_one_after_the_other() -> None:
    bags = Bags.concatenate([weighted(), weighted()[2:], weighted()[:0]])
    assert (bags.to_lists(), bags.to_lists("weights")) == (LISTS + LISTS[2:], WEIGHTS + WEIGHTS[2:])
    mixed = Bags.concatenate([Bags(np.array([1], np.int32), [0]), Bags([2**40], [0])])
    assert mixed.ids.tolist() == [1, 2**40]


def test_the_repr_is_short_however_much_there_is() -> None:
    assert repr(weighted()) == "Bags([[7, 2, 2], [], [5]], 3 bags of 4 ids, int64, weights of float32)"
    many = Bags.from_lists([list(range(9))] + [[1]] * 9)
    assert repr(many) == "Bags([[0, 1, 2, 3, 4, 5, ...], [1], [1], [1], ...], 10 bags of 18 ids, int64)"


def test_a_copy_by_pickle_is_checked_as_well() -> None:
    bags = pickle.loads(pickle.dumps(weighted()))  # noqa: S301  # our own bytes
    assert bags == weighted()
    assert not bags.ids.flags.writeable


def test_a_look_up_takes_the_parts() -> None:
    table = np.eye(8, dtype=np.float32)
    bags = weighted()
    pooled = gradbag.raw_ops.EmbeddingBag(
        table=table, ids=bags.ids, offsets=bags.offsets, weights=bags.weights, combiner="sum"
    )
    assert pooled.tolist() == [
        sum((table[id] * weight for id, weight in zip(*bag, strict=True)), np.zeros(8)).tolist() for bag in bags
    ]


# ------------------------------------------------------------------ the ways in
def test_lists_of_many_kinds() -> None:
    same = [
        ((7, 2, 2), [], range(5, 6)),
        [array("i", [7, 2, 2]), array("i"), array("i", [5])],
        [np.array([7, 2, 2]), np.array([], np.int64), np.array([5])],
        [np.array([7, 2, 2]), [], (5,)],
        (list(items) for items in LISTS),
        {"a": [7, 2, 2], "b": [], "c": [5]}.values(),
    ]
    for lists in same:
        assert Bags.from_lists(lists).to_lists() == LISTS
    assert Bags.of(np.arange(6, dtype=np.int32).reshape(2, 3)).to_lists() == [[0, 1, 2], [3, 4, 5]]


def test_arrays_in_a_list_keep_their_dtype() -> None:
    bags = Bags.from_lists([np.array([1], np.int32)] * 2, [np.array([1.0])] * 2)
    assert (bags.ids.dtype, bags.weights.dtype) == (np.int32, np.float64)


def test_unsorted_rows_are_sorted_stably() -> None:
    bags = Bags.from_coo([1, 0, 1, 0], [4, 3, 2, 1], [0.4, 0.3, 0.2, 0.1], num_bags=np.int64(3))
    assert bags == Bags.from_lists([[3, 1], [4, 2], []], [[0.3, 0.1], [0.4, 0.2], []])


def test_sorted_rows_are_not_copied() -> None:
    ids, weights = np.arange(3), np.ones(3)
    bags = Bags.from_coo([0, 0, 4], ids, weights)
    assert len(bags) == 5
    assert np.shares_memory(bags.ids, ids)
    assert np.shares_memory(bags.weights, weights)


def test_csr_is_not_copied() -> None:
    csr = scipy.sparse.csr_array(np.array([[0.0, 2.0, 3.0], [0.0, 0.0, 0.0], [4.0, 0.0, 0.0]]))
    bags = Bags.from_csr(csr)
    assert (bags.to_lists(), bags.to_lists("weights")) == ([[1, 2], [], [0]], [[2.0, 3.0], [], [4.0]])
    for mine, theirs in ((bags.ids, csr.indices), (bags.offsets, csr.indptr), (bags.weights, csr.data)):
        assert np.shares_memory(mine, theirs)
    back = bags.to_csr(3)
    assert np.shares_memory(back.data, csr.data)
    assert (back != csr).nnz == 0
    assert Bags.from_csr(csr.astype(np.int64), weighted=False) == Bags(bags.ids, bags.offsets)


def test_csr_with_room_for_more_and_csr_that_lies() -> None:
    csr = scipy.sparse.csr_array((np.ones(5), np.arange(5), np.array([0, 2])), shape=(1, 5))
    assert Bags.from_csr(csr).to_lists() == [[0, 1]]
    csr.indptr[:] = [0, 9]
    with pytest.raises(gradbag.Error, match=r"^Bags: offsets\[1\] == 9 must be the end"):
        Bags.from_csr(csr)


def test_a_csr_of_bags_keeps_repeated_ids() -> None:
    csr = weighted().to_csr()
    assert (csr.shape, csr.nnz) == ((3, 8), 4)
    assert Bags.from_csr(Bags.from_lists(LISTS).to_csr(10)).to_lists("weights") == [[1.0] * 3, [], [1.0]]


def test_sparse_rows_in_any_order() -> None:
    ids = SparseTensor([[2, 0], [0, 1], [0, 0]], np.array([7, 2, 5], np.int32), [4, 2])
    bags = Bags.from_sparse(ids)
    assert bags.to_lists() == [[2, 5], [], [7], []]
    assert bags.ids.dtype == np.int32
    tensor = weighted().to_sparse("weights")
    assert tensor.to_dense().tolist() == [[0.5, 1.0, 2.0], [0.0] * 3, [4.0, 0.0, 0.0]]
    assert Bags.from_lists(LISTS).to_sparse("weights") is None


def test_anything_is_recognised() -> None:
    bags = weighted()
    assert Bags.of(bags) is bags
    assert Bags.of(bags, [1.0] * 4).weights.tolist() == [1.0] * 4
    for value, weights in ((LISTS, WEIGHTS), (bags.to_csr(), None), (bags.to_sparse(), bags.to_sparse("weights"))):
        assert Bags.of(value, weights) == bags


# ------------------------------------------------------------------ what is written about it
def test_what_docstrings_show_is_what_happens() -> None:
    counts = [doctest.testmod(module) for module in (bags_module, ragged)]
    assert sum(count.attempted for count in counts) >= 20
    assert sum(count.failed for count in counts) == 0


def test_what_the_page_shows_is_what_happens() -> None:
    text = (Path(__file__).parents[2] / "docs" / "bags.md").read_text(encoding="utf-8")
    blocks = [b for b in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "import t" not in b]
    parsed = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "bags.md", None, 0)
    assert len(parsed.examples) >= 10
    assert doctest.DocTestRunner().run(parsed).failed == 0


def test_no_library_is_imported_to_build_or_to_read(python: Any) -> None:
    program = """
import numpy, gradbag
bags = gradbag.Bags.from_lists([[1, 2], [3]], [[1, 2], [3]])
gradbag.Bags.of(bags.to_lists()), gradbag.Bags.of(bags.to_sparse()), bags[::-1], bags.to_coo()
import gradbag.bags.arrow
print([name for name in ("scipy", "pyarrow", "torch", "tensorflow", "jax", "polars", "pandas") if name in sys.modules])
"""
    done = python(program)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")
