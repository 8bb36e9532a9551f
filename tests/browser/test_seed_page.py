"""The seed's own page, built from nothing: by mouse, by keyboard alone; changed, broken, undone."""

import pytest
from playwright.sync_api import Page, expect

from .desk import Desk, numbers

RESULT = [[1, pytest.approx(1 / 3, rel=1e-3), pytest.approx(5 / 3, rel=1e-3)]] * 3  # a block shows a few digits


def build(desk: Desk) -> None:
    """Three constants and the op, wired, by mouse."""
    desk.add("Const", (300, 80))
    desk.add("Const", (300, 280))
    desk.add("Const", (300, 480))
    desk.add("SparseSegmentMeanGrad", (620, 260))
    desk.write("value", "const", "[[1, 2, 3], [4, 4, 2], [3, 1, 5]]")
    desk.choose("dtype", "const", "float64")
    desk.write("value", "const_2", "[0, 1, 2]")
    desk.choose("dtype", "const_2", "int32")
    desk.write("value", "const_3", "[2, 2, 2]")
    desk.choose("dtype", "const_3", "int32")
    desk.wire("const.output", "sparse_segment_mean_grad.grad")
    desk.wire("const_2.output", "sparse_segment_mean_grad.indices")
    desk.wire("const_3.output", "sparse_segment_mean_grad.segment_ids")
    desk.write("output_dim0", "sparse_segment_mean_grad", "3")
    desk.checked()


@pytest.fixture
def seed(desk: Desk) -> Desk:
    build(desk)
    return desk


def test_one_changed_number_runs_only_what_depends_on_it(own_desk: Desk) -> None:
    seed = own_desk
    build(seed)
    ended = seed.run()
    assert (ended["state"], ended["ran"], ended["cached"]) == ("done", 4, 0)
    assert numbers(seed.rows("sparse_segment_mean_grad")) == RESULT
    seed.write("value", "const", "[[1, 2, 3], [4, 4, 2], [3, 1, 8]]")
    seed.expect_states(const="stale", const_2="done", const_3="done", sparse_segment_mean_grad="stale")
    ended = seed.run()
    assert (ended["ran"], ended["cached"]) == (2, 2)
    seed.expect_states(const="done", const_2="cached", const_3="cached", sparse_segment_mean_grad="done")
    last = numbers(seed.rows("sparse_segment_mean_grad"))[0]
    assert last == [1, pytest.approx(1 / 3, rel=1e-3), pytest.approx(8 / 3, rel=1e-3)]
    expect(seed.status).to_contain_text("2 ran, 2 cached")


def test_a_dtype_error_stands_at_its_port(seed: Desk) -> None:
    seed.run()
    seed.choose("dtype", "const_2", "float32")
    seed.expect_states(const_2="stale", sparse_segment_mean_grad="stale")
    block = seed.block("sparse_segment_mean_grad")
    expect(block.get_by_role("note")).to_contain_text("indices")
    expect(block.get_by_role("note")).to_contain_text("float32")
    expect(block.locator(".port.input.bad .port-name")).to_have_text("indices")
    expect(seed.status).to_contain_text("1 problem")
    ended = seed.run()
    assert ended["state"] == "failed"
    seed.expect_states(sparse_segment_mean_grad="error")
    seed.choose("dtype", "const_2", "int32")
    expect(block.get_by_role("note")).to_have_count(0)
    assert seed.run()["state"] == "done"
    assert numbers(seed.rows("sparse_segment_mean_grad")) == RESULT


def test_a_wire_that_does_not_fit_says_why_and_is_not_drawn(seed: Desk) -> None:
    before = seed.text()
    seed.dot("const.output", "output").click()
    unfit = seed.dot("sparse_segment_mean_grad.indices", "input")
    unfit.hover()
    expect(seed.page.get_by_role("tooltip")).to_contain_text("float64")
    unfit.click()
    expect(seed.toasts).to_contain_text("const.output does not fit sparse_segment_mean_grad.indices")
    seed.page.keyboard.press("Escape")
    assert seed.text() == before


def test_undo_all_the_way_back_and_forward_gives_the_same_bytes(desk: Desk) -> None:
    empty = desk.text()
    build(desk)
    built = desk.text()
    undo, redo = desk.page.get_by_title("(Ctrl+Z)"), desk.page.get_by_title("(Ctrl+Shift+Z)")
    steps = 0
    while undo.is_enabled():
        undo.click()
        steps += 1
    assert steps == 14  # four blocks, four values, three dtypes, three wires
    assert desk.text() == empty
    for _ in range(steps):
        redo.click()
    assert redo.is_disabled()
    assert desk.text() == built
    desk.checked()
    desk.run()
    assert numbers(desk.rows("sparse_segment_mean_grad")) == RESULT


# ---------------------------------------------------------------------- keyboard
@pytest.fixture
def no_mouse(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on a use of the mouse is a fault of the test."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a mouse was used")

    monkeypatch.setattr(Page, "mouse", property(refuse))
    for name in ("click", "dblclick", "hover", "drag_to", "tap", "select_option", "check", "fill"):
        monkeypatch.setattr("playwright.sync_api.Locator." + name, refuse)


@pytest.mark.usefixtures("no_mouse")
def test_by_keyboard_alone(desk: Desk) -> None:
    press, typed = desk.page.keyboard.press, desk.page.keyboard.type

    def add(op: str) -> None:
        before = desk.blocks.count()
        press("Space")
        expect(desk.page.get_by_role("combobox", name="Find a block")).to_be_focused()
        typed(op)
        expect(desk.page.locator("#quick-0")).to_be_visible()
        press("Enter")
        expect(desk.blocks).to_have_count(before + 1)

    def retype(text: str) -> None:
        press("Control+A")
        typed(text)
        press("Enter")

    add("SparseSegmentMeanGrad")
    add("Const")
    # The constant's settings, in its block.
    desk.tab_to("value of const")
    retype("[[1, 2, 3], [4, 4, 2], [3, 1, 5]]")
    desk.tab_to("dtype of const")
    typed("float64")
    expect(desk.field("dtype", "const")).to_have_value("float64")
    # Its wire: from the dot, through the list of the ports that fit.
    desk.tab_to("Output output of const,", back=True)
    press("Enter")
    connect = desk.dialog("Connect const.output")
    expect(connect.get_by_role("option").first).to_be_visible()
    typed("mean_grad.grad")
    press("Enter")
    expect(connect).to_be_hidden()
    # The other inputs, in the outline.
    press("Escape")
    press("o")
    desk.tab_to("sparse_segment_mean_grad", back=True)
    press("ArrowRight")
    for port, text in (("indices", "[0, 1, 2]"), ("segment_ids", "[2, 2, 2]"), ("output_dim0", "3")):
        line = f"sparse_segment_mean_grad.in.{port}"
        desk.press_until("ArrowDown", line)
        press("Enter")
        expect(desk.page.locator(".line-field input")).to_be_focused()
        retype(text)
        expect(desk.page.locator(f'[data-line="{line}"]')).to_be_focused()
    desk.checked()
    ended = desk.finished(lambda: press("Control+Enter"))
    assert ended["state"] == "done"
    assert numbers(desk.rows("sparse_segment_mean_grad")) == RESULT
