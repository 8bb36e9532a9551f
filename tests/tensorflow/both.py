"""One call, made on both sides: gradbag and the real TensorFlow."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

import gradbag
from gradbag import dtypes
from gradbag.spec import Op, registry
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
    try:
        answer = getattr(gradbag.raw_ops, call.op.name)(**call.inputs, **call.attrs)
    except gradbag.Error as refusal:
        _assert_names_the_fault(call, refusal)
        return Refused(str(refusal))
    return _outputs(call.op, answer)


def theirs(call: Call) -> Outcome:
    """TensorFlow's answer in NumPy arrays, strings as str."""
    try:
        tensors = {name: _to_tensors(value) for name, value in call.inputs.items()}
        answer = getattr(tf.raw_ops, call.op.name)(**tensors, **_their_attrs(call))
    except tf.errors.OpError as refusal:
        return Refused(str(refusal))
    return {name: to_array(tensor) for name, tensor in _outputs(call.op, answer).items()}


def in_a_graph(call: Call) -> Outcome:
    """TensorFlow's answer from a session; a variable has the value of the input `ref` before."""
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        try:
            tensors = {name: _to_tensors(value) for name, value in call.inputs.items()}
            if call.op.state in ("assign", "update"):
                before = tensors["ref"]
                tensors["ref"] = tf.raw_ops.VariableV2(shape=before.shape, dtype=before.dtype)
                session.run(tf.raw_ops.Assign(ref=tensors["ref"], value=before))
            made = getattr(tf.raw_ops, call.op.name)(**tensors, **_their_attrs(call))
            answer = session.run(made)
        except (tf.errors.OpError, ValueError) as refusal:
            return Refused(str(refusal))
    with tf.init_scope():
        return {arg.name: to_array(tf.constant(answer, made.dtype.base_dtype)) for arg in call.op.outputs}


def _to_tensors(value: Any) -> Any:
    return [to_tensor(array) for array in value] if isinstance(value, list) else to_tensor(value)


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
    names = [arg.name for arg in op.outputs]
    if not names:
        return {}
    return dict(zip(names, answer if op.result is not None else [answer], strict=True))


def _source(array: Any) -> str:
    if isinstance(array, list):
        return f"[{', '.join(map(_source, array))}]"
    return f"np.array({array.tolist()!r}, {dtypes.name_of(array.dtype)!r}).reshape({array.shape})"
