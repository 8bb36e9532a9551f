"""How a run is told to the web process, and through it to every tab."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from ..graph.graph import Node, Output
from ..graph.run import Run
from ..page.links import Problem, read_by, split
from ..page.model import Page
from ..page.running import Watcher
from . import messages
from .keeping import Rounds, Sheet, Store
from .services import values
from .worker import Desk, told

Array = np.ndarray[Any, Any]

MOST_ERRORS = 50
BETWEEN_PROGRESS = 0.05  # seconds
BETWEEN_VALUES = 0.25  # in a loop


class Show(Watcher):
    """Tells the web process, and through it every tab, how a run goes."""

    def __init__(
        self, desk: Desk, store: Store, sheet: Sheet, page: Page, run: str, opened: Sequence[str] = ()
    ) -> None:
        self._desk, self._store, self._sheet, self._page, self._run = desk, store, sheet, page, run
        self._opened = opened
        self.made: dict[str, list[Array]] = {}
        self.failed = False
        self._ran = self._cached = 0
        self._step, self._steps = 0, 1
        self._loud = True
        self._values_at = self._progress_at = self._place_at = 0.0

    def _tell(self, event: messages.RunEvent) -> None:
        said = {"type": event["type"], "run": self._run, "event": msgspec.json.encode(event)}
        if event["type"] == "node":
            said |= {"node": event["node"], "state": event["state"]}
        self._desk.tell(said)

    def fed(self, output: Output, value: Array) -> None:
        self.done(output.node, [value], 0.0, False)

    def begin_step(self, step: int, steps: int) -> None:
        """Of a loop, the last step shows its values, and some before it do as time allows."""
        now = time.monotonic()
        self._step, self._steps = step, steps
        self._sheet.clock.now += 1
        if step == 0 and steps > 1:  # what a single step leaves of the loop before it can still be looked at
            self._sheet.rounds = Rounds()
        self._loud = step == steps - 1 or now - self._values_at >= BETWEEN_VALUES
        if self._loud:
            self._values_at = now
        if steps > 1:
            self._told_progress(0, 1, step == 0)

    def _is_shown(self, node: Node) -> bool:
        """A node of the page, or a part of a gradient that is open."""
        if node.name in self._page.nodes:
            return True
        return any(node in self._sheet.drawn.parts.get(name, ()) for name in self._opened)

    def running(self, node: Node) -> None:
        if not self._is_shown(node) or _is_known(node):
            return
        if self._loud:
            self._tell(messages.NodeRunning(type="node", id=self._run, node=node.name, state="running"))
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
        self._sheet.clock.made[name] = self._sheet.clock.now
        if not self._is_shown(node):
            return
        if name in self._page.nodes:
            self._ran += not cached
            self._cached += cached
        if self._loud:
            ports = node.output_ports
            shown = [
                messages.Value(**values.described(port, array), hash=self._store.put(array))
                for port, array in zip(ports, outputs, strict=False)
            ]
            self._tell(
                messages.NodeDone(
                    type="node",
                    id=self._run,
                    node=name,
                    state="cached" if cached else "done",
                    key=key,
                    seconds=seconds,
                    outputs=shown,
                )
            )

    def progress(self, done: int, total: int, node: Node) -> None:
        if self._steps == 1:
            self._told_progress(done, total, done == total)

    def end_step(self, step: int, steps: int, run: Run) -> None:
        clock = self._sheet.clock
        clock.changed |= {node.name: clock.now for node in run.assigned}
        if steps > 1:
            keep = self._sheet.rounds.keep if step < steps - 1 else self._sheet.rounds.keep_last
            keep(step + 1, {name: self.made[name] for name in self.made if name in self._page.nodes})
        if 1 < steps == step + 1:
            self._told_progress(1, 1, True)

    def _told_progress(self, done: int, total: int, always: bool) -> None:
        now = time.monotonic()
        if always or now - self._progress_at >= BETWEEN_PROGRESS:
            self._progress_at = now
            step, steps = self._step + 1, self._steps
            self._tell(messages.Progress(type="progress", id=self._run, done=done, total=total, step=step, steps=steps))

    def problems(self, found: Sequence[Problem], targets: Sequence[str] | None) -> None:
        """What is wrong with the nodes that are asked for; the rest of the page runs."""
        asked = None if targets is None else _upstream(self._page, targets)
        for problem in found[:MOST_ERRORS]:
            if problem.node and problem.port != "layout" and (asked is None or problem.node in asked):
                self._fail(problem.node, problem.port, problem.text, "invalid")

    def error(self, problem: BaseException) -> None:
        said = told(problem)
        self._fail(said["node"], said["port"], said["text"].removeprefix(f"node {said['node']!r}: "), said["kind"])

    def _fail(self, node: str, port: str, text: str, kind: str) -> None:
        self.failed = True
        self._tell(messages.Failure(type="error", id=self._run, node=node, port=port, text=text, kind=kind))

    def finished(
        self,
        state: messages.EndState,
        seconds: float,
        mismatches: list[messages.Mismatch],
        judged: Sequence[str] = (),
    ) -> None:
        self._tell(
            messages.Finished(
                type="finished",
                id=self._run,
                state=state,
                seconds=seconds,
                ran=self._ran,
                cached=self._cached,
                mismatches=mismatches,
                judged=list(judged),
                stale=self._sheet.clock.stale(self._sheet.drawn, self._sheet.values),
                rounds=len(self._sheet.rounds.kept),
            )
        )


def _upstream(page: Page, targets: Sequence[str]) -> set[str]:
    """All nodes that some targets depend on, broken ones too."""
    seen: set[str] = set()
    waiting = [split(page.nodes, target)[0] for target in targets]
    while waiting:
        name = waiting.pop()
        if name in page.nodes and name not in seen:
            seen.add(name)
            waiting += [source for _, source in read_by(page.nodes, page.nodes[name])]
    return seen


def _is_known(node: Node) -> bool:
    """Whether its values were there before the run: a constant, or what follows from one."""
    return bool(node.known) and all(value is not None for value in node.known)
