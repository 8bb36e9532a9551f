"""What a process that runs keeps between runs: of each page what it was drawn as and gave, and values by digest."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import errors
from ..graph.run import Held
from ..page.checking import inspect
from ..page.drawing import Drawn
from ..page.model import Page
from .services import checking, values

Array = np.ndarray[Any, Any]


@dataclass
class Sheet:
    """What is kept of a page between its runs."""

    drawn: Drawn = field(default_factory=Drawn)
    variables: dict[str, Held] = field(default_factory=dict)
    keys: dict[str, str | None] = field(default_factory=dict)
    values: dict[str, list[Array]] = field(default_factory=dict)
    computed: dict[str, str | None] = field(default_factory=dict)  # the keys when the values were made

    def draw(self, page: Page) -> Drawn:
        """The page as it is now; what an edit has changed is computed anew, and until then its memory is free."""
        self.drawn = inspect(page, self.drawn)
        self.keys = checking.keys(self.drawn.graph, page)
        for name in [name for name in self.values if self.keys.get(name) != self.computed.get(name)]:
            del self.values[name], self.computed[name]
        return self.drawn

    @property
    def size(self) -> int:
        """Bytes of its values."""
        return sum(array.nbytes for outputs in self.values.values() for array in outputs)

    def forget(self) -> None:
        self.values, self.computed = {}, {}


@dataclass
class Stepping:
    """How far a run that goes step by step has come."""

    done: dict[str, tuple[str | None, list[Array]]] = field(default_factory=dict)  # by node: its key, its outputs
    assigned: dict[str, Held] = field(default_factory=dict)


class Store:
    """Values by their digests, up to a number of bytes; those that were not asked for longest go first."""

    def __init__(self, limit: int) -> None:
        self._limit, self._size = limit, 0
        self._kept: OrderedDict[str, Array] = OrderedDict()
        self._lock = threading.Lock()

    def put(self, array: Array) -> str:
        name = values.digest(array)
        with self._lock:
            if name not in self._kept:
                self._size += array.nbytes + 512
                self._kept[name] = array
            self._kept.move_to_end(name)
            while self._size > self._limit and len(self._kept) > 1:
                self._size -= self._kept.popitem(last=False)[1].nbytes + 512
        return name

    def get(self, name: str) -> Array:
        with self._lock:
            if name not in self._kept:
                raise Gone("This value is not kept any more: run the page again to see all of it.")
            self._kept.move_to_end(name)
            return self._kept[name]


class Gone(errors.Error):
    """A value that is asked for too late."""

    kind = "gone"
