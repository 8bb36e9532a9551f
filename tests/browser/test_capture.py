"""A training step of PyTorch, recorded and looked at in the studio."""

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import pytest
from playwright.sync_api import expect

import gradbag

from .conftest import Studio, start
from .desk import Desk


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch = import_module("torch")
    torch.manual_seed(1)
    model = torch.nn.ModuleDict(
        {"films": import_module("gradbag.torch").EmbeddingBag(1000, 8, sparse=True), "users": torch.nn.Embedding(50, 8)}
    )
    optimizer = torch.optim.SGD(model.parameters(), 0.05)
    with gradbag.capture(model) as seen:
        for step in range(6):
            optimizer.zero_grad()
            ids = torch.tensor([3, 17, 3, 900 + step])
            pooled = model["films"](ids, torch.tensor([0, 3, 3])) * model["users"](torch.tensor([1, 2, 4]))
            (pooled * torch.tensor([[1.0], [1.0], [170.0]])).sum().backward()
            optimizer.step()
    path = tmp_path_factory.mktemp("record") / "seen.gbcap"
    seen.save(path)
    return path


@pytest.fixture
def opened(record: Path, tmp_path: Path) -> Iterator[Studio]:
    studio = start(record, tmp_path / "state")
    yield studio
    studio.stop()


def test_a_training_of_pytorch_is_looked_at(opened: Studio, open_desk: Callable[..., Desk], tmp_path: Path) -> None:
    page = open_desk(opened.address).page
    view = page.get_by_role("region", name="Record seen.gbcap")
    expect(view).to_contain_text("6 steps")
    expect(view.get_by_role("button", name="films")).to_contain_text("8 touched, 992 never")
    facts = view.locator(".capture-facts")
    expect(facts).to_contain_text("empty bags1")
    expect(facts).to_contain_text("ids twice in a bag1")
    expect(view.get_by_role("img", name="Rows that were looked up: 8 of 1000")).to_be_visible()
    expect(view.locator("figcaption")).to_contain_text("0 to 2, 4 to 16, 18 to 899, 906 to 999")
    table = view.get_by_role("table", name="The largest gradients of films in step 6")
    first = table.locator("tbody tr").first
    expect(first.locator("th")).to_have_text("905")  # far beyond the median, by the third bag
    expect(first.locator(".bag")).to_have_text("2905")
    expect(table.locator("tbody tr", has=page.get_by_role("rowheader", name="3", exact=True))).to_contain_text("03173")

    view.get_by_role("slider", name="Step", exact=True).fill("1")
    expect(view.get_by_role("table", name="The largest gradients of films in step 2")).to_be_visible()
    expect(view.locator("tbody tr th").first).to_have_text("901")
    view.get_by_role("button", name="users").click()
    rows = view.get_by_role("table", name="The largest gradients of users in step 2").locator("tbody th")
    expect(rows).to_have_text(["4", "1"])  # the second bag is empty, and its user learns nothing
    view.get_by_role("button", name="films").click()
    page.screenshot(path=str(tmp_path / "capture.png"))

    page.get_by_role("button", name="Back to the page").click()
    expect(view).to_be_hidden()
    page.get_by_role("tab", name="Files").click()
    page.get_by_role("button", name="seen.gbcap").click()
    expect(view).to_be_visible()


def test_a_damaged_record_says_so(studio: Studio, open_desk: Callable[..., Desk]) -> None:
    (studio.folder / "bad.gbcap").write_bytes(b"nothing")
    page = open_desk(f"{studio.address}&capture=bad.gbcap").page
    expect(page.get_by_role("alert")).to_contain_text("bad.gbcap is no record of gradbag.capture")
