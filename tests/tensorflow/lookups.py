"""Random look-ups for TensorFlow's functions and ours of the same names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

import gradbag

DTYPES = ("float32", "float32", "float64", "float16", "bfloat16")
ULPS = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}


@dataclass
class LookUp:
    """One call: what is looked up where, and with which settings."""

    safe: bool
    form: str  # "sparse", "ragged" or "deep", which is a sparse tensor of another rank
    places: Any
    shape: Any
    splits: Any
    ids: Any
    weights: Any  # None: all count alike
    tables: list[Any]
    strategy: str
    settings: dict[str, Any]

    @property
    def name(self) -> str:
        return "safe_embedding_lookup_sparse" if self.safe else "embedding_lookup_sparse"

    @property
    def exact(self) -> bool:
        """Whether both add the same rows in the same order."""
        return self.weights is None and self.settings.get("max_norm") is None

    def ours(self, tables: list[Any], weights: Any) -> Any:
        if self.form == "ragged":
            ids: Any = gradbag.Bags.from_offsets(self.ids, self.splits[:-1])
            given = weights
        else:
            ids = gradbag.SparseTensor(self.places, self.ids, self.shape)
            given = None if weights is None else gradbag.SparseTensor(self.places, weights, self.shape)
        return self._call(getattr(gradbag, self.name), tables, ids, given)

    def on_tensors(self, tables: list[Any], weights: Any) -> Any:
        """Ours, given what TensorFlow's is given."""
        return self._call(getattr(gradbag, self.name), tables, *self._tensors(weights))

    def theirs(self, tables: list[Any], weights: Any) -> Any:
        return self._call(getattr(tf.compat.v1.nn, self.name), tables, *self._tensors(weights))

    def _tensors(self, weights: Any) -> tuple[Any, Any]:
        if self.form == "ragged":
            make = lambda values: tf.RaggedTensor.from_row_splits(values, self.splits, validate=False)  # noqa: E731
        else:
            make = lambda values: tf.SparseTensor(self.places, values, self.shape)  # noqa: E731
        return make(self.ids), None if weights is None else make(weights)

    def _call(self, function: Any, tables: list[Any], ids: Any, weights: Any) -> Any:
        params = tables[0] if len(tables) == 1 else list(tables)
        return function(params, ids, weights, partition_strategy=self.strategy, **self.settings)


def random_look_up(seed: int) -> LookUp:
    rng = np.random.default_rng(seed)
    safe = bool(rng.integers(2))
    form = rng.choice(["sparse", "ragged", "deep"] if safe else ["sparse", "ragged"])
    rank = int(rng.choice([1, 3])) if form == "deep" else 2
    shape = rng.integers(1, 6, rank)
    count, rows = int(rng.integers(0, 13)), int(rng.integers(6, 12))
    places = rng.integers(0, shape, (count, rank))
    if form == "ragged" or not safe or rng.integers(2):
        places = places[np.lexsort(places.T[::-1])]
    lengths = np.bincount(places[:, 0], minlength=shape[0]) if rank == 2 else np.zeros(1, int)
    dtype = rng.choice(DTYPES)
    table = rng.standard_normal((rows, int(rng.integers(1, 5))))
    combiner = str(rng.choice(["sum", "mean", "sqrtn"]))
    weights = None
    if rng.integers(2):
        odd = [-0.25, 0.0, *([np.nan] if safe and combiner != "sum" else [])]
        weights = rng.choice([0.5, 1.0, 2.5, 3.0, 0.75, *odd], count)
        weights = tf.cast(weights, dtype if safe else "float32").numpy()
    shards = int(rng.choice([1, 1, 1, 2, 3]))
    strategy = str(rng.choice(["div", "mod"]))
    whole = tf.cast(table, dtype).numpy()
    sizes = np.full(shards, rows // shards) + (np.arange(shards) < rows % shards)
    cut = np.split(whole, np.cumsum(sizes)[:-1]) if strategy == "div" else [whole[k::shards] for k in range(shards)]
    settings: dict[str, Any] = {"combiner": combiner}
    if rng.integers(4) == 0:
        settings["max_norm"] = float(rng.choice([0.5, 1.0, 2.0]))
    if safe and rng.integers(2):
        settings["default_id"] = int(rng.integers(0, rows))
    if rng.integers(4) == 0:
        settings["allow_fast_lookup"] = True
    ids = rng.integers(-2 if safe else 0, rows, count).astype(rng.choice(["int32", "int64"]))
    return LookUp(safe, str(form), places, shape, np.cumsum([0, *lengths]), ids, weights, cut, strategy, settings)
