"""The compact gradient of a table: only the rows that were used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import errors, raw_ops


@dataclass(frozen=True, eq=False)
class RowGrad:
    """Rows of a gradient that is zero elsewhere: `rows[k]` belongs to row `indices[k]` of an array of `shape`.

    Indices are ascending, each once, so an optimizer may write `table[g.indices] -= rate * g.rows`.
    """

    indices: Any
    rows: Any
    shape: tuple[int, ...]

    __array_ufunc__ = None  # a NumPy array leaves it to `__radd__`

    @property
    def dtype(self) -> Any:
        return self.rows.dtype

    def dense(self) -> Any:
        """The whole gradient, zeros included."""
        return raw_ops.SparseSegmentSumGrad(
            grad=self.rows,
            indices=self.indices,
            segment_ids=np.arange(len(self.indices)),
            output_dim0=self.shape[0],
        )

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, RowGrad):
            return self.dense() + other
        if self.shape != other.shape:
            raise errors.InvalidArgumentError(
                f"RowGrad: the shapes {list(self.shape)} and {list(other.shape)} do not add up"
            )
        joined = raw_ops.SparseSegmentSumGradV2(
            grad=_join(self.rows, other.rows),
            indices=np.concatenate([self.indices, other.indices]),
            segment_ids=np.arange(len(self.indices) + len(other.indices)),
            dense_output_dim0=self.shape[0],
        )
        return RowGrad(joined.sorted_unique_indices, joined.output, self.shape)

    __radd__ = __add__

    def __repr__(self) -> str:
        return f"RowGrad({len(self.indices)} of {self.shape[0]} rows, shape={self.shape}, dtype={self.dtype})"


def _join(first: Any, second: Any) -> Any:
    """Rows of both, one below the other, by an op, so that it can be differentiated."""
    count = first.shape[0] + second.shape[0]
    top = _placed(first, np.arange(first.shape[0]), count)
    return top + _placed(second, np.arange(first.shape[0], count), count)


def _placed(rows: Any, places: Any, count: int) -> Any:
    return raw_ops.SparseSegmentSumGrad(
        grad=rows, indices=places, segment_ids=np.arange(rows.shape[0]), output_dim0=count
    )
