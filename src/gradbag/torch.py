"""gradbag for PyTorch: `EmbeddingBag`, with what `torch.nn.EmbeddingBag` lacks, and slicing of sparse tensors.

`gradbag.raw_ops` and the friendly functions take tensors without this module.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from . import errors, raw_ops
from .adapters.torch import operators as _adapter  # registers the ops, so that torch.ops.gradbag has them
from .adapters.torch import optim
from .ops.combiners import combiner_named
from .spec import registry

__all__ = ["EmbeddingBag", "embedding_bag", "optim", "slice"]


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
    name = combiner_named("embedding_bag", combiner).name
    ids, starts, weights = _entries(weight, input, offsets, per_sample_weights, include_last_offset)
    if default_id is not None:
        ids, starts, weights = _filled(ids, starts, weights, default_id)
    return _look_up(weight, ids, starts, weights, name, sparse_grad)


def _look_up(weight: Any, ids: Any, starts: Any, weights: Any, combiner: str, sparse_grad: bool) -> Any:
    if torch.compiler.is_compiling():  # whose gradients are dense
        return raw_ops.EmbeddingBag(table=weight, ids=ids, offsets=starts, weights=weights, combiner=combiner)
    return _bag.call((weight, ids, starts, weights), {"combiner": combiner, "sparse_gradient": sparse_grad})


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
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.combiner, self.sparse_grad = combiner_named("EmbeddingBag", combiner).name, sparse_grad
        self.default_id = default_id
        self.include_last_offset = include_last_offset
        self.weight = nn.Parameter(torch.empty((num_embeddings, embedding_dim), dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.normal_(self.weight)

    def forward(self, input: Any, offsets: Any = None, per_sample_weights: Any = None) -> Any:
        plain = type(input) is torch.Tensor and input.ndim == 1 and type(offsets) is torch.Tensor
        if plain and per_sample_weights is None and self.default_id is None and not self.include_last_offset:
            return _look_up(self.weight, input, offsets, None, self.combiner, self.sparse_grad)
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
def _entries(weight: Any, input: Any, offsets: Any, weights: Any, last: bool) -> tuple[Any, Any, Any]:
    """The id of each entry, where bags begin, and the weight of each entry if there are weights."""
    is_csr = isinstance(input, torch.Tensor) and input.layout is torch.sparse_csr
    if is_csr or type(input).__module__.startswith("scipy.sparse"):
        if offsets is not None or weights is not None:
            raise errors.unfit("embedding_bag", "offsets and per_sample_weights", "None beside a CSR matrix", "more")
        if is_csr:
            ids, starts, weights = input.col_indices(), input.crow_indices(), input.values()
        else:
            matrix = input.tocsr()
            ids, starts, weights = map(torch.from_numpy, (matrix.indices, matrix.indptr, matrix.data))
        return ids, starts[:-1], weights.to(weight.dtype)
    ids = torch.as_tensor(input)
    if isinstance(weights, (list, tuple)):
        weights = torch.tensor(weights, dtype=weight.dtype)
    if weights is not None and weights.shape != ids.shape:
        raise errors.wrong_shape(
            "embedding_bag", "per_sample_weights", ", ".join(map(str, ids.shape)), "", weights.shape
        )
    if weights is not None and weights.dtype != weight.dtype:
        wanted, got = (str(values.dtype).removeprefix("torch.") for values in (weight, weights))
        raise errors.wrong_type("embedding_bag", "per_sample_weights", [wanted], got, "like weight")
    if ids.ndim == 2:
        if offsets is not None:
            raise errors.unfit("embedding_bag", "offsets", "None where input is a matrix", "a tensor")
        starts = torch.arange(ids.shape[0]) * ids.shape[1]
        return ids.reshape(-1), starts, None if weights is None else weights.reshape(-1)
    if ids.ndim != 1 or offsets is None:
        wanted = "a matrix of ids, or a vector with offsets"
        raise errors.unfit("embedding_bag", "input", wanted, f"{ids.ndim} axes and offsets={offsets}")
    starts = torch.as_tensor(offsets)
    return ids, starts[:-1] if last else starts, weights


def _bags(starts: Any, count: Any) -> Any:
    """The bag of each entry: how many bags have begun there, less one."""
    return torch.searchsorted(starts, torch.arange(count, dtype=starts.dtype), right=True) - 1


def _filled(ids: Any, starts: Any, weights: Any, default_id: int) -> tuple[Any, Any, Any]:
    """The same with one entry of the default id, of weight one, in every bag that was empty."""
    rows = {"value_rowids": _bags(starts, ids.shape[0]), "nrows": starts.shape[0]}
    filled: Any = raw_ops.RaggedFillEmptyRows(values=ids, default_value=default_id, **rows)
    if weights is not None:
        weights = raw_ops.RaggedFillEmptyRows(values=weights, default_value=1.0, **rows).output_values
    empty = filled.empty_row_indicator.to(starts.dtype)
    return filled.output_values, starts + empty.cumsum(0) - empty, weights


_bag = _adapter.operator_of(registry["EmbeddingBag"])
