"""Lists of Python numbers, laid flat, and the way back."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from .. import errors
from .arrays import Array, splits_of


class Kind(NamedTuple):
    code: str  # of Python's arrays
    dtype: str
    wanted: str


KINDS = {"ids": Kind("q", "int64", "an int"), "weights": Kind("f", "float32", "a number")}


def read(function: str, name: str, lists: Any) -> tuple[Array, Array]:
    """All numbers of some lists, and where each list begins, with the end of the last."""
    kind = KINDS[name]
    try:
        lists = lists if isinstance(lists, Sequence) else list(lists)
    except TypeError:
        raise errors.wrong_type(function, name, ["a list of lists"], type(lists).__name__) from None
    if lists and all(isinstance(items, np.ndarray) and items.ndim == 1 for items in lists):
        return np.concatenate(lists), splits_of(np.fromiter(map(len, lists), np.int64, len(lists)))
    # Not numpy.fromiter, which makes 1 of 1.5 and of "1" without a word; this is no slower.
    numbers, splits = array(kind.code), [0]
    for place, items in enumerate(lists):
        try:
            numbers.fromlist(items if type(items) is list else list(items))
        except (TypeError, OverflowError):
            raise _refusal(function, f"{name}[{place}]", items, kind) from None
        splits.append(len(numbers))
    return np.asarray(numbers).view(kind.dtype), np.array(splits)


def nested(numbers: Array, splits: Array) -> list[list[Any]]:
    items = numbers.tolist()
    return [items[begin:end] for begin, end in pairwise(splits.tolist())]


def _refusal(function: str, name: str, items: Any, kind: Kind) -> errors.Error:
    for place, item in enumerate(items) if isinstance(items, Sequence) else ():
        try:
            array(kind.code, [item])
        except TypeError:
            return errors.wrong_type(function, f"{name}[{place}]", [kind.wanted], type(item).__name__)
        except OverflowError:
            fault = errors.Fault("rule", f"{name}[{place}]", (), item, hint=f"does not fit {kind.dtype}")
            return errors.invalid(function, fault)
    return errors.wrong_type(function, name, [f"a list, each item {kind.wanted}"], type(items).__name__)
