"""The recommender in each framework: the table is gradbag's business everywhere, the network that of the framework.

Every model begins with the same parameters, makes a step with `step(bags, labels)`, and gives and takes all that it
knows as arrays of NumPy.
"""

from __future__ import annotations

import importlib
from typing import Protocol

from gradbag import Bags
from gradbag.optim import Optimizer

from .data import Array

FRAMEWORKS = ("numpy", "torch", "jax")


class Model(Protocol):
    def step(self, bags: Bags, labels: Array) -> float:
        """Learn from a batch; gives its loss before that."""

    def logits(self, bags: Bags) -> Array: ...

    def arrays(self) -> dict[str, Array]:
        """Parameters by name, and what the optimizer keeps of each as `name.state`."""

    def load(self, arrays: dict[str, Array]) -> None: ...


def make(framework: str, parameters: dict[str, Array], optimizer: Optimizer, longest: int) -> Model:
    """`longest` is how many ids an example may have."""
    model: Model = importlib.import_module(f"{__package__}.with_{framework}").Model(parameters, optimizer, longest)
    return model
