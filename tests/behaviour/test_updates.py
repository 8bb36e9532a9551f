"""Ops that change an argument in place: what they may be given, and what that costs."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradbag
from gradbag import raw_ops
from gradbag.spec import Arg, Example, op, registry

STEP = {"indices": [2, 0], "grad": np.ones((2, 2)), "learning_rate": 0.5}
MOVED = [[0.5, 0.5], [1.0, 1.0], [0.5, 0.5]]


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    yield
    gradbag.set_memory_limit(None)


def test_a_file_in_memory_is_changed(tmp_path: Path) -> None:
    table = np.memmap(tmp_path / "table", np.float64, "w+", shape=(3, 2))
    table[...] = 1.0
    for _ in range(2):  # the first call, and one that is prepared
        raw_ops.RowSgd(table=table, **STEP)
    table.flush()
    assert np.fromfile(tmp_path / "table").tolist() == [0.0, 0.0, 1.0, 1.0, 0.0, 0.0]


def test_what_must_be_copied_first_counts_as_memory() -> None:
    spread = np.ones((3, 4))[:, ::2]
    gradbag.set_memory_limit(40)
    with pytest.raises(
        gradbag.ResourceExhaustedError, match=r"^RowSgd: a copy of table of shape \[3, 2\]; the call needs 48"
    ):
        raw_ops.RowSgd(table=spread, **STEP)
    assert (spread == 1).all()
    gradbag.set_memory_limit(112)
    raw_ops.RowSgd(table=spread, **STEP)
    assert spread.tolist() == MOVED


@pytest.mark.parametrize("dtype", [">f8", "<f8"])
def test_a_foreign_byte_order_is_refused_in_words(dtype: str) -> None:
    table = np.ones((3, 2), dtype)
    if table.dtype.isnative:
        raw_ops.RowSgd(table=table, **STEP)
        assert table.tolist() == MOVED
    else:
        words = rf"^RowSgd: table must be in the byte order of this machine; got {dtype}$"
        with pytest.raises(gradbag.InvalidArgumentError, match=words):
            raw_ops.RowSgd(table=table, **STEP)
        assert (table == 1).all()


def test_rows_between_those_of_another_table_are_memory_of_their_own() -> None:
    both = np.ones((6, 2))
    raw_ops.RowMomentum(table=both[::2], momentum_buffer=both[5::-2], **STEP, momentum=0.5)
    assert both[::2].tolist() == [[0.25, 0.25], [1.0, 1.0], [0.25, 0.25]]
    with pytest.raises(gradbag.InvalidArgumentError, match="memory of its own; got an array that overlaps momentum"):
        raw_ops.RowMomentum(table=both[:3], momentum_buffer=both[4:1:-1], **STEP, momentum=0.5)


@pytest.fixture
def halve() -> Iterator[Any]:
    @op(
        "Halve",
        inputs=[Arg("table", "T", "n", "Numbers.", updates=True)],
        outputs=[Arg("before", "T", "n", "What they were.")],
        types={"T": ("float64",)},
        example=Example({"table": [2.0]}, {"before": [2.0]}, after={"table": [1.0]}),
        samples=lambda rng: [],
    )
    def halve(table: Any) -> Any:
        """Halve numbers in place."""
        return table / 2, table.copy()

    yield raw_ops.Halve
    registry.remove("Halve")


def test_an_update_fills_an_array_that_is_brought(halve: Any) -> None:
    table, out = np.array([2.0, 6.0]), np.zeros(2)
    assert halve(table=table, out=out) is out
    assert (table.tolist(), out.tolist()) == ([1.0, 3.0], [2.0, 6.0])
    with pytest.raises(gradbag.InvalidArgumentError, match="out must be memory of its own; got an array that overlaps"):
        halve(table=table, out=table)
    assert table.tolist() == [1.0, 3.0]
