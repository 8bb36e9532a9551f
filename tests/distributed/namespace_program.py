"""A rank on a host of its own: what its interface has sent for some steps, then steps during which the net is cut."""

from __future__ import annotations

import json
import sys
import time
from datetime import timedelta
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist

import gradbag.torch
from gradbag.sharding import traffic, zipf_ids

COUNTER = Path("/sys/class/net/eth0/statistics/tx_bytes")
ROWS, COLUMNS, BAGS, LENGTH, STEPS = 20_000, 32, 512, 20, 60


def batch(step: int, rank: int):
    rng = np.random.default_rng([step, rank])
    return gradbag.Bags(zipf_ids(rng, BAGS * LENGTH, ROWS, 1.05), np.arange(BAGS) * LENGTH)


def main() -> None:
    dist.init_process_group("gloo", timeout=timedelta(seconds=25))
    rank = dist.get_rank()
    seen = {}
    for way, settings in (("exact", {}), ("partial", {"exact": False, "exchange": "partial"})):
        rule = gradbag.optim.SGD(0.1)
        bag = gradbag.torch.ShardedEmbeddingBag(ROWS, COLUMNS, "sum", optimizer=rule, init="zeros", **settings)
        told, payload = 0, bag.wire.sent
        dist.barrier()
        before = int(COUNTER.read_text())
        for step in range(10):
            bags = batch(step, rank)
            told += traffic(bag.plan, bags, COLUMNS, way=way, rank=rank).total
            rows = bag(bags)
            rows.backward(torch.ones_like(rows))
        dist.barrier()
        seen[way] = {"told": told, "payload": bag.wire.sent - payload, "counted": int(COUNTER.read_text()) - before}
    print("bytes " + json.dumps(seen), flush=True)
    bag = gradbag.torch.ShardedEmbeddingBag(ROWS, COLUMNS, "sum", optimizer=gradbag.optim.SGD(0.1), init="normal")
    try:
        for step in range(STEPS):
            rows = bag(batch(step, rank))
            rows.backward(torch.ones_like(rows))
            print(f"step {step}", flush=True)
            time.sleep(0.05)
        whole = bag.gather().numpy()
    except RuntimeError as problem:
        print(f"stopped {str(problem)[:200]!r}", flush=True)
        sys.exit(3)
    if rank == 0:
        np.save(sys.argv[1], whole)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
