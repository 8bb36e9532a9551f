"""What a run did: per node the time, the bytes of its results, and whether they had to be computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from .graph import Node, Output

Array = np.ndarray[Any, Any]
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class NodeReport:
    """One node of a run; a cached one took no time."""

    name: str
    op: str
    seconds: float
    bytes: int
    source: Literal["ran", "cached"]


@dataclass
class Report:
    """Give an empty one to `ClientSession.run`, and it is filled, in the order in which nodes were done."""

    nodes: list[NodeReport] = field(default_factory=list)
    seconds: float = 0.0

    def node(self, name: str) -> NodeReport:
        return next(node for node in self.nodes if node.name == name)

    @property
    def ran(self) -> list[str]:
        """The names of the nodes that were computed."""
        return [node.name for node in self.nodes if node.source == "ran"]


class Observer:
    """Who is told of a run as it goes: a subclass hears what it overrides. Values are to be read, not written to."""

    def fed(self, output: Output, value: Array) -> None:
        """An output has a value from outside."""

    def running(self, node: Node) -> None:
        """A node begins, perhaps in a thread beside others."""

    def done(self, node: Node, outputs: Sequence[Array], seconds: float, cached: bool) -> None:
        """A node has its results; cached ones are told first."""

    def progress(self, done: int, total: int, node: Node) -> None:
        """So many of the nodes that must run are done, this one the last."""


class Reporter(Observer):
    """Fills a report, and hands progress on."""

    def __init__(self, report: Report | None, progress: Progress | None) -> None:
        self.report, self._progress = report, progress

    def done(self, node: Node, outputs: Sequence[Array], seconds: float, cached: bool) -> None:
        if self.report is not None:
            size = sum(output.nbytes for output in outputs)
            self.report.nodes.append(NodeReport(node.name, node.op.name, seconds, size, "cached" if cached else "ran"))

    def progress(self, done: int, total: int, node: Node) -> None:
        if self._progress is not None:
            self._progress(done, total, node.name)
