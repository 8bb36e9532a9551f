"""What a gradient was written out as, for whoever opens its block: from right to left, as a derivative goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...page.drawing import Drawn
from ...page.import_graph import entry_of
from ...page.layout import positions
from ...page.model import Page
from ..messages import NamedSlot, Part

MOST_PARTS = 500


def told(page: Page, drawn: Drawn, gradient: str, keys: Mapping[str, str | None]) -> list[Part]:
    """The parts of a gradient without their constants, each with its place."""
    nodes = [node for node in drawn.parts[gradient] if node.op.name != "Const"][:MOST_PARTS]
    sketch = Page()
    sketch.document["nodes"] = {node.name: {} for node in nodes}
    constants = {source.node for node in nodes for source in node.inputs if source.node.op.name == "Const"}
    for node in nodes:
        entry = entry_of(Page({"nodes": {**page.nodes, **sketch.nodes}}), node, constants)
        sketch.document["nodes"][node.name] = entry
    places = _mirrored(positions(sketch, rows=False))
    return [
        Part(
            name=node.name,
            op=node.op.name,
            key=keys.get(node.name),
            inputs={
                port: f"{source.node.name}.{source.port}"
                for port, source in zip(node.ports, node.inputs, strict=True)
                if source.node not in constants or source.node.name in page.nodes
            },
            outputs=[
                NamedSlot(name=port, dtype=dtype, shape=None if shape is None else list(shape))
                for port, dtype, shape in zip(node.output_ports, node.dtypes, node.shapes, strict=True)
            ],
            at=places[node.name],
        )
        for node in nodes
    ]


def _mirrored(places: Mapping[str, Sequence[int]]) -> dict[str, list[float]]:
    """Columns from right to left in place of positions, and rows in each of them."""
    lefts = sorted({left for left, _ in places.values()}, reverse=True)
    found: dict[str, list[float]] = {}
    filled = [0] * len(lefts)
    for name, (left, _) in sorted(places.items(), key=lambda place: place[1][1]):
        column = lefts.index(left)
        found[name] = [column, filled[column]]
        filled[column] += 1
    return found
