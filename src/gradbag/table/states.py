"""What an optimizer keeps of each row."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..optim import Optimizer


class Kept(NamedTuple):
    """An array of a state: numbers like those of the rows, or one a row."""

    name: str
    dtype: np.dtype[Any]
    per_row: bool
    initial: float

    def shape(self, rows: int, columns: int) -> tuple[int, ...]:
        return (rows,) if self.per_row else (rows, columns)


def kept_by(optimizer: Optimizer | None, dtype: np.dtype[Any]) -> list[Kept]:
    """The arrays that `optimizer.init` makes for a table of this dtype."""
    if optimizer is None:
        return []
    states = [Kept(s.name, dtype, s.per_row, optimizer.initial(s.name)) for s in optimizer.rule.states]
    return [*states, Kept("last", np.dtype(np.int64), True, 0)] if optimizer.is_lazy else states
