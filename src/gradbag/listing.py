"""Lists of inputs and of outputs: everywhere inside, the members of lists stand side by side with the other values.

A call has one flat list of inputs and one of outputs. What a caller sees is grouped: a list is a list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any

from . import errors
from .dims import MEMBER

if TYPE_CHECKING:
    from .spec import Arg

MOST_OUTPUTS = 1 << 20  # of one call: an attribute of a file may be any number


class Lists:
    """What an op says about lists. Several outputs are a named tuple, `result`."""

    name: str
    inputs: tuple[Arg, ...]
    outputs: tuple[Arg, ...]
    input_names: tuple[str, ...]
    lists: tuple[int, ...]  # the places of the inputs that are lists
    output_lists: tuple[int, ...]
    updates: bool
    result: Any

    # ------------------------------------------------------------------ inputs
    def flat_inputs(self, count: int) -> tuple[Arg, ...]:
        """The declared input of each of `count` arrays: lists of inputs take as many as the others leave."""
        if not self.lists:
            return self.inputs
        length = self.list_length(count)
        return tuple(a for arg in self.inputs for a in (_members(arg, length) if arg.many else (arg,)))

    def declared_inputs(self, count: int) -> tuple[Arg, ...]:
        """The same where words of shapes do not matter: every member of a list is the list as it is declared."""
        return _declared(self.inputs, self.list_length(count)) if self.lists else self.inputs

    def takes(self, count: int) -> bool:
        """Whether a call can have so many arrays, optional ones that are left out among them."""
        rest = count - len(self.inputs) + len(self.lists)
        return rest >= 0 and (rest % len(self.lists) == 0 if self.lists else rest == 0)

    def list_length(self, count: int) -> int:
        """How long each list of inputs is in a call of `count` arrays."""
        return (count - len(self.inputs)) // len(self.lists) + 1

    def flat_held(self, count: int) -> list[int]:
        """The places of the arrays whose contents are sizes, among `count` ones."""
        return [place for place, arg in enumerate(self.declared_inputs(count)) if arg.contents is not None]

    def flat_updates(self, count: int) -> list[int]:
        """The places of the arrays that the op changes, among `count` ones."""
        return [place for place, arg in enumerate(self.declared_inputs(count)) if arg.updates] if self.updates else []

    def flat_names(self, count: int) -> tuple[str, ...]:
        """What to call each of `count` arrays in a message: 'values[2]' for one of a list."""
        return _flat_names(self.inputs, self.list_length(count)) if self.lists else self.input_names

    def flat(self, values: Sequence[Any]) -> list[Any]:
        """The values of the inputs with the members of lists of inputs side by side, None for what is left out."""
        if self.lists and self.inputs[self.lists[0]].optional:
            values = self._stretched(values)
        return _flat(self.inputs, values) if self.lists else list(values)

    def grouped(self, flat: Sequence[Any]) -> list[Any]:
        """The opposite of `flat`."""
        return _grouped(self.inputs, flat, self.list_length(len(flat))) if self.lists else list(flat)

    def listed(self, values: Sequence[Any]) -> Sequence[Any]:
        """The values of a call, if those that must be lists of arrays are lists of one length.

        Optional ones are made as long as the longest, with None for the members that they do not have.
        """
        if self.inputs[self.lists[0]].optional:
            return self._stretched(values)
        for place in self.lists:
            name, given = self.input_names[place], values[place]
            if not isinstance(given, (list, tuple)):
                raise errors.wrong_type(self.name, name, ["a list of arrays"], type(given).__name__)
            if not given:
                raise errors.invalid(self.name, errors.Fault("rule", name, (), [], hint="must hold at least one array"))
            first = self.lists[0]
            if len(given) != len(values[first]):
                wanted = f"as long as {self.input_names[first]}, {len(values[first])}"
                raise errors.unfit(self.name, name, wanted, str(len(given)))
        return values

    def _stretched(self, values: Sequence[Any]) -> list[Any]:
        found = list(values)
        for place in self.lists:
            found[place] = [] if values[place] is None else values[place]
            if not isinstance(found[place], (list, tuple)):
                kind = type(found[place]).__name__
                raise errors.wrong_type(self.name, self.input_names[place], ["a list of arrays"], kind)
        longest = max(len(found[place]) for place in self.lists)
        if not longest:
            names = " and ".join(self.input_names[place] for place in self.lists)
            raise errors.unfit(self.name, names, "at least one array", "none")
        for place in self.lists:
            found[place] = [*found[place], *[None] * (longest - len(found[place]))]
        return found

    # ------------------------------------------------------------------ outputs
    def output_count(self, inputs: int, attrs: Mapping[str, Any]) -> int:
        """How many arrays a call gives that takes `inputs` ones."""
        if not self.output_lists:
            return len(self.outputs)
        counter = self.outputs[self.output_lists[0]].count
        length = attrs[counter] if counter else self.list_length(inputs)
        if not 0 <= length <= MOST_OUTPUTS:
            fault = errors.Fault("rule", counter, (), length, hint=f"must not be negative, nor above {MOST_OUTPUTS}")
            raise errors.invalid(self.name, fault)
        return len(self.outputs) + len(self.output_lists) * (length - 1)

    def flat_outputs(self, count: int) -> tuple[Arg, ...]:
        """The declared output of each of `count` arrays."""
        return _declared(self.outputs, self._output_length(count)) if self.output_lists else self.outputs

    def flat_output_names(self, count: int) -> tuple[str, ...]:
        """What to call each of `count` outputs: 'outputs[2]' for one of a list."""
        return _flat_names(self.outputs, self._output_length(count))

    def grouped_outputs(self, flat: Sequence[Any]) -> list[Any]:
        """The outputs as they are declared, from flat ones."""
        return _grouped(self.outputs, flat, self._output_length(len(flat))) if self.output_lists else list(flat)

    def answer(self, flat: Sequence[Any]) -> Any:
        """What a raw op answers with these flat outputs: one of them, a list, a named tuple, or None."""
        outputs = self.grouped_outputs(flat) if self.output_lists else flat
        if self.result is None:
            return outputs[0] if outputs else None
        return tuple.__new__(self.result, outputs)

    def flat_answer(self, answer: Any) -> list[Any]:
        """The flat outputs, from what a raw op answers or from what a body gives."""
        outputs = list(answer) if self.result is not None else [answer] if self.outputs else []
        return _flat(self.outputs, outputs) if self.output_lists else outputs

    def _output_length(self, count: int) -> int:
        lists = len(self.output_lists)
        return (count - len(self.outputs)) // lists + 1 if lists else 1


@lru_cache(maxsize=1024)
def _members(arg: Arg, count: int) -> tuple[Arg, ...]:
    """The members of a list of inputs, each with words of its own where the declaration says so."""
    if MEMBER not in arg.shape:
        return (arg,) * count
    return tuple(replace(arg, shape=arg.shape.replace(MEMBER, f"{MEMBER}{k}")) for k in range(count))


def _declared(args: Sequence[Arg], length: int) -> tuple[Arg, ...]:
    return tuple(arg for arg in args for _ in range(length if arg.many else 1))


def _flat(args: Sequence[Arg], values: Sequence[Any]) -> list[Any]:
    return [v for arg, value in zip(args, values, strict=True) for v in (value if arg.many else [value])]


def _grouped(args: Sequence[Arg], flat: Sequence[Any], length: int) -> list[Any]:
    values = iter(flat)
    return [list(islice(values, length)) if arg.many else next(values) for arg in args]


def _flat_names(args: Sequence[Arg], length: int) -> tuple[str, ...]:
    return tuple(name for a in args for name in ([f"{a.name}[{k}]" for k in range(length)] if a.many else [a.name]))
