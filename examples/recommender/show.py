"""What a person sees of a run: a bar, a line for every epoch, and a picture of the losses."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from .data import Array
from .training import Progress

try:
    from rich import progress as bars
except ImportError:
    bars = None  # type: ignore[assignment]

BLOCKS = " ▁▂▃▄▅▆▇█"


def bar(losses: Iterable[float], steps: int, epoch: int) -> Iterator[float]:
    """Pass losses on, with a bar on a terminal that goes away at the end; a plain line if rich is not installed."""
    if not sys.stdout.isatty():
        yield from losses
    elif bars is None:
        for step, loss in enumerate(losses, 1):
            print(f"\repoch {epoch:2}   step {step} of {steps}   loss {loss:.4f}", end="", flush=True)
            yield loss
        print("\r\033[K", end="")
    else:
        columns = (
            "epoch {task.fields[epoch]:2}",
            bars.BarColumn(),
            bars.MofNCompleteColumn(),
            "loss {task.fields[loss]}",
        )
        with bars.Progress(*columns, transient=True) as shown:
            task = shown.add_task("", total=steps, epoch=epoch, loss="")
            for loss in losses:
                shown.update(task, advance=1, loss=f"{loss:.4f}")
                yield loss


def plot(progress: Progress, steps: int, title: str, folder: Path) -> str:
    """Draw the losses of all steps and the AUC of all epochs into a file, or into text without matplotlib."""
    epochs = np.arange(1, progress.epoch + 1)
    means = np.array(progress.losses).reshape(-1, steps).mean(1)
    try:
        import matplotlib
    except ImportError:
        scores = np.array(progress.validation)
        loss = f"loss        {sparkline(means)}  {means[0]:.4f} to {means[-1]:.4f}"
        return f"{loss}\nvalidation  {sparkline(scores)}  AUC {scores[0]:.4f} to {scores.max():.4f}"
    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 4.5), layout="constrained")
    each = np.arange(1, len(progress.losses) + 1) / steps
    axes.plot(each, progress.losses, color="tab:blue", alpha=0.25, linewidth=0.6, label="loss of a batch")
    axes.plot(epochs - 0.5, means, color="tab:blue", label="mean of an epoch")
    axes.set(xlabel="epoch", ylabel="cross entropy", xlim=(0, progress.epoch), title=title)
    axes.xaxis.get_major_locator().set_params(integer=True)
    right = axes.twinx()
    style = {"color": "tab:orange", "marker": "o", "clip_on": False}
    right.plot(epochs, progress.validation, **style, markersize=3, label="AUC of validation")
    best = max(progress.validation)
    right.plot(progress.best + 1, best, **style, linestyle="", label=f"the best, {best:.4f}")
    right.set_ylabel("AUC")
    figure.legend(loc="outside lower center", ncols=4, frameon=False)
    path = folder / "losses.png"
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
    return f"Drawn in {path}"


def sparkline(values: Array) -> str:
    """Values as blocks of eight heights."""
    low, high = values.min(), values.max()
    heights = (values - low) / (high - low or 1) * (len(BLOCKS) - 2) + 1
    return "".join(BLOCKS[int(height)] for height in heights)
