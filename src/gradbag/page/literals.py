"""Arrays as JSON literals, and back: exact for every dtype, in the shortest numbers that read back equal.

"nan", "inf" and "-inf" are strings, as are integers beyond 2**53; a complex number is [re, im]; strings that are no
UTF-8 text stand as base64.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .. import dtypes, errors
from .canonical import LARGEST_INTEGER

Array = np.ndarray[Any, Any]

MOST_INLINE = 64  # elements that stand in the page itself; more belong in a data file
_WORDS = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}
_DIGITS = re.compile(r"-?[0-9]{1,20}")


class LiteralError(Exception):
    """A literal that cannot be what it should be; the message is a sentence about it."""


# ------------------------------------------------------------------ reading
def to_array(value: Any, dtype: str) -> Array:
    """A JSON value as an array of a dtype; nothing is rounded but decimal fractions."""
    if type(value) is float and dtype in ("float32", "float64") and abs(value) < 1e38:  # the commonest by far
        return np.array(value, dtype)
    shape, leaves = _flat(value, pairs=dtype in dtypes.COMPLEX)
    if dtype == "string":
        words = [_text(leaf) for leaf in leaves]
        array = np.empty(len(words), object)
        array[:] = words
        return array.reshape(shape)
    if dtype in dtypes.QUANTIZED:
        plain = to_array(value, dtype.removeprefix("q"))
        return plain.view(dtypes.numpy_dtype(dtype))
    made = dtypes.numpy_dtype(dtype)
    numbers: list[Any]
    if dtype == "bool":
        numbers = [_checked(leaf, type(leaf) is bool, dtype) for leaf in leaves]
    elif dtype in dtypes.INTEGER:
        limits = np.iinfo(made)
        numbers = [_whole(leaf, dtype) for leaf in leaves]
        for number in numbers:
            if not limits.min <= number <= limits.max:
                raise LiteralError(f"{number} does not fit {dtype}")
    elif dtype in dtypes.COMPLEX:
        numbers = [complex(_real(re, dtype), _real(im, dtype)) for re, im in leaves]
    else:
        numbers = [_real(leaf, dtype) for leaf in leaves]
    with np.errstate(over="ignore"):
        array = np.array(numbers, made).reshape(shape)
    if dtype in dtypes.FLOAT or dtype in dtypes.COMPLEX:
        _check_finite(array, numbers, dtype)
    return array


def from_base64(value: Any) -> Array:
    """Nested lists of base64 text as an array of bytes."""
    shape, leaves = _flat(value, pairs=False)
    array = np.empty(len(leaves), object)
    for place, leaf in enumerate(leaves):
        try:
            array[place] = base64.b64decode(_checked(leaf, isinstance(leaf, str), "base64"), validate=True)
        except binascii.Error as problem:
            raise LiteralError(f"{_shown(leaf)} is no base64: {problem}") from None
    return array.reshape(shape)


def natural(value: Any, takes_text: bool) -> Any:
    """A JSON value as Python numbers or bytes, for a port that lets the value decide its dtype.

    Where the port takes strings, a string is text; elsewhere it is one of the numbers that JSON cannot write.
    """
    _, leaves = _flat(value, pairs=False)
    if leaves and all(isinstance(leaf, str) for leaf in leaves) and takes_text:
        return _mapped(value, _text)
    return _mapped(value, lambda leaf: _number(leaf) if isinstance(leaf, str) else leaf)


def has_fraction(value: Any) -> bool:
    """Whether Python numbers, in lists or alone, have a float among them."""
    return type(value) is float or (isinstance(value, list) and any(map(has_fraction, value)))


def as_fractions(value: Any) -> Any:
    """The same Python numbers, all floats; anything else as it is."""
    return _mapped(value, lambda leaf: float(leaf) if type(leaf) is int else leaf)


def is_whole(text: str) -> bool:
    """Whether a string is an integer that JSON cannot write."""
    return _DIGITS.fullmatch(text) is not None


def count(value: Any) -> int:
    """How many elements a nested list has."""
    waiting, total = [value], 0
    while waiting:
        one = waiting.pop()
        if isinstance(one, list):
            waiting += one
        else:
            total += 1
    return total


def _flat(value: Any, pairs: bool) -> tuple[tuple[int, ...], list[Any]]:
    """The shape of nested lists, and the elements in order; with `pairs`, an element is a list of two numbers."""
    shape: list[int] = []
    level = [value]
    while level and all(isinstance(one, list) for one in level):
        sizes = {len(one) for one in level}
        if len(sizes) > 1:
            raise LiteralError(f"is no rectangular array: lists of {min(sizes)} and of {max(sizes)} stand side by side")
        shape += sizes
        level = [element for one in level for element in one]
    if any(isinstance(one, list) for one in level):
        raise LiteralError("is no rectangular array: a list stands beside a single value")
    for leaf in level:
        if leaf is None or isinstance(leaf, dict):
            raise LiteralError(f"has {_shown(leaf)} where a value should stand")
    if not pairs:
        return tuple(shape), level
    if 0 in shape:
        return tuple(shape[:-1] if shape[-1:] == [2] else shape), []
    if not shape or shape[-1] != 2:
        raise LiteralError("must have complex numbers as [re, im]")
    return tuple(shape[:-1]), list(zip(level[::2], level[1::2], strict=True))


def _mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    if not isinstance(value, list):
        return change(value)
    return [_mapped(one, change) for one in value]  # as deep as the text, 64 levels at most


def _text(leaf: Any) -> bytes:
    return bytes(_checked(leaf, isinstance(leaf, str), "string").encode())


def _number(text: str) -> int | float:
    if text in _WORDS:
        return _WORDS[text]
    if _DIGITS.fullmatch(text):
        return int(text)
    raise LiteralError(f"{_shown(text)} is no number")


def _whole(leaf: Any, dtype: str) -> int:
    if isinstance(leaf, str) and _DIGITS.fullmatch(leaf):
        return int(leaf)
    return int(_checked(leaf, type(leaf) is int or (type(leaf) is float and leaf.is_integer()), dtype))


def _real(leaf: Any, dtype: str) -> float:
    if isinstance(leaf, str):
        return float(_number(leaf))
    return float(_checked(leaf, type(leaf) in (int, float), dtype))


def _checked(leaf: Any, right: bool, dtype: str) -> Any:
    if not right:
        raise LiteralError(f"must be {dtype}; {_shown(leaf)} is not")
    return leaf


def _check_finite(array: Array, numbers: list[Any], dtype: str) -> None:
    lost = ~np.isfinite(array.reshape(-1)) & np.isfinite(np.array(numbers, complex))
    if lost.any():
        raise LiteralError(f"{numbers[int(lost.argmax())]} does not fit {dtype}")


def _shown(leaf: Any) -> str:
    return repr(leaf)[:40]


# ------------------------------------------------------------------ writing
def to_json(array: Array) -> Any:
    """An array as nested lists that `to_array` reads back to the same bits; NaNs all become the same one."""
    name = dtypes.name_of(array.dtype)
    if name == "string":
        return _nested(array, lambda word: word if isinstance(word, str) else bytes(word).decode())
    if name in dtypes.QUANTIZED:
        return to_json(array.view(array.dtype[0]))
    if name == "bool":
        return array.tolist()
    if name in dtypes.INTEGER:
        return _nested(array, _written_whole)
    if name in dtypes.COMPLEX:
        part = array.real.dtype.type
        return _nested(array, lambda z: [_shortest(z.real, part), _shortest(z.imag, part)])
    if name in dtypes.FLOAT:
        return _nested(array, lambda number: _shortest(number, array.dtype.type))
    raise errors.UnsupportedTypeError(f"a page holds no {array.dtype} arrays")


def is_text(array: Array) -> bool:
    """Whether an array of strings can stand in a page as text."""
    try:
        for word in array.flat:
            (word.encode() if isinstance(word, str) else bytes(word).decode())
    except (UnicodeDecodeError, UnicodeEncodeError):
        return False
    return True


def to_base64(array: Array) -> Any:
    return _nested(
        array, lambda w: base64.b64encode(w.encode("utf-8", "surrogatepass") if isinstance(w, str) else w).decode()
    )


def plain(array: Array) -> Any:
    """Nested lists for machines: what `tolist` gives, with strings for what JSON cannot write."""
    name = dtypes.name_of(array.dtype)
    if name in dtypes.FLOAT:
        listed = array.astype(np.float64)
        return listed.tolist() if np.isfinite(listed).all() else _nested(listed, _word_or_number)
    if name in dtypes.COMPLEX:
        return _nested(array, lambda z: [_word_or_number(float(z.real)), _word_or_number(float(z.imag))])
    if name == "string" and not is_text(array):
        return to_base64(array)
    return to_json(array)


def _nested(array: Array, change: Callable[[Any], Any]) -> Any:
    flat: Any = [change(one) for one in array.reshape(-1)]
    if array.ndim == 0:
        return flat[0]
    for size in reversed(array.shape[1:]):
        flat = list(_chunks(flat, size)) if size else None
        if flat is None:
            return np.empty(array.shape).tolist()
    return flat


def _chunks(flat: list[Any], size: int) -> Iterator[list[Any]]:
    for start in range(0, len(flat), size):
        yield flat[start : start + size]


def _written_whole(number: Any) -> int | str:
    value = int(number)
    return value if abs(value) <= LARGEST_INTEGER else str(value)


def _word_or_number(number: float) -> float | str:
    if number != number:
        return "nan"
    return {float("inf"): "inf", float("-inf"): "-inf"}.get(number, number)


def _shortest(number: Any, kind: Callable[[float], Any]) -> int | float | str:
    """The decimal with the fewest digits that rounds to the same number of its dtype."""
    value = float(number)
    if not np.isfinite(value):
        return _word_or_number(value)
    if value.is_integer() and abs(value) < 1e15 and (value or str(value) == "0.0"):
        return int(value)
    with np.errstate(over="ignore"):  # the largest number with a digit less may be too large
        for digits in range(1, 17):
            short = float(f"{value:.{digits}g}")
            if np.isfinite(short) and float(kind(short)) == value:
                return short
    return value
