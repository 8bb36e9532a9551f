"""Change the example of one op in every way that fits a table, and call the op with each; print what is wrong."""

from __future__ import annotations

import itertools
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import confine
import ml_dtypes
import numpy as np

import gradbag
from gradbag import attributes, dtypes, eager
from gradbag.spec import Op, registry
from gradbag.testing import assert_same_results, called
from gradbag.testing.cases import Case, cases, usual_types

Array = np.ndarray[Any, Any]
Change = tuple[str, Any]  # what it is, and the new value of an input

SHAPES = [shape for rank in range(4) for shape in itertools.product((0, 1, 2, 5), repeat=rank)]
HUGE_SHAPES = [(2**40, 0), (2**59, 0), (0, 2**40), (0, 2**59), (2**31, 0, 2**20), (1,) * 64]
DTYPES: list[Any] = [
    *(dtypes.numpy_dtype(name) for name in (*dtypes.ANY, *dtypes.QUANTIZED)),
    *("S3", "U3", "M8[ns]", "m8[s]", "V4", "longdouble", "clongdouble", "longlong", "ulonglong", "i4,i4", ">i8", ">f4"),
    *(ml_dtypes.float8_e4m3fn, ml_dtypes.int4, np.dtypes.StringDType()),
]
NUMBERS = [-1, 2**31 - 1, 2**31, 2**32, 2**40, 2**62, 2**63 - 1, -(2**31), -(2**63)]
FLOATS = [float("nan"), float("inf"), -float("inf"), 1e38, -0.0, 1e-45]


def circular() -> list[Any]:
    made: list[Any] = []
    made.append(made)
    return made


def deep() -> list[Any]:
    made: list[Any] = [0]
    for _ in range(100):
        made = [made]
    return made


PYTHON_VALUES = [
    *(None, True, "text", b"text", "", 1.5, 1j, float("nan"), float("inf"), 1e400),
    *(2**31, 2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**63) - 1, 10**400, 10**5000),
    *([], [[]], [[], []], [None], [[1], [1, 2]], [1, "a"], ["a", 1], ["a", b"b"], [True, 2], [1, 2.5], [2**64]),
    *([-1, 2**63], [10**5000, -1], [float("nan")], (), ((),), [()], circular(), deep(), ["\udc80"], ["\0"]),
    *({}, {"a": 1}, set(), range(4), iter([1]), object(), int, Ellipsis, slice(1), memoryview(b"ab"), bytearray(b"a")),
    *(np.ma.masked_array([1, 2], [True, False]), np.matrix([[1, 2]]), np.array(None), np.array([1, "a", None], object)),
    *(np.datetime64("NaT"), np.float64("nan"), np.int8(1), np.bool_(True), np.str_("a"), np.void(b"ab")),
]


def changed_arrays(array: Array, ranks: int) -> Iterator[Change]:
    for shape in (shape for shape in SHAPES if len(shape) <= ranks):
        yield f"zeros of shape {shape}", as_dtype(np.zeros(shape), array.dtype)
        yield f"ones of shape {shape}", as_dtype(np.ones(shape), array.dtype)
    yield from bad_numbers(array)
    if array.ndim:
        for count, row in itertools.product((2**33, 2**45), (array[:1], other_byte_order(array[:1]))):
            yield f"one {row.dtype} row repeated {count} times", np.broadcast_to(row, (count, *row.shape[1:]))


def changed_types(array: Array) -> Iterator[Change]:
    for shape in HUGE_SHAPES:
        yield f"nothing, of shape {shape}", np.zeros(shape, array.dtype)
    for dtype in DTYPES:
        yield f"dtype {dtype}", as_dtype(array, np.dtype(dtype))
    yield "any bytes as bool", np.arange(array.size, dtype=np.uint8).view(np.bool_).reshape(array.shape)
    for place, value in enumerate(PYTHON_VALUES):
        yield f"Python value {place}, a {type(value).__name__}", value


def changes(op: Op) -> Iterator[tuple[Case, str]]:
    """Calls, and what was changed in them."""
    for types in confine.some_types(op):
        example = next(cases(op, types))
        for place, name, array in example.given:
            for what, value in changed_arrays(array, ranks=3 if types == usual_types(op) else 1):
                yield example.replaced({place: value}), f"{' '.join(types.values())}, {name}: {what}"
    for case in cases(op, usual_types(op)):
        for place, name, array in case.given:
            for what, value in bad_numbers(array) if array.size else ():
                yield case.replaced({place: value}), f"{case}, {name}: {what}"
    example = next(cases(op, usual_types(op)))
    for place, name, array in example.given:
        for what, value in changed_types(array):
            yield example.replaced({place: value}), f"{name}: {what}"
    for name in (op.input_names[place] for place in op.lists):
        for place, value in enumerate(PYTHON_VALUES):
            what = f"{name} in whole: Python value {place}, a {type(value).__name__}"
            yield replace(example, inputs={**example.inputs, name: value}), what
    for attr in op.attrs:
        for value in (None, 0, 1, "yes", np.True_, np.array(True), [True]):
            yield replace(example, attrs={**example.attrs, attr.name: value}), f"{attr.name}: {value!r}"


def other_byte_order(array: Array) -> Array:
    return array.astype(array.dtype.newbyteorder()) if array.dtype.kind in "if" else array


def as_dtype(array: Array, dtype: np.dtype[Any]) -> Array:
    try:
        return array.astype(dtype)
    except (TypeError, ValueError, OverflowError):  # the last of objects that are Python's own integers
        return np.zeros(array.shape, dtype)


def bad_numbers(array: Array) -> Iterator[Change]:
    kind = array.dtype.kind
    for number in NUMBERS if kind == "i" else FLOATS if kind == "f" else ():
        if kind == "i" and not np.iinfo(array.dtype).min <= number <= np.iinfo(array.dtype).max:
            continue
        for where, places in (("first", slice(0, 1)), ("last", slice(-1, None)), ("every", slice(None))):
            changed = array.copy().reshape(-1)
            changed[places] = number
            yield f"{number} at the {where} place", changed.reshape(array.shape)


def outcome(call: Callable[[], list[Any]]) -> tuple[str, Any]:
    """A kind, and the results or the message; a kind that begins with WRONG may not be."""
    try:
        # A strict caller: whatever NumPy says on the way would become an exception.
        with warnings.catch_warnings(action="error"), np.errstate(all="raise"):
            return "answered", call()
    except gradbag.Error as refusal:
        family = {ValueError, TypeError, MemoryError} & set(type(refusal).__mro__)
        return (family.pop().__name__ if len(family) == 1 else "WRONG family"), str(refusal)
    except TypeError as problem:
        return "wrong use", str(problem)
    except Exception as problem:  # noqa: BLE001  # exactly what must not happen
        return f"WRONG {type(problem).__name__}", str(problem)


def judge(case: Case) -> str | None:
    op, values = case.op, flat_values(case)
    updates = [p for p in op.flat_updates(len(values)) if isinstance(values[p], np.ndarray)]
    written = {place: values[place].copy() for place in updates if values[place].flags.writeable}
    kind, told = outcome(lambda: called(case.replaced(written) if written else case))
    if kind.startswith("WRONG"):
        return f"{kind}: {told[:200]}"
    if kind != "answered":
        if not told.startswith(op.name) or len(told) > 1000:
            return f"a poor message: {told[:200]}"
        if any(array.tobytes() != values[place].tobytes() for place, array in written.items()):
            return "refused, but changed"
        return None
    if values and all(v is None or (isinstance(v, np.ndarray) and v.dtype.isnative) for v in values):
        return compare_with_body(case, told)
    return None


def flat_values(case: Case) -> list[Any]:
    """Nothing, if there is no list where the op takes one."""
    lists = [case.inputs[case.op.input_names[place]] for place in case.op.lists]
    return case.arrays if all(isinstance(value, list | tuple) for value in lists) else []


def compare_with_body(case: Case, results: list[Array]) -> str | None:
    kind, want = outcome(lambda: eager.run_reference(case.op, case.arrays, attributes.normal(case.op, case.attrs)))
    if kind == "MemoryError":  # a body needs more memory than a kernel
        return None
    if kind != "answered":
        return f"answered, but the body says: {kind}: {want}"
    try:
        assert_same_results(case, results, want)
    except AssertionError as difference:
        return str(difference)
    return None


if __name__ == "__main__":
    confine.limit_memory()
    np.seterr(all="ignore")
    gradbag.set_memory_limit(1 << 28)  # no answer of gigabytes, however honest: it would take long
    op = registry[sys.argv[1]]
    for case, what in changes(op):
        sys.stdout.write(f"{what}\n")
        sys.stdout.flush()
        complaint = judge(case)
        if complaint is not None:
            sys.stdout.write(f"WRONG {complaint} <- {what}\n")
    sys.stdout.write("done\n")
