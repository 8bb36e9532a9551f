"""Steps of optimizers as pure functions of JAX arrays, also inside of `jit`.

Arrays of JAX do not change: a step gives the new table and the new state. Under `jax.jit` with
`donate_argnums`, their memory is that of the old ones.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from ... import errors, raw_ops
from ...ops.combiners import combiner_named
from ...optim.entries import Entries, of_bags, of_rows
from ...optim.optimizer import Optimizer
from ...row_grad import RowGrad

State = dict[str, Any]


def counter() -> Any:
    return jnp.zeros((), jax.dtypes.canonicalize_dtype("int64"))


def full(table: Any, per_row: bool, value: float, dtype: str | None = None) -> Any:
    shape = table.shape[:1] if per_row else table.shape
    return jnp.full(shape, value, jax.dtypes.canonicalize_dtype(dtype) if dtype else table.dtype)


def run(optimizer: Optimizer, table: Any, state: State, entries: Entries) -> None:
    wanted = "an array that can change; for JAX, see gradbag.jax.row_step and bag_step"
    raise errors.wrong_type(type(optimizer).__name__, "table", [wanted], "an array of JAX")


def catch_up(optimizer: Optimizer, table: Any, state: State, rows: Any, step: Any) -> None:
    run(optimizer, table, state, Entries("RowDecay", {}, {}, rows))


def row_step(optimizer: Optimizer, table: Any, state: State, row_grad: Any) -> tuple[Any, State]:
    """The table and the state after a step with the rows of a gradient: a `RowGrad`, or a pair of indices and rows.

    What belongs to one row is added up first; rows that are not named stay as they are.

        >>> import jax, jax.numpy as jnp
        >>> import gradbag.jax
        >>> from gradbag import optim
        >>> step = jax.jit(gradbag.jax.row_step, static_argnums=0, donate_argnums=(1, 2))
        >>> adagrad, table = optim.RowAdagrad(lr=0.5), jnp.ones((1000, 2))
        >>> table, state = step(adagrad, table, adagrad.init(table), (jnp.array([7, 3, 7]), jnp.ones((3, 2))))
        >>> print(table[jnp.array([3, 4, 7])].tolist(), state["accumulator"][jnp.array([3, 4, 7])], state["step"])
        [[0.5, 0.5], [1.0, 1.0], [0.5, 0.5]] [1. 0. 4.] 1
    """
    table = jnp.asarray(table)
    return _moved(optimizer, table, state, of_rows(optimizer, _unpadded(row_grad)))


def bag_step(
    optimizer: Optimizer, table: Any, state: State, bags: Any, grad: Any, combiner: str = "mean"
) -> tuple[Any, State]:
    """The table and the state after a step with the gradient of combined bags; no gradient of rows is made.

    `bags` has `ids`, `offsets` and perhaps `weights`, or is a tuple of them.
    """
    name = combiner_named("bag_step", combiner).name
    return _moved(optimizer, jnp.asarray(table), state, of_bags(optimizer, bags, grad, name))


def _unpadded(row_grad: Any) -> Any:
    """Rows that only fill a gradient up are zeros: they may as well belong to the first row that it names."""
    if not isinstance(row_grad, RowGrad) or row_grad.count is None:
        return row_grad
    indices = jnp.where(jnp.arange(row_grad.indices.shape[0]) < row_grad.count, row_grad.indices, row_grad.indices[:1])
    return indices, row_grad.rows


def _moved(optimizer: Optimizer, table: Any, state: State, entries: Entries) -> tuple[Any, State]:
    kept, step, decayed = dict(optimizer.kept(state)), state["step"] + 1, {}
    if optimizer.is_lazy:
        rate = jnp.asarray(optimizer.decay_rate(step), table.dtype)
        decay: Any = raw_ops.RowDecay  # of JAX arrays, it gives their new values
        table, decayed["last"] = decay(
            table=table, last=kept.pop("last"), indices=jnp.asarray(entries.rows), step=step, rate=rate
        )
    numbers = {name: jnp.asarray(value, table.dtype) for name, value in optimizer.inputs(step).items()}
    inputs = {name: None if value is None else jnp.asarray(value) for name, value in entries.inputs.items()}
    changed: Any = getattr(raw_ops, entries.op)(table=table, **kept, **inputs, **numbers, **entries.attrs)
    new, *states = changed if kept else [changed]
    return new, {**state, **decayed, "step": step, **dict(zip(kept, states, strict=True))}
