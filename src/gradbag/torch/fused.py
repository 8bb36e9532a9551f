"""Look-ups whose backward makes the step of an optimizer, so that no gradient of the table exists."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from .. import errors
from ..optim import Optimizer
from .entries import NAME, also
from .functional import look_up as look_up_only

PREFIX = "fused_"  # of the buffers that are the state of the optimizer


def keep_state(layer: nn.Module, optimizer: Any) -> None:
    """Give a layer the state of its optimizer, as buffers."""
    if not isinstance(optimizer, Optimizer):
        raise errors.wrong_type(NAME, "fused", ["an optimizer of gradbag.optim"], type(optimizer).__name__)
    if layer.mode == "max":
        raise errors.unfit(NAME, "fused", "None with mode='max'", type(optimizer).__name__)
    if layer.scale_grad_by_freq:
        raise errors.unfit(NAME, "fused", "None with scale_grad_by_freq", type(optimizer).__name__)
    for name, value in optimizer.init(layer.weight.detach()).items():
        layer.register_buffer(PREFIX + name, torch.as_tensor(value))


@torch.compiler.disable(reason="a fused step changes the table in backward")  # type: ignore[untyped-decorator]
def look_up(layer: nn.Module, weight: Any, ids: Any, starts: Any, weights: Any, mode: str, sparse: bool) -> Any:
    """What `functional.look_up` gives; a table that is not to be trained gets no step."""
    if not weight.requires_grad:
        return look_up_only(weight, ids, starts, weights, mode, sparse)
    state = {
        name.removeprefix(PREFIX): value
        for name, value in layer.named_buffers(recurse=False)
        if name.startswith(PREFIX)
    }
    return _Fused.apply(weight, ids, starts, weights, mode, layer.fused, state)


class _Fused(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(
        ctx: Any, weight: Any, ids: Any, starts: Any, weights: Any, mode: str, optimizer: Optimizer, state: Any
    ) -> Any:
        # Only the gradient of weights looks at the table. It is kept for that, and PyTorch then sees to it that no
        # other step has moved the table in between.
        ctx.save_for_backward(ids, starts, weights, weight if ctx.needs_input_grad[3] else None)
        ctx.table, ctx.mode, ctx.optimizer, ctx.state = weight.detach(), mode, optimizer, state
        ctx.set_materialize_grads(False)
        return look_up_only(weight, ids, starts, weights, mode, sparse=False)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        if torch.is_grad_enabled():
            wanted = (
                "None where backward is differentiated again (create_graph=True): the step it makes has no gradient"
            )
            raise also(RuntimeError, errors.unfit(NAME, "fused", wanted, type(ctx.optimizer).__name__))
        of_weights = None
        if grad is not None:
            ids, starts, weights, table = ctx.saved_tensors
            if table is not None:
                of_weights = _grad_of_weights(table, ids, starts, weights, ctx.mode, grad)
            state = {**ctx.state, "step": int(ctx.state["step"])}
            ctx.optimizer.step(ctx.table, state, (ids, starts, weights), grad, combiner=ctx.mode)
            ctx.state["step"].fill_(state["step"])
        return None, None, None, of_weights, None, None, None


def _grad_of_weights(table: Any, ids: Any, starts: Any, weights: Any, mode: str, grad: Any) -> Any:
    with torch.enable_grad():
        leaf = weights.detach().requires_grad_()
        rows = look_up_only(table.detach(), ids, starts, leaf, mode, sparse=False)
        return torch.autograd.grad(rows, leaf, grad)[0]
