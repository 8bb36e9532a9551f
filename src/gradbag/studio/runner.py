"""Runs of pages, in a process of their own: each node is told as it goes, and only what has changed runs again."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from typing import Any

import numpy as np

from .. import errors
from .. import page as pages
from ..graph.cache import ResultCache
from ..graph.graph import Graph
from ..graph.run import Run
from ..graph.session import ClientSession
from ..page import data_files
from ..page.checking import inspect
from ..page.running import Task, perform, resolve, tasks
from . import messages
from .checker import page_in
from .judging import in_order, is_there, judged_now
from .keeping import Gone, Sheet, Stepping, Store
from .services import checking, values
from .show import Show
from .wire import Parts
from .worker import Desk, Handlers, limit_processor

Array = np.ndarray[Any, Any]

MOST_SHEETS = 8
MOST_SERIES = 200


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
        self.handlers: Handlers = {"run": self.run, "step": self.step, "difference": self.difference}
        self.handlers["web_page"] = self.web_page
        self.aside: Handlers = {
            "value": self.value,
            "npy": self.npy,
            "lens": self.lens,
            "rounds": self.rounds,
            "round": self.round,
        }
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
        show = Show(self._desk, self._store, sheet, page, message["run"], message["open"])
        mismatches: list[messages.Mismatch] = []
        judged: list[str] = []
        state: messages.EndState = "done"
        whole = in_order(page, sheet, message)
        try:
            graph = sheet.draw(page).graph
            chosen = _chosen(page, graph, message)
            show.problems(sheet.drawn.problems, message["targets"])
            session = ClientSession(graph, self._cache, sheet.variables)
            try:
                for task in chosen:
                    perform(session, resolve(page, graph, task), show, self._cancel, whole=True)
            finally:  # the steps before one that fails count
                sheet.variables |= session.variables
            judged, mismatches = judged_now(page, sheet, show, whole)
        except errors.CancelledError:
            state = "stopped"
        except Exception as problem:  # noqa: BLE001  # shown at the node
            show.error(problem)
            if isinstance(problem, MemoryError):
                self._cache.clear()  # so that a smaller page finds room
        if state == "done" and show.failed:
            state = "failed"
        show.finished(state, time.perf_counter() - start, mismatches, judged)
        self._current = ""
        return {}

    # ------------------------------------------------------------------ step by step
    def step(self, message: dict[str, Any]) -> messages.Stepped:
        """One node more: the first that is not done yet as it is now."""
        self._begin(message)
        start = time.perf_counter()
        page, sheet, name = page_in(message), self._sheet(message), message["run"]
        stepping = self._stepped.setdefault(name, Stepping())
        while len(self._stepped) > MOST_SHEETS:
            self._stepped.popitem(last=False)
        show = Show(self._desk, self._store, sheet, page, name, message["open"])
        reached: list[str] = []
        try:
            graph = sheet.draw(page).graph
            chosen = _chosen(page, graph, message)
            show.problems(sheet.drawn.problems, message["targets"])
            session = ClientSession(graph, ResultCache(0), sheet.variables)
            request = resolve(page, graph, chosen[-1])
            session.begin_anew(request.seed)
            run = request.start(session, show, self._cancel, whole=True)
            reached, following = _advance(page, run, sheet, stepping.done)
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
        return messages.Stepped(id=name, done=reached or list(stepping.done), next=following)

    # ------------------------------------------------------------------ looking at values
    def value(self, message: dict[str, Any]) -> messages.ValueRows:
        columns = message["columns"]
        return values.cut(
            self._store.get(message["hash"]),
            message["start"],
            message["count"],
            None if columns is None else tuple(columns),
            message["slice"],
        )

    def npy(self, message: dict[str, Any]) -> Parts:
        return Parts(content=data_files.file_bytes(self._store.get(message["hash"])))

    def rounds(self, message: dict[str, Any]) -> messages.Rounds:
        """The rounds of the last loop, and what became of every single number in them."""
        kept = self._sheet(message).rounds.kept
        numbers = sorted(kept)
        lines: dict[str, dict[int, float]] = {}
        for number in numbers:
            for name, outputs in kept[number].items():
                for place, array in enumerate(outputs):
                    if array.size == 1 and array.dtype.kind in "iuf" and len(lines) < MOST_SERIES:
                        lines.setdefault(f"{name}.{place}", {})[number] = float(array.reshape(-1)[0])
        series = [
            messages.Series(name=_named(self._sheet(message), name), values=[_finite(line.get(n)) for n in numbers])
            for name, line in lines.items()
            if len(set(line.values())) > 1
        ]
        return messages.Rounds(rounds=numbers, series=series)

    def round(self, message: dict[str, Any]) -> messages.Round:
        """All values of one round."""
        sheet = self._sheet(message)
        kept = sheet.rounds.kept.get(message["round"])
        if kept is None:
            raise Gone("This round is not kept any more: loop again to see it.")
        nodes = []
        for name, outputs in kept.items():
            node = sheet.drawn.graph.get(name)
            ports = [] if node is None else node.output_ports
            shown = [
                messages.Value(**values.described(port, array), hash=self._store.put(array))
                for port, array in zip(ports, outputs, strict=False)
            ]
            nodes.append(messages.NodeValues(node=name, outputs=shown))
        return messages.Round(round=message["round"], nodes=nodes)

    def lens(self, message: dict[str, Any]) -> messages.Lens:
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
        found = lens.look(page, drawn, known, message["node"], message["port"], message["index"], message["cell"])
        return messages.Lens(
            marks=found["marks"],
            feeds=found["feeds"],
            fed=found["fed"],
            wires=found["wires"],
            partial=found["partial"],
            sum=found["sum"],
        )

    def difference(self, message: dict[str, Any]) -> messages.Difference:
        """A gradient's entry beside a difference: the page runs again, with its variables as they are now."""
        from ..lens.difference import difference

        limit_processor(self._run_seconds)
        page, sheet = page_in(message), self._sheet(message)
        graph = inspect(page, sheet.drawn).graph
        session = ClientSession(graph, self._cache, sheet.variables)
        found = difference(page, session, message["node"], message["index"])
        return messages.Difference(
            gradient=found["gradient"], difference=found["difference"], step=found["step"], holds=found["holds"]
        )

    def web_page(self, message: dict[str, Any]) -> Parts:
        from .services.exporting import file_name
        from .web_page import web_page

        page = page_in(message)
        return Parts(content=web_page(page, self._run_seconds), media_type="text/html", name=f"{file_name(page)}.html")


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
        found = [Task("", [name for name in message["targets"] if is_there(graph, name)], feed=feed)]
    if message.get("steps", 1) > 1:
        found[-1].steps = message["steps"]
    for task in found:
        task.fetch = [name for name in task.fetch if is_there(graph, name)]
        task.only = [name for name in task.only if is_there(graph, name)]
        task.feed = {name: literal for name, literal in task.feed.items() if is_there(graph, name)}
    return found


def _advance(
    page: pages.Page, run: Run, sheet: Sheet, done: dict[str, tuple[str | None, list[Array]]]
) -> tuple[list[str], str | None]:
    """Do the first step that is not done, literals before it included; what is done, and what comes next."""
    reached: list[str] = []
    ran = False
    for number in run.begin():
        name = run.plan.steps[number].node.name
        key = sheet.keys.get(name)
        if name in done and done[name][0] == key:
            run.supply(number, done[name][1])
            reached.append(name)
        elif name not in page.nodes:
            run.advance(number)
        elif ran:
            return reached, name
        else:
            done[name] = (key, list(run.advance(number)))
            reached.append(name)
            ran = True
    return reached, None


def _named(sheet: Sheet, place: str) -> str:
    name, _, index = place.rpartition(".")
    node = sheet.drawn.graph.get(name)
    return place if node is None else f"{name}.{node.output_ports[int(index)]}"


def _finite(number: float | None) -> float | None:
    return number if number is not None and np.isfinite(number) else None
