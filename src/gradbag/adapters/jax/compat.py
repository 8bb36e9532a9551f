"""Every name of JAX that it does not promise to keep, and what breaks without it.

A test looks for each of them, so that a new version of JAX is judged here and not by users.
"""

from typing import Any

import jax

# Values that are traced, and their shapes and dtypes; without them nothing could be traced.
from jax.core import ShapedArray, Tracer

# An op as a primitive with rules of its own; without it there is no `jit`, no `grad` and no `vmap` of our ops.
from jax.extend.core import Primitive

# Changing a dtype inside a lowering; without it indices of 64 bits would not reach a kernel where JAX has 32.
from jax.extend.mlir.dialects import stablehlo

# The rules of both modes, and tangents that are zero; without them no op would have a derivative.
from jax.interpreters.ad import Zero, instantiate_zeros, is_undefined_primal, primitive_jvps, primitive_transposes

# The rule of `vmap`.
from jax.interpreters.batching import primitive_batchers

# How XLA runs a call; without them no compiled function could have one.
from jax.interpreters.mlir import dtype_to_ir_type, emit_python_callback, ir, ir_constant, register_lowering

try:
    # What all public ways to an array end in; without it an eager call takes 40 microseconds longer.
    from jaxlib._jax import batched_device_put
except ImportError:
    batched_device_put = None


def known(value: Any) -> Any:
    """The array behind a traced value that only is differentiated, else None; a tracer has no public way to tell."""
    return value.to_concrete_value() if isinstance(value, Tracer) else value


def zero_tangent(value: Any) -> Any:
    """The tangent of what does not move; the type of the tangents of a value has no public name."""
    return Zero(jax.typeof(value).to_tangent_aval())


__all__ = [
    "Primitive",
    "ShapedArray",
    "Tracer",
    "Zero",
    "batched_device_put",
    "dtype_to_ir_type",
    "emit_python_callback",
    "instantiate_zeros",
    "ir",
    "ir_constant",
    "is_undefined_primal",
    "known",
    "primitive_batchers",
    "primitive_jvps",
    "primitive_transposes",
    "register_lowering",
    "stablehlo",
    "zero_tangent",
]
