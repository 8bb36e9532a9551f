"""The driver of a cluster whose hosts are network namespaces: it trains while hosts are killed and started again."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import ray

import gradbag
from gradbag.ray import ShardedTable

ROWS, COLUMNS, STEPS, EVERY = 200, 4, 60, 5
RULE = gradbag.optim.RowAdagrad(0.1)
RAY = [sys.executable, "-m", "ray.scripts.scripts"]


def batch(step):
    rng = np.random.default_rng(step)
    return rng.integers(0, ROWS, (10, 4)), rng.standard_normal((10, COLUMNS)).astype(np.float32)


def start_host(name: str, address: str, head: str) -> None:
    command = [*RAY, "start", f"--address={head}:6399", f"--node-ip-address={address}", "--num-cpus=1"]
    command += ["--resources", '{"table": 1}', f"--object-store-memory={80 << 20}", "--disable-usage-stats"]
    subprocess.run(["ip", "netns", "exec", name, *command], check=True, stdout=subprocess.DEVNULL)


def running(name: str) -> list[int]:
    told = subprocess.run(["ip", "netns", "pids", name], check=True, capture_output=True, text=True).stdout
    return list(map(int, told.split()))


def kill_host(name: str) -> int:
    """All that runs on it, at once."""
    processes = running(name)
    for process in processes:
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            continue
    return len(processes)


def main() -> None:
    folder, kills = Path(sys.argv[1]), int(sys.argv[2])
    names, addresses = sys.argv[3].split(","), sys.argv[4].split(",")
    head, hosts = addresses[0], dict(zip(names[1:], addresses[1:], strict=True))
    command = [*RAY, "start", "--head", "--port=6399", f"--node-ip-address={head}", "--num-cpus=1"]
    command += [f"--object-store-memory={80 << 20}", "--include-dashboard=false", "--disable-usage-stats"]
    config = '{"health_check_period_ms": 500, "health_check_failure_threshold": 4, "health_check_timeout_ms": 2000}'
    subprocess.run([*command, f"--system-config={config}"], check=True, stdout=subprocess.DEVNULL)
    for name, address in hosts.items():
        start_host(name, address, head)
    ray.init(address=f"{head}:6399", log_to_driver=False)
    # A shard on each host, and one host to spare.
    table = ShardedTable(ROWS, COLUMNS, len(hosts) - 1, RULE, folder=folder, options={"resources": {"table": 1}})
    chance = random.Random(3)  # which host, and when
    step, killed, next_kill = 0, 0, 3
    while step < STEPS:
        rows, grad = batch(step)
        try:
            if killed < kills and step >= next_kill:
                shard = chance.choice(table.pids())
                name = next(each for each in hosts if shard in running(each))
                count = kill_host(name)
                killed += 1
                next_kill = killed * STEPS // (kills + 1) + chance.randrange(EVERY)
                print(f"killed {count} processes of host {name} at step {step}", flush=True)
                start_host(name, hosts[name], head)
            table.lookup(rows)
            step = table.push(rows, grad)
            table.wait()
            if step % EVERY == 0:
                table.save()
        except (ray.exceptions.RayActorError, ray.exceptions.RayTaskError, ray.exceptions.GetTimeoutError):
            begin = time.monotonic()
            step = table.recover()
            print(f"back at step {step} after {time.monotonic() - begin:.1f} s", flush=True)
    assert killed == kills
    whole = gradbag.Table(ROWS, COLUMNS, RULE)
    for number in range(STEPS):
        whole.step(*batch(number))
    print("same" if table.gather().tobytes() == whole.values.tobytes() else "not the same", flush=True)
    ray.shutdown()


if __name__ == "__main__":
    main()
