"""What gradbag raises, and the one place where messages are put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeVar

__all__ = ["CancelledError", "Error", "InvalidArgumentError", "ResourceExhaustedError", "UnsupportedTypeError"]

Problem = TypeVar("Problem", bound="Error")


class Error(Exception):
    """Every exception that gradbag raises on purpose; it knows what it is about, where that is known."""

    node: str = ""  # of a graph
    argument: str = ""


# TensorFlow makes an error anew, to tell where in a tf.function it arose, if the constructor is this one.
Error.__init__ = Exception.__init__  # type: ignore[method-assign]


class InvalidArgumentError(Error, ValueError):
    """An argument has a shape or a value that the op does not take."""


class UnsupportedTypeError(Error, TypeError):
    """An argument has a dtype that the op does not take; nothing is ever cast silently."""


class ResourceExhaustedError(Error, MemoryError):
    """A result would need more memory than there is; decided before anything is allocated."""


class CancelledError(Error):
    """A run was told to stop; nothing has changed."""


Kind = Literal["range", "negative", "order", "unmatched", "homeless", "rule", "shape"]


class Fault(Exception):
    """A bad value in an argument, found by a kernel or a reference body that does not know its op's name.

    `position` is where the value stands in the argument (empty for a scalar), `low` and `high` the allowed
    half-open range; for kind "order", `low` is the value before; for kinds "rule" and "shape", `hint` is the rest of
    the sentence, and of a "shape" the value is the shape.
    """

    def __init__(
        self,
        kind: Kind,
        argument: str,
        position: Sequence[int] = (),
        value: object = None,
        low: int = 0,
        high: int = 0,
        hint: str = "",
    ) -> None:
        super().__init__(kind, argument, tuple(position), value)
        self.kind, self.argument, self.position = kind, argument, tuple(int(p) for p in position)
        self.value, self.low, self.high, self.hint = value, low, high, hint

    def sentence(self) -> str:
        place = self.argument
        if self.position:
            place += "[" + ", ".join(map(str, self.position)) + "]"
        match self.kind:
            case "range":
                text = f"{place} == {shown(self.value)} out of range [{self.low}, {self.high})"
            case "negative":
                text = f"{place} == {shown(self.value)} must not be negative"
            case "order":
                text = f"{place} == {shown(self.value)} follows {self.low}, but ids must not decrease"
            case "unmatched":
                text = f"{place} is not found, in this order, among the rows it should come from"
            case "homeless":
                text = f"{place} belongs to no bag: offsets are empty"
            case "rule":
                return f"{place} == {shown(self.value)} {self.hint}"
            case "shape":
                sizes = self.value if isinstance(self.value, Sequence) else ()
                return f"{place} has shape {shown(['?' if n is None else n for n in sizes])}, which {self.hint}"
        return f"{text}; {self.hint}" if self.hint else text


def invalid(op: str, fault: Fault) -> InvalidArgumentError:
    return about(fault.argument, InvalidArgumentError(f"{op}: {fault.sentence()}"))


def about(argument: str, problem: Problem) -> Problem:
    """The error, knowing its argument."""
    problem.argument = argument
    return problem


def at_node(problem: Problem, node: str) -> Problem:
    """The same error, naming the node of a graph at which it arose."""
    told = about(problem.argument, type(problem)(f"node {node!r}: {problem}"))
    told.node = node
    return told


def changed(op: str) -> InvalidArgumentError:
    return InvalidArgumentError(f"{op}: an argument was changed, by another thread, during the call")


def wrong_type(op: str, argument: str, wanted: Sequence[str], got: str, why: str = "") -> UnsupportedTypeError:
    """`wanted` are dtype names; `why` tells where a requirement comes from, if not from the op alone."""
    one_of = wanted[0] if len(wanted) == 1 else "one of " + ", ".join(wanted)
    problem = UnsupportedTypeError(f"{op}: {argument} must be {one_of}{why and ' ' + why}; got {got}")
    return about(argument, problem)


def wrong_shape(op: str, argument: str, wanted: str, known: str, got: Sequence[int | None]) -> InvalidArgumentError:
    shape = shown(["?" if n is None else n for n in got])
    text = f"{op}: {argument} must have shape [{wanted}]{known and ' with ' + known}; got {shape}"
    return about(argument, InvalidArgumentError(text))


def unfit(op: str, argument: str, wanted: str, got: str) -> InvalidArgumentError:
    """An argument that is right in dtype and shape, but not in what `wanted` says."""
    return about(argument, InvalidArgumentError(f"{op}: {argument} must be {wanted}; got {got}"))


def check_natural(function: str, name: str, value: object, wanted: str = "an int", least: int = 0) -> None:
    """Refuse a setting that is no whole number, or a smaller one than `least`."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise wrong_type(function, name, [wanted], type(value).__name__)
    if value < least:
        allowed = f"be at least {least}" if least else "not be negative"
        raise InvalidArgumentError(f"{function}: {name} == {shown(value)} must {allowed}")


def too_large(op: str, what: str, shape: Sequence[int], needed: int, limit: int) -> ResourceExhaustedError:
    """`what` tells the largest array and which argument asks for it."""
    return ResourceExhaustedError(
        f"{op}: {what} of shape {shown(shape)}; the call needs {in_bytes(needed)}, "
        f"but only {in_bytes(limit)} may be used (gradbag.set_memory_limit)"
    )


def shown(value: object) -> str:
    """A value in a message: never longer than a line, however large it is."""
    if isinstance(value, int) and value.bit_length() > 128:
        return f"{'-' if value < 0 else ''}2**{value.bit_length() - 1} or more"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join([*map(str, value[:8]), *(["..."] if len(value) > 8 else [])]) + "]"
    return str(value)


def in_bytes(count: int) -> str:
    """A size for people: 1536 is '1.5 KiB'."""
    size = float(count)
    for unit in ("bytes", "KiB", "MiB", "GiB", "TiB"):
        if size < 1024 or unit == "TiB":
            return f"{count} bytes" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1024
    raise AssertionError("unreachable")
