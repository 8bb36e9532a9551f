"""A bag whose weights cancel gives zeros, and gradients that are finite, in NumPy and in every framework."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradbag
import gradbag.jax
import gradbag.torch
from gradbag import raw_ops

from .each import WAYS, NumPy

TABLE = np.array([[1.0, 2.0], [3.0, 5.0], [7.0, 11.0]])
IDS, OFFSETS = np.array([0, 1, 2, 2]), np.array([0, 2])
# "mean" divides by the sum of the weights, "sqrtn" by the root of the sum of their squares.
WEIGHTS = {"mean": np.array([2.0, -2.0, 1.0, 3.0]), "sqrtn": np.array([0.0, 0.0, 3.0, 4.0])}
WANTED = {"mean": [[0.0, 0.0], [7.0, 11.0]], "sqrtn": [[0.0, 0.0], [7.0 * 7 / 5, 11.0 * 7 / 5]]}


def by_op(way: NumPy, table: Any, weights: Any, combiner: str) -> Any:
    bags = {"ids": way.tensor(IDS), "offsets": way.tensor(OFFSETS)}
    return raw_ops.EmbeddingBag(table=table, weights=weights, combiner=combiner, **bags)


def by_lookup(way: NumPy, table: Any, weights: Any, combiner: str) -> Any:
    places = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    ids, weighted = (gradbag.SparseTensor(places, values, [2, 2]) for values in (IDS, weights))
    return gradbag.embedding_lookup_sparse(table, ids, weighted, combiner=combiner)


def by_bag(way: NumPy, table: Any, weights: Any, combiner: str) -> Any:
    if way is WAYS["torch"]:
        return gradbag.torch.functional.embedding_bag(
            way.tensor(IDS), table, way.tensor(OFFSETS), mode=combiner, per_sample_weights=weights
        )
    offsets = way.tensor(OFFSETS)
    return gradbag.jax.embedding_bag(table, way.tensor(IDS), offsets=offsets, weights=weights, combiner=combiner)


EVERYWHERE = {"numpy": NumPy(), **WAYS}
CALLS = [(name, by_op) for name in EVERYWHERE] + [("numpy", by_lookup)]
CALLS += [(name, by_bag) for name in ("torch", "jax", "jax.jit")]


@pytest.mark.parametrize(("name", "call"), CALLS, ids=lambda v: v if isinstance(v, str) else v.__name__)
@pytest.mark.parametrize("combiner", WEIGHTS)
def test_weights_that_cancel_give_zeros(name: str, call: Callable[..., Any], combiner: str) -> None:
    way = EVERYWHERE[name]
    arrays = [TABLE, WEIGHTS[combiner]]
    tensors = [way.tensor(array) for array in arrays]

    def function(table: Any, weights: Any) -> list[Any]:
        return [call(way, table, weights, combiner)]

    np.testing.assert_allclose(way.array(way.wrapped(function)(*tensors)[0]), WANTED[combiner], rtol=1e-15)
    ones = [way.tensor(np.ones((2, 2)))]
    gradients = way.wrapped(lambda *given: list(way.pulled(function, list(given), ones)))(*tensors)
    plain = NumPy()
    wanted = plain.pulled(lambda t, w: [by_op(plain, t, w, combiner)], arrays, [np.ones((2, 2))])
    for got, want in zip(gradients, wanted, strict=True):
        assert np.isfinite(want).all()
        np.testing.assert_allclose(way.array(got), want, rtol=1e-12)
    assert (way.array(gradients[1])[:2] == 0).all()
