"""The layer."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import nn

from ..huge_pages import ask_for_huge_pages
from ..optim import Optimizer
from . import functional
from .fused import keep_state, look_up


class EmbeddingBag(nn.EmbeddingBag):  # type: ignore[misc]
    """A table whose rows are looked up and combined in bags; a `torch.nn.EmbeddingBag` with all its arguments.

        >>> import torch
        >>> import gradbag.torch
        >>> bag = gradbag.torch.EmbeddingBag(1000, 16, mode="sqrtn", sparse=True)
        >>> bag(torch.tensor([3, 17, 3, 900]), torch.tensor([0, 3, 3])).shape
        torch.Size([3, 16])

    Beyond it: `mode="sqrtn"`, weights with "mean" and "sqrtn", `sparse=True` with "max", a sparse gradient that is
    coalesced, second derivatives, forward mode, CSR matrices and `gradbag.Bags` as input, and `default_id`, the row
    that stands in for an empty bag. Parameter, initial values and state are those of PyTorch's layer.

    With `fused`, an optimizer of `gradbag.optim`, backward itself moves the rows, as in FBGEMM; no gradient is made,
    and `weight.grad` stays None. Each backward of a call is a step. Buffers keep what the optimizer keeps.

        >>> bag = gradbag.torch.EmbeddingBag(1000, 16, fused=gradbag.optim.RowAdagrad(lr=0.05))
        >>> bag(torch.tensor([3, 17, 3, 900]), torch.tensor([0, 3, 3])).sum().backward()
        >>> bag.weight.grad, bag.fused_step, bag.fused_accumulator.count_nonzero()
        (None, tensor(1), tensor(3))
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Any = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
        *,
        default_id: int | None = None,
        fused: Optimizer | None = None,
    ) -> None:
        functional.check_mode("EmbeddingBag", mode)
        table = _weight
        if table is None:
            table = torch.empty((num_embeddings, embedding_dim), device=device, dtype=dtype)
            if table.is_cpu:  # before it is first written
                ask_for_huge_pages(table.data_ptr(), table.nbytes)
        super().__init__(
            num_embeddings,
            embedding_dim,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            mode,
            sparse,
            table,
            include_last_offset,
            padding_idx,
        )
        self.default_id, self.fused = default_id, fused
        if _weight is None:
            self.reset_parameters()
        if fused is not None:
            keep_state(self, fused)

    def forward(self, input: Any, offsets: Any = None, per_sample_weights: Any = None) -> Any:
        chosen = functional.look_up if self.fused is None else partial(look_up, self)
        if (
            type(input) is torch.Tensor
            and input.ndim == 1
            and type(offsets) is torch.Tensor
            and per_sample_weights is None
            and self.max_norm is self.padding_idx is self.default_id is None
            and not (self.scale_grad_by_freq or self.include_last_offset)
        ):
            return chosen(self.weight, input, offsets, None, self.mode, self.sparse)
        return functional.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
            default_id=self.default_id,
            _look_up=chosen,
        )

    def extra_repr(self) -> str:
        ours = {"default_id": self.default_id, "fused": self.fused}
        told = [f"{name}={value}" for name, value in ours.items() if value is not None]
        return ", ".join([str(super().extra_repr()), *told])
