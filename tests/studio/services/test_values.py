"""Values in few numbers, and parts of large ones."""

from __future__ import annotations

import json
import warnings
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from gradbag import dtypes
from gradbag.errors import InvalidArgumentError
from gradbag.studio.services.values import MOST_ANSWERED, cut, described, digest, summary


@pytest.mark.parametrize("dtype", [*dtypes.ANY, *dtypes.QUANTIZED])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (0, 4), (70, 80), (2, 3, 4)])
def test_every_dtype_and_shape_can_be_told(dtype: str, shape: tuple[int, ...]) -> None:
    array = np.zeros(shape, dtypes.numpy_dtype(dtype))
    if dtype == "string":
        array[...] = b"\xff"
    told = described("x", array)
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    assert told["dtype"] == dtype
    assert told["shape"] == list(shape)
    assert (told["table"] is None) == (array.size > 64)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 1e308, -1e308, 5e-324])
@pytest.mark.parametrize("other", [0.0, 1e308, np.nan, -np.inf])
def test_no_number_is_too_strange(value: float, other: float) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        told = described("x", np.array([[value, other], [other, value]]))
    json.dumps(told, allow_nan=False)
    assert told["summary"]["nans"] == 2 * np.isnan(value) + 2 * np.isnan(other)
    assert told["summary"]["infs"] == 2 * np.isinf(value) + 2 * np.isinf(other)


def test_a_summary_counts() -> None:
    made = summary(np.array([0, 0, 1, 2, np.nan]))
    assert (made["min"], made["max"], made["mean"], made["zeros"], made["nans"]) == (0, 2, 0.75, 2, 1)
    assert sum(made["histogram"]["counts"]) == 4
    assert len(made["histogram"]["edges"]) == len(made["histogram"]["counts"]) + 1
    assert made["heat"] is None


def test_infinities_are_extremes_and_no_part_of_the_mean() -> None:
    made = summary(np.array([-np.inf, 1.0, 3.0]))
    assert (made["min"], made["max"], made["mean"], made["infs"]) == ("-inf", 3, 2, 1)


def test_of_a_large_value_everything_is_counted() -> None:
    array = np.ones(3_000_001, np.float32)
    array[[1, 1_500_000]] = 0
    array[[2, 2_999_999, 3]] = np.nan
    made = summary(array)
    assert (made["zeros"], made["nans"], made["min"], made["max"]) == (2, 3, 0, 1)
    assert made["mean"] == pytest.approx(1 - 2 / 2_999_998)


def test_integers_beyond_doubles_stay_exact() -> None:
    made = summary(np.array([2**63 - 1, -(2**63)]))
    assert (made["min"], made["max"]) == (str(-(2**63)), str(2**63 - 1))


def test_a_heat_map_is_a_mean_over_blocks() -> None:
    made = summary(np.arange(128 * 128, dtype=np.float64).reshape(128, 128))["heat"]
    assert (made["rows"], made["columns"]) == (64, 64)
    assert made["values"][0] == np.mean([0, 1, 128, 129])
    small = summary(np.array([[1, 2], [3, np.nan]], ml_dtypes.bfloat16))["heat"]
    assert small == {"rows": 2, "columns": 2, "values": [1, 2, 3, None]}


def test_a_large_value_is_summed_up_quickly() -> None:
    made = summary(np.broadcast_to(np.float32(2), (5000, 5000)))
    assert made["mean"] == 2
    assert set(made["heat"]["values"]) == {2}


def test_equal_values_have_one_name() -> None:
    one = np.arange(6).reshape(2, 3)
    assert digest(one) == digest(np.asfortranarray(one))
    assert len({digest(a) for a in (one, one.T, one.astype(np.int32), one + 1)}) == 4


CUBE: Any = np.arange(24).reshape(2, 3, 4)


@pytest.mark.parametrize(
    ("text", "part"),
    [("", CUBE), ("1", CUBE[1]), ("1,:,0", CUBE[1, :, 0]), (":,-1", CUBE[:, -1]), (" 0 , 1:3 ", CUBE[0, 1:3])],
)
def test_slices_are_numpys(text: str, part: Any) -> None:
    told = cut(CUBE, 0, 100, None, text)
    assert told["shape"] == list(part.shape)
    assert np.array_equal(np.ravel(told["table"]), np.ravel(part))


@pytest.mark.parametrize("text", ["2", "0,0,0,0", "a", "::2", "__import__('os')", "1;2", "99999999999999999999", ","])
def test_what_is_no_slice_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgumentError, match=r"slice|entries"):
        cut(CUBE, 0, 10, None, text)


def test_a_part_has_rows_and_columns() -> None:
    assert cut(CUBE, 1, 2, (2, 5), "")["table"] == [[6, 7], [10, 11]]
    assert cut(CUBE, 99, 2)["table"] == []
    with pytest.raises(InvalidArgumentError, match="start"):
        cut(CUBE, -1, 2)


def test_an_answer_is_never_large() -> None:
    wide = np.zeros((3, 50_000))
    assert np.size(cut(wide, 0, 3)["table"]) <= MOST_ANSWERED
    assert np.size(cut(np.zeros(10**6), 0, 10**6)["table"]) == MOST_ANSWERED
