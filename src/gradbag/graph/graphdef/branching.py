"""The functional If written out: both branches, between a Switch for each value and a Merge for each result.

A branch that is not taken does not run, for everything in it reads a Switch or waits for one. Variables go in by their
handles. What TensorFlow hands from a branch to its gradient in an Optional is handed over as it is: if it was not
computed, nobody asks for it either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ... import errors
from .references import Reference

if TYPE_CHECKING:
    from .inlining import Inliner

BRANCHING = ("If", "StatelessIf")
SIDES = {"else": "else_branch", "then": "then_branch"}  # in the order of Merge's inputs, with their attributes
HANDED_ON = ("OptionalFromValue", "OptionalGetValue")
ABSENT = "OptionalNone"
HANDLES = (20, 21)  # DT_RESOURCE and DT_VARIANT


@dataclass(slots=True)
class Join:
    """An If whose branches are being written out."""

    name: str
    ends: dict[str, tuple[list[Reference], list[str]]] = field(default_factory=dict)  # what each returns and waits for


def switched(
    inliner: Inliner, name: str, node: Any, inputs: Sequence[Reference], control: Sequence[str]
) -> dict[str, list[Reference]]:
    """Write a Switch for each argument, and give what each branch gets; a node name/else or name/then is its pivot."""
    if not inputs:
        raise errors.InvalidArgumentError(f"{node.op}: the condition is missing")
    chosen, *values = inputs
    kinds = next((list(e.value.list.type) for e in node.attr if e.key == "Tin"), [])
    inliner.write(f"{name}/chosen", "Switch", [chosen, chosen], control)
    found: dict[str, list[Reference]] = {side: [] for side in SIDES}
    for port, side in enumerate(SIDES):
        inliner.write(f"{name}/{side}", "Identity", [(f"{name}/chosen", port)])
    for place, value in enumerate(values):
        handle = place < len(kinds) and kinds[place] in HANDLES
        if not handle:
            inliner.write(f"{name}/argument_{place}", "Switch", [value, chosen], control)
        for port, side in enumerate(SIDES):
            found[side].append(value if handle else (f"{name}/argument_{place}", port))
    return found


def merged(inliner: Inliner, join: Join) -> None:
    """Once both branches are written: a Merge for each result, and a node of the If's name for others to wait for."""
    name = join.name
    counts = {len(returns) for returns, _ in join.ends.values()}
    if len(counts) > 1:
        raise errors.InvalidArgumentError(f"the branches return {min(counts)} and {max(counts)} values")
    acts = any(control for _, control in join.ends.values())
    if acts:  # alive whichever was taken, and after all that it does
        for side, (_, control) in join.ends.items():
            inliner.write(f"{name}/{side}_done", "Identity", [(f"{name}/{side}", 0)], control)
        inliner.write(f"{name}/done", "Merge", [(f"{name}/{side}_done", 0) for side in SIDES])
    inliner.write(name, "NoOp", [], [f"{name}/done" if acts else f"{name}/chosen"])
    for place in range(counts.pop()):
        sides = [inliner.source(join.ends[side][0][place]) for side in SIDES]
        there = [side for side in sides if side[0] not in inliner.absent]
        if not there:
            inliner.absent.add(name)
            continue
        result = there[0]
        if len(there) == len(sides):
            inliner.write(f"{name}/result_{place}", "Merge", sides)
            result = f"{name}/result_{place}", 0
            if acts:
                inliner.write(f"{name}/result_{place}_done", "Identity", [result], [f"{name}/done"])
                result = f"{name}/result_{place}_done", 0
        inliner.aliases[name, place] = result
