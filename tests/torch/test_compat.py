"""The names of PyTorch that may go away are all in one file, and are there."""

import torch
from torch.autograd import forward_ad

from gradbag.adapters.torch import compat


def test_the_names_are_there() -> None:
    for name in compat.__all__:
        assert getattr(compat, name) is not None
    assert callable(forward_ad._set_fwd_grad_enabled)
    assert callable(torch._check)


def test_forward_mode_is_noticed() -> None:
    assert not compat.forward_mode_is_on()
    with forward_ad.dual_level():
        assert compat.forward_mode_is_on()


def test_a_mode_and_a_profiler_disturb() -> None:
    assert compat.is_undisturbed()
    with torch.utils._python_dispatch.TorchDispatchMode():
        assert not compat.is_undisturbed()
    with torch.overrides.TorchFunctionMode():
        assert not compat.is_undisturbed()
    with torch.autograd.profiler.profile():
        assert not compat.is_undisturbed()
