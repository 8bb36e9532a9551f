"""Ops of gradbag that TensorFlow does not have, as ops of TensorFlow: `Gradbag>EmbeddingBag` and the like.

Definition, shape function and kernels follow from the declaration, and the gradient is the op's own rule. So a look-up
is one node in a graph, without Python, that is differentiated, optimized and saved as any other. An optional input is
a list of none or one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, partial
from itertools import product
from typing import Any

import numpy as np
import tensorflow as tf

from ... import dtypes, eager, errors
from ...dims import word_of
from ...eager.program import Program, native
from ...spec import Arg, Op, registry
from . import compat
from .taking_over import Types, enum_of, forms_of, item_size

PREFIX = "Gradbag>"
defined: dict[str, Op] = {}  # by their names in TensorFlow; empty before they are installed
_CODES: dict[type[errors.Error], int] = {
    errors.ResourceExhaustedError: 8,
    errors.CancelledError: 1,
}  # TensorFlow's; 3 for all others
_INVALID = 3
_END = 2**63 - 1


def candidates() -> list[Op]:
    return [op for op in registry if _is_candidate(op)]


def _is_candidate(op: Op) -> bool:
    if op.kernel is None or op.section != "ops" or hasattr(tf.raw_ops, op.name):
        return False
    # These would take more than arrays in and arrays out, or a kernel that knows the op's rules about values.
    if op.lists or op.updates or op.state or op.shape_rule is not None or op.check_rule is not None:
        return False
    return all(attr.kind == "bool" or attr.allowed for attr in op.attrs)


def define(op: Op) -> None:
    """Tell TensorFlow of an op, and C++ of its kernels."""
    named = [arg for arg in op.inputs if arg.optional]
    native.tensorflow.define(
        op=PREFIX + op.name,
        attrs=[
            *(f"{variable}: {{{', '.join(map(_type_name, names))}}}" for variable, names in op.types.items()),
            *(f"{count_of(arg)}: int >= 0 = 0" for arg in named),
            *(f"{a.name}: bool = {str(a.default).lower()}" for a in op.attrs if a.kind == "bool"),
            *(f"{a.name}: {{{', '.join(map(repr, a.allowed))}}} = '{a.default}'" for a in op.attrs if a.allowed),
        ],
        inputs=[f"{arg.name}: {count_of(arg) + ' * ' if arg.optional else ''}{_type_of(op, arg)}" for arg in op.inputs],
        outputs=[f"{arg.name}: {_type_of(op, arg)}" for arg in op.outputs],
        ranks=[native.tensorflow.InputRank(*_rank(arg)) for arg in _first_inputs(op)],
        shapes=[list(_pieces(op, arg)) for arg in op.outputs],
    )
    for names in product(*op.types.values()):
        for present in product(*([False, True] if arg.optional else [True] for arg in op.inputs)):
            for settings in product(*(_values(op, name) for name in op.kernel.settings)):  # type: ignore[union-attr]
                _add(op, dict(zip(op.types, names, strict=True)), present, settings)


def count_of(arg: Arg) -> str:
    """The attribute that tells whether an optional input is given."""
    return f"num_{arg.name}"


def _values(op: Op, name: str) -> tuple[Any, ...]:
    attr = next(attr for attr in op.attrs if attr.name == name)
    return attr.allowed or (False, True)


def _type_name(name: str) -> str:
    return {"float16": "half", "float32": "float", "float64": "double"}.get(name, name)


def _type_of(op: Op, arg: Arg) -> str:
    return arg.dtype if arg.dtype in op.types else _type_name(arg.dtype)


# ------------------------------------------------------------------ shapes
def _first_inputs(op: Op) -> list[Arg]:
    """Those before one that may be left out: what comes later has no certain place."""
    first = [place for place, arg in enumerate(op.inputs) if arg.optional]
    return list(op.inputs[: first[0] if first else None])


def _rank(arg: Arg) -> tuple[int, bool]:
    starred = arg.dims.star >= 0
    return len(arg.dims.terms) - starred, starred


def _pieces(op: Op, output: Arg) -> Iterator[Any]:
    """Where the axes of an output come from: axes of inputs, constants, or nobody knows."""
    known: dict[str, tuple[int, int, int]] = {}
    for place, arg in enumerate(_first_inputs(op)):
        for axis, term in enumerate(arg.dims.terms):
            if isinstance(term, str) and (arg.dims.star < 0 or axis <= arg.dims.star == len(arg.dims.terms) - 1):
                known.setdefault(word_of(term), (place, axis, _END if axis == arg.dims.star else axis + 1))
    for term in output.dims.terms:
        unknown = (-1, term if isinstance(term, int) else -1, 0)
        yield native.tensorflow.Piece(*known.get(word_of(str(term)), unknown))


# ------------------------------------------------------------------ kernels
def _add(op: Op, types: Types, present: Sequence[bool], settings: Sequence[Any]) -> None:
    every = [types.get(arg.dtype, arg.dtype) if there else None for arg, there in zip(op.inputs, present, strict=True)]
    names = [name for name in every if name is not None]
    program = Program(op, every, native)
    assert op.kernel is not None
    place_of = {place: number for number, place in enumerate(p for p, there in enumerate(present) if there)}
    outputs = [types.get(arg.dtype, arg.dtype) for arg in op.outputs]
    choices = dict(zip(op.kernel.settings, settings, strict=True))
    counts = {count_of(arg): int(there) for arg, there in zip(op.inputs, present, strict=True) if arg.optional}
    native.tensorflow.add(
        op=PREFIX + op.name,
        types=[(variable, enum_of(name)) for variable, name in types.items()],
        choices=list({**choices, **counts}.items()),
        free=list(op.types),
        example=[],
        item_sizes=list(map(item_size, names)),
        outputs=[native.tensorflow.OutputType(enum_of(name), item_size(name)) for name in outputs],
        kernels=native.tensorflow.Kernels(
            [place_of[place] for place in program.passes if place in place_of],
            program.counts,
            "" if program.plan is None else program.plan_name,
            program.fill_name,
            (*op.kernel.fixed, *settings),
        ),
        rules="",
        forms=forms_of(op, tuple(present)),
        fallback=partial(_by_python, op, every, choices),
    )


def _by_python(op: Op, names: Sequence[str | None], choices: dict[str, Any], given: Sequence[Any]) -> tuple[int, Any]:
    """Answer what a kernel has not, given memory and shapes; mostly with the reason why it cannot be answered."""
    arrays = iter([(memory, tuple(shape)) for memory, shape in given])
    values = [None if name is None else _array(name, *next(arrays)) for name in names]
    try:
        found = eager.run(op, values, {**op.attr_defaults, **choices})
    except errors.Error as refusal:
        return next((code for kind, code in _CODES.items() if isinstance(refusal, kind)), _INVALID), str(refusal)
    return 0, [(array.tobytes(), array.shape) for array in found]


def _array(name: str, memory: Any, shape: tuple[int, ...]) -> Any:
    return np.ndarray(shape, dtypes.numpy_dtype(name), memory)


# ------------------------------------------------------------------ nodes
def answer(op: Op, tensors: Sequence[Any], attrs: dict[str, Any]) -> list[Any]:
    """The outputs of a node, or of an eager call."""
    bound = op.resolve_types([None if t is None else t.dtype.name for t in tensors])
    types = {variable: enum_of(bound[variable]) for variable in op.types}
    counts = {count_of(a): int(t is not None) for a, t in zip(op.inputs, tensors, strict=True) if a.optional}
    inputs = [t for t in tensors if t is not None]
    if tf.executing_eagerly():
        return _executed(op, inputs, types, {**counts, **attrs})
    outputs = _node(op, inputs, types, {**counts, **attrs})
    for output, (shape, _) in zip(outputs, _outline(op, tensors, attrs), strict=True):
        output.set_shape(shape)
    return outputs


def _outline(op: Op, tensors: Sequence[Any], attrs: dict[str, Any]) -> list[Any]:
    """What follows from sizes that inputs hold, too, which a shape function in C cannot see."""
    held = op.flat_held(len(tensors))
    contents = [tf.get_static_value(tensor) if place in held else None for place, tensor in enumerate(tensors)]
    shapes = [None if t is None or t.shape.rank is None else tuple(t.shape.as_list()) for t in tensors]
    return op.infer(shapes, [None if t is None else t.dtype.name for t in tensors], contents, attrs)


def _executed(op: Op, inputs: list[Any], types: dict[str, int], rest: dict[str, Any]) -> list[Any]:
    attrs = _flat({**types, **rest})
    outputs = compat.execute.execute(
        _encoded(op), len(op.outputs), inputs=inputs, attrs=attrs, ctx=compat.context.context()
    )
    if compat.execute.must_record_gradient():
        compat.execute.record_gradient(PREFIX + op.name, inputs, attrs, outputs)
    return list(outputs)


def _node(op: Op, inputs: list[Any], types: dict[str, int], rest: dict[str, Any]) -> list[Any]:
    messages = {name: tf.compat.v1.AttrValue(type=value) for name, value in types.items()}
    messages |= {name: _message(value) for name, value in rest.items()}
    graph = tf.compat.v1.get_default_graph()
    node = graph.create_op(PREFIX + op.name, inputs, name=op.name, attrs=messages)
    outputs = list(node.outputs)
    if compat.execute.must_record_gradient():
        compat.execute.record_gradient(PREFIX + op.name, node.inputs, _flat({**types, **rest}), outputs)
    return outputs


def _message(value: Any) -> Any:
    make = tf.compat.v1.AttrValue
    if isinstance(value, bool):
        return make(b=value)
    return make(i=value) if isinstance(value, int) else make(s=value.encode())


def _flat(attrs: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(part for item in attrs.items() for part in item)


@cache
def _encoded(op: Op) -> bytes:
    return (PREFIX + op.name).encode()


def given_to(op: Op, node: Any) -> list[Any]:
    """The inputs of a node, None for those that were left out."""
    if op.lists:  # an op of TensorFlow's, which leaves nothing out
        return list(node.inputs)
    inputs = iter(node.inputs)
    return [None if arg.optional and not node.get_attr(count_of(arg)) else next(inputs) for arg in op.inputs]


def attrs_of(op: Op, node: Any) -> dict[str, Any]:
    values = {name: node.get_attr(name) for name in op.attr_defaults}
    return {name: value.decode() if isinstance(value, bytes) else value for name, value in values.items()}
