"""Hosts that are killed: a run that goes on from its last checkpoint ends with the bits of one that nobody has killed.

    launcher.py FOLDER KILLS [NAMESPACE ...]

A process that has PyTorch loaded already forks the ranks of each round, as an elastic launcher would start them anew.
A host is a process group, so that all of its ranks die at once: in a network namespace two ranks, on loopback one.
"""

from __future__ import annotations

import ctypes
import os
import random
import signal
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
import torch.distributed as dist

import gradbag.torch
from gradbag.sharding import checkpoint

ROWS, COLUMNS, STEPS, EVERY, LIMIT = 80, 4, 40, 4, 60.0
NEW_NETWORK = 0x40000000  # CLONE_NEWNET


class Death(NamedTuple):
    """Of the host of a rank, when that rank is there."""

    rank: int
    step: int
    where: str
    silent: bool  # as if it had lost power: the others are told nothing, and wait until their time limit


def enter(namespace: str) -> None:
    """Let this process have the net of a namespace. Only Python 3.12 has os.setns."""
    with open(f"/run/netns/{namespace}") as file:
        if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), NEW_NETWORK):
            raise OSError(ctypes.get_errno(), "setns", namespace)


def batch(step: int, size: int, rank: int):
    rng = np.random.default_rng(step)
    ids, grad = rng.integers(0, ROWS, (12, 5)), rng.standard_normal((12, COLUMNS)).astype(np.float32)
    return torch.tensor(np.array_split(ids, size)[rank]), torch.tensor(np.array_split(grad, size)[rank])


def train(folder: Path, store: Path, size: int, rank: int, killed: Death | None) -> None:
    dist.init_process_group(
        "gloo", store=dist.FileStore(str(store), size), rank=rank, world_size=size, timeout=timedelta(seconds=15)
    )
    bag = gradbag.torch.ShardedEmbeddingBag(ROWS, COLUMNS, "mean", optimizer=gradbag.optim.RowAdagrad(0.1))
    first = 0 if checkpoint.newest(folder) is None else bag.load(folder)

    def maybe_die(step: int, where: str) -> None:
        if killed and killed[:3] == (rank, step, where):
            if killed.silent:
                subprocess.run(["ip", "link", "set", "eth0", "down"], check=True)
            os.killpg(0, signal.SIGKILL)

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


def ranks_of(host: str) -> int:
    return 2 if host else 1


def round_of(folder: Path, number: int, hosts: list[str], killed: Death | None) -> list[int]:
    """Start the ranks of all hosts, and wait for them: the signal or the code that each has ended with."""
    store = folder / f"store-{number}"
    size = sum(map(ranks_of, hosts))
    children: dict[int, int] = {}
    for host in hosts:
        if host:
            subprocess.run(f"ip -n {host} link set eth0 up".split(), check=True)
        group = 0  # of the first rank of the host
        for rank in range(len(children), len(children) + ranks_of(host)):
            child = os.fork()
            if not child:
                os.setpgid(0, group)
                code = 1
                try:
                    sys.stderr = open(os.devnull, "w") if killed else sys.stderr  # noqa: SIM115
                    if host:
                        enter(host)
                    train(folder, store, size, rank, killed)
                    code = 0
                except RuntimeError as problem:  # the others are gone
                    print(f"rank {rank}: {str(problem)[:200]}", file=sys.stderr)
                finally:
                    os._exit(code)
            group = group or child
            os.setpgid(child, group)  # here too: nobody knows who comes first
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
    hosts = sys.argv[3:] or [""] * 3
    for folder in (calm, rough):
        folder.mkdir()
    assert not any(round_of(calm, 0, hosts[:2], None))
    chance = random.Random(5)  # when to kill
    for number in range(kills):
        present = chance.sample(hosts, chance.choice((2, 3)))  # and it goes on with another number of ranks
        first = checkpoint.newest(rough) or 0
        if first >= STEPS:
            raise SystemExit("the run ended before all kills")
        whose = [place for place, host in enumerate(present) for _ in range(ranks_of(host))]
        killed = Death(
            chance.randrange(len(whose)),
            first + chance.randrange(EVERY),
            chance.choice(("before", "between", "after")),
            silent=bool(present[0]) and number % 5 == 4,
        )
        ends = round_of(rough, number, present, killed)
        for place, end in zip(whose, ends, strict=True):  # and nobody ends as if all were well
            assert end == -signal.SIGKILL if place == whose[killed.rank] else end == 1, (killed, whose, ends)
    assert not any(round_of(rough, kills, hosts, None))
    same = (calm / "table.npy").read_bytes() == (rough / "table.npy").read_bytes()
    print("same" if same else "not the same", checkpoint.steps_of(rough))


if __name__ == "__main__":
    main()
