"""Graphs as people save them, made by the real TensorFlow, run here: the same bits, or the same losses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradbag import page as pages
from gradbag.errors import InvalidArgumentError, UnsupportedTypeError
from gradbag.graph import ClientSession, load_graphdef
from gradbag.graph.saved_model import load_saved_model
from gradbag.page.import_saved_model import from_saved_model
from gradbag.testing.oracle import assert_same

HERE = Path(__file__).parent
NAMES = json.loads((HERE / "saved_graphs" / "names.json").read_text())
LOSS = 1e-5


@pytest.fixture(scope="session")
def made(tmp_path_factory: Any) -> Path:
    """All of them, made once by another process: graphs of TensorFlow 1 want one for themselves."""
    if os.environ.get("GRADBAG_SAVED_GRAPHS"):
        return Path(os.environ["GRADBAG_SAVED_GRAPHS"])
    folder: Path = tmp_path_factory.mktemp("saved_graphs")
    command = [sys.executable, "-m", "tests.tensorflow.saved_graphs", str(folder)]
    done = subprocess.run(command, cwd=HERE.parents[1], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-5000:]
    assert sorted(path.name for path in folder.iterdir()) == NAMES
    return folder


def steps(where: Path, case: dict[str, Any]) -> Any:
    """For each step what is fed and what TensorFlow answered, by name."""
    for step in range(case["steps"]):
        arrays = [np.load(where / f"{what}_{step}.npz") for what in ("feeds", "wanted")]
        names = case["feeds"], case["fetches"]
        yield [{n: _text(a[str(i)]) for i, n in enumerate(every)} for a, every in zip(arrays, names, strict=True)]


def _text(array: Any) -> Any:
    if array.dtype.kind != "S":
        return array
    try:
        return np.array([text.decode() for text in array.flat], object).reshape(array.shape)
    except UnicodeDecodeError:  # messages, which are no text
        return array.astype(object)


@cache
def answers(where: Path) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """What gradbag answers, and what TensorFlow did, step by step."""
    case = json.loads((where / "case.json").read_text())
    found = []
    if case.get("saved_model"):
        model = load_saved_model(where / "saved_model")
        for feeds, wanted in steps(where, case):
            found.append((model.run(feeds), wanted))
        return found
    needed = [*case["fetches"], *case.get("init", []), *case.get("run_only", [])]
    graph = load_graphdef(where / "graph.pb", outputs=needed)
    session = ClientSession(graph)
    if case.get("init"):
        session.run(run_only=case["init"])
    if case.get("variables"):
        for name, value in np.load(where / "variables.npz").items():
            if name.removesuffix(":0") in graph:
                session.set_variable(name, value)
    for feeds, wanted in steps(where, case):
        feeds = {name: value for name, value in feeds.items() if name.partition(":")[0] in graph}  # some nobody reads
        got = session.run(feeds, case["fetches"], run_only=case.get("run_only", []))
        found.append((dict(zip(case["fetches"], got, strict=True)), wanted))
    return found


@pytest.mark.parametrize("name", NAMES)
def test_it_runs_as_in_tensorflow(made: Path, name: str) -> None:
    where = made / name
    exact = json.loads((where / "case.json").read_text())["exact"]
    compared = 0
    try:
        found = answers(where)
    except InvalidArgumentError as problem:
        if "ops that gradbag does not have" not in str(problem):
            raise
        pytest.skip(str(problem).partition(". If")[0])
    for step, (got, wanted) in enumerate(found):
        for output, want in wanted.items():
            label = f"step {step}: {output}"
            if exact or want.dtype.kind not in "fc":
                assert_same(got[output], want, label)
            else:
                assert got[output].shape == want.shape, label
                np.testing.assert_allclose(got[output], want, LOSS, LOSS, err_msg=label)
            compared += 1
    assert compared


# What loops, or is made for a node alone, cannot be written down in a page.
NO_PAGE = {"saved_bidirectional_gru", "saved_parsed_lookup"}


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("saved_")])
def test_a_page_of_a_saved_model_gives_the_same(made: Path, name: str) -> None:
    where = made / name
    try:
        found = answers(where)
    except InvalidArgumentError as problem:
        pytest.skip(str(problem).partition(". If")[0])
    model = load_saved_model(where / "saved_model", [""])
    (signature,) = model.signatures.values()
    feeds, _ = next(iter(steps(where, json.loads((where / "case.json").read_text()))))
    if name in NO_PAGE:
        with pytest.raises(UnsupportedTypeError, match="a page holds no loop and no list of arrays"):
            from_saved_model(model)
        return
    page = from_saved_model(model)
    assert not pages.check(page)
    if name == "saved_keras_text":
        pytest.skip("a page's texts are str, and what TensorFlow's regular expressions give is bytes")
    got = pages.run(page, feed={signature.inputs[port].node.name: value for port, value in feeds.items()}).fetches
    for port, output in signature.outputs.items():
        label = output.node.name if len(output.node.dtypes) == 1 else f"{output.node.name}.{output.port}"
        assert_same(got[label], found[0][0][port], port)
