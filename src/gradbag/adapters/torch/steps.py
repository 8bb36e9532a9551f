"""The tape and forward mode: an op's own gradient rule, which calls PyTorch ops again, so any order works.

A step of the tape is one `autograd.Function` for each overload of an op. It keeps what the rule may look at: inputs
and outputs, but of a linear op only the shapes of what it is linear in, and of inputs that are given as sizes the
sizes. A rule gets all of that back, and the derivative in a direction is the op itself, or the rule transposed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import torch

from ...gradients import Ops, Shaped, pull, push
from ...spec import Op
from . import compat

LARGE = 1 << 18  # bytes of a sparse gradient that take longer to copy than a hook to come and go


def recorded(op: Op, overload: Any, step: Any) -> Callable[..., Any]:
    """The function for the Autograd key of one overload of an op."""
    count = len(op.inputs)

    def answer(keyset: Any, *values: Any) -> Any:
        given = op.flat(values[:count])
        if wants_step(given):
            if not compat._are_functorch_transforms_active():
                return grouped(op, step.apply(keyset, len(given), *given, *values[count:]))
            with compat.enable_single_level_autograd_function():
                return grouped(op, step.apply(keyset, len(given), *given, *values[count:]))
        with compat._AutoDispatchBelowAutograd():
            return overload.redispatch(keyset & compat._after_autograd_keyset, *values)

    return answer


def grouped(op: Op, answer: Any) -> Any:
    """What an overload answers, lists as lists, of the flat tensors that a kernel gives."""
    if not op.output_lists:
        return answer
    outputs = op.grouped_outputs(answer)
    return outputs[0] if op.result is None else tuple(outputs)


def flat(op: Op, answer: Any) -> Any:
    """The opposite of `grouped`."""
    return tuple(op.flat_answer(answer)) if op.output_lists else answer


def wants_step(values: Sequence[Any]) -> bool:
    """Whether a call has to be recorded, or tangents go with it."""
    return compat.forward_mode_is_on() or (torch.is_grad_enabled() and compat._any_requires_grad(*values))


class Keeping:
    """Which inputs and outputs of a call a step keeps as tensors, as shapes and as sizes, by their places.

    Places count the flat inputs first and then the outputs.
    """

    def __init__(self, op: Op, inputs: int, absent: tuple[int, ...], outputs: int, by_size: bool) -> None:
        args = op.flat_inputs(inputs)
        self.inputs, light = inputs, op.is_linear_without(absent, inputs)
        self.carries = [a.name in op.differentiable_outputs for a in op.flat_outputs(outputs)]
        linear = [arg.name in op.linear and place not in absent for place, arg in enumerate(args)]
        self.shapes = [place for place, flag in enumerate((*linear, *self.carries)) if light and flag]
        self.sizes = op.flat_held(inputs) if by_size else []
        given = [place for place in range(inputs) if place not in absent and place not in self.sizes]
        self.edges = {place: edge for edge, place in enumerate(given)}  # of the tape, which knows tensors alone
        everything = range(inputs + outputs)
        self.tensors = [place for place in everything if place not in self.shapes and place not in self.sizes]
        self.fixed = [place for place, flag in enumerate(self.carries) if not flag]
        kept = [*self.tensors, *self.shapes, *self.sizes]
        self.order = [kept.index(place) for place in everything]

    def keep(self, ctx: Any, inputs: Sequence[Any], outputs: Sequence[Any], attrs: Sequence[Any]) -> None:
        everything = (*inputs, *outputs)
        tensors = [everything[place] for place in self.tensors]
        ctx.shapes = [Shaped(everything[p].shape, everything[p].dtype) for p in self.shapes]
        ctx.kept_sizes = [everything[p] for p in self.sizes]
        ctx.keeping, ctx.attrs = self, attrs
        ctx.save_for_backward(*tensors)
        if compat.forward_mode_is_on():
            ctx.save_for_forward(*tensors)
        if self.fixed:
            ctx.mark_non_differentiable(*[outputs[place] for place in self.fixed])
        ctx.set_materialize_grads(False)

    def restored(self, ctx: Any) -> tuple[list[Any], list[Any]]:
        """Inputs and outputs, as far as they were kept."""
        found = [*ctx.saved_tensors, *ctx.shapes, *ctx.kept_sizes]
        kept = [found[place] for place in self.order]
        return kept[: self.inputs], kept[self.inputs :]


def step_of(op: Op, by_size: bool, overload: Any, kernel: Callable[..., Any], ops: Ops) -> Any:
    """The step of the tape that a call of one overload is.

    Its arguments are the key set of the dispatcher, or None if there is nothing below but the kernel; how many flat
    inputs there are; these; and the attributes.
    """
    names, defaults = list(op.attr_defaults), list(op.attr_defaults.values())
    keeping = lru_cache(maxsize=64)(lambda inputs, absent, outputs: Keeping(op, inputs, absent, outputs, by_size))

    def named(attrs: Sequence[Any]) -> dict[str, Any]:
        return dict(zip(names, (*attrs, *defaults[len(attrs) :]), strict=True))

    class Step(compat._SingleLevelFunction):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, keyset: Any, count: int, *values: Any) -> Any:
            inputs, attrs = values[:count], values[count:]
            answer = kernel(inputs, attrs) if keyset is None else _below(op, overload, keyset, inputs, attrs)
            absent = tuple([p for p, v in enumerate(inputs) if v is None]) if op.optional_names else ()
            outputs = answer if isinstance(answer, tuple) else (answer,)
            keeping(count, absent, len(outputs)).keep(ctx, inputs, outputs, attrs)
            return answer

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> Any:
            inputs, outputs = ctx.keeping.restored(ctx)
            pulled = _turned(op, pull(ops, op, inputs, outputs, _turned(op, cotangents), named(ctx.attrs)))
            ctx.held = [p for n, p in enumerate(pulled) if p is not None and p.is_sparse and not _kept(ctx, n, p)]
            return (None, None, *pulled, *[None] * len(ctx.attrs))

        @staticmethod
        def jvp(ctx: Any, _: Any, __: Any, *tangents: Any) -> Any:
            inputs, outputs = ctx.keeping.restored(ctx)
            moved = push(ops, op, inputs, outputs, tangents[: len(inputs)], named(ctx.attrs))
            if op.result is None and not op.output_lists:
                return moved[0]
            return tuple(y if carries else None for carries, y in zip(ctx.keeping.carries, moved, strict=True))

    Step.__name__ = Step.__qualname__ = op.name
    return Step


def _kept(ctx: Any, place: int, gradient: torch.Tensor) -> bool:
    """Of a sparse gradient that nobody holds the tape takes the parts, forgetting that it is coalesced.

    If it is held, the tape copies it. That is right for a small one; of a large one, the leaf is told when it is there.
    """
    values = gradient.values()
    if (
        values.nbytes < LARGE
        or (leaf := compat.leaf_of(ctx, ctx.keeping.edges[place])) is None
        or leaf.grad is not None
    ):
        return False
    address, count = values.data_ptr(), len(values)

    def tell(leaf: Any) -> None:
        handle.remove()
        if compat.has_parts_of(leaf.grad, address, count):
            compat.call_coalesced(leaf.grad)

    handle = leaf.register_post_accumulate_grad_hook(tell)
    return True


def _turned(op: Op, cotangents: Sequence[Any]) -> Sequence[Any]:
    """Complex cotangents between PyTorch's convention and ours; real linear ops commute with conjugation."""
    if op.is_linear:
        return cotangents
    return [c.conj().resolve_conj() if c is not None and c.dtype.is_complex else c for c in cotangents]


def _below(op: Op, overload: Any, keyset: Any, inputs: Sequence[Any], attrs: Sequence[Any]) -> Any:
    """Go on below the tape."""
    values = (*op.grouped(inputs), *attrs)
    with compat._AutoDispatchBelowAutograd():
        if not compat._are_functorch_transforms_active():
            return flat(op, overload.redispatch(keyset & compat._after_autograd_keyset, *values))
        # Next comes an outer transformation, which has to see what it differentiates.
        with torch.enable_grad(), compat.with_forward_mode():  # type: ignore[attr-defined]
            return flat(op, overload.redispatch(keyset & compat._after_autograd_keyset, *values))
