"""Pooling by offsets: what the kernels give is what the NumPy functions mean, to the last bit."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import gradbag
from gradbag import dtypes
from gradbag.eager import native
from gradbag.errors import Fault
from gradbag.ops import bags
from gradbag.ops.combiners import COMBINERS, Combiner

pytestmark = pytest.mark.skipif(native is None, reason="the kernels are not installed")

Array = np.ndarray[Any, Any]
INDEX = ("int32", "int64")
SUM, MEAN, SQRTN = COMBINERS.values()
INPUTS = {
    "pool": ("table", "ids", "offsets", "weights"),
    "dot": ("grad", "table", "ids", "offsets"),
    "normalize": ("weights", "offsets"),
}


# ------------------------------------------------------------------ calling
def call(kernel: str, settings: tuple[str, ...], inputs: list[Any], outputs: list[Array], kind: str) -> None:
    fault = native.find_kernel(kernel).fill(None, [*inputs, *outputs], settings)
    if fault is not None:
        raise_fault(fault, kind)


def raise_fault(fault: tuple[Any, ...], kind: str) -> None:
    name, number, position, _, value, low, high = fault
    told: tuple[Any, ...] = () if name == "homeless" else (value, low) if name == "order" else (value, low, high)
    raise Fault(name, INPUTS[kind][number], (position,), *told)


def suffix(array: Array, *indices: Array) -> str:
    return "__" + "_".join([dtypes.name_of(array.dtype), *[i.dtype.name for i in indices]])


class Kernels:
    """The native kernels with the signatures of the NumPy functions; outputs hold rubbish before they are filled."""

    @staticmethod
    def pool_bags(table: Array, ids: Array, offsets: Array, weights: Array, combiner: Combiner) -> Array:
        out = np.full((len(offsets), *table.shape[1:]), 77, table.dtype)
        call(
            "bag_reduce" + suffix(table, ids, offsets), (combiner.name,), [table, ids, offsets, weights], [out], "pool"
        )
        return out

    @staticmethod
    def scatter_bags(grad: Array, ids: Array, offsets: Array, weights: Array, rows: int, combiner: Combiner) -> Array:
        out = np.full((rows, *grad.shape[1:]), 77, grad.dtype)
        call("bag_grad" + suffix(grad, ids, offsets), (combiner.name,), [grad, ids, offsets, weights], [out], "pool")
        return out

    @staticmethod
    def scatter_bags_compact(
        grad: Array, ids: Array, offsets: Array, weights: Array, rows: int, combiner: Combiner
    ) -> tuple[Array, Array]:
        types = suffix(grad, ids, offsets)
        inputs = [grad, ids, offsets, weights, np.array(rows)]
        plan = native.find_kernel("bag_grad_compact_plan" + types).count(inputs, (combiner.name,))
        if isinstance(plan, tuple):
            raise_fault(plan, "pool")
        (unique,) = plan.sizes
        out, touched = np.full((unique, *grad.shape[1:]), 77, grad.dtype), np.full(unique, -1, ids.dtype)
        fill = native.find_kernel("bag_grad_compact" + types).fill
        assert fill(plan, [*inputs, out, touched], (combiner.name,)) is None
        return out, touched

    @staticmethod
    def dot_bags(grad: Array, table: Array, ids: Array, offsets: Array) -> Array:
        out = np.full(len(ids), 77, table.dtype)
        call("bag_dot" + suffix(table, ids, offsets), (), [grad, table, ids, offsets], [out], "dot")
        return out

    @staticmethod
    def normalize_bags(weights: Array, offsets: Array, combiner: Combiner) -> Array:
        out = np.full(len(weights), 77, weights.dtype)
        call("bag_normalize" + suffix(weights, offsets), (combiner.name,), [weights, offsets], [out], "normalize")
        return out


def assert_same(got: Array, want: Array) -> None:
    """Equal bits; of a NaN only that it is one."""
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    nan = np.isnan(want)
    assert np.array_equal(np.isnan(got), nan)
    unsigned = f"u{want.itemsize}"
    assert np.array_equal(got.view(unsigned)[~nan], want.view(unsigned)[~nan])


def test_assert_same_bites() -> None:
    for got, want in [([0.0], [-0.0]), ([np.nan], [1.0]), ([1.0], [np.nan]), ([1.0], [2.0])]:
        with pytest.raises(AssertionError):
            assert_same(np.array(got), np.array(want))


# ------------------------------------------------------------------ cases
@pytest.fixture(params=[1, 2], ids=["one-thread", "two-threads"])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    with gradbag.set_num_threads(request.param):
        yield request.param


def some_bags(rng: np.random.Generator, count: int, rows: int, most: int, index: str) -> tuple[Array, Array]:
    """Ids and offsets: bags of 0 to `most` entries, among them some of one entry in company."""
    sizes = rng.integers(0, most + 1, count)
    sizes[count // 2 : count // 2 + 9] = 1
    offsets = np.concatenate([[0], np.cumsum(sizes)])[:-1][:count]
    return rng.integers(0, rows, int(sizes.sum())).astype(index), offsets.astype(index)


def some_rows(rng: np.random.Generator, shape: tuple[int, ...], name: str, *, special: bool) -> Array:
    rows = rng.standard_normal(shape)
    if special and rows.size:
        rows.flat[:: rows.size // 7 + 1] = -0.0
        rows.flat[:: rows.size // 3 + 1] = np.nan
        rows.flat[1 :: rows.size // 2 + 1] = np.inf
    return rows.astype(dtypes.numpy_dtype(name))


def some_weights(rng: np.random.Generator, offsets: Array, entries: int, name: str) -> Array:
    """Some bags have weights that cancel, some have zeros."""
    weights = rng.standard_normal(entries).astype(dtypes.numpy_dtype(name))
    for bag, (begin, end) in enumerate(zip(offsets, [*offsets[1:], entries], strict=False)):
        if bag % 5 == 0 and end - begin >= 2:
            weights[begin:end] = 0
            weights[begin], weights[end - 1] = 3, -3
        elif bag % 7 == 0:
            weights[begin:end] = 0
    return weights


SHAPES = [(40, 7, 30, (c,)) for c in (0, 1, 3, 8, 16, 33, 64, 100)] + [
    (40, 7, 30, (3, 5)),
    (0, 0, 5, (4,)),
    (3, 0, 5, (4,)),
    (1, 1, 1, (16,)),
    (600, 1, 400, (12,)),
    (900, 40, 5_000, (24,)),
    (2, 900, 50, (130,)),
    (30_000, 1, 900, (2,)),
]


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("name", dtypes.FLOAT)
@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: "-".join(map(str, s)))
def test_kernels_give_what_the_bodies_mean(
    shape: tuple[int, int, int, tuple[int, ...]], name: str, weighted: bool, threads: int
) -> None:
    count, most, rows, columns = shape
    rng = np.random.default_rng(count + 100 * most + 3 * rows + threads)
    ids, offsets = some_bags(rng, count, rows, most, INDEX[len(name) % 2])
    if len(columns) > 1 or columns[0] % 2:
        offsets = offsets.astype(np.int32)
    else:
        ids = ids.astype(np.int32)
    table = some_rows(rng, (rows, *columns), name, special=True)
    grad = some_rows(rng, (count, *columns), name, special=True)
    weights = some_weights(rng, offsets, len(ids), name) if weighted else np.empty(0, table.dtype)
    with np.errstate(all="ignore"):
        for combiner in COMBINERS.values():
            given = (ids, offsets, weights)
            assert_same(Kernels.pool_bags(table, *given, combiner), bags.pool_bags(table, *given, combiner))
            dense = bags.scatter_bags(grad, *given, rows, combiner)
            assert_same(Kernels.scatter_bags(grad, *given, rows, combiner), dense)
            compact, touched = Kernels.scatter_bags_compact(grad, *given, rows, combiner)
            wanted, wanted_ids = bags.scatter_bags_compact(grad, *given, rows, combiner)
            assert_same(compact, wanted)
            assert np.array_equal(touched, wanted_ids)
            assert_same(wanted, dense[wanted_ids])
            if weighted:
                normalized = bags.normalize_bags(weights, offsets, combiner)
                assert_same(Kernels.normalize_bags(weights, offsets, combiner), normalized)
        assert_same(Kernels.dot_bags(grad, table, ids, offsets), bags.dot_bags(grad, table, ids, offsets))


@pytest.mark.parametrize("ids_type", INDEX)
@pytest.mark.parametrize("offsets_type", INDEX)
@pytest.mark.parametrize("name", dtypes.FLOAT)
def test_a_table_past_the_caches(ids_type: str, offsets_type: str, name: str, threads: int) -> None:
    rng = np.random.default_rng(5)
    ids, offsets = some_bags(rng, 3_000, 30_000, 12, ids_type)
    offsets = offsets.astype(offsets_type)
    table = some_rows(rng, (30_000, 32), name, special=False)
    grad = some_rows(rng, (3_000, 32), name, special=False)
    for weights in (some_weights(rng, offsets, len(ids), name), np.empty(0, table.dtype)):
        with np.errstate(all="ignore"):
            given = (ids, offsets, weights)
            assert_same(Kernels.pool_bags(table, *given, MEAN), bags.pool_bags(table, *given, MEAN))
            dense = bags.scatter_bags(grad, *given, 30_000, MEAN)
            assert_same(Kernels.scatter_bags(grad, *given, 30_000, MEAN), dense)
            compact, touched = Kernels.scatter_bags_compact(grad, *given, 30_000, MEAN)
            assert_same(compact, dense[touched])
            assert np.array_equal(touched, np.unique(ids))
    assert_same(Kernels.dot_bags(grad, table, ids, offsets), bags.dot_bags(grad, table, ids, offsets))


@pytest.mark.parametrize("level", ["baseline", "avx2"])
def test_lower_instruction_sets_give_the_same_bits(level: str, python: Callable[..., Any]) -> None:
    if os.environ.get("GRADBAG_SIMD"):
        pytest.skip("a level was chosen for all tests")
    program = f"""
import os, sys, pytest
os.environ["GRADBAG_SIMD"] = {level!r}
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", {__file__!r}, "-k", "bodies and one-thread"]))
"""
    ran = python(program, seconds=600)
    assert ran.returncode == 0, ran.stdout


# ------------------------------------------------------------------ surprises
def test_an_empty_bag_and_weights_that_cancel_give_zeros() -> None:
    table = np.array([[1.0, -0.0], [np.inf, 2.0]], np.float32)
    ids, offsets = np.array([0, 1, 0, 0]), np.array([0, 0, 2])
    weights = np.array([1, -1, 2, -2], np.float32)
    for combiner in (MEAN, SQRTN):
        pooled = Kernels.pool_bags(table, ids, offsets, weights, combiner)
        assert_same(pooled[0], np.zeros(2, np.float32))
    assert_same(Kernels.pool_bags(table, ids, offsets, weights, MEAN), np.zeros((3, 2), np.float32))
    assert_same(Kernels.normalize_bags(weights, offsets, MEAN), np.zeros(4, np.float32))


def test_a_bag_of_one_is_copied_unless_it_is_weighted() -> None:
    table, ids, offsets = np.array([[-0.0]]), np.array([0]), np.array([0])
    assert np.signbit(Kernels.pool_bags(table, ids, offsets, np.empty(0), MEAN))
    assert not np.signbit(Kernels.pool_bags(table, ids, offsets, np.ones(1), MEAN))


def test_short_floats_are_rounded_once() -> None:
    table = np.array([[2048.0], [1.0], [1.0]], np.float16)
    ids, offsets = np.arange(3), np.array([0])
    assert Kernels.pool_bags(table, ids, offsets, np.ones(3, np.float16), SUM) == 2050  # step by step: 2048
    assert Kernels.dot_bags(np.ones((1, 1), np.float16), table, ids, offsets).tolist() == [2048, 1, 1]


# ------------------------------------------------------------------ faults
FAULTS = {
    "a negative id": ([0, 1, -1, 9], [0, 2], ("range", "ids", (2,), -1, 0, 5)),
    "a large id": ([0, 5, 1, -1], [0, 2], ("range", "ids", (1,), 5, 0, 5)),
    "a first offset that is not 0": ([0, 9], [1, 1], ("range", "offsets", (0,), 1, 0, 1)),
    "a negative first offset": ([0, 9], [-1, 1], ("range", "offsets", (0,), -1, 0, 1)),
    "an offset past the end": ([0, 9], [0, 3, 1], ("range", "offsets", (1,), 3, 0, 3)),
    "a negative offset": ([0, 9], [0, 2, -1], ("range", "offsets", (2,), -1, 0, 3)),
    "offsets that go back": ([0, 9], [0, 2, 1, 7], ("order", "offsets", (2,), 1, 2, 0)),
    "offsets without entries": ([], [0, 1], ("range", "offsets", (1,), 1, 0, 1)),
    "entries without bags": ([9, 9], [], ("homeless", "ids", (0,), None, 0, 0)),
}


def fault_of(function: Callable[..., Any], *inputs: Any) -> tuple[Any, ...]:
    with pytest.raises(Fault) as caught:
        function(*inputs)
    fault = caught.value
    return fault.kind, fault.argument, fault.position, fault.value, fault.low, fault.high


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("index", INDEX)
@pytest.mark.parametrize("fault", FAULTS)
def test_faults(fault: str, index: str, weighted: bool, threads: int) -> None:
    ids, offsets, wanted = np.array(FAULTS[fault][0], index), np.array(FAULTS[fault][1], index), FAULTS[fault][2]
    table, grad = np.ones((5, 3), np.float32), np.ones((len(offsets), 3), np.float32)
    weights = np.ones(len(ids) if weighted else 0, np.float32)
    for side in (Kernels, bags):
        assert fault_of(side.pool_bags, table, ids, offsets, weights, MEAN) == wanted
        assert fault_of(side.scatter_bags, grad, ids, offsets, weights, 5, SQRTN) == wanted
        assert fault_of(side.scatter_bags_compact, grad, ids, offsets, weights, 5, SUM) == wanted
        assert fault_of(side.dot_bags, grad, table, ids, offsets) == wanted
        if wanted[1] != "ids" or wanted[0] == "homeless":
            told = (wanted[0], "weights" if wanted[1] == "ids" else "offsets", *wanted[2:])
            assert fault_of(side.normalize_bags, np.ones(len(ids)), offsets, MEAN) == told


def test_the_first_of_many_bad_offsets_and_ids_is_named(threads: int) -> None:
    ids, offsets = np.zeros(50_000, np.int64), np.arange(50_000)
    table, none = np.ones((5, 2)), np.empty(0)
    ids[[4_096, 30_000, 49_999]] = 7
    assert fault_of(Kernels.pool_bags, table, ids, offsets, none, SUM)[:4] == ("range", "ids", (4_096,), 7)
    assert fault_of(Kernels.dot_bags, np.ones((50_000, 2)), table, ids, offsets)[:3] == ("range", "ids", (4_096,))
    offsets[[4_097, 20_000]] = -1
    offsets[4_096] = 3  # where another thread may begin
    wanted = ("order", "offsets", (4_096,), 3, 4_095, 0)
    assert fault_of(Kernels.pool_bags, table, ids, offsets, none, SUM) == wanted
    assert fault_of(bags.pool_bags, table, ids, offsets, none, SUM) == wanted


def test_bad_offsets_are_found_before_anything_is_written() -> None:
    out = np.full((2, 3), 77.0)
    given = [np.ones((5, 3)), np.array([0, 1]), np.array([0, 3]), np.empty(0)]
    with pytest.raises(Fault):
        call("bag_reduce__float64_int64_int64", ("sum",), given, [out], "pool")
    assert (out == 77).all()


@pytest.mark.parametrize("skewed", [False, True], ids=["even", "skewed"])
@pytest.mark.parametrize(("rows", "entries"), [(30_000, 40_000), (100_000, 150_000), (600_000, 50_000)])
def test_one_thread_groups_in_its_own_way_to_the_same_bits(rows: int, entries: int, skewed: bool) -> None:
    rng = np.random.default_rng(rows)
    ids = rng.zipf(1.2, entries) % rows if skewed else rng.integers(0, rows, entries)
    bag = np.sort(rng.integers(0, entries // 7, entries))
    grad = rng.standard_normal((entries // 7, 3), dtype=np.float32)
    wanted = np.zeros((rows, 3), np.float32)
    np.add.at(wanted, ids, grad[bag])  # in the order of the entries
    offsets = np.searchsorted(bag, np.arange(entries // 7))
    for threads in (1, 2):
        moved = np.zeros((rows, 3), np.float32)
        optimizer = gradbag.optim.SGD(1.0)
        with gradbag.set_num_threads(threads):
            optimizer.step(moved, optimizer.init(moved), gradbag.Bags(ids, offsets), grad, combiner="sum")
        np.testing.assert_array_equal(-moved, wanted)
