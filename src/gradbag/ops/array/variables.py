"""Variables that are passed on as handles: what TensorFlow 2 keeps them in. A session gives these ops their meaning."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np

from ...dims import AnyShape
from ...dtypes import ANY, INDEX, NUMBER
from ...errors import Fault, InvalidArgumentError
from ...spec import REQUIRED, Arg, Attr, Example, Known, Reject, op
from .array_samples import SHAPES, Rng, arrays, gatherings, nothing, row_gatherings
from .gathering import gather, gather_v2, taken
from .sizes import possible

DTYPE = Attr("dtype", REQUIRED, "The dtype of the values.", "type")
HANDLE = Arg("resource", "dtype", "*before", "The variable.", handle=True)
UPDATED = Arg("resource", "dtype", "*same", "The variable, which changes.", handle=True, updates=True)


def assigned(rng: Rng) -> Iterator[dict[str, Any]]:
    for shape in SHAPES:
        yield {"resource": rng.uniform(4.5, 9.0, shape), "value": rng.uniform(0.5, 4.0, shape)}


# ------------------------------------------------------------------ VarHandleOp
@op(
    "VarHandleOp",
    inputs=[],
    outputs=[Arg("resource", "dtype", "*shape", "The variable.", handle=True)],
    attrs=[
        DTYPE,
        Attr("shape", REQUIRED, "The shape of its values; None for a size that is not fixed.", "shape"),
        Attr("container", "", "Without effect, for TensorFlow's sake.", "string"),
        Attr("shared_name", "", "The name under which it is kept, if not that of the node.", "string"),
        Attr("debug_name", "", "Without effect, for TensorFlow's sake.", "string"),
        Attr("allowed_devices", (), "Without effect, for TensorFlow's sake.", "strings"),
    ],
    types={"dtype": ANY},
    state="variable",
    example=Example({"dtype": "float32", "shape": [2]}, {"resource": [0.0, 0.0]}),
    samples=nothing,
)
def var_handle_op(
    dtype: str, shape: AnyShape, container: str, shared_name: str, debug_name: str, allowed_devices: Any
) -> Any:
    """A value that is kept from run to run; other ops read it and change it."""
    raise InvalidArgumentError("VarHandleOp: there is no value; a session keeps it, and AssignVariableOp gives it one")


@var_handle_op.shapes
def _(dtype: str, shape: AnyShape, container: str, shared_name: str, debug_name: str, allowed_devices: Any) -> Any:
    return [None if shape is None else possible("shape", shape, dtype)]


# ------------------------------------------------------------------ ReadVariableOp
@op(
    "ReadVariableOp",
    inputs=[HANDLE],
    outputs=[Arg("value", "dtype", "*before", "Its value.")],
    attrs=[DTYPE],
    types={"dtype": ANY},
    linear=["resource"],
    example=Example({"resource": [1.5, 2.0], "dtype": "float32"}, {"value": [1.5, 2.0]}),
    samples=arrays("resource"),
)
def read_variable_op(resource: Any, dtype: str) -> Any:
    """The value that a variable has after all changes that this op waits for."""
    return resource.copy()


@read_variable_op.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"resource": g.value}


# ------------------------------------------------------------------ AssignVariableOp
@op(
    "AssignVariableOp",
    inputs=[HANDLE, Arg("value", "dtype", "*new", "What the variable shall be.")],
    outputs=[],
    attrs=[Attr("validate_shape", False, "Refuse a value of another shape than the variable has.")],
    types={"dtype": ANY},
    no_grad=["resource", "value"],
    state="assign",
    example=Example({"resource": [0.0, 0.0], "value": [1.5, 2.0]}, {}),
    samples=assigned,
)
def assign_variable_op(resource: Any, value: Any, validate_shape: bool) -> Any:
    """Give a variable a value."""
    return value


# ------------------------------------------------------------------ AssignAddVariableOp
@op(
    "AssignAddVariableOp",
    inputs=[UPDATED, Arg("value", "dtype", "*same", "What to add, in the shape of the variable.")],
    outputs=[],
    types={"dtype": NUMBER},
    example=Example({"resource": [1.0, 2.0], "value": [0.5, 0.5]}, {}, after={"resource": [1.5, 2.5]}),
    samples=assigned,
    rejects=[Reject({"value": [1.0]}, r"value must have shape \[\*same\]")],
)
def assign_add_variable_op(resource: Any, value: Any) -> Any:
    """Add to a variable."""
    return [np.asarray(np.add(resource, value))]


# ------------------------------------------------------------------ AssignSubVariableOp
@op(
    "AssignSubVariableOp",
    inputs=[UPDATED, Arg("value", "dtype", "*same", "What to subtract, in the shape of the variable.")],
    outputs=[],
    types={"dtype": NUMBER},
    example=Example({"resource": [1.0, 2.0], "value": [0.5, 0.5]}, {}, after={"resource": [0.5, 1.5]}),
    samples=assigned,
    rejects=[Reject({"value": [1.0]}, r"value must have shape \[\*same\]")],
)
def assign_sub_variable_op(resource: Any, value: Any) -> Any:
    """Subtract from a variable."""
    return [np.asarray(np.subtract(resource, value))]


# ------------------------------------------------------------------ VarIsInitializedOp
@op(
    "VarIsInitializedOp",
    inputs=[Arg("resource", "resource", "*before", "The variable.", handle=True)],
    outputs=[Arg("is_initialized", "bool", "", "Whether it has a value.")],
    types={"resource": ANY},
    no_grad=["resource"],
    state="initialized",
    example=Example({"resource": [1.5, 2.0]}, {"is_initialized": True}),
    samples=arrays("resource"),
)
def var_is_initialized_op(resource: Any) -> Any:
    """Whether a variable has got a value; an array is one."""
    return np.array(True)


# ------------------------------------------------------------------ IsVariableInitialized
@op(
    "IsVariableInitialized",
    inputs=[Arg("ref", "dtype", "*before", "The variable, as the op that made it gives it.")],
    outputs=[Arg("is_initialized", "bool", "", "Whether it has a value.")],
    types={"dtype": ANY},
    no_grad=["ref"],
    state="initialized",
    example=Example({"ref": [1.5, 2.0]}, {"is_initialized": True}),
    samples=arrays("ref"),
)
def is_variable_initialized(ref: Any) -> Any:
    """Whether a variable has got a value; the older form of VarIsInitializedOp."""
    return np.array(True)


# ------------------------------------------------------------------ VariableShape
@op(
    "VariableShape",
    inputs=[Arg("input", "resource", "*before", "The variable.", handle=True)],
    outputs=[Arg("output", "out_type", "rank", "The lengths of its axes.")],
    attrs=[Attr("out_type", "int32", "The dtype of the lengths.", "type")],
    types={"resource": ANY, "out_type": INDEX},
    no_grad=["input"],
    example=Example({"input": [[1.0, 2.0, 3.0]]}, {"output": [1, 3]}),
    samples=arrays("input"),
)
def variable_shape(input: Any, out_type: str) -> Any:
    """The shape of a variable."""
    return np.array(input.shape, out_type)


@variable_shape.shapes
def _(input: Known, out_type: str) -> Any:
    return [(None if input.shape is None else len(input.shape),)]


# ------------------------------------------------------------------ ResourceGather
def _rows(rng: Rng) -> Iterator[dict[str, Any]]:
    for drawn in row_gatherings(rng):
        yield {"resource": drawn["params"], "indices": drawn["indices"]}
    for drawn in gatherings(rng):
        if drawn["axis"] == drawn["batch_dims"] > 0:
            yield {name: drawn[was] for name, was in [("resource", "params"), ("indices", "indices")]} | {
                "batch_dims": drawn["batch_dims"]
            }


@op(
    "ResourceGather",
    inputs=[
        Arg("resource", "dtype", "rows *inner", "The variable, a table of rows.", handle=True),
        Arg("indices", "Tindices", "*places", "The numbers of the wanted rows."),
    ],
    outputs=[Arg("output", "dtype", "*result", "The rows, in the order of the indices.")],
    attrs=[
        DTYPE,
        Attr("batch_dims", 0, "How many first axes the variable and indices share, one gather for each.", "int"),
        Attr("validate_indices", True, "Without effect: indices are always checked."),
    ],
    types={"dtype": ANY, "Tindices": INDEX},
    linear=["resource"],
    example=Example(
        {"resource": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], "indices": [2, 0], "dtype": "float32"},
        {"output": [[5.0, 6.0], [1.0, 2.0]]},
    ),
    samples=_rows,
    rejects=[Reject({"indices": [0, 3]}, r"indices\[1\] == 3 out of range \[0, 3\)")],
)
def resource_gather(resource: Any, indices: Any, dtype: str, batch_dims: int, validate_indices: bool) -> Any:
    """Rows of a variable, by their numbers."""
    return gather_v2.body(resource, indices, batch_dims, batch_dims)


@resource_gather.shapes
def _(resource: Known, indices: Known, dtype: str, batch_dims: int, validate_indices: bool) -> Any:
    if resource.shape is None:
        return [None]
    rank = None if indices.shape is None else len(indices.shape)
    if not 0 <= batch_dims < len(resource.shape) or (rank is not None and batch_dims > rank):
        raise Fault("rule", "batch_dims", (), batch_dims, hint="must leave an axis to gather from")
    return [taken(resource, indices, batch_dims, batch_dims)]


@resource_gather.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    if x.batch_dims:
        as_v2 = SimpleNamespace(params=x.resource, indices=x.indices, axis=x.batch_dims, batch_dims=x.batch_dims)
        return {"resource": gather_v2.rule(ops, as_v2, y, g)["params"]}  # type: ignore[misc]
    as_v1 = SimpleNamespace(params=x.resource, indices=x.indices)
    return {"resource": gather.rule(ops, as_v1, y, g)["params"]}  # type: ignore[misc]
