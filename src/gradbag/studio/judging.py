"""Whether a run gave what the page expects: of what variables decide, only all runs in their order can tell."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import page as pages
from ..graph.graph import Graph
from ..page.running import Answer, compare, labels, tasks
from . import messages
from .keeping import Sheet
from .show import Show

Array = np.ndarray[Any, Any]


def is_there(graph: Graph, name: str) -> bool:
    return name in graph or name.rpartition(".")[0] in graph


def in_order(page: pages.Page, sheet: Sheet, message: dict[str, Any]) -> bool:
    """Whether with this run all of the page's runs have run as they are written, one after the other.

    Only then do variables have the values for which the page says what it expects.
    """
    found = tasks(page)
    names, clock = [task.name for task in found], sheet.clock
    declared = {task.name: task.steps for task in found}
    if message["targets"] is not None:
        clock.in_order = 0
    elif message.get("name") is None:
        clock.in_order = 0 if sheet.variables and len(names) == 1 else len(names)
    else:
        name = message["name"]
        place = names.index(name) if name in names else -1
        follows = place == clock.in_order or (place == 0 and (len(names) > 1 or not sheet.variables))
        as_written = message.get("steps", 1) == declared.get(name)
        clock.in_order = place + 1 if follows and as_written else 0
    return clock.in_order == len(names)


def judged_now(page: pages.Page, sheet: Sheet, show: Show, whole: bool) -> tuple[list[str], list[messages.Mismatch]]:
    """The expectations that can be judged now, and what differs from them."""
    graph = sheet.drawn.graph
    found: dict[str, Array] = {}
    judged = []
    for name in page.section("expect"):
        for label, output in labels(page, graph, name).items() if is_there(graph, name) else ():
            varies = sheet.clock.depends_on_variables(output.node)
            made = (sheet.values if varies else show.made).get(output.node.name)
            if made is not None and output.index < len(made) and (whole or not varies):
                found[label] = made[output.index]
                judged.append(name)
    answer = Answer()
    if found:
        compare(page, graph, found, answer)
    told = [messages.Mismatch(name=m.name, expected=m.expected, got=m.got, text=m.text) for m in answer.mismatches]
    return list(dict.fromkeys(judged)), told
