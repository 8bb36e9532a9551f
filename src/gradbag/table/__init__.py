"""Tables: rows with what an optimizer keeps of them."""

from .quantized import QuantizedTable
from .table import Table

__all__ = ["QuantizedTable", "Table"]
