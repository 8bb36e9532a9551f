"""A pytest plugin (`-p without_kernels`): the tests as they run where nothing was compiled."""

import sys

sys.modules["gradbag.eager._kernels"] = None  # type: ignore[assignment]


def pytest_report_header() -> str:
    from gradbag import eager

    return f"native kernels: {'in use' if eager.available() else 'not there'}"
