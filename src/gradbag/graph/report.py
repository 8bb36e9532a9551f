"""What a run did: per node the time, the bytes of its results, and whether they had to be computed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal


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
