"""Which entries belong together, by trying: what comes out differently when a unit of an input changes or is left out.

A unit is a record where there are records, else an entry; it is known by its number.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

import numpy as np

from .alternatives import replaced, swapped
from .masks import Array, Mask, Masks, changes, either, lit_rows, meet
from .trials import Trials

MOST_ALTERNATIVES = 3
WORTH_HALVING = 64  # records of an input, of which half are left out at once, and so on


class Budget:
    """How much trying is left: calls of ops, and seconds of work, so that a busy machine does not change the answer."""

    def __init__(self, calls: int, seconds: float) -> None:
        self.calls, self.end = calls, time.thread_time() + seconds
        self.unfinished = ""  # what is said of the first input that was not followed to its end

    def spend(self) -> bool:
        self.calls -= 1
        return self.calls >= 0 and time.thread_time() < self.end


class Probe:
    """One input of a call, unit by unit."""

    def __init__(self, trials: Trials, place: int, budget: Budget) -> None:
        self.trials, self.declared, self.place, self.budget = trials, trials.declared, place, budget
        self.whole, self.record = place in self.declared.whole, self.declared.record(place)
        # What gradients follow is shaken, but not to probe it itself.
        point = trials.plain if place in self.declared.differentiable else trials.shaken
        self.values, self.before = point or ([], [])  # empty where the op takes nothing to compare with

    def back(self, lit: Masks) -> Mask | None:
        """The entries of the input that decide any of some entries of the outputs."""
        found = np.zeros(self.trials.inputs[self.place].shape, bool)
        if any(mask is not None and mask.any() for mask in lit):
            for unit, changed in self._tried(self._suspects(lit)):
                if any(meet(c, m) for c, m in zip(changed, lit, strict=True)):
                    (found if self.record else found.reshape(-1))[unit] = True
        return found if found.any() else None

    def forth(self, mask: Mask) -> Masks:
        """The entries of the outputs that any of some entries of the input decide."""
        found: Masks = [None] * len(self.trials.outputs)
        units = np.flatnonzero(lit_rows(mask) if self.record else mask).tolist()
        for _, changed in self._tried((unit, self._left_out(unit, unit + 1)) for unit in units):
            found = [either(f, c) for f, c in zip(found, changed, strict=True)]
        return found

    def _suspects(self, lit: Masks) -> Iterator[tuple[int, Masks]]:
        """The units that may have to do with what is lit, each with what changes when it is left out.

        Leaving out many records at once dismisses most of them.
        """
        value = self.trials.inputs[self.place]
        count = len(value) if self.record else value.size
        # Random numbers cannot be the same by chance; what is filled in for many records can be what one of them was.
        chance = any(m is not None and not c for m, c in zip(lit, self.trials.carrying, strict=True))
        alone = count < WORTH_HALVING or chance
        waiting = [(k, k + 1) for k in reversed(range(count))] if alone else [(0, count)]
        while waiting:
            start, end = waiting.pop()
            tells = self.record and self.budget.spend()
            gone: Masks = self._left_out(start, end) if tells else [None] * len(lit)
            if all(m is None or (g is not None and not meet(g, m)) for g, m in zip(gone, lit, strict=True)):
                continue
            if end - start == 1:
                yield start, gone
            else:
                middle = (start + end) // 2
                waiting += [(middle, end), (start, middle)]

    def _tried(self, units: Iterable[tuple[int, Masks]]) -> Iterator[tuple[int, Masks]]:
        """Units with the entries of the outputs that depend on them, until the budget is spent."""
        for unit, gone in units if self.values else ():
            if not self.budget.spend():
                name = f"{self.declared.node.name}.{self.declared.args[self.place].name}"
                self.budget.unfinished = self.budget.unfinished or f"only the first entries of {name} were followed"
                return
            tried = [changes(self.trials.output_args, self.before, after) for after in self._alternatives(unit)]
            yield unit, [self._judged(unit, k, [masks[k] for masks in tried], mask) for k, mask in enumerate(gone)]

    def _alternatives(self, unit: int) -> Iterator[list[Array]]:
        """Outputs of calls in which a unit is something else that the op takes."""
        for others in (replaced, swapped):
            count = 0
            for changed in others(self.values, self.place, unit, records=self.record != ""):
                if not self.budget.spend():
                    return
                after = self.trials.run([*self.values[: self.place], changed, *self.values[self.place + 1 :]])
                if after is not None:
                    yield after
                    count += 1
                if count == MOST_ALTERNATIVES:
                    break
            if count or not self.whole:
                return

    def _left_out(self, start: int, end: int) -> Masks:
        """What changes when records are left out, of the outputs that are no list of the same records."""
        args, outputs = self.declared.args, self.trials.output_args
        cut = {place for place, arg in enumerate(args) if arg.dims.terms[:1] == (self.record,)}
        apart = [arg.dims.terms[:1] != (self.record,) for arg in outputs]
        values = [np.delete(v, slice(start, end), 0) if p in cut else v for p, v in enumerate(self.values)]
        after = self.trials.run(values) if self.record and any(apart) else None
        if after is None:
            return [None] * len(outputs)
        changed = changes(outputs, self.before, after, {args[place].gives for place in cut})
        return [mask if other else None for mask, other in zip(changed, apart, strict=True)]

    def _judged(self, unit: int, index: int, tried: list[Mask], gone: Mask | None) -> Mask | None:
        """The entries of one output that depend on a unit, after all that was tried."""
        if not tried and gone is None:
            # Nothing else may stand there; then the declaration speaks: rows of the same name belong together.
            output = self.trials.outputs[index]
            first = self.trials.output_args[index].dims.terms[:1]
            if not self.record or first != (self.record,) or unit >= len(output):
                return None
            mask = np.zeros(output.shape, bool)
            mask[unit] = True
            return mask
        if not self.whole:
            return np.asarray(np.logical_or.reduce(tried))
        # An entry that names a place leaves one row when it changes, and enters another: the row that it left is in
        # all changes. A record that is left out takes its neighbours in other inputs along, and they may matter more.
        some = [mask for mask in tried if mask.any()]
        if gone is None or (tried and not some):
            return np.asarray(np.logical_and.reduce(some)) if some else None
        both = np.asarray(np.logical_and.reduce([*some, gone]))
        return both if both.any() else gone
