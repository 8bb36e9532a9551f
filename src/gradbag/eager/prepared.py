"""What the interpreter of arrays has prepared for an op: a call of ten ids costs little more than its kernel."""

from __future__ import annotations

import atexit
from inspect import signature
from typing import Any

from ..spec import Op

_MOST = 1024  # dtypes, ranks and shapes are few, but a caller may come with ever new ones
_prepared: dict[Op, Prepared] = {}


class Prepared:
    """Routes by dtypes and ranks, outlines by dtypes and shapes, and shortcuts by settings, once there are some."""

    __slots__ = ("compiled", "outlines", "routes", "settings", "shortcuts", "typed", "usual", "usual_key")

    def __init__(self, op: Op) -> None:
        self.routes: dict[tuple[Any, ...], Any] = {}
        self.outlines: dict[tuple[Any, ...], Any] = {}
        self.shortcuts: dict[tuple[Any, ...], Any] = {}
        self.compiled: dict[tuple[Any, ...], Any] = {}  # what a rule may call, by dtypes
        self.typed = tuple(name for name in op.attr_defaults if name in op.types)  # attributes that are dtypes
        self.settings = () if op.kernel is None else _deciding(op, op.kernel.settings)
        # The shortcuts of calls that leave all settings at their defaults: most calls, and nothing need be looked up.
        self.usual: Any = None
        self.usual_key = self.key(op.attr_defaults)

    def key(self, attrs: dict[str, Any]) -> tuple[Any, ...]:
        """What a call decides beside its arrays: the settings of the kernel and those that a rule wants to see."""
        return tuple([attrs[name] for name in self.settings])

    def keep(self, kept: dict[tuple[Any, ...], Any], key: tuple[Any, ...], value: Any) -> None:
        if len(kept) >= _MOST:
            kept.clear()
            if kept is self.routes:  # a route knows which shortcuts there are
                self.forget_shortcuts()
        kept[key] = value

    def keep_shortcuts(self, key: tuple[Any, ...], shortcuts: Any) -> None:
        self.shortcuts[key] = shortcuts
        if key == self.usual_key:
            self.usual = shortcuts

    def forget_shortcuts(self) -> None:
        self.shortcuts.clear()
        self.usual = None


def _deciding(op: Op, settings: tuple[str, ...]) -> tuple[str, ...]:
    rules = [rule for rule in (op.check_rule, op.size_rule, op.shape_rule) if rule is not None]
    named = {name for rule in rules for name in signature(rule).parameters}
    return tuple(name for name in op.attr_defaults if name in settings or name in named)


def of(op: Op) -> Prepared:
    found = _prepared.get(op)
    if found is None:
        found = _prepared.setdefault(op, Prepared(op))
    return found


@atexit.register
def _forget() -> None:
    """Something may keep an op beyond the end of the interpreter, and nanobind would then complain of a leak."""
    for prepared in _prepared.values():
        prepared.forget_shortcuts()
