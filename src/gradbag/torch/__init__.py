"""gradbag for PyTorch: `EmbeddingBag`, `GroupedEmbeddingBag`, `functional` and slicing of sparse tensors.

`ShardedEmbeddingBag` spreads a table over the ranks of a process group.
`gradbag.raw_ops` and the friendly functions take tensors without this module.
"""

from ..adapters.torch import optim
from . import functional  # registers the ops, so that torch.ops.gradbag has them
from .grouped import GroupedEmbeddingBag
from .layer import EmbeddingBag
from .patching import patch, patched
from .sharded import ShardedEmbeddingBag, ShardedEmbeddingBags
from .slicing import slice

__all__ = [
    "EmbeddingBag",
    "GroupedEmbeddingBag",
    "ShardedEmbeddingBag",
    "ShardedEmbeddingBags",
    "functional",
    "optim",
    "patch",
    "patched",
    "slice",
]
