"""A sparse tensor as three arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from . import errors, memory


@dataclass(frozen=True, eq=False)
class SparseTensor:
    """Entries of a tensor that is empty elsewhere: `values[k]` stands at place `indices[k]`.

    >>> from gradbag import SparseTensor
    >>> SparseTensor([[0, 1], [2, 0]], [5.0, 6.0], [3, 2]).to_dense()
    array([[0., 5.],
           [0., 0.],
           [6., 0.]])
    """

    indices: Any  # int64, one row per entry, one column per dimension
    values: Any
    dense_shape: Any  # int64

    def __post_init__(self) -> None:
        for name in ("indices", "dense_shape"):
            given = getattr(self, name)
            array = _rectangular(name, given)
            if array.size == 0 and not isinstance(given, np.ndarray):
                array = array.astype(np.int64)
            if array.dtype.kind not in "iu":
                raise errors.wrong_type("SparseTensor", name, ["int64"], str(array.dtype))
            if array.dtype == np.uint64 and array.size and int(array.max()) > np.iinfo(np.int64).max:
                raise errors.wrong_type("SparseTensor", name, ["int64"], f"{array.max()}")
            object.__setattr__(self, name, array.astype(np.int64, copy=False))
        if not hasattr(self.values, "dtype"):
            object.__setattr__(self, "values", _rectangular("values", self.values))
        if self.dense_shape.ndim != 1:
            raise errors.wrong_shape("SparseTensor", "dense_shape", "rank", "", self.dense_shape.shape)
        if self.indices.size == 0 and self.indices.ndim == 1:
            object.__setattr__(self, "indices", self.indices.reshape(0, self.rank))
        if self.indices.ndim != 2 or self.indices.shape[1] != self.rank:
            known = f"rank={self.rank}"
            raise errors.wrong_shape("SparseTensor", "indices", "nnz rank", known, self.indices.shape)
        if tuple(self.values.shape) != (self.nnz,):
            raise errors.wrong_shape("SparseTensor", "values", "nnz", f"nnz={self.nnz}", self.values.shape)

    @property
    def nnz(self) -> int:
        """The number of stored entries."""
        return int(self.indices.shape[0])

    @property
    def rank(self) -> int:
        return int(self.dense_shape.shape[0])

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.dense_shape.tolist())

    @property
    def dtype(self) -> Any:
        return self.values.dtype

    @classmethod
    def from_dense(cls, array: Any) -> SparseTensor:
        """The entries of an array that are not zero."""
        array = np.asarray(array)
        places = np.argwhere(array)
        return cls(places, array.reshape(-1)[np.flatnonzero(array)], np.array(array.shape, np.int64))

    def to_dense(self) -> Any:
        """A NumPy array; entries at the same place are added."""
        memory.reserve("SparseTensor.to_dense", [("the array", self.shape, self.dtype.itemsize)])
        outside = (self.indices < 0) | (self.indices >= self.dense_shape)
        if outside.any():
            entry, axis = (int(p) for p in np.argwhere(outside)[0])
            value, extent = int(self.indices[entry, axis]), self.shape[axis]
            raise errors.invalid("SparseTensor", errors.Fault("range", "indices", (entry, axis), value, 0, extent))
        out = np.zeros(self.shape, self.dtype)
        flat = np.ravel_multi_index(tuple(self.indices.T), self.shape) if self.rank else np.zeros(self.nnz, np.int64)
        np.add.at(out.reshape(-1), flat, self.values)
        return out

    @classmethod
    def from_scipy(cls, array: Any) -> SparseTensor:
        """From any SciPy sparse array or matrix; a CSR array comes out row by row."""
        from .adapters.scipy import from_scipy

        return from_scipy(array)

    def to_scipy(self) -> Any:
        """A `scipy.sparse.coo_array`."""
        from .adapters.scipy import to_scipy

        return to_scipy(self)

    def __repr__(self) -> str:
        return f"SparseTensor({self.nnz} entries, shape={list(self.shape)}, dtype={self.dtype})"


def _rectangular(name: str, value: Any) -> Any:
    try:
        return np.asarray(value)
    except ValueError as problem:
        raise errors.InvalidArgumentError(f"SparseTensor: {name} is not a rectangular array: {problem}") from None


def as_sparse(function: str, value: Any) -> Any:
    """Accept a SparseTensor, ours or TensorFlow's, or anything of SciPy's that is sparse, without importing them."""
    if isinstance(value, SparseTensor):
        return value
    if type(value).__module__.startswith("tensorflow.") and type(value).__name__ == "SparseTensor":
        return value  # it has the same three parts, and is made of them in the same order
    if type(value).__module__.startswith("scipy.sparse"):
        return SparseTensor.from_scipy(value)
    raise errors.wrong_type(function, "sparse", ["SparseTensor", "a SciPy sparse array"], type(value).__name__)
