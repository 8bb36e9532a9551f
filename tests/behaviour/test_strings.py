"""Strings in all the forms in which NumPy holds them."""

from typing import Any

import numpy as np
import pytest

import gradbag
from gradbag import raw_ops

STRING = np.dtypes.StringDType()
FORMS = [
    (np.array(["a", "b"], object), "longer"),
    (np.array([b"a", b"b"], object), b"longer"),
    (np.array([b"a", b"b"]), b"longer"),
    (np.array(["a", "b"]), "länger"),
    (np.array(["a", "b"], STRING), "länger"),
    (["a", "b"], "länger"),
    ([b"a", b"b"], b"longer"),
    (np.array([b"a", b"b"]), np.array(b"longer")),
    (np.array(["a", "b"]), np.array("longer")),
    (np.array(["a", "b"]), np.str_("longer")),
    (np.array(["a", "b"], STRING), np.array("longer")),
]
MIXED = [
    (np.array([b"a", b"b"]), np.array("x")),
    (np.array(["a", "b"]), np.array(b"x")),
    (np.array(["a", "b"], STRING), np.array(b"x")),
    (np.array(["a", "b"]), b"x"),
    (np.array(["a", "b"], STRING), b"x"),
    (np.array(["a", "b"], object), b"x"),
    (np.array(["a", "b"], object), np.array(b"x")),
    (["a", "b"], b"x"),
    (["a", b"b"], "x"),
]


def filled(values: Any, default_value: Any) -> Any:
    places = {"indices": [[0, 0], [2, 1]], "dense_shape": [3, 2]}
    return raw_ops.SparseFillEmptyRows(**places, values=values, default_value=default_value).output_values


def name_form(value: Any) -> str:
    return f"{value.dtype}" if isinstance(value, (np.ndarray, np.generic)) else f"{value!r}"


@pytest.mark.parametrize(("values", "default"), FORMS, ids=name_form)
def test_a_default_longer_than_all_values_is_not_cut(values: Any, default: Any) -> None:
    answer = filled(values, default)
    text = default.item() if hasattr(default, "item") else default
    first, last = list(values)
    assert answer.tolist() == [first, text, last]


@pytest.mark.parametrize("values", [form for form, _ in FORMS[:5]], ids=name_form)
def test_a_result_has_the_form_of_its_values(values: Any) -> None:
    kept = raw_ops.SparseSlice(indices=[[0], [4]], values=values, shape=[5], start=[3], size=[2])
    assert kept.output_values.dtype == values.dtype
    assert kept.output_values.tolist() == values.tolist()[1:]


@pytest.mark.parametrize(("values", "default"), MIXED, ids=name_form)
def test_bytes_and_str_do_not_mix(values: Any, default: Any) -> None:
    with pytest.raises(gradbag.UnsupportedTypeError, match=r"^SparseFillEmptyRows: (default_value|values)"):
        filled(values, default)


@pytest.mark.parametrize("values", [np.array([b"a", b"b"]), np.array([b"a", b"b"], object)], ids=name_form)
def test_a_python_str_beside_bytes_is_encoded_as_tensorflow_does(values: Any) -> None:
    assert filled(values, "ä").tolist() == [b"a", "ä".encode(), b"b"]


@pytest.mark.parametrize("other", [None, 1.5, 1, ["a"], np.nan], ids=repr)
def test_an_object_array_with_something_else_says_where(other: Any) -> None:
    values = np.empty(2, object)
    values[0], values[1] = "a", other
    wanted = rf"^SparseFillEmptyRows: values\[1\] must be str or bytes; got {type(other).__name__}$"
    with pytest.raises(gradbag.UnsupportedTypeError, match=wanted):
        filled(values, "x")


def test_an_object_array_is_looked_into_every_time() -> None:
    values = np.array(["a", "b"], object)
    filled(values, "x")
    values[0] = None
    with pytest.raises(gradbag.UnsupportedTypeError, match=r"values\[0\] must be str or bytes; got NoneType"):
        filled(values, "x")


def test_a_number_is_no_default_for_strings_and_a_string_none_for_numbers() -> None:
    with pytest.raises(gradbag.UnsupportedTypeError, match="default_value must be string; got a Python int"):
        filled(np.array(["a", "b"]), 1)
    with pytest.raises(gradbag.UnsupportedTypeError, match="default_value must be float64; got a Python string"):
        filled(np.array([1.0, 2.0]), "x")
    with pytest.raises(gradbag.UnsupportedTypeError, match=r"values must be one of .*; got a list of mixed"):
        filled(["a", 1], "x")


@pytest.mark.parametrize("values", [np.array([b"a", b"b"]), np.array(["a", "b"], STRING)], ids=name_form)
def test_a_str_that_no_encoding_holds_is_refused_by_name(values: Any) -> None:
    with pytest.raises(gradbag.Error, match=r"^SparseFillEmptyRows: default_value "):
        filled(values, "\ud800")


def test_bytes_that_end_in_zero_keep_it_where_the_form_can() -> None:
    assert filled([b"a\0", b"b"], b"c\0").tolist() == [b"a\0", b"c\0", b"b"]


def test_strings_have_no_gradient() -> None:
    with pytest.raises(gradbag.UnsupportedTypeError, match="grad_values must be one of"):
        raw_ops.SparseFillEmptyRowsGrad(reverse_index_map=[0], grad_values=["a"])
