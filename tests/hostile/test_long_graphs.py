"""Graphs as deep as they are large: nothing may recurse over the depth."""

from __future__ import annotations

from gradbag.graph import ClientSession, Graph, Output, ResultCache, Scope, load_graphdef, ops, to_graphdef_bytes
from gradbag.spec import registry

NODES = 1_000_000


def test_a_chain_of_a_million_nodes_is_saved_loaded_and_run() -> None:
    graph = Graph()
    last = ops.Const(Scope.over(graph).with_op_name("first"), [1.5, 2.5]).output
    identity = registry["Identity"]
    for number in range(NODES - 1):
        last = Output(graph.add(identity, f"n{number}", [last]), 0)
    data = to_graphdef_bytes(graph, output_shapes=False)
    del graph, last
    loaded = load_graphdef(data)
    assert len(loaded) == NODES
    assert ClientSession(loaded, ResultCache(0)).run(fetches=f"n{NODES - 2}").tolist() == [1.5, 2.5]
    assert to_graphdef_bytes(loaded, output_shapes=False) == data
