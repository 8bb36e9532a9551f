"""Measure the speed of gradbag beside TensorFlow and PyTorch, in one run.

    python benchmarks/bench.py               about half an hour
    python benchmarks/bench.py --quick       under two minutes, for a first impression
    python benchmarks/bench.py --seed 7      a third of the bags has sizes that are drawn from this seed
    python benchmarks/bench.py --help        the rest

A ratio above one means that gradbag is faster. No number is a threshold: machines differ. Every result is compared
with TensorFlow's, bit for bit, before it is measured; a wrong one has no ratio, and the program ends with an error.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import shlex
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import plots
import tables
import workloads
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

import gradbag

HERE = Path(__file__).parent
IMPORT_TIME = "import time, numpy; t = time.perf_counter(); import gradbag; print(time.perf_counter() - t)"
MEMORY = {
    "same": "Memory: every call allocates its results; large blocks get huge pages for every peer, as NumPy's do "
    "(GLIBC_TUNABLES=glibc.malloc.hugetlb=1, where the C library knows it).",
    "default": "Memory: every call allocates its results by the defaults of each peer's allocator; only NumPy's asks "
    "for huge pages.",
}


def measure(quick: bool, seed: int, memory: str, console: Console) -> tuple[list[tables.Row], dict[str, str]]:
    """Run a worker for each number of threads, one after the other, and collect their rows."""
    tasks = workloads.plan(quick, seed)
    rows: list[tables.Row] = []
    versions: dict[str, str] = {}
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    left = TimeRemainingColumn(elapsed_when_finished=True)
    with Progress(*columns, TextColumn("left"), left, console=console, transient=True) as progress:
        # The speed is taken over a long time, because short tasks follow long ones.
        progress.speed_estimate_period = 600.0
        bar = progress.add_task("Starting", total=sum(task.weight for task in tasks))
        for threads in dict.fromkeys(task.threads for task in tasks):
            numbers = [n for n, task in enumerate(tasks) if task.threads == threads]
            with _worker(threads, quick, seed, memory) as worker:
                progress.update(bar, description=str(tasks[numbers[0]]))
                for line in worker.stdout or ():
                    said = json.loads(line)
                    versions |= said.get("versions", {})
                    if "row" in said:
                        rows.append(said["row"])
                        following = tasks[min(said["task"] + 1, len(tasks) - 1)]
                        progress.update(bar, advance=tasks[said["task"]].weight, description=str(following))
            if worker.returncode:
                raise SystemExit(f"The measurement on {threads} threads stopped with status {worker.returncode}")
    return rows, versions


def import_seconds(times: int = 5) -> float:
    """How long `import gradbag` takes beyond NumPy."""
    command = [sys.executable, "-c", IMPORT_TIME]
    done = [subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(times)]
    return statistics.median(map(float, done))


def _worker(threads: int, quick: bool, seed: int, memory: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "GRADBAG_NUM_THREADS": str(threads)}
    if memory == "same":
        environment["GLIBC_TUNABLES"] = "glibc.malloc.hugetlb=1"
    command = [sys.executable, str(HERE / "worker.py"), str(threads), "quick" if quick else "full", str(seed)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


def circumstances(quick: bool, seed: int, memory: str) -> dict[str, Any]:
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "command": shlex.join([Path(sys.executable).name, *sys.argv]),
        "quick": quick,
        "seed": seed,
        "memory": MEMORY[memory],
        "machine": {
            "processor": processor(),
            "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
            "system": platform.platform(),
            "load": list(os.getloadavg()) if hasattr(os, "getloadavg") else None,
        },
        "versions": {
            "python": platform.python_version(),
            **{m.__name__: m.__version__ for m in (np, ml_dtypes, gradbag)},
        },
        "native_kernels": gradbag.eager.available(),
    }


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def arguments() -> argparse.Namespace:
    about = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(description=about, epilog="A ratio above one means that gradbag is faster.")
    parser.add_argument("--quick", action="store_true", help="fewer and smaller workloads: under two minutes")
    parser.add_argument(
        "--seed", type=int, default=0, help="from which a third of the sizes of bags is drawn; 0 if not given"
    )
    parser.add_argument("--list", action="store_true", help="list the workloads and stop")
    parser.add_argument("--memory", choices=list(MEMORY), default="same", help="huge pages for all, or the defaults")
    parser.add_argument(
        "--into",
        type=Path,
        metavar="DIR",
        help="where numbers and plots go (docs/benchmarks; benchmarks/results if quick)",
    )
    parser.add_argument("--from-json", type=Path, metavar="FILE", help="show and draw the numbers of an earlier run")
    return parser.parse_args()


def main() -> None:
    given = arguments()
    console = Console(width=None if sys.stdout.isatty() else 150, highlight=False)
    if given.list:
        for task in workloads.plan(given.quick, given.seed):
            console.print(f"{task.threads} threads  {task.family:24}{task.op}, {task.workload or 'about ten entries'}")
        return
    if given.from_json:
        results = json.loads(given.from_json.read_text(encoding="utf-8"))
    else:
        results = circumstances(given.quick, given.seed, given.memory)
        results["rows"], versions = measure(given.quick, given.seed, given.memory, console)
        results["versions"] |= versions
        results["import_seconds"] = import_seconds()
    tables.show(console, results)
    folder = given.into or plots.folder_for(results["quick"])
    written = plots.draw_ratios(results, folder)
    if not given.from_json:
        written.append(folder / "ratios.json")
        written[-1].write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    console.print("Written: " + ", ".join(os.path.relpath(path) for path in written), soft_wrap=True)
    if any("wrong" in row for row in results["rows"]):
        raise SystemExit("Some results are wrong: see above")


if __name__ == "__main__":
    main()
