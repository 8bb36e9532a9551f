"""How fast the driver of the present Ray cluster and its nodes exchange rows."""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np
import ray


def _rows(given: Any, count: int) -> Any:
    """As many rows as were asked for, and what came with the question."""
    return int(given.sum()), np.arange(count, dtype=np.float32)


def measured(megabytes: int, repeat: int) -> tuple[list[str], bool]:
    """What to print, and whether all is well."""
    started = not ray.is_initialized()
    if started:
        ray.init(address=os.environ.get("RAY_ADDRESS", "auto"), log_to_driver=False, logging_level="ERROR")
    try:
        return _measured(megabytes, repeat)
    finally:
        if started:
            ray.shutdown()


def _measured(megabytes: int, repeat: int) -> tuple[list[str], bool]:
    nodes = [node for node in ray.nodes() if node["Alive"]]
    lines, ok = [f"{len(nodes)} nodes, by Ray {ray.__version__}"], True
    count = megabytes * 250_000
    asked, wanted = np.arange(1000), np.arange(count, dtype=np.float32).tobytes()
    for node in nodes:
        there = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
        task = ray.remote(num_cpus=0)(_rows).options(scheduling_strategy=there)
        small, large = [], []
        for turn in range(repeat + 1):
            begin = time.perf_counter()
            ray.get(task.remote(asked, 1))
            middle = time.perf_counter()
            total, rows = ray.get(task.remote(asked, count))
            if turn:  # the first one starts a worker
                small.append(middle - begin)
                large.append(time.perf_counter() - middle)
            ok &= total == asked.sum() and rows.tobytes() == wanted
        latency, seconds = float(np.median(small)), float(np.median(large))
        lines.append(
            f"{node['NodeManagerAddress']}: a small call {1e3 * latency:.2f} ms, {4 * count / 1e6:.0f} MB of rows in "
            f"{1e3 * seconds:.1f} ms: {4 * count / seconds / 1e6:.0f} MB/s"
        )
    lines.append(f"contents: {'right' if ok else 'WRONG'}")
    if any(node["NodeManagerAddress"].startswith("127.") for node in nodes) and len(nodes) > 1:
        lines.append("a node has the address 127.0.0.1: start it with --node-ip-address of the net between the hosts")
    if os.environ.get("RAY_AUTH_MODE") != "token":
        lines.append("RAY_AUTH_MODE is not 'token' here: anyone who reaches the port can run programs on the cluster")
    return lines, ok
