"""What PyTorch alone cannot do: first it fails, then gradbag succeeds."""

from typing import Any

import pytest
import torch
from torch import nn

import gradbag.torch

IDS, OFFSETS = torch.tensor([1, 2, 3, 1, 5]), torch.tensor([0, 2, 2])
WEIGHTS = torch.tensor([0.5, 2.0, 1.0, 0.25, 3.0])


def table(rows: int = 8) -> Any:
    return torch.randn(rows, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).requires_grad_()


def torch_bag(weight: Any, mode: str = "sum", **options: Any) -> Any:
    return nn.functional.embedding_bag(IDS, weight, OFFSETS, mode=mode, **options)


def our_bag(weight: Any, mode: str = "sum", **options: Any) -> Any:
    return gradbag.torch.functional.embedding_bag(IDS, weight, OFFSETS, mode=mode, **options)


def test_sqrtn() -> None:
    with pytest.raises(ValueError, match="mode has to be one of sum, mean or max"):
        torch_bag(table(), "sqrtn")
    got = our_bag(table(), mode="sqrtn")
    counts = torch.tensor([2.0, 1.0, 3.0])  # the second bag is empty: zeros
    torch.testing.assert_close(got, torch_bag(table()) / counts.sqrt()[:, None].double())


@pytest.mark.parametrize("mode", ["mean", "sqrtn"])
def test_weights_with_every_sum(mode: str) -> None:
    weights = WEIGHTS.double().requires_grad_()
    with pytest.raises(NotImplementedError, match="per_sample_weights was not None"):
        torch_bag(table(), "mean", per_sample_weights=weights)
    got = our_bag(table(), mode, per_sample_weights=weights)
    rows = table()[IDS] * weights[:, None]
    power = 1 if mode == "mean" else 2
    scale = [(weights[:2] ** power).sum() ** (1 / power), (weights[2:] ** power).sum() ** (1 / power)]
    expected = torch.stack([rows[:2].sum(0) / scale[0], torch.zeros(3).double(), rows[2:].sum(0) / scale[1]])
    torch.testing.assert_close(got, expected)

    def bag(table: Any, weights: Any) -> Any:
        return our_bag(table, mode, per_sample_weights=weights)

    assert torch.autograd.gradcheck(bag, (table(), weights), check_forward_ad=True)
    assert torch.autograd.gradgradcheck(bag, (table(), weights))


def test_second_derivative_of_a_bag() -> None:
    def penalty(bag: Any, weight: Any) -> Any:
        (gradient,) = torch.autograd.grad((bag(weight) ** 3).sum(), weight, create_graph=True)
        return (gradient**2).sum()

    weight = table()
    with pytest.raises(RuntimeError, match="the derivative for '_embedding_bag_backward' is not implemented"):
        penalty(lambda t: torch_bag(t, "mean"), weight).backward()
    penalty(lambda t: our_bag(t, "mean"), weight).backward()
    by_rows = table()
    penalty(lambda t: torch.stack([t[[1, 2]].mean(0), 0 * t[0], t[[3, 1, 5]].mean(0)]), by_rows).backward()
    torch.testing.assert_close(weight.grad, by_rows.grad)


def test_forward_mode_of_a_bag() -> None:
    weight = table().detach()
    with pytest.raises(NotImplementedError, match="forward"):
        torch.func.jvp(lambda t: torch_bag(t, "mean"), (weight,), (weight,))
    value, tangent = torch.func.jvp(lambda t: our_bag(t, "mean"), (weight,), (weight,))
    torch.testing.assert_close(tangent, value)  # a bag is linear


def test_the_sparse_gradient_is_coalesced() -> None:
    theirs = nn.EmbeddingBag(8, 3, mode="sum", sparse=True)
    theirs(IDS, OFFSETS).sum().backward()
    assert not theirs.weight.grad.is_coalesced()
    assert theirs.weight.grad._nnz() == 5  # row 1 twice
    ours = gradbag.torch.EmbeddingBag(8, 3, mode="sum", sparse=True)
    ours(IDS, OFFSETS).sum().backward()
    assert ours.weight.grad.is_coalesced()
    assert ours.weight.grad._nnz() == 4
    torch.testing.assert_close(ours.weight.grad.to_dense(), theirs.weight.grad.to_dense())


@pytest.mark.parametrize(
    "cut", [lambda x: x[0:2, 1:3], lambda x: x.narrow_copy(0, 0, 2).narrow_copy(1, 1, 2)], ids=["slice", "narrow_copy"]
)
def test_slicing_a_sparse_tensor_with_a_gradient(cut: Any) -> None:
    def loss(function: Any, sparse: Any) -> Any:
        return (function(sparse).to_dense() ** 2).sum()

    dense = torch.tensor([[0.0, 1.0, 2.0], [3.0, 0.0, 4.0], [0.0, 5.0, 0.0]])
    with pytest.raises(
        NotImplementedError, match="Could not run 'aten::as_strided' with arguments from the 'SparseCPU'"
    ):
        loss(cut, dense.to_sparse().requires_grad_()).backward()
    sparse = dense.to_sparse().requires_grad_()
    loss(lambda x: gradbag.torch.slice(x, [0, 1], [2, 2]), sparse).backward()
    expected = torch.zeros(3, 3)
    expected[:2, 1:] = 2 * dense[:2, 1:]
    torch.testing.assert_close(sparse.grad.to_dense(), expected)


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta")
@pytest.mark.parametrize("index_dtype", [torch.int32, torch.int64], ids=["int32", "int64"])
def test_slicing_rows_of_a_csr_tensor_with_a_gradient(index_dtype: Any) -> None:
    dense = torch.tensor([[0.0, 1.0, 2.0], [0.0, 0.0, 0.0], [3.0, 0.0, 4.0], [0.0, 5.0, 0.0]])

    def compressed() -> Any:
        plain = dense.to_sparse_csr()
        starts, columns = plain.crow_indices().to(index_dtype), plain.col_indices().to(index_dtype)
        return torch.sparse_csr_tensor(starts, columns, plain.values(), plain.shape).requires_grad_()

    with pytest.raises(RuntimeError, match="Sparse CSR tensors do not have strides"):
        compressed()[0:2]
    matrix = compressed()
    cut = gradbag.torch.slice(matrix, [0, 1], [3, 2])
    assert cut.layout is torch.sparse_csr
    assert cut.crow_indices().dtype is index_dtype
    torch.testing.assert_close(cut.to_dense(), dense[:3, 1:])
    (cut.values() ** 2).sum().backward()
    expected = torch.zeros(4, 3)
    expected[:3, 1:] = 2 * dense[:3, 1:]
    torch.testing.assert_close(matrix.grad.to_dense(), expected)


def test_only_sparse_tensors_are_cut() -> None:
    with pytest.raises(TypeError, match="sparse COO or CSR tensor"):
        gradbag.torch.slice(torch.ones(2, 2), [0, 0], [1, 1])
