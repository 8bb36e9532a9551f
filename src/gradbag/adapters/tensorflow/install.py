"""gradbag behind TensorFlow's own ops, for the whole process."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import tensorflow as tf

from ...eager.program import native
from ...threads import set_num_threads
from . import compat, nodes, own_ops, sparse_gradients, taking_over

_lock = threading.Lock()
_done = False


def install(*, beside_gpu: bool = False) -> None:
    """Let gradbag's kernels answer TensorFlow's own sparse ops, from now on and in the whole process.

    Nothing else changes: `tf.sparse`, `tf.nn`, Keras, functions, sessions, datasets and saved models take them, whether
    they were made before or after, and what is saved stays plain TensorFlow. What a kernel refuses is refused by
    TensorFlow's own, in its words. `stock()` runs TensorFlow's kernels again for a while; with GRADBAG_TENSORFLOW=0 in
    the environment this function does nothing.

    The kernels use as many threads as `tf.config.threading` says, which must be set before. Where TensorFlow sees a
    GPU, ops that it can run there stay its own, unless `beside_gpu` says otherwise.
    """
    global _done
    if os.environ.get("GRADBAG_TENSORFLOW") == "0":
        return
    with _lock:
        if not _done:
            _register(beside_gpu)
            _done = True


def _register(beside_gpu: bool) -> None:
    if native is None:
        raise RuntimeError("gradbag was installed without its compiled kernels: there is nothing to install")
    missing = native.tensorflow.find()
    if missing:
        raise RuntimeError(
            f"TensorFlow {tf.version.VERSION} on this system does not export {missing}: gradbag's kernels cannot take "
            "the place of its own. gradbag.tensorflow.patch() works without."
        )
    found = {}
    leave_gpu = not beside_gpu and bool(tf.config.list_physical_devices("GPU"))
    for op in taking_over.candidates():
        kernels = taking_over.Registered(op)
        if kernels.has_ours:
            raise RuntimeError(f"another copy of gradbag in this process has kernels for {op.name} already")
        if not (leave_gpu and kernels.has_gpu):
            served = list(taking_over.served(op, kernels))
            free = taking_over.free_variables(op, served)
            found[op.name] = {taking_over.add(op, types, free) for types in served}
    own = {own_ops.PREFIX + op.name: op for op in own_ops.candidates()} if compat.execute is not None else {}
    for op in own.values():
        own_ops.define(op)
    threads = tf.config.threading.get_intra_op_parallelism_threads()
    if threads:
        set_num_threads(threads)
    config = _config(threads)
    native.tensorflow.register_added(config)
    ignored = native.tensorflow.not_asked(config)
    if ignored:
        raise RuntimeError(
            f"TensorFlow {tf.version.VERSION} still runs its own kernels for {', '.join(ignored)}: their priority "
            "means something else in this version"
        )
    taking_over.taken.update(found)
    own_ops.defined.update(own)
    nodes.register_gradients()
    sparse_gradients.register()
    if compat.clear_kernel_cache is None:
        warnings.warn(
            f"TensorFlow {tf.version.VERSION} keeps kernels that it has run: call gradbag.tensorflow.install() first",
            RuntimeWarning,
            stacklevel=3,
        )
    else:
        compat.clear_kernel_cache()


def _config(threads: int) -> bytes:
    """Of the sessions that keep TensorFlow's kernels. The first one in a process decides about its threads."""
    config = tf.compat.v1.ConfigProto(device_count={"GPU": 0}, intra_op_parallelism_threads=threads)
    config.inter_op_parallelism_threads = -1  # in the thread that calls: none waits for another
    config.graph_options.optimizer_options.opt_level = -1
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    return bytes(config.SerializeToString())


def installed() -> dict[str, int]:
    """How many calls of each of TensorFlow's ops gradbag's kernels have answered; empty if they are not installed."""
    return {} if native is None else dict(native.tensorflow.calls())


@contextmanager
def stock() -> Iterator[None]:
    """Run TensorFlow's own kernels inside the `with` statement, in all threads."""
    change: Any = (lambda by: None) if native is None else native.tensorflow.change_stock
    change(1)
    try:
        yield
    finally:
        change(-1)
