"""Optimizers of rows on NumPy arrays: what is summed, what is kept, and what stays as it was."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradbag
from gradbag import optim, raw_ops
from gradbag.testing import assert_same

OPTIMIZERS = [
    optim.SGD(0.1),
    optim.SGD(0.1, weight_decay=0.1),
    optim.Momentum(0.1, nesterov=True, weight_decay=0.1, decoupled=True),
    optim.Adagrad(0.1, epsilon=0.01, initial_accumulator=0.1),
    optim.RowAdagrad(0.1),
    optim.Adam(0.1),
    optim.Adam(0.1, bias_correction="row"),
    optim.AdamW(0.1, weight_decay=0.1),
    optim.AdamW(0.1, weight_decay=0.1, decay="lazy"),
    optim.RowAdam(0.1, weight_decay=0.1),
    optim.RowAdam(0.1, bias_correction="row"),
    optim.RMSProp(0.1, momentum=0.5),
    optim.Ftrl(0.1, l1=0.01, l2=0.1, l2_shrinkage=0.1),
]
every = pytest.mark.parametrize("optimizer", OPTIMIZERS, ids=lambda o: f"{o.rule_name}-{o.weight_decay}-{o.decay}")
ROWS, COLUMNS = 9, 5


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def table_of(rng: np.random.Generator) -> Any:
    return rng.standard_normal((ROWS, COLUMNS)).astype(np.float32)


def gradient_of(rng: np.random.Generator, count: int = 7) -> tuple[Any, Any]:
    return rng.integers(0, ROWS, count), rng.standard_normal((count, COLUMNS)).astype(np.float32)


def assert_same_state(got: dict[str, Any], want: dict[str, Any]) -> None:
    assert list(got) == list(want)
    for name, value in want.items():
        assert_same(got[name], value, name)


def copied(state: dict[str, Any]) -> dict[str, Any]:
    return {name: np.copy(value) if isinstance(value, np.ndarray) else value for name, value in state.items()}


@every
def test_rows_that_repeat_are_summed_before_the_rule_sees_them(optimizer: Any, rng: np.random.Generator) -> None:
    table = table_of(rng)
    alone, state = table.copy(), optimizer.init(table)
    summed = copied(state)
    for _ in range(3):
        first, second = (rng.standard_normal((1, COLUMNS)).astype(np.float32) for _ in range(2))
        optimizer.apply(table, state, (np.array([4, 4]), np.concatenate([first, second])))
        optimizer.apply(alone, summed, (np.array([4]), first + second))
    assert_same(table, alone)
    assert_same_state(state, summed)


@every
@pytest.mark.parametrize("combiner", ["sum", "mean", "sqrtn"])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_fused_step_is_the_step_with_the_compact_gradient(
    optimizer: Any, combiner: str, weighted: bool, rng: np.random.Generator
) -> None:
    table = table_of(rng)
    apart, state = table.copy(), optimizer.init(table)
    kept = copied(state)
    for _ in range(4):
        ids, offsets = rng.integers(0, ROWS, 12), np.array([0, 3, 3, 4])
        weights = rng.uniform(0.5, 2, 12).astype(np.float32) if weighted else None
        grad = rng.standard_normal((4, COLUMNS)).astype(np.float32)
        optimizer.step(table, state, (ids, offsets, weights), grad, combiner=combiner)
        entries = {"grad": grad, "ids": ids, "offsets": offsets, "weights": weights}
        compact = raw_ops.EmbeddingBagGrad(**entries, num_rows=ROWS, combiner=combiner)
        optimizer.apply(apart, kept, gradbag.RowGrad(compact.sorted_unique_indices, compact.output, table.shape))
    assert_same(table, apart)
    assert_same_state(state, kept)


@every
def test_what_is_refused_leaves_everything_as_it_was(optimizer: Any, rng: np.random.Generator) -> None:
    table = table_of(rng)
    state = optimizer.init(table)
    optimizer.apply(table, state, gradient_of(rng))
    before, kept = table.copy(), copied(state)
    indices, rows = gradient_of(rng)
    with pytest.raises(gradbag.InvalidArgumentError, match=r"indices\[6\] == 9 out of range \[0, 9\)"):
        optimizer.apply(table, state, (np.append(indices[:-1], ROWS), rows))
    with pytest.raises(gradbag.InvalidArgumentError, match=r"== -1 out of range \[0, 9\)"):
        optimizer.step(table, state, (np.array([1, -1]), np.array([0])), rows[:1])
    assert_same(table, before)
    assert_same_state(state, kept)


@every
def test_rows_that_no_gradient_names_do_not_move(optimizer: Any, rng: np.random.Generator) -> None:
    table = table_of(rng)
    before, state = table.copy(), optimizer.init(table)
    kept = copied(state)
    for _ in range(3):
        optimizer.apply(table, state, (np.array([2, 5]), np.ones((2, COLUMNS), np.float32)))
    others = [row for row in range(ROWS) if row not in (2, 5)]
    assert_same(table[others], before[others])
    assert (table[[2, 5]] != before[[2, 5]]).all()
    assert state.pop("step") == 3
    for name, value in state.items():
        assert_same(value[others], kept[name][others], name)


@every
def test_a_state_that_was_saved_goes_on_with_the_same_bits(
    optimizer: Any, rng: np.random.Generator, tmp_path: Path
) -> None:
    table = table_of(rng)
    state = optimizer.init(table)
    steps = [gradient_of(rng) for _ in range(6)]
    for gradient in steps[:3]:
        optimizer.apply(table, state, gradient)
    np.savez(tmp_path / "state.npz", table=table, **state)
    with np.load(tmp_path / "state.npz") as file:
        loaded = dict(file)
    resumed = loaded.pop("table")
    for gradient in steps[3:]:
        optimizer.apply(table, state, gradient)
        optimizer.apply(resumed, loaded, gradient)
    assert_same(resumed, table)
    assert loaded["step"] == state["step"] == 6


@every
def test_any_number_of_threads_gives_the_same_bits(optimizer: Any) -> None:
    found, before = [], gradbag.get_num_threads()
    try:
        for threads in range(1, 9):
            gradbag.set_num_threads(threads)
            rng = np.random.default_rng(1)
            table = rng.standard_normal((3000, 16)).astype(np.float32)
            state = optimizer.init(table)
            for _ in range(2):
                rows = rng.standard_normal((9000, 16)).astype(np.float32)
                optimizer.apply(table, state, (rng.integers(0, 3000, 9000), rows))
                offsets = np.arange(0, 9000, 9)
                optimizer.step(table, state, (rng.integers(0, 3000, 9000), offsets), rows[: len(offsets)])
            found.append((table, state))
    finally:
        gradbag.set_num_threads(before)
    for table, state in found[1:]:
        assert_same(table, found[0][0])
        assert_same_state(state, found[0][1])


def test_a_lazy_decay_is_the_decay_of_all_rows_in_every_step(rng: np.random.Generator) -> None:
    table = table_of(rng).astype(np.float64)
    want, optimizer = table.copy(), optim.SGD(0.1, weight_decay=0.5, decoupled=True, decay="lazy")
    state = optimizer.init(table)
    for _ in range(20):
        indices, rows = gradient_of(rng, 2)
        optimizer.catch_up(table, state, indices)
        np.testing.assert_allclose(table[indices], want[indices], rtol=1e-12)  # what a look-up would see
        optimizer.apply(table, state, (indices, rows.astype(np.float64)))
        want *= 1 - 0.1 * 0.5
        np.subtract.at(want, indices, 0.1 * rows.astype(np.float64))
    assert not np.allclose(table, want)
    optimizer.catch_up(table, state)
    np.testing.assert_allclose(table, want, rtol=1e-12)
    optimizer.catch_up(table, state)  # nothing is left to do
    np.testing.assert_allclose(table, want, rtol=1e-12)


def test_a_correction_by_rows_counts_the_steps_of_each_row(rng: np.random.Generator) -> None:
    optimizer = optim.Adam(0.1, bias_correction="row")
    table, late = table_of(rng), np.zeros((1, COLUMNS), np.float32)
    state = optimizer.init(table)
    for _ in range(50):
        optimizer.apply(table, state, (np.array([0, 1]), np.ones((2, COLUMNS), np.float32)))
    before = table[7].copy()
    optimizer.apply(table, state, (np.array([7]), np.full((1, COLUMNS), 3, np.float32)))
    fresh = optim.Adam(0.1)  # whose correction is global: the first step of everything
    fresh.apply(late, fresh.init(late), (np.array([0]), np.full((1, COLUMNS), 3, np.float32)))
    np.testing.assert_allclose(table[7] - before, late[0], rtol=1e-5)
    assert state["steps"].tolist() == [50, 50, 0, 0, 0, 0, 0, 1, 0]


def test_a_learning_rate_may_depend_on_the_step() -> None:
    table = np.zeros((2, 1))
    optimizer = optim.SGD(lambda step: 1.0 / step)
    state = optimizer.init(table)
    for _ in range(3):
        optimizer.apply(table, state, ([1], [[1.0]]))
    np.testing.assert_allclose(table, [[0], [-(1 + 1 / 2 + 1 / 3)]])


def test_a_row_wise_optimizer_keeps_one_number_a_row() -> None:
    table = np.zeros((1000, 64), np.float32)
    assert optim.RowAdagrad(0.1).init(table)["accumulator"].shape == (1000,)
    assert optim.RowAdam(0.1).init(table)["square"].shape == (1000,)
    assert optim.RowWiseAdagrad is optim.RowAdagrad


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: optim.SGD(-1.0), r"^SGD: lr must be in \[0, inf\); got -1.0$"),
        (lambda: optim.SGD(float("nan")), r"^SGD: lr must be in \[0, inf\); got nan$"),
        (lambda: optim.Adam(0.1, beta2=1.0), r"^Adam: beta2 must be in \[0, 1\); got 1.0$"),
        (
            lambda: optim.Adam(0.1, bias_correction="none"),
            r"bias_correction must be one of 'global', 'row'; got",
        ),
        (lambda: optim.Adam(0.1, bias_correction="row", epsilon_hat=True), r"epsilon_hat must be False where"),
        (lambda: optim.Adam(0.1, decay="lazy"), r"decay must be 'touched' where decoupled is False; got 'lazy'"),
        (lambda: optim.AdamW(0.1, decay="eager"), r"decay must be one of 'touched', 'lazy'; got 'eager'"),
        (lambda: optim.Ftrl(0.1, weight_decay=0.1), r"^Ftrl: weight_decay must be 0; see l2"),
        (lambda: optim.Momentum.torch(0.1), r"^Momentum: preset must be one of those that it has \(tensorflow\)"),
        (lambda: optim.SGD(0.1).apply(np.ones((2, 2)), {}, ([0], np.ones((1, 2)))), r"state must be what `init` has"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(gradbag.InvalidArgumentError, match=words):
        make()


def test_what_is_no_gradient_and_what_are_no_bags_is_said() -> None:
    table, optimizer = np.ones((2, 2)), optim.SGD(0.1)
    state = optimizer.init(table)
    with pytest.raises(gradbag.UnsupportedTypeError, match=r"^SGD: row_grad must be a RowGrad, .*; got ndarray$"):
        optimizer.apply(table, state, table)
    with pytest.raises(gradbag.UnsupportedTypeError, match=r"^SGD: bags must be something with ids.*; got list$"):
        optimizer.step(table, state, [[0, 1]], table)
    with pytest.raises(gradbag.UnsupportedTypeError, match="lr must be a number; got str"):
        optim.SGD("0.1")  # type: ignore[arg-type]
