"""What is tried on 1, 2, 3 and 4 ranks, and the batches of each; the same in all processes."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np

from gradbag import Bags

ROWS, COLUMNS, BAGS, STEPS, SIZES = 60, 4, 12, 20, (1, 2, 3, 4)


class Case(NamedTuple):
    combiner: str
    weighted: bool
    strategy: str
    dtype: str
    fused: bool
    skips: bool = False  # rank 1 has no bags at all


def cases():
    for combiner, weighted, strategy in product(("sum", "mean", "sqrtn"), (False, True), ("div", "mod", "hash")):
        number = ("sum", "mean", "sqrtn").index(combiner) + ("div", "mod", "hash").index(strategy)
        yield Case(combiner, weighted, strategy, "float32", bool(number % 2), skips=number % 3 == 0)
    for number, dtype in enumerate(("float32", "float64", "bfloat16", "float16")):
        for fused in (False, True):
            combiner, weighted = (("mean", False), ("sqrtn", True))[(number + fused) % 2]
            yield Case(combiner, weighted, "mod", dtype, fused)


def batch(case: Case, step: int):
    """The bags of all ranks, and the gradient of what is looked up."""
    rng = np.random.default_rng([step, case.weighted])
    lengths = rng.integers(0, 9, BAGS)
    ids = rng.zipf(1.3, lengths.sum()) % ROWS
    weights = rng.uniform(0.1, 2, len(ids)).astype(np.float32) if case.weighted else None
    return Bags.from_lengths(ids, lengths, weights), rng.standard_normal((BAGS, COLUMNS)).astype(np.float32)


def cut(case: Case, size: int, rank: int) -> slice:
    """The bags of a rank."""
    workers = [each for each in range(size) if not (case.skips and each == 1)]
    if rank not in workers:
        at = BAGS * workers.index(rank - 1) // len(workers) + BAGS // len(workers)
        return slice(at, at)
    place = workers.index(rank)
    return slice(BAGS * place // len(workers), BAGS * (place + 1) // len(workers))
