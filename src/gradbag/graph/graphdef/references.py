"""What a node reads, as GraphDef writes it: `name`, `name:port` or `^name`; inside a function `name:output:index`."""

from __future__ import annotations

from collections.abc import Sequence

from ... import errors

Reference = tuple[str, int]  # the name of a node, and which of its outputs


def split(inputs: Sequence[str]) -> tuple[list[str], list[str]]:
    """The inputs that carry values, and the nodes that must run before, which stand last."""
    values: list[str] = []
    control: list[str] = []
    for text in inputs:
        if text.startswith("^"):
            control.append(text[1:])
        elif control:
            raise errors.InvalidArgumentError(f"the input {errors.shown(text)!r} stands after a control input")
        else:
            values.append(text)
    return values, control


def parse(text: str) -> Reference:
    """`name` or `name:port` of a graph."""
    name, colon, port = text.partition(":")
    return name, parse_port(text, port) if colon else 0


def parse_port(text: str, port: str) -> int:
    """Plain decimal digits, few enough for any machine's int: other spellings of a number are refused, not guessed."""
    if not (port.isascii() and port.isdecimal() and len(port) <= 9) or (len(port) > 1 and port[0] == "0"):
        raise errors.InvalidArgumentError(f"the input {text[:80]!r} is no name:port")
    return int(port)
