"""`gradbag shard plan` and `gradbag shard check`."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .. import errors, optim
from ..sharding import ShardPlan
from ..sharding.cost import Cost, costs, memory_of
from . import UsageError

BAR = 40  # characters of the longest bar


def run(options: Any) -> int:
    """Do what the second word says."""
    return _check(options) if options.action == "check" else _plan(options)


def _plan(options: Any) -> int:
    if options.hosts < 1 or options.batch < 1 or options.bag < 1 or options.rows < 1 or options.columns < 1:
        raise UsageError("rows, columns, hosts, batch and bag must be at least 1")
    plan = ShardPlan(options.rows, options.hosts, options.partition)
    rule = getattr(optim, options.optimizer, None)
    if options.optimizer not in optim.__all__ or rule is optim.Optimizer or rule is None:
        raise UsageError(f"there is no optimizer {options.optimizer!r} in gradbag.optim")
    held = memory_of(options.rows, options.columns, options.hosts, options.dtype, rule(0.1))
    found = costs(
        plan,
        options.columns,
        bags=options.batch,
        length=options.bag,
        zipf=options.zipf,
        dtype=options.dtype,
        gigabits=options.gigabits,
        cores=options.cores,
    )
    print(f"{options.rows} rows of {options.columns} {options.dtype} with {options.optimizer} on {options.hosts} hosts")
    print(f"memory of a host   {errors.in_bytes(held)}")
    print(f"batch of a host    {options.batch} bags of {options.bag} ids, Zipf {options.zipf}")
    print(f"link and cores     {options.gigabits:g} Gb/s, {options.cores}; times are an estimate\n")
    print("way       bytes of a step    network    compute     serial   with ids ahead")
    for cost in found:
        print(_line(cost))
    longest = max(cost.serial for cost in found)
    print()
    for cost in found:
        wire, work = (round(BAR * part / longest) for part in (cost.network, cost.compute))
        print(f"{cost.way:8s}  {'█' * wire}{'░' * work}  {1e3 * cost.serial:.1f} ms")
    print("          █ network  ░ compute")
    best = min(found, key=lambda cost: cost.serial)
    print(f"\nfewest milliseconds: {best.way}" + ("" if best.way == "exact" else ", by exact=False"))
    return 0


def _line(cost: Cost) -> str:
    times = (cost.network, cost.compute, cost.serial, cost.overlapped)
    told = "".join(f"{1e3 * each:8.1f} ms" for each in times)
    return f"{cost.way:8s} {errors.in_bytes(cost.traffic.total):>16s}{told}"


def _check(options: Any) -> int:
    """An exchange on the process group that torchrun has started, or on a Ray cluster."""
    checking: Any = import_module("gradbag.ray_check" if options.ray else "gradbag.torch.exchange_check")
    lines, ok = checking.measured(options.megabytes, options.repeat)
    for line in lines:
        print(line)
    return 0 if ok else 1
