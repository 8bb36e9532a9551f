"""`gradbag.torch.EmbeddingBag` takes the place of `torch.nn.EmbeddingBag`."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse
import torch
from torch import nn

import gradbag.torch
from gradbag import InvalidArgumentError, UnsupportedTypeError

IDS, OFFSETS = torch.tensor([1, 2, 3, 1, 5]), torch.tensor([0, 2, 2])


def both(mode: str, sparse: bool = False, **options: Any) -> tuple[Any, Any]:
    torch.manual_seed(0)
    theirs = nn.EmbeddingBag(8, 3, mode=mode, sparse=sparse, **options)
    torch.manual_seed(0)
    return theirs, gradbag.torch.EmbeddingBag(8, 3, mode=mode, sparse=sparse, **options)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_same_values_and_gradients_as_nn(mode: str, dtype: Any) -> None:
    for ids, offsets in ((IDS, OFFSETS), (IDS.reshape(1, 5), None), (IDS[:4].reshape(2, 2), None)):
        theirs, ours = both(mode)
        given = (ids.to(dtype), None if offsets is None else offsets.to(dtype))
        want, got = theirs(*given), ours(*given)
        torch.testing.assert_close(got, want)
        (want**2).sum().backward()
        (got**2).sum().backward()
        torch.testing.assert_close(ours.weight.grad, theirs.weight.grad)


def test_weights_of_a_sum_as_nn() -> None:
    theirs, ours = both("sum")
    weights = torch.rand(5, requires_grad=True)
    others = weights.detach().clone().requires_grad_()
    (theirs(IDS, OFFSETS, weights) ** 2).sum().backward()
    (ours(IDS, OFFSETS, others) ** 2).sum().backward()
    torch.testing.assert_close(others.grad, weights.grad)
    torch.testing.assert_close(ours.weight.grad, theirs.weight.grad)


def test_the_last_offset_may_be_included() -> None:
    theirs, ours = both("mean", include_last_offset=True)
    offsets = torch.tensor([0, 2, 2, 5])
    torch.testing.assert_close(ours(IDS, offsets), theirs(IDS, offsets))


def test_the_state_is_that_of_nn() -> None:
    theirs, _ = both("mean")
    ours = gradbag.torch.EmbeddingBag(8, 3)
    ours.load_state_dict(theirs.state_dict())
    torch.testing.assert_close(ours(IDS, OFFSETS), theirs(IDS, OFFSETS))
    assert repr(ours) == repr(theirs)


@pytest.mark.parametrize("mode", ["sum", "mean", "sqrtn"])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_an_empty_bag_gives_zeros_or_the_default_row(mode: str, weighted: bool) -> None:
    weights = torch.rand(5) if weighted else None
    bag = gradbag.torch.EmbeddingBag(8, 3, mode=mode)
    assert bag(IDS, OFFSETS, weights)[1].tolist() == [0.0, 0.0, 0.0]
    bag.default_id = 7
    torch.testing.assert_close(bag(IDS, OFFSETS, weights)[1], bag.weight[7])
    nothing = bag(torch.tensor([], dtype=torch.int64), torch.tensor([0, 0]))
    torch.testing.assert_close(nothing, bag.weight[7].expand(2, 3))


@pytest.mark.parametrize("mode", ["sum", "mean", "sqrtn"])
def test_csr_matrices_of_scipy_and_torch(mode: str) -> None:
    weights = np.array([1.0, 2.0, 3.0, 4.0, 5.0], np.float32)
    theirs = scipy.sparse.csr_array((weights, IDS.numpy(), np.array([0, 2, 2, 5])), shape=(3, 8))
    ours = torch.sparse_csr_tensor(torch.tensor([0, 2, 2, 5]), IDS, torch.from_numpy(weights), (3, 8))
    bag = gradbag.torch.EmbeddingBag(8, 3, mode=mode)
    want = bag(IDS, OFFSETS, torch.from_numpy(weights))
    assert torch.equal(bag(theirs), want)
    assert torch.equal(bag(ours), want)
    if mode == "sum":
        torch.testing.assert_close(want, ours.to_dense() @ bag.weight)


@pytest.mark.parametrize("optimizer", ["SparseAdam", "SGD"])
@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_the_loss_of_a_training_goes_as_with_nn(optimizer: str, mode: str) -> None:
    """A small recommender on the same data with the same seeds."""
    curves = []
    for kind in both(mode, sparse=True):
        generator = torch.Generator().manual_seed(1)
        torch.manual_seed(2)
        head = nn.Linear(3, 1)
        steps = [getattr(torch.optim, optimizer)([kind.weight], lr=0.1), torch.optim.SGD(head.parameters(), lr=0.1)]
        curve = []
        for _ in range(30):
            ids = torch.randint(0, 8, (20,), generator=generator)
            offsets = torch.arange(0, 20, 4)
            wanted = (ids.reshape(5, 4) == 3).any(1).float()
            loss = nn.functional.binary_cross_entropy_with_logits(head(kind(ids, offsets))[:, 0], wanted)
            for step in steps:
                step.zero_grad()
            loss.backward()
            for step in steps:
                step.step()
            curve.append(loss.item())
        curves.append(curve)
    np.testing.assert_allclose(curves[0], curves[1], rtol=1e-4)
    assert curves[1][-1] < curves[1][0]


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_compiled_is_eager(weighted: bool) -> None:
    torch._dynamo.reset()
    weights = torch.rand(5) if weighted else None
    bag = gradbag.torch.EmbeddingBag(8, 3, mode="sqrtn", sparse=True)
    compiled = torch.compile(bag, fullgraph=True, backend="aot_eager")
    want, got = bag(IDS, OFFSETS, weights), compiled(IDS, OFFSETS, weights)
    assert torch.equal(got, want)
    (dense,) = torch.autograd.grad(got.sum(), bag.weight)
    (sparse,) = torch.autograd.grad(want.sum(), bag.weight)
    assert torch.equal(dense, sparse.to_dense())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"offsets": torch.tensor([1, 2])}, r"offsets\[0\] == 1 out of range \[0, 1\)"),
        ({"offsets": torch.tensor([0, 3, 2])}, r"offsets\[2\] == 2 follows 3"),
        ({"offsets": torch.tensor([0, 9])}, r"offsets\[1\] == 9 out of range \[0, 6\)"),
        ({}, "input must be a matrix of ids, or a vector with offsets"),
        ({"offsets": OFFSETS, "per_sample_weights": torch.ones(4)}, r"per_sample_weights must have shape \[5\]; got"),
        ({"offsets": OFFSETS, "input": torch.tensor([1, 2, 9, 1, 5])}, r"ids\[2\] == 9 out of range \[0, 8\)"),
    ],
)
def test_what_makes_no_sense_is_refused(given: Any, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        gradbag.torch.EmbeddingBag(8, 3)(**{"input": IDS, **given})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"offsets": OFFSETS.float()}, "offsets must be one of int32, int64; got float32"),
        ({"offsets": [0.0, 2.0]}, "offsets must be one of int32, int64; got float32"),
        ({"offsets": OFFSETS, "input": IDS.float()}, "ids must be one of int32, int64; got float32"),
        (
            {"offsets": OFFSETS, "per_sample_weights": torch.ones(5, dtype=torch.float64)},
            "per_sample_weights must be float32 like weight; got float64",
        ),
        (
            {"input": IDS[None], "per_sample_weights": torch.ones(1, 5, dtype=torch.int64)},
            "per_sample_weights must be float32 like weight; got int64",
        ),
    ],
)
@pytest.mark.parametrize("default_id", [None, 1])
def test_another_dtype_is_refused_in_words(given: Any, message: str, default_id: int | None) -> None:
    with pytest.raises(UnsupportedTypeError, match=message):
        gradbag.torch.EmbeddingBag(8, 3, default_id=default_id)(**{"input": IDS, **given})


def test_lists_are_taken_too() -> None:
    bag = gradbag.torch.EmbeddingBag(8, 3)
    weights = [1.0, 2.0, 3.0, 4.0, 5.0]
    want = bag(IDS, OFFSETS, torch.tensor(weights))
    assert torch.equal(bag(IDS.tolist(), OFFSETS.tolist(), weights), want)


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="mode must be one of 'sum', 'mean', 'sqrtn', 'max'; got 'min'"):
        gradbag.torch.EmbeddingBag(8, 3, mode="min")
