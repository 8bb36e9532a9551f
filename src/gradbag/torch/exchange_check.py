"""How fast the ranks of the present process group exchange rows, and whether they use the right interface."""

from __future__ import annotations

import os
import socket
import time
from typing import Any

import numpy as np
import torch.distributed as dist

from ..sharding import Part
from .sharded_files import tell
from .wire import GroupWire


def measured(megabytes: int, repeat: int) -> tuple[list[str], bool]:
    """What to print on this rank, and whether all is well."""
    alone = "RANK" not in os.environ
    if alone:  # one process is a group, too
        os.environ.update(RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(_free_port()))
    started = not dist.is_initialized()
    if started:
        dist.init_process_group("gloo")
    try:
        return _measured(GroupWire(), megabytes, repeat)
    finally:
        if started:
            dist.destroy_process_group()


def _measured(wire: GroupWire, megabytes: int, repeat: int) -> tuple[list[str], bool]:
    rows = max(1, megabytes * 250_000 // max(wire.size, 1))
    array = np.arange(rows * wire.size, dtype=np.float32)
    counts = np.full(wire.size, rows, np.int64)
    wanted = np.concatenate([array[rows * wire.rank : rows * (wire.rank + 1)]] * wire.size)
    times = []
    right = True
    for _ in range(repeat):
        begin = time.perf_counter()
        (came,) = wire.swap([Part(array, counts, counts)])
        times.append(time.perf_counter() - begin)
        right &= came.tobytes() == wanted.tobytes()
    seconds = float(np.median(times))
    sent = 4 * rows * (wire.size - 1)
    small = np.ones(wire.size, np.int64)
    begin = time.perf_counter()
    for _ in range(20):
        wire.swap([Part(small, small, small)])
    latency = (time.perf_counter() - begin) / 20
    limit = _plain_stream(wire) if wire.size > 1 else 0.0
    about = {"host": socket.gethostname(), "interface": os.environ.get("GLOO_SOCKET_IFNAME"), "right": bool(right)}
    all_of = tell(wire, about)
    ok = all(each["right"] for each in all_of)
    if wire.rank:
        return [], ok
    lines = [f"{wire.size} ranks on {len({each['host'] for each in all_of})} hosts, by gloo"]
    lines.append(f"contents of {repeat} exchanges: {'right' if ok else 'WRONG'}")
    lines.append(f"exchange of small messages: {1e3 * latency:.2f} ms")
    if wire.size > 1:
        rate = sent / seconds / 1e6
        lines.append(f"each rank sends {sent / 1e6:.0f} MB in {1e3 * seconds:.1f} ms: {rate:.0f} MB/s")
        lines.append(f"a plain stream between ranks 0 and 1: {limit:.0f} MB/s; share of it {rate / limit:.2f}")
    lines += _interfaces(all_of)
    return lines, ok


def _interfaces(all_of: list[dict[str, Any]]) -> list[str]:
    unset = [rank for rank, each in enumerate(all_of) if not each["interface"]]
    if len({each["host"] for each in all_of}) == 1:
        return ["all ranks are on one host: any interface will do, GLOO_SOCKET_IFNAME=lo is the surest"]
    if unset:
        return [
            f"GLOO_SOCKET_IFNAME is not set on ranks {unset}, and gloo takes the address of the host's name:",
            "that may be a slow interface, or 127.0.0.1; set it to the one between the hosts",
        ]
    return [f"interfaces: {', '.join(sorted({str(each['interface']) for each in all_of}))}"]


def _plain_stream(wire: GroupWire, size: int = 32 << 20) -> float:
    """Megabytes a second from rank 1 to rank 0 by one TCP connection, which is the most that one pair can have."""
    place = [os.environ.get("MASTER_ADDR", "127.0.0.1"), 0]
    seconds = 0.0
    server = None
    if wire.rank == 0:
        server = socket.create_server(("", 0))
        place[1] = server.getsockname()[1]
    place = tell(wire, place)[0]
    if wire.rank == 1:
        with socket.create_connection((place[0], place[1]), timeout=30) as stream:
            stream.sendall(bytes(size))
            stream.recv(1)
    elif server is not None:
        stream, _ = server.accept()
        begin = time.perf_counter()
        left, room = size, memoryview(bytearray(1 << 20))
        while left:
            left -= stream.recv_into(room)
        seconds = time.perf_counter() - begin
        stream.sendall(b"x")
        stream.close()
        server.close()
    return size / float(tell(wire, seconds)[0]) / 1e6


def _free_port() -> int:
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        return int(place.getsockname()[1])
