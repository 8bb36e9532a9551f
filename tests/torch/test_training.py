"""The example that trains a recommender with PyTorch's bags and with gradbag's."""

import importlib.util
import itertools
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

PATH = Path(__file__).parents[2] / "examples" / "train_recommender_torch.py"


@pytest.fixture(scope="module")
def example() -> Any:
    specification = importlib.util.spec_from_file_location("train_recommender_torch", PATH)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[module.__name__] = module  # dataclasses look there
    specification.loader.exec_module(module)
    return module


@pytest.mark.parametrize("mode", ["mean", "sum"])
def test_the_losses_of_an_epoch_are_those_of_nn(example: Any, mode: str) -> None:
    sizes = example.Sizes(fields=3, rows=2000, width=8, batch=256, steps=60, bag=4)
    theirs, ours = ([step.loss for step in example.epoch(sizes, make)] for make in example.bags(mode).values())
    np.testing.assert_allclose(ours, theirs, rtol=2e-4)
    assert np.mean(ours[-10:]) < np.mean(ours[:10])


def test_another_seed_is_another_epoch(example: Any) -> None:
    make = example.bags("mean")["gradbag.torch.EmbeddingBag"]
    curves = []
    for seed in (1, 2):
        sizes = example.Sizes(fields=2, rows=100, width=4, batch=32, steps=3, bag=2, seed=seed)
        curves.append([step.loss for step in itertools.islice(example.epoch(sizes, make), 3)])
    assert not np.allclose(*curves, rtol=1e-3)


def test_the_program_prints_the_ratio() -> None:
    small = ["--fields", "2", "--rows", "100", "--width", "4", "--batch", "16", "--steps", "4", "--bag", "2"]
    done = subprocess.run([sys.executable, str(PATH), *small], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["torch.nn.EmbeddingBag", "gradbag.torch.EmbeddingBag", "A"]
    assert lines[-1].startswith("A step with gradbag takes ")
