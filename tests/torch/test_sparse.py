"""gradbag.sparse on sparse tensors of PyTorch: what comes back is one, and gradients go through it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from gradbag import raw_ops, sparse

A = torch.tensor([[0.0, 2.0, -1.0], [3.0, 0.0, 0.0]], dtype=torch.float64)
B = torch.tensor([[1.0, -2.0, 0.0], [0.5, 0.0, 4.0]], dtype=torch.float64)


@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr], ids=["coo", "csr"])
def test_answers_are_sparse_tensors(layout: Any) -> None:
    a, b = (t.to_sparse(layout=layout) for t in (A, B))
    for got, want in [
        (sparse.add(a, b), A + B),
        (sparse.concat(0, [a, b]), torch.cat([A, B])),
        (sparse.maximum(a, b), torch.maximum(A, B)),
        (sparse.transpose(a), A.T),
        (sparse.split(a, 3, 1)[2], A[:, 2:]),
    ]:
        assert got.layout is torch.sparse_coo
        assert torch.equal(got.to_dense(), want)
    assert torch.equal(sparse.reduce_max(a, 1), torch.tensor([2.0, 3.0], dtype=torch.float64))


def test_gradients_reach_a_dense_leaf() -> None:
    def function(x: Any) -> Any:
        s = torch.sparse_coo_tensor(torch.tensor([[0, 0, 1], [1, 2, 0]]), x, (2, 3)).coalesce()
        joined = sparse.concat(1, [sparse.softmax(s), sparse.maximum(s, B.to_sparse())])
        return sparse.reduce_sum(joined, 1)

    x = torch.tensor([2.0, -1.0, 3.0], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(function, (x,))
    # A second derivative is not to be had of tensors that PyTorch makes sparse: it has none of making them.
    values = torch.tensor([1.0, 2.0, 3.0, 0.5], dtype=torch.float64, requires_grad=True)
    where = torch.tensor([[0, 0], [0, 1], [1, 0], [1, 2]])

    def plain(v: Any) -> Any:
        return raw_ops.SparseSoftmax(sp_indices=where, sp_values=v, sp_shape=[2, 3])

    assert torch.autograd.gradgradcheck(plain, (values,))


def test_segment_softmax_is_the_composed_one() -> None:
    rng = np.random.default_rng(0)
    data, ids = torch.tensor(rng.standard_normal((20, 3)), requires_grad=True), torch.tensor(rng.integers(0, 5, 20))
    shares = sparse.segment_softmax(data, ids, 5)
    for segment in range(5):
        rows = ids == segment
        torch.testing.assert_close(shares[rows], torch.softmax(data[rows], 0))
    assert torch.autograd.gradcheck(lambda d: sparse.segment_softmax(d, ids, 5), (data,))
    assert torch.autograd.gradcheck(lambda d: sparse.segment_logsumexp(d, ids, 5), (data,))
