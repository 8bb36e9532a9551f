"""Derivatives of NumPy functions that are built of gradbag's ops and ordinary arithmetic, to any order."""

from ..row_grad import RowGrad
from .transforms import grad, jvp, value_and_grad, vjp

__all__ = ["RowGrad", "grad", "jvp", "value_and_grad", "vjp"]
