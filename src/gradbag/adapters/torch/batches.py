"""`torch.func.vmap`: one call after the other, and the answers stacked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ... import errors
from ...spec import Op
from .steps import flat, grouped


def batched(op: Op, overload: Any) -> Callable[..., Any]:
    """The rule of `torch.library.register_vmap` for one overload of an op."""

    def rule(info: Any, in_dims: Any, *values: Any) -> Any:
        if not info.batch_size:
            raise errors.unfit(op.name, op.input_names[0], "at least one call to be batched", "none")
        answers = [
            flat(op, overload(*[_picked(v, d, number) for v, d in zip(values, in_dims, strict=True)]))
            for number in range(info.batch_size)
        ]
        if op.result is None and not op.output_lists:
            return _stacked(op, 0, answers), 0
        stacks = tuple(_stacked(op, p, column) for p, column in enumerate(zip(*answers, strict=True)))
        return grouped(op, stacks), grouped(op, (0,) * len(stacks))

    return rule


def _picked(value: Any, dims: Any, number: int) -> Any:
    """One of a batch of tensors, or of each of a list of them."""
    if isinstance(value, (list, tuple)) and isinstance(dims, (list, tuple)):
        return [_picked(v, d, number) for v, d in zip(value, dims, strict=True)]
    return value if dims is None else value.select(dims, number)


def _stacked(op: Op, place: int, answers: Any) -> torch.Tensor:
    shapes = {tuple(a.shape) for a in answers}
    if len(shapes) > 1:
        one, other = sorted(shapes)[:2]
        name = op.flat_outputs(place + 1)[place].name
        raise errors.InvalidArgumentError(
            f"{op.name}: vmap needs answers of one shape; {name} has {list(one)} and {list(other)}"
        )
    return torch.stack(tuple(answers))
