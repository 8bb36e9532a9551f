"""Measure the tasks of one number of threads and print a line of JSON for each; started by bench.py.

A process of its own, because TensorFlow fixes its number of threads at its first call.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import measure
import peers
import workloads
from workloads import Bags, Task


def main() -> None:
    threads, quick, seed = int(sys.argv[1]), sys.argv[2] == "quick", int(sys.argv[3])
    tf, torch = peers.set_threads(threads)
    effort = measure.QUICK if quick else measure.FULL
    _say({"versions": {m.__name__: m.__version__ for m in (tf, torch) if m}})
    for number, task in enumerate(workloads.plan(quick, seed)):
        if task.threads == threads:
            _say({"task": number, "row": row(task, effort, tf, torch)})


def row(task: Task, effort: measure.Effort, tf: Any, torch: Any) -> dict[str, Any]:
    made: dict[str, Any] = {"family": task.family, "op": task.op, "kind": task.kind, "threads": task.threads}
    made["workload"] = "tiny" if task.family == "tiny" else str(task.workload)
    try:
        comparison = measure.Comparison(peers.calls(task, tf, torch), effort)
    except peers.Wrong as finding:
        return {**made, "wrong": str(finding)}
    comparison.run()
    made["rounds"] = comparison.rounds
    made["seconds"] = {name: comparison.seconds(name) for name in comparison.times}
    made["ratios"] = {name: comparison.ratio(name) for name in comparison.times if name != peers.OWN}
    made["cpu_ratios"] = {name: comparison.ratio(name, "cpu") for name in comparison.times if name != peers.OWN}
    made["cold_seconds"] = {name: comparison.seconds(name, "cold") for name in comparison.times}
    made["cold_ratios"] = {name: comparison.ratio(name, "cold") for name in comparison.times if name != peers.OWN}
    ways = [name for name in comparison.times if name.startswith("torch")]
    if ways:
        best = min(ways, key=comparison.seconds)
        made["torch_best"] = best
        for kind in ("ratios", "cpu_ratios", "cold_ratios"):
            made[kind]["PyTorch"] = made[kind][best]
    if isinstance(task.workload, Bags) and task.neighbour:
        # Time for a byte of the neighbouring width, for that of this one: 1 is as good, less is slower.
        made["per_byte"] = made["ratios"][peers.NEIGHBOUR] * task.workload.columns / task.neighbour.columns
    return made


def _say(message: dict[str, Any]) -> None:
    print(json.dumps(message), flush=True)


if __name__ == "__main__":
    main()
