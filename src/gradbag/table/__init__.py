"""Tables: rows with what an optimizer keeps of them, in memory or in a file."""

from .file_table import FileTable
from .quantized import QuantizedTable
from .table import Table

__all__ = ["FileTable", "QuantizedTable", "Table"]
