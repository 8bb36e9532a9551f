"""Settings of tables in files: an optimizer as its name and its numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from .. import errors, optim

FUNCTION = "a function"  # in the place of a learning rate or a beginning that only a program can tell


def check_optimizer(function: str, optimizer: Any) -> None:
    if optimizer is not None and not isinstance(optimizer, optim.Optimizer):
        raise errors.wrong_type(function, "optimizer", ["one of gradbag.optim, or None"], type(optimizer).__name__)


def described(optimizer: optim.Optimizer | None) -> dict[str, Any] | None:
    """An optimizer in words of JSON."""
    if optimizer is None:
        return None
    settings = {field.name: _plain(getattr(optimizer, field.name)) for field in fields(optimizer)}
    return {"name": type(optimizer).__name__, "settings": settings}


def _plain(value: Any) -> Any:
    if callable(value):
        return FUNCTION
    return value.item() if isinstance(value, np.generic) else value


def restored(function: str, description: Any, given: Any) -> optim.Optimizer | None:
    """The optimizer of a file, or the one given in its place."""
    check_optimizer(function, given)
    if given is not None or description is None:
        return given  # type: ignore[no-any-return]
    if not isinstance(description, Mapping) or not isinstance(description.get("settings"), Mapping):
        raise errors.InvalidArgumentError(f"{function}: the file says nothing that can be read about its optimizer")
    name, settings = description.get("name"), description["settings"]
    kind = getattr(optim, name, None) if isinstance(name, str) and name in optim.__all__ else None
    if kind is None:
        raise errors.unfit(function, "optimizer", "given, as the file has one that gradbag.optim has not", repr(name))
    if FUNCTION in settings.values():
        wanted = f"given again ({name}), as a function is part of it"
        raise errors.unfit(function, "optimizer", wanted, "None")
    try:
        optimizer: optim.Optimizer = kind(**settings)
    except TypeError as problem:
        raise errors.InvalidArgumentError(
            f"{function}: the optimizer of the file is not known here: {problem}"
        ) from None
    return optimizer
