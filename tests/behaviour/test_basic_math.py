"""Where the arithmetic of graphs is not what one might think: at zeros, at ties, and of integers."""

from typing import Any

import numpy as np
import pytest

import gradbag
from gradbag import raw_ops

# ------------------------------------------------------------------ gradients at awkward points


def gradient(op: str, point: Any, **others: Any) -> Any:
    """Of the sum of an op's results in its first input."""
    call = getattr(raw_ops, op)
    first = "input" if "axis" in others else "x"
    return gradbag.grad(lambda x: call(**{first: x}, **others).sum())(np.asarray(point, np.float64)).tolist()


@pytest.mark.parametrize(
    ("factors", "others"),
    [([2.0, 3.0, 4.0], [12.0, 8.0, 6.0]), ([2.0, 0.0, 4.0], [0.0, 8.0, 0.0]), ([0.0, 0.0, 4.0], [0.0, 0.0, 0.0])],
    ids=["no zero", "one zero", "two zeros"],
)
def test_the_gradient_of_a_product_is_the_product_of_the_others(factors: Any, others: Any) -> None:
    assert gradient("Prod", factors, axis=[0]) == others


def test_elements_that_are_equally_large_share_the_gradient() -> None:
    assert gradient("Max", [3.0, 1.0, 3.0], axis=[0]) == [0.5, 0.0, 0.5]
    assert gradient("Min", [3.0, 1.0, 3.0], axis=[0]) == [0.0, 1.0, 0.0]


def test_of_two_equal_operands_the_first_gets_the_gradient() -> None:
    for op in ("Maximum", "Minimum"):
        assert gradient(op, [1.0], y=np.array([1.0])) == [1.0]


def test_the_gradient_of_a_power_is_a_number_where_base_and_exponent_are_zero() -> None:
    assert gradient("Pow", [0.0, 2.0, 0.0], y=np.array([0.0, 3.0, 1.0])) == [0.0, 12.0, 1.0]


def test_the_gradient_of_a_division_by_zero_without_nan_is_zero() -> None:
    assert gradient("DivNoNan", [1.0, 1.0], y=np.array([0.0, 2.0])) == [0.0, 0.5]


def test_the_gradient_of_a_root_stays_zero_where_nothing_comes_in() -> None:
    assert raw_ops.SqrtGrad(y=[0.0, 0.0], dy=[0.0, 1.0]).tolist() == [0.0, np.inf]


# ------------------------------------------------------------------ integers
def test_the_mean_of_integers_loses_its_fraction_and_does_not_overflow() -> None:
    assert raw_ops.Mean(input=np.array([100, 100, 100, 27], np.int8), axis=0) == 81
    assert raw_ops.Mean(input=np.array([-3, -4]), axis=0) == -3
    assert raw_ops.Mean(input=np.zeros((0, 1), np.int32), axis=0).tolist() == [0]


def test_a_quotient_is_rounded_before_it_is_rounded_down() -> None:
    assert raw_ops.FloorDiv(x=1.0, y=0.1) == 10.0
    assert raw_ops.FloorDiv(x=[7, -7], y=[2, 2]).tolist() == [3, -4]
    assert raw_ops.FloorMod(x=[7, -7, 7], y=[2, 2, -2]).tolist() == [1, 1, -1]


def test_a_zero_may_divide_no_integers() -> None:
    assert raw_ops.FloorDiv(x=np.zeros(0, np.int32), y=0).shape == (0,)


def test_integers_wrap_around() -> None:
    assert raw_ops.Sum(input=np.array([100, 100], np.int8), axis=0) == -56
    assert raw_ops.Pow(x=np.array([3], np.int8), y=np.array([7], np.int8)).tolist() == [-117]


# ------------------------------------------------------------------ nothing, and what does not fit
def test_the_largest_of_nothing_is_the_smallest_number() -> None:
    assert raw_ops.Max(input=np.zeros((0, 1), np.float32), axis=0).tolist() == [-np.inf]
    assert raw_ops.Min(input=np.zeros((0, 1), np.uint8), axis=0).tolist() == [255]


def test_arrays_that_cannot_be_stretched_may_differ_as_a_whole() -> None:
    two, three = np.zeros(2), np.zeros(3)
    assert not raw_ops.Equal(x=two, y=three, incompatible_shape_error=False)
    assert raw_ops.NotEqual(x=two, y=three, incompatible_shape_error=False)


def test_stretching_asks_for_no_more_than_there_is() -> None:
    tall, wide = np.broadcast_to(np.float32(1), (2**40, 1)), np.broadcast_to(np.float32(1), (1, 2**40))
    for call in (raw_ops.Mul, raw_ops.Equal):
        with pytest.raises(gradbag.InvalidArgumentError, match="is more than any memory holds"):
            call(x=tall, y=wide)
    with pytest.raises(gradbag.ResourceExhaustedError, match="product of shape"):
        raw_ops.MatMul(a=tall, b=wide)


# ------------------------------------------------------------------ precision and strings
def test_sums_of_short_floats_are_rounded_once() -> None:
    ones = np.ones(4096, np.float16)
    assert raw_ops.Sum(input=ones, axis=0) == 4096
    assert raw_ops.Sum(input=np.float32([1e8, 1.0, -1e8]), axis=0) == 1.0


def test_a_small_complex_number_does_not_drown_in_one() -> None:
    assert raw_ops.Log1p(x=np.array([1e-20 + 0j])).tolist() == [1e-20 + 0j]


@pytest.mark.parametrize("carrier", [object, "U", "S", np.dtypes.StringDType()], ids=str)
def test_strings_are_joined_whatever_carries_them(carrier: Any) -> None:
    left, right = np.array(["a", "b"], carrier), np.array("!", carrier)
    joined = raw_ops.Add(x=left, y=right)
    assert [s.decode() if isinstance(s, bytes) else s for s in joined.tolist()] == ["a!", "b!"]
    assert raw_ops.Equal(x=left, y=left[:1]).tolist() == [True, False]
