"""How the rows of a bag become one row: a row of this table for each way, and a case in `csrc/kernels/combiner.hpp`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import errors
from ..dtypes import COMPLEX, FLOAT, NUMBER

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Combiner:
    """A way to combine: the sum of the rows, divided by the count of a bag to some power."""

    name: str  # in settings
    title: str  # in the names of TensorFlow's ops
    power: float
    types: tuple[str, ...]  # which tables it can combine
    formula: str  # what a sum over n entries is followed by
    pools: str  # what it does, in words; {rows} stands for which rows
    shares: str  # what its gradient does
    of_three: float  # what the sum of three rows is divided by, for examples
    aliases: tuple[str, ...] = ()

    def divisor(self, counts: Array) -> Array:
        """What the sum of so many rows is divided by, in double."""
        wide = counts.astype(np.float64)
        return np.sqrt(wide) if self.power == 0.5 else wide**self.power  # mutant: root

    def weighed(self, weights: Array) -> Array:
        """What is added up of the weights of a bag, for the divisor of a weighted sum."""
        return weights * weights if self.power == 0.5 else weights

    def rooted(self, total: Array) -> Array:
        """That divisor, of what was added up."""
        return np.sqrt(total) if self.power == 0.5 else total


COMBINERS = {
    row.name: row
    for row in (
        Combiner(
            "sum",
            "Sum",
            0.0,
            NUMBER,
            "",
            "Add {rows}.",
            "give every entry's row the gradient of its segment",
            1.0,
        ),
        Combiner(
            "mean",
            "Mean",
            1.0,
            FLOAT + COMPLEX,
            " / n",
            "Average {rows}.",
            "share each segment's gradient equally among its entries' rows",
            3.0,
        ),
        Combiner(
            "sqrtn",
            "SqrtN",
            0.5,
            FLOAT + COMPLEX,
            " / sqrt(n)",
            "Add {rows} and divide by the square root of their number.",
            "each entry's row gets its segment's gradient over the root of its size",
            3**0.5,
            ("sqrt_n",),
        ),
    )
}
_BY_ANY_NAME = {name: row for row in COMBINERS.values() for name in (row.name, *row.aliases)}


def combiner_named(function: str, name: object) -> Combiner:
    """The combiner of a setting, by its name or another that is in use for it."""
    row = _BY_ANY_NAME.get(name) if isinstance(name, str) else None
    if row is None:
        raise errors.unfit(function, "combiner", "one of " + ", ".join(map(repr, COMBINERS)), repr(name))
    return row
