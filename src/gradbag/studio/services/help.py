"""An op's page as blocks of text and tables, which a browser can show without reading Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from ... import errors, opdocs
from ...page.declared import GRADIENT, declared
from ...spec import Op
from ..messages import Help, HelpBlock, HelpTable, HelpText
from .catalogue import category

_FORMULA = re.compile(r"\s|\S+ [+*|]?= ")  # indented, or `name[...] = `


def help_page(op_name: str) -> Help:
    """The page of one op."""
    op = declared(op_name)
    if op is None:
        raise errors.InvalidArgumentError(f"there is no op {op_name[:80]!r}")
    return Help(name=op.name, blocks=list(_blocks(op)))


def _blocks(op: Op) -> Iterator[HelpBlock]:
    yield _said("heading", op.name)
    yield _said("text", opdocs.summary(op))
    for part in _paragraphs(opdocs.details(op)):
        # In a remark line breaks mean nothing, in a formula they do.
        formula = _FORMULA.match(part[0]) is not None
        yield _said("formula", "\n".join(part)) if formula else _said("text", " ".join(map(str.strip, part)))
    if op.inputs:
        yield _said("heading", "Inputs")
        rows = [[a.name, opdocs.type_text(op, a), f"[{a.shape}]", a.doc] for a in op.inputs]
        yield _table(["input", "dtype", "shape", ""], rows)
    if op.attrs:
        yield _said("heading", "Settings")
        rows = [[a.name, opdocs.kind_text(op, a), opdocs.default_text(a), a.doc] for a in op.attrs]
        yield _table(["setting", "kind", "default", ""], rows)
    if op.outputs:
        yield _said("heading", "Outputs")
        yield _table(
            ["output", "dtype", "shape", ""],
            [[a.name, opdocs.output_type(a), f"[{a.shape}]", a.doc] for a in op.outputs],
        )
    if op is GRADIENT:
        return
    yield _said("heading", "Gradients")
    yield _said("text", opdocs.gradient_text(op))
    yield _said("heading", "Example")
    yield _said("code", opdocs.example_call(op))
    if opdocs.runs_alone(op) and op.outputs:
        yield _said("code", opdocs.example_answer(op))
    yield _said("text", f"{category(op)}; in Python gradbag.raw_ops.{opdocs.signature(op)}")


def _paragraphs(text: str) -> Iterator[list[str]]:
    """Runs of lines that are all indented, or all not, without the empty ones between them."""
    part: list[str] = []
    for line in [*text.split("\n"), ""]:
        if part and (not line.strip() or line[:1].isspace() != part[0][:1].isspace()):
            yield part
            part = []
        if line.strip():
            part.append(line)


def _said(kind: Literal["heading", "text", "formula", "code"], text: str) -> HelpText:
    return HelpText(kind=kind, text=text)


def _table(head: list[str], rows: list[list[str]]) -> HelpTable:
    return HelpTable(kind="table", head=head, rows=rows)
