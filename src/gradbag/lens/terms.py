"""Why a number is this number: the sum that it is, each term a coefficient times an entry of what the node reads.

The coefficients are the rule of gradients, asked with a one at the entry. Where an op is a sum of its inputs with these
coefficients, the terms add up to the number; where it is none (a root, a sigmoid), they are slopes, and it says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..autodiff import RowGrad
from ..autodiff.op_step import OpStep
from ..graph.graph import Node, Output
from .declared import PROBLEMS
from .masks import Array

MOST_TERMS = 500
MOST_PASSED = 40  # nodes that only hand a number on


def terms_of(
    values: Mapping[str, Sequence[Array]], parts: Mapping[str, str], output: Output, index: Sequence[int]
) -> dict[str, Any] | None:
    """The sum at an entry, in words of the page; None where there is nothing to tell: a constant, or no rule.

    `parts` names, for each node that a gradient was written out as, the gradient.
    """
    place = tuple(index)
    value = _entry(values, output, place)
    if value is None:
        return None
    for _ in range(MOST_PASSED):
        found = _one(values, output, place, value)
        if found is None:
            return None
        terms, is_sum = found
        passes = is_sum and len(terms) == 1 and terms[0][2] == 1
        source: Output = terms[0][0] if terms else output
        # What only hands the number on tells nothing, so one looks at what it reads.
        if not passes or not (source.node.inputs and source.node.name in values):
            break
        output, place = source, terms[0][1]
    terms = sorted(terms, key=lambda term: -abs(term[2] * term[3]))
    told = [
        {
            "source": _called(source, parts),
            "index": list(at),
            "coefficient": _number(coefficient),
            "value": _number(entry),
            "product": _number(coefficient * entry),
        }
        for source, at, coefficient, entry in terms[:MOST_TERMS]
    ]
    return {"value": _number(value), "op": output.node.op.name, "is_sum": is_sum, "terms": told, "count": len(terms)}


Term = tuple[Output, tuple[int, ...], float, float]


def _one(
    values: Mapping[str, Sequence[Array]], output: Output, place: tuple[int, ...], value: float
) -> tuple[list[Term], bool] | None:
    """The terms of one node; whether they add up to the number."""
    node = output.node
    inputs = [_value(values, source) for source in node.inputs]
    outputs = [_value(values, one) for one in node.outputs]
    if node.op.rule is None or any(v is None for v in (*inputs, *outputs)):
        return None
    pulled = _pulled(node, inputs, outputs, output.index, place)
    if pulled is None:
        return None
    by_input: dict[str, list[Term]] = {}
    for port, source, entries, weights in zip(node.ports, node.inputs, inputs, pulled, strict=True):
        if weights is None or entries is None:
            continue
        lit = np.argwhere(weights != 0)
        by_input[port] = [
            (source, tuple(int(i) for i in at), float(weights[tuple(at)]), float(entries[tuple(at)])) for at in lit
        ]
    together = [term for terms in by_input.values() for term in terms]
    # A product is a sum of the terms of either factor, not of both.
    for terms in (together, *by_input.values()):
        total = float(np.sum([coefficient * entry for _, _, coefficient, entry in terms]))
        size = float(np.sum([abs(coefficient * entry) for _, _, coefficient, entry in terms]))
        if abs(total - value) <= 1e-5 * max(size, abs(value), 1e-30):
            return terms, True
    return together, False


def _pulled(
    node: Node, inputs: Sequence[Any], outputs: Sequence[Any], index: int, place: tuple[int, ...]
) -> list[Any] | None:
    seed = np.zeros(outputs[index].shape, outputs[index].dtype)
    if seed.dtype.kind != "f":
        return None
    seed[place] = 1
    seeds = [seed if k == index else None for k in range(len(outputs))]
    flat = node.flat(list(inputs))
    try:
        with np.errstate(all="ignore"):
            pulled = OpStep(node.op, node.attrs).pull(flat, list(outputs), seeds, [True] * len(flat))
    except PROBLEMS:
        return None
    kept = [moved for k, moved in enumerate(pulled) if k not in node.absent]
    dense = [moved.dense() if isinstance(moved, RowGrad) else moved for moved in kept]
    return [None if moved is None else np.asarray(moved) for moved in dense]


def _value(values: Mapping[str, Sequence[Array]], output: Output) -> Array | None:
    found = values.get(output.node.name)
    if found is not None and output.index < len(found):
        return np.asarray(found[output.index])
    if output.known is not None:
        return output.known
    value = output.node.attrs.get("value") if not output.node.inputs else None
    return value if isinstance(value, np.ndarray) else None


def _entry(values: Mapping[str, Sequence[Array]], output: Output, place: tuple[int, ...]) -> float | None:
    value = _value(values, output)
    fits = (
        value is not None
        and len(place) == value.ndim
        and all(0 <= i < n for i, n in zip(place, value.shape, strict=True))
    )
    return float(value[place]) if value is not None and fits and value.dtype.kind == "f" else None


def _called(source: Output, parts: Mapping[str, str]) -> str:
    """A part of a gradient is called by what it does, with the gradient's name; a value in a port by the port."""
    name = source.node.name
    return (
        f"{name}.{source.port}"
        if source.node.inputs or name in parts
        else name
        if "/" in name
        else f"{name}.{source.port}"
    )


def _number(number: float) -> float | None:
    return float(number) if np.isfinite(number) else None
