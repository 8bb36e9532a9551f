"""Slices of an array by several coordinates at once: picked out, and added up."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np

from ...dtypes import ANY, INDEX, NUMBER
from ...errors import Fault
from ...spec import Arg, Attr, Declined, Example, Reject, op
from ..samples import Inputs, Rng, values
from .precision import wider
from .segments import add_rows
from .sizes import held_sizes, possible, unknown_sizes
from .sparse_places import flat_places

POLICY = Attr("bad_indices_policy", "", "What to do with coordinates that are outside: refuse, or IGNORE.", "string")
POLICIES = ("", "DEFAULT", "ERROR", "IGNORE")


def _places(rng: Rng) -> Iterator[tuple[tuple[int, ...], Any]]:
    for shape, depth, count in [((3, 4, 2), 2, (5,)), ((4, 2), 1, (2, 3)), ((5,), 1, ()), ((3, 2), 2, (0,))]:
        yield shape, rng.integers(0, 1 << 30, (*count, depth)) % np.array(shape[:depth])


def _gatherings(rng: Rng) -> Iterator[Inputs]:
    for shape, indices in _places(rng):
        yield {"params": values(rng, *shape), "indices": indices}
    yield {"params": values(rng, 3, 2), "indices": np.zeros((2, 0), np.int64)}
    yield {"params": values(rng, 3, 2), "indices": np.array([[1], [7], [-1]]), "bad_indices_policy": "IGNORE"}


def _scatterings(rng: Rng) -> Iterator[Inputs]:
    for shape, indices in _places(rng):
        updates = values(rng, *indices.shape[:-1], *shape[indices.shape[-1] :])
        yield {"indices": indices, "updates": updates, "shape": np.array(shape)}
    given = {"indices": np.array([[1], [7], [-1]]), "updates": values(rng, 3, 2), "shape": np.array([4, 2])}
    yield {**given, "bad_indices_policy": "IGNORE"}


def inside(indices: Any, shape: Any) -> Any:
    """Which rows of coordinates are within a shape."""
    return ((indices >= 0) & (indices < np.array(shape, np.int64))).all(-1)


def _rows(indices: Any) -> Any:
    """A row of coordinates for each slice."""
    return indices.reshape((prod(indices.shape[:-1]), indices.shape[-1])).astype(np.int64)


def _check_inside(indices: Any, shape: Any, policy: str) -> None:
    if policy not in POLICIES:
        raise Fault("rule", "bad_indices_policy", (), policy, hint=f"must be one of {', '.join(map(repr, POLICIES))}")
    if policy == "IGNORE":
        return
    wrong = (indices < 0) | (indices >= np.array(shape, np.int64))
    if wrong.any():
        place = tuple(np.argwhere(wrong)[0].tolist())
        raise Fault("range", "indices", place, int(indices[place]), 0, int(shape[place[-1]]))


# ------------------------------------------------------------------ GatherNd
@op(
    "GatherNd",
    inputs=[
        Arg("params", "Tparams", "*shape", "Any array."),
        Arg("indices", "Tindices", "*places", "Coordinates along the last axis, of the first axes of params."),
    ],
    outputs=[Arg("output", "Tparams", "*result", "The slices.")],
    attrs=[POLICY],
    types={"Tparams": ANY, "Tindices": ("int16", *INDEX)},
    linear=["params"],
    example=Example({"params": [[1.0, 2.0], [3.0, 4.0]], "indices": [[0, 1], [1, 0]]}, {"output": [2.0, 3.0]}),
    samples=_gatherings,
    rejects=[
        Reject({"indices": [[0, 1], [2, 0]]}, r"indices\[1, 0\] == 2 out of range \[0, 2\)"),
        Reject(
            {"indices": [[0, 1, 0]]}, r"indices has shape \[1, 3\], which has 3 coordinates for the 2 axes of params"
        ),
        Reject({"indices": 0}, r"indices has shape \[\], which has no axis for coordinates"),
    ],
)
def gather_nd(params: Any, indices: Any, bad_indices_policy: str) -> Any:
    """Slices of an array by coordinates; coordinates that are outside give zeros if they shall be ignored."""
    depth = indices.shape[-1]
    outer, inner = params.shape[:depth], params.shape[depth:]
    kept = inside(indices, outer).reshape(-1)
    flat = flat_places(_rows(indices)[kept], outer)
    found = np.zeros((len(kept), *inner), params.dtype)
    if params.dtype.kind == "O":
        found[...] = ""
    found[kept] = params.reshape((prod(outer), *inner))[flat]
    return found.reshape((*indices.shape[:-1], *inner))


@gather_nd.compiled
def _(calls: Any, params: Any, indices: Any, bad_indices_policy: str) -> Any:
    depth = indices.shape[-1] if indices.ndim else 0
    if bad_indices_policy not in ("", "DEFAULT", "ERROR") or not 0 < depth <= params.ndim:
        raise Declined
    output = calls.empty((*indices.shape[:-1], *params.shape[depth:]), "Tparams")
    sizes = np.array(params.shape[:depth], np.int64)
    calls.fill("gather_rows__{Tindices}", [params, indices.reshape(-1, depth), sizes, output])
    return output


@gather_nd.shapes
def _(params: Any, indices: Any, bad_indices_policy: str) -> Any:
    if indices.shape == ():
        raise Fault("shape", "indices", (), (), hint="has no axis for coordinates")
    if params.shape is None or indices.shape is None or indices.shape[-1] is None:
        return [None]
    depth = indices.shape[-1]
    if depth > len(params.shape):
        hint = f"has {depth} coordinates for the {len(params.shape)} axes of params"
        raise Fault("shape", "indices", (), indices.shape, hint=hint)
    if indices.value is not None and None not in params.shape[:depth]:
        _check_inside(indices.value, params.shape[:depth], bad_indices_policy)
    return [possible("indices", (*indices.shape[:-1], *params.shape[depth:]), params.dtype)]


@gather_nd.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    shape = ops.Shape(input=x.params, out_type="int64")
    places = ops.Cast(x=x.indices, DstT="int64")
    policy = {"bad_indices_policy": x.bad_indices_policy}
    return {"params": ops.ScatterNd(indices=places, updates=g.output, shape=shape, **policy)}


# ------------------------------------------------------------------ ScatterNd
@op(
    "ScatterNd",
    inputs=[
        Arg("indices", "Tindices", "*places", "Coordinates along the last axis, of the first axes of the result."),
        Arg("updates", "T", "*updates", "A slice for each."),
        Arg("shape", "Tindices", "rank", "The shape of the result."),
    ],
    outputs=[Arg("output", "T", "*result", "The slices at their places, added up; zeros elsewhere.")],
    attrs=[POLICY],
    types={"T": NUMBER, "Tindices": INDEX},
    linear=["updates"],
    example=Example(
        {"indices": [[1], [1], [0]], "updates": [1.0, 2.0, 4.0], "shape": [3]}, {"output": [4.0, 3.0, 0.0]}
    ),
    samples=_scatterings,
    rejects=[
        Reject({"indices": [[1], [3], [0]]}, r"indices\[1, 0\] == 3 out of range \[0, 3\)"),
        Reject({"updates": [1.0, 2.0]}, r"updates has shape \[2\], which must be \[3\]"),
        Reject({"shape": [-3]}, r"shape\[0\] == -3 must not be negative"),
        Reject(
            {"indices": [[1, 0]], "updates": [1.0]}, r"indices has shape \[1, 2\], which has 2 coordinates for the 1"
        ),
    ],
)
def scatter_nd(indices: Any, updates: Any, shape: Any, bad_indices_policy: str) -> Any:
    """Slices at their places in an array of zeros; those at one place are added up."""
    depth = indices.shape[-1]
    outer, inner = shape[:depth].tolist(), shape[depth:].tolist()
    kept = inside(indices, outer).reshape(-1)
    flat = flat_places(_rows(indices)[kept], outer)
    total = np.zeros((prod(outer), *inner), wider(updates.dtype))
    add_rows(total, flat, updates.reshape((len(kept), *inner))[kept])
    return total.astype(updates.dtype).reshape(shape.tolist())


@scatter_nd.shapes
def _(indices: Any, updates: Any, shape: Any, bad_indices_policy: str) -> Any:
    if indices.shape == ():
        raise Fault("shape", "indices", (), (), hint="has no axis for coordinates")
    if shape.value is None:
        return [unknown_sizes(shape.shape)]
    sizes = possible("shape", held_sizes("shape", shape.value), updates.dtype)
    if indices.shape is not None and indices.shape[-1] is not None:
        depth = indices.shape[-1]
        if depth > len(sizes):
            hint = f"has {depth} coordinates for the {len(sizes)} axes of shape"
            raise Fault("shape", "indices", (), indices.shape, hint=hint)
        wanted = (*indices.shape[:-1], *sizes[depth:])
        given = updates.shape
        if given is not None and (
            len(given) != len(wanted) or any(None not in p and p[0] != p[1] for p in zip(given, wanted, strict=True))
        ):
            raise Fault("shape", "updates", (), given, hint=f"must be {['?' if n is None else n for n in wanted]}")
        if indices.value is not None:
            _check_inside(indices.value, sizes[:depth], bad_indices_policy)
    return [sizes]


@scatter_nd.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"updates": ops.GatherNd(params=g.output, indices=x.indices, bad_indices_policy=x.bad_indices_policy)}
