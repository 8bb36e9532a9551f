"""Keras on its three back ends, each in a process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

BACKENDS = ("tensorflow", "jax", "torch")
SQUARING = ("Adam", "AdamW", "Nadam", "Adagrad", "RMSprop", "Ftrl")


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """What the program said on each back end."""
    said = {}
    for backend in BACKENDS:
        environment = {**os.environ, "KERAS_BACKEND": backend, "TF_CPP_MIN_LOG_LEVEL": "3"}
        run = subprocess.run(
            [sys.executable, Path(__file__).with_name("keras_program.py")],
            env=environment,
            capture_output=True,
            text=True,
        )
        assert run.returncode == 0, run.stderr
        said[backend] = json.loads(run.stdout.splitlines()[-1])
        assert said[backend]["backend"] == backend
    return said


@pytest.mark.parametrize("name", SQUARING)
def test_keras_on_tensorflow_is_wrong_about_rows_that_repeat_and_then_right(found: dict[str, Any], name: str) -> None:
    right = found["jax"]["plain"][name]
    np.testing.assert_allclose(found["torch"]["plain"][name], right, rtol=1e-4, atol=1e-5)
    wrong = found["tensorflow"]["plain"][name]
    np.testing.assert_allclose(wrong[2], right[2], rtol=1e-4)  # the row that occurs once
    assert abs(wrong[1] - 1) > 5 * abs(right[1] - 1)  # the row that occurs a hundred times goes much too far
    np.testing.assert_allclose(found["tensorflow"]["repaired"][name], right, rtol=1e-4, atol=1e-5)


def test_what_was_right_stays_so(found: dict[str, Any]) -> None:
    np.testing.assert_allclose(found["tensorflow"]["repaired"]["SGD"], found["tensorflow"]["plain"]["SGD"], rtol=1e-5)
    for backend in ("jax", "torch"):
        assert found[backend]["repaired"] == found[backend]["plain"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_layer_trains_alike_on_every_back_end(found: dict[str, Any], backend: str) -> None:
    for setting, model in found[backend]["trained"].items():
        assert model["same"], f"{setting}: another model was loaded than saved"
        assert model["losses"][-1] < model["losses"][0]
        other = found["jax"]["trained"][setting]
        np.testing.assert_allclose(model["losses"], other["losses"], rtol=1e-4)
        np.testing.assert_allclose(model["said"], other["said"], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_layer_takes_bags_of_more_axes_and_of_nothing(found: dict[str, Any], backend: str) -> None:
    assert found[backend]["looked_up"] == {"rows": [[2.0, 0.0], [3.0, 1.0]], "shape": [2, 2, 2]}
