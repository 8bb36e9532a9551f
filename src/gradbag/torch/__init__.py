"""gradbag for PyTorch: `EmbeddingBag` and `functional`, in the shape of PyTorch's own, and slicing of sparse tensors.

`gradbag.raw_ops` and the friendly functions take tensors without this module.
"""

from ..adapters.torch import optim
from . import functional  # registers the ops, so that torch.ops.gradbag has them
from .layer import EmbeddingBag
from .patching import patch, patched
from .slicing import slice

__all__ = ["EmbeddingBag", "functional", "optim", "patch", "patched", "slice"]
