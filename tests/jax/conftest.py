"""The JAX adapter; JAX must be installed."""

from collections.abc import Iterator
from pathlib import Path

import jax
import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    folder = Path(__file__).parent
    for item in items:
        if folder in item.path.parents:
            item.add_marker(pytest.mark.jax)


@pytest.fixture(autouse=True)
def sixty_four_bits() -> Iterator[None]:
    """JAX with float64 and int64; a test of the other kind says so."""
    with jax.enable_x64(True):
        yield
