"""Who is measured: gradbag, TensorFlow, PyTorch and the machine itself, on equal terms.

Every peer has the inputs in tensors of its own before the clock starts, and allocates its results in every call.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

# Read when TensorFlow is imported.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import limit
import numpy as np
import workloads
from limit import on_lines
from measure import Call
from workloads import Bags, Inputs, Task

import gradbag
from gradbag.spec import registry

OWN, TENSORFLOW, LIMIT, NEIGHBOUR = "gradbag", "TensorFlow", "limit", "neighbour"
TORCH_FORWARD, TORCH_DENSE = "torch embedding_bag", "torch embedding_bag backward"
TORCH_INDEX_ADD, TORCH_SPARSE = "torch index_add_", "torch sparse=True, coalesce"
# A table below this size stays in a cache, where reading it is not what takes time.
CACHED = 2**24


class Wrong(Exception):
    """A result differs from TensorFlow's."""


# ------------------------------------------------------------------ set up
def set_threads(count: int) -> tuple[Any, Any]:
    """TensorFlow and PyTorch (or None, where not installed) and gradbag, on this many threads each."""
    if hasattr(gradbag, "set_num_threads"):
        gradbag.set_num_threads(count)  # an older gradbag has read GRADBAG_NUM_THREADS, which bench.py has set
    tf, torch = _import("tensorflow"), _import("torch")
    if tf:
        tf.config.threading.set_intra_op_parallelism_threads(count)
        tf.config.threading.set_inter_op_parallelism_threads(1)
    if torch:
        torch.set_num_threads(count)
    return tf, torch


def _import(name: str) -> Any:
    try:
        return __import__(name)
    except ModuleNotFoundError:
        return None


# ------------------------------------------------------------------ the calls of a task
def calls(task: Task, tf: Any, torch: Any) -> dict[str, Call]:
    """What to call for every peer, gradbag first; raises `Wrong` where results differ."""
    inputs = inputs_of(task)
    op = registry[task.op]
    given = {name: on_lines(inputs[name]) for name in op.input_names}
    made: dict[str, Call] = {OWN: functools.partial(getattr(gradbag.raw_ops, op.name), **given)}
    if tf and hasattr(tf.raw_ops, op.name):
        tensors = {name: tf.constant(array) for name, array in given.items()}
        made[TENSORFLOW] = functools.partial(getattr(tf.raw_ops, op.name), **tensors)
        check_bits(task, made[OWN](), made[TENSORFLOW]())
    if torch and task.threads > 1 and isinstance(task.workload, Bags) and task.neighbour is None:
        for name, call in torch_calls(task.kind, inputs, torch).items():
            if _answers(call) and does_the_same(made[OWN](), call()):
                made[name] = call
    if task.neighbour is not None:
        wider = inputs_of(Task(task.family, task.op, task.neighbour))
        named = {name: on_lines(wider[name]) for name in op.input_names}
        made[NEIGHBOUR] = functools.partial(getattr(gradbag.raw_ops, op.name), **named)
    bags = task.workload
    if bags is not None and not (isinstance(bags, Bags) and inputs["data"].nbytes < CACHED):
        made[LIMIT] = limit.call(task, inputs, made[OWN]())
    return made


def inputs_of(task: Task) -> Inputs:
    if isinstance(task.workload, Bags):
        return workloads.segments(task.workload)
    if task.workload is not None:
        return workloads.SPARSE_OPS[task.op](task.workload)
    return workloads.tiny(registry[task.op])


# ------------------------------------------------------------------ PyTorch
def torch_calls(kind: str, inputs: Inputs, torch: Any) -> dict[str, Call]:
    """The ways that PyTorch has for a segment op (of the mean)."""
    data, grad, indices, segment_ids, offsets = (
        _tensor(torch, inputs[name]) for name in ("data", "grad", "indices", "segment_ids", "offsets")
    )
    bag = torch.nn.functional.embedding_bag
    if kind == "forward":

        def forward() -> Any:
            with torch.inference_mode():
                return bag(indices, data, offsets, mode="mean")

        return {TORCH_FORWARD: forward}

    def backward(sparse: bool) -> Call:
        weight = data.clone().requires_grad_()
        output = bag(indices, weight, offsets, mode="mean", sparse=sparse)
        return lambda: torch.autograd.grad(output, weight, grad, retain_graph=True)[0]

    if kind == "compact":
        uncoalesced = _try(lambda: backward(sparse=True))
        return {TORCH_SPARSE: lambda: uncoalesced().coalesce()} if uncoalesced else {}

    sizes = torch.diff(offsets, append=torch.tensor([len(indices)], dtype=offsets.dtype)).unsqueeze(1)

    def index_add() -> Any:
        scaled = (grad / sizes).to(grad.dtype)
        return torch.zeros_like(data).index_add_(0, indices, scaled.index_select(0, segment_ids))

    dense = _try(lambda: backward(sparse=False))
    return {**({TORCH_DENSE: dense} if dense else {}), TORCH_INDEX_ADD: index_add}


def _tensor(torch: Any, array: Any) -> Any:
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).clone().view(torch.bfloat16)
    return torch.from_numpy(array).clone()


def _try(make: Callable[[], Any]) -> Any:
    """None for what PyTorch has no kernel for."""
    try:
        return make()
    except (RuntimeError, NotImplementedError):
        return None


def _answers(call: Call) -> bool:
    return _try(lambda: (call(),)) is not None


# ------------------------------------------------------------------ right, or it does not count
def check_bits(task: Task, ours: Any, theirs: Any) -> None:
    """TensorFlow's bits; only the sum for the default value is promised to be nearer the truth instead."""
    op = registry[task.op]
    pairs = zip(op.outputs, *((r if op.result is not None else [r]) for r in (ours, theirs)), strict=True)
    for arg, one, other in pairs:
        one, other = np.asarray(one), other.numpy()
        if arg.name == "d_default_value":
            same = np.allclose(one, other, rtol=0.05, atol=1.0)
        elif one.shape != other.shape or one.dtype != other.dtype:
            same = False
        else:
            same = (
                one.tobytes() == other.tobytes() if one.dtype.kind == "O" else np.array_equal(_bits(one), _bits(other))
            )
        if not same:
            raise Wrong(f"{arg.name} differs from TensorFlow's")


def does_the_same(ours: Any, theirs: Any) -> bool:
    """PyTorch sums in another order, and half and bfloat16 without wider sums, but it must do the same work."""
    if getattr(theirs, "is_sparse", False):
        if not np.array_equal(theirs.indices()[0].numpy(), ours[1]):
            return False
        ours, theirs = ours[0], theirs.values()
    exact = np.asarray(ours)
    tolerance, enough = {2: (0.1, 0.9), 4: (1e-3, 1.0), 8: (1e-9, 1.0)}[exact.dtype.itemsize]
    step = max(len(exact) // 10_000, 1)  # a sample of the rows is enough to see it
    near = np.isclose(exact[::step].astype(float), theirs[::step].double().numpy(), rtol=tolerance, atol=tolerance)
    return bool(near.mean() >= enough)


def _bits(array: Any) -> Any:
    array = np.ascontiguousarray(array)
    return array.reshape(-1).view(f"u{array.dtype.itemsize}") if array.dtype.itemsize in (1, 2, 4, 8) else array
