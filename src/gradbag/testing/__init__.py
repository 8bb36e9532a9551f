"""Tests that follow from a declaration alone: public, so that users can test ops of their own.

from gradbag.testing import assert_kernel_equals_body, cases
for case in cases(my_op):
    assert_kernel_equals_body(case)
"""

from .cases import Case, case_of, cases, cast, layouts
from .gradcheck import assert_adjoint, assert_gradient
from .oracle import assert_kernel_equals_body, assert_same, assert_same_results, called
from .selection import array_ops, compiled_ops, differentiable_ops, indexed_ops, native_ops

__all__ = [
    "Case",
    "array_ops",
    "assert_adjoint",
    "assert_gradient",
    "assert_kernel_equals_body",
    "assert_same",
    "assert_same_results",
    "called",
    "case_of",
    "cases",
    "cast",
    "compiled_ops",
    "differentiable_ops",
    "indexed_ops",
    "layouts",
    "native_ops",
]
