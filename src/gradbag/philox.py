"""TensorFlow's random numbers: the Philox generator, which makes any part of its stream from a key and a counter.

A graph's op draws on where it stopped in the last run: the session keeps its `Stream`.
"""

from __future__ import annotations

import os
from contextvars import ContextVar
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_STEPS = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
ROUNDS = 10
RESERVED = 256  # groups of a stream that TensorFlow sets aside for each number of a call


class Stream:
    """How far a stream has been used, in groups of four words; `otherwise` are the seeds of an op that has none."""

    def __init__(self, position: int = 0, otherwise: tuple[int, int] | None = None) -> None:
        self.position, self.otherwise = position, otherwise


current: ContextVar[Stream | None] = ContextVar("current", default=None)


def reserved(groups: int) -> int:
    """The position at which a call begins, which keeps so many groups for itself; outside a session always 0."""
    stream = current.get()
    if stream is None:
        return 0
    begin = stream.position
    stream.position += groups
    return begin


def seeded(seed: int, seed2: int) -> tuple[int, int]:
    """A key and the upper half of a counter; without seeds those of the run, else others every time."""
    stream = current.get()
    if not seed and not seed2 and stream is not None and stream.otherwise is not None:
        seed, seed2 = stream.otherwise
    if seed or seed2:
        return seed & (2**64 - 1), seed2 & (2**64 - 1)
    return int.from_bytes(os.urandom(8), "little"), int.from_bytes(os.urandom(8), "little")


def groups(key: int, high: int, positions: Array, low: int = 0) -> Array:
    """The four words of 32 bits at each position of a stream: [position, 4]."""
    counter = positions.astype(np.uint64) + np.uint64(low)
    carried = (counter < np.uint64(low)).astype(np.uint64)  # beyond 64 bits the upper half counts on
    upper = np.uint64(high) + carried
    c = [counter & _LOW, counter >> _HALF, upper & _LOW, upper >> _HALF]
    k = [np.uint64(key & 0xFFFFFFFF), np.uint64(key >> 32)]
    for number in range(ROUNDS):
        if number:
            k = [(word + step) & _LOW for word, step in zip(k, _STEPS, strict=True)]
        first, second = _MULTIPLIERS[0] * c[0], _MULTIPLIERS[1] * c[2]
        c = [(second >> _HALF) ^ c[1] ^ k[0], second & _LOW, (first >> _HALF) ^ c[3] ^ k[1], first & _LOW]
    return np.stack(c, -1).astype(np.uint32)


def words(key: int, high: int, begin: int, count: int, low: int = 0) -> Array:
    """So many words from a position on."""
    positions = np.arange(-(-count // 4), dtype=np.uint64) + np.uint64(begin)
    return groups(key, high, positions, low).reshape(-1)[:count]


def unit_floats(drawn: Array) -> Array:
    """float32 in [0, 1), one for each word."""
    bits = (drawn & np.uint32(0x7FFFFF)) | np.uint32(0x3F800000)
    return np.asarray(bits.view(np.float32) - np.float32(1))


def unit_doubles(drawn: Array) -> Array:
    """float64 in [0, 1), one for every two words on the last axis."""
    wide = drawn.astype(np.uint64)
    bits = ((wide[..., 0::2] & np.uint64(0xFFFFF)) << _HALF) | wide[..., 1::2] | np.uint64(1023 << 52)
    return np.asarray(bits.view(np.float64) - 1.0)


def units(drawn: Array, dtype: str) -> Array:
    return unit_floats(drawn) if dtype == "float32" else unit_doubles(drawn)


def normals(drawn: Array, dtype: str) -> Array:
    """Normal numbers, two for every two numbers in [0, 1), by the transform of Box and Muller; on the last axis."""
    unit = units(drawn, dtype)
    single = dtype == "float32"
    radius = np.maximum(unit[..., 0::2], unit.dtype.type(1e-7)).astype(np.float64)
    angle = 2 * np.pi * unit[..., 1::2].astype(np.float64)
    if single:  # TensorFlow rounds after each function
        logarithm = np.log(radius).astype(np.float32)
        length = np.sqrt(np.float32(-2) * logarithm)
        angle = angle.astype(np.float32).astype(np.float64)
        found = [np.sin(angle).astype(np.float32) * length, np.cos(angle).astype(np.float32) * length]
    else:
        length = np.sqrt(-2 * np.log(radius))
        found = [np.sin(angle) * length, np.cos(angle) * length]
    return np.stack(found, -1).reshape(unit.shape)


def truncated_normals(key: int, high: int, begin: int, count: int, dtype: str, low: int = 0) -> Array:
    """Normal numbers below 2 in size; every group of outputs has a part of the stream for itself."""
    size = 4 if dtype == "float32" else 2
    lots = -(-count // size)
    starts = np.uint64(begin) + np.arange(lots, dtype=np.uint64) * np.uint64(size * RESERVED // 4)
    found = np.empty((lots, size), dtype)
    have = np.zeros(lots, np.int64)
    for number in range(size * RESERVED // 4):
        short = np.flatnonzero(have < size)
        if not len(short):
            break
        drawn = normals(groups(key, high, starts[short] + np.uint64(number), low), dtype)
        for column in drawn.T:
            take = (np.abs(column) < 2) & (have[short] < size)
            found[short[take], have[short[take]]] = column[take]
            have[short[take]] += 1
    return found.reshape(-1)[:count]


def scrambled(seed: int, seed2: int) -> tuple[int, int]:
    """The key and the upper half of the counter that TensorFlow makes of the two seeds of a stateless op."""
    mixed = groups(0x02461E293EC8F720, seed2 & (2**64 - 1), np.array([seed & (2**64 - 1)], np.uint64))[0].astype(object)
    return int(mixed[0]) | int(mixed[1]) << 32, int(mixed[2]) | int(mixed[3]) << 32
