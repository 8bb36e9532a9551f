"""GraphDef files between gradbag and the real TensorFlow, in both directions."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.framework import op_def_registry
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

import gradbag
from gradbag import dtypes
from gradbag.graph import (
    ClientSession,
    Graph,
    Output,
    Scope,
    add_symbolic_gradients,
    load_graphdef,
    ops,
    save_graphdef,
    to_graphdef_bytes,
)
from gradbag.spec import Op, registry
from gradbag.testing.cases import cases, type_choices

from .both import Call
from .graphs import assert_agrees, parse, run
from .test_basic_ops import DIFFERENT, THEY_REFUSE

ALL = [op for op in registry if hasattr(tf.raw_ops, op.name)]  # the others are gradbag's own
GRAPHS = 208
HERE = Path(__file__).parent


# ------------------------------------------------------------------ saved by gradbag, run by TensorFlow
class RandomGraph:
    """Calls of random ops on their declared samples; floating inputs may come from other nodes instead."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng, self.scope, self.feeds = rng, Scope.new_root_scope(), {}
        self.made: list[Output] = []
        while len(self.scope.graph) < 30:
            self.add(CHOSEN[rng.integers(len(CHOSEN))])

    def add(self, op: Op) -> None:
        rng = self.rng
        choices = [types for types in type_choices(op) if _in_tensorflow(op, types)]
        found = list(cases(op, choices[rng.integers(len(choices))], int(rng.integers(1000))))
        case = found[rng.integers(len(found))]
        args = op.flat_inputs(len(case.arrays))
        if args and any(case.attrs[a.name] is None for a in op.attrs if a.kind == "shape"):
            return  # TensorFlow's EnsureShape cannot do without a rank
        call = Call(op, dict(case.inputs), dict(case.attrs))
        if any(op.name in known and known[op.name](call) for known in (THEY_REFUSE, DIFFERENT)):
            return
        try:
            gradbag.eager.run(op, case.arrays, dict(case.attrs))
        except gradbag.Error:
            return  # a sample of what is refused
        values = [self.value(arg.name in op.differentiable, a) for arg, a in zip(args, case.arrays, strict=True)]
        lists = [
            [v for v in given if v is not None] if arg.many else given
            for arg, given in zip(op.inputs, op.grouped(values), strict=True)
        ]
        self.made += getattr(ops, op.name)(self.scope, *lists, **case.attrs).node.outputs

    def value(self, free: bool, array: Any) -> Output | None:
        if array is None:  # what the shorter one of several lists lacks
            return None
        rng, dtype = self.rng, dtypes.name_of(array.dtype)
        alike = [o for o in self.made if o.dtype == dtype and o.shape == array.shape]
        if free and alike and rng.random() < 0.7:
            return alike[rng.integers(len(alike))]
        if rng.random() < 0.5:
            return ops.Const(self.scope, array, dtype).output
        shapes = [None, array.shape, tuple(n if rng.random() < 0.5 else None for n in array.shape)]
        made: Output = ops.Placeholder(self.scope, dtype=dtype, shape=shapes[rng.integers(3)]).output
        self.feeds[made.name] = array
        return made


# Declared by TensorFlow, but without a kernel or without a rule for the shape.
LACKING = {("Where", "float16"), ("Range", "float16")}


def _in_tensorflow(op: Op, types: dict[str, str]) -> bool:
    """gradbag's sparse ops take more dtypes than TensorFlow's; and no Const holds quantized numbers."""
    if any(name in dtypes.QUANTIZED or (op.name, name) in LACKING for name in types.values()):
        return False
    declared = {attr.name: attr.allowed_values.list.type for attr in op_def_registry.get(op.name).attr}
    return all(not declared[v] or tf.as_dtype(name).as_datatype_enum in declared[v] for v, name in types.items())


# TensorFlow wants a shape of the first before the run, and says of the second, of one number, that it is a number.
ASTRAY = {"RaggedTensorToTensor", "DenseBincount"}
# A constant can stand for any input but a variable.
CHOSEN = [op for op in ALL if not op.state and op.outputs and op.name not in {"Const", *ASTRAY}]
CHOSEN = [op for op in CHOSEN if not any(a.handle or a.updates for a in (*op.inputs, *op.outputs))]


@pytest.mark.parametrize("part", range(8))
def test_random_graphs_saved_by_either_give_the_same_in_both(part: int, seed: int) -> None:
    compared = 0
    for number in range(GRAPHS // 8):
        made = RandomGraph(np.random.default_rng([seed, part, number]))
        graph_def = parse(to_graphdef_bytes(made.scope.graph))
        compared += assert_agrees(made.scope.graph, graph_def, made.feeds)
        with tf.Graph().as_default() as theirs:
            tf.import_graph_def(graph_def, name="")
        saved = theirs.as_graph_def(add_shapes=True)
        compared += assert_agrees(load_graphdef(saved.SerializeToString()), saved, made.feeds)
    assert compared > 200


def test_variables_change_in_tensorflow_as_here() -> None:
    scope = Scope.new_root_scope()
    variable = ops.VariableV2(scope.with_op_name("v"), shape=(2,), dtype="float32").ref
    ops.Assign(scope.with_op_name("first"), variable, np.array([1.0, 2.0], np.float32))
    ops.AssignAdd(scope.with_op_name("more"), variable, np.array([0.5, 0.25], np.float32))
    data = to_graphdef_bytes(scope.graph)
    session = ClientSession(load_graphdef(data))
    session.run(run_only=["first"])
    session.run(run_only=["more"])
    (want,) = run(parse(data), {}, ["v:0"], before=("first", "more"))
    assert session.run(fetches="v").tolist() == want.tolist() == [1.5, 2.25]


def test_our_gradient_graph_runs_in_tensorflow() -> None:
    scope = Scope.new_root_scope()
    table = ops.Placeholder(scope.with_op_name("table"), dtype="float32", shape=(None, 4)).output
    pooled = ops.SparseSegmentSqrtN(scope, table, [0, 3, 3, 1], [0, 0, 2, 2]).output
    loss = ops.Mean(scope, ops.Square(scope, ops.Tanh(scope, pooled)), [0, 1]).output
    (gradient,) = add_symbolic_gradients(scope, [loss], [table])
    (second,) = add_symbolic_gradients(scope, [ops.L2Loss(scope, gradient).output], [table])
    assert second.node.name in scope.graph
    feeds = {"table:0": np.random.default_rng(4).normal(size=(5, 4)).astype(np.float32)}
    assert assert_agrees(scope.graph, parse(to_graphdef_bytes(scope.graph)), feeds) > 50


# ------------------------------------------------------------------ made by TensorFlow, run by gradbag
def loaded(graph_def: Any) -> Graph:
    """gradbag's graph of TensorFlow's file; the text form gives the same one."""
    graph = load_graphdef(graph_def.SerializeToString())
    assert to_graphdef_bytes(load_graphdef(str(graph_def).encode())) == to_graphdef_bytes(graph)
    return graph


def assert_same_results(graph_def: Any, feeds: dict[str, Any], fetches: list[str], tolerance: float = 1e-5) -> Graph:
    """Node by node on the graph as we wrote it out, and from end to end; TensorFlow finds the same in both files."""
    graph = loaded(graph_def)
    flat = parse(to_graphdef_bytes(graph))
    assert_agrees(graph, flat, feeds)
    want = run(graph_def, feeds, fetches)
    for ours, theirs, again in zip(
        ClientSession(graph).run(feeds, fetches), want, run(flat, feeds, fetches), strict=True
    ):
        np.testing.assert_array_equal(again, theirs)
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance / 10)
    return graph


POOLING = {
    "sum": tf.sparse.segment_sum,
    "mean": tf.sparse.segment_mean,
    "sqrtn": tf.sparse.segment_sqrt_n,
}


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "compact"])
@pytest.mark.parametrize("pooling", POOLING)
def test_the_gradient_graph_of_an_embedding_model(pooling: str, sparse: bool) -> None:
    rng = np.random.default_rng(1)
    with tf.Graph().as_default() as made:
        table = tf.compat.v1.placeholder(tf.float32, [None, 4], name="table")
        weights = tf.compat.v1.placeholder(tf.float32, [4, 1], name="weights")
        ids = tf.compat.v1.placeholder(tf.int64, [None], name="ids")
        bags = tf.compat.v1.placeholder(tf.int32, [None], name="bags")
        pooled = POOLING[pooling](table, ids, bags, num_segments=4, sparse_gradient=sparse)
        hidden = tf.nn.relu(tf.tanh(pooled) + tf.constant([0.1, -0.1, 0.2, 0.0]))
        logits = tf.matmul(hidden, weights)
        truth = tf.constant([[1.0], [0.0], [1.0], [0.0]])
        loss = tf.reduce_mean(tf.nn.relu(logits) - logits * truth + tf.math.log1p(tf.exp(-tf.abs(logits))))
        loss += 0.01 * tf.nn.l2_loss(weights)
        gradients = tf.gradients(tf.identity(loss, name="loss"), [table, weights])
        if sparse:
            tf.identity(gradients[0].indices, name="touched")
            tf.identity(gradients[0].values, name="table_gradient")
        else:
            tf.identity(gradients[0], name="table_gradient")
        tf.identity(gradients[1], name="weights_gradient")
    feeds = {
        "table:0": rng.normal(size=(7, 4)).astype(np.float32),
        "weights:0": rng.normal(size=(4, 1)).astype(np.float32),
        "ids:0": np.array([0, 6, 6, 2, 3]),
        "bags:0": np.array([0, 0, 1, 3, 3], np.int32),
    }
    names = ["loss:0", "table_gradient:0", "weights_gradient:0", *(["touched:0"] if sparse else [])]
    assert_same_results(made.as_graph_def(add_shapes=True), feeds, names)


def test_a_graph_of_lookups_with_their_gradients() -> None:
    with tf.Graph().as_default() as made:
        table = tf.compat.v1.placeholder(tf.float32, [5, 4], name="table")
        rows = tf.gather(table, [0, 1, 1, 4])
        summed = tf.math.segment_sum(rows, [0, 0, 1, 1])
        scattered = tf.math.unsorted_segment_sum(rows, [2, 0, 1, 2], 3)
        parts = summed * scattered[1:, :]
        unique, places = tf.unique(tf.constant([3, 3, 5]))
        total = tf.reduce_sum(tf.exp(parts * 0.1)) + tf.cast(tf.reduce_sum(unique) + tf.reduce_sum(places), tf.float32)
        gradient = tf.gradients(total, [table])[0]
        tf.identity(total, name="total")
        tf.identity(gradient.values, name="values")
        tf.identity(gradient.indices, name="indices")
        tf.identity(tf.convert_to_tensor(gradient), name="dense")
    feeds = {"table:0": np.random.default_rng(2).normal(size=(5, 4)).astype(np.float32)}
    assert_same_results(made.as_graph_def(), feeds, ["total:0", "values:0", "indices:0", "dense:0"])


@tf.function(autograph=False)
def inner(x: Any) -> Any:
    return tf.tanh(x) * 2.0, x + 1.0


@tf.function(autograph=False)
def outer(x: Any, weights: Any) -> Any:
    first, moved = inner(x)
    second, _ = inner(moved)
    return tf.matmul(first + second, weights), tf.reduce_sum(moved)


FUNCTION_FEEDS = {
    "x:0": np.random.default_rng(3).normal(size=(2, 3)).astype(np.float32),
    "weights:0": np.random.default_rng(4).normal(size=(3, 2)).astype(np.float32),
}


def test_a_concrete_function_that_calls_another() -> None:
    concrete = outer.get_concrete_function(tf.TensorSpec([None, 3]), tf.TensorSpec([3, 2]))
    graph_def = concrete.graph.as_graph_def()
    assert graph_def.library.function
    graph = assert_same_results(graph_def, FUNCTION_FEEDS, [output.name for output in concrete.outputs])
    assert "PartitionedCall/Tanh" in graph


def test_nested_functions_and_the_gradient_through_them() -> None:
    with tf.Graph().as_default() as made:
        x = tf.compat.v1.placeholder(tf.float32, [None, 3], name="x")
        weights = tf.compat.v1.placeholder(tf.float32, [3, 2], name="weights")
        product, total = outer(x, weights)
        tf.identity(product, name="product")
        tf.identity(total, name="total")
        for name, gradient in zip(["of_x", "of_weights"], tf.gradients(product, [x, weights]), strict=True):
            tf.identity(gradient, name=name)
    graph_def = made.as_graph_def()
    assert len(graph_def.library.function) > 3
    names = ["product:0", "total:0", "of_x:0", "of_weights:0"]
    graph = assert_same_results(graph_def, FUNCTION_FEEDS, names)
    assert "PartitionedCall/PartitionedCall_1/Tanh" in graph


def test_a_function_with_control_outputs() -> None:
    @tf.function(autograph=False)
    def checked(x: Any) -> Any:
        with tf.control_dependencies([tf.no_op(name="first")]):
            return tf.identity(x * 3.0)

    with tf.Graph().as_default() as made:
        x = tf.compat.v1.placeholder(tf.float32, [2], name="x")
        with tf.control_dependencies([tf.constant(1.0)]):
            y = checked(x)
        with tf.control_dependencies([y]):
            tf.constant(5.0, name="after")
        tf.identity(y, name="y")
    assert_same_results(made.as_graph_def(), {"x:0": np.array([1, 2], np.float32)}, ["y:0", "after:0"])


class Model(tf.Module):
    """Tables and weights in variables, and a step that gives the gradients too."""

    def __init__(self) -> None:
        rng = np.random.default_rng(6)
        self.table = tf.Variable(rng.normal(size=(6, 3)).astype(np.float32))
        self.weights = tf.Variable(rng.normal(size=(3, 2)).astype(np.float32))

    @tf.function(autograph=False)
    def step(self, ids: Any, bags: Any) -> Any:
        with tf.GradientTape() as tape:
            pooled = tf.sparse.segment_mean(self.table, ids, bags)
            answer = tf.sigmoid(tf.matmul(pooled, self.weights))
            loss = tf.reduce_sum(tf.square(answer))
        of_table, of_weights = tape.gradient(loss, [self.table, self.weights])
        return answer, tf.convert_to_tensor(of_table), of_weights


def test_a_frozen_model_with_its_gradients() -> None:
    signature = (tf.TensorSpec([None], tf.int64, "ids"), tf.TensorSpec([None], tf.int32, "bags"))
    model = Model()
    concrete = model.step.get_concrete_function(*signature)
    frozen = convert_variables_to_constants_v2(concrete)
    feeds = {"ids:0": np.array([0, 1, 5]), "bags:0": np.array([0, 0, 2], np.int32)}
    graph_def = frozen.graph.as_graph_def()
    graph = assert_same_results(graph_def, feeds, [output.name for output in frozen.outputs])
    fetches = [output.name for output in frozen.outputs]
    for ours, theirs in zip(ClientSession(graph).run(feeds, fetches), model.step(*feeds.values()), strict=True):
        np.testing.assert_allclose(ours, theirs.numpy(), rtol=1e-5)


def test_what_is_lacking_is_told_at_once() -> None:
    @tf.function(autograph=False)
    def step(image: Any) -> Any:
        return tf.signal.fft(tf.signal.fft(tf.cast(tf.linalg.det(image), tf.complex64)))

    made = step.get_concrete_function(tf.TensorSpec([1, 4, 4, 4])).graph.as_graph_def()
    told = r"does not have: MatrixDeterminant \(node 'MatrixDeterminant'\); FFT \(nodes 'FFT', 'FFT_1'\)\. "
    with pytest.raises(gradbag.InvalidArgumentError, match=told):
        load_graphdef(made.SerializeToString())


@pytest.mark.parametrize("dtype", [name for name in dtypes.ANY if name != "string"])
def test_constants_of_both_sides_are_the_same(dtype: str) -> None:
    rng = np.random.default_rng(8)
    for array in (np.arange(6).reshape(2, 3), rng.integers(0, 9, (1,)), np.array(7), np.zeros((0, 2)), np.ones(9)):
        value = array.astype(dtypes.numpy_dtype(dtype))
        with tf.Graph().as_default() as made:
            tf.constant(value, tf.as_dtype(dtype), name="c")
        ours = load_graphdef(made.as_graph_def().SerializeToString()).node("c").attrs["value"]
        assert (ours.dtype, ours.shape, ours.tobytes()) == (value.dtype, value.shape, value.tobytes())
        tensor = parse(to_graphdef_bytes(load_graphdef(made.as_graph_def().SerializeToString()))).node[0].attr["value"]
        assert tf.make_ndarray(tensor.tensor).tobytes() == value.tobytes()


# ------------------------------------------------------------------ in one process, and in viewers
@pytest.mark.parametrize("first", ["tensorflow", "gradbag"])
def test_the_messages_do_not_clash_with_tensorflows(first: str) -> None:
    ours = "from gradbag.graph import *\ndata = to_graphdef_bytes(Scope.new_root_scope().graph)\nload_graphdef(data)"
    theirs = "import tensorflow as tf\nproto = tf.compat.v1.GraphDef()"
    parts = [theirs, ours] if first == "tensorflow" else [ours, theirs]
    end = "assert proto.ParseFromString(data) and proto.versions.producer == 2474\nload_graphdef(data)\nprint('fine')"
    done = subprocess.run([sys.executable, "-c", "\n".join([*parts, end])], capture_output=True, text=True, check=False)
    assert done.stdout == "fine\n", done.stderr


@pytest.mark.parametrize("name", ["graph.pb", "graph.pbtxt"])
def test_netron_opens_a_saved_graph(name: str, tmp_path: Path) -> None:
    netron = pytest.importorskip("netron")
    scope = Scope.new_root_scope()
    table = ops.Placeholder(scope.with_op_name("table"), dtype="float32", shape=(None, 2)).output
    pooled = ops.SparseSegmentMean(scope, table, [0, 1, 1], [0, 0, 1]).output
    ops.Identity(scope.with_op_name("gradient"), add_symbolic_gradients(scope, [pooled], [table])[0])
    path = tmp_path / name
    save_graphdef(scope.graph, path)
    address = netron.start(str(path), browse=False)
    try:
        with urllib.request.urlopen(f"http://{address[0]}:{address[1]}/data/{name}", timeout=10) as answer:
            assert answer.read() == path.read_bytes()
    finally:
        netron.stop(address)
    # What Netron understands of a file, its page finds out: its own reader needs an interpreter of JavaScript.
    node = shutil.which("node") or shutil.which("node", path=str(Path(sys.executable).parent))
    if node is None:
        pytest.skip("Node.js is not installed, so only the server was tried")
    spec = importlib.util.find_spec("netron")
    assert spec is not None
    assert spec.origin is not None
    command = [node, str(HERE / "netron_open.mjs"), str(Path(spec.origin).parent), str(path)]
    told = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert told["format"].startswith("TensorFlow Graph")
    nodes = {node["name"]: node for node in told["nodes"]}
    assert nodes["SparseSegmentMean"]["inputs"] == ["data", "indices", "segment_ids"]
    assert nodes["gradient"]["op"] == "Identity"
    assert "gradients/SparseSegmentMeanGrad" in nodes
