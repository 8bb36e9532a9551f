"""gradbag for PyTorch: `EmbeddingBag`, with what `torch.nn.EmbeddingBag` lacks, and slicing of sparse tensors.

`gradbag.raw_ops` and the friendly functions take tensors without this module.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from . import errors, raw_ops
from .adapters import torch as _adapter  # noqa: F401  # registers the ops, so that torch.ops.gradbag has them

__all__ = ["EmbeddingBag", "embedding_bag", "slice"]

_OPS = {
    "sum": raw_ops.SparseSegmentSumWithNumSegments,
    "mean": raw_ops.SparseSegmentMeanWithNumSegments,
    "sqrtn": raw_ops.SparseSegmentSqrtNWithNumSegments,
}


def embedding_bag(
    weight: Any,
    input: Any,
    offsets: Any = None,
    per_sample_weights: Any = None,
    *,
    combiner: str = "mean",
    sparse_grad: bool = False,
    default_id: int | None = None,
    include_last_offset: bool = False,
) -> Any:
    """Look up the rows of `weight` for bags of ids and combine each bag into one row, differentiable to any order.

    `input` is a vector of ids with the `offsets` at which bags begin, a matrix with a bag in each row, or a CSR matrix
    of PyTorch or SciPy whose column numbers are ids and whose values are weights. With weights w, "mean" divides by
    the sum of w and "sqrtn" by the root of the sum of w**2. An empty bag gives zeros, or the row of `default_id`.

    `sparse_grad=True` makes the gradient of `weight` a coalesced sparse tensor; inside `torch.compile` it is dense.
    """
    if combiner not in _OPS:
        raise errors.unfit("embedding_bag", "combiner", "one of " + ", ".join(map(repr, _OPS)), repr(combiner))
    ids, bags, count, weights = _entries(weight, input, offsets, per_sample_weights, include_last_offset)
    if default_id is not None:
        ids, bags, weights = _filled(ids, bags, count, weights, default_id)
    compact = sparse_grad and not torch.compiler.is_compiling()
    if weights is None:
        return _OPS[combiner](data=weight, indices=ids, segment_ids=bags, num_segments=count, sparse_gradient=compact)
    return _weighted(weight, ids, bags, count, weights, combiner, compact)


class EmbeddingBag(nn.Module):  # type: ignore[misc]
    """A table whose rows are looked up and combined in bags; takes the place of `torch.nn.EmbeddingBag`.

    Beyond it: `combiner="sqrtn"`, weights with every combiner, a default for empty bags, CSR matrices, second
    derivatives, forward mode, and a sparse gradient that is coalesced. The parameter has the same name and the same
    initial values.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        combiner: str = "mean",
        sparse_grad: bool = True,
        default_id: int | None = None,
        include_last_offset: bool = False,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if combiner not in _OPS:
            raise errors.unfit("EmbeddingBag", "combiner", "one of " + ", ".join(map(repr, _OPS)), repr(combiner))
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.combiner, self.sparse_grad, self.default_id = combiner, sparse_grad, default_id
        self.include_last_offset = include_last_offset
        self.weight = nn.Parameter(torch.empty((num_embeddings, embedding_dim), dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.normal_(self.weight)

    def forward(self, input: Any, offsets: Any = None, per_sample_weights: Any = None) -> Any:
        return embedding_bag(
            self.weight,
            input,
            offsets,
            per_sample_weights,
            combiner=self.combiner,
            sparse_grad=self.sparse_grad,
            default_id=self.default_id,
            include_last_offset=self.include_last_offset,
        )

    def extra_repr(self) -> str:
        text = f"{self.num_embeddings}, {self.embedding_dim}, combiner={self.combiner!r}"
        return text + ("" if self.default_id is None else f", default_id={self.default_id}")


def slice(sparse: Any, start: Any, size: Any) -> Any:
    """Cut the window of `size` that begins at `start` out of a sparse COO or CSR tensor; the gradient flows back.

    The answer has the layout of what it was cut from.
    """
    layout = sparse.layout if isinstance(sparse, torch.Tensor) else None
    if layout is torch.sparse_csr:
        places = torch.stack([_bags(sparse.crow_indices()[:-1], sparse.col_indices().shape[0]), sparse.col_indices()])
        values = sparse.values()
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


# ------------------------------------------------------------------ what stands in the bags
def _entries(weight: Any, input: Any, offsets: Any, weights: Any, last: bool) -> tuple[Any, Any, Any, Any]:
    """The id of each entry, its bag, the number of bags, and the weight of each entry if there are weights."""
    is_csr = isinstance(input, torch.Tensor) and input.layout is torch.sparse_csr
    if is_csr or type(input).__module__.startswith("scipy.sparse"):
        if offsets is not None or weights is not None:
            raise errors.unfit("embedding_bag", "offsets and per_sample_weights", "None beside a CSR matrix", "more")
        if is_csr:
            ids, starts, weights = input.col_indices(), input.crow_indices(), input.values()
        else:
            matrix = input.tocsr()
            ids, starts, weights = map(torch.from_numpy, (matrix.indices, matrix.indptr, matrix.data))
        return ids, _bags(starts[:-1], ids.shape[0]), starts.shape[0] - 1, weights.to(weight.dtype)
    ids = torch.as_tensor(input)
    if weights is not None and weights.shape != ids.shape:
        raise errors.wrong_shape(
            "embedding_bag", "per_sample_weights", ", ".join(map(str, ids.shape)), "", weights.shape
        )
    if ids.ndim == 2:
        if offsets is not None:
            raise errors.unfit("embedding_bag", "offsets", "None where input is a matrix", "a tensor")
        bags = torch.arange(ids.shape[0])[:, None].expand(ids.shape).reshape(-1)
        return ids.reshape(-1), bags, ids.shape[0], None if weights is None else weights.reshape(-1)
    if ids.ndim != 1 or offsets is None:
        wanted = "a matrix of ids, or a vector with offsets"
        raise errors.unfit("embedding_bag", "input", wanted, f"{ids.ndim} axes and offsets={offsets}")
    starts = torch.as_tensor(offsets)
    if not torch.compiler.is_compiling():
        _check_offsets(starts, ids.shape[0])
    if last:
        starts = starts[:-1]
    return ids, _bags(starts, ids.shape[0]), starts.shape[0], weights


def _check_offsets(starts: Any, count: int) -> None:
    fits = not len(starts) or (starts[0] == 0 and starts[-1] <= count and not (starts[1:] < starts[:-1]).any())
    if not fits or (count and not len(starts)):
        wanted = f"ascending from 0 to at most {count}"
        raise errors.unfit("embedding_bag", "offsets", wanted, errors.shown(starts.tolist()))


def _bags(starts: Any, count: Any) -> Any:
    """The bag of each entry: how many bags have begun there, less one."""
    return torch.searchsorted(starts, torch.arange(count, dtype=starts.dtype), right=True) - 1


def _filled(ids: Any, bags: Any, count: Any, weights: Any, default_id: int) -> tuple[Any, Any, Any]:
    """The same with one entry of the default id, of weight one, in every bag that was empty."""
    rows = {"value_rowids": bags, "nrows": count}
    filled = raw_ops.RaggedFillEmptyRows(values=ids, default_value=default_id, **rows)
    if weights is not None:
        weights = raw_ops.RaggedFillEmptyRows(values=weights, default_value=1.0, **rows).output_values
    return filled.output_values, filled.output_value_rowids, weights


def _weighted(weight: Any, ids: Any, bags: Any, count: Any, weights: Any, combiner: str, compact: bool) -> Any:
    each = torch.arange(ids.shape[0])
    rows = _OPS["sum"](data=weight, indices=ids, segment_ids=each, num_segments=ids.shape[0], sparse_gradient=compact)

    def total(entries: Any) -> Any:
        return _OPS["sum"](data=entries, indices=each, segment_ids=bags, num_segments=count)

    pooled = total(rows * weights[:, None])
    if combiner == "sum":
        return pooled
    empty = total(torch.ones_like(weights)) == 0
    scale = total(weights) if combiner == "mean" else total(weights * weights)
    scale = torch.where(empty, torch.ones_like(scale), scale)
    return pooled / (scale if combiner == "mean" else scale.sqrt())[:, None]
