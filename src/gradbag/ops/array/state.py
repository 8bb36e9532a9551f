"""What a run is given from outside, and what it keeps for the next one; the session gives these ops their meaning."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dims import AnyShape
from ...dtypes import ANY, NUMBER
from ...errors import InvalidArgumentError
from ...spec import REQUIRED, Arg, Attr, Example, Reject, op
from .array_samples import assignments, nothing, placeholders
from .sizes import agreed, possible

DTYPE = Attr("dtype", REQUIRED, "The dtype of the values.", "type")
VARIABLE: dict[str, Any] = {
    "inputs": [],
    "outputs": [Arg("ref", "dtype", "*shape", "The value that the variable has now.")],
    "attrs": [
        Attr("shape", REQUIRED, "The shape of its values; None for a size that is not fixed.", "shape"),
        DTYPE,
        Attr("container", "", "Without effect, for TensorFlow's sake.", "string"),
        Attr("shared_name", "", "The name under which it is kept, if not that of the node.", "string"),
    ],
    "types": {"dtype": ANY},
    "state": "variable",
    "example": Example({"shape": [2], "dtype": "float32"}, {"ref": [0.0, 0.0]}),
    "samples": nothing,
}
REF = Arg("ref", "T", "*before", "The variable, as the op that made it gives it.")
STORED = Arg("output_ref", "T", "*after", "The new value.")
LOCKING = "Without effect: one run at a time changes a variable."


# ------------------------------------------------------------------ Placeholder
@op(
    "Placeholder",
    inputs=[],
    outputs=[Arg("output", "dtype", "*shape", "What the run was given.")],
    attrs=[DTYPE, Attr("shape", None, "The shape that may be fed; None for sizes that are not fixed.", "shape")],
    types={"dtype": ANY},
    state="fed",
    example=Example({"dtype": "float32", "shape": [2]}, {"output": [0.0, 0.0]}),
    samples=nothing,
)
def placeholder(dtype: str, shape: AnyShape) -> Any:
    """A value that every run must be given."""
    raise InvalidArgumentError("Placeholder: there is no value; it must be fed when the graph runs")


@placeholder.shapes
def _(dtype: str, shape: AnyShape) -> Any:
    return [shape]


# ------------------------------------------------------------------ PlaceholderWithDefault
@op(
    "PlaceholderWithDefault",
    inputs=[Arg("input", "dtype", "*default", "What it is, if nothing is fed.")],
    outputs=[Arg("output", "dtype", "*result", "What the run was given, or the input.")],
    attrs=[Attr("shape", REQUIRED, "The shape that may be fed; None for sizes that are not fixed.", "shape")],
    types={"dtype": ANY},
    state="fed",
    linear=["input"],
    example=Example({"input": [1.5, 2.0], "shape": [None]}, {"output": [1.5, 2.0]}),
    samples=placeholders,
    rejects=[Reject({"shape": [3]}, r"input has shape \[2\], which must be that of the attribute shape, \[3\]")],
)
def placeholder_with_default(input: Any, shape: AnyShape) -> Any:
    """A value that a run may be given; otherwise it is the input."""
    return input.copy()


@placeholder_with_default.shapes
def _(input: Any, shape: AnyShape) -> Any:
    agreed("the attribute shape", shape, "input", input.shape)
    # Another value of this shape may be fed, so what is known of the input does not count, unless it is there.
    return [shape if input.value is None else input.value.shape]


@placeholder_with_default.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"input": g.output}


# ------------------------------------------------------------------ VariableV2
@op("VariableV2", **VARIABLE)
def variable_v2(shape: AnyShape, dtype: str, container: str, shared_name: str) -> Any:
    """A value that is kept from run to run."""
    raise InvalidArgumentError("VariableV2: there is no value; a session keeps it, and Assign gives it the first one")


@variable_v2.shapes
def _(shape: AnyShape, dtype: str, container: str, shared_name: str) -> Any:
    return [None if shape is None else possible("shape", shape, dtype)]


# ------------------------------------------------------------------ Variable
@op("Variable", **VARIABLE)
def variable(shape: AnyShape, dtype: str, container: str, shared_name: str) -> Any:
    """A value that is kept from run to run; the older form of VariableV2."""
    raise InvalidArgumentError("Variable: there is no value; a session keeps it, and Assign gives it the first one")


@variable.shapes
def _(shape: AnyShape, dtype: str, container: str, shared_name: str) -> Any:
    return [None if shape is None else possible("shape", shape, dtype)]


# ------------------------------------------------------------------ Assign
@op(
    "Assign",
    inputs=[REF, Arg("value", "T", "*new", "What the variable shall be.")],
    outputs=[STORED],
    attrs=[
        Attr("validate_shape", True, "Refuse a value of another shape than the variable has."),
        Attr("use_locking", True, LOCKING),
    ],
    types={"T": ANY},
    no_grad=["ref", "value"],
    state="assign",
    example=Example({"ref": [0.0, 0.0], "value": [1.5, 2.0]}, {"output_ref": [1.5, 2.0]}),
    samples=assignments,
    rejects=[Reject({"value": [1.0]}, r"value has shape \[1\], which must be that of ref, \[2\]")],
)
def assign(ref: Any, value: Any, validate_shape: bool, use_locking: bool) -> Any:
    """Give a variable a value."""
    return value.copy()


@assign.shapes
def _(ref: Any, value: Any, validate_shape: bool, use_locking: bool) -> Any:
    return [agreed("ref", ref.shape, "value", value.shape) if validate_shape else value.shape]


# ------------------------------------------------------------------ AssignAdd
@op(
    "AssignAdd",
    inputs=[REF, Arg("value", "T", "*same", "What to add, in the shape of the variable.")],
    outputs=[STORED],
    attrs=[Attr("use_locking", False, LOCKING)],
    types={"T": NUMBER},
    no_grad=["ref", "value"],
    state="update",
    example=Example({"ref": [1.0, 2.0], "value": [0.5, 0.5]}, {"output_ref": [1.5, 2.5]}),
    samples=assignments,
    rejects=[Reject({"value": [1.0]}, r"value has shape \[1\], which must be that of ref, \[2\]")],
)
def assign_add(ref: Any, value: Any, use_locking: bool) -> Any:
    """Add to a variable."""
    return np.add(ref, value)


@assign_add.shapes
def _(ref: Any, value: Any, use_locking: bool) -> Any:
    return [agreed("ref", ref.shape, "value", value.shape)]


# ------------------------------------------------------------------ AssignSub
@op(
    "AssignSub",
    inputs=[REF, Arg("value", "T", "*same", "What to subtract, in the shape of the variable.")],
    outputs=[STORED],
    attrs=[Attr("use_locking", False, LOCKING)],
    types={"T": NUMBER},
    no_grad=["ref", "value"],
    state="update",
    example=Example({"ref": [1.0, 2.0], "value": [0.5, 0.5]}, {"output_ref": [0.5, 1.5]}),
    samples=assignments,
    rejects=[Reject({"value": [1.0]}, r"value has shape \[1\], which must be that of ref, \[2\]")],
)
def assign_sub(ref: Any, value: Any, use_locking: bool) -> Any:
    """Subtract from a variable."""
    return np.subtract(ref, value)


@assign_sub.shapes
def _(ref: Any, value: Any, use_locking: bool) -> Any:
    return [agreed("ref", ref.shape, "value", value.shape)]
