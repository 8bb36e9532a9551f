"""What the graphs are given: small batches of ids, words and numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from .writing import STEPS

WORDS = np.array(
    [b"red", b"green", b"blue", b"", b"violet", b"a much longer word than the others", b"gr\xc3\xbcn"], "S40"
)
ROWS, WIDTH, BATCH = 40, 4, 8


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def table(rows: int = ROWS, width: int = WIDTH, seed: int = 5) -> Any:
    return rng(seed).normal(size=(rows, width)).astype(np.float32)


def sparse_ids(seed: int = 1, rows: int = 6, rank: int = 2, empty: bool = True) -> tuple[Any, Any, Any]:
    """Indices, ids and the dense shape of a sparse tensor of ids; some rows are empty."""
    draw = rng(seed)
    lengths = draw.integers(0 if empty else 1, 4, rows)
    places = [(row, column) for row, length in enumerate(lengths) for column in range(length)]
    indices = np.array(places, np.int64).reshape(-1, 2)
    shape = [rows, 4]
    if rank == 3:
        indices = np.stack([indices[:, 0] // 2, indices[:, 0] % 2, indices[:, 1]], 1)
        shape = [rows // 2, 2, 4]
    return indices, draw.integers(0, ROWS, len(indices)), np.array(shape, np.int64)


def words(shape: Any, seed: int = 2) -> Any:
    return WORDS[rng(seed).integers(0, len(WORDS), shape)].astype(object)


def clicks(count: int = STEPS, seed: int = 3) -> list[dict[str, Any]]:
    """Batches of a recommender: a user, an item, some numbers and whether there was a click."""
    draw = rng(seed)
    return [
        {
            "user": draw.integers(0, ROWS, BATCH),
            "item": draw.integers(0, ROWS, BATCH),
            "numbers": draw.normal(size=(BATCH, 3)).astype(np.float32),
            "label": draw.integers(0, 2, BATCH).astype(np.float32),
        }
        for _ in range(count)
    ]
