"""Tables: rows with what an optimizer keeps of them, in memory or in a file."""

from .file_table import FileTable
from .growing import GrowingTable
from .many import lookup_many, step_many
from .quantized import QuantizedTable
from .table import Table

__all__ = ["FileTable", "GrowingTable", "QuantizedTable", "Table", "lookup_many", "step_many"]
