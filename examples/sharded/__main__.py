"""The recommender of `examples/recommender` with its table spread over processes; run it by torchrun, from `examples`:

    torchrun --nproc-per-node 2 -m sharded --folder ../build/sharded
    TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1 torchrun --nproc-per-node 2 --max-restarts 3 -m sharded --die-at 60

With --die-at, the last rank kills itself once at that step; torchrun starts all again, and they go on from the last
checkpoint. The variable is what torchrun needs for that: ranks of the new round would find keys of the dead one else.
"""

from __future__ import annotations

import argparse
import os
import signal
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
from recommender import data, network
from recommender.training import auc
from recommender.with_torch import FUNCTIONS
from torch.nn.parallel import DistributedDataParallel

import gradbag.torch
from gradbag.sharding import checkpoint

SAVE_EVERY = 25


class Dense(torch.nn.Module):
    """What stands behind the table: the same on every rank."""

    def __init__(self, start: dict[str, data.Array]) -> None:
        super().__init__()
        tensors = {name: torch.from_numpy(value) for name, value in start.items()}
        self.parameters_by_name = torch.nn.ParameterDict(
            {name: torch.nn.Parameter(value) for name, value in tensors.items()}
        )

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = network.logits(FUNCTIONS, self.parameters_by_name, rows)
        return logits


def main() -> None:
    options = arguments()
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    examples = data.load(options.data, 0, options.limit)
    start = network.initial(examples.rows, 0, "float32")
    table = start.pop("table")
    rule = gradbag.optim.Adam(3e-3, epsilon=1e-4, weight_decay=2e-4)
    # Rows by their numbers: no rank holds the whole table, or needs to. Here it is small, and there already.
    bag = gradbag.torch.ShardedEmbeddingBag(*table.shape, optimizer=rule, init=lambda rows, _: table[rows])
    dense = Dense(start)
    model = DistributedDataParallel(dense)  # the dense part alone; the layer sums over ranks by itself
    optimizer = torch.optim.Adam(dense.parameters(), lr=3e-3)
    folder = Path(options.folder)
    first = restored(folder, bag, dense, optimizer)
    batch = options.batch // size
    for step in range(first, options.steps):
        if step == options.die_at and rank == size - 1 and not (folder / "died").exists():
            (folder / "died").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        order = np.random.default_rng(step).integers(0, len(examples.train), options.batch)
        part = examples.train.pick(order[rank * batch : (rank + 1) * batch])
        rows = bag(part.bags)
        rows.register_hook(lambda grad: grad / size)  # DDP takes the mean over ranks, the layer the sum
        labels = torch.from_numpy(part.labels.astype(np.float32))
        told = model(rows)
        loss = (FUNCTIONS.softplus(told) - told * labels).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if (step + 1) % SAVE_EVERY == 0 or step + 1 == options.steps:
            save(folder, step + 1, bag, dense, optimizer)
            if rank == 0:
                print(f"step {step + 1}: loss {loss.item():.4f}", flush=True)
    with torch.no_grad():
        scores = dense(bag(examples.validation.bags))
    if rank == 0:
        print(f"{examples.name}, {size} ranks, AUC {auc(scores.numpy(), examples.validation.labels):.4f}")
    dist.destroy_process_group()


def save(folder: Path, step: int, bag: gradbag.torch.ShardedEmbeddingBag, dense: Dense, optimizer: object) -> None:
    """The dense part first: the manifest of the table makes the checkpoint exist."""
    if dist.get_rank() == 0:
        torch.save([dense.state_dict(), optimizer.state_dict()], folder / f"dense-{step}.pt")
    bag.save(folder, step)


def restored(folder: Path, bag: gradbag.torch.ShardedEmbeddingBag, dense: Dense, optimizer: object) -> int:
    """The step to go on from."""
    folder.mkdir(parents=True, exist_ok=True)
    if checkpoint.newest(folder) is None:
        return 0
    step = bag.load(folder)
    for part, state in zip((dense, optimizer), torch.load(folder / f"dense-{step}.pt"), strict=True):
        part.load_state_dict(state)
    if dist.get_rank() == 0:
        print(f"goes on from step {step}", flush=True)
    return step


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", default="../build/sharded", help="for checkpoints, which all ranks see")
    parser.add_argument("--data", default="auto", choices=("auto", "movielens", "synthetic"))
    parser.add_argument("--limit", type=int, help="use only so many ratings")
    parser.add_argument("--batch", type=int, default=512, help="of all ranks together")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--die-at", type=int, default=-1, metavar="STEP")
    return parser.parse_args()


if __name__ == "__main__":
    main()
