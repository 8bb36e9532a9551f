"""TensorFlow 1's loops: the nodes between Enter and Exit of a frame become one While.

A loop is written there as a cycle. Each of its values comes in by an Enter, meets in a Merge what NextIteration brings
from the last round, and goes by a Switch into the body, or out by an Exit when LoopCond is false. What an Enter brings
that no Merge reads is the same in every round. Inner frames are rolled up first, so that they are nodes of the outer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ... import errors
from .order import run_order
from .references import Reference

if TYPE_CHECKING:
    from .inlining import Call

DEEPEST = 8  # a condition may hold a loop, which is then built twice: so deep, and no deeper
_PLAIN = {f"Ref{op}": op for op in ("Enter", "Exit", "Merge", "NextIteration", "Switch")}
Path = tuple[str, ...]  # the names of the frames around a node, the outermost first


@dataclass(frozen=True)
class FramePart:
    """The condition or the body of a frame: its nodes, and what it gives; what stands for an input is no node of it."""

    calls: list[Call]
    stand_ins: list[str]  # the names of the nodes that stand for the inputs
    returns: list[Reference]
    last: list[str]  # what must run too


@dataclass(frozen=True)
class Frame:
    """A While as `cond` and `body`; its inputs after the first `changing` ones are the same in every round."""

    parts: dict[str, FramePart]
    changing: int


def op_of(call: Call) -> str:
    return _PLAIN.get(call.op, call.op)


def rolled(calls: Sequence[Call], source: Callable[[Reference], Reference]) -> list[Call]:
    """The nodes of a graph, with a While and its results in the place of every frame."""
    if not any(op_of(call) == "Enter" for call in calls):
        return list(calls)
    calls = [replace(call, inputs=[source(reference) for reference in call.inputs]) for call in calls]
    members: dict[Path, dict[str, Call]] = {(): {}}
    for call, path in zip(calls, _paths(calls), strict=True):
        for length in range(len(path) + 1):
            members.setdefault(path[:length], {})
        members[path][call.name] = call
    for path in sorted(members, key=len, reverse=True):
        if path:
            for made in _loop(path[-1], members[path]):
                members[path[:-1]][made.name] = made
    return list(members[()].values())


def _paths(calls: Sequence[Call]) -> list[Path]:
    """The frames around each node: those of what it reads, one more for an Enter; an Exit belongs to what it leaves."""
    numbers = {call.name: number for number, call in enumerate(calls)}
    back = {call.name for call in calls if op_of(call) == "NextIteration"}
    sources = []
    for call in calls:
        read = [*(name for name, _ in call.inputs), *call.control]
        sources.append([numbers[name] for name in read if name in numbers and name not in back])
    found: list[Path] = [()] * len(calls)
    for number in run_order([call.name for call in calls], sources):
        outside = [found[s][:-1] if op_of(calls[s]) == "Exit" else found[s] for s in sources[number]]
        path = max(outside, key=len, default=())
        if op_of(calls[number]) == "Enter":
            path = (*path, _frame_name(calls[number]))
            if len(path) > DEEPEST:
                raise errors.InvalidArgumentError(f"the graph has loops inside of loops deeper than {DEEPEST}")
        found[number] = path
    return found


def _frame_name(call: Call) -> str:
    entries = call.proto.attr if call.proto is not None else ()
    return next((entry.value.s.decode(errors="replace") for entry in entries if entry.key == "frame_name"), "")


def _loop(frame: str, members: dict[str, Call]) -> list[Call]:
    """The While of a frame, then a node for each Exit."""
    kinds: dict[str, list[Call]] = {}
    for call in members.values():
        kinds.setdefault(op_of(call), []).append(call)
    enters, conditions = kinds.get("Enter", []), kinds.get("LoopCond", [])
    if len(conditions) != 1:
        raise _problem(frame, f"it has {len(conditions)} nodes LoopCond, and must have one")
    entered, back = {call.name for call in enters}, {call.name for call in kinds.get("NextIteration", [])}
    merges, begins, nexts = [], [], []
    for merge in kinds.get("Merge", []):
        names = [name for name, _ in merge.inputs]
        if not back.isdisjoint(names):
            if len(names) != 2 or names[0] not in entered or names[1] not in back:
                raise _problem(frame, f"the Merge {merge.name[:80]!r} must read an Enter and a NextIteration")
            merges.append(merge)
            begins.append(members[names[0]])
            nexts.append(members[names[1]])
    changing = {call.name for call in begins}
    inputs = [*begins, *(call for call in enters if call.name not in changing)]
    name = f"{merges[0].name if merges else conditions[0].name}/while"
    stand_ins = [f"{name}/input/_{place}" for place in range(len(inputs))]
    known: dict[Reference, Reference] = {}
    for call, stand_in in zip([*merges, *inputs[len(begins) :]], stand_ins, strict=True):
        known[call.name, 0] = stand_in, 0
    places = {merge.name: place for place, merge in enumerate(merges)}
    inside, results = dict(known), dict[str, int]()
    for switch in kinds.get("Switch", []):
        if len(switch.inputs) == 2 and switch.inputs[1][0] == conditions[0].name and switch.inputs[0][0] in places:
            results[switch.name] = places[switch.inputs[0][0]]
            inside[switch.name, 1] = stand_ins[results[switch.name]], 0
    same = [(stand_in, 0) for stand_in in stand_ins[len(begins) :]]
    parts = {
        "cond": _part(frame, members, known, stand_ins, _read([conditions[0]]), conditions[0].control),
        "body": _part(
            frame, members, inside, stand_ins, _read(nexts), [before for call in nexts for before in call.control]
        ),
    }
    parts["body"].returns.extend(same)
    control = sorted({before for call in enters for before in call.control if before not in members})
    from .inlining import Call

    made = [Call(name, "While", _read(inputs), control, frame=Frame(parts, len(begins)))]
    for leaving in kinds.get("Exit", []):
        ((switch_name, port),) = leaving.inputs or [("", 0)]
        if switch_name not in results or port:
            raise _problem(frame, f"the Exit {leaving.name[:80]!r} must read the first output of a Switch of the loop")
        made.append(Call(leaving.name, "Identity", [(name, results[switch_name])], []))
    return made


def _read(calls: Iterable[Call]) -> list[Reference]:
    """What nodes of one input read."""
    found = []
    for call in calls:
        if len(call.inputs) != 1:
            raise errors.InvalidArgumentError(f"{call.op}: {call.name[:80]!r} must have one input")
        found.append(call.inputs[0])
    return found


def _part(
    frame: str,
    members: dict[str, Call],
    known: dict[Reference, Reference],
    stand_ins: list[str],
    returns: list[Reference],
    last: Sequence[str],
) -> FramePart:
    """What some results of a frame need, up to what stands for the loop's values."""
    by_name = {name: stand_in for (name, _), (stand_in, _) in known.items()}
    found: dict[str, Call] = {}
    given = [known.get(reference, reference) for reference in returns]
    waited = [by_name.get(before, before) for before in last]
    waiting = [*(name for name, _ in given), *waited]
    standing = set(stand_ins)
    while waiting:
        name = waiting.pop()
        if name in found or name in standing:
            continue
        call = members.get(name)
        if call is None or op_of(call) in ("NextIteration", "Enter"):
            raise _problem(frame, f"the input {name[:80]!r} does not come in by an Enter")
        inputs = [known.get(reference, reference) for reference in call.inputs]
        control = [by_name.get(before, before) for before in call.control]
        found[name] = replace(call, inputs=inputs, control=control)
        if op_of(call) == "LoopCond":  # where somebody in the body reads it, it is a value as any other
            found[name].op, found[name].proto = "Identity", None
        waiting += [*(name for name, _ in inputs), *control]
    return FramePart(list(found.values()), stand_ins, given, waited)


def _problem(frame: str, sentence: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(f"the frame {frame[:80]!r} is no loop: {sentence}")
