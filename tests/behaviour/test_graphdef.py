"""GraphDef files: what is saved comes back, whatever the op."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradbag
from gradbag import dtypes
from gradbag.graph import (
    ClientSession,
    Graph,
    Node,
    Output,
    Scope,
    add_symbolic_gradients,
    load_graphdef,
    ops,
    save_graphdef,
    to_graphdef_bytes,
)
from gradbag.graph.graphdef.messages import message
from gradbag.graph.graphdef.tensors import Budget, read_tensor, write_tensor
from gradbag.spec import Op, registry
from gradbag.testing.cases import Case, cases, usual_types
from gradbag.testing.oracle import assert_same

from .graph_files import Maker, set_attr

ALL = list(registry)


def in_graph(case: Case) -> tuple[Graph, Node, dict[str, Any]]:
    """A case as a graph of constants, its node, and what must be fed: placeholders, and variables that are assigned."""
    scope = Scope.new_root_scope()
    values: list[Any] = [None if array is None else ops.Const(scope, array).output for array in case.arrays]
    feeds: dict[str, Any] = {}
    for place in [0] if case.op.state in ("assign", "update") else case.op.flat_updates(len(values)):
        array = case.arrays[place]
        made = scope.with_op_name(f"variable{place}")
        shape = (None, *array.shape[1:]) if array.ndim else ()
        values[place] = ops.VariableV2(made, shape=shape, dtype=dtypes.name_of(array.dtype)).ref
        feeds[f"variable{place}"] = array
    built = getattr(ops, case.op.name)(scope.with_op_name("it"), *case.op.grouped(values), **case.attrs)
    if case.op.name == "Placeholder" or case.op.state == "variable":
        output = built.node.outputs[0]
        kind, sizes = dtypes.numpy_dtype(output.dtype), [n or 2 for n in output.shape or ()]
        feeds["it"] = np.full(sizes, "1" if output.dtype == "string" else 1, kind)
    return scope.graph, built.node, feeds


def results(graph: Graph, node: str, feeds: dict[str, Any]) -> list[Any]:
    """The outputs, and then what the variables are."""
    session = ClientSession(graph)
    variables = [name for name in feeds if graph.node(name).op.state == "variable"]
    for name in variables:
        session.set_variable(name, feeds[name])
    fed = {name: value for name, value in feeds.items() if graph.node(name).op.state == "fed"}
    made = graph.node(node)
    outputs = made.outputs
    if made.op.state == "switch":  # one of the two has a value
        outputs = [outputs[int(made.inputs[1].node.attrs["value"])]]
    fetched: list[Any] = session.run(fed, outputs, run_only=[] if outputs else [node])
    return fetched + session.run({}, [graph.node(name).outputs[0] for name in variables])


def summary(graph: Graph) -> list[Any]:
    """All of a graph, without the values of its constants."""
    return [
        (
            node.name,
            node.op.name,
            [i.name for i in node.inputs],
            [c.name for c in node.control],
            node.shapes,
            node.dtypes,
            {name: value for name, value in node.attrs.items() if not isinstance(value, np.ndarray)},
        )
        for node in graph
    ]


@pytest.mark.parametrize("op", ALL, ids=lambda op: op.name)
def test_every_op_comes_back_and_gives_the_same(op: Op) -> None:
    count = 0
    for case in cases(op, usual_types(op)):
        try:
            graph, node, feeds = in_graph(case)
            want = results(graph, node.name, feeds)
        except gradbag.Error:
            continue  # a sample of what is refused
        data = to_graphdef_bytes(graph)
        forms = [data, to_graphdef_bytes(graph, text=True)] if case.label == "example" else [data]
        for form in forms:
            loaded = load_graphdef(form)
            assert summary(loaded) == summary(graph)
            assert to_graphdef_bytes(loaded) == data
            for got, expected in zip(results(loaded, node.name, feeds), want, strict=True):
                assert_same(got, expected, str(case))
        count += 1
    assert count


@pytest.mark.parametrize("dtype", dtypes.ANY)
@pytest.mark.parametrize("shape", [(), (1,), (5,), (2, 0, 3), (2, 3)])
def test_constants_keep_their_bits(dtype: str, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(3)
    made = dtypes.numpy_dtype(dtype)
    if dtype == "string":
        array = np.array([f"text {n} é" for n in range(6)], object)[: int(np.prod(shape))].reshape(shape)
    elif dtype == "bool":
        array = rng.random(shape) > 0.5
    else:  # any bits: NaNs with payloads too
        array = np.frombuffer(rng.bytes(int(np.prod(shape)) * made.itemsize), made).reshape(shape)
    for value in (array, np.full(shape, array.flat[0] if array.size else 0, made)):
        scope = Scope.new_root_scope()
        ops.Const(scope, np.asarray(value, made), dtype)
        for text in (False, True):
            loaded = load_graphdef(to_graphdef_bytes(scope.graph, text=text)).node("Const").attrs["value"]
            assert loaded.dtype == made
            assert loaded.shape == shape
            assert loaded.tobytes() == value.tobytes() or dtype == "string"
            assert dtype != "string" or loaded.tolist() == value.tolist()


@pytest.mark.parametrize("dtype", dtypes.QUANTIZED)
def test_tensors_of_quantized_numbers_keep_their_bits(dtype: str) -> None:
    for array in (np.arange(3), np.array(-7), np.full(4, 9)):
        quantized = array.astype(dtypes.numpy_dtype(dtype)[0]).view(dtypes.numpy_dtype(dtype))
        proto = message("TensorProto")()
        write_tensor(quantized, dtype, proto)
        assert_same(read_tensor(proto, Budget(100)), quantized)


def test_a_constant_of_one_value_stays_small_until_it_is_used() -> None:
    scope = Scope.new_root_scope()
    ops.Const(scope, np.full((1000, 1000), 7, np.int16))
    data = to_graphdef_bytes(scope.graph)
    assert len(data) < 200
    value = load_graphdef(data).node("Const").attrs["value"]
    assert value.strides == (0, 0)
    assert to_graphdef_bytes(load_graphdef(data)) == data
    assert ClientSession(load_graphdef(data)).run(fetches="Const").sum() == 7_000_000


def test_text_that_is_not_utf_8_stays_bytes() -> None:
    made = Maker()
    made.const(dtype="string", shape=(2,), string_val=[b"\xff", b"a"])
    assert load_graphdef(made.bytes).node("c").attrs["value"].tolist() == [b"\xff", b"a"]


def example_graph() -> Graph:
    """A bit of everything: constants, a list of inputs, control, several outputs, unknown shapes, a gradient."""
    scope = Scope.new_root_scope()
    table = ops.Placeholder(scope.with_op_name("table"), dtype="float32", shape=(None, 2)).output
    mean = ops.SparseSegmentMean(scope, table, [0, 2, 2], [0, 0, 1]).output
    joined = ops.ConcatV2(scope, [mean, mean], 0).output
    unique = ops.Unique(scope, [3, 3, 5])
    ops.Identity(scope.with_control_dependencies([joined.node, unique.node]), unique.idx)
    (gradient,) = add_symbolic_gradients(scope, [joined], [table])
    ops.Identity(scope.with_op_name("gradient"), gradient)
    return scope.graph


def test_a_graph_with_a_gradient_comes_back_from_files(tmp_path: Path) -> None:
    graph = example_graph()
    feeds = {"table": np.arange(6, dtype=np.float32).reshape(3, 2)}
    want = ClientSession(graph).run(feeds, ["gradient", "ConcatV2"])
    save_graphdef(graph, tmp_path / "graph.pb")
    save_graphdef(graph, tmp_path / "graph.pbtxt")
    save_graphdef(graph, tmp_path / "named.txt", text=True)
    assert (tmp_path / "graph.pb").read_bytes() == to_graphdef_bytes(graph)
    assert (tmp_path / "graph.pbtxt").read_bytes().startswith(b"node {")
    assert (tmp_path / "named.txt").read_bytes() == (tmp_path / "graph.pbtxt").read_bytes()
    for name in ("graph.pb", "graph.pbtxt", "named.txt"):
        loaded = load_graphdef(str(tmp_path / name))
        assert summary(loaded) == summary(graph)
        for got, expected in zip(ClientSession(loaded).run(feeds, ["gradient", "ConcatV2"]), want, strict=True):
            assert_same(got, expected)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["graph.pb", "graph.pbtxt", "named.txt"]


def test_the_same_graph_gives_the_same_bytes_in_every_process(python: Any) -> None:
    program = """
import hashlib
from gradbag.graph import Scope, ops, to_graphdef_bytes
scope = Scope.new_root_scope()
x = ops.Placeholder(scope, dtype="float32", shape=(2, None)).output
ops.StridedSlice(scope, x, [0, 0], [1, 1], [1, 1], begin_mask=1, end_mask=2)
print(hashlib.sha256(to_graphdef_bytes(scope.graph)).hexdigest())
"""
    assert len({python(f"import os\n{program}").stdout for _ in range(2)} - {""}) == 1


def test_shapes_of_outputs_may_be_left_out() -> None:
    graph = example_graph()
    short = to_graphdef_bytes(graph, output_shapes=False)
    assert b"_output_shapes" not in short
    assert summary(load_graphdef(short)) == summary(graph)


def test_nodes_may_stand_in_any_order() -> None:
    graph = example_graph()
    proto = type(Maker().proto).FromString(to_graphdef_bytes(graph))
    nodes = list(proto.node)
    np.random.default_rng(1).shuffle(nodes)  # type: ignore[arg-type]
    made = Maker()
    made.proto.node.extend(nodes)
    loaded = load_graphdef(made.bytes)
    assert {node.name for node in loaded} == {node.name for node in graph}
    feeds = {"table": np.ones((3, 2), np.float32)}
    assert_same(ClientSession(loaded).run(feeds, "gradient"), ClientSession(graph).run(feeds, "gradient"))


def test_an_empty_graph_comes_back() -> None:
    assert len(load_graphdef(to_graphdef_bytes(Graph()))) == 0


def test_a_long_chain_needs_no_recursion() -> None:
    graph = Graph()
    scope = Scope.over(graph)
    last = ops.Const(scope, [1.0, 2.0]).output
    identity = registry["Identity"]
    for number in range(5_000):
        last = Output(graph.add(identity, f"n{number}", [last]), 0)
    data = to_graphdef_bytes(graph)
    proto = type(Maker().proto).FromString(data)
    nodes = list(proto.node)[::-1]
    backwards = Maker()
    backwards.proto.node.extend(nodes)
    for loaded in (load_graphdef(data), load_graphdef(backwards.bytes)):
        assert len(loaded) == 5_001
        assert ClientSession(loaded).run(fetches="n4999").tolist() == [1.0, 2.0]


# ------------------------------------------------------------------ functions
def calling(made: Maker, name: str, function: str, *inputs: str, into: Any = None) -> Any:
    return made.node(name, "PartitionedCall", *inputs, into=into, f={"func": function})


def test_calls_of_functions_are_written_out() -> None:
    made = Maker()
    made.const("c", float_val=[3.0])
    inner = made.function("inner", "x", "twice same", twice="add:z:0", same="x")
    made.node("add", "AddV2", "x", "x", into=inner, T={"placeholder": "dtype"})
    inner.signature.attr.add(name="dtype")
    outer = made.function("outer", "x", "y", y="sum:z:0")
    outer.signature.attr.add(name="kind").default_value.type = 1
    first = calling(made, "first", "inner", "x", into=outer)
    set_attr(first.attr[0].value.func, "dtype", {"placeholder": "kind"})
    made.node("second", "inner", "first:output:0", into=outer, dtype="float32")
    made.node("sum", "AddV2", "first:output:1", "second:twice:0", into=outer)
    calling(made, "call", "outer", "c")
    made.node("end", "Identity", "call")
    graph = load_graphdef(made.bytes)
    assert [node.name for node in graph] == [
        "c",
        "call/first/add",
        "call/first",
        "call/second/add",
        "call/second",
        "call/sum",
        "call",
        "end",
    ]
    assert ClientSession(graph).run(fetches=["end", "call"]) == [15.0, 15.0]


def test_what_a_call_waits_for_runs_before_its_nodes() -> None:
    made = Maker()
    made.const("c", float_val=[3.0])
    made.node("before", "NoOp")
    function = made.function("f", "x", "y z", y="x", z="two:z:0")
    made.node("one", "Neg", "x", into=function).attr.add(key="T").value.type = 1
    made.node("two", "AddV2", "one:y:0", "x", into=function)
    made.node("done", "NoOp", "^one", into=function)
    function.control_ret.add(key="done", value="done")
    calling(made, "call", "f", "c", "^before")
    made.node("y", "Identity", "call")
    made.node("z", "Identity", "call:1")
    made.node("after", "NoOp", "^call")
    function.node_def[1].op = "AddV2"
    graph = load_graphdef(made.bytes)
    assert [c.name for c in graph.node("Func/call/input_control_node").control] == ["before"]
    assert [c.name for c in graph.node("call/one").control] == ["Func/call/input_control_node"]
    assert graph.node("call/two").control == ()
    assert "call/done" in [c.name for c in graph.node("call").control]
    assert [c.name for c in graph.node("after").control] == ["call"]
    assert ClientSession(graph).run(fetches=["y", "z"], run_only=["after"]) == [3.0, 0.0]


# ------------------------------------------------------------------ protobuf
def test_without_protobuf_the_error_says_what_to_install(python: Any) -> None:
    program = """
from gradbag.graph import Scope, to_graphdef_bytes, load_graphdef
for call in (lambda: to_graphdef_bytes(Scope.new_root_scope().graph), lambda: load_graphdef(b"x")):
    try:
        call()
    except ModuleNotFoundError as problem:
        print(problem)
"""
    done = python(program, blocked=["google.protobuf"])
    assert done.stdout.count("pip install 'gradbag[graphdef]'") == 2, done.stderr


def test_the_pure_python_protobuf_is_refused(python: Any) -> None:
    program = """
import os
os.environ["PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"] = "python"
from gradbag.graph import load_graphdef
try:
    load_graphdef(b"x")
except ImportError as problem:
    print(problem)
"""
    assert "compiled implementation" in python(program).stdout


def test_importing_the_graph_does_not_import_protobuf(python: Any) -> None:
    assert python("import gradbag.graph; print('google.protobuf' in sys.modules)").stdout == "False\n"
