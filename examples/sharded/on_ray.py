"""The recommender with its table on actors of Ray, in NumPy; from `examples`:

    python -m sharded.on_ray --shards 2
    python -m sharded.on_ray --shards 2 --kill-at 60

It joins the cluster of RAY_ADDRESS, or starts one of its own. With --kill-at an actor is killed at that step; Ray
starts it again, all shards return to the last checkpoint, and the run goes on from there.
"""

from __future__ import annotations

import argparse
import os
import secrets
import signal
import tempfile
from typing import Any

import numpy as np
from recommender import data, network
from recommender.training import Settings, auc
from recommender.with_numpy import FUNCTIONS

# Ray reads them when it is imported, and wants a token: the cluster's, or one for a cluster of one's own.
if "RAY_ADDRESS" not in os.environ:
    os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=secrets.token_hex(32))

import ray

import gradbag
from gradbag.ray import ShardedTable

SAVE_EVERY = 25


class Dense:
    """What stands behind the table, in this process."""

    def __init__(self, values: dict[str, data.Array], rule: gradbag.optim.Optimizer) -> None:
        self.values, self.rule = values, rule
        self.states = {name: rule.init(value) for name, value in values.items()}

    def step(self, rows: Any, labels: data.Array) -> tuple[float, Any]:
        """The loss, and the gradient of the rows."""

        def loss(rows: Any, *dense: Any) -> Any:
            return network.loss(FUNCTIONS, dict(zip(network.DENSE, dense, strict=True)), rows, labels)

        given = [rows, *(self.values[name] for name in network.DENSE)]
        value, (of_rows, *of_dense) = gradbag.value_and_grad(loss, tuple(range(len(given))))(*given)
        for name, gradient in zip(network.DENSE, of_dense, strict=True):
            self.rule.apply(self.values[name], self.states[name], (np.arange(len(gradient)), gradient))
        return float(value), of_rows

    def kept(self) -> Any:
        """A copy, to return to."""
        states = {name: {key: np.copy(v) for key, v in state.items()} for name, state in self.states.items()}
        return {name: value.copy() for name, value in self.values.items()}, states

    def returned(self, kept: Any) -> None:
        values, states = kept
        self.values = {name: value.copy() for name, value in values.items()}
        self.states = {
            name: {key: int(v) if key == "step" else v.copy() for key, v in state.items()}
            for name, state in states.items()
        }


def main() -> None:
    options = arguments()
    start_ray()
    settings = Settings()
    examples = data.load(options.data, 0, options.limit)
    start = network.initial(examples.rows, 0, "float32")
    begins = start.pop("table")
    with tempfile.TemporaryDirectory() as folder:
        table = ShardedTable(
            *begins.shape,
            options.shards,
            settings.optimizer,
            folder=options.folder or folder,
            init=lambda rows, _: begins[rows],
        )
        dense = Dense(start, settings.optimizer)
        kept, step, killed = {table.step: dense.kept()}, table.step, False
        while step < options.steps:
            part = examples.train.pick(np.random.default_rng(step).integers(0, len(examples.train), options.batch))
            try:
                if step == options.kill_at and not killed:
                    killed = True
                    os.kill(table.pids()[-1], signal.SIGKILL)
                loss, gradient = dense.step(table.lookup(part.bags), part.labels)
                step = table.push(part.bags, gradient)
                if step % SAVE_EVERY == 0 or step == options.steps:
                    table.save()
                    kept[step] = dense.kept()
                    print(f"step {step}: loss {loss:.4f}", flush=True)
            except (ray.exceptions.RayActorError, ray.exceptions.RayTaskError):
                step = table.recover()
                dense.returned(kept[step])
                print(f"an actor was lost: goes on from step {step}", flush=True)
        scores = network.logits(FUNCTIONS, dense.values, table.lookup(examples.validation.bags))
        print(f"{examples.name}, {options.shards} shards, AUC {auc(scores, examples.validation.labels):.4f}")
    ray.shutdown()


def start_ray() -> None:
    if "RAY_ADDRESS" in os.environ:
        ray.init(log_to_driver=False)
    else:
        ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shards", type=int, default=2)
    parser.add_argument("--folder", help="for checkpoints, which all hosts see; without it, one that goes away")
    parser.add_argument("--data", default="auto", choices=("auto", "movielens", "synthetic"))
    parser.add_argument("--limit", type=int, help="use only so many ratings")
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--kill-at", type=int, default=-1, metavar="STEP")
    return parser.parse_args()


if __name__ == "__main__":
    main()
