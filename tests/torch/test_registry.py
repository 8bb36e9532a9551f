"""Every op with a kernel in PyTorch: the bits of NumPy, all derivatives, all of PyTorch's own checks."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch.testing._internal.optests import aot_autograd_check

from gradbag import dtypes, eager, raw_ops
from gradbag.adapters.torch import views
from gradbag.spec import Arg, Op, registry
from gradbag.testing import assert_same, cases, cast, differentiable_ops, native_ops
from gradbag.testing.cases import Case, type_choices, usual_types

every_op = pytest.mark.parametrize("op", native_ops(), ids=lambda op: op.name)
every_differentiable_op = pytest.mark.parametrize("op", differentiable_ops(), ids=lambda op: op.name)
every_linear_op = pytest.mark.parametrize(
    "op", [op for op in differentiable_ops() if op.is_linear], ids=lambda op: op.name
)
FORMS = [(op, form) for op in native_ops() for form in (["tensors", "sizes"] if op.held else ["tensors"])]
every_form = pytest.mark.parametrize(("op", "form"), FORMS, ids=lambda v: v if isinstance(v, str) else v.name)


def example(op: Op) -> Case:
    return next(cases(op, usual_types(op)))


def arguments_of(case: Case, form: str = "tensors", requires_grad: bool = True) -> list[Any]:
    """Tensors for a case, flat; in the form "sizes", integers where an input holds sizes."""
    values: list[Any] = []
    held = case.op.flat_held(len(case.arrays)) if form == "sizes" else []
    for place, (arg, array) in enumerate(zip(case.op.flat_inputs(len(case.arrays)), case.arrays, strict=True)):
        if array is None or place in held:
            values.append(None if array is None else array.tolist())
            continue
        tensor = views.to_tensor(array.copy())
        can = arg.name in case.op.differentiable and dtypes.is_differentiable(array.dtype)
        values.append(tensor.requires_grad_(requires_grad and can))
    return values


def overload_of(op: Op, form: str) -> Any:
    return getattr(getattr(torch.ops.gradbag, op.python_name), "default" if form == "tensors" else "sizes")


def called(case: Case, values: list[Any]) -> list[Any]:
    """The inputs that the op has updated, and its outputs."""
    op = case.op
    answer = getattr(raw_ops, op.name)(**dict(zip(op.input_names, op.grouped(values), strict=True)), **case.attrs)
    return answered(op, values, answer)


def answered(op: Op, values: Any, answer: Any) -> list[Any]:
    outputs = [] if answer is None else op.flat_answer(answer)
    return [*[values[place] for place in op.flat_updates(len(values))], *outputs]


def wanted(case: Case) -> list[Any]:
    return (eager.functional if case.op.updates else eager.run)(case.op, case.arrays, dict(case.attrs))


def function_of(case: Case, values: list[Any]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The op as a function of the tensors that carry a gradient, giving the outputs that do."""
    places = [p for p, v in enumerate(values) if isinstance(v, torch.Tensor) and v.requires_grad]
    assert places

    def function(*inputs: Any) -> Any:
        given = list(values)
        for place, value in zip(places, inputs, strict=True):
            given[place] = value
        return tuple(y for y in called(case, given) if y.is_floating_point() or y.is_complex())

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
            for form in ("tensors", "sizes"):
                with torch.no_grad():
                    answers = called(case, arguments_of(case, form))
                for got, expected in zip(answers, wanted(case), strict=True):
                    assert_same(to_array(got), expected, str(case))
            count += 1
    assert count > 10


@every_op
def test_the_dispatcher_gives_the_same_bits(op: Op) -> None:
    for case in cases(op, usual_types(op)):
        values = arguments_of(case)
        answer = overload_of(op, "tensors")(*op.grouped(values), **case.attrs)
        for got, want in zip(answered(op, values, answer), wanted(case), strict=True):
            assert_same(to_array(got), want, str(case))


@every_op
def test_any_layout_of_memory_gives_the_same_bits(op: Op) -> None:
    case = example(op)
    want = called(case, arguments_of(case, requires_grad=False))
    for place, value in enumerate(arguments_of(case, requires_grad=False)):
        if value is not None and value.ndim:
            spread = torch.zeros((*value.shape[:-1], value.shape[-1] * 2), dtype=value.dtype)
            spread[..., ::2] = value
            values = arguments_of(case, requires_grad=False)
            values[place] = spread[..., ::2]
            for got, expected in zip(called(case, values), want, strict=True):
                assert_same(to_array(got), to_array(expected), str(case))


@every_op
def test_what_numpy_refuses_is_refused_in_the_same_words(op: Op) -> None:
    types = usual_types(op)

    def tensor(arg: Arg, value: Any) -> Any:
        if arg.many:
            return [views.to_tensor(cast(v, types.get(arg.dtype, arg.dtype))) for v in value]
        return views.to_tensor(cast(value, types.get(arg.dtype, arg.dtype)))

    for reject in op.rejects:
        given = {**op.example.inputs, **reject.change}
        given |= {arg.name: tensor(arg, given[arg.name]) for arg in op.inputs if arg.name in given}
        with pytest.raises(ValueError, match=reject.message):
            getattr(raw_ops, op.name)(**given)


# ------------------------------------------------------------------ derivatives
@every_differentiable_op
def test_gradients_of_order_one_and_two_in_both_modes(op: Op) -> None:
    count = 0
    # Batched gradients are PyTorch's older vmap, which has no fallback for operators of lists.
    batched = op.category != "grouped_embedding_bag"
    for name in {"float64", "complex128"} & set(op.types["T"]):
        for case in cases(op, {**usual_types(op), "T": name}):
            function, inputs = function_of(case, arguments_of(case))
            outputs = function(*inputs)
            if not all(0 < v.numel() <= 40 for v in (*inputs, *outputs)):
                continue  # differences of nothing, or too many of them
            assert torch.autograd.gradcheck(function, inputs, check_forward_ad=True, check_batched_grad=batched)
            assert torch.autograd.gradgradcheck(function, inputs)
            count += 1
    assert count >= 2


@every_differentiable_op
def test_gradients_have_the_bits_of_numpy(op: Op) -> None:
    """By the rule in NumPy, also for the samples that are too large or too empty for finite differences."""
    from gradbag.autodiff import vjp
    from gradbag.testing.gradcheck import function_of as numpy_function_of
    from gradbag.testing.gradcheck import random_like

    count = 0
    for name in {"float32", "float64", "complex64"} & set(op.types["T"]):
        for case in cases(op, {**usual_types(op), "T": name}):
            numpy_function, primals = numpy_function_of(case)
            value, pullback = vjp(numpy_function, *primals)
            weights = tuple(random_like(np.random.default_rng(0), y) for y in value)
            function, inputs = function_of(case, arguments_of(case))
            cotangents = [torch.from_numpy(w) for w in weights]
            gradients = torch.autograd.grad(function(*inputs), inputs, cotangents)
            for got, want in zip(gradients, pullback(weights), strict=True):
                assert_same(to_array(got), want, str(case))
            count += 1
    assert count > 10


@every_linear_op
def test_forward_mode_is_the_op_on_the_tangents(op: Op) -> None:
    for case in cases(op, usual_types(op)):
        function, inputs = function_of(case, arguments_of(case))
        tangents = tuple(torch.randn_like(v) for v in inputs)
        value, moved = torch.func.jvp(function, inputs, tangents)
        assert_all_equal(value, function(*inputs))
        assert_all_equal(moved, function(*tangents))


@every_differentiable_op
def test_transformations_nest(op: Op) -> None:
    case = example(op)
    function, inputs = function_of(case, arguments_of(case))
    plain = inputs[0].detach()

    def loss(value: Any) -> Any:
        return sum((y**3).sum() for y in function(value, *inputs[1:]))

    expected = torch.autograd.functional.hessian(loss, plain)
    for hessian in (torch.func.hessian(loss), torch.func.jacrev(torch.func.jacrev(loss))):
        torch.testing.assert_close(hessian(plain), expected)


@every_differentiable_op
def test_vmap_is_a_loop(op: Op) -> None:
    case = example(op)
    function, inputs = function_of(case, arguments_of(case))
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
    case = example(op)
    values, overload = tuple(op.grouped(arguments_of(case, form))), overload_of(op, form)
    if op.updates or not op.differentiable or op.outputs[0].name in op.differentiable_outputs:
        results = torch.library.opcheck(overload, values, dict(case.attrs))
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


@every_op
def test_the_schema_says_what_is_left_out_listed_and_updated(op: Op) -> None:
    schema = str(overload_of(op, "tensors")._schema)
    marks = iter("abcdefgh")  # a letter for each argument that is updated
    for arg in op.inputs:
        kind = "Tensor[]" if arg.many else "Tensor?" if arg.optional else "Tensor"
        kind = f"Tensor({next(marks)}!){'[]' if arg.many else ''}" if arg.updates else kind
        assert f"{kind} {arg.name}" in schema


@every_form
def test_compiled_is_eager(op: Op, form: str) -> None:
    assert_compiled_is_eager(op, form, "aot_eager")


def test_compiled_by_inductor_is_eager() -> None:
    assert_compiled_is_eager(registry["SparseSegmentMean"], "tensors", "inductor")
    assert_compiled_is_eager(registry["RowSgd"], "tensors", "inductor")


def assert_compiled_is_eager(op: Op, form: str, backend: str) -> None:
    case = example(op)

    def function(given: list[Any]) -> Any:
        outputs = called(case, given)
        return outputs, sum((y * y).sum() for y in outputs if y.is_floating_point())

    def with_gradients(run: Callable[..., Any]) -> Any:
        values = arguments_of(case, form)
        outputs, loss = run(values)
        inputs = [v for v in values if isinstance(v, torch.Tensor) and v.requires_grad]
        return [*outputs, *(torch.autograd.grad(loss, inputs) if inputs else [])]

    torch._dynamo.reset()
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        compiled = with_gradients(torch.compile(function, fullgraph=True, backend=backend))
    assert_all_equal(compiled, with_gradients(function))


@every_form
def test_exported_is_eager(op: Op, form: str) -> None:
    case = example(op)

    class Module(torch.nn.Module):
        def forward(self, *values: Any) -> Any:
            return tuple(called(case, list(values)))

    def values() -> tuple[Any, ...]:
        return tuple(arguments_of(case, form, requires_grad=False))

    exported = torch.export.export(Module(), values())
    assert f"gradbag.{op.python_name}" in str(exported.graph)
    assert_all_equal(exported.module()(*values()), Module()(*values()))


def assert_all_equal(got: Any, want: Any) -> None:
    assert len(got) == len(want)
    for one, other in zip(got, want, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)


def test_assert_all_equal_bites() -> None:
    with pytest.raises(AssertionError):
        assert_all_equal([torch.ones(2)], [torch.tensor([1.0, 1.0000001])])
