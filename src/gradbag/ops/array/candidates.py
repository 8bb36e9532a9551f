"""Classes that are drawn to stand for all others in a loss."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ... import philox
from ...errors import Fault
from ...spec import REQUIRED, Arg, Attr, Example, Known, Reject, op
from .array_samples import Rng
from .random import SEEDS

_WORDS = 2048  # that TensorFlow keeps for each candidate


def _samples(rng: Rng) -> Iterator[dict[str, Any]]:
    for rows, sampled, unique in [(2, 5, True), (3, 4, False), (0, 2, True)]:
        yield {
            "true_classes": rng.integers(0, 40, (rows, 1)),
            "num_true": 1,
            "num_sampled": sampled,
            "unique": unique,
            "range_max": 40,
            "seed": 5,
            "seed2": 9,
        }


# ------------------------------------------------------------------ LogUniformCandidateSampler
@op(
    "LogUniformCandidateSampler",
    inputs=[Arg("true_classes", "int64", "batch num_true", "The classes that are true.")],
    outputs=[
        Arg("sampled_candidates", "int64", "num_sampled", "The classes that were drawn."),
        Arg("true_expected_count", "float32", "batch num_true", "How often each true class is drawn on average."),
        Arg("sampled_expected_count", "float32", "num_sampled", "How often each drawn class is drawn on average."),
    ],
    attrs=[
        Attr("num_true", REQUIRED, "How many classes of each row are true.", "int"),
        Attr("num_sampled", REQUIRED, "How many classes to draw.", "int"),
        Attr("unique", REQUIRED, "Whether no class may be drawn twice."),
        Attr("range_max", REQUIRED, "How many classes there are.", "int"),
        *SEEDS,
    ],
    types={},
    state="random",
    example=Example(
        {
            "true_classes": [[3]],
            "num_true": 1,
            "num_sampled": 2,
            "unique": False,
            "range_max": 10,
            "seed": 5,
            "seed2": 9,
        },
        {
            "sampled_candidates": [7, 1],
            "true_expected_count": [[0.18611617]],
            "sampled_expected_count": [0.09823868, 0.33818418],
        },
    ),
    samples=_samples,
    rejects=[Reject({"unique": True, "num_sampled": 11}, r"num_sampled == 11 must not be above range_max, 10")],
)
def log_uniform_candidate_sampler(
    true_classes: Any, num_true: int, num_sampled: int, unique: bool, range_max: int, seed: int, seed2: int
) -> Any:
    """Classes drawn so that small numbers are likelier: class k with log((k + 2) / (k + 1)) / log(range_max + 1)."""
    span = np.log1p(np.float64(range_max))
    begin = philox.reserved(-(-_WORDS * num_sampled // 4))
    found, tries = _drawn(
        lambda unit: int(np.exp(unit * span)) - 1, philox.seeded(seed, seed2), begin, num_sampled, unique, range_max
    )

    def expected(classes: Any) -> Any:
        wide = classes.astype(np.float64)
        likely = (np.log((wide + 2) / (wide + 1)) / span).astype(np.float32)
        if tries == num_sampled:
            return likely * np.float32(num_sampled)
        return (-np.expm1(tries * np.log1p(-likely))).astype(np.float32)

    return found, expected(true_classes), expected(found)


def _drawn(
    draw: Callable[[np.float64], int], seeds: tuple[int, int], begin: int, count: int, unique: bool, most: int
) -> tuple[Any, int]:
    """The classes, and how many were drawn to find them."""
    found: list[int] = []
    used: set[int] = set()
    tries = 0
    while len(found) < count:
        for unit in philox.unit_doubles(philox.words(*seeds, begin, 256)):
            tries += 1
            value = draw(unit) % most
            if not unique or value not in used:
                used.add(value)
                found.append(value)
            if len(found) == count:
                break
        begin += 64
    return np.array(found, np.int64), tries


@log_uniform_candidate_sampler.shapes
def _(true_classes: Known, num_true: int, num_sampled: int, unique: bool, range_max: int, seed: int, seed2: int) -> Any:
    for name, value in (("num_true", num_true), ("num_sampled", num_sampled), ("range_max", range_max)):
        if value < 1:
            raise Fault("rule", name, (), value, hint="must be at least 1")
    if unique and num_sampled > range_max:
        raise Fault("rule", "num_sampled", (), num_sampled, hint=f"must not be above range_max, {range_max}")
    batch = None if true_classes.shape is None else true_classes.shape[0]
    if true_classes.shape is not None and true_classes.shape[1] not in (None, num_true):
        raise Fault("shape", "true_classes", (), true_classes.shape, hint=f"must have num_true columns, {num_true}")
    return [(num_sampled,), (batch, num_true), (num_sampled,)]


# ------------------------------------------------------------------ ComputeAccidentalHits
def _hits(rng: Rng) -> Iterator[dict[str, Any]]:
    for rows, true, sampled in [(3, 1, 4), (2, 3, 5), (0, 1, 2)]:
        yield {
            "true_classes": rng.integers(0, 6, (rows, true)),
            "sampled_candidates": rng.permutation(6)[:sampled],
            "num_true": true,
        }


@op(
    "ComputeAccidentalHits",
    inputs=[
        Arg("true_classes", "int64", "batch num_true", "The classes that are true."),
        Arg("sampled_candidates", "int64", "sampled", "The classes that were drawn."),
    ],
    outputs=[
        Arg("indices", "int32", "hits", "The row of each hit."),
        Arg("ids", "int64", "hits", "Which of those that were drawn it is."),
        Arg("weights", "float32", "hits", "The lowest float32, for each."),
    ],
    attrs=[
        Attr("num_true", REQUIRED, "How many classes of each row are true.", "int"),
        Attr("seed", 0, "Without effect, for TensorFlow's sake.", "int"),
        Attr("seed2", 0, "Without effect, for TensorFlow's sake.", "int"),
    ],
    types={},
    example=Example(
        {"true_classes": [[3], [5]], "sampled_candidates": [5, 1, 3], "num_true": 1},
        {"indices": [0, 1], "ids": [2, 0], "weights": [-3.4028235e38, -3.4028235e38]},
    ),
    samples=_hits,
    rejects=[Reject({"num_true": 2}, r"true_classes has shape \[2, 1\], which must have num_true columns, 2")],
)
def compute_accidental_hits(true_classes: Any, sampled_candidates: Any, num_true: int, seed: int, seed2: int) -> Any:
    """Where a class that was drawn is true: added to its logit, the weight takes it out of the loss."""
    last = {int(value): place for place, value in enumerate(sampled_candidates)}  # of those drawn twice, the last
    found = [(row, last[int(c)]) for row, classes in enumerate(true_classes) for c in classes if int(c) in last]
    rows, ids = (np.array([pair[k] for pair in found], np.int64) for k in (0, 1))
    return rows.astype(np.int32), ids, np.full(len(found), np.finfo(np.float32).min, np.float32)


@compute_accidental_hits.shapes
def _(true_classes: Known, sampled_candidates: Known, num_true: int, seed: int, seed2: int) -> Any:
    if true_classes.shape is not None and true_classes.shape[1] not in (None, num_true):
        raise Fault("shape", "true_classes", (), true_classes.shape, hint=f"must have num_true columns, {num_true}")
    return [(None,), (None,), (None,)]
