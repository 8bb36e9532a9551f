"""Graphs in the manner of TensorFlow's C++ API: build with a Scope, run with a ClientSession, without TensorFlow."""

from ..errors import CancelledError
from . import ops, page
from .building import Built
from .cache import ResultCache
from .gradients import add_symbolic_gradients
from .graph import Graph, Node, Output
from .graphdef import load_graphdef, save_graphdef, to_graphdef_bytes
from .report import NodeReport, Report
from .scope import Scope
from .session import ClientSession

__all__ = [
    "Built",
    "CancelledError",
    "ClientSession",
    "Graph",
    "Node",
    "NodeReport",
    "Output",
    "Report",
    "ResultCache",
    "Scope",
    "add_symbolic_gradients",
    "load_graphdef",
    "ops",
    "page",
    "save_graphdef",
    "to_graphdef_bytes",
]
