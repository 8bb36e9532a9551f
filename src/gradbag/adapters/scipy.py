"""SciPy sparse arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from .. import errors
from ..sparse_tensor import SparseTensor


def from_scipy(array: Any) -> SparseTensor:
    if not scipy.sparse.issparse(array):
        raise errors.wrong_type("from_scipy", "array", ["a SciPy sparse array"], type(array).__name__)
    entries = array.tocoo()
    indices = np.stack(entries.coords, 1).astype(np.int64)
    return SparseTensor(indices, entries.data.copy(), np.array(entries.shape, np.int64))


def to_scipy(tensor: SparseTensor) -> Any:
    return scipy.sparse.coo_array((tensor.values, tuple(tensor.indices.T)), shape=tensor.shape)
