"""The command line."""

import json
import os
from typing import Any

import pytest

import gradbag
from gradbag.cli import main
from gradbag.spec import registry
from gradbag.testing import array_ops, native_ops

RUN = "from gradbag.cli import main; sys.exit(main(sys.argv[1:]))"


def exit_code(*arguments: str) -> Any:
    """Of a command that argparse ends."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return ended.value.code


# ------------------------------------------------------------------ ops
def test_ops_lists_every_op_and_counts_them(capsys: Any) -> None:
    assert main(["ops"]) == 0
    out, err = capsys.readouterr()
    every = list(registry)
    assert all(op.name in out for op in every)
    assert f"{len(every)} ops." in out
    assert err == ""


def test_ops_lists_the_sparse_ops_before_those_of_arrays(capsys: Any) -> None:
    assert main(["ops"]) == 0
    sparse, _, basic = capsys.readouterr().out.partition("ops of arrays")
    assert all(op.name in sparse for op in registry if op.section != "array")
    assert all(op.name in basic for op in array_ops())
    assert "MatMul" not in sparse


def test_the_page_of_a_basic_op_tells_kinds_and_defaults_of_its_settings(capsys: Any) -> None:
    assert main(["ops", "Cast"]) == 0
    out = capsys.readouterr().out
    for part in ("DstT", "name of a dtype", "required", "Truncate", "False", "Gradients: x"):
        assert part in out


def test_ops_with_a_name_shows_arguments_gradients_and_an_example_with_its_answer(capsys: Any) -> None:
    assert main(["ops", "SparseSegmentMeanGrad"]) == 0
    out = capsys.readouterr().out
    for part in ("output_dim0", "int32", "[segments *inner]", "Gradients: grad", "output_dim0=4,", "[4., 2.]"):
        assert part in out


@pytest.mark.parametrize("name", ["SparseSlice", "sparse_slice", "sparseslice"])
def test_an_exact_name_wins_over_the_names_that_contain_it(name: str, capsys: Any) -> None:
    assert main(["ops", name, "--markdown"]) == 0
    assert capsys.readouterr().out.startswith("# SparseSlice\n")


def test_a_part_of_a_name_lists_the_ops_that_have_it(capsys: Any) -> None:
    assert main(["ops", "mean_grad"]) == 0
    out = capsys.readouterr().out
    assert "SparseSegmentMeanGrad" in out
    assert "SparseSegmentMeanGradV2" in out
    assert "SparseSegmentSum" not in out
    assert "2 ops." in out


def test_a_part_that_only_one_op_has_shows_its_page(capsys: Any) -> None:
    assert main(["ops", "sparse_slice_g"]) == 0
    assert "backprop_val_grad" in capsys.readouterr().out


def test_an_unknown_name_is_an_error_on_stderr(capsys: Any) -> None:
    assert main(["ops", "SegmentMedian"]) == 2
    assert capsys.readouterr() == ("", "gradbag: no op is called 'SegmentMedian'; `gradbag ops` lists them all\n")


def test_json_is_a_list_and_for_one_op_a_block(capsys: Any) -> None:
    assert main(["ops", "--json"]) == 0
    names = [op.name for op in registry]
    assert [block["op"] for block in json.loads(capsys.readouterr().out)] == names
    assert main(["ops", "SparseSlice", "--json"]) == 0
    block = json.loads(capsys.readouterr().out)
    assert block["op"] == "SparseSlice"
    assert block["inputs"][0]["default"] == [[0, 1], [1, 3], [2, 0], [3, 2]]


def test_markdown_has_a_page_for_each_op(capsys: Any) -> None:
    assert main(["ops", "fill_empty", "--markdown"]) == 0
    out = capsys.readouterr().out
    titles = [line for line in out.splitlines() if line.startswith("# ")]
    assert titles == [f"# {op.name}" for op in native_ops() if "FillEmpty" in op.name]
    assert out.count("```") % 2 == 0


def test_two_forms_at_once_are_refused(capsys: Any) -> None:
    assert exit_code("ops", "--json", "--markdown") == 2
    assert "not allowed with" in capsys.readouterr().err


# ------------------------------------------------------------------ the rest
def test_version_tells_whether_the_kernels_are_there(capsys: Any) -> None:
    assert exit_code("--version") == 0
    out = capsys.readouterr().out
    assert out.startswith(f"gradbag {gradbag.__version__} (")
    assert ("NumPy only" in out) != gradbag.eager.available()


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["ops", "a", "b"], ["ops", "--yaml"]], ids=str)
def test_a_command_that_is_not_there_shows_the_usage(arguments: list[str], capsys: Any) -> None:
    assert exit_code(*arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("usage: gradbag")


def test_the_tour_computes_what_it_tells(capsys: Any) -> None:
    assert main(["tour"]) == 0
    out = capsys.readouterr().out
    for part in ("Casablanca", "SparseSegmentSqrtNGrad", "0.577", "indices[1] == 7 out of range [0, 5)"):
        assert part in out


def test_everything_works_without_rich_in_plain_text(python: Any) -> None:
    program = "from gradbag.cli import main; sys.exit(main(['ops']) or main(['ops', 'SparseSlice']) or main(['tour']))"
    done = python(program, blocked=["rich"])
    assert (done.returncode, done.stderr) == (0, "")
    assert all(op.name in done.stdout for op in native_ops())
    assert "output_shape" in done.stdout
    assert "\x1b" not in done.stdout
    assert "═" not in done.stdout


def test_the_package_itself_is_the_command(python: Any) -> None:
    done = python("import runpy; runpy.run_module('gradbag', run_name='__main__', alter_sys=True)", "--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("gradbag ")


@pytest.mark.parametrize(
    ("arguments", "blocked"),
    [(["ops"], []), (["ops", "--json"], []), (["tour"], []), (["tour"], ["rich"])],
    ids=["ops", "ops --json", "tour", "tour without rich"],
)
def test_a_reader_that_has_seen_enough_is_no_error(python: Any, arguments: list[str], blocked: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)  # as `| head` does, only sooner
    try:
        done = python(RUN, *arguments, blocked=blocked, stdout=writer)
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")
