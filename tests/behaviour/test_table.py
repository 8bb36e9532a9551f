"""Tables in memory: what a look-up and a step are made of, 16-bit rows, states, copies and refusals."""

import copy
import pickle
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import gradbag
from gradbag import Bags, InvalidArgumentError, Table, UnsupportedTypeError, dtypes, optim

OPTIMIZERS = [
    optim.SGD(0.1),
    optim.Momentum(0.1),
    optim.Adagrad(0.1),
    optim.RowAdagrad(0.1),
    optim.Adam(0.1),
    optim.Adam(0.1, bias_correction="row"),
    optim.RowAdam(0.1),
    optim.AdamW(0.1, weight_decay=0.1, decay="lazy"),
    optim.RMSProp(0.1),
    optim.Ftrl(0.1, l1=0.01),
]
NAMES = [f"{type(o).__name__}-{k}" for k, o in enumerate(OPTIMIZERS)]


def batches(rows: int, count: int = 6, weighted: bool = False) -> Iterator[Bags]:
    rng = np.random.default_rng(3)
    for _ in range(count):
        lengths = rng.integers(0, 5, 20)
        ids = rng.integers(0, rows, lengths.sum())
        yield Bags.from_lengths(ids, lengths, rng.random(len(ids)).astype(np.float32) if weighted else None)


def gradients(bags: Bags, columns: int, dtype: Any = np.float32) -> Any:
    return np.random.default_rng(bags.count).normal(size=(len(bags), columns)).astype(dtype)


# ------------------------------------------------------------------ what it computes
@pytest.mark.parametrize("optimizer", OPTIMIZERS, ids=NAMES)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_table_is_an_array_and_an_optimizer(optimizer: optim.Optimizer, weighted: bool) -> None:
    table = Table(50, 6, optimizer, seed=4)
    values = table.values.copy()
    state = optimizer.init(values)
    for combiner in ("sum", "mean", "sqrtn"):
        for bags in batches(50, weighted=weighted):
            want = gradbag.safe_embedding_lookup_sparse(values, bags, combiner=combiner)
            assert np.array_equal(table.lookup(bags, combiner), want)
            grad = gradients(bags, 6)
            table.step(bags, grad, combiner)
            optimizer.step(values, state, bags, grad, combiner)
    table.apply((np.array([3, 1, 3]), np.ones((3, 6), np.float32)))
    optimizer.apply(values, state, (np.array([3, 1, 3]), np.ones((3, 6), np.float32)))
    assert np.array_equal(table.values, values)
    assert table.step_count == state["step"] == 19
    for name, kept in state.items():
        assert np.array_equal(table.state[name], kept), name


def test_negative_ids_defaults_and_bad_weights_are_those_of_the_safe_look_up() -> None:
    table = Table(9, 3)
    bags = Bags([1, -1, 8, -7, 2, 0], [0, 2, 2, 4, 5], np.array([1, 2, 0, 1, -1, 0.5], np.float32))
    for combiner in ("sum", "mean", "sqrtn"):
        for default in (None, 5):
            for norm in (None, 0.1):
                got = table.lookup(bags, combiner, default_id=default, max_norm=norm)
                want = gradbag.safe_embedding_lookup_sparse(
                    table.values, bags, combiner=combiner, default_id=default, max_norm=norm
                )
                assert np.array_equal(got, want)
    plain = Bags([1, -1, 8], [0, 2, 2])
    assert np.array_equal(table.lookup(plain, default_id=4), table.values[[1, 4, 8]])
    assert np.array_equal(table.lookup(Bags([-1], [0]), default_id=4)[0], table.values[4])


@pytest.mark.parametrize("combiner", ["sum", "mean", "sqrtn"])
@pytest.mark.parametrize("norm", [None, 0.7])
def test_a_step_goes_down_the_gradient_of_the_look_up(combiner: str, norm: float | None) -> None:
    bags = Bags([1, -1, 8, 8, 2, 0], [0, 2, 2, 5], np.array([1, 2, 0.25, 1, 3, 0.5]))
    table = Table(9, 3, optim.SGD(1.0), dtype="float64", seed=8)
    start, grad = table.values.copy(), gradients(bags, 3, np.float64)

    def loss(values: Any) -> Any:
        pooled = gradbag.safe_embedding_lookup_sparse(values, bags, combiner=combiner, default_id=4, max_norm=norm)
        return (np.asarray(pooled) * grad).sum()

    table.step(bags, grad, combiner, default_id=4, max_norm=norm)
    for place in np.ndindex(start.shape):
        nudge = np.zeros_like(start)
        nudge[place] = 1e-6
        slope = (loss(start + nudge) - loss(start - nudge)) / 2e-6
        assert start[place] - table.values[place] == pytest.approx(slope, abs=1e-8)


def test_rows_begin_as_told() -> None:
    table = Table(4000, 25)
    assert table.values.std() == pytest.approx(0.2, rel=0.01)
    assert abs(table.values.mean()) < 0.002
    assert np.array_equal(Table(10, 25).values, table.values[:10])
    assert not np.array_equal(Table(10, 25, seed=1).values, table.values[:10])
    assert Table(4000, 25, init="normal").values.std() == pytest.approx(1, rel=0.01)
    assert Table(4000, 25, init=3).values.std() == pytest.approx(3, rel=0.01)
    assert not Table(3, 2, init="zeros").values.any()
    assert Table(3, 2, init=lambda rows, columns: rows[:, None] * np.ones(columns)).values[:, 1].tolist() == [0, 1, 2]
    assert Table(0, 3, optim.Adam(0.1)).lookup([[], []]).tolist() == [[0, 0, 0]] * 2
    assert Table(3, 0, optim.RowAdagrad(0.1)).lookup([[1]]).shape == (1, 0)


def test_a_table_of_an_array_is_that_array() -> None:
    array = np.zeros((4, 2), np.float32)
    Table.of(array, optim.SGD(1.0)).step([[3]], np.ones((1, 2), np.float32))
    assert array[3].tolist() == [-1, -1]
    frozen = np.zeros((4, 2), np.float32)
    frozen.flags.writeable = False
    table = Table.of(frozen, optim.SGD(1.0))
    table.step([[3]], np.ones((1, 2), np.float32))
    assert not frozen.any()
    assert Table.of([[1.0, 2.0]]).dtype == np.float32


def test_read_gives_copies_of_rows() -> None:
    table = Table(6, 2)
    got = table.read([[5, 0], [5, 1]])
    assert np.array_equal(got, table.values[np.array([[5, 0], [5, 1]])])
    got[...] = 0
    assert table.values[5].any()


# ------------------------------------------------------------------ 16 bits
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_sixteen_bits_are_steps_of_float32_rounded(dtype: str) -> None:
    optimizer = optim.Adagrad(0.3)
    table = Table(50, 6, optimizer, dtype=dtype)
    state = optimizer.init(table.values.astype(np.float32))
    for bags in batches(50):
        values = table.values.astype(np.float32)
        assert np.array_equal(table.lookup(bags), gradbag.Table.of(values).lookup(bags))
        grad = gradients(bags, 6)
        optimizer.step(values, state, bags, grad)
        table.step(bags, grad)
        assert table.values.dtype == dtypes.numpy_dtype(dtype)
        assert np.array_equal(table.values, values.astype(table.values.dtype))
        assert np.array_equal(table.state["accumulator"], state["accumulator"])


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_small_steps_are_lost_by_the_nearest_and_kept_in_the_mean_by_chance(dtype: str) -> None:
    bags, grad = Bags(np.arange(2000), np.arange(2000)), np.full((2000, 8), -1e-5, np.float32)
    for sign in (1, -1):
        start = np.full((2000, 8), sign, dtypes.numpy_dtype(dtype))
        nearest, chance = (Table.of(start.copy(), optim.SGD(1.0), rounding=r) for r in ("nearest", "stochastic"))
        for _ in range(100):
            nearest.step(bags, grad, "sum")
            chance.step(bags, grad, "sum")
        assert np.array_equal(nearest.values, start)
        means = chance.values.astype(np.float64)
        assert means.mean() - sign == pytest.approx(1e-3, rel=0.1)
        assert len(np.unique(means)) > 1


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, np.float16])
def test_rounding_by_chance_is_right_in_the_mean_and_never_passes_a_neighbour(dtype: Any) -> None:
    from gradbag.table.beginnings import random_bits
    from gradbag.table.rounding import stochastically_rounded

    rng = np.random.default_rng(0)
    wide = np.concatenate([rng.normal(size=40), rng.normal(size=30) * 1e-6, [0.0, 1.0, -2.5, 3e-8, 6e4, -1e-3]])
    values = np.repeat(wide.astype(np.float32)[:, None], 20_000, 1)
    rounded = stochastically_rounded(values, np.dtype(dtype), random_bits(1, 2, np.arange(len(wide)), 20_000))
    got = rounded.astype(np.float64)
    near = wide.astype(np.float32).astype(dtype).astype(np.float64)
    for row, exact in enumerate(values[:, 0].astype(np.float64)):
        found = np.unique(got[row])
        assert len(found) <= 2
        assert near[row] in found
        assert found[0] <= exact <= found[-1]
        gap = found[-1] - found[0]
        assert abs(got[row].mean() - exact) <= 5 * gap / 2 / np.sqrt(20_000)
    odd = np.array([[np.nan, np.inf, -np.inf]], np.float32)
    bits = np.full((1, 3), 2**64 - 1, np.uint64)
    assert np.array_equal(stochastically_rounded(odd, np.dtype(dtype), bits).astype(np.float32), odd, equal_nan=True)


def test_the_chance_does_not_depend_on_threads_or_on_the_other_rows() -> None:
    grad = gradients(Bags(np.arange(64), np.arange(64)), 8)
    found, usual = [], gradbag.get_num_threads()
    for threads in (1, 2, 4):
        gradbag.set_num_threads(threads)
        try:
            table = Table(64, 8, optim.SGD(1e-3), dtype="bfloat16", rounding="stochastic", seed=7)
            table.step(Bags(np.arange(64), np.arange(64)), grad)
        finally:
            gradbag.set_num_threads(usual)
        found.append(table.values.tobytes())
    assert len(set(found)) == 1
    alone = Table(64, 8, optim.SGD(1e-3), dtype="bfloat16", rounding="stochastic", seed=7)
    alone.step([[63], [5]], grad[[63, 5]])
    assert np.array_equal(alone.values[[5, 63]], table.values[[5, 63]])
    other = Table(64, 8, optim.SGD(1e-3), dtype="bfloat16", rounding="stochastic", seed=8)
    other.values[...] = Table(64, 8, dtype="bfloat16", seed=7).values
    other.step(Bags(np.arange(64), np.arange(64)), grad)
    assert not np.array_equal(other.values, table.values)


# ------------------------------------------------------------------ states and copies
@pytest.mark.parametrize("optimizer", OPTIMIZERS, ids=NAMES)
def test_a_state_goes_on_with_the_same_bits(optimizer: optim.Optimizer) -> None:
    table, other = Table(30, 4, optimizer), Table(30, 4, optimizer, seed=9)
    first, second = batches(30, 2)
    table.step(first, gradients(first, 4))
    saved = copy.deepcopy(table.state_dict())
    other.load_state_dict({name: np.asarray(kept) for name, kept in saved.items()})
    copies = [other, copy.deepcopy(table), pickle.loads(pickle.dumps(table))]  # noqa: S301  # our own
    table.step(second, gradients(second, 4))
    for one in copies:
        assert np.array_equal(one.values, saved["values"])
        one.step(second, gradients(second, 4))
        assert np.array_equal(one.values, table.values)
        assert one.step_count == 2
    assert repr(table) == f"Table(30 rows of 4, float32, {type(optimizer).__name__}, 2 steps)"


def test_a_state_that_does_not_fit_is_refused_and_changes_nothing() -> None:
    table = Table(3, 2, optim.Adagrad(0.1))
    state, before = Table(3, 2, optim.Adagrad(0.1), seed=1).state_dict(), table.values.copy()
    wrong: list[tuple[dict[str, Any], str]] = [
        ({**state, "values": np.zeros((2, 2), np.float32)}, r"values must be of shape \[3, 2\]; got \[2, 2\]"),
        ({**state, "values": np.zeros((3, 2))}, "values must be float32; got float64"),
        ({**state, "accumulator": np.zeros(3, np.float32)}, r"accumulator must be of shape \[3, 2\]; got \[3\]"),
        ({**state, "step": -1}, "step == -1 must not be negative"),
        ({**state, "step": 2**63}, r"step must be below 2\*\*63"),
        ({**state, "step": "x"}, "step must be an int; got str"),
        ({**state, "mean": 1}, "state must be of values, accumulator, step; got more mean"),
        ({"values": state["values"], "step": 1}, "state must be of values, accumulator, step; got no accumulator"),
    ]
    for given, words in wrong:
        with pytest.raises(gradbag.Error, match=words):
            table.load_state_dict(given)
    assert np.array_equal(table.values, before)
    assert table.step_count == 0


# ------------------------------------------------------------------ refusals
REFUSED: list[tuple[Any, str]] = [
    (lambda: Table(-1, 2), "Table: rows == -1 must not be negative"),
    (lambda: Table(3, 2.5), "Table: columns must be an int; got float"),  # type: ignore[arg-type]
    (lambda: Table(1 << 50, 2), r"rows, columns must be below 2\*\*48 and 2\*\*31; got"),
    (lambda: Table(1 << 45, 1 << 20), "Table: values of shape"),
    (lambda: Table(3, 2, dtype="int8"), "Table: dtype must be one of float32, float64, bfloat16, float16; got int8"),
    (lambda: Table(3, 2, rounding="stochastic"), "rounding must be 'nearest' where dtype is none of bfloat16, float16"),
    (lambda: Table(3, 2, rounding="up"), "rounding must be one of 'nearest', 'stochastic'; got 'up'"),
    (lambda: Table(3, 2, "sgd"), r"optimizer must be one of gradbag.optim, or None; got str"),  # type: ignore[arg-type]
    (lambda: Table(3, 2, init="ones"), "init must be 'normal', 'zeros', a number or a function; got 'ones'"),
    (lambda: Table(3, 2, init=float("nan")), r"init must be in \[0, inf\); got nan"),
    (lambda: Table(3, 2, init=lambda rows, columns: np.ones(3)), r"init\(rows, columns\) must have shape"),
    (lambda: Table(3, 2, seed=2**63), r"seed must be below 2\*\*63; got 9223372036854775808"),
    (lambda: Table(3, 2, seed=-1), "seed == -1 must not be negative"),
    (lambda: Table.of(np.zeros(3)), r"Table.of: array must have shape \[rows columns\]; got \[3\]"),
    (lambda: Table.of(np.zeros((3, 2), int)), "Table.of: dtype must be one of float32"),
    (lambda: Table(3, 2).lookup([[1, 3]]), r"Table.lookup: ids\[1\] == 3 out of range \[0, 3\)"),
    (lambda: Table(3, 2).lookup([[1]], default_id=3), r"Table.lookup: default_id == 3 out of range \[0, 3\)"),
    (lambda: Table(3, 2).lookup([[1]], "max"), "Table.lookup: combiner must be one of 'sum', 'mean', 'sqrtn'"),
    (lambda: Table(3, 2).lookup([[1]], max_norm=0), r"Table.lookup: max_norm must be in \(0, inf\); got 0"),
    (lambda: Table(3, 2).read([1, -1]), r"Table.read: rows\[1\] == -1 out of range \[0, 3\)"),
    (lambda: Table(3, 2).step([[1]], np.ones((1, 2), np.float32)), "Table.step: the table has no optimizer"),
    (lambda: Table(3, 2).quantized("int4"), "kind must be one of 'uint8', 'float8_e4m3fn'; got 'int4'"),
]


@pytest.mark.parametrize(("call", "words"), REFUSED, ids=[words for _, words in REFUSED])
def test_what_is_wrong_is_told(call: Any, words: str) -> None:
    with pytest.raises(gradbag.Error, match=words):
        call()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_step_that_is_refused_changes_nothing(dtype: str) -> None:
    table = Table(5, 2, optim.Adagrad(0.1), dtype=dtype)
    before = copy.deepcopy(table.state_dict())
    right = np.ones((1, 2), np.float32)
    for bags, grad, kind in [
        ([[5]], right, InvalidArgumentError),
        ([[1]], right.astype(np.float64), UnsupportedTypeError),
        ([[1]], np.ones((2, 2), np.float32), InvalidArgumentError),
        ([[1]], np.ones((1, 3), np.float32), InvalidArgumentError),
        ([["a"]], right, UnsupportedTypeError),
    ]:
        with pytest.raises(kind):
            table.step(bags, grad)
    for row_grad in [(np.array([5]), right), (np.array([-1]), right), (np.array([1.0]), right), 7]:
        with pytest.raises(gradbag.Error):
            table.apply(row_grad)
    for name, kept in table.state_dict().items():
        assert np.array_equal(kept, before[name]), name


def test_a_step_makes_no_array_of_gradients() -> None:
    """The peak of a step on a large batch: what the rows take stays far below rows times columns."""
    program = """
import resource, numpy as np, gradbag
table = gradbag.Table(200_000, 128, gradbag.optim.SGD(0.1), init="zeros")
bags = gradbag.Bags(np.random.default_rng(0).integers(0, 200_000, 400_000), np.arange(0, 400_000, 400))
grad = np.ones((1000, 128), np.float32)
table.step(bags[:2], grad[:2])
table.values += 1  # all of it is there now
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
table.step(bags, grad)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(answer.stdout) < 40_000  # KiB; the gradient of rows would have 90,000


@pytest.mark.parametrize("columns", [1, 3, 16, 64])
def test_rows_and_what_is_kept_of_them_begin_with_a_cache_line(columns: int) -> None:
    table = gradbag.Table(1000, columns, gradbag.optim.Adam(0.1))
    arrays = [table.values, *(kept for kept in table.state.values() if isinstance(kept, np.ndarray))]
    assert len(arrays) == 3
    assert {array.ctypes.data % 64 for array in arrays} == {0}
