"""Comparing results bit for bit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes, eager, errors, raw_ops
from ..spec import Op
from .cases import Case

Array = np.ndarray[Any, Any]


def assert_same(got: Any, want: Any, label: str = "") -> None:
    """Same dtype, same shape, same bits; any NaN equals any NaN, for IEEE 754 leaves their payload open."""
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype, f"{label}: dtype {got.dtype} instead of {want.dtype}"
    assert got.shape == want.shape, f"{label}: shape {got.shape} instead of {want.shape}"
    differs = bits(got) != bits(want)
    if dtypes.is_differentiable(got.dtype):
        flat, other = got.reshape(-1), want.reshape(-1)  # an array may have as many axes as NumPy allows
        parts = [flat.real, flat.imag] if got.dtype.kind == "c" else [flat]
        others = [other.real, other.imag] if got.dtype.kind == "c" else [other]
        with np.errstate(invalid="ignore"):  # looking at a signaling NaN
            both = [np.isnan(a) & np.isnan(b) for a, b in zip(parts, others, strict=True)]
        differs &= ~np.stack(both, -1).reshape(differs.shape)
    if differs.any():
        place = tuple(int(p) for p in np.argwhere(differs)[0][: got.ndim])
        raise AssertionError(
            f"{label}: {int(differs.sum())} of {differs.size} values differ, first at {place}: "
            f"{got[place]!r} instead of {want[place]!r}"
        )


def bits(array: Array) -> Array:
    """The values as integers, complex numbers as pairs of them; strings as they are."""
    if dtypes.is_string(array.dtype):
        return array
    if array.dtype.kind == "c":
        parts = np.stack([array.real, array.imag], -1)
        return parts.view(f"u{parts.itemsize}")
    return np.asarray(array, order="C").view(f"u{array.itemsize}")


def outcome(run: Any, op: Op, arrays: list[Array], attrs: dict[str, Any]) -> list[Array] | str:
    """The outputs, or the message of the refusal."""
    try:
        return list(run(op, arrays, attrs))
    except errors.Error as refusal:
        return f"{type(refusal).__name__}: {refusal}"


def listed(op: Op, answer: Any) -> list[Array]:
    """What a raw op answers, as a list."""
    return op.flat_answer(answer)


def called(case: Case, **settings: Any) -> list[Array]:
    """The case as a user calls it: the inputs that it has changed, then the outputs."""
    answer = getattr(raw_ops, case.op.name)(**case.inputs, **case.attrs, **settings)
    return [*case.updated, *listed(case.op, answer)]


def assert_same_results(case: Case, got: Sequence[Array], want: Sequence[Array], label: str = "") -> None:
    """The same bits in all that a call changes and gives."""
    changed = [arg.name for arg in case.op.flat_inputs(len(case.arrays)) if arg.updates]
    names = [*changed, *case.op.flat_output_names(len(want) - len(changed))]
    for name, a, b in zip(names, got, want, strict=True):
        assert_same(a, b, f"{case}: {name} {label}".rstrip())


def assert_kernel_equals_body(case: Case) -> None:
    """The native kernel gives the bits of the NumPy body, or refuses with the same words."""
    arrays, attrs = case.arrays, dict(case.attrs)
    got = outcome(eager.functional, case.op, arrays, attrs)
    want = outcome(eager.run_reference, case.op, arrays, attrs)
    if isinstance(got, str) or isinstance(want, str):
        assert got == want, f"{case}: {got!r} instead of {want!r}"
    else:
        assert_same_results(case, got, want)
