"""Rows of a variable that are set or changed by rows of updates, one after the other where an index stands twice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...dtypes import FLOAT, INDEX, NUMBER
from ...errors import Fault
from ...spec import Arg, Attr, Example, Reject, op, titled
from ..pooling import check_indices
from .array_samples import Rng
from .state import LOCKING

INDICES = Arg("indices", "Tindices", "*places", "The row of the variable that each update belongs to.")
ORDERED = (*FLOAT, "int32", "int64")
BEFORE, PLACES, UPDATES = [[2.0, 4.0], [6.0, 8.0]], [1, 1], [[2.0, 1.0], [0.5, 2.0]]

# What to do with a row, in words; the ufunc that does it; the example's last row after it; the dtypes.
_WAYS: dict[str, tuple[str, Any, list[float], tuple[str, ...]]] = {
    "Add": ("Add rows to those", np.add, [8.5, 11.0], NUMBER),
    "Sub": ("Subtract rows from those", np.subtract, [3.5, 5.0], NUMBER),
    "Mul": ("Multiply with rows those", np.multiply, [6.0, 16.0], NUMBER),
    "Div": ("Divide by rows those", np.divide, [6.0, 4.0], ("float32", "float64")),
    "Min": ("Take the smaller numbers of rows and of those", np.minimum, [0.5, 1.0], ORDERED),
    "Max": ("Take the larger numbers of rows and of those", np.maximum, [6.0, 8.0], ORDERED),
    "Update": ("Set rows in place of those", None, [0.5, 2.0], NUMBER),
}


def _samples(variable: str) -> Any:
    def samples(rng: Rng) -> Iterator[dict[str, Any]]:
        for rows, inner, places in [
            (4, (3,), (5,)),
            (3, (), (2, 2)),
            (5, (2, 2), ()),
            (4, (0,), (2,)),
            (3, (2,), (0,)),
        ]:
            yield {
                variable: rng.uniform(0.5, 9.0, (rows, *inner)),
                "indices": rng.integers(0, rows, places),
                "updates": rng.uniform(0.5, 9.0, (*places, *inner)),
            }

    return samples


def _declare(way: str, handle: bool) -> None:
    words, change, after, types = _WAYS[way]
    variable, dtype = ("resource", "dtype") if handle else ("ref", "T")
    rest: dict[str, Any] = {"attrs": []}
    if not handle:
        rest["attrs"] = [Attr("use_locking", way == "Update", LOCKING)]

    def changed(before: Any, indices: Any, updates: Any, use_locking: bool = False) -> Any:
        new = before.copy()
        rows = np.broadcast_to(updates, (*indices.shape, *before.shape[1:]))
        if change is None:
            new[indices] = rows
        else:
            change.at(new, indices, rows)
        return [new] if handle else [new, new.copy()]

    if handle:

        def body(resource: Any, indices: Any, updates: Any) -> Any:
            return changed(resource, indices, updates)
    else:

        def body(ref: Any, indices: Any, updates: Any, use_locking: bool) -> Any:  # type: ignore[misc]
            return changed(ref, indices, updates)

    name = f"{'Resource' if handle else ''}Scatter{way}"
    doc = f"{words} of a variable that the indices name, one update after the other."
    made = op(
        name,
        inputs=[
            Arg(variable, dtype, "rows *inner", "The variable, which changes.", handle=handle, updates=True),
            INDICES,
            Arg("updates", dtype, "*_", "A row for each index, or one number for all."),
        ],
        outputs=[] if handle else [Arg("output_ref", dtype, "rows *inner", "The new value.")],
        types={dtype: types, "Tindices": INDEX},
        example=Example(
            {variable: BEFORE, "indices": PLACES, "updates": UPDATES},
            {} if handle else {"output_ref": [BEFORE[0], after]},
            after={variable: [BEFORE[0], after]},
        ),
        samples=_samples(variable),
        rejects=[
            Reject({"indices": [0, 2]}, r"indices\[1\] == 2 out of range \[0, 2\)"),
            Reject({"updates": [[1.0, 2.0, 3.0]]}, r"updates has shape \[1, 3\].*\[2, 2\], or of a scalar"),
        ],
        **rest,
    )(titled(name, doc)(body))
    made.check(_check)


def _check(variable: Any, indices: Any, updates: Any) -> None:
    check_indices("indices", indices, len(variable))
    wanted = (*indices.shape, *variable.shape[1:])
    if updates.shape not in (wanted, ()):
        hint = f"must be that of the rows that indices names, {list(wanted)}, or of a scalar"
        raise Fault("shape", "updates", (), updates.shape, hint=hint)


for _way in _WAYS:
    for _handle in (True, False):
        _declare(_way, _handle)
