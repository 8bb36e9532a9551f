"""Calls of NumPy bodies, once the declaration has checked dtypes, shapes and memory."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from .. import dims, dtypes, memory
from ..spec import AtLeast, Op
from . import carriers, prepared
from .out import Out

Array = np.ndarray[Any, Any]
# From here on the arrays between the lines of a body count as well; where a kernel has none, a body has a few.
_LARGE = memory.SMALL // 4


def run_body(
    op: Op, given: Sequence[Array | None], attrs: dict[str, Any], out: Out | None = None, share: bool = False
) -> list[Array]:
    """Check the call and compute what the body gives: the inputs that it updates, as they shall be, and the outputs.

    With `share`, outputs may be views of inputs.
    """
    # NumPy checks indices and then reads them again, and another thread may write them. Where a kernel would check
    # each index that it uses, the body sees indices of its own.
    arrays = _kept(op, given) if op.kernel is not None else given
    outline = _outline(op, arrays, attrs)
    if op.check_rule is not None:
        op.bound(op.check_rule, attrs)(*arrays)
    if op.counted_words and op.shape_rule is None:
        outline = _counted(op, arrays, outline, attrs)
    if outline.total > memory.unchecked():
        memory.reserve(op.name, outline.wanted)
    if op.kernel is not None and outline.total > _LARGE:
        memory.reserve(op.name, [*outline.wanted, ("the NumPy body asks for working memory", (2, outline.total), 1)])
    if out is not None:
        kinds = map(dtypes.numpy_dtype, outline.names)
        wanted = [(tuple(shape), kind) for (_, shape, _), kind in zip(outline.wanted, kinds, strict=True)]
        out.check(op, [name == "string" for name in outline.names], wanted, given)
    with np.errstate(all="ignore"):  # an overflow to infinity is the answer, not a warning
        answer = op.body(*op.grouped([None if a is None else carriers.clean(a) for a in arrays]), **attrs)
    changed = len(op.flat_updates(len(arrays)))
    outputs = list(answer) if changed else op.flat_answer(answer)
    found = [_checked(output, name) for output, name in zip(outputs[changed:], outline.names, strict=True)]
    if op.counted_words and op.shape_rule is None and op.kernel is not None:
        _reserve_found(op, arrays, outline, found)
    if out is not None:
        for view, output in zip(out.views, found, strict=True):
            if view is not None:
                view[...] = output
        return [*outputs[:changed], *out.returned(found)]
    return [*outputs[:changed], *(found if share else [_own(output, arrays) for output in found])]


class Outline(NamedTuple):
    """What is known of the outputs before the call: their dtypes, and what to ask the budget for."""

    names: list[str]
    wanted: list[tuple[str, Sequence[int], int]]
    total: int


def _outline(op: Op, arrays: Sequence[Array | None], attrs: dict[str, Any]) -> Outline:
    """It is kept for calls of the same shapes and dtypes where nothing else decides it."""
    kept = prepared.of(op)
    key: Any = (*[None if a is None else (a.dtype, a.shape) for a in arrays], *attrs.values())
    try:
        found: Outline | None = kept.outlines.get(key)
    except TypeError:  # an array among the attributes
        found, key = None, None
    if found is not None:
        return found
    names = [None if a is None else dtypes.name_of(a.dtype) for a in arrays]
    inferred, alone = op.outline([None if a is None else a.shape for a in arrays], names, arrays, attrs)
    outline = _weighed(op, [name for _, name in inferred], [shape or () for shape, _ in inferred], arrays)
    if alone and key is not None and not any(dtypes.is_string(a.dtype) for a in arrays if a is not None):
        kept.keep(kept.outlines, key, outline)
    return outline


def _weighed(
    op: Op, names: list[str], shapes: Sequence[Sequence[dims.Size]], arrays: Sequence[Array | None]
) -> Outline:
    itemsizes = [dtypes.numpy_dtype(name).itemsize for name in names]
    if op.kernel is not None and op.kernel.copies is not None and "string" in names:
        itemsizes = carriers.string_itemsizes(op, arrays, itemsizes)
    labels: Sequence[str] = op.flat_output_names(len(names))
    if op.shape_rule is None:
        args = zip(op.flat_outputs(len(names)), labels, strict=True)
        labels = [f"{op.asks_for(arg.dims.words[:1])} asks for {label}" for arg, label in args]
    wanted: list[tuple[str, Sequence[int], int]] = [
        (label, [n or 0 for n in s], size) for label, s, size in zip(labels, shapes, itemsizes, strict=True)
    ]
    # NumPy limits the axes beside a zero too.
    total = sum((prod(shape) or prod(n or 1 for n in shape)) * size for _, shape, size in wanted)
    return Outline(names, wanted, total)


def _counted(op: Op, arrays: Sequence[Array | None], outline: Outline, attrs: dict[str, Any]) -> Outline:
    """The outline with the sizes that a rule tells, at least."""
    sizes = op.bind_shapes([None if a is None else a.shape for a in arrays], arrays)
    if op.size_rule is not None:
        for word, size in op.bound(op.size_rule, attrs)(*arrays).items():
            sizes[word] = size.size if isinstance(size, AtLeast) else size
    args = op.flat_outputs(len(outline.names))
    return _weighed(op, outline.names, [arg.dims.shape(sizes) or () for arg in args], arrays)


def _reserve_found(op: Op, arrays: Sequence[Array | None], outline: Outline, outputs: Sequence[Array]) -> None:
    """Only now is it known how many there are: refuse what a kernel would have refused when it had counted."""
    exact = _weighed(op, outline.names, [output.shape for output in outputs], arrays)
    if exact.total > memory.unchecked():
        memory.reserve(op.name, exact.wanted)


def _kept(op: Op, arrays: Sequence[Array | None]) -> list[Array | None]:
    """The same with copies of all integers."""
    kept = list(arrays)
    for place, array in enumerate(kept):
        if array is not None and array.dtype.kind == "i":
            if array.nbytes > memory.SMALL:
                name = op.flat_names(len(kept))[place]
                memory.reserve(op.name, [(f"a copy of {name}", array.shape, array.itemsize)])
            kept[place] = array.copy()
    return kept


def _checked(output: Any, name: str) -> Array:
    array = np.asarray(output)
    if name != "string" and array.dtype != dtypes.numpy_dtype(name):
        raise AssertionError(f"a body gave {array.dtype} where {name} is declared")
    return array


def _own(array: Array, arrays: Sequence[Array | None]) -> Array:
    """An output that shares no memory with an input."""
    return array.copy() if array.base is not None or any(array is a for a in arrays) else array
