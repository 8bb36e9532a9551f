"""The gradient of a slice compares places as whole numbers: what int64 does not hold is no place at all."""

from typing import Any

import numpy as np
import pytest

from gradbag import eager
from gradbag.errors import Error
from gradbag.spec import registry

LOWEST, HIGHEST = -(2**63), 2**63 - 1
RUNS = pytest.mark.parametrize("run", [eager.run, eager.run_reference], ids=["kernel", "body"])
ROWS = pytest.mark.parametrize("rows", [1, 1_000], ids=["few", "many"])  # of many, several are compared together
COLUMNS = pytest.mark.parametrize(("rank", "column"), [(1, 0), (3, 2), (4, 0)])


def slice_grad(run: Any, place: int, start: int, found: int, rows: int, rank: int, column: int) -> Any:
    """Of some entries the last is kept; in one dimension it lies at `place`, said to be `found` after `start`."""
    places = np.zeros((rows, rank), np.int64)
    places[:, 0] = np.arange(rows)
    output = places[-1:].copy()
    places[-1, column], output[0, column] = place, found
    starts = np.zeros(rank, np.int64)
    starts[column] = start
    op = next(op for op in registry if op.name == "SparseSliceGrad")
    (gradient,) = run(op, [np.ones(1), places, starts, output], {})
    return gradient.tolist()


@RUNS
@ROWS
@COLUMNS
@pytest.mark.parametrize(
    ("place", "start", "found"),
    [(LOWEST, 1, HIGHEST), (HIGHEST, -1, LOWEST), (LOWEST, HIGHEST, 1), (0, LOWEST, LOWEST), (-2, HIGHEST, HIGHEST)],
)
def test_a_place_does_not_wrap_around_to_the_other_end(
    run: Any, place: int, start: int, found: int, rows: int, rank: int, column: int
) -> None:
    with pytest.raises(Error, match=r"output_indices\[0\] is not found"):
        slice_grad(run, place, start, found, rows, rank, column)


@RUNS
@ROWS
@COLUMNS
@pytest.mark.parametrize(
    ("place", "start", "found"),
    [(HIGHEST, HIGHEST, 0), (LOWEST, LOWEST, 0), (-1, LOWEST, HIGHEST), (-1, HIGHEST, LOWEST), (LOWEST, 0, LOWEST)],
)
def test_places_at_both_ends_are_found(
    run: Any, place: int, start: int, found: int, rows: int, rank: int, column: int
) -> None:
    assert slice_grad(run, place, start, found, rows, rank, column) == [0.0] * (rows - 1) + [1.0]
