"""Steps of optimizers on TensorFlow's variables, eagerly and inside of `tf.function`.

TensorFlow alone writes to its variables. So the rows that a gradient names are taken out, moved, and put back: what a
step costs depends on them, not on the table.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from ... import errors, raw_ops
from ...optim.entries import Entries
from ...optim.optimizer import Optimizer
from ...spec import registry
from .calls import changed


def counter() -> Any:
    return tf.Variable(0, dtype=tf.int64, trainable=False, name="step")


def full(table: Any, per_row: bool, value: float, dtype: str | None = None) -> Any:
    shape = table.shape[:1] if per_row else table.shape
    return tf.Variable(tf.fill(shape, tf.constant(value, dtype or table.dtype)), trainable=False)


def run(optimizer: Optimizer, table: Any, state: dict[str, Any], entries: Entries) -> None:
    kept, step = dict(optimizer.kept(state)), state["step"] + 1
    if optimizer.is_lazy:
        catch_up(optimizer, table, state, entries.rows, step)
        del kept["last"]
    inputs = entries.inputs
    if "ids" in inputs:  # the gradient of the rows, which are few
        combiner = entries.attrs["combiner"]
        compact: Any = raw_ops.EmbeddingBagGrad(**inputs, num_rows=table.shape[0], combiner=combiner)
        inputs = {"indices": compact.sorted_unique_indices, "grad": compact.output}
    numbers = _numbers(table, optimizer.inputs(tf.cast(step, tf.float64)))
    indices = tf.convert_to_tensor(inputs["indices"])
    rest = {"grad": tf.convert_to_tensor(inputs["grad"]), **numbers}
    _move(optimizer.rule.row_op, {"table": table, **kept}, indices, rest, optimizer.attrs)
    state["step"].assign_add(1)


def catch_up(optimizer: Optimizer, table: Any, state: dict[str, Any], rows: Any, step: Any) -> None:
    rate = _numbers(table, {"rate": optimizer.decay_rate(tf.cast(step, tf.float64))})
    updated = {"table": table, "last": state["last"]}
    _move("RowDecay", updated, tf.convert_to_tensor(rows), {"step": tf.cast(step, tf.int64), **rate}, {})


def _numbers(table: Any, numbers: dict[str, Any]) -> dict[str, Any]:
    return {name: tf.cast(value, table.dtype) for name, value in numbers.items()}


def _move(op: str, variables: dict[str, Any], indices: Any, rest: dict[str, Any], attrs: dict[str, Any]) -> None:
    declared = registry[op]
    for name, variable in variables.items():
        if not hasattr(variable, "scatter_update"):
            raise errors.wrong_type(op, name, ["a variable"], type(variable).__name__)
    touched, places = tf.unique(indices)
    rows = {name: tf.gather(variable, touched) for name, variable in variables.items()}
    given = {**rows, "indices": places, **rest}
    values = [given.get(name) for name in declared.input_names]
    for variable, new in zip(variables.values(), changed(declared, values, attrs), strict=True):
        variable.scatter_update(tf.IndexedSlices(new, touched))
