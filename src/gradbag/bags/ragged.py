"""Ids in bags: the arrays, their checks, and what stays within NumPy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np

from .. import errors, memory
from ..ops.bags import bags_of_entries, check_offsets
from . import arrays
from .arrays import Array

SHOWN_BAGS, SHOWN_IDS = 4, 6  # in a repr


class Bag(NamedTuple):
    """One of several bags."""

    ids: Array
    weights: Array | None


@dataclass(frozen=True, eq=False, repr=False)
class Ragged:
    """Ids in bags as arrays, checked; `Bags` adds the forms of other libraries."""

    ids: Any
    offsets: Any
    weights: Any = None

    def __post_init__(self) -> None:
        ids = arrays.integers("Bags", "ids", self.ids)
        offsets = arrays.integers("Bags", "offsets", self.offsets)
        try:
            check_offsets(offsets, len(ids), "ids")
        except errors.Fault as fault:
            raise errors.invalid("Bags", fault) from None
        if self.weights is not None:
            weights = arrays.floats("Bags", "weights", self.weights)
            arrays.check_entries("Bags", "weights", weights, ids)
            object.__setattr__(self, "weights", arrays.sealed(weights))
        object.__setattr__(self, "ids", arrays.sealed(ids))
        object.__setattr__(self, "offsets", arrays.sealed(offsets))

    # ------------------------------------------------------------------ what there is
    def __len__(self) -> int:
        """The number of bags."""
        return len(self.offsets)

    @property
    def count(self) -> int:
        """The number of ids in all bags."""
        return len(self.ids)

    @cached_property
    def splits(self) -> Array:
        """`offsets` with the end of the last bag."""
        splits = np.append(self.offsets, self.count)
        fits = self.count <= np.iinfo(self.offsets.dtype).max
        return arrays.sealed(splits.astype(self.offsets.dtype) if fits else splits)

    @property
    def lengths(self) -> Array:
        """The number of ids in each bag."""
        return np.diff(self.splits)

    @property
    def rows(self) -> Array:
        """The bag of each id."""
        return bags_of_entries(self.offsets, self.count)

    def __getitem__(self, index: Any) -> Any:
        """A `Bag` by its number; for a slice, a mask or several numbers, `Bags`. A slice shares the memory."""
        if isinstance(index, slice):
            first, stop, step = index.indices(len(self))
            if step == 1:
                return self._between(first, max(first, stop))
        elif hasattr(index, "__index__") and not getattr(index, "ndim", 0):
            try:
                place = range(len(self))[index]
            except IndexError:
                raise IndexError(f"Bags: bag {index} is not there; there are {len(self)}") from None
            return self._bag(*self.splits[place : place + 2])
        places = np.arange(len(self))[index]
        if places.ndim != 1:
            raise IndexError(f"Bags: an index has one axis; got {places.ndim}")
        return self._taken(places)

    def _between(self, first: int, stop: int) -> Self:
        splits = self.splits[first : stop + 1]
        ids, weights = self._bag(splits[0], splits[-1])
        return self._from_splits(ids, splits - splits[0] if splits[0] else splits, weights)

    def _taken(self, places: Array) -> Self:
        splits = arrays.splits_of(self.lengths[places])
        moved = np.repeat(self.offsets[places] - splits[:-1], np.diff(splits))
        entries = moved + np.arange(splits[-1])
        weights = None if self.weights is None else self.weights[entries]
        return self._from_splits(self.ids[entries], splits, weights)

    def __iter__(self) -> Iterator[Bag]:
        return (self._bag(begin, end) for begin, end in pairwise(self.splits.tolist()))

    def _bag(self, begin: int, end: int) -> Bag:
        return Bag(self.ids[begin:end], None if self.weights is None else self.weights[begin:end])

    def __eq__(self, other: object) -> bool:
        """The same numbers in the same bags, whatever their dtypes; NaN is the same as NaN."""
        if not isinstance(other, Ragged):
            return NotImplemented
        if not (np.array_equal(self.offsets, other.offsets) and np.array_equal(self.ids, other.ids)):
            return False
        if self.weights is None or other.weights is None:
            return self.weights is other.weights
        return np.array_equal(self.weights, other.weights, equal_nan=True)

    __hash__ = None  # type: ignore[assignment]  # as of arrays

    def __reduce__(self) -> Any:
        return type(self), (self.ids, self.offsets, self.weights)

    def __repr__(self) -> str:
        sample = []
        for bag in self[:SHOWN_BAGS]:
            more = ["..."] if len(bag.ids) > SHOWN_IDS else []
            sample.append("[" + ", ".join([*map(str, bag.ids[:SHOWN_IDS].tolist()), *more]) + "]")
        more = ["..."] if len(self) > SHOWN_BAGS else []
        weights = "" if self.weights is None else f", weights of {self.weights.dtype}"
        return f"Bags([{', '.join([*sample, *more])}], {len(self)} bags of {self.count} ids, {self.ids.dtype}{weights})"

    # ------------------------------------------------------------------ others like it
    def astype(self, ids: Any = None, *, offsets: Any = None, weights: Any = None) -> Self:
        """The same in other dtypes; a number that int32 cannot hold is refused.

        >>> from gradbag import Bags
        >>> Bags([7, 2], [0, 1], [0.5, 1.0]).astype("int32", weights="float64")
        Bags([[7], [2]], 2 bags of 2 ids, int32, weights of float64)
        """
        if weights is not None and self.weights is None:
            raise errors.unfit("Bags.astype", "weights", "left out, as these bags have none", str(weights))
        return type(self)(
            arrays.cast("Bags.astype", "ids", self.ids, ids),
            arrays.cast("Bags.astype", "offsets", self.offsets, offsets),
            None if self.weights is None else arrays.cast("Bags.astype", "weights", self.weights, weights),
        )

    @classmethod
    def concatenate(cls, parts: Iterable[Ragged]) -> Self:
        """The bags of several, one after the other.

        >>> from gradbag import Bags
        >>> Bags.concatenate([Bags([7, 2], [0, 1]), Bags([5], [0])])
        Bags([[7], [2], [5]], 3 bags of 3 ids, int64)
        """
        several = list(parts)
        for place, part in enumerate(several):
            if not isinstance(part, Ragged):
                raise errors.wrong_type("Bags.concatenate", f"parts[{place}]", ["Bags"], type(part).__name__)
            if (part.weights is None) != (several[0].weights is None):
                got = "some that have none" if part.weights is None else "some that have"
                raise errors.unfit("Bags.concatenate", f"parts[{place}]", "all with weights, or all without", got)
        if not several:
            return cls([], [])
        splits = arrays.splits_of(np.concatenate([part.lengths for part in several]))
        weighted = several[0].weights is not None
        weights = np.concatenate([part.weights for part in several]) if weighted else None
        return cls._from_splits(np.concatenate([part.ids for part in several]), splits, weights)

    # ------------------------------------------------------------------ arrays
    @classmethod
    def _from_splits(cls, ids: Any, splits: Array, weights: Any) -> Self:
        """Of splits that were checked or made here."""
        bags = cls(ids, splits[:-1], weights)
        bags.__dict__["splits"] = arrays.sealed(splits)
        return bags

    @classmethod
    def from_offsets(cls, ids: Any, offsets: Any, weights: Any = None, include_last_offset: bool = False) -> Self:
        """As PyTorch's EmbeddingBag takes them: where each bag begins; if told so, also where the last one ends.

        >>> from gradbag import Bags
        >>> Bags.from_offsets([7, 2, 5], [0, 2, 3], include_last_offset=True)
        Bags([[7, 2], [5]], 2 bags of 3 ids, int64)
        """
        if not include_last_offset:
            return cls(ids, offsets, weights)
        ids = arrays.integers("Bags", "ids", ids)
        splits = arrays.integers("Bags", "offsets", offsets)
        if not len(splits):
            raise errors.unfit("Bags", "offsets", "at least the end of the last bag", "none")
        if splits[-1] != len(ids):
            hint = f"must be the end of the last bag: there are {len(ids)} ids"
            fault = errors.Fault("rule", "offsets", (len(splits) - 1,), int(splits[-1]), hint=hint)
            raise errors.invalid("Bags", fault)
        return cls._from_splits(ids, splits, weights)

    def to_offsets(self, include_last_offset: bool = False) -> tuple[Array, Array, Array | None]:
        """Ids, where each bag begins, and weights or None."""
        return self.ids, self.splits if include_last_offset else self.offsets, self.weights

    @classmethod
    def from_lengths(cls, ids: Any, lengths: Any, weights: Any = None) -> Self:
        """Of bags one after the other, of which each has so many ids.

        >>> from gradbag import Bags
        >>> Bags.from_lengths([7, 2, 5], [2, 0, 1])
        Bags([[7, 2], [], [5]], 3 bags of 3 ids, int64)
        """
        ids = arrays.integers("Bags", "ids", ids)
        lengths = arrays.integers("Bags.from_lengths", "lengths", lengths)
        arrays.check_range("Bags.from_lengths", "lengths", lengths, len(ids) + 1)
        splits = arrays.splits_of(lengths)
        if splits[-1] != len(ids):
            raise errors.unfit("Bags.from_lengths", "lengths", f"{len(ids)} in all, as many as ids", str(splits[-1]))
        return cls._from_splits(ids, splits, weights)

    def to_lengths(self) -> tuple[Array, Array, Array | None]:
        """Ids, the number of them in each bag, and weights or None."""
        return self.ids, self.lengths, self.weights

    @classmethod
    def from_coo(
        cls, rows: Any, ids: Any, weights: Any = None, *, num_bags: int | np.integer[Any] | None = None
    ) -> Self:
        """Of the bag of each id; within a bag the ids stay in order. Without `num_bags` the largest row is the last.

        >>> from gradbag import Bags
        >>> Bags.from_coo([2, 0, 2], [7, 2, 5], num_bags=4)
        Bags([[2], [], [7, 5], []], 4 bags of 3 ids, int64)
        """
        name = "Bags.from_coo"
        ids, rows = arrays.integers("Bags", "ids", ids), arrays.integers(name, "rows", rows)
        arrays.check_entries(name, "rows", rows, ids)
        if num_bags is None:
            num_bags = int(rows.max()) + 1 if len(rows) else 0
        num_bags = int(num_bags) if isinstance(num_bags, np.integer) else num_bags
        errors.check_natural(name, "num_bags", num_bags)
        arrays.check_range(name, "rows", rows, num_bags)
        memory.reserve(name, [("offsets", (num_bags + 1,), 16)])  # they, and the lengths
        if weights is not None:
            weights = arrays.floats("Bags", "weights", weights)
            arrays.check_entries("Bags", "weights", weights, ids)
        if (rows[1:] < rows[:-1]).any():
            order = np.argsort(rows, kind="stable")
            ids, weights = ids[order], None if weights is None else weights[order]
        return cls._from_splits(ids, arrays.splits_of(np.bincount(rows, minlength=num_bags)), weights)

    def to_coo(self) -> tuple[Array, Array, Array | None]:
        """The bag of each id, the ids, and weights or None."""
        return self.rows, self.ids, self.weights
