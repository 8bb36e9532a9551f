"""TensorFlow's steps on rows of variables as steps of our own, which have kernels that change the rows in place.

TensorFlow first makes the rows of a gradient distinct and adds up what belongs to one; ours do that themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..row_rules import RULES

DISTINCT = "Unique"  # its y are the rows, its idx says which row each of x is
SUMMED = "UnsortedSegmentSum"  # of `data` by that idx


class RowStep(NamedTuple):
    """The same step by one of our rules: its op, what TensorFlow calls its numbers, and its settings."""

    op: str
    numbers: tuple[str | float, ...]
    settings: dict[str, Any]
    decays: int  # how many optional numbers follow, which are left out


# The rule, and where its numbers come from, in its order: an input of TensorFlow's op, or always the same.
_FORMS: dict[str, tuple[str, tuple[str | float, ...]]] = {
    "Adagrad": ("Adagrad", ("lr", 0.0)),
    "AdagradV2": ("Adagrad", ("lr", "epsilon")),
    "Momentum": ("Momentum", ("lr", "momentum")),
    "RMSProp": ("RmsProp", ("lr", "rho", "momentum", "epsilon")),
    "Ftrl": ("Ftrl", ("lr", "l1", "l2", 0.0)),
    "FtrlV2": ("Ftrl", ("lr", "l1", "l2", "l2_shrinkage")),
}


def row_step(name: str, attrs: Mapping[str, Any], known: Mapping[str, Any]) -> RowStep | None:
    """The form of TensorFlow's op of a name, with its settings and the inputs that are known; None if there is none."""
    found = _FORMS.get(name.removeprefix("ResourceSparseApply"))
    if found is None or not name.startswith("ResourceSparseApply"):
        return None
    if not attrs.get("update_slots", True) or attrs.get("multiply_linear_by_lr", False):
        return None
    if "lr_power" in known and (known["lr_power"] is None or known["lr_power"] != -0.5):
        return None
    rule = RULES[found[0]]
    settings = {attr.name: attrs[f"use_{attr.name}"] for attr in rule.attrs}
    return RowStep(rule.row_op, found[1], settings, 2 if rule.decays else 0)
