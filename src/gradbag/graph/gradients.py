"""Symbolic gradients: new nodes that compute the derivatives, by the same rules that differentiate arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from .. import dtypes, errors
from ..gradients import pull
from ..row_grad import RowGrad
from .building import Built
from .gradient_ops import GraphOps
from .graph import Graph, Node, Output, shape_text
from .scope import Scope

Cotangent = Output | RowGrad


def add_symbolic_gradients(
    scope: Scope,
    outputs: Sequence[Output | Built],
    inputs: Sequence[Output | Built],
    grad_outputs: Sequence[Output | Built] | None = None,
    unconnected: Literal["error", "none"] = "error",
) -> list[Any]:
    """Nodes for the derivatives of `outputs`, summed and weighted with `grad_outputs`, with respect to `inputs`.

    Without `grad_outputs`, ones are the weights. The gradient of a table that `sparse_gradient=True` pooling alone
    reads is a `RowGrad` of outputs. An input on which no output depends is an error, or None if `unconnected="none"`.
    """
    ends, leaves = [_output(o) for o in outputs], [_output(i) for i in inputs]
    graph = scope.graph
    for kind, given in (("outputs", ends), ("inputs", leaves)):
        for place, output in enumerate(given):
            _check(f"{kind}[{place}]", output, graph)
    ops = GraphOps(scope.new_sub_scope("gradients"))
    seeds = _seeds(ops, ends, grad_outputs, graph)
    between = _between(leaves, ends)
    found: dict[Output, list[Cotangent]] = {}
    for output, seed in zip(ends, seeds, strict=True):
        found.setdefault(output, []).append(seed)
    wanted = set(leaves)
    for node in sorted(between, key=lambda n: -n.number):
        cotangents: list[Cotangent | None] = []
        for output in node.outputs:
            parts = found.get(output)
            total = None if parts is None else ops.total(parts)
            if total is not None:
                found[output] = [total]
            cotangents.append(total)
        if any(c is not None for c in cotangents) and any(_carries(i, between, wanted) for i in node.inputs):
            for source, gradient in zip(node.inputs, _pull(ops, node, cotangents), strict=True):
                if gradient is not None and (source in wanted or source.node in between):
                    found.setdefault(source, []).append(gradient)
    return [_answer(ops, place, leaf, found.get(leaf), unconnected) for place, leaf in enumerate(leaves)]


def _output(given: Any) -> Output:
    if isinstance(given, Output):
        return given
    outputs = given.node.outputs if isinstance(given, Built) else []
    if len(outputs) != 1:
        raise errors.UnsupportedTypeError(f"add_symbolic_gradients takes outputs of nodes; got {given!r}")
    return outputs[0]


def _check(what: str, output: Output, graph: Graph) -> None:
    if output.graph is not graph:
        raise errors.InvalidArgumentError(f"add_symbolic_gradients: {what} ({output.name}) belongs to another graph")
    if output.dtype not in dtypes.DIFFERENTIABLE:
        raise errors.UnsupportedTypeError(
            f"add_symbolic_gradients: {what} ({output.name}) is {output.dtype}, which has no derivative"
        )


def _seeds(ops: GraphOps, ends: Sequence[Output], given: Sequence[Output | Built] | None, graph: Graph) -> list[Output]:
    if given is None:
        return [ops.OnesLike(x=output) for output in ends]
    if len(given) != len(ends):
        raise errors.InvalidArgumentError(f"add_symbolic_gradients: {len(ends)} outputs, but {len(given)} grad_outputs")
    seeds = [_output(g) for g in given]
    for place, (seed, output) in enumerate(zip(seeds, ends, strict=True)):
        _check(f"grad_outputs[{place}]", seed, graph)
        one, other = seed.shape, output.shape
        apart = (
            one is not None
            and other is not None
            and (len(one) != len(other) or any(None not in (n, m) and n != m for n, m in zip(one, other, strict=True)))
        )
        if seed.dtype != output.dtype or apart:
            raise errors.InvalidArgumentError(
                f"add_symbolic_gradients: grad_outputs[{place}] is {seed.dtype}{shape_text(one)}; "
                f"the output is {output.dtype}{shape_text(other)}"
            )
    return seeds


def _between(leaves: Sequence[Output], ends: Sequence[Output]) -> set[Node]:
    """The nodes on some way from a leaf to an end."""
    before: set[Node] = set()
    waiting = [output.node for output in ends]
    while waiting:
        node = waiting.pop()
        if node not in before:
            before.add(node)
            waiting.extend(i.node for i in node.inputs)
    wanted = set(leaves)
    after: set[Node] = set()
    for node in sorted(before, key=lambda n: n.number):
        if any(i in wanted or i.node in after for i in node.inputs if _has_derivative(i)):
            after.add(node)
    return after


def _has_derivative(source: Output) -> bool:
    """A list does too, though no rule of one is there: then that is said, and nothing is missing without a word."""
    return source.dtype in dtypes.DIFFERENTIABLE or source.dtype == dtypes.LIST


def _carries(source: Output, between: set[Node], wanted: set[Output]) -> bool:
    return _has_derivative(source) and (source in wanted or source.node in between)


def _pull(ops: GraphOps, node: Node, cotangents: Sequence[Cotangent | None]) -> list[Any]:
    """The cotangents of a node's inputs, by its op's rule."""
    try:
        if node.op.state == "loop":
            dense = [None if c is None else ops.dense(c) for c in cotangents]
            return node.op.pulled(node, dense, ops.scope)  # type: ignore[attr-defined, no-any-return]
        pulled = pull(ops, node.op, node.flat(node.inputs), node.outputs, cotangents, node.attrs)
        return [gradient for place, gradient in enumerate(pulled) if place not in node.absent]
    except errors.UnsupportedTypeError as problem:
        raise errors.at_node(problem, node.name) from None


def _answer(ops: GraphOps, place: int, leaf: Output, parts: list[Cotangent] | None, unconnected: str) -> Any:
    if parts is not None:
        return ops.total(parts)
    if unconnected == "none":
        return None
    raise errors.InvalidArgumentError(
        f"add_symbolic_gradients: no output depends on inputs[{place}] ({leaf.name}) in a way that has a derivative"
    )
