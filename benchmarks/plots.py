"""The results as pictures, PNG and SVG: ratios of every family, and growth with the sizes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
from measure import summary

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from matplotlib.transforms import ScaledTranslation

# Okabe and Ito's colours, which stay apart for every kind of colour vision; the shapes differ, too.
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#666666"
PEERS = {"TensorFlow": (BLUE, "o"), "PyTorch": (ORANGE, "D")}
KINDS = {"forward": (BLUE, "o"), "dense gradient": (ORANGE, "s"), "compact gradient": (GREEN, "^")}
KIND_NAMES = {"forward": "forward", "dense": "dense gradient", "compact": "compact gradient"}
STYLE = {
    "font.size": 10,
    "axes.titlesize": 12,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "svg.hashsalt": "gradbag",  # the same numbers give the same file
    "svg.fonttype": "none",
}


def folder_for(quick: bool) -> Path:
    """Where numbers and pictures go. Quick runs are only a first impression, which nobody keeps."""
    here = Path(__file__).parent
    return here / "results" if quick else here.parent / "docs" / "benchmarks"


def save(figure: Any, folder: Path, name: str) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.{ending}" for ending in ("png", "svg")]
    for path in paths:
        # No date in the file, so that it changes only with the numbers.
        metadata = {"Date": None} if path.suffix == ".svg" else None
        figure.savefig(path, dpi=160, bbox_inches="tight", facecolor="white", metadata=metadata)
    plt.close(figure)
    return paths


# ------------------------------------------------------------------ ratios
def groups(rows: list[dict[str, Any]]) -> list[tuple[str, list[tuple[str, list[dict[str, Any]]]]]]:
    """The lines of the chart, in blocks: a name and the rows that it stands for."""
    rows = [row for row in rows if "wrong" not in row]

    def chosen(family: str, kind: str | None = None) -> list[dict[str, Any]]:
        return [row for row in rows if row["family"] == family and kind in (None, row["kind"])]

    segment = [(name, chosen(kind)) for kind, name in KIND_NAMES.items()]
    single = [(name, chosen(f"{kind}, one thread")) for kind, name in KIND_NAMES.items()]
    trace = [(name, chosen("trace", kind)) for kind, name in KIND_NAMES.items()]
    types = [
        (f"{family}, {name}", chosen(family, kind))
        for family in ("bfloat16", "half", "float64", "int64")
        for kind, name in KIND_NAMES.items()
    ]
    other = [
        (f"{row['op'].removeprefix('Sparse')}, {_order(row)}", [row])
        for row in rows
        if row["family"] == "fill and slice"
    ]
    blocks = [
        ("float32, int32, two threads", segment),
        ("float32, int32, one thread", single),
        ("trace shaped like production", trace),
        ("other types, two threads", types),
        ("fill and slice, two threads", other),
        ("calls on about ten ids", [("all raw ops", chosen("tiny"))]),
    ]
    kept = [(title, [(name, found) for name, found in lines if found]) for title, lines in blocks]
    return [(title, lines) for title, lines in kept if lines]


def _order(row: dict[str, Any]) -> str:
    _, order, rank = row["workload"].split(", ")
    return rank if "Slice" in row["op"] else order


def draw_ratios(results: dict[str, Any], folder: Path) -> list[Path]:
    """A dot for every workload, the range as a line and the geometric mean as a large mark with its number."""
    blocks = groups(results["rows"])
    height = sum(len(lines) + 1.1 for _, lines in blocks)
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=(9.5, 0.36 * height + 1.4))
        place, names = 0.0, []
        for title, lines in blocks:
            axes.text(-0.01, place, title, transform=axes.get_yaxis_transform(), ha="right", va="center", weight="bold")
            place += 1
            for name, rows in lines:
                names.append((place, name))
                _draw_line(axes, place, rows)
                place += 1
            place += 0.1
        axes.set_yticks([at for at, _ in names], [name for _, name in names])
        axes.set_ylim(place - 0.4, -0.6)
        _ratio_axis(axes, results["rows"])
        axes.axvline(1, color="black", linewidth=1)
        axes.axvspan(axes.get_xlim()[0], 1, color="#eeeeee", zorder=0)
        # Upright: the part left of 1 is narrow if hardly anything is slower.
        middle = float(np.sqrt(axes.get_xlim()[0]))
        axes.text(middle, place / 2, "gradbag slower", rotation=90, ha="center", va="center", fontsize=8.5, color=GREY)
        for peer, (colour, mark) in PEERS.items():
            axes.plot([], [], mark, color=colour, markersize=7, label=f"beside {peer}")
        axes.legend(
            loc="lower right", bbox_to_anchor=(1, 1), ncols=2, frameon=False, borderaxespad=0.2, handletextpad=0
        )
        axes.set_title("How many times faster gradbag is: further right is better", pad=24, x=-0.28)
        axes.text(-0.28, 1.0, "mark and number: geometric mean; line: range; dots: workloads", fontsize=9, color=GREY,
                  transform=axes.transAxes + ScaledTranslation(0, 8 / 72, figure.dpi_scale_trans))  # fmt: skip
        versions = results["versions"]
        about = f"{results['machine']['processor']}; " + ", ".join(
            f"{name} {versions[key]}"
            for name, key in (("TensorFlow", "tensorflow"), ("PyTorch", "torch"))
            if key in versions
        )
        axes.set_xlabel(
            f"their time / gradbag's time (logarithmic; 1x: equally fast)\n{about}{' (quick run)' * results['quick']}"
        )
        return save(figure, folder, "ratios")


def _draw_line(axes: Any, place: float, rows: list[dict[str, Any]]) -> None:
    shown = [peer for peer in PEERS if any(peer in row["ratios"] for row in rows)]
    for turn, peer in enumerate(shown):
        colour, mark = PEERS[peer]
        at = place + (0 if len(shown) == 1 else (-0.2, 0.2)[turn])
        ratios = [row["ratios"].get(peer) for row in rows]
        found = summary(ratios)
        axes.plot([found["min"], found["max"]], [at, at], color=colour, linewidth=1.2, alpha=0.45)
        dots = [r for r in ratios if r]
        if len(dots) > 1:
            axes.plot(dots, [at] * len(dots), "o", color=colour, markersize=3.5, alpha=0.6, markeredgewidth=0)
        axes.plot(found["mean"], at, mark, color=colour, markersize=7.5, markeredgecolor="white", markeredgewidth=0.8)
        number = f"{found['mean']:.{1 if found['mean'] >= 2 else 2}f}"
        beside = {"xytext": (6, 0), "textcoords": "offset points", "va": "center"}
        axes.annotate(number, (found["max"], at), **beside, color=colour, fontsize=8.5)


def _ratio_axis(axes: Any, rows: list[dict[str, Any]]) -> None:
    every = [row["ratios"][peer] for row in rows if "wrong" not in row for peer in PEERS if peer in row["ratios"]]
    axes.set_xscale("log")
    axes.set_xlim(min(0.8, min(every) * 0.8), max(every) * 1.5)
    axes.xaxis.set_major_locator(LogLocator(base=10, subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}x"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.grid(axis="x", color="#dddddd", linewidth=0.7)
    axes.tick_params(axis="y", length=0)


# ------------------------------------------------------------------ growth
GROWTH_AXES = {"ids": "number of ids N", "rows": "rows of the table R", "columns": "columns D"}
MEASURES = {
    "seconds": ("time of a call, seconds", 1.0, 0.0),
    "bytes": ("memory it adds at its peak, MiB", 2.0**20, 0.1),  # less is the noise of a few pages
}


def slope(x: Any, y: Any) -> float:
    """The exponent of growth over the larger half of the points, where fixed costs no longer count."""
    half = slice(len(x) // 2 - (len(x) < 4), None)
    return float(np.polyfit(np.log(x[half]), np.log(y[half]), 1)[0])


def draw_growth(results: dict[str, Any], folder: Path) -> list[Path]:
    """Time and memory over each size, on logarithmic axes: a straight line of slope 1 is growth in proportion."""
    with plt.rc_context(STYLE):
        figure, grid = plt.subplots(2, 3, figsize=(13, 7.2), sharex="col", sharey="row", layout="constrained")
        for column, (axis, label) in enumerate(GROWTH_AXES.items()):
            for line, (measure, (unit, scale, floor)) in enumerate(MEASURES.items()):
                axes = grid[line][column]
                _draw_growth(axes, [p for p in results["points"] if p["axis"] == axis], axis, measure, scale, floor)
                if line == 0:
                    axes.set_title(f"over the {label}", pad=18)
                    axes.text(0, 1.015, results["fixed"][axis], transform=axes.transAxes, fontsize=8.5, color=GREY)
                else:
                    axes.set_xlabel(label)
                if column == 0:
                    axes.set_ylabel(unit)
        for axes in grid[:, 0]:  # the other columns share it
            axes.set_ylim(top=axes.get_ylim()[1] * 12)  # room for the legends
        note = " (quick run: small sizes)" if results["quick"] else ""
        figure.suptitle(
            f"How time and memory of one call grow: lower is better, slope 1 is proportional{note}", weight="bold"
        )
        return save(figure, folder, "growth")


def _draw_growth(axes: Any, points: list[dict[str, Any]], axis: str, measure: str, scale: float, floor: float) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.grid(color="#dddddd", linewidth=0.7)
    for kind, (colour, mark) in KINDS.items():
        found = sorted((p[axis], p[measure] / scale) for p in points if p["kind"] == kind)
        found = [(size, value) for size, value in found if value > floor]
        if len(found) < 2:
            continue
        x, y = np.array(found, float).T
        label = f"{kind}, slope {round(slope(x, y), 2) + 0.0:.2f}"
        axes.plot(x, y, color=colour, marker=mark, markersize=5, linewidth=1.6, label=label)
    if axes.lines:
        axes.legend(frameon=False, fontsize=8.5, loc="upper left")
