"""Pages in files: saved, exported, brought back, shared by two tabs, and there again after a crash."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import expect

from gradbag.graph import ClientSession, load_graphdef

from .conftest import Studio
from .desk import Desk, content, numbers

MEAN_GRAD = [[1, pytest.approx(1 / 3, rel=1e-3), pytest.approx(5 / 3, rel=1e-3)]] * 3
ROOT = pytest.approx(2**-0.5, rel=1e-3)
SQRT_N_GRAD = [[ROOT, pytest.approx(2**0.5, rel=1e-3), pytest.approx(3 * 2**-0.5, rel=1e-3)]] * 2 + [[3, 1, 5]]
SEED = "SparseSegmentMeanGrad"


def python(program: str, *arguments: Path) -> None:
    command = [sys.executable, "-c", program, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


ALL_IN_VIEW = """() => {
    const canvas = document.querySelector(".canvas").getBoundingClientRect();
    const inView = (block) => {
        const { top, bottom, left, right } = block.getBoundingClientRect();
        return top >= canvas.top && bottom <= canvas.bottom && left >= canvas.left && right <= canvas.right;
    };
    const blocks = [...document.querySelectorAll(".react-flow__node-block")];
    return blocks.length > 3 && blocks.every(inView);
}"""


def test_the_seed_pages_come_first_and_show_their_results(desk: Desk) -> None:
    examples = desk.page.get_by_role("region", name="An empty page").get_by_role("listitem")
    assert examples.all_inner_texts()[:2] == [SEED, "SparseSegmentSqrtNGrad"]
    desk.open_example(SEED)
    assert numbers(desk.rows("mean_grad")) == MEAN_GRAD
    desk.menu("File", "New page")
    desk.open_example("SparseSegmentSqrtNGrad")
    assert numbers(desk.rows("sqrt_n_grad")) == SQRT_N_GRAD


def test_a_first_visit_finds_the_seed_page_with_its_results(studio: Studio, open_desk: Callable[..., Desk]) -> None:
    desk = open_desk(f"{studio.address}&first")
    expect(desk.block("mean_grad")).to_have_attribute("data-state", "done")
    assert numbers(desk.rows("mean_grad")) == MEAN_GRAD
    desk.page.wait_for_function(ALL_IN_VIEW)  # though the blocks have grown by their values
    desk.save_as("mine")
    again = open_desk(desk.page.url.partition("#")[0], beside=desk)
    expect(again.page.get_by_role("region", name="An empty page")).to_be_visible()  # there is work of one's own now


# ---------------------------------------------------------------------- saving, and ways out
def test_saved_reloaded_and_exported_to_python_with_the_same_bits(
    own_desk: Desk, studio: Studio, tmp_path: Path
) -> None:
    desk = own_desk
    desk.open_example(SEED)
    desk.save_as("mine")
    file = studio.folder / "mine.page.json"
    assert desk.text() == file.read_bytes()
    desk.page.reload()
    expect(desk.block("mean_grad")).to_be_visible()
    assert desk.text() == file.read_bytes()

    name, script = desk.exported("Python")
    assert name.endswith(".py")
    (tmp_path / "script.py").write_bytes(script)
    desk.checked()
    desk.run()
    assert numbers(desk.rows("mean_grad")) == MEAN_GRAD
    desk.block("mean_grad").locator(".block-title").click()
    with desk.page.expect_download() as download:
        desk.inspector.get_by_role("link", name="Save .npy").click()
    (tmp_path / "shown.npy").write_bytes(content(download.value))
    program = "import runpy, sys, numpy; numpy.save(sys.argv[2], runpy.run_path(sys.argv[1])['mean_grad'])"
    python(program, tmp_path / "script.py", tmp_path / "computed.npy")
    shown, computed = np.load(tmp_path / "shown.npy"), np.load(tmp_path / "computed.npy")
    assert (shown.dtype, shown.shape, shown.tobytes()) == (computed.dtype, computed.shape, computed.tobytes())
    np.testing.assert_allclose(shown, [[1, 1 / 3, 5 / 3]] * 3, rtol=1e-15)


THEIRS = """
import sys
import numpy as np, tensorflow as tf
exported, values, written = sys.argv[1:]
v1 = tf.compat.v1
with v1.Session(graph=tf.Graph()) as session:
    definition = v1.GraphDef.FromString(open(exported, "rb").read())
    tf.import_graph_def(definition, name="")
    np.save(values, session.run("mean_grad:0"))
with tf.Graph().as_default() as graph:
    grad = tf.constant([[1, 2, 3], [4, 4, 2], [3, 1, 5]], tf.float64, name="grad")
    indices, ids = tf.constant([0, 1, 2], name="indices"), tf.constant([0, 0, 2], name="ids")
    tf.raw_ops.SparseSegmentSqrtNGrad(grad=grad, indices=indices, segment_ids=ids, output_dim0=3, name="root")
open(written, "wb").write(graph.as_graph_def().SerializeToString())
"""


@pytest.mark.slow
def test_graphdefs_go_to_tensorflow_and_come_from_it(own_desk: Desk, tmp_path: Path) -> None:
    desk = own_desk
    desk.open_example(SEED)
    _, exported = desk.exported("GraphDef")
    graph = load_graphdef(exported)
    ours = ClientSession(graph).run(fetches="mean_grad")
    np.testing.assert_allclose(ours, [[1, 1 / 3, 5 / 3]] * 3, rtol=1e-15)

    (tmp_path / "ours.pb").write_bytes(exported)
    python(THEIRS, tmp_path / "ours.pb", tmp_path / "values.npy", tmp_path / "theirs.pb")
    np.testing.assert_allclose(np.load(tmp_path / "values.npy"), ours, rtol=1e-15)

    desk.bring("theirs.pb", (tmp_path / "theirs.pb").read_bytes())
    expect(desk.block("root")).to_be_visible()
    expect(desk.toasts).to_contain_text("theirs.pb has 4 blocks")
    desk.checked()
    desk.button("Run").click()
    desk.finished(desk.dialog("Run this page?").get_by_role("button", name="Run it").click)
    assert numbers(desk.rows("root")) == SQRT_N_GRAD


@pytest.mark.parametrize("kind", ["SVG picture", "PNG picture"])
def test_a_picture_holds_its_page(desk: Desk, kind: str) -> None:
    desk.open_example(SEED)
    before = desk.text()
    name, picture = desk.exported(kind)
    assert name.endswith(".svg" if kind.startswith("SVG") else ".png")
    desk.menu("File", "New page")
    expect(desk.blocks).to_have_count(0)
    desk.drop(name, picture)
    expect(desk.blocks).to_have_count(4)
    expect(desk.toasts).to_contain_text(f"taken from the picture {name}")
    assert desk.text() == before
    desk.menu("File", "New page")
    desk.dialog("Save the changes first?").get_by_role("button", name="Leave without saving").click()
    expect(desk.blocks).to_have_count(0)
    desk.bring(name, picture)
    expect(desk.blocks).to_have_count(4)
    assert desk.text() == before


def test_a_file_that_is_none_says_so_and_changes_nothing(desk: Desk) -> None:
    desk.bring("words.png", b"\x89PNG\r\n\x1a\nno picture at all")
    expect(desk.toasts).to_contain_text("Could not open words.png")
    expect(desk.page.get_by_role("region", name="An empty page")).to_be_visible()


# ---------------------------------------------------------------------- two tabs, crashes, strangers
def test_a_stale_tab_is_told_and_overwrites_nothing(
    own_desk: Desk, studio: Studio, open_desk: Callable[..., Desk]
) -> None:
    first, file = own_desk, studio.folder / "mine.page.json"
    first.open_example(SEED)
    first.save_as("mine")
    second = open_desk(f"{studio.origin}#page=mine.page.json", beside=first)
    expect(second.block("mean_grad")).to_be_visible()
    first.page.bring_to_front()
    first.write("output_dim0", "mean_grad", "4")
    first.save()
    expect(first.page.locator(".save-mark")).to_have_count(0)
    saved = file.read_bytes()
    assert b'"output_dim0": 4' in saved

    second.page.bring_to_front()
    second.write("output_dim0", "mean_grad", "5")
    second.save()
    dialog = second.dialog("This page was saved elsewhere meanwhile")
    expect(dialog).to_be_visible()
    assert file.read_bytes() == saved
    dialog.get_by_label("Name for a copy").fill("other")
    dialog.get_by_role("button", name="Save a copy").click()
    expect(second.page.locator(".where .path")).to_have_text("other.page.json")
    expect(second.page.locator(".save-mark")).to_have_count(0)
    assert file.read_bytes() == saved
    assert b'"output_dim0": 5' in (studio.folder / "other.page.json").read_bytes()


@pytest.mark.parametrize("saved", [True, False], ids=["in a file", "untitled"])
def test_work_survives_the_death_of_the_server(
    saved: bool, start_studio: Callable[[], Studio], open_desk: Callable[..., Desk]
) -> None:
    studio = start_studio()
    desk = open_desk(studio.address)
    desk.open_example(SEED)
    if saved:
        desk.save_as("mine")
    desk.write("output_dim0", "mean_grad", "6")
    expect(desk.page.locator(".save-mark")).to_have_text("edited, kept safe")
    before = desk.text()
    studio.kill()
    expect(desk.status).to_contain_text("connection lost")

    later = open_desk(start_studio().address)
    later.page.keyboard.press("Control+O")
    files = later.page.get_by_role("tabpanel")
    unsaved = files.locator("section", has_text="Not saved yet").locator(".file")  # by its title, if it has no name
    (files.get_by_role("button", name=re.compile("^mine.page.json")) if saved else unsaved).first.click()
    if saved:
        later.dialog("There is work that was not saved").get_by_role("button", name="Recover it").click()
    expect(later.field("output_dim0", "mean_grad")).to_have_value("6")
    assert later.text() == before


def test_tabs_come_back_by_themselves_and_two_tabs_lose_nothing(
    start_studio: Callable[..., Studio], open_desk: Callable[..., Desk]
) -> None:
    studio = start_studio()
    desk = open_desk(studio.address)
    desk.open_example(SEED)
    desk.save_as("mine")
    beside = open_desk(f"{studio.origin}#page=mine.page.json", beside=desk)
    desk.write("output_dim0", "mean_grad", "6")
    expect(desk.page.locator(".save-mark")).to_have_text("edited, kept safe")
    beside.write("output_dim0", "mean_grad", "7")
    expect(beside.page.locator(".save-mark")).to_have_text("edited, kept safe")
    expect(beside.toasts).to_contain_text("edited in another tab as well")
    studio.kill()
    expect(desk.status).to_contain_text("connection lost")

    again = start_studio(studio.port)
    for tab, value in ((desk, "6"), (beside, "7")):
        tab.ready()
        expect(tab.field("output_dim0", "mean_grad")).to_have_value(value)
    # And both states are offered to whoever comes later.
    later = open_desk(again.address)
    later.page.keyboard.press("Control+O")
    unsaved = later.page.get_by_role("tabpanel").locator("section", has_text="Not saved yet").locator(".file")
    expect(unsaved).to_have_count(2)
    desk.run()


def test_a_foreign_page_asks_before_its_first_run(own_desk: Desk, studio: Studio) -> None:
    desk = own_desk
    page = {"format": "gradbag-page/1", "nodes": {"five": {"op": "Fill", "in": {"dims": [2], "value": 5}}}}
    (studio.folder / "found.page.json").write_text(json.dumps(page))
    desk.page.keyboard.press("Control+O")
    desk.open_file("found.page.json")
    desk.checked()
    question = desk.dialog("Run this page?")
    desk.button("Run").click()
    question.get_by_role("button", name="Not now").click()
    expect(question).to_be_hidden()
    desk.expect_states(five="idle")
    desk.button("Run").click()
    desk.finished(question.get_by_role("button", name="Run it").click)
    desk.expect_states(five="done")
    assert desk.run()["state"] == "done"
    expect(desk.page.get_by_role("dialog")).to_have_count(0)


def test_delete_goes_to_the_trash_and_rename_keeps_the_page(own_desk: Desk, studio: Studio) -> None:
    desk = own_desk
    desk.open_example(SEED)
    desk.save_as("mine")
    text = (studio.folder / "mine.page.json").read_bytes()
    desk.page.keyboard.press("Control+O")
    files = desk.page.get_by_role("tabpanel")
    files.get_by_role("button", name="Rename mine.page.json").click()
    rename = desk.dialog(re.compile("^Rename"))
    rename.get_by_role("textbox").fill("yours")
    rename.get_by_role("button", name="Rename", exact=True).click()
    files.get_by_role("button", name="Delete yours.page.json").click()
    assert (studio.folder / "yours.page.json").read_bytes() == text
    desk.dialog("Delete this page?").get_by_role("button", name="Delete", exact=True).click()
    expect(desk.toasts).to_contain_text("yours.page.json is in the folder's trash")
    assert not (studio.folder / "yours.page.json").exists()
    assert text in [kept.read_bytes() for kept in (studio.folder / ".gradbag" / "trash").rglob("*") if kept.is_file()]
    expect(desk.block("mean_grad")).to_be_visible()
