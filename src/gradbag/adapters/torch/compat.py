"""Every name of PyTorch that it does not promise to keep, and what breaks without it.

A test looks for each of them, so that a new version of PyTorch is judged here and not by users.
"""

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
)
from torch._C._autograd import _profiler_enabled

# A tape that begins inside `torch.func`: without it, forward mode there would be for linear ops alone.
from torch._functorch.eager_transforms import enable_inplace_requires_grad

# Recording inside `torch.func.grad`: without it those transforms would not see our steps.
from torch._functorch.utils import enable_single_level_autograd_function
from torch.autograd import forward_ad

# One level of functorch at a time: the dispatcher, not the function, goes from level to level.
from torch.autograd.function import _SingleLevelFunction

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
    "enable_inplace_requires_grad",
    "enable_single_level_autograd_function",
    "forward_mode_is_on",
    "is_known_equal",
    "is_undisturbed",
    "with_forward_mode",
]
