"""How exactly the ops of arrays compute: in a wider type than their operands', rounded once at the end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...dtypes import DType, name_of

_WIDER = {"float16": "float32", "bfloat16": "float32", "float32": "float64", "complex64": "complex128"}


def wider(dtype: DType) -> DType:
    """The type in which functions and sums of a dtype are computed; integers wrap around in their own."""
    name = name_of(dtype)
    return np.dtype(_WIDER[name]) if name in _WIDER else dtype


def rounded(function: Callable[..., Any], *arrays: Any) -> Any:
    """What a function gives for operands of one dtype, correct to the last bit of that dtype or nearly so."""
    dtype = arrays[0].dtype
    wide = wider(dtype)
    return np.asarray(function(*[a.astype(wide, copy=False) for a in arrays])).astype(dtype, copy=False)
