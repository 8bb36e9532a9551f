"""Look-ups in a table on actors of Ray, beside asking for every row of every entry, and beside a call for each bag.

    python benchmarks/ray_tables.py

A cluster of this machine alone; the ways take turns, and their answers are compared before they are timed.
"""

from __future__ import annotations

import argparse
import os
import secrets
import time

import numpy as np

# Ray reads them when it is imported.
os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=secrets.token_hex(32))

import ray

import gradbag
from gradbag.ray import ShardedTable
from gradbag.sharding import zipf_ids

ROWS, COLUMNS, BAGS, LENGTH, SHARDS, ZIPF = 1_000_000, 64, 1024, 50, 2, 1.05
FEW = 32  # bags that are looked up one by one, which takes long


def every_row(table: ShardedTable, bags: gradbag.Bags) -> np.ndarray:
    """Each entry's row, however often it occurs."""
    shard = bags.ids % SHARDS  # as partition="mod" has them
    order = np.argsort(shard, kind="stable")
    asked = np.split(bags.ids[order] // SHARDS, np.cumsum(np.bincount(shard, minlength=SHARDS))[:-1])
    rows = np.concatenate(ray.get([actor.rows.remote(each) for actor, each in zip(table.shards, asked, strict=True)]))
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    return gradbag.raw_ops.EmbeddingBag(table=rows, ids=places, offsets=bags.offsets, combiner="mean")


def one_by_one(table: ShardedTable, bags: gradbag.Bags) -> np.ndarray:
    return np.concatenate([table.lookup(bags[bag : bag + 1]) for bag in range(len(bags))])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=20)
    repeat = parser.parse_args().repeat
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    table = ShardedTable(ROWS, COLUMNS, SHARDS, init="normal")
    rng = np.random.default_rng(0)
    batches = [gradbag.Bags(zipf_ids(rng, BAGS * LENGTH, ROWS, ZIPF), np.arange(BAGS) * LENGTH) for _ in range(3)]
    ways = {
        "distinct rows": (table.lookup, BAGS),
        "every row": (lambda bags: every_row(table, bags), BAGS),
        "a call for each bag": (lambda bags: one_by_one(table, bags), FEW),
    }
    want = table.lookup(batches[0])
    for name, (way, bags) in ways.items():
        if way(batches[0][:bags]).tobytes() != want[:bags].tobytes():
            raise SystemExit(f"{name}: another answer")
    times: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(repeat + 2):
        for name, (way, bags) in ways.items():
            begin = time.perf_counter()
            way(batches[turn % 3][:bags])
            if turn >= 2:
                times[name].append((time.perf_counter() - begin) / (bags * LENGTH))
    ray.shutdown()
    least = float(np.median(times["distinct rows"]))
    print(f"{SHARDS} actors, {BAGS} bags of {LENGTH} ids, Zipf {ZIPF}: median of {repeat}")
    for name, each in times.items():
        middle = float(np.median(each))
        print(f"{name:20s} {1e-6 / middle:8.2f} million ids/s   {middle / least:6.2f}x the time")


if __name__ == "__main__":
    main()
