"""TensorFlow: a raw op that is given tensors or variables answers with tensors, on the tape.

An eager call looks at the tensors as NumPy arrays; in a `tf.function` the call becomes a node of its own. Both are
differentiated by the op's rule, which calls ops again, so that gradients have gradients. Computation is on the CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import tensorflow as tf

from .. import arguments, attributes, dtypes, errors, raw_ops
from ..spec import Op, find

try:  # what `tf.custom_gradient` does in eager mode, without the 100 microseconds that it takes for it
    from tensorflow.python.eager import record
except ImportError:
    record = None

_TENSORS = (tf.Tensor, tf.Variable, tf.IndexedSlices, tf.__internal__.types.Tensor)  # the last: variables of Keras
_LARGE = 1 << 16  # bytes from which on a copy takes longer than asking TensorFlow to share memory
_QUANTIZED = {tf.as_dtype(name): tf.as_dtype(dtypes.numpy_dtype(name)[0]) for name in dtypes.QUANTIZED}
Backward = Callable[..., list[Any]]


def takes(kind: type) -> bool:
    return issubclass(kind, _TENSORS)


def interpret(op: Op, values: Sequence[Any], attrs: dict[str, Any]) -> Any:
    """Answer a raw op with tensors, whatever its arguments are."""
    if op.basic:
        raise errors.UnsupportedTypeError(
            f"{op.name} is there for gradbag's graphs and NumPy arrays; for tensors, call tf.raw_ops.{op.name}"
        )
    values = [
        tf.convert_to_tensor(v) if isinstance(v, _TENSORS) and not isinstance(v, tf.Tensor) else v for v in values
    ]
    outputs = (_run_eagerly if tf.executing_eagerly() else _add_node)(op, values, attrs)
    return outputs[0] if op.result is None else op.result._make(outputs)


def _sources(op: Op, values: Sequence[Any]) -> list[int]:
    """The places of the tensors that can carry a gradient."""
    places = []
    for place, (arg, value) in enumerate(zip(op.flat_inputs(len(values)), values, strict=True)):
        if isinstance(value, tf.Tensor) and value.dtype.name in dtypes.DIFFERENTIABLE and arg.name in op.differentiable:
            places.append(place)
    return places


# ------------------------------------------------------------------ eager calls
def _run_eagerly(op: Op, values: Sequence[Any], attrs: dict[str, Any]) -> list[Any]:
    if record is None:
        return _with_custom_gradient(op, _kept(op, values), attrs, _computed)
    outputs = _computed(op, values, attrs)
    if record.could_possibly_record():
        places = _sources(op, values)
        if places:
            kept = _kept(op, values)
            backward = _backward(op, kept, attrs, outputs, places)
            sources = [kept[place] for place in places]
            # Forward mode transposes the function, and cannot do so with slices.
            record.record_operation_forwardprop_only(
                op.name, outputs, sources, _without_slices(backward, sources), None
            )
            record.record_operation_backprop_only(op.name, outputs, sources, backward)
    return outputs


def _computed(op: Op, values: Sequence[Any], attrs: dict[str, Any]) -> list[Any]:
    answer = raw_ops.apply(op, [_array(v) if isinstance(v, tf.Tensor) else v for v in values], attrs)
    return [_tensor(a) for a in (answer if op.result is not None else [answer])]


def _kept(op: Op, values: Sequence[Any]) -> list[Any]:
    """The values for a gradient that is asked for later: what is no tensor could change until then."""
    arrays = arguments.to_arrays(op, [_array(v) if isinstance(v, tf.Tensor) else v for v in values])
    return [v if isinstance(v, tf.Tensor) else np.array(a) for v, a in zip(values, arrays, strict=True)]


def _array(tensor: Any) -> Any:
    """A view of a tensor."""
    try:
        array = np.asarray(tensor)
    except ValueError:  # to TensorFlow, a single string or bfloat16 is no array
        array = np.asarray(tensor.numpy(), object if tensor.dtype == tf.string else None)
    return _as_declared(array, tensor.dtype.name)


def _tensor(array: Any) -> Any:
    """The tensor of an array that nobody else has."""
    if array.dtype.names is not None:
        return tf.constant(_as_integers(array), tf.as_dtype(dtypes.name_of(array.dtype)))
    return tf.constant(array) if array.nbytes < _LARGE else tf.convert_to_tensor(array)


# To NumPy, TensorFlow's quantized numbers are plain integers; gradbag's arrays have dtypes that tell them apart.
def _as_declared(array: Any, name: str) -> Any:
    return array.view(dtypes.numpy_dtype(name)) if name in dtypes.QUANTIZED else array


def _as_integers(array: Any) -> Any:
    return array if array.dtype.names is None else array[array.dtype.names[0]]


# ------------------------------------------------------------------ calls in a graph
def _add_node(op: Op, values: Sequence[Any], attrs: dict[str, Any]) -> list[Any]:
    arrays = arguments.to_arrays(op, [_stand_in(v) if isinstance(v, tf.Tensor) else v for v in values])
    tensors = [v if isinstance(v, tf.Tensor) else _tensor(a) for v, a in zip(values, arrays, strict=True)]
    contents = [tf.get_static_value(t) if op.shape_rule or p in op.held else None for p, t in enumerate(tensors)]
    return _with_custom_gradient(op, list(map(_here, tensors)), attrs, partial(_node, contents=contents))


def _here(tensor: Any) -> Any:
    """A tensor as one of the graph that is being built: forward mode fails if a gradient function holds another."""
    eager = isinstance(tensor, tf.__internal__.EagerTensor)
    return tensor if not eager and tensor.graph is tf.compat.v1.get_default_graph() else tf.identity(tensor)


def _stand_in(tensor: Any) -> Any:
    """An array of a tensor's dtype, from which Python values in the call take theirs."""
    name = tensor.dtype.name
    return np.array([b""], object) if name == "string" else np.zeros(1, dtypes.numpy_dtype(name))


def _node(op: Op, tensors: Sequence[Any], attrs: dict[str, Any], contents: Sequence[Any]) -> list[Any]:
    names = [t.dtype.name for t in tensors]
    shapes = [None if t.shape.rank is None else tuple(t.shape.as_list()) for t in tensors]
    outline = op.infer(shapes, names, contents, attrs)
    wanted = [tf.as_dtype(name) for _, name in outline]

    def run(*arrays: Any) -> list[Any]:
        given = [_as_declared(a, name) for a, name in zip(arrays, names, strict=True)]
        answer = raw_ops.apply(op, given, attrs)
        return [_as_integers(a) for a in (answer if op.result is not None else [answer])]

    # TensorFlow cannot hand quantized numbers to Python: they go as the integers that they are.
    plain = [tf.bitcast(t, _QUANTIZED[t.dtype]) if t.dtype in _QUANTIZED else t for t in tensors]
    found = tf.numpy_function(run, plain, [_QUANTIZED.get(t, t) for t in wanted], stateful=False, name=op.name)
    outputs = [tf.bitcast(y, t) if t in _QUANTIZED else y for y, t in zip(found, wanted, strict=True)]
    for output, (shape, _) in zip(outputs, outline, strict=True):
        output.set_shape(shape)
    return outputs


def _with_custom_gradient(
    op: Op, values: Sequence[Any], attrs: dict[str, Any], run: Callable[..., list[Any]]
) -> list[Any]:
    places = _sources(op, values)
    if not places:
        return run(op, values, attrs)
    outputs: list[Any] = []  # those that the tape knows; a rule may differentiate through them

    @tf.custom_gradient  # type: ignore[untyped-decorator]
    def call(*sources: Any) -> tuple[list[Any], Backward]:
        given = list(values)
        for place, source in zip(places, sources, strict=True):
            given[place] = source
        return run(op, given, attrs), _backward(op, given, attrs, outputs, places)

    outputs += call(*[values[place] for place in places])
    return outputs


# ------------------------------------------------------------------ gradients
def _backward(
    op: Op, values: Sequence[Any], attrs: dict[str, Any], outputs: Sequence[Any], places: Sequence[int]
) -> Backward:
    """The function from cotangents of the outputs to those of the inputs at `places`."""

    def backward(*cotangents: Any) -> list[Any]:
        if op.rule is None:
            raise errors.UnsupportedTypeError(f"{op.name} has no gradient")
        names = [a.name for a in op.outputs]
        given = {
            name: None if name not in op.differentiable_outputs else _turned(op, _dense(c, y))
            for name, y, c in zip(names, outputs, cotangents, strict=True)
        }
        x = SimpleNamespace(**dict(zip(op.input_names, op.grouped(values), strict=True)), **attrs)
        y = SimpleNamespace(**dict(zip(names, outputs, strict=True)))
        pulled = op.rule(tensor_ops, x, y, SimpleNamespace(**given))
        missing = [name for name in op.differentiable if name not in pulled]
        if missing:
            raise errors.UnsupportedTypeError(f"{op.name}: the gradient rule says nothing about {', '.join(missing)}")
        gradients = op.flat([pulled.get(name) for name in op.input_names])
        return [_turned(op, gradients[place]) for place in places]

    return backward


def _without_slices(backward: Backward, sources: Sequence[Any]) -> Backward:
    return lambda *cotangents: [_dense(c, x) for c, x in zip(backward(*cotangents), sources, strict=True)]


def _turned(op: Op, cotangent: Any) -> Any:
    """A complex cotangent between TensorFlow's convention and ours; real linear ops commute with conjugation."""
    if set(op.linear) == set(op.differentiable) or not cotangent.dtype.is_complex:
        return cotangent
    return tf.math.conj(tf.convert_to_tensor(cotangent))


def _dense(cotangent: Any, like: Any) -> Any:
    """The whole cotangent of a tensor, zeros included."""
    if cotangent is None:
        return tf.zeros_like(like)
    if not isinstance(cotangent, tf.IndexedSlices):
        return cotangent
    return tensor_ops.SparseSegmentSumGrad(
        grad=cotangent.values,
        indices=cotangent.indices,
        segment_ids=tensor_ops.range(tensor_ops.rows(cotangent.values)),
        output_dim0=tensor_ops.rows(like),
    )


class Rows:
    """How many rows a tensor has, not known before the run; it becomes a tensor of the dtype that its reader wants."""

    def __init__(self, of: Any) -> None:
        self.of = of

    def counted(self, dtype: str) -> Any:
        return tf.shape(self.of, out_type=tf.as_dtype(dtype))[0]


class TensorOps:
    """What `autodiff.op_step.ArrayOps` is to arrays: the namespace in which a rule runs on tensors."""

    def __getattr__(self, name: str) -> Any:
        op = find(name)
        return lambda **given: self._call(op, given)

    def _call(self, op: Op, given: dict[str, Any]) -> Any:
        values = op.flat([given.pop(name) for name in op.input_names])
        for place, (arg, value) in enumerate(zip(op.flat_inputs(len(values)), values, strict=True)):
            if isinstance(value, Rows):
                values[place] = value.counted(next(name for name in dtypes.INDEX if name in op.allowed(arg)))
        return interpret(op, values, attributes.normal(op, given))

    @staticmethod
    def rows(value: Any) -> Any:
        count = value.shape[0]
        return Rows(value) if count is None else count

    @staticmethod
    def range(count: Any) -> Any:
        return tf.range(count.counted("int64") if isinstance(count, Rows) else count, dtype=tf.int64)

    @staticmethod
    def ones(count: Any) -> Any:
        return tf.ones([count.counted("int32") if isinstance(count, Rows) else count], tf.int8)

    @staticmethod
    def nonzero(marks: Any) -> Any:
        return tf.reshape(tf.where(marks), [-1])

    @staticmethod
    def sorted_by(keys: Any, values: Any) -> tuple[Any, Any]:
        order = tf.argsort(keys, stable=True)
        return tf.gather(keys, order), tf.gather(values, order)

    @staticmethod
    def positions(values: Any, among: Any) -> Any:
        return tf.searchsorted(among, values)

    @staticmethod
    def sum_like(value: Any, like: Any) -> Any:
        axes = tf.raw_ops.BroadcastGradientArgs(s0=tf.shape(value), s1=tf.shape(like)).r1
        return tf.reshape(tf.reduce_sum(value, axes), tf.shape(like))

    @staticmethod
    def row_grad(compact: Any, like: Any) -> Any:
        return tf.IndexedSlices(compact.output, compact.sorted_unique_indices, tf.shape(like))


tensor_ops = TensorOps()
