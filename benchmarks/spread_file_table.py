"""A table of 10**9 rows on four processes, each of which keeps its rows in a file: what of it is in memory.

python benchmarks/spread_file_table.py                 # 100 steps
"""

from __future__ import annotations

import argparse
import os
import resource
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROWS, COLUMNS, BAGS, LENGTH = 10**9, 16, 512, 10


def resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def work(folder: str, steps: int) -> None:
    import numpy as np
    import torch
    import torch.distributed as dist

    import gradbag.torch
    from gradbag.sharding import zipf_ids

    dist.init_process_group("gloo")
    rank = dist.get_rank()
    bag = gradbag.torch.ShardedEmbeddingBag(
        ROWS,
        COLUMNS,
        optimizer=gradbag.optim.RowAdagrad(0.1),
        dtype=torch.bfloat16,
        rounding="stochastic",
        path=f"{folder}/rows-{rank}",
        partition="hash",
    )
    rng = np.random.default_rng(rank)
    begin = resident()
    most = 0
    started = time.perf_counter()
    for _ in range(steps):
        ids = zipf_ids(rng, BAGS * LENGTH, ROWS, 1.05)
        rows = bag(torch.from_numpy(ids), torch.arange(BAGS) * LENGTH)
        rows.backward(torch.ones_like(rows))
        most = max(most, resident())
    seconds = time.perf_counter() - started
    held = bag.plan.size(rank) * COLUMNS * 2
    print(
        f"rank {rank}: {bag.plan.size(rank)} rows, {held / 2**30:.1f} GiB if they were in memory; resident "
        f"{begin / 2**20:.0f} MiB before, at most {most / 2**20:.0f} MiB in {steps} steps of {seconds / steps:.3f} s; "
        f"peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10:.0f} MiB",
        flush=True,
    )
    dist.barrier()
    dist.destroy_process_group()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.folder:
        work(options.folder, options.steps)
        return
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        port = place.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        ranks = []
        for rank in range(options.ranks):
            settings = {
                "RANK": str(rank),
                "WORLD_SIZE": str(options.ranks),
                "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": str(port),
                "GLOO_SOCKET_IFNAME": "lo",
                "OMP_NUM_THREADS": "1",
                "GRADBAG_NUM_THREADS": "1",
            }
            command = [sys.executable, __file__, "--folder", folder, "--steps", str(options.steps)]
            ranks.append(subprocess.Popen(command, env={**os.environ, **settings}))
        codes = [rank.wait() for rank in ranks]
        used = sum(path.stat().st_blocks * 512 for path in Path(folder).iterdir())
        print(f"the files take {used / 2**30:.2f} GiB of disk")
    if any(codes):
        raise SystemExit(f"ranks ended with {codes}")


if __name__ == "__main__":
    main()
