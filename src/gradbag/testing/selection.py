"""Which ops a derived test is about: that follows from what they declare."""

from __future__ import annotations

from .. import dtypes
from ..spec import Op, registry


def native_ops() -> list[Op]:
    """The ops that have a kernel."""
    return [op for op in registry if op.kernel is not None]


def compiled_ops() -> list[Op]:
    """The ops that have a rule by which kernels answer in place of the body."""
    return [op for op in registry if op.compiled_rule is not None]


def array_ops() -> list[Op]:
    """The ops of NumPy's kind, which stand around the sparse ones."""
    return [op for op in registry if op.section == "array"]


def differentiable_ops() -> list[Op]:
    """The ops with a kernel whose inputs can carry a gradient."""
    return [op for op in native_ops() if op.rule is not None and op.differentiable]


def indexed_ops() -> list[Op]:
    """The ops with a kernel that takes indices, so that it has some to refuse."""
    return [op for op in native_ops() if any(set(op.allowed(arg)) <= set(dtypes.INDEX) for arg in op.inputs)]
