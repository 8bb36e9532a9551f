"""The namespace in which a gradient rule runs on arrays of JAX, traced or not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ...gradients import Ops, Shaped
from ...row_grad import RowGrad
from ...spec import Op
from . import compat
from .call import SizeNotKnownError


class JaxOps(Ops):
    """Ops on arrays of JAX; questions about indices are JAX's to answer."""

    interpret: Callable[[Op, Sequence[Any], dict[str, Any]], Any]  # set by `calls`, which knows how

    def call(self, op: Op, values: Sequence[Any], attrs: dict[str, Any]) -> Any:
        return self.interpret(op, values, attrs)

    def transposed(self, pull: Callable[..., list[Any]], outputs: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
        moving = [jax.ShapeDtypeStruct(y.shape, y.dtype) for y in outputs if jnp.issubdtype(y.dtype, jnp.inexact)]
        places = [place for place, y in enumerate(outputs) if jnp.issubdtype(y.dtype, jnp.inexact)]

        def of_moving(*cotangents: Any) -> list[Any]:
            whole: list[Any] = [None] * len(outputs)
            for place, cotangent in zip(places, cotangents, strict=True):
                whole[place] = cotangent
            return pull(*whole)

        found = iter(jax.linear_transpose(of_moving, *moving)(list(tangents)))
        return [next(found) if place in places else jnp.zeros_like(y) for place, y in enumerate(outputs)]

    def filler(self, shaped: Shaped) -> Any:
        return jnp.zeros(shaped.shape, shaped.dtype)

    def zeros_like(self, value: Any) -> Any:
        return jnp.zeros(value.shape, value.dtype)

    def range(self, count: int) -> Any:
        return jnp.arange(count)

    def ones(self, count: int) -> Any:
        return jnp.ones(count, jnp.int8)

    def constant(self, array: Any) -> Any:
        return jnp.asarray(array)

    def split(self, values: Any, lengths: Any, count: int) -> list[Any]:
        if compat.known(lengths) is None:
            raise SizeNotKnownError("how long the pieces are is not known while JAX traces")
        ends = np.cumsum(np.asarray(compat.known(lengths))).tolist()
        return [values[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]

    def nonzero(self, marks: Any) -> Any:
        if compat.known(marks) is None:
            raise SizeNotKnownError("how many marks there are is not known while JAX traces")
        return jnp.nonzero(compat.known(marks))[0]

    def sorted_by(self, keys: Any, values: Any) -> tuple[Any, Any]:
        ascending, moved = jax.lax.sort((keys, values), num_keys=1, is_stable=True)
        return ascending, moved

    def positions(self, values: Any, among: Any) -> Any:
        return jnp.searchsorted(among, values)

    def sum_like(self, value: Any, like: Any) -> Any:
        extra = value.ndim - len(like.shape)
        stretched = [axis for axis, size in enumerate(like.shape) if size == 1 and value.shape[axis + extra] != 1]
        axes = (*range(extra), *[axis + extra for axis in stretched])
        return value.sum(axes).reshape(like.shape)

    def row_grad(self, compact: Any, like: Any) -> Any:
        """Dense, for the cotangents of JAX have no other form."""
        return jnp.zeros(like.shape, compact.output.dtype).at[compact.sorted_unique_indices].set(compact.output)

    def dense(self, cotangent: Any) -> Any:
        if isinstance(cotangent, RowGrad):  # what is filled up lies outside, and is left out
            zeros = jnp.zeros(cotangent.shape, cotangent.dtype)
            return zeros.at[cotangent.indices].add(cotangent.rows, mode="drop")
        return cotangent
