"""Compact gradients as JAX takes them: a tree whose leaves are the arrays."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from ...row_grad import RowGrad
from .primitives import namespace


def from_row_grad(gradient: RowGrad) -> RowGrad:
    count = gradient.rows.shape[0] if gradient.count is None else gradient.count
    return RowGrad(jnp.asarray(gradient.indices), jnp.asarray(gradient.rows), gradient.shape, count, ops=namespace)


def _parts(gradient: RowGrad) -> tuple[Any, Any]:
    return (gradient.indices, gradient.rows, gradient.count), gradient.shape


def _joined(shape: Any, parts: Any) -> RowGrad:
    indices, rows, count = parts
    return RowGrad(indices, rows, shape, count, ops=namespace)


jax.tree_util.register_pytree_node(RowGrad, _parts, _joined)
