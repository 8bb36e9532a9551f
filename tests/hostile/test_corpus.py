"""The corpus of hostile inputs: published advisories against TensorFlow's sparse ops and their close relatives."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradbag.spec import registry

CASES = json.loads((Path(__file__).parents[1] / "data" / "hostile_cases.json").read_text(encoding="utf-8"))
BY_ID = {case["id"]: case for case in CASES}
RESOURCE_CASES = [case["id"] for case in CASES if case.get("resource")]

# The corpus leaves these open ("choice"); this is what gradbag decided, and why.
CHOICES = [
    ("ok", "only column 0 of the indices is looked at", ["sfer-col-neg", "sfer-col-big"]),
    ("ok", "only dense_shape[0] is looked at", ["sfer-shape1-neg"]),
    ("ok", "a window may start before the first place", ["ssl-start-neg", "ssl-start-i64min"]),
    ("ok", "entries outside the shape pass through", ["ssl-indices-out-of-shape-big-window"]),
    ("ok", "an int64 num_segments counts as it is, and zero columns need no memory", ["wns-trunc-zero-inner"]),
    ("ok", "sums in float64, rounds once", ["sferg-half-5000", "sferg-bf16-5000"]),
    (
        "error",
        "indices are checked whatever output_dim0 is",
        ["grad-dim-zero-nonempty-sum", "grad-dim-zero-nonempty-sqrtn"],
    ),
    (
        "either",
        "memory is sized by the entries, not by the rows of grad; a kernel that cannot may refuse",
        [
            *("zero-byte-grad-mean", "zero-byte-grad-sqrtn", "zero-byte-grad-meanv2", "zero-byte-grad-sqrtnv2"),
            *("zero-byte-grad-sum", "zero-byte-grad-sum-i32"),
        ],
    ),
]
CHOSEN = {name: outcome for outcome, _, names in CHOICES for name in names}
# Which family refuses, where the corpus's mark "resource" does not tell.
FAMILIES = {
    "seg-i32max-sum": "ValueError",  # the number of segments after the largest int32 does not fit int32
    "seg-i32max-sqrtn": "ValueError",
    "grad-shape-overflow": "MemoryError",  # no NumPy array has that shape, empty or not
}


def test_every_open_case_is_decided() -> None:
    assert CHOSEN.keys() == {case["id"] for case in CASES if case["policy"] == "choice"}


@pytest.mark.parametrize("name", BY_ID)
def test_is_answered_as_stated(name: str, worker: Any) -> None:
    case = BY_ID[name]
    answer = worker.ask(case)
    wanted = CHOSEN.get(name, case["expect"])
    if wanted == "either":
        wanted = "error" if "error" in answer else "ok"
    if wanted == "error":
        assert_refused(case, answer)
    else:
        assert_answered(case, answer)


@pytest.mark.parametrize("name", RESOURCE_CASES)
def test_a_size_is_decided_before_memory_is_touched(name: str, fresh_worker: Any) -> None:
    answer = fresh_worker.ask(BY_ID[name])
    assert answer["seconds"] < 1.0
    assert answer["grown_kib"] < 1024


def assert_refused(case: dict[str, Any], answer: dict[str, Any]) -> None:
    assert "error" in answer, f"answered with {answer}, but: {case['why']}"
    family = FAMILIES.get(case["id"], "MemoryError" if case.get("resource") else "ValueError")
    assert {"Error", family} <= set(answer["error"]), answer
    message = answer["message"]
    assert message.startswith(f"{case['op']}: ")
    assert any(re.search(rf"\b{name}\b", message) for name in registry[case["op"]].input_names), message


def assert_answered(case: dict[str, Any], answer: dict[str, Any]) -> None:
    assert "outputs" in answer, f"refused with {answer}, but: {case['why']}"
    if "outputs" not in case:  # the corpus expected a refusal here, so it states no outputs
        return
    assert answer["outputs"].keys() == case["outputs"].keys()
    for name, want in case["outputs"].items():
        assert_close(answer["outputs"][name], want, case["rtol"])


def assert_close(got: dict[str, Any], want: dict[str, Any], rtol: float) -> None:
    assert (got["dtype"], got["shape"]) == (want["dtype"], want["shape"])
    if "float" in want["dtype"]:
        numbers = ([float(v) for v in told["values"]] for told in (got, want))
        np.testing.assert_allclose(*numbers, rtol=rtol, atol=0.0, equal_nan=True)
    else:
        assert got["values"] == want["values"]  # as Python integers: they may exceed 2**53


def test_the_checks_bite() -> None:
    case = BY_ID["wns-neg-sum"]
    message = f"{case['op']}: num_segments == -1 must not be negative"
    assert_refused(case, {"error": ["InvalidArgumentError", "Error", "ValueError"], "message": message})
    for bad in (
        {"outputs": {}},
        {"error": ["ValueError"], "message": message},
        {"error": ["Error", "MemoryError"], "message": message},
        {"error": ["Error", "ValueError"], "message": f"{case['op']}: negative"},
    ):
        with pytest.raises(AssertionError):
            assert_refused(case, bad)
    want = {"dtype": "float32", "shape": [2], "values": [1.0, "NaN"]}
    assert_close(want, want, 0.0)
    for change in ({"dtype": "float64"}, {"shape": [2, 1]}, {"values": [1.0, 0.0]}, {"values": [1.5, "nan"]}):
        with pytest.raises(AssertionError):
            assert_close({**want, **change}, want, 1e-5)


def test_the_worker_notices_a_death_and_a_hang(fresh_worker: Any) -> None:
    with pytest.raises(pytest.fail.Exception, match="no-such-op: the process ended with 1"):
        fresh_worker.ask({"id": "no-such-op", "op": "NoSuchOp", "args": {}})
    fresh_worker.ask(CASES[0])
    fresh_worker.seconds = 0.5
    os.kill(fresh_worker.process.pid, signal.SIGSTOP)
    with pytest.raises(pytest.fail.Exception, match=r"gave no answer in 0\.5 s; alone it is answered"):
        fresh_worker.ask(CASES[1])
