"""Gradients of TensorFlow's own sparse ops that it lacks, answers with None, or has with a mistake.

`tf.sparse.concat` says that there is no gradient, without a word; `tf.sparse.maximum` has one that takes too few
arguments (tensorflow#61132). The rules of our ops do for theirs. Whatever a later TensorFlow brings along stays.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from ... import raw_ops
from ...spec import registry, snake_case
from . import compat, nodes, tape

OPS = (
    "SparseConcat",
    "SparseSplit",
    "SparseReduceMax",
    "SparseReduceMaxSparse",
    "SparseReduceSumSparse",
    "SparseSparseMaximum",
    "SparseSparseMinimum",
    "SparseAddGrad",
    "SparseDenseCwiseAdd",
    "DenseBincount",
    "SparseBincount",
)


# Tapes keep neither inputs nor outputs of these, for TensorFlow's own gradient looks at none: so eager calls of them
# are ours, and in a function each has its gradient with it.
FORGOTTEN = ("SparseSparseMaximum", "SparseSparseMinimum", "SparseAddGrad", "SparseDenseCwiseAdd")


def register() -> None:
    """Register what is missing, and put ours in place of what cannot work."""
    replaced = set()
    for name in OPS:
        rule = nodes.gradient_of(registry[name])
        try:
            tf.RegisterGradient(name)(rule)
        except KeyError:
            if compat.replace_gradient(name, rule, _is_broken):
                replaced.add(name)
    for name in replaced.intersection(FORGOTTEN):
        compat.wrap_generated(snake_case(name), functools.partial(_eager, name))


def _eager(name: str, theirs: Callable[..., Any]) -> Callable[..., Any]:
    op, signature = registry[name], inspect.signature(theirs)

    @functools.wraps(theirs)
    def call(*args: Any, **given: Any) -> Any:
        named = signature.bind(*args, **given).arguments
        inputs = {key: value for key, value in named.items() if key != "name"}
        if not all(isinstance(v, tf.Tensor) for v in inputs.values()):
            return theirs(*args, **given)
        if tf.executing_eagerly():
            return getattr(raw_ops, name)(**inputs)
        if tf.inside_function():
            return op.answer(tape.with_custom_gradient(op, [inputs[key] for key in op.input_names], {}, run))
        return theirs(*args, **given)  # a graph of TensorFlow 1 has no tape, and its node keeps all

    def run(_: Any, values: Any, attrs: Any) -> list[Any]:
        return op.flat_answer(theirs(**dict(zip(op.input_names, values, strict=True))))

    return call


def _is_broken(there: Callable[..., Any] | None, outputs: int) -> bool:
    """Whether what is registered says that there is no derivative, refuses to give one, or cannot be called."""
    if there is None:
        return True
    kinds = [p.kind for p in inspect.signature(there).parameters.values()]
    if inspect.Parameter.VAR_POSITIONAL in kinds:
        return False
    return len(kinds) != 1 + outputs or "NotImplementedError" in there.__code__.co_names
