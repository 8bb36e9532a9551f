"""The namespace in which a gradient rule runs on arrays of JAX, traced or not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from ...spec import Op, registry
from . import arrays
from .call import SizeNotKnownError


class JaxOps:
    """What a gradient rule may call: every sparse op by its name, and a few questions about indices."""

    interpret: Callable[[Op, list[Any], dict[str, Any]], Any]  # set by `calls`, which knows how

    def __getattr__(self, name: str) -> Any:
        op = registry.get(name)
        if op is None:
            raise AttributeError(f"there is no sparse op {name!r}, and a gradient in JAX needs one")

        def run(**given: Any) -> Any:
            values = [given.pop(n) for n in op.input_names]
            return self.interpret(op, values, {**op.attr_defaults, **given})

        return run

    @staticmethod
    def rows(value: Any) -> int:
        """The length of the first axis."""
        return int(value.shape[0])

    @staticmethod
    def range(count: int) -> Any:
        return jnp.arange(count)

    @staticmethod
    def ones(count: int) -> Any:
        return jnp.ones(count, jnp.int8)

    @staticmethod
    def nonzero(marks: Any) -> Any:
        if arrays.known(marks) is None:
            raise SizeNotKnownError("how many marks there are is not known while JAX traces")
        return jnp.nonzero(arrays.known(marks))[0]

    @staticmethod
    def sorted_by(keys: Any, values: Any) -> tuple[Any, Any]:
        """Both in ascending order of the keys; equal keys keep their order."""
        ascending, moved = jax.lax.sort((keys, values), num_keys=1, is_stable=True)
        return ascending, moved

    @staticmethod
    def positions(values: Any, among: Any) -> Any:
        """Where each value stands in a sorted array that has it."""
        return jnp.searchsorted(among, values)

    @staticmethod
    def sum_like(value: Any, like: Any) -> Any:
        """Undo broadcasting: add along the axes in which `like` was stretched to the shape of `value`."""
        extra = value.ndim - len(like.shape)
        stretched = [axis for axis, size in enumerate(like.shape) if size == 1 and value.shape[axis + extra] != 1]
        axes = (*range(extra), *[axis + extra for axis in stretched])
        return value.sum(axes).reshape(like.shape)

    @staticmethod
    def row_grad(compact: Any, like: Any) -> Any:
        """The outputs of a compact gradient op, as the gradient of `like`: dense, for JAX has no other."""
        zeros = jnp.zeros(like.shape, compact.output.dtype)
        return zeros.at[compact.sorted_unique_indices].set(compact.output)
