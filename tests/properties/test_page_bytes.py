"""Random pages: load and save give the same bytes, and a page that went through a graph means the same."""

import json
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gradbag import dtypes
from gradbag import page as pages
from gradbag.page import canonical, literals
from gradbag.page.diff import diff
from gradbag.spec import registry

# ------------------------------------------------------------------ any document
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
KEYS = TEXT.filter(lambda key: key not in canonical.FORBIDDEN_KEYS)
NUMBERS = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
NODE = st.fixed_dictionaries(
    {}, optional={"op": TEXT, "in": st.dictionaries(KEYS, JSON, max_size=3), "attrs": JSON, "mood": JSON, "after": JSON}
)
SECTION = st.dictionaries(KEYS, NODE | JSON, max_size=4)
DOCUMENT = st.dictionaries(KEYS, JSON, max_size=3).flatmap(
    lambda extra: st.fixed_dictionaries(
        {"format": st.just("gradbag-page/1")},
        optional={name: SECTION for name in canonical.TOP if name != "format"},
    ).map(lambda document: {**extra, **document})
)


@given(DOCUMENT, st.integers(0, 2**32))
def test_load_and_save_give_the_same_bytes(document: Any, seed: int) -> None:
    shuffled = list(document.items())
    np.random.default_rng(seed).shuffle(shuffled)  # type: ignore[arg-type]
    page = pages.parse(json.dumps(dict(shuffled)).encode())
    assert page.document == document
    text = pages.text(page)
    again = pages.parse(text.encode())
    assert again.document == document
    assert pages.text(again) == text
    assert text.endswith("}\n")
    assert "\r" not in text.replace("\\r", "")


@given(DOCUMENT)
def test_no_document_is_too_odd_to_be_checked_drawn_and_compared(document: Any) -> None:
    from gradbag.page.export_svg import to_svg

    page = pages.parse(json.dumps(document).encode())
    for problem in pages.check(page):
        assert problem.text
    assert to_svg(page).startswith("<svg")
    assert diff(page, page) == []


@given(st.binary(max_size=60))
def test_no_bytes_are_too_odd_to_be_refused(data: bytes) -> None:
    import gradbag

    try:
        pages.parse(data)
    except gradbag.InvalidArgumentError:
        return


# ------------------------------------------------------------------ pages that mean something
FLOATS = {"float32": 32, "float64": 64, "float16": 16}
UNARY = ["Neg", "Square", "Identity", "Abs", "Sign", "Tanh", "OnesLike", "ZerosLike"]
BINARY = ["AddV2", "Sub", "Mul", "Maximum", "Minimum", "SquaredDifference"]


@st.composite
def sound_pages(draw: Any) -> pages.Page:
    """Vectors of one length in one dtype, joined at random by links and by literals of all forms."""
    dtype = draw(st.sampled_from(sorted(FLOATS)))
    numbers = st.floats(width=FLOATS[dtype], allow_nan=True)  # type: ignore[arg-type]
    size = draw(st.integers(0, 3))
    nodes: dict[str, Any] = {}
    names: list[str] = []

    def literal() -> Any:
        array = np.array(draw(st.lists(numbers, min_size=size, max_size=size)), dtype)
        value = literals.to_json(array)
        return (
            draw(st.sampled_from([value, {"value": value, "dtype": dtype}]))
            if names
            else {"value": value, "dtype": dtype}
        )

    def source() -> Any:
        return {"from": draw(st.sampled_from(names))} if names and draw(st.booleans()) else literal()

    for k in range(draw(st.integers(1, 7))):
        name = draw(st.sampled_from([f"n{k}", f"a.b/{k}", f"Node-{k}"]))
        kind = draw(st.sampled_from(["const", "unary", "binary", "many"]))
        first: Any = {"from": draw(st.sampled_from(names))} if names else literal()
        if kind == "const":
            value = literals.to_json(np.array(draw(st.lists(numbers, min_size=size, max_size=size)), dtype))
            nodes[name] = {"op": "Const", "attrs": {"dtype": dtype, "value": value}}
        elif kind == "unary":
            op = draw(st.sampled_from(UNARY))
            (port,) = registry[op].input_names
            nodes[name] = {"op": op, "in": {port: first}}
        elif kind == "binary":
            nodes[name] = {"op": draw(st.sampled_from(BINARY)), "in": {"x": first, "y": source()}}
        else:
            nodes[name] = {"op": "AddN", "in": {"inputs": [first, *(source() for _ in range(draw(st.integers(0, 2))))]}}
        if names and draw(st.integers(0, 5)) == 0:
            nodes[name]["after"] = [draw(st.sampled_from(names))]
        names.append(name)
    shuffled = draw(st.permutations(sorted(nodes)))
    return pages.Page({"format": "gradbag-page/1", "nodes": {name: nodes[name] for name in shuffled}})


@given(sound_pages())
def test_a_page_that_went_through_a_graph_means_the_same(page: pages.Page) -> None:
    assert pages.check(page) == []
    graph = pages.to_graph(page)
    back = pages.from_graph(graph)
    assert pages.check(back) == []
    assert set(back.nodes) == set(page.nodes)
    assert set(back.section("layout")) == set(page.nodes)
    again = pages.to_graph(back)
    assert {n.name: (n.op.name, [i.name for i in n.inputs], n.dtypes, n.shapes) for n in graph} == {
        n.name: (n.op.name, [i.name for i in n.inputs], n.dtypes, n.shapes) for n in again
    }
    assert all(d.change == "value" for d in diff(page, back))  # only how a literal is written
    wanted, got = pages.run(page).fetches, pages.run(back).fetches
    assert wanted.keys() == got.keys()
    for name, array in wanted.items():
        assert array.tobytes() == got[name].tobytes()
        assert dtypes.name_of(array.dtype) == dtypes.name_of(got[name].dtype)
    assert pages.text(pages.from_graph(again)) == pages.text(pages.from_graph(again))


@given(sound_pages())
def test_a_changed_value_is_one_line(page: pages.Page) -> None:
    before = pages.text(page).splitlines()
    name = next(iter(page.nodes))
    entry = page.nodes[name]
    entry["attrs" if entry["op"] == "Const" else "in"]["extra"] = [1, 2]
    after = pages.text(page).splitlines()
    assert sum(one != other for one, other in zip(before, after, strict=True)) == 1
