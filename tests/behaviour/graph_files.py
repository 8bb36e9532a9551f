"""Graph files made by hand, field by field, for tests of what a loader must refuse."""

from __future__ import annotations

from typing import Any

from gradbag.graph.graphdef.messages import NUMBERS, message


class Maker:
    """A GraphDef that may be as wrong as it likes."""

    def __init__(self) -> None:
        self.proto = message("GraphDef")()
        self.proto.versions.producer = 2474

    def node(self, name: str, op: str = "Identity", *inputs: str, into: Any = None, **attrs: Any) -> Any:
        """Add a node; an attribute is a dtype's name, an int, a bool, or a dict with the field to set."""
        made = (self.proto.node if into is None else into.node_def).add(name=name, op=op)
        made.input.extend(inputs)
        for key, value in attrs.items():
            set_attr(made, key, value)
        return made

    def const(self, name: str = "c", dtype: str = "float32", shape: Any = (), **fields: Any) -> Any:
        """Add a Const; the fields are those of its TensorProto."""
        made = self.node(name, "Const", dtype=dtype)
        tensor = made.attr.add(key="value").value.tensor
        tensor.dtype = NUMBERS[dtype]
        for size in shape:
            tensor.tensor_shape.dim.add(size=size)
        for field, value in fields.items():
            if isinstance(value, list):
                getattr(tensor, field).extend(value)
            else:
                setattr(tensor, field, value)
        return tensor

    def function(self, name: str, inputs: str = "x", outputs: str = "y", **returns: str) -> Any:
        """Add a function of float32 arguments."""
        made = self.proto.library.function.add()
        made.signature.name = name
        for kind, names in ((made.signature.input_arg, inputs), (made.signature.output_arg, outputs)):
            for each in names.split():
                kind.add(name=each, type=1)
        for key, value in returns.items():
            made.ret.add(key=key, value=value)
        return made

    @property
    def bytes(self) -> bytes:
        data: bytes = self.proto.SerializeToString()
        return data


def set_attr(node: Any, key: str, value: Any) -> None:
    proto = node.attr.add(key=key).value
    if isinstance(value, dict):
        ((field, content),) = value.items()
        if field == "func":
            proto.func.name = content
        elif isinstance(content, list):
            proto.list.SetInParent()
            getattr(proto.list, field).extend(content)
        else:
            setattr(proto, field, content)
    elif isinstance(value, str):
        proto.type = NUMBERS[value]
    elif isinstance(value, bool):
        proto.b = value
    else:
        proto.i = value
