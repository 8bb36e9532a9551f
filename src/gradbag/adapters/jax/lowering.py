"""How XLA runs a call: by a handler that calls the kernel without Python, or by Python where no kernel can."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import jax
import numpy as np

from ... import dtypes, eager, errors
from ...eager.program import Program, native
from ...eager.shortcut import settings
from ...spec import registry
from . import compat, host
from .call import Call

TARGET = "gradbag"


def refuse(ctx: Any, *operands: Any, call: Call, **fixed: Any) -> Any:
    platforms = ", ".join(ctx.module_context.platforms)
    raise errors.wrong_type(call.op.name, call.op.input_names[0], ["an array on the CPU"], f"one on {platforms}")


def forward(ctx: Any, *operands: Any, call: Call) -> Any:
    return _by_kernel(ctx, operands, ctx.avals_in, call) or by_python(host.run)(ctx, *operands, call=call)


def push(ctx: Any, *operands: Any, call: Call) -> Any:
    count = len(call.free)
    outlines = call.outlines(ctx.avals_in[:count])
    inner = ctx.replace(avals_in=ctx.avals_in[:count], avals_out=outlines)
    outputs = forward(inner, *operands[:count], call=call)
    return [outputs[place] for place in call.moving]


def by_python(run: Callable[..., Any]) -> Callable[..., Any]:
    """The lowering that calls `run(call, arrays, ...)`."""

    def lower(ctx: Any, *operands: Any, call: Call, **fixed: Any) -> Any:
        def called(*values: Any) -> Any:
            return tuple(run(call, values, **fixed))

        results, _, _ = compat.emit_python_callback(
            ctx, called, None, list(operands), ctx.avals_in, ctx.avals_out, has_side_effect=False, returns_token=False
        )
        return results

    return lower


# ------------------------------------------------------------------ XLA's foreign functions
@cache
def _is_registered() -> bool:
    if not hasattr(native, "xla_handler"):
        warnings.warn(
            "gradbag was built without XLA's headers: inside jax.jit its ops run by way of Python. To build them in: "
            "GRADBAG_JAX=1 pip install --no-binary gradbag gradbag",
            RuntimeWarning,
            stacklevel=2,
        )
        return False
    capsule = native.xla_handler(
        lambda op, fault: str(eager.refusal(registry[op], fault)),
        lambda op, counted, room: str(host.wrong_size(op, counted, room)),
    )
    jax.ffi.register_ffi_target(TARGET, capsule, platform="cpu")
    return True


def _by_kernel(ctx: Any, operands: Sequence[Any], outlines: Sequence[Any], call: Call) -> Any:
    """The results of the kernel that the op has for these dtypes; None where Python is needed."""
    op = call.op
    if op.kernel is None or native is None or not _is_registered() or not call.checked:
        return None
    names = call.names(outlines)
    program = Program(op, names, native)
    counts = _counted_axes(call) if program.plan is not None else [-1] * len(op.outputs)
    if program.fill is None or counts is None or (call.fill_value is not None and program.plan is None):
        return None
    given: dict[int, Any] = {place: compat.ir_constant(array) for place, array in call.held_arrays().items()}
    given |= zip(call.free, operands, strict=True)
    complete = call.complete(outlines)
    passes = [place for place in program.passes if names[place] is not None]
    avals_in = [compat.ShapedArray(complete[p].shape, dtypes.numpy_dtype(str(names[p]))) for p in passes]
    results = [compat.ShapedArray(shape, dtypes.numpy_dtype(name)) for shape, name in call.outputs(outlines)]
    passed = [_converted(given[p], aval) for p, aval in zip(passes, avals_in, strict=True)]
    inner = ctx.replace(avals_in=avals_in, avals_out=results)
    # XLA would leave out a call that gives no elements, and the check of the indices with it.
    is_empty = all(0 in aval.shape for aval in results)
    # Where the caller gives an input away, its memory is that of its new value.
    updated = [passes.index(place) for place in call.updated]
    aliases = {place: number for number, place in enumerate(updated)}
    given_settings = {f"setting{k}": _setting(v) for k, v in enumerate(settings(op, dict(call.attrs)))}
    found = jax.ffi.ffi_lowering(TARGET, has_side_effect=is_empty, operand_output_aliases=aliases)(
        inner,
        *passed,
        op=op.name,
        plan="" if program.plan is None else program.plan_name,
        fill=program.fill_name,
        counted=np.array(counts, np.int64),
        padding=np.array(call.padding(), np.int64),
        padded=call.fill_value is not None,
        counts=np.array(program.counts, np.int64),
        updated=np.array(updated, np.int64),
        **given_settings,
    )
    return [_converted(value, aval) for value, aval in zip(found, ctx.avals_out, strict=True)]


def _setting(value: Any) -> Any:
    """A setting as XLA's attributes have it: bools are integers, and numbers have 64 bits."""
    if isinstance(value, str):
        return value
    return np.float64(value) if isinstance(value, float) else np.int64(value)


def _counted_axes(call: Call) -> list[int] | None:
    """Which of the counted sizes the first axis of each output is, -1 for none; None where it is another axis."""
    counted = call.op.counted_words
    axes = []
    for arg in call.op.outputs:
        first, *others = [*arg.dims.terms, ""]
        if any(term in counted for term in others):
            return None
        axes.append(counted.index(first) if first in counted else -1)
    return axes


def _converted(value: Any, aval: Any) -> Any:
    """The value in the dtype of `aval`: XLA knows 64 bits where JAX does not."""
    wanted = compat.ir.RankedTensorType.get(aval.shape, compat.dtype_to_ir_type(aval.dtype))
    return value if value.type == wanted else compat.stablehlo.convert(wanted, value)
