"""Comparison with the real TensorFlow: made quiet, with a table of the random calls at the end."""

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


def pytest_collection_modifyitems(items):
    folder = Path(__file__).parent
    for item in items:
        if folder in item.path.parents:
            item.add_marker(pytest.mark.tensorflow)


def pytest_terminal_summary(terminalreporter):
    """The table of the random calls: every test of an op leaves one row, in a property of its report."""
    reports = terminalreporter.getreports("passed") + terminalreporter.getreports("failed")
    rows = [
        value for report in reports if report.when == "call" for name, value in report.user_properties if name == "row"
    ]
    if not rows:
        return
    terminalreporter.section(f"random calls, GRADBAG_SEED={os.environ['GRADBAG_SEED']}")
    total = ("total", *(sum(column) for column in list(zip(*rows, strict=True))[1:]))
    terminalreporter.write_line(f"{'op':36} {'calls':>8} {'refused':>8} {'bits compared':>14}")
    for op, calls, refused, bits in (*rows, total):
        terminalreporter.write_line(f"{op:36} {calls:>8,} {refused:>8,} {bits:>14,}")
