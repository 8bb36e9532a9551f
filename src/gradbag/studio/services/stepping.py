"""Which nodes a run goes through, and which one comes next."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ... import errors
from ...graph.graph import Node
from ...graph.page_graph import Drawn
from ...graph.page_links import leaves, split
from ...graph.page_model import Page
from ...graph.page_run import tasks


def targets_of(page: Page, targets: Sequence[str] | None, run: str | None = None) -> list[str]:
    """The nodes to run up to: those asked for, else what the named run (or each of them) fetches, else all leaves."""
    if targets is not None:
        wanted = list(targets)
    else:
        chosen = [task for task in tasks(page) if run is None or task.name == run]
        if run is not None and not chosen:
            raise errors.InvalidArgumentError(f"the page has no run {run[:80]!r}")
        wanted = [name for task in chosen for name in (*task.fetch, *task.only)] or leaves(page)
    found = dict.fromkeys(split(page.nodes, name)[0] for name in wanted)
    for name in found:
        if name not in page.nodes:
            raise errors.InvalidArgumentError(f"{name[:80]!r} is not on the page")
    return list(found)


def order(page: Page, drawn: Drawn, targets: Sequence[str] | None = None, run: str | None = None) -> list[str]:
    """The page's nodes that a run up to some targets goes through, each after those that it reads."""
    seen: set[Node] = set()
    waiting = []
    for name in targets_of(page, targets, run):
        node = drawn.graph.get(name)
        if node is None:
            raise _broken(drawn, name)
        waiting.append(node)
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen.add(node)
            waiting += [source.node for source in node.inputs]
            waiting += node.control
    return [node.name for node in sorted(seen, key=lambda n: n.number) if node.name in page.nodes]


def upcoming(names: Sequence[str], done: Collection[str]) -> str | None:
    """The first node of an order that has not run yet; None at the end."""
    return next((name for name in names if name not in done), None)


def _broken(drawn: Drawn, name: str) -> errors.Error:
    """A target that cannot run: the problem is its own, or that of a node it depends on."""
    own = [problem for problem in drawn.problems if problem.node == name] or drawn.problems
    why = str(own[0]) if own else "something that it reads is broken"
    problem = errors.InvalidArgumentError(f"{name} cannot run: {why}")
    problem.node = own[0].node if own else name
    problem.argument = own[0].port if own else ""
    return problem
