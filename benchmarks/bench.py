"""Measure the speed of gradbag, side by side with TensorFlow where it is installed.

    python benchmarks/bench.py               a few minutes
    python benchmarks/bench.py --quick       half a minute, for a first impression
    python benchmarks/bench.py --json FILE   the numbers, beside benchmarks/results/latest.json

A ratio above one means that gradbag is faster. No number is a threshold: machines differ.
"""

from __future__ import annotations

import argparse
import datetime
import functools
import json
import math
import os
import platform
import shlex
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Read when TensorFlow is imported.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import ml_dtypes
import numpy as np
import workloads
from measure import Comparison, summary
from rich.console import Console
from rich.progress import Progress, TimeElapsedColumn
from rich.table import Table

import gradbag
from gradbag.spec import Op, registry

LATEST = Path(__file__).with_name("results") / "latest.json"
IMPORT_TIME = "import time, numpy; t = time.perf_counter(); import gradbag; print(time.perf_counter() - t)"


@dataclass(frozen=True)
class Effort:
    rounds: int
    batch_seconds: float
    medium_rounds: int
    imports: int


FULL = Effort(rounds=31, batch_seconds=0.01, medium_rounds=15, imports=15)
QUICK = Effort(rounds=7, batch_seconds=0.002, medium_rounds=3, imports=3)


def load_tensorflow() -> Any:
    """TensorFlow on one thread, or None where it is not installed."""
    try:
        import tensorflow as tf
    except ModuleNotFoundError:
        return None
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    return tf


def peers(op: Op, inputs: dict[str, Any], tf: Any) -> dict[str, Any]:
    """The same call on both sides, with everything ready: arrays here, tensors there."""
    made = {"gradbag": functools.partial(getattr(gradbag.raw_ops, op.name), **inputs)}
    if tf is not None and hasattr(tf.raw_ops, op.name):
        tensors = {name: tf.constant(array) for name, array in inputs.items()}
        made["TensorFlow"] = functools.partial(getattr(tf.raw_ops, op.name), **tensors)
        ours, theirs = (call() if op.result is not None else [call()] for call in made.values())
        for arg, one, other in zip(op.outputs, ours, theirs, strict=True):
            np.testing.assert_allclose(one, other.numpy(), rtol=1e-3, atol=1e-3, err_msg=f"{op.name}: {arg.name}")
    return made


def compare(op: Op, inputs: dict[str, Any], tf: Any, rounds: int, batch_seconds: float) -> dict[str, Any]:
    comparison = Comparison(peers(op, inputs, tf), batch_seconds)
    for _ in range(rounds):
        comparison.round()
    row: dict[str, Any] = {"op": op.name, "entries": workloads.entries(op, inputs)}
    row["gradbag_seconds"] = comparison.seconds("gradbag")
    if "TensorFlow" in comparison.peers:
        row["tensorflow_seconds"] = comparison.seconds("TensorFlow")
        row["ratio"] = comparison.ratio("TensorFlow")
        row["on_cpu_ratio"] = comparison.ratio("TensorFlow", "cpu")
    return row


def measure(effort: Effort, tf: Any, console: Console) -> dict[str, Any]:
    with Progress(*Progress.get_default_columns(), TimeElapsedColumn(), console=console, transient=True) as progress:
        results: dict[str, Any] = {"tiny": [], "medium": [], "import_seconds": []}
        for op in progress.track(list(registry), description="Tiny calls"):
            results["tiny"].append(compare(op, workloads.tiny(op), tf, effort.rounds, effort.batch_seconds))
        for op, inputs in progress.track(list(workloads.medium()), description="Medium calls"):
            results["medium"].append(compare(op, inputs, tf, effort.medium_rounds, 0.0))
        for _ in progress.track(range(effort.imports), description="Imports"):
            done = subprocess.run([sys.executable, "-c", IMPORT_TIME], capture_output=True, text=True, check=True)
            results["import_seconds"].append(float(done.stdout))
    for size in ("tiny", "medium"):
        results[f"{size}_summary"] = summary(row.get("ratio", math.nan) for row in results[size])
        results[f"{size}_on_cpu_summary"] = summary(row.get("on_cpu_ratio", math.nan) for row in results[size])
    return results


# ------------------------------------------------------------------ what was measured, and where
def circumstances(tf: Any, effort: Effort) -> dict[str, Any]:
    versions = {m.__name__: m.__version__ for m in (np, ml_dtypes, gradbag, *([tf] if tf else []))}
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "command": shlex.join([Path(sys.executable).name, *sys.argv]),
        "machine": {
            "processor": _processor(),
            "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
            "system": platform.platform(),
            "load": list(os.getloadavg()) if hasattr(os, "getloadavg") else None,
        },
        "versions": {"python": platform.python_version(), **versions},
        "native_kernels": gradbag.kernels.available(),
        "tensorflow_threads": {"intra_op": 1, "inter_op": 1} if tf else None,
        "effort": vars(effort),
        "workloads": {
            "tiny": "float32, int32 where there is a choice; the sample nearest to ten entries",
            "medium": workloads.describe_medium(),
            "memory": "every call allocates its outputs, on both sides by the allocator's defaults",
        },
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


# ------------------------------------------------------------------ on the terminal
def show(console: Console, results: dict[str, Any], about: dict[str, Any]) -> None:
    show_rows(console, "One tiny call", results["tiny"], "µs", 1e6)
    show_summary(console, results, "tiny")
    show_rows(console, "One call of a working size", results["medium"], "ms", 1e3)
    show_summary(console, results, "medium")
    beyond = statistics.median(results["import_seconds"])
    console.print(f"import gradbag, beyond NumPy: {beyond * 1e3:.1f} ms (median of {len(results['import_seconds'])})")
    machine, versions = about["machine"], ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    threads = "TensorFlow on one intra-op and one inter-op thread; " if about["tensorflow_threads"] else ""
    kernels = "native kernels" if about["native_kernels"] else "NumPy bodies, no native kernels"
    load = f", load {machine['load'][0]:.1f}" if machine["load"] else ""
    console.print(f"{kernels}; {threads}{machine['processor']}, {machine['cores']} cores{load}; {versions}")


def show_rows(console: Console, title: str, rows: list[dict[str, Any]], unit: str, scale: float) -> None:
    table = Table(title=title, title_justify="left", title_style="bold", box=None, padding=(0, 2, 0, 0))
    table.add_column("op")
    for column in ("entries", f"gradbag {unit}", f"TensorFlow {unit}", "ratio", "ratio on CPU"):
        table.add_column(column, justify="right")
    for row in rows:
        times = [row["gradbag_seconds"], row.get("tensorflow_seconds")]
        cells = [f"{row['entries']:,}", *("-" if t is None else f"{t * scale:.2f}" for t in times)]
        cells += [f"{row[key]:.2f}" if key in row else "-" for key in ("ratio", "on_cpu_ratio")]
        table.add_row(row["op"], *cells)
    console.print(table)


def show_summary(console: Console, results: dict[str, Any], size: str) -> None:
    for name, key in (("ratio", f"{size}_summary"), ("ratio on CPU", f"{size}_on_cpu_summary")):
        if found := results[key]:
            numbers = f"geometric mean {found['geometric_mean']:.2f}, min {found['min']:.2f}, max {found['max']:.2f}"
            console.print(f"{name}, TensorFlow / gradbag: {numbers}")
    console.print()


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the speed of gradbag, side by side with TensorFlow.")
    parser.add_argument("--quick", action="store_true", help="fewer rounds: half a minute")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers to this file, too")
    given = parser.parse_args()
    console = Console(width=None if sys.stdout.isatty() else 120, highlight=False)
    effort = QUICK if given.quick else FULL
    tf = load_tensorflow()
    about = circumstances(tf, effort)
    results = measure(effort, tf, console)
    show(console, results, about)
    text = json.dumps({**about, **results}, indent=2) + "\n"
    LATEST.parent.mkdir(exist_ok=True)
    for path in [LATEST, *([given.json] if given.json else [])]:
        path.write_text(text, encoding="utf-8")
        console.print(f"Written: {os.path.relpath(path)}")


if __name__ == "__main__":
    main()
