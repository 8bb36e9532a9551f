"""Running a page without the studio: its runs in their order, in one session, and then what it expects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import dtypes, errors
from ..graph.cache import ResultCache
from ..graph.graph import Graph, Node, Output
from ..graph.report import Report
from ..graph.session import Cancel, ClientSession
from .checking import inspect, outputs
from .drawing import refuse
from .links import leaves
from .model import Page

Array = np.ndarray[Any, Any]
Told = Callable[[str, int, int], None]  # the run's name; how much is done of how much: steps, or nodes if it has one


@dataclass
class Task:
    """One run of a page, with its defaults filled in."""

    name: str
    fetch: list[str]
    only: list[str] = field(default_factory=list)
    feed: dict[str, Any] = field(default_factory=dict)
    steps: int = 1


@dataclass(frozen=True)
class Mismatch:
    """A result that is not what the page expects."""

    name: str
    expected: str
    got: str
    text: str


@dataclass
class Answer:
    """What the runs of a page gave: the last value of each fetch, and what was expected otherwise."""

    fetches: dict[str, Array] = field(default_factory=dict)
    mismatches: list[Mismatch] = field(default_factory=list)
    compared: int = 0
    report: Report = field(default_factory=Report)


def tasks(page: Page) -> list[Task]:
    """The runs of a page; a page without runs fetches what nothing reads."""
    runs = page.section("runs")
    if not runs:
        return [Task("", leaves(page))]
    return [
        Task(
            name,
            run.get("fetch", []),
            run.get("only", []),
            run.get("feed", {}),
            run.get("steps", 1) if run.get("mode", "once") != "once" else 1,
        )
        for name, run in runs.items()
    ]


def run(
    page: Page,
    names: Sequence[str] = (),
    fetch: Sequence[str] = (),
    feed: Mapping[str, Any] | None = None,
    *,
    cache: ResultCache | None = None,
    told: Told | None = None,
    cancel: Cancel | None = None,
) -> Answer:
    """Run a page; a page with problems does not run.

    `names` are the runs to do, all of them by default; `fetch` replaces what the last of them fetches, and `feed` adds
    to what each is fed, arrays by name. Expectations are compared where they were fetched, and all of them when a page
    runs just as it is written.
    """
    drawn = inspect(page)
    refuse(drawn.problems)
    chosen = _chosen(page, names)
    if fetch:
        chosen[-1].fetch = list(fetch)
    session = ClientSession(drawn.graph, cache)
    answer = Answer()
    for task in chosen:
        _perform(page, session, task, dict(feed or {}), answer, told, cancel)
    if not feed:
        found = dict(answer.fetches)
        if not names and not fetch:
            known = [name for name in page.section("expect") if labels(page, drawn.graph, name).keys() - found.keys()]
            if known:
                rest = Answer()
                _perform(page, session, Task("expect", known, feed=chosen[-1].feed), {}, rest, None, cancel)
                found = {**rest.fetches, **found}
        compare(page, drawn.graph, found, answer)
    return answer


def _chosen(page: Page, names: Sequence[str]) -> list[Task]:
    known = {task.name: task for task in tasks(page)}
    for name in names:
        if name not in known:
            there = ", ".join(filter(None, known)) or "none"
            raise errors.InvalidArgumentError(f"the page has no run {name[:80]!r}; it has {there}")
    return [known[name] for name in names] if names else list(known.values())


def labels(page: Page, graph: Graph, name: str) -> dict[str, Output]:
    """The outputs that a fetch means, by what to call them: all of a node have its name and their own."""
    found = outputs(page, graph, name)
    if len(found) == 1:
        return {name: found[0]}
    return {f"{name}.{output.port}": output for output in found}


def _perform(
    page: Page,
    session: ClientSession,
    task: Task,
    feed: dict[str, Any],
    answer: Answer,
    told: Told | None,
    cancel: Cancel | None,
) -> None:
    graph = session.graph
    wanted: dict[str, Output] = {}
    only: list[Node] = [node_of(graph, name) for name in task.only]
    for name in task.fetch:
        labelled = labels(page, graph, name)
        wanted |= labelled
        if not labelled:  # a node without outputs can only be run
            only.append(node_of(graph, name))
    fed = {one_output(page, graph, name): _fed(page, graph, name, value) for name, value in task.feed.items()}
    fed |= {one_output(page, graph, name): value for name, value in feed.items()}
    values: list[Array] = []
    single = None if told is None else lambda done, total, _: told(task.name, done, total)
    for step in range(task.steps):
        report = Report()
        values = session.run(
            fed, list(wanted.values()), only, report=report, cancel=cancel, progress=single if task.steps == 1 else None
        )
        if told is not None and task.steps > 1:
            told(task.name, step + 1, task.steps)
        answer.report.nodes += report.nodes if task.steps == 1 or step == task.steps - 1 else []
        answer.report.seconds += report.seconds
    answer.fetches.update(zip(wanted, values, strict=True))


def one_output(page: Page, graph: Graph, name: str) -> Output:
    """The output that is meant where only one can be: the one that a feed replaces."""
    found = outputs(page, graph, name)
    if len(found) != 1:
        named = ", ".join(f"{name}.{output.port}" for output in found) or "it has none"
        raise errors.InvalidArgumentError(f"{name} has {len(found)} outputs, name one: {named}")
    return found[0]


def node_of(graph: Graph, name: str) -> Node:
    """The node that "node" or "node.port" means."""
    return graph.node(name if name in graph else name.rpartition(".")[0])


def _fed(page: Page, graph: Graph, name: str, value: Any) -> Any:
    return page.array(value, one_output(page, graph, name).dtype)


# ------------------------------------------------------------------ expectations
def compare(page: Page, graph: Graph, found: Mapping[str, Array], answer: Answer) -> None:
    """What the page expects with what was found, by label; the answer takes up what differs."""
    for name, wanted in page.section("expect").items():
        for label, output in labels(page, graph, name).items():
            if label in found:
                answer.compared += 1
                expected = page.array(wanted, output.dtype)
                assert expected is not None
                tolerance = wanted.get("tolerance", 0) if isinstance(wanted, dict) else 0
                answer.mismatches += _mismatch(label, expected, found[label], tolerance)


def _mismatch(name: str, expected: Array, got: Array, tolerance: float) -> list[Mismatch]:
    """At most one: the first element that is farther from what was expected than the tolerance allows.

    The tolerance is absolute for numbers up to one, and relative beyond. NaN is expected where NaN stands.
    """
    kinds = [f"{dtypes.name_of(a.dtype)}{list(a.shape)}" for a in (expected, got)]
    if kinds[0] != kinds[1]:
        return [Mismatch(name, kinds[0], kinds[1], "another dtype or shape")]
    if expected.dtype.kind in "OSU":
        apart = np.array([_bytes(a) != _bytes(b) for a, b in zip(expected.flat, got.flat, strict=True)], bool)
    elif dtypes.name_of(expected.dtype) in (*dtypes.FLOAT, *dtypes.COMPLEX):
        wide = np.complex128 if expected.dtype.kind == "c" else np.float64
        a, b = expected.reshape(-1).astype(wide), got.reshape(-1).astype(wide)
        with np.errstate(invalid="ignore"):
            near = np.abs(a - b) <= tolerance * np.maximum(np.abs(a), 1)
        apart = ~(near | (a == b) | (np.isnan(a) & np.isnan(b)))
    else:
        apart = (expected != got).reshape(-1)
    if not apart.any():
        return []
    place = np.unravel_index(int(apart.argmax()), expected.shape)
    where = f"[{', '.join(map(str, place))}]" if place else ""
    more = f"{int(apart.sum())} of {expected.size} elements differ by more than {tolerance}"
    return [Mismatch(f"{name}{where}", str(expected[place]), str(got[place]), more)]


def _bytes(word: Any) -> bytes:
    return word.encode() if isinstance(word, str) else bytes(word)
