"""Who answered a call: gradbag's kernels count what they answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import gradbag.tensorflow


@contextmanager
def counted(**want: int) -> Iterator[None]:
    """Inside, gradbag answers so many calls of each of these ops, and none of another."""
    before = Counter(gradbag.tensorflow.installed())
    yield
    answered = Counter(gradbag.tensorflow.installed())
    answered.subtract(before)
    assert {op: count for op, count in answered.items() if count} == want


def on_stock(function: Callable[..., Any], *given: Any) -> Any:
    """What TensorFlow's own kernels answer; gradbag's answer nothing meanwhile."""
    with gradbag.tensorflow.stock(), counted():
        return function(*given)
