"""TensorFlow: a raw op that is given tensors or variables answers with tensors, on the tape.

An eager call looks at the tensors as NumPy arrays; in a `tf.function` the call becomes a node of its own. Both are
differentiated by the op's rule, which calls ops again, so that gradients have gradients. Computation is on the CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import tensorflow as tf

from .. import arguments, dtypes, eager, errors
from ..gradients import Ops, Rows, pull
from ..row_grad import RowGrad
from ..spec import Op

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
    if op.updates:
        outputs = _update(op, values, attrs)
    else:
        outputs = _answered(op, [_as_tensor(v) for v in values], attrs)
    if op.result is None:
        return outputs[0] if outputs else None
    return op.result._make(outputs)


def _as_tensor(value: Any) -> Any:
    return tf.convert_to_tensor(value) if isinstance(value, _TENSORS) and not isinstance(value, tf.Tensor) else value


def _answered(op: Op, values: Sequence[Any], attrs: dict[str, Any]) -> list[Any]:
    return (_run_eagerly if tf.executing_eagerly() else _add_node)(op, values, attrs)


def _update(op: Op, values: Sequence[Any], attrs: dict[str, Any]) -> list[Any]:
    """Assign what an op makes of the variables that it updates; tensors cannot change."""
    places, names = op.flat_updates(len(values)), op.flat_names(len(values))
    for place in places:
        if not hasattr(values[place], "assign"):
            raise errors.wrong_type(op.name, names[place], ["a variable"], type(values[place]).__name__)
    given = [_as_tensor(v) for v in values]
    found = (_computed if tf.executing_eagerly() else _as_node)(op, given, attrs)
    for place, new in zip(places, found, strict=False):
        values[place].assign(new)
    return _without_gradient(op, given, found[len(places) :])


def _without_gradient(op: Op, values: Sequence[Any], outputs: Sequence[Any]) -> list[Any]:
    """The outputs of an op that updates: whoever asks for a derivative hears that there is none."""
    sources = [v for v in values if isinstance(v, tf.Tensor) and v.dtype.name in dtypes.DIFFERENTIABLE]
    if not sources or not outputs:
        return list(outputs)

    @tf.custom_gradient  # type: ignore[untyped-decorator]
    def call(*_: Any) -> tuple[list[Any], Backward]:
        return list(map(tf.identity, outputs)), refuse

    def refuse(*_: Any) -> list[Any]:
        raise errors.UnsupportedTypeError(f"{op.name} has no gradient")

    return list(call(*sources))


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
            sources = [kept[place] for place in places]
            _tell(op, outputs, sources, _backward(op, kept, attrs, outputs, places))
    return outputs


def _tell(op: Op, outputs: Sequence[Any], sources: Sequence[Any], backward: Backward) -> None:
    """Make a call known to the tapes; and then to forward mode, whose tangents have derivatives through the outputs.

    It transposes the function, and cannot do so with slices.
    """
    record.record_operation_backprop_only(op.name, outputs, sources, backward)
    record.record_operation_forwardprop_only(op.name, outputs, sources, _without_slices(backward, sources), None)


def _computed(op: Op, values: Sequence[Any], attrs: dict[str, Any]) -> list[Any]:
    return [_tensor(a) for a in _run(op, [_array(v) if isinstance(v, tf.Tensor) else v for v in values], attrs)]


def _run(op: Op, arrays: Sequence[Any], attrs: dict[str, Any]) -> list[Any]:
    return (eager.functional if op.updates else eager.quick_run)(op, arrays, attrs)


def _kept(op: Op, values: Sequence[Any]) -> list[Any]:
    """The values for a gradient that is asked for later: what is no tensor could change until then."""
    arrays = arguments.to_arrays(op, [_array(v) if isinstance(v, tf.Tensor) else v for v in values])
    return [v if a is None or isinstance(v, tf.Tensor) else np.array(a) for v, a in zip(values, arrays, strict=True)]


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
    tensors = _all_tensors(op, values)
    contents = _known(op, tensors)
    return _with_custom_gradient(op, list(map(_here, tensors)), attrs, partial(_node, contents=contents))


def _as_node(op: Op, values: Sequence[Any], attrs: dict[str, Any]) -> list[Any]:
    tensors = _all_tensors(op, values)
    return _node(op, list(map(_here, tensors)), attrs, _known(op, tensors))


def _all_tensors(op: Op, values: Sequence[Any]) -> list[Any]:
    arrays = arguments.to_arrays(op, [_stand_in(v) if isinstance(v, tf.Tensor) else v for v in values])
    found = zip(values, arrays, strict=True)
    return [v if a is None or isinstance(v, tf.Tensor) else _tensor(a) for v, a in found]


def _known(op: Op, tensors: Sequence[Any]) -> list[Any]:
    """The values that decide about shapes, as far as they are known before the run."""
    looked_at = range(len(tensors)) if op.shape_rule is not None else op.held
    return [tf.get_static_value(t) if t is not None and p in looked_at else None for p, t in enumerate(tensors)]


def _here(tensor: Any) -> Any:
    """A tensor as one of the graph that is being built: forward mode fails if a gradient function holds another."""
    if tensor is None:
        return None
    outside = isinstance(tensor, tf.__internal__.EagerTensor)
    return tensor if not outside and tensor.graph is tf.compat.v1.get_default_graph() else tf.identity(tensor)


def _stand_in(tensor: Any) -> Any:
    """An array of a tensor's dtype, from which Python values in the call take theirs."""
    name = tensor.dtype.name
    return np.array([b""], object) if name == "string" else np.zeros(1, dtypes.numpy_dtype(name))


def _node(op: Op, tensors: Sequence[Any], attrs: dict[str, Any], contents: Sequence[Any]) -> list[Any]:
    names = [None if t is None else t.dtype.name for t in tensors]
    shapes = [None if t is None or t.shape.rank is None else tuple(t.shape.as_list()) for t in tensors]
    outline = op.infer(shapes, names, contents, attrs)
    changed = [(shapes[place], str(names[place])) for place in op.flat_updates(len(tensors))]
    outline = [*changed, *outline]
    wanted = [tf.as_dtype(name) for _, name in outline]

    def run(*arrays: Any) -> list[Any]:
        present = iter(arrays)
        given = [None if name is None else _as_declared(next(present), name) for name in names]
        return [_as_integers(a) for a in _run(op, given, attrs)]

    # TensorFlow cannot hand quantized numbers to Python: they go as the integers that they are.
    plain = [tf.bitcast(t, _QUANTIZED[t.dtype]) if t.dtype in _QUANTIZED else t for t in tensors if t is not None]
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

    sources = [values[place] for place in places]
    if record is None:
        outputs += call(*sources)
        return outputs
    # Who differentiates the whole function finds the gradient at the node. Inside of it, forward mode would go through
    # the node and find zeros, so it is told, and the tape with it.
    with record.stop_recording():
        outputs += call(*sources)
    _tell(op, outputs, sources, _backward(op, values, attrs, outputs, places))
    return outputs


# ------------------------------------------------------------------ gradients
def _backward(
    op: Op, values: Sequence[Any], attrs: dict[str, Any], outputs: Sequence[Any], places: Sequence[int]
) -> Backward:
    """The function from cotangents of the outputs to those of the inputs at `places`."""

    def backward(*cotangents: Any) -> list[Any]:
        whole = [None if c is None else _turned(op, _dense(c, y)) for c, y in zip(cotangents, outputs, strict=True)]
        pulled = pull(tensor_ops, op, values, outputs, whole, attrs)
        return [_turned(op, pulled[place]) for place in places]

    return backward


def _without_slices(backward: Backward, sources: Sequence[Any]) -> Backward:
    return lambda *cotangents: [_dense(c, x) for c, x in zip(backward(*cotangents), sources, strict=True)]


def _turned(op: Op, cotangent: Any) -> Any:
    """A complex cotangent between TensorFlow's convention and ours; real linear ops commute with conjugation."""
    if op.is_linear or not cotangent.dtype.is_complex:
        return cotangent
    return tf.math.conj(tf.convert_to_tensor(cotangent))


def _dense(cotangent: Any, like: Any) -> Any:
    """The whole cotangent of a tensor, zeros included."""
    if not isinstance(cotangent, tf.IndexedSlices):
        return cotangent
    return RowGrad(cotangent.indices, cotangent.values, like.shape, like=like, ops=tensor_ops).dense()


def from_row_grad(gradient: RowGrad) -> Any:
    return tf.IndexedSlices(
        tf.convert_to_tensor(gradient.rows), tf.convert_to_tensor(gradient.indices), tf.constant(gradient.shape)
    )


class TensorOps(Ops):
    """Ops on tensors; questions about indices are TensorFlow's to answer."""

    def call(self, op: Op, values: Sequence[Any], attrs: dict[str, Any]) -> Any:
        return interpret(op, values, attrs)

    def counted(self, rows: Rows, dtype: str) -> Any:
        return tf.shape(rows.of, out_type=tf.as_dtype(dtype))[0]

    def zeros_like(self, value: Any) -> Any:
        return tf.zeros_like(value)

    def range(self, count: Any) -> Any:
        return tf.range(self._size(count), dtype=tf.int64)

    def ones(self, count: Any) -> Any:
        return tf.ones([self._size(count, "int32")], tf.int8)

    def nonzero(self, marks: Any) -> Any:
        return tf.reshape(tf.where(marks), [-1])

    def sorted_by(self, keys: Any, values: Any) -> tuple[Any, Any]:
        order = tf.argsort(keys, stable=True)
        return tf.gather(keys, order), tf.gather(values, order)

    def positions(self, values: Any, among: Any) -> Any:
        return tf.searchsorted(among, values)

    def sum_like(self, value: Any, like: Any) -> Any:
        axes = tf.raw_ops.BroadcastGradientArgs(s0=tf.shape(value), s1=tf.shape(like)).r1
        return tf.reshape(tf.reduce_sum(value, axes), tf.shape(like))

    def row_grad(self, compact: Any, like: Any) -> Any:
        return tf.IndexedSlices(compact.output, compact.sorted_unique_indices, tf.shape(like))


tensor_ops = TensorOps()
