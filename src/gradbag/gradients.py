"""What a gradient rule may call, and the only two functions that apply one.

A rule is `rule(ops, x, y, g)`: inputs and attributes, outputs, cotangents of the outputs. It calls `ops` and nothing
else, so the same rule is arithmetic on arrays, new nodes of a graph, calls on a tape or traced calls. An interpreter
is a class of `Ops`: it must say how an op is called, and may answer the questions in its own way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from types import SimpleNamespace
from typing import Any, NamedTuple, Protocol

import numpy as np

from . import attributes, dtypes, errors
from .row_grad import RowGrad
from .spec import Op, registry


class Shaped(NamedTuple):
    """Stands for a value of which a rule needs the shape alone: a linear op does not look at its values."""

    shape: Any
    dtype: Any


class Rows(NamedTuple):
    """How many rows a value has, not known before the run; it becomes a value of the dtype that its reader wants."""

    of: Any


@lru_cache(maxsize=1024)  # a rule gives the same few settings again and again
def _kept_settings(op: Op, given: tuple[tuple[str, Any], ...]) -> dict[str, Any]:
    return attributes.normal(op, dict(given))


def _settings(op: Op, given: dict[str, Any]) -> dict[str, Any]:
    try:
        return _kept_settings(op, tuple(given.items()))
    except TypeError:  # a list among them
        return attributes.normal(op, given)


class Ops(Protocol):
    """Every op by its name, `ops.SparseSegmentSum(data=..., ...)`, and a few questions about values.

    The answers given here are made of ops, so they hold wherever an op can be called.
    """

    def call(self, op: Op, values: Sequence[Any], attrs: dict[str, Any]) -> Any:
        """Answer an op on flat inputs: values of this interpreter, or of NumPy and Python."""
        raise NotImplementedError

    def transposed(self, pull: Callable[..., list[Any]], outputs: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
        """`pull(*cotangents)` is linear; give its transpose at the tangents, one value for each output."""
        raise errors.UnsupportedTypeError("there is no forward mode here for ops that are not linear")

    def __getattr__(self, name: str) -> Any:
        op = None if name.startswith("_") else registry.get(name)
        if op is None:
            raise AttributeError(f"there is no op {name!r}")
        return partial(self._named, op)

    def _named(self, op: Op, /, **given: Any) -> Any:
        for name in op.optional_names:
            given.setdefault(name, None)
        values = op.flat([given.pop(name) for name in op.input_names])
        for place, value in enumerate(values):
            kind = type(value)
            if kind is Rows:
                allowed = op.allowed(op.flat_inputs(len(values))[place])
                values[place] = self.counted(value, next(name for name in dtypes.INDEX if name in allowed))
            elif kind is Shaped:
                values[place] = self.filler(value)
            elif kind is RowGrad:
                values[place] = self.dense(value)
        return self.call(op, values, _settings(op, given) if given else op.attr_defaults)

    # ------------------------------------------------------------------ sizes
    def rows(self, value: Any) -> Any:
        """The length of the first axis."""
        count = value.shape[0] if value.shape else None
        return Rows(value) if count is None else count

    def known_shape(self, value: Any) -> tuple[int, ...] | None:
        """All sizes as numbers, for attributes; None if one is not known before the run."""
        return None if value.shape is None or None in value.shape else tuple(value.shape)

    def counted(self, rows: Rows, dtype: str) -> Any:
        """A number of rows as a value of a dtype."""
        return self.take(self.Shape(input=rows.of, out_type=dtype), np.int32(0))

    def filler(self, shaped: Shaped) -> Any:
        """Some value of that shape and dtype."""
        return np.broadcast_to(np.zeros((), shaped.dtype), shaped.shape)

    # ------------------------------------------------------------------ new values
    def range(self, count: Any) -> Any:
        """0, 1, 2, ... as int64."""
        return self.Range(start=np.int64(0), limit=self._size(count), delta=np.int64(1))

    def constant(self, array: Any) -> Any:
        """A NumPy array that a rule has made."""
        return array

    def ones(self, count: Any) -> Any:
        """As many ones, of int8."""
        return self.Fill(dims=self.Pack(values=[self._size(count)]), value=np.int8(1))

    def zeros_like(self, value: Any) -> Any:
        return self.ZerosLike(x=value)

    # ------------------------------------------------------------------ order and places
    def take(self, values: Any, places: Any) -> Any:
        """The rows of an array at some places."""
        return self.GatherV2(params=values, indices=places, axis=np.int32(0))

    def split(self, values: Any, lengths: Any, count: int) -> list[Any]:
        """A vector cut into `count` pieces, whose lengths are numbers or a vector of int64."""
        if isinstance(lengths, (list, tuple)):
            lengths = np.array(lengths, np.int64)
        ends = self.Cumsum(x=lengths, axis=np.int32(0), exclusive=True)
        one = np.array([1], np.int64)

        def at(vector: Any, place: int) -> Any:
            return self.Slice(input=vector, begin=np.array([place], np.int64), size=one)

        return [self.Slice(input=values, begin=at(ends, k), size=at(lengths, k)) for k in range(count)]

    def reshaped(self, value: Any, sizes: Sequence[Any]) -> Any:
        """The same values in a shape of numbers, of which one may be -1, and of what `rows` gives."""
        if any(isinstance(size, Rows) for size in sizes):
            return self.Reshape(tensor=value, shape=self.Pack(values=[self._size(size) for size in sizes]))
        return self.Reshape(tensor=value, shape=np.array(sizes, np.int64))

    def nonzero(self, marks: Any) -> Any:
        """Where a vector is not zero."""
        return self._vector(self.Where(condition=marks))

    def sorted_by(self, keys: Any, values: Any) -> tuple[Any, Any]:
        """Both in ascending order of the keys; equal keys keep their order, for of equals the first is the larger."""
        order = self.TopKV2(input=self.Neg(x=keys), k=self._size(self.rows(keys), "int32")).indices
        return self.take(keys, order), self.take(values, order)

    def positions(self, values: Any, among: Any) -> Any:
        """Where each value stands in a sorted vector that has it."""
        wide = [self.ExpandDims(input=v, axis=np.int32(0)) for v in (among, values)]
        return self._vector(self.LowerBound(sorted_inputs=wide[0], values=wide[1]))

    # ------------------------------------------------------------------ sums
    def sum_like(self, value: Any, like: Any) -> Any:
        """Undo broadcasting: add along the axes in which `like` was stretched to the shape of `value`."""
        if value.shape is not None and value.shape == like.shape and None not in value.shape:
            return value
        shape = self.Shape(input=like)
        axes = self.BroadcastGradientArgs(s0=self.Shape(input=value), s1=shape).r1
        return self.Reshape(tensor=self.Sum(input=value, axis=axes), shape=shape)

    def total(self, parts: Sequence[Any]) -> Any:
        """The sum of cotangents of one value; of compact ones alone, a compact one."""
        if len(parts) == 1:
            return parts[0]
        if not all(isinstance(part, RowGrad) for part in parts):
            return self.AddN(inputs=[self.dense(part) for part in parts])
        rows = self.ConcatV2(values=[part.rows for part in parts], axis=np.int32(0))
        indices = self.ConcatV2(values=[part.indices for part in parts], axis=np.int32(0))
        entries = {"grad": rows, "indices": indices, "segment_ids": self.range(self.rows(rows))}
        like = parts[0] if parts[0].like is None else parts[0].like
        return self.row_grad(self.SparseSegmentSumGradV2(**entries, dense_output_dim0=self.rows(like)), like)

    # ------------------------------------------------------------------ gradients of tables
    def row_grad(self, compact: Any, like: Any) -> Any:
        """The outputs of a compact gradient op, as the gradient of `like`."""
        return RowGrad(compact.sorted_unique_indices, compact.output, tuple(like.shape), ops=self)

    def dense(self, cotangent: Any) -> Any:
        """A compact gradient with its zeros; anything else as it is."""
        if not isinstance(cotangent, RowGrad):
            return cotangent
        entries = {"grad": cotangent.rows, "indices": cotangent.indices}
        count = self.rows(cotangent.rows)
        like = cotangent if cotangent.like is None else cotangent.like
        return self.SparseSegmentSumGrad(**entries, segment_ids=self.range(count), output_dim0=self.rows(like))

    # ------------------------------------------------------------------ details
    def _size(self, count: Any, dtype: str = "int64") -> Any:
        return self.counted(count, dtype) if isinstance(count, Rows) else np.dtype(dtype).type(count)

    def _vector(self, value: Any) -> Any:
        return self.Reshape(tensor=value, shape=np.array([-1], np.int32))


def pull(
    ops: Ops,
    op: Op,
    values: Sequence[Any],
    outputs: Sequence[Any],
    cotangents: Sequence[Any],
    attrs: dict[str, Any],
) -> list[Any]:
    """The cotangents of the flat inputs, by the op's rule; None where it has none.

    An output without a cotangent has the cotangent None. A rule that forgets an input that carries a gradient, or
    names another, is refused: a gradient that is missing would pass for zero.
    """
    if op.rule is None:
        raise errors.UnsupportedTypeError(f"{op.name} has no gradient")
    carries = op.differentiable_outputs
    flat = [
        None if arg.name not in carries else ops.zeros_like(y) if c is None else ops.dense(c)
        for arg, y, c in zip(op.flat_outputs(len(outputs)), outputs, cotangents, strict=True)
    ]
    names = [arg.name for arg in op.outputs]
    g = dict(zip(names, op.grouped_outputs(flat), strict=True))
    inputs = dict(zip(op.input_names, op.grouped(values), strict=True))
    x = SimpleNamespace(**inputs, **attrs)
    y = SimpleNamespace(**dict(zip(names, op.grouped_outputs(outputs), strict=True)))
    pulled = op.rule(ops, x, y, SimpleNamespace(**g))
    missing = [name for name in op.differentiable if name not in pulled and inputs[name] is not None]
    if missing:
        raise errors.UnsupportedTypeError(f"{op.name}: the gradient rule says nothing about {', '.join(missing)}")
    unknown = [name for name in pulled if name not in inputs]
    if unknown:
        raise errors.UnsupportedTypeError(f"{op.name}: the gradient rule names {', '.join(unknown)}, which is no input")
    if not op.lists:
        return [pulled.get(name) for name in op.input_names]
    length = op.list_length(len(values))
    return op.flat(
        [[None] * length if arg.many and pulled.get(arg.name) is None else pulled.get(arg.name) for arg in op.inputs]
    )


def push(
    ops: Ops,
    op: Op,
    values: Sequence[Any],
    outputs: Sequence[Any],
    tangents: Sequence[Any],
    attrs: dict[str, Any],
) -> list[Any]:
    """The derivative of the outputs in the direction of the tangents of the flat inputs, None where one rests."""
    if not op.differentiable_outputs:
        return [None] * len(outputs)
    names = [arg.name for arg in op.flat_inputs(len(values))]
    if all(t is None or name in op.linear for name, t in zip(names, tangents, strict=True)):
        # Linear in these inputs together: the tangents go through the same op, with the same indices.
        moved = [
            v if name not in op.linear or v is None else ops.zeros_like(v) if t is None else t
            for name, v, t in zip(names, values, tangents, strict=True)
        ]
        return op.flat_answer(ops.call(op, moved, attrs))
    places = [place for place, tangent in enumerate(tangents) if tangent is not None]

    # The reverse rule is linear in its cotangents, and its transpose is the derivative in a direction.
    def pulled(*cotangents: Any) -> list[Any]:
        found = pull(ops, op, values, outputs, cotangents, attrs)
        return [ops.dense(found[place]) for place in places]

    return ops.transposed(pulled, outputs, [tangents[place] for place in places])
