"""Sparse gradients for every array framework.

`gradbag.raw_ops` has TensorFlow's sparse ops and their gradients under their own names; `segment_mean`,
`fill_empty_rows`, `slice` and the like are the same in friendlier form; `grad`, `vjp` and `jvp` differentiate
functions that are built of them.
"""

from . import optim, raw_ops
from .autodiff import RowGrad, grad, jvp, value_and_grad, vjp
from .bags import Bag, Bags
from .capturing import capture
from .embedding import embedding_lookup_sparse, safe_embedding_lookup_sparse
from .errors import Error, InvalidArgumentError, ResourceExhaustedError, UnsupportedTypeError
from .functions import fill_empty_rows, segment_mean, segment_sqrt_n, segment_sum, slice
from .hashing import hash_ids, string_to_hash_bucket, string_to_hash_bucket_fast, string_to_hash_bucket_strong
from .memory import get_block_cache_limit, get_memory_limit, set_block_cache_limit, set_memory_limit
from .sparse_tensor import SparseTensor
from .table import FileTable, GrowingTable, QuantizedTable, Table, lookup_many, step_many
from .threads import get_num_threads, set_num_threads
from .vocabulary import Vocabulary

__version__ = "0.2.0"
__all__ = [
    "Bag",
    "Bags",
    "Error",
    "FileTable",
    "GrowingTable",
    "InvalidArgumentError",
    "QuantizedTable",
    "ResourceExhaustedError",
    "RowGrad",
    "SparseTensor",
    "Table",
    "UnsupportedTypeError",
    "Vocabulary",
    "capture",
    "embedding_lookup_sparse",
    "fill_empty_rows",
    "get_block_cache_limit",
    "get_memory_limit",
    "get_num_threads",
    "grad",
    "hash_ids",
    "jvp",
    "lookup_many",
    "optim",
    "raw_ops",
    "safe_embedding_lookup_sparse",
    "segment_mean",
    "segment_sqrt_n",
    "segment_sum",
    "set_block_cache_limit",
    "set_memory_limit",
    "set_num_threads",
    "slice",
    "step_many",
    "string_to_hash_bucket",
    "string_to_hash_bucket_fast",
    "string_to_hash_bucket_strong",
    "value_and_grad",
    "vjp",
]
