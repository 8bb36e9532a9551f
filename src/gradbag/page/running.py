"""Running a page: its runs in their order, in one session, and then what it expects. The command line and the studio
have this one loop, and watch it in their own ways."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import dtypes, errors
from ..graph.cache import ResultCache
from ..graph.graph import Graph, Node, Output
from ..graph.report import Observer, Report, Reporter
from ..graph.run import Cancel, Run
from ..graph.session import ClientSession
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
    seed: int | None = None


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
            run.get("seed"),
        )
        for name, run in runs.items()
    ]


# ------------------------------------------------------------------ the loop
@dataclass
class Request:
    """A task in the terms of a graph."""

    name: str
    steps: int
    wanted: dict[str, Output]  # by label
    only: list[Node]
    fed: dict[Output, Array]
    seed: int | None = None

    def start(self, session: ClientSession, watcher: Observer, cancel: Cancel | None, whole: bool) -> Run:
        """One step of it, not begun."""
        fetches = list(self.wanted.values())
        return session.prepare(self.fed, fetches, self.only, observer=watcher, cancel=cancel, whole=whole)


class Watcher(Observer):
    """Who is told of a page's run, each step of a loop included."""

    def begin_step(self, step: int, steps: int) -> None:
        """One of so many steps begins, counted from zero."""

    def end_step(self, step: int, steps: int, run: Run) -> None:
        """It has ended well."""


def resolve(page: Page, graph: Graph, task: Task) -> Request:
    """The outputs and nodes that a task names, and the arrays that it is fed."""
    made = Request(task.name, task.steps, {}, [node_of(graph, name) for name in task.only], {}, task.seed)
    for name in task.fetch:
        labelled = labels(page, graph, name)
        made.wanted |= labelled
        if not labelled:  # a node without outputs can only be run
            made.only.append(node_of(graph, name))
    for name, literal in task.feed.items():
        output = one_output(page, graph, name)
        array = page.array(literal, output.dtype)
        if array is None:
            raise errors.InvalidArgumentError(f"{name} is fed nothing.")
        made.fed[output] = array
    return made


def perform(
    session: ClientSession, request: Request, watcher: Watcher, cancel: Cancel | None = None, *, whole: bool = False
) -> None:
    """All steps of a request; a `whole` one tells of every node on the way, cached or not."""
    session.begin_anew(request.seed)
    for step in range(request.steps):
        watcher.begin_step(step, request.steps)
        run = request.start(session, watcher, cancel, whole)
        session.execute(run)
        watcher.end_step(step, request.steps, run)


def labels(page: Page, graph: Graph, name: str) -> dict[str, Output]:
    """The outputs that a fetch means, by what to call them: all of a node have its name and their own."""
    found = outputs(page, graph, name)
    if len(found) == 1:
        return {name: found[0]}
    return {f"{name}.{output.port}": output for output in found}


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


# ------------------------------------------------------------------ on the command line
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
    graph = drawn.graph
    chosen = _chosen(page, names)
    if fetch:
        chosen[-1].fetch = list(fetch)
    session = ClientSession(graph, cache)
    answer = Answer()
    for task in chosen:
        request = resolve(page, graph, task)
        request.fed |= {one_output(page, graph, name): value for name, value in (feed or {}).items()}
        perform(session, request, _Filler(request, answer, told), cancel)
    if not feed:
        found = dict(answer.fetches)
        if not names and not fetch:
            known = [name for name in page.section("expect") if labels(page, graph, name).keys() - found.keys()]
            if known:
                rest = Answer()
                request = resolve(page, graph, Task("expect", known, feed=chosen[-1].feed))
                perform(session, request, _Filler(request, rest, None), cancel)
                found = {**rest.fetches, **found}
        compare(page, graph, found, answer)
    return answer


def _chosen(page: Page, names: Sequence[str]) -> list[Task]:
    known = {task.name: task for task in tasks(page)}
    for name in names:
        if name not in known:
            there = ", ".join(filter(None, known)) or "none"
            raise errors.InvalidArgumentError(f"the page has no run {name[:80]!r}; it has {there}")
    return [known[name] for name in names] if names else list(known.values())


class _Filler(Reporter, Watcher):
    """Puts what a request gives into an answer, and tells how far it is. Of a loop, the last step is reported."""

    def __init__(self, request: Request, answer: Answer, told: Told | None) -> None:
        super().__init__(None, None)
        self._request, self._answer, self._told = request, answer, told
        self._start = 0.0

    def begin_step(self, step: int, steps: int) -> None:
        self._start = time.perf_counter()
        self.report = self._answer.report if step == steps - 1 else None

    def progress(self, done: int, total: int, node: Node) -> None:
        if self._told is not None and self._request.steps == 1:
            self._told(self._request.name, done, total)

    def end_step(self, step: int, steps: int, run: Run) -> None:
        if step == steps - 1:
            self._answer.fetches.update(zip(self._request.wanted, run.answers(), strict=True))
        self._answer.report.seconds += time.perf_counter() - self._start
        if self._told is not None and steps > 1:
            self._told(self._request.name, step + 1, steps)


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
