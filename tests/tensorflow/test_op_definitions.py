"""Every op is declared as TensorFlow defines it: a graph of one means the same to the other."""

import inspect

import pytest
import tensorflow as tf
from tensorflow.python.framework import op_def_registry

from gradbag.spec import REQUIRED, registry
from gradbag.testing import array_ops

from .both import RENAMED

OPS = [op for op in registry if hasattr(tf.raw_ops, op.name)]  # the others are gradbag's own
KINDS = {"list(int)": "ints", "list(float)": "floats", "list(string)": "strings"}


def test_a_misspelt_name_is_not_left_out():
    own = {"bag_packing", "embedding_bag", "embedding_max", "grouped_embedding_bag", "grouped_steps", "optim"}
    own |= {"sharding", "tree_bag", "unique"}
    arrays = {"segment_softmax", "sparse", "sparse_groups"}
    want = {("ops", theme) for theme in own} | {("array", theme) for theme in arrays}
    assert {(op.section, op.category) for op in registry if op not in OPS} == want


every_op = pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)


def definition(op):
    found = op_def_registry.get(op.name)
    assert found is not None, f"TensorFlow has no op {op.name}"
    return found


def implied(defined):
    """Attributes that the inputs tell: their dtypes, and how many there are."""
    given = {name for arg in defined.input_arg for name in (arg.type_attr, arg.number_attr, arg.type_list_attr)}
    return given - {""}


def dtype_name(arg):
    """The type variable of an input or output, or its one dtype."""
    return arg.type_attr or arg.type_list_attr or tf.as_dtype(arg.type).name


def declared(args):
    """The same of gradbag's; a handle says nothing about the dtype behind it."""
    return ["resource" if a.handle else a.dtype for a in args]


def default(attr):
    """The default in the form in which gradbag writes it."""
    if not attr.HasField("default_value"):
        return REQUIRED
    value = attr.default_value
    match attr.type:
        case "bool":
            return value.b
        case "int":
            return value.i
        case "float":
            return value.f
        case "string":
            return value.s.decode()
        case "type":
            return tf.as_dtype(value.type).name
        case "list(int)":
            return tuple(value.list.i)
        case "list(float)":
            return tuple(value.list.f)
        case "list(string)":
            return tuple(text.decode() for text in value.list.s)
        case "shape" if value.shape.unknown_rank:
            return None
    raise AssertionError(f"{attr.name} is a {attr.type}")


@every_op
def test_inputs_have_the_same_number_order_and_types(op):
    defined = definition(op)
    wanted = [(dtype_name(a), a.number_attr or "", bool(a.type_list_attr)) for a in defined.input_arg]
    counts = [((a.count or "N") * (a.many and not a.each), a.each) for a in op.inputs]
    assert [(name, *count) for name, count in zip(declared(op.inputs), counts, strict=True)] == wanted


@every_op
def test_outputs_have_the_same_names_and_types(op):
    wanted = [(a.name, dtype_name(a), bool(a.number_attr or a.type_list_attr)) for a in definition(op).output_arg]
    assert wanted == [(a.name, name, a.many) for a, name in zip(op.outputs, declared(op.outputs), strict=True)]


@every_op
def test_attributes_have_the_same_names_kinds_and_defaults(op):
    defined = definition(op)
    others = [a for a in defined.attr if a.name not in implied(defined)]
    wanted = {a.name: (KINDS.get(a.type, a.type), default(a)) for a in others}
    assert {a.name: (a.kind, a.default) for a in op.attrs} == wanted


@every_op
def test_a_call_takes_the_same_arguments_in_the_same_order(op):
    known = [name for name in inspect.signature(getattr(tf.raw_ops, op.name)).parameters if name != "name"]
    assert [RENAMED.get((op.name, name), name) for name in (*op.input_names, *op.attr_defaults)] == known


@pytest.mark.parametrize(
    "op", [op for op in array_ops() if op in OPS], ids=lambda op: op.name
)  # the sparse ops take more, and say so
def test_the_dtypes_are_among_those_that_tensorflow_allows(op):
    attrs = {a.name: a for a in definition(op).attr}
    for variable, names in op.types.items():
        if variable not in attrs:  # of a handle, whose dtype TensorFlow does not name
            assert all(a.handle for a in op.inputs if a.dtype == variable)
            continue
        allowed = attrs[variable].allowed_values.list.type
        if allowed:
            assert set(names) <= {tf.as_dtype(number).name for number in allowed}, variable
