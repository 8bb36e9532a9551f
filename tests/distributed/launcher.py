"""Ranks that are killed: a run that goes on from its last checkpoint ends with the bits of one that nobody has killed.

A process that has PyTorch loaded already forks the ranks of each round, as an elastic launcher would start them anew.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from datetime import timedelta
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist

import gradbag.torch
from gradbag.sharding import checkpoint

ROWS, COLUMNS, STEPS, EVERY, LIMIT = 80, 4, 40, 4, 60.0


def batch(step: int, size: int, rank: int):
    rng = np.random.default_rng(step)
    ids, grad = rng.integers(0, ROWS, (12, 5)), rng.standard_normal((12, COLUMNS)).astype(np.float32)
    return torch.tensor(np.array_split(ids, size)[rank]), torch.tensor(np.array_split(grad, size)[rank])


def train(folder: Path, store: Path, size: int, rank: int, killed: tuple[int, int, str] | None) -> None:
    dist.init_process_group(
        "gloo", store=dist.FileStore(str(store), size), rank=rank, world_size=size, timeout=timedelta(seconds=30)
    )
    bag = gradbag.torch.ShardedEmbeddingBag(ROWS, COLUMNS, "mean", optimizer=gradbag.optim.RowAdagrad(0.1))
    first = 0 if checkpoint.newest(folder) is None else bag.load(folder)

    def maybe_die(step: int, where: str) -> None:
        if killed == (rank, step, where):
            os.kill(os.getpid(), signal.SIGKILL)

    for step in range(first, STEPS):
        ids, grad = batch(step, size, rank)
        maybe_die(step, "before")
        rows = bag(ids)
        maybe_die(step, "between")
        rows.backward(grad)
        maybe_die(step, "after")
        if (step + 1) % EVERY == 0 or step + 1 == STEPS:
            bag.save(folder, step + 1, since=None if (step + 1) % (2 * EVERY) else bag_base(folder))
    if rank == 0:
        np.save(folder / "table.npy", bag.gather().numpy())
    else:
        bag.gather()
    dist.barrier()
    dist.destroy_process_group()


def bag_base(folder: Path) -> int | None:
    """Every other checkpoint holds only what has changed since the one before."""
    return checkpoint.newest(folder)


def round_of(folder: Path, number: int, size: int, killed: tuple[int, int, str] | None) -> list[int]:
    """Start the ranks, and wait for all: the signal or the code that each has ended with."""
    store = folder / f"store-{number}"
    children = {}
    for rank in range(size):
        child = os.fork()
        if not child:
            code = 1
            try:
                sys.stderr = open(os.devnull, "w") if killed else sys.stderr  # noqa: SIM115
                train(folder, store, size, rank, killed)
                code = 0
            except RuntimeError as problem:  # the others are gone
                print(f"rank {rank}: {str(problem)[:200]}", file=sys.stderr)
            finally:
                os._exit(code)
        children[child] = rank
    ends = [0] * size
    deadline = time.monotonic() + LIMIT
    while children:
        child, status = os.waitpid(-1, os.WNOHANG)
        if child:
            ends[children.pop(child)] = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        elif time.monotonic() > deadline:
            for each in children:
                os.kill(each, signal.SIGKILL)
            raise SystemExit(f"ranks {sorted(children.values())} hung")
        else:
            time.sleep(0.01)
    return ends


def main() -> None:
    calm, rough = Path(sys.argv[1]) / "calm", Path(sys.argv[1]) / "rough"
    kills = int(sys.argv[2])
    for folder in (calm, rough):
        folder.mkdir()
    assert round_of(calm, 0, 2, None) == [0, 0]
    chance = random.Random(5)  # when to kill
    for number in range(kills):
        size = chance.choice((2, 3))  # and it goes on with another number of ranks
        first = checkpoint.newest(rough) or 0
        if first >= STEPS:
            raise SystemExit("the run ended before all kills")
        killed = (
            chance.randrange(size),
            first + chance.randrange(EVERY),
            chance.choice(("before", "between", "after")),
        )
        ends = round_of(rough, number, size, killed)
        assert ends[killed[0]] == -signal.SIGKILL, (killed, ends)
        if size > 1:
            assert sum(end == 0 for end in ends) == 0, (killed, ends)  # nobody ends as if all were well
    assert round_of(rough, kills, 3, None) == [0, 0, 0]
    same = (calm / "table.npy").read_bytes() == (rough / "table.npy").read_bytes()
    print("same" if same else "not the same", checkpoint.steps_of(rough))


if __name__ == "__main__":
    main()
