"""The PyTorch adapter; PyTorch must be installed."""

from pathlib import Path

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    folder = Path(__file__).parent
    for item in items:
        if folder in item.path.parents:
            item.add_marker(pytest.mark.torch)
            # What PyTorch says about itself.
            item.add_marker(pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning"))
            item.add_marker(pytest.mark.filterwarnings("ignore:.*in beta state:UserWarning"))
            item.add_marker(pytest.mark.filterwarnings("ignore:Sparse invariant checks are implicitly:UserWarning"))
