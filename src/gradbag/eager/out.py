"""The arrays that a caller brings for the outputs of a call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes, errors
from ..spec import Op

Array = np.ndarray[Any, Any]
_FILLABLE = 0x501  # NumPy's flags for C-contiguous, aligned and writeable
_MOST_WORK: Any = 10_000  # to find out exactly whether two arrays overlap can take for ever


class Out:
    """What stands in `out=`: for each output an array, or None if one is to be allocated."""

    __slots__ = ("arrays", "labels", "views")

    def __init__(self, op: Op, out: Any) -> None:
        if not op.sized_outputs:
            raise TypeError(f"{op.name} takes no out: the sizes of its outputs are only known when they are computed")
        names = [arg.name for arg in op.outputs]
        if op.result is None:
            self.arrays, self.labels = [out], ["out"]
        else:
            self.arrays, self.labels = _listed(op, out), [f"out[{p}] ({name})" for p, name in enumerate(names)]
        # A view has a shape of its own, which no other thread can change between the check and the kernel.
        self.views: list[Array | None] = [None] * len(names)
        for place, array in enumerate(self.arrays):
            if array is None:
                continue
            label = self.labels[place]
            if not isinstance(array, np.ndarray) or isinstance(array, np.ma.MaskedArray):
                raise errors.wrong_type(op.name, label, ["a NumPy array"], type(array).__name__)
            if names[place] not in op.sized_outputs:
                raise errors.unfit(op.name, label, "None", "an array, but its size is only known when it is counted")
            self.views[place] = array.view(np.ndarray)

    def check(
        self,
        op: Op,
        is_string: Sequence[bool],
        wanted: Sequence[tuple[tuple[int, ...], Any]],
        inputs: Sequence[Array | None],
    ) -> None:
        """Refuse an array that is not exactly what the call would allocate, or that is in use elsewhere in it."""
        names = op.flat_names(len(inputs))
        others = [(name, other) for name, other in zip(names, inputs, strict=True) if other is not None]
        for place, (view, label) in enumerate(zip(self.views, self.labels, strict=True)):
            if view is None:
                continue
            shape, dtype = wanted[place]
            if is_string[place]:
                raise errors.unfit(op.name, label, "None", "an array, but strings always come in a new one")
            if view.dtype != dtype:
                raise errors.wrong_type(op.name, label, [dtypes.name_of(dtype)], dtypes.name_of(view.dtype))
            if view.shape != shape:
                raise errors.wrong_shape(op.name, label, ", ".join(map(str, shape)), "", view.shape)
            numbers = view if dtype.fields is None else view.view(dtype[0])  # a struct may lie anywhere
            if numbers.flags.num & _FILLABLE != _FILLABLE:
                raise _unfillable(op, label, numbers)
            for name, other in others:
                if overlap(view, other):
                    raise errors.unfit(op.name, label, "memory of its own", f"an array that overlaps {name}")
            others.append((label, view))

    def returned(self, outputs: Sequence[Array]) -> list[Array]:
        """The outputs as the caller gets them: the very arrays that were brought."""
        return [o if a is None else a for a, o in zip(self.arrays, outputs, strict=True)]


def _listed(op: Op, out: Any) -> list[Any]:
    names = ", ".join(arg.name for arg in op.outputs)
    if not isinstance(out, (tuple, list)):
        raise errors.wrong_type(op.name, "out", [f"a tuple for ({names})"], type(out).__name__)
    if len(out) != len(op.outputs):
        raise errors.unfit(op.name, "out", f"a tuple for ({names})", f"{len(out)} of them")
    return list(out)


def _unfillable(op: Op, label: str, array: Array) -> errors.InvalidArgumentError:
    if not array.flags.writeable:
        return errors.unfit(op.name, label, "writeable", "a read-only array")
    if not array.flags.c_contiguous:
        return errors.unfit(op.name, label, "C-contiguous", f"strides {errors.shown(array.strides)}")
    return errors.unfit(op.name, label, "aligned", f"an address that {array.dtype.alignment} does not divide")


def overlap(one: Array, other: Array) -> bool:
    if not np.may_share_memory(one, other):
        return False
    try:
        return np.shares_memory(one, other, max_work=_MOST_WORK)
    except np.exceptions.TooHardError:  # then nobody can promise that they do not
        return True
