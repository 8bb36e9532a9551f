"""`mode="max"` is PyTorch's, ties and NaN included, and differentiable to any order."""

from typing import Any

import pytest
import torch
from torch.nn import functional as theirs

from gradbag import InvalidArgumentError, raw_ops
from gradbag.torch import functional as ours

IDS, OFFSETS = torch.tensor([1, 2, 3, 1, 5]), torch.tensor([0, 2, 2])


def grad_of(library: Any, weight: Any, *given: Any, **options: Any) -> Any:
    (found,) = torch.autograd.grad((library.embedding_bag(*given, mode="max", **options) ** 2).sum(), weight)
    return found.to_dense() if found.is_sparse else found


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("seed", range(8))
def test_random_bags(dtype: Any, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(0, 9, (30,), generator=generator)
    ids = torch.randint(0, 20, (int(lengths.sum()),), generator=generator)
    offsets = lengths.cumsum(0) - lengths
    # Few different values, so that there are ties; zeros of both signs, infinities and NaN.
    choices = torch.tensor([0.0, -0.0, 1.0, 2.0, -3.0, float("inf"), -float("inf"), float("nan")][: 5 + seed % 4])
    weight = choices[torch.randint(0, len(choices), (20, 17), generator=generator)].to(dtype)
    want = theirs.embedding_bag(ids, weight, offsets, mode="max")
    got = ours.embedding_bag(ids, weight, offsets, mode="max")
    torch.testing.assert_close(got, want, rtol=0, atol=0, equal_nan=True)
    assert torch.equal(got.signbit(), want.signbit())
    if seed % 4 < 2:
        leaf = weight.clone().requires_grad_()
        for sparse in (False, True):
            gradient = grad_of(ours, leaf, ids, leaf, offsets, sparse=sparse)
            # PyTorch rounds 16-bit sums after every addition.
            torch.testing.assert_close(gradient, grad_of(theirs, leaf, ids, leaf, offsets), rtol=2e-2, atol=0)


def test_the_first_of_equals_wins() -> None:
    weight = torch.tensor([[1.0, 7.0], [7.0, 1.0], [7.0, 7.0]])
    out = raw_ops.EmbeddingBagMax(table=weight, ids=torch.tensor([0, 1, 2, 2]), offsets=torch.tensor([0, 3, 3]))
    assert out.winners.tolist() == [[1, 0], [-1, -1], [3, 3]]
    assert out.output.tolist() == [[7.0, 7.0], [0.0, 0.0], [7.0, 7.0]]


def test_every_order() -> None:
    weight = torch.randn(8, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).requires_grad_()

    def bag(weight: Any) -> Any:
        return ours.embedding_bag(IDS, weight, OFFSETS, mode="max")

    assert torch.autograd.gradcheck(bag, weight, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(lambda w: bag(w) ** 2, weight)
    curved = torch.func.hessian(lambda w: (bag(w) ** 3).sum())(weight)
    winners = theirs.embedding_bag(IDS, weight, OFFSETS, mode="max")
    torch.testing.assert_close(curved.sum(), 6 * winners.sum())  # zero but for each winner with itself


def test_a_sparse_gradient_names_all_that_was_looked_up() -> None:
    weight = torch.tensor([[1.0], [2.0], [9.0]]).requires_grad_()
    ids, offsets = torch.tensor([2, 0, 2]), torch.tensor([0])
    out = ours.embedding_bag(ids, weight, offsets, mode="max", sparse=True)
    (gradient,) = torch.autograd.grad(out.sum(), weight)
    assert gradient.is_coalesced()
    assert gradient.indices().tolist() == [[0, 2]]
    assert gradient.values().tolist() == [[0.0], [1.0]]


@pytest.mark.parametrize(
    ("options", "error"),
    [({"per_sample_weights": torch.ones(5)}, NotImplementedError), ({"scale_grad_by_freq": True}, ValueError)],
    ids=["weights", "frequency"],
)
def test_what_a_maximum_does_not_take(options: dict[str, Any], error: type[Exception]) -> None:
    for library in (theirs, ours):
        with pytest.raises(error):
            library.embedding_bag(IDS, torch.ones(8, 3), OFFSETS, mode="max", **options)
    with pytest.raises(InvalidArgumentError, match="with mode='max'"):
        ours.embedding_bag(IDS, torch.ones(8, 3), OFFSETS, mode="max", **options)
