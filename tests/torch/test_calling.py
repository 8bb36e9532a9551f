"""Tensors among the arguments of raw ops and friendly functions."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import gradbag
from gradbag import UnsupportedTypeError, dtypes, eager, raw_ops, spec
from gradbag.spec import registry

IDS, BAGS = torch.tensor([0, 2, 1]), torch.tensor([0, 0, 1])


def table() -> Any:
    return torch.arange(6, dtype=torch.float32).reshape(3, 2)


def test_friendly_functions_answer_in_tensors() -> None:
    pooled = gradbag.segment_sum(table().requires_grad_(), IDS, BAGS, 3)
    assert pooled.tolist() == [[4.0, 6.0], [2.0, 3.0], [0.0, 0.0]]
    assert pooled.requires_grad


def test_lists_numbers_and_numpy_indices_go_beside_tensors() -> None:
    want = gradbag.segment_mean(table(), IDS, BAGS, torch.tensor(2))
    for ids, bags, count in (
        ([0, 2, 1], [0, 0, 1], 2),
        (IDS.numpy(), BAGS.numpy(), np.int64(2)),
        (IDS, [0, 0, 1], np.array(2)),
        (np.array([0, 2, 1], np.int32), BAGS, 2),
    ):
        assert torch.equal(gradbag.segment_mean(table(), ids, bags, count), want)
    filled = raw_ops.RaggedFillEmptyRows(value_rowids=[1], values=torch.tensor([2.0]), nrows=2, default_value=7)
    assert filled.output_values.tolist() == [7.0, 2.0]
    assert filled.output_values.dtype == torch.float32


def test_the_answer_of_several_outputs_has_their_names() -> None:
    out = raw_ops.SparseSegmentSumGradV2(grad=table(), indices=IDS, segment_ids=BAGS, dense_output_dim0=3)
    assert type(out).__name__ == "SparseSegmentSumGradV2"
    assert out.sorted_unique_indices.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"data": table().numpy()}, "data must be a tensor beside tensors; see torch.from_numpy; got a NumPy array"),
        ({"indices": IDS.float()}, "indices must be one of int32, int64; got float32"),
        ({"data": table().to(torch.float8_e5m2)}, "data must be one of .*; got float8_e5m2"),
        ({"data": table().bool()}, "data must be one of .*; got bool"),
        ({"data": table().to_sparse()}, "data must be a dense tensor on the CPU; got a sparse_coo one on cpu"),
        ({"data": table().to_mkldnn()}, "data must be a dense tensor on the CPU; got a _mkldnn one on cpu"),
    ],
)
def test_what_cannot_be_is_said(given: Any, message: str) -> None:
    with pytest.raises(UnsupportedTypeError, match=message):
        raw_ops.SparseSegmentSum(**{"data": table(), "indices": IDS, "segment_ids": BAGS, **given})


@pytest.mark.filterwarnings("ignore:.*nested tensors:UserWarning")
@pytest.mark.parametrize("layout", [torch.strided, torch.jagged])
def test_a_nested_tensor_is_named(layout: Any) -> None:
    nested = torch.nested.nested_tensor([torch.ones(2, 2), torch.ones(1, 2)], layout=layout)
    with pytest.raises(UnsupportedTypeError, match="data must be a dense tensor on the CPU; got a nested one on cpu"):
        raw_ops.SparseSegmentSum(data=nested, indices=IDS, segment_ids=BAGS)


def test_out_takes_no_tensors() -> None:
    with pytest.raises(ValueError, match="out must be None where an argument is Tensor"):
        raw_ops.SparseSegmentSum(data=table(), indices=IDS, segment_ids=BAGS, out=np.zeros((2, 2), np.float32))


def test_ops_of_arrays_are_for_tensors_too_and_not_linear_ones_differentiate() -> None:
    x, y = torch.tensor([2.0, 3.0], requires_grad=True), torch.tensor(5.0, requires_grad=True)
    product = raw_ops.Mul(x=x, y=y)
    gradients = torch.autograd.grad(product.sum(), [x, y], create_graph=True)
    assert [g.tolist() for g in gradients] == [[5.0, 5.0], 5.0]
    (mixed,) = torch.autograd.grad(gradients[1], x)
    assert mixed.tolist() == [1.0, 1.0]
    assert raw_ops.AddN(inputs=[x, x, x]).tolist() == [6.0, 9.0]


def test_an_op_that_is_declared_later_is_there_too() -> None:
    @spec.op(
        "TwiceForTorch",
        inputs=[spec.Arg("data", "T", "rows *inner", "Rows.")],
        outputs=[spec.Arg("output", "T", "rows *inner", "Rows.")],
        types={"T": dtypes.FLOAT},
        linear=["data"],
        example=spec.Example({"data": [[1.0]]}, {"output": [[2.0]]}),
        samples=lambda rng: [],
    )
    def twice_for_torch(data: Any) -> Any:
        """Double the rows."""
        return data + data

    twice_for_torch.gradient(lambda ops, x, y, g: {"data": ops.TwiceForTorch(data=g.output)})
    try:
        values = (table().double().requires_grad_(),)
        call = raw_ops.TwiceForTorch  # type: ignore[attr-defined]
        assert torch.autograd.gradcheck(lambda t: call(data=t), values, check_forward_ad=True)
        assert torch.autograd.gradgradcheck(lambda t: call(data=t), values)
    finally:
        registry.remove("TwiceForTorch")


def test_every_one_of_a_list_is_updated_whatever_its_layout() -> None:
    @spec.op(
        "HalveForTorch",
        inputs=[spec.Arg("tables", "T", "rows *inner", "Tables.", many=True, updates=True)],
        outputs=[],
        types={"T": dtypes.FLOAT},
        example=spec.Example({"tables": [[1.0], [2.0]]}, {}, after={"tables": [[0.5], [1.0]]}),
        samples=lambda rng: [],
    )
    def halve_for_torch(tables: Any) -> Any:
        """Halve tables."""
        return [table / 2 for table in tables]

    try:
        tables = [torch.ones(2, 3), torch.ones(3, 2).T, torch.ones(2, 6)[:, ::2]]
        raw_ops.apply(halve_for_torch, tables, {})
        assert [t.tolist() for t in tables] == [[[0.5] * 3] * 2] * 3
        assert [t._version for t in tables] == [1, 1, 1]
    finally:
        registry.remove("HalveForTorch")


def test_memory_is_shared_not_copied() -> None:
    seen = []
    op = registry["SparseSegmentSum"]
    data = torch.randn(1000, 8)

    def spy(op: Any, values: Any, attrs: Any) -> Any:
        seen.append(values[0].__array_interface__["data"][0])
        return original(op, values, attrs)

    original = eager.shortcut
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(eager, "shortcut", spy)
        torch.ops.gradbag.sparse_segment_sum(data, IDS, BAGS)
    assert op.kernel is not None
    assert seen == [data.data_ptr()]


def test_views_that_conjugate_or_negate_are_resolved() -> None:
    numbers = torch.tensor([[1 + 2j], [3 - 1j]])
    for view, want in ((numbers.conj(), 4 - 1j), (numbers.conj().imag, -1.0)):
        assert gradbag.segment_sum(view, [0, 1], [0, 0]).item() == want


def test_meta_tensors_give_meta_tensors() -> None:
    out = raw_ops.SparseSegmentSumWithNumSegments(
        data=table().to("meta"), indices=IDS.to("meta"), segment_ids=BAGS.to("meta"), num_segments=5
    )
    assert (out.device.type, tuple(out.shape)) == ("meta", (5, 2))


def test_modes_and_profilers_see_the_ops() -> None:
    class Listener(TorchDispatchMode):
        heard: list[str] = []  # noqa: RUF012

        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            self.heard.append(str(function))
            return function(*args, **(kwargs or {}))

    with Listener() as listener:
        gradbag.segment_sum(table(), IDS, BAGS)
    assert "gradbag.sparse_segment_sum.default" in listener.heard
    with torch.autograd.profiler.profile() as profile:
        gradbag.segment_sum(table(), IDS, BAGS)
    assert "gradbag::sparse_segment_sum" in [event.key for event in profile.key_averages()]


@pytest.mark.parametrize("optimizer", [torch.optim.SparseAdam, torch.optim.SGD])
def test_compact_gradients_are_coalesced_and_optimizers_take_them(optimizer: Any) -> None:
    weight = torch.nn.Parameter(table())
    for function in (gradbag.segment_sum, gradbag.segment_mean, gradbag.segment_sqrt_n):
        weight.grad = None
        (function(weight, [2, 0, 2], [0, 0, 1], sparse_gradient=True) ** 2).sum().backward()
        assert weight.grad.is_sparse
        assert weight.grad.is_coalesced()
        assert weight.grad.indices().tolist() == [[0, 2]]
        before = weight.detach().clone()
        optimizer([weight], lr=0.1).step()
        assert (before != weight).any(1).tolist() == [True, False, True]


def test_a_compact_gradient_has_a_gradient() -> None:
    def penalty(weight: Any, compact: bool) -> Any:
        pooled = gradbag.segment_mean(weight, [2, 0, 2], [0, 0, 1], sparse_gradient=compact)
        (gradient,) = torch.autograd.grad((pooled**3).sum(), weight, create_graph=True)
        return ((gradient.to_dense() if compact else gradient) ** 2).sum()

    one, other = table().requires_grad_(), table().requires_grad_()
    penalty(one, True).backward()
    penalty(other, False).backward()
    torch.testing.assert_close(one.grad.to_dense(), other.grad)


def test_the_table_may_change_before_the_gradient_is_asked_for() -> None:
    weight = table().requires_grad_()
    loss = gradbag.segment_sum(weight, IDS, BAGS).sum()
    with torch.no_grad():
        weight.mul_(2)  # a linear op does not look at it again
    loss.backward()
    assert weight.grad.tolist() == [[1.0, 1.0]] * 3


def test_compiling_needs_no_call_before() -> None:
    program = """
import torch, gradbag
function = lambda t: gradbag.segment_mean(t, torch.tensor([0, 1]), torch.tensor([0, 0]), 2)
compiled = torch.compile(function, fullgraph=True, backend="eager")
print(compiled(torch.ones(2, 1)).tolist())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "[[1.0], [0.0]]\n", done.stderr


@pytest.mark.parametrize("order", ["import torch, gradbag", "import gradbag, torch"])
def test_the_order_of_imports_does_not_matter(order: str) -> None:
    program = f"{order}; print(gradbag.segment_sum(torch.ones(2, 1), [0, 1], [0, 0]).tolist())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "[[2.0]]\n", done.stderr


def test_gradbag_alone_imports_no_torch() -> None:
    program = "import gradbag, sys; gradbag.segment_sum([[1.0]], [0], [0]); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "False\n", done.stderr
