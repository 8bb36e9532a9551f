"""Bags of ids from and to lists, Arrow, SciPy, TensorFlow, PyTorch and TorchRec."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import errors
from ..sparse_tensor import SparseTensor, as_sparse
from . import arrays, lists
from .ragged import Ragged

PARTS = ("ids", "weights")


class Bags(Ragged):
    """Ragged ids with optional weights: `offsets` tell where each bag of `ids` begins, and the last ends with the ids.

        >>> from gradbag import Bags
        >>> bags = Bags([7, 2, 2, 5], [0, 3, 3])
        >>> bags
        Bags([[7, 2, 2], [], [5]], 3 bags of 4 ids, int64)
        >>> bags.lengths
        array([3, 0, 1])
        >>> bags[1:].to_lists()
        [[], [5]]

    All is checked here, once: offsets begin with 0, ascend and end within the ids; there is a weight for each id. An id
    may be any integer, as only a look-up knows how many rows its table has, and whether it leaves out negative ones.

    The arrays are NumPy's. Those that fit are kept without a copy, behind views that cannot be written to: int32 and
    int64 for ids and offsets (other integers become int64), any floating dtype for weights. Python's numbers become
    int64 and float32.

    Every `from_…` has its `to_…`, and `Bags.of` finds out which one is meant. A library is imported by the method that
    makes something of its kind, never to read it.
    """

    # ------------------------------------------------------------------ lists
    @classmethod
    def from_lists(cls, ids: Any, weights: Any = None) -> Bags:
        """Of a list of lists, or of anything like it; weights are in lists as well.

        >>> from gradbag import Bags
        >>> Bags.from_lists([[7, 2], [], (5,)], weights=[[0.5, 1.0], [], [2.0]])
        Bags([[7, 2], [], [5]], 3 bags of 3 ids, int64, weights of float32)
        """
        return cls._of_two("Bags.from_lists", ids, weights, lists.read)

    def to_lists(self, part: str = "ids") -> Any:
        """A list for each bag; of the part "weights" the weights, or None if there are none."""
        return self._part("to_lists", part, lists.nested)

    @classmethod
    def _of_two(cls, function: str, ids: Any, weights: Any, read: Any) -> Bags:
        """Of two ragged things, the second of which must have the lengths of the first."""
        numbers, splits = read(function, "ids", ids)
        if weights is None:
            return cls.from_offsets(numbers, splits, include_last_offset=True)
        factors, beside = read(function, "weights", weights)
        arrays.check_lengths(function, splits, beside)
        return cls.from_offsets(numbers, splits, factors, include_last_offset=True)

    def _part(self, function: str, part: str, make: Any) -> Any:
        if part not in PARTS:
            raise errors.unfit(f"Bags.{function}", "part", "'ids' or 'weights'", repr(part))
        numbers = getattr(self, part)
        return None if numbers is None else make(numbers, self.splits)

    # ------------------------------------------------------------------ Arrow, and what speaks it
    @classmethod
    def from_arrow(cls, column: Any, weights: Any = None) -> Bags:
        """Of a column of lists: of pyarrow, Polars, pandas, nanoarrow or whatever exports Arrow's C data interface.

        A column in one piece is not copied. A null list is an empty bag; a null among the ids is refused.
        """
        from . import arrow

        return cls._of_two("Bags.from_arrow", column, weights, arrow.read)

    def to_arrow(self, part: str = "ids") -> Any:
        """A list array of pyarrow, without a copy: `LargeListArray`, or `ListArray` if offsets are int32."""
        from ..adapters.pyarrow import list_array

        return self._part("to_arrow", part, list_array)

    # ------------------------------------------------------------------ sparse matrices
    @classmethod
    def from_csr(cls, array: Any, *, weighted: bool = True) -> Bags:
        """Of a CSR array of SciPy: a row is a bag, its columns are ids and its data weights. Nothing is copied."""
        if getattr(array, "format", None) != "csr" or array.ndim != 2:
            raise errors.wrong_type("Bags.from_csr", "array", ["a CSR array with two axes"], type(array).__name__)
        used = slice(None, array.indptr[-1])  # there may be room for more
        weights = array.data[used] if weighted else None
        return cls.from_offsets(array.indices[used], array.indptr, weights, include_last_offset=True)

    def to_csr(self, num_columns: int | None = None) -> Any:
        """A `scipy.sparse.csr_array` with weights as data, or ones; its columns end with the largest id, or as told."""
        from ..adapters.scipy import csr_from_bags

        return csr_from_bags(self, num_columns)

    @classmethod
    def from_sparse(cls, tensor: Any, weights: Any = None) -> Bags:
        """Of a `SparseTensor`, ours or TensorFlow's: a row is a bag, the values are ids, in the order of the entries.

        >>> from gradbag import Bags, SparseTensor
        >>> Bags.from_sparse(SparseTensor([[0, 0], [2, 0], [2, 1]], [7, 2, 5], [3, 2]))
        Bags([[7], [], [2, 5]], 3 bags of 3 ids, int64)
        """
        name = "Bags.from_sparse"
        tensor = as_sparse(name, tensor)
        shape, places = (arrays.plain(name, part, getattr(tensor, part)) for part in ("dense_shape", "indices"))
        if len(shape) != 2:
            raise errors.wrong_shape(name, "tensor", "bags length", "", shape.tolist())
        if weights is not None:
            weights = as_sparse(name, weights)
            if not np.array_equal(places, np.asarray(weights.indices)):
                raise errors.unfit(name, "weights", "at the places of the ids", "other indices")
            weights = weights.values
        return cls.from_coo(places[:, 0], tensor.values, weights, num_bags=int(shape[0]))

    def to_sparse(self, part: str = "ids") -> Any:
        """A `SparseTensor` whose columns are places in a bag, so that it is as wide as the longest."""
        rows = self.rows
        places = np.stack([rows, np.arange(self.count) - self.offsets[rows]], 1)
        shape = np.array([len(self), self.lengths.max(initial=0)])
        return self._part("to_sparse", part, lambda numbers, splits: SparseTensor(places, numbers, shape))

    # ------------------------------------------------------------------ TensorFlow and PyTorch
    @classmethod
    def from_ragged(cls, tensor: Any, weights: Any = None) -> Bags:
        """Of a `tf.RaggedTensor` with one ragged axis, without a copy."""
        return cls._of_two("Bags.from_ragged", tensor, weights, arrays.read_ragged)

    def to_ragged(self, part: str = "ids") -> Any:
        """A `tf.RaggedTensor`."""
        from ..adapters.tensorflow.bags import ragged

        return self._part("to_ragged", part, ragged)

    @classmethod
    def from_nested(cls, tensor: Any, weights: Any = None) -> Bags:
        """Of a nested tensor of PyTorch in the jagged layout, without a copy."""
        from ..adapters.torch.bags import read_nested

        return cls._of_two("Bags.from_nested", tensor, weights, read_nested)

    def to_nested(self, part: str = "ids") -> Any:
        """A nested tensor of PyTorch in the jagged layout, which shares the memory: do not write to it."""
        from ..adapters.torch.bags import nested

        return self._part("to_nested", part, nested)

    @staticmethod
    def from_keyed_jagged(features: Any) -> dict[str, Bags]:
        """The bags of each feature of a `KeyedJaggedTensor` of TorchRec; ids and weights are not copied."""
        from ..adapters.torch.bags import split_features

        return split_features(features)

    @staticmethod
    def to_keyed_jagged(features: Mapping[str, Bags]) -> Any:
        """A `KeyedJaggedTensor` of TorchRec: of each feature as many bags, all with weights or all without."""
        from ..adapters.torch.bags import join_features

        return join_features(features)

    # ------------------------------------------------------------------ whatever it is
    @classmethod
    def of(cls, value: Any, weights: Any = None) -> Bags:
        """Of anything that some `from_…` takes; bags stay as they are.

        >>> from gradbag import Bags
        >>> Bags.of([[7, 2], [5]])
        Bags([[7, 2], [5]], 2 bags of 3 ids, int64)
        """
        if isinstance(value, cls):
            return value if weights is None else cls(value.ids, value.offsets, weights)
        if getattr(value, "format", None) == "csr" or _has(value, "keys", "lengths", "weights_or_none"):
            if weights is not None:
                raise errors.unfit(
                    "Bags.of", "weights", "left out, as they are part of the value", type(weights).__name__
                )
            if hasattr(value, "format"):
                return cls.from_csr(value)
            features = cls.from_keyed_jagged(value)
            if len(features) != 1:
                names = errors.shown(list(features))
                raise errors.unfit("Bags.of", "value", "one feature; from_keyed_jagged takes several", names)
            return features.popitem()[1]
        if _has(value, "__arrow_c_array__") or _has(value, "__arrow_c_stream__"):
            return cls.from_arrow(value, weights)
        if _has(value, "row_splits"):
            return cls.from_ragged(value, weights)
        if getattr(value, "is_nested", False):
            return cls.from_nested(value, weights)
        if _has(value, "indices", "values", "dense_shape"):
            return cls.from_sparse(value, weights)
        return cls.from_lists(value, weights)


def _has(value: Any, *names: str) -> bool:
    return all(hasattr(value, name) for name in names)
