"""The example that trains a recommender: the same in three frameworks, good enough, and not lost when it is killed."""

import importlib.util
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradbag.testing import assert_same

FOLDER = Path(__file__).parents[2] / "examples"
SMALL = ["--data", "synthetic", "--limit", "4000", "--batch", "128"]
FRAMEWORKS = ("numpy", "torch", "jax")


@pytest.fixture(scope="module")
def example() -> Any:
    """A function that imports a module of the example."""
    sys.path.insert(0, str(FOLDER))
    yield lambda name: importlib.import_module(f"recommender.{name}")
    sys.path.remove(str(FOLDER))


def command(folder: Path, *more: str) -> list[str]:
    return [sys.executable, "-m", "recommender", "--folder", str(folder), *more]


def told(folder: Path, *more: str, **options: Any) -> str:
    done = subprocess.run(command(folder, *more), capture_output=True, text=True, cwd=FOLDER, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_losses_are_the_same_in_all_frameworks(example: Any) -> None:
    training, data = example("training"), example("data").load("auto", seed=0)
    curves = []
    for framework in FRAMEWORKS:
        settings = training.Settings(framework=framework)
        start = example("network").initial(data.rows, 0, settings.dtype)
        model = example("models").make(framework, start, settings.optimizer, data.longest)
        batches = np.random.default_rng(0).permutation(len(data.train))[: 100 * settings.batch].reshape(100, -1)
        curves.append([])
        for picked in (*batches, *batches):  # rows come again
            part = data.train.pick(picked)
            curves[-1].append(model.step(part.bags, part.labels.astype(settings.dtype)))
    for curve in curves[1:]:
        np.testing.assert_allclose(curve, curves[0], atol=1e-5, rtol=0)
    assert np.mean(curves[0][-20:]) < np.mean(curves[0][:20]) - 0.05


def test_movielens_is_learned(example: Any, tmp_path: Path) -> None:
    if importlib.util.find_spec("recbole") is None:
        pytest.skip("RecBole, whose wheel has the data, is not installed")
    text = told(tmp_path, "--framework", "jax", "--epochs", "18", "--data", "movielens")
    assert text.startswith("MovieLens-100k: 80000 examples to learn from, a table of 2865 rows\n")
    assert float(text.partition("Test AUC ")[2].split(",")[0]) >= 0.78
    assert (tmp_path / "losses.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_killed_and_resumed_it_has_the_same_bits(framework: str, tmp_path: Path) -> None:
    arguments = [*SMALL, "--framework", framework, "--epochs", "6"]
    straight, killed = tmp_path / "straight", tmp_path / "killed"
    told(straight, *arguments)
    process = subprocess.Popen(command(killed, *arguments), cwd=FOLDER, stdout=subprocess.DEVNULL)
    checkpoint = killed / "checkpoint.npz"
    while not checkpoint.exists():
        assert process.poll() is None
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    text = told(killed, *arguments, "--resume")
    assert "Goes on after epoch " in text
    with np.load(straight / "checkpoint.npz") as one, np.load(checkpoint) as other:
        assert one.files == other.files
        assert one["epoch"] == 6
        assert len(one["losses"]) == 6 * (3200 // 128)
        for name in one.files:
            assert_same(other[name], one[name])


def test_what_cannot_go_on_is_refused_in_words(tmp_path: Path) -> None:
    told(tmp_path, *SMALL, "--epochs", "1")
    for more, message in [
        (["--epochs", "2", "--resume", "--seed", "1"], "checkpoint.npz is of another run: framework=numpy"),
        (["--batch", "4096"], "A batch of 4096 is more than the 3200 examples to learn from"),
        (["--epochs", "0"], "--batch and --epochs must be at least 1"),
    ]:
        done = subprocess.run(command(tmp_path, *SMALL, *more), capture_output=True, text=True, cwd=FOLDER)
        assert done.returncode > 0
        assert message in done.stderr
        assert "Traceback" not in done.stderr


def test_without_what_is_optional_it_still_runs(tmp_path: Path) -> None:
    """No RecBole, no matplotlib, no rich: a stand-in, and the plot as text."""
    program = tmp_path / "bare.py"
    program.write_text(
        "import runpy, sys\n"
        "sys.modules.update(dict.fromkeys(['rich', 'matplotlib']))\n"
        "sys.path[:] = [sys.argv.pop(1), *sys.path]\n"
        "import importlib.util as util\n"
        "find = util.find_spec\n"
        "util.find_spec = lambda name, *more: None if name == 'recbole' else find(name, *more)\n"
        "runpy.run_module('recommender', run_name='__main__')\n"
    )
    arguments = [str(program), str(FOLDER), "--limit", "2000", "--batch", "200", "--epochs", "3"]
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=tmp_path, check=True)
    lines = done.stdout.splitlines()
    assert lines[0].startswith("A synthetic stand-in for MovieLens-100k: 1600 examples")
    assert lines[1].startswith("RecBole is not installed")
    assert lines[-2].startswith("loss        █")
    assert lines[-1].startswith("validation  ")


def test_the_stand_in_has_the_shape_of_movielens(example: Any) -> None:
    data = example("data").load("synthetic", seed=0)
    assert len(data.train) > 60_000
    assert 2500 < data.rows < 3200
    lengths = data.train.bags.lengths.reshape(-1, 8)
    assert (lengths[:, :7] == 1).all()
    assert (np.unique(lengths[:, 7]) == [1, 2, 3, 4]).all()
    assert 0.4 < data.train.labels.mean() < 0.7
    assert data.train.bags.ids.max() < data.rows


def test_the_auc_counts_ties_as_half(example: Any) -> None:
    rng = np.random.default_rng(0)
    scores, labels = rng.integers(0, 20, 300).astype(float), rng.integers(0, 2, 300).astype(float)
    good = labels > 0
    pairs = np.sign(scores[good][:, None] - scores[~good])
    assert example("training").auc(scores, labels) == pytest.approx((pairs.mean() + 1) / 2)


def test_a_step_is_measured_beside_pytorch(example: Any, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    compare = example("compare")
    monkeypatch.setattr(compare, "ROUNDS", 1)
    monkeypatch.setattr(compare, "BURST", 2)
    compare.main("synthetic", 0, "float32")
    lines = [line.split() for line in capsys.readouterr().out.splitlines()[3:]]
    assert [(line[0], line[1]) for line in lines] == [
        (size, clock) for size in ("512", "4096") for clock in ("processor", "wall")
    ]
    assert all(float(line[-1].rstrip("x")) > 0 for line in lines)


def test_the_page_about_it_runs() -> None:
    text = (FOLDER.parent / "docs" / "recommender.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec(compile(block, "docs/recommender.md", "exec"), {})  # noqa: S102  # our own text
    assert set(re.findall(r"`(\w+\.py)`", text)) | {"__init__.py", "__main__.py", "models.py"} == {
        path.name for path in (FOLDER / "recommender").glob("*.py")
    }
