"""SIGKILL of ranks and of whole hosts at random steps: what is left goes on, and ends with the same bits."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

KILLS = 10


def launched(folder: Path, kills: int, interface: str, hosts: list[str]) -> str:
    command = [sys.executable, str(Path(__file__).parent / "launcher.py"), str(folder), str(kills), *hosts]
    settings = {"GLOO_SOCKET_IFNAME": interface, "GRADBAG_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    ended = subprocess.run(
        command, env={**os.environ, **settings}, capture_output=True, text=True, timeout=240, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_a_run_survives_the_death_of_ranks(tmp_path):
    assert launched(tmp_path, KILLS, "lo", []).startswith("same [")


@pytest.mark.parametrize("kills", [1, pytest.param(KILLS, marks=pytest.mark.slow)])
def test_a_run_survives_the_death_of_hosts(hosts, tmp_path, kills):
    assert launched(tmp_path, kills, "eth0", hosts[1]).startswith("same [")
