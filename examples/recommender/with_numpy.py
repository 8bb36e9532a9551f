"""NumPy alone: gradbag looks up, differentiates and makes the steps."""

from __future__ import annotations

from typing import Any

import numpy as np

import gradbag
from gradbag import Bags, raw_ops
from gradbag.optim import Optimizer

from . import network
from .data import Array

FUNCTIONS = network.Functions(
    silu=lambda values: values * raw_ops.Sigmoid(x=values), softplus=lambda values: raw_ops.Softplus(features=values)
)


class Model:
    def __init__(self, parameters: dict[str, Array], optimizer: Optimizer, longest: int) -> None:
        self.parameters = {name: value.copy() for name, value in parameters.items()}
        self.states = {name: optimizer.init(value) for name, value in parameters.items()}
        self.optimizer = optimizer

    def rows(self, bags: Bags) -> Any:
        return raw_ops.EmbeddingBag(table=self.parameters["table"], ids=bags.ids, offsets=bags.offsets, combiner="mean")

    def step(self, bags: Bags, labels: Array) -> float:
        def loss(rows: Any, *dense: Any) -> Any:
            return network.loss(FUNCTIONS, dict(zip(network.DENSE, dense, strict=True)), rows, labels)

        values = [self.rows(bags), *(self.parameters[name] for name in network.DENSE)]
        value, (of_rows, *of_dense) = gradbag.value_and_grad(loss, tuple(range(len(values))))(*values)
        self.optimizer.step(self.parameters["table"], self.states["table"], bags, of_rows)
        for name, gradient in zip(network.DENSE, of_dense, strict=True):
            every = np.arange(len(gradient))
            self.optimizer.apply(self.parameters[name], self.states[name], (every, gradient))
        return float(value)

    def logits(self, bags: Bags) -> Array:
        answer: Array = network.logits(FUNCTIONS, self.parameters, self.rows(bags))
        return answer

    def arrays(self) -> dict[str, Array]:
        kept = {f"{name}.{key}": np.array(v) for name, state in self.states.items() for key, v in state.items()}
        return {**{name: value.copy() for name, value in self.parameters.items()}, **kept}

    def load(self, arrays: dict[str, Array]) -> None:
        for name, value in self.parameters.items():
            value[:] = arrays[name]
            state = self.states[name]
            state.update({key: arrays[f"{name}.{key}"].copy() for key in state})
            state["step"] = int(state["step"])
