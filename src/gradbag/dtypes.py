"""Names of dtypes, and the groups that op declarations speak of.

A name is TensorFlow's ("bfloat16", "qint8", "string"). Several NumPy dtypes can carry the name "string": object
arrays of str or bytes, fixed-width bytes and str, and StringDType.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

DType = np.dtype[Any]

FLOAT = ("float16", "bfloat16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
INTEGER = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
REAL = FLOAT + INTEGER
NUMBER = REAL + COMPLEX
INDEX = ("int32", "int64")
DIFFERENTIABLE = frozenset(FLOAT + COMPLEX)
QUANTIZED = ("qint8", "quint8", "qint32")
ANY = (*NUMBER, "bool", "string")
LIST = "variant"  # TensorFlow's name for what is no array; in graphs, lists of arrays

_NUMPY: dict[str, DType] = {
    **{name: np.dtype(name) for name in (*FLOAT, *COMPLEX, *INTEGER, "bool") if name != "bfloat16"},
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
    # TensorFlow's own NumPy spelling of its quantized types.
    "qint8": np.dtype([("qint8", np.int8)]),
    "quint8": np.dtype([("quint8", np.uint8)]),
    "qint32": np.dtype([("qint32", np.int32)]),
    "string": np.dtype(object),
}
_NAMES: dict[DType, str] = {dtype: name for name, dtype in _NUMPY.items()}


def numpy_dtype(name: str) -> DType:
    """The NumPy dtype that carries a name; for "string", the object dtype."""
    return _NUMPY[name]


def name_of(dtype: DType) -> str:
    """The name of a dtype; a dtype that no op takes is called by NumPy's own name."""
    name = _NAMES.get(dtype)
    if name is None:
        name = "string" if is_string(dtype) else str(dtype)
    return name


def plain_name(dtype: DType) -> str | None:
    """The name of a dtype that a kernel can take as it is; None for strings and for what no op takes."""
    return _NAMES.get(dtype) if dtype.kind != "O" else None


def is_string(dtype: DType) -> bool:
    return dtype.kind in "SUTO"


def is_differentiable(dtype: DType) -> bool:
    return _NAMES.get(dtype) in DIFFERENTIABLE
