"""Who sees what a model does: found by the framework that the model is of, which its user has imported."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

_MODULES = {"torch": "torch.capturing", "keras": "adapters.tensorflow.capturing", "jax": "adapters.jax.capturing"}
_MODULES["jaxlib"] = _MODULES["jax"]


def watching_of(model: Any) -> Any:
    """What begins and ends to record a model; None where no framework stands behind it."""
    for part in _parts(model):
        for base in type(part).__mro__:
            module = _MODULES.get(base.__module__.partition(".")[0])
            if module is not None:
                return import_module(f"gradbag.{module}").Watching(model)
    return None


def _parts(model: Any) -> Iterator[Any]:
    """A model itself, or the leaves of a tree."""
    if isinstance(model, Mapping):
        model = list(model.values())
    if isinstance(model, (list, tuple)):
        for part in model:
            yield from _parts(part)
    else:
        yield model
