"""Train a recommender on MovieLens-100k, with gradbag's bags in NumPy alone, PyTorch or JAX.

cd examples
python -m recommender                       in NumPy
python -m recommender --framework torch     in PyTorch; or jax
python -m recommender --resume              go on where it was stopped, with the same bits
python -m recommender --compare             the time of a step in PyTorch, with gradbag's layer and without
"""

from __future__ import annotations

import argparse
import time
from dataclasses import fields
from pathlib import Path

from . import data, models, show, training


def main() -> None:
    settings, folder, resume, compares = arguments()
    if compares:
        from . import compare

        compare.main(settings.data, settings.seed, settings.dtype)
        return
    read = data.load(settings.data, settings.seed, settings.limit)
    print(f"{read.name}: {len(read.train)} examples to learn from, a table of {read.rows} rows")
    if settings.data == "auto" and read.name != data.MOVIELENS:
        print("RecBole is not installed, whose wheel has MovieLens-100k (pip install --no-deps recbole==1.2.1).")
    run = training.Run(settings, read, folder, resume)
    if run.progress.epoch:
        print(f"Goes on after epoch {run.progress.epoch}, from {run.path}")
    while run.progress.epoch < settings.epochs:
        start, number = time.perf_counter(), run.progress.epoch + 1
        losses = list(show.bar(run.epoch(), run.steps, number))
        seconds = time.perf_counter() - start
        best = "   best so far" if run.progress.best == number - 1 else ""
        print(
            f"epoch {number:2}   loss {sum(losses) / len(losses):.4f}   AUC {run.progress.validation[-1]:.4f}   "
            f"{seconds:4.1f} s{best}",
            flush=True,
        )
    title = f"{read.name} in {settings.framework}: test AUC {run.test():.4f}"
    print(f"Test AUC {run.test():.4f}, by epoch {run.progress.best + 1}, the best in validation")
    print(show.plot(run.progress, run.steps, title, folder))


def arguments() -> tuple[training.Settings, Path, bool, bool]:
    usual = training.Settings()
    parser = argparse.ArgumentParser(
        prog="python -m recommender", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    choices = {
        "framework": models.FRAMEWORKS,
        "data": ("auto", "movielens", "synthetic"),
        "dtype": ("float32", "float64"),
    }
    helps = {
        "decay": "weight decay",
        "limit": "how many ratings to read",
        "data": "auto: MovieLens if RecBole is there",
    }
    for each in fields(usual):
        value = getattr(usual, each.name)
        told = "; ".join(filter(None, [helps.get(each.name), None if value is None else f"default {value}"]))
        if each.name in choices:
            parser.add_argument(f"--{each.name}", choices=choices[each.name], default=value, help=told)
        else:
            kind = float if isinstance(value, float) else int
            parser.add_argument(f"--{each.name}", type=kind, default=value, metavar="N", help=told)
    parser.add_argument("--folder", type=Path, default=Path("recommender-run"), help="for checkpoint and picture")
    parser.add_argument(
        "--resume", action="store_true", help="go on from the checkpoint in the folder, if there is one"
    )
    parser.add_argument("--compare", action="store_true", help="measure a step in PyTorch with and without gradbag")
    given = vars(parser.parse_args())
    folder, resume, compares = given.pop("folder"), given.pop("resume"), given.pop("compare")
    settings = training.Settings(**given)
    if min(settings.batch, settings.epochs) < 1:
        parser.error("--batch and --epochs must be at least 1")
    return settings, folder, resume, compares


try:
    main()
except KeyboardInterrupt:
    raise SystemExit("Stopped; --resume goes on after the last whole epoch.") from None
