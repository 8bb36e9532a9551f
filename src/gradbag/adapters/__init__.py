"""Bridges to other libraries; each file is the only one that imports its library.

The adapter of a framework has two functions: `takes(kind)` says whether values of a type are its tensors, and
`interpret(op, values, attrs)` answers a raw op that was given one.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

# The adapter for the types of a package. A type only comes to us from a framework that the caller has imported.
_ADAPTERS = {"torch": "torch", "jax": "jax", "jaxlib": "jax", "tensorflow": "tensorflow"}


def interpreter_of(kind: type) -> Callable[..., Any] | None:
    """How to answer a raw op that was given a value of a type; None where no framework stands behind it."""
    adapter = adapter_of(kind)
    return None if adapter is None else adapter.interpret


def adapter_of(kind: type) -> Any:
    """The adapter whose tensors are of a type; None where no framework stands behind it."""
    for base in kind.__mro__:
        name = _ADAPTERS.get(base.__module__.partition(".")[0])
        if name is not None and find_spec(f"{__name__}.{name}") is not None:
            adapter = import_module(f"{__name__}.{name}")
            return adapter if adapter.takes(kind) else None
    return None


def trace_for_torch(op: Any, given: dict[str, Any]) -> Any:
    """What PyTorch's compiler reads in place of a raw op, perhaps before any tensor has come to us."""
    from .torch import trace

    return trace(op, given)


def sparse_of_torch(value: Any) -> Any:
    """How to take apart and make sparse tensors of PyTorch, if the value is one; else None."""
    if type(value).__module__.partition(".")[0] != "torch":
        return None
    from .torch import sparse

    return sparse if sparse.is_sparse(value) else None
