"""PyTorch's own `EmbeddingBag`, answered by gradbag's kernels, in programs that are not edited."""

from __future__ import annotations

import threading
import warnings
from itertools import product
from types import TracebackType
from typing import Any

import torch

from .. import errors
from ..dtypes import FLOAT, INDEX
from ..eager.program import Program, native
from ..spec import registry

__all__ = ["patch", "patched"]

# What PyTorch's operators are answered with: the look-up, its dense and its sparse gradient.
OPS = ("EmbeddingBag", "EmbeddingBagDenseGrad", "EmbeddingBagGrad")

_lock = threading.Lock()
_patches = 0


class _Patch:
    """Takes gradbag's kernels out again, once."""

    def __init__(self) -> None:
        self._is_on = True

    def __enter__(self) -> _Patch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.undo()

    def undo(self) -> None:
        """Let PyTorch's kernels answer again, unless another patch still stands."""
        global _patches
        with _lock:
            if self._is_on:
                self._is_on = False
                _patches -= 1
                if _patches == 0:
                    native.restore_torch_bags()


def patch() -> _Patch:
    """Let gradbag's kernels answer for every `torch.nn.EmbeddingBag` and `torch.nn.functional.embedding_bag`.

    It holds for the process, from now on; inside a `with` statement, or until `undo()`, for that long. Layers, their
    parameters, saved models and optimizers stay PyTorch's, and what stands on its bags, such as TorchRec's collections
    on processors, gains with them.

        >>> import torch
        >>> import gradbag.torch
        >>> bag = torch.nn.EmbeddingBag(1000, 16, mode="sum", sparse=True)
        >>> with gradbag.torch.patch():
        ...     bag(torch.tensor([3, 17, 3, 900]), torch.tensor([0, 3])).sum().backward()
        >>> bag.weight.grad._nnz(), gradbag.torch.patched()["_embedding_bag_backward"]
        (3, 1)

    Sums and means are answered, with weights or without. PyTorch's own kernels still answer for the largest of a bag,
    `padding_idx` and `scale_grad_by_freq`. A sparse gradient has every row once.
    """
    global _patches
    if native is None:
        raise errors.unfit("patch", "gradbag", "compiled, since PyTorch calls its kernels", "without kernels")
    with _lock:
        if _patches == 0:
            _be_warned()
            try:
                native.replace_torch_bags(_kernels())
            except RuntimeError as problem:
                raise errors.unfit("patch", "PyTorch", "2.13 or newer", str(problem)) from None
        _patches += 1
    return _Patch()


def patched() -> dict[str, int]:
    """How many calls of each of PyTorch's operators gradbag's kernels have answered in this process."""
    calls: dict[str, tuple[int, int]] = {} if native is None else native.torch_bag_calls()
    return {name: answered for name, (answered, _) in calls.items()}


def _be_warned() -> None:
    """Hear, in silence, PyTorch's only warning that kernels are replaced: from C++ it would go to the terminal."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        library = torch.library.Library("aten", "IMPL")
        try:
            library.impl("_embedding_bag_backward", _never_called, "CPU")
        finally:
            library._destroy()


def _never_called(*_: Any) -> Any:
    raise AssertionError


def _kernels() -> list[list[str]]:
    """For each type of rows and of ids: their names, and those of the kernels."""
    found = []
    for dtype, index in product(FLOAT, INDEX):
        pooled, dense, compact = (_program(name, {"T": dtype, "Tidx": index, "Toffsets": index}) for name in OPS)
        found.append([dtype, index, pooled.fill_name, dense.fill_name, compact.plan_name, compact.fill_name])
    return found


def _program(name: str, bound: dict[str, str]) -> Any:
    op = registry[name]
    return Program(op, [bound.get(arg.dtype, arg.dtype) for arg in op.inputs], native)
