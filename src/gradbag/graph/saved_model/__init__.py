"""Saved models of TensorFlow: a folder with graphs, signatures, variables and vocabularies."""

from .loading import SavedModel, load_saved_model
from .signatures import Signature

__all__ = ["SavedModel", "Signature", "load_saved_model"]
