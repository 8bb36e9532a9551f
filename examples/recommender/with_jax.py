"""JAX: one compiled function for a step, which gives away its arguments, so that parameters stay where they are."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import gradbag.jax
from gradbag import Bags
from gradbag.optim import Optimizer

from . import network
from .data import FIELDS, Array

FUNCTIONS = network.Functions(jax.nn.silu, jax.nn.softplus)


class Model:
    def __init__(self, parameters: dict[str, Array], optimizer: Optimizer, longest: int) -> None:
        if parameters["table"].dtype == np.float64:
            jax.config.update("jax_enable_x64", True)
        self.parameters = {name: jnp.array(value) for name, value in parameters.items()}
        self.states = {name: optimizer.init(value) for name, value in self.parameters.items()}
        self.optimizer, self.longest = optimizer, longest

    def filled(self, bags: Bags) -> tuple[Array, Array]:
        """Ids and offsets, always equally many for equally many examples, so that nothing is compiled twice.

        What fills up is a bag of its own behind the others, of the row that belongs to no id.
        """
        room = len(bags) // len(FIELDS) * self.longest
        ids = np.full(room, len(self.parameters["table"]) - 1)
        ids[: bags.count] = bags.ids
        return ids, np.append(bags.offsets, bags.count)

    def step(self, bags: Bags, labels: Array) -> float:
        self.parameters, self.states, loss = _step(
            self.optimizer, self.parameters, self.states, *self.filled(bags), labels
        )
        return float(loss)

    def logits(self, bags: Bags) -> Array:
        return np.asarray(_logits(self.parameters, *self.filled(bags)))

    def arrays(self) -> dict[str, Array]:
        kept = {f"{name}.{key}": v for name, state in self.states.items() for key, v in state.items()}
        return {name: np.array(value) for name, value in {**self.parameters, **kept}.items()}

    def load(self, arrays: dict[str, Array]) -> None:
        self.parameters = {name: jnp.array(arrays[name]) for name in self.parameters}
        self.states = {
            name: {key: jnp.array(arrays[f"{name}.{key}"]) for key in state} for name, state in self.states.items()
        }


def _rows(table: Any, ids: Any, offsets: Any) -> Any:
    return gradbag.jax.embedding_bag(table, ids, offsets=offsets)[:-1]


@jax.jit
def _logits(parameters: Any, ids: Any, offsets: Any) -> Any:
    return network.logits(FUNCTIONS, parameters, _rows(parameters["table"], ids, offsets))


@partial(jax.jit, static_argnums=0, donate_argnums=(1, 2))
def _step(optimizer: Optimizer, parameters: Any, states: Any, ids: Any, offsets: Any, labels: Any) -> Any:
    dense = {name: parameters[name] for name in network.DENSE}
    loss, (of_dense, of_rows) = jax.value_and_grad(
        lambda dense, rows: network.loss(FUNCTIONS, dense, rows, labels), (0, 1)
    )(dense, _rows(parameters["table"], ids, offsets))
    moved = {
        name: gradbag.jax.row_step(optimizer, dense[name], states[name], (jnp.arange(len(gradient)), gradient))
        for name, gradient in of_dense.items()
    }
    grad = jnp.pad(of_rows, ((0, 1), (0, 0)))  # the bag that fills up
    moved["table"] = gradbag.jax.bag_step(optimizer, parameters["table"], states["table"], (ids, offsets), grad)
    return {name: new[0] for name, new in moved.items()}, {name: new[1] for name, new in moved.items()}, loss
