"""Lists of arrays as values of a graph: what loops of TensorFlow 2 collect their results in.

They exist in a session alone, so their ops stand in no registry but this one: no array is a list, and no framework
takes one. A list is never changed; ops make new ones, which share their members.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..dims import AnyShape
from ..dtypes import ANY, INDEX, LIST, numpy_dtype
from ..errors import Fault, InvalidArgumentError, invalid
from ..spec import REQUIRED, Arg, Attr, Example, Known, Op, registry

Array = np.ndarray[Any, Any]
MOST_MEMBERS = 1 << 24
ops: dict[str, Op] = {}


class List:
    """The members, None for one that was never set, and what is known of their shape."""

    __slots__ = ("members", "shape_of_member")
    ndim, shape, base = 0, (), None

    def __init__(self, members: Sequence[Array | None], shape: AnyShape) -> None:
        self.members, self.shape_of_member = tuple(members), shape

    @property
    def nbytes(self) -> int:
        return sum(member.nbytes for member in self.members if member is not None)

    def copy(self) -> List:
        return self

    def filled(self, index: int, shape: Any, dtype: str) -> Array:
        """A member; zeros where none was set, if anything tells their shape."""
        member = self.members[index]
        if member is not None:
            return member
        known = [m.shape for m in self.members if m is not None]
        sizes = _sizes(shape) or self.shape_of_member
        if sizes is None or None in sizes:
            sizes = known[0] if known else sizes
        if sizes is None or None in sizes:
            raise Fault("rule", "input_handle", (index,), "nothing", hint="was never set, and its shape is not known")
        return np.zeros([n or 0 for n in sizes], numpy_dtype(dtype))


def find(name: str) -> Op | None:
    """An op by its name, one of lists included."""
    return registry.get(name) or ops.get(name)


def run(op: Op, values: Sequence[Any], attrs: dict[str, Any]) -> list[Any]:
    """An op of lists has no kernel, and only its body knows what may be wrong."""
    try:
        return op.flat_answer(op.body(*values, **attrs))
    except Fault as fault:
        raise invalid(op.name, fault) from None


def _sizes(shape: Any) -> AnyShape:
    """What an input tells of the members' shape; -1 alone says nothing."""
    array = np.asarray(shape)
    return None if not array.ndim else tuple(None if n < 0 else int(n) for n in array)


def _declare(
    name: str, inputs: Sequence[Arg], outputs: Sequence[Arg], attrs: Sequence[Attr] = ()
) -> Callable[[Callable[..., Any]], Op]:
    def declare(body: Callable[..., Any]) -> Op:
        given = {arg.name: 0 for arg in inputs} | {attr.name: 0 for attr in attrs if attr.default is REQUIRED}
        types = {"element_dtype": ANY, "shape_type": INDEX}
        used = {arg.dtype for arg in (*inputs, *outputs)} | {attr.name for attr in attrs}
        ops[name] = Op(
            name,
            body,
            inputs=inputs,
            outputs=outputs,
            attrs=attrs,
            types={variable: allowed for variable, allowed in types.items() if variable in used},
            example=Example(given, {arg.name: 0 for arg in outputs}),
            samples=lambda _: (),
            state="list",
        )
        return ops[name]

    return declare


HANDLE = Arg("input_handle", LIST, "", "The list.")
MADE = Arg("output_handle", LIST, "", "The new list.")
SHAPE = Arg("element_shape", "shape_type", "*_", "The shape of a member, -1 for what is not known.")
SHAPE_32 = Arg("element_shape", "int32", "*_", "The shape of a member, -1 for what is not known.")
ITEM = Arg("tensor", "element_dtype", "*item", "A member.")
INDEX_OF = Arg("index", "int32", "", "The number of a member.")
DTYPE = Attr("element_dtype", REQUIRED, "The dtype of the members.", "type")
SHAPE_TYPE = Attr("shape_type", REQUIRED, "The dtype of the shape.", "type")


@_declare("ListArgument", [], [MADE])
def list_argument() -> Any:
    """The list that a part of a loop is given."""
    raise InvalidArgumentError("ListArgument: a loop gives it its value")


ops["ListArgument"].state = "fed"


def _counted(argument: str, count: Any) -> int:
    if not 0 <= int(count) <= MOST_MEMBERS:
        raise Fault("rule", argument, (), int(count), hint=f"must not be negative, nor above {MOST_MEMBERS}")
    return int(count)


@_declare(
    "EmptyTensorList",
    [SHAPE, Arg("max_num_elements", "int32", "", "Without effect.")],
    [Arg("handle", LIST, "", "The list.")],
    [DTYPE, SHAPE_TYPE],
)
def empty_tensor_list(element_shape: Any, max_num_elements: Any, element_dtype: str, shape_type: str) -> Any:
    """A list without members."""
    return List((), _sizes(element_shape))


@_declare(
    "TensorListReserve",
    [SHAPE, Arg("num_elements", "int32", "", "How many members it has.")],
    [Arg("handle", LIST, "", "The list.")],
    [DTYPE, SHAPE_TYPE],
)
def tensor_list_reserve(element_shape: Any, num_elements: Any, element_dtype: str, shape_type: str) -> Any:
    """A list whose members are not set yet."""
    return List([None] * _counted("num_elements", num_elements), _sizes(element_shape))


@_declare("TensorListPushBack", [HANDLE, ITEM], [MADE], [DTYPE])
def tensor_list_push_back(input_handle: Any, tensor: Any, element_dtype: str) -> Any:
    """A list with one more member."""
    return List((*input_handle.members, tensor), input_handle.shape_of_member)


@_declare("TensorListPopBack", [HANDLE, SHAPE_32], [MADE, Arg("tensor", "element_dtype", "*item", "")], [DTYPE])
def tensor_list_pop_back(input_handle: Any, element_shape: Any, element_dtype: str) -> Any:
    """A list without its last member, and that member."""
    if not input_handle.members:
        raise Fault("rule", "input_handle", (), "an empty list", hint="has no member to take")
    last = input_handle.filled(len(input_handle.members) - 1, element_shape, element_dtype)
    return List(input_handle.members[:-1], input_handle.shape_of_member), last


@_declare(
    "TensorListSetItem",
    [HANDLE, INDEX_OF, Arg("item", "element_dtype", "*item", "The member.")],
    [MADE],
    [DTYPE, Attr("resize_if_index_out_of_bounds", False, "Make the list longer where it is too short.")],
)
def tensor_list_set_item(
    input_handle: Any, index: Any, item: Any, element_dtype: str, resize_if_index_out_of_bounds: bool
) -> Any:
    """A list with another member at a place."""
    members, place = list(input_handle.members), int(index)
    if resize_if_index_out_of_bounds and place >= len(members):
        members += [None] * (_counted("index", place) + 1 - len(members))
    if not 0 <= place < len(members):
        raise Fault("range", "index", (), place, 0, len(members))
    members[place] = item
    return List(members, input_handle.shape_of_member)


@_declare(
    "TensorListGetItem",
    [HANDLE, INDEX_OF, SHAPE_32],
    [Arg("item", "element_dtype", "*item", "")],
    [DTYPE, Attr("Tshape", "int32", "Without effect; TensorFlow writes it in gradients.", "type")],
)
def tensor_list_get_item(input_handle: Any, index: Any, element_shape: Any, element_dtype: str, Tshape: str) -> Any:  # noqa: N803
    """A member of a list."""
    if not 0 <= int(index) < len(input_handle.members):
        raise Fault("range", "index", (), int(index), 0, len(input_handle.members))
    return input_handle.filled(int(index), element_shape, element_dtype)


@_declare(
    "TensorListStack",
    [HANDLE, SHAPE_32],
    [Arg("tensor", "element_dtype", "*all", "")],
    [DTYPE, Attr("num_elements", -1, "How many there must be; -1 for any number.", "int")],
)
def tensor_list_stack(input_handle: Any, element_shape: Any, element_dtype: str, num_elements: int) -> Any:
    """All members of a list in one array."""
    count = len(input_handle.members)
    if num_elements not in (-1, count):
        raise Fault("rule", "input_handle", (), count, hint=f"members, which must be {num_elements}")
    if not count:
        sizes = _sizes(element_shape) or input_handle.shape_of_member
        if sizes is None or None in sizes:
            raise Fault("rule", "input_handle", (), "an empty list", hint="of members whose shape is not known")
        return np.zeros([0, *(n or 0 for n in sizes)], numpy_dtype(element_dtype))
    members = [input_handle.filled(place, element_shape, element_dtype) for place in range(count)]
    for place, member in enumerate(members):
        if member.shape != members[0].shape:
            raise Fault(
                "shape", "input_handle", (place,), member.shape, hint=f"must be that of the first, {members[0].shape}"
            )
    return np.stack(members)


@_declare(
    "TensorListFromTensor",
    [Arg("tensor", "element_dtype", "n *item", "The members."), SHAPE],
    [MADE],
    [DTYPE, SHAPE_TYPE],
)
def tensor_list_from_tensor(tensor: Any, element_shape: Any, element_dtype: str, shape_type: str) -> Any:
    """The list of the rows of an array."""
    return List([np.asarray(row) for row in tensor], tensor.shape[1:])


@_declare("TensorListLength", [HANDLE], [Arg("length", "int32", "", "How many members it has.")])
def tensor_list_length(input_handle: Any) -> Any:
    """How many members a list has."""
    return np.array(len(input_handle.members), np.int32)


@_declare("TensorListElementShape", [HANDLE], [Arg("element_shape", "shape_type", "*_", "")], [SHAPE_TYPE])
def tensor_list_element_shape(input_handle: Any, shape_type: str) -> Any:
    """The shape of a list's members, as far as it is known."""
    sizes = input_handle.shape_of_member
    known = -1 if sizes is None else [-1 if n is None else n for n in sizes]
    return np.array(known, numpy_dtype(shape_type))


def _of_member(element_shape: Known) -> AnyShape:
    return None if element_shape.value is None else _sizes(element_shape.value)


ops["TensorListPopBack"].shapes(lambda input_handle, element_shape, element_dtype: [(), _of_member(element_shape)])
ops["TensorListGetItem"].shapes(lambda input_handle, index, element_shape, **_: [_of_member(element_shape)])


@ops["TensorListStack"].shapes
def _(input_handle: Known, element_shape: Known, element_dtype: str, num_elements: int) -> Any:
    sizes = _of_member(element_shape)
    return [None if sizes is None else (None if num_elements < 0 else num_elements, *sizes)]
