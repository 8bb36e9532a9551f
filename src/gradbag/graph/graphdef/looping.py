"""The functional While: its condition and its body become graphs of their own, which the node keeps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ... import errors
from ...dims import AnyShape
from ...dtypes import LIST
from ..graph import Output
from ..loops import LoopOp, Part
from .attrs import by_name
from .references import Reference
from .tensors import Budget, read_shape

if TYPE_CHECKING:
    from .frames import Frame
    from .inlining import Call
    from .library import Library

LOOPING = ("While", "StatelessWhile")
PARTS = ("cond", "body")  # the attributes that name functions
_RESOURCE = 20  # DT_RESOURCE


def handles(name: str, node: Any, inputs: Sequence[Reference]) -> dict[Reference, Reference]:
    """What a loop hands on: a handle that comes out is the one that went in."""
    kinds = next((list(e.value.list.type) for e in node.attr if e.key == "T"), [])
    return {
        (name, place): source
        for place, (kind, source) in enumerate(zip(kinds, inputs, strict=False))
        if kind == _RESOURCE
    }


def loop_of(call: Call, inputs: Sequence[Output], library: Library, budget: Budget) -> LoopOp:
    """The op of a node that is a loop, for what it reads."""
    if call.frame is not None:
        condition, body = (_frame_part(call.frame, part, inputs, library, budget) for part in PARTS)
        return LoopOp(condition, body, inputs)
    given = by_name(call.proto.attr, call.given)
    declared = [read_shape(shape) for shape in given["output_shapes"].list.shape] if "output_shapes" in given else []
    kinds = list(given["T"].list.type) if "T" in given else []
    if len(kinds) != len(inputs) or len(declared) not in (0, len(inputs)):
        raise errors.InvalidArgumentError(
            f"{call.op}: it has {len(inputs)} inputs; T tells {len(kinds)} and output_shapes {len(declared)}"
        )
    shapes = declared or [None] * len(inputs)
    condition, body = (_part(call, part, inputs, shapes, library, budget) for part in PARTS)
    return LoopOp(condition, body, inputs)


def _stand_in(name: str, source: Output, shape: AnyShape) -> Call:
    """What stands inside of a loop for one of its values."""
    from .inlining import Call  # it knows of loops, too

    if source.node.op.state == "variable":
        return Call(name, source.node.op.name, [], [], attrs=dict(source.node.attrs))
    if source.dtype == LIST:
        return Call(name, "ListArgument", [], [])
    return Call(name, "Placeholder", [], [], attrs={"dtype": source.dtype, "shape": shape})


def _frame_part(frame: Frame, part: str, inputs: Sequence[Output], library: Library, budget: Budget) -> Part:
    from .inlining import Inliner
    from .loading import built

    described = frame.parts[part]
    inliner = Inliner(library)
    for place, (name, source) in enumerate(zip(described.stand_ins, inputs, strict=True)):
        inliner.calls.append(_stand_in(name, source, None if place < frame.changing else source.shape))
    inliner.calls += described.calls
    graph = built(inliner, budget)
    outputs = [Output(graph.node(n), port) for n, port in described.returns]
    return Part(graph, [graph.node(n) for n in described.stand_ins], outputs, [graph.node(n) for n in described.last])


def _part(
    call: Call, part: str, inputs: Sequence[Output], shapes: Sequence[AnyShape], library: Library, budget: Budget
) -> Part:
    from .inlining import Inliner  # it knows of loops, too
    from .loading import built

    function, entries = library.named(call.proto, part)
    name = f"{call.name}/{part}"
    arguments = []
    for place, (source, shape) in enumerate(zip(inputs, shapes, strict=True)):
        fixed = place < len(function.returns) and function.returns[place] == function.inputs[place]
        known = source.shape if fixed and part == "body" else shape
        arguments.append(_stand_in(f"{name}/input/_{place}", source, known))
    inliner = Inliner(library)
    returned = inliner.write_function(name, function, {**function.defaults, **by_name(entries, call.given)}, arguments)
    graph = built(inliner, budget)
    stand_ins = [graph.node(argument.name) for argument in arguments]
    return Part(graph, stand_ins, [Output(graph.node(n), port) for n, port in returned], [graph.node(name)])
