"""The memory of a tensor as a NumPy array and back: the same bytes, never a copy."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ... import dtypes, errors
from ...row_grad import RowGrad
from ...spec import Arg, Op

Array = np.ndarray[Any, Any]
NAMES = {getattr(torch, n): n for n in (*dtypes.NUMBER, "bool")}
DTYPES = {name: dtype for dtype, name in NAMES.items()}
_BFLOAT16 = dtypes.numpy_dtype("bfloat16")
_BITS = np.dtype(np.int16)  # NumPy and PyTorch have no bfloat16 in common, so its bits travel


class NotOnCPUError(Exception):
    """The memory of a tensor is out of reach; the dispatcher knows who answers for it."""


def name_of(tensor: torch.Tensor) -> str:
    """The name of a tensor's dtype; one that no op takes is called by PyTorch's own name."""
    return NAMES.get(tensor.dtype) or str(tensor.dtype).removeprefix("torch.")


def to_array(op: Op, arg: Arg, tensor: torch.Tensor) -> Array:
    """What is not as simple as `tensor.numpy()`: other dtypes, and views that negate or conjugate."""
    if not tensor.is_cpu:
        raise NotOnCPUError
    if tensor.dtype not in NAMES:
        raise errors.wrong_type(op.name, arg.name, op.allowed(arg), name_of(tensor))
    if tensor.layout is not torch.strided:
        raise not_dense(op, arg, tensor)
    tensor = tensor.detach()
    if tensor.dtype is torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(_BFLOAT16)  # type: ignore[no-any-return]
    return tensor.resolve_conj().resolve_neg().numpy()  # type: ignore[no-any-return]


def not_dense(op: Op, arg: Arg, tensor: torch.Tensor) -> errors.UnsupportedTypeError:
    kind = "nested" if tensor.is_nested else str(tensor.layout).removeprefix("torch.")
    return errors.wrong_type(op.name, arg.name, ["a dense tensor on the CPU"], f"a {kind} one on {tensor.device}")


def to_tensor(array: Array) -> torch.Tensor:
    if array.dtype == _BFLOAT16:
        return torch.from_numpy(array.view(_BITS)).view(torch.bfloat16)
    return torch.from_numpy(array)


def from_row_grad(gradient: RowGrad) -> torch.Tensor:
    return sparse_rows(torch.as_tensor(gradient.indices), torch.as_tensor(gradient.rows), gradient.shape)


def sparse_rows(places: torch.Tensor, rows: torch.Tensor, shape: Any) -> torch.Tensor:
    """Rows of a tensor that is zero elsewhere, as PyTorch's own sparse gradients are."""
    where = places.unsqueeze(0) if places.dtype is torch.int64 else places.long().unsqueeze(0)
    return torch.sparse_coo_tensor(where, rows, shape, is_coalesced=True, check_invariants=False)
