"""A pytest plugin (`-p without_kernels`): the tests as they run where nothing was compiled."""

import sys

sys.modules["gradbag.kernels._kernels"] = None  # type: ignore[assignment]


def pytest_report_header() -> str:
    from gradbag import kernels

    return f"native kernels: {'in use' if kernels.available() else 'not there'}"
