"""Time in the page: a training is drawn by mouse, its runs are made, its curve is read, scrubbed and compared."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, expect

from .conftest import Studio
from .desk import Desk


@pytest.fixture
def wide(studio: Studio, open_desk: Callable[..., Desk]) -> Desk:
    """A window with room for a dozen blocks."""
    return open_desk(studio.address, viewport={"width": 2000, "height": 1200})


def add_run(desk: Desk, name: str, fetch: list[str]) -> Locator:
    desk.page.keyboard.press("Escape")
    runs = desk.inspector.get_by_role("region", name="Runs")
    runs.get_by_role("button", name="Add a run").click()
    field = runs.get_by_label("Name of the run main")
    field.fill(name)
    field.press("Enter")
    run = runs.get_by_role("group", name=f"Run {name}")
    for other in run.get_by_role("button", name=re.compile(f" out of what {name} fetches$")).all():
        other.click()
    for node in fetch:
        run.get_by_label(f"Add to what {name} fetches").select_option(node)
    return run


def test_logistic_regression_from_an_empty_page(wide: Desk) -> None:
    desk = wide
    blocks = ["VariableV2", "Assign", "MatMul", "Sigmoid", "Sub", "Square", "Mean", "Mul", "AssignSub"]
    for place, op in enumerate(blocks):
        desk.add(op, (300 + 330 * (place % 4), 100 + 330 * (place // 4)))
    desk.write("shape", "variable_v2", "[2, 1]")
    desk.write("value", "assign", "[[0.5], [-0.5]]")
    desk.write("a", "mat_mul", "[[1.0, 2], [1, -1], [1, 0.5], [1, -2]]")
    desk.write("y", "sub", "[[1.0], [0], [1], [0]]")
    desk.write("axis", "mean", "[0, 1]")
    desk.write("y", "mul", "2.0")
    wires = [("variable_v2.ref", "assign.ref"), ("variable_v2.ref", "mat_mul.b"), ("mat_mul.product", "sigmoid.x")]
    wires += [
        ("sigmoid.y", "sub.x"),
        ("sub.z", "square.x"),
        ("square.y", "mean.input"),
        ("variable_v2.ref", "assign_sub.ref"),
    ]
    for source, target in wires:
        desk.wire(source, target)
    desk.checked()
    desk.button("Differentiate").click()
    dialog = desk.dialog("Differentiate")
    dialog.get_by_label("Gradient of").select_option("mean.output")
    dialog.get_by_role("checkbox", name=re.compile(r"^variable_v2")).check()
    dialog.get_by_role("button", name="Differentiate", exact=True).click()
    expect(dialog).to_be_hidden()
    desk.page.keyboard.press("f")
    desk.come_to_rest()
    desk.wire("d_mean_d_variable_v2.output", "mul.x")
    desk.wire("mul.z", "assign_sub.value")
    desk.checked()
    expect(desk.status).to_contain_text("No problems")

    add_run(desk, "init", ["assign"])
    train = add_run(desk, "train", ["mean", "assign_sub"])
    train.get_by_label("in a loop").check()
    rounds = train.get_by_label("Rounds of train")
    rounds.fill("40")
    rounds.press("Enter")
    desk.run()
    panel = desk.page.get_by_role("region", name="Rounds of the loop")
    expect(panel).to_be_visible()
    panel.get_by_label("What the curve shows").select_option("mean.output")
    said = panel.get_by_label("Value in this round")
    expect(said).to_contain_text("round 40")
    last = value(said)
    panel.get_by_label("Round", exact=True).fill("9")
    expect(said).to_contain_text("round 10")
    tenth = value(said)
    assert tenth > last
    shown = desk.block("mean").locator(".preview-scalar")
    expect(shown).to_have_text(re.compile(f"^{re.escape(f'{tenth:.3f}'[:4])}"))
    panel.get_by_role("button", name="Back to the last").click()
    expect(said).to_contain_text("round 40")

    before = said.inner_text()
    panel.get_by_role("button", name="Pin").click()
    desk.write("y", "mul", "0.1")
    desk.checked()
    desk.run()
    expect(panel.locator("polyline.ghost")).to_have_count(1)
    expect(said).not_to_have_text(before)
    expect(said).to_contain_text("round 40")
    assert value(said) > last  # learning more slowly
    assert panel.locator("polyline.ghost").get_attribute("points") != panel.locator("polyline.curve").get_attribute(
        "points"
    )


def value(said: Locator) -> float:
    return float(said.inner_text().rpartition(": ")[2])


def test_a_placeholder_is_fed_in_a_run(own_desk: Desk) -> None:
    desk = own_desk
    desk.add("Placeholder", (320, 120))
    desk.choose("dtype", "placeholder", "float32")
    desk.add("Neg", (620, 120))
    desk.wire("placeholder.output", "neg.x")
    run = add_run(desk, "main_run", ["neg"])
    feed = run.get_by_label("What main_run feeds placeholder")
    feed.fill("[1.5, -2]")
    feed.press("Enter")
    desk.checked()
    assert desk.run()["state"] == "done"
    expect(desk.block("neg").locator(".preview-vector")).to_have_text(re.compile(r"-1\.5\s*2"))
