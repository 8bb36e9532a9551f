"""Lets gradbag's kernels answer TensorFlow's own ops, without a line of code: TensorFlow's plugin calls `prepare`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

_hooks: list[tuple[type, str, Callable[..., Any]]] = []  # where a method waits for the first use, and TensorFlow's own


def prepare() -> None:
    """Install when TensorFlow is used first: until then a program may say how many threads and devices it wants."""
    from tensorflow.python.client.session import BaseSession
    from tensorflow.python.eager.context import Context

    for kind, name in [(Context, "ensure_initialized"), (BaseSession, "__init__")]:
        _hooks.append((kind, name, getattr(kind, name)))
        setattr(kind, name, _waiting(getattr(kind, name)))


def _waiting(method: Callable[..., Any]) -> Callable[..., Any]:
    def first(*args: Any, **named: Any) -> Any:
        _install()
        return method(*args, **named)

    return first


def _install() -> None:
    if not _hooks:
        return
    while _hooks:
        setattr(*_hooks.pop())
    try:
        import gradbag.tensorflow

        gradbag.tensorflow.install()
    except Exception as problem:  # TensorFlow works without us
        warnings.warn(f"TensorFlow keeps its own kernels: {problem}", RuntimeWarning, stacklevel=3)
