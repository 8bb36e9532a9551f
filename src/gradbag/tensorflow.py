"""gradbag inside TensorFlow: an existing model with gradbag's kernels, without editing it.

import gradbag.tensorflow

gradbag.tensorflow.install()
model.fit(data)
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import tensorflow as tf

from . import attributes, embedding, errors
from .adapters.tensorflow import interpret
from .adapters.tensorflow.install import install, installed, stock
from .spec import Op, registry

__all__ = ["embedding_lookup_sparse", "install", "installed", "patch", "safe_embedding_lookup_sparse", "stock"]

_lock = threading.Lock()
_replaced: list[tuple[dict[str, Any], str, Any]] = []  # namespace, name, and what TensorFlow has there
_depth = 0


# ------------------------------------------------------------------ look-ups
def embedding_lookup_sparse(
    params: Any,
    sp_ids: Any,
    sp_weights: Any = None,
    combiner: str | None = None,
    max_norm: float | None = None,
    name: str | None = None,
    allow_fast_lookup: bool = False,
) -> Any:
    """`tf.nn.embedding_lookup_sparse`, in as few nodes as a look-up has parts.

    Once gradbag is installed they are ops of TensorFlow's, `Gradbag>PackBags` and `Gradbag>EmbeddingBag`, that are
    differentiated to any order and saved; the gradient of a table has only the rows that were looked up. To save a
    model with them, name their namespace: `tf.saved_model.SaveOptions(namespace_whitelist=["Gradbag"])`; whoever loads
    it installs gradbag first.
    """
    return _embedding_lookup_sparse(params, sp_ids, sp_weights, combiner, max_norm, name, sparse_gradient=True)


def safe_embedding_lookup_sparse(
    embedding_weights: Any,
    sparse_ids: Any,
    sparse_weights: Any = None,
    combiner: str = "mean",
    default_id: int | None = None,
    max_norm: float | None = None,
    name: str | None = None,
    allow_fast_lookup: bool = False,
) -> Any:
    """`tf.nn.safe_embedding_lookup_sparse`, made like `embedding_lookup_sparse` here."""
    return _safe_embedding_lookup_sparse(
        embedding_weights, sparse_ids, sparse_weights, combiner, default_id, max_norm, name, sparse_gradient=True
    )


# There is nothing in them for AutoGraph, which would read every function that they call.
_embedding_lookup_sparse = tf.autograph.experimental.do_not_convert(embedding.embedding_lookup_sparse)
_safe_embedding_lookup_sparse = tf.autograph.experimental.do_not_convert(embedding.safe_embedding_lookup_sparse)


# ------------------------------------------------------------------ patching
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
        name = given.pop("name", None)
        values = [_plain(given.pop(name)) for name in op.input_names]
        try:
            answer = interpret(op, values, attributes.normal(op, given))
        except errors.Error as refusal:
            for ours, theirs in _REFUSALS.items():
                if isinstance(refusal, ours):
                    raise theirs(None, None, str(refusal)) from refusal
            raise
        return answer if name is None or tf.executing_eagerly() else _named(op, answer, name)

    call.__name__ = call.__qualname__ = generated.__name__
    call.__doc__ = generated.__doc__
    call.autograph_info__ = {}  # type: ignore[attr-defined]
    return call


_REFUSALS = {
    errors.InvalidArgumentError: tf.errors.InvalidArgumentError,
    errors.ResourceExhaustedError: tf.errors.ResourceExhaustedError,
    errors.CancelledError: tf.errors.CancelledError,
}


def _plain(value: Any) -> Any:
    """What code of TensorFlow 1 passes for a size or a shape, as numbers."""
    if isinstance(value, tf.compat.v1.Dimension):
        return value.value if value.value is not None else tf.convert_to_tensor(value)  # which says what is wrong
    return np.array(value.as_list(), np.int64) if isinstance(value, tf.TensorShape) else value


def _named(op: Op, answer: Any, name: str) -> Any:
    """The outputs under the name of a node that the caller has chosen."""
    if op.result is None:
        return tf.identity(answer, name=name)
    return op.result._make(tf.raw_ops.IdentityN(input=list(answer), name=name))
