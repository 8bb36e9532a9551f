"""PyTorch's sparse tensors in three parts, and made of them again; gradients pass through the values."""

from __future__ import annotations

from typing import Any

import torch


def is_sparse(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.layout in (torch.sparse_coo, torch.sparse_csr)


def parts(tensor: Any) -> tuple[Any, Any, Any]:
    """Places, values and shape; entries at one place are added first, as everything in PyTorch does."""
    entries = (tensor if tensor.layout is torch.sparse_coo else tensor.to_sparse_coo()).coalesce()
    return entries.indices().t().contiguous(), entries.values(), torch.tensor(entries.shape, dtype=torch.int64)


def made(indices: Any, values: Any, shape: Any) -> Any:
    """A tensor of distinct places in order."""
    sizes = tuple(torch.as_tensor(shape).tolist())
    return torch.sparse_coo_tensor(indices.t(), values, sizes, is_coalesced=True, check_invariants=False)
