"""Saved models on the command line: a folder is run by its signatures, and becomes a page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradbag.cli import main
from gradbag.graph import Scope, ops, to_graphdef_bytes

pytest.importorskip("google.protobuf")


def run_json(capsys: Any, *arguments: str) -> Any:
    assert main([*arguments, "--json"]) == 0
    return {name: entry["value"] for name, entry in json.loads(capsys.readouterr().out)["fetches"].items()}


@pytest.fixture
def model(tmp_path: Path) -> str:
    """A counter that a first op sets to 10: `look` multiplies it, `train` adds to it, `odd` has an unknown op."""
    from gradbag.graph.graphdef import messages

    root = Scope.new_root_scope()
    counter = ops.VarHandleOp(root.with_op_name("counter"), dtype="float32", shape=[2])
    table = ops.HashTableV2(root.with_op_name("table"), key_dtype="string", value_dtype="int64")
    fill = ops.LookupTableImportV2(root.with_op_name("fill"), table, ["red", "blue"], np.array([4, 7]))
    first = ops.AssignVariableOp(root.with_op_name("first"), counter, np.full(2, 10, np.float32))
    ops.NoOp(root.with_op_name("main_op").with_control_dependencies([first.node, fill.node]))
    x = ops.Placeholder(root.with_op_name("x"), dtype="float32", shape=[2])
    words = ops.Placeholder(root.with_op_name("words"), dtype="string", shape=[None])
    ops.LookupTableFindV2(root.with_op_name("found"), table, words, np.array(-1))
    ops.Mul(root.with_op_name("product"), ops.ReadVariableOp(root, counter, dtype="float32"), x)
    added = ops.AssignAddVariableOp(root.with_op_name("added"), counter, x)
    ops.ReadVariableOp(root.with_op_name("now").with_control_dependencies([added.node]), counter, dtype="float32")
    saved = messages.message("SavedModel")()
    meta = saved.meta_graphs.add()
    meta.graph_def.ParseFromString(to_graphdef_bytes(root.graph))
    meta.graph_def.node.add(name="odd", op="Frobnicate")
    meta.meta_info_def.tags.append("serve")
    meta.collection_def.add(key="saved_model_main_op").value.node_list.value.append("main_op")
    signatures = {
        "look": ({"x": "x", "words": "words"}, {"y": "product", "values": "found"}),
        "train": ({"x": "x"}, {"counter": "now"}),
        "odd": ({}, {"y": "odd"}),
    }
    for name, ports in signatures.items():
        made = meta.signature_def.add(key=name).value
        for entries, described in zip((made.inputs, made.outputs), ports, strict=True):
            for key, node in described.items():
                entries.add(key=key).value.name = f"{node}:0"
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "saved_model.pb").write_bytes(saved.SerializeToString())
    return str(tmp_path / "model")


FEEDS = ["--feed", "x=[1, 2]", 'words=["blue", "green"]']


@pytest.mark.parametrize("file", ["", "/saved_model.pb"], ids=["the folder", "the file in it"])
def test_a_signature_is_run_by_the_names_of_its_ports(model: str, file: str, capsys: Any) -> None:
    answer = run_json(capsys, "run", model + file, "--signature", "look", *FEEDS)
    assert answer == {"y": [10.0, 20.0], "values": [7, -1]}
    assert run_json(capsys, "run", model + file, "--signature", "look", *FEEDS, "--fetch", "y") == {"y": [10.0, 20.0]}
    assert run_json(capsys, "run", model, "--signature", "look", "--feed", "x=[3, 4]", "--fetch", "product:0") == {
        "product:0": [30.0, 40.0]
    }


def test_steps_go_on_from_the_state_that_was_kept(model: str, capsys: Any, tmp_path: Path) -> None:
    state = str(tmp_path / "state.npz")
    train = ["run", model, "--signature", "train", "--feed", "x=[1, 2]", "--state", state]
    assert run_json(capsys, *train, "--steps", "3") == {"counter": [13.0, 16.0]}
    assert run_json(capsys, *train) == {"counter": [14.0, 18.0]}
    assert run_json(capsys, *train[:-2]) == {"counter": [11.0, 12.0]}
    np.savez(state, counter=np.zeros(3, np.float32))
    assert main(train) == 1
    assert "'counter' is no variable of the model, or of another shape" in capsys.readouterr().err
    (tmp_path / "state.npz").write_bytes(b"no archive")
    assert main(train) == 1
    assert "is no .npz file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        ([], 1, "no signature 'serving_default'; it has look(x "),
        (["--signature", "loo"], 1, "no signature 'loo'; it has look(x "),
        (["--signature", "look", "--feed", "x=[1, 2]"], 2, "say what words shall be, with --feed"),
        (["--signature", "look", *FEEDS, "z=1"], 2, "--feed z: look has x, words, and the graph has no node"),
        (["--signature", "look", *FEEDS, "--fetch", "z"], 2, "--fetch z: look has y, values, and the graph"),
        (["--signature", "odd"], 1, "Frobnicate (node 'odd')"),
        (["--signature", "look", "--run", "a"], 2, "--signature says what to call"),
        (["--signature", "look", "--feed", "x=[1]", "words=[]"], 1, "must have shape [2]; got [1]"),
    ],
    ids=str,
)
def test_what_makes_no_sense_is_said(model: str, arguments: list[str], code: int, told: str, capsys: Any) -> None:
    assert main(["run", model, *arguments]) == code
    assert told in capsys.readouterr().err


def test_a_folder_or_a_file_of_another_kind_is_refused(model: str, capsys: Any, tmp_path: Path) -> None:
    assert main(["run", str(tmp_path)]) == 2
    assert "has no saved_model.pb, so it is no saved model" in capsys.readouterr().err
    page = tmp_path / "x.page.json"
    page.write_text("{}")
    assert main(["run", str(page), "--signature", "a"]) == 2
    assert "are for the folder of a saved model" in capsys.readouterr().err


def test_a_page_of_it_has_a_run_that_restores_and_one_for_each_signature(
    model: str, capsys: Any, tmp_path: Path
) -> None:
    page = str(tmp_path / "look.page.json")
    assert main(["import", model, "--signature", "look", "--out", page]) == 0
    assert list(json.loads(Path(page).read_text())["runs"]) == ["restore", "look"]
    assert main(["check", page]) == 0
    capsys.readouterr()
    assert run_json(capsys, "run", page, *FEEDS) == {"product": [10.0, 20.0], "found": [7, -1]}
    assert main(["import", model]) == 1
    assert "Frobnicate" in capsys.readouterr().err
