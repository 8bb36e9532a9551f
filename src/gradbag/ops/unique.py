"""Which numbers occur."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..dtypes import INDEX
from ..spec import Arg, AtLeast, Example, Kernel, Reject, op
from .samples import Inputs, Rng


def repeated_ids(rng: Rng) -> Iterator[Inputs]:
    yield {"ids": np.zeros(0, np.int64)}
    yield {"ids": np.array([5])}
    yield {"ids": np.array([-1, 3, -1, 2**31 - 1, -(2**31), 3])}  # the ends of 32 bits
    yield {"ids": np.repeat([2, 4, 9], 1700)}  # in order, and groups that go on from one part to the next
    yield {"ids": rng.integers(0, 50, 5000)}  # each often
    yield {"ids": rng.integers(-(2**31), 2**31, 5000)}  # each once
    yield {"ids": rng.zipf(1.3, 5000) % 900}


# ------------------------------------------------------------------ SortedUnique
@op(
    "SortedUnique",
    inputs=[Arg("ids", "Tidx", "n", "Numbers in any order.")],
    outputs=[
        Arg("output", "Tidx", "unique", "Each number that occurs, ascending."),
        Arg("inverse", "int64", "n", "For each entry, where its number stands in the output."),
        Arg("counts", "int64", "unique", "How many entries have each number."),
    ],
    types={"Tidx": INDEX},
    kernel=Kernel("sorted_unique", scratch=("n", "n", "n", "n", "n")),
    example=Example({"ids": [7, 3, 7, -2]}, {"output": [-2, 3, 7], "inverse": [2, 1, 2, 0], "counts": [1, 1, 2]}),
    samples=repeated_ids,
    rejects=[Reject({"ids": [[1]]}, r"ids must have shape \[n\]; got \[1, 1\]")],
)
def sorted_unique(ids: Any) -> Any:
    """Find the numbers that occur, in ascending order, which of them each entry is, and how often each occurs.

    output[inverse[i]] = ids[i]
    """
    found, inverse, counts = np.unique(ids, return_inverse=True, return_counts=True)
    return found, inverse.astype(np.int64), counts.astype(np.int64)


@sorted_unique.sizes
def _(ids: Any) -> Any:
    return {"unique": AtLeast(min(len(ids), 1))}
