"""Which entries of a node's inputs decide which entries of its outputs, found out by trying.

No op is known here. Where a rule of gradients says how an output moves with an input, its zeros are the answer, exact
and in one call: integers, bools and strings that an op only carries along are followed as numbers. Other inputs are
probed: an entry is changed, or a record is left out, and what comes out differently depended on it. What an op must
know to tell its outputs' shapes (axes, sizes) is a setting, and no entry of it counts.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .. import dtypes, errors, raw_ops
from ..autodiff.op_step import OpStep
from ..row_grad import RowGrad
from ..spec import Arg, Known
from .graph import Node

Array = np.ndarray[Any, Any]
Mask = np.ndarray[Any, np.dtype[np.bool_]]
Masks = list[Mask | None]

MOST_ALTERNATIVES = 3
WORTH_HALVING = 64  # records of an input, of which half are left out at once, and so on
MOST_SEEN = 1024  # elements of an input that may be a setting
_FOLLOWED = "float64"  # the dtype as which values are followed
_PROBLEMS = (errors.Error, ValueError, TypeError, IndexError, KeyError, ArithmeticError, AttributeError)


class Budget:
    """How much trying is left: calls of ops, and seconds of work, so that a busy machine does not change the answer."""

    def __init__(self, calls: int, seconds: float) -> None:
        self.calls, self.end = calls, time.thread_time() + seconds

    def spend(self) -> bool:
        self.calls -= 1
        return self.calls >= 0 and time.thread_time() < self.end


class Call:
    """A node with the values that went in and came out, ready to be asked which entries belong together."""

    def __init__(self, node: Node, inputs: Sequence[Array], outputs: Sequence[Array], budget: Budget) -> None:
        self.node, self.op, self.budget = node, node.op, budget
        self.inputs, self.outputs = list(inputs), list(outputs)
        self.args = node.op.flat_inputs(len(inputs))
        self.rng = np.random.default_rng(node.number)
        self.unfinished = ""  # an input that was not followed to its end
        self.carried = self._carried()
        self.settings = self._settings()
        self.attrs = {
            name: _FOLLOWED if name in self.op.types and name in self.carried else value
            for name, value in node.attrs.items()
        }
        self._evaluations: list[tuple[list[Array], list[Array]]] | None = None
        self._bases: dict[bool, tuple[list[Array], list[Array] | None]] = {}
        self._left_out: dict[tuple[int, int, int], Masks] = {}
        self._probed: dict[tuple[int, int], Masks | None] = {}

    # ------------------------------------------------------------------ questions
    def back(self, lit: Masks) -> Masks:
        """The entries of the inputs that decide any of some entries of the outputs."""
        found: Masks = [None] * len(self.inputs)
        told = self._pulled(lit, found)
        rest = [None if carries else mask for mask, carries in zip(lit, self._carrying(), strict=True)]
        for place in range(len(self.inputs)):
            if place not in self.settings:
                found[place] = _either(found[place], self._probed_back(place, rest if place in told else lit))
        return found

    def forth(self, lit: Masks) -> Masks:
        """The entries of the outputs that any of some entries of the inputs decide."""
        found: Masks = [None] * len(self.outputs)
        told = self._pushed(lit, found)
        carrying = self._carrying()
        for place, mask in enumerate(lit):
            if mask is None or place in self.settings or (place in told and all(carrying)):
                continue
            for unit in self._units(place, mask):
                changed = self._changed(place, unit)
                if changed is None:
                    self.unfinished = self.unfinished or self.args[place].name
                    break
                for index, one in enumerate(changed):
                    if place not in told or not carrying[index]:
                        found[index] = _either(found[index], one)
        return found

    def _carrying(self) -> list[bool]:
        """The outputs about which derivatives speak; the places of a maximum, for example, are none."""
        return [dtypes.is_differentiable(o.dtype) for o in (self._evaluated() or [([], self.outputs)])[0][1]]

    # ------------------------------------------------------------------ what is declared
    def _carried(self) -> set[str]:
        """The type variables whose values are followed as doubles, because gradients are declared for them."""
        if self.op.rule is None:
            return set()
        able = {a.dtype for a in self.op.inputs if a.name in self.op.differentiable}
        # A complex number is differentiable as it is, and would lose a part.
        kept = {a.dtype for a, v in zip(self.args, self.inputs, strict=True) if v.dtype.kind == "c"}
        names = {name for name in able if _FOLLOWED in self.op.types.get(name, ()) and name not in kept}
        if names and not kept:  # what an attribute alone decides, say the dtype to cast to
            names |= {n for n in self.node.attrs if _FOLLOWED in self.op.types.get(n, ())}
        return names

    def _settings(self) -> set[int]:
        """The inputs that an op looks into to tell shapes."""
        found = {place for place, arg in enumerate(self.args) if arg.contents is not None}
        shapes = self._shapes(None)
        for place, arg in enumerate(self.args) if shapes is not None else ():
            if self._whole(arg) and self._shapes(place) != shapes:
                found.add(place)
        words = {self.args[place].dims.terms[0] for place in found if self.args[place].dims.terms}
        # A list beside settings is one too: where a window begins, beside how large it is.
        return found | {
            p for p, a in enumerate(self.args) if a.dims.terms and len(a.dims.terms) == 1 and a.dims.terms[0] in words
        }

    def _shapes(self, hidden: int | None) -> list[Any] | None:
        """What the op says of its outputs' shapes when it does not see one of the inputs."""
        if self.op.shape_rule is None:
            return None
        known = [
            Known(dtypes.name_of(v.dtype), v.shape, v if place != hidden and v.size <= MOST_SEEN else None)
            for place, v in enumerate(self.inputs)
        ]
        try:
            return list(self.op.shape_rule(*self.op.grouped(known), **self.node.attrs))
        except (errors.Fault, *_PROBLEMS):
            return None

    def _whole(self, arg: Arg) -> bool:
        return set(self.op.allowed(arg)) <= set(dtypes.INTEGER)

    # ------------------------------------------------------------------ by gradients
    def _evaluated(self) -> list[tuple[list[Array], list[Array]]]:
        """Inputs and outputs at which derivatives are taken.

        First the values themselves. Then smaller ones of the same order without zeros: a zero factor and a saturated
        function hide what depends on what.
        """
        if self._evaluations is None:
            self._evaluations = []
            plain = [self._as_numbers(p) for p in range(len(self.inputs))]
            near = [self._without_zeros(p, v) for p, v in enumerate(plain)]
            for values in (plain, near):
                outputs = self._run(values)
                if outputs is not None and [o.shape for o in outputs] == [o.shape for o in self.outputs]:
                    self._evaluations.append((values, outputs))
        return self._evaluations

    def _as_numbers(self, place: int) -> Array:
        value, arg = self.inputs[place], self.args[place]
        if arg.dtype not in self.carried:
            return value
        if dtypes.is_string(value.dtype):
            words: dict[Any, float] = {}
            flat = [words.setdefault(w, float(self.rng.uniform(1, 2))) for w in value.reshape(-1).tolist()]
            return np.array(flat, np.float64).reshape(value.shape)
        if value.dtype.names:
            value = value.view(value.dtype[0])
        numbers: Array = value.astype(np.float64)
        return np.where(np.isfinite(numbers), numbers, 1.5)

    def _without_zeros(self, place: int, value: Array) -> Array:
        if self.args[place].dtype not in self.carried:
            return value
        tiny = self.rng.uniform(1e-6, 2e-6, value.shape)
        return np.asarray(np.where(value == 0, tiny, value) / 128)

    def _pulled(self, lit: Masks, found: Masks) -> set[int]:
        """Fill in what gradients tell about the inputs; gives the places about which they do."""
        places = self._places()
        told: set[int] = set()
        for values, outputs in self._evaluated() if places else []:
            cotangents = [self._seed(o, m) for o, m in zip(outputs, lit, strict=True)]
            if all(c is None for c in cotangents):
                return places
            try:
                with np.errstate(all="ignore"):
                    pulled = OpStep(self.op, self.attrs).pull(values, outputs, cotangents, [True] * len(values))
            except _PROBLEMS:
                continue
            for place in places:
                if pulled[place] is not None:
                    gradient = pulled[place].dense() if isinstance(pulled[place], RowGrad) else pulled[place]
                    found[place] = _either(found[place], _nonzero(gradient, self.inputs[place].shape))
            told = places
        return told

    def _pushed(self, lit: Masks, found: Masks) -> set[int]:
        """The same about the outputs."""
        places = {place for place in self._places() if lit[place] is not None}
        told: set[int] = set()
        for values, outputs in self._evaluated() if places else []:
            tangents = [self._seed(v, lit[p]) if p in places else None for p, v in enumerate(values)]
            if all(t is None for t in tangents):
                return places
            try:
                with np.errstate(all="ignore"):
                    pushed = OpStep(self.op, self.attrs).push(values, outputs, tangents)
            except _PROBLEMS:
                continue
            for index, carries in enumerate(self._carrying()):
                if carries and pushed[index] is not None:
                    found[index] = _either(found[index], _nonzero(pushed[index], self.outputs[index].shape))
            told = places
        return told

    def _places(self) -> set[int]:
        """The inputs about which gradients are declared."""
        if self.op.rule is None:
            return set()
        return {
            p
            for p, (a, v) in enumerate(zip(self.args, self.inputs, strict=True))
            if a.name in self.op.differentiable and (a.dtype in self.carried or dtypes.is_differentiable(v.dtype))
        }

    def _seed(self, value: Array, mask: Mask | None) -> Array | None:
        """Random numbers where lit, so that nothing cancels, and zeros elsewhere."""
        if mask is None or not mask.any() or not dtypes.is_differentiable(value.dtype):
            return None
        numbers = self.rng.uniform(0.5, 1.5, value.shape)
        return np.where(mask, numbers, 0).astype(value.dtype)

    # ------------------------------------------------------------------ by probing
    def _probed_back(self, place: int, lit: Masks) -> Mask | None:
        value = self.inputs[place]
        if not any(mask is not None and mask.any() for mask in lit):
            return None
        found = np.zeros(value.shape, bool)
        for unit in self._suspects(place, lit):
            changed = self._changed(place, unit)
            if changed is None:
                self.unfinished = self.unfinished or self.args[place].name
                break
            if any(_meet(c, m) for c, m in zip(changed, lit, strict=True)):
                _light(found, unit, self._by_rows(place))
        return found if found.any() else None

    def _suspects(self, place: int, lit: Masks) -> Iterator[int]:
        """The units that may have to do with what is lit: leaving out many records at once dismisses most of them."""
        count = len(self._rows(place, self.inputs[place]))
        # Random numbers cannot be the same by chance; what is filled in for many records can be what one of them was.
        alone = count < WORTH_HALVING or any(
            m is not None and not c for m, c in zip(lit, self._carrying(), strict=True)
        )
        waiting = [(k, k + 1) for k in reversed(range(count))] if alone else [(0, count)]
        while waiting:
            start, end = waiting.pop()
            if self._dismissed(place, slice(start, end), lit):
                continue
            if end - start == 1:
                yield start
            else:
                middle = (start + end) // 2
                waiting += [(middle, end), (start, middle)]

    def _dismissed(self, place: int, units: slice, lit: Masks) -> bool:
        """Whether leaving records out tells already that they have nothing to do with what is lit."""
        if not self._record(place) or not self._by_rows(place):
            return False
        values, before = self._plain(place)
        if before is None or not self.budget.spend():
            return False
        removed = self._removed(place, units, values, before)
        return all(m is None or (gone is not None and not _meet(gone, m)) for gone, m in zip(removed, lit, strict=True))

    def _by_rows(self, place: int) -> bool:
        return self._record(place) != "" and self.inputs[place].ndim > 0

    def _record(self, place: int) -> str:
        """The word of the first axis of an input whose rows are records, alone or together with other inputs."""
        arg = self.args[place]
        first = arg.dims.terms[0] if arg.dims.terms else ""
        return first if self._whole(arg) and not arg.many and isinstance(first, str) and first.isidentifier() else ""

    def _units(self, place: int, mask: Mask) -> Iterator[int]:
        """What is tried at once: a record where there are records, else an entry; by number."""
        if self._by_rows(place):
            mask = lit_rows(mask)
        yield from np.flatnonzero(mask).tolist()

    def _changed(self, place: int, unit: int) -> Masks | None:
        """The entries of the outputs that depend on a unit of an input; None when there is no time left to try."""
        key = (place, unit)
        if key not in self._probed:
            if not self.budget.spend():
                return None
            self._probed[key] = self._try(place, unit)
        return self._probed[key]

    def _try(self, place: int, unit: int) -> Masks:
        found: Masks = [None] * len(self.outputs)
        values, before = self._plain(place)
        if before is None:
            return found
        tried = [_changes(self.op.outputs, before, after) for after in self._alternatives(place, unit, values)]
        removed = self._removed(place, slice(unit, unit + 1), values, before)
        for index in range(len(found)):
            found[index] = self._summed(place, index, unit, [masks[index] for masks in tried], removed[index])
        return found

    def _removed(self, place: int, units: slice, values: Sequence[Array], before: Sequence[Array]) -> Masks:
        """What changes when records are left out, of the outputs that are no list of the same records."""
        key = (place, units.start, units.stop)
        if key not in self._left_out:
            found: Masks = [None] * len(before)
            word = self._record(place)
            apart = [k for k, a in enumerate(self.op.outputs) if a.dims.terms[:1] != (word,)]
            after = self._run(self._without(values, word, units)) if word and self._by_rows(place) and apart else None
            if after is not None:
                gives = {a.gives for a in self.args if a.dims.terms[:1] == (word,)}
                changes = _changes(self.op.outputs, before, after, gives)
                for index in apart:
                    found[index] = changes[index]
            self._left_out[key] = found
        return self._left_out[key]

    def _summed(self, place: int, index: int, unit: int, tried: list[Mask], removed: Mask | None) -> Mask | None:
        if not tried and removed is None:
            # Nothing else may stand there; then the declaration speaks: rows of the same name belong together.
            word, output = self._record(place), self.outputs[index]
            if word and self.op.outputs[index].dims.terms[:1] == (word,) and unit < output.shape[0]:
                mask = np.zeros(output.shape, bool)
                mask[unit] = True
                return mask
            return None
        if not self._whole(self.args[place]):
            return np.asarray(np.logical_or.reduce(tried)) if tried else removed
        # An entry that names a place leaves one row when it changes, and enters another: the row that it left is in
        # all changes. A record that is left out takes its neighbours in other inputs along, and they may matter more.
        some = [mask for mask in tried if mask.any()]
        if removed is None or (tried and not some):
            return np.asarray(np.logical_and.reduce(some)) if some else None
        both = np.asarray(np.logical_and.reduce([*some, removed]))
        return both if both.any() else removed

    def _plain(self, place: int) -> tuple[list[Array], list[Array] | None]:
        """Inputs to probe with, and their outputs.

        What gradients follow becomes random, so that no two rows are equal by chance; but not to probe it itself.
        """
        random = place not in self._places()
        if random not in self._bases:
            numbers = [self._as_numbers(p) for p in range(len(self.inputs))]
            followed = {p for p in self._places() if self.args[p].dtype in self.carried} if random else set()
            values = [self._random(v.shape) if p in followed else v for p, v in enumerate(numbers)]
            self._bases[random] = [], None
            for tried in (values, numbers):
                outputs = self._run(tried)
                if outputs is not None and [o.shape for o in outputs] == [o.shape for o in self.outputs]:
                    self._bases[random] = tried, outputs
                    break
        return self._bases[random]

    def _random(self, shape: tuple[int, ...]) -> Array:
        return np.sign(self.rng.standard_normal(shape)) * self.rng.uniform(0.5, 4.0, shape)

    def _without(self, values: Sequence[Array], word: str, units: slice) -> list[Array]:
        return [
            np.concatenate([v[: units.start], v[units.stop :]]) if a.dims.terms[:1] == (word,) and v.ndim else v
            for v, a in zip(values, self.args, strict=True)
        ]

    def _alternatives(self, place: int, unit: int, values: Sequence[Array]) -> Iterator[list[Array]]:
        """Outputs of calls in which one unit of an input is something else that the op takes."""
        value = values[place]
        for others in (self._replaced, self._swapped):
            count = 0
            for changed in others(place, unit, values):
                if not self.budget.spend():
                    return
                after = self._run([*values[:place], changed.astype(value.dtype), *values[place + 1 :]])
                if after is not None:
                    yield after
                    count += 1
                if count == MOST_ALTERNATIVES:
                    break
            if count or not self._whole(self.args[place]):
                return

    def _replaced(self, place: int, unit: int, values: Sequence[Array]) -> Iterator[Array]:
        for new in self._candidates(place, unit, values):
            changed = values[place].copy()
            self._rows(place, changed)[unit] = new
            yield changed

    def _swapped(self, place: int, unit: int, values: Sequence[Array]) -> Iterator[Array]:
        """A permutation stays one when two of its entries change places."""
        rows = self._rows(place, values[place])
        for other in (unit + 1, unit - 1, 0, len(rows) - 1):
            if 0 <= other < len(rows) and not np.array_equal(rows[other], rows[unit]):
                changed = values[place].copy()
                self._rows(place, changed)[[unit, other]] = rows[[other, unit]]
                yield changed

    def _rows(self, place: int, value: Array) -> Array:
        """An input by its units."""
        return value if self._by_rows(place) else value.reshape(-1)

    def _candidates(self, place: int, unit: int, values: Sequence[Array]) -> Iterator[Any]:
        value = values[place]
        if dtypes.is_string(value.dtype):
            yield from (b"another word", b"")
            return
        if value.dtype.kind == "b":
            yield not value.reshape(-1)[unit]
            return
        if self._by_rows(place):
            old = value[unit]
            near = [value[k] for k in (unit + 1, unit - 1) if 0 <= k < len(value)]
            steps = [old + step for step in (1, -1)]
            last = [np.concatenate([old[:-1], old[-1:] + step]) for step in (1, -1)] if old.ndim else []
            pool = [*steps, *near, *last, value.min(0), value.max(0)]
        else:
            old = value.reshape(-1)[unit]
            numbers = [v for v in values if v.dtype.kind in "iuf" and v.size and v.dtype.kind == value.dtype.kind]
            beside = [v.reshape(-1)[unit] for v in values if v.shape == value.shape and v is not value]
            low = min([v.min() for v in numbers], default=old)
            high = max([v.max() for v in numbers], default=old)
            with np.errstate(all="ignore"):
                pool = [*beside, high + 1, low - 1, old + 1, old - 1]
        for new in pool:
            if not np.array_equal(new, old):
                yield new

    def _run(self, values: Sequence[Array]) -> list[Array] | None:
        """The outputs for some inputs; None where the op does not take them."""
        try:
            with np.errstate(all="ignore"):
                answer = raw_ops.apply(self.op, list(values), self.attrs)
        except _PROBLEMS:
            return None
        listed = list(answer) if self.op.result is not None else [answer]
        return [np.asarray(one) for one in listed]


# ------------------------------------------------------------------ masks
def lit_rows(mask: Mask) -> Mask:
    """The rows of a value in which anything is lit."""
    return np.asarray(mask.any(axis=tuple(range(1, mask.ndim))))


def _either(one: Mask | None, other: Mask | None) -> Mask | None:
    return other if one is None else one if other is None else one | other


def _meet(one: Mask | None, other: Mask | None) -> bool:
    return one is not None and other is not None and bool((one & other).any())


def _nonzero(value: Any, shape: tuple[int, ...]) -> Mask:
    return np.asarray(np.asarray(value) != 0).reshape(shape)


def _light(mask: Mask, unit: int, rows: bool) -> None:
    if rows:
        mask[unit] = True
    else:
        mask.reshape(-1)[unit] = True


def _changes(
    declared: Sequence[Arg],
    before: Sequence[Array],
    after: Sequence[Array],
    gives: frozenset[str] | set[str] = frozenset(),
) -> list[Mask]:
    """Which entries of some outputs are not what they were; rows are found again where others have gone or come."""
    found = []
    for index, (old, new) in enumerate(zip(before, after, strict=True)):
        word = declared[index].dims.terms[0] if declared[index].dims.terms else None
        if old.shape == new.shape:
            found.append(_unequal(old, new))
        elif old.ndim != new.ndim or old.shape[1:] != new.shape[1:]:
            found.append(np.ones(old.shape, bool))
        elif word in gives and len(new) < len(old):
            # The largest number that was named is gone; up to it there are rows of zeros.
            padding = np.zeros((len(old) - len(new), *old.shape[1:]), old.dtype)
            found.append(_unequal(old, np.concatenate([new, padding])))
        else:
            labels = [
                k for k, a in enumerate(declared) if a.dims.terms[:1] == (word,) and before[k].dtype.kind in "iub"
            ]
            at = labels[0] if labels else index
            found.append(_realigned(old, new, before[at], after[at]))
    return found


def _unequal(old: Array, new: Array) -> Mask:
    apart = np.asarray(old != new)
    if old.dtype.kind in "fc":
        apart &= ~(np.isnan(old) & np.isnan(new))
    return np.asarray(apart, bool)


def _realigned(old: Array, new: Array, old_labels: Array, new_labels: Array) -> Mask:
    """Rows that are no longer there, and entries of the others that have changed; labels tell which row is which."""
    mask = np.ones(old.shape, bool)
    was, now = [label.tobytes() for label in old_labels], [label.tobytes() for label in new_labels]
    if len(set(was)) == len(was) and len(set(now)) == len(now):
        places = {label: place for place, label in enumerate(now)}
        pairs = [(row, places[label]) for row, label in enumerate(was) if label in places]
    else:
        # Labels that repeat: what is gone stands between the rows that begin alike and those that end alike.
        was, now = [row.tobytes() for row in old], [row.tobytes() for row in new]
        most = min(len(was), len(now))
        head = next((k for k in range(most) if was[k] != now[k]), most)
        tail = next((k for k in range(most - head) if was[-1 - k] != now[-1 - k]), most - head)
        pairs = [(k, k) for k in range(head)]
        pairs += [(len(was) - 1 - k, len(now) - 1 - k) for k in range(tail)]
    if pairs:
        rows, places_now = (list(side) for side in zip(*pairs, strict=True))
        mask[rows] = _unequal(old[rows], new[places_now])
    return mask
