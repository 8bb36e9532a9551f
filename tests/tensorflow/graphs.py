"""One graph, run on both sides: gradbag and the real TensorFlow, compared node by node."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from gradbag import dtypes, eager
from gradbag.graph import Graph, Node
from gradbag.testing.oracle import assert_same

from .both import Call
from .differences import compare

Array = np.ndarray[Any, Any]
# Their sums are taken in another order, so the error is measured against the sum of the absolute values.
SUMMING = {
    *("Sum", "Mean", "MatMul", "L2Loss", "AddN", "Cumsum", "SegmentSum", "UnsortedSegmentSum"),
    *("SparseTensorDenseMatMul", "SquaredDifference", "StridedSliceGrad"),
}
# Themes of which all ops are sums of products.
PRODUCTS = {"products", "einsum"}
# Themes whose ops are some operations long, which TensorFlow rounds each: measured against the largest number in it.
LONG = {"networks", "optimizers", "SparseSoftmax", "Erf", "Erfc", "Sigmoid"}  # these alone of their themes
LONG_ULPS = 4
# They subtract from one, in TensorFlow in the dtype itself: the error is measured against the incoming gradient.
CANCELLING = {"TanhGrad": 1, "SigmoidGrad": 1, "SeluGrad": 0}  # which input that is
ULPS = 2
COMPLEX_ULPS = 4  # of the magnitude: a complex function is made of several real ones


def run(graph_def: Any, feeds: dict[str, Array], fetches: list[str], before: tuple[str, ...] = ()) -> list[Array]:
    """TensorFlow's results, computed op by op as the graph says: no optimiser rewrites it."""
    config = tf.compat.v1.ConfigProto()
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.graph_options.optimizer_options.opt_level = -1
    config.intra_op_parallelism_threads = config.inter_op_parallelism_threads = 1
    with tf.Graph().as_default():
        tf.import_graph_def(graph_def, name="")
        with tf.compat.v1.Session(config=config) as session:
            for name in before:
                session.run(name, feeds)
            return [_array(value) for value in session.run(fetches, feeds)]


def parse(data: bytes) -> Any:
    return tf.compat.v1.GraphDef.FromString(data)


def assert_agrees(graph: Graph, graph_def: Any, feeds: dict[str, Array]) -> int:
    """Every node gives what TensorFlow's gives for the same inputs: sparse ops bit for bit, others within 2 ulp."""
    outputs = [output for node in graph for output in node.outputs]
    values = dict(zip(outputs, run(graph_def, feeds, [o.name for o in outputs]), strict=True))
    for node in graph:
        if node.op.state:
            continue
        inputs, wanted = [values[i] for i in node.inputs], [values[o] for o in node.outputs]
        got = [_array(value) for value in eager.run(node.op, node.flat(inputs), node.attrs)]
        if mean_of_no_complex_numbers(node, inputs):
            continue
        if node.op.section != "array":
            _compare_sparse(node, inputs, got, wanted)
        else:
            for value, want in zip(got, wanted, strict=True):
                assert_close(node, value, want, inputs)
        for output, value in zip(node.outputs, got, strict=True):
            assert_fits(output.shape, value)
    return len(values)


def mean_of_no_complex_numbers(node: Node, inputs: list[Array]) -> bool:
    """TensorFlow's is zero, although of no real numbers it is NaN as here."""
    return node.op.name == "Mean" and inputs[0].dtype.kind == "c" and not inputs[0].size


def _compare_sparse(node: Node, inputs: list[Array], got: list[Array], wanted: list[Array]) -> None:
    names = node.output_ports
    call = Call(node.op, dict(zip(node.op.input_names, inputs, strict=True)), node.attrs)
    compare(call, dict(zip(names, got, strict=True)), dict(zip(names, wanted, strict=True)))


def assert_close(node: Node, got: Array, want: Array, inputs: list[Array]) -> None:
    label = f"{node!r} {node.attrs}"
    if not inputs or not dtypes.is_differentiable(want.dtype):
        assert_same(got, want, label)
        return
    assert (got.dtype, got.shape) == (want.dtype, want.shape), label
    ulps = COMPLEX_ULPS if want.dtype.kind == "c" else ULPS
    with np.errstate(all="ignore"):
        scale = np.abs(want)
        if node.op.category in LONG or node.op.name in LONG:
            ulps *= LONG_ULPS
            numbers = [np.abs(a[np.isfinite(a)]) for a in inputs if dtypes.is_differentiable(a.dtype)]
            largest = max([1.0, *(float(a.max()) for a in numbers if a.size)])
            scale = np.maximum(scale, np.asarray(largest, scale.dtype))
        if node.op.name in SUMMING or node.op.category in PRODUCTS:
            absolute = [np.abs(a).astype(a.dtype) if dtypes.is_differentiable(a.dtype) else a for a in inputs]
            scale = np.maximum(scale, np.abs(eager.run(node.op, absolute, node.attrs)[0]))
        if node.op.name in CANCELLING:
            scale = np.maximum(scale, np.abs(inputs[CANCELLING[node.op.name]]))
        apart = got.astype(np.clongdouble) - want.astype(np.clongdouble)
        near = np.maximum(np.abs(apart.real), np.abs(apart.imag)) <= ulps * _spacing(scale)
        same = (got == want) | (np.isnan(got) & np.isnan(want))
    wrong = ~(near | same)
    assert not wrong.any(), (
        f"{label}: {got[wrong].tolist()[:3]} instead of {want[wrong].tolist()[:3]}; inputs {[a.dtype for a in inputs]}"
    )


def assert_fits(shape: Any, value: Array) -> None:
    """What was known of the shape while building is true."""
    assert shape is None or len(shape) == value.ndim
    assert all(n in (None, m) for n, m in zip(shape or (), value.shape, strict=False)), (shape, value.shape)


def _spacing(scale: Array) -> Array:
    """The distance to the next number of the dtype; NumPy does not know it for bfloat16."""
    if scale.dtype.kind == "f":
        return np.spacing(scale).astype(np.longdouble)
    following = (scale.view(np.uint16) + np.uint16(1)).view(scale.dtype)
    return following.astype(np.longdouble) - scale.astype(np.longdouble)


def _array(value: Any) -> Array:
    """Strings as bytes, which need not be text."""
    array = np.asarray(value)
    if array.dtype.kind in "OS":
        texts = [text if isinstance(text, bytes) else text.encode() for text in array.reshape(-1).tolist()]
        made = np.empty(len(texts), object)
        made[:] = texts
        return made.reshape(array.shape)
    return array
