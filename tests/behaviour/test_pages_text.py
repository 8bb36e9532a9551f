"""The text of pages: what the reader refuses, and what the writer does not change."""

import json
from pathlib import Path
from typing import Any

import pytest

import gradbag
from gradbag import page as pages
from gradbag.page import canonical, migrate

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "src/gradbag/examples").glob("*.page.json"))
FORMAT = '"format": "gradbag-page/1"'


def refused(text: str | bytes) -> str:
    data = text if isinstance(text, bytes) else text.encode()
    with pytest.raises(gradbag.InvalidArgumentError) as caught:
        pages.parse(data)
    return str(caught.value)


# ------------------------------------------------------------------ hazards
@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"\xef\xbb\xbf{}", "byte order mark"),
        ("{}".encode("utf-16"), "is not UTF-8: byte 0 is 0xff"),
        ("{}".encode("utf-16-le"), "is no JSON"),
        (b'{"title": "\xff"}', "is not UTF-8: byte 11 is 0xff"),
        ("[1]", "must be a JSON object"),
        ("", "is no JSON: Expecting value at line 1, column 1"),
        ('{"a": 1,}', "is no JSON"),
        ('{"a": 1} x', "is no JSON: Extra data"),
        ('{"a": "never ends', "is no JSON: Unterminated string"),
        ('{"a": "\\"\\"\\"', "is no JSON"),
        ('{"a": 1, "a": 2}', "the key 'a' twice"),
        ('{"n": {"b": 1, "c": 2, "b": 3}}', "the key 'b' twice"),
        ('{"__proto__": {}}', "the key '__proto__'"),
        ('{"n": {"\\u005f_proto__": 1}}', "the key '__proto__'"),
        ('{"n": [{"constructor": 1}]}', "the key 'constructor'"),
        ('{"n": NaN}', 'has NaN, which is not JSON; write the string "nan"'),
        ('{"n": -Infinity}', 'write the string "-inf"'),
        ('{"n": 1e400}', "beyond a double"),
        ('{"n": 9007199254740993}', "beyond 2**53: write it as a string"),
        ('{"n": -9007199254740993}', "beyond 2**53"),
        ('{"n": ' + "9" * 5000 + "}", "beyond 2**53"),
        ('{"n": "\\ud800"}', "half a surrogate pair"),
        ('{"\\udfff": 1}', "half a surrogate pair"),
        ('{"n": ' + "[" * 64 + "]" * 64 + "}", "nested deeper than 64 levels"),
        ("[" * 100_000, "nested deeper than 64 levels"),
        ('{"n":' * 100_000, "nested deeper than 64 levels"),
    ],
)
def test_what_is_no_page_is_refused_in_words(text: str | bytes, told: str) -> None:
    assert told in refused(text)


def test_the_limits_themselves_are_allowed() -> None:
    inner = "[" * 63 + "]" * 63
    page = pages.parse(f'{{{FORMAT}, "n": {inner}, "m": 9007199254740992, "\\ud83d\\ude00": 1e308}}'.encode())
    assert page.document["m"] == 2**53
    assert page.document["\N{GRINNING FACE}"] == 1e308


def test_brackets_and_marks_inside_strings_do_not_count() -> None:
    text = "[{" * 100 + '\\" \\\\'
    assert json.loads(f'{{"title": "{text}"}}')
    assert pages.parse(f'{{{FORMAT}, "title": "{text}"}}'.encode()).title.startswith("[{[{")


def test_sizes_are_checked_before_numbers_are_made(monkeypatch: Any) -> None:
    monkeypatch.setattr(canonical, "MOST_VALUES", 100)
    made: list[int] = []
    monkeypatch.setattr(canonical.json, "loads", lambda *a, **k: made.append(1))
    assert "large arrays belong in data files" in refused(f'{{{FORMAT}, "n": [{"1," * 200}1]}}')
    assert not made
    monkeypatch.setattr(canonical, "MOST_BYTES", 100)
    assert "at most 100 bytes are read" in refused(b" " * 101)


# ------------------------------------------------------------------ versions
def test_a_page_says_its_format() -> None:
    assert 'a page begins with "format": "gradbag-page/1"' in refused("{}")
    assert "'gradbag-page/0'; this gradbag knows gradbag-page/1" in refused('{"format": "gradbag-page/0"}')
    assert "has the format 1;" in refused('{"format": 1}')


def test_a_page_of_a_later_gradbag_is_refused_rather_than_half_read() -> None:
    told = refused('{"format": "gradbag-page/2"}')
    assert "newer than this gradbag, which knows gradbag-page/1; update gradbag" in told


def test_steps_follow_each_other(monkeypatch: Any) -> None:
    first = ("b/2", lambda d: {**d, "steps": [*d.get("steps", []), 1]})
    second = (migrate.FORMAT, lambda d: {**d, "steps": [*d["steps"], 2]})
    monkeypatch.setattr(migrate, "STEPS", {"a/1": first, "b/2": second})
    assert migrate.migrate({"format": "a/1"}) == {"format": migrate.FORMAT, "steps": [1, 2]}


def test_every_format_that_ever_was_has_a_golden_file() -> None:
    golden = ROOT / "tests" / "golden" / "pages"
    for number in range(1, int(migrate.FORMAT.rpartition("/")[2]) + 1):
        page = pages.load(golden / f"format_{number}.page.json")
        assert page.document["format"] == migrate.FORMAT
        assert pages.text(page) == (golden / "present.page.json").read_text(encoding="utf-8")
        assert pages.check(page) == []
        assert pages.run(page).mismatches == []


# ------------------------------------------------------------------ writing
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name.partition(".")[0])
def test_load_and_save_give_the_same_bytes(path: Path, tmp_path: Path) -> None:
    pages.save(pages.load(path), tmp_path / "again.page.json")
    assert (tmp_path / "again.page.json").read_bytes() == path.read_bytes()


def changed_lines(before: str, after: str) -> list[tuple[str, str]]:
    both = before.splitlines(), after.splitlines()
    assert len(both[0]) == len(both[1])
    return [pair for pair in zip(*both, strict=True) if pair[0] != pair[1]]


def test_a_moved_box_and_a_changed_value_are_one_line_each() -> None:
    page = pages.load(ROOT / "src/gradbag/examples/sparse_slice_grad.page.json")
    before = pages.text(page)
    page.section("layout")["slice_grad"] = [1, 2.5]
    moved = pages.text(page)
    assert len(changed_lines(before, moved)) == 1
    page.nodes["values"]["attrs"]["value"][0] = 7
    assert len(changed_lines(moved, pages.text(page))) == 1


def test_keys_have_an_order_and_unknown_ones_stay_behind_them() -> None:
    text = (
        '{"zebra": [1, 2.0], "layout": {"a": [1, 2]}, "nodes": {"a": {"mood": "good", "attrs": {"x": 1}, '
        f'"op": "Unheard", "in": {{"p": {{"dtype": "int32", "value": 1}}}}}}}}, "title": "é", {FORMAT}}}'
    )
    assert pages.text(pages.parse(text.encode())) == (
        '{\n  "format": "gradbag-page/1",\n  "title": "é",\n  "nodes": {\n    "a": {"op": "Unheard", "in": {"p": '
        '{"value": 1, "dtype": "int32"}}, "attrs": {"x": 1}, "mood": "good"}\n  },\n  "layout": {\n    "a": [1, 2]\n'
        '  },\n  "zebra": [1, 2.0]\n}\n'
    )


@pytest.mark.parametrize("value", [float("nan"), 2**60, {"__proto__": 1}, "\ud800", {1, 2}, b"x"], ids=repr)
def test_what_could_not_be_read_back_is_not_written(value: Any, tmp_path: Path) -> None:
    page = pages.Page()
    page.document["extra"] = value
    with pytest.raises(gradbag.InvalidArgumentError):
        pages.save(page, tmp_path / "x.page.json")
    assert list(tmp_path.iterdir()) == []
