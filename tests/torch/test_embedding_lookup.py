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
