"""Where each size of a call stands, worked out once per combination of ranks.

All axes of all inputs, and the contents of the inputs that hold sizes, are laid out in one flat list. Which entries
must be equal, and which make up the outputs' shapes, follows from the shape strings alone, so a call only compares
numbers: in Python, in C++, or by a compiler that has symbols in their place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..dims import Dims, word_of
from ..spec import Op

Slots = tuple[int, ...]


class Layout:
    """The slots of one op's sizes, for inputs of given ranks: None where one is left out.

    `held` tells of each input that holds sizes, by its place, how many it holds.
    """

    def __init__(self, op: Op, ranks: Sequence[int | None], held: dict[int, int]) -> None:
        self.equal: list[tuple[int, int]] = []
        self.fixed: list[tuple[int, int]] = []
        self.natural: list[int] = []  # contents that must not be negative
        self.slots: dict[str, int | Slots] = {}
        self.held = list(held)
        self.present = [place for place, rank in enumerate(ranks) if rank is not None]
        args = op.flat_inputs(len(ranks))
        start = 0
        for arg, rank in zip(args, ranks, strict=True):
            start = self._bind(arg.dims, start, rank or 0)
        for place, count in held.items():
            contents = args[place].contents
            assert contents is not None
            # From "*_" on nobody looks at them, and they may be negative.
            looked_at = contents.star if contents.star >= 0 and contents.terms[contents.star] == "*_" else count
            self.natural += range(start, start + min(looked_at, count))
            start = self._bind(contents, start, count)
        self.constants: list[int] = []
        for arg in op.outputs:
            for term in arg.dims.terms:
                if isinstance(term, int):
                    self.slots[str(term)] = start
                    self.constants.append(term)
                    start += 1
        for arg in op.outputs:
            for word in arg.dims.words:
                if word not in self.slots:  # it must be counted
                    self.slots[word] = start
                    start += 1
        self.count = start
        self.outputs = [tuple(self._slots_of(arg.dims)) for arg in op.outputs]
        self.scratch = [self._slot(word) for word in (op.kernel.scratch if op.kernel else ())]

    def sizes(self, arrays: Sequence[Any]) -> list[int] | None:
        """The flat list, without the words that must be counted; None where the shapes do not fit."""
        flat: list[int] = []
        for place in self.present:
            flat += arrays[place].shape
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

    def _bind(self, dims: Dims, start: int, count: int) -> int:
        """Give the words of one shape their slots, or note that they must equal slots given before."""
        for term, slot in dims.parts(range(start, start + count)) or ():
            if isinstance(term, int):
                self.fixed.append((slot, term))
            elif word_of(term) != "_":
                known = self.slots.setdefault(word_of(term), slot)
                if known != slot:
                    self.equal += zip(known, slot, strict=True) if isinstance(known, tuple) else [(known, slot)]
        return start + count

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
