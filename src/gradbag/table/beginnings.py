"""What rows are before the first step: a function of the seed, the row and the column alone.

So a row is the same whenever it is made, by whatever number of threads, in memory or in a file: rows that nobody has
touched need not exist.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import errors

Array = np.ndarray[Any, Any]
Init = Callable[[Array, int], Any] | str | float | None

WORDS = ("normal", "zeros")
CHUNK = 1 << 18  # numbers that are made at once: they and what they are made of stay in the caches
_U64 = np.uint64


# ------------------------------------------------------------------ numbers from a key
def mixed(keys: Array) -> Array:
    """SplitMix64's finalizer: 64 bits that look like chance for each key."""
    keys = keys + _U64(0x9E3779B97F4A7C15)
    keys ^= keys >> _U64(30)
    keys *= _U64(0xBF58476D1CE4E5B9)
    keys ^= keys >> _U64(27)
    keys *= _U64(0x94D049BB133111EB)
    keys ^= keys >> _U64(31)
    return keys


def random_bits(seed: int, stream: int, rows: Array, columns: int) -> Array:
    """64 bits for each row and column of a stream, which is a step or whatever else needs numbers of its own."""
    base = mixed(mixed(np.array([seed], _U64)) ^ _U64(stream))
    lines = mixed(base ^ rows.astype(np.int64).view(_U64))
    return mixed(lines[:, None] ^ mixed(np.arange(columns, dtype=_U64)))


# ------------------------------------------------------------------ rows
def check_init(function: str, init: Any) -> None:
    if callable(init) or init is None:
        return
    if isinstance(init, str):
        if init not in WORDS:
            raise errors.unfit(function, "init", "'normal', 'zeros', a number or a function", repr(init))
    elif isinstance(init, bool) or not isinstance(init, (int, float)):
        raise errors.wrong_type(function, "init", ["'normal', 'zeros', a number or a function"], type(init).__name__)
    elif not 0 <= init < np.inf:
        raise errors.unfit(function, "init", "in [0, inf)", str(init))


def fill_rows(function: str, init: Init, seed: int, rows: Array, out: Array) -> None:
    """Write into `out` what the rows of these numbers begin with."""
    columns = out.shape[1]
    if callable(init):
        made = np.asarray(init(rows, columns))
        if made.shape != out.shape:
            raise errors.wrong_shape(function, "init(rows, columns)", "rows columns", f"{list(out.shape)}", made.shape)
        out[...] = made
        return
    deviation = {"normal": 1.0, "zeros": 0.0, None: max(columns, 1) ** -0.5}.get(init, init)  # type: ignore[arg-type]
    if not deviation or not columns:
        out[...] = 0
        return
    size = max(1, CHUNK // columns)
    for begin in range(0, len(rows), size):
        part = slice(begin, begin + size)
        out[part] = _normal(random_bits(seed, -1 & 0xFFFFFFFFFFFFFFFF, rows[part], columns)) * np.float32(deviation)


def _normal(bits: Array) -> Array:
    """Box and Muller's way from two uniform numbers to a normal one, in float32."""
    radius = ((bits >> _U64(40)).astype(np.float32) + np.float32(0.5)) * np.float32(2**-24)
    angle = (bits & _U64(0xFFFFFF)).astype(np.float32) * np.float32(2 * np.pi * 2**-24)
    normal: Array = np.sqrt(np.float32(-2) * np.log(radius)) * np.cos(angle)
    return normal
