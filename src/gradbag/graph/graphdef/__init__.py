"""GraphDef, TensorFlow's file of a graph: in and out, without TensorFlow."""

from .loading import load_graphdef
from .saving import save_graphdef, to_graphdef_bytes

__all__ = ["load_graphdef", "save_graphdef", "to_graphdef_bytes"]
