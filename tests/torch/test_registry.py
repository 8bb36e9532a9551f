"""Every sparse op in PyTorch: the bits of NumPy, all derivatives, all of PyTorch's own checks."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch.testing._internal.optests import aot_autograd_check

from gradbag import dtypes, raw_ops
from gradbag.adapters.torch import views
from gradbag.spec import Op, registry
from gradbag.testing import assert_same, cases, native_ops
from gradbag.testing.cases import Case, type_choices, usual_types

every_op = pytest.mark.parametrize("op", native_ops(), ids=lambda op: op.name)
FORMS = [(op, form) for op in native_ops() for form in (["tensors", "sizes"] if op.held else ["tensors"])]
every_form = pytest.mark.parametrize(("op", "form"), FORMS, ids=lambda v: v if isinstance(v, str) else v.name)


def example(op: Op) -> Case:
    return next(cases(op, usual_types(op)))


def arguments_of(case: Case, form: str = "tensors", requires_grad: bool = True) -> list[Any]:
    """Tensors for a case; in the form "sizes", integers where an input holds sizes."""
    values: list[Any] = []
    for place, (arg, array) in enumerate(zip(case.op.inputs, case.arrays, strict=True)):
        if form == "sizes" and place in case.op.held:
            values.append(array.tolist())
            continue
        tensor = views.to_tensor(array.copy())
        can = arg.name in case.op.differentiable and dtypes.is_differentiable(array.dtype)
        values.append(tensor.requires_grad_(requires_grad and can))
    return values


def overload_of(op: Op, form: str) -> Any:
    return getattr(getattr(torch.ops.gradbag, op.python_name), "default" if form == "tensors" else "sizes")


def called(op: Op, values: list[Any]) -> list[Any]:
    answer = getattr(raw_ops, op.name)(**dict(zip(op.input_names, values, strict=True)))
    return [answer] if op.result is None else list(answer)


def function_of(op: Op, values: list[Any]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The op as a function of the tensors that carry a gradient, giving the outputs that do."""
    places = [p for p, v in enumerate(values) if isinstance(v, torch.Tensor) and v.requires_grad]
    assert places

    def function(*inputs: Any) -> Any:
        given = list(values)
        for place, value in zip(places, inputs, strict=True):
            given[place] = value
        return tuple(y for y in called(op, given) if y.is_floating_point() or y.is_complex())

    return function, tuple(values[place] for place in places)


def to_array(tensor: Any) -> Any:
    tensor = tensor.detach()
    if tensor.dtype is torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(dtypes.numpy_dtype("bfloat16"))
    return tensor.numpy()


def choices(op: Op) -> Iterator[dict[str, str]]:
    """The dtypes that PyTorch has too: no strings, and no quantized numbers, which mean something else there."""
    for types in type_choices(op):
        if not set(types.values()) & {"string", *dtypes.QUANTIZED}:
            yield types


# ------------------------------------------------------------------ values
@every_op
def test_the_bits_are_those_of_numpy(op: Op) -> None:
    count = 0
    for types in choices(op):
        for case in cases(op, types):
            want = raw_ops.apply(op, case.arrays, dict(case.attrs))
            wanted = [want] if op.result is None else list(want)
            for form in ("tensors", "sizes"):
                with torch.no_grad():
                    answers = called(op, arguments_of(case, form))
                for arg, got, expected in zip(op.outputs, answers, wanted, strict=True):
                    assert_same(to_array(got), expected, f"{case}: {arg.name}")
            count += 1
    assert count > 10


@every_op
def test_the_dispatcher_gives_the_same_bits(op: Op) -> None:
    for case in cases(op, usual_types(op)):
        values = arguments_of(case)
        answer = overload_of(op, "tensors")(*values)
        for got, want in zip([answer] if op.result is None else answer, called(op, values), strict=True):
            assert_same(to_array(got), to_array(want), str(case))


@every_op
def test_any_layout_of_memory_gives_the_same_bits(op: Op) -> None:
    case = example(op)
    want = called(op, arguments_of(case, requires_grad=False))
    for place, value in enumerate(arguments_of(case, requires_grad=False)):
        if value.ndim:
            spread = torch.zeros((*value.shape[:-1], value.shape[-1] * 2), dtype=value.dtype)
            spread[..., ::2] = value
            values = arguments_of(case, requires_grad=False)
            values[place] = spread[..., ::2]
            for got, expected in zip(called(op, values), want, strict=True):
                assert_same(to_array(got), to_array(expected), str(case))


@every_op
def test_what_numpy_refuses_is_refused_in_the_same_words(op: Op) -> None:
    for reject in op.rejects:
        plain = {**op.example.inputs, **reject.change}
        types = usual_types(op)
        arrays = [np.asarray(plain[a.name], dtypes.numpy_dtype(types.get(a.dtype, a.dtype))) for a in op.inputs]
        with pytest.raises(ValueError, match=reject.message):
            called(op, [torch.from_numpy(a) for a in arrays])


# ------------------------------------------------------------------ derivatives
@every_op
def test_gradients_of_order_one_and_two_in_both_modes(op: Op) -> None:
    count = 0
    for types in (usual_types(op), {**usual_types(op), "T": "complex128"}):
        for case in cases(op, types):
            function, inputs = function_of(op, arguments_of(case))
            outputs = function(*inputs)
            if not all(0 < v.numel() <= 40 for v in (*inputs, *outputs)):
                continue  # differences of nothing, or too many of them
            assert torch.autograd.gradcheck(function, inputs, check_forward_ad=True, check_batched_grad=True)
            assert torch.autograd.gradgradcheck(function, inputs)
            count += 1
    assert count >= 2


@every_op
def test_gradients_have_the_bits_of_numpy(op: Op) -> None:
    """By the rule in NumPy, also for the samples that are too large or too empty for finite differences."""
    from gradbag.autodiff import vjp
    from gradbag.testing.gradcheck import function_of as numpy_function_of
    from gradbag.testing.gradcheck import random_like

    count = 0
    for name in ("float32", "float64", "complex64"):
        for case in cases(op, {**usual_types(op), "T": name}):
            numpy_function, primals = numpy_function_of(case)
            value, pullback = vjp(numpy_function, *primals)
            weights = tuple(random_like(np.random.default_rng(0), y) for y in value)
            function, inputs = function_of(op, arguments_of(case))
            cotangents = [torch.from_numpy(w) for w in weights]
            gradients = torch.autograd.grad(function(*inputs), inputs, cotangents)
            for got, want in zip(gradients, pullback(weights), strict=True):
                assert_same(to_array(got), want, str(case))
            count += 1
    assert count > 10


@every_op
def test_forward_mode_is_the_op_on_the_tangents(op: Op) -> None:
    for case in cases(op, usual_types(op)):
        function, inputs = function_of(op, arguments_of(case))
        tangents = tuple(torch.randn_like(v) for v in inputs)
        value, moved = torch.func.jvp(function, inputs, tangents)
        assert_all_equal(value, function(*inputs))
        assert_all_equal(moved, function(*tangents))


@every_op
def test_transformations_nest(op: Op) -> None:
    function, inputs = function_of(op, arguments_of(example(op)))
    plain = inputs[0].detach()

    def loss(value: Any) -> Any:
        return sum((y**3).sum() for y in function(value, *inputs[1:]))

    expected = torch.autograd.functional.hessian(loss, plain)
    for hessian in (torch.func.hessian(loss), torch.func.jacrev(torch.func.jacrev(loss))):
        torch.testing.assert_close(hessian(plain), expected)


@every_op
def test_vmap_is_a_loop(op: Op) -> None:
    function, inputs = function_of(op, arguments_of(example(op), requires_grad=True))
    batches = tuple(torch.randn(3, *v.shape, dtype=v.dtype) for v in inputs)
    got = torch.func.vmap(function)(*batches)
    for number in range(3):
        assert_all_equal([y[number] for y in got], function(*[b[number] for b in batches]))
    last = torch.func.vmap(function, in_dims=-1)(*[b.movedim(0, -1) for b in batches])
    assert_all_equal(last, got)


def test_vmap_needs_answers_of_one_shape() -> None:
    def pooled(ids: Any) -> Any:
        return raw_ops.SparseSegmentSum(data=torch.ones(3, 2), indices=torch.tensor([0, 1]), segment_ids=ids)

    with pytest.raises(ValueError, match=r"vmap needs answers of one shape; output has \[1, 2\] and \[2, 2\]"):
        torch.func.vmap(pooled)(torch.tensor([[0, 0], [0, 1]]))


# ------------------------------------------------------------------ PyTorch's own checks
@every_form
def test_opcheck(op: Op, form: str) -> None:
    values = tuple(arguments_of(example(op), form))
    overload = overload_of(op, form)
    if op.outputs[0].name in op.differentiable_outputs:
        results = torch.library.opcheck(overload, values)
        assert results == dict.fromkeys(results, "SUCCESS")
        assert len(results) == 4
        return
    # Its last check adds up all outputs in the dtype of the first, which fails before it asks us anything, so with
    # gradients it gets the floats first.
    without = tuple(v.detach() if isinstance(v, torch.Tensor) else v for v in values)
    assert len(torch.library.opcheck(overload, without)) == 4
    others = ("test_schema", "test_autograd_registration", "test_faketensor")
    assert len(torch.library.opcheck(overload, values, test_utils=others)) == 3

    def floats_first(*given: Any) -> Any:
        return sorted(overload(*given), key=lambda y: not y.is_floating_point())

    aot_autograd_check(floats_first, values, {}, dynamic=True)


@every_form
def test_compiled_is_eager(op: Op, form: str) -> None:
    assert_compiled_is_eager(op, form, "aot_eager")


def test_compiled_by_inductor_is_eager() -> None:
    assert_compiled_is_eager(registry["SparseSegmentMean"], "tensors", "inductor")


def assert_compiled_is_eager(op: Op, form: str, backend: str) -> None:
    values = arguments_of(example(op), form)
    inputs = [v for v in values if isinstance(v, torch.Tensor) and v.requires_grad]

    def function(given: list[Any]) -> Any:
        outputs = called(op, given)
        return outputs, sum((y * y).sum() for y in outputs if y.is_floating_point())

    torch._dynamo.reset()
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        outputs, loss = torch.compile(function, fullgraph=True, backend=backend)(values)
        gradients = torch.autograd.grad(loss, inputs)
    expected, eager_loss = function(values)
    assert_all_equal(outputs, expected)
    assert_all_equal(gradients, torch.autograd.grad(eager_loss, inputs))


@every_form
def test_exported_is_eager(op: Op, form: str) -> None:
    class Module(torch.nn.Module):
        def forward(self, *values: Any) -> Any:
            return tuple(called(op, list(values)))

    values = tuple(arguments_of(example(op), form, requires_grad=False))
    exported = torch.export.export(Module(), values)
    assert f"gradbag.{op.python_name}" in str(exported.graph)
    assert_all_equal(exported.module()(*values), Module()(*values))


def assert_all_equal(got: Any, want: Any) -> None:
    assert len(got) == len(want)
    for one, other in zip(got, want, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)


def test_assert_all_equal_bites() -> None:
    with pytest.raises(AssertionError):
        assert_all_equal([torch.ones(2)], [torch.tensor([1.0, 1.0000001])])
