"""Random calls of every op of the registry: the kernel must answer as the body does, and refuse in words."""

from __future__ import annotations

import json
import sys
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from gradbag.spec import Op, registry
from gradbag.testing.cases import Case, cases, layouts, type_choices

sys.path.insert(0, str(Path(__file__).parent.parent / "hostile"))
import fuzz as hostile

Array = np.ndarray[Any, Any]
MOST = 64  # elements of an axis that grows
SEEDS = 16  # of random samples, which are kept: to draw them takes longer than to call
KINDS = ("number", "float", "repeat", "cut", "grow", "shuffle", "layout", "axis", "zero", "dtype")


@cache
def ops() -> list[Op]:
    return sorted((op for op in registry if not op.state), key=lambda op: op.name)


def draw(random: np.random.Generator) -> dict[str, Any]:
    """A case in numbers: which op, which of its samples, and what is changed in it."""
    op = ops()[random.integers(len(ops()))]
    choices = choices_of(op)
    changes = [
        [int(random.integers(8)), str(random.choice(KINDS)), int(random.integers(1 << 31))]
        for _ in range(random.integers(0, 4))
    ]
    return {
        "op": op.name,
        "types": choices[random.integers(len(choices))],
        "seed": int(random.integers(SEEDS)),
        "sample": int(random.integers(64)),
        "changes": changes,
    }


@cache
def choices_of(op: Op) -> list[dict[str, str]]:
    return list(type_choices(op))


@lru_cache(1 << 14)
def samples(name: str, types: str, seed: int) -> list[Case]:
    return list(cases(registry[name], json.loads(types), seed))


def made(case: dict[str, Any]) -> Case:
    found = samples(case["op"], json.dumps(case["types"]), case["seed"])
    chosen = found[case["sample"] % len(found)].fresh()
    for place, kind, seed in case["changes"]:
        given = chosen.given
        if given:
            at, _, array = given[place % len(given)]
            chosen = chosen.replaced({at: changed(array, kind, np.random.default_rng(seed))})
    return chosen


def changed(array: Array, kind: str, random: np.random.Generator) -> Any:
    array = np.array(array)
    flat = array.reshape(-1)
    if kind == "number" and array.dtype.kind in "iu" and array.size:
        limits = np.iinfo(array.dtype)
        numbers = [n for n in hostile.NUMBERS if limits.min <= n <= limits.max]
        flat[random.integers(array.size)] = random.choice([*map(int, random.integers(-3, 9, 3)), *numbers])
    elif kind == "float" and array.dtype.kind in "fc" and array.size:
        with np.errstate(all="ignore"):
            flat[random.integers(array.size)] = hostile.FLOATS[random.integers(len(hostile.FLOATS))]
    elif kind == "repeat" and array.ndim and len(array):
        array = np.repeat(array, random.integers(1, 4), axis=0)[:MOST]
    elif kind == "cut" and array.ndim:
        array = array[: random.integers(len(array) + 1)]
    elif kind == "grow" and array.ndim and array.size:
        array = np.resize(array, (int(random.integers(1, MOST)), *array.shape[1:]))
    elif kind == "shuffle" and array.ndim:
        array = random.permutation(array)
    elif kind == "layout":
        found = list(layouts(array))
        array = found[random.integers(len(found))][1]
    elif kind == "axis":
        array = array[None] if random.integers(2) else array.reshape(-1)
    elif kind == "zero":
        array = np.zeros(hostile.SHAPES[random.integers(len(hostile.SHAPES))], array.dtype)
    elif kind == "dtype":
        array = hostile.as_dtype(array, np.dtype(hostile.DTYPES[random.integers(len(hostile.DTYPES))]))
    return array


def judge(case: dict[str, Any]) -> str | None:
    return hostile.judge(made(case))


def covered(case: dict[str, Any]) -> str:
    return str(case["op"])


def simpler(case: dict[str, Any]) -> list[dict[str, Any]]:
    """The same case with one change less."""
    changes = case["changes"]
    return [{**case, "changes": changes[:k] + changes[k + 1 :]} for k in range(len(changes))]


TO_COVER = len(ops())
