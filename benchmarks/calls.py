"""What a call on about ten ids costs: the best of many, in microseconds, for every op.

python benchmarks/calls.py
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import workloads

from gradbag import raw_ops
from gradbag.testing import native_ops

ROUNDS, CALLS = 200, 100


def best(call: Callable[..., Any], inputs: dict[str, Any]) -> float:
    """Seconds per call in the quickest round: the one that nothing disturbed."""
    seconds = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        for _ in range(CALLS):
            call(**inputs)
        seconds.append((time.perf_counter() - begin) / CALLS)
    return min(seconds)


if __name__ == "__main__":
    for op in native_ops():
        microseconds = best(getattr(raw_ops, op.name), dict(workloads.tiny(op))) * 1e6
        print(f"{op.name:40}{microseconds:8.2f}")
