"""The network behind the bags: a small DeepFM, written once for arrays of NumPy, PyTorch and JAX.

A row of each field goes in. A factorization machine multiplies every two of them, a network of two layers sees them all
side by side, and both add up to the logit of a good rating. Its function, x * sigmoid(x), has no edges: at an edge, a
difference of one rounding between two libraries would become one of a whole example.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from .data import FIELDS, Array

WIDTH = 16
LAYERS = (len(FIELDS) * WIDTH, 64, 32, 1)
DENSE = tuple(f"{kind}{layer}" for layer in range(1, len(LAYERS)) for kind in ("matrix", "bias"))


class Functions(NamedTuple):
    """What is called differently in each library."""

    silu: Callable[[Any], Any]
    softplus: Callable[[Any], Any]


def initial(rows: int, seed: int, dtype: str) -> dict[str, Array]:
    """The parameters before training: the table, and what is dense. The last row of the table belongs to no id."""
    rng = np.random.default_rng(seed)
    parameters = {"table": rng.normal(0, 0.05, (rows + 1, WIDTH))}
    for layer, (before, behind) in enumerate(pairwise(LAYERS), 1):
        parameters[f"matrix{layer}"] = rng.normal(0, np.sqrt(2 / before), (before, behind))
        parameters[f"bias{layer}"] = np.zeros(behind)
    return {name: value.astype(dtype) for name, value in parameters.items()}


def logits(functions: Functions, dense: Any, rows: Any) -> Any:
    """One logit for each example, from the looked-up rows of all its fields, one after another."""
    fields = rows.reshape(-1, len(FIELDS), WIDTH)
    together = fields.sum(1)
    pairs = (together * together - (fields * fields).sum(1)).sum(1) * 0.5
    hidden = rows.reshape(-1, LAYERS[0])
    for layer in range(1, len(LAYERS) - 1):
        hidden = functions.silu(hidden @ dense[f"matrix{layer}"] + dense[f"bias{layer}"])
    last = len(LAYERS) - 1
    return (hidden @ dense[f"matrix{last}"] + dense[f"bias{last}"]).reshape(-1) + pairs


def loss(functions: Functions, dense: Any, rows: Any, labels: Any) -> Any:
    """The mean cross entropy."""
    told = logits(functions, dense, rows)
    return (functions.softplus(told) - told * labels).mean()
