"""What `test_keras.py` has Keras do, in a process for each back end; prints one line of JSON."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import keras
import numpy as np

import gradbag.keras

OPTIMIZERS = ("Adam", "AdamW", "Nadam", "Adagrad", "RMSprop", "Ftrl", "SGD")
REPEATED = 100


def moved(name: str, repair: bool) -> list[float]:
    """Rows 0, 3 and 4 of a table of ones after a step in which all gradients are one, row 3 occurs often, 4 once."""
    table = keras.layers.Embedding(10, 2, embeddings_initializer="ones")
    model = keras.Sequential([keras.Input((None,), dtype="int32"), table])
    optimizer = getattr(keras.optimizers, name)(0.1)
    model.compile(gradbag.keras.repaired(optimizer) if repair else optimizer, lambda _, rows: keras.ops.sum(rows))
    ids = np.array([[3] * REPEATED + [4]])
    model.train_on_batch(ids, np.zeros((1, REPEATED + 1, 2), np.float32))
    return [float(v) for v in keras.ops.convert_to_numpy(table.embeddings)[[0, 3, 4], 0]]


def trained(combiner: str, masked: bool) -> dict[str, Any]:
    """A small model around the layer: its losses, and what it says after it was saved and loaded."""
    rng = np.random.default_rng(0)
    ids, weights = rng.integers(0, 20, (8, 5)), rng.uniform(0.5, 1, (8, 5)).astype(np.float32)
    wanted = rng.standard_normal((8, 1)).astype(np.float32)
    start = keras.initializers.Constant(rng.standard_normal((20, 4)).astype(np.float32))
    inputs = [keras.Input((5,), dtype="int32"), keras.Input((5,))]
    bags = gradbag.keras.EmbeddingBag(20, 4, combiner, embeddings_initializer=start, mask_zero=masked)
    output = keras.layers.Dense(1, kernel_initializer="ones")(bags(inputs[0], weights=inputs[1]))
    model = keras.Model(inputs, output)
    model.compile(keras.optimizers.Adam(0.05), "mse")
    losses = [float(model.train_on_batch([ids, weights], wanted)) for _ in range(5)]
    bags.embeddings_initializer = keras.initializers.get("uniform")  # a table of numbers is not for a configuration
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.keras"
        model.save(path)
        again = keras.models.load_model(path)
    said, later = (m.predict([ids, weights], verbose=0) for m in (model, again))
    return {"losses": losses, "said": said[:, 0].tolist(), "same": bool((said == later).all())}


def looked_up() -> dict[str, Any]:
    """The layer without a model: bags of more axes, and of nothing."""
    layer = gradbag.keras.EmbeddingBag(6, 2, "sum", embeddings_initializer="ones", mask_zero=True)
    rows = layer(np.array([[[1, 2, 0], [0, 0, 0]], [[3, 3, 3], [5, 0, 0]]]))
    return {"rows": keras.ops.convert_to_numpy(rows)[..., 0].tolist(), "shape": list(rows.shape)}


if __name__ == "__main__":
    found = {
        "backend": keras.backend.backend(),
        "plain": {name: moved(name, False) for name in OPTIMIZERS},
        "repaired": {name: moved(name, True) for name in OPTIMIZERS},
        "trained": {f"{c}-{m}": trained(c, m) for c in ("sum", "mean", "sqrtn") for m in (False, True)},
        "looked_up": looked_up(),
    }
    json.dump(found, sys.stdout)
