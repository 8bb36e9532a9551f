"""`gradbag ops`: the list of ops, or one op's page."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from .. import opdocs, raw_ops
from ..spec import Op, registry
from ..terminal import Terminal


def run(options: argparse.Namespace) -> int:
    found = _find(options.name)
    if not found:
        print(f"gradbag: no op is called {options.name!r}; `gradbag ops` lists them all", file=sys.stderr)
        return 2
    if options.json:
        blocks = [opdocs.block(op) for op in found]
        print(json.dumps(blocks[0] if options.name and len(blocks) == 1 else blocks, indent=2))
    elif options.markdown:
        print("\n".join(opdocs.markdown(op) for op in found))
    elif len(found) == 1:
        _page(found[0], Terminal())
    else:
        _catalogue(found, Terminal())
    return 0


def _find(name: str | None) -> list[Op]:
    """All ops, the op of that name, or the ops whose names contain it; the sparse ones first."""
    every = list(registry)
    if name is None:
        return every
    wanted = name.replace("_", "").lower()
    exact = [op for op in every if op.name == name] or [op for op in every if op.name.lower() == wanted]
    return exact or [op for op in every if wanted in op.name.lower()]


def _catalogue(found: Sequence[Op], terminal: Terminal) -> None:
    columns = ("op", "what it does")
    sparse = [op for op in found if op.section != "array"]
    for category in dict.fromkeys(op.category for op in sparse):
        rows = [(op.name, opdocs.summary(op)) for op in sparse if op.category == category]
        terminal.table(columns, rows, title=category.replace("_", " "))
    if len(sparse) < len(found):
        rows = [(op.name, opdocs.summary(op)) for op in found if op.section == "array"]
        terminal.table(columns, rows, title="ops of arrays, for what stands around them")
    terminal.text(f"{len(found)} ops. `gradbag ops NAME` shows one.")


def _page(op: Op, terminal: Terminal) -> None:
    terminal.heading(op.name)
    terminal.text(opdocs.summary(op))
    if opdocs.details(op):
        terminal.verbatim("\n" + opdocs.details(op) + "\n")
    columns = ("", "dtype", "shape", "")
    inputs = [(a.name, opdocs.output_type(a), f"[{a.shape}]", a.doc) for a in op.inputs]
    terminal.table(columns, inputs, title="inputs")
    if op.attrs:
        settings = [(a.name, opdocs.KINDS[a.kind], opdocs.default_text(a), a.doc) for a in op.attrs]
        terminal.table(("", "kind", "default", ""), settings, title="settings")
    outputs = [(a.name, opdocs.output_type(a), f"[{a.shape}]", a.doc) for a in op.outputs]
    terminal.table(columns, outputs, title="outputs")
    if op.types:
        types = [(name, ", ".join(allowed)) for name, allowed in op.types.items()]
        terminal.table(("type", "may be"), types, title="dtypes")
    if op.sized_outputs:
        terminal.text(opdocs.out_text(op))
    terminal.text(opdocs.gradient_text(op))
    terminal.heading("Example")
    terminal.verbatim(f"{opdocs.example_call(op)}\n")
    if not opdocs.runs_alone(op):
        return
    answer = getattr(raw_ops, op.name)(**op.example.inputs)
    for arg, value in zip(op.outputs, answer if op.result is not None else [answer], strict=True):
        terminal.verbatim(f"{arg.name} =", style="")
        terminal.verbatim(opdocs.show(value) + "\n", style="green")
