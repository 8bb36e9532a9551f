"""The namespace in which a gradient rule runs when it builds nodes: every op by its name, and a few questions.

The answers are what `autodiff.op_step.ArrayOps` computes at once, as nodes of ops that TensorFlow knows too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import dtypes
from ..autodiff import RowGrad
from ..spec import Op, basic_registry, registry
from .building import build
from .graph import Output, shape_text
from .scope import Scope


class Rows:
    """How many rows an output has, not known before the run; it becomes a node of the dtype that its reader wants."""

    def __init__(self, of: Output) -> None:
        self.of = of


@dataclass(frozen=True, eq=False)
class GraphRowGrad(RowGrad):
    """A compact gradient whose rows are computed when the graph runs; `like` is the output whose gradient it is."""

    shape: tuple[Any, ...]  # None where a size is not known yet
    like: Output

    def dense(self) -> Output:
        """A node that has the whole gradient, zeros included."""
        return GraphOps(Scope.over(self.rows.graph)).dense(self)  # type: ignore[no-any-return]

    def __add__(self, other: Any) -> Any:
        return GraphOps(Scope.over(self.rows.graph)).total([self, other])

    def __repr__(self) -> str:
        return f"RowGrad({self.indices!r}, {self.rows!r}, shape={shape_text(self.shape)})"


class GraphOps:
    """Rules of gradients, called with this, add nodes to a scope."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    def __getattr__(self, name: str) -> Any:
        op = registry.get(name) or basic_registry.get(name)
        if op is None:
            raise AttributeError(f"there is no op {name!r}")
        return lambda **given: self._call(op, given)

    def _call(self, op: Op, given: dict[str, Any]) -> Any:
        values = op.flat([given.pop(name) for name in op.input_names])
        given.pop("name", None)
        for place, (arg, value) in enumerate(zip(op.flat_inputs(len(values)), values, strict=True)):
            allowed = op.allowed(arg)
            if isinstance(value, Rows):
                values[place] = self._counted(value, next(name for name in dtypes.INDEX if name in allowed))
            elif isinstance(value, GraphRowGrad):
                values[place] = self.dense(value)
        outputs = build(self._scope, op, values, given).outputs
        if op.result is None:
            return outputs[0] if outputs else None
        return op.result._make(outputs)

    # ------------------------------------------------------------------ questions that rules ask
    def rows(self, value: Output) -> Any:
        """The length of the first axis."""
        shape = value.shape
        return shape[0] if shape and shape[0] is not None else Rows(value)

    def range(self, count: Any) -> Output:
        limit = self._counted(count, "int64") if isinstance(count, Rows) else np.int64(count)
        return self.Range(start=np.int64(0), limit=limit, delta=np.int64(1))  # type: ignore[no-any-return]

    def ones(self, count: Any) -> Output:
        size = self._counted(count, "int64") if isinstance(count, Rows) else np.int64(count)
        return self.Fill(dims=self.Pack(values=[size]), value=np.int8(1))  # type: ignore[no-any-return]

    def nonzero(self, marks: Output) -> Output:
        return self._vector(self.Where(condition=marks))

    def sorted_by(self, keys: Output, values: Output) -> tuple[Output, Output]:
        """Both in ascending order of the keys; equal keys keep their order, for of equals the first is the larger."""
        count = self._counted(Rows(keys), "int32")
        order = self.TopKV2(input=self.Neg(x=keys), k=count).indices
        return self._taken(keys, order), self._taken(values, order)

    def positions(self, values: Output, among: Output) -> Output:
        """Where each value stands in a sorted array that has it."""
        wide = [self.ExpandDims(input=v, axis=np.int32(0)) for v in (among, values)]
        return self._vector(self.LowerBound(sorted_inputs=wide[0], values=wide[1]))

    def sum_like(self, value: Output, like: Output) -> Output:
        """Undo broadcasting: add along the axes in which `like` was stretched to the shape of `value`."""
        if value.shape is not None and value.shape == like.shape and None not in value.shape:
            return value
        shape = self.Shape(input=like)
        axes = self.BroadcastGradientArgs(s0=self.Shape(input=value), s1=shape).r1
        return self.Reshape(tensor=self.Sum(input=value, axis=axes), shape=shape)  # type: ignore[no-any-return]

    def row_grad(self, compact: Any, like: Output) -> GraphRowGrad:
        """The outputs of a compact gradient op, as the gradient of `like`."""
        return GraphRowGrad(compact.sorted_unique_indices, compact.output, like.shape or (None,), like)

    # ------------------------------------------------------------------ sums of cotangents
    def dense(self, value: Any) -> Any:
        """A compact gradient with its zeros; anything else as it is."""
        if not isinstance(value, GraphRowGrad):
            return value
        return self.SparseSegmentSumGrad(
            grad=value.rows,
            indices=value.indices,
            segment_ids=self.range(self.rows(value.rows)),
            output_dim0=self.rows(value.like),
        )

    def total(self, parts: Sequence[Any]) -> Any:
        """The sum of cotangents of one output; of compact ones alone, a compact one."""
        if len(parts) == 1:
            return parts[0]
        if not all(isinstance(p, GraphRowGrad) for p in parts):
            return self.AddN(inputs=[self.dense(p) for p in parts])
        rows = self.ConcatV2(values=[p.rows for p in parts], axis=np.int32(0))
        joined = self.SparseSegmentSumGradV2(
            grad=rows,
            indices=self.ConcatV2(values=[p.indices for p in parts], axis=np.int32(0)),
            segment_ids=self.range(self.rows(rows)),
            dense_output_dim0=self.rows(parts[0].like),
        )
        return self.row_grad(joined, parts[0].like)

    # ------------------------------------------------------------------ details
    def _counted(self, rows: Rows, dtype: str) -> Output:
        shape = self.Shape(input=rows.of, out_type=dtype)
        return self._taken(shape, np.int32(0))

    def _taken(self, values: Output, places: Any) -> Output:
        return self.GatherV2(params=values, indices=places, axis=np.int32(0))  # type: ignore[no-any-return]

    def _vector(self, value: Output) -> Output:
        return self.Reshape(tensor=value, shape=np.array([-1], np.int32))  # type: ignore[no-any-return]
