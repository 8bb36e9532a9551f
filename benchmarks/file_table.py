"""Seconds for the rows of a batch out of a file that is not in memory: a table in a file, and np.memmap on the same.

Before each look-up the system is told to forget the file, so that every row comes from the disk.
"""

from __future__ import annotations

import argparse
import os
import resource
import time
from pathlib import Path
from typing import Any

import numpy as np

import gradbag
from gradbag.table.journal import START


def fill(table: gradbag.FileTable, part: int = 1 << 16) -> None:
    """Write all rows, in place of the steps that would have done so."""
    main = table._journal.main
    records = np.zeros(part, main.record)
    records["values"] = np.random.default_rng(0).random((part, table.columns), np.float32)
    records["written"] = 1
    for begin in range(0, table.rows, part):
        numbers = np.arange(begin, min(begin + part, table.rows))
        main.write(numbers, records[: len(numbers)])
    os.fsync(main.handle)


def forget(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(handle)


def timed(path: Path, work: Any) -> tuple[float, Any]:
    forget(path)
    begin = time.perf_counter()
    answer = work()
    return time.perf_counter() - begin, answer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--path", type=Path, default=Path("build/file_table.rows"))
    parser.add_argument("--gigabytes", type=float, default=8.0)
    parser.add_argument("--rows", type=int, default=51_200, help="distinct rows of a batch")
    parser.add_argument("--columns", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--without-memmap", action="store_true")
    given = parser.parse_args()
    for path in (given.path, Path(f"{given.path}.journal")):
        path.unlink(missing_ok=True)
    given.path.parent.mkdir(parents=True, exist_ok=True)
    count = int(given.gigabytes * 2**30 / (given.columns * 4 + 16))
    table = gradbag.FileTable.create(given.path, count, given.columns, gradbag.optim.RowAdagrad(0.1))
    try:
        fill(table)
        record = table._journal.main.record
        rng = np.random.default_rng(1)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(f"{given.rows} of {count} rows, {record.itemsize} bytes each\n\n| | seconds |\n|---|---:|")
        for number in range(given.rounds):
            ids = rng.choice(count, given.rows, replace=False)
            bags = gradbag.Bags(ids, np.arange(given.rows))
            seconds, rows = timed(given.path, lambda bags=bags: table.lookup(bags, "sum"))
            print(f"| look-up, cold | {seconds:.2f} |", flush=True)
            if not number:  # what is mapped counts, too
                peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
            table._last = None
            begin = time.perf_counter()
            table.lookup(bags, "sum")
            print(f"| the same, in the system's memory | {time.perf_counter() - begin:.3f} |", flush=True)
            begin = time.perf_counter()
            table.step(bags, rows)
            print(f"| a step after it | {time.perf_counter() - begin:.3f} |", flush=True)
            table.rollback()
            if not given.without_memmap:

                def by_memmap(ids: Any = ids) -> Any:
                    mapped = np.memmap(given.path, record, "r", START, (count,))
                    return mapped["values"][np.sort(ids)][np.argsort(np.argsort(ids))]

                seconds, same = timed(given.path, by_memmap)
                if not np.array_equal(rows, same):
                    raise SystemExit("np.memmap gives something else")
                print(f"| np.memmap, cold | {seconds:.2f} |", flush=True)
        print(f"| MiB of memory beyond those before | {peak / 1024:.0f} |")
    finally:
        table.close()
        for path in (given.path, Path(f"{given.path}.journal")):
            path.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
