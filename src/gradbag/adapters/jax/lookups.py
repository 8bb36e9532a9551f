"""JAX's own answers to the questions of a look-up, inside `jit` with fixed shapes."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from ... import attributes
from ...embedding.frameworks import Answers, Packed
from ...spec import registry
from . import compat
from .call import SizeNotKnownError
from .calls import interpret_sized


class JaxAnswers(Answers):
    """What is filled up has the default weight and stands in a bag of its own, which is thrown away."""

    def packed(self, name: str, given: dict[str, Any], size: int | None) -> Packed:
        if "indices" in given:  # those of a BCOO are int32, also where JAX has int64
            given["indices"] = given["indices"].astype(jax.dtypes.canonicalize_dtype("int64"))
        try:
            return super().packed(name, given, size)
        except SizeNotKnownError:
            pass
        op, count = registry[name], given["ids"].shape[0]
        if size is None:
            bags = given["offsets"].shape[0] if "offsets" in given else int(given["dense_shape"][0])
            size = count + (0 if given["default_id"] is None else bags)
        values = [given[name] for name in op.input_names]
        settings = {name: given[name] for name in op.attr_defaults}
        found, kept = interpret_sized(op, values, attributes.normal(op, settings), size, count)
        ids = jnp.where(jnp.arange(size) < kept, found.packed_ids, 0)
        return Packed(ids, jnp.append(found.packed_offsets, kept), found.positions, has_spare=True)

    def distinct(self, ids: Any) -> tuple[Any, Any]:
        known = compat.known(ids)
        ids = ids if known is None else known
        size = ids.shape[0] if known is None else None
        found, places = jnp.unique(ids, return_inverse=True, size=size, fill_value=None if size is None else 0)
        return found, places.reshape(-1)

    def clipped(self, rows: Any, norm: float) -> Any:
        columns = tuple(range(1, rows.ndim))
        squares = (rows * rows).sum(columns, keepdims=True)
        positive = squares > 0
        length = jnp.where(positive, jnp.sqrt(jnp.where(positive, squares, 1)), squares)
        return rows * jnp.asarray(norm, rows.dtype) / jnp.maximum(length, jnp.asarray(norm, rows.dtype))

    def cast(self, values: Any, like: Any) -> Any:
        return jnp.asarray(values, like.dtype)


answers = JaxAnswers()
