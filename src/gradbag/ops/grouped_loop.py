"""Gradients of many tables, one feature after another: for tables whose shapes are not known before the run."""

from __future__ import annotations

from typing import Any

import numpy as np


def one_by_one(ops: Any, x: Any, grad: Any, tables: Any) -> list[Any]:
    """The gradient of each table: the sum of those of its features, each by the op for one table."""
    axis, every = np.int32(0), np.array([-1], np.int64)

    def vector(*numbers: Any) -> Any:
        return ops.Pack(values=[np.int64(n) if isinstance(n, int) else n for n in numbers])

    def part(values: Any, begin: Any, size: Any) -> Any:
        return ops.Slice(input=values, begin=vector(begin), size=vector(size))

    def width(table: Any) -> Any:
        return ops.take(ops.Shape(input=table, out_type="int64"), np.int32(1))

    starts = ops.Cast(x=ops.Reshape(tensor=x.offsets, shape=every), DstT="int64")
    count = ops.Shape(input=x.ids, out_type="int64")
    bounds = ops.ConcatV2(values=[starts, count], axis=axis)  # with the end of the last bag
    bags = ops.take(ops.Shape(input=x.offsets, out_type="int64"), np.int32(1))
    found: list[list[Any]] = [[] for _ in tables]
    column: Any = np.int64(0)
    for feature, number in enumerate(x.feature_tables or range(len(tables))):
        table, first = tables[number], ops.Mul(x=bags, y=np.int64(feature))
        begin = ops.take(bounds, first)
        size = ops.Sub(x=ops.take(bounds, ops.AddV2(x=first, y=bags)), y=begin)
        columns = width(table)
        entries = {
            "grad": ops.Slice(input=grad, begin=vector(0, column), size=vector(-1, columns)),
            "ids": part(x.ids, begin, size),
            "offsets": ops.Sub(x=part(starts, first, bags), y=begin),
            "weights": None if x.weights is None else part(x.weights, begin, size),
            "num_rows": ops.rows(table),
            "combiner": x.combiner,
        }
        column = ops.AddV2(x=column, y=columns)
        if x.sparse_gradient:
            found[number].append(ops.row_grad(ops.EmbeddingBagGrad(**entries), table))
        else:
            found[number].append(ops.EmbeddingBagDenseGrad(**entries))
    return [ops.total(some) if some else ops.zeros_like(table) for some, table in zip(found, tables, strict=True)]
