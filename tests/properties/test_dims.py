"""The shape language on random shapes: what it computes it also accepts, and nothing else."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gradbag.dims import MEMBER, Dims, parse

SIZES = st.integers(0, 4)
WORDS = st.sampled_from(["rows", "n", "rank", "_"])


@st.composite
def bound_dims(draw: Any) -> tuple[Dims, dict[str, Any]]:
    """A shape string, and a size for each of its words."""
    terms = draw(st.lists(WORDS | SIZES.map(str), max_size=4))
    if draw(st.booleans()):
        terms.insert(draw(st.integers(0, len(terms))), draw(st.sampled_from(["*inner", "*_"])))
    sizes: dict[str, Any] = {word: draw(SIZES) for word in ("rows", "n", "rank", "_")}
    sizes["inner"] = draw(st.lists(SIZES, max_size=3).map(tuple))
    return parse(" ".join(terms)), sizes


def filled(dims: Dims, sizes: dict[str, Any]) -> list[int]:
    """A shape that fits, with any sizes where the language does not care."""
    shape: list[int] = []
    for term in dims.terms:
        if isinstance(term, int):
            shape.append(term)
        elif term.startswith("*"):
            shape.extend(sizes["inner"])
        else:
            shape.append(sizes[term])
    return shape


def chosen(dims: Dims, sizes: dict[str, Any]) -> dict[str, Any]:
    return {word: sizes[word] for word in dims.words}


@given(bound_dims())
def test_a_shape_made_of_sizes_gives_the_sizes_back(drawn: tuple[Dims, dict[str, Any]]) -> None:
    dims, sizes = drawn
    found: dict[str, Any] = {}
    assert dims.bind(filled(dims, sizes), found)
    assert found == chosen(dims, sizes)


@given(bound_dims())
def test_sizes_that_were_found_make_the_shape_again(drawn: tuple[Dims, dict[str, Any]]) -> None:
    dims, sizes = drawn
    assume(not {"_", "*_"} & set(dims.terms))
    shape = filled(dims, sizes)
    found: dict[str, Any] = {}
    dims.bind(shape, found)
    assert dims.shape(found) == tuple(shape)


@given(bound_dims(), st.data())
def test_an_unknown_size_fits_everywhere_and_is_learnt_later(drawn: tuple[Dims, dict[str, Any]], data: Any) -> None:
    dims, sizes = drawn
    shape = filled(dims, sizes)
    partly = [None if data.draw(st.booleans()) else size for size in shape]
    found: dict[str, Any] = {}
    assert dims.bind(partly, found)
    assert dims.bind(shape, found)
    assert found == chosen(dims, sizes)
    assert dims.bind(partly, found)
    assert found == chosen(dims, sizes)


@given(bound_dims(), st.data())
def test_a_size_that_differs_from_what_is_known_is_refused(drawn: tuple[Dims, dict[str, Any]], data: Any) -> None:
    dims, sizes = drawn
    shape = filled(dims, sizes)
    assume(shape)
    place = data.draw(st.integers(0, len(shape) - 1))
    changed = [size + (k == place) for k, size in enumerate(shape)]
    fits = dims.bind(changed, dict(chosen(dims, sizes)))
    star = dims.star if dims.star >= 0 else len(shape)
    inner = len(sizes["inner"]) if dims.star >= 0 else 0
    if place < star:
        term = dims.terms[place]
    elif place < star + inner:
        term = dims.terms[star]
    else:
        term = dims.terms[place - inner + 1]
    assert fits == (term in ("_", "*_"))


@given(bound_dims(), st.integers(-2, 2))
def test_the_number_of_axes_must_fit(drawn: tuple[Dims, dict[str, Any]], more: int) -> None:
    dims, sizes = drawn
    shape = filled(dims, sizes)
    count = len(shape) + more
    assume(count >= 0)
    unknown = [None] * count
    if dims.star >= 0:
        assert dims.bind(unknown, {}) == (count >= len(dims.terms) - 1)
    else:
        assert dims.bind(unknown, {}) == (more == 0)


@given(bound_dims())
def test_an_explanation_names_every_known_word_with_its_size(drawn: tuple[Dims, dict[str, Any]]) -> None:
    dims, sizes = drawn
    told = dims.explain(chosen(dims, sizes))
    for word in dims.words:
        size = list(sizes[word]) if word == "inner" else sizes[word]
        assert f"{word}={size}" in told
    assert dims.explain({}) == ""


@given(st.text(st.characters(categories=["L", "N", "P", "S", "Zs"]), max_size=12))
def test_any_text_is_a_shape_or_is_refused_by_value_error(text: str) -> None:
    try:
        dims = parse(text)
    except ValueError:
        return
    assert dims.text == text
    assert len(dims.terms) == len(text.split())
    assert all(isinstance(t, int) or t.removeprefix("*").replace(MEMBER, "").isidentifier() for t in dims.terms)


@pytest.mark.parametrize("text", ["n-1", "*a *b", "a,b", "**a", "**_", "*", "-1", "2.5", "rows *rows"])
def test_what_is_no_shape_is_quoted(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(repr(text))):
        parse(text)


def test_a_scalar_is_an_empty_text() -> None:
    assert parse("").bind((), {})
    assert not parse("").bind((1,), {})
    assert parse("").shape({}) == ()
