"""Saved models of TensorFlow: a folder with graphs, signatures, variables and vocabularies."""

from .loading import SavedModel, Signature, load_saved_model

__all__ = ["SavedModel", "Signature", "load_saved_model"]
