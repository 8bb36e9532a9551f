"""Rows of 8 bits with a scale each, for look-ups alone."""

from __future__ import annotations

import os
from typing import Any, Self

import ml_dtypes
import numpy as np

from .. import dtypes, errors, memory
from . import safetensors
from .base import Lookup
from .batches import Array, Block
from .table import check_version

KINDS = ("uint8", "float8_e4m3fn")
CHUNK = 1 << 20  # numbers that are converted at once
LARGEST = 448.0  # of float8_e4m3fn
_KIND = "QuantizedTable"
_TAIL = 8  # bytes of scale and bias behind the 8-bit numbers of a row


class QuantizedTable(Lookup):
    """A quarter of the memory of float32: each row in 8 bits, with its scale.

    "uint8" is the 8-bit layout of FBGEMM and of PyTorch's `embedding_bag_byte_prepack`, byte for byte: a row is its
    numbers, then a float32 scale and a float32 bias, and means `scale * number + bias`. "float8_e4m3fn" has a float32
    scale for each row in an array of its own. Look-ups answer in float32.

        >>> import gradbag
        >>> table = gradbag.Table(1000, 16).quantized()
        >>> table
        QuantizedTable(1000 rows of 16, uint8, 24000 bytes)
        >>> table.lookup([[1, 2], [3]]).shape
        (2, 16)
    """

    def __init__(self, packed: Any, scales: Any = None) -> None:
        packed = np.ascontiguousarray(packed)
        if packed.ndim != 2:
            raise errors.wrong_shape(_KIND, "packed", "rows bytes", "", packed.shape)
        self.kind = "uint8" if packed.dtype == np.uint8 else str(packed.dtype)
        if self.kind not in KINDS:
            raise errors.wrong_type(_KIND, "packed", KINDS, dtypes.name_of(packed.dtype))
        self.rows, self.columns = packed.shape
        if self.kind == "uint8":
            self.columns -= _TAIL
            if self.columns < 0 or scales is not None:
                wanted = f"at least {_TAIL} bytes wide, with scale and bias in them"
                raise errors.unfit(_KIND, "packed", wanted, f"{packed.shape[1]} bytes" if scales is None else "scales")
        else:
            scales = np.asarray(scales)
            if scales.shape != (self.rows,) or scales.dtype != np.float32:
                got = f"{scales.dtype} of shape {list(scales.shape)}"
                raise errors.unfit(_KIND, "scales", f"float32 of shape [{self.rows}]", got)
        self.packed, self.scales = packed, scales

    @classmethod
    def of(cls, array: Any, kind: str = "uint8") -> Self:
        """Of an array of floating numbers, all of which must be finite."""
        function = "QuantizedTable.of"
        if kind not in KINDS:
            raise errors.unfit(function, "kind", "one of " + ", ".join(map(repr, KINDS)), repr(kind))
        values = np.asarray(array)
        if values.ndim != 2:
            raise errors.wrong_shape(function, "array", "rows columns", "", values.shape)
        if dtypes.name_of(values.dtype) not in dtypes.FLOAT:
            raise errors.wrong_type(function, "array", dtypes.FLOAT, dtypes.name_of(values.dtype))
        rows, columns = values.shape
        width = columns + _TAIL if kind == "uint8" else columns
        memory.reserve(function, [("packed", (rows, width), 1)])
        packed = np.empty((rows, width), kind if kind == "uint8" else ml_dtypes.float8_e4m3fn)
        scales = None if kind == "uint8" else np.empty(rows, np.float32)
        size = max(1, CHUNK // max(columns, 1))
        for begin in range(0, rows, size):
            part = slice(begin, begin + size)
            block = values[part].astype(np.float32)
            if not np.isfinite(block).all():
                row, column = (int(p) for p in np.argwhere(~np.isfinite(block))[0])
                place, value = (begin + row, column), float(block[row, column])
                raise errors.invalid(function, errors.Fault("rule", "array", place, value, hint="is not finite"))
            if scales is None:
                _pack_bytes(block, packed[part])
            else:
                _pack_floats(block, packed[part], scales[part])
        return cls(packed, scales)

    @property
    def computing(self) -> np.dtype[Any]:
        """The dtype of what is looked up."""
        return np.dtype(np.float32)

    @property
    def nbytes(self) -> int:
        """The memory of the rows and their scales."""
        return sum(int(array.nbytes) for array in (self.packed, self.scales) if array is not None)

    def __repr__(self) -> str:
        return f"QuantizedTable({self.rows} rows of {self.columns}, {self.kind}, {self.nbytes} bytes)"

    def _block(self, function: str, ids: Array, with_state: bool) -> Block:
        rows, places = np.unique(ids, return_inverse=True)
        memory.reserve(function, [("the rows of the batch", (len(rows), self.columns), 8)])
        packed = self.packed[rows]
        if self.scales is not None:
            return Block(packed.astype(np.float32) * self.scales[rows, None], {}, places, rows)
        scale, bias = np.ascontiguousarray(packed[:, self.columns :]).view(np.float32).T[:, :, None]
        return Block(packed[:, : self.columns] * scale + bias, {}, places, rows)

    # ------------------------------------------------------------------ files
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a safetensors file; until it is whole, and on the disk, the old one stays in its place."""
        arrays = {"packed": self.packed} | ({} if self.scales is None else {"scales": self.scales})
        safetensors.write(path, arrays, {"kind": _KIND, "version": 1})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The table of a file that `save` has written."""
        function = "QuantizedTable.load"
        arrays, about = safetensors.read(function, path)
        if about.get("kind") != _KIND or "packed" not in arrays:
            raise errors.unfit(function, "path", "a file of a quantized table", os.fspath(path))
        check_version(function, path, about)
        return cls(arrays["packed"], arrays.get("scales"))


def _pack_bytes(block: Array, out: Array) -> None:
    """As FBGEMM's FloatToFused8BitRowwiseQuantizedSBFloat."""
    columns = block.shape[1]
    low = block.min(1, initial=np.inf if columns else 0.0)
    reach = block.max(1, initial=-np.inf if columns else 0.0) - low
    tail = np.stack([reach / np.float32(255), low], 1).astype(np.float32)
    inverse = np.float32(255) / (reach + np.float32(1e-8))
    out[:, :columns] = np.rint((block - low[:, None]) * inverse[:, None])
    out[:, columns:] = tail.view(np.uint8)


def _pack_floats(block: Array, out: Array, scales: Array) -> None:
    """The largest of each row becomes the largest number that there is."""
    largest = np.float32(LARGEST)
    reach = np.abs(block).max(1, initial=0.0)
    scales[...] = np.where(reach > 0, reach / largest, np.float32(1))
    # A row of the smallest numbers has a scale of zero, and is zeros.
    usable = np.where(scales > 0, scales, np.float32(1))
    out[...] = np.clip(block / usable[:, None], -largest, largest)
