"""One op's page: as a docstring, as Markdown, and as the metadata of a block."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from . import arguments, attributes, dtypes
from .spec import REQUIRED, Arg, Attr, Op

# What an attribute of each kind is, in words.
KINDS = {
    "bool": "bool",
    "int": "int",
    "float": "float",
    "string": "str",
    "type": "name of a dtype",
    "shape": "list of sizes",
    "ints": "list of ints",
    "floats": "list of floats",
    "strings": "list of strs",
    "tensor": "array",
}
PRINTING = {"precision": 4, "suppress": True, "linewidth": 100}  # how numbers look in examples


def summary(op: Op) -> str:
    """The first line of the docstring."""
    return op.doc.partition("\n")[0]


def details(op: Op) -> str:
    """The docstring below its first line: formulas and remarks."""
    return op.doc.partition("\n")[2].strip("\n")


def type_text(op: Op, arg: Arg) -> str:
    """The dtypes of an argument in words: 'int64' or 'T: float32, float64'."""
    names = ", ".join(op.allowed(arg))
    text = f"{arg.dtype}: {names}" if arg.dtype in op.types else names
    return f"list of {text}" if arg.many else f"{text}, or None" if arg.optional else text


def output_type(arg: Arg) -> str:
    """The dtype or type variable of an argument, in a table that explains the variables beside it."""
    return f"list of {arg.dtype}" if arg.many else arg.dtype


def kind_text(op: Op, attr: Attr) -> str:
    """What an attribute may be: its kind, and the choices where there are only some."""
    choices = attr.allowed or op.types.get(attr.name, ())
    return KINDS[attr.kind] + (f" ({', '.join(choices)})" if choices else "")


def default_text(attr: Attr) -> str:
    """The default of an attribute as Python would print it."""
    return "required" if attr.default is REQUIRED else repr(attr.default)


def signature(op: Op) -> str:
    settings = [a.name if a.default is REQUIRED else f"{a.name}={a.default!r}" for a in op.attrs]
    others = ["name=None", *(["out=None"] if op.sized_outputs else [])]
    inputs = [f"{a.name}=None" if a.optional else a.name for a in op.inputs]
    return f"{op.name}({', '.join([*inputs, *settings, *others])})"


def runs_alone(op: Op) -> bool:
    """Whether a call has an answer outside a session, which feeds placeholders and keeps variables."""
    return not op.state or bool(op.inputs)


def example_call(op: Op) -> str:
    """The example as a line of Python."""
    lines = "".join(
        f"    {name}={name if name in op.example.after else repr(value)},\n"
        for name, value in op.example.inputs.items()
    )
    return f"gradbag.raw_ops.{op.name}(\n{lines})"


def example_before(op: Op) -> list[str]:
    """What must be there before the example: the arrays that it changes."""
    lines = []
    for name in op.example.after:
        value, arrays = op.example.inputs[name], _example_arrays(op, name)
        members = zip(_members(op, name, value), arrays, strict=True)
        made = [f"np.array({one!r}, np.{array.dtype})" for one, array in members]
        whole = f"[{', '.join(made)}]" if _is_list(op, name) else made[0]
        lines.append(f"{name} = {whole}")
    return lines


def example_after(op: Op) -> list[str]:
    """The arrays that the example has changed: their names, and what Python would print."""
    lines = []
    for name, value in op.example.after.items():
        arrays = zip(_members(op, name, value), _example_arrays(op, name), strict=True)
        found = [np.asarray(one, array.dtype) for one, array in arrays]
        lines += [f">>> {name}", show(found if _is_list(op, name) else found[0])]
    return lines


def _is_list(op: Op, name: str) -> bool:
    return op.inputs[op.input_names.index(name)].many


def _members(op: Op, name: str, value: Any) -> list[Any]:
    return list(value) if _is_list(op, name) else [value]


def _example_arrays(op: Op, name: str) -> list[Any]:
    """The arrays of an input in the example: one, or those of a list."""
    given = op.example.inputs
    arrays = arguments.to_arrays(op, op.flat([given.get(n) for n in op.input_names]))
    return _members(op, name, op.grouped(arrays)[op.input_names.index(name)])


def example_answer(op: Op) -> str:
    """The example's declared outputs, as Python would print them."""
    given = op.example.inputs
    arrays = arguments.to_arrays(op, op.flat([given.get(name) for name in op.input_names]))
    attrs = attributes.normal(op, {name: given[name] for name in op.attr_defaults if name in given})
    shapes = [None if a is None else a.shape for a in arrays]
    inferred = op.infer(shapes, [None if a is None else dtypes.name_of(a.dtype) for a in arrays], attrs=attrs)
    declared = [op.example.outputs[a.name] for a in op.outputs]
    values = op.flat_answer(declared if op.result is not None or not declared else declared[0])
    answers = [np.asarray(v, dtypes.numpy_dtype(name)) for v, (_, name) in zip(values, inferred, strict=True)]
    return show(op.answer(answers)) if answers else ""


def show(value: Any) -> str:
    """A result as the pages print it."""
    with np.printoptions(**PRINTING):  # type: ignore[arg-type]
        return repr(value)


def gradient_text(op: Op) -> str:
    """Which inputs get a gradient, and which outputs it comes from."""
    if op.updates:
        return f"Changed in place, unless there is an error: {', '.join(op.example.after)}. There is no gradient."
    if op.rule is None or not op.differentiable:
        return "No input carries a gradient."
    return f"Gradients: {', '.join(op.differentiable)}, in reverse and forward mode, to any order."


def out_text(op: Op) -> str:
    """What `out` may be; nothing for an op that has to count first."""
    if not op.sized_outputs:
        return ""
    if op.result is None:
        return "out: an array to write the output into, or None to get a new one."
    names = [a.name if a.name in op.sized_outputs else "None" for a in op.outputs]
    return f"out: a tuple ({', '.join(names)}) of arrays to write into; None where the array shall be new."


def docstring(op: Op) -> str:
    """What `help(gradbag.raw_ops.X)` shows."""
    parts = [summary(op), details(op), "Args:"]
    parts[-1] += "".join(f"\n    {a.name}: {type_text(op, a)}; shape [{a.shape}]. {a.doc}" for a in op.inputs)
    for a in op.attrs:
        default = "required" if a.default is REQUIRED else f"default {a.default!r}"
        parts[-1] += f"\n    {a.name}: {kind_text(op, a)}, {default}. {a.doc}"
    parts[-1] += "\n    name: ignored, for TensorFlow's sake."
    parts[-1] += out_text(op) and f"\n    {out_text(op)}"
    parts.append(
        "Returns:" + "".join(f"\n    {a.name}: {output_type(a)}; shape [{a.shape}]. {a.doc}" for a in op.outputs)
    )
    parts.append(gradient_text(op))
    call = example_call(op)
    if runs_alone(op):
        before = ["import gradbag", *(["import numpy as np"] if op.updates else []), *example_before(op)]
        lines = [f">>> {line}" for line in before] + [">>> " + call.replace("\n", "\n... "), example_answer(op)]
        call = "\n".join(line for line in [*lines, *example_after(op)] if line)
    parts.append("Example:\n    " + call.replace("\n", "\n    "))
    return "\n\n".join(part for part in parts if part) + "\n"


def markdown(op: Op) -> str:
    """The op's page for the docs and for the studio's help."""
    lines = [f"# {op.name}", "", summary(op), ""]
    if details(op):
        lines += ["```text", details(op), "```", ""]
    lines += ["```python", f"gradbag.raw_ops.{signature(op)}", "```", ""]
    lines += _table("input", [(f"`{a.name}`", type_text(op, a), f"`[{a.shape}]`", a.doc) for a in op.inputs])
    if op.attrs:
        lines += _table("setting", [(f"`{a.name}`", kind_text(op, a), f"`{default_text(a)}`", a.doc) for a in op.attrs])
    lines += _table("output", [(f"`{a.name}`", output_type(a), f"`[{a.shape}]`", a.doc) for a in op.outputs])
    if op.sized_outputs:
        lines += [out_text(op).replace("out:", "`out`:", 1), ""]
    example = [example_call(op)]
    if runs_alone(op):
        shown = [f">>> {line}" for line in example_before(op)]
        example = [*shown, f">>> {example_call(op)}", example_answer(op), *example_after(op)]
        example = [line for line in example if line]
    lines += [gradient_text(op), "", "```python", *example, "```", ""]
    return "\n".join(lines)


def _table(first: str, rows: list[tuple[str, ...]]) -> list[str]:
    second = ("type", "default") if first == "setting" else ("dtype", "shape")
    head = [f"| {first} | {second[0]} | {second[1]} | |", "|---|---|---|---|"]
    return [*head, *("| " + " | ".join(row) + " |" for row in rows), ""]


def block(op: Op) -> dict[str, Any]:
    """What an editor needs to draw the op: plain data, ready for JSON."""

    def port(arg: Arg) -> dict[str, Any]:
        return {
            "name": arg.name,
            "type": arg.dtype,
            "dtypes": list(op.allowed(arg)),
            "shape": arg.shape,
            "many": arg.many,
            "optional": arg.optional,
            "updates": arg.updates,
            "doc": arg.doc,
        }

    def setting(attr: Attr) -> dict[str, Any]:
        required = attr.default is REQUIRED
        default = op.example.inputs[attr.name] if required else attr.default
        return {
            "name": attr.name,
            "kind": attr.kind,
            "required": required,
            "default": list(default) if isinstance(default, tuple) else default,
            "choices": list(attr.allowed or op.types.get(attr.name, ())),
            "doc": attr.doc,
        }

    made = {
        "op": op.name,
        "section": op.section,
        "category": op.category,
        "summary": summary(op),
        "help": markdown(op),
        "inputs": [{**port(a), "default": op.example.inputs.get(a.name)} for a in op.inputs],
        "outputs": [port(a) for a in op.outputs],
        "attrs": [setting(a) for a in op.attrs],
        "differentiable": list(op.differentiable),
    }
    json.dumps(made)  # a declaration whose example is not plain data is refused here, not in a browser
    return made
