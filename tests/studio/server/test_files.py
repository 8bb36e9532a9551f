"""The folder: rows 9 and 14 of the defences, and what is foreign."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gradbag import page as pages
from gradbag.page import data_files
from gradbag.studio.answers import Refused
from gradbag.studio.files import OWN, Folder, Stale, digest
from gradbag.studio.journal import Journal
from gradbag.studio.limits import Limits

from .conftest import Start
from .served import MEAN_GRAD, Served, const, error, page

EXAMPLES = Path(pages.__file__).parent.parent / "examples"
OUTSIDE = [
    "../x.page.json",
    "..%2fx.page.json",
    "%2e%2e%2fx.page.json",
    "%2e%2e/x.page.json",
    "..%5cx.page.json",
    "a/../../x.page.json",
    "/etc/passwd",
    "//etc/passwd",
    "/x.page.json",
    "%2fetc%2fpasswd",
    "%5c%5chost%5cshare%5cx.page.json",
    "c:x.page.json",
    "C%3a%5cx.page.json",
    "~/x.page.json",
    "~root/x.page.json",
    "a~1.page.json",
    "x%00.page.json",
    "x%0a.page.json",
    "x%7f.page.json",
    "nul.page.json",
    "con/x.page.json",
    "a./x.page.json",
    "a /x.page.json",
    ".gradbag/trusted",
    ".gradbag/x.page.json",
    ".GRADBAG/x.page.json",
    ".hidden.page.json",
    "x.json",
    "x.page.json/",
    "",
    "n" * 4096 + ".page.json",
    "n" * 250 + ".page.json",
    "%ff%fe.page.json",
    "../pages-secret/x.page.json",
]


# ------------------------------------------------------------------ 9: names
@pytest.mark.parametrize("name", OUTSIDE)
def test_names_that_lead_elsewhere_are_refused(served: Served, name: str) -> None:
    secret = served.folder.parent / "pages-secret"
    secret.mkdir(exist_ok=True)
    (secret / "x.page.json").write_text("{}")
    own = served.folder / OWN  # the lock that a request takes before its name is looked at lies there

    def there() -> list[Path]:
        return sorted(path for path in served.folder.parent.rglob("*") if path not in (own, own / "lock"))

    before = there()
    head = f"Host: 127.0.0.1:{served.port}\r\nCookie: {served.cookie}\r\nOrigin: {served.base}\r\nX-Gradbag: 1\r\n"
    body = b'{"page": {}, "version": null, "sequence": 1}'
    for method, place in (("GET", "file"), ("PUT", "file"), ("DELETE", "file"), ("POST", "journal")):
        length = f"Content-Length: {0 if method == 'GET' else len(body)}\r\nContent-Type: application/json\r\n\r\n"
        request = f"{method} /api/{place}/{name} HTTP/1.1\r\n{head}{length}".encode()
        status, answer = served.raw(request + (b"" if method == "GET" else body))
        assert status in (400, 403, 404), answer
    answered = served.post("/api/rename", path="a.page.json", to=name)
    assert error(answered)["kind"] in ("name", "missing")
    assert there() == before


def test_links_are_not_followed(served: Served) -> None:
    outside = served.folder.parent / "outside"
    outside.mkdir(exist_ok=True)
    (outside / "x.page.json").write_text(pages.text(pages.Page(MEAN_GRAD)))
    (served.folder / "link.page.json").symlink_to(outside / "x.page.json")
    (served.folder / "folder").symlink_to(outside)
    for name in ("link.page.json", "folder/x.page.json"):
        assert served.get(f"/api/file/{name}").status_code == 403
        assert served.put(name, MEAN_GRAD, force=True).status_code == 403
        assert served.client.delete(f"/api/file/{name}").status_code == 403
    assert "link.page.json" not in served.get("/api/files").text
    assert [place.name for place in outside.iterdir()] == ["x.page.json"]


def test_pipes_and_folders_are_no_pages(served: Served) -> None:
    os.mkfifo(served.folder / "pipe.page.json")
    (served.folder / "folder.page.json").mkdir()
    for name in ("pipe.page.json", "folder.page.json"):
        assert served.get(f"/api/file/{name}").status_code == 403
        assert served.put(name, MEAN_GRAD).status_code == 403


def test_names_that_differ_in_case_alone_are_one_too_many(served: Served) -> None:
    assert served.put("Case.page.json", MEAN_GRAD).status_code == 200
    assert error(served.put("case.page.json", MEAN_GRAD))["kind"] == "name"


def test_names_may_be_in_any_language(served: Served) -> None:
    for name in (
        "Größe/Übung 1.page.json",
        "勾配.page.json",
        "a+b%25.page.json",
        "<img src=x onerror=alert(1)>.page.json",
    ):
        assert served.put(name, MEAN_GRAD).status_code == 200
    assert "Größe/Übung 1.page.json" in [found["path"] for found in served.get("/api/files").json()["pages"]]


# ------------------------------------------------------------------ saving
def test_saved_pages_are_canonical_and_listed(served: Served) -> None:
    answer = served.put("saved.page.json", MEAN_GRAD)
    assert answer.status_code == 200
    content = (served.folder / "saved.page.json").read_bytes()
    assert content.decode() == pages.text(pages.Page(MEAN_GRAD))
    opened = served.get("/api/file/saved.page.json").json()
    assert opened["version"] == answer.json()["version"] == digest(content)
    assert opened["page"] == answer.json()["page"] == MEAN_GRAD
    assert opened["trusted"] is True
    assert opened["recovered"] is None
    [listed] = [one for one in served.get("/api/files").json()["pages"] if one["path"] == "saved.page.json"]
    assert listed == {
        "path": "saved.page.json",
        "title": MEAN_GRAD["title"],
        "version": opened["version"],
        "problems": False,
    }


def test_large_values_move_to_data_files_that_nobody_overwrites(served: Served) -> None:
    one = page(w=const([float(k) for k in range(100)]))
    other = page(w=const([float(-k) for k in range(100)]))
    assert served.put("sub/one.page.json", one).json()["page"]["nodes"]["w"]["attrs"]["value"]["file"] == "data/w.npy"
    second = served.put("sub/two.page.json", other).json()["page"]
    assert second["nodes"]["w"]["attrs"]["value"]["file"] == "data/w_2.npy"
    for name in ("one", "two"):
        assert pages.check(pages.load(served.folder / f"sub/{name}.page.json")) == []
        opened = served.get(f"/api/file/sub/{name}.page.json").json()
        assert served.post("/api/check", page=opened["page"], path=f"sub/{name}.page.json").json()["problems"] == []


def test_stale_tab_gets_what_is_there_now(served: Served) -> None:
    first = served.put("stale.page.json", MEAN_GRAD).json()["version"]
    newer = {**MEAN_GRAD, "title": "newer"}
    second = served.put("stale.page.json", newer, first).json()["version"]
    answer = served.put("stale.page.json", {**MEAN_GRAD, "title": "late"}, first)
    assert answer.status_code == 409
    assert error(answer)["kind"] == "stale"
    assert answer.json()["current"] == {"page": newer, "version": second}
    assert served.put("stale.page.json", MEAN_GRAD, None).status_code == 409  # a new page of that name
    assert served.put("stale.page.json", {**MEAN_GRAD, "title": "late"}, first, force=True).status_code == 200


def test_of_many_tabs_that_save_at_once_one_wins(served: Served) -> None:
    version = served.put("race.page.json", MEAN_GRAD).json()["version"]
    statuses: list[int] = []

    def save(number: int) -> None:
        statuses.append(served.put("race.page.json", {**MEAN_GRAD, "title": f"{number}"}, version).status_code)

    threads = [threading.Thread(target=save, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [200] + [409] * 7


def test_ten_versions_are_kept(served: Served) -> None:
    version = None
    for number in range(14):
        version = served.put("kept.page.json", {**MEAN_GRAD, "title": f"{number}"}, version).json()["version"]
    kept = sorted((served.folder / ".gradbag/versions/kept.page.json").iterdir())
    titles = [pages.load(place).title for place in kept]
    assert titles == [f"{number}" for number in range(3, 13)]


def test_rename_and_discard(served: Served) -> None:
    served.put("old.page.json", MEAN_GRAD)
    served.put("there.page.json", MEAN_GRAD)
    served.post("/api/journal/old.page.json", page={**MEAN_GRAD, "title": "unsaved"}, sequence=1)
    assert error(served.post("/api/rename", path="old.page.json", to="there.page.json"))["kind"] == "exists"
    assert served.post("/api/rename", path="old.page.json", to="new.page.json").status_code == 200
    assert served.get("/api/file/old.page.json").status_code == 404
    assert served.get("/api/file/new.page.json").json()["recovered"]["page"]["title"] == "unsaved"
    assert served.client.delete("/api/file/new.page.json").status_code == 200
    assert served.get("/api/file/new.page.json").status_code == 404
    assert list((served.folder / ".gradbag/trash/new.page.json").iterdir())


def test_examples_come_first_things_first_and_cannot_be_changed(served: Served) -> None:
    found = [one["path"] for one in served.get("/api/files").json()["examples"]]
    assert found[:2] == ["example:sparse_segment_mean_grad", "example:sparse_segment_sqrt_n_grad"]
    assert len(found) == len(list(EXAMPLES.glob("*.page.json")))
    for name in found:
        opened = served.get(f"/api/file/{name}").json()
        assert opened["trusted"] is True
        assert served.post("/api/check", page=opened["page"], path=name).json()["problems"] == []
        assert error(served.put(name, opened["page"], opened["version"]))["kind"] == "readonly"
        assert served.client.delete(f"/api/file/{name}").status_code == 403
    for name in ("example:../order", "example:nothing", "example:", "example:sparse_segment_mean_grad.page.json"):
        assert served.get(f"/api/file/{name}").status_code in (400, 404)


def test_files_that_are_no_pages_are_told(served: Served) -> None:
    contents = {"cut": b'{"format": "grad', "list": b"[]", "text": b"\xff\xff", "old": b'{"nodes": {}}'}
    for name, content in contents.items():
        (served.folder / f"{name}.page.json").write_bytes(content)
        assert error(served.get(f"/api/file/{name}.page.json"))["kind"] == "invalid"
    listed = {one["path"]: one["problems"] for one in served.get("/api/files").json()["pages"]}
    assert all(listed[f"{name}.page.json"] for name in contents)


def test_changes_by_others_are_told(served: Served) -> None:
    with served.events() as events:
        time.sleep(2.5)  # the folder has been looked at once
        (served.folder / "other.page.json").write_text(pages.text(pages.Page(MEAN_GRAD)))
        events.until("files")


def test_a_large_folder_is_listed_in_part(tmp_path: Path) -> None:
    for number in range(6):
        (tmp_path / f"{number}").mkdir()
        (tmp_path / f"{number}/a.page.json").write_text("{}")
    assert len(Folder(tmp_path, Limits(folders=4)).pages()) == 3
    assert len(Folder(tmp_path, Limits(pages=2)).pages()) == 2


# ------------------------------------------------------------------ 14: the disk
def test_a_full_disk_is_told_and_the_old_file_stays(start: Start) -> None:
    served = start(file_size=8192)
    version = served.put("a.page.json", MEAN_GRAD).json()["version"]
    before = (served.folder / "a.page.json").read_bytes()
    large = {**MEAN_GRAD, "notes": {"n": {"text": "x" * 20_000, "at": [0, 0], "size": [10, 10]}}}
    assert error(served.put("a.page.json", large, version))["kind"] == "disk"
    assert error(served.post("/api/journal/a.page.json", page=large, sequence=1))["kind"] == "disk"
    assert (served.folder / "a.page.json").read_bytes() == before
    assert [place.name for place in served.folder.iterdir() if place.name != ".gradbag"] == ["a.page.json"]
    assert served.put("a.page.json", {**MEAN_GRAD, "title": "small"}, version).status_code == 200


def test_folder_that_cannot_be_written_to(start: Start, tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    (tmp_path / "pages").chmod(0o500)
    served = start()
    assert served.session["readonly"] is True
    assert error(served.put("a.page.json", MEAN_GRAD))["kind"] == "readonly"


class PowerCut(BaseException):
    """The machine is off: nothing more happens, no cleaning up either."""


CALLS = ("write", "fsync", "replace", "open", "mkdir", "unlink", "rename", "ftruncate")


@contextlib.contextmanager
def power_cut(monkeypatch: pytest.MonkeyPatch, after: int) -> Iterator[list[str]]:
    """All calls that change the disk work up to a number; then the power is gone, in the middle of what is written."""
    made: list[str] = []

    def cut(name: str, real: Any) -> Any:
        def call(*given: Any, **more: Any) -> Any:
            if len(made) >= after:
                raise PowerCut
            made.append(name)
            if name == "write" and len(made) == after:
                return real(given[0], bytes(given[1])[: len(given[1]) // 2])
            return real(*given, **more)

        return call

    with monkeypatch.context() as patch:
        for name in CALLS:
            patch.setattr(os, name, cut(name, getattr(os, name)))
        yield made


@pytest.mark.parametrize("kind", ["page", "data", "journal"])
def test_after_a_power_cut_at_any_call_there_is_the_old_or_the_new(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = (pages.text(pages.Page({**MEAN_GRAD, "title": title})).encode() for title in ("old", "new"))
    arrays = {"data/w.npy": data_files.file_bytes(data_files.np.arange(100))} if kind == "data" else {}
    seen, after = set(), 0
    while True:
        root = tmp_path / f"{after}"
        root.mkdir()
        folder = Folder(root, Limits())
        journal = Journal(folder)
        folder.write("a.page.json", old, {}, None, False)
        journal.add("a.page.json", old, 1)
        finished = False
        with contextlib.suppress(PowerCut), power_cut(monkeypatch, after) as made:
            if kind == "journal":
                journal.add("a.page.json", new, 2)
            else:
                folder.write("a.page.json", new, arrays, digest(old), False)
            finished = True
        content = (root / "a.page.json").read_bytes()
        entry = Journal(Folder(root, Limits())).last("a.page.json")
        assert entry is not None
        if kind == "journal":
            content = bytes(entry.page)
            assert content in (old.replace(b"\n", b" ").strip(), new.replace(b"\n", b" ").strip())
            seen.add(b'"new"' in content)
            # And the journal goes on after the line that was cut short.
            Journal(Folder(root, Limits())).add("a.page.json", new, 3)
            later = Journal(Folder(root, Limits())).last("a.page.json")
            assert later is not None
            assert later.sequence == 3
        else:
            assert content in (old, new)
            seen.add(content == new)
            if arrays and content == new:
                assert (root / "data/w.npy").read_bytes() == arrays["data/w.npy"]
        if finished:
            break
        after += 1
    assert seen == {True, False}
    assert after == len(made) > 2


def test_full_disk_at_any_call_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = (pages.text(pages.Page({**MEAN_GRAD, "title": title})).encode() for title in ("old", "new"))
    folder = Folder(tmp_path, Limits())
    folder.write("a.page.json", old, {}, None, False)
    for name in ("fsync", "replace", "mkdir"):
        with monkeypatch.context() as patch:

            def full(*_: Any, **__: Any) -> Any:
                raise OSError(errno.ENOSPC, "no space")

            patch.setattr(os, name, full)
            with pytest.raises(Refused, match="disk is full"):
                folder.write("a.page.json", new, {}, digest(old), False)
        assert (tmp_path / "a.page.json").read_bytes() == old
        assert [place.name for place in tmp_path.iterdir() if not place.is_dir()] == ["a.page.json"]
    with pytest.raises(Stale):
        folder.write("a.page.json", new, {}, None, False)


# ------------------------------------------------------------------ the journal
def unsaved_in(served: Served) -> list[str]:
    found = served.get("/api/files").json()["recovered"]
    assert all(one["saved_at"] and one["blocks"] for one in found)  # by which people tell them apart
    return [one["path"] for one in found]


def test_journal_is_offered_and_dropped(served: Served) -> None:
    version = served.put("j.page.json", MEAN_GRAD).json()["version"]
    unsaved = {**MEAN_GRAD, "title": "unsaved"}
    assert served.post("/api/journal/j.page.json", page=unsaved, sequence=1).status_code == 200
    assert "j.page.json" in unsaved_in(served)
    found = served.get("/api/file/j.page.json").json()
    assert found["page"] == MEAN_GRAD
    assert found["recovered"]["page"] == unsaved
    assert served.client.delete("/api/journal/j.page.json").status_code == 200
    assert served.get("/api/file/j.page.json").json()["recovered"] is None
    served.post("/api/journal/j.page.json", page=unsaved, sequence=2)
    served.put("j.page.json", unsaved, version)
    assert "j.page.json" not in unsaved_in(served)


def test_journal_of_a_page_without_a_file(served: Served) -> None:
    name = "untitled-0f3c2d1e-1111-2222-3333-444455556666"
    assert served.get(f"/api/file/{name}").status_code == 404
    assert served.post(f"/api/journal/{name}", page=MEAN_GRAD, sequence=7).status_code == 200
    assert name in unsaved_in(served)
    assert served.get(f"/api/file/{name}").json()["recovered"]["page"] == MEAN_GRAD
    assert served.client.delete(f"/api/journal/{name}").status_code == 200
    assert served.get(f"/api/file/{name}").status_code == 404


def test_journal_of_a_page_whose_file_is_gone(served: Served) -> None:
    served.put("gone.page.json", MEAN_GRAD)
    served.post("/api/journal/gone.page.json", page=MEAN_GRAD, sequence=1)
    (served.folder / "gone.page.json").unlink()
    found = served.get("/api/file/gone.page.json").json()
    assert found["recovered"]["page"] == MEAN_GRAD
    assert served.put("gone.page.json", MEAN_GRAD, found["version"]).status_code == 200


def unsaved_titles(served: Served) -> set[str]:
    return {one["title"] for one in served.get("/api/files").json()["recovered"]}


def test_two_tabs_write_one_journal_and_nothing_is_lost(served: Served) -> None:
    """Whoever writes later does not write over what the other was told is safe."""
    served.put("two.page.json", MEAN_GRAD)

    def write(client: str, title: str, seen: str = "") -> bool:
        state = {**MEAN_GRAD, "title": title}
        answer = served.post("/api/journal/two.page.json", page=state, sequence=1, client=client, seen=seen)
        assert answer.status_code == 200
        return answer.json()["beside"]

    assert not write("one", "ones")
    assert write("other", "twos")
    assert {"ones", "twos"} <= unsaved_titles(served)
    assert write("one", "threes")
    assert not write("one", "fours")
    assert {"fours", "twos"} <= unsaved_titles(served)
    # The other tab saves: its own states are in the file now, and those of the first stay.
    version = served.get("/api/file/two.page.json").json()["version"]
    body = {"page": {**MEAN_GRAD, "title": "fives"}, "version": version, "client": "other"}
    assert served.client.put("/api/file/two.page.json", json=body).status_code == 200
    assert "fours" in unsaved_titles(served)
    assert "twos" not in unsaved_titles(served)
    # Who goes on with recovered work has seen it: it is not kept twice.
    assert not write("third", "sixes")
    found = served.get("/api/file/two.page.json").json()["recovered"]
    assert found["client"] == "third"
    assert not write("fourth", "sevens", seen="third")
    assert "sixes" not in unsaved_titles(served)
    # A tab that leaves drops its own.
    assert served.client.delete("/api/journal/two.page.json?client=one").status_code == 200
    assert {"fours", "sevens"} & unsaved_titles(served) == {"sevens"}
    served.client.delete("/api/journal/two.page.json")


def test_journal_survives_a_kill(start: Start) -> None:
    served = start()
    served.put("a.page.json", MEAN_GRAD)
    unsaved = {**MEAN_GRAD, "title": "unsaved\nwith a break"}
    served.post("/api/journal/a.page.json", page=unsaved, sequence=1)
    served.process.kill()
    served.process.wait()
    again = start()
    assert unsaved_in(again) == ["a.page.json"]
    assert again.get("/api/file/a.page.json").json()["recovered"]["page"] == unsaved


def test_long_journal_keeps_its_last_state(tmp_path: Path) -> None:
    journal = Journal(Folder(tmp_path, Limits(journal=10_000)))
    for number in range(100):
        journal.add("a.page.json", b'{"title": "%d", "text": "%s"}' % (number, b"x" * 500), number)
        last = journal.last("a.page.json")
        assert last is not None
        assert last.sequence == number
    assert sum(place.stat().st_size for place in (tmp_path / ".gradbag/journal").iterdir()) <= 10_000


def test_quota_forgets_versions_first_and_refuses_last(tmp_path: Path) -> None:
    folder = Folder(tmp_path, Limits(autosave=10_000))
    journal = Journal(folder)
    for number in range(9):
        folder.keep("versions", f"{number}.page.json", b"x" * 1000)
    journal.add("a.page.json", b'"%s"' % (b"x" * 5000), 1)
    assert len(list((tmp_path / ".gradbag/versions").rglob("*.page.json"))) < 18
    with pytest.raises(Refused, match="Unsaved work"):
        journal.add("b.page.json", b'"%s"' % (b"x" * 6000), 1)
    assert [one["path"] for one in journal.unsaved()] == ["a.page.json"]


# ------------------------------------------------------------------ strangers
def test_pages_from_elsewhere_run_when_they_are_trusted(served: Served) -> None:
    shutil.copy(EXAMPLES / "sparse_slice_grad.page.json", served.folder / "foreign.page.json")
    opened = served.get("/api/file/foreign.page.json").json()
    assert opened["trusted"] is False
    body = {"page": opened["page"], "path": "foreign.page.json", "run": None, "targets": None, "steps": 1, "client": ""}
    assert error(served.post("/api/run", **body))["kind"] == "untrusted"
    assert error(served.post("/api/step", **body, id=None))["kind"] == "untrusted"
    # Editing and saving it here does not make it ours, under another name neither.
    served.put("renamed.page.json", {**opened["page"], "title": "x"})
    assert served.get("/api/file/renamed.page.json").json()["trusted"] is False
    saved = served.put("foreign.page.json", {**opened["page"], "title": "x"}, opened["version"])
    assert error(served.post("/api/run", **body))["kind"] == "untrusted"
    assert served.post("/api/trust", path="foreign.page.json").status_code == 200
    assert served.post("/api/run", **body).status_code == 200
    again = served.put("foreign.page.json", {**opened["page"], "title": "y"}, saved.json()["version"])
    assert again.status_code == 200
    assert served.post("/api/run", **body).status_code == 200
    # Somebody else changes the file.
    (served.folder / "foreign.page.json").write_text(pages.text(pages.Page({**opened["page"], "title": "z"})))
    assert error(served.post("/api/run", **body))["kind"] == "untrusted"


def test_dropped_pages_run_when_they_are_trusted(served: Served) -> None:
    content = (EXAMPLES / "sparse_fill_empty_rows_grad.page.json").read_bytes()
    headers = {"Content-Type": "application/octet-stream"}
    answer = served.client.post("/api/open?name=brought.page.json", content=content, headers=headers)
    assert answer.status_code == 200
    document = answer.json()["page"]
    edited = {**document, "nodes": {**document["nodes"], "more": const([1.0])}}
    for sent in (document, edited):
        body = {"page": sent, "path": None, "run": None, "targets": None, "steps": 1, "client": ""}
        assert error(served.post("/api/run", **body))["kind"] == "untrusted"
    served.put("dropped.page.json", edited)
    assert served.get("/api/file/dropped.page.json").json()["trusted"] is False
    assert served.post("/api/run", **{**body, "page": page(own=const([1.0]))}).status_code == 200
    assert served.post("/api/trust", path=None).status_code == 200
    assert served.post("/api/run", **body).status_code == 200


def test_trust_lasts_but_does_not_travel(start: Start, tmp_path: Path) -> None:
    served = start()
    served.put("a.page.json", MEAN_GRAD)
    served.post("/api/journal/untitled-1", page=MEAN_GRAD, sequence=1)
    assert served.get("/api/file/untitled-1").json()["trusted"] is True
    served.end()
    again = start()
    assert again.get("/api/file/a.page.json").json()["trusted"] is True
    again.end()
    # The whole folder, its list of trusted pages included, on another user's machine.
    shutil.rmtree(tmp_path / "state")
    elsewhere = start()
    assert elsewhere.get("/api/file/a.page.json").json()["trusted"] is False
    assert elsewhere.get("/api/file/untitled-1").json()["trusted"] is False
    body = {"page": MEAN_GRAD, "path": None, "run": None, "targets": None, "steps": 1, "client": ""}
    assert error(elsewhere.post("/api/run", **body))["kind"] == "untrusted"
