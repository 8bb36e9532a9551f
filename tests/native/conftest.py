"""gradbag.tensorflow.install() cannot be undone, so these tests have a process of their own: `pytest tests/native`."""

import os
from pathlib import Path

import pytest

# Read when TensorFlow is imported, which the test modules do after this.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
# The same calls in every run, unless another seed is given.
os.environ.setdefault("GRADBAG_SEED", "20260101")


@pytest.fixture
def seed():
    return int(os.environ["GRADBAG_SEED"])


@pytest.fixture(scope="session", autouse=True)
def _installed():
    import gradbag.tensorflow

    gradbag.tensorflow.install()


def pytest_collection_modifyitems(items):
    folder = Path(__file__).parent
    for item in items:
        if folder in item.path.parents:
            item.add_marker(pytest.mark.tensorflow)
