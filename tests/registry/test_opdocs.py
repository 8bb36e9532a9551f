"""Pages, blocks and stubs follow from the registry."""

import inspect
import json
from pathlib import Path

import pytest

from gradbag import opdocs, raw_ops, stubs
from gradbag.spec import Op, registry

every_op = pytest.mark.parametrize("op", registry, ids=lambda op: op.name)


@every_op
def test_page_block_and_stub_tell_every_argument(op: Op) -> None:
    page, block, stub = opdocs.markdown(op), opdocs.block(op), stubs.stub(op)
    for arg in (*op.inputs, *op.outputs):
        assert f"`{arg.name}`" in page
    for arg in op.inputs:
        assert f"    {arg.name}: {stubs._input(arg)},\n" in stub
    for attr in op.attrs:
        assert f"`{attr.name}`" in page
        assert f"    {attr.name}: {stubs.KINDS[attr.kind]}" in stub
    assert [s["name"] for s in block["attrs"]] == list(op.attr_defaults)
    assert [s["name"] for s in block["attrs"] if s["required"]] == list(op.required_attrs)
    assert [p["name"] for p in block["inputs"]] == list(op.input_names)
    assert json.loads(json.dumps(block)) == block


@every_op
def test_signature_is_keyword_only_and_ends_with_name_and_out(op: Op) -> None:
    parameters = inspect.signature(getattr(raw_ops, op.name)).parameters
    last = ["name", "out"] if op.sized_outputs else ["name"]
    assert list(parameters) == [*op.input_names, *op.attr_defaults, *last]
    needed = {*op.input_names, *op.required_attrs} - op.optional_names
    assert {p.name for p in parameters.values() if p.default is p.empty} == needed
    assert all(parameters[name].default is None for name in op.optional_names)
    assert all(p.kind is p.KEYWORD_ONLY for p in parameters.values())
    assert all(parameters[name].default is None for name in last)


@every_op
def test_page_help_and_stub_mention_out_where_it_is_taken(op: Op) -> None:
    taken = bool(op.sized_outputs)
    assert ("out=None" in opdocs.markdown(op)) is taken
    assert ("`out`: " in opdocs.markdown(op)) is taken
    assert ("\n    out: " in opdocs.docstring(op).partition("Returns:")[0]) is taken
    assert ("\n    out: " in stubs.stub(op).partition("def ")[2]) is taken  # an output may be called so too


@pytest.mark.parametrize("path", stubs.generated(), ids=lambda path: path.name)
def test_the_generated_files_are_up_to_date(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == stubs.generated()[path]
