"""Inputs for the derived tests of the ops of arrays: ordinary ones, and the corners that shapes have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

Rng = np.random.Generator


def pairs(rng: Rng) -> Iterator[dict[str, Any]]:
    """Two operands whose shapes are stretched to each other."""
    for first, second in [
        ((3, 4), (3, 4)),
        ((3, 1), (1, 4)),
        ((), (2, 3)),
        ((2, 1, 3), (4, 1)),
        ((0, 2), (2,)),
        ((), ()),
    ]:
        yield {"x": rng.uniform(0.5, 2.0, first), "y": rng.uniform(0.5, 2.0, second)}
