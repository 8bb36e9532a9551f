"""The namespace in which a gradient rule runs on tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ...gradients import Ops, Shaped
from ...spec import Op
from . import compat
from .views import sparse_rows


class TorchOps(Ops):
    """Ops on tensors; questions about indices are PyTorch's to answer."""

    def __init__(self, interpret: Callable[[Op, Sequence[Any], dict[str, Any]], Any]) -> None:
        self._interpret = interpret

    def call(self, op: Op, values: Sequence[Any], attrs: dict[str, Any]) -> Any:
        return self._interpret(op, values, attrs)

    def transposed(self, pull: Callable[..., list[Any]], outputs: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
        with torch.enable_grad(), compat.enable_inplace_requires_grad(True):
            moves = [y.dtype.is_floating_point or y.dtype.is_complex for y in outputs]
            leaves = [
                self.zeros_like(y).requires_grad_() if moving else None
                for y, moving in zip(outputs, moves, strict=True)
            ]
            pulled = [(p, t) for p, t in zip(pull(*leaves), tangents, strict=True) if p is not None and p.requires_grad]
            found = torch.autograd.grad(
                [p for p, _ in pulled],
                [leaf for leaf in leaves if leaf is not None],
                # A complex cotangent of PyTorch is the conjugate of ours.
                [t.conj() for _, t in pulled],
                create_graph=True,
                allow_unused=True,
            )
        moved = iter(found)
        each = [next(moved) if moving else None for moving in moves]
        return [self.zeros_like(y) if m is None else m.conj() for y, m in zip(outputs, each, strict=True)]

    def known_shape(self, value: Any) -> tuple[int, ...] | None:
        """Symbols become numbers, and other sizes are compiled anew; but not symbols of sizes that depend on data."""
        if any(type(size) is not int and compat.has_free_unbacked_symbols(size) for size in value.shape):
            return None
        return tuple(map(int, value.shape))

    def filler(self, shaped: Shaped) -> torch.Tensor:
        return torch.zeros((), dtype=shaped.dtype).expand(shaped.shape)

    def zeros_like(self, value: Any) -> torch.Tensor:
        return torch.zeros(value.shape, dtype=value.dtype)

    def range(self, count: Any) -> torch.Tensor:
        return torch.arange(count)

    def constant(self, array: Any) -> torch.Tensor:
        return torch.from_numpy(array)

    def ones(self, count: Any) -> torch.Tensor:
        return torch.ones(count, dtype=torch.int8)

    def take(self, values: torch.Tensor, places: Any) -> torch.Tensor:
        # Not the op: a tensor holds its axis, so the compiler would not know how many axes there are. And not
        # `values[places]`, which asks a tensor that is one place for its number.
        return torch.ops.aten.index(values, [torch.as_tensor(places)])

    def reshaped(self, value: torch.Tensor, sizes: Sequence[int]) -> torch.Tensor:
        return value.reshape(sizes)  # which the compiler would not know either, if a tensor held them

    def split(self, values: torch.Tensor, lengths: Any, count: int) -> list[torch.Tensor]:
        return list(values.split(lengths.tolist() if isinstance(lengths, torch.Tensor) else list(lengths)))

    def nonzero(self, marks: torch.Tensor) -> torch.Tensor:
        return torch.nonzero(marks).squeeze(1)

    def sorted_by(self, keys: torch.Tensor, values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        ascending, order = torch.sort(keys, stable=True)
        return ascending, values[order]

    def positions(self, values: torch.Tensor, among: torch.Tensor) -> torch.Tensor:
        return torch.searchsorted(among.contiguous(), values.contiguous())

    def sum_like(self, value: torch.Tensor, like: Any) -> torch.Tensor:
        return value.sum_to_size(like.shape)

    def row_grad(self, compact: Any, like: Any) -> torch.Tensor:
        """A sparse tensor; dense for the compiler and for `torch.func`, which know no sparse gradients."""
        rows, places = compact.output, compact.sorted_unique_indices
        if type(rows) is not torch.Tensor or compat._are_functorch_transforms_active():
            return rows.new_zeros(like.shape).index_copy(0, places.long(), rows)
        return sparse_rows(places, rows, like.shape)
