"""Which rows have moved, and when last; it takes memory for those alone."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
MOST_PENDING = 1 << 20  # rows that are noted before they are sorted in


class Moves:
    """Rows by the number of the gradient that they had last.

    >>> from gradbag.sharding.moves import Moves
    >>> moves = Moves()
    >>> moves.note([7, 3, 7]), moves.note([3])
    (1, 2)
    >>> moves.since(0).tolist(), moves.since(1).tolist()
    ([3, 7], [3])
    """

    def __init__(self, count: int = 0) -> None:
        self.count = count
        self._rows, self._last = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self._pending: list[Array] = []
        self._first = count + 1  # of those that are pending

    def note(self, rows: Any) -> int:
        """These rows have had a gradient; gives its number."""
        self.count += 1
        self._pending.append(np.array(rows, np.int64))
        if sum(map(len, self._pending)) > MOST_PENDING:
            self._sort_in()
        return self.count

    def since(self, count: int) -> Array:
        """The rows that have had a gradient after so many, ascending."""
        self._sort_in()
        return self._rows[self._last > count]

    def _sort_in(self) -> None:
        numbers = np.arange(self._first, self.count + 1)
        rows = np.concatenate([self._rows, *self._pending])[::-1]
        last = np.concatenate([self._last, np.repeat(numbers, list(map(len, self._pending)))])[::-1]
        self._rows, first = np.unique(rows, return_index=True)
        self._last = last[first]
        self._pending, self._first = [], self.count + 1
