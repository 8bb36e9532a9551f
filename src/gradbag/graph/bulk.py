"""Making many objects at once."""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable
from typing import ParamSpec, TypeVar

Given = ParamSpec("Given")
Made = TypeVar("Made")


def in_bulk(function: Callable[Given, Made]) -> Callable[Given, Made]:
    """Without Python's collector of cycles: what the function makes stays, and would be walked again and again."""

    @functools.wraps(function)
    def call(*args: Given.args, **kwargs: Given.kwargs) -> Made:
        if not gc.isenabled():
            return function(*args, **kwargs)
        gc.disable()
        try:
            return function(*args, **kwargs)
        finally:
            gc.enable()

    return call
