"""How time and memory of one call grow with the number of ids, the rows of the table and its columns.

    python benchmarks/growth.py              some minutes, and memory up to the budget
    python benchmarks/growth.py --quick      smaller sizes

Every point is a process of its own, so that its peak of memory belongs to one call. A point whose estimated memory is
above the budget is left out, and said.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import gradbag

OPS = {
    "forward": "SparseSegmentMean",
    "dense gradient": "SparseSegmentMeanGrad",
    "compact gradient": "SparseSegmentMeanGradV2",
}
BAG = 10
SIZES = {
    "ids": [10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000, 50_000_000],
    "rows": [10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000, 100_000_000],
    "columns": [1, 2, 4, 8, 16, 32, 64, 128, 256, 512],
}
# Many ids of a large table at once: these points are told, not drawn.
LARGEST = {"ids": 50_000_000, "rows": 100_000_000, "columns": 16}
QUICK_LARGEST = {"ids": 1_000_000, "rows": 1_000_000, "columns": 128}
FIXED = {
    "ids": {"rows": 1_000_000, "columns": 16},
    "rows": {"ids": 1_000_000, "columns": 16},
    "columns": {"ids": 1_000_000, "rows": 100_000},
}
QUICK_FIXED = {
    "ids": {"rows": 100_000, "columns": 16},
    "rows": {"ids": 100_000, "columns": 16},
    "columns": {"ids": 100_000, "rows": 20_000},
}
CALLS = 5
MANY_SECONDS = 10.0  # after this time a point has enough calls


@dataclass(frozen=True)
class Point:
    axis: str
    kind: str
    ids: int
    rows: int
    columns: int

    def __str__(self) -> str:
        return f"{self.kind}: N {self.ids:,}, R {self.rows:,}, D {self.columns}"

    @property
    def estimate(self) -> int:
        """Bytes of inputs, results and scratch, rather too many."""
        row = 4 * self.columns
        segments = self.ids // BAG + 1
        lists = 8 * self.ids
        if self.kind == "forward":
            return self.rows * row + lists + segments * row
        if self.kind == "dense gradient":
            return segments * row + lists + self.rows * row + 16 * self.ids
        return segments * row + lists + min(self.ids, self.rows) * (row + 4) + 32 * self.ids


def points(quick: bool) -> Iterator[Point]:
    for axis, sizes in SIZES.items():
        for size in sizes:
            if quick and size > QUICK_LARGEST[axis]:
                continue
            for kind in OPS:
                yield Point(axis, kind, **{**(QUICK_FIXED if quick else FIXED)[axis], axis: size})
    if not quick:
        yield from (Point("largest", kind, **LARGEST) for kind in OPS)


# ------------------------------------------------------------------ one point, in its own process
def measure(point: Point) -> dict[str, Any]:
    """Seconds of the least disturbed of some calls, and the bytes that the first one added to the process's peak."""
    rng = np.random.default_rng(0)
    segments = -(-point.ids // BAG)
    lists = {
        "indices": rng.integers(0, point.rows, point.ids, np.int32),
        "segment_ids": np.repeat(np.arange(segments, dtype=np.int32), BAG)[: point.ids],
    }
    if point.kind == "forward":
        given = {"data": _table(rng, point.rows, point.columns), **lists}
    else:
        size = "output_dim0" if point.kind == "dense gradient" else "dense_output_dim0"
        given = {"grad": _table(rng, segments, point.columns), **lists, size: np.array(point.rows, np.int32)}
    call = getattr(gradbag.raw_ops, OPS[point.kind])
    _warm_up()
    before = _memory("VmRSS")
    _forget_peak()
    call(**given)
    added = _memory("VmHWM") - before
    seconds: list[float] = []
    while len(seconds) < CALLS and sum(seconds) < MANY_SECONDS:
        started = time.perf_counter()
        call(**given)
        seconds.append(time.perf_counter() - started)
    return {**asdict(point), "seconds": min(seconds), "bytes": max(added, 0), "peak": _memory("VmHWM")}


def _warm_up() -> None:
    """Load what a first call loads, so that the measured one adds its own memory only."""
    one, ids = np.ones((1, 1), np.float32), np.zeros(1, np.int32)
    gradbag.raw_ops.SparseSegmentMean(data=one, indices=ids, segment_ids=ids)
    gradbag.raw_ops.SparseSegmentMeanGrad(grad=one, indices=ids, segment_ids=ids, output_dim0=1)
    gradbag.raw_ops.SparseSegmentMeanGradV2(grad=one, indices=ids, segment_ids=ids, dense_output_dim0=1)


def _table(rng: np.random.Generator, rows: int, columns: int) -> Any:
    """Numbers that repeat after a million, which takes less time to make than different ones."""
    block = rng.random(1_000_003, np.float32)
    table = np.empty(rows * columns, np.float32)
    for at in range(0, len(table), len(block)):
        part = table[at : at + len(block)]
        part[:] = block[: len(part)]
    return table.reshape(rows, columns)


def _memory(name: str) -> int:
    """Bytes from /proc; elsewhere the peak since the start, which is all that the system tells."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))
    except (OSError, StopIteration):
        import resource

        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _forget_peak() -> None:
    """Let VmHWM begin anew; where that is not allowed, the inputs' making counts when it took more."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


# ------------------------------------------------------------------ all points
def run(quick: bool, budget: int, threads: int) -> tuple[list[dict[str, Any]], list[str]]:
    from rich.progress import track

    environment = {**os.environ, "GRADBAG_NUM_THREADS": str(threads)}
    found, skipped = [], []
    for point in track(list(points(quick)), description="Points", transient=True):
        if point.estimate > budget:
            skipped.append(f"{point}: about {point.estimate / 2**30:.1f} GiB")
            continue
        command = [sys.executable, __file__, "--point", json.dumps(asdict(point))]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            skipped.append(f"{point}: status {done.returncode}, {last}")
        else:
            found.append(json.loads(done.stdout))
    return found, skipped


def show(results: dict[str, Any], console: Any) -> None:
    import plots
    from rich.table import Table

    for axis, label in plots.GROWTH_AXES.items():
        title = f"Over the {label} ({results['fixed'][axis]})"
        table = Table(title=title, title_justify="left", title_style="bold", box=None, padding=(0, 2, 0, 0))
        for column in (label, *(f"{kind} {unit}" for kind in OPS for unit in ("ms", "MiB"))):
            table.add_column(column, justify="right")
        own = [p for p in results["points"] if p["axis"] == axis]
        for size in sorted({p[axis] for p in own}):
            cells = []
            for kind in OPS:
                point = next((p for p in own if p[axis] == size and p["kind"] == kind), None)
                cells += [f"{point['seconds'] * 1e3:.2f}", f"{point['bytes'] / 2**20:.1f}"] if point else ["-", "-"]
            table.add_row(f"{size:,}", *cells)
        console.print(table)
        console.print()
    for p in results["points"]:
        if p["axis"] == "largest":
            console.print(
                f"{p['kind']} of {p['ids']:,} ids of a table of {p['rows']:,} rows, D = {p['columns']}: "
                f"{p['seconds'] * 1e3:.0f} ms, {p['bytes'] / 2**30:.1f} GiB; "
                f"with its inputs {p['peak'] / 2**30:.1f} GiB",
                soft_wrap=True,
            )
    for line in results["skipped"]:
        console.print(f"Left out: {line}", soft_wrap=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smaller sizes: about a minute")
    parser.add_argument("--threads", type=int, default=2, help="gradbag's threads (2)")
    parser.add_argument("--memory-gib", type=float, metavar="G", help="budget (half of what is available now)")
    parser.add_argument(
        "--into",
        type=Path,
        metavar="DIR",
        help="where numbers and plots go (docs/benchmarks; benchmarks/results if quick)",
    )
    parser.add_argument("--point", help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    given = arguments()
    if given.point:
        print(json.dumps(measure(Point(**json.loads(given.point)))))
        return
    import plots
    from rich.console import Console

    console = Console(width=None if sys.stdout.isatty() else 130, highlight=False)
    budget = int(given.memory_gib * 2**30) if given.memory_gib else gradbag.get_memory_limit() // 2
    names = {"ids": "N", "rows": "R", "columns": "D"}
    fixed = {
        axis: ", ".join(f"{names[name]} = {value:,}" for name, value in others.items()) + f", bags of {BAG}, float32"
        for axis, others in (QUICK_FIXED if given.quick else FIXED).items()
    }
    results: dict[str, Any] = {"quick": given.quick, "threads": given.threads, "fixed": fixed}
    results["points"], results["skipped"] = run(given.quick, budget, given.threads)
    show(results, console)
    folder = given.into or plots.folder_for(given.quick)
    written = [*plots.draw_growth(results, folder), folder / "growth.json"]
    written[-1].write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    console.print("Written: " + ", ".join(os.path.relpath(path) for path in written), soft_wrap=True)


if __name__ == "__main__":
    main()
