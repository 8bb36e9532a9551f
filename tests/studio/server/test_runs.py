"""Runs: row 12 of the defences, and what the events tell."""

from __future__ import annotations

import io
import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradbag import page as pages

from .conftest import Start
from .served import MEAN_GRAD, Served, const, error, page, slow

EXAMPLES = sorted((Path(pages.__file__).parent.parent / "examples").glob("*.page.json"))


def values(events: list[dict[str, Any]]) -> dict[str, Any]:
    return {e["node"]: [o["table"] for o in e["outputs"]] for e in events if "outputs" in e}


# ------------------------------------------------------------------ what is told
def test_a_run_is_told_from_its_beginning_to_its_end(served: Served) -> None:
    with served.events() as events:
        found = events.of(served.run(MEAN_GRAD))
    kinds = [event["type"] for event in found]
    assert kinds[:2] == ["queued", "started"]
    assert kinds[-1] == "finished"
    assert found[-1]["state"] == "done"
    assert found[-1]["ran"] == 4
    third = 1 / 3
    assert values(found)["mean"][0] == pytest.approx(np.array([[1, third, 5 * third]] * 3))
    states = [event["state"] for event in found if event.get("node") == "mean"]
    assert states == ["running", "done"]
    checked = served.post("/api/check", page=MEAN_GRAD, path=None).json()["nodes"]
    for event in found:
        if "outputs" in event:
            assert event["key"] == checked[event["node"]]["key"]
            assert event["seconds"] >= 0


def test_only_what_has_changed_runs_again(served: Served) -> None:
    chain = page(
        a=const([1.0, 2.0]),
        b=const([3.0, 4.0]),
        square={"op": "Square", "in": {"x": {"from": "a"}}},
        sum={"op": "AddV2", "in": {"x": {"from": "square"}, "y": {"from": "b"}}},
    )
    with served.events() as events:
        events.of(served.run(chain))
        again = events.of(served.run(chain))
        assert again[-1]["ran"] == 0
        assert again[-1]["cached"] == 4
        changed = {**chain, "nodes": {**chain["nodes"], "b": const([5.0, 6.0])}}
        found = events.of(served.run(changed))
    states = {event["node"]: event["state"] for event in found if event["type"] == "node"}
    assert states == {"a": "cached", "b": "done", "square": "cached", "sum": "done"}
    assert values(found)["sum"] == [[6, 10]]


def test_run_up_to_here(served: Served) -> None:
    chain = page(
        x=const([1.0]),
        a={"op": "Neg", "in": {"x": {"from": "x"}}},
        b={"op": "Neg", "in": {"x": {"from": "a"}}},
        broken={"op": "Neg", "in": {}},
    )
    with served.events() as events:
        found = events.of(served.run(chain, targets=["a"]))
        assert set(values(found)) == {"x", "a"}
        assert found[-1]["state"] == "done"
        whole = events.of(served.run(chain))
    assert whole[-1]["state"] == "failed"
    assert set(values(whole)) == {"x", "a", "b"}
    [problem] = [event for event in whole if event["type"] == "error"]
    assert (problem["node"], problem["port"]) == ("broken", "x")


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.name.partition(".")[0])
def test_examples_give_the_same_bits_as_without_the_studio(served: Served, file: Path) -> None:
    name = f"example:{file.name.removesuffix('.page.json')}"
    document = served.get(f"/api/file/{name}").json()["page"]
    with served.events() as events:
        found = events.of(served.run(document, name))
    assert found[-1]["state"] == "done"
    assert found[-1]["mismatches"] == []
    last = {event["node"]: event["outputs"] for event in found if "outputs" in event}
    for label, wanted in pages.run(pages.load(file)).fetches.items():
        node, _, port = label.partition(".")
        [output] = [one for one in last[node] if not port or one["name"] == port]
        got = served.get(f"/api/value/{output['hash']}.npy").content
        assert np.load(io.BytesIO(got)).tobytes() == wanted.tobytes()


def test_mismatches_are_told(served: Served) -> None:
    expecting = {**MEAN_GRAD, "expect": {"mean": {"value": [[1, 1, 1]] * 3, "tolerance": 1e-9}}}
    with served.events() as events:
        found = events.of(served.run(expecting))
    [mismatch] = found[-1]["mismatches"]
    assert mismatch["name"] == "mean[0, 1]"
    assert set(mismatch) == {"name", "expected", "got", "text"}


def test_loop_and_variables(served: Served) -> None:
    counting = page(
        count={"op": "VariableV2", "attrs": {"dtype": "float32", "shape": []}},
        zero={"op": "Assign", "in": {"ref": {"from": "count"}, "value": {"value": 0, "dtype": "float32"}}},
        one_more={"op": "AssignAdd", "in": {"ref": {"from": "count"}, "value": {"value": 1, "dtype": "float32"}}},
    ) | {"runs": {"init": {"fetch": ["zero"]}, "more": {"fetch": ["one_more"], "mode": "loop", "steps": 3}}}
    with served.events() as events:
        found = events.of(served.run(counting))
        assert values(found)["one_more"] == [3]
        found = events.of(served.run(counting, run="more", steps=50))
    assert values(found)["one_more"] == [53]
    progress = [event for event in found if event["type"] == "progress"]
    assert (progress[-1]["step"], progress[-1]["steps"]) == (50, 50)


def test_feeds(served: Served) -> None:
    fed = page(x={"op": "Placeholder", "attrs": {"dtype": "float32"}}, y={"op": "Neg", "in": {"x": {"from": "x"}}}) | {
        "runs": {"main": {"fetch": ["y"], "feed": {"x": [1.0, 2.0]}}}
    }
    with served.events() as events:
        assert values(events.of(served.run(fed)))["y"] == [[-1, -2]]
        assert values(events.of(served.run(fed, targets=["y"])))["y"] == [[-1, -2]]


def test_error_at_its_node_and_port(served: Served) -> None:
    # The ids come out of an op, so nothing is known before the run.
    wrong = page(
        ids={"op": "Cast", "in": {"x": {"value": [2, 0, 1], "dtype": "float32"}}, "attrs": {"DstT": "int32"}},
        data=const([[1.0], [2.0], [3.0]]),
        sum={
            "op": "SparseSegmentSum",
            "in": {"data": {"from": "data"}, "indices": {"value": [0, 1, 2], "dtype": "int32"}}
            | {"segment_ids": {"from": "ids"}},
        },
    )
    with served.events() as events:
        found = events.of(served.run(wrong))
    [problem] = [event for event in found if event["type"] == "error"]
    assert (problem["node"], problem["port"], problem["kind"]) == ("sum", "segment_ids", "invalid")
    assert "segment_ids[0]" in problem["text"]
    assert not problem["text"].startswith("node")
    assert {"ids", "data"} <= set(values(found))
    assert found[-1]["state"] == "failed"


def test_steps_go_one_node_at_a_time(served: Served) -> None:
    with served.events() as events:
        id_, done = None, []
        for expected in ("indices", "ids", "mean", None):
            answer = served.post("/api/step", page=MEAN_GRAD, path=None, targets=None, id=id_).json()
            id_ = answer["id"]
            assert answer["next"] == expected
            done.append(answer["done"])
        assert done[-1] == ["grad", "indices", "ids", "mean"]
        found = events.until("finished", id=id_)
    assert found[-1]["state"] == "done"
    assert values(found)["mean"]


def test_a_tab_that_was_away_hears_how_its_run_has_gone_on(served: Served) -> None:
    with served.events() as events:
        run = served.run(MEAN_GRAD)
        events.of(run)
    with served.events(former=True) as events:
        assert events.of(run)[-1]["state"] == "done"


# ------------------------------------------------------------------ memory, time, stopping, dying
def hog() -> dict[str, Any]:
    return page(
        small=const([1.0]),
        size={"op": "Cast", "in": {"x": {"value": [40_000, 40_000], "dtype": "float32"}}, "attrs": {"DstT": "int32"}},
        hog={"op": "Fill", "in": {"dims": {"from": "size"}, "value": 1.0}},
    )


def test_too_much_memory_is_an_error_at_its_node(start: Start) -> None:
    served = start(worker_memory=256 << 20)
    worker = served.wait_for_workers()["run"]
    with served.events() as events:
        found = events.of(served.run(hog()))
        assert found[-1]["state"] == "failed"
        [problem] = [event for event in found if event["type"] == "error"]
        assert (problem["node"], problem["kind"]) == ("hog", "memory")
        assert values(found)["small"] == [[1]]
        # Many that are small enough, one by one.
        many = page(**{f"n{k}": {"op": "Fill", "in": {"dims": [12_000_000], "value": float(k)}} for k in range(20)})
        found = events.of(served.run(many))
        assert found[-1]["state"] == "failed"
        assert {event["kind"] for event in found if event["type"] == "error"} == {"memory"}
        assert events.of(served.run(MEAN_GRAD))[-1]["state"] == "done"
    assert served.workers()["run"] == worker


def test_worker_is_confined(served: Served) -> None:
    for pid in served.wait_for_workers().values():
        limits = Path(f"/proc/{pid}/limits").read_text()
        [space] = [line for line in limits.splitlines() if line.startswith("Max address space")]
        assert "unlimited" not in space
        assert os.getpriority(os.PRIO_PROCESS, pid) >= 5
    assert os.getpriority(os.PRIO_PROCESS, served.process.pid) == os.getpriority(os.PRIO_PROCESS, 0)


def test_worker_has_no_way_out(python_in_worker: Any) -> None:
    for attempt in (
        "__import__('socket').create_connection(('127.0.0.1', 9))",
        "__import__('subprocess').run(['true'])",
        "__import__('os').system('true')",
        "__import__('os').fork()",
    ):
        assert "PermissionError" in python_in_worker(attempt)


def test_processor_time_is_limited(start: Start) -> None:
    served = start(run_seconds=1)
    with served.events() as events:
        found = events.of(served.run(slow()))
        [problem] = [event for event in found if event["type"] == "error"]
        assert problem["node"] == "slow"
        assert "processor time" in problem["text"]
        events.until("restarted")
        assert events.of(served.run(MEAN_GRAD))[-1]["state"] == "done"


def test_a_loop_stops_when_asked_to(served: Served) -> None:
    worker = served.wait_for_workers()["run"]
    with served.events() as events:
        run = served.run(MEAN_GRAD, steps=1_000_000)
        events.until("progress")
        began = time.monotonic()
        served.post("/api/stop", id=run)
        assert events.of(run)[-1]["state"] == "stopped"
        assert time.monotonic() - began < 10  # at once, where nothing else runs
    assert served.workers()["run"] == worker


def test_a_long_call_is_stopped_too(served: Served) -> None:
    served.wait_for_workers()
    with served.events() as events:
        run = served.run(slow())
        events.until("node", node="slow", state="running")
        began = time.monotonic()
        served.post("/api/stop", id=run)
        found = events.of(run)
        assert found[-1]["state"] == "stopped"
        assert not [event for event in found if event["type"] == "error"]
        events.until("restarted")
        assert time.monotonic() - began < 10  # at once, where nothing else runs
        assert events.of(served.run(MEAN_GRAD))[-1]["state"] == "done"


def test_a_killed_worker_is_an_error_of_one_run(served: Served) -> None:
    worker = served.wait_for_workers()["run"]
    with served.events() as events:
        run = served.run(slow())
        before = events.until("node", node="slow", state="running")
        assert values(before)["ones"]
        began = time.monotonic()
        os.kill(worker, signal.SIGKILL)
        found = events.of(run)
        [problem] = [event for event in found if event["type"] == "error"]
        assert (problem["node"], problem["kind"]) == ("slow", "died")
        assert found[-1]["state"] == "failed"
        events.until("restarted")
        assert time.monotonic() - began < 10  # at once, where nothing else runs
        assert events.of(served.run(MEAN_GRAD))[-1]["state"] == "done"
    assert served.workers()["run"] != worker
    lost = [o["hash"] for e in before for o in e.get("outputs", [])]
    assert error(served.get(f"/api/value/{lost[0]}"))["kind"] == "gone"


def test_a_worker_that_is_killed_in_a_loop_was_at_some_block(served: Served) -> None:
    counting = page(
        total={"op": "Variable", "attrs": {"shape": [], "dtype": "float64"}},
        zero={"op": "Assign", "in": {"ref": {"from": "total"}, "value": 0}},
        more={"op": "AssignAdd", "in": {"ref": {"from": "total"}, "value": 1}},
    ) | {"runs": {"init": {"fetch": ["zero"]}, "count": {"fetch": ["more"]}}}
    worker = served.wait_for_workers()["run"]
    with served.events() as events:
        assert events.of(served.run(counting, run="init"))[-1]["state"] == "done"
        run = served.run(counting, run="count", steps=1_000_000)
        events.until("progress", step=1)
        time.sleep(0.5)  # rounds of which nothing is told
        os.kill(worker, signal.SIGKILL)
        [problem] = [event for event in events.of(run) if event["type"] == "error"]
        assert problem["node"] in ("total", "more")
        events.until("restarted")


def test_a_killed_checker_comes_back(served: Served) -> None:
    os.kill(served.wait_for_workers()["check"], signal.SIGKILL)
    deadline = time.monotonic() + 10
    while served.post("/api/check", page=MEAN_GRAD, path=None).status_code != 200:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_run_does_not_keep_others_waiting(served: Served) -> None:
    served.wait_for_workers()
    with served.events() as events:
        run = served.run(slow())
        events.until("node", node="slow", state="running")
        began = time.monotonic()
        assert served.post("/api/check", page=MEAN_GRAD, path=None).status_code == 200
        assert served.get("/api/files").status_code == 200
        assert time.monotonic() - began < 5  # the page takes longer
        served.post("/api/stop", id=run)
        events.until("restarted")


# ------------------------------------------------------------------ values
def test_values_in_parts_and_whole(served: Served) -> None:
    ramp = page(
        line={"op": "Range", "in": {"start": 0, "limit": 600, "delta": 1}},
        table={"op": "Reshape", "in": {"tensor": {"from": "line"}, "shape": [20, 30]}},
    )
    with served.events() as events:
        found = events.of(served.run(ramp))
    [name] = [event["outputs"][0]["hash"] for event in found if event.get("node") == "table" and "outputs" in event]
    assert served.get(f"/api/value/{name}?start=2&count=1&columns=3,2").json() == {
        "shape": [20, 30],
        "start": 2,
        "table": [[63, 64]],
    }
    answer = served.get(f"/api/value/{name}.npy")
    assert answer.headers["content-disposition"].startswith("attachment")
    np.testing.assert_array_equal(np.load(io.BytesIO(answer.content)), np.arange(600).reshape(20, 30))


def test_lens(served: Served) -> None:
    with served.events() as events:
        events.of(served.run(MEAN_GRAD))
    answer = served.post("/api/lens", page=MEAN_GRAD, path=None, node="mean", port="output", index=[0])
    assert answer.status_code == 200
    assert set(answer.json()) == {"marks", "feeds", "fed", "wires", "partial", "sum"}
