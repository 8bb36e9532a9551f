"""Rows of 16 bits: steps are made in float32, and their results rounded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import dtypes, errors
from .beginnings import random_bits

Array = np.ndarray[Any, Any]
NARROW = ("bfloat16", "float16")
DTYPES = ("float32", "float64", *NARROW)
ROUNDINGS = ("nearest", "stochastic")


@dataclass(frozen=True)
class Storage:
    """In which dtype rows are kept, in which they are computed, and how they get from one to the other.

    Stochastic: up or down by chance, so that the mean is what was rounded, and small steps are not lost. The chance is
    a function of the seed, the step, the row and the column.
    """

    name: str
    rounding: str
    seed: int

    @classmethod
    def checked(cls, function: str, dtype: Any, rounding: Any, seed: Any) -> Storage:
        try:
            name = dtype if isinstance(dtype, str) else dtypes.name_of(np.dtype(dtype))
        except TypeError:
            name = repr(dtype)
        if dtype is None:  # for NumPy it is float64
            name = "None"
        if name not in DTYPES:
            raise errors.wrong_type(function, "dtype", DTYPES, name)
        if rounding not in ROUNDINGS:
            raise errors.unfit(function, "rounding", "one of " + ", ".join(map(repr, ROUNDINGS)), repr(rounding))
        if rounding != "nearest" and name not in NARROW:
            wanted = "'nearest' where dtype is none of " + ", ".join(NARROW)
            raise errors.unfit(function, "rounding", wanted, repr(rounding))
        errors.check_natural(function, "seed", seed)
        if seed >= 1 << 63:
            raise errors.unfit(function, "seed", "below 2**63", errors.shown(seed))
        return cls(name, rounding, seed)

    @property
    def dtype(self) -> np.dtype[Any]:
        return dtypes.numpy_dtype(self.name)

    @property
    def is_narrow(self) -> bool:
        return self.name in NARROW

    @property
    def computing(self) -> np.dtype[Any]:
        """The dtype of gradients, of what is looked up, and of what an optimizer keeps."""
        return np.dtype(np.float32) if self.is_narrow else self.dtype

    def narrowed(self, values: Array, rows: Array, step: int) -> Array:
        """Computed rows of these numbers as they are kept after a step."""
        if self.rounding == "nearest" or not self.is_narrow:
            with np.errstate(over="ignore"):  # what is too large is infinite, as in any sum
                return values.astype(self.dtype)
        chance = random_bits(self.seed, step, rows, values.shape[1])
        return stochastically_rounded(values, self.dtype, chance)


def stochastically_rounded(values: Array, dtype: np.dtype[Any], chance: Array) -> Array:
    """float32 in fewer bits: of the two neighbours the nearer is the likelier, so that the mean is right.

    Each number is between two that the dtype has, at a distance of `unit`; the share of it that lies above the lower
    one is compared with 24 bits of chance.
    """
    if dtype == dtypes.numpy_dtype("bfloat16"):
        bits = values.view(np.uint32)
        finite = np.isfinite(values)
        added = bits + np.where(finite, (chance >> np.uint64(48)).astype(np.uint32), np.uint32(0))
        kept = (added >> np.uint32(16)).astype(np.uint16)
        # NaN may have its only marks in what is cut off.
        return np.where(np.isnan(values), np.asarray(np.nan, dtype).view(np.uint16), kept).view(dtype)
    # float16: 10 bits of fraction, down to 2**-24 apart for the small ones.
    exponent = np.frexp(np.where(np.isfinite(values), values, np.float32(1)))[1]
    unit = np.ldexp(np.float32(1), np.maximum(exponent - 11, -24))
    with np.errstate(invalid="ignore", over="ignore"):
        lower = np.floor(values / unit)
        share = values / unit - lower
        draw = (chance >> np.uint64(40)).astype(np.float32) * np.float32(2**-24)
        rounded: Array = ((lower + (draw < share)) * unit).astype(dtype)
    return rounded
