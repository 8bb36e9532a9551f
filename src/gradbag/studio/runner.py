"""Runs of pages, in a process of their own: each node is told as it goes, and only what has changed runs again."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np

from .. import dtypes, errors
from ..graph import page as pages
from ..graph import page_data
from ..graph.cache import ResultCache
from ..graph.graph import Graph, Node, Output
from ..graph.page_check import inspect
from ..graph.page_graph import Drawn
from ..graph.page_links import Problem, read_by, split
from ..graph.page_run import Answer, Task, compare, labels, node_of, one_output, tasks
from ..graph.plan import Plan
from .checker import page_in
from .services import checking, values
from .watching import Variables, WatchedRun, whole_plan
from .wire import Parts
from .worker import Desk, Handlers, limit_processor, told

Array = np.ndarray[Any, Any]

MOST_SHEETS = 8
MOST_ERRORS = 50
BETWEEN_PROGRESS = 0.05  # seconds
BETWEEN_VALUES = 0.25  # in a loop


@dataclass
class Sheet:
    """What is kept of a page between its runs."""

    drawn: Drawn | None = None
    variables: dict[str, tuple[Array, bytes]] = field(default_factory=dict)
    keys: dict[str, str | None] = field(default_factory=dict)
    values: dict[str, list[Array]] = field(default_factory=dict)
    computed: dict[str, str | None] = field(default_factory=dict)  # the keys when the values were made

    @property
    def size(self) -> int:
        """Bytes of its values."""
        return sum(array.nbytes for outputs in self.values.values() for array in outputs)

    def forget(self) -> None:
        self.values, self.computed = {}, {}

    def forget_outdated(self) -> None:
        """What an edit has changed is computed anew: until then its memory is free."""
        for name in [name for name in self.values if self.keys.get(name) != self.computed.get(name)]:
            del self.values[name], self.computed[name]


@dataclass
class Stepping:
    """How far a run that goes step by step has come."""

    done: dict[str, tuple[str | None, list[Array]]] = field(default_factory=dict)  # by node: its key, its outputs
    assigned: dict[str, tuple[Array, bytes]] = field(default_factory=dict)


class Store:
    """Values by their digests, up to a number of bytes; those that were not asked for longest go first."""

    def __init__(self, limit: int) -> None:
        self._limit, self._size = limit, 0
        self._kept: OrderedDict[str, Array] = OrderedDict()
        self._lock = threading.Lock()

    def put(self, array: Array) -> str:
        name = values.digest(array)
        with self._lock:
            if name not in self._kept:
                self._size += array.nbytes + 512
                self._kept[name] = array
            self._kept.move_to_end(name)
            while self._size > self._limit and len(self._kept) > 1:
                self._size -= self._kept.popitem(last=False)[1].nbytes + 512
        return name

    def get(self, name: str) -> Array:
        with self._lock:
            if name not in self._kept:
                raise Gone("This value is not kept any more: run the page again to see all of it.")
            self._kept.move_to_end(name)
            return self._kept[name]


class Gone(errors.Error):
    """A value that is asked for too late."""

    kind = "gone"


class Runner:
    """The handlers of a process that runs."""

    def __init__(self, desk: Desk, budget: int, run_seconds: int) -> None:
        self._desk, self._run_seconds = desk, run_seconds
        self._cache = ResultCache(min(1 << 29, budget // 8))
        self._store = Store(budget // 4)
        self._most_kept = budget // 4
        self._sheets: OrderedDict[str, Sheet] = OrderedDict()
        self._cancel = threading.Event()
        self._current = ""
        self._stepped: OrderedDict[str, Stepping] = OrderedDict()
        self.handlers: Handlers = {"run": self.run, "step": self.step}
        self.aside: Handlers = {"value": self.value, "npy": self.npy, "lens": self.lens}
        self.at_once: Handlers = {"stop": self.stop}

    def stop(self, message: dict[str, Any]) -> None:
        if message["run"] == self._current:
            self._cancel.set()

    def _sheet(self, message: dict[str, Any]) -> Sheet:
        name = str(message["path"] or message.get("client", ""))
        sheet = self._sheets.pop(name, None) or Sheet()
        self._sheets[name] = sheet
        if len(self._sheets) > MOST_SHEETS:
            self._sheets.popitem(last=False)
        # The variables of pages that were left stay; their values make room when all become too much.
        size = sum(one.size for one in self._sheets.values())
        for old in list(self._sheets.values())[:-1]:
            if size > self._most_kept:
                size -= old.size
                old.forget()
        return sheet

    def _begin(self, message: dict[str, Any]) -> None:
        self._cancel.clear()
        self._current = message["run"]
        limit_processor(self._run_seconds)

    # ------------------------------------------------------------------ running
    def run(self, message: dict[str, Any]) -> dict[str, Any]:
        """All of a run, to its end: events tell how it goes."""
        self._begin(message)
        start = time.perf_counter()
        page, sheet = page_in(message), self._sheet(message)
        show = Show(self._desk, self._store, sheet, page, message["run"])
        state, mismatches = "done", []
        try:
            graph = self._draw(page, sheet)
            chosen = _chosen(page, graph, message)
            show.problems(sheet.drawn.problems if sheet.drawn else [], message["targets"])
            for task in chosen:
                self._perform(page, sheet, graph, task, show)
            mismatches = _mismatches(page, graph, show)
        except errors.CancelledError:
            state = "stopped"
        except Exception as problem:  # noqa: BLE001  # shown at the node
            show.error(problem)
            if isinstance(problem, MemoryError):
                self._cache.clear()  # so that a smaller page finds room
        if state == "done" and show.failed:
            state = "failed"
        show.finished(state, time.perf_counter() - start, mismatches)
        self._current = ""
        return {}

    @staticmethod
    def _draw(page: pages.Page, sheet: Sheet) -> Graph:
        sheet.drawn = inspect(page, sheet.drawn)
        sheet.keys = checking.keys(sheet.drawn.graph, page)
        sheet.forget_outdated()
        return sheet.drawn.graph

    def _perform(self, page: pages.Page, sheet: Sheet, graph: Graph, task: Task, show: Show) -> None:
        plan, fed = _plan(page, graph, task)
        variables = _variables(sheet, graph)
        for step in range(task.steps):
            show.begin_step(step, task.steps)
            run = WatchedRun(plan, self._cache, variables, show, self._cancel)
            run.go(fed)
            variables |= run.assigned
            sheet.variables |= {node.name: value for node, value in run.assigned.items()}
        show.end_steps()

    # ------------------------------------------------------------------ step by step
    def step(self, message: dict[str, Any]) -> dict[str, Any]:
        """One node more: the first that is not done yet as it is now."""
        self._begin(message)
        start = time.perf_counter()
        page, sheet, name = page_in(message), self._sheet(message), message["run"]
        stepping = self._stepped.setdefault(name, Stepping())
        while len(self._stepped) > MOST_SHEETS:
            self._stepped.popitem(last=False)
        show = Show(self._desk, self._store, sheet, page, name)
        reached: list[str] = []
        try:
            graph = self._draw(page, sheet)
            chosen = _chosen(page, graph, message)
            show.problems(sheet.drawn.problems if sheet.drawn else [], message["targets"])
            plan, fed = _plan(page, graph, chosen[-1])
            run = WatchedRun(plan, ResultCache(0), _variables(sheet, graph), show, self._cancel)
            reached, following = _advance(page, plan, run, fed, sheet, stepping.done)
            stepping.assigned |= {node.name: value for node, value in run.assigned.items()}
            if following is None:
                sheet.variables |= stepping.assigned
        except Exception as problem:  # noqa: BLE001  # shown at the node
            show.error(problem)
            following = getattr(problem, "node", "") or None
        if following is None or show.failed:
            self._stepped.pop(name, None)
            show.finished("failed" if show.failed else "done", time.perf_counter() - start, [])
        self._current = ""
        return {"id": name, "done": reached or list(stepping.done), "next": following}

    # ------------------------------------------------------------------ looking at values
    def value(self, message: dict[str, Any]) -> dict[str, Any]:
        columns = message["columns"]
        return values.cut(
            self._store.get(message["hash"]),
            message["start"],
            message["count"],
            None if columns is None else tuple(columns),
            message["slice"],
        )

    def npy(self, message: dict[str, Any]) -> Parts:
        return Parts(content=page_data.file_bytes(self._store.get(message["hash"])))

    def lens(self, message: dict[str, Any]) -> dict[str, Any]:
        from .. import lens

        page = page_in(message)
        sheets = list(self._sheets.values())
        drawn = inspect(page, sheets[-1].drawn if sheets else None)
        keys = checking.keys(drawn.graph, page)
        known = {
            name: outputs
            for sheet in sheets  # the latest last: its values win
            for name, outputs in list(sheet.values.items())
            if name in drawn.graph and keys.get(name) == sheet.computed.get(name)
        }
        return lens.look(page, drawn, known, message["node"], message["port"], message["index"])


# ------------------------------------------------------------------ what to run
def _chosen(page: pages.Page, graph: Graph, message: dict[str, Any]) -> list[Task]:
    """The runs that are asked for; parts of the page that cannot run are left out."""
    found = tasks(page)
    if message.get("name") is not None:
        found = [task for task in found if task.name == message["name"]]
        if not found:
            raise errors.InvalidArgumentError(f"The page has no run {message['name'][:80]!r}.")
    if message["targets"] is not None:
        feed = {name: literal for task in found for name, literal in task.feed.items()}
        found = [Task("", [name for name in message["targets"] if _is_there(graph, name)], feed=feed)]
    if message.get("steps", 1) > 1:
        found[-1].steps = message["steps"]
    for task in found:
        task.fetch = [name for name in task.fetch if _is_there(graph, name)]
        task.only = [name for name in task.only if _is_there(graph, name)]
        task.feed = {name: literal for name, literal in task.feed.items() if _is_there(graph, name)}
    return found


def _upstream(page: pages.Page, targets: Sequence[str]) -> set[str]:
    """All nodes that some targets depend on, broken ones too."""
    seen: set[str] = set()
    waiting = [split(page.nodes, target)[0] for target in targets]
    while waiting:
        name = waiting.pop()
        if name in page.nodes and name not in seen:
            seen.add(name)
            waiting += [source for _, source in read_by(page.nodes, page.nodes[name])]
    return seen


def _is_there(graph: Graph, name: str) -> bool:
    return name in graph or name.rpartition(".")[0] in graph


def _plan(page: pages.Page, graph: Graph, task: Task) -> tuple[Plan, list[Array]]:
    wanted: list[Output] = []
    only: list[Node] = [node_of(graph, name) for name in task.only]
    for name in task.fetch:
        found = list(labels(page, graph, name).values())
        wanted += found
        if not found:
            only.append(node_of(graph, name))
    fed: dict[Output, Array] = {}
    for name, literal in task.feed.items():
        output = one_output(page, graph, name)
        array = page.array(literal, output.dtype)
        if array is None:
            raise errors.InvalidArgumentError(f"{name} is fed nothing.")
        fed[output] = array
    plan = whole_plan(wanted, only, list(fed))
    return plan, [fed[output] for output in plan.feeds]


def _variables(sheet: Sheet, graph: Graph) -> Variables:
    """The values that variables have now, for those that are still there and of the same kind."""
    found: Variables = {}
    for name, (array, token) in sheet.variables.items():
        node = graph.get(name)
        if node is not None and node.op.state == "variable" and _fits(node, array):
            found[node] = (array, token)
    return found


def _fits(node: Node, array: Array) -> bool:
    shape = node.shapes[0]
    return dtypes.name_of(array.dtype) == node.dtypes[0] and (
        shape is None
        or (len(shape) == array.ndim and all(n in (None, m) for n, m in zip(shape, array.shape, strict=True)))
    )


def _advance(
    page: pages.Page,
    plan: Plan,
    run: WatchedRun,
    fed: Sequence[Array],
    sheet: Sheet,
    done: dict[str, tuple[str | None, list[Array]]],
) -> tuple[list[str], str | None]:
    """Do the first step that is not done, literals before it included; what is done, and what comes next."""
    todo = run.prepare(fed)
    reached: list[str] = []
    ran = False
    for number in todo:
        step = plan.steps[number]
        name = step.node.name
        key = sheet.keys.get(name)
        on_page = name in page.nodes
        if name in done and done[name][0] == key:
            for slot, value in zip(step.outputs, done[name][1], strict=False):
                run.values[slot], run.shared[slot] = value, True
            reached.append(name)
        elif not on_page:
            run.advance(number)
        elif ran:
            return reached, name
        else:
            done[name] = (key, list(run.advance(number)))
            reached.append(name)
            ran = True
    return reached, None


def _mismatches(page: pages.Page, graph: Graph, show: Show) -> list[dict[str, str]]:
    """What the page expects and did not get, of all that this run has computed."""
    found: dict[str, Array] = {}
    for name in page.section("expect"):
        if _is_there(graph, name):
            for label, output in labels(page, graph, name).items():
                made = show.made.get(output.node.name)
                if made is not None and output.index < len(made):
                    found[label] = made[output.index]
    answer = Answer()
    if found:
        compare(page, graph, found, answer)
    return [{"name": m.name, "expected": m.expected, "got": m.got, "text": m.text} for m in answer.mismatches]


# ------------------------------------------------------------------ telling
def _is_known(node: Node) -> bool:
    """Whether its values were there before the run: a constant, or what follows from one."""
    return bool(node.known) and all(value is not None for value in node.known)


class Show:
    """Tells the web process, and through it every tab, how a run goes."""

    def __init__(self, desk: Desk, store: Store, sheet: Sheet, page: pages.Page, run: str) -> None:
        self._desk, self._store, self._sheet, self._page, self._run = desk, store, sheet, page, run
        self.made: dict[str, list[Array]] = {}
        self.failed = False
        self._ran = self._cached = 0
        self._step, self._steps = 0, 1
        self._loud = True
        self._values_at = self._progress_at = self._place_at = 0.0

    def _tell(self, kind: str, /, **event: Any) -> None:
        body = msgspec.json.encode({"type": kind, "id": self._run, **event})
        said = {"type": kind, "run": self._run, "event": body}
        if kind == "node":
            said |= {"node": event["node"], "state": event["state"]}
        self._desk.tell(said)

    def begin_step(self, step: int, steps: int) -> None:
        """Of a loop, the last step shows its values, and some before it do as time allows."""
        now = time.monotonic()
        self._step, self._steps = step, steps
        self._loud = step == steps - 1 or now - self._values_at >= BETWEEN_VALUES
        if self._loud:
            self._values_at = now
        if steps > 1:
            self._told_progress(0, 1, step == 0)

    def running(self, node: Node) -> None:
        if node.name not in self._page.nodes or _is_known(node):
            return
        if self._loud:
            self._tell("node", node=node.name, state="running")
        elif (now := time.monotonic()) - self._place_at >= BETWEEN_PROGRESS:
            # Nobody is shown it, but if this process dies, the web process can say where it was.
            self._place_at = now
            self._desk.tell({"type": "place", "run": self._run, "node": node.name})

    def done(self, node: Node, outputs: Sequence[Array], seconds: float, cached: bool) -> None:
        name = node.name
        self.made[name] = list(outputs)
        key = self._sheet.keys.get(name)
        if _is_known(node) and key is not None and self._sheet.computed.get(name) == key:
            cached = True  # a constant, as it was
        self._sheet.values[name], self._sheet.computed[name] = list(outputs), key
        if name not in self._page.nodes:
            return
        self._ran += not cached
        self._cached += cached
        if self._loud:
            ports = [arg.name for arg in node.op.outputs]
            shown = [
                {**values.described(port, array), "hash": self._store.put(array)}
                for port, array in zip(ports, outputs, strict=False)
            ]
            self._tell("node", node=name, state="cached" if cached else "done", key=key, seconds=seconds, outputs=shown)

    def progress(self, done: int, total: int) -> None:
        if self._steps == 1:
            self._told_progress(done, total, done == total)

    def end_steps(self) -> None:
        if self._steps > 1:
            self._told_progress(1, 1, True)

    def _told_progress(self, done: int, total: int, always: bool) -> None:
        now = time.monotonic()
        if always or now - self._progress_at >= BETWEEN_PROGRESS:
            self._progress_at = now
            self._tell("progress", done=done, total=total, step=self._step + 1, steps=self._steps)

    def problems(self, found: Sequence[Problem], targets: Sequence[str] | None) -> None:
        """What is wrong with the nodes that are asked for; the rest of the page runs."""
        asked = None if targets is None else _upstream(self._page, targets)
        for problem in found[:MOST_ERRORS]:
            if problem.node and problem.port != "layout" and (asked is None or problem.node in asked):
                self.failed = True
                self._tell("error", node=problem.node, port=problem.port, text=problem.text, kind="invalid")

    def error(self, problem: BaseException) -> None:
        self.failed = True
        said = told(problem)
        said["text"] = said["text"].removeprefix(f"node {said['node']!r}: ")
        self._tell("error", **said)

    def finished(self, state: str, seconds: float, mismatches: list[dict[str, str]]) -> None:
        self._tell("finished", state=state, seconds=seconds, ran=self._ran, cached=self._cached, mismatches=mismatches)
