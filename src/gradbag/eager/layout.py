"""Where each size of a call stands, worked out once per combination of ranks.

All axes of all inputs, and the contents of the inputs that hold sizes, are laid out in one flat list. Which entries
must be equal, and which make up the outputs' shapes, follows from the shape strings alone, so a call only compares
numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dims import Dims, word_of
from ..spec import Op

Array = np.ndarray[Any, Any]
Slots = tuple[int, ...]


class Layout:
    """The slots of one op's sizes for inputs of given ranks."""

    def __init__(self, op: Op, arrays: Sequence[Array]) -> None:
        self.equal: list[tuple[int, int]] = []
        self.fixed: list[tuple[int, int]] = []
        self.natural: list[int] = []  # contents that must not be negative
        self.slots: dict[str, int | Slots] = {}
        self.held = [place for place, arg in enumerate(op.inputs) if arg.contents is not None]
        start = 0
        for arg, array in zip(op.inputs, arrays, strict=True):
            self._bind(arg.dims, start, array.ndim)
            start += array.ndim
        for place in self.held:
            contents = op.inputs[place].contents
            assert contents is not None
            self._bind(contents, start, arrays[place].size)
            ignored = (
                contents.star if contents.star >= 0 and contents.terms[contents.star] == "*_" else len(contents.terms)
            )
            self.natural += range(start, start + min(ignored, arrays[place].size))
            if ignored == len(contents.terms):
                self.natural += range(start + len(contents.terms), start + arrays[place].size)
            start += arrays[place].size
        self.constants: list[int] = []
        for arg in op.outputs:
            for term in arg.dims.terms:
                if isinstance(term, int):
                    self.slots[str(term)] = start
                    self.constants.append(term)
                    start += 1
        for word in op.counted_words:
            self.slots[word] = start
            start += 1
        self.count = start
        self.outputs = [tuple(self._slots_of(arg.dims)) for arg in op.outputs]
        self.scratch = [self._slot(word) for word in (op.kernel.scratch if op.kernel else ())]

    def sizes(self, arrays: Sequence[Array]) -> list[int] | None:
        """The flat list, without the words that must be counted; None where the shapes do not fit."""
        flat: list[int] = []
        for array in arrays:
            flat += array.shape
        for place in self.held:
            contents = arrays[place].tolist()
            if type(contents) is list:
                flat += contents
            else:
                flat.append(contents)
        for one, other in self.equal:
            if flat[one] != flat[other]:
                return None
        for slot, size in self.fixed:
            if flat[slot] != size:
                return None
        for slot in self.natural:
            if flat[slot] < 0:
                return None
        flat += self.constants
        return flat

    def _bind(self, dims: Dims, start: int, count: int) -> None:
        """Give the words of one shape their slots, or note that they must equal slots given before."""
        tail = len(dims.terms) - dims.star - 1 if dims.star >= 0 else 0
        slot = start
        for place, term in enumerate(dims.terms):
            if place == dims.star:
                inner = tuple(range(slot, start + count - tail))
                known = self.slots.setdefault(word_of(str(term)), inner)
                if known != inner and term != "*_":
                    assert isinstance(known, tuple)
                    self.equal += zip(known, inner, strict=True)
                slot += len(inner)
                continue
            if isinstance(term, int):
                self.fixed.append((slot, term))
            elif term != "_":
                known = self.slots.setdefault(term, slot)
                if known != slot:
                    assert isinstance(known, int)
                    self.equal.append((known, slot))
            slot += 1

    def _slots_of(self, dims: Dims) -> list[int]:
        """Slots of an output's axes."""
        slots: list[int] = []
        for term in dims.terms:
            found = self.slots[word_of(str(term))]
            slots.extend(found if isinstance(found, tuple) else (found,))
        return slots

    def _slot(self, word: str) -> int:
        slot = self.slots[word]
        assert isinstance(slot, int)
        return slot
