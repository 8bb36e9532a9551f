"""A training step of a table on several processes, beside TorchRec's row-wise sharding and DistributedDataParallel.

    python benchmarks/distributed.py                      # two processes on loopback
    python benchmarks/distributed.py --ranks 4 --repeat 30
    python benchmarks/distributed.py --rate 500mbit       # each in a network namespace of its own; needs root

Step: forward, backward and SGD. The methods take turns, so that what else the machine does hits all alike; medians.
What they have learnt is compared before they are timed. Each size of batches has --seconds: on a slow link there are
fewer turns than --repeat, and it says how many.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import time
import warnings
from typing import Any

import numpy as np

SETTINGS = [(1024, 50), (8192, 5), (4096, 50)]
ROWS, COLUMNS, ZIPF, RATE = 1_000_000, 64, 1.05, 0.1
START_SECONDS = 120  # at most, until all ranks have begun and compared what they learn


# ------------------------------------------------------------------ one rank
def batches(rank: int, bags: int, length: int) -> list[np.ndarray]:
    from gradbag.sharding import zipf_ids

    rng = np.random.default_rng([rank, bags, length])
    return [zipf_ids(rng, bags * length, ROWS, ZIPF) for _ in range(3)]


def methods(only: list[str]) -> dict[str, Any]:
    """A function of ids and offsets for each method, which makes a step and gives the rows before it."""
    import torch
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    import gradbag.torch

    made: dict[str, Any] = {}

    def of_bag(bag: Any) -> Any:
        def step(ids: Any, offsets: Any) -> Any:
            rows = bag(ids, offsets)
            rows.backward(torch.ones_like(rows))
            return rows

        return step

    for name, settings in (("exact", {}), ("partial", {"exact": False, "exchange": "partial"})):
        rule = gradbag.optim.SGD(RATE)
        bag = gradbag.torch.ShardedEmbeddingBag(ROWS, COLUMNS, "sum", optimizer=rule, init="zeros", **settings)
        made[name] = of_bag(bag)

    if only:
        return {name: made[name] for name in only}
    plain = torch.nn.EmbeddingBag(ROWS, COLUMNS, mode="sum", sparse=True, _weight=torch.zeros(ROWS, COLUMNS))
    ddp = DistributedDataParallel(plain)
    optimizer = torch.optim.SGD(plain.parameters(), lr=RATE)

    def ddp_step(ids: Any, offsets: Any) -> Any:
        rows = ddp(ids, offsets)
        rows.backward(torch.ones_like(rows))
        optimizer.step()
        optimizer.zero_grad()
        return rows

    made["ddp"] = ddp_step
    try:
        made["torchrec"] = _torchrec(torch, dist)
    except ImportError as problem:
        print(f"no TorchRec: {problem}", file=sys.stderr)
    return made


def _torchrec(torch: Any, dist: Any) -> Any:
    from torchrec import EmbeddingBagCollection, EmbeddingBagConfig, KeyedJaggedTensor, PoolingType
    from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
    from torchrec.distributed.model_parallel import DistributedModelParallel
    from torchrec.distributed.sharding_plan import construct_module_sharding_plan, row_wise
    from torchrec.distributed.types import ShardingEnv, ShardingPlan
    from torchrec.optim.apply_optimizer_in_backward import apply_optimizer_in_backward

    config = EmbeddingBagConfig(
        name="t",
        embedding_dim=COLUMNS,
        num_embeddings=ROWS,
        feature_names=["f"],
        pooling=PoolingType.SUM,
        init_fn=torch.nn.init.zeros_,
    )
    collection = EmbeddingBagCollection(tables=[config], device=torch.device("cpu"))
    apply_optimizer_in_backward(torch.optim.SGD, collection.parameters(), {"lr": RATE})
    sharder = EmbeddingBagCollectionSharder()
    size = dist.get_world_size()
    plan = construct_module_sharding_plan(
        collection, {"t": row_wise()}, sharder, local_size=size, world_size=size, device_type="cpu"
    )
    model = DistributedModelParallel(
        collection,
        env=ShardingEnv.from_process_group(dist.group.WORLD),
        device=torch.device("cpu"),
        plan=ShardingPlan(plan={"": plan}),
        sharders=[sharder],
    )

    def step(ids: Any, offsets: Any) -> Any:
        ends = torch.cat([offsets, torch.tensor([len(ids)])])
        rows = model(KeyedJaggedTensor(keys=["f"], values=ids, lengths=ends.diff().to(torch.int32))).values()
        rows.backward(torch.ones_like(rows))
        return rows

    return step


def compare(steps: dict[str, Any], ids: Any, offsets: Any, size: int) -> None:
    """All have learnt the same from a batch. DDP and TorchRec take the mean over ranks, the layer the sum."""
    for step in steps.values():
        step(ids, offsets)
    found = {name: step(ids, offsets).detach().numpy() for name, step in steps.items()}
    for name, rows in found.items():
        scale = size if name in ("ddp", "torchrec") else 1
        np.testing.assert_allclose(scale * rows, found["exact"], rtol=1e-3, err_msg=name)


def measure(repeat: int, seconds: float, only: list[str]) -> None:
    import torch
    import torch.distributed as dist

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    steps = methods(only)
    found = []
    first = torch.from_numpy(batches(rank, *SETTINGS[0])[0])
    compare(steps, first, torch.arange(SETTINGS[0][0]) * SETTINGS[0][1], dist.get_world_size())
    for bags, length in SETTINGS:
        offsets = torch.arange(bags) * length
        drawn = [torch.from_numpy(ids) for ids in batches(rank, bags, length)]
        times: dict[str, list[float]] = {name: [] for name in steps}
        deadline = time.monotonic() + seconds
        for turn in range(repeat + 2):
            late = torch.tensor([turn > 2 and time.monotonic() > deadline])
            dist.broadcast(late, 0)  # all stop at the same turn
            if late.item():
                break
            for name, step in steps.items():
                dist.barrier()
                begin = time.perf_counter()
                step(drawn[turn % len(drawn)], offsets)
                dist.barrier()
                if turn >= 2:
                    times[name].append(time.perf_counter() - begin)
        found.append({"bags": bags, "length": length, "times": times})
    if rank == 0:
        print("RESULT " + json.dumps(found), flush=True)
    dist.barrier()
    os._exit(0)  # TorchRec leaves threads behind


# ------------------------------------------------------------------ all of them
def hosts(ranks: int, rate: str | None) -> list[list[str]]:
    """What stands before the command of each rank: a network namespace, if the link shall have a rate."""
    if rate is None:
        return [[] for _ in range(ranks)]
    remove_hosts(ranks)  # of a run that was killed
    run("ip", "netns", "add", "gbswitch")
    run("ip", "-n", "gbswitch", "link", "add", "br0", "type", "bridge")
    run("ip", "-n", "gbswitch", "link", "set", "br0", "up")
    for rank in range(ranks):
        name = f"gbhost{rank}"
        run("ip", "netns", "add", name)
        run(*f"ip link add eth0 netns {name} type veth peer name port{rank} netns gbswitch".split())
        run(*f"ip -n gbswitch link set port{rank} master br0 up".split())
        run(*f"ip -n {name} link set lo up".split())
        run(*f"ip -n {name} addr add 10.79.0.{rank + 1}/24 dev eth0".split())
        run(*f"ip -n {name} link set eth0 up".split())
        run(*f"ip netns exec {name} tc qdisc add dev eth0 root tbf rate {rate} burst 512kb latency 400ms".split())
    return [["ip", "netns", "exec", f"gbhost{rank}"] for rank in range(ranks)]


def run(*command: str) -> None:
    subprocess.run(command, check=True)


def remove_hosts(ranks: int) -> None:
    for name in ["gbswitch", *(f"gbhost{rank}" for rank in range(ranks))]:
        subprocess.run(["ip", "netns", "del", name], check=False, stderr=subprocess.DEVNULL)


def launch(ranks: int, repeat: int, seconds: float, rate: str | None, only: str = "") -> list[dict[str, Any]]:
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        port = place.getsockname()[1]
    workers: list[Any] = []
    address, interface = ("127.0.0.1", "lo") if rate is None else ("10.79.0.1", "eth0")
    try:
        before = hosts(ranks, rate)
        for rank in range(ranks):
            settings = {
                "RANK": str(rank),
                "LOCAL_RANK": str(rank),
                "WORLD_SIZE": str(ranks),
                "LOCAL_WORLD_SIZE": str(ranks),
                "MASTER_ADDR": address,
                "MASTER_PORT": str(port),
                "GLOO_SOCKET_IFNAME": interface,
                "GRADBAG_NUM_THREADS": "1",
                "OMP_NUM_THREADS": "1",
            }
            given = ["--rank", "--repeat", str(repeat), "--seconds", str(seconds), "--only", only]
            command = [*before[rank], sys.executable, __file__, *given]
            workers.append(subprocess.Popen(command, env={**os.environ, **settings}, stdout=subprocess.PIPE, text=True))
        said = [worker.communicate(timeout=len(SETTINGS) * seconds + START_SECONDS)[0] for worker in workers]
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
        if rate is not None:
            remove_hosts(ranks)
    line = next(line for line in said[0].splitlines() if line.startswith("RESULT "))
    return json.loads(line.removeprefix("RESULT "))  # type: ignore[no-any-return]


def show(found: list[dict[str, Any]], title: str) -> None:
    names = list(found[0]["times"])
    print(f"\n{title}: milliseconds of a step, median (least)")
    heads = "".join(f"{name:>18s}" for name in names)
    print(f"bags x ids   turns{heads}   exact/TorchRec  partial/TorchRec  exact/DDP")
    for row in found:
        middle = {name: float(np.median(times)) for name, times in row["times"].items()}
        cells = "".join(f"{1e3 * middle[n]:11.1f} ({1e3 * min(row['times'][n]):4.0f})" for n in names)
        other = middle.get("torchrec", float("nan"))
        ratios = (other / middle["exact"], other / middle["partial"], middle["ddp"] / middle["exact"])
        told = "".join(f"{ratio:15.2f}x" for ratio in ratios)
        print(f"{row['bags']:5d} x {row['length']:<3d} {len(row['times'][names[0]]):6d}{cells}{told}")


def scaling(repeat: int, seconds: float) -> None:
    """Ids a second of each host, beside one host alone."""
    cores = os.cpu_count() or 1
    print(f"\nids a second of each host beside one alone, on {cores} cores; batches of a host stay as they are")
    alone = launch(1, repeat, seconds, None, "exact,partial")
    for ranks in (2, 4):
        note = "" if ranks <= cores else "  (hosts share cores: no measure of the net)"
        for one, some in zip(alone, launch(ranks, repeat, seconds, None, "exact,partial"), strict=True):
            ratios = {
                name: np.median(one["times"][name]) / np.median(some["times"][name]) for name in ("exact", "partial")
            }
            told = "  ".join(f"{name} {ratio:.2f}" for name, ratio in ratios.items())
            print(f"{ranks} hosts, {some['bags']:5d} x {some['length']:<3d} {told}{note}")


def unique() -> None:
    """Distinct ids with inverse and counts, beside NumPy's."""
    from gradbag import raw_ops
    from gradbag.sharding import zipf_ids

    print("819200 ids of 10**9: distinct ids, inverse and counts, ms")
    for exponent in (0.8, 1.05, 1.2):
        ids = zipf_ids(np.random.default_rng(0), 819_200, 10**9, exponent)
        times: dict[str, list[float]] = {"gradbag": [], "numpy": []}
        for _ in range(20):
            begin = time.perf_counter()
            raw_ops.SortedUnique(ids=ids)
            middle = time.perf_counter()
            np.unique(ids, return_inverse=True, return_counts=True)
            times["gradbag"].append(middle - begin)
            times["numpy"].append(time.perf_counter() - middle)
        ours, theirs = (1e3 * float(np.median(each)) for each in times.values())
        print(f"Zipf {exponent:4.2f}  gradbag {ours:6.1f}  np.unique {theirs:6.1f}  {theirs / ours:.1f}x")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=75, help="for the turns of one size of batches, at most")
    parser.add_argument("--rate", help="of the link between hosts, as tc has it: 500mbit")
    parser.add_argument("--unique", action="store_true", help="only distinct ids")
    parser.add_argument("--scaling", action="store_true", help="only one host beside several")
    parser.add_argument("--only", default="", help=argparse.SUPPRESS)
    parser.add_argument("--rank", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit("ended by a signal"))  # by way of what removes the namespaces
    if options.rank:
        measure(options.repeat, options.seconds, options.only.split(",") if options.only else [])
        return
    if options.scaling:
        scaling(options.repeat, options.seconds)
        return
    unique()
    if not options.unique:
        title = f"{options.ranks} processes" + (f" in namespaces at {options.rate}" if options.rate else " on loopback")
        show(launch(options.ranks, options.repeat, options.seconds, options.rate), title)


if __name__ == "__main__":
    main()
