"""From a graph to a GraphDef that TensorFlow imports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ... import errors
from ..graph import Graph, refuse_loop
from . import messages
from .attrs import write_attrs
from .files import in_text, write

# The version of GraphDef that TensorFlow 2.21 writes; older ones import it too, if they know the ops.
PRODUCER = 2474
LARGEST_MESSAGE = 2**31 - 1  # protobuf's


def to_graphdef_bytes(graph: Graph, *, text: bool = False, output_shapes: bool = True) -> bytes:
    """A graph as GraphDef: the same graph gives the same bytes.

    `output_shapes` writes what is known of the outputs' shapes, which viewers show and TensorFlow checks.
    """
    proto = _proto(graph, output_shapes)
    return in_text(proto) if text else proto.SerializeToString(deterministic=True)


def save_graphdef(graph: Graph, path: str | Path, text: bool | None = None, *, output_shapes: bool = True) -> None:
    """Write a graph as GraphDef, as text if the path ends in .pbtxt or `text` says so; all of the file or nothing."""
    if text is None:
        text = Path(path).suffix == ".pbtxt"
    write(Path(path), to_graphdef_bytes(graph, text=text, output_shapes=output_shapes))


def _proto(graph: Graph, output_shapes: bool) -> Any:
    proto = messages.message("GraphDef")()
    proto.versions.producer = PRODUCER
    size = 0
    for node in graph:
        refuse_loop(node, "a GraphDef")
        made = proto.node.add(name=node.name, op=node.op.name)
        made.input.extend(
            [i.node.name if not i.index else f"{i.node.name}:{i.index}" for i in node.inputs]
            + [f"^{before.name}" for before in dict.fromkeys(node.control)]
        )
        try:
            write_attrs(node, made, output_shapes)
        except errors.Error as problem:
            raise errors.at_node(problem, node.name) from None
        size += made.ByteSize()
        if size > LARGEST_MESSAGE:
            raise errors.at_node(
                errors.ResourceExhaustedError("a GraphDef holds at most 2 GiB; up to this node the graph has more"),
                node.name,
            )
    return proto
