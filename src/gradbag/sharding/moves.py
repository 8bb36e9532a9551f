"""Which rows have moved, and when last."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import raw_ops

Array = np.ndarray[Any, Any]
MOST_PENDING = 1 << 20  # rows that are noted before they are sorted in


class Moves:
    """Rows by the number of the gradient that they had last.

    It takes memory for those alone, and sorts them. With `size`, the number of rows that there are, it has a number for
    each instead, which is faster.

    >>> from gradbag.sharding.moves import Moves
    >>> moves = Moves()
    >>> moves.note([7, 3, 7]), moves.note([3])
    (1, 2)
    >>> moves.since(0).tolist(), moves.since(1).tolist()
    ([3, 7], [3])
    """

    def __init__(self, count: int = 0, size: int = 0) -> None:
        self.count, self.size = count, size
        self._of_each = np.zeros(size, np.int64)
        self._rows, self._last = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self._pending: list[Array] = []
        self._first = count + 1  # of those that are pending

    def note(self, rows: Any) -> int:
        """These rows have had a gradient; gives its number."""
        self.count += 1
        if self.size:
            self._of_each[rows] = self.count
            return self.count
        self._pending.append(np.array(rows, np.int64))
        if sum(map(len, self._pending)) > MOST_PENDING:
            self._sort_in()
        return self.count

    def since(self, count: int) -> Array:
        """The rows that have had a gradient after so many, ascending."""
        if self.size:
            return np.flatnonzero(self._of_each > count)
        self._sort_in()
        return self._rows[self._last > count]

    def again(self, count: int) -> Moves:
        """One for the same rows, of which so many gradients are known and none is noted."""
        return Moves(count, self.size)

    def _sort_in(self) -> None:
        numbers = np.arange(self._first, self.count + 1)
        found = raw_ops.SortedUnique(ids=np.concatenate([self._rows, *self._pending]))
        last = np.concatenate([self._last, np.repeat(numbers, list(map(len, self._pending)))])
        self._rows, self._last = found.output, np.empty(len(found.output), np.int64)
        self._last[found.inverse] = last  # ascending, and of several numbers of a row the last one stays
        self._pending, self._first = [], self.count + 1
