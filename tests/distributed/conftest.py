"""Tables that are spread over processes; PyTorch must be installed. The engines are started here, on loopback."""

from __future__ import annotations

import os
import pickle
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
RANKS = 4


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if FOLDER in item.path.parents:
            item.add_marker(pytest.mark.torch)


def free_port() -> int:
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        return place.getsockname()[1]


def start(program: str, rank: int, size: int, port: int, *arguments: object) -> subprocess.Popen[bytes]:
    settings = {
        "RANK": str(rank),
        "WORLD_SIZE": str(size),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "GLOO_SOCKET_IFNAME": "lo",
        "GRADBAG_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
    }
    command = [sys.executable, str(FOLDER / program), *map(str, arguments)]
    return subprocess.Popen(command, env={**os.environ, **settings}, stderr=subprocess.PIPE)


def finish(ranks: list[subprocess.Popen[bytes]], limit: float) -> list[int]:
    """The exit codes; who has not ended within the limit is a test that hangs."""
    try:
        for rank in ranks:
            _, told = rank.communicate(timeout=limit)
            if rank.returncode > 0:
                sys.stderr.write(told.decode())
    finally:
        for rank in ranks:
            rank.kill()
            rank.wait()
            if rank.stderr is not None:
                rank.stderr.close()
    return [rank.returncode for rank in ranks]


@pytest.fixture(scope="session")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[dict]:
    """What every rank of four has written down, for each of the cases of `program.py`."""
    folder = tmp_path_factory.mktemp("ranks")
    port = free_port()
    ranks = [start("program.py", rank, RANKS, port, folder) for rank in range(RANKS)]
    assert finish(ranks, 280) == [0] * RANKS
    return [pickle.loads((folder / f"{rank}").read_bytes()) for rank in range(RANKS)]  # noqa: S301  # just written


def run(command: str) -> None:
    subprocess.run(command.split(), check=True)


@pytest.fixture
def hosts():
    """Three network namespaces and the one of the bridge between them; the names are those of this process alone."""
    if os.name != "posix" or os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("needs root, for network namespaces")
    mark = f"gb{os.getpid()}"
    names = [f"{mark}h{number}" for number in range(3)]
    try:
        run(f"ip netns add {mark}")
    except subprocess.CalledProcessError:
        pytest.skip("network namespaces are not allowed here")
    try:
        run(f"ip -n {mark} link add br0 type bridge")
        run(f"ip -n {mark} link set br0 up")
        for number, name in enumerate(names):
            run(f"ip netns add {name}")
            run(f"ip link add eth0 netns {name} type veth peer name port{number} netns {mark}")
            run(f"ip -n {mark} link set port{number} master br0 up")
            run(f"ip -n {name} link set lo up")
            run(f"ip -n {name} addr add 10.78.0.{number + 1}/24 dev eth0")
            run(f"ip -n {name} link set eth0 up")
        yield mark, names
    finally:
        for name in (mark, *names):
            subprocess.run(["ip", "netns", "del", name], check=False)
