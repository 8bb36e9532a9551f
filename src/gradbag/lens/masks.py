"""Sets of entries: a mask has the shape of its value, and None is one where nothing is lit. What changes is a mask."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from ..spec import Arg

Array = np.ndarray[Any, Any]
Mask = np.ndarray[Any, np.dtype[np.bool_]]
Masks = list[Mask | None]


def lit_rows(mask: Mask) -> Mask:
    """The rows of a value in which anything is lit."""
    return np.asarray(mask.any(axis=tuple(range(1, mask.ndim))))


def either(one: Mask | None, other: Mask | None) -> Mask | None:
    return other if one is None else one if other is None else one | other


def meet(one: Mask | None, other: Mask | None) -> bool:
    return one is not None and other is not None and bool((one & other).any())


# ------------------------------------------------------------------ changes
def changes(
    declared: Sequence[Arg], before: Sequence[Array], after: Sequence[Array], counted: Collection[str] = ()
) -> list[Mask]:
    """Which entries of some outputs are not what they were; rows are found again where others have gone or come.

    `counted` are the words of axes that are as long as the largest number in some input says.
    """
    found = []
    for index, (old, new) in enumerate(zip(before, after, strict=True)):
        first = declared[index].dims.terms[:1]
        if old.shape == new.shape:
            found.append(_unequal(old, new))
        elif old.ndim != new.ndim or old.shape[1:] != new.shape[1:]:
            found.append(np.ones(old.shape, bool))
        elif first and first[0] in counted and len(new) < len(old):
            # The largest number that was named is gone; up to it there are rows of zeros.
            padding = np.zeros((len(old) - len(new), *old.shape[1:]), old.dtype)
            found.append(_unequal(old, np.concatenate([new, padding])))
        else:
            alike = (k for k, a in enumerate(declared) if a.dims.terms[:1] == first and before[k].dtype.kind in "iub")
            # Members of a list may share a word, but not a length.
            beside = (k for k in alike if (len(before[k]), len(after[k])) == (len(old), len(new)))
            labels = next(beside, index)
            found.append(_realigned(old, new, before[labels], after[labels]))
    return found


def _unequal(old: Array, new: Array) -> Mask:
    apart = np.asarray(old != new)
    if old.dtype.kind in "fc":
        apart &= ~(np.isnan(old) & np.isnan(new))
    return np.asarray(apart, bool)


def _realigned(old: Array, new: Array, old_labels: Array, new_labels: Array) -> Mask:
    """Rows that are no longer there, and entries of the others that have changed; labels tell which row is which."""
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
        pairs = [(k, k) for k in range(head)] + [(len(was) - k, len(now) - k) for k in range(1, tail + 1)]
    mask = np.ones(old.shape, bool)
    if pairs:
        rows, places_now = (list(side) for side in zip(*pairs, strict=True))
        mask[rows] = _unequal(old[rows], new[places_now])
    return mask
