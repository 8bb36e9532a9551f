"""From a saved model to a page: a first run gives the variables their values, and each signature is a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..graph.building import constant
from ..graph.graph import Graph, Node, Output
from ..graph.saved_model import SavedModel
from ..graph.scope import Scope
from ..ops.array.lookup_tables import columns
from ..spec import registry
from .import_graph import from_graph
from .model import Page

Array = np.ndarray[Any, Any]
RESTORE = "restore"


def from_saved_model(model: SavedModel, title: str = "") -> Page:
    """The page of what a model's signatures need. It is not fed: a signature says what it takes, not which values."""
    ends = [port.node for one in model.signatures.values() for port in (*one.inputs.values(), *one.outputs.values())]
    graph = _copy(model.graph, ends)
    restored = [
        _restored(graph, graph.node(name), value)
        for name, (value, _) in model.session.variables.items()
        if name in graph and graph.node(name).op.state == "variable"
    ]
    page = from_graph(graph, title)
    runs: dict[str, Any] = page.document.setdefault("runs", {})
    if restored:
        runs[RESTORE] = {"only": restored}
    for name, signature in model.signatures.items():
        outputs = signature.outputs.values()
        named = [o.node.name if len(o.node.dtypes) == 1 else f"{o.node.name}.{o.port}" for o in outputs]
        runs[name if name != RESTORE else f"{name}_"] = {"fetch": list(dict.fromkeys(named))}
    return page


def _copy(graph: Graph, ends: Sequence[Node]) -> Graph:
    """The nodes that some of them need, in a graph that may grow; what only gave variables their values is left out."""
    copy = Graph()
    for node in graph:
        inputs = tuple(Output(copy.node(i.node.name), i.index) for i in node.inputs)
        copy.adopt(node, inputs, tuple(copy.node(before.name) for before in node.control))
    copy.keep_needed(0, [copy.node(end.name) for end in ends])
    return copy


def _restored(graph: Graph, variable: Node, value: Array) -> str:
    """Add the node that gives a variable its value, and tell its name."""
    name = f"{RESTORE}/{variable.name}"
    while name in graph:
        name += "_"
    values = [value]
    if not variable.op.outputs[0].handle:
        op = registry["Assign"]
    elif "key_dtype" in variable.attrs:
        op = registry["LookupTableImportV2"]
        values = columns(value, variable.attrs["key_dtype"], variable.attrs["value_dtype"])
    else:
        op = registry["AssignVariableOp"]
    scope = Scope.over(graph)
    constants = [
        constant(scope.with_op_name(f"{name}/{arg.name}"), value)
        for arg, value in zip(op.inputs[1:], values, strict=True)
    ]
    graph.add(op, name, [*variable.outputs, *constants])
    return name
