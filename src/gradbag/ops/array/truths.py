"""Whether all, or any, of some conditions hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dtypes import INDEX
from ...spec import Arg, Example, Known, op
from .reductions import REDUCTION, axes_of, reduced

TRUTHS: dict[str, Any] = {
    **REDUCTION,
    "inputs": [Arg("input", "bool", "*shape", "Conditions."), REDUCTION["inputs"][1]],
    "outputs": [Arg("output", "bool", "*result", "The input without these axes.")],
    "types": {"Tidx": INDEX},
}
TABLE = [[True, False], [True, True]]


# ------------------------------------------------------------------ All
@op("All", **TRUTHS, example=Example({"input": TABLE, "axis": [1]}, {"output": [False, True]}))
def all_(input: Any, axis: Any, keep_dims: bool) -> Any:
    """Whether all conditions along some axes hold."""
    return np.asarray(input.all(axes_of(axis, input.ndim), keepdims=keep_dims))


@all_.shapes
def _(input: Known, axis: Known, keep_dims: bool) -> Any:
    return reduced(input, axis, keep_dims)


# ------------------------------------------------------------------ Any
@op("Any", **TRUTHS, example=Example({"input": TABLE, "axis": [0]}, {"output": [True, True]}))
def any_(input: Any, axis: Any, keep_dims: bool) -> Any:
    """Whether any of the conditions along some axes holds."""
    return np.asarray(input.any(axes_of(axis, input.ndim), keepdims=keep_dims))


@any_.shapes
def _(input: Known, axis: Known, keep_dims: bool) -> Any:
    return reduced(input, axis, keep_dims)
