"""How many threads the kernels may use."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gradbag
from gradbag import eager
from gradbag.spec import Op
from gradbag.testing import assert_same_results, cases, native_ops
from gradbag.testing.cases import usual_types


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    with gradbag.set_num_threads(gradbag.get_num_threads()):
        yield


def test_a_number_holds_from_now_on() -> None:
    gradbag.set_num_threads(3)
    assert gradbag.get_num_threads() == 3
    gradbag.set_num_threads(1)
    assert gradbag.get_num_threads() == 1


def test_a_with_statement_brings_the_former_number_back() -> None:
    gradbag.set_num_threads(2)
    with gradbag.set_num_threads(1):
        assert gradbag.get_num_threads() == 1
        with gradbag.set_num_threads(4):
            assert gradbag.get_num_threads() == 4
        assert gradbag.get_num_threads() == 1
    assert gradbag.get_num_threads() == 2


def test_the_former_number_comes_back_after_an_error_too() -> None:
    gradbag.set_num_threads(2)
    with pytest.raises(ZeroDivisionError), gradbag.set_num_threads(1):
        raise ZeroDivisionError
    assert gradbag.get_num_threads() == 2


@pytest.mark.parametrize("n", [1.0, "2", None, True, [1], np.int64(2)], ids=repr)
def test_a_number_of_threads_is_an_int(n: Any) -> None:
    with pytest.raises(
        gradbag.UnsupportedTypeError, match=rf"^set_num_threads: n must be an int; got {type(n).__name__}$"
    ):
        gradbag.set_num_threads(n)


@pytest.mark.parametrize("n", [0, -1, -(2**100)])
def test_there_is_at_least_one_thread(n: int) -> None:
    before = gradbag.get_num_threads()
    with pytest.raises(gradbag.InvalidArgumentError, match=r"^set_num_threads: n == -?[\d* a-z]+ must be at least 1$"):
        gradbag.set_num_threads(n)
    assert gradbag.get_num_threads() == before


def test_more_threads_than_any_machine_has_are_as_many_as_there_can_be() -> None:
    gradbag.set_num_threads(2**100)
    assert gradbag.get_num_threads() >= 1


@pytest.mark.parametrize("op", native_ops(), ids=lambda op: op.name)
def test_every_number_of_threads_gives_the_same_bits(op: Op) -> None:
    for case in cases(op, usual_types(op)):
        wanted = eager.run_reference(op, case.arrays, dict(case.attrs))
        for n in (1, 2, 3, 8):
            with gradbag.set_num_threads(n):
                got = eager.functional(op, case.arrays, dict(case.attrs))
            assert_same_results(case, got, wanted, f"by {n} threads")


def test_without_compiled_kernels_the_number_is_remembered(python: Any) -> None:
    program = (
        "import gradbag; print(gradbag.get_num_threads()); gradbag.set_num_threads(5); print(gradbag.get_num_threads())"
    )
    assert python(program, blocked=["gradbag.eager._kernels"]).stdout.split() == ["1", "5"]
