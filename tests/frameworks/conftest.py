"""PyTorch, JAX and TensorFlow side by side; all of them must be installed."""

from collections.abc import Iterator
from pathlib import Path

import jax
import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:  # what PyTorch says about itself
            item.add_marker(pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning"))


@pytest.fixture(autouse=True)
def sixty_four_bits() -> Iterator[None]:
    """JAX with float64 and int64, as the others have them."""
    with jax.enable_x64(True):
        yield
