"""Hosts of a Ray cluster, which are network namespaces, are killed as a whole: the run ends with the same bits."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        os.name != "posix" or os.geteuid() != 0 or shutil.which("ip") is None, reason="needs root, for namespaces"
    ),
]
KILLS = int(os.environ.get("GRADBAG_HOST_KILLS", "10"))
HOSTS = 4  # with that of the driver, and one to spare


def run(command: str) -> None:
    subprocess.run(command.split(), check=True)


@pytest.fixture
def hosts():
    """Namespaces on one bridge; the names are those of this process alone."""
    mark = f"gr{os.getpid()}"
    names = [f"{mark}h{number}" for number in range(HOSTS)]
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
            run(f"ip -n {name} addr add 10.77.0.{number + 1}/24 dev eth0")
            run(f"ip -n {name} link set eth0 up")
        yield names
    finally:
        for name in names:
            told = subprocess.run(["ip", "netns", "pids", name], check=False, capture_output=True, text=True)
            for process in told.stdout.split():
                os.kill(int(process), signal.SIGKILL)
        for name in (mark, *names):
            subprocess.run(["ip", "netns", "del", name], check=False)


def test_a_run_survives_the_death_of_hosts(hosts, tmp_path):
    addresses = ",".join(f"10.77.0.{number + 1}" for number in range(HOSTS))
    program = Path(__file__).parent / "host_program.py"
    command = ["ip", "netns", "exec", hosts[0], sys.executable, str(program), str(tmp_path), str(KILLS)]
    ended = subprocess.run(
        [*command, ",".join(hosts), addresses], capture_output=True, text=True, timeout=120 + 60 * KILLS, check=False
    )
    told = ended.stdout.splitlines()
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert sum("killed " in line for line in told) == KILLS
    assert "same" in told
