"""Results of nodes by content: what was computed once from the same values need not be computed again.

The key of a result is a digest of the op, its attributes and the keys of its inputs, so it does not depend on names,
and a cache can serve many sessions and edited copies of a graph.
"""

from __future__ import annotations

import hashlib
import itertools
import os
from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock
from typing import Any

import numpy as np

import gradbag

from .graph import Node

Array = np.ndarray[Any, Any]
DEFAULT_LIMIT = 1 << 28


class ResultCache:
    """Keeps results up to a number of bytes; what was not used for longest goes first. Safe to share by threads."""

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        self.limit, self.size = limit, 0
        self._kept: OrderedDict[bytes, tuple[Sequence[Array], int]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: bytes) -> Sequence[Array] | None:
        found = self._kept.get(key)
        if found is None:
            return None
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
        return found[0]

    def put(self, key: bytes, outputs: Sequence[Array]) -> bool:
        """Keep a result, if it fits; says whether it did."""
        size = sum([output.nbytes for output in outputs]) + 256  # what the bookkeeping takes, roughly
        if size > self.limit:
            return False
        with self._lock:
            before = self._kept.pop(key, None)
            self.size += size - (before[1] if before is not None else 0)
            self._kept[key] = (outputs, size)
            while self.size > self.limit:
                self.size -= self._kept.popitem(last=False)[1][1]
        return True

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()
            self.size = 0

    def __contains__(self, key: bytes) -> bool:
        return key in self._kept

    def __len__(self) -> int:
        return len(self._kept)


_TOKENS = os.urandom(8)  # of this process
_counted = itertools.count()


def new_token() -> bytes:
    """A key that no other value has."""
    return _TOKENS + next(_counted).to_bytes(8, "little")


def digest(*parts: bytes) -> bytes:
    return hashlib.blake2b(b"".join(parts), digest_size=16).digest()


def array_digest(array: Array) -> bytes:
    """Of the dtype, the shape and the content."""
    head = f"{array.dtype.str} {array.dtype.names} {array.shape} ".encode()
    if array.dtype.kind in "OT":
        words = [w if isinstance(w, bytes) else b"u" + str(w).encode("utf-8", "surrogatepass") for w in array.flat]
        return digest(head, *(b"%d:%s" % (len(w), w) for w in words))
    state = hashlib.blake2b(head, digest_size=16)
    content: Any = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    state.update(content)
    return state.digest()


def output_digest(result: bytes, index: int) -> bytes:
    """Of one output of a result; a list may have any number of them."""
    return result + index.to_bytes(4, "little") if index else result


def call_digest(node: Node) -> bytes:
    """Of what a node does, whatever it reads."""
    if node.digest:
        return node.digest
    parts = [f"{gradbag.__version__} {node.op.name} ".encode()]
    for name, value in node.attrs.items():
        shown = array_digest(value) if isinstance(value, np.ndarray) else repr(value).encode()
        parts.append(name.encode() + b"=" + shown + b";")
    node.digest = digest(*parts)
    return node.digest


def step_digest(call: bytes, inputs: Sequence[bytes]) -> bytes:
    return digest(call, *inputs)
