"""The compact gradient of a table: only the rows that were used."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from . import errors

if TYPE_CHECKING:
    from .gradients import Ops


@dataclass(frozen=True, eq=False)
class RowGrad:
    """Rows of a gradient that is zero elsewhere: `rows[k]` belongs to row `indices[k]` of an array of `shape`.

    Indices are ascending, each once, so an optimizer may write `table[g.indices] -= rate * g.rows`. The parts are
    arrays of NumPy, of JAX or under a transform, or outputs of a graph; `to_torch`, `to_tensorflow` and `to_jax` give
    what those frameworks use.

    Inside `jax.jit`, where all shapes are fixed, `count` tells how many of them there are. What follows is filled up:
    rows of zeros, and the number of the table's rows as their index, which JAX leaves out when it writes.
    """

    indices: Any
    rows: Any
    shape: tuple[Any, ...]  # None where a graph does not know a size yet
    count: Any = None
    like: Any = None  # what it is the gradient of, where its shape does not tell all
    ops: Ops | None = field(default=None, repr=False)  # the interpreter that its parts belong to; None: of arrays

    of_arrays: ClassVar[Ops]
    __array_ufunc__ = None  # a NumPy array leaves it to `__radd__`

    @property
    def dtype(self) -> Any:
        return self.rows.dtype

    def dense(self) -> Any:
        """The whole gradient, zeros included."""
        return (self.ops or self.of_arrays).dense(self)

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, RowGrad):
            return self.dense() + other
        if self.shape != other.shape:
            raise errors.InvalidArgumentError(
                f"RowGrad: the shapes {list(self.shape)} and {list(other.shape)} do not add up"
            )
        return (self.ops or self.of_arrays).total([self, other])

    __radd__ = __add__

    def to_torch(self) -> Any:
        """A sparse tensor of PyTorch, coalesced."""
        return self._converted("torch")

    def to_tensorflow(self) -> Any:
        """TensorFlow's IndexedSlices."""
        return self._converted("tensorflow")

    def to_jax(self) -> Any:
        """The same with arrays of JAX."""
        return self._converted("jax")

    def _converted(self, framework: str) -> Any:
        return import_module(f"{__package__}.adapters.{framework}").from_row_grad(self)

    def __repr__(self) -> str:
        count = self.rows.shape[0] if self.count is None else self.count
        return f"RowGrad({count} of {self.shape[0]} rows, shape={self.shape}, dtype={self.dtype})"
