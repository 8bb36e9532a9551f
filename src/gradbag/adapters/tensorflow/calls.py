"""A raw op that was given tensors: answered at once, or by a node of the graph that is being built."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import tensorflow as tf

from ... import arguments, eager, errors
from ...spec import Op
from . import compat, nodes, own_ops, tape, views
from .gradients import tensor_ops
from .taking_over import taken

_TENSORS = (tf.Tensor, tf.Variable, tf.IndexedSlices, compat.AnyTensor)


def takes(kind: type) -> bool:
    return issubclass(kind, _TENSORS)


def interpret(op: Op, values: Sequence[Any], attrs: dict[str, Any]) -> Any:
    """Answer a raw op with tensors, whatever its arguments are."""
    if op.updates:
        outputs = _update(op, values, attrs)
    else:
        outputs = _answered(op, [_as_tensor(v) for v in values], attrs)
    return op.answer(outputs)


def _as_tensor(value: Any) -> Any:
    return tf.convert_to_tensor(value) if isinstance(value, _TENSORS) and not isinstance(value, tf.Tensor) else value


def _answered(op: Op, values: Sequence[Any], attrs: dict[str, Any]) -> list[Any]:
    if op.name in taken or own_ops.PREFIX + op.name in own_ops.defined:
        tensors = _all_tensors(op, values)
        if nodes.serves(op, tensors):
            return nodes.answer(op, tensors, attrs)
    return (_run_eagerly if tf.executing_eagerly() else _add_node)(op, values, attrs)


def _update(op: Op, values: Sequence[Any], attrs: dict[str, Any]) -> list[Any]:
    """Assign what an op makes of the variables that it updates; tensors cannot change."""
    places, names = op.flat_updates(len(values)), op.flat_names(len(values))
    for place in places:
        if not hasattr(values[place], "assign"):
            raise errors.wrong_type(op.name, names[place], ["a variable"], type(values[place]).__name__)
    given = [_as_tensor(v) for v in values]
    found = changed(op, given, attrs)
    for place, new in zip(places, found, strict=False):
        values[place].assign(new)
    return tape.without_gradient(op, given, found[len(places) :])


def changed(op: Op, values: Sequence[Any], attrs: dict[str, Any]) -> list[Any]:
    """What an op makes of the tensors that it would update, and then its outputs."""
    return (_computed if tf.executing_eagerly() else _as_node)(op, values, attrs)


# ------------------------------------------------------------------ eager calls
def _run_eagerly(op: Op, values: Sequence[Any], attrs: dict[str, Any]) -> list[Any]:
    if compat.record is None:
        return tape.with_custom_gradient(op, _kept(op, values), attrs, _computed)
    outputs = _computed(op, values, attrs)
    if compat.record.could_possibly_record():
        places = tape.places_of(op, values)
        if places:
            kept = _kept(op, values)
            sources = [kept[place] for place in places]
            tape.tell(op, outputs, sources, tape.pulling(op, kept, attrs, outputs, places))
    return outputs


def _computed(op: Op, values: Sequence[Any], attrs: dict[str, Any]) -> list[Any]:
    given = [views.to_array(v) if isinstance(v, tf.Tensor) else v for v in values]
    return [views.to_tensor(array) for array in _run(op, given, attrs)]


def _run(op: Op, arrays: Sequence[Any], attrs: dict[str, Any]) -> list[Any]:
    return (eager.functional if op.updates else eager.quick_run)(op, arrays, attrs)


def _kept(op: Op, values: Sequence[Any]) -> list[Any]:
    """The values for a gradient that is asked for later: what is no tensor could change until then."""
    arrays = arguments.to_arrays(op, [views.to_array(v) if isinstance(v, tf.Tensor) else v for v in values])
    return [v if a is None or isinstance(v, tf.Tensor) else np.array(a) for v, a in zip(values, arrays, strict=True)]


# ------------------------------------------------------------------ calls in a graph
def _add_node(op: Op, values: Sequence[Any], attrs: dict[str, Any]) -> list[Any]:
    tensors = _all_tensors(op, values)
    contents = _known(op, tensors)
    return tape.with_custom_gradient(op, list(map(_here, tensors)), attrs, partial(_node, contents=contents))


def _as_node(op: Op, values: Sequence[Any], attrs: dict[str, Any]) -> list[Any]:
    tensors = _all_tensors(op, values)
    return _node(op, list(map(_here, tensors)), attrs, _known(op, tensors))


def _all_tensors(op: Op, values: Sequence[Any]) -> list[Any]:
    arrays = arguments.to_arrays(op, [views.stand_in(v) if isinstance(v, tf.Tensor) else v for v in values])
    found = zip(values, arrays, strict=True)
    return [v if a is None or isinstance(v, tf.Tensor) else views.to_tensor(a) for v, a in found]


def _known(op: Op, tensors: Sequence[Any]) -> list[Any]:
    """The values that decide about shapes, as far as they are known before the run."""
    looked_at = range(len(tensors)) if op.shape_rule is not None else op.flat_held(len(tensors))
    return [tf.get_static_value(t) if t is not None and p in looked_at else None for p, t in enumerate(tensors)]


def _here(tensor: Any) -> Any:
    """A tensor as one of the graph that is being built: forward mode fails if a gradient function holds another."""
    if tensor is None:
        return None
    outside = isinstance(tensor, compat.EagerTensor)
    return tensor if not outside and tensor.graph is tf.compat.v1.get_default_graph() else tf.identity(tensor)


def _node(op: Op, tensors: Sequence[Any], attrs: dict[str, Any], contents: Sequence[Any]) -> list[Any]:
    names = [None if t is None else t.dtype.name for t in tensors]
    shapes = [None if t is None or t.shape.rank is None else tuple(t.shape.as_list()) for t in tensors]
    outline = op.infer(shapes, names, contents, attrs)
    changed = [(shapes[place], str(names[place])) for place in op.flat_updates(len(tensors))]
    outline = [*changed, *outline]
    wanted = [tf.as_dtype(name) for _, name in outline]

    def run(*arrays: Any) -> list[Any]:
        present = iter(arrays)
        given = [None if name is None else views.as_declared(next(present), name) for name in names]
        return [views.as_integers(a) for a in _run(op, given, attrs)]

    # TensorFlow cannot hand quantized numbers to Python: they go as the integers that they are.
    quantized = views.QUANTIZED
    plain = [tf.bitcast(t, quantized[t.dtype]) if t.dtype in quantized else t for t in tensors if t is not None]
    found = tf.numpy_function(run, plain, [quantized.get(t, t) for t in wanted], stateful=False, name=op.name)
    outputs = [tf.bitcast(y, t) if t in quantized else y for y, t in zip(found, wanted, strict=True)]
    for output, (shape, _) in zip(outputs, outline, strict=True):
        output.set_shape(shape)
    return outputs


tensor_ops.interpret = interpret
