"""Windows of sparse tensors."""

from __future__ import annotations

from typing import Any

import torch

from .. import errors, raw_ops
from .entries import bags_of_entries


def slice(sparse: Any, start: Any, size: Any) -> Any:
    """Cut the window of `size` that begins at `start` out of a sparse COO or CSR tensor; the gradient flows back.

    The answer has the layout of what it was cut from.
    """
    layout = sparse.layout if isinstance(sparse, torch.Tensor) else None
    if layout is torch.sparse_csr:
        rows = bags_of_entries(sparse.crow_indices()[:-1], sparse.col_indices().shape[0])
        places, values = torch.stack([rows, sparse.col_indices()]), sparse.values()
    elif layout is torch.sparse_coo:
        whole = sparse.coalesce()
        places, values = whole.indices(), whole.values()
    else:
        given = type(sparse).__name__ if layout is None else f"a {str(layout).removeprefix('torch.')} one"
        raise errors.wrong_type("slice", "sparse", ["a sparse COO or CSR tensor"], given)
    out = raw_ops.SparseSlice(indices=places.T.long(), values=values, shape=list(sparse.shape), start=start, size=size)
    shape = out.output_shape.tolist()
    cut = out.output_indices.T
    if layout is torch.sparse_coo:
        return torch.sparse_coo_tensor(cut, out.output_values, shape, is_coalesced=True, check_invariants=False)
    starts = torch.searchsorted(cut[0].contiguous(), torch.arange(shape[0] + 1)).to(sparse.crow_indices().dtype)
    columns = cut[1].to(sparse.col_indices().dtype)
    return torch.sparse_csr_tensor(starts, columns, out.output_values, shape, check_invariants=False)
