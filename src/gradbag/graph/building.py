"""From a call of an op on outputs, arrays and Python values to a node: what is no output becomes a Const."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .. import arguments, dtypes, errors, raw_ops
from ..row_grad import RowGrad
from ..spec import Op, registry
from .graph import Graph, Node, Output
from .scope import Scope


class Built:
    """A new node, with its outputs as attributes: `built.output`, or a list of them where the op gives a list."""

    __slots__ = ("node",)

    def __init__(self, node: Node) -> None:
        self.node = node

    def __getattr__(self, port: str) -> Any:
        op = self.node.op
        for arg, outputs in zip(op.outputs, op.grouped_outputs(self.node.outputs), strict=True):
            if arg.name == port:
                return outputs
        names = ", ".join(arg.name for arg in op.outputs)
        raise AttributeError(f"{self.node.op.name} has no output {port!r}; it has {names or 'none'}")

    def __iter__(self) -> Iterator[Output]:
        return iter(self.node.outputs)

    def __repr__(self) -> str:
        return repr(self.node)


def build(scope: Scope, op: Op, values: Sequence[Any], attrs: Mapping[str, Any]) -> Node:
    """Add a call to the scope's graph; `values` are flat."""
    outputs = [_as_output(op, value) for value in values]
    name = scope.name_for(op.name)
    if any(output is None and value is not None for output, value in zip(outputs, values, strict=True)):
        inside = Scope(scope.graph, name, {}, "", scope.control)
        # An output stands in by an empty array of its dtype: the Python values beside it take that dtype.
        stand_ins = [
            value if output is None else np.empty(0, dtypes.numpy_dtype(output.dtype))
            for value, output in zip(values, outputs, strict=True)
        ]
        arrays = arguments.to_arrays(op, stand_ins)
        for place, argument in enumerate(op.flat_names(len(values))):
            if outputs[place] is None and values[place] is not None:
                port = argument.replace("[", "_").replace("]", "")
                outputs[place] = constant(inside.with_op_name(port), arrays[place])
    return scope.graph.add(op, name, outputs, attrs, scope.control)


def constant(scope: Scope, value: Any, dtype: str | None = None) -> Output:
    """A Const; without a dtype, Python numbers become float32 and int32, as in TensorFlow."""
    op = registry["Const"]
    array = value
    if dtype is None:
        if not isinstance(value, (np.ndarray, np.generic)):
            array = arguments.to_arrays(registry["Identity"], [value])[0]
        dtype = dtypes.name_of(np.asarray(array).dtype)
    # The caller may go on writing into an array of his own.
    attrs = {"value": array.copy() if isinstance(array, np.ndarray) else array, "dtype": dtype}
    return Output(scope.graph.add(op, scope.name_for(op.name), (), attrs, scope.control), 0)


def _as_output(op: Op, value: Any) -> Output | None:
    if isinstance(value, Output):
        return value
    if isinstance(value, Node):
        value = Built(value)
    if isinstance(value, Built):
        outputs = value.node.outputs
        if len(outputs) != 1:
            names = ", ".join(value.node.output_ports) or "none"
            raise errors.InvalidArgumentError(
                f"{op.name}: {value.node.op.name} has {len(outputs)} outputs, name the one that is meant: {names}"
            )
        return outputs[0]
    if isinstance(value, RowGrad):
        raise errors.UnsupportedTypeError(f"{op.name} takes no RowGrad; use its .dense(), or its .indices and .rows")
    return None


def build_call(op: Op, values: Sequence[Any], attrs: dict[str, Any]) -> Any:
    """Answer a raw op that was given an Output: a new node of its graph, and its outputs."""
    graph: Graph = next(v.graph for v in values if isinstance(v, Output))
    return op.answer(build(Scope.over(graph), op, values, attrs).outputs)


raw_ops.interpreters[Output] = build_call
