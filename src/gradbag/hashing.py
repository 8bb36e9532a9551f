"""Hash buckets of strings and ids: TensorFlow's, bit for bit.

Compiled code does it, over all threads; where there is none, the Python below, which also says what is computed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from . import errors, string_columns
from .eager.program import native

__all__ = ["hash_ids", "string_to_hash_bucket", "string_to_hash_bucket_fast", "string_to_hash_bucket_strong"]

Buckets = np.ndarray[Any, np.dtype[np.int64]]
_MASK = (1 << 64) - 1


def string_to_hash_bucket_fast(strings: Any, num_buckets: int) -> Buckets:
    """The bucket of each string by FarmHash's Fingerprint64, as `tf.strings.to_hash_bucket_fast`.

    Strings are an Arrow column (read in place), a NumPy array of bytes, str or objects, or a list; str is hashed as
    UTF-8. Anybody can find strings that share a bucket: where that is a danger, `string_to_hash_bucket_strong`.

    >>> import gradbag
    >>> gradbag.string_to_hash_bucket_fast(["Hello", "TensorFlow", "2.x"], 3)
    array([0, 2, 2])
    """
    return _buckets("string_to_hash_bucket_fast", "hash_farm", farm_fingerprint, "strings", strings, num_buckets)


def string_to_hash_bucket_strong(strings: Any, num_buckets: int, key: Sequence[int]) -> Buckets:
    """The bucket of each string by SipHash-2-4 with a key of two numbers, as `tf.strings.to_hash_bucket_strong`.

    >>> import gradbag
    >>> gradbag.string_to_hash_bucket_strong(["Hello", "TF"], 3, [1, 2])
    array([2, 0])
    """
    function = "string_to_hash_bucket_strong"
    words = _key(function, key)
    return _buckets(function, "hash_sip", partial(sip_hash, key=words), "strings", strings, num_buckets, *words)


def string_to_hash_bucket(strings: Any, num_buckets: int) -> Buckets:
    """The bucket of each string by TensorFlow's first hash, for models that were trained with it.

    >>> import gradbag
    >>> gradbag.string_to_hash_bucket(["Hello", "TensorFlow", "2.x"], 3)
    array([2, 0, 1])
    """
    return _buckets("string_to_hash_bucket", "hash_murmur", murmur_hash, "strings", strings, num_buckets)


def hash_ids(ids: Any, num_buckets: int) -> Buckets:
    """The bucket of each id by the Fingerprint64 of its decimal digits, as `keras.layers.Hashing` and as
    `tf.strings.to_hash_bucket_fast(tf.strings.as_string(ids), num_buckets)`.

    >>> import gradbag
    >>> gradbag.hash_ids([[7, -7], [123456789, 0]], 1000)
    array([[ 88,  62],
           [306, 735]])
    """
    array = string_columns.integers("hash_ids", "ids", ids)
    _check_count("hash_ids", num_buckets)
    buckets = string_columns.results("hash_ids", "buckets", array.shape)
    if native is None:
        buckets[:] = [farm_fingerprint(str(number).encode()) % num_buckets for number in array.flat]
    else:
        native.hash_digits(array.reshape(-1), num_buckets, buckets)
    return buckets.reshape(array.shape)


def fingerprints(
    texts: Sequence[str | bytes], key: tuple[int, int] | None = None
) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """All 64 bits of the hash of each text: FarmHash, or SipHash with a key."""
    if native is None:
        plain = farm_fingerprint if key is None else partial(sip_hash, key=key)
        return np.array([plain(t.encode() if isinstance(t, str) else t) for t in texts], np.uint64)
    found = np.empty(len(texts), np.int64)
    # The remainder by 2**64 - 1 is the hash itself, but for the one hash that is all ones.
    settings = (native.Strings.of_objects(texts), _MASK, found)
    native.hash_farm(*settings) if key is None else native.hash_sip(*settings, *key)
    return found.view(np.uint64)


def _buckets(
    function: str,
    compiled: str,
    plain: Callable[[bytes], int],
    argument: str,
    strings: Any,
    num_buckets: int,
    *settings: int,
) -> Buckets:
    _check_count(function, num_buckets)
    if native is None:
        return _in_python(function, argument, plain, strings, num_buckets)
    column, shape = string_columns.read(function, argument, strings)
    buckets = string_columns.results(function, "buckets", shape)
    try:
        null = getattr(native, compiled)(column, num_buckets, buckets, *settings)
    except ValueError as problem:
        raise errors.about(argument, errors.InvalidArgumentError(f"{function}: {argument} {problem}")) from None
    if null >= 0:
        raise _null(function, argument, null)
    return buckets.reshape(shape)


def _in_python(function: str, argument: str, plain: Callable[[bytes], int], strings: Any, num_buckets: int) -> Buckets:
    array = np.asarray(strings, object)
    buckets = string_columns.results(function, "buckets", array.shape)
    for place, text in enumerate(array.flat):
        if text is None:
            raise _null(function, argument, place)
        if not isinstance(text, (str, bytes)):
            got = type(text).__name__
            raise errors.wrong_type(function, f"{argument}[{place}]", ["str or bytes"], got)
        buckets[place] = plain(text.encode() if isinstance(text, str) else text) % num_buckets
    return buckets.reshape(array.shape)


def _null(function: str, argument: str, place: int) -> errors.Error:
    sentence = f"{function}: {argument}[{place}] is null, which has no bucket; fill it first"
    return errors.about(argument, errors.InvalidArgumentError(sentence))


def _check_count(function: str, num_buckets: int) -> None:
    errors.check_natural(function, "num_buckets", num_buckets, least=1)
    if num_buckets >= 1 << 63:
        raise errors.unfit(function, "num_buckets", "below 2**63", errors.shown(num_buckets))


def _key(function: str, key: Sequence[int]) -> tuple[int, int]:
    words = tuple(key)
    if len(words) != 2:
        raise errors.unfit(function, "key", "two numbers", errors.shown(words))
    for place, word in enumerate(words):
        if isinstance(word, bool) or not isinstance(word, int):
            raise errors.wrong_type(function, f"key[{place}]", ["an int"], type(word).__name__)
        if not -(1 << 63) <= word <= _MASK:
            raise errors.unfit(function, f"key[{place}]", "of 64 bits", errors.shown(word))
    return words[0] & _MASK, words[1] & _MASK


# ------------------------------------------------------------------ FarmHash
# Fingerprint64 of FarmHash, by Geoff Pike, copyright 2014 Google, Inc., under the MIT licence.
_K0, _K1, _K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F


def farm_fingerprint(text: bytes) -> int:
    """64 bits of a string, the same on every machine."""
    size = len(text)
    if size > 64:
        return _farm_long(text)
    factor = _K2 + size * 2
    if size >= 17:
        first = _at(text, 0) * (_K1 if size <= 32 else _K2)
        second = _at(text, 8)
        third = _at(text, size - 8) * factor
        y = _right(first + second, 43) + _right(third, 30) + _at(text, size - 16) * _K2
        z = _joined(y, first + _right(second + _K2, 18) + third, factor)
        if size <= 32:
            return z
        e, f = _at(text, 16) * factor, _at(text, 24)
        g = (y + _at(text, size - 32)) * factor
        h = (z + _at(text, size - 24)) * factor
        return _joined(_right(e + f, 43) + _right(g, 30) + h, e + _right(f + first, 18) + g, factor)
    if size >= 8:
        a, b = _at(text, 0) + _K2, _at(text, size - 8)
        return _joined(_right(b, 37) * factor + a, (_right(a, 25) + b) * factor, factor)
    if size >= 4:
        return _joined(size + (_at(text, 0, 4) << 3), _at(text, size - 4, 4), factor)
    if size == 0:
        return _K2
    y, z = text[0] + (text[size // 2] << 8), size + (text[-1] << 2)
    return _mixed((y * _K2 ^ z * _K0) & _MASK) * _K2 & _MASK


def _farm_long(text: bytes) -> int:
    x, y = 81 * _K2 + _at(text, 0), 81 * _K1 + 113
    z = _mixed((y * _K2 + 113) & _MASK) * _K2
    v, w = (0, 0), (0, 0)

    def rounded(s: int, factor: int, nine: int) -> tuple[int, int, int, tuple[int, int], tuple[int, int]]:
        a = _right(x + y + v[0] + _at(text, s + 8), 37) * factor ^ w[1] * nine
        b = _right(y + v[1] + _at(text, s + 48), 42) * factor + v[0] * nine + _at(text, s + 40)
        c = _right(z + w[0], 33) * factor
        return (
            c & _MASK,
            b & _MASK,
            a & _MASK,
            _of_32_bytes(text, s, v[1] * factor, a + w[0]),
            _of_32_bytes(text, s + 32, c + w[1], b + _at(text, s + 16)),
        )

    rest = (len(text) - 1) % 64
    for s in range(0, len(text) - 1 - rest, 64):
        x, y, z, v, w = rounded(s, _K1, 1)
    w = (w[0] + rest, w[1])
    v = (v[0] + w[0], v[1])
    w = (w[0] + v[0], w[1])
    factor = _K1 + ((z & 0xFF) << 1)
    x, y, z, v, w = rounded(len(text) - 64, factor, 9)
    return _joined(_joined(v[0], w[0], factor) + _mixed(y) * _K0 + z, _joined(v[1], w[1], factor) + x, factor)


def _of_32_bytes(text: bytes, s: int, a: int, b: int) -> tuple[int, int]:
    last = _at(text, s + 24)
    a += _at(text, s)
    b = _right(b + a + last, 21)
    c = a
    a += _at(text, s + 8) + _at(text, s + 16)
    return (a + last) & _MASK, (b + _right(a, 44) + c) & _MASK


def _at(text: bytes, place: int, size: int = 8) -> int:
    return int.from_bytes(text[place : place + size], "little")


def _right(word: int, bits: int) -> int:
    word &= _MASK
    return (word >> bits | word << (64 - bits)) & _MASK


def _mixed(word: int) -> int:
    return word ^ word >> 47


def _joined(u: int, v: int, factor: int) -> int:
    a = _mixed((u ^ v) * factor & _MASK)
    return _mixed((v ^ a) * factor & _MASK) * factor & _MASK


# ------------------------------------------------------------------ SipHash
def sip_hash(text: bytes, key: tuple[int, int]) -> int:
    """SipHash-2-4, by Jean-Philippe Aumasson and Daniel J. Bernstein."""
    first, second = key
    a, b = first ^ 0x736F6D6570736575, second ^ 0x646F72616E646F6D
    c, d = first ^ 0x6C7967656E657261, second ^ 0x7465646279746573
    whole = len(text) // 8 * 8
    words = [_at(text, place) for place in range(0, whole, 8)]
    words.append(_at(text, whole) | (len(text) & 0xFF) << 56)
    for word, rounds in [*((word, 2) for word in words), (None, 4)]:
        if word is None:
            c ^= 0xFF
        else:
            d ^= word
        for _ in range(rounds):
            a, c = (a + b) & _MASK, (c + d) & _MASK
            b, d = _right(b, 51) ^ a, _right(d, 48) ^ c
            a, c = (_right(a, 32) + d) & _MASK, (c + b) & _MASK
            d, b = _right(d, 43) ^ a, _right(b, 47) ^ c
            c = _right(c, 32)
        a ^= word or 0
    return a ^ b ^ c ^ d


# ------------------------------------------------------------------ Murmur
def murmur_hash(text: bytes) -> int:
    """MurmurHash64A, by Austin Appleby, with TensorFlow's seed."""
    factor = 0xC6A4A7935BD1E995
    hashed = 0xDECAFCAFFE ^ len(text) * factor & _MASK
    whole = len(text) // 8 * 8
    for place in range(0, whole, 8):
        word = _mixed(_at(text, place) * factor & _MASK) * factor & _MASK
        hashed = (hashed ^ word) * factor & _MASK
    if whole < len(text):
        hashed = (hashed ^ _at(text, whole)) * factor & _MASK
    return _mixed(_mixed(hashed) * factor & _MASK)
