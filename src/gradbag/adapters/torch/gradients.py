"""The tape and forward mode: an op's own gradient rule, which calls PyTorch ops again, so any order works."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import torch
from torch._C import (
    _after_autograd_keyset,
    _any_requires_grad,
    _are_functorch_transforms_active,
    _AutoDispatchBelowAutograd,
    is_grad_enabled,
)
from torch._functorch.utils import enable_single_level_autograd_function
from torch.autograd import forward_ad

# One level of functorch at a time: the dispatcher, not the function, goes from level to level.
from torch.autograd.function import _SingleLevelFunction

from ... import errors
from ...spec import Op, registry


class Outline:
    """Stands for a tensor of which a gradient rule only needs the shape: a linear op does not look at its values."""

    __slots__ = ("dtype", "shape")

    def __init__(self, shape: Any, dtype: Any) -> None:
        self.shape, self.dtype = shape, dtype

    def zeros(self) -> torch.Tensor:
        return torch.zeros(self.shape, dtype=self.dtype)


class TorchOps:
    """What a gradient rule may call: every sparse op by its name, and a few questions about indices."""

    def __init__(self, call: Callable[[Op, Sequence[Any], dict[str, Any]], Any]) -> None:
        self._call = call

    def __getattr__(self, name: str) -> Any:
        op = registry.get(name)
        if op is None:
            raise AttributeError(f"there is no sparse op {name!r}, and a gradient in PyTorch needs one")

        def run(**given: Any) -> Any:
            values = [given.pop(n) for n in op.input_names]
            return self._call(op, values, {**op.attr_defaults, **given})

        return run

    @staticmethod
    def rows(value: Any) -> Any:
        """The length of the first axis."""
        return value.shape[0]

    @staticmethod
    def range(count: Any) -> torch.Tensor:
        return torch.arange(count)

    @staticmethod
    def ones(count: Any) -> torch.Tensor:
        return torch.ones(count, dtype=torch.int8)

    @staticmethod
    def nonzero(marks: torch.Tensor) -> torch.Tensor:
        return torch.nonzero(marks).squeeze(1)

    @staticmethod
    def sorted_by(keys: torch.Tensor, values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Both in ascending order of the keys; equal keys keep their order."""
        ascending, order = torch.sort(keys, stable=True)
        return ascending, values[order]

    @staticmethod
    def positions(values: torch.Tensor, among: torch.Tensor) -> torch.Tensor:
        """Where each value stands in a sorted tensor that has it."""
        return torch.searchsorted(among.contiguous(), values.contiguous())

    @staticmethod
    def sum_like(value: torch.Tensor, like: Any) -> torch.Tensor:
        """Undo broadcasting: add along the axes in which `like` was stretched to the shape of `value`."""
        return value.sum_to_size(like.shape)

    @staticmethod
    def row_grad(compact: Any, like: Any) -> torch.Tensor:
        """The outputs of a compact gradient op, as the gradient of `like`: a sparse tensor, coalesced.

        The compiler and `torch.func` know no sparse gradients; there it is dense.
        """
        rows, places = compact.output, compact.sorted_unique_indices.long()
        if type(rows) is not torch.Tensor or _are_functorch_transforms_active():
            return rows.new_zeros(like.shape).index_copy(0, places, rows)
        return torch.sparse_coo_tensor(places[None], rows, like.shape, is_coalesced=True, check_invariants=False)


def recorded(overload: Any, step: Any) -> Callable[..., Any]:
    """The function for the Autograd key of one overload of an op."""

    def answer(keyset: Any, *values: Any) -> Any:
        if wants_step(values):
            if not _are_functorch_transforms_active():
                return step.apply(keyset, *values)
            with enable_single_level_autograd_function():
                return step.apply(keyset, *values)
        with _AutoDispatchBelowAutograd():
            return overload.redispatch(keyset & _after_autograd_keyset, *values)

    return answer


def wants_step(values: Sequence[Any]) -> bool:
    """Whether a call has to be recorded, or tangents go with it."""
    return bool(forward_ad._current_level >= 0 or (is_grad_enabled() and _any_requires_grad(*values)))


def step_of(op: Op, by_size: bool, overload: Any, kernel: Callable[..., Any], ops: TorchOps) -> Any:
    """The step of the tape that a call of one overload is.

    Its first argument is the key set of the dispatcher, or None if there is nothing below but the kernel.
    """
    count = len(op.inputs)
    # Where the op is linear in everything that carries a gradient, the rule cannot depend on those values.
    light = set(op.linear) == set(op.differentiable)
    linear = [name in op.linear for name in op.input_names]
    carries = [a.name in op.differentiable_outputs for a in op.outputs]
    spared = [place for place, flag in enumerate((*linear, *carries)) if light and flag]
    sizes = [place for place in op.held if by_size]
    saved = [place for place in range(count + len(op.outputs)) if place not in spared and place not in sizes]
    fixed = [place for place, flag in enumerate(carries) if not flag]
    attr_names, defaults = list(op.attr_defaults), list(op.attr_defaults.values())

    def below(keyset: Any, values: Sequence[Any]) -> Any:
        with _AutoDispatchBelowAutograd():
            if not _are_functorch_transforms_active():
                return overload.redispatch(keyset & _after_autograd_keyset, *values)
            # Next comes an outer transformation, which has to see what it differentiates.
            with torch.enable_grad(), forward_ad._set_fwd_grad_enabled(True):
                return overload.redispatch(keyset & _after_autograd_keyset, *values)

    def restored(ctx: Any) -> tuple[list[Any], Sequence[Any]]:
        """Inputs and outputs as they were saved, and the attributes."""
        kept: list[Any] = [None] * (count + len(op.outputs))
        shapes, held = ctx.rest
        for places, values in ((saved, ctx.saved_tensors), (spared, [Outline(*s) for s in shapes]), (sizes, held)):
            for place, value in zip(places, values, strict=True):
                kept[place] = value
        given = getattr(ctx, "attrs", ())
        return kept, (*given, *defaults[len(given) :])

    class Step(_SingleLevelFunction):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, keyset: Any, *values: Any) -> Any:
            answer = kernel(*values) if keyset is None else below(keyset, values)
            outputs = (answer,) if op.result is None else answer
            everything = (*values[:count], *outputs)
            tensors = [everything[place] for place in saved]
            ctx.rest = [(everything[p].shape, everything[p].dtype) for p in spared], [values[p] for p in sizes]
            if len(values) > count:
                ctx.attrs = values[count:]
            ctx.save_for_backward(*tensors)
            if forward_ad._current_level >= 0:
                ctx.save_for_forward(*tensors)
            if fixed:
                ctx.mark_non_differentiable(*[outputs[place] for place in fixed])
            ctx.set_materialize_grads(False)
            return answer

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> Any:
            kept, attrs = restored(ctx)
            given = [
                (_outline(y).zeros() if g is None else g) if c else None
                for c, g, y in zip(carries, cotangents, kept[count:], strict=True)
            ]
            pulled = _pulled(op, ops, kept, dict(zip(attr_names, attrs, strict=True)), given)
            # Of a sparse gradient that nobody else holds the tape takes the parts, forgetting that it is coalesced.
            ctx.held = [p for p in pulled if p is not None and p.is_sparse]
            return (None, *pulled, *[None] * (len(ctx.needs_input_grad) - 1 - count))

        @staticmethod
        def jvp(ctx: Any, _: Any, *tangents: Any) -> Any:
            kept, attrs = restored(ctx)
            for name, is_linear, tangent in zip(op.input_names, linear, tangents, strict=False):
                if tangent is not None and not is_linear:
                    raise errors.UnsupportedTypeError(f"{op.name} is not linear in {name}: no forward mode in PyTorch")
            moved = [
                v if not is_linear else _outline(v).zeros() if t is None else t
                for v, is_linear, t in zip(kept, linear, tangents, strict=False)
            ]
            answer = overload(*moved, *attrs)
            if op.result is None:
                return answer
            return tuple(y if c else None for c, y in zip(carries, answer, strict=True))

    Step.__name__ = Step.__qualname__ = op.name
    return Step


def _outline(value: Any) -> Outline:
    return value if isinstance(value, Outline) else Outline(value.shape, value.dtype)


def _pulled(op: Op, ops: TorchOps, kept: Sequence[Any], attrs: dict[str, Any], given: Sequence[Any]) -> list[Any]:
    """The gradients of the inputs by the op's rule."""
    if op.rule is None:
        raise errors.UnsupportedTypeError(f"{op.name} has no gradient")
    names = [a.name for a in op.outputs]
    count = len(op.inputs)
    x = SimpleNamespace(**dict(zip(op.input_names, kept[:count], strict=True)), **attrs)
    y = SimpleNamespace(**dict(zip(names, kept[count:], strict=True)))
    pulled = op.rule(ops, x, y, SimpleNamespace(**dict(zip(names, given, strict=True))))
    missing = [name for name in op.differentiable if name not in pulled]
    if missing:
        raise errors.UnsupportedTypeError(f"{op.name}: the gradient rule says nothing about {', '.join(missing)}")
    return [pulled.get(name) for name in op.input_names]
