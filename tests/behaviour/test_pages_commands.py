"""The commands for pages: what they print, what they write, and the exit codes that scripts trust."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import gradbag
from gradbag import dtypes
from gradbag import page as pages
from gradbag.cli import main

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "src/gradbag/examples").glob("*.page.json"))
MEAN = str(ROOT / "src/gradbag/examples" / "sparse_segment_mean_grad.page.json")
SQRT_N = str(ROOT / "src/gradbag/examples" / "sparse_segment_sqrt_n_grad.page.json")
every_example = pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name.partition(".")[0])


@pytest.fixture
def write(tmp_path: Path) -> Any:
    """Write a page of some nodes and sections, and give its path."""

    def made(nodes: Any, name: str = "x.page.json", **sections: Any) -> str:
        path = tmp_path / name
        path.write_text(json.dumps({"format": "gradbag-page/1", "nodes": nodes, **sections}), encoding="utf-8")
        return str(path)

    return made


NEG = {"x": {"op": "Placeholder", "attrs": {"dtype": "float64"}}, "y": {"op": "Neg", "in": {"x": {"from": "x"}}}}


def run_json(capsys: Any, *arguments: str, code: int = 0) -> Any:
    assert main([*arguments, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def as_arrays(fetches: Any) -> dict[str, Any]:
    """What `run --json` printed, as arrays again."""
    words = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}

    def number(leaf: Any) -> Any:
        return [number(one) for one in leaf] if isinstance(leaf, list) else words.get(leaf, leaf)

    return {
        name: np.array(number(f["value"]), dtypes.numpy_dtype(f["dtype"])).reshape(f["shape"])
        for name, f in fetches.items()
    }


# ------------------------------------------------------------------ the examples
def test_the_examples_are_all_there() -> None:
    assert len(EXAMPLES) >= 10


@every_example
def test_every_example_is_sound_and_gives_what_it_expects(path: Path, capsys: Any) -> None:
    assert main(["check", str(path)]) == 0
    assert "no problems" in capsys.readouterr().out
    assert main(["run", str(path)]) == 0
    assert re.search(r"[1-9]\d* expectations? met", capsys.readouterr().out)
    assert pages.load(path).section("expect")


def test_the_two_gradients_of_means_give_their_numbers(capsys: Any) -> None:
    mean = run_json(capsys, "run", MEAN)["fetches"]["mean_grad"]
    assert (mean["dtype"], mean["shape"]) == ("float64", [3, 3])
    np.testing.assert_allclose(mean["value"], [[1, 1 / 3, 5 / 3]] * 3, rtol=1e-15)
    sqrt_n = run_json(capsys, "run", SQRT_N, "--fetch", "sqrt_n_grad")["fetches"]["sqrt_n_grad"]["value"]
    np.testing.assert_allclose(sqrt_n, [np.array([1, 2, 3]) / 2**0.5] * 2 + [[3, 1, 5]], rtol=1e-15)


@every_example
def test_the_exported_script_prints_the_same_bits(path: Path, capsys: Any, tmp_path: Path) -> None:
    wanted = as_arrays(run_json(capsys, "run", str(path))["fetches"])
    script = tmp_path / "script.py"
    assert main(["export", str(path), "--to", "python", "--out", str(script)]) == 0
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    printed = dict(line.split(" = ", 1) for line in done.stdout.splitlines())
    assert list(printed) == list(wanted)
    for name, text in printed.items():
        assert np.array(ast.literal_eval(text), wanted[name].dtype).tobytes() == wanted[name].tobytes()


@every_example
def test_a_graphdef_of_it_gives_the_same_bits_and_comes_back_as_the_same_page(
    path: Path, capsys: Any, tmp_path: Path
) -> None:
    pytest.importorskip("google.protobuf")
    graph = str(tmp_path / "graph.pb")
    assert main(["export", str(path), "--to", "graphdef", "--out", graph]) == 0
    ops = {entry["op"] for entry in pages.load(path).nodes.values()}
    if "Assign" not in ops:  # a GraphDef has no runs, so nothing gives the variables their values
        wanted = run_json(capsys, "run", str(path))["fetches"]
        assert run_json(capsys, "run", graph, "--fetch", *wanted)["fetches"] == wanted
    assert main(["import", graph, "--out", str(tmp_path / "back.page.json")]) == 0
    found = run_json(capsys, "diff", graph, str(tmp_path / "back.page.json"))
    assert found == {"differences": []}
    kinds = {d["change"] for d in run_json(capsys, "diff", str(path), graph, code=1)["differences"]}
    written_out = {"added", "op", "rewired"} if "Gradient" in ops else set()
    assert kinds <= {"run", "expect"} | written_out


@every_example
def test_every_example_says_what_to_look_at(path: Path) -> None:
    page = pages.load(path)
    notes = [note["text"] for note in page.section("notes").values()]
    assert notes
    for to in re.findall(r"\]\(#([^)]+)\)", " ".join(notes)):
        assert to in page.nodes or to.rpartition(".")[0] in page.nodes, to


# ------------------------------------------------------------------ run
def test_json_has_dtype_shape_and_value_of_each_fetch(capsys: Any, write: Any) -> None:
    nodes = {
        "float": {"op": "Identity", "in": {"input": [1.5, "nan", "-inf"]}},
        "large": {"op": "Identity", "in": {"input": "9007199254740993"}},
        "complex": {"op": "Identity", "in": {"input": {"value": [[1, 2]], "dtype": "complex64"}}},
        "flag": {"op": "Identity", "in": {"input": True}},
        "empty": {"op": "Identity", "in": {"input": {"value": [], "shape": [0, 3], "dtype": "int32"}}},
        "text": {"op": "Identity", "in": {"input": {"value": ["é"], "dtype": "string"}}},
    }
    nodes["large"]["in"]["input"] = {"value": "9007199254740993", "dtype": "int64"}  # type: ignore[index]
    nodes["float"]["in"]["input"] = {"value": [1.5, "nan", "-inf"], "dtype": "float32"}  # type: ignore[index]
    assert run_json(capsys, "run", write(nodes)) == {
        "fetches": {
            "float": {"dtype": "float32", "shape": [3], "value": [1.5, "nan", "-inf"]},
            "large": {"dtype": "int64", "shape": [], "value": "9007199254740993"},
            "complex": {"dtype": "complex64", "shape": [1], "value": [[1.0, 2.0]]},
            "flag": {"dtype": "bool", "shape": [], "value": True},
            "empty": {"dtype": "int32", "shape": [0, 3], "value": []},
            "text": {"dtype": "string", "shape": [1], "value": ["é"]},
        }
    }


@pytest.mark.parametrize("text", ["[1, 2]", "x.npy", "inf", "1e-3"])
def test_feeds_are_files_or_literals(text: str, capsys: Any, write: Any, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([[3.0]]))
    value = str(tmp_path / text) if text.endswith(".npy") else text
    got = as_arrays(run_json(capsys, "run", write(NEG), "--fetch", "y", "--feed", f"x={value}")["fetches"])
    want = {"[1, 2]": [-1.0, -2.0], "x.npy": [[-3.0]], "inf": -np.inf, "1e-3": -1e-3}[text]
    assert got["y"].tolist() == want


@pytest.mark.parametrize(
    ("feed", "code", "told"),
    [
        ("x", 2, "write NODE=FILE.npy or NODE=VALUE"),
        ("x=", 2, "neither a .npy file nor a literal"),
        ("x=abc", 2, "neither a .npy file nor a literal"),
        ("x=missing.npy", 2, "there is no such file"),
        ('x="1" , "__proto__": 1', 2, "neither a .npy file nor a literal"),
        ("x=true", 1, "--feed x must be float64"),
        ("z=1", 1, "'z' is not on the page"),
    ],
)
def test_a_feed_that_makes_no_sense_is_refused(feed: str, code: int, told: str, capsys: Any, write: Any) -> None:
    assert main(["run", write(NEG), "--feed", feed]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert told in err


def test_an_npy_file_of_another_dtype_is_not_cast(capsys: Any, write: Any, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([1], np.float32))
    assert main(["run", write(NEG), "--feed", f"x={tmp_path / 'x.npy'}"]) == 1
    assert "must be float64; got float32" in capsys.readouterr().err


def test_an_error_names_node_and_port(capsys: Any, write: Any) -> None:
    nodes = {
        "ids": {"op": "Placeholder", "attrs": {"dtype": "int32", "shape": [2]}},
        "sum": {"op": "SparseSegmentSum", "in": {"data": [[1.0]], "indices": {"from": "ids"}, "segment_ids": [0, 0]}},
    }
    assert main(["run", write(nodes), "--feed", "ids=[0, 5]"]) == 1
    assert "node 'sum': SparseSegmentSum: indices[1] == 5 out of range [0, 1)" in capsys.readouterr().err
    assert run_json(capsys, "run", write(nodes), "--feed", "ids=[0, 5]", code=1) == {
        "error": {
            "node": "sum",
            "port": "indices",
            "text": "node 'sum': SparseSegmentSum: indices[1] == 5 out of range [0, 1)",
        }
    }


def test_a_page_that_expects_something_else_fails_with_a_table(capsys: Any, write: Any) -> None:
    path = write({"a": {"op": "Identity", "in": {"input": [1.0, 2.0]}}}, expect={"a": {"value": [1, 2.5]}})
    assert main(["run", path]) == 1
    out = capsys.readouterr().out
    for part in ("not as the page expects", "a[1]", "2.5", "1 of 2 elements"):
        assert part in out
    found = run_json(capsys, "run", path, code=1)
    assert found["mismatches"][0]["name"] == "a[1]"


def test_results_go_to_an_npz_file(capsys: Any, write: Any, tmp_path: Path) -> None:
    nodes = {
        "a/b": {"op": "Identity", "in": {"input": [[1.0]]}},
        "../../evil": {"op": "Identity", "in": {"input": {"value": ["s"], "dtype": "string"}}},
    }
    for out in ("one.npz", "two.npz"):
        assert main(["run", write(nodes), "--out", str(tmp_path / out)]) == 0
    with np.load(tmp_path / "one.npz", allow_pickle=False) as made:
        assert sorted(made.files) == ["_/_/evil", "a/b"]
        assert made["a/b"].tolist() == [[1.0]]
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()
    assert main(["run", write(nodes), "--out", "x.csv"]) == 2
    assert "must end in .npz" in capsys.readouterr().err


def test_the_report_tells_what_ran(capsys: Any) -> None:
    assert main(["run", MEAN, "--report"]) == 0
    out = capsys.readouterr().out
    assert "what ran" in out
    assert "72 bytes" in out
    report = run_json(capsys, "run", MEAN, "--report")["report"]
    assert {n["node"] for n in report["nodes"]} >= {"grad", "mean_grad"}
    assert report["seconds"] > 0


def test_runs_can_be_chosen(capsys: Any, write: Any) -> None:
    nodes = {"a": {"op": "Identity", "in": {"input": 1.0}}, "b": {"op": "Identity", "in": {"input": 2.0}}}
    path = write(nodes, runs={"one": {"fetch": ["a"]}, "two": {"fetch": ["b"]}})
    assert list(run_json(capsys, "run", path)["fetches"]) == ["a", "b"]
    assert list(run_json(capsys, "run", path, "--run", "two")["fetches"]) == ["b"]
    assert main(["run", path, "--run", "three"]) == 1
    assert "the page has no run 'three'; it has one, two" in capsys.readouterr().err


# ------------------------------------------------------------------ check
def test_check_lists_everything_and_fails(capsys: Any, write: Any, tmp_path: Path) -> None:
    bad = write({"a": {"op": "Unheard"}, "b": {"op": "Neg"}}, "bad.page.json")
    (tmp_path / "broken.page.json").write_text("{", encoding="utf-8")
    broken = str(tmp_path / "broken.page.json")
    assert main(["check", MEAN, bad, broken]) == 1
    out = capsys.readouterr().out
    for part in ("no problems", "2 problems", "Unheard", "x needs a value or a wire", "is no JSON"):
        assert part in out
    found = run_json(capsys, "check", MEAN, bad, broken, code=1)["problems"]
    assert [(p["node"], p["port"]) for p in found] == [("a", ""), ("b", "x"), ("", "")]
    assert [p["page"] for p in found] == [bad, bad, broken]
    assert run_json(capsys, "check", MEAN) == {"problems": []}


def test_a_long_list_of_problems_is_cut_on_the_terminal_only(capsys: Any, write: Any) -> None:
    path = write({f"n{k}": {"op": "Unheard"} for k in range(60)})
    assert main(["check", path]) == 1
    assert "and 10 more" in capsys.readouterr().out
    assert len(run_json(capsys, "check", path, code=1)["problems"]) == 60


# ------------------------------------------------------------------ diff
def test_diff_tells_nodes_wires_and_values_but_not_the_layout(capsys: Any, write: Any) -> None:
    page = pages.load(MEAN)
    page.section("layout")["grad"] = [0, 0]
    page.document["title"] = "other"
    page.document["nodes"] = dict(reversed(page.nodes.items()))
    page.nodes["mean_grad"]["in"]["grad"] = {"from": "grad.output"}
    same = write(page.nodes, "same.page.json", **{k: page.document[k] for k in ("runs", "expect", "layout")})
    assert main(["diff", MEAN, same]) == 0
    assert "no differences" in capsys.readouterr().out
    page.nodes["indices"]["attrs"]["value"][0] = 1
    page.nodes["mean_grad"]["in"]["segment_ids"] = {"from": "indices"}
    page.nodes["mean_grad"]["in"]["output_dim0"] = 4
    page.nodes["new"] = {"op": "Neg", "in": {"x": 1.0}}
    del page.nodes["segment_ids"]
    other = write(page.nodes, "other.page.json", runs={"main": {"fetch": ["new"]}}, expect=page.section("expect"))
    found = run_json(capsys, "diff", MEAN, other, code=1)["differences"]
    assert [(d["change"], d["place"], d["before"], d["after"]) for d in found] == [
        ("value", "indices.value", "[0, 1, 2]", "[1, 1, 2]"),
        ("removed", "segment_ids", "Const", ""),
        ("rewired", "mean_grad.segment_ids", "← segment_ids", "← indices"),
        ("value", "mean_grad.output_dim0", "3", "4"),
        ("added", "new", "", "Neg"),
        ("run", "main", '{"fetch": ["mean_grad"]}', '{"fetch": ["new"]}'),
    ]
    assert main(["diff", MEAN, other]) == 1
    assert "rewired" in capsys.readouterr().out


def test_one_says_that_they_differ_and_nothing_else(capsys: Any, tmp_path: Path) -> None:
    (tmp_path / "x.page.json").write_text("{", encoding="utf-8")
    assert main(["diff", MEAN, str(tmp_path / "x.page.json")]) == 2
    assert main(["diff", MEAN, str(tmp_path / "missing.page.json")]) == 2


# ------------------------------------------------------------------ export and import
@every_example
def test_drawings_are_deterministic_and_well_formed(path: Path, capsys: Any) -> None:
    drawings = []
    for _ in range(2):
        assert main(["export", str(path), "--to", "svg"]) == 0
        drawings.append(capsys.readouterr().out)
    assert drawings[0] == drawings[1]
    root = ElementTree.fromstring(drawings[0])
    texts = {"".join(text.itertext()).strip() for text in root.iter("{http://www.w3.org/2000/svg}text")}
    page = pages.load(path)
    assert page.title in texts
    for name in page.nodes:
        assert any(text == name or (text.endswith("…") and name.startswith(text[:-1])) for text in texts)


def test_nothing_of_a_page_becomes_markup_or_code(capsys: Any, write: Any, tmp_path: Path) -> None:
    evil = '"""\nimport os\x00\n<script>alert(1)</script>\\'
    path = write(
        {"print": {"op": "Identity", "in": {"input": {"value": [evil], "dtype": "string"}}}, "np": {"op": "NoOp"}},
        title=evil,
        runs={evil: {"fetch": ["print"], "mode": "loop", "steps": 2}},
    )
    assert main(["export", path, "--to", "svg"]) == 0
    assert "<script" not in capsys.readouterr().out
    script = tmp_path / "script.py"
    assert main(["export", path, "--to", "python", "--out", str(script)]) == 0
    tree = ast.parse(script.read_text(encoding="utf-8"))
    imported = [n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
    assert imported == ["gradbag.graph"]
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, f"print = {[evil.encode()]}\n")


def test_a_drawing_shows_a_page_with_problems_too(capsys: Any, write: Any) -> None:
    nodes = {
        "ghost": {"op": "Unheard", "in": {"a": 1}, "attrs": {"b": [1]}},
        "x": {"op": "Neg", "in": {"x": {"from": "ghost.c"}}},
        "y": 3,
    }
    path = write(nodes)
    assert main(["export", path, "--to", "svg"]) == 0
    assert "Unheard" in capsys.readouterr().out
    assert main(["export", path, "--to", "python"]) == 1
    assert main(["export", path, "--to", "graphdef"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "ghost: there is no op 'Unheard'" in err


def test_feeds_of_the_page_are_values_of_the_script(write: Any, tmp_path: Path) -> None:
    path = write(NEG, runs={"main": {"fetch": ["y"], "feed": {"x": [0.1, "nan"]}}})
    script = tmp_path / "script.py"
    assert main(["export", path, "--to", "python", "--out", str(script)]) == 0
    assert "x = np.array([0.1, np.nan], np.float64)" in script.read_text(encoding="utf-8")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120)
    assert done.stdout == "y = [-0.1, nan]\n"


def test_large_constants_of_a_graph_need_a_place(capsys: Any, tmp_path: Path) -> None:
    pytest.importorskip("google.protobuf")
    from gradbag.graph import Scope, ops
    from gradbag.graph.graphdef import save_graphdef

    root = Scope.new_root_scope()
    ops.Neg(root.with_op_name("n"), ops.Const(root.with_op_name("c"), np.arange(100.0)))
    save_graphdef(root.graph, tmp_path / "g.pb")
    assert main(["import", str(tmp_path / "g.pb")]) == 2
    assert "data/c.npy" in capsys.readouterr().err
    (tmp_path / "out").mkdir()
    page = tmp_path / "out" / "g.page.json"
    assert main(["import", str(tmp_path / "g.pb"), "--out", str(page)]) == 0
    assert run_json(capsys, "run", str(page))["fetches"]["n"]["value"][-1] == -99.0
    script = tmp_path / "script.py"
    assert main(["export", str(page), "--to", "python", "--out", str(script)]) == 0
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120)
    assert done.stdout == f"n = {(-np.arange(100.0)).tolist()}\n"


# ------------------------------------------------------------------ all of them
@pytest.mark.parametrize("command", ["run", "check", "export", "import", "diff", "ops", "tour"])
def test_every_command_helps_and_refuses_what_it_does_not_know(command: str, capsys: Any) -> None:
    for arguments, code in (([command, "--help"], 0), ([command, "--nonsense"], 2)):
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        assert ended.value.code == code
    out, err = capsys.readouterr()
    assert out.startswith(f"usage: gradbag {command}")
    assert err.startswith("usage: gradbag")


@pytest.mark.parametrize(
    "command", [["run"], ["check"], ["export", "--to", "svg"], ["import"], ["diff", MEAN]], ids=str
)
def test_a_file_that_is_not_there_is_a_mistake_in_the_command(command: list[str], capsys: Any, tmp_path: Path) -> None:
    assert main([*command, str(tmp_path / "no.page.json")]) == 2
    assert "no.page.json: there is no such file" in capsys.readouterr().err


def test_commands_work_without_rich(python: Any) -> None:
    program = (
        "from gradbag.cli import main\n"
        "codes = [main(['run', p, '--report']) or main(['check', p]) or main(['diff', p, p]) for p in sys.argv[1:]]\n"
        "sys.exit(max(codes))"
    )
    done = python(program, MEAN, SQRT_N, blocked=["rich"])
    assert (done.returncode, done.stderr) == (0, "")
    assert "expectation met" in done.stdout
    assert "\x1b" not in done.stdout


def test_the_version_still_loads_no_graph(python: Any) -> None:
    done = python("from gradbag.cli import main; main(['tour']); print('gradbag.graph' in sys.modules)")
    assert done.stdout.splitlines()[-1] == "False"
    assert gradbag.__version__


def test_a_long_run_has_a_bar_on_standard_error(monkeypatch: Any, capsys: Any) -> None:
    from gradbag.terminal import Progress

    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1")
    with Progress(patience=0.0) as told:
        told("train", 1, 2)
        told("train", 2, 2)
    out, err = capsys.readouterr()
    assert out == ""
    assert "train" in err
    with Progress(patience=60.0) as told:
        told("train", 1, 2)
    assert capsys.readouterr() == ("", "")
