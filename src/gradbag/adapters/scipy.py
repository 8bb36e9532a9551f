"""SciPy sparse arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from .. import errors
from ..bags import Bags
from ..bags.arrays import check_range
from ..sparse_tensor import SparseTensor


def from_scipy(array: Any) -> SparseTensor:
    if not scipy.sparse.issparse(array):
        raise errors.wrong_type("from_scipy", "array", ["a SciPy sparse array"], type(array).__name__)
    entries = array.tocoo()
    indices = np.stack(entries.coords, 1).astype(np.int64)
    return SparseTensor(indices, entries.data.copy(), np.array(entries.shape, np.int64))


def to_scipy(tensor: SparseTensor) -> Any:
    return scipy.sparse.coo_array((tensor.values, tuple(tensor.indices.T)), shape=tensor.shape)


def csr_from_bags(bags: Bags, num_columns: int | None) -> Any:
    if num_columns is None:
        num_columns = int(bags.ids.max(initial=-1)) + 1
    errors.check_natural("Bags.to_csr", "num_columns", num_columns)
    check_range("Bags.to_csr", "ids", bags.ids, num_columns)
    data = np.ones(bags.count, np.float32) if bags.weights is None else bags.weights
    return scipy.sparse.csr_array((data, bags.ids, bags.splits), shape=(len(bags), num_columns))
