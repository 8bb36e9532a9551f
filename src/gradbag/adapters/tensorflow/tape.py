"""How a call becomes known to whoever differentiates: the tapes, forward mode, and a graph that holds its node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from ... import dtypes, errors
from ...gradients import pull
from ...spec import Op
from . import compat
from .gradients import dense, tensor_ops

Backward = Callable[..., list[Any]]


def places_of(op: Op, values: Sequence[Any]) -> list[int]:
    """The places of the tensors that can carry a gradient."""
    places = []
    for place, (arg, value) in enumerate(zip(op.flat_inputs(len(values)), values, strict=True)):
        if isinstance(value, tf.Tensor) and value.dtype.name in dtypes.DIFFERENTIABLE and arg.name in op.differentiable:
            places.append(place)
    return places


def tell(op: Op, outputs: Sequence[Any], sources: Sequence[Any], backward: Backward) -> None:
    """Make a call known to the tapes; and then to forward mode, whose tangents have derivatives through the outputs.

    It transposes the function, and cannot do so with slices.
    """
    compat.record.record_operation_backprop_only(op.name, outputs, sources, backward)
    compat.record.record_operation_forwardprop_only(op.name, outputs, sources, _without_slices(backward, sources), None)


def with_custom_gradient(
    op: Op, values: Sequence[Any], attrs: dict[str, Any], run: Callable[..., list[Any]]
) -> list[Any]:
    places = places_of(op, values)
    if not places:
        return run(op, values, attrs)
    outputs: list[Any] = []  # those that the tape knows; a rule may differentiate through them

    @tf.custom_gradient  # type: ignore[untyped-decorator]
    def call(*sources: Any) -> tuple[list[Any], Backward]:
        given = list(values)
        for place, source in zip(places, sources, strict=True):
            given[place] = source
        return run(op, given, attrs), pulling(op, given, attrs, outputs, places)

    sources = [values[place] for place in places]
    if compat.record is None:
        outputs += call(*sources)
        return outputs
    # Who differentiates the whole function finds the gradient at the node. Inside of it, forward mode would go through
    # the node and find zeros, so it is told, and the tape with it.
    with compat.record.stop_recording():
        outputs += call(*sources)
    tell(op, outputs, sources, pulling(op, values, attrs, outputs, places))
    return outputs


def without_gradient(op: Op, values: Sequence[Any], outputs: Sequence[Any]) -> list[Any]:
    """The outputs of an op that updates: whoever asks for a derivative hears that there is none."""
    sources = [v for v in values if isinstance(v, tf.Tensor) and v.dtype.name in dtypes.DIFFERENTIABLE]
    if not sources or not outputs:
        return list(outputs)

    @tf.custom_gradient  # type: ignore[untyped-decorator]
    def call(*_: Any) -> tuple[list[Any], Backward]:
        return list(map(tf.identity, outputs)), refuse

    def refuse(*_: Any) -> list[Any]:
        raise errors.UnsupportedTypeError(f"{op.name} has no gradient")

    return list(call(*sources))


def pulling(
    op: Op, values: Sequence[Any], attrs: dict[str, Any], outputs: Sequence[Any], places: Sequence[int]
) -> Backward:
    """The function from cotangents of the outputs to those of the inputs at `places`."""

    def backward(*cotangents: Any) -> list[Any]:
        whole = [None if c is None else _turned(op, dense(c, y)) for c, y in zip(cotangents, outputs, strict=True)]
        pulled = pull(tensor_ops, op, values, outputs, whole, attrs)
        return [_turned(op, pulled[place]) for place in places]

    return backward


def _without_slices(backward: Backward, sources: Sequence[Any]) -> Backward:
    return lambda *cotangents: [dense(c, x) for c, x in zip(backward(*cotangents), sources, strict=True)]


def _turned(op: Op, cotangent: Any) -> Any:
    """A complex cotangent between TensorFlow's convention and ours; real linear ops commute with conjugation."""
    if op.is_linear or not cotangent.dtype.is_complex:
        return cotangent
    return tf.math.conj(tf.convert_to_tensor(cotangent))
