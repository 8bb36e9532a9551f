"""One call, made on both sides: gradbag and the real TensorFlow."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

import gradbag
from gradbag import dtypes
from gradbag.spec import Arg, Op, registry
from gradbag.testing import native_ops
from gradbag.testing.cases import cast
from gradbag.testing.oracle import assert_same

Array = np.ndarray[Any, Any]
USUAL = {"T": "float32"}  # and int32 for every other type variable
# Attributes that tf.raw_ops calls otherwise than a graph does.
RENAMED = {("Squeeze", "squeeze_dims"): "axis"}


def shared_ops() -> list[Op]:
    """The sparse ops that TensorFlow has too; those of NumPy's kind are compared in test_basic_ops."""
    return [op for op in native_ops() if op.section != "array" and hasattr(tf.raw_ops, op.name)]


@dataclass(frozen=True)
class Call:
    op: Op
    inputs: dict[str, Any]  # arrays, and a list of them where the op takes one
    attrs: dict[str, Any]

    def __str__(self) -> str:
        """Python source that makes the call again."""
        given = [f"{name}={_source(array)}" for name, array in self.inputs.items()]
        given += [f"{name}={value!r}" for name, value in self.attrs.items()]
        return f"gradbag.raw_ops.{self.op.name}(\n    " + ",\n    ".join(given) + ",\n)"


@dataclass(frozen=True)
class Refused:
    message: str


Outcome = dict[str, Array] | Refused


def ours(call: Call) -> Outcome:
    """gradbag's answer; a refusal must name the op and an argument, or the output that is too large."""
    updated = {a.name: call.inputs[a.name].copy() for a in call.op.inputs if a.updates}
    try:
        answer = getattr(gradbag.raw_ops, call.op.name)(**{**call.inputs, **updated}, **call.attrs)
    except gradbag.Error as refusal:
        _assert_names_the_fault(call, refusal)
        return Refused(str(refusal))
    return {**_outputs(call.op, answer), **updated}


def theirs(call: Call) -> Outcome:
    """TensorFlow's answer in NumPy arrays, strings as str."""
    try:
        tensors = {name: _to_tensors(value) for name, value in call.inputs.items()}
        answer = getattr(tf.raw_ops, call.op.name)(**tensors, **_their_attrs(call))
    except tf.errors.OpError as refusal:
        return Refused(str(refusal))
    return {name: to_array(tensor) for name, tensor in _outputs(call.op, answer).items()}


def in_a_graph(call: Call) -> Outcome:
    """TensorFlow's answer from a session, where variables have the values of the inputs before; then what they are."""
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        try:
            tensors = {name: _to_tensors(value) for name, value in call.inputs.items()}
            kept = {a.name: a.handle for a in call.op.inputs if in_variable(call.op, a)}
            for name, handle in kept.items():
                before = tensors[name]
                variable = tf.compat.v1.Variable(before, use_resource=handle, dtype=before.dtype)
                session.run(variable.initializer)
                tensors[name] = variable.handle if handle else variable._ref()
                kept[name] = variable
            made = getattr(tf.raw_ops, call.op.name)(**tensors, **_their_attrs(call))
            found = call.op.flat_answer(made)
            wanted = dict(zip(call.op.flat_output_names(len(found)), found, strict=True))
            answer = session.run([found, [] if wanted else [made]])[0]
            after = session.run([kept[a.name] for a in call.op.inputs if a.updates])
        except (tf.errors.OpError, ValueError) as refusal:
            return Refused(str(refusal))
    with tf.init_scope():
        dtypes_of = [tensor.dtype.base_dtype for tensor in found]
        arrays = [to_array(tf.constant(v, dtype)) for v, dtype in zip(answer, dtypes_of, strict=True)]
    outputs = dict(zip(wanted, arrays, strict=True))
    return outputs | {a.name: v for a, v in zip([a for a in call.op.inputs if a.updates], after, strict=True)}


def in_variable(op: Op, arg: Arg) -> bool:
    """Whether an input must be a variable in TensorFlow."""
    first = op.state in ("assign", "update", "initialized") and arg is op.inputs[0]
    return arg.handle or arg.updates or first


def _to_tensors(value: Any) -> Any:
    return [to_tensor(a) for a in value if a is not None] if isinstance(value, list) else to_tensor(value)


def _their_attrs(call: Call) -> dict[str, Any]:
    """The attributes as tf.raw_ops wants them: it has another name for one, and wants arrays written out."""
    attrs = {RENAMED.get((call.op.name, name), name): value for name, value in call.attrs.items()}
    for attr in call.op.attrs:
        if attr.kind == "tensor":
            attrs[attr.name] = tf.make_tensor_proto(attrs[attr.name], attrs["dtype"])
        elif attr.kind == "shape" and attrs[attr.name] is not None:
            attrs[attr.name] = tf.TensorShape(attrs[attr.name])
    return attrs


def to_tensor(array: Array) -> tf.Tensor:
    """A tensor of exactly the array's dtype: TensorFlow casts an array that it is given directly."""
    return tf.constant(array, tf.as_dtype(dtypes.name_of(array.dtype)))


def to_array(tensor: tf.Tensor) -> Array:
    array = np.asarray(tensor.numpy(), object if tensor.dtype == tf.string else None)
    if tensor.dtype == tf.string:
        array = np.array([text.decode() for text in array.flat], object).reshape(array.shape)
    return array


def call(op: str, types: dict[str, str] | None = None, **literals: Any) -> Call:
    """A call with literal inputs: float32 values and int32 indices, if `types` does not say otherwise."""
    declared = registry[op]
    chosen = {**dict.fromkeys(declared.types, "int32"), **USUAL, **(types or {})}
    inputs = {a.name: cast(literals.pop(a.name), chosen.get(a.dtype, a.dtype)) for a in declared.inputs}
    return Call(declared, inputs, literals)


def assert_answer(outcome: Outcome, **want: Any) -> None:
    """These outputs, bit for bit: an array with its dtype, or literals of the dtype that came out."""
    assert not isinstance(outcome, Refused), outcome.message
    for name, value in want.items():
        got = outcome[name]
        assert_same(got, value if isinstance(value, np.ndarray) else np.array(value).astype(got.dtype), name)


def assert_refusal(outcome: Outcome, message: str) -> None:
    assert isinstance(outcome, Refused), f"answered {outcome}"
    assert re.search(message, outcome.message), outcome.message


def assert_both(made: Call, **want: Any) -> None:
    """gradbag and TensorFlow both give these outputs."""
    assert_answer(ours(made), **want)
    assert_answer(theirs(made), **want)


def assert_both_refuse(made: Call, gradbag_says: str, tensorflow_says: str) -> None:
    assert_refusal(ours(made), gradbag_says)
    assert_refusal(theirs(made), tensorflow_says)


def _assert_names_the_fault(call: Call, refusal: gradbag.Error) -> None:
    op, _, sentence = str(refusal).partition(": ")
    names = [*call.inputs]
    if isinstance(refusal, gradbag.ResourceExhaustedError):
        names += [arg.name for arg in call.op.outputs]
    assert op == call.op.name, f"the refusal does not name the op: {refusal}"
    assert any(name in sentence for name in names), f"the refusal names no argument: {refusal}"


def _outputs(op: Op, answer: Any) -> dict[str, Any]:
    outputs = op.flat_answer(answer) if op.outputs else []
    return dict(zip(op.flat_output_names(len(outputs)), outputs, strict=True))


def _source(array: Any) -> str:
    if isinstance(array, list):
        return f"[{', '.join(map(_source, array))}]"
    if array is None:
        return "None"
    return f"np.array({array.tolist()!r}, {dtypes.name_of(array.dtype)!r}).reshape({array.shape})"
