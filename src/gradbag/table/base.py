"""What all tables do, wherever their rows lie: bring the rows of a batch into a block, compute there, and keep it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from .. import errors, raw_ops
from ..autodiff import vjp
from ..embedding.frameworks import answers_for
from ..ops.combiners import combiner_named
from ..optim import Optimizer
from ..optim.entries import parts
from .batches import Array, Batch, Block, check_norm, check_rows, usable
from .rounding import Storage


class Lookup(ABC):
    """Rows that can be looked up."""

    rows: int
    columns: int

    @property
    @abstractmethod
    def computing(self) -> np.dtype[Any]:
        """The dtype of what is looked up."""

    @abstractmethod
    def _block(self, function: str, ids: Array, with_state: bool) -> Block:
        """The rows of ids that are in range."""

    def _turn(self) -> AbstractContextManager[Any]:
        """What a call holds while it uses rows; in memory, that is the caller's to take care of."""
        return nullcontext()

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows, self.columns

    def __len__(self) -> int:
        return self.rows

    def lookup(
        self, bags: Any, combiner: str = "mean", default_id: int | None = None, max_norm: float | None = None
    ) -> Array:
        """The combined rows of each bag, in a new array.

        `bags` is whatever `Bags.of` takes. As in the safe look-up, negative ids are left out, and so are weights that
        are not above zero, unless the combiner is "sum"; a bag without ids is zeros, or the row `default_id`. Rows
        whose norm is above `max_norm` are scaled down to it before they are combined.
        """
        function = self._named("lookup")
        combiner = combiner_named(function, combiner).name
        check_norm(function, max_norm)
        batch = usable(function, bags, self.rows, combiner, default_id, self.computing)
        with self._turn():
            return self._combined(function, batch, combiner, max_norm)

    def _combined(self, function: str, batch: Batch, combiner: str, max_norm: float | None) -> Array:
        block = self._block(function, batch.ids, False)
        if max_norm is not None:
            block = compact(block)
            block = block._replace(values=_clipped(block.values, max_norm))
        pooled: Array = raw_ops.EmbeddingBag(
            table=block.values, ids=block.ids, offsets=batch.offsets, weights=batch.weights, combiner=combiner
        )
        return pooled

    def read(self, rows: Any) -> Array:
        """A copy of the rows of these numbers, in the shape of `rows` and an axis more."""
        function = self._named("read")
        numbers = np.asarray(rows)
        if numbers.dtype.kind not in "iu":
            raise errors.wrong_type(function, "rows", ["int32", "int64"], str(numbers.dtype))
        flat = numbers.reshape(-1).astype(np.int64)
        check_rows(function, "rows", flat, self.rows)
        with self._turn():
            block = self._block(function, flat, False)
        return block.values[block.ids].reshape(*numbers.shape, self.columns)

    def _named(self, method: str) -> str:
        return f"{type(self).__name__}.{method}"


class Trained(Lookup):
    """Rows that also move, with what an optimizer keeps of each."""

    _storage: Storage
    _optimizer: Optimizer | None

    @property
    def optimizer(self) -> Optimizer | None:
        """How rows move; None in a table that is only looked up."""
        return self._optimizer

    @property
    def dtype(self) -> np.dtype[Any]:
        """In which rows are kept; bfloat16 and float16 are computed in float32."""
        return self._storage.dtype

    @property
    def computing(self) -> np.dtype[Any]:
        """The dtype of gradients, and of what is looked up."""
        return self._storage.computing

    @property
    @abstractmethod
    def step_count(self) -> int:
        """How many steps were made."""

    @abstractmethod
    def _keep(self, block: Block) -> None:
        """Write a block back after a step."""

    def step(
        self,
        bags: Any,
        grad: Any,
        combiner: str = "mean",
        default_id: int | None = None,
        max_norm: float | None = None,
    ) -> None:
        """Move the rows that bags have picked, given the gradient of what `lookup` has made of them.

        Gradient and step are one pass: no array has the gradient of rows, unless there is a `max_norm`. A row that
        occurs several times moves once, by the sum.
        """
        function = self._named("step")
        optimizer = self._moving(function)
        combiner = combiner_named(function, combiner).name
        check_norm(function, max_norm)
        batch = usable(function, bags, self.rows, combiner, default_id, self.computing)
        with self._turn():
            self._moved(function, optimizer, batch, grad, combiner, max_norm)

    def _moved(
        self, function: str, optimizer: Optimizer, batch: Batch, grad: Any, combiner: str, max_norm: float | None
    ) -> None:
        block = self._block(function, batch.ids, True)
        entries = (block.ids, batch.offsets, batch.weights)
        if max_norm is None:
            optimizer.step(block.values, block.state, entries, grad, combiner)
        else:
            of_rows, touched = raw_ops.EmbeddingBagGrad(
                grad=np.asarray(grad),
                ids=block.ids,
                offsets=batch.offsets,
                weights=batch.weights,
                num_rows=len(block.values),
                combiner=combiner,
            )
            _, pull = vjp(lambda rows: _clipped(rows, max_norm), block.values[touched])
            optimizer.apply(block.values, block.state, (touched, np.asarray(pull(of_rows)[0])))
        self._keep(block)

    def apply(self, row_grad: Any) -> None:
        """Move the rows that a gradient names: a `RowGrad`, a sparse tensor, `tf.IndexedSlices` or indices and rows."""
        function = self._named("apply")
        optimizer = self._moving(function)
        indices, grads = (np.asarray(part) for part in parts(function, row_grad))
        if indices.ndim != 1 or indices.dtype.kind not in "iu":
            got = f"{indices.dtype} of shape {errors.shown(indices.shape)}"
            raise errors.unfit(function, "indices", "integers with one axis", got)
        check_rows(function, "indices", indices, self.rows)
        with self._turn():
            block = self._block(function, indices, True)
            optimizer.apply(block.values, block.state, (block.ids, grads))
            self._keep(block)

    def catch_up(self, rows: Any) -> None:
        """With `decay="lazy"`, let these rows decay by the steps that they have missed, as before a look-up."""
        function = self._named("catch_up")
        optimizer = self._moving(function)
        numbers = np.asarray(rows, np.int64).reshape(-1)
        check_rows(function, "rows", numbers, self.rows)
        with self._turn():
            block = self._block(function, numbers, True)
            optimizer.catch_up(block.values, block.state, block.ids)
            self._keep(block)

    def _moving(self, function: str) -> Optimizer:
        if self._optimizer is None:
            raise errors.Error(f"{function}: the table has no optimizer; make it with one")
        return self._optimizer


def compact(block: Block) -> Block:
    """A block of the rows that some entry picks, each once, ascending."""
    if block.rows is not None:
        return block
    rows, places = np.unique(block.ids, return_inverse=True)
    state = {name: kept[rows] if isinstance(kept, np.ndarray) else kept for name, kept in block.state.items()}
    return Block(block.values[rows], state, places, rows)


def _clipped(rows: Any, norm: float) -> Any:
    return answers_for(rows).clipped(rows, norm)


def check_size(function: str, rows: Any, columns: Any) -> None:
    errors.check_natural(function, "rows", rows)
    errors.check_natural(function, "columns", columns)
    if rows >= 1 << 48 or columns >= 1 << 31:
        raise errors.unfit(function, "rows, columns", "below 2**48 and 2**31", errors.shown([rows, columns]))
