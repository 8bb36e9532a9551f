"""Epochs, and what is kept of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from gradbag import optim

from . import checkpoint, models, network
from .data import Array, Data

PREFIX, BEST = "model/", "best/"


@dataclass(frozen=True)
class Settings:
    """What the bits of a run depend on; a checkpoint of other settings is refused."""

    framework: str = "numpy"
    data: str = "auto"
    dtype: str = "float32"
    batch: int = 512
    epochs: int = 20
    lr: float = 3e-3
    decay: float = 2e-4
    seed: int = 0
    limit: int | None = None

    @property
    def optimizer(self) -> optim.Optimizer:
        """Adam, lazily: a row moves when a batch has it.

        With an epsilon of 1e-8, a number whose gradient is nothing but rounding would move as far as the others.
        """
        return optim.Adam(self.lr, epsilon=1e-4, weight_decay=self.decay)


@dataclass
class Progress:
    """How far a run is: the loss of every step, and of every epoch the AUC of what it was not trained on."""

    epoch: int = 0
    losses: list[float] = field(default_factory=list)
    validation: list[float] = field(default_factory=list)

    @property
    def best(self) -> int:
        return int(np.argmax(self.validation))


class Run:
    """A model, its data and its progress; `resume` goes on where the checkpoint in `folder` was written."""

    def __init__(self, settings: Settings, data: Data, folder: Path, resume: bool) -> None:
        self.settings, self.data, self.path = settings, data, folder / "checkpoint.npz"
        if not self.steps:
            raise SystemExit(f"A batch of {settings.batch} is more than the {len(data.train)} examples to learn from")
        start = network.initial(data.rows, settings.seed, settings.dtype)
        self.model = models.make(settings.framework, start, settings.optimizer, data.longest)
        self.progress, self.best = Progress(), self.model.arrays()
        folder.mkdir(parents=True, exist_ok=True)
        if resume and self.path.exists():
            self._resume(checkpoint.load(self.path))

    @property
    def steps(self) -> int:
        """Of an epoch; what does not fill a batch is left to the next epoch, which has another order."""
        return len(self.data.train) // self.settings.batch

    def epoch(self) -> Iterator[float]:
        """Train once through the data, step by step, giving the losses; then look at the validation part and save."""
        batch, done = self.settings.batch, self.progress
        order = np.random.default_rng((self.settings.seed, done.epoch)).permutation(len(self.data.train))
        for step in range(self.steps):
            part = self.data.train.pick(order[step * batch : (step + 1) * batch])
            done.losses.append(self.model.step(part.bags, part.labels.astype(self.settings.dtype)))
            yield done.losses[-1]
        done.validation.append(auc(self.model.logits(self.data.validation.bags), self.data.validation.labels))
        done.epoch += 1
        if done.best == done.epoch - 1:
            self.best = self.model.arrays()
        self._save()

    def test(self) -> float:
        """The AUC on the test part of the epoch that was best in validation."""
        last = self.model.arrays()
        self.model.load(self.best)
        answer = auc(self.model.logits(self.data.test.bags), self.data.test.labels)
        self.model.load(last)
        return answer

    # ------------------------------------------------------------------ files
    def _save(self) -> None:
        told = {name: np.array(value) for name, value in vars(self.progress).items()}
        parts = ((PREFIX, self.model.arrays()), (BEST, self.best))
        arrays = {prefix + name: value for prefix, part in parts for name, value in part.items()}
        checkpoint.save(self.path, {**told, **arrays, "settings": np.array(self._settings)})

    def _resume(self, arrays: dict[str, Array]) -> None:
        if str(arrays["settings"]) != self._settings:
            raise SystemExit(f"{self.path} is of another run: {arrays['settings']}; this one is {self._settings}")
        told = {each.name: arrays[each.name].tolist() for each in fields(Progress)}
        self.progress = Progress(**told)
        self.best, ours = (
            {name.removeprefix(prefix): value for name, value in arrays.items() if name.startswith(prefix)}
            for prefix in (BEST, PREFIX)
        )
        self.model.load(ours)

    @property
    def _settings(self) -> str:
        """All but how long it is to run."""
        settings: dict[str, Any] = {**vars(self.settings), "data": self.data.name}
        del settings["epochs"]
        return ", ".join(f"{name}={value}" for name, value in settings.items())


def auc(scores: Array, labels: Array) -> float:
    """How often a good example has a higher score than a bad one; ties count one half."""
    _, place, count = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(count) - (count - 1) / 2)[place]
    good = labels > 0
    wins = ranks[good].sum() - good.sum() * (good.sum() + 1) / 2
    return float(wins / (good.sum() * (~good).sum()))
