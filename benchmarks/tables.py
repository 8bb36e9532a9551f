"""The results on the terminal. A ratio above one means that gradbag is faster."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from measure import summary
from rich.console import Console
from rich.table import Table

Row = dict[str, Any]

KINDS = {
    "forward": "Forward: SparseSegmentMean",
    "dense": "Dense gradient: SparseSegmentMeanGrad",
    "compact": "Compact gradient: SparseSegmentMeanGradV2",
}
# Families whose tables have the same columns, in the order of the output.
TITLES = {
    **{kind: f"{title}, 2 threads" for kind, title in KINDS.items()},
    "trace": "A trace shaped like production, 2 threads",
    "bfloat16": "bfloat16, 2 threads",
    "half": "half, 2 threads",
    "int64": "int64 indices, 2 threads",
    "float64": "float64, 2 threads",
    "odd width": "Odd widths, 2 threads",
    "fill and slice": "Fill and slice, 2 threads",
    "tiny": "One call on about ten ids, 2 threads",
    **{f"{kind}, one thread": f"{title}, one thread each" for kind, title in KINDS.items()},
}
SHORT = {"TensorFlow": "TF", "PyTorch": "PT"}
SEVERAL_OPS = ("trace", "bfloat16", "half", "int64", "float64", "odd width", "fill and slice")


# ------------------------------------------------------------------ the goals
@dataclass(frozen=True)
class Goal:
    name: str
    peer: str
    goal: float
    belongs: Callable[[Row], bool]
    which: str = "mean"  # or min: no workload may be below it


def _family(name: str) -> Callable[[Row], bool]:
    return lambda row: row["family"] == name


def _op(op: str, words: str = "") -> Callable[[Row], bool]:
    return lambda row: row["family"] == "fill and slice" and row["op"] == op and words in row["workload"]


def _tiny(kind: str) -> Callable[[Row], bool]:
    return lambda row: row["family"] == "tiny" and row["kind"] == kind


def _large(kind: str, narrow: bool = False) -> Callable[[Row], bool]:
    """Tables of a million rows, of 8 columns or of 32 and more."""
    return lambda row: (
        row["family"] == kind and row["workload"].startswith("R 1M") and narrow == ("D 8," in row["workload"])
    )


GOALS = [
    Goal("forward", "TensorFlow", 8, _family("forward")),
    Goal("forward", "PyTorch", 1.3, _family("forward")),
    Goal("forward, each workload", "PyTorch", 1, _family("forward"), "min"),
    Goal("dense gradient", "TensorFlow", 11, _family("dense")),
    Goal("dense gradient", "PyTorch", 5, _family("dense")),
    Goal("compact gradient", "TensorFlow", 22, _family("compact")),
    Goal("compact gradient", "PyTorch", 12, _family("compact")),
    Goal("forward, one thread", "TensorFlow", 4, _family("forward, one thread")),
    Goal("dense gradient, one thread", "TensorFlow", 9, _family("dense, one thread")),
    Goal("compact gradient, one thread", "TensorFlow", 14, _family("compact, one thread")),
    Goal("FillEmptyRows, sorted", "TensorFlow", 4, _op("SparseFillEmptyRows", ", sorted")),
    Goal("FillEmptyRows, unsorted", "TensorFlow", 12, _op("SparseFillEmptyRows", "unsorted")),
    Goal("FillEmptyRowsGrad, sorted map", "TensorFlow", 3.5, _op("SparseFillEmptyRowsGrad", ", sorted")),
    Goal("FillEmptyRowsGrad, random map", "TensorFlow", 3, _op("SparseFillEmptyRowsGrad", "random")),
    Goal("Slice", "TensorFlow", 4, _op("SparseSlice")),
    Goal("SliceGrad, rank 2", "TensorFlow", 2, _op("SparseSliceGrad", "rank 2")),
    Goal("SliceGrad, rank 3", "TensorFlow", 2, _op("SparseSliceGrad", "rank 3")),
    *(
        Goal(f"tiny call, {name}", peer, 4, _tiny(kind))
        for kind, name in (("forward", "forward"), ("dense", "dense gradient"), ("compact", "compact gradient"))
        for peer in ("TensorFlow", "PyTorch")
    ),
    Goal("forward, R 1M, D 32-128", "limit", 0.80, _large("forward")),
    Goal("dense gradient, R 1M, D 32-128", "limit", 0.75, _large("dense")),
    Goal("compact gradient, R 1M, D 32-128", "limit", 0.50, _large("compact")),
    Goal("compact gradient, R 1M, D 8", "limit", 0.30, _large("compact", narrow=True)),
]


# ------------------------------------------------------------------ tables
def show(console: Console, results: dict[str, Any]) -> None:
    rows = results["rows"]
    for family, title in TITLES.items():
        if chosen := [row for row in rows if row["family"] == family]:
            console.print(family_table(family, title, chosen))
            console.print()
    console.print(goals_table(rows))
    for line in notes(results):
        console.print(line, soft_wrap=True)


def family_table(family: str, title: str, rows: list[Row]) -> Table:
    unit, scale = ("µs", 1e6) if family == "tiny" else ("ms", 1e3)
    peers = [peer for peer in ("TensorFlow", "PyTorch") if any(ratio(row, peer) for row in rows)]
    columns: dict[str, Callable[[Row], float | None]] = {f"gradbag {unit}": lambda row: _scaled(row, "gradbag", scale)}
    for peer in peers:
        columns[f"{SHORT[peer]} {unit}"] = lambda row, peer=peer: _scaled(row, peer, scale)
    ratios: dict[str, Callable[[Row], float | None]] = {}
    for peer in peers:
        ratios[f"vs {peer}"] = lambda row, peer=peer: ratio(row, peer)
    for peer in peers:
        ratios[f"CPU vs {SHORT[peer]}"] = lambda row, peer=peer: row.get("cpu_ratios", {}).get(peer)
        ratios[f"cold vs {SHORT[peer]}"] = lambda row, peer=peer: row.get("cold_ratios", {}).get(peer)
    if family == "odd width":
        ratios["per byte"] = lambda row: row.get("per_byte")
    if any(map(share_of_limit, rows)):
        ratios["of limit"] = share_of_limit
        ratios["CPU of limit"] = lambda row: row.get("cpu_ratios", {}).get("limit")
    table = _table(title, "workload" if family != "tiny" else "op", [*columns, *ratios])
    for row in rows:
        name = _name(row)
        if "wrong" in row:
            table.add_row(name, f"[bold red]WRONG[/]: {row['wrong']}")
            continue
        cells = [_number(get(row)) for get in columns.values()]
        table.add_row(name, *cells, *(_cell(column, get(row)) for column, get in ratios.items()))
    if len(rows) > 1:
        table.add_section()
        found = {column: summary(map(get, rows)) for column, get in ratios.items()}
        for label, key in (("geometric mean", "mean"), ("min", "min"), ("max", "max")):
            cells = [_cell(column, numbers.get(key)) for column, numbers in found.items()]
            table.add_row(label, *[""] * len(columns), *cells, style="bold" if key == "mean" else "")
    return table


def goals_table(rows: list[Row]) -> Table:
    table = _table(
        "Reached, beside the goals",
        "what",
        ["against", "goal", "geometric mean", "min", "max", "on CPU", "workloads", "of limit"],
    )
    table.columns[1].justify = "left"
    for goal in GOALS:
        chosen = [row for row in rows if goal.belongs(row)]
        found = summary(ratio(row, goal.peer) for row in chosen)
        if not found:
            continue
        cells = {key: _cell(goal.peer, found[key]) for key in ("mean", "min", "max")}
        colour = "green" if found[goal.which] >= goal.goal else "yellow"
        cells[goal.which] = f"[bold {colour}]{cells[goal.which]}[/]"
        cpu = summary(row.get("cpu_ratios", {}).get(goal.peer) for row in chosen)
        limit = summary(map(share_of_limit, chosen)) if goal.peer != "limit" else {}
        table.add_row(
            goal.name,
            goal.peer,
            _cell(goal.peer, goal.goal),
            *cells.values(),
            _cell(goal.peer, cpu.get("mean")),
            str(found["count"]),
            _cell("of limit", limit.get("mean")),
        )
    return table


def notes(results: dict[str, Any]) -> Iterable[str]:
    machine = results["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    load = f", load {machine['load'][0]:.1f}" if machine["load"] else ""
    yield f"{machine['processor']}, {machine['cores']} cores{load}; {versions}"
    yield (
        "vs: median of in-round ratios of wall time; CPU vs: of the time of the busiest thread on CPU. TF: TensorFlow; "
        "PT: the fastest of PyTorch's ways. of limit: the time in which this machine gathers the rows, fills results "
        "of this size and reads the ids once (benchmarks/limit.cpp), in the same rounds and as many threads, for "
        "tables of 16 MiB or more. per byte: speed beside that of the neighbouring multiple of 8 columns; 1x is as "
        "good."
    )
    yield results["memory"]
    if "import_seconds" in results:
        yield f"import gradbag, beyond NumPy: {results['import_seconds'] * 1e3:.1f} ms"
    if not results["native_kernels"]:
        yield "[bold yellow]The native kernels are missing: these are the NumPy bodies.[/]"
    for row in results["rows"]:
        if "wrong" in row:
            yield f"[bold red]WRONG[/] {row['op']}, {row['workload']}: {row['wrong']}"


# ------------------------------------------------------------------ numbers of a row
def ratio(row: Row, peer: str) -> float | None:
    return row.get("ratios", {}).get(peer)


def share_of_limit(row: Row) -> float | None:
    return ratio(row, "limit")


def _name(row: Row) -> str:
    if row["family"] == "tiny":
        return str(row["op"])
    workload = row["workload"].removesuffix(", rank 2") if "Fill" in row["op"] else row["workload"]
    if row["family"] in SEVERAL_OPS:
        # The title has the types.
        workload = ", ".join(part for part in workload.split(", ") if not part.startswith(("float", "bfloat", "int")))
        return f"{row['kind']}: {workload}"
    return str(workload)


def _scaled(row: Row, peer: str, scale: float) -> float | None:
    seconds = row["seconds"].get(row.get("torch_best") if peer == "PyTorch" else peer)
    return None if seconds is None else seconds * scale


def _cell(column: str, value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.0%}" if "limit" in column else f"{value:.2f}x" if value < 9.95 else f"{value:.1f}x"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}" if value < 100 else f"{value:.0f}"


def _table(title: str, first: str, columns: Iterable[str]) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=None, padding=(0, 2, 0, 0))
    table.add_column(first, no_wrap=True)
    for column in columns:
        table.add_column(column, justify="right")
    return table
