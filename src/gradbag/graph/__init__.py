"""Graphs in the manner of TensorFlow's C++ API: build with a Scope, run with a ClientSession, without TensorFlow."""

from importlib import import_module
from typing import Any

from ..errors import CancelledError
from . import ops
from .building import Built
from .cache import ResultCache
from .gradients import add_symbolic_gradients
from .graph import Graph, Node, Output
from .graphdef import load_graphdef, save_graphdef, to_graphdef_bytes
from .report import NodeReport, Report
from .saved_model import SavedModel, load_saved_model
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
    "SavedModel",
    "Scope",
    "add_symbolic_gradients",
    "load_graphdef",
    "load_saved_model",
    "ops",
    "page",
    "save_graphdef",
    "to_graphdef_bytes",
]


def __getattr__(name: str) -> Any:
    if name == "page":  # pages stand above graphs: they come when they are asked for
        return import_module(f"{__name__}.page")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
