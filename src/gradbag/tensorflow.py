"""gradbag inside TensorFlow: try an existing model with gradbag's ops, without editing it.

import gradbag.tensorflow

with gradbag.tensorflow.patch():
    model.fit(data)
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import tensorflow as tf

from . import attributes
from .adapters.tensorflow import interpret
from .spec import Op, registry

__all__ = ["patch"]

_lock = threading.Lock()
_replaced: list[tuple[dict[str, Any], str, Any]] = []  # namespace, name, and what TensorFlow has there
_depth = 0


@contextmanager
def patch() -> Iterator[None]:
    """Let gradbag answer TensorFlow's own sparse ops inside the `with` statement.

    That is `tf.raw_ops` and everything that is built of it: `tf.sparse.segment_mean`, `tf.sparse.fill_empty_rows`,
    `tf.sparse.slice`, `tf.nn.embedding_lookup_sparse`, `tf.nn.safe_embedding_lookup_sparse` and the like. It holds
    for all threads. A `tf.function` stays what it was when it was traced, inside or outside.
    """
    global _depth
    with _lock:
        if _depth == 0:
            _replace()
        _depth += 1
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            if _depth == 0:
                _restore()


def _replace() -> None:
    ours: dict[int, Callable[..., Any]] = {}  # by the id of the function that it stands for
    for op in registry.loaded():
        raw = None if op.section == "array" else getattr(tf.raw_ops, op.name, None)
        if raw is not None:  # an op of the caller's own is not TensorFlow's
            generated = getattr(sys.modules[raw.__module__], op.python_name)
            ours[id(raw)] = ours[id(generated)] = _stand_in(op, generated)
    # TensorFlow's modules import each other's functions by name, so one function has many places.
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "tensorflow":
            namespace = getattr(module, "__dict__", {})
            _replaced.extend((namespace, key, value) for key, value in list(namespace.items()) if id(value) in ours)
    for namespace, key, theirs in _replaced:
        namespace[key] = ours[id(theirs)]


def _restore() -> None:
    while _replaced:
        namespace, key, theirs = _replaced.pop()
        namespace[key] = theirs


def _stand_in(op: Op, generated: Callable[..., Any]) -> Callable[..., Any]:
    """Called as TensorFlow's function is: by position or by name, in its order."""
    names = [*op.input_names, *op.attr_defaults, "name"]

    def call(*args: Any, **given: Any) -> Any:
        given.update(zip(names, args, strict=False))
        given.pop("name", None)
        values = [given.pop(name) for name in op.input_names]
        return interpret(op, values, attributes.normal(op, given))

    call.__name__ = call.__qualname__ = generated.__name__
    call.__doc__ = generated.__doc__
    call.autograph_info__ = {}  # type: ignore[attr-defined]
    return call
