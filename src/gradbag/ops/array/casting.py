"""The same numbers in another dtype."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np

from ... import dtypes
from ...dtypes import NUMBER
from ...spec import REQUIRED, Arg, Attr, Example, op

CASTABLE = (*NUMBER, "bool")


def casts(rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    for shape in [(3, 4), (), (0, 2)]:
        yield {"x": rng.uniform(0.5, 9.0, shape), "DstT": "float64"}
    # No unsigned integer holds these, and of the sums of powers no short float holds all bits.
    yield {"x": np.array([0.0, 0.25, 1.0 + 2.0**-9 + 2.0**-30, 3.0 - 2.0**-12]), "DstT": "float64", "Truncate": True}


# ------------------------------------------------------------------ Cast
@op(
    "Cast",
    inputs=[Arg("x", "SrcT", "*shape", "Any numbers.")],
    outputs=[Arg("y", "DstT", "*shape", "The numbers in the dtype `DstT`.")],
    attrs=[
        Attr("DstT", REQUIRED, "The dtype of the result.", "type"),
        Attr("Truncate", False, "Drop the bits that a shorter float has no room for, instead of rounding."),
    ],
    types={"SrcT": CASTABLE, "DstT": CASTABLE},
    linear=["x"],
    example=Example({"x": [1.75, -2.5], "DstT": "int32"}, {"y": [1, -2]}),
    samples=casts,
)
def cast(x: Any, DstT: str, Truncate: bool) -> Any:  # noqa: N803  # TensorFlow's names
    """The same numbers in another dtype: floats become integers by dropping the fraction, complex ones lose their
    imaginary part."""
    target = dtypes.numpy_dtype(DstT)
    if Truncate:
        x = _shortened(x, DstT)
    if x.dtype.kind == "c" and target.kind != "c":
        x = x.real
    return x.astype(target)


@cast.gradient
def _(ops: Any, x: Any, y: Any, g: Any) -> Any:
    return {"x": ops.Cast(x=g.y, DstT=x.x.dtype)}


def _shortened(x: Any, wanted: str) -> Any:
    """With zeros in the places of the mantissa that the target lacks, so that nothing is left to round."""
    source = dtypes.name_of(x.dtype)
    # To bfloat16 TensorFlow truncates float32 alone, and rounds the others.
    if not {source, wanted} <= dtypes.DIFFERENTIABLE or (wanted == "bfloat16" and source != "float32"):
        return x
    extra = _mantissa(x.dtype) - _mantissa(dtypes.numpy_dtype(wanted))
    if extra <= 0:
        return x
    bits = np.ascontiguousarray(x)[..., None].view(f"u{x.real.itemsize}")  # of a complex number, both parts
    return (bits >> extra << extra).view(x.dtype)[..., 0]


def _mantissa(dtype: Any) -> int:
    part = np.zeros((), dtype).real.dtype
    return int(ml_dtypes.finfo(part).nmant)  # type: ignore[no-untyped-call]
