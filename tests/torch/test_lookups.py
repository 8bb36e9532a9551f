"""The lookups of embeddings on tensors: the bits of NumPy, and gradients to the table and to the weights."""

from typing import Any

import numpy as np
import pytest
import torch

import gradbag
from gradbag.testing import assert_same

PLACES, SHAPE = [[2, 0], [0, 0], [0, 1], [3, 1], [3, 0]], [5, 2]
IDS = [0, 1, -1, 3, 2]
TABLE = np.random.default_rng(0).standard_normal((4, 3))
WEIGHTS = np.array([0.5, 2.0, 1.0, 0.25, 3.0])


def look_up(table: Any, weights: Any, combiner: str, default_id: int | None) -> Any:
    ids = gradbag.SparseTensor(PLACES, IDS, SHAPE)
    given = None if weights is None else gradbag.SparseTensor(PLACES, weights, SHAPE)
    return gradbag.safe_embedding_lookup_sparse(table, ids, given, combiner, default_id)


@pytest.mark.parametrize("default_id", [None, 2])
@pytest.mark.parametrize("combiner", ["sum", "mean", "sqrtn"])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_bits_and_gradients(weighted: bool, combiner: str, default_id: int | None) -> None:
    weights = WEIGHTS if weighted else None
    table = torch.tensor(TABLE, requires_grad=True)
    given = torch.tensor(WEIGHTS, requires_grad=True) if weighted else None
    got = look_up(table, given, combiner, default_id)
    assert_same(got.detach().numpy(), look_up(TABLE, weights, combiner, default_id))
    leaves = [leaf for leaf in (table, given) if leaf is not None]
    assert torch.autograd.gradcheck(lambda *x: look_up(x[0], x[1] if weighted else None, combiner, default_id), leaves)
    assert torch.autograd.gradgradcheck(
        lambda *x: look_up(x[0], x[1] if weighted else None, combiner, default_id), leaves
    )


@pytest.mark.parametrize(
    "settings", [{"max_norm": 1.0}, {"max_norm": 1.0, "default_id": 2, "combiner": "sum"}], ids=str
)
@pytest.mark.parametrize("parts", [1, 2])
def test_shards_and_clipped_rows(parts: int, settings: dict[str, Any]) -> None:
    def function(*given: Any) -> Any:
        params = given[0] if parts == 1 else list(given[:-1])
        ids = gradbag.SparseTensor(PLACES, np.array(IDS), SHAPE)
        return gradbag.safe_embedding_lookup_sparse(params, ids, given[-1], **settings)

    leaves = [torch.tensor(part, requires_grad=True) for part in np.split(TABLE, parts)]
    leaves.append(torch.tensor(WEIGHTS, requires_grad=True))
    wanted = function(*np.split(TABLE, parts), WEIGHTS)
    np.testing.assert_allclose(function(*leaves).detach().numpy(), np.asarray(wanted), rtol=1e-12)
    assert torch.autograd.gradcheck(function, leaves, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(function, leaves)


def test_a_compact_gradient_is_a_sparse_tensor() -> None:
    table = torch.tensor(TABLE, requires_grad=True)
    ids = gradbag.SparseTensor(PLACES, torch.tensor(IDS), SHAPE)
    gradbag.safe_embedding_lookup_sparse(table, ids, sparse_gradient=True).sum().backward()
    assert table.grad is not None
    assert table.grad.is_sparse
    assert table.grad.coalesce().indices().tolist() == [[0, 1, 2, 3]]
