"""Optimizers for parameters with sparse gradients, as `torch.optim` has them: `gradbag.torch.optim`.

    >>> import torch
    >>> import gradbag.torch
    >>> table = torch.nn.Embedding(1000, 2, sparse=True)
    >>> optimizer = gradbag.torch.optim.RowAdagrad(table.parameters(), lr=0.05)
    >>> table(torch.tensor([7, 3, 7])).sum().backward()
    >>> optimizer.step()
    >>> optimizer.state[table.weight]["accumulator"][[3, 4, 7]]
    tensor([1., 0., 4.])

Each takes the settings of its namesake in `gradbag.optim`, by name, in groups of parameters too. Tables are changed in
their own memory. A gradient that is not sparse touches every row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import torch

from ... import errors, optim
from ...optim import arrays
from ...optim.entries import Entries
from ...optim.optimizer import Optimizer
from ...spec import registry
from . import views


# ------------------------------------------------------------------ steps on tensors
def counter() -> int:
    return 0


def full(table: torch.Tensor, per_row: bool, value: float, dtype: str | None = None) -> torch.Tensor:
    shape = table.shape[:1] if per_row else table.shape
    return torch.full(shape, value, dtype=views.DTYPES[dtype] if dtype else table.dtype, device=table.device)


def run(optimizer: Optimizer, table: torch.Tensor, state: dict[str, Any], entries: Entries) -> None:
    seen = _seen(entries.op, state)
    inputs = {name: _array(entries.op, name, value) for name, value in entries.inputs.items()}
    rows = inputs["indices" if "indices" in inputs else "ids"]
    arrays.run(optimizer, _array(entries.op, "table", table), seen, entries._replace(inputs=inputs, rows=rows))
    _told(table, state, seen)


def run_many(optimizer: Optimizer, tables: Any, states: Any, entries: Entries) -> None:
    seen = [_seen(entries.op, state) for state in states]
    inputs = {name: _array(entries.op, name, value) for name, value in entries.inputs.items()}
    memory = [_array(entries.op, "tables", table) for table in tables]
    arrays.run_many(optimizer, memory, seen, entries._replace(inputs=inputs, rows=inputs["ids"]))
    for table, state, new in zip(tables, states, seen, strict=True):
        _told(table, state, new)


def catch_up(optimizer: Optimizer, table: torch.Tensor, state: dict[str, Any], rows: Any, step: int) -> None:
    seen = _seen("RowDecay", state)
    arrays.catch_up(optimizer, _array("RowDecay", "table", table), seen, _array("RowDecay", "indices", rows), step)
    _told(table, state, seen)


def _seen(op: str, state: dict[str, Any]) -> dict[str, Any]:
    return {name: _array(op, name, value) for name, value in state.items()}


def _array(op: str, name: str, value: Any) -> Any:
    """The memory of a tensor."""
    if not isinstance(value, torch.Tensor):
        return value
    declared = registry[op]
    arg = next((arg for arg in declared.inputs if arg.name == name), declared.inputs[0])
    try:
        return views.to_array(declared, arg, value)
    except views.NotOnCPUError:
        raise views.not_dense(declared, arg, value) from None


def _told(table: torch.Tensor, state: dict[str, Any], seen: dict[str, Any]) -> None:
    """Tell PyTorch what has changed."""
    state["step"] = seen["step"]
    for value in (table, *state.values()):
        if isinstance(value, torch.Tensor):
            torch.autograd.graph.increment_version(value)


# ------------------------------------------------------------------ as torch.optim has them
class RowOptimizer(torch.optim.Optimizer):  # type: ignore[misc]
    """An optimizer of PyTorch that moves the rows of its parameters as one of `gradbag.optim` does."""

    kind: type[Optimizer]

    def __init__(self, params: Any, lr: Any = None, **settings: Any) -> None:
        known = {field.name for field in fields(self.kind)}
        if unknown := sorted(set(settings) - known):
            raise TypeError(f"{self.kind.__name__} got an unexpected argument {unknown[0]!r}")
        if lr is None:
            raise TypeError(f"{self.kind.__name__} misses the required argument 'lr'")
        chosen = self.kind(_number(lr), **settings)
        super().__init__(params, {field.name: getattr(chosen, field.name) for field in fields(chosen)})

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Make a step on every parameter that has a gradient; `closure` computes the loss anew and gives it."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            settings = {field.name: group[field.name] for field in fields(self.kind)}
            optimizer = self.kind(**{**settings, "lr": _number(settings["lr"])})
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._move(optimizer, parameter)
        return loss

    def _move(self, optimizer: Optimizer, parameter: torch.Tensor) -> None:
        table, grad = parameter.detach(), parameter.grad
        assert grad is not None
        if not table.ndim:  # a single number is a table of one row
            table, grad = table.reshape(1), grad.reshape(1)
        if parameter not in self.state or not self.state[parameter]:
            self.state[parameter] = optimizer.init(table)
        if not grad.is_sparse:
            grad = (torch.arange(table.shape[0]), grad.detach())
        optimizer.apply(table, self.state[parameter], grad)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict(state_dict)
        for state in self.state.values():  # PyTorch gives every tensor of a state the dtype of its parameter
            if "last" in state:
                state["last"] = state["last"].to(torch.int64)


def _number(lr: Any) -> Any:
    """A learning rate may be a tensor, which schedulers then change in place."""
    if not isinstance(lr, torch.Tensor):
        return lr
    if lr.numel() != 1:
        raise errors.unfit("Optimizer", "lr", "a number or a tensor of one", f"{lr.numel()} numbers")
    return lr.item()


def _named(name: str, kind: type[Optimizer]) -> type[RowOptimizer]:
    doc = f"{kind.__doc__}\n\nTakes parameters and then the settings of `gradbag.optim.{name}`, by name."
    return type(name, (RowOptimizer,), {"kind": kind, "__doc__": doc, "__module__": __name__})


SGD, Adagrad, Adam = _named("SGD", optim.SGD), _named("Adagrad", optim.Adagrad), _named("Adam", optim.Adam)
AdamW, Ftrl, Momentum = _named("AdamW", optim.AdamW), _named("Ftrl", optim.Ftrl), _named("Momentum", optim.Momentum)
RMSProp, RowAdam = _named("RMSProp", optim.RMSProp), _named("RowAdam", optim.RowAdam)
RowAdagrad = RowWiseAdagrad = _named("RowAdagrad", optim.RowAdagrad)
