"""The few questions of a look-up that raw ops do not answer best in every framework.

`Answers` holds everywhere where raw ops do and arrays have operators; JAX and TensorFlow have answers of their own.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from .. import raw_ops


class Packed(NamedTuple):
    """The outputs of PackBags or PruneBags, and whether a last bag was added for places that are too many."""

    ids: Any
    offsets: Any
    positions: Any
    has_spare: bool = False


class Answers:
    """For NumPy and PyTorch."""

    def table(self, given: Any) -> Any:
        """A table as raw ops take it best."""
        return given

    def packed(self, name: str, given: dict[str, Any], size: int | None) -> Packed:
        """What PackBags or PruneBags gives; `size` is the room to make where shapes are fixed."""
        return Packed(*getattr(raw_ops, name)(**given))

    def distinct(self, ids: Any) -> tuple[Any, Any]:
        """The ids that occur, each once, and where each id stands among them."""
        found = raw_ops.Unique(x=ids, out_idx="int64")
        return found.y, found.idx

    def counting(self, values: Any) -> Any:
        """0, 1, 2, ... for each value."""
        return np.arange(values.shape[0])

    def clipped(self, rows: Any, norm: float) -> Any:
        """Rows whose L2 norm is larger are scaled down to it, as tf.clip_by_norm does."""
        columns = np.arange(1, len(rows.shape), dtype=np.int32)
        limit = np.array(norm, dtype_name(rows))
        squares = raw_ops.Sum(input=raw_ops.Mul(x=rows, y=rows), axis=columns, keep_dims=True)
        positive = raw_ops.Greater(x=squares, y=limit * 0)
        root = raw_ops.Sqrt(x=raw_ops.SelectV2(condition=positive, t=squares, e=raw_ops.OnesLike(x=squares)))
        length = raw_ops.SelectV2(condition=positive, t=root, e=squares)
        return raw_ops.RealDiv(x=raw_ops.Mul(x=rows, y=limit), y=raw_ops.Maximum(x=length, y=limit))

    def marks(self, flags: Any) -> Any:
        """Truth values as the int8 that raw ops take for them."""
        return flags.char() if hasattr(flags, "char") else flags.astype(np.int8)

    def cast(self, values: Any, like: Any) -> Any:
        if values.dtype == like.dtype:
            return values
        is_torch = hasattr(values, "new_tensor")
        return values.to(like.dtype) if is_torch else raw_ops.Cast(x=values, DstT=dtype_name(like))


def answers_for(*values: Any) -> Answers:
    """The answers of the framework that one of these values belongs to."""
    for value in values:
        package = _OWN.get(type(value).__module__.partition(".")[0])
        if package is not None:
            own: Answers = import_module(f"gradbag.adapters.{package}.lookups").answers
            return own
    return _answers


def dtype_name(values: Any) -> str:
    return values.dtype.name if hasattr(values.dtype, "name") else str(values.dtype).removeprefix("torch.")


_OWN = {"jax": "jax", "jaxlib": "jax", "tensorflow": "tensorflow"}
_answers = Answers()
