"""What embedding tables shall reach beside their peers, and whether they do."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Goal:
    """Of the ratios of one job to one peer, over all workloads."""

    mean: float = 0.0
    least: float = 0.0


GOALS = {
    ("safe look-up", "tf.function"): Goal(mean=12, least=6),
    ("layer, mean", "torch.nn"): Goal(mean=1.3, least=1),
    ("layer, sum", "torch.nn"): Goal(mean=1.3, least=1),
    ("forward and compact gradient", "tf.function"): Goal(mean=8),
    ("forward and compact gradient", "torch, coalesced"): Goal(mean=10),
    ("step, Adagrad", "torch sparse"): Goal(mean=10),
    ("step, lazy Adam", "torch sparse"): Goal(mean=10),
    ("step, row-wise Adagrad", "FBGEMM"): Goal(mean=1.4, least=1.1),
    ("step, Adagrad", "FBGEMM"): Goal(mean=3),
    ("step, row-wise Adagrad", "limit"): Goal(least=1 / 1.4),
    ("step, Adagrad", "limit"): Goal(least=1 / 1.4),
    ("peak of a step", "output and 24 bytes an id"): Goal(least=1),
}


def told(rows: list[dict[str, Any]]) -> Iterator[str]:
    """A line for each job and peer."""
    for job, peer, threads in dict.fromkeys((row["job"], row["peer"], row["threads"]) for row in rows):
        found = [row["ratio"] for row in rows if (row["job"], row["peer"], row["threads"]) == (job, peer, threads)]
        mean = math.exp(sum(map(math.log, found)) / len(found))
        goal = GOALS.get((job, peer), Goal())
        wanted = [f"{bound:.2f}x {name}" for name, bound in (("mean", goal.mean), ("least", goal.least)) if bound]
        met = "" if not wanted else ", met" if mean >= goal.mean and min(found) >= goal.least else ", not met"
        yield f"{job:32}{peer:26}{threads} thread{'s' if threads > 1 else ' '}{mean:7.2f}x ({min(found):.2f}x)" + (
            f"   goal {', '.join(wanted)}{met}" if wanted else ""
        )
