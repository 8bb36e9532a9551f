"""The page of the optimizers is executed, and the examples of their modules are right."""

import doctest
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import numpy as np
import pytest
import tensorflow as tf
import torch

from gradbag import optim
from gradbag.adapters.jax import optim as jax_optim
from gradbag.adapters.torch import optim as torch_optim

TEXT = (Path(__file__).parents[2] / "docs" / "optimizers.md").read_text(encoding="utf-8")


def test_the_page_runs_from_top_to_bottom() -> None:
    names: dict[str, Any] = {}
    seen: list[Any] = []
    with jax.enable_x64(False):
        for block in re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL):
            exec(compile(block, "docs/optimizers.md", "exec"), names)  # noqa: S102  # our own text
            seen.append(names.get("table"))
    assert isinstance(seen[0], np.ndarray)
    assert np.flatnonzero(seen[0].any(1)).tolist() == [3, 7]
    assert isinstance(names["bag"].weight, torch.Tensor)
    assert isinstance(names["table"], jax.Array)
    assert np.flatnonzero(np.asarray(names["table"]).any(1)).tolist() == [3, 7]
    assert isinstance(names["variable"], tf.Variable)
    assert np.flatnonzero(names["variable"].numpy().any(1)).tolist() == [3, 7]


@pytest.mark.parametrize("module", [optim, torch_optim, jax_optim], ids=lambda module: module.__name__)
def test_the_examples_of_a_module_are_right(module: ModuleType) -> None:
    with jax.enable_x64(False):
        found = doctest.testmod(module)
    assert found.attempted >= 6
    assert not found.failed


def test_the_page_names_every_optimizer_and_its_presets() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \|.*\| (.*) \|$", TEXT, re.MULTILINE))
    kinds = [kind for kind in vars(optim).values() if isinstance(kind, type) and kind is not optim.Optimizer]
    assert {kind.__name__: set(kind.presets) for kind in kinds} == {
        name: set(re.findall(r"`(\w+)`", presets)) for name, presets in rows.items()
    }
