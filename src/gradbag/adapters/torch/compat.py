"""Every name of PyTorch that it does not promise to keep, and what breaks without it.

A test looks for each of them, so that a new version of PyTorch is judged here and not by users.
"""

from typing import Any

import torch
from torch._C import (
    # Going on below the tape after recording a call: without them no op could be recorded at all.
    _after_autograd_keyset,
    # Whether some tensor asks to be recorded; without it the tensors would be asked one by one, in Python.
    _any_requires_grad,
    # Whether `torch.func` transforms are at work; without it sparse gradients would reach them, which know none.
    _are_functorch_transforms_active,
    _AutoDispatchBelowAutograd,
    # What the dispatcher would do with a call; without these three every call would go by way of it: 20 microseconds.
    _dispatch_tls_local_include_set,
    _len_torch_function_stack,
    # Whether a gradient will be added to its leaf, or is asked for by `torch.autograd.grad`; without it a large sparse
    # gradient would be copied.
    _will_engine_execute_node,
)
from torch._C._autograd import _profiler_enabled

# A tape that begins inside `torch.func`: without it, forward mode there would be for linear ops alone.
from torch._functorch.eager_transforms import enable_inplace_requires_grad

# Recording inside `torch.func.grad`: without it those transforms would not see our steps.
from torch._functorch.utils import enable_single_level_autograd_function
from torch.autograd import forward_ad

# One level of functorch at a time: the dispatcher, not the function, goes from level to level.
from torch.autograd.function import _SingleLevelFunction

# Which sizes depend on data: without it, gradients of tables of such sizes could not be compiled.
from torch.fx.experimental.symbolic_shapes import has_free_unbacked_symbols

USUAL_KEYS = _dispatch_tls_local_include_set()  # without modes, transformations and tracers


def is_undisturbed() -> bool:
    """Whether nobody wants to hear of a call: no mode, no transformation, no tracer, no profiler."""
    return (
        _dispatch_tls_local_include_set() == USUAL_KEYS and not _len_torch_function_stack() and not _profiler_enabled()
    )


def forward_mode_is_on() -> bool:
    """Whether tangents may go with tensors; `torch.autograd.forward_ad` has no public way to ask."""
    return bool(forward_ad._current_level >= 0)


def with_forward_mode() -> object:
    """Lets an outer transformation see tangents below; `torch.autograd.forward_ad` has no public name for it."""
    return forward_ad._set_fwd_grad_enabled(True)


def leaf_of(step: object, edge: int) -> torch.Tensor | None:
    """The leaf to which this gradient of a step that runs will be added; nodes have it by an undocumented name."""
    node = step.next_functions[edge][0]  # type: ignore[attr-defined]
    leaf = getattr(node, "variable", None)
    try:
        return leaf if leaf is not None and _will_engine_execute_node(node) else None
    except RuntimeError:  # somebody has asked for it by `torch.autograd.grad`
        return None


def has_parts_of(gradient: torch.Tensor, address: int, count: int) -> bool:
    """Whether the values of a sparse tensor are these; `values` would want it to be known as coalesced."""
    return bool(gradient.is_sparse and gradient._nnz() == count and gradient._values().data_ptr() == address)


def call_coalesced(sparse: torch.Tensor) -> None:
    """Say that a sparse tensor has every place once; there is no public way but to sort it."""
    sparse._coalesced_(True)


def is_known_equal(one: object, other: object, message: object) -> None:
    """Tells the compiler what must be equal; the public `torch._check` has a private name."""
    torch._check(one == other, message)


__all__ = [
    "USUAL_KEYS",
    "_AutoDispatchBelowAutograd",
    "_SingleLevelFunction",
    "_after_autograd_keyset",
    "_any_requires_grad",
    "_are_functorch_transforms_active",
    "call_coalesced",
    "enable_inplace_requires_grad",
    "enable_single_level_autograd_function",
    "forward_mode_is_on",
    "has_free_unbacked_symbols",
    "has_parts_of",
    "is_known_equal",
    "is_undisturbed",
    "leaf_of",
    "with_forward_mode",
]


def parts_of_tensors() -> Any:
    """Parts of a tensor that ranks hold: without them, `torch.distributed.checkpoint` would take no rows of a rank."""
    from torch.distributed._shard import sharded_tensor

    return sharded_tensor
