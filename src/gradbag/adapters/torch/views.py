"""The memory of a tensor as a NumPy array and back: the same bytes, never a copy."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ... import dtypes, errors
from ...spec import Op

Array = np.ndarray[Any, Any]
NAMES = {getattr(torch, n): n for n in (*dtypes.NUMBER, "bool")}
DTYPES = {name: dtype for dtype, name in NAMES.items()}
_BFLOAT16 = dtypes.numpy_dtype("bfloat16")
_BITS = np.dtype(np.int16)  # NumPy and PyTorch have no bfloat16 in common, so its bits travel


def name_of(tensor: torch.Tensor) -> str:
    """The name of a tensor's dtype; one that no op takes is called by PyTorch's own name."""
    return NAMES.get(tensor.dtype) or str(tensor.dtype).removeprefix("torch.")


def to_array(op: Op, place: int, tensor: torch.Tensor) -> Array:
    try:
        return tensor.numpy()  # type: ignore[no-any-return]
    except (RuntimeError, TypeError):
        pass
    tensor = tensor.detach()
    if tensor.dtype is torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(_BFLOAT16)  # type: ignore[no-any-return]
    if tensor.dtype not in NAMES:
        arg = op.inputs[place]
        raise errors.wrong_type(op.name, arg.name, op.allowed(arg), name_of(tensor))
    return tensor.resolve_conj().resolve_neg().numpy()  # type: ignore[no-any-return]


def to_tensor(array: Array) -> torch.Tensor:
    if array.dtype == _BFLOAT16:
        return torch.from_numpy(array.view(_BITS)).view(torch.bfloat16)
    return torch.from_numpy(array)
