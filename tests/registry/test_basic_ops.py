"""What a declaration promises of a basic op: answers, refusals, shapes and gradients; and that nothing is shared."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import gradbag
from gradbag import dtypes, eager, opdocs, raw_ops
from gradbag.spec import Op, Reject
from gradbag.testing import array_ops, assert_adjoint, assert_gradient, assert_same, cases, layouts
from gradbag.testing.cases import Case, floating_types, type_choices, usual_types
from gradbag.testing.gradcheck import function_of
from gradbag.testing.oracle import listed

RUNNING = [op for op in array_ops() if opdocs.runs_alone(op)]
IN_A_SESSION = [op for op in array_ops() if not opdocs.runs_alone(op)]
every_op = pytest.mark.parametrize("op", RUNNING, ids=lambda op: op.name)
REJECTS = [(op, reject) for op in array_ops() for reject in op.rejects]
# Outside of a graph there are no branches, which rules speak of.
BRANCHES = ("switch", "merge")
DERIVED = [op for op in RUNNING if op.differentiable and op.differentiable_outputs and op.state not in BRANCHES]


def test_there_are_basic_ops() -> None:
    assert len(array_ops()) >= 50
    assert len(DERIVED) >= 30
    assert len(REJECTS) >= 30


# ------------------------------------------------------------------ answers
@every_op
def test_every_dtype_runs_and_gives_what_is_declared(op: Op) -> None:
    count = 0
    for case in cases(op):
        for output, (shape, name) in zip(_outputs(case), _inferred(case), strict=True):
            assert dtypes.name_of(output.dtype) == name, str(case)
            _assert_fits(output.shape, shape, str(case))
        count += 1
    assert count >= len(list(type_choices(op))) * (1 + bool(op.inputs))


@every_op
def test_inputs_stay_as_they_are_and_outputs_have_memory_of_their_own(op: Op) -> None:
    count = 0
    for case in cases(op, usual_types(op)):
        before = {place: a.copy() for place, _, a in case.given}
        outputs = _outputs(case)
        updated = op.flat_updates(len(case.arrays))
        given = [array for _, _, array in case.given]
        for (place, copied), array in zip(before.items(), given, strict=True):
            if place not in updated:
                assert_same(array, copied, str(case))
        for one, other in pairwise([*given, *outputs, *given]):
            assert one is other or not np.shares_memory(one, other), str(case)
        for output in outputs:
            assert not any(np.shares_memory(output, a) for a in given), str(case)
            assert output.base is None or output.flags.owndata, str(case)
        count += 1
    assert count


@every_op
def test_any_memory_layout_gives_the_same_bits(op: Op) -> None:
    count = 0
    for case in cases(op, usual_types(op)):
        want = _outputs(case.fresh())
        updated = op.flat_updates(len(case.arrays))  # what is written must be an array that can be
        for place, _, array in case.given:
            for layout, same in layouts(array) if place not in updated else ():
                given = case.fresh().replaced({place: same}).arrays
                inputs = dict(zip(op.input_names, op.grouped(given), strict=True))
                answer = getattr(raw_ops, op.name)(**inputs, **case.attrs)
                for got, expected in zip(listed(op, answer), want, strict=True):
                    assert_same(got, expected, f"{case}: input {place} {layout}")
        count += 1
    assert count


# ------------------------------------------------------------------ refusals
@pytest.mark.parametrize(("op", "reject"), REJECTS, ids=lambda x: x.name if isinstance(x, Op) else str(x.change)[:40])
def test_a_reject_names_op_argument_and_limit(op: Op, reject: Reject) -> None:
    given = {**op.example.inputs, **reject.change}
    updated = {a.dtype for a in op.inputs if a.updates}
    given |= {a.name: np.array(given[a.name], np.float32) for a in op.inputs if a.dtype in updated}
    with pytest.raises(gradbag.Error, match=f"^{op.name}: {reject.message}"):
        getattr(raw_ops, op.name)(**given)


@every_op
def test_a_dtype_that_no_op_takes_is_named(op: Op) -> None:
    for arg in op.inputs:
        wrong: Any = np.zeros((1, 1), "datetime64[s]")
        name, wrong = (
            (rf"{arg.name}(\[0\])?", [wrong] * len(op.example.inputs[arg.name])) if arg.many else (arg.name, wrong)
        )
        with pytest.raises(gradbag.UnsupportedTypeError, match=rf"^{op.name}: {name} must be .*; got datetime64\[s\]"):
            getattr(raw_ops, op.name)(**{**op.example.inputs, arg.name: wrong})


@every_op
def test_an_out_is_filled_where_words_give_the_shapes_and_else_refused(op: Op) -> None:
    if not op.sized_outputs:
        with pytest.raises(TypeError, match=f"^{op.name} takes no out: the sizes of its outputs are only known"):
            getattr(raw_ops, op.name)(**op.example.inputs, out=np.zeros(1))
        return
    given = {**op.example.inputs}
    updated = {a.dtype for a in op.inputs if a.updates}
    given |= {a.name: np.array(given[a.name], np.float32) for a in op.inputs if a.dtype in updated}
    wanted = listed(
        op, getattr(raw_ops, op.name)(**{name: np.copy(v) if op.updates else v for name, v in given.items()})
    )
    sized = [arg.name in op.sized_outputs for arg in op.outputs]
    brought = [np.empty_like(w) if taken else None for w, taken in zip(wanted, sized, strict=True)]
    answer = getattr(raw_ops, op.name)(**given, out=brought if op.result else brought[0])
    for got, array, want in zip(listed(op, answer), brought, wanted, strict=True):
        assert array is None or got is array
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("op", IN_A_SESSION, ids=lambda op: op.name)
def test_what_only_a_session_knows_is_refused_in_words(op: Op) -> None:
    with pytest.raises(gradbag.InvalidArgumentError, match=f"^{op.name}: there is no value; "):
        getattr(raw_ops, op.name)(**op.example.inputs)


# ------------------------------------------------------------------ shapes
@every_op
def test_a_shape_that_is_inferred_from_less_is_still_true(op: Op) -> None:
    count = 0
    for case in cases(op, usual_types(op)):
        outputs = _outputs(case)
        for known in _less_and_less(case):
            for output, (shape, _) in zip(outputs, _inferred(case, *known), strict=True):
                _assert_fits(output.shape, shape, f"{case} from {known[0]}")
        count += 1
    assert count


def _less_and_less(case: Case) -> Iterator[tuple[Sequence[Any], Sequence[Any]]]:
    """Shapes and contents of the inputs as they may be known while a graph is built."""
    shapes: list[Any] = [None if a is None else a.shape for a in case.arrays]
    contents: list[Any] = list(case.arrays)
    nothing = [None] * len(shapes)
    yield shapes, nothing
    yield [None if s is None else (None,) * len(s) for s in shapes], nothing
    yield nothing, nothing
    for place, _, array in case.given:
        for unknown in ((None,) * array.ndim, None):
            fewer = [*shapes[:place], unknown, *shapes[place + 1 :]]
            without = [*contents[:place], None, *contents[place + 1 :]]
            yield fewer, without
            yield fewer, nothing
        yield shapes, [None if k == place else c for k, c in enumerate(contents)]
        alone = [None if k != place else c for k, c in enumerate(contents)]
        yield [s if k == place else None for k, s in enumerate(shapes)], alone


# ------------------------------------------------------------------ gradients
@pytest.mark.parametrize("op", DERIVED, ids=lambda op: op.name)
def test_gradients_are_checked_for_some_dtype(op: Op) -> None:
    assert floating_types(op, "float64") or floating_types(op, "complex128")


@pytest.mark.parametrize(
    ("op", "name"),
    [(op, name) for op in DERIVED for name in ("float64", "complex128") if floating_types(op, name)],
    ids=lambda x: x.name if isinstance(x, Op) else x,
)
def test_gradients_and_forward_mode(op: Op, name: str) -> None:
    types = floating_types(op, name)
    checked = 0
    for case in cases(op, types):
        if case.label != "example":  # which may show a point that has no derivative
            checked += assert_gradient(case, order=2 if name == "float64" else 1)
            assert_adjoint(case)
    assert checked >= 2


@pytest.mark.parametrize("op", DERIVED, ids=lambda op: op.name)
def test_a_gradient_has_the_dtype_of_its_input(op: Op) -> None:
    checked = 0
    for types in type_choices(op):
        case = next(cases(op, types))
        function, primals = function_of(case)
        value, pullback = gradbag.vjp(function, *primals)
        for primal, gradient in zip(primals, pullback(value), strict=True):
            assert gradient.dtype == primal.dtype, str(case)
            checked += 1
    assert checked


@every_op
def test_an_input_that_could_carry_a_gradient_has_a_rule_or_is_said_to_have_none(op: Op) -> None:
    assert op.rule is not None or not op.differentiable or not op.differentiable_outputs


# ------------------------------------------------------------------ what they share
def _outputs(case: Case) -> list[Any]:
    return eager.run(case.op, case.arrays, dict(case.attrs))


def _inferred(case: Case, shapes: Any = None, contents: Any = None) -> list[Any]:
    names = [None if a is None else dtypes.name_of(a.dtype) for a in case.arrays]
    if shapes is None:
        shapes, contents = [None if a is None else a.shape for a in case.arrays], case.arrays
    return case.op.infer(shapes, names, contents, case.attrs)


def _assert_fits(real: tuple[int, ...], inferred: Any, label: str) -> None:
    """An inferred shape may leave things open, but must not say what is not so."""
    assert inferred is None or (
        len(real) == len(inferred) and all(want in (None, got) for got, want in zip(real, inferred, strict=True))
    ), f"{label}: {inferred} inferred, {real} given"
