"""8-bit rows are those of PyTorch and of FBGEMM, byte for byte, and look-ups give what theirs give."""

from typing import Any

import numpy as np
import pytest
import torch

from gradbag import Bags, QuantizedTable

pytestmark = pytest.mark.torch


@pytest.mark.parametrize("scale", [1e-30, 1e-6, 1.0, 1e6, 1e30])
@pytest.mark.parametrize("columns", [1, 7, 64])
def test_bytes_are_those_of_pytorch_and_fbgemm(scale: float, columns: int) -> None:
    rng = np.random.default_rng(columns)
    rows = (rng.normal(size=(500, columns)) * scale).astype(np.float32)
    rows[3], rows[4], rows[5] = 0, 7, -rows[5]
    tensor = torch.from_numpy(rows)
    packed = QuantizedTable.of(rows).packed
    assert np.array_equal(packed, torch.ops.quantized.embedding_bag_byte_prepack(tensor).numpy())
    pytest.importorskip("fbgemm_gpu")  # which registers its operators
    assert np.array_equal(packed, torch.ops.fbgemm.FloatToFused8BitRowwiseQuantized(tensor).numpy())


@pytest.mark.parametrize("weighted", [False, True])
def test_look_ups_are_those_of_pytorch(weighted: bool) -> None:
    rng = np.random.default_rng(0)
    table = QuantizedTable.of(rng.normal(size=(100, 16)).astype(np.float32))
    lengths = rng.integers(0, 6, 50)
    weights = rng.random(lengths.sum()).astype(np.float32) if weighted else None
    bags = Bags.from_lengths(rng.integers(0, 100, lengths.sum()), lengths, weights)
    ids, offsets, _ = (torch.from_numpy(np.array(a)) if a is not None else None for a in bags.to_offsets())
    theirs: Any = torch.ops.quantized.embedding_bag_byte_rowwise_offsets(
        torch.from_numpy(table.packed),
        ids,
        offsets,
        per_sample_weights=None if weights is None else torch.from_numpy(weights),
    )
    np.testing.assert_allclose(table.lookup(bags, "sum"), theirs.numpy(), rtol=1e-5, atol=1e-5)
