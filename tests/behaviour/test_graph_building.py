"""Building graphs: names, constants, checks while building, and the ways to call an op."""

from typing import Any

import numpy as np
import pytest

import gradbag
from gradbag import raw_ops
from gradbag.graph import ClientSession, Graph, Output, Scope, ops
from gradbag.graph.graph import shape_text
from gradbag.spec import Op, registry
from gradbag.testing.oracle import listed

GRAD = [[1.0, 2.0, 3.0], [4.0, 4.0, 2.0], [3.0, 1.0, 5.0]]


def test_the_constructor_of_the_c_plus_plus_api_works_as_it_is_written_there() -> None:
    scope = Scope.new_root_scope()
    grad = ops.Const(scope, np.array(GRAD))
    indices, segment_ids = ops.Const(scope, [0, 1, 2]), ops.Const(scope, [2, 2, 2])
    output_dim0 = ops.Const(scope, 3)
    output = ops.SparseSegmentMeanGrad(scope, grad, indices, segment_ids, output_dim0).output
    (rows,) = ClientSession(scope).run(fetches=[output])
    np.testing.assert_allclose(rows, [[1.0, 1 / 3, 5 / 3]] * 3)


def test_several_outputs_are_attributes_and_can_be_unpacked() -> None:
    scope = Scope.new_root_scope()
    split = ops.SparseFillEmptyRowsGrad(scope, np.array([0, 2]), [1.0, 10.0, 2.0])
    d_values, d_default_value = split
    assert d_values == split.d_values
    assert (split.d_values.name, d_default_value.name) == ("SparseFillEmptyRowsGrad:0", "SparseFillEmptyRowsGrad:1")
    with pytest.raises(AttributeError, match="has no output 'output'; it has d_values, d_default_value"):
        _ = split.output


# ------------------------------------------------------------------ names
def test_the_second_node_of_a_name_gets_a_number_as_in_tensorflow() -> None:
    scope = Scope.new_root_scope()
    names = [ops.Const(scope, 1.0).node.name for _ in range(3)]
    names += [ops.Const(scope.with_op_name("x"), 1.0).node.name for _ in range(2)]
    names.append(ops.Const(scope.with_op_name("x_1"), 1.0).node.name)
    assert names == ["Const", "Const_1", "Const_2", "x", "x_1", "x_1_1"]


def test_a_sub_scope_is_a_prefix_and_unique_too() -> None:
    root = Scope.new_root_scope()
    first, second = root.new_sub_scope("tower"), root.new_sub_scope("tower")
    inner = first.new_sub_scope("deep")
    assert [ops.Const(s, 1.0).node.name for s in (first, second, inner)] == [
        "tower/Const",
        "tower_1/Const",
        "tower/deep/Const",
    ]


def test_two_root_scopes_over_one_graph_do_not_collide() -> None:
    graph = Graph()
    names = [ops.Const(Scope.over(graph), 1.0).node.name for _ in range(3)]
    assert names == ["Const", "Const_1", "Const_2"]


@pytest.mark.parametrize("name", ["", "a b", "é", "/a", "_a", "a" * 1025, "a\0", "a:0", "^a"])
def test_a_name_that_tensorflow_would_refuse_is_refused(name: str) -> None:
    with pytest.raises(gradbag.InvalidArgumentError, match="is no name for a node"):
        Scope.new_root_scope().with_op_name(name)


# ------------------------------------------------------------------ values become constants
def test_python_values_take_the_dtype_of_the_outputs_beside_them() -> None:
    scope = Scope.new_root_scope()
    half = ops.Placeholder(scope, dtype="float16", shape=[None])
    total = ops.AddV2(scope, half, 2.5)
    assert total.z.dtype == "float16"
    constant = scope.graph.node("AddV2/y")
    assert (constant.op.name, constant.dtypes) == ("Const", ["float16"])
    with pytest.raises(gradbag.UnsupportedTypeError, match=r"^AddV2: y must be float16 like x; got float64"):
        ops.AddV2(scope, half, np.float64(2.5))


def test_raw_ops_called_with_an_output_build_a_node() -> None:
    scope = Scope.new_root_scope()
    data = ops.Placeholder(scope.with_op_name("data"), dtype="float32", shape=[4, None]).output
    pooled = raw_ops.SparseSegmentSum(data=data, indices=[0, 1], segment_ids=[0, 0])
    assert isinstance(pooled, Output)
    assert shape_text(pooled.shape) == "[?, ?]"
    np.testing.assert_array_equal(
        ClientSession(scope).run({data: np.ones((4, 2), np.float32)}, pooled), np.full((1, 2), 2, np.float32)
    )


# ------------------------------------------------------------------ checks while building
def test_a_wrong_dtype_is_told_while_building() -> None:
    scope = Scope.new_root_scope()
    ids = ops.Const(scope, [0.0, 1.0])
    with pytest.raises(
        gradbag.UnsupportedTypeError, match=r"^SparseSegmentSum: indices must be one of int32, int64; got"
    ):
        ops.SparseSegmentSum(scope, np.ones((2, 2)), ids, [0, 0])


def test_a_wrong_shape_is_told_while_building() -> None:
    scope = Scope.new_root_scope()
    with pytest.raises(gradbag.InvalidArgumentError, match=r"segment_ids must have shape \[n\] with n=2; got \[3\]"):
        ops.SparseSegmentSum(scope, np.ones((2, 2)), [0, 1], [0, 0, 0])
    assert len([node for node in scope.graph if node.op.name != "Const"]) == 0


def test_sizes_that_are_computed_from_known_shapes_are_known() -> None:
    scope = Scope.new_root_scope()
    table = ops.Placeholder(scope, dtype="float32", shape=[7, 2]).output
    rows = ops.GatherV2(scope, ops.Shape(scope, table), 0, 0).output
    grad = ops.Placeholder(scope, dtype="float32", shape=[None, 2]).output
    dense = ops.SparseSegmentSumGrad(scope, grad, [0, 1], [0, 0], rows).output
    assert dense.shape == (7, 2)


def test_a_node_of_another_graph_is_refused() -> None:
    other = ops.Const(Scope.new_root_scope(), 1.0)
    with pytest.raises(gradbag.InvalidArgumentError, match="'Const' belongs to another graph"):
        ops.Neg(Scope.new_root_scope(), other)


def test_wrong_calls_of_a_constructor_are_told() -> None:
    scope = Scope.new_root_scope()
    with pytest.raises(TypeError, match="the first argument is the scope; got float"):
        ops.Neg(1.0)
    with pytest.raises(TypeError, match="misses the required argument 'y'"):
        ops.AddV2(scope, 1.0)
    with pytest.raises(TypeError, match="'x' is given twice"):
        ops.AddV2(scope, 1.0, x=1.0)
    with pytest.raises(TypeError, match="'z' is unknown"):
        ops.AddV2(scope, 1.0, z=1.0)
    with pytest.raises(AttributeError, match="has no op 'Nonsense'"):
        _ = ops.Nonsense


def test_an_output_is_no_array() -> None:
    with pytest.raises(gradbag.UnsupportedTypeError, match="has no value before it is run"):
        np.asarray(ops.Const(Scope.new_root_scope(), 1.0).output)


@pytest.mark.parametrize("op", [op for op in registry if not op.state], ids=lambda op: op.name)
def test_every_op_builds_from_its_example_and_gives_it(op: Op) -> None:
    """The inputs stand in by placeholders without a shape, so that nothing is known while building."""
    attrs = {name: value for name, value in op.example.inputs.items() if name in op.attr_defaults}
    scope = Scope.new_root_scope()
    arrays = gradbag.arguments.to_arrays(op, op.flat([op.example.inputs.get(name) for name in op.input_names]))
    values: list[Any] = []
    feeds, updated, before = {}, {}, []
    for arg, array in zip(op.flat_inputs(len(arrays)), arrays, strict=True):
        if array is None:
            values.append(None)
        elif arg.updates:
            variable = ops.VariableV2(scope, shape=array.shape, dtype=gradbag.dtypes.name_of(array.dtype)).ref
            before.append(ops.Assign(scope, variable, array).output_ref)
            updated[variable] = array
            values.append(variable)
        else:
            values.append(ops.Placeholder(scope, dtype=gradbag.dtypes.name_of(array.dtype)).output)
            feeds[values[-1]] = array
    node = getattr(ops, op.name)(scope, *op.grouped(values), **attrs).node
    eager = getattr(raw_ops, op.name)(**dict(zip(op.input_names, op.grouped(arrays), strict=True)), **attrs)
    session = ClientSession(scope)
    session.run({}, before)
    got = session.run(feeds, node.outputs, run_only=[node])
    for a, b in zip([*got, *session.run({}, list(updated))], [*listed(op, eager), *updated.values()], strict=True):
        np.testing.assert_array_equal(a, b)
