"""`embedding_bag` and `embedding` with the arguments of `torch.nn.functional`, differentiable to any order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .. import errors, raw_ops
from ..adapters.torch import operators
from ..ops.combiners import COMBINERS
from ..spec import registry
from .entries import NAME, Entries, also, are_sound, entries_of, filled, without

__all__ = ["embedding", "embedding_bag"]

MODES = (*COMBINERS, "max")


def embedding_bag(
    input: Any,
    weight: Any,
    offsets: Any = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Any = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
    *,
    default_id: int | None = None,
    _look_up: Callable[..., Any] | None = None,
) -> Any:
    """Look up the rows of `weight` for bags of ids and combine each bag into one row.

        >>> import torch
        >>> from gradbag.torch import functional as F
        >>> weight = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        >>> F.embedding_bag(torch.tensor([0, 2, 1]), weight, torch.tensor([0, 2, 2]), mode="sum")
        tensor([[6., 8.],
                [0., 0.],
                [3., 4.]])

    The arguments are those of `torch.nn.functional.embedding_bag`, and mean the same. Beyond it:

    * `mode="sqrtn"`, and `per_sample_weights` with every mode but "max": with weights w, "mean" divides by the sum of w
      and "sqrtn" by the root of the sum of w**2.
    * `sparse=True` with every mode; the gradient is coalesced. Inside `torch.compile` it is dense.
    * `input` may also be a CSR matrix of PyTorch or SciPy, whose column numbers are ids and whose values are weights,
      or `gradbag.Bags`.
    * An empty bag gives zeros, or the row of `default_id`.
    """
    check_mode(NAME, mode)
    if weight.ndim != 2:
        raise errors.wrong_shape(NAME, "weight", "rows columns", "", weight.shape)
    entries = entries_of(weight, input, offsets, per_sample_weights, include_last_offset)
    if mode == "max":
        if entries.weights is not None:
            raise also(NotImplementedError, errors.unfit(NAME, "per_sample_weights", "None with mode='max'", "some"))
        if scale_grad_by_freq:
            raise errors.unfit(NAME, "scale_grad_by_freq", "False with mode='max'", "True")
    bags = entries.starts.shape[0]
    if max_norm is not None:
        _shrink(weight, entries, max_norm, norm_type)
    if padding_idx is not None:
        entries = without(_row(padding_idx, weight.shape[0]), entries, weight.shape[0])
    if default_id is not None:
        entries = filled(default_id, entries)
    if scale_grad_by_freq:
        weight = _scaled_by_frequency(weight, entries.ids)
    rows = (_look_up or look_up)(weight, *entries, mode, sparse)
    return rows if entries.starts.shape[0] == bags else rows[:bags]


def embedding(
    input: Any,
    weight: Any,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:
    """Look up a row of `weight` for each id; the arguments are those of `torch.nn.functional.embedding`.

        >>> import torch
        >>> from gradbag.torch import functional as F
        >>> F.embedding(torch.tensor([[1], [0]]), torch.tensor([[1.0, 2.0], [3.0, 4.0]])).tolist()
        [[[3.0, 4.0]], [[1.0, 2.0]]]

    A sparse gradient is coalesced, and there are derivatives of any order. The row of `padding_idx` gets no gradient.
    """
    ids = torch.as_tensor(input)
    flat = ids.reshape(-1)
    entries = Entries(flat, torch.arange(flat.shape[0]))
    if max_norm is not None:
        _shrink(weight, entries, max_norm, norm_type)
    table = _scaled_by_frequency(weight, flat) if scale_grad_by_freq else weight
    rows = look_up(table, *entries, "sum", sparse)
    if padding_idx is not None:
        rows = torch.where((flat == _row(padding_idx, weight.shape[0]))[:, None], rows.detach(), rows)
    return rows.reshape(*ids.shape, *weight.shape[1:])


# ------------------------------------------------------------------ parts
def check_mode(function: str, mode: str) -> None:
    if mode not in MODES:
        raise errors.unfit(function, "mode", "one of " + ", ".join(map(repr, MODES)), repr(mode))


def look_up(weight: Any, ids: Any, starts: Any, weights: Any, mode: str, sparse: bool) -> Any:
    """The op itself, without what PyTorch adds to it."""
    if torch.compiler.is_compiling():  # whose gradients are dense
        if mode == "max":
            return raw_ops.EmbeddingBagMax(table=weight, ids=ids, offsets=starts).output
        return raw_ops.EmbeddingBag(table=weight, ids=ids, offsets=starts, weights=weights, combiner=mode)
    try:
        if mode == "max":
            return _max.call((weight, ids, starts), {"sparse_gradient": sparse}).output
        return _bag.call((weight, ids, starts, weights), {"combiner": mode, "sparse_gradient": sparse})
    except errors.Error as problem:
        raise also(RuntimeError, problem) from None


def _row(padding_idx: int, rows: int) -> int:
    if not -rows <= padding_idx < rows:
        problem = errors.unfit(NAME, "padding_idx", f"within the number of embeddings, {rows}", f"{padding_idx}")
        raise also(RuntimeError, problem)
    return padding_idx % rows


def _shrink(weight: Any, entries: Entries, max_norm: float, norm_type: float) -> None:
    """Bring the rows that will be looked up to a norm of at most `max_norm`, in place, as PyTorch does."""
    if torch.compiler.is_compiling():
        with torch.no_grad():
            torch.embedding_renorm_(weight.detach(), entries.ids, max_norm, norm_type)
        return
    if not are_sound(entries, weight.shape[0]):
        return
    with torch.no_grad():
        table = weight.detach()
        touched = torch.unique(entries.ids)
        rows = table[touched].double()
        norms = torch.linalg.vector_norm(rows, norm_type, 1)
        longer = norms > max_norm
        scales = max_norm / (norms[longer] + 1e-7)  # PyTorch's, which keeps the quotient below max_norm
        table[touched[longer]] = (rows[longer] * scales[:, None]).to(table.dtype)


class _ByFrequency(torch.autograd.Function):  # type: ignore[misc]
    """A table as it is, whose rows get their gradient divided by a number each."""

    @staticmethod
    def forward(table: Any, counts: Any) -> Any:
        return table.view_as(table)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[1])

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        (counts,) = ctx.saved_tensors
        if not grad.is_sparse:
            return grad / counts[:, None], None
        rows = grad.coalesce()
        shares = rows.values() / counts[rows.indices()[0]][:, None]
        return torch.sparse_coo_tensor(rows.indices(), shares, grad.shape, is_coalesced=True), None

    @staticmethod
    def jvp(ctx: Any, table: Any, counts: Any) -> Any:
        return table.view_as(table)


def _scaled_by_frequency(table: Any, ids: Any) -> Any:
    rows = table.shape[0]
    known = ids.clamp(0, max(rows - 1, 0)).long()  # the look-up refuses the others
    counts = torch.zeros(rows, dtype=torch.int64).index_add_(0, known, torch.ones_like(known))
    return _ByFrequency.apply(table, counts.clamp(min=1))


_bag = operators.operator_of(registry["EmbeddingBag"])
_max = operators.operator_of(registry["EmbeddingBagMax"])
