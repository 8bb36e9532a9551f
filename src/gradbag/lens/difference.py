"""A gradient on a page beside what differences say: computed twice, with the entry a little more and less."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import errors
from ..graph.graph import Graph, Output
from ..graph.session import ClientSession
from ..page.links import input_of, is_gradient, is_link
from ..page.model import Page
from ..page.running import one_output

NEAR = {"float64": 1e-5, "float32": 2e-2}  # how far apart the two may be, for what they are


def difference(page: Page, session: ClientSession, name: str, index: Sequence[int]) -> dict[str, Any]:
    """An entry of a gradient, and (f(x + h) - f(x - h)) / 2h for the sum f that it is the gradient of."""
    entry, place = page.nodes.get(name), tuple(index)
    if entry is None or not is_gradient(entry) or name not in session.graph:
        raise errors.InvalidArgumentError(f"{name[:80]!r} is no gradient that can be computed")
    given = entry["in"]
    end, leaf = _output(page, session.graph, given["of"]), _output(page, session.graph, given["by"])
    shown, at, values = session.run(fetches=[one_output(page, session.graph, name), leaf, end])
    if (
        at.dtype.kind != "f"
        or len(place) != at.ndim
        or any(not 0 <= i < n for i, n in zip(place, at.shape, strict=True))
    ):
        raise errors.InvalidArgumentError(f"{name} has shape {list(at.shape)}; there is no entry {list(place)[:8]}")
    weights = _weights(page, session, given.get("grad"), end, values)
    size = np.finfo(at.dtype if at.dtype.itemsize > 2 else np.float32).eps ** (1 / 3) * max(1.0, abs(float(at[place])))
    sums, places = [], []
    for step in (size, -size):
        moved = at.copy()
        moved[place] += at.dtype.type(step)
        places.append(float(moved[place]))
        (found,) = session.run({leaf: moved}, [end])
        sums.append(float(np.sum((found.astype(np.float64) - values) * weights)))
    slope = (sums[0] - sums[1]) / (places[0] - places[1])
    gradient = float(shown[place])
    near = NEAR.get(str(at.dtype), 5e-2)
    holds = bool(abs(slope - gradient) <= near * max(1.0, abs(slope), abs(gradient)))
    return {"gradient": _number(gradient), "difference": _number(slope), "step": float(size), "holds": holds}


def _output(page: Page, graph: Graph, given: Any) -> Output:
    named = input_of(given)
    if named is None:
        return one_output(page, graph, given["from"])
    name, _, port = named.rpartition(".")
    node = graph.node(name)
    return node.inputs[node.ports.index(port)]


def _weights(page: Page, session: ClientSession, given: Any, end: Output, like: Any) -> Any:
    if given is None:
        return np.ones(like.shape)
    if is_link(given):
        return session.run(fetches=one_output(page, session.graph, given["from"])).astype(np.float64)
    array = page.array(given, end.dtype)
    assert array is not None
    return array.astype(np.float64)


def _number(number: float) -> float | None:
    return number if np.isfinite(number) else None
