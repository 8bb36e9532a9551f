"""Running: all, up to here, step by step, in a loop, stopped, and struck down."""

import json
import os
import re
import signal
from pathlib import Path

import pytest
from playwright.sync_api import expect

from gradbag.page.declared import GRADIENT
from gradbag.spec import registry

from .conftest import Studio
from .desk import Desk

CHAIN = {
    "first": {"op": "Const", "attrs": {"dtype": "float32", "value": [1, 2, 3]}},
    "second": {"op": "Neg", "in": {"x": {"from": "first"}}},
    "third": {"op": "Exp", "in": {"x": {"from": "second"}}},
    "beside": {"op": "Square", "in": {"x": {"from": "first"}}},
}
CHAIN_LAYOUT = {"first": [0, 0], "second": [240, 0], "third": [480, 0], "beside": [240, 200]}
COUNTER = {
    "count": {"op": "VariableV2", "attrs": {"shape": [], "dtype": "int32"}},
    "start": {"op": "Assign", "in": {"ref": {"from": "count"}, "value": 0}},
    "next": {"op": "AssignAdd", "in": {"ref": {"from": "count"}, "value": 1}},
}
COUNTER_LAYOUT = {"count": [0, 0], "start": [260, 0], "next": [260, 240]}


@pytest.fixture
def chain(own_desk: Desk) -> Desk:
    own_desk.paste(nodes=CHAIN, layout=CHAIN_LAYOUT)
    own_desk.page.keyboard.press("Escape")
    return own_desk


@pytest.fixture
def counter(own_desk: Desk) -> Desk:
    """A variable that was set to zero, and a block that adds one to it."""
    own_desk.paste(nodes=COUNTER, layout=COUNTER_LAYOUT)
    own_desk.page.keyboard.press("Escape")
    own_desk.run_to("start")
    own_desk.block("start").locator(".block-title").click()
    own_desk.page.keyboard.press("Delete")
    expect(own_desk.blocks).to_have_count(2)
    own_desk.checked()
    return own_desk


def test_run_up_to_here_then_all_then_again(chain: Desk) -> None:
    assert chain.run_to("second")["ran"] == 2
    chain.expect_states(first="done", second="done", third="idle", beside="idle")
    ended = chain.run()
    assert (ended["ran"], ended["cached"]) == (2, 2)
    chain.expect_states(first="cached", second="cached", third="done", beside="done")
    assert chain.run()["ran"] == 0
    chain.expect_states(first="cached", second="cached", third="cached", beside="cached")
    expect(chain.block("third").locator(".badge")).to_have_text("cached")


def test_an_edit_marks_what_is_stale_and_undo_takes_the_mark_away(chain: Desk) -> None:
    chain.run()
    chain.block("second").locator(".block-title").click()
    chain.dot("second.x", "input").click()  # a wire picked up changes nothing
    chain.page.keyboard.press("Escape")
    chain.expect_states(first="done", second="done", third="done", beside="done")
    chain.write("value", "first", "[1, 2, 4]")
    chain.expect_states(first="stale", second="stale", third="stale", beside="stale")
    expect(chain.block("third").locator(".badge")).to_have_text("stale")
    chain.field("value", "first").blur()
    chain.page.get_by_title("(Ctrl+Z)").click()
    chain.expect_states(first="done", second="done", third="done", beside="done")


def test_step_by_step(chain: Desk) -> None:
    step = chain.page.get_by_role("button", name=re.compile("^Step( on)?$"))
    for done in range(1, 5):
        with chain.page.expect_response("**/api/step"):
            step.click()
        expect(chain.page.locator('.block[data-state="done"]')).to_have_count(done)
    expect(chain.status).not_to_contain_text("next is")
    chain.expect_states(first="done", second="done", third="done", beside="done")


def test_a_loop_runs_n_times(counter: Desk) -> None:
    counter.page.get_by_label("How many times to loop").fill("7")
    ended = counter.finished(counter.button("Loop 7 times").click)
    assert ended["state"] == "done"
    expect(counter.block("next").locator(".preview-scalar")).to_have_text("7")
    counter.run()
    expect(counter.block("next").locator(".preview-scalar")).to_have_text("8")


def test_a_long_run_is_stopped(counter: Desk) -> None:
    counter.page.get_by_label("How many times to loop").fill("1000000")
    counter.button("Loop 1000000 times").click()
    expect(counter.status).to_contain_text(re.compile(r"round \d+ of 1000000"))
    ended = counter.finished(counter.button("Stop").click)
    assert ended["state"] == "stopped"
    expect(counter.status).to_contain_text("stopped")
    assert counter.run()["state"] == "done"


def seconds_used(process: str) -> int:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def busiest_child(process: int) -> int:
    """The child that computes, by its processor time."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return int(max(children, key=seconds_used))


def test_a_worker_struck_down_shows_an_error_at_the_block_and_the_page_lives(own_desk: Desk, studio: Studio) -> None:
    desk = own_desk
    nodes = {
        "many": {"op": "Fill", "in": {"dims": [4000, 4000], "value": {"value": 1, "dtype": "float64"}}},
        "product": {"op": "MatMul", "in": {"a": {"from": "many"}, "b": {"from": "many"}}},
        "small": {"op": "Fill", "in": {"dims": [2], "value": 5}},
    }
    desk.paste(nodes=nodes, layout={"many": [0, 0], "product": [280, 0], "small": [0, 260]})
    desk.page.keyboard.press("Escape")
    desk.block("product").locator(".block-title").click()
    desk.page.keyboard.press("Shift+Enter")
    desk.expect_states(product="running")

    def strike() -> None:
        os.kill(busiest_child(studio.process.pid), signal.SIGKILL)

    ended = desk.finished(strike)
    assert ended["state"] == "failed"
    desk.expect_states(product="error")
    expect(desk.block("product").get_by_role("note")).to_contain_text(re.compile("stopped|ended|killed|died"))
    expect(desk.toasts).to_contain_text("has been started again")
    assert desk.run_to("small")["state"] == "done"
    desk.expect_states(small="done")


# The user has to say which variable, or with which value.
ASKING = [op.name for op in registry if op.state or op.updates]
# Or of what, and by what.
ASKING.append(GRADIENT.name)


def test_every_block_of_the_catalogue_runs_at_once(own_desk: Desk, studio: Studio) -> None:
    """Dropped from the list of blocks onto one page, and not touched."""
    catalogue = own_desk.page.request.get(f"{studio.origin}api/catalogue").json()
    titles = [op["title"] for op in catalogue["ops"] if op["name"] not in ASKING]
    assert len(titles) > 100
    own_desk.page.locator("details.category button.op").evaluate_all(
        """(all, titles) => all.filter(one => titles.includes(one.querySelector(".op-title").textContent))
            .forEach(one => one.click())""",
        titles,
    )
    expect(own_desk.status).to_contain_text(f"{len(titles)} blocks")  # those out of view are not drawn
    own_desk.checked()
    expect(own_desk.status).to_contain_text("No problems")
    ended = own_desk.run()
    assert (ended["state"], ended["ran"] + ended["cached"]) == ("done", len(titles))
    expect(own_desk.page.locator('[data-node]:not([data-state="done"], [data-state="cached"])')).to_have_count(0)


def test_what_a_page_expects_is_judged_after_each_run(own_desk: Desk) -> None:
    document = {
        "format": "gradbag-page/1",
        "nodes": {
            "two": {"op": "Const", "attrs": {"dtype": "float32", "value": [2, 3]}},
            "square": {"op": "Square", "in": {"x": {"from": "two"}}},
        },
        "expect": {"square": [4, 8]},
        "layout": {"two": [0, 0], "square": [260, 0]},
    }
    own_desk.bring("squares.page.json", json.dumps(document).encode())
    expect(own_desk.block("square")).to_be_attached()
    own_desk.checked()
    own_desk.button("Run").click()
    own_desk.finished(own_desk.dialog("Run this page?").get_by_role("button", name="Run it").click)
    verdicts = own_desk.inspector.locator(".inspector-expect")
    expect(verdicts).to_contain_text("square[1] is 9.0, not 8.0")
    own_desk.write("value", "two", "[2, 2]")
    expect(verdicts).to_contain_text("changed since the last run")
